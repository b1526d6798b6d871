//! Admission: may this request reach the origin? The claim comes first, and is durable before `proceed` is said.
//!
//! The opening step claims at once, expecting nothing to be held under any derivation in force; a conflict brings what is
//! held, and the table says what that means. So a first request costs one store call, and so does a replay. Where the
//! store is better read first, or nothing may be claimed, it looks first.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::answer::{self, Problem, field};
use crate::decision::{Admission, Attempt, Circumstances, Conditions, Decision, Id, Proceed, State, Wait};
use crate::engine::Engine;
use crate::identity;
use crate::policy::document::InFlight;
use crate::record::{Record, Seal};
use crate::request::{Field, Request, Response};
use crate::step::{Firm, Next, Operation};
use crate::store::{Entry, Expectation, Key, Revision, StoreError, Transaction, Write};
use crate::subject::{Preparation, Standing, Subject};
use crate::table::{self, ADMISSION, Act, Kind, Seen, Situation};
use crate::time::Timestamp;

/// An admission under way.
pub struct Admitting {
    engine: Arc<Engine>,
    subject: Subject,
    conditions: Conditions,
    circumstances: Circumstances,
    seal: Seal,
    attempt: Id,
    writing: Writing,
}

/// What the transaction under way means.
enum Writing {
    Nothing,
    Claim(Box<Pending>),
    /// The row says stop, and that the outcome is unknown.
    MarkUnknown(&'static str),
    /// Something under the key, so that a claim whose answer was lost cannot land any more.
    GiveUp,
}

struct Pending {
    row: &'static str,
    key: Key,
    record: Record,
}

/// A claim to be made: under which of the keys, for which action, after which fence and how many tries.
struct Claim {
    row: &'static str,
    at: usize,
    action: Id,
    fence: u32,
    tries: u32,
    of: Option<Record>,
}

impl Admitting {
    pub(crate) fn begin(
        engine: Arc<Engine>,
        request: Request,
        conditions: Conditions,
        circumstances: Circumstances,
    ) -> Next<Self> {
        let subject = match Subject::prepare(&engine, request) {
            Preparation::Subject(subject) => subject,
            Preparation::Bypass(row) => {
                let (operation, decision) = ("".to_string(), Decision::Bypass);
                return Next::Done(Admission { row: row.into(), operation, decision, detail: None });
            }
            Preparation::Refused(refusal) => return Next::Done(refusal.into()),
        };
        let mut seal = Seal::new(circumstances.entropy);
        let attempt = seal.id();
        let look = engine.limits().read_first
            || conditions.waited
            || subject.fault().is_some()
            || conditions.amnesia_until.is_some_and(|until| !circumstances.now.is_past(until));
        let admitting =
            Admitting { engine, subject, conditions, circumstances, seal, attempt, writing: Writing::Nothing };
        if look {
            return Next::Look(admitting);
        }
        let held = admitting.subject.keys.iter().map(|_| None).collect();
        admitting.react(held)
    }

    /// Carries out what a row says.
    fn carry_out(
        mut self,
        row: &'static str,
        (kind, act): (Kind, Act),
        held: Vec<Option<Entry>>,
        standing: Option<Standing>,
    ) -> Next<Self> {
        if kind == Kind::Proceed
            && let Some(decision) = self.may_not_proceed()
        {
            return Next::Done(decision);
        }
        match (act, standing) {
            (Act::Claim, standing) => {
                let fence = standing.map_or(0, |held| held.record.fence);
                let action = self.seal.id();
                self.claim(Claim { row, at: 0, action, fence, tries: 0, of: None }, held)
            }
            (Act::Reclaim | Act::Rebind, Some(Standing { at, record })) => {
                let (action, fence, tries) = (record.action, record.fence, record.tries);
                self.claim(Claim { row, at, action, fence, tries, of: Some(record) }, held)
            }
            (Act::MarkUnknown, Some(Standing { at, record })) => {
                self.writing = Writing::MarkUnknown(row);
                self.write(Record { state: State::Unknown, ..record }, held, at)
            }
            (Act::Nothing, Some(Standing { at, record })) if kind == Kind::Proceed => {
                self.recovered(row, &held, at, record)
            }
            (_, standing) => Next::Done(self.decide(row, kind, standing)),
        }
    }

