//! What the host tells of a request and of the origin's answer. It mirrors `wit/types.wit` and `wit/enforcer.wit`.

use alloc::string::String;
use alloc::vec::Vec;

/// One HTTP field line: name and raw value.
pub type Field = (String, Vec<u8>);

/// The head of a request, as received.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// The method; case-sensitive.
    pub method: String,
    /// Path and query, neither decoded nor normalized.
    pub target: Vec<u8>,
    /// The field lines in order.
    pub headers: Vec<Field>,
}

impl Head {
    /// The path: all before the first `?`.
    pub fn path(&self) -> &[u8] {
        self.target.split(|&byte| byte == b'?').next().unwrap_or_default()
    }

    /// The query: all after the first `?`.
    pub fn query(&self) -> Option<&[u8]> {
        self.target.splitn(2, |&byte| byte == b'?').nth(1)
    }

    /// The values of the lines with this name, in order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        values(&self.headers, name)
    }
}

/// The values of the field lines with this name, in order.
pub fn values<'a>(fields: &'a [Field], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    fields.iter().filter(move |(held, _)| held.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
}

/// The body of a covered request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// More than the rule's limit.
    TooLarge,
}

/// A covered request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its head.
    pub head: Head,
    /// Its body.
    pub body: Body,
    /// Facts that the host verified, by name.
    pub properties: Vec<(String, String)>,
}

/// A whole response, without framing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// 200 to 599.
    pub status: u16,
    /// The field lines in order.
    pub headers: Vec<Field>,
    /// The bytes.
    pub body: Vec<u8>,
}

/// What became of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The origin's whole answer.
    Answered(Response),
    /// The origin's head (the body empty): the body is over the limit and is streamed.
    Oversized(Response),
    /// Not one byte was written; why.
    NotSent(String),
    /// Some of it was written and no whole answer came; why.
    Lost(String),
}
