//! The policy as it is written: a JSON document, version 1. Unknown fields are rejected; every field but `operation`,
//! `match` and `scope` has a default.
//!
//! Spans are text such as `"500ms"`, `"60s"`, `"15m"`, `"24h"`, `"7d"`; sizes are bytes as a number or text such as
//! `"512KiB"`, `"1MiB"`.

mod fingerprint;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

pub use fingerprint::{BodyProfile, FingerprintDocument, Invalid, KeyFormatDocument, QueryProfile};

use super::units::{Size, Span};
use super::webhook::Webhook;

/// The whole document.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// 1.
    pub version: u32,
    /// What becomes of a mutation that no rule matches.
    #[serde(default)]
    pub unmatched: Unmatched,
    /// What becomes of a mutation that no rule matches and that can be read in two ways: a path that is not plainly spelled,
    /// or a header that asks for another method.
    #[serde(default)]
    pub ambiguous: Ambiguous,
    /// A reference to the published key policy, given in `Link: <...>; rel="describedby"` of each problem.
    pub described_by: Option<String>,
    /// Tried in order; the first that matches covers the request.
    pub rules: Vec<RuleDocument>,
}

/// What becomes of a mutation that no rule matches.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Unmatched {
    /// Forwarded untouched, and counted.
    #[default]
    Pass,
    /// Refused with 403.
    Refuse,
}

/// What becomes of a request that can be read in two ways.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Ambiguous {
    /// Refused with 400, so that no spelling goes round a rule.
    #[default]
    Refuse,
    /// Taken as it stands. Only for an origin that reads it as it stands, too.
    Accept,
}

/// One rule.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct RuleDocument {
    /// A declared, stable name: 1 to 64 of `a-z 0-9 . _ -`. Changing it forgets the rule's records.
    pub operation: String,
    /// Which requests it covers.
    #[serde(rename = "match")]
    pub matches: Match,
    /// What becomes of a covered request that can be read in two ways.
    #[serde(default)]
    pub ambiguous: Ambiguous,
    /// Where the client key stands.
    #[serde(default)]
    pub key: KeyDocument,
    /// Where that key is unique.
    pub scope: Scope,
    /// What defines the action beside the key.
    #[serde(default)]
    pub fingerprint: FingerprintDocument,
    /// Scopes and fingerprints that records may still have been made under.
    #[serde(default)]
    pub previous: Previous,
    /// How long an attempt may plausibly still be running. Default 60 s.
    pub lease: Option<Span>,
    /// How far renewals may extend it. Default: the lease, that is, no renewal.
    pub max_run: Option<Span>,
    /// Kept free at the end of a run for settling. Default 10 s, or a sixth of a shorter lease.
    pub settle_bound: Option<Span>,
    /// The longest wait for the origin. Default, and at most: `max_run` less `settle_bound`.
    pub upstream_timeout: Option<Span>,
    /// How long a gateway may be paused and still wake up; what `drained` waits for. Default 60 s.
    pub longest_pause: Option<Span>,
    /// How long a finished result stays authoritative: a span or `"forever"`. Default 24 h.
    #[serde(default)]
    pub retention: Retention,
    /// What a duplicate gets while the first is in flight: `"reject"` or `{"wait": SPAN}`. Default reject.
    #[serde(default)]
    pub in_flight: InFlight,
    /// What an answer's status says of the effect: `"409"` or `"5xx"` to a knowledge.
    #[serde(default)]
    pub outcomes: Unique<KnowledgeName>,
    /// How often an action may be tried in all. Default: no limit.
    pub max_attempts: Option<u32>,
    /// When an effect counts as committed.
    #[serde(default)]
    pub committed_at: CommittedAt,
    /// What the origin can do by itself.
    #[serde(default)]
    pub origin: Origin,
    /// What is replayed.
    #[serde(default)]
    pub replay: Replay,
    /// The most bytes.
    #[serde(default)]
    pub limits: SizeLimits,
    /// Where a durable business fact may tell of actions from before there were records.
    pub legacy: Option<LegacyDocument>,
    /// How inbound events are signed; the client key is then the event's id.
    pub webhook: Option<Webhook>,
    /// What the client gets when the outcome cannot be recorded in time.
    #[serde(default)]
    pub unsettled: Unsettled,
}

/// Where a durable business fact may be looked up, after the claim and before the effect.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct LegacyDocument {
    /// A target at the origin, asked with GET: `/bookings/{item}/shipment`. `{parameter}` is the rule's, `{key}` the client
    /// key. 2xx with a body is the fact, 404 and 410 say that there is none, all else is no answer.
    pub lookup: String,
    /// The most bytes of its body that are taken over. Default 64 KiB.
    pub max_body: Option<Size>,
}

/// Which requests a rule covers.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// Methods. Default POST and PATCH.
    #[serde(default = "default_methods")]
    pub methods: Vec<String>,
    /// A path template: `/orders/{order}`; `/api/**` covers all below.
    pub path: String,
}

