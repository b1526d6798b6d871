//! The component in wasmtime, through the host that is shipped.

use std::sync::Arc;

use async_trait::async_trait;
use oncegate_core::decision::{
    Admission, Attempt, Circumstances, Conditions, Coverage, Explanation, Inquiry, Renewal, Resolution, RowName,
    Settlement, Testimony, Verdict,
};
use oncegate_core::keyring::Keyring;
use oncegate_core::request::{Head, Outcome, Request};
use oncegate_core::store::Key;
use oncegate_host::store::Store;
use oncegate_host::{EngineError, Options};

use super::inside::{Enforcer, Failure, Inside};
use super::{Play, Stage, Subject};
use crate::vector::{Act, Case, File};

const NO_FORGET: &str = "the component does not export forget";

/// The component in wasmtime.
#[derive(Debug, Default)]
pub struct Component;

#[async_trait]
impl Subject for Component {
    fn name(&self) -> &'static str {
        "component"
    }

    fn cannot(&self, _: &File, case: &Case) -> Option<&'static str> {
        let forgets = case.steps.iter().any(|step| matches!(step.act, Act::Forget { .. }));
        forgets.then_some(NO_FORGET)
    }

    async fn begin(&self, stage: Stage) -> Result<Box<dyn Play>, String> {
        Ok(Box::new(Inside::<oncegate_host::Enforcer>::begin(stage).await?))
    }
}

#[async_trait]
impl Enforcer for oncegate_host::Enforcer {
    async fn configure(policy: &[u8], keyring: &Keyring, store: Arc<dyn Store>) -> Result<Self, String> {
        let options = Options { instances: 1, ..Options::default() };
        oncegate_host::Enforcer::new(policy, keyring, store, options).await.map_err(|error| error.to_string())
    }

    async fn cover(&self, head: &Head) -> Result<Coverage, Failure> {
        Ok(self.cover(head).await?)
    }

    async fn admit(&self, request: Request, conditions: Conditions, now: Circumstances) -> Result<Admission, Failure> {
        Ok(self.admit(request, conditions, now).await?)
    }

    async fn answered(&self, inquiry: Inquiry, lookup: Outcome, now: Circumstances) -> Result<Admission, Failure> {
        Ok(self.answered(inquiry, lookup, now).await?)
    }

    async fn settle(&self, attempt: &Attempt, outcome: Outcome, now: Circumstances) -> Result<Settlement, Failure> {
        Ok(self.settle(attempt, outcome, now).await?)
    }

    async fn renew(&self, attempt: &Attempt, now: Circumstances) -> Result<Renewal, Failure> {
        Ok(self.renew(attempt, now).await?)
    }

    async fn resolve(
        &self,
        key: &Key,
        verdict: Verdict,
        by: Testimony,
        now: Circumstances,
    ) -> Result<Resolution, Failure> {
        Ok(self.resolve(key, verdict, by, now).await?)
    }

    async fn explain(&self, request: Request, now: Circumstances) -> Result<Result<Explanation, String>, Failure> {
        Ok(self.explain(request, now).await?)
    }

    async fn forget(&self, _: &Key, _: Circumstances) -> Result<RowName, Failure> {
        Err(Failure::Other(NO_FORGET.into()))
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Attempt(error) => Failure::Attempt(error),
            other => Failure::Other(other.to_string()),
        }
    }
}