    /// A request that cannot be compared claims nothing, and neither does one that has waited.
    fn may_not_proceed(&self) -> Option<Admission> {
        if let Some(refusal) = self.subject.fault() {
            return Some(Admission { operation: self.subject.rule.operation.clone(), ..refusal.clone().into() });
        }
        let detail = "the first request ended without an answer to share: retry";
        self.conditions.waited.then(|| {
            let response = self.problem(Problem::InProgress, "wait-released", detail, Some(Duration::from_secs(1)));
            let wait = Wait { response, retry_in: Duration::from_secs(1), bound: Duration::ZERO };
            self.admission("wait-released", Decision::Wait(wait))
        })
    }

    /// Writes a claim in place of all that is held.
    fn claim(mut self, claim: Claim, held: Vec<Option<Entry>>) -> Next<Self> {
        let Some(key) = self.subject.keys.get(claim.at).cloned() else {
            return Next::Done(self.failed(StoreError::Unavailable("there is no key to claim".to_string())));
        };
        let now = self.circumstances.now;
        let secret = &self.engine.keys().current;
        let (earlier_suspicion, others) =
            claim.of.map(|record| (record.double_effect_suspected, record.others)).unwrap_or_default();
        let record = Record {
            operation: self.subject.rule.operation.clone(),
            state: State::InProgress,
            double_effect_suspected: earlier_suspicion,
            fence: claim.fence.saturating_add(1),
            tries: claim.tries.saturating_add(1),
            secret: secret.id,
            action: claim.action,
            attempt: self.attempt,
            claimed_at: now.latest,
            lease_until: now.latest.after(self.subject.rule.lease),
            settled_at: None,
            retained_until: Timestamp::NEVER,
            not_before: None,
            plan: *self.subject.rule.plan.id(),
            fingerprint: self.subject.fingerprint(secret),
            receipt: None,
            others,
        };
        self.writing = Writing::Claim(Box::new(Pending { row: claim.row, key, record: record.clone() }));
        self.write(record, held, claim.at)
    }

    /// Puts a record under the key at `at`, expecting all keys to be as they are held, and deletes the others.
    fn write(mut self, record: Record, held: Vec<Option<Entry>>, at: usize) -> Next<Self> {
        let mut transaction = Transaction::default();
        for (number, (key, entry)) in self.subject.keys.iter().zip(held).enumerate() {
            let revision = entry.map(|entry| entry.revision);
            if number == at {
                match record.put(&mut self.seal, key, self.engine.keys()) {
                    Some(put) => transaction.writes.push(Write::Put(put)),
                    None => {
                        let error = StoreError::Refused("the record cannot be sealed".to_string());
                        return Next::Done(self.failed(error));
                    }
                }
            } else if revision.is_some() {
                transaction.writes.push(Write::Delete(key.clone()));
            }
            transaction.expects.push(Expectation { key: key.clone(), revision });
        }
        Next::Write(self, transaction)
    }

    /// Our own claim was written although its answer was lost.
    fn recovered(self, row: &'static str, held: &[Option<Entry>], at: usize, record: Record) -> Next<Self> {
        let (Some(key), Some(Some(entry))) = (self.subject.keys.get(at), held.get(at)) else {
            return Next::Done(self.failed(StoreError::Unavailable("the claim is gone".to_string())));
        };
        let proceed = self.proceed(row, key.clone(), entry.revision.clone(), &record);
        Next::Done(proceed)
    }

