//! A bench for the core: an exact store in memory whose answers can be lost, and short ways to say what a test does.

#![allow(dead_code, reason = "each test file uses its own part of the kit")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use oncegate_core::decision::*;
use oncegate_core::engine::Engine;
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_core::request::*;
use oncegate_core::step::{Operation, Step};
use oncegate_core::store::*;
use oncegate_core::time::{Instant, Timestamp};

/// What becomes of one commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// Carried out and answered.
    Answered,
    /// Carried out, the answer lost.
    Landed,
    /// Not carried out, the answer lost.
    Lost,
    /// Carried out only before the next read, the answer lost.
    Late,
    /// Carried out only after the operation has ended, the answer lost.
    After,
    /// Not carried out, and said so.
    Unavailable,
}

#[derive(Default)]
pub struct Store {
    pub entries: BTreeMap<Vec<u8>, Entry>,
    pub fates: VecDeque<Fate>,
    pub commits: usize,
    pub reads: usize,
    sequence: u64,
    late: Vec<Transaction>,
    after: Vec<Transaction>,
}

impl Store {
    fn apply(&mut self, transaction: &Transaction) -> CommitResult {
        let position = Position { epoch: vec![1], sequence: self.sequence };
        let held: Vec<Option<Entry>> =
            transaction.expects.iter().map(|expected| self.entries.get(expected.key.as_bytes()).cloned()).collect();
        let met = transaction
            .expects
            .iter()
            .zip(&held)
            .all(|(expected, held)| expected.revision.as_ref() == held.as_ref().map(|entry| &entry.revision));
        if !met {
            return CommitResult::Conflicted { held, position };
        }
        let mut revisions = Vec::new();
        for write in &transaction.writes {
            match write {
                Write::Put(put) => {
                    self.sequence += 1;
                    let revision = Revision(self.sequence.to_be_bytes().to_vec());
                    revisions.push(revision.clone());
                    self.entries.insert(put.key.0.clone(), Entry { revision, value: put.value.clone() });
                }
                Write::Delete(key) => {
                    self.entries.remove(key.as_bytes());
                }
            }
        }
        CommitResult::Committed { position, revisions }
    }

    fn commit(&mut self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        self.commits += 1;
        let lost = Err(StoreError::Unresolved("lost".into()));
        match self.fates.pop_front().unwrap_or(Fate::Answered) {
            Fate::Answered => Ok(self.apply(transaction)),
            Fate::Landed => {
                self.apply(transaction);
                lost
            }
            Fate::Lost => lost,
            Fate::Late => {
                self.late.push(transaction.clone());
                lost
            }
            Fate::After => {
                self.after.push(transaction.clone());
                lost
            }
            Fate::Unavailable => Err(StoreError::Unavailable("down".into())),
        }
    }

    fn get(&mut self, keys: &[Key]) -> Result<Loaded, StoreError> {
        self.reads += 1;
        for transaction in std::mem::take(&mut self.late) {
            self.apply(&transaction);
        }
        let held = keys.iter().map(|key| self.entries.get(key.as_bytes()).cloned()).collect();
        Ok((held, Position { epoch: vec![1], sequence: self.sequence }))
    }

    pub fn drive<O: Operation>(&mut self, mut step: Step<O>) -> O::Output {
        for _ in 0..100 {
            step = match step {
                Step::Load(load) => {
                    let answer = self.get(load.keys());
                    load.loaded(answer)
                }
                Step::Commit(commit) => {
                    let answer = self.commit(commit.transaction());
                    commit.committed(answer)
                }
                Step::Done(output) => return output,
            };
        }
        panic!("the operation does not end");
    }

    /// What was on its way all the time arrives.
    pub fn arrive(&mut self) {
        for transaction in std::mem::take(&mut self.after) {
            self.apply(&transaction);
        }
    }
}

pub struct Bench {
    pub engine: Arc<Engine>,
    pub store: Store,
    pub origin_calls: usize,
    calls: u64,
}

pub const RULE: &str = r#"{"operation":"order","match":{"path":"/orders"},"scope":{"tenant":{"header":"x-tenant"}},
    "lease":"30s","retention":"60s"}"#;

