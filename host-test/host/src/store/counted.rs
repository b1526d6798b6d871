//! Counts the calls to a store, for tests that hold a decision to its price.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use async_trait::async_trait;
use oncegate_core::time::Timestamp;

use super::{CommitResult, Entry, Key, Limits, Loaded, Store, StoreError, Transaction};

/// Passes everything on to another store and counts it.
pub struct Counted {
    inner: Arc<dyn Store>,
    get: AtomicU64,
    commit: AtomicU64,
    due: AtomicU64,
}

/// How often each call was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Calls of `get`.
    pub get: u64,
    /// Calls of `commit`, conflicted ones included.
    pub commit: u64,
    /// Calls of `due`.
    pub due: u64,
}

impl Counted {
    /// Counts the calls to `inner` from now on.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Counted { inner, get: AtomicU64::new(0), commit: AtomicU64::new(0), due: AtomicU64::new(0) }
    }

    /// The calls so far.
    pub fn counts(&self) -> Counts {
        Counts { get: self.get.load(Relaxed), commit: self.commit.load(Relaxed), due: self.due.load(Relaxed) }
    }

    /// The calls since the last `take` (or since the start).
    pub fn take(&self) -> Counts {
        Counts { get: self.get.swap(0, Relaxed), commit: self.commit.swap(0, Relaxed), due: self.due.swap(0, Relaxed) }
    }
}

#[async_trait]
impl Store for Counted {
    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    async fn get(&self, keys: &[Key]) -> Result<Loaded, StoreError> {
        self.get.fetch_add(1, Relaxed);
        self.inner.get(keys).await
    }

    async fn commit(&self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        self.commit.fetch_add(1, Relaxed);
        self.inner.commit(transaction).await
    }

    async fn due(&self, before: Timestamp, after: Option<&Key>, limit: u32) -> Result<Vec<(Key, Entry)>, StoreError> {
        self.due.fetch_add(1, Relaxed);
        self.inner.due(before, after, limit).await
    }
}
