//! The component over a store of the host: each of its commits stands by itself.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oncegate_core::decision::{
    Admission, Attempt, Circumstances, Conditions, Coverage, Explanation, Inquiry, Renewal, Resolution, Settlement,
    Testimony, Verdict,
};
use oncegate_core::engine::Configuration;
use oncegate_core::keyring::Keyring;
use oncegate_core::request::{Head, Outcome, Request};
use oncegate_core::store::Key;

use crate::error::{BuildError, EngineError};
use crate::instances::{Instances, Lent};
use crate::serve::Backing;
use crate::store::Store;
use crate::{from_guest, to_guest};

/// Bounds of the component. The defaults suit a gateway.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most calls at once, each in an instance of its own; a call holds one while it waits for the store.
    pub instances: usize,
    /// How long a call waits for an instance.
    pub instance_wait: Duration,
    /// How long the component may compute in one call, its waiting for the store not counted.
    pub guest_time: Duration,
    /// How long one answer of the store is waited for.
    pub store_wait: Duration,
    /// The most bytes of memory of one instance; 256 MiB at most.
    pub memory: usize,
    /// A directory of this user alone, where the compiled component is kept for the next start; none: it is compiled
    /// at each start. What stands there is executed, so nobody else may be able to write to it.
    pub cache: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            instances: 128,
            instance_wait: Duration::from_secs(5),
            guest_time: Duration::from_secs(5),
            store_wait: Duration::from_secs(10),
            memory: crate::compiled::MAX_MEMORY,
            cache: None,
        }
    }
}

/// The rules of one policy over one store. Cheap to share, safe to call from many tasks.
///
/// A call that is dropped before it answers may have written already, as a store call may. Settle in a task that
/// nobody drops.
pub struct Enforcer {
    instances: Instances,
    configuration: Configuration,
    store: Arc<dyn Store>,
}

impl Enforcer {
    /// Configures the component with a policy (a JSON document) and the secrets. Compiles it, at the first time in a
    /// process.
    ///
    /// # Errors
    /// The policy or the secrets are turned down, or the component cannot run here.
    pub async fn new(
        policy: &[u8],
        keys: &Keyring,
        store: Arc<dyn Store>,
        options: Options,
    ) -> Result<Self, BuildError> {
        let backing = Backing::Own(Arc::clone(&store));
        let (instances, configuration) = Instances::new(policy, to_guest::keyring(keys), options, backing).await?;
        Ok(Enforcer { instances, configuration, store })
    }

    /// What the host must know of the policy.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The store that it was given.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Tells from the head alone whether a rule covers a request. Touches no store.
    ///
    /// # Errors
    /// As each call: no instance was free, or the component failed.
    pub async fn cover(&self, head: &Head) -> Result<Coverage, EngineError> {
        let head = to_guest::head(head.clone());
        let mut lent = self.lend().await?;
        let (guest, store) = lent.guest();
        let answer = guest.call_cover(store, &head).await;
        lent.finish(answer).map(from_guest::coverage)
    }

    /// Decides about a covered request and, on `Proceed`, has made the claim durable.
    ///
    /// # Errors
    /// As each call. A claim may then have been made.
    pub async fn admit(
        &self,
        request: Request,
        conditions: Conditions,
        circumstances: Circumstances,
    ) -> Result<Admission, EngineError> {
        admit(self.lend().await?, request, conditions, circumstances).await
    }

