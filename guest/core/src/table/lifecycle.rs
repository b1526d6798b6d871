//! RENEW, DISPATCH, RESOLVE, FORGET: what else may happen to a record.

use super::{Any, Condition, Row, admits};

/// What RENEW finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RenewSeen {
    /// Our own attempt, in progress.
    Own,
    /// Anything else.
    Other,
}

/// How long an attempt has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Run {
    /// Less than the rule's `max_run`.
    Within,
    /// As long as it may.
    Reached,
}

/// What DISPATCH finds (two-phase rules).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DispatchSeen {
    /// Our own claim.
    OwnClaimed,
    /// Our own attempt, dispatched already: an answer was lost.
    OwnInProgress,
    /// Anything else.
    Other,
}

/// What RESOLVE finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResolveSeen {
    /// An attempt whose lease is running.
    Running,
    /// An outcome that nobody knows, or an attempt whose lease is over.
    Unknown,
    /// An outcome that is settled.
    Settled,
    /// Nothing.
    Absent,
    /// A newer format, or bytes that do not decode or open.
    Unreadable,
}

/// What RESOLVE is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ruling {
    /// It happened.
    Committed,
    /// It was rejected.
    Rejected,
    /// It did not happen, and no attempt can make it happen any more.
    NoEffectProven,
    /// It did not happen, on somebody's word alone.
    NoEffectForced,
    /// It did not happen, but the evidence given does not hold.
    NoEffectUnproven,
}

/// What FORGET finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForgetSeen {
    /// A settled outcome.
    Settled,
    /// An attempt in flight, or an unknown outcome.
    Open,
    /// Nothing.
    Absent,
    /// A newer format, or bytes that do not decode or open.
    Unreadable,
}

/// How old a settled outcome is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Age {
    /// Still authoritative.
    Kept,
    /// Over.
    Over,
}

/// Two columns; an empty one admits all.
#[derive(Debug)]
pub struct When<A: 'static, B: 'static>(Any<A>, Any<B>);

impl<A: PartialEq, B: PartialEq> Condition for When<A, B> {
    type Situation = (A, B);

    fn holds(&self, (one, other): &(A, B)) -> bool {
        admits(self.0, one) && admits(self.1, other)
    }
}

/// Whether a row changes the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It stays as it is.
    Nothing,
    /// RENEW extends the lease, DISPATCH marks it in progress, RESOLVE records the truth, FORGET deletes it.
    Written,
}

const fn row<A, B>(name: &'static str, when: &'static [When<A, B>], then: Change) -> Row<When<A, B>, Change> {
    Row { name, when, then }
}

/// RENEW: extends the lease of our own attempt in progress, and revives nothing.
#[rustfmt::skip]
pub const RENEW: &[Row<When<RenewSeen, Run>, Change>] = &[
    row("renewed", &[When(&[RenewSeen::Own], &[Run::Within])], Change::Written),
    row("renew-limit", &[When(&[RenewSeen::Own], &[Run::Reached])], Change::Nothing),
    row("renew-lost", &[When(&[RenewSeen::Other], &[])], Change::Nothing),
];

/// DISPATCH: turns our own claim into an attempt in progress, if its lease is not over.
#[rustfmt::skip]
pub const DISPATCH: &[Row<When<DispatchSeen, Run>, Change>] = &[
    row("dispatched", &[When(&[DispatchSeen::OwnClaimed], &[Run::Within])], Change::Written),
    row("dispatched-again", &[When(&[DispatchSeen::OwnInProgress], &[Run::Within])], Change::Nothing),
    row("dispatch-late", &[When(&[DispatchSeen::OwnClaimed, DispatchSeen::OwnInProgress], &[Run::Reached])], Change::Nothing),
    row("dispatch-lost", &[When(&[DispatchSeen::Other], &[])], Change::Nothing),
];

/// RESOLVE: somebody tells the truth about an unknown outcome.
#[rustfmt::skip]
pub const RESOLVE: &[Row<When<ResolveSeen, Ruling>, Change>] = &[
    row("resolve-committed", &[When(&[ResolveSeen::Unknown], &[Ruling::Committed])], Change::Written),
    row("resolve-rejected", &[When(&[ResolveSeen::Unknown], &[Ruling::Rejected])], Change::Written),
    row("resolve-no-effect", &[When(&[ResolveSeen::Unknown], &[Ruling::NoEffectProven])], Change::Written),
    row("resolve-forced", &[When(&[ResolveSeen::Unknown], &[Ruling::NoEffectForced])], Change::Written),
    row("resolve-unproven", &[When(&[ResolveSeen::Unknown], &[Ruling::NoEffectUnproven])], Change::Nothing),
    row("resolve-in-flight", &[When(&[ResolveSeen::Running], &[])], Change::Nothing),
    row("resolve-settled", &[When(&[ResolveSeen::Settled], &[])], Change::Nothing),
    row("resolve-absent", &[When(&[ResolveSeen::Absent], &[])], Change::Nothing),
    row("resolve-unreadable", &[When(&[ResolveSeen::Unreadable], &[])], Change::Nothing),
];

/// FORGET: drops what is settled and over, and never what is open.
#[rustfmt::skip]
pub const FORGET: &[Row<When<ForgetSeen, Age>, Change>] = &[
    row("forgotten", &[When(&[ForgetSeen::Settled], &[Age::Over])], Change::Written),
    row("forget-kept", &[When(&[ForgetSeen::Settled], &[Age::Kept])], Change::Nothing),
    row("forget-open", &[When(&[ForgetSeen::Open], &[])], Change::Nothing),
    row("forget-absent", &[When(&[ForgetSeen::Absent], &[])], Change::Nothing),
    row("forget-unreadable", &[When(&[ForgetSeen::Unreadable], &[])], Change::Nothing),
];
