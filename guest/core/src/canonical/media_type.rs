//! Media types (RFC 9110, section 8.3.1), compared by what they say and not by how they are spelled.
//!
//! Equates: the case of type, subtype, parameter names and charset, white space, quoted and bare values, the order of
//! parameters. Keeps apart all else. What does not parse, or names a parameter twice, is compared as the bytes that it is,
//! and its body as raw bytes.

use alloc::string::String;
use alloc::vec::Vec;

/// The most parameters; a value with more is compared as the bytes that it is.
pub const MAX_PARAMETERS: usize = 32;

/// A parsed media type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediaType {
    essence: String,
    parameters: Vec<Parameter>,
}

/// A name in lower case, and a value without quotes.
pub(super) type Parameter = (String, Vec<u8>);

impl MediaType {
    /// `None` if it is none, or a parameter stands twice.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (essence, parameters) = with_parameters(trim(value))?;
        let (kind, subtype) = essence.split_once('/')?;
        if !is_token(kind.as_bytes()) || !is_token(subtype.as_bytes()) {
            return None;
        }
        let mut media_type = MediaType { essence, parameters };
        for (name, value) in &mut media_type.parameters {
            if name == "charset" {
                value.make_ascii_lowercase();
            }
        }
        Some(media_type)
    }

    /// Type and subtype in lower case.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// A parameter by its lower-case name.
    pub fn parameter(&self, name: &str) -> Option<&[u8]> {
        self.parameters.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_slice())
    }

    /// `application/json`, or a subtype that ends with `+json` (RFC 8259, RFC 6839).
    pub fn is_json(&self) -> bool {
        self.essence == "application/json" || self.essence.ends_with("+json")
    }

    /// Whether text is UTF-8, or is not said to be anything else.
    pub fn is_utf8(&self) -> bool {
        matches!(self.parameter("charset"), None | Some(b"utf-8" | b"utf8" | b"us-ascii"))
    }

    /// The canonical form, less the parameters that the caller takes account of otherwise.
    pub fn form(&self, less: &[&str]) -> Vec<u8> {
        let mut form = self.essence.clone().into_bytes();
        for (name, value) in self.parameters.iter().filter(|(name, _)| !less.contains(&name.as_str())) {
            form.push(b';');
            form.extend_from_slice(name.as_bytes());
            form.extend_from_slice(b"=\"");
            for &byte in value {
                if matches!(byte, b'"' | b'\\') {
                    form.push(b'\\');
                }
                form.push(byte);
            }
            form.push(b'"');
        }
        form
    }
}

/// What stands before the first `;` in lower case, and the parameters after it by name.
pub(super) fn with_parameters(value: &[u8]) -> Option<(String, Vec<Parameter>)> {
    let end = value.iter().position(|&byte| byte == b';').unwrap_or(value.len());
    let (head, mut rest) = value.split_at_checked(end)?;
    let head = core::str::from_utf8(trim(head)).ok()?.to_ascii_lowercase();
    let mut parameters: Vec<Parameter> = Vec::new();
    loop {
        rest = trim(rest);
        match rest.split_first() {
            None => break,
            Some((b';', after)) => rest = trim(after),
            Some(_) => return None,
        }
        // An empty parameter, as in `a/b;`, is none.
        if rest.is_empty() || rest.starts_with(b";") {
            continue;
        }
        let (parameter, after) = parameter(rest)?;
        rest = after;
        // Found: it stands twice.
        let place = parameters.binary_search_by(|(held, _)| held.cmp(&parameter.0)).err()?;
        if parameters.len() == MAX_PARAMETERS {
            return None;
        }
        parameters.insert(place, parameter);
    }
    Some((head, parameters))
}

fn parameter(text: &[u8]) -> Option<(Parameter, &[u8])> {
    let equals = text.iter().position(|&byte| byte == b'=')?;
    let (name, rest) = text.split_at_checked(equals)?;
    if !is_token(name) {
        return None;
    }
    let name = core::str::from_utf8(name).ok()?.to_ascii_lowercase();
    let rest = rest.strip_prefix(b"=")?;
    if let Some(quoted) = rest.strip_prefix(b"\"") {
        let (value, rest) = unquote(quoted)?;
        return Some(((name, value), rest));
    }
    let end = rest.iter().position(|byte| !is_tchar(*byte)).unwrap_or(rest.len());
    let (value, rest) = rest.split_at_checked(end)?;
    (!value.is_empty()).then(|| ((name, value.to_vec()), rest))
}

/// The rest of a quoted string after its opening quote (RFC 9110, section 5.6.4), and what follows it.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    let mut rest = text;
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        let byte = match byte {
            b'"' => return Some((value, rest)),
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                escaped
            }
            plain => plain,
        };
        if !matches!(byte, b'\t' | 0x20..=0x7e | 0x80..) {
            return None;
        }
        value.push(byte);
    }
}

/// Less the optional white space around (RFC 9110, section 5.6.3).
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// RFC 9110, section 5.6.2.
pub(super) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| is_tchar(byte))
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
