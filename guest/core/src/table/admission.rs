//! ADMISSION: what may happen to a request, before the origin is called.

use super::{Any, Condition, Row, admits};

/// What is held under the identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Nothing.
    Absent,
    /// Our own claim of this very call, its lease running: an answer was lost on the way.
    OwnClaim,
    /// Another's claim, not yet dispatched (two-phase rules).
    Claimed,
    /// An attempt in flight.
    InProgress,
    /// A success with its answer.
    Succeeded,
    /// A success whose answer was too large to keep.
    Tombstone,
    /// A rejection.
    FailedPermanently,
    /// A failure without effect.
    FailedRetryably,
    /// An outcome that nobody knows.
    Unknown,
    /// Only that there was a record, within the horizon.
    Forgotten,
    /// A record of a newer format.
    NewerFormat,
    /// Bytes that do not decode or open.
    Undecodable,
}

/// How the request compares with the one that the record was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Likeness {
    /// The same.
    Same,
    /// Only fields differ that the rule lets change.
    Rebindable,
    /// Another action.
    Different,
    /// The plan is no longer held, or the request cannot be read.
    Incomparable,
}

/// The lease of what is in flight or unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lease {
    /// Not over for certain.
    Running,
    /// Over.
    Over,
    /// Over, and the origin deduplicates by action id.
    Reclaimable,
}

/// The retention of what is settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retention {
    /// Authoritative.
    Kept,
    /// Over.
    Over,
}

/// Whether a failure without effect may be tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// Now.
    Ready,
    /// Not yet.
    Early,
    /// No attempts are left.
    Exhausted,
}

/// What is known where nothing is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absence {
    /// Nothing.
    Free,
    /// A durable business fact says that it was done.
    Fact,
    /// Another action holds the business key.
    Taken,
    /// The store may have forgotten.
    Amnesia,
}

/// One input of the table. A column that does not apply has its first value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Situation {
    /// What is held.
    pub seen: Seen,
    /// How the request compares.
    pub likeness: Likeness,
    /// Of what is in flight or unknown.
    pub lease: Lease,
    /// Of what is settled.
    pub retention: Retention,
    /// Of a failure without effect.
    pub retry: Retry,
    /// Of nothing.
    pub absence: Absence,
}

impl Situation {
    /// A situation in which only what is held matters.
    pub const fn of(seen: Seen) -> Self {
        Situation {
            seen,
            likeness: Likeness::Same,
            lease: Lease::Running,
            retention: Retention::Kept,
            retry: Retry::Ready,
            absence: Absence::Free,
        }
    }

    /// Every input: each column that applies takes each of its values.
    pub fn all() -> impl Iterator<Item = Situation> {
        use {Absence::*, Likeness::*, Retry::*, Seen::*};
        let likenesses = [Same, Rebindable, Different, Incomparable];
        let leases = [Lease::Running, Lease::Over, Lease::Reclaimable];
        let retentions = [Retention::Kept, Retention::Over];
        let absences = [Free, Fact, Taken, Amnesia].map(|absence| Situation { absence, ..Situation::of(Absent) });
        let alone = [OwnClaim, Forgotten, NewerFormat, Undecodable].map(Situation::of);
        let in_flight = [Claimed, InProgress, Unknown].into_iter().flat_map(move |seen| {
            likenesses.into_iter().flat_map(move |likeness| {
                leases.into_iter().map(move |lease| Situation { likeness, lease, ..Situation::of(seen) })
            })
        });
        let settled = [Succeeded, Tombstone, FailedPermanently, FailedRetryably].into_iter().flat_map(move |seen| {
            let retries: &[Retry] = if seen == FailedRetryably { &[Ready, Early, Exhausted] } else { &[Ready] };
            likenesses.into_iter().flat_map(move |likeness| {
                retentions.into_iter().flat_map(move |retention| {
                    let one = Situation { likeness, retention, ..Situation::of(seen) };
                    retries.iter().map(move |&retry| Situation { retry, ..one })
                })
            })
        });
        absences.into_iter().chain(alone).chain(in_flight).chain(settled)
    }
}

/// The columns of a row; an empty one admits all.
#[derive(Debug)]
pub struct When {
    seen: Any<Seen>,
    likeness: Any<Likeness>,
    lease: Any<Lease>,
    retention: Any<Retention>,
    retry: Any<Retry>,
    absence: Any<Absence>,
}

impl Condition for When {
    type Situation = Situation;

    fn holds(&self, situation: &Situation) -> bool {
        admits(self.seen, &situation.seen)
            && admits(self.likeness, &situation.likeness)
            && admits(self.lease, &situation.lease)
            && admits(self.retention, &situation.retention)
            && admits(self.retry, &situation.retry)
            && admits(self.absence, &situation.absence)
    }
}

/// What kind of decision a row makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The origin is called.
    Proceed,
    /// The stored answer.
    Replay,
    /// The key was used for another action.
    Conflict,
    /// Another attempt is in flight, or it is too early.
    Wait,
    /// Nobody may try again on their own.
    Stop,
    /// The request cannot be accepted.
    Refuse,
    /// Cannot be told right now.
    Unavailable,
}

/// What a row does, and what it shows.
#[derive(Debug)]
pub struct Then {
    /// The decision.
    pub kind: Kind,
    /// What is written before it stands.
    pub act: Act,
    /// The HTTP status, for readers; `answer` makes it.
    pub http: &'static str,
    /// How often the origin is called because of it.
    pub origin_calls: u8,
}

/// What a row writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// A claim for a new action.
    Claim,
    /// A claim for the same action, fence + 1.
    Reclaim,
    /// As `Reclaim`, with this request's fingerprint.
    Rebind,
    /// That the outcome is unknown.
    MarkUnknown,
    /// A receipt from a business fact.
    Adopt,
}