    fn proceed(&self, row: &'static str, key: Key, revision: Revision, record: &Record) -> Admission {
        let rule = &self.subject.rule;
        let attempt = Attempt {
            key,
            revision,
            generation: self.engine.generation(),
            operation: rule.operation.clone(),
            plan: record.plan,
            fingerprint: record.fingerprint,
            secret: record.secret,
            action: record.action,
            id: record.attempt,
            fence: record.fence,
            tries: record.tries,
            claimed_at: record.claimed_at,
            lease_until: record.lease_until,
        };
        let renews = rule.max_run > rule.lease;
        let answer_by = self.circumstances.now.earliest.after(rule.upstream_timeout);
        let proceed = Proceed {
            send: self.sent(&attempt),
            answer_by,
            renew_every: renews.then_some(rule.lease / 3),
            max_response: self.engine.largest_body(rule),
            attempt,
        };
        self.admission(row, Decision::Proceed(Box::new(proceed)))
    }

    /// What the origin is told, so that it may deduplicate or fence by itself. The client key goes along as it came; one that
    /// did not come in a header is put in one.
    fn sent(&self, attempt: &Attempt) -> Vec<Field> {
        let mut fields = alloc::vec![
            field("oncegate-action", &answer::hex(&attempt.action)),
            field("oncegate-attempt", &answer::hex(&attempt.id)),
            field("oncegate-fence", &attempt.fence.to_string()),
        ];
        if self.subject.request.head.values("idempotency-key").next().is_none() {
            fields.push(("idempotency-key".to_string(), identity::quote(&self.subject.client_key)));
        }
        fields
    }

    /// A decision that calls no origin.
    fn decide(&self, row: &'static str, kind: Kind, standing: Option<Standing>) -> Admission {
        let record = standing.map(|standing| standing.record);
        let receipt = record.as_ref().and_then(|record| record.receipt.as_ref());
        let say = |problem, detail: &str| self.problem(problem, row, detail, None);
        let decision = match (kind, row) {
            (Kind::Replay, _) => match receipt {
                Some(receipt) => Decision::Replay(answer::replay(receipt)),
                None => Decision::Stop(say(Problem::NotComparable, "it is done, and nothing is kept to replay")),
            },
            (Kind::Conflict, _) => {
                Decision::Conflict(say(Problem::KeyReused, "this key was used for another request: nothing was done"))
            }
            (Kind::Wait, "retry-later") => Decision::Wait(self.too_early(row, record)),
            (Kind::Wait, _) => Decision::Wait(self.wait(row)),
            (Kind::Stop, "plan-unknown") => {
                Decision::Stop(say(Problem::NotComparable, "do not make a new key: ask what became of this one"))
            }
            (Kind::Stop, "retry-exhausted") => {
                Decision::Stop(say(Problem::AttemptsExhausted, "it was tried as often as the rule allows"))
            }
            (Kind::Stop, _) => Decision::Stop(say(Problem::OutcomeUnknown, answer::UNKNOWN)),
            (Kind::Refuse, "domain-taken") => {
                Decision::Refuse(say(Problem::AlreadyExists, "another request made it before"))
            }
            (Kind::Refuse, _) => Decision::Refuse(say(Problem::KeyExpired, "use a new key only for a new action")),
            (Kind::Unavailable | Kind::Proceed, _) => {
                let detail = "nothing was sent: retry with the same key";
                Decision::Unavailable(self.problem(
                    Problem::StoreUnavailable,
                    row,
                    detail,
                    Some(Duration::from_secs(2)),
                ))
            }
        };
        self.admission(row, decision)
    }

    fn wait(&self, row: &'static str) -> Wait {
        let bound = match self.subject.rule.in_flight {
            InFlight::Reject => Duration::ZERO,
            InFlight::Wait(bound) => bound.0,
        };
        let detail = "nothing was sent: retry with the same key";
        let response = self.problem(Problem::InProgress, row, detail, Some(Duration::from_secs(1)));
        Wait { response, retry_in: Duration::from_millis(50), bound }
    }

