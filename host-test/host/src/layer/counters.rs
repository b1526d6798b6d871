//! How often each row of the tables was met.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use oncegate_core::decision::RowName;

/// Counts by row name.
#[derive(Debug, Default)]
pub struct Counters {
    rows: Mutex<BTreeMap<RowName, u64>>,
}

impl Counters {
    /// All rows met so far.
    pub fn all(&self) -> BTreeMap<RowName, u64> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often this row was met.
    pub fn of(&self, row: &str) -> u64 {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).get(row).copied().unwrap_or(0)
    }

    pub(super) fn count(&self, row: &RowName) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        match rows.get_mut(row) {
            Some(count) => *count = count.saturating_add(1),
            None => drop(rows.insert(row.clone(), 1)),
        }
    }
}
