//! Requests and responses as they are written in a file: by name, in full, or like another with some of it changed.

use std::collections::BTreeMap;

use oncegate_core::request::{Field, Head, Response};
use serde::Deserialize;
use serde_json::Value;

/// One that has a name in the file, or one that is written here.
#[derive(Deserialize, Debug, Clone)]
#[serde(untagged)]
pub enum Ref<T> {
    /// The one of this name.
    Named(String),
    /// This one.
    Here(T),
}

/// A request.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct RequestDocument {
    /// The name of another one: all that is not said here is as there.
    pub like: Option<String>,
    /// Default POST.
    pub method: Option<String>,
    /// Path and query as they are sent. Default `/`.
    pub target: Option<String>,
    /// Header fields; `null` leaves out one that the other has.
    #[serde(default)]
    pub headers: Fields,
    /// What the host verified, by name; `null` leaves one out.
    #[serde(default)]
    pub properties: BTreeMap<String, Option<String>>,
    /// Default: empty.
    pub body: Option<Content>,
}

/// A response.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct ResponseDocument {
    /// The name of another one: all that is not said here is as there.
    pub like: Option<String>,
    /// Default 200.
    pub status: Option<u16>,
    /// Header fields; `null` leaves out one that the other has.
    #[serde(default)]
    pub headers: Fields,
    /// Default: empty.
    pub body: Option<Content>,
}

/// Header fields by name.
pub type Fields = BTreeMap<String, Option<Values>>;

/// The values of the field lines of one name.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(untagged)]
pub enum Values {
    /// One line.
    One(String),
    /// Several lines, in order.
    Many(Vec<String>),
}

/// The bytes of a body.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(untagged)]
pub enum Content {
    /// This text in UTF-8.
    Text(String),
    /// As it says.
    Told(ContentTold),
}

/// The bytes of a body, said in full.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum ContentTold {
    /// This value, written without spaces and with sorted members.
    Json(Value),
    /// These hexadecimal digits.
    Hex(String),
    /// So many times the letter `x`.
    Length(usize),
}

/// Why a step means no request or response: a name that stands for nothing, or a `like` without end.
pub type Unresolved = String;

/// A request as it is sent.
#[derive(Clone, Debug)]
pub struct PlainRequest {
    /// Its head.
    pub head: Head,
    /// Its body.
    pub body: Vec<u8>,
    /// What the host verified.
    pub properties: Vec<(String, String)>,
}

/// How deep a `like` may lie.
const DEEPEST: u8 = 8;

impl super::File {
    /// The request that a step means.
    pub fn request(&self, wanted: &Ref<RequestDocument>) -> Result<PlainRequest, Unresolved> {
        let whole = resolve(wanted, &self.requests, DEEPEST)?;
        let properties = whole.properties.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
        Ok(PlainRequest {
            properties: properties.collect(),
            head: Head {
                method: whole.method.unwrap_or_else(|| "POST".into()),
                target: whole.target.unwrap_or_else(|| "/".into()).into_bytes(),
                headers: lines(&whole.headers),
            },
            body: whole.body.map(|body| body.bytes()).transpose()?.unwrap_or_default(),
        })
    }

    /// The response that a step means.
    pub fn response(&self, wanted: &Ref<ResponseDocument>) -> Result<Response, Unresolved> {
        let whole = resolve(wanted, &self.responses, DEEPEST)?;
        Ok(Response {
            status: whole.status.unwrap_or(200),
            headers: lines(&whole.headers),
            body: whole.body.map(|body| body.bytes()).transpose()?.unwrap_or_default(),
        })
    }
}

trait Like: Clone {
    fn like(&self) -> Option<&str>;
    fn over(self, other: Self) -> Self;
}

impl Like for RequestDocument {
    fn like(&self) -> Option<&str> {
        self.like.as_deref()
    }

    fn over(self, mut other: Self) -> Self {
        other.properties.extend(self.properties);
        RequestDocument {
            like: None,
            method: self.method.or(other.method),
            target: self.target.or(other.target),
            headers: over(self.headers, other.headers),
            properties: other.properties,
            body: self.body.or(other.body),
        }
    }
}

impl Like for ResponseDocument {
    fn like(&self) -> Option<&str> {
        self.like.as_deref()
    }

    fn over(self, other: Self) -> Self {
        ResponseDocument {
            like: None,
            status: self.status.or(other.status),
            headers: over(self.headers, other.headers),
            body: self.body.or(other.body),
        }
    }
}

/// Names of header fields are compared without case.
fn over(fields: Fields, mut others: Fields) -> Fields {
    others.retain(|name, _| !fields.keys().any(|changed| changed.eq_ignore_ascii_case(name)));
    others.extend(fields);
    others
}

fn resolve<T: Like>(wanted: &Ref<T>, named: &BTreeMap<String, T>, depth: u8) -> Result<T, Unresolved> {
    let one = match wanted {
        Ref::Here(one) => one,
        Ref::Named(name) => named.get(name).ok_or_else(|| format!("nothing is called `{name}`"))?,
    };
    match (one.like(), depth.checked_sub(1)) {
        (None, _) => Ok(one.clone()),
        (Some(other), Some(depth)) => Ok(one.clone().over(resolve(&Ref::Named(other.into()), named, depth)?)),
        (Some(other), None) => Err(format!("`{other}` is like one that is like one, without end")),
    }
}

fn lines(fields: &Fields) -> Vec<Field> {
    let mut lines = Vec::new();
    for (name, values) in fields {
        let values = match values {
            None => &[][..],
            Some(Values::One(value)) => std::slice::from_ref(value),
            Some(Values::Many(values)) => values,
        };
        lines.extend(values.iter().map(|value| (name.clone(), value.clone().into_bytes())));
    }
    lines
}

impl Content {
    /// The bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, Unresolved> {
        match self {
            Content::Text(text) => Ok(text.clone().into_bytes()),
            Content::Told(ContentTold::Json(value)) => Ok(value.to_string().into_bytes()),
            Content::Told(ContentTold::Hex(digits)) => unhex(digits),
            Content::Told(ContentTold::Length(length)) => Ok(vec![b'x'; *length]),
        }
    }
}

/// Bytes from hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Result<Vec<u8>, Unresolved> {
    let values: Option<Vec<u8>> = digits.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
    let values = values.filter(|values| values.len().is_multiple_of(2));
    let values = values.ok_or_else(|| format!("`{digits}` are not pairs of hexadecimal digits"))?;
    Ok(values.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}
