//! Plays a case on an enforcer that is called directly, with a clock and a store of the harness's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use oncegate_core::decision::{
    Admission, Answer, Attempt, AttemptError, Circumstances, Conditions, Coverage, Decision, Evidence, Explanation, Id,
    Inquiry, Proceed, Renewal, Resolution, RowName, Settlement, Standing, Testimony, Verdict,
};
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_core::request::{Body, Head, Outcome, Request, Response};
use oncegate_core::store::{Expectation, Key, Put, Transaction, Write};
use oncegate_core::time::{Instant, Timestamp};
use oncegate_host::store::Store;

use super::{Play, Stage};
use crate::expect::{DecisionName, StandingName};
use crate::seen::{Seen, SeenAttempt};
use crate::store::Faulty;
use crate::vector::{
    Act, EvidenceName, OutcomeDocument, PlainRequest, Ref, RequestDocument, Step, Tampering, Told, VerdictDocument,
    unhex,
};

/// What is called: the exports of `wit/enforcer.wit`, and `forget`.
#[async_trait]
pub(super) trait Enforcer: Sized + Send + Sync + 'static {
    async fn configure(policy: &[u8], keyring: &Keyring, store: Arc<dyn Store>) -> Result<Self, String>;
    async fn cover(&self, head: &Head) -> Result<Coverage, Failure>;
    async fn admit(&self, request: Request, conditions: Conditions, now: Circumstances) -> Result<Admission, Failure>;
    async fn answered(&self, inquiry: Inquiry, lookup: Outcome, now: Circumstances) -> Result<Admission, Failure>;
    async fn settle(&self, attempt: &Attempt, outcome: Outcome, now: Circumstances) -> Result<Settlement, Failure>;
    async fn renew(&self, attempt: &Attempt, now: Circumstances) -> Result<Renewal, Failure>;
    async fn resolve(
        &self,
        key: &Key,
        verdict: Verdict,
        by: Testimony,
        now: Circumstances,
    ) -> Result<Resolution, Failure>;
    async fn explain(&self, request: Request, now: Circumstances) -> Result<Result<Explanation, String>, Failure>;
    async fn forget(&self, key: &Key, now: Circumstances) -> Result<RowName, Failure>;
}

/// The name of an attempt that comes where the case expects none.
const UNEXPECTED: &str = "an attempt that the case does not expect";

/// Why a call has no outcome.
pub(super) enum Failure {
    /// The attempt cannot be judged; a case may expect it.
    Attempt(AttemptError),
    /// No case expects it.
    Other(String),
}

pub(super) struct Inside<E> {
    stage: Stage,
    enforcer: E,
    store: Arc<Faulty>,
    /// The case's start, in milliseconds since the epoch.
    start: u64,
    /// What the case's secrets are made from.
    salt: [u8; 32],
    attempts: BTreeMap<String, Attempt>,
    /// What was asked for an attempt.
    inquiries: BTreeMap<String, Inquiry>,
    /// The first attempt of each action.
    actions: BTreeMap<Id, String>,
    origin_calls: u64,
}

