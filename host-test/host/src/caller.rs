//! The component inside a database transaction of a service that owns its effect: the effect and its receipt become
//! durable together, or neither does.
//!
//! # The protocol
//!
//! 1. **Begin** a transaction that no other writer can come into (SQLite: `BEGIN IMMEDIATE`), and bind a
//!    [`CallerStore`] to it ([`Bound`] for SQLite).
//! 2. **Admit.** On every decision but `Proceed`: **commit** (what was written must stand, such as that an outcome is
//!    unknown now) and answer with the decision's response.
//! 3. **Savepoint.**
//! 4. Do the **effect** in the same transaction.
//! 5. **Settle** with its answer. An effect that is *rejected* (the business says no) is rolled back to the savepoint
//!    first, and then settled: the rejection is remembered and nothing of it is left.
//! 6. **Commit**, and only then **answer**.
//!
//! A lock that is not given in time, a serialization failure, a decision of `Unavailable`, an error of any call here, or
//! a fault in the effect that is no answer: **roll all of it back** and answer 503. Nothing was done, and the client's
//! retry is the first try. A COMMIT whose answer is lost is told by **admitting again**: either all of it stands and the
//! answer is replayed, or none of it and the effect is done now. Nothing is retried or restored in here.
//!
//! It cannot know whether the caller does commit: until then all that it says is provisional. Effects outside of the
//! database (a payment, a mail) do not roll back with it and need a gateway's treatment.

use std::fmt;
use std::future::Future;
use std::pin::pin;

use oncegate_core::decision::{
    Admission, Attempt, Circumstances, Conditions, Explanation, Resolution, Settlement, Testimony, Verdict,
};
use oncegate_core::engine::Configuration;
use oncegate_core::keyring::Keyring;
use oncegate_core::request::{Outcome, Request};
use oncegate_core::store::{CommitResult, Key, Limits, Loaded, StoreError, Transaction};
use tokio::sync::{mpsc, oneshot};

use crate::enforcer::{self, Options};
use crate::error::{BuildError, EngineError};
use crate::instances::{Instances, Lent};
use crate::serve::Backing;
use crate::store::sqlite::Bound;
use crate::to_guest;

/// A store inside of a transaction that the caller holds open. Its calls may block.
pub trait CallerStore {
    /// What is held under each key, as the open transaction sees it.
    ///
    /// # Errors
    /// As of a [`Store`](crate::store::Store).
    fn get(&mut self, keys: &[Key]) -> Result<Loaded, StoreError>;

    /// Writes all of it or nothing into the open transaction, and answers `Provisional` or `Conflicted`.
    ///
    /// # Errors
    /// As of a [`Store`](crate::store::Store).
    fn commit(&mut self, transaction: &Transaction) -> Result<CommitResult, StoreError>;
}

impl CallerStore for Bound<'_> {
    fn get(&mut self, keys: &[Key]) -> Result<Loaded, StoreError> {
        Bound::get(self, keys)
    }

    fn commit(&mut self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        Bound::commit(self, transaction)
    }
}

/// The rules of one policy, over whatever transaction each call is given.
///
/// The component cannot borrow a connection, so its store calls come back here as requests and are carried out on the
/// thread that polls the call. The futures are therefore as `Send` as the caller's store; where that is not, or blocks,
/// use `block_on` of a multi-thread tokio runtime's `Handle`, on a thread that may block.
pub struct Caller {
    instances: Instances,
    configuration: Configuration,
    limits: Limits,
}

impl Caller {
    /// Configures the component with a policy and the secrets, for stores with these limits
    /// ([`Bound::LIMITS`] for SQLite). Of the options, `store_wait` does not apply.
    ///
    /// # Errors
    /// As of [`Enforcer::new`](crate::Enforcer::new).
    pub async fn new(policy: &[u8], keys: &Keyring, limits: Limits, options: Options) -> Result<Self, BuildError> {
        let (line, _) = Line::new();
        let backing = Backing::Caller(limits, line);
        let (instances, configuration) = Instances::new(policy, to_guest::keyring(keys), options, backing).await?;
        Ok(Caller { instances, configuration, limits })
    }