pub fn keyring(ids: &[u32]) -> Keyring {
    let secrets = ids.iter().map(|&id| Secret { id, bytes: vec![u8::try_from(id).unwrap(); 32] }).collect();
    Keyring { partition: vec![9; 32], secrets, webhooks: vec![("shop".into(), b"webhook secret".to_vec())] }
}

pub fn engine(rules: &str, keyring: &Keyring) -> Arc<Engine> {
    let policy = format!(r#"{{"version":1,"rules":[{rules}]}}"#);
    let limits = Limits { max_value: 1 << 24, max_entries: 64, max_transaction: 1 << 25, read_first: false };
    Arc::new(Engine::new(policy.as_bytes(), keyring, limits).unwrap())
}

impl Bench {
    pub fn new(rules: &str) -> Self {
        Bench { engine: engine(rules, &keyring(&[1])), store: Store::default(), origin_calls: 0, calls: 0 }
    }

    pub fn circumstances(&mut self, second: u64) -> Circumstances {
        self.calls += 1;
        let mut entropy = [0; 32];
        entropy[..8].copy_from_slice(&self.calls.to_be_bytes());
        Circumstances { now: Instant::exactly(Timestamp::from_millis(second * 1000)), entropy }
    }

    /// Admits, and counts the origin call that `proceed` stands for.
    pub fn admit(&mut self, request: Request, second: u64) -> Admission {
        self.admit_under(request, Conditions::default(), second)
    }

    pub fn admit_under(&mut self, request: Request, conditions: Conditions, second: u64) -> Admission {
        let circumstances = self.circumstances(second);
        let step = self.engine.admit(request, conditions, circumstances);
        let admission = self.store.drive(step);
        self.origin_calls += usize::from(matches!(admission.decision, Decision::Proceed(_)));
        admission
    }

    pub fn settle(&mut self, attempt: &Attempt, outcome: Outcome, second: u64) -> Settlement {
        let circumstances = self.circumstances(second);
        let step = self.engine.settle(attempt.clone(), outcome, circumstances).unwrap();
        self.store.drive(step)
    }

    /// Admits and settles with this answer.
    pub fn run(&mut self, request: Request, status: u16, second: u64) -> Settlement {
        let attempt = attempt(&self.admit(request, second));
        self.settle(&attempt, answered(status), second)
    }
}

pub fn request(tenant: &str, key: &str, body: &str) -> Request {
    let header = |name: &str, value: &str| (name.to_string(), value.as_bytes().to_vec());
    let headers =
        vec![header("content-type", "application/json"), header("x-tenant", tenant), header("idempotency-key", key)];
    let head = Head { method: "POST".into(), target: b"/orders".to_vec(), headers };
    Request { head, body: Body::Whole(body.as_bytes().to_vec()), properties: Vec::new() }
}

pub fn answered(status: u16) -> Outcome {
    let headers = vec![("content-type".to_string(), b"text/plain".to_vec())];
    Outcome::Answered(Response { status, headers, body: format!("answer {status}").into_bytes() })
}

pub fn attempt(admission: &Admission) -> Attempt {
    match &admission.decision {
        Decision::Proceed(proceed) => proceed.attempt.clone(),
        other => panic!("{} is no proceed: {other:?}", admission.row),
    }
}

pub fn status(decision: &Decision) -> u16 {
    match decision {
        Decision::Replay(response)
        | Decision::Conflict(response)
        | Decision::Stop(response)
        | Decision::Refuse(response)
        | Decision::Unavailable(response)
        | Decision::Wait(Wait { response, .. }) => response.status,
        Decision::Proceed(_) | Decision::Ask(_) | Decision::Bypass => 0,
    }
}

/// A bench over a store whose values hold at most so many bytes.
pub fn small_values(rules: &str, max_value: u32) -> Bench {
    let policy = format!(r#"{{"version":1,"rules":[{rules}]}}"#);
    let limits = Limits { max_value, max_entries: 64, max_transaction: 1 << 25, read_first: false };
    let engine = Arc::new(Engine::new(policy.as_bytes(), &keyring(&[1]), limits).unwrap());
    Bench { engine, ..Bench::new(rules) }
}
