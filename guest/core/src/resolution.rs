//! Resolution: a person or a reconciler tells the truth about an outcome that nobody knows.
//!
//! That something happened may always be said. That nothing did is safe only once no attempt can make it happen any more,
//! so it needs evidence; said without, it is recorded as a possible double effect.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::admission::store_row;
use crate::answer;
use crate::decision::{Circumstances, Evidence, Resolution, State, Testimony, Verdict};
use crate::engine::Engine;
use crate::policy::Rule;
use crate::policy::document::Retention;
use crate::record::{self, Record, Seal, TESTIMONY};
use crate::step::{Firm, Next, Operation};
use crate::store::{Entry, Expectation, Key, Revision, StoreError, Transaction};
use crate::table::{self, Change, RESOLVE, ResolveSeen, Ruling};
use crate::time::Timestamp;

/// The most bytes of an actor's name or a reason.
const MAX_TESTIMONY: usize = 1024;

/// A resolution under way.
pub struct Resolving {
    engine: Arc<Engine>,
    keys: [Key; 1],
    verdict: Verdict,
    testimony: Testimony,
    circumstances: Circumstances,
    seal: Seal,
    row: &'static str,
}

impl Resolving {
    pub(crate) fn begin(
        engine: Arc<Engine>,
        key: Key,
        verdict: Verdict,
        testimony: Testimony,
        circumstances: Circumstances,
    ) -> Next<Self> {
        let seal = Seal::new(circumstances.entropy);
        let keys = alloc::vec![key.clone()];
        let row = "resolve-absent";
        Next::Look(Resolving { engine, keys: [key], verdict, testimony, circumstances, seal, row }, keys)
    }

    /// What is held, and the rule of its operation. A record whose rule is gone cannot be judged.
    fn see(&self, entry: Option<&Entry>) -> (ResolveSeen, Option<(Record, Arc<Rule>)>) {
        let Some(entry) = entry else { return (ResolveSeen::Absent, None) };
        let [key] = &self.keys;
        let Ok(record) = record::open(&entry.value, key, self.engine.keys()) else {
            return (ResolveSeen::Unreadable, None);
        };
        let Some(rule) = self.engine.policy().rule(&record.operation).map(Arc::clone) else {
            return (ResolveSeen::Unreadable, None);
        };
        let seen = match record.state {
            State::Unknown => ResolveSeen::Unknown,
            State::Claimed | State::InProgress if self.circumstances.now.is_past(record.lease_until) => {
                ResolveSeen::Unknown
            }
            State::Claimed | State::InProgress => ResolveSeen::Running,
            State::Succeeded | State::FailedPermanently | State::FailedRetryably => ResolveSeen::Settled,
        };
        (seen, Some((record, rule)))
    }

    fn ruling(&self, record: &Record, rule: &Rule) -> Ruling {
        let evidence = match &self.verdict {
            Verdict::Committed(_) => return Ruling::Committed,
            Verdict::Rejected(_) => return Ruling::Rejected,
            Verdict::NoEffect(evidence) => evidence,
        };
        let holds = match evidence {
            Evidence::Forced => return Ruling::NoEffectForced,
            Evidence::OriginFences => rule.fences,
            Evidence::AttemptGone => true,
            Evidence::Drained => self.circumstances.now.is_past(record.lease_until.after(rule.longest_pause)),
        };
        if holds { Ruling::NoEffectProven } else { Ruling::NoEffectUnproven }
    }

    fn resolved(&self, record: Record, rule: &Rule, ruling: Ruling) -> Record {
        let now = self.circumstances.now.latest;
        let (state, receipt) = match &self.verdict {
            Verdict::Committed(response) => (State::Succeeded, answer::receipt(rule, response, Some(&response.body))),
            Verdict::Rejected(response) => {
                (State::FailedPermanently, answer::receipt(rule, response, Some(&response.body)))
            }
            Verdict::NoEffect(_) => (State::FailedRetryably, None),
        };
        let retained_until = match rule.retention {
            Retention::Forever => Timestamp::NEVER,
            Retention::For(span) => now.after(span),
        };
        let mut others = record.others.clone();
        others.push((TESTIMONY, self.testimony()));
        Record {
            state,
            receipt,
            retained_until,
            others,
            settled_at: Some(now),
            double_effect_suspected: record.double_effect_suspected || ruling == Ruling::NoEffectForced,
            ..record
        }
    }

    /// When, who and why: milliseconds (8), length of the actor (2), actor, reason.
    fn testimony(&self) -> Vec<u8> {
        let cut = |text: &str| text.as_bytes().iter().copied().take(MAX_TESTIMONY).collect::<Vec<u8>>();
        let (actor, reason) = (cut(&self.testimony.actor), cut(&self.testimony.reason));
        let mut bytes = self.circumstances.now.latest.as_millis().to_be_bytes().to_vec();
        bytes.extend((actor.len() as u16).to_be_bytes());
        bytes.extend(actor);
        bytes.extend(reason);
        bytes
    }
}

impl Operation for Resolving {
    type Output = Resolution;

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn react(mut self, held: Vec<Option<Entry>>) -> Next<Self> {
        let entry = held.into_iter().next().flatten();
        let (seen, standing) = self.see(entry.as_ref());
        if standing.as_ref().is_some_and(|(record, _)| record.others.contains(&(TESTIMONY, self.testimony()))) {
            // It is recorded although the answer was lost.
            return Next::Done(Resolution { row: self.row.into(), resolved: true, detail: None });
        }
        let ruling = match &standing {
            Some((record, rule)) => self.ruling(record, rule),
            None => Ruling::NoEffectUnproven,
        };
        let row = table::meet(RESOLVE, &(seen, ruling)).map(|row| (row.name, row.then));
        self.row = row.map_or("resolve-unreadable", |(name, _)| name);
        let (Some((_, Change::Written)), Some((record, rule)), Some(entry)) = (row, standing, entry) else {
            return Next::Done(Resolution { row: self.row.into(), resolved: false, detail: None });
        };
        let resolved = self.resolved(record, &rule, ruling);
        let [key] = &self.keys;
        let Some(writes) = self.engine.puts(resolved, key, &mut self.seal) else {
            return Next::Done(self.failed(StoreError::Refused("the answer cannot be recorded".to_string())));
        };
        let expects = alloc::vec![Expectation { key: key.clone(), revision: Some(entry.revision) }];
        Next::Write(self, Transaction { expects, writes })
    }

    fn written(self, _: Firm, _: Revision) -> Resolution {
        Resolution { row: self.row.into(), resolved: true, detail: None }
    }

    fn failed(self, error: StoreError) -> Resolution {
        Resolution { row: store_row(&error).into(), resolved: false, detail: Some(error.to_string()) }
    }
}
