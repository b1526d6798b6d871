//! Admission: may this request reach the origin? The claim comes first, and is durable before `proceed` is said.
//!
//! The opening step claims at once, expecting nothing to be held under any derivation in force; a conflict brings what is
//! held, and the table says what that means. So a first request costs one store call, and so does a replay. Where the
//! store is better read first, or nothing may be claimed, it looks first.

mod answers;

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::answer::{self, Problem, field};
use crate::decision::{Admission, Attempt, Circumstances, Conditions, Decision, Id, Inquiry, Proceed, State, Wait};
use crate::engine::Engine;
use crate::identity;
use crate::policy::document::ReplayMode;
use crate::policy::{Legacy, TargetPart};
use crate::record::{self, Record, Seal};
use crate::request::{Field, Request};
use crate::step::{Firm, Next, Operation};
use crate::store::{Entry, Expectation, Key, Revision, StoreError, Transaction, Write};
use crate::subject::{Preparation, Refusal, Standing, Subject};
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
    phase: Phase,
}

/// What is under way.
enum Phase {
    /// Finding out what is held.
    Opening,
    /// Writing a claim.
    Claiming(Box<Pending>),
    /// Writing that the outcome is unknown, as the row says.
    Marking(&'static str),
    /// Writing anything under the key, so that a claim whose answer was lost cannot land any more.
    GivingUp,
    /// Reading the chunks of the answer that the row replays.
    Collecting(Box<Collecting>),
}

struct Collecting {
    row: &'static str,
    at: usize,
    record: Record,
    /// Read again where a chunk was missing: it may have been on its way.
    again: bool,
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
    /// The record that gives way, and where it is held.
    over: Option<(usize, Record)>,
}

impl Admitting {
    pub(crate) fn begin(
        engine: Arc<Engine>,
        request: Request,
        conditions: Conditions,
        circumstances: Circumstances,
    ) -> Next<Self> {
        let subject = match Subject::prepare(&engine, request, circumstances.now) {
            Preparation::Subject(subject) => *subject,
            Preparation::Bypass(row) => {
                let (operation, decision) = ("".to_string(), Decision::Bypass);
                return Next::Done(Admission { row: row.into(), operation, decision, detail: None });
            }
            Preparation::Refused(refusal) => return Next::Done(refused(&engine, &refusal, String::new())),
        };
        let mut seal = Seal::new(circumstances.entropy);
        let attempt = seal.id();
        let look = engine.limits().read_first
            || conditions.waited
            || subject.fault().is_some()
            || conditions.amnesia_until.is_some_and(|until| !circumstances.now.is_past(until));
        let admitting = Admitting { engine, subject, conditions, circumstances, seal, attempt, phase: Phase::Opening };
        if look {
            let keys = admitting.subject.keys.clone();
            return Next::Look(admitting, keys);
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
                let fence = standing.as_ref().map_or(0, |held| held.record.fence);
                let action = self.seal.id();
                let over = standing.map(|Standing { at, record }| (at, record));
                self.claim(Claim { row, at: 0, action, fence, tries: 0, over }, held)
            }
            (Act::Reclaim | Act::Rebind, Some(Standing { at, record })) => {
                let (action, fence, tries) = (record.action, record.fence, record.tries);
                self.claim(Claim { row, at, action, fence, tries, over: Some((at, record)) }, held)
            }
            (Act::MarkUnknown, Some(Standing { at, record })) => {
                self.phase = Phase::Marking(row);
                self.write(Record { state: State::Unknown, ..record }, held, at, Vec::new())
            }
            (Act::Nothing, Some(Standing { at, record })) if kind == Kind::Proceed => {
                self.recovered(row, &held, at, record)
            }
            (_, Some(Standing { at, record })) if kind == Kind::Replay && self.replays_chunks(&record) => {
                self.collect(Collecting { row, at, record, again: false })
            }
            (_, standing) => Next::Done(self.decide(row, kind, standing.map(|standing| standing.record))),
        }
    }

    fn replays_chunks(&self, record: &Record) -> bool {
        record.chunks.is_some() && self.subject.rule.replay == ReplayMode::Bytes
    }

    fn collect(mut self, collecting: Collecting) -> Next<Self> {
        let key = self.subject.keys.get(collecting.at);
        let keys = key.map(|key| record::chunk_keys(&collecting.record, key)).unwrap_or_default();
        self.phase = Phase::Collecting(Box::new(collecting));
        Next::Look(self, keys)
    }

    /// The chunks are read: with all of them the answer is whole. One that is missing twice makes it unknown.
    fn collected(self, mut collecting: Collecting, held: Vec<Option<Entry>>) -> Next<Self> {
        let joined = self
            .subject
            .keys
            .get(collecting.at)
            .map(|key| record::join(&mut collecting.record, key, &held, self.engine.keys()));
        match joined {
            Some(Ok(())) => Next::Done(self.decide(collecting.row, Kind::Replay, Some(collecting.record))),
            _ if !collecting.again => self.collect(Collecting { again: true, ..collecting }),
            _ => Next::Done(self.decide("undecodable", Kind::Stop, None)),
        }
    }