impl<E: Enforcer> Inside<E> {
    pub(super) async fn begin(stage: Stage) -> Result<Self, String> {
        let store = Arc::new(Faulty::new(Arc::clone(&stage.store)));
        let salt = random()?;
        let policy = stage.file.policy(None)?;
        let enforcer = E::configure(&policy, &keyring(salt, &[1]), Arc::clone(&store) as Arc<dyn Store>).await?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
        let start = Timestamp::from_millis(0).after(since).as_millis();
        let (attempts, inquiries, actions) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Inside { stage, enforcer, store, start, salt, attempts, inquiries, actions, origin_calls: 0 })
    }

    async fn act(&mut self, step: &Step, now: Circumstances) -> Result<Seen, Failure> {
        match &step.act {
            Act::Admit { request, name, waited, amnesia_until } => {
                let amnesia_until = amnesia_until.map(|until| self.time(until));
                let conditions = Conditions { waited: *waited, amnesia_until };
                self.admit(self.request(request)?, name.as_deref(), conditions, now).await
            }
            Act::Settle { attempt, outcome } => {
                let outcome = self.outcome(outcome)?;
                Ok(settled(self.enforcer.settle(self.attempt(attempt)?, outcome, now).await?))
            }
            Act::Lookup { attempt, outcome } => {
                let name = attempt.as_deref().unwrap_or_default();
                let inquiry = self.inquiries.remove(name).ok_or("nothing was asked for this attempt")?;
                let admission = self.enforcer.answered(inquiry, self.outcome(outcome)?, now).await?;
                Ok(self.decided(admission, Some(name)))
            }
            Act::Renew { attempt } => self.renew(attempt, now).await,
            Act::Resolve { request, verdict } => {
                let (verdict, key) = (self.verdict(verdict)?, self.key(request, now).await?);
                let testimony = Testimony { actor: "the harness".into(), reason: "the case says so".into() };
                let resolution = self.enforcer.resolve(&key, verdict, testimony, now).await?;
                let row = Some(resolution.row.into_owned());
                Ok(Seen { row, resolved: Some(resolution.resolved), ..Seen::default() })
            }
            Act::Explain { request } => {
                let request = whole(self.request(request)?);
                Ok(match self.enforcer.explain(request, now).await? {
                    Ok(explained) => {
                        Seen { row: Some(explained.row.into_owned()), held: explained.held, ..Seen::default() }
                    }
                    Err(why) => Seen { row: Some(why), ..Seen::default() },
                })
            }
            Act::Forget { request } => {
                let key = self.key(request, now).await?;
                Ok(Seen { row: Some(self.enforcer.forget(&key, now).await?.into_owned()), ..Seen::default() })
            }
            Act::Tamper { request, by } => {
                let key = self.key(request, now).await?;
                self.tamper(key, by).await?;
                Ok(Seen::default())
            }
            Act::Configure { policy, secrets } => {
                let policy = self.stage.file.policy(policy.as_deref())?;
                let store = Arc::clone(&self.store) as Arc<dyn Store>;
                self.enforcer = E::configure(&policy, &keyring(self.salt, secrets), store).await?;
                Ok(Seen::default())
            }
        }
    }

    /// As a host does it: coverage first, then the body up to the limit, then the decision.
    async fn admit(
        &mut self,
        plain: PlainRequest,
        name: Option<&str>,
        conditions: Conditions,
        now: Circumstances,
    ) -> Result<Seen, Failure> {
        let coverage = self.enforcer.cover(&plain.head).await?;
        let mut request = whole(plain);
        if let (Coverage::Enforce { max_body, .. }, Body::Whole(body)) = (&coverage, &request.body)
            && body.len() as u64 > *max_body
        {
            request.body = Body::TooLarge;
        }
        let admission = self.enforcer.admit(request, conditions, now).await?;
        let told = match &coverage {
            Coverage::Pass(row) | Coverage::Refuse { row, .. } => Some(row),
            Coverage::Enforce { .. } => None,
        };
        if told.is_some_and(|row| *row != admission.row) {
            return Err(Failure::Other(format!("cover says {coverage:?}, and admit {}", admission.row)));
        }
        Ok(self.decided(admission, name))
    }

    fn decided(&mut self, admission: Admission, name: Option<&str>) -> Seen {
        let row = Some(admission.row.into_owned());
        let (decision, response) = match admission.decision {
            Decision::Proceed(proceed) => return self.proceed(row, *proceed, name),
            Decision::Ask(inquiry) => return self.ask(row, *inquiry, name),
            Decision::Bypass => {
                self.origin_calls += 1;
                (DecisionName::Bypass, None)
            }
            Decision::Replay(response) => (DecisionName::Replay, Some(response)),
            Decision::Conflict(response) => (DecisionName::Conflict, Some(response)),
            Decision::Wait(wait) => (DecisionName::Wait, Some(wait.response)),
            Decision::Stop(response) => (DecisionName::Stop, Some(response)),
            Decision::Refuse(response) => (DecisionName::Refuse, Some(response)),
            Decision::Unavailable(response) => (DecisionName::Unavailable, Some(response)),
        };
        Seen { row, decision: Some(decision), response, ..Seen::default() }
    }

    fn proceed(&mut self, row: Option<String>, proceed: Proceed, name: Option<&str>) -> Seen {
        let name = name.unwrap_or(UNEXPECTED);
        self.origin_calls += u64::from(self.stage.case.sends(name));
        let answer_by = proceed.answer_by.as_millis().checked_sub(self.start);
        let attempt = Some(SeenAttempt { answer_by, ..self.keep(name, proceed.attempt) });
        Seen { row, decision: Some(DecisionName::Proceed), sent: proceed.send, attempt, ..Seen::default() }
    }

    fn ask(&mut self, row: Option<String>, inquiry: Inquiry, name: Option<&str>) -> Seen {
        let name = name.unwrap_or(UNEXPECTED);
        let attempt = Some(self.keep(name, inquiry.proceed.attempt.clone()));
        self.inquiries.insert(name.to_string(), inquiry);
        Seen { row, decision: Some(DecisionName::Ask), attempt, ..Seen::default() }
    }

    async fn renew(&mut self, name: &Option<String>, now: Circumstances) -> Result<Seen, Failure> {
        let (row, attempt) = match self.enforcer.renew(self.attempt(name)?, now).await? {
            Renewal::Renewed(attempt) => {
                let name = name.clone().unwrap_or_default();
                ("renewed".to_string(), Some(self.keep(&name, attempt)))
            }
            Renewal::Refused(row) => (row.into_owned(), None),
            Renewal::Unavailable(why) => return Err(Failure::Other(why)),
        };
        Ok(Seen { row: Some(row), attempt, ..Seen::default() })
    }

    fn keep(&mut self, name: &str, attempt: Attempt) -> SeenAttempt {
        let known = self.actions.get(&attempt.action).cloned();
        let action_of = known.unwrap_or_else(|| {
            self.actions.insert(attempt.action, name.to_string());
            "new".to_string()
        });
        let seen = SeenAttempt { fence: attempt.fence, tries: Some(attempt.tries), action_of, answer_by: None };
        self.attempts.insert(name.to_string(), attempt);
        seen
    }

    fn attempt(&self, name: &Option<String>) -> Result<&Attempt, String> {
        let attempt = name.as_ref().and_then(|name| self.attempts.get(name));
        attempt.ok_or_else(|| "the attempt that this step is about was not admitted".to_string())
    }

    fn request(&self, request: &Ref<RequestDocument>) -> Result<PlainRequest, String> {
        self.stage.file.request(request)
    }

    fn outcome(&self, outcome: &OutcomeDocument) -> Result<Outcome, String> {
        let response = |response| self.stage.file.response(response);
        Ok(match outcome {
            OutcomeDocument::Named(name) => Outcome::Answered(response(&Ref::Named(name.clone()))?),
            OutcomeDocument::Told(Told::Answered(answer)) => Outcome::Answered(response(answer)?),
            OutcomeDocument::Told(Told::Oversized(head)) => {
                Outcome::Oversized(Response { body: Vec::new(), ..response(head)? })
            }
            OutcomeDocument::Told(Told::NotSent(why)) => Outcome::NotSent(why.clone()),
            OutcomeDocument::Told(Told::Lost(why)) => Outcome::Lost(why.clone()),
        })
    }

    fn verdict(&self, verdict: &VerdictDocument) -> Result<Verdict, String> {
        Ok(match verdict {
            VerdictDocument::Committed(response) => Verdict::Committed(self.stage.file.response(response)?),
            VerdictDocument::Rejected(response) => Verdict::Rejected(self.stage.file.response(response)?),
            VerdictDocument::NoEffect(evidence) => Verdict::NoEffect(match evidence {
                EvidenceName::OriginFences => Evidence::OriginFences,
                EvidenceName::AttemptGone => Evidence::AttemptGone,
                EvidenceName::Drained => Evidence::Drained,
                EvidenceName::Forced => Evidence::Forced,
            }),
        })
    }

    /// The store key of a request: the first under which something is held, else the first.
    async fn key(&self, request: &Ref<RequestDocument>, now: Circumstances) -> Result<Key, Failure> {
        let explained = self.enforcer.explain(whole(self.request(request)?), now).await?;
        let keys = explained.map_err(|row| Failure::Other(format!("the request has no record: {row}")))?.keys;
        let (held, _) = self.stage.store.get(&keys).await.map_err(|error| error.to_string())?;
        // That was not the step's own doing.
        self.store.take_counts();
        let found = keys.iter().zip(held).find(|(_, held)| held.is_some()).map(|(key, _)| key);
        found.or(keys.first()).cloned().ok_or_else(|| Failure::Other("the request has no key".into()))
    }

    async fn tamper(&self, key: Key, by: &Tampering) -> Result<(), String> {
        let (held, _) = self.stage.store.get(std::slice::from_ref(&key)).await.map_err(|error| error.to_string())?;
        let held = held.into_iter().next().flatten();
        let value = held.as_ref().map(|entry| entry.value.clone());
        let there = || value.ok_or("nothing is held that could be tampered with");
        let write = match by {
            Tampering::Replace(digits) => Write::Put(put(&key, unhex(digits)?)),
            Tampering::Byte(offset, byte) => {
                let mut value = there()?;
                let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
                let index = usize::try_from(if *offset < 0 { length + offset } else { *offset }).ok();
                *index.and_then(|index| value.get_mut(index)).ok_or("there is no byte at this offset")? = *byte;
                Write::Put(put(&key, value))
            }
            Tampering::Cut(length) => Write::Put(put(&key, there()?.into_iter().take(*length).collect())),
            Tampering::Delete(_) => Write::Delete(key.clone()),
        };
        let revision = held.map(|entry| entry.revision);
        let transaction = Transaction { expects: vec![Expectation { key, revision }], writes: vec![write] };
        self.stage.store.commit(&transaction).await.map(drop).map_err(|error| error.to_string())
    }

    fn time(&self, after: u64) -> Timestamp {
        Timestamp::from_millis(self.start).after(Duration::from_millis(after))
    }
}

