//! An independent reading of JSON, by `serde_json`: what a document means, and its form spelled in another way.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value, its numbers as doubles.
#[derive(Clone, PartialEq, Debug)]
pub enum Tree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Tree>),
    Object(BTreeMap<String, Tree>),
}

/// What is wrong with a member named twice.
const TWICE: &str = "named twice";

/// Why there is no tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Untold {
    /// A member is named twice.
    Duplicate,
    /// A number is no finite double.
    Beyond,
    /// It is no JSON, or holds half of a surrogate pair, or is too deep.
    Other,
}

/// Reads a document.
pub fn read(input: &[u8]) -> Result<Tree, Untold> {
    serde_json::from_slice(input).map_err(|error| match error.to_string() {
        text if text.contains(TWICE) => Untold::Duplicate,
        text if text.contains("number out of range") => Untold::Beyond,
        _ => Untold::Other,
    })
}

/// Whether a document keeps to the grammar, whatever its strings and numbers stand for.
pub fn is_grammatical(input: &[u8]) -> bool {
    std::str::from_utf8(input).is_ok() && serde_json::from_slice::<serde::de::IgnoredAny>(input).is_ok()
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Tree::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((name, value)) = members.next_entry()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom(TWICE));
            }
        }
        Ok(Tree::Object(object))
    }
}

/// The same document spelled otherwise, from its form: members the other way round, white space between everything, and
/// every character of a string escaped.
pub fn respelled(form: &[u8]) -> Vec<u8> {
    let mut speller = Speller { form, at: 0 };
    let spelled = speller.value();
    assert_eq!(speller.at, form.len(), "a form holds one value");
    [b" ", &spelled[..], b"\n"].concat()
}

struct Speller<'a> {
    form: &'a [u8],
    at: usize,
}

impl Speller<'_> {
    fn value(&mut self) -> Vec<u8> {
        match self.form[self.at] {
            b'{' => self.list(b'}', |this| {
                let name = this.text();
                this.at += 1;
                [&name[..], b"\t: ", &this.value()].concat()
            }),
            b'[' => self.list(b']', Self::value),
            b'"' => self.text(),
            _ => {
                let start = self.at;
                let rest = &self.form[start..];
                self.at += rest.iter().position(|byte| b",]}".contains(byte)).unwrap_or(rest.len());
                self.form[start..self.at].to_vec()
            }
        }
    }

    /// An object the other way round, or an array as it is.
    fn list(&mut self, closing: u8, mut item: impl FnMut(&mut Self) -> Vec<u8>) -> Vec<u8> {
        let mut spelled = vec![self.form[self.at], b'\r'];
        self.at += 1;
        let mut items = Vec::new();
        while self.form[self.at] != closing {
            self.at += usize::from(self.form[self.at] == b',');
            items.push(item(self));
        }
        self.at += 1;
        if closing == b'}' {
            items.reverse();
        }
        spelled.extend(items.join(&b" , "[..]));
        spelled.extend([b' ', closing]);
        spelled
    }

    fn text(&mut self) -> Vec<u8> {
        let mut stream = serde_json::Deserializer::from_slice(&self.form[self.at..]).into_iter::<String>();
        let text = stream.next().expect("a string stands here").expect("a form's string is well-formed");
        self.at += stream.byte_offset();
        let units = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
        format!("\"{}\"", units.collect::<String>()).into_bytes()
    }
}
