//! Answers: the only place with HTTP status codes of our own, and what of the origin's answer is kept and replayed.
//!
//! A refusal is a problem document (RFC 9457). Its `type` names the kind of problem and is stable; `row` is the table's row.
//!
//! | type `urn:oncegate:problem:` | status | the client should |
//! |---|---|---|
//! | `key-missing`, `key-malformed` | 400 | send one well-formed key |
//! | `request-ambiguous` | 400 | spell the request plainly |
//! | `body-unreadable` | 400 | send a body that can be compared |
//! | `scope-missing` | 403 | authenticate; else the gateway is set up wrongly |
//! | `not-covered` | 403 | use a covered operation |
//! | `in-progress` | 409 | retry with the same key after `Retry-After` |
//! | `outcome-unknown` | 409 | not make a new key; ask what became of it |
//! | `not-comparable` | 409 | not make a new key; send what it sent at first, or ask |
//! | `attempts-exhausted` | 409 | ask |
//! | `key-expired`, `already-exists` | 409 | look at what there is |
//! | `body-too-large` | 413 | send less |
//! | `key-reused` | 422 | use a new key for a new action |
//! | `store-unavailable`, `origin-unreached` | 503 | retry with the same key after `Retry-After` |

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde::Serialize;

use crate::record::Receipt;
use crate::request::{Field, Response};

/// The response header by which the origin speaks for itself; stripped before the client.
pub const OUTCOME: &str = "oncegate-outcome";

/// Headers that are replayed without being asked for.
pub const REPLAYED: [&str; 13] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-location",
    "content-type",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "vary",
];

/// Headers that belong to one connection or one message's framing (RFC 9110, section 7.6.1), and are never replayed.
pub fn is_framing(name: &str) -> bool {
    let framing = [
        "connection",
        "content-length",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    framing.iter().any(|framing| name.eq_ignore_ascii_case(framing))
}

/// A kind of problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Problem {
    KeyMissing,
    KeyMalformed,
    RequestAmbiguous,
    BodyUnreadable,
    ScopeMissing,
    NotCovered,
    InProgress,
    OutcomeUnknown,
    NotComparable,
    AttemptsExhausted,
    KeyExpired,
    AlreadyExists,
    BodyTooLarge,
    KeyReused,
    StoreUnavailable,
    OriginUnreached,
}

/// What to tell about an outcome that nobody knows.
pub(crate) const UNKNOWN: &str = "it may have been done: do not make a new key, ask what became of this one";

impl Problem {
    fn parts(self) -> (&'static str, u16, &'static str) {
        match self {
            Problem::KeyMissing => ("key-missing", 400, "An idempotency key is required"),
            Problem::KeyMalformed => ("key-malformed", 400, "The idempotency key is malformed"),
            Problem::RequestAmbiguous => ("request-ambiguous", 400, "The request can be read in two ways"),
            Problem::BodyUnreadable => ("body-unreadable", 400, "The body cannot be compared"),
            Problem::ScopeMissing => ("scope-missing", 403, "The caller's scope is not known"),
            Problem::NotCovered => ("not-covered", 403, "No rule covers this request"),
            Problem::InProgress => ("in-progress", 409, "The first request is still in progress"),
            Problem::OutcomeUnknown => ("outcome-unknown", 409, "The outcome of the first request is unknown"),
            Problem::NotComparable => {
                ("not-comparable", 409, "The key is recorded, but this request cannot be compared")
            }
            Problem::AttemptsExhausted => ("attempts-exhausted", 409, "No attempts are left for this key"),
            Problem::KeyExpired => ("key-expired", 409, "The key was used before and has expired"),
            Problem::AlreadyExists => ("already-exists", 409, "It exists already"),
            Problem::BodyTooLarge => ("body-too-large", 413, "The body is too large"),
            Problem::KeyReused => ("key-reused", 422, "The key was used for another request"),
            Problem::StoreUnavailable => ("store-unavailable", 503, "Requests cannot be recorded right now"),
            Problem::OriginUnreached => ("origin-unreached", 503, "The origin cannot be reached right now"),
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    row: &'a str,
}

/// A problem document. `detail` is one sentence for the client's developer, free of keys, bodies and credentials.
pub(crate) fn problem(problem: Problem, row: &str, detail: &str, retry_after: Option<Duration>) -> Response {
    let (kind, status, title) = problem.parts();
    let document = Document { r#type: "urn:oncegate:problem:".to_string() + kind, title, status, detail, row };
    let mut headers = alloc::vec![
        field("content-type", "application/problem+json"),
        // RFC 9111, section 5.2.2.5: a shared cache must not answer for the next one.
        field("cache-control", "no-store"),
    ];
    if let Some(wait) = retry_after {
        let seconds = wait.as_millis().div_ceil(1000).max(1);
        headers.push(field("retry-after", &seconds.to_string()));
    }
    // A document of strings and a number always serializes.
    let body = serde_json::to_vec(&document).unwrap_or_default();
    Response { status, headers, body }
}

/// What is kept of the origin's answer: the headers that `replayed` lists, and the body if it is not too large.
pub(crate) fn receipt(response: &Response, body: Option<&[u8]>, replayed: &[String]) -> Receipt {
    let kept = |(name, _): &&Field| replayed.iter().any(|listed| name.eq_ignore_ascii_case(listed));
    Receipt {
        status: response.status,
        headers: response.headers.iter().filter(kept).cloned().collect(),
        body: body.map(<[u8]>::to_vec),
    }
}

/// The stored answer, marked as a replay. A tombstone has no body, nor what describes one.
pub(crate) fn replay(receipt: &Receipt) -> Response {
    let mut headers = receipt.headers.clone();
    if receipt.body.is_none() {
        headers.retain(|(name, _)| !name.starts_with("content-") || name == "content-location");
    }
    headers.push(field("idempotent-replayed", "true"));
    Response { status: receipt.status, headers, body: receipt.body.clone().unwrap_or_default() }
}

/// The origin's answer as the client gets it: all of it but what the origin said to us.
pub(crate) fn pass_on(mut response: Response) -> Response {
    response.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(OUTCOME));
    response
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.extend([byte >> 4, byte & 0xf].map(|digit| char::from_digit(u32::from(digit), 16).unwrap_or('0')));
    }
    text
}

pub(crate) fn field(name: &str, value: &str) -> Field {
    (name.to_string(), Vec::from(value))
}
