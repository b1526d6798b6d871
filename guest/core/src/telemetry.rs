//! Telemetry: every name under which something is counted. Attempts and operations are different counts: each call of the
//! core meets exactly one row, and a logical action may meet many.

use crate::table::{ADMISSION, DISPATCH, FORGET, RENEW, RESOLVE, SETTLEMENT};

/// Rows outside the tables: what is decided before the store is asked, or because it gave no answer.
pub const OUTSIDE: &[&str] = &[
    "not-a-mutation",
    "uncovered",
    "uncovered-refused",
    "key-absent",
    "key-missing",
    "key-malformed",
    "key-repeated",
    "key-disagreement",
    "hop-by-hop",
    "method-override",
    "target-ambiguous",
    "webhook-unverified",
    "scope-missing",
    "scope-repeated",
    "body-too-large",
    "body-unreadable",
    "fact-unanswered",
    "wait-released",
    "store-unavailable",
    "store-unresolved",
    "store-refused",
];

/// Every row's name, each once.
pub fn rows() -> impl Iterator<Item = &'static str> {
    ADMISSION
        .iter()
        .map(|row| row.name)
        .chain(SETTLEMENT.iter().map(|row| row.name))
        .chain(RENEW.iter().map(|row| row.name))
        .chain(DISPATCH.iter().map(|row| row.name))
        .chain(RESOLVE.iter().map(|row| row.name))
        .chain(FORGET.iter().map(|row| row.name))
        .chain(OUTSIDE.iter().copied())
}
