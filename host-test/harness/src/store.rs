//! A store whose answers go wrong when a case says so, and whose calls are counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use oncegate_core::store::{CommitResult, Entry, Key, Limits, Loaded, StoreError, Transaction};
use oncegate_core::time::Timestamp;
use oncegate_host::store::Store;

use crate::vector::Fault;

/// The store of one case.
pub(crate) struct Faulty {
    inner: Arc<dyn Store>,
    faults: Mutex<VecDeque<Fault>>,
    gets: AtomicU64,
    commits: AtomicU64,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Faulty { inner, faults: Mutex::default(), gets: AtomicU64::new(0), commits: AtomicU64::new(0) }
    }

    /// The answers to the next calls.
    pub(crate) fn prepare(&self, faults: &[Fault]) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults.iter().copied().collect();
    }

    /// Reads and commits since this was asked last.
    pub(crate) fn take_counts(&self) -> (u64, u64) {
        (self.gets.swap(0, Ordering::Relaxed), self.commits.swap(0, Ordering::Relaxed))
    }

    /// The faults that no call has met.
    pub(crate) fn left(&self) -> usize {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn next(&self) -> Fault {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or(Fault::None)
    }
}

fn fault(fault: Fault) -> Option<StoreError> {
    let why = || "as the case says".to_string();
    match fault {
        Fault::Unavailable => Some(StoreError::Unavailable(why())),
        Fault::Refused => Some(StoreError::Refused(why())),
        Fault::Unresolved | Fault::Landed => Some(StoreError::Unresolved(why())),
        Fault::None => None,
    }
}

#[async_trait]
impl Store for Faulty {
    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    async fn get(&self, keys: &[Key]) -> Result<Loaded, StoreError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        match fault(self.next()) {
            Some(error) => Err(error),
            None => self.inner.get(keys).await,
        }
    }

    async fn commit(&self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        let next = self.next();
        let answer = match next {
            Fault::Landed | Fault::None => self.inner.commit(transaction).await,
            _ => Err(StoreError::Unavailable(String::new())),
        };
        fault(next).map_or(answer, Err)
    }

    async fn due(&self, before: Timestamp, after: Option<&Key>, limit: u32) -> Result<Vec<(Key, Entry)>, StoreError> {
        self.inner.due(before, after, limit).await
    }
}