fn default_methods() -> Vec<String> {
    alloc::vec!["POST".into(), "PATCH".into()]
}

/// Where the client key stands. Several places may be named: the key may stand in any of them, and where it stands in
/// more than one, all must agree. None named: the header `Idempotency-Key`.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct KeyDocument {
    /// A header.
    pub header: Option<String>,
    /// A JSON Pointer (RFC 6901) to a string in the body.
    pub body: Option<String>,
    /// A query parameter.
    pub query: Option<String>,
    /// Without a key: 400 (default), or forwarded without protection.
    pub required: Option<bool>,
    /// Whether the header may hold the key bare, without the quotes of RFC 9651. Default yes.
    pub bare: Option<bool>,
    /// What a key must look like.
    #[serde(default)]
    pub format: KeyFormatDocument,
}

/// Where a part of the scope comes from. All of these are verified before they reach the core.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A header that a declared peer sets; exactly one value.
    Header(String),
    /// A parameter of the rule's path template.
    Path(String),
    /// The same for every request.
    Constant(String),
    /// A fact that the host verified, such as `jwt.sub`.
    Property(String),
}

/// Where a client key is unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All callers share one space of keys: said aloud with `"shared"`.
    Shared,
    /// Named parts; `tenant` is one of them.
    Parts(BTreeMap<String, Source>),
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Scope;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"shared\", or an object of scope parts such as {\"tenant\": {\"header\": \"x-tenant\"}}")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Scope, E> {
                match text {
                    "shared" => Ok(Scope::Shared),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scope, A::Error> {
                Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Scope::Parts)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// What records may still have been made under. Keep each entry until the longest retention after its last use.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct Previous {
    /// Earlier scopes.
    #[serde(default)]
    pub scope: Vec<Scope>,
    /// Earlier fingerprints.
    #[serde(default)]
    pub fingerprint: Vec<FingerprintDocument>,
}

/// How long a finished result stays authoritative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// This long from settling.
    For(core::time::Duration),
    /// Until it is deleted.
    Forever,
}

impl Default for Retention {
    fn default() -> Self {
        Retention::For(core::time::Duration::from_secs(24 * 60 * 60))
    }
}

impl<'de> Deserialize<'de> for Retention {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "forever" => Ok(Retention::Forever),
            _ => Span::parse(&text).map(|span| Retention::For(span.0)).map_err(D::Error::custom),
        }
    }
}

/// What a duplicate gets while the first is in flight.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum InFlight {
    /// 409 with Retry-After.
    #[default]
    Reject,
    /// The first one's answer, if it comes within this span, else 409.
    Wait(Span),
}

/// A knowledge by its name in documents and headers.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum KnowledgeName {
    /// It happened.
    Committed,
    /// The origin will not do it.
    Rejected,
    /// It did not happen, and may be tried again.
    NoEffect,
    /// It may have happened.
    Unknown,
}

/// What the origin can do by itself.
#[derive(Deserialize, Debug, Clone, Copy, Default)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// It deduplicates by the action id, so that an attempt that was lost may be sent again.
    #[serde(default)]
    pub deduplicates: bool,
    /// It refuses attempts below the highest fence that it has seen.
    #[serde(default)]
    pub fences: bool,
}

/// What is kept of an answer, and how a known key is answered.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// How a known key is answered.
    #[serde(default)]
    pub mode: ReplayMode,
    /// What is kept of the answer.
    #[serde(default)]
    pub store: Store,
    /// Headers to replay beside the default ones.
    #[serde(default)]
    pub headers: Vec<String>,
}

/// How a known key is answered. That nothing is done twice is promised by each of them.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    /// With the stored answer, byte for byte.
    #[default]
    Bytes,
    /// With its status, `Location` and the operation's id, in place of bytes that may be stale.
    Operation,
    /// With 409: the answer is never given twice.
    Refuse,
}

/// What is kept of an answer.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// Status, listed headers, body.
    #[default]
    Full,
    /// Status and listed headers.
    Status,
    /// Only what became of it. Needs the mode `refuse`.
    None,
}

/// When an effect counts as committed.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum CommittedAt {
    /// With the end of the answer, which is held until it is recorded.
    #[default]
    End,
    /// With its headers: the body is streamed, and not kept.
    Headers,
}

/// The most bytes.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct SizeLimits {
    /// Of a request body. Default 1 MiB; at most 64 MiB.
    pub request: Option<Size>,
    /// Of a response body that is stored. Default 1 MiB; at most 64 MiB.
    pub response: Option<Size>,
}

/// What the client gets when the outcome cannot be recorded in time.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Unsettled {
    /// 409 outcome-unknown.
    #[default]
    Withhold,
    /// The origin's answer.
    Release,
}

/// A JSON object by member.
pub type Unique<T> = BTreeMap<String, T>;
