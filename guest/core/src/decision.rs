//! What the core answers: decisions, settlements and the plain value between them. It mirrors `wit/enforcer.wit`.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::request::{Field, Response};
use crate::store::{Key, Revision};
use crate::time::{Instant, Timestamp};

/// The name of a table's row: also the metric's label, the log's field, the vector's name.
pub type RowName = Cow<'static, str>;

/// Sixteen random bytes that name an action, an attempt, or by hashing a plan or a generation.
pub type Id = [u8; 16];

/// What a call cannot know by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Circumstances {
    /// The time.
    pub now: Instant,
    /// Fresh bytes from the system's cryptographic generator, never used for another call.
    pub entropy: [u8; 32],
}

/// What only an admission needs beyond that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conditions {
    /// The caller waited for another attempt: it may be given the answer, but no longer the claim.
    pub waited: bool,
    /// The store may have forgotten: until then an absent record proves nothing.
    pub amnesia_until: Option<Timestamp>,
}

/// What the head alone tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// No rule covers it: forward it untouched.
    Pass(RowName),
    /// A rule covers it: read the body, then admit.
    Enforce {
        /// The rule's declared operation.
        operation: String,
        /// The most bytes of body to read.
        max_body: u64,
    },
    /// Answer with this; the origin is not called.
    Refuse {
        /// Why.
        row: RowName,
        /// The answer.
        response: Response,
    },
}

/// One admitted try: a plain value that any instance with the same configuration can settle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The record's key.
    pub key: Key,
    /// The record's revision when this value was made.
    pub revision: Revision,
    /// The configuration that admitted it.
    pub generation: Id,
    /// The rule's declared operation.
    pub operation: String,
    /// Names the recipe of the fingerprint.
    pub plan: Id,
    /// Keyed; see `plan`.
    pub fingerprint: [u8; 32],
    /// The secret under which fingerprint and record are made.
    pub secret: u32,
    /// The same through every reclaim of one logical action.
    pub action: Id,
    /// New for each try.
    pub id: Id,
    /// Rises by one with each reclaim, from 1.
    pub fence: u32,
    /// Tries of this action so far, this one included.
    pub tries: u32,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// Until when it may plausibly still be running.
    pub lease_until: Timestamp,
}

/// Leave to call the origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proceed {
    /// What to settle with.
    pub attempt: Attempt,
    /// Add to the forwarded request, in place of any of the same names.
    pub send: Vec<Field>,
    /// The origin's answer must be complete by then. Already past: do not send, settle as not sent.
    pub answer_by: Timestamp,
    /// Renew about this often; `None`: never.
    pub renew_every: Option<Duration>,
    /// Hold at most so many bytes of the response.
    pub max_response: u64,
}

/// A fact is to be looked up before the origin may be called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inquiry {
    /// What is to be done if there is none.
    pub proceed: Proceed,
    /// Path and query at the origin, asked with GET and the request's own credentials.
    pub target: Vec<u8>,
    /// The most bytes of body to read.
    pub max_body: u64,
}

/// Another attempt is in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// For a client that is not to wait any longer.
    pub response: Response,
    /// Ask again after about this long.
    pub retry_in: Duration,
    /// Wait no longer than this in all; zero: do not wait.
    pub bound: Duration,
}

/// What may happen to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Optional key, not given: forward it and keep no record.
    Bypass,
    /// Call the origin, then settle.
    Proceed(alloc::boxed::Box<Proceed>),
    /// Look this up, then hand the answer back: the claim is made.
    Ask(alloc::boxed::Box<Inquiry>),
    /// Already done: this is the answer.
    Replay(Response),
    /// The key was used for another action.
    Conflict(Response),
    /// Another attempt is in flight.
    Wait(Wait),
    /// Nobody may try again on their own.
    Stop(Response),
    /// The request cannot be accepted.
    Refuse(Response),
    /// The store or its contents cannot be used right now.
    Unavailable(Response),
}