    /// What the host must know of the policy.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Decides about a request and, on `Proceed`, has written the claim into the caller's transaction.
    ///
    /// # Errors
    /// As of [`Enforcer::admit`](crate::Enforcer::admit); roll back.
    pub async fn admit(
        &self,
        store: &mut impl CallerStore,
        request: Request,
        conditions: Conditions,
        circumstances: Circumstances,
    ) -> Result<Admission, EngineError> {
        let (lent, requests) = self.lend().await?;
        attend(store, requests, enforcer::admit(lent, request, conditions, circumstances)).await
    }

    /// Writes what became of an attempt into the caller's transaction.
    ///
    /// # Errors
    /// As of [`Enforcer::settle`](crate::Enforcer::settle); roll back.
    pub async fn settle(
        &self,
        store: &mut impl CallerStore,
        attempt: &Attempt,
        outcome: Outcome,
        circumstances: Circumstances,
    ) -> Result<Settlement, EngineError> {
        let (lent, requests) = self.lend().await?;
        attend(store, requests, enforcer::settle(lent, attempt, outcome, circumstances)).await
    }

    /// Writes the truth about an unknown outcome into the caller's transaction.
    ///
    /// # Errors
    /// As of [`Enforcer::resolve`](crate::Enforcer::resolve); roll back.
    pub async fn resolve(
        &self,
        store: &mut impl CallerStore,
        key: &Key,
        verdict: Verdict,
        testimony: Testimony,
        circumstances: Circumstances,
    ) -> Result<Resolution, EngineError> {
        let (lent, requests) = self.lend().await?;
        attend(store, requests, enforcer::resolve(lent, key, verdict, testimony, circumstances)).await
    }

    /// Tells how a request is seen, and changes nothing.
    ///
    /// # Errors
    /// As of [`Enforcer::explain`](crate::Enforcer::explain).
    pub async fn explain(
        &self,
        store: &mut impl CallerStore,
        request: Request,
        circumstances: Circumstances,
    ) -> Result<Result<Explanation, String>, EngineError> {
        let (lent, requests) = self.lend().await?;
        attend(store, requests, enforcer::explain(lent, request, circumstances)).await
    }

    async fn lend(&self) -> Result<(Lent<'_>, Requests), EngineError> {
        let (line, requests) = Line::new();
        Ok((self.instances.lend(Backing::Caller(self.limits, line)).await?, requests))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

type Requests = mpsc::Receiver<Asked>;

/// A store call of the component, and where its answer goes.
enum Asked {
    Get(Vec<Key>, oneshot::Sender<Result<Loaded, StoreError>>),
    Commit(Transaction, oneshot::Sender<Result<CommitResult, StoreError>>),
}

/// The component's end: asks the caller and waits for the answer.
#[derive(Clone)]
pub(crate) struct Line(mpsc::Sender<Asked>);

impl Line {
    fn new() -> (Self, Requests) {
        let (line, requests) = mpsc::channel(1);
        (Line(line), requests)
    }

    pub(crate) async fn get(&self, keys: Vec<Key>) -> Result<Loaded, StoreError> {
        self.ask(|answer| Asked::Get(keys, answer)).await
    }

    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<CommitResult, StoreError> {
        self.ask(|answer| Asked::Commit(transaction, answer)).await
    }

    async fn ask<T>(
        &self,
        asked: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Asked,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Unavailable("the caller's transaction is not attended to".to_owned());
        let (answer, answered) = oneshot::channel();
        self.0.send(asked(answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// Polls a call and carries out in between what it asks of the store.
async fn attend<T>(store: &mut impl CallerStore, mut requests: Requests, call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    loop {
        tokio::select! {
            biased;
            answer = &mut call => return answer,
            Some(asked) = requests.recv() => match asked {
                // Whoever asked is polled again by the next turn, or gone with the call.
                Asked::Get(keys, answer) => drop(answer.send(store.get(&keys))),
                Asked::Commit(transaction, answer) => drop(answer.send(store.commit(&transaction))),
            },
        }
    }
}
