//! Settlement: keeps what became of an attempt. It is fenced by attempt, may be repeated, and never loses the truth: a late
//! one is still heard, and where another attempt stands in its place, both are seen.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::answer::{self, Problem};
use crate::decision::{Answer, Attempt, Circumstances, Knowledge, Settlement, Standing, State};
use crate::engine::Engine;
use crate::outcome;
use crate::policy::Rule;
use crate::policy::document::{Retention, Unsettled};
use crate::record::{self, Record, Seal, Unreadable};
use crate::request::{Outcome, values};
use crate::step::{Firm, Next, Operation};
use crate::store::{Entry, Expectation, Key, Revision, StoreError, Transaction};
use crate::table::{self, SETTLEMENT, SettleAct, SettleSeen};
use crate::time::Timestamp;

/// A settlement under way.
pub struct Settling {
    engine: Arc<Engine>,
    rule: Arc<Rule>,
    attempt: Attempt,
    keys: [Key; 1],
    outcome: Outcome,
    knowledge: Knowledge,
    circumstances: Circumstances,
    seal: Seal,
    /// The row whose write is under way.
    row: Met,
    /// How long the key will be known once that is written.
    known_until: Option<Timestamp>,
}

/// A row of the table, and what it says.
#[derive(Clone, Copy)]
struct Met {
    name: &'static str,
    act: SettleAct,
    alarm: bool,
}

impl Settling {
    pub(crate) fn begin(
        engine: Arc<Engine>,
        rule: Arc<Rule>,
        attempt: Attempt,
        outcome: Outcome,
        circumstances: Circumstances,
    ) -> Next<Self> {
        let knowledge = outcome::knowledge(&rule, &outcome);
        let settling = Settling {
            engine,
            rule,
            keys: [attempt.key.clone()],
            attempt,
            outcome,
            knowledge,
            circumstances,
            seal: Seal::new(circumstances.entropy),
            row: meet(SettleSeen::Own, knowledge),
            known_until: None,
        };
        if settling.attempt.fence > 1 {
            // The record of a reclaim may hold more than the attempt tells: a suspicion, who resolved it.
            let keys = settling.keys.to_vec();
            return Next::Look(settling, keys);
        }
        // Nearly always the claim stands as it was made: write at once, expecting it.
        let record = settling.settled(Record::of(&settling.attempt));
        let expected = Some(settling.attempt.revision.clone());
        settling.write(record, expected)
    }

    fn write(mut self, record: Record, expected: Option<Revision>) -> Next<Self> {
        let [key] = &self.keys;
        let retained_until = record.retained_until;
        let Some(writes) = self.engine.puts(record, key, &mut self.seal) else {
            return Next::Done(self.failed(StoreError::Refused("the record cannot be sealed".to_string())));
        };
        self.known_until = Some(retained_until);
        let expects = alloc::vec![Expectation { key: key.clone(), revision: expected }];
        Next::Write(self, Transaction { expects, writes })
    }

    /// A record with the outcome.
    fn settled(&self, record: Record) -> Record {
        let now = self.circumstances.now.latest;
        let state = match self.knowledge {
            Knowledge::Committed => State::Succeeded,
            Knowledge::Rejected => State::FailedPermanently,
            Knowledge::NoEffect => State::FailedRetryably,
            Knowledge::Unknown => State::Unknown,
        };
        let receipt = match &self.outcome {
            Outcome::Answered(response) => {
                let fits = response.body.len() as u64 <= self.engine.largest_body(&self.rule);
                answer::receipt(&self.rule, response, fits.then_some(&response.body))
            }
            Outcome::Oversized(response) => answer::receipt(&self.rule, response, None),
            Outcome::NotSent(_) | Outcome::Lost(_) => None,
        };
        let retained_until = match (self.knowledge, self.rule.retention) {
            (Knowledge::Unknown, _) | (_, Retention::Forever) => Timestamp::NEVER,
            (_, Retention::For(span)) => now.after(span),
        };
        Record {
            state,
            settled_at: (self.knowledge != Knowledge::Unknown).then_some(now),
            retained_until,
            not_before: self.retry_after().filter(|_| state == State::FailedRetryably).map(|wait| now.after(wait)),
            receipt,
            ..record
        }
    }

    /// When the origin wants a retry (RFC 9110, section 10.2.3; seconds, at most a day).
    fn retry_after(&self) -> Option<Duration> {
        let (Outcome::Answered(response) | Outcome::Oversized(response)) = &self.outcome else { return None };
        let value = values(&response.headers, "retry-after").next()?;
        let seconds = core::str::from_utf8(value.trim_ascii()).ok()?.parse::<u64>().ok()?;
        Some(Duration::from_secs(seconds.min(24 * 60 * 60)))
    }