    /// The last answer again, or a problem, with the time that is left.
    fn too_early(&self, row: &'static str, record: Option<Record>) -> Wait {
        let now = self.circumstances.now.earliest.as_millis();
        let until = record.as_ref().and_then(|record| record.not_before).map_or(now, Timestamp::as_millis);
        let left = Duration::from_millis(until.saturating_sub(now));
        let detail = "it had no effect and may be tried again: retry with the same key";
        let problem = self.problem(Problem::InProgress, row, detail, Some(left));
        let response = match record.and_then(|record| record.receipt) {
            Some(receipt) if receipt.body.is_some() => {
                let mut response = answer::replay(&receipt);
                response.headers.retain(|(name, _)| name != "retry-after");
                response.headers.extend(problem.headers.into_iter().filter(|(name, _)| name == "retry-after"));
                response
            }
            _ => problem,
        };
        Wait { response, retry_in: left, bound: Duration::ZERO }
    }

    /// A problem document; a wait is lengthened by up to as much again, so that retries do not come all at once.
    fn problem(&self, problem: Problem, row: &str, detail: &str, wait: Option<Duration>) -> Response {
        let jitter = u32::from(self.circumstances.entropy.first().copied().unwrap_or_default());
        answer::problem(problem, row, detail, wait.map(|wait| wait + wait.max(Duration::from_secs(1)) * jitter / 256))
    }

    fn admission(&self, row: &'static str, decision: Decision) -> Admission {
        let operation = self.subject.rule.operation.clone();
        Admission { row: row.into(), operation, decision, detail: None }
    }
}

impl Operation for Admitting {
    type Output = Admission;

    fn keys(&self) -> &[Key] {
        &self.subject.keys
    }

    fn react(self, held: Vec<Option<Entry>>) -> Next<Self> {
        let now = self.circumstances.now;
        let (situation, standing) = self.subject.judge(&self.engine, &held, now, &self.conditions, &self.attempt);
        let (row, kind, act) = meet(&situation);
        self.carry_out(row, (kind, act), held, standing)
    }

    fn written(self, _: Firm, revision: Revision) -> Admission {
        match &self.writing {
            Writing::Claim(claim) => self.proceed(claim.row, claim.key.clone(), revision, &claim.record),
            Writing::MarkUnknown(row) => self.decide(row, Kind::Stop, None),
            Writing::Nothing | Writing::GiveUp => {
                self.failed(StoreError::Unresolved("the answer to the claim was lost; it was given up".to_string()))
            }
        }
    }

    fn lost(mut self, held: Vec<Option<Entry>>) -> Next<Self> {
        let now = self.circumstances.now;
        let (situation, standing) = self.subject.judge(&self.engine, &held, now, &self.conditions, &self.attempt);
        match &self.writing {
            Writing::Claim(pending) if situation.seen != Seen::OwnClaim && meet(&situation).1 == Kind::Proceed => {
                // The claim may still land, after the client was told that nothing was sent. Any write under the key
                // makes it fail: what is held, once more, or that there was no effect.
                let at = standing.as_ref().map_or(0, |standing| standing.at);
                let no_effect = Record {
                    state: State::FailedRetryably,
                    settled_at: Some(now.latest),
                    retained_until: now.latest.after(self.subject.rule.lease),
                    ..pending.record.clone()
                };
                self.writing = Writing::GiveUp;
                self.write(standing.map_or(no_effect, |standing| standing.record), held, at)
            }
            Writing::GiveUp => {
                let why = "the answers to the claim and to giving it up were lost";
                Next::Done(self.failed(StoreError::Unresolved(why.to_string())))
            }
            _ => self.react(held),
        }
    }

    fn failed(self, error: StoreError) -> Admission {
        let row = store_row(&error);
        Admission { detail: Some(error.to_string()), ..self.decide(row, Kind::Unavailable, None) }
    }
}

/// The row that a situation meets. The table is total; were it not, nothing would be sent.
pub(crate) fn meet(situation: &Situation) -> (&'static str, Kind, Act) {
    match table::meet(ADMISSION, situation) {
        Some(row) => (row.name, row.then.kind, row.then.act),
        None => ("undecodable", Kind::Stop, Act::Nothing),
    }
}

/// The row of a store that gave no answer.
pub(crate) fn store_row(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "store-unavailable",
        StoreError::Unresolved(_) => "store-unresolved",
        StoreError::Refused(_) => "store-refused",
    }
}
