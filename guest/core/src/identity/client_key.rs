//! The client key: where it may stand, how it is spelled there, and what it must look like.
//!
//! One key however written: quoted or bare in the header, in the query, or in the body. It cannot know how well a client
//! makes its keys: two actions under one key are told apart by the fingerprint alone.

use alloc::vec::Vec;

use super::IdentityFault;
use super::structured::string_item;
use crate::canonical::form;
use crate::canonical::json::Wanted;
use crate::policy::KeySource;
use crate::policy::document::KeyFormatDocument;
use crate::request::Head;

/// The longest client key, in characters.
pub const MAX_CLIENT_KEY: usize = 255;

/// What a client key must look like: visible ASCII or spaces, 1 to [`MAX_CLIENT_KEY`], or less by the rule's choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyFormat {
    /// The fewest characters.
    pub min_length: usize,
    /// The most characters.
    pub max_length: usize,
    /// The characters allowed, a bit for each ASCII code.
    pub characters: u128,
    /// How many random bits a key should hold: for callers to read.
    pub entropy_bits: Option<u16>,
}

impl KeyFormat {
    /// Checks what is written. The error names the field and what to write.
    pub fn new(written: &KeyFormatDocument) -> Result<Self, (&'static str, &'static str)> {
        let format = KeyFormat {
            min_length: written.min_length.unwrap_or(1),
            max_length: written.max_length.unwrap_or(MAX_CLIENT_KEY),
            characters: match &written.characters {
                None => characters(b" -~").unwrap_or_default(),
                Some(text) => characters(text.as_bytes())
                    .ok_or(("characters", "write ASCII characters and ranges of them, as in `a-zA-Z0-9_-`"))?,
            },
            entropy_bits: written.entropy_bits,
        };
        if !(1..=MAX_CLIENT_KEY).contains(&format.max_length) {
            return Err(("max_length", "write 1 to 255"));
        }
        if !(1..=format.max_length).contains(&format.min_length) {
            return Err(("min_length", "write at least 1, and not more than `max_length`"));
        }
        Ok(format)
    }

    /// Whether a key looks so.
    pub fn fits(&self, key: &[u8]) -> bool {
        (self.min_length..=self.max_length).contains(&key.len())
            && key.iter().all(|&byte| self.characters & bit(byte) != 0)
    }
}

/// A set of characters from its description; `None` if it is empty, or holds what no key may.
fn characters(text: &[u8]) -> Option<u128> {
    let mut set = 0;
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let last = match after {
            [b'-', last, after @ ..] => {
                rest = after;
                last
            }
            _ => {
                rest = after;
                first
            }
        };
        if first > last || !(0x20..=0x7e).contains(first) || !(0x20..=0x7e).contains(last) {
            return None;
        }
        set |= (*first..=*last).fold(0, |bits, byte| bits | bit(byte));
    }
    (set != 0).then_some(set)
}

fn bit(byte: u8) -> u128 {
    1u128.checked_shl(u32::from(byte)).unwrap_or_default()
}

/// The client key; `None`: not given. All places that hold it must agree.
pub fn client_key(source: &KeySource, head: &Head, in_body: &Wanted) -> Result<Option<Vec<u8>>, IdentityFault> {
    let header = match &source.header {
        Some(name) => single(head.values(name))?.map(|value| from_header(value, source.bare)).transpose()?,
        None => None,
    };
    let query = match (&source.query, head.query()) {
        (Some(name), Some(query)) => {
            let means = |pair: &&[u8]| form::pairs(pair).any(|(held, _)| held == name.as_bytes());
            let pair = single(query.split(|&byte| byte == b'&').filter(means))?;
            pair.map(|pair| from_query(pair, name)).transpose()?
        }
        _ => None,
    };
    let body = match in_body {
        Wanted::Absent => None,
        Wanted::Text(text) => Some(text.clone()),
        Wanted::Other => return Err(IdentityFault::KeyMalformed),
    };
    let found = [header, query, body];
    if found.iter().flatten().any(|key| !source.format.fits(key)) {
        return Err(IdentityFault::KeyMalformed);
    }
    let mut found = found.into_iter().flatten();
    let first = found.next();
    match found.any(|other| Some(other) != first) {
        true => Err(IdentityFault::KeyDisagreement),
        false => Ok(first),
    }
}

fn single<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Result<Option<&'a [u8]>, IdentityFault> {
    let first = values.next();
    match values.next() {
        Some(_) => Err(IdentityFault::KeyRepeated),
        None => Ok(first),
    }
}

/// A Structured Field String, or bare where the rule is lenient. A bare key with a comma is refused, as it may be two fields
/// that someone on the way has joined.
fn from_header(value: &[u8], bare: bool) -> Result<Vec<u8>, IdentityFault> {
    let value = value.trim_ascii();
    if value.starts_with(b"\"") {
        return string_item(value).ok_or(IdentityFault::KeyMalformed);
    }
    if !bare || value.iter().any(|byte| matches!(byte, b' ' | b',' | b'"')) {
        return Err(IdentityFault::KeyMalformed);
    }
    Ok(value.to_vec())
}

/// A query's name and value are taken as they stand; one that is encoded could be spelled in several ways.
fn from_query(pair: &[u8], name: &str) -> Result<Vec<u8>, IdentityFault> {
    let value = pair.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
    match value {
        Some(value) if !value.iter().any(|byte| matches!(byte, b'%' | b'+')) => Ok(value.to_vec()),
        _ => Err(IdentityFault::KeyMalformed),
    }
}

/// A client key as a Structured Field String.
pub(crate) fn quote(key: &[u8]) -> Vec<u8> {
    let mut quoted = alloc::vec![b'"'];
    for &byte in key {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(byte);
    }
    quoted.push(b'"');
    quoted
}

/// Appends bytes so that they stand for themselves in a path or query (RFC 3986, section 2.3).
pub(crate) fn percent_encode(bytes: &[u8], target: &mut Vec<u8>) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(byte);
        } else {
            let digits = [byte >> 4, byte & 0xf].map(|digit| b"0123456789ABCDEF".get(usize::from(digit)).copied());
            target.push(b'%');
            target.extend(digits.into_iter().flatten());
        }
    }
}
