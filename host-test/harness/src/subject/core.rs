//! The core natively, without a component around it.

use std::sync::Arc;

use async_trait::async_trait;
use oncegate_core::decision::{
    Admission, Attempt, AttemptError, Circumstances, Conditions, Coverage, Explanation, Inquiry, Renewal, Resolution,
    RowName, Settlement, Testimony, Verdict,
};
use oncegate_core::engine::Engine;
use oncegate_core::keyring::Keyring;
use oncegate_core::request::{Head, Outcome, Request};
use oncegate_core::store::Key;
use oncegate_host::drive;
use oncegate_host::store::Store;

use super::inside::{Enforcer, Failure, Inside};
use super::{Play, Stage, Subject};
use crate::vector::{Case, File};

/// The core natively.
#[derive(Debug, Default)]
pub struct Core;

#[async_trait]
impl Subject for Core {
    fn name(&self) -> &'static str {
        "core"
    }

    fn cannot(&self, _: &File, _: &Case) -> Option<&'static str> {
        None
    }

    async fn begin(&self, stage: Stage) -> Result<Box<dyn Play>, String> {
        Ok(Box::new(Inside::<Native>::begin(stage).await?))
    }
}

struct Native {
    engine: Arc<Engine>,
    store: Arc<dyn Store>,
}

#[async_trait]
impl Enforcer for Native {
    async fn configure(policy: &[u8], keyring: &Keyring, store: Arc<dyn Store>) -> Result<Self, String> {
        let engine = Engine::new(policy, keyring, store.limits()).map_err(|error| error.to_string())?;
        Ok(Native { engine: Arc::new(engine), store })
    }

    async fn cover(&self, head: &Head) -> Result<Coverage, Failure> {
        Ok(self.engine.cover(head))
    }

    async fn admit(&self, request: Request, conditions: Conditions, now: Circumstances) -> Result<Admission, Failure> {
        Ok(drive(self.engine.admit(request, conditions, now), &*self.store).await)
    }

    async fn answered(&self, inquiry: Inquiry, lookup: Outcome, now: Circumstances) -> Result<Admission, Failure> {
        Ok(drive(self.engine.answered(inquiry, lookup, now)?, &*self.store).await)
    }

    async fn settle(&self, attempt: &Attempt, outcome: Outcome, now: Circumstances) -> Result<Settlement, Failure> {
        let step = self.engine.settle(attempt.clone(), outcome, now)?;
        Ok(drive(step, &*self.store).await)
    }

    async fn renew(&self, attempt: &Attempt, now: Circumstances) -> Result<Renewal, Failure> {
        Ok(drive(self.engine.renew(attempt.clone(), now)?, &*self.store).await)
    }

    async fn resolve(
        &self,
        key: &Key,
        verdict: Verdict,
        by: Testimony,
        now: Circumstances,
    ) -> Result<Resolution, Failure> {
        Ok(drive(self.engine.resolve(key.clone(), verdict, by, now), &*self.store).await)
    }

    async fn explain(&self, request: Request, now: Circumstances) -> Result<Result<Explanation, String>, Failure> {
        Ok(drive(self.engine.explain(request, now), &*self.store).await)
    }

    async fn forget(&self, key: &Key, now: Circumstances) -> Result<RowName, Failure> {
        let forgotten = drive(self.engine.forget(key.clone(), now), &*self.store).await;
        forgotten.map_err(|error| Failure::Other(error.to_string()))
    }
}

impl From<AttemptError> for Failure {
    fn from(error: AttemptError) -> Self {
        Failure::Attempt(error)
    }
}
