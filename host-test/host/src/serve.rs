//! What an instance sees of the world: its store calls, and the limits of its memory and time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use oncegate_core::store::{Key, Limits, StoreError};
use oncegate_core::time::Timestamp;
use wasmtime::ResourceLimiter;

use crate::bindings::oncegate::idempotency::{store as wit, types};
use crate::caller::Line;
use crate::store::Store;
use crate::{from_guest, to_guest};

/// The most elements of a table; the component's own is far smaller.
const MAX_TABLE: usize = 10_000;

/// The most store calls of one call; the core's own bounds are far lower.
const MAX_STORE_CALLS: u32 = 256;

/// Where store calls go.
pub(crate) enum Backing {
    /// Nowhere: no call is under way.
    None,
    /// To a store of our own.
    Own(Arc<dyn Store>),
    /// To the caller, who holds a transaction open.
    Caller(Limits, Line),
}

pub(crate) struct State {
    pub(crate) backing: Backing,
    /// Ticks that the guest may still run.
    ticks: u32,
    /// Store calls that it may still make.
    store_calls: u32,
    /// The next tick fell into the waiting for the store.
    waited: bool,
    memory: usize,
    max_memory: usize,
    store_wait: Duration,
}

impl State {
    pub(crate) fn new(backing: Backing, max_memory: usize, store_wait: Duration) -> Self {
        State { backing, ticks: 0, store_calls: 0, waited: false, memory: 0, max_memory, store_wait }
    }

    /// Begins a call that may run for so many ticks.
    pub(crate) fn begin(&mut self, ticks: u32) {
        self.ticks = ticks;
        self.store_calls = MAX_STORE_CALLS;
        self.waited = false;
    }

    /// Takes one tick, if the guest ran in it; false when there is none left.
    pub(crate) fn spend_tick(&mut self) -> bool {
        if std::mem::take(&mut self.waited) {
            return true;
        }
        self.ticks = self.ticks.saturating_sub(1);
        self.ticks > 0
    }

    /// How much memory the instance has.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Counts a store call. However many ticks it takes, the guest sees one of them.
    fn count(&mut self) -> Result<(), wit::Error> {
        self.waited = true;
        self.store_calls = self.store_calls.checked_sub(1).ok_or_else(no_call)?;
        Ok(())
    }

    /// Waits for a store of our own, within bounds.
    async fn wait<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
        late: fn(String) -> StoreError,
    ) -> Result<T, wit::Error> {
        let answer = tokio::time::timeout(self.store_wait, call).await;
        let late = |_| Err(late(format!("no answer within {} ms", self.store_wait.as_millis())));
        answer.unwrap_or_else(late).map_err(to_guest::store_error)
    }
}

impl wit::Host for State {
    async fn get_limits(&mut self) -> wit::Limits {
        let limits = match &self.backing {
            Backing::Own(store) => store.limits(),
            Backing::Caller(limits, _) => *limits,
            Backing::None => Limits { max_value: 0, max_entries: 0, max_transaction: 0, read_first: false },
        };
        to_guest::limits(limits)
    }

    async fn get(&mut self, keys: Vec<Vec<u8>>) -> Result<(Vec<Option<wit::Entry>>, wit::Position), wit::Error> {
        self.count()?;
        let keys: Vec<Key> = keys.into_iter().map(Key).collect();
        let loaded = match &self.backing {
            Backing::Own(store) => self.wait(store.get(&keys), StoreError::Unavailable).await?,
            Backing::Caller(_, line) => line.get(keys).await.map_err(to_guest::store_error)?,
            Backing::None => return Err(no_call()),
        };
        Ok(to_guest::loaded(loaded))
    }

    async fn commit(&mut self, transaction: wit::Transaction) -> Result<wit::CommitResult, wit::Error> {
        self.count()?;
        let transaction = from_guest::transaction(transaction);
        let result = match &self.backing {
            Backing::Own(store) => self.wait(store.commit(&transaction), StoreError::Unresolved).await?,
            Backing::Caller(_, line) => line.commit(transaction).await.map_err(to_guest::store_error)?,
            Backing::None => return Err(no_call()),
        };
        Ok(to_guest::commit_result(result))
    }

    async fn due(
        &mut self,
        before: types::Timestamp,
        after: Option<Vec<u8>>,
        limit: u32,
    ) -> Result<Vec<(Vec<u8>, wit::Entry)>, wit::Error> {
        self.count()?;
        let (before, after) = (Timestamp::from_millis(before), after.map(Key));
        let Backing::Own(store) = &self.backing else { return Err(no_call()) };
        let due = self.wait(store.due(before, after.as_ref(), limit), StoreError::Unavailable).await?;
        Ok(due.into_iter().map(|(key, entry)| (key.0, to_guest::entry(entry))).collect())
    }
}

impl types::Host for State {}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= self.max_memory;
        if fits {
            self.memory = desired;
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE)
    }
}

fn no_call() -> wit::Error {
    wit::Error::Unavailable("there is no store to be called".to_owned())
}
