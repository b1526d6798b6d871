//! The decision tables, as data. Each situation meets exactly one row; a row's name is also its metric's label, its log
//! field, its test vector's name and its line in README.
//!
//! The tables decide; the modules that read them only find out the situation and carry out what the row says. What they
//! cannot know stands in the situation: whether a lease is over for certain, whether the origin deduplicates.

mod admission;
mod lifecycle;
mod settlement;

pub use admission::{ADMISSION, Absence, Act, Kind, Lease, Likeness, Retention, Retry, Seen, Situation};
pub use lifecycle::{
    Age, Change, DISPATCH, DispatchSeen, FORGET, ForgetSeen, RENEW, RESOLVE, RenewSeen, ResolveSeen, Ruling, Run,
};
pub use settlement::{SETTLEMENT, SettleAct, SettleSeen};

/// One row of a table over situations `S`, saying `T`.
#[derive(Debug)]
pub struct Row<S: 'static, T> {
    /// Stable and unique over all tables.
    pub name: &'static str,
    /// Any of these.
    pub when: &'static [S],
    /// What is then done.
    pub then: T,
}

/// A condition over situations.
pub trait Condition {
    /// What it is about.
    type Situation;
    /// Whether it holds.
    fn holds(&self, situation: &Self::Situation) -> bool;
}

/// The row that a situation meets. Enumeration in `tests/tables.rs` shows that there is always exactly one.
pub fn meet<'t, S: Condition, T>(table: &'t [Row<S, T>], situation: &S::Situation) -> Option<&'t Row<S, T>> {
    table.iter().find(|row| row.when.iter().any(|condition| condition.holds(situation)))
}

/// A set of a column's values; empty stands for all of them.
type Any<T> = &'static [T];

fn admits<T: PartialEq>(set: Any<T>, value: &T) -> bool {
    set.is_empty() || set.contains(value)
}
