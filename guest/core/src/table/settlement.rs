//! SETTLEMENT: what is written once the origin was called, or was not.

use super::{Any, Condition, Row, admits};
use crate::decision::Knowledge;

/// What is held under the attempt's key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettleSeen {
    /// Our own attempt: in progress, claimed, or given up as unknown.
    Own,
    /// Our own attempt, settled as a success.
    OwnSucceeded,
    /// Our own attempt, settled or resolved as a failure of either kind.
    OwnFailed,
    /// A later attempt that is not dispatched yet.
    OtherClaimed,
    /// A later attempt, at an origin that cannot deduplicate.
    Other,
    /// A later attempt of the same action, at an origin that deduplicates by action id: both are one effect.
    OtherDeduplicated,
    /// Nothing, though the record's life is not over.
    Absent,
    /// Nothing, and the record's life is over.
    AbsentExpired,
    /// A record of a newer format.
    NewerFormat,
    /// Bytes that do not decode or open.
    Undecodable,
}

impl SettleSeen {
    /// Every value.
    pub const ALL: [SettleSeen; 10] = [
        SettleSeen::Own,
        SettleSeen::OwnSucceeded,
        SettleSeen::OwnFailed,
        SettleSeen::OtherClaimed,
        SettleSeen::Other,
        SettleSeen::OtherDeduplicated,
        SettleSeen::Absent,
        SettleSeen::AbsentExpired,
        SettleSeen::NewerFormat,
        SettleSeen::Undecodable,
    ];
}

/// The columns of a row; an empty one admits all.
#[derive(Debug)]
pub struct When {
    seen: Any<SettleSeen>,
    knowledge: Any<Knowledge>,
}

impl Condition for When {
    type Situation = (SettleSeen, Knowledge);

    fn holds(&self, (seen, knowledge): &Self::Situation) -> bool {
        admits(self.seen, seen) && admits(self.knowledge, knowledge)
    }
}

/// What a row writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettleAct {
    /// Nothing.
    Nothing,
    /// The outcome, in place of what is held.
    Record,
    /// That two effects may have happened; the state stays.
    Suspect,
    /// Nothing, and the outcome is still to be recorded.
    Refuse,
}

/// What a row does.
#[derive(Debug)]
pub struct Then {
    /// What is written.
    pub act: SettleAct,
    /// Whether the operator must hear of it.
    pub alarm: bool,
}

const fn row(name: &'static str, when: Any<When>, act: SettleAct, alarm: bool) -> Row<When, Then> {
    Row { name, when, then: Then { act, alarm } }
}

const fn on(seen: Any<SettleSeen>, knowledge: Any<Knowledge>) -> When {
    When { seen, knowledge }
}

/// The table.
#[rustfmt::skip]
pub const SETTLEMENT: &[Row<When, Then>] = {
    use {Knowledge::*, SettleAct::*, SettleSeen::*};
    const LESS: Any<Knowledge> = &[Rejected, NoEffect, Knowledge::Unknown];
    &[
        row("settle-success", &[on(&[Own], &[Committed])], Record, false),
        row("settle-rejection", &[on(&[Own], &[Rejected])], Record, false),
        row("settle-no-effect", &[on(&[Own], &[NoEffect])], Record, false),
        row("settle-unknown", &[on(&[Own], &[Knowledge::Unknown])], Record, false),
        row("settle-again", &[on(&[OwnSucceeded], &[]), on(&[OwnFailed], LESS)], Nothing, false),
        row("settle-contradicts", &[on(&[OwnFailed], &[Committed])], Record, true),
        row("fenced-committed", &[on(&[Other], &[Committed])], Suspect, true),
        row("fenced-claimed", &[on(&[OtherClaimed], &[Committed])], Record, false),
        row("fenced-deduplicated", &[on(&[OtherDeduplicated], &[Committed])], Nothing, false),
        row("fenced", &[on(&[Other, OtherClaimed, OtherDeduplicated], LESS)], Nothing, false),
        row("restored", &[on(&[Absent], &[])], Record, false),
        row("settle-expired", &[on(&[AbsentExpired], &[])], Nothing, false),
        row("settle-future-format", &[on(&[NewerFormat], &[])], Refuse, false),
        row("settle-undecodable", &[on(&[Undecodable], &[])], Refuse, false),
    ]
};