    /// Hands back what a lookup for `Ask` brought, told as an origin call's outcome is.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub async fn answered(
        &self,
        inquiry: Inquiry,
        lookup: Outcome,
        circumstances: Circumstances,
    ) -> Result<Admission, EngineError> {
        let proceed = inquiry.proceed.clone();
        let (inquiry, lookup) = (to_guest::inquiry(inquiry), to_guest::outcome(lookup));
        let circumstances = to_guest::circumstances(circumstances);
        let mut lent = self.lend().await?;
        let (guest, store) = lent.guest();
        let answer = guest.call_answered(store, &inquiry, &lookup, &circumstances).await;
        let answering = lent.finish(answer)?.map_err(from_guest::attempt_error)?;
        Ok(from_guest::answering(answering, proceed))
    }

    /// Keeps what became of an attempt. May be repeated with the same outcome.
    ///
    /// # Errors
    /// As each call, or the attempt cannot be judged here.
    pub async fn settle(
        &self,
        attempt: &Attempt,
        outcome: Outcome,
        circumstances: Circumstances,
    ) -> Result<Settlement, EngineError> {
        settle(self.lend().await?, attempt, outcome, circumstances).await
    }

    /// Extends the lease of an attempt in flight.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub async fn renew(&self, attempt: &Attempt, circumstances: Circumstances) -> Result<Renewal, EngineError> {
        renew(self.lend().await?, attempt, circumstances).await
    }

    /// Records the truth about an unknown outcome.
    ///
    /// # Errors
    /// As each call.
    pub async fn resolve(
        &self,
        key: &Key,
        verdict: Verdict,
        testimony: Testimony,
        circumstances: Circumstances,
    ) -> Result<Resolution, EngineError> {
        resolve(self.lend().await?, key, verdict, testimony, circumstances).await
    }

    /// Tells how a request is seen, and changes nothing. The inner error is the row of the refusal, or what the store
    /// said.
    ///
    /// # Errors
    /// As each call.
    pub async fn explain(
        &self,
        request: Request,
        circumstances: Circumstances,
    ) -> Result<Result<Explanation, String>, EngineError> {
        explain(self.lend().await?, request, circumstances).await
    }

    async fn lend(&self) -> Result<Lent<'_>, EngineError> {
        self.instances.lend(Backing::Own(Arc::clone(&self.store))).await
    }
}

impl fmt::Debug for Enforcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enforcer").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

pub(crate) async fn admit(
    mut lent: Lent<'_>,
    request: Request,
    conditions: Conditions,
    circumstances: Circumstances,
) -> Result<Admission, EngineError> {
    let (request, conditions) = (to_guest::request(request), to_guest::conditions(conditions));
    let circumstances = to_guest::circumstances(circumstances);
    let (guest, store) = lent.guest();
    let answer = guest.call_admit(store, &request, conditions, &circumstances).await;
    lent.finish(answer).and_then(from_guest::admission)
}

pub(crate) async fn settle(
    mut lent: Lent<'_>,
    attempt: &Attempt,
    outcome: Outcome,
    circumstances: Circumstances,
) -> Result<Settlement, EngineError> {
    let (attempt, outcome) = (to_guest::attempt(attempt), to_guest::outcome(outcome));
    let circumstances = to_guest::circumstances(circumstances);
    let (guest, store) = lent.guest();
    let answer = guest.call_settle(store, &attempt, &outcome, &circumstances).await;
    lent.finish(answer)?.map(from_guest::settlement).map_err(from_guest::attempt_error)
}

pub(crate) async fn renew(
    mut lent: Lent<'_>,
    attempt: &Attempt,
    circumstances: Circumstances,
) -> Result<Renewal, EngineError> {
    let (attempt, circumstances) = (to_guest::attempt(attempt), to_guest::circumstances(circumstances));
    let (guest, store) = lent.guest();
    let answer = guest.call_renew(store, &attempt, &circumstances).await;
    lent.finish(answer)?.map_err(from_guest::attempt_error).and_then(from_guest::renewal)
}

pub(crate) async fn resolve(
    mut lent: Lent<'_>,
    key: &Key,
    verdict: Verdict,
    testimony: Testimony,
    circumstances: Circumstances,
) -> Result<Resolution, EngineError> {
    let (verdict, testimony) = (to_guest::verdict(verdict), to_guest::testimony(testimony));
    let circumstances = to_guest::circumstances(circumstances);
    let (guest, store) = lent.guest();
    let answer = guest.call_resolve(store, key.as_bytes(), &verdict, &testimony, &circumstances).await;
    lent.finish(answer).map(from_guest::resolution)
}

pub(crate) async fn explain(
    mut lent: Lent<'_>,
    request: Request,
    circumstances: Circumstances,
) -> Result<Result<Explanation, String>, EngineError> {
    let (request, circumstances) = (to_guest::request(request), to_guest::circumstances(circumstances));
    let (guest, store) = lent.guest();
    let answer = guest.call_explain(store, &request, &circumstances).await;
    match lent.finish(answer)? {
        Ok(explanation) => from_guest::explanation(explanation).map(Ok),
        Err(why) => Ok(Err(why)),
    }
}
