//! What else may happen to an attempt or a record: renew and dispatch move an attempt on, forget drops what is over.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::decision::{Attempt, Circumstances, Renewal, RowName, State};
use crate::engine::Engine;
use crate::policy::Rule;
use crate::record::{self, Record, Seal};
use crate::step::{Firm, Next, Operation};
use crate::store::{Entry, Expectation, Key, Revision, StoreError, Transaction, Write};
use crate::table::{self, Age, Change, DISPATCH, DispatchSeen, FORGET, ForgetSeen, RENEW, RenewSeen, Run};
use crate::time::Timestamp;

/// A renewal under way: our own attempt in progress gets a longer lease, up to the rule's `max_run`.
pub struct Renewing(Moving);

/// A dispatch under way: our own claim becomes an attempt in progress.
pub struct Dispatching(Moving);

/// What both have in common.
struct Moving {
    engine: Arc<Engine>,
    rule: Arc<Rule>,
    attempt: Attempt,
    keys: [Key; 1],
    circumstances: Circumstances,
    seal: Seal,
    /// The end of the lease that is being written.
    wanted: Option<Timestamp>,
}

impl Renewing {
    pub(crate) fn begin(engine: Arc<Engine>, rule: Arc<Rule>, attempt: Attempt, now: Circumstances) -> Next<Self> {
        let moving = Moving::new(engine, rule, attempt, now);
        if moving.attempt.fence > 1 {
            // The record of a reclaim may hold more than the attempt tells.
            let keys = moving.keys.to_vec();
            return Next::Look(Renewing(moving), keys);
        }
        // Nearly always the claim stands as it was made: write at once, expecting it.
        let (record, revision) = (Record::of(&moving.attempt), moving.attempt.revision.clone());
        Renewing(moving).extend(record, revision)
    }

    fn extend(mut self, record: Record, revision: Revision) -> Next<Self> {
        let (now, rule) = (self.0.circumstances.now, &self.0.rule);
        let longest = record.claimed_at.after(rule.max_run);
        let extended = now.latest.after(rule.lease).min(longest);
        let run = if extended > record.lease_until { Run::Within } else { Run::Reached };
        match table::meet(RENEW, &(RenewSeen::Own, run)) {
            Some(row) if row.then == Change::Written => {
                let record = Record { lease_until: extended, ..record };
                match self.0.write(record, revision) {
                    Some(transaction) => Next::Write(self, transaction),
                    None => Next::Done(self.failed(unsealed())),
                }
            }
            row => Next::Done(Renewal::Refused(RowName::Borrowed(row.map_or("renew-lost", |row| row.name)))),
        }
    }
}

impl Operation for Renewing {
    type Output = Renewal;

    fn keys(&self) -> &[Key] {
        &self.0.keys
    }

    fn react(self, held: Vec<Option<Entry>>) -> Next<Self> {
        match self.0.own(held) {
            // Written although the answer was lost.
            Some((record, revision)) if self.0.wanted == Some(record.lease_until) => {
                Next::Done(Renewal::Renewed(Attempt { revision, ..self.0.attempt }))
            }
            Some((record, revision)) if record.state == State::InProgress => self.extend(record, revision),
            _ => Next::Done(Renewal::Refused(RowName::Borrowed("renew-lost"))),
        }
    }

    fn written(self, _: Firm, revision: Revision) -> Renewal {
        Renewal::Renewed(Attempt { revision, ..self.0.attempt })
    }

    fn failed(self, error: StoreError) -> Renewal {
        Renewal::Unavailable(error.to_string())
    }
}

impl Dispatching {
    pub(crate) fn begin(engine: Arc<Engine>, rule: Arc<Rule>, attempt: Attempt, now: Circumstances) -> Next<Self> {
        let moving = Moving::new(engine, rule, attempt, now);
        let record = Record { state: State::Claimed, ..Record::of(&moving.attempt) };
        let revision = moving.attempt.revision.clone();
        Dispatching(moving).dispatch(record, revision)
    }

    fn dispatch(mut self, record: Record, revision: Revision) -> Next<Self> {
        let seen = match record.state {
            State::Claimed => DispatchSeen::OwnClaimed,
            State::InProgress => DispatchSeen::OwnInProgress,
            _ => DispatchSeen::Other,
        };
        let late = self.0.circumstances.now.latest >= record.lease_until;
        let run = if late { Run::Reached } else { Run::Within };
        let row = table::meet(DISPATCH, &(seen, run));
        match row.map(|row| (row.name, row.then)) {
            Some((_, Change::Written)) => match self.0.write(Record { state: State::InProgress, ..record }, revision) {
                Some(transaction) => Next::Write(self, transaction),
                None => Next::Done(self.failed(unsealed())),
            },
            Some(("dispatched-again", _)) => Next::Done(Renewal::Renewed(Attempt { revision, ..self.0.attempt })),
            other => Next::Done(Renewal::Refused(RowName::Borrowed(other.map_or("dispatch-lost", |(name, _)| name)))),
        }
    }
}