    fn see(&self, record: &Result<Option<Record>, Unreadable>) -> SettleSeen {
        let record = match record {
            Ok(Some(record)) => record,
            Ok(None) => {
                let retention = match self.rule.retention {
                    Retention::Forever => return SettleSeen::Absent,
                    Retention::For(span) => span,
                };
                let over = self.attempt.lease_until.after(retention);
                let past = self.circumstances.now.is_past(over);
                return if past { SettleSeen::AbsentExpired } else { SettleSeen::Absent };
            }
            Err(Unreadable::NewerFormat) => return SettleSeen::NewerFormat,
            Err(Unreadable::Damaged) => return SettleSeen::Undecodable,
        };
        if record.attempt == self.attempt.id {
            return match record.state {
                State::Claimed | State::InProgress | State::Unknown => SettleSeen::Own,
                State::Succeeded => SettleSeen::OwnSucceeded,
                State::FailedPermanently | State::FailedRetryably => SettleSeen::OwnFailed,
            };
        }
        match record.state {
            State::Claimed => SettleSeen::OtherClaimed,
            _ if self.rule.deduplicates && record.action == self.attempt.action => SettleSeen::OtherDeduplicated,
            _ => SettleSeen::Other,
        }
    }

    fn done(self, standing: Standing) -> Settlement {
        let unrecorded = matches!(standing, Standing::Unrecorded(_));
        let row = self.row.name;
        let unknown = |detail| self.engine.problem(Problem::OutcomeUnknown, row, detail, None);
        let known_until = self.known_until.filter(|_| !unrecorded && self.knowledge != Knowledge::Unknown);
        let answer = match self.outcome {
            _ if unrecorded && self.rule.unsettled == Unsettled::Withhold => {
                Answer::Instead(unknown("it could not be recorded: do not make a new key, ask what became of this one"))
            }
            Outcome::Answered(response) | Outcome::Oversized(response) => {
                Answer::Origin(answer::pass_on(response, known_until))
            }
            Outcome::NotSent(_) => {
                let wait = Some(Duration::from_secs(1));
                let detail = "the origin was not reached and nothing was sent: retry with the same key";
                Answer::Instead(self.engine.problem(Problem::OriginUnreached, row, detail, wait))
            }
            Outcome::Lost(_) => Answer::Instead(unknown(answer::UNKNOWN)),
        };
        Settlement { row: row.into(), knowledge: self.knowledge, standing, answer, alarm: self.row.alarm }
    }
}

impl Operation for Settling {
    type Output = Settlement;

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn react(mut self, held: Vec<Option<Entry>>) -> Next<Self> {
        let entry = held.into_iter().next().flatten();
        let [key] = &self.keys;
        let record = entry.as_ref().map(|entry| record::open(&entry.value, key, self.engine.keys())).transpose();
        let seen = self.see(&record);
        self.row = meet(seen, self.knowledge);
        let revision = entry.map(|entry| entry.revision);
        match (self.row.act, record) {
            (SettleAct::Record, Ok(Some(held))) if held.attempt == self.attempt.id => {
                let settled = self.settled(held);
                self.write(settled, revision)
            }
            (SettleAct::Record, held) => {
                let own = Record::of(&self.attempt);
                // A later claim that was never sent gives way, but its fence stands.
                let fence = held.ok().flatten().map_or(own.fence, |held| held.fence.max(own.fence));
                let settled = self.settled(Record { fence, ..own });
                self.write(settled, revision)
            }
            (SettleAct::Suspect, Ok(Some(held))) if !held.double_effect_suspected => {
                self.write(Record { double_effect_suspected: true, ..held }, revision)
            }
            (SettleAct::Suspect | SettleAct::Nothing, _) => Next::Done(self.done(Standing::Recorded)),
            (SettleAct::Refuse, _) => {
                let why = "what is held cannot be read, and is left as it is".to_string();
                Next::Done(self.done(Standing::Unrecorded(why)))
            }
        }
    }

    fn written(self, firm: Firm, _: Revision) -> Settlement {
        self.done(match firm {
            Firm::Committed => Standing::Recorded,
            Firm::Provisional => Standing::Provisional,
        })
    }

    fn failed(self, error: StoreError) -> Settlement {
        self.done(Standing::Unrecorded(error.to_string()))
    }
}

/// The row that a settlement meets. The table is total; were it not, nothing would be written.
fn meet(seen: SettleSeen, knowledge: Knowledge) -> Met {
    match table::meet(SETTLEMENT, &(seen, knowledge)) {
        Some(row) => Met { name: row.name, act: row.then.act, alarm: row.then.alarm },
        None => Met { name: "settle-undecodable", act: SettleAct::Refuse, alarm: false },
    }
}