#[async_trait]
impl<E: Enforcer> Play for Inside<E> {
    async fn play(&mut self, step: &Step) -> Result<Seen, String> {
        let now = Instant { earliest: self.time(step.at), latest: self.time(step.at.saturating_add(step.uncertain)) };
        let circumstances = Circumstances { now, entropy: random()? };
        self.store.take_counts();
        self.store.prepare(&step.store);
        let seen = match self.act(step, circumstances).await {
            Ok(seen) => seen,
            Err(Failure::Attempt(error)) => {
                let error = match error {
                    AttemptError::OtherGeneration => "other-generation",
                    AttemptError::Malformed => "malformed",
                };
                Seen { error: Some(error.to_string()), ..Seen::default() }
            }
            Err(Failure::Other(why)) => return Err(why),
        };
        if self.store.left() > 0 {
            return Err(format!("{} answers of `store` were not asked for", self.store.left()));
        }
        let (gets, commits) = self.store.take_counts();
        Ok(Seen { gets, commits, origin_calls: self.origin_calls, ..seen })
    }

    async fn end(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

fn settled(settlement: Settlement) -> Seen {
    let response = match settlement.answer {
        Answer::Origin(response) | Answer::Instead(response) => response,
    };
    let standing = match settlement.standing {
        Standing::Recorded => StandingName::Recorded,
        Standing::Provisional => StandingName::Provisional,
        Standing::Unrecorded(_) => StandingName::Unrecorded,
    };
    Seen {
        row: Some(settlement.row.into_owned()),
        response: Some(response),
        knowledge: Some(settlement.knowledge.into()),
        standing: Some(standing),
        alarm: Some(settlement.alarm),
        ..Seen::default()
    }
}

fn whole(plain: PlainRequest) -> Request {
    Request { head: plain.head, body: Body::Whole(plain.body), properties: plain.properties }
}

fn put(key: &Key, value: Vec<u8>) -> Put {
    Put { key: key.clone(), value, forget_at: None, review_at: None }
}

fn random() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| "the system gives no random numbers")?;
    Ok(bytes)
}

/// The case's secrets: no other case has them, so that cases on one store never meet.
fn keyring(salt: [u8; 32], ids: &[u32]) -> Keyring {
    let secret = |&id: &u32| Secret { id, bytes: [&salt[..], &id.to_be_bytes()].concat() };
    let webhooks = vec![("sender".to_string(), salt.to_vec())];
    Keyring { partition: salt.to_vec(), secrets: ids.iter().map(secret).collect(), webhooks }
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        Failure::Other(why.to_string())
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Failure::Other(why)
    }
}
