//! The policy as it is written: a JSON document, version 1. Unknown fields are rejected; every field but `operation`,
//! `match` and `scope` has a default.
//!
//! Spans are text such as `"500ms"`, `"60s"`, `"15m"`, `"24h"`, `"7d"`; sizes are bytes as a number or text such as
//! `"512KiB"`, `"1MiB"`.

mod fields;
mod fingerprint;
mod read;

use alloc::string::String;
use alloc::vec::Vec;

pub use fingerprint::{BodyProfile, FingerprintDocument, Invalid, KeyFormatDocument, QueryProfile};

use super::units::{Size, Span};
use super::webhook::Webhook;

/// The whole document.
#[derive(Debug)]
pub struct Document {
    /// 1.
    pub version: u32,
    /// What becomes of a mutation that no rule matches.
    pub unmatched: Unmatched,
    /// What becomes of a mutation that no rule matches and that can be read in two ways: a path that is not plainly spelled,
    /// or a header that asks for another method.
    pub ambiguous: Ambiguous,
    /// A reference to the published key policy, given in `Link: <...>; rel="describedby"` of each problem.
    pub described_by: Option<String>,
    /// Tried in order; the first that matches covers the request.
    pub rules: Vec<RuleDocument>,
}

/// What becomes of a mutation that no rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unmatched {
    /// Forwarded untouched, and counted.
    #[default]
    Pass,
    /// Refused with 403.
    Refuse,
}

/// What becomes of a request that can be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ambiguous {
    /// Refused with 400, so that no spelling goes round a rule.
    #[default]
    Refuse,
    /// Taken as it stands. Only for an origin that reads it as it stands, too.
    Accept,
}

/// One rule.
#[derive(Debug)]
pub struct RuleDocument {
    /// A declared, stable name: 1 to 64 of `a-z 0-9 . _ -`. Changing it forgets the rule's records.
    pub operation: String,
    /// Which requests it covers.
    pub matches: Match,
    /// What becomes of a covered request that can be read in two ways.
    pub ambiguous: Ambiguous,
    /// Where the client key stands.
    pub key: KeyDocument,
    /// Where that key is unique.
    pub scope: Scope,
    /// What defines the action beside the key.
    pub fingerprint: FingerprintDocument,
    /// Scopes and fingerprints that records may still have been made under.
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
    pub retention: Retention,
    /// What a duplicate gets while the first is in flight: `"reject"` or `{"wait": SPAN}`. Default reject.
    pub in_flight: InFlight,
    /// What an answer's status says of the effect: `"409"` or `"5xx"` to a knowledge.
    pub outcomes: Unique<KnowledgeName>,
    /// How often an action may be tried in all. Default: no limit.
    pub max_attempts: Option<u32>,
    /// When an effect counts as committed.
    pub committed_at: CommittedAt,
    /// What the origin can do by itself.
    pub origin: Origin,
    /// What is replayed.
    pub replay: Replay,
    /// The most bytes.
    pub limits: SizeLimits,
    /// Where a durable business fact may tell of actions from before there were records.
    pub legacy: Option<LegacyDocument>,
    /// How inbound events are signed; the client key is then the event's id.
    pub webhook: Option<Webhook>,
    /// What the client gets when the outcome cannot be recorded in time.
    pub unsettled: Unsettled,
}

/// Where a durable business fact may be looked up, after the claim and before the effect.
#[derive(Debug)]
pub struct LegacyDocument {
    /// A target at the origin, asked with GET: `/bookings/{item}/shipment`. `{parameter}` is the rule's, `{key}` the client
    /// key. 2xx with a body is the fact, 404 and 410 say that there is none, all else is no answer.
    pub lookup: String,
    /// The most bytes of its body that are taken over. Default 64 KiB.
    pub max_body: Option<Size>,
}

/// Which requests a rule covers.
#[derive(Debug)]
pub struct Match {
    /// Methods. Default POST and PATCH.
    pub methods: Vec<String>,
    /// A path template: `/orders/{order}`; `/api/**` covers all below.
    pub path: String,
}

/// Where the client key stands. Several places may be named: the key may stand in any of them, and where it stands in
/// more than one, all must agree. None named: the header `Idempotency-Key`.
#[derive(Debug, Default)]
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
    pub format: KeyFormatDocument,
}

/// Where a part of the scope comes from. All of these are verified before they reach the core.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Named parts in the order of their names; `tenant` is one of them.
    Parts(Vec<(String, Source)>),
}

/// What records may still have been made under. Keep each entry until the longest retention after its last use.
#[derive(Debug, Default)]
pub struct Previous {
    /// Earlier scopes.
    pub scope: Vec<Scope>,
    /// Earlier fingerprints.
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

/// What a duplicate gets while the first is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InFlight {
    /// 409 with Retry-After.
    #[default]
    Reject,
    /// The first one's answer, if it comes within this span, else 409.
    Wait(Span),
}

/// A knowledge by its name in documents and headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KnowledgeName {
    /// It happened.
    Committed,
    /// The origin will not do it.
    Rejected,
    /// It did not happen, and may be tried again.
    NoEffect,
    /// It may have happened.
    #[default]
    Unknown,
}

/// What the origin can do by itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin {
    /// It deduplicates by the action id, so that an attempt that was lost may be sent again.
    pub deduplicates: bool,
    /// It refuses attempts below the highest fence that it has seen.
    pub fences: bool,
}

/// What is kept of an answer, and how a known key is answered.
#[derive(Debug, Default)]
pub struct Replay {
    /// How a known key is answered.
    pub mode: ReplayMode,
    /// What is kept of the answer.
    pub store: Store,
    /// Headers to replay beside the default ones.
    pub headers: Vec<String>,
}

/// How a known key is answered. That nothing is done twice is promised by each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommittedAt {
    /// With the end of the answer, which is held until it is recorded.
    #[default]
    End,
    /// With its headers: the body is streamed, and not kept.
    Headers,
}

/// The most bytes.
#[derive(Debug, Default)]
pub struct SizeLimits {
    /// Of a request body. Default 1 MiB; at most 64 MiB.
    pub request: Option<Size>,
    /// Of a response body that is stored. Default 1 MiB; at most 64 MiB.
    pub response: Option<Size>,
}

/// What the client gets when the outcome cannot be recorded in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsettled {
    /// 409 outcome-unknown.
    #[default]
    Withhold,
    /// The origin's answer.
    Release,
}

/// The members of a JSON object in the order of their names, each once.
pub type Unique<T> = Vec<(String, T)>;