impl Operation for Dispatching {
    type Output = Renewal;

    fn keys(&self) -> &[Key] {
        &self.0.keys
    }

    fn react(self, held: Vec<Option<Entry>>) -> Next<Self> {
        match self.0.own(held) {
            Some((record, revision)) => self.dispatch(record, revision),
            None => Next::Done(Renewal::Refused(RowName::Borrowed("dispatch-lost"))),
        }
    }

    fn written(self, _: Firm, revision: Revision) -> Renewal {
        Renewal::Renewed(Attempt { revision, ..self.0.attempt })
    }

    fn failed(self, error: StoreError) -> Renewal {
        Renewal::Unavailable(error.to_string())
    }
}

impl Moving {
    fn new(engine: Arc<Engine>, rule: Arc<Rule>, attempt: Attempt, circumstances: Circumstances) -> Self {
        let (keys, seal) = ([attempt.key.clone()], Seal::new(circumstances.entropy));
        Moving { engine, rule, attempt, keys, circumstances, seal, wanted: None }
    }

    /// The record, if it is still our own attempt's.
    fn own(&self, held: Vec<Option<Entry>>) -> Option<(Record, Revision)> {
        let entry = held.into_iter().next()??;
        let [key] = &self.keys;
        let record = record::open(&entry.value, key, self.engine.keys()).ok()?;
        (record.attempt == self.attempt.id).then_some((record, entry.revision))
    }

    fn write(&mut self, record: Record, revision: Revision) -> Option<Transaction> {
        let [key] = &self.keys;
        self.attempt.lease_until = record.lease_until;
        self.wanted = Some(record.lease_until);
        let writes = self.engine.puts(record, key, &mut self.seal)?;
        let expects = alloc::vec![Expectation { key: key.clone(), revision: Some(revision) }];
        Some(Transaction { expects, writes })
    }
}

/// A deletion under way.
pub struct Forgetting {
    engine: Arc<Engine>,
    keys: [Key; 1],
    circumstances: Circumstances,
}

impl Forgetting {
    pub(crate) fn begin(engine: Arc<Engine>, key: Key, circumstances: Circumstances) -> Next<Self> {
        let keys = alloc::vec![key.clone()];
        Next::Look(Forgetting { engine, keys: [key], circumstances }, keys)
    }
}

impl Operation for Forgetting {
    /// The row that was met, or what the store said.
    type Output = Result<RowName, StoreError>;

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn react(self, held: Vec<Option<Entry>>) -> Next<Self> {
        let [key] = &self.keys;
        let entry = held.into_iter().next().flatten();
        let record = entry.as_ref().map(|entry| record::open(&entry.value, key, self.engine.keys()));
        let (seen, until) = match &record {
            None => (ForgetSeen::Absent, Timestamp::NEVER),
            Some(Err(_)) => (ForgetSeen::Unreadable, Timestamp::NEVER),
            Some(Ok(record)) if record.is_terminal() => (ForgetSeen::Settled, record.retained_until),
            Some(Ok(_)) => (ForgetSeen::Open, Timestamp::NEVER),
        };
        let age = if self.circumstances.now.is_past(until) { Age::Over } else { Age::Kept };
        let row = table::meet(FORGET, &(seen, age)).map(|row| (row.name, row.then));
        match (row, entry) {
            (Some((_, Change::Written)), Some(entry)) => {
                let expects = alloc::vec![Expectation { key: key.clone(), revision: Some(entry.revision) }];
                let chunks = record.and_then(Result::ok).map(|record| record::chunk_keys(&record, key));
                let writes =
                    core::iter::once(key.clone()).chain(chunks.into_iter().flatten()).map(Write::Delete).collect();
                Next::Write(self, Transaction { expects, writes })
            }
            (row, _) => Next::Done(Ok(RowName::Borrowed(row.map_or("forget-unreadable", |(name, _)| name)))),
        }
    }

    fn written(self, _: Firm, _: Revision) -> Self::Output {
        Ok(RowName::Borrowed("forgotten"))
    }

    fn failed(self, error: StoreError) -> Self::Output {
        Err(error)
    }
}

fn unsealed() -> StoreError {
    StoreError::Refused("the record cannot be sealed".to_string())
}
