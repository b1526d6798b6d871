//! Answers: the only place with HTTP status codes of our own, and what of the origin's answer is kept and replayed.
//!
//! A refusal is a problem document (RFC 9457). Its `type` names the kind of problem and is stable; `row` is the table's row.
//!
//! | type `urn:oncegate:problem:` | status | the client should |
//! |---|---|---|
//! | `key-missing`, `key-malformed` | 400 | send one well-formed key |
//! | `request-ambiguous` | 400 | spell the request plainly |
//! | `body-unreadable` | 400 | send a body that can be compared |
//! | `signature-invalid` | 401 | sign the event |
//! | `scope-missing` | 403 | authenticate; else the gateway is set up wrongly |
//! | `not-covered` | 403 | use a covered operation |
//! | `in-progress` | 409 | retry with the same key after `Retry-After` |
//! | `outcome-unknown` | 409 | not make a new key; ask what became of it |
//! | `not-comparable` | 409 | not make a new key; send what it sent at first, or ask |
//! | `attempts-exhausted` | 409 | ask |
//! | `already-done`, `key-expired`, `already-exists` | 409 | look at what there is |
//! | `body-too-large` | 413 | send less |
//! | `key-reused` | 422 | use a new key for a new action |
//! | `store-unavailable`, `origin-unreached` | 503 | retry with the same key after `Retry-After` |

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde::Serialize;

use crate::policy::Rule;
use crate::policy::document::{ReplayMode, Store};
use crate::record::{Receipt, Record};
use crate::request::{Field, Response};
use crate::time::Timestamp;

/// The response header by which the origin speaks for itself; stripped before the client.
pub const OUTCOME: &str = "oncegate-outcome";

/// Headers that are replayed without being asked for.
pub const REPLAYED: [&str; 16] = [
    "access-control-allow-credentials",
    "access-control-allow-origin",
    "access-control-expose-headers",
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
    SignatureInvalid,
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
    AlreadyDone,
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
            Problem::SignatureInvalid => ("signature-invalid", 401, "The event's signature cannot be verified"),
            Problem::ScopeMissing => ("scope-missing", 403, "The caller's scope is not known"),
            Problem::NotCovered => ("not-covered", 403, "No rule covers this request"),
            Problem::InProgress => ("in-progress", 409, "The first request is still in progress"),
            Problem::OutcomeUnknown => ("outcome-unknown", 409, "The outcome of the first request is unknown"),
            Problem::NotComparable => {
                ("not-comparable", 409, "The key is recorded, but this request cannot be compared")
            }
            Problem::AttemptsExhausted => ("attempts-exhausted", 409, "No attempts are left for this key"),
            Problem::KeyExpired => ("key-expired", 409, "The key was used before and has expired"),
            Problem::AlreadyDone => ("already-done", 409, "It is done already, and its answer is not repeated"),
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
pub(crate) fn problem(
    problem: Problem,
    row: &str,
    detail: &str,
    retry_after: Option<Duration>,
    described_by: Option<&str>,
) -> Response {
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
    if let Some(link) = described_by {
        headers.push(field("link", &("<".to_string() + link + ">; rel=\"describedby\"")));
    }
    // A document of strings and a number always serializes.
    let body = serde_json::to_vec(&document).unwrap_or_default();
    Response { status, headers, body }
}

/// What is kept of the origin's answer under a rule: status, listed headers with their names in lower case, and the body if it
/// may be kept.
pub(crate) fn receipt(rule: &Rule, response: &Response, body: Option<&[u8]>) -> Option<Receipt> {
    let listed = |name: &str| rule.replayed.iter().any(|listed| name.eq_ignore_ascii_case(listed));
    let kept = |field: &&Field| listed(&field.0) && is_field(field);
    let receipt = Receipt {
        status: response.status,
        headers: response
            .headers
            .iter()
            .filter(kept)
            .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
            .collect(),
        body: body.filter(|_| rule.store == Store::Full).map(<[u8]>::to_vec),
    };
    (rule.store != Store::None && (200..=599).contains(&response.status)).then_some(receipt)
}

/// Whether a field line can go into a message without breaking it (RFC 9110, section 5).
pub(crate) fn is_field((name, value): &Field) -> bool {
    is_token(name) && !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}

/// RFC 9110, section 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// When the key stops being known, as a Structured Field Date (RFC 9651, section 3.3.7).
pub(crate) fn expires(until: Timestamp) -> Option<Field> {
    let seconds = until.as_millis() / 1000;
    (until != Timestamp::NEVER).then(|| field("idempotency-expires", &("@".to_string() + &seconds.to_string())))
}

/// The answer of a known key under a rule: the stored bytes; or status, `Location` and the operation's id. A tombstone has
/// no body, nor what describes one.
pub(crate) fn replay(rule: &Rule, record: &Record, receipt: &Receipt) -> Response {
    let (mut headers, body) = (receipt.headers.clone(), receipt.body.clone());
    let body = body.filter(|_| rule.replay == ReplayMode::Bytes);
    if rule.replay == ReplayMode::Operation {
        headers.retain(|(name, _)| name == "location");
        headers.push(field("oncegate-action", &hex(&record.action)));
    }
    if body.is_none() {
        headers.retain(|(name, _)| !name.starts_with("content-") || name == "content-location");
    }
    let mut response = Response { status: receipt.status, headers, body: body.unwrap_or_default() };
    mark(&mut response, [field("idempotent-replayed", "true")].into_iter().chain(expires(record.retained_until)));
    response
}

/// The origin's answer as the client gets it: all of it but what the origin said to us, and until when the key is known.
pub(crate) fn pass_on(mut response: Response, known_until: Option<Timestamp>) -> Response {
    response.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(OUTCOME));
    mark(&mut response, known_until.and_then(expires));
    response
}

/// Adds what we say, and where the answer is one for a browser's script, lets the script see it (Fetch, CORS protocol).
fn mark(response: &mut Response, marks: impl IntoIterator<Item = Field>) {
    response.headers.extend(marks);
    if response.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("access-control-allow-origin")) {
        let ours = "idempotent-replayed, idempotency-expires, oncegate-action";
        response.headers.push(field("access-control-expose-headers", ours));
    }
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
