//! The engine: a checked policy, the derived keys and the store's limits, and the way into every operation.

use alloc::string::ToString;
use alloc::sync::Arc;

use crate::admission::Admitting;
use crate::answer;
use crate::canonical::Parts;
use crate::canonical::json::Wanted;
use crate::decision::{Admission, Attempt, AttemptError, Circumstances, Conditions, Coverage, Id, Testimony, Verdict};
use crate::explanation::Explaining;
use crate::identity;
use crate::keyring::{Keyring, Keys};
use crate::lifecycle::{Dispatching, Forgetting, Renewing};
use crate::plan::shorten;
use crate::policy::{ConfigurationError, Policy, Route, Rule};
use crate::record;
use crate::request::{Head, Outcome, Request};
use crate::resolution::Resolving;
use crate::settlement::Settling;
use crate::step::Step;
use crate::store::{Key, Limits};
use crate::subject::Refusal;

/// What the host must know of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Names this policy and these secrets.
    pub generation: Id,
    /// Lower-case names of request headers that rules believe.
    pub believed_headers: alloc::vec::Vec<alloc::string::String>,
}

/// The rules of one configuration. Every operation is a [`Step`] that holds the engine by itself.
pub struct Engine {
    policy: Policy,
    keys: Keys,
    limits: Limits,
    generation: Id,
}

impl Engine {
    /// Checks a policy (a JSON document) and a keyring, for a store with these limits.
    pub fn new(policy: &[u8], keyring: &Keyring, limits: Limits) -> Result<Self, ConfigurationError> {
        let policy = Policy::parse(policy)?;
        let keys = Keys::derive(keyring)?;
        let mut generation = Parts::new("oncegate generation");
        generation.add(policy.digest()).add(&keys.partition);
        for secret in keys.all() {
            generation.add(&secret.id.to_be_bytes()).add(&secret.lookup);
        }
        Ok(Engine { policy, keys, limits, generation: shorten(generation.finish()) })
    }

    /// What the host must know.
    pub fn configuration(&self) -> Configuration {
        Configuration { generation: self.generation, believed_headers: self.policy.believed_headers() }
    }

    /// Tells from the head alone whether a rule covers a request, before any of the body is read.
    pub fn cover(&self, head: &Head) -> Coverage {
        let refuse = |refusal: Refusal| {
            let response = answer::problem(refusal.problem, refusal.row, &refusal.detail, None);
            Coverage::Refuse { row: refusal.row.into(), response }
        };
        let rule = match self.policy.route(head) {
            Route::Pass(row) => return Coverage::Pass(row.into()),
            Route::Refuse(row, why) => return refuse(Refusal::route(row, why)),
            Route::Covered(rule, _) => rule,
        };
        if let Err(fault) = identity::check_connection(rule, head) {
            return refuse(fault.into());
        }
        // What can be told now need not wait for a body: a missing key, unless it may stand there.
        if rule.key.body.is_none() {
            match identity::client_key(&rule.key, head, &Wanted::Absent) {
                Ok(Some(_)) => {}
                Ok(None) if rule.key.required => return refuse(identity::IdentityFault::KeyMissing.into()),
                Ok(None) => return Coverage::Pass("key-absent".into()),
                Err(fault) => return refuse(fault.into()),
            }
        }
        Coverage::Enforce { operation: rule.operation.clone(), max_body: rule.max_request }
    }

    /// Decides about a covered request and makes the claim.
    pub fn admit(
        self: &Arc<Self>,
        request: Request,
        conditions: Conditions,
        circumstances: Circumstances,
    ) -> Step<Admitting> {
        Step::begin(Admitting::begin(Arc::clone(self), request, conditions, circumstances))
    }

    /// Keeps what became of an attempt.
    pub fn settle(
        self: &Arc<Self>,
        attempt: Attempt,
        outcome: Outcome,
        circumstances: Circumstances,
    ) -> Result<Step<Settling>, AttemptError> {
        let rule = self.rule_of(&attempt)?;
        Ok(Step::begin(Settling::begin(Arc::clone(self), rule, attempt, outcome, circumstances)))
    }

    /// Extends the lease of an attempt in flight.
    pub fn renew(
        self: &Arc<Self>,
        attempt: Attempt,
        circumstances: Circumstances,
    ) -> Result<Step<Renewing>, AttemptError> {
        let rule = self.rule_of(&attempt)?;
        Ok(Step::begin(Renewing::begin(Arc::clone(self), rule, attempt, circumstances)))
    }

    /// Turns a claim of a two-phase rule into an attempt in progress.
    pub fn dispatch(
        self: &Arc<Self>,
        attempt: Attempt,
        circumstances: Circumstances,
    ) -> Result<Step<Dispatching>, AttemptError> {
        let rule = self.rule_of(&attempt)?;
        Ok(Step::begin(Dispatching::begin(Arc::clone(self), rule, attempt, circumstances)))
    }

    /// Records the truth about an unknown outcome. `rule` is the rule of the record's operation.
    pub fn resolve(
        self: &Arc<Self>,
        key: Key,
        verdict: Verdict,
        testimony: Testimony,
        circumstances: Circumstances,
    ) -> Step<Resolving> {
        Step::begin(Resolving::begin(Arc::clone(self), key, verdict, testimony, circumstances))
    }

    /// Drops a record that is settled and over.
    pub fn forget(self: &Arc<Self>, key: Key, circumstances: Circumstances) -> Step<Forgetting> {
        Step::begin(Forgetting::begin(Arc::clone(self), key, circumstances))
    }

    /// Tells how a request is seen, and changes nothing.
    pub fn explain(self: &Arc<Self>, request: Request, circumstances: Circumstances) -> Step<Explaining> {
        Step::begin(Explaining::begin(Arc::clone(self), request, circumstances))
    }

    fn rule_of(&self, attempt: &Attempt) -> Result<Arc<Rule>, AttemptError> {
        if attempt.generation != self.generation {
            return Err(AttemptError::OtherGeneration);
        }
        let rule = self.policy.rule(&attempt.operation).ok_or(AttemptError::Malformed)?;
        let known = self.keys.with_id(attempt.secret).is_some() && attempt.key.as_bytes().len() >= 36;
        if known { Ok(Arc::clone(rule)) } else { Err(AttemptError::Malformed) }
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The most bytes of response body that can be kept under a rule in this store.
    pub(crate) fn largest_body(&self, rule: &Rule) -> u64 {
        let value = u64::from(self.limits.max_value.min(self.limits.max_transaction));
        rule.max_response.min(value.saturating_sub(record::OVERHEAD))
    }

    pub(crate) fn generation(&self) -> Id {
        self.generation
    }
}

impl From<Refusal> for Admission {
    fn from(refusal: Refusal) -> Self {
        let response = answer::problem(refusal.problem, refusal.row, &refusal.detail, None);
        Admission {
            row: refusal.row.into(),
            operation: "".to_string(),
            decision: crate::decision::Decision::Refuse(response),
            detail: None,
        }
    }
}
