//! Each table is total and free of overlap: every situation meets exactly one row, and every row is met by some situation.

use std::collections::BTreeSet;
use std::fmt::Debug;

use oncegate_core::decision::Knowledge;
use oncegate_core::table::{
    ADMISSION, Age, Change, Condition, DISPATCH, DispatchSeen, FORGET, ForgetSeen, Kind, RENEW, RESOLVE, RenewSeen,
    ResolveSeen, Row, Ruling, Run, SETTLEMENT, Seen, SettleAct, SettleSeen, Situation, meet,
};
use oncegate_core::telemetry;

/// Returns how many situations there were.
fn assert_unique<S: Condition, T>(table: &[Row<S, T>], situations: impl Iterator<Item = S::Situation>) -> usize
where
    S::Situation: Debug,
{
    let mut met = BTreeSet::new();
    let mut count = 0;
    for situation in situations {
        count += 1;
        let rows: Vec<&str> = table
            .iter()
            .filter(|row| row.when.iter().any(|condition| condition.holds(&situation)))
            .map(|row| row.name)
            .collect();
        assert_eq!(rows.len(), 1, "{situation:?} meets {rows:?}");
        assert_eq!(meet(table, &situation).map(|row| row.name), rows.first().copied());
        met.extend(rows);
    }
    let unmet: Vec<&str> = table.iter().map(|row| row.name).filter(|name| !met.contains(name)).collect();
    assert!(unmet.is_empty(), "no situation meets {unmet:?}");
    count
}

fn pairs<A: Copy, B: Copy>(ones: &[A], others: &[B]) -> impl Iterator<Item = (A, B)> {
    ones.iter().flat_map(move |one| others.iter().map(move |other| (*one, *other)))
}

#[test]
fn admission_is_total_and_unique() {
    // 4 absences, 4 alone, 3 open states x 4 likenesses x 3 leases, 3 settled x 4 x 2 retentions, 1 x 4 x 2 x 3 retries.
    assert_eq!(assert_unique(ADMISSION, Situation::all()), 4 + 4 + 36 + 24 + 24);
}

#[test]
fn settlement_is_total_and_unique() {
    let all = [Knowledge::Committed, Knowledge::Rejected, Knowledge::NoEffect, Knowledge::Unknown];
    assert_eq!(assert_unique(SETTLEMENT, pairs(&SettleSeen::ALL, &all)), 40);
}

#[test]
fn the_other_tables_are_total_and_unique() {
    let runs = [Run::Within, Run::Reached];
    assert_unique(RENEW, pairs(&[RenewSeen::Own, RenewSeen::Other], &runs));
    let seen = [DispatchSeen::OwnClaimed, DispatchSeen::OwnInProgress, DispatchSeen::Other];
    assert_unique(DISPATCH, pairs(&seen, &runs));
    let seen = [
        ResolveSeen::Running,
        ResolveSeen::Unknown,
        ResolveSeen::Settled,
        ResolveSeen::Absent,
        ResolveSeen::Unreadable,
    ];
    let rulings =
        [Ruling::Committed, Ruling::Rejected, Ruling::NoEffectProven, Ruling::NoEffectForced, Ruling::NoEffectUnproven];
    assert_unique(RESOLVE, pairs(&seen, &rulings));
    let seen = [ForgetSeen::Settled, ForgetSeen::Open, ForgetSeen::Absent, ForgetSeen::Unreadable];
    assert_unique(FORGET, pairs(&seen, &[Age::Kept, Age::Over]));
}

#[test]
fn names_are_unique_over_all_tables() {
    let mut names = BTreeSet::new();
    for name in telemetry::rows() {
        assert!(names.insert(name), "{name} stands twice");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name} is no label");
    }
}

/// G3, read off the table itself: the origin is called on `proceed` alone, and an unknown outcome proceeds only where the
/// origin deduplicates.
#[test]
fn unknown_never_proceeds_by_itself() {
    use oncegate_core::table::{Lease, Likeness};
    for situation in Situation::all() {
        let row = meet(ADMISSION, &situation).unwrap();
        assert_eq!(row.then.origin_calls, u8::from(row.then.kind == Kind::Proceed), "{}", row.name);
        let open = matches!(situation.seen, Seen::Unknown | Seen::InProgress | Seen::Undecodable | Seen::NewerFormat);
        if open && row.then.kind == Kind::Proceed {
            assert_eq!((situation.lease, situation.likeness), (Lease::Reclaimable, Likeness::Same), "{situation:?}");
        }
        if situation.likeness == Likeness::Different && row.then.kind == Kind::Proceed {
            assert!(row.name.ends_with("-expired"), "{situation:?} proceeds by {}", row.name);
        }
    }
}

/// What nobody can read is never written over, and nothing is dropped that is open.
#[test]
fn what_is_open_or_unreadable_stays() {
    for knowledge in [Knowledge::Committed, Knowledge::Rejected, Knowledge::NoEffect, Knowledge::Unknown] {
        for seen in [SettleSeen::NewerFormat, SettleSeen::Undecodable] {
            assert_eq!(meet(SETTLEMENT, &(seen, knowledge)).unwrap().then.act, SettleAct::Refuse);
        }
    }
    for age in [Age::Kept, Age::Over] {
        for seen in [ForgetSeen::Open, ForgetSeen::Unreadable] {
            assert_eq!(meet(FORGET, &(seen, age)).unwrap().then, Change::Nothing);
        }
    }
}