const ANY: When = When { seen: &[], likeness: &[], lease: &[], retention: &[], retry: &[], absence: &[] };
const SAME: Any<Likeness> = &[Likeness::Same];
const OTHER: Any<Likeness> = &[Likeness::Rebindable, Likeness::Different];
const KEPT: Any<Retention> = &[Retention::Kept];
const OVER: Any<Retention> = &[Retention::Over];

const fn row(name: &'static str, when: Any<When>, kind: Kind, act: Act, http: &'static str) -> Row<When, Then> {
    let origin_calls = matches!(kind, Kind::Proceed) as u8;
    Row { name, when, then: Then { kind, act, http, origin_calls } }
}

/// The table.
#[rustfmt::skip]
pub const ADMISSION: &[Row<When, Then>] = {
    use {Absence::*, Act::*, Kind::*, Likeness::*, Retry::*, Seen::*};
    &[
        row("first-claim", &[When { seen: &[Absent], absence: &[Free], ..ANY }], Proceed, Claim, "origin's"),
        row("legacy-replay", &[When { seen: &[Absent], absence: &[Fact], ..ANY }], Replay, Adopt, "fact's"),
        row("claim-recovered", &[When { seen: &[OwnClaim], ..ANY }], Proceed, Nothing, "origin's"),
        row("claimed-lost", &[When { seen: &[Claimed], likeness: SAME, lease: &[Lease::Over, Lease::Reclaimable], ..ANY }], Proceed, Reclaim, "origin's"),
        row("in-progress", &[When { seen: &[InProgress, Claimed], likeness: SAME, lease: &[Lease::Running], ..ANY }], Wait, Nothing, "409 + Retry-After"),
        row("lease-lost", &[When { seen: &[InProgress], likeness: SAME, lease: &[Lease::Over], ..ANY }], Stop, MarkUnknown, "409 outcome-unknown"),
        row("reclaim", &[When { seen: &[InProgress, Unknown], likeness: SAME, lease: &[Lease::Reclaimable], ..ANY }], Proceed, Reclaim, "origin's"),
        row("in-progress-conflict", &[When { seen: &[InProgress, Claimed], likeness: OTHER, ..ANY }], Conflict, Nothing, "422"),
        row("replay-success", &[When { seen: &[Succeeded], likeness: SAME, retention: KEPT, ..ANY }], Replay, Nothing, "stored"),
        row("tombstone", &[When { seen: &[Tombstone], likeness: SAME, retention: KEPT, ..ANY }], Replay, Nothing, "stored status, no body"),
        row("success-conflict", &[When { seen: &[Succeeded, Tombstone], likeness: OTHER, retention: KEPT, ..ANY }], Conflict, Nothing, "422"),
        row("success-expired", &[When { seen: &[Succeeded, Tombstone], retention: OVER, ..ANY }], Proceed, Claim, "origin's"),
        row("replay-failure", &[When { seen: &[FailedPermanently], likeness: SAME, retention: KEPT, ..ANY }], Replay, Nothing, "stored"),
        row("failure-conflict", &[When { seen: &[FailedPermanently], likeness: OTHER, retention: KEPT, ..ANY }], Conflict, Nothing, "422"),
        row("failure-expired", &[When { seen: &[FailedPermanently], retention: OVER, ..ANY }], Proceed, Claim, "origin's"),
        row("retry", &[When { seen: &[FailedRetryably], likeness: SAME, retention: KEPT, retry: &[Ready], ..ANY }], Proceed, Reclaim, "origin's"),
        row("retry-later", &[When { seen: &[FailedRetryably], likeness: &[Same, Rebindable], retention: KEPT, retry: &[Early], ..ANY }], Wait, Nothing, "stored or 409, Retry-After"),
        row("retry-exhausted", &[When { seen: &[FailedRetryably], likeness: &[Same, Rebindable], retention: KEPT, retry: &[Exhausted], ..ANY }], Stop, Nothing, "409"),
        row("retry-rebound", &[When { seen: &[FailedRetryably], likeness: &[Rebindable], retention: KEPT, retry: &[Ready], ..ANY }], Proceed, Rebind, "origin's"),
        row("retry-conflict", &[When { seen: &[FailedRetryably], likeness: &[Different], retention: KEPT, ..ANY }], Conflict, Nothing, "422"),
        row("retry-expired", &[When { seen: &[FailedRetryably], retention: OVER, ..ANY }], Proceed, Claim, "origin's"),
        row("unknown", &[When { seen: &[Unknown], likeness: SAME, lease: &[Lease::Running, Lease::Over], ..ANY }], Stop, Nothing, "409 outcome-unknown"),
        row("unknown-conflict", &[When { seen: &[Unknown], likeness: OTHER, ..ANY }], Conflict, Nothing, "422"),
        row("plan-unknown", &[When { seen: &[Claimed, InProgress, Succeeded, Tombstone, FailedPermanently, FailedRetryably, Unknown], likeness: &[Incomparable], retention: KEPT, ..ANY }], Stop, Nothing, "409 incomparable"),
        row("future-format", &[When { seen: &[NewerFormat], ..ANY }], Unavailable, Nothing, "503 + Retry-After"),
        row("undecodable", &[When { seen: &[Undecodable], ..ANY }], Stop, Nothing, "409 outcome-unknown"),
        row("domain-taken", &[When { seen: &[Absent], absence: &[Taken], ..ANY }], Refuse, Nothing, "409 + reference"),
        row("horizon-refused", &[When { seen: &[Forgotten], ..ANY }], Refuse, Nothing, "409 expired-key"),
        row("amnesia", &[When { seen: &[Absent], absence: &[Amnesia], ..ANY }], Stop, Nothing, "409 outcome-unknown"),
    ]
};
