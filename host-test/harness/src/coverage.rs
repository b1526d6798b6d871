//! Which rows the vectors show.

use std::collections::BTreeSet;

use oncegate_core::telemetry;

use crate::run::Report;

/// Rows whose feature comes with a later part, and what brings them. No case may meet one of them: once the feature is
/// there, the row leaves this list and gets its cases.
pub const LATER: &[(&str, &str)] = &[
    ("claimed-lost", "two-phase rules: claim, then dispatch"),
    ("domain-taken", "business keys that are unique beside the client key"),
    ("horizon-refused", "tombstones for forgotten keys"),
    ("fenced-claimed", "two-phase rules"),
    ("dispatched", "two-phase rules"),
    ("dispatched-again", "two-phase rules"),
    ("dispatch-late", "two-phase rules"),
    ("dispatch-lost", "two-phase rules"),
];

/// What is wrong with the rows that reports have met, a line each: one that none met, one that none should have, one that
/// nobody knows.
pub fn faults(reports: &[Report]) -> Vec<String> {
    let met: BTreeSet<&str> = reports.iter().flat_map(|report| &report.rows).map(String::as_str).collect();
    let all: BTreeSet<&str> = telemetry::rows().collect();
    let later: BTreeSet<&str> = LATER.iter().map(|(row, _)| *row).collect();
    let unmet = all.difference(&later).filter(|row| !met.contains(*row)).map(|row| format!("no case meets `{row}`"));
    let early = later.intersection(&met).map(|row| format!("`{row}` is met: take it from LATER"));
    let unknown = met.difference(&all).map(|row| format!("`{row}` is no row of core"));
    let gone = later.difference(&all).map(|row| format!("`{row}` stands in LATER and is no row of core"));
    unmet.chain(early).chain(unknown).chain(gone).collect()
}
