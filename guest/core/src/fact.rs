//! Facts: what the origin's own books say of an action from before there were records.
//!
//! The claim is made first, so that two requests cannot both find nothing; then the host looks the fact up and hands the
//! answer back. A fact is adopted as a receipt that is bound to no fingerprint, since nobody knows what was asked at the
//! time. No answer is not "no": the claim is released, and the client is told to come again.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::admission::store_row;
use crate::answer::{self, Problem};
use crate::decision::{Admission, Circumstances, Decision, Inquiry, RowName, State};
use crate::engine::Engine;
use crate::policy::Rule;
use crate::policy::document::Retention;
use crate::record::{Record, Seal};
use crate::request::{Outcome, Response};
use crate::step::{Firm, Next, Operation};
use crate::store::{Entry, Expectation, Key, Revision, StoreError, Transaction};
use crate::table::{self, ADMISSION, Absence, Seen, Situation};
use crate::time::Timestamp;

/// An answered inquiry under way.
pub struct Answering {
    engine: Arc<Engine>,
    rule: Arc<Rule>,
    inquiry: Inquiry,
    keys: [Key; 1],
    /// The adopted record; none: the claim is being released.
    adopted: Option<Record>,
    circumstances: Circumstances,
}

impl Answering {
    pub(crate) fn begin(
        engine: Arc<Engine>,
        rule: Arc<Rule>,
        inquiry: Inquiry,
        lookup: Outcome,
        circumstances: Circumstances,
    ) -> Next<Self> {
        let fact = match lookup {
            Outcome::Answered(Response { status: 404 | 410, .. }) => {
                // Nothing is known: the claim stands, and the origin may be called.
                return Next::Done(Admission {
                    row: "first-claim".into(),
                    operation: rule.operation.clone(),
                    decision: Decision::Proceed(Box::new(inquiry.proceed)),
                    detail: None,
                });
            }
            Outcome::Answered(response) if (200..=299).contains(&response.status) => Some(response),
            Outcome::Oversized(response) if (200..=299).contains(&response.status) => Some(response),
            _ => None,
        };
        let keys = [inquiry.proceed.attempt.key.clone()];
        let answering = Answering { engine, rule, inquiry, keys, adopted: None, circumstances };
        match fact {
            Some(fact) => answering.adopt(fact),
            None => answering.release(),
        }
    }

    fn adopt(mut self, fact: Response) -> Next<Self> {
        let now = self.circumstances.now.latest;
        let body = (fact.body.len() as u64 <= self.inquiry.max_body).then_some(fact.body.as_slice());
        let retained_until = match self.rule.retention {
            Retention::Forever => Timestamp::NEVER,
            Retention::For(span) => now.after(span),
        };
        let record = Record {
            state: State::Succeeded,
            unbound: true,
            settled_at: Some(now),
            retained_until,
            receipt: answer::receipt(&self.rule, &fact, body),
            ..Record::of(&self.inquiry.proceed.attempt)
        };
        self.adopted = Some(record.clone());
        self.write(record)
    }

    /// Nothing was sent, so the next one may try at once.
    fn release(self) -> Next<Self> {
        let now = self.circumstances.now.latest;
        let record = Record {
            state: State::FailedRetryably,
            settled_at: Some(now),
            retained_until: now.after(self.rule.lease),
            ..Record::of(&self.inquiry.proceed.attempt)
        };
        self.write(record)
    }

    fn write(self, record: Record) -> Next<Self> {
        let [key] = &self.keys;
        let mut seal = Seal::new(self.circumstances.entropy);
        let Some(writes) = self.engine.puts(record, key, &mut seal) else {
            return Next::Done(self.failed(StoreError::Refused("the record cannot be sealed".to_string())));
        };
        let revision = Some(self.inquiry.proceed.attempt.revision.clone());
        let expects = alloc::vec![Expectation { key: key.clone(), revision }];
        Next::Write(self, Transaction { expects, writes })
    }

    fn unavailable(&self, row: &'static str) -> Decision {
        let detail = "nothing was sent: retry with the same key";
        let wait = Some(Duration::from_secs(2));
        Decision::Unavailable(self.engine.problem(Problem::StoreUnavailable, row, detail, wait))
    }

    fn admission(&self, row: &'static str, decision: Decision) -> Admission {
        let operation = self.rule.operation.clone();
        Admission { row: RowName::Borrowed(row), operation, decision, detail: None }
    }
}

impl Operation for Answering {
    type Output = Admission;

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Somebody changed the record, or it was written although the answer was lost: the next request tells.
    fn react(self, _: Vec<Option<Entry>>) -> Next<Self> {
        let why = "the record changed while the fact was looked up".to_string();
        Next::Done(self.failed(StoreError::Unavailable(why)))
    }

    fn written(self, _: Firm, _: Revision) -> Admission {
        let situation = Situation { absence: Absence::Fact, ..Situation::of(Seen::Absent) };
        let row = table::meet(ADMISSION, &situation).map_or("legacy-replay", |row| row.name);
        match &self.adopted {
            None => self.admission("fact-unanswered", self.unavailable("fact-unanswered")),
            Some(record) => {
                let replay = record.receipt.as_ref().map(|receipt| answer::replay(&self.rule, record, receipt));
                let decision = replay.map_or_else(|| self.unavailable(row), Decision::Replay);
                self.admission(row, decision)
            }
        }
    }

    fn failed(self, error: StoreError) -> Admission {
        let row = store_row(&error);
        Admission { detail: Some(error.to_string()), ..self.admission(row, self.unavailable(row)) }
    }
}