/// The outcome of an admission.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// The row that was met.
    pub row: RowName,
    /// The rule's declared operation; empty where none applies.
    pub operation: String,
    /// What may happen.
    pub decision: Decision,
    /// What the store said, for the operator's log.
    pub detail: Option<String>,
}

/// What is known of the effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// It happened.
    Committed,
    /// The origin will not do it, and says so for good.
    Rejected,
    /// It did not happen, and may be tried again.
    NoEffect,
    /// It may have happened.
    Unknown,
}

/// How firmly an outcome is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Durably.
    Recorded,
    /// As firmly as the caller's own open transaction.
    Provisional,
    /// Not at all, and why: settle again.
    Unrecorded(String),
}

/// What the client may be given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The origin's answer; of an oversized one the head, after which its body may be streamed.
    Origin(Response),
    /// This in place of it.
    Instead(Response),
}

/// The outcome of a settlement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settlement {
    /// The row that was met.
    pub row: RowName,
    /// What is known of the effect.
    pub knowledge: Knowledge,
    /// How firmly it is recorded.
    pub standing: Standing,
    /// What the client may be given now.
    pub answer: Answer,
    /// Proof or suspicion of a double effect.
    pub alarm: bool,
}

/// An attempt that cannot be judged here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptError {
    /// Admitted under another configuration.
    OtherGeneration,
    /// Not a value that an admission returned.
    Malformed,
}

/// The outcome of a renewal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Renewal {
    /// Settle with this value.
    Renewed(Attempt),
    /// The attempt goes on under its old lease, or has lost it.
    Refused(RowName),
    /// The store did not answer.
    Unavailable(String),
}

/// Why it is safe to say that an unknown attempt had no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// The origin refuses attempts below the record's fence.
    OriginFences,
    /// The gateway that claimed says that the attempt is gone.
    AttemptGone,
    /// Lease and declared longest pause have passed.
    Drained,
    /// None: it may double.
    Forced,
}

/// The truth about an unknown outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It happened, and this is the answer to replay.
    Committed(Response),
    /// It was rejected, and this is the answer to replay.
    Rejected(Response),
    /// It did not happen.
    NoEffect(Evidence),
}

/// Who tells the truth, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Testimony {
    /// At most 1024 bytes.
    pub actor: String,
    /// At most 1024 bytes.
    pub reason: String,
}

/// The outcome of a resolution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolution {
    /// The row that was met.
    pub row: RowName,
    /// Whether the record was changed.
    pub resolved: bool,
    /// What the store said, if it did not answer.
    pub detail: Option<String>,
}

/// The state of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Admitted, not yet dispatched (two-phase rules).
    Claimed,
    /// The origin may be called.
    InProgress,
    /// The effect happened.
    Succeeded,
    /// The origin will not do it.
    FailedPermanently,
    /// There was no effect; it may be tried again.
    FailedRetryably,
    /// There may have been an effect.
    Unknown,
}

/// What a record tells without its contents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// The record's key.
    pub key: Key,
    /// Its state.
    pub state: State,
    /// Whether the request is the one that the record was made for; `None`: not comparable.
    pub same_fingerprint: Option<bool>,
    /// The logical action.
    pub action: Id,
    /// The latest attempt.
    pub attempt: Id,
    /// Its fence.
    pub fence: u32,
    /// Tries so far.
    pub tries: u32,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// Until when it may plausibly still be running.
    pub lease_until: Timestamp,
    /// When the outcome was recorded.
    pub settled_at: Option<Timestamp>,
    /// When the result stops being authoritative.
    pub retained_until: Option<Timestamp>,
    /// Two effects may have happened.
    pub double_effect_suspected: bool,
}

/// How a request is seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The rule's declared operation.
    pub operation: String,
    /// Names of the scope's parts.
    pub scope: Vec<String>,
    /// The record's key under each derivation in force.
    pub keys: Vec<Key>,
    /// The row that an admission would meet first.
    pub row: RowName,
    /// The record, if there is one that can be read.
    pub held: Option<Held>,
}