    /// A request that cannot be compared claims nothing, and neither does one that has waited.
    fn may_not_proceed(&self) -> Option<Admission> {
        if let Some(refusal) = self.subject.fault() {
            return Some(refused(&self.engine, refusal, self.subject.rule.operation.clone()));
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
        let given_way = |(at, record): &(usize, Record)| {
            self.subject.keys.get(*at).map(|key| record::chunk_keys(record, key)).unwrap_or_default()
        };
        let drop = claim.over.as_ref().map(given_way).unwrap_or_default();
        // What is known of the action goes on with it.
        let same = claim.over.filter(|(_, record)| record.action == claim.action);
        let (suspected, others) = same.map(|(_, held)| (held.double_effect_suspected, held.others)).unwrap_or_default();
        let record = Record {
            operation: self.subject.rule.operation.clone(),
            state: State::InProgress,
            double_effect_suspected: suspected,
            unbound: false,
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
            chunks: None,
            others,
        };
        self.phase = Phase::Claiming(Box::new(Pending { row: claim.row, key, record: record.clone() }));
        self.write(record, held, claim.at, drop)
    }

    /// Puts a record under the key at `at`, expecting all keys to be as they are held; deletes the others, and `drop`.
    fn write(mut self, record: Record, held: Vec<Option<Entry>>, at: usize, drop: Vec<Key>) -> Next<Self> {
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
        transaction.writes.extend(drop.into_iter().map(Write::Delete));
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
        let decision = match &self.subject.rule.legacy {
            None => Decision::Proceed(Box::new(proceed)),
            Some(legacy) => {
                Decision::Ask(Box::new(Inquiry { proceed, target: self.lookup(legacy), max_body: legacy.max_body }))
            }
        };
        self.admission(row, decision)
    }

    /// The target of a lookup. A path parameter goes in as it came, which is spelled plainly.
    fn lookup(&self, legacy: &Legacy) -> Vec<u8> {
        let mut target = Vec::new();
        for part in &legacy.target {
            match part {
                TargetPart::Literal(text) => target.extend_from_slice(text.as_bytes()),
                TargetPart::Parameter(name) => target.extend_from_slice(self.subject.parameter(name)),
                TargetPart::Key => identity::percent_encode(&self.subject.client_key, &mut target),
            }
        }
        target
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

    fn react(mut self, held: Vec<Option<Entry>>) -> Next<Self> {
        if let Phase::Collecting(collecting) = core::mem::replace(&mut self.phase, Phase::Opening) {
            return self.collected(*collecting, held);
        }
        let now = self.circumstances.now;
        let (situation, standing) = self.subject.judge(&self.engine, &held, now, &self.conditions, &self.attempt);
        let (row, kind, act) = meet(&situation);
        self.carry_out(row, (kind, act), held, standing)
    }

    fn written(self, _: Firm, revision: Revision) -> Admission {
        match &self.phase {
            Phase::Claiming(claim) => self.proceed(claim.row, claim.key.clone(), revision, &claim.record),
            Phase::Marking(row) => self.decide(row, Kind::Stop, None),
            Phase::Opening | Phase::GivingUp | Phase::Collecting(_) => {
                self.failed(StoreError::Unresolved("the answer to the claim was lost; it was given up".to_string()))
            }
        }
    }

    fn lost(mut self, held: Vec<Option<Entry>>) -> Next<Self> {
        let now = self.circumstances.now;
        let (situation, standing) = self.subject.judge(&self.engine, &held, now, &self.conditions, &self.attempt);
        match &self.phase {
            Phase::Claiming(pending) if situation.seen != Seen::OwnClaim && meet(&situation).1 == Kind::Proceed => {
                // The claim may still land, after the client was told that nothing was sent. Any write under the key
                // makes it fail: what is held, once more, or that there was no effect.
                let at = standing.as_ref().map_or(0, |standing| standing.at);
                let no_effect = Record {
                    state: State::FailedRetryably,
                    settled_at: Some(now.latest),
                    retained_until: now.latest.after(self.subject.rule.lease),
                    ..pending.record.clone()
                };
                self.phase = Phase::GivingUp;
                self.write(standing.map_or(no_effect, |standing| standing.record), held, at, Vec::new())
            }
            Phase::GivingUp => {
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

fn refused(engine: &Engine, refusal: &Refusal, operation: String) -> Admission {
    let decision = Decision::Refuse(engine.refuse(refusal));
    Admission { row: refusal.row.into(), operation, decision, detail: None }
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
