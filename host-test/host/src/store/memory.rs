//! A store in this process's memory: exact, linearizable, and gone when the process ends.
//!
//! It cannot know of a second process: two gateways with a memory each protect nothing from one another.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use oncegate_core::time::Timestamp;

use super::{
    CommitResult, DUE_PAGE, Entry, Key, LIMITS, Limits, Loaded, Position, Revisions, Store, StoreError, Transaction,
    Write, check,
};

/// Keeps everything in memory.
#[derive(Debug)]
pub struct Memory {
    contents: Mutex<Contents>,
}

#[derive(Debug)]
struct Contents {
    rows: BTreeMap<Key, Row>,
    revisions: Revisions,
    position: Position,
}

#[derive(Debug)]
struct Row {
    entry: Entry,
    review_at: Option<Timestamp>,
}

impl Memory {
    /// An empty store.
    ///
    /// # Panics
    /// The system has no random numbers.
    #[expect(clippy::expect_used, reason = "without random numbers nothing in this process can be safe")]
    pub fn new() -> Self {
        let revisions = Revisions::new().expect("the system gives random numbers");
        let position = Position { epoch: revisions.opened.to_vec(), sequence: 0 };
        Memory { contents: Mutex::new(Contents { rows: BTreeMap::new(), revisions, position }) }
    }

    /// How many entries it holds.
    pub fn len(&self) -> usize {
        self.contents().rows.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Nothing below panics while it holds the lock half way through a change.
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

#[async_trait]
impl Store for Memory {
    fn limits(&self) -> Limits {
        LIMITS
    }

    async fn get(&self, keys: &[Key]) -> Result<Loaded, StoreError> {
        let contents = self.contents();
        Ok((contents.held(keys.iter()), contents.position.clone()))
    }

    async fn commit(&self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        check(transaction, &LIMITS)?;
        let mut contents = self.contents();
        let held = contents.held(transaction.expects.iter().map(|expectation| &expectation.key));
        let met = transaction
            .expects
            .iter()
            .zip(&held)
            .all(|(expectation, held)| expectation.revision.as_ref() == held.as_ref().map(|entry| &entry.revision));
        if !met {
            return Ok(CommitResult::Conflicted { held, position: contents.position.clone() });
        }
        Ok(contents.write(transaction))
    }

    async fn due(&self, before: Timestamp, after: Option<&Key>, limit: u32) -> Result<Vec<(Key, Entry)>, StoreError> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let contents = self.contents();
        let due = contents
            .rows
            .range::<Key, _>((from, Bound::Unbounded))
            .filter(|(_, row)| row.review_at.is_some_and(|at| at <= before))
            .take(limit.min(DUE_PAGE) as usize)
            .map(|(key, row)| (key.clone(), row.entry.clone()));
        Ok(due.collect())
    }
}

impl Contents {
    fn held<'a>(&self, keys: impl Iterator<Item = &'a Key>) -> Vec<Option<Entry>> {
        keys.map(|key| self.rows.get(key).map(|row| row.entry.clone())).collect()
    }

    fn write(&mut self, transaction: &Transaction) -> CommitResult {
        self.position.sequence += 1;
        let mut revisions = Vec::new();
        for write in &transaction.writes {
            match write {
                Write::Put(put) => {
                    let revision = self.revisions.next();
                    revisions.push(revision.clone());
                    let entry = Entry { revision, value: put.value.clone() };
                    self.rows.insert(put.key.clone(), Row { entry, review_at: put.review_at });
                }
                Write::Delete(key) => drop(self.rows.remove(key)),
            }
        }
        CommitResult::Committed { position: self.position.clone(), revisions }
    }
}
