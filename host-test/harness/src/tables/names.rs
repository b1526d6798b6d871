//! What the tables' values are called in README.

use oncegate_core::decision::Knowledge;
use oncegate_core::table::{Absence, Act, Kind, Lease, Likeness, Retention, Retry, Seen, SettleSeen};

pub(super) fn seen_name(seen: Seen) -> &'static str {
    match seen {
        Seen::Absent => "absent",
        Seen::OwnClaim => "own InProgress, own attempt",
        Seen::Claimed => "Claimed",
        Seen::InProgress => "InProgress",
        Seen::Succeeded => "Succeeded",
        Seen::Tombstone => "Succeeded without its body",
        Seen::FailedPermanently => "FailedPermanently",
        Seen::FailedRetryably => "FailedRetryably",
        Seen::Unknown => "Unknown",
        Seen::Forgotten => "forgotten, within the horizon",
        Seen::NewerFormat => "a newer format",
        Seen::Undecodable => "bytes that do not decode or open",
    }
}

pub(super) fn likeness_name(likeness: Likeness) -> &'static str {
    match likeness {
        Likeness::Same => "yes",
        Likeness::Rebindable => "but for what may change",
        Likeness::Different => "no",
        Likeness::Incomparable => "cannot be told",
    }
}

pub(super) fn lease_name(lease: Lease) -> &'static str {
    match lease {
        Lease::Running => "no",
        Lease::Over => "yes",
        Lease::Reclaimable => "yes, origin deduplicates",
    }
}

pub(super) fn retention_name(retention: Retention) -> &'static str {
    match retention {
        Retention::Kept => "no",
        Retention::Over => "yes",
    }
}

pub(super) fn retry_name(retry: Retry) -> &'static str {
    match retry {
        Retry::Ready => "its time come, tries left",
        Retry::Early => "before its time",
        Retry::Exhausted => "no tries left",
    }
}

pub(super) fn absence_name(absence: Absence) -> &'static str {
    match absence {
        Absence::Free => "nothing known",
        Absence::Fact => "a business fact known",
        Absence::Taken => "the business key taken",
        Absence::Amnesia => "in an amnesia window",
    }
}

pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Proceed => "proceed",
        Kind::Replay => "replay",
        Kind::Conflict => "conflict",
        Kind::Wait => "wait",
        Kind::Stop => "stop",
        Kind::Refuse => "refuse",
        Kind::Unavailable => "unavailable",
    }
}

pub(super) fn act_name(act: Act) -> &'static str {
    match act {
        Act::Nothing => "-",
        Act::Claim => "claim, new action id",
        Act::Reclaim => "reclaim, same action id, fence + 1",
        Act::Rebind => "reclaim with the new fingerprint",
        Act::MarkUnknown => "mark Unknown",
        Act::Adopt => "adopt, bound to no fingerprint",
    }
}

pub(super) fn settle_seen_name(seen: SettleSeen) -> &'static str {
    match seen {
        SettleSeen::Own => "own InProgress, Claimed or Unknown",
        SettleSeen::OwnSucceeded => "own Succeeded",
        SettleSeen::OwnFailed => "own FailedRetryably or FailedPermanently",
        SettleSeen::OtherClaimed => "another attempt's Claimed",
        SettleSeen::Other => "another attempt's",
        SettleSeen::OtherDeduplicated => "another attempt's, origin deduplicates",
        SettleSeen::Absent => "absent, within the record's life",
        SettleSeen::AbsentExpired => "absent, after it",
        SettleSeen::NewerFormat => "a newer format",
        SettleSeen::Undecodable => "bytes that do not decode or open",
    }
}

pub(super) fn knowledge_name(knowledge: Knowledge) -> &'static str {
    match knowledge {
        Knowledge::Committed => "committed",
        Knowledge::Rejected => "rejected",
        Knowledge::NoEffect => "no effect",
        Knowledge::Unknown => "unknown",
    }
}
