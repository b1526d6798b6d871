//! The engine: a checked policy, the derived keys and the store's limits, and the way into every operation.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::admission::Admitting;
use crate::answer::{self, Problem};
use crate::canonical::Parts;
use crate::canonical::json::Wanted;
use crate::decision::{Attempt, AttemptError, Circumstances, Conditions, Coverage, Id, Inquiry, Testimony, Verdict};
use crate::explanation::Explaining;
use crate::fact::Answering;
use crate::identity;
use crate::keyring::{Keyring, Keys};
use crate::lifecycle::{Dispatching, Forgetting, Renewing};
use crate::plan::shorten;
use crate::policy::{ConfigurationError, Policy, Route, Rule};
use crate::record::{self, Record, Seal};
use crate::request::{Head, Outcome, Request, Response};
use crate::resolution::Resolving;
use crate::settlement::Settling;
use crate::step::Step;
use crate::store::{Key, Limits, Write};
use crate::subject::Refusal;

/// What the host must know of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Names this policy and these secrets.
    pub generation: Id,
    /// Lower-case names of request headers that rules believe.
    pub believed_headers: Vec<String>,
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
        for (at, rule) in policy.rules().iter().enumerate() {
            let mut names = rule.webhook.iter().flat_map(|webhook| &webhook.secrets);
            if let Some(name) = names.find(|name| keys.webhook(name).is_none()) {
                let message = format!("the keyring has no webhook secret `{name}`: add it there");
                return Err(ConfigurationError { path: format!("rules[{at}].webhook.secrets"), message });
            }
        }
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
        let refuse = |refusal: Refusal| Coverage::Refuse { row: refusal.row.into(), response: self.refuse(&refusal) };
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

    /// Hands back what a lookup brought. The lookup's outcome is told as an origin call's is.
    pub fn answered(
        self: &Arc<Self>,
        inquiry: Inquiry,
        lookup: Outcome,
        circumstances: Circumstances,
    ) -> Result<Step<Answering>, AttemptError> {
        let rule = self.rule_of(&inquiry.proceed.attempt)?;
        Ok(Step::begin(Answering::begin(Arc::clone(self), rule, inquiry, lookup, circumstances)))
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

    /// The most bytes of response body that can be kept under a rule in this store: in the record, or in chunks beside it.
    pub(crate) fn largest_body(&self, rule: &Rule) -> u64 {
        // Half of a transaction's entries, so that the next claim can delete as many.
        let chunks = u64::from(self.limits.max_entries / 2).saturating_sub(1);
        let chunked = chunks.saturating_mul(self.chunk_size()).min(u64::from(self.limits.max_transaction) / 2);
        rule.max_response.min(chunked.max(self.embedded_body()))
    }

    /// The writes that put a record under a key, with the chunks of its body if it has to be split. The record's comes first.
    pub(crate) fn puts(&self, mut record: Record, key: &Key, seal: &mut Seal) -> Option<Vec<Write>> {
        let large = |body: &Vec<u8>| body.len() as u64 > self.embedded_body();
        let body = record.receipt.as_ref().and_then(|receipt| receipt.body.as_ref());
        let chunks = match body.is_some_and(large) {
            true => record::split(&mut record, key, usize::try_from(self.chunk_size()).ok()?, seal, &self.keys)?,
            false => Vec::new(),
        };
        let first = record.put(seal, key, &self.keys)?;
        Some(core::iter::once(first).chain(chunks).map(Write::Put).collect())
    }

    fn embedded_body(&self) -> u64 {
        u64::from(self.limits.max_value.min(self.limits.max_transaction)).saturating_sub(record::OVERHEAD)
    }

    fn chunk_size(&self) -> u64 {
        u64::from(self.limits.max_value).saturating_sub(record::CHUNK_OVERHEAD)
    }

    /// A problem document under this policy.
    pub(crate) fn problem(&self, problem: Problem, row: &str, detail: &str, retry_after: Option<Duration>) -> Response {
        answer::problem(problem, row, detail, retry_after, self.policy.described_by())
    }

    /// A refusal as it is answered.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Response {
        self.problem(refusal.problem, refusal.row, &refusal.detail, None)
    }

    pub(crate) fn generation(&self) -> Id {
        self.generation
    }
}
