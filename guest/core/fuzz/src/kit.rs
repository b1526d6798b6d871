//! What the targets share: a request written as text, and a store that is told how to answer.

use std::collections::{BTreeMap, VecDeque};

use oncegate_core::decision::Circumstances;
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_core::request::{Body, Head, Request};
use oncegate_core::step::{Operation, Step};
use oncegate_core::store::*;
use oncegate_core::time::{Instant, Timestamp};

/// What a generous store can hold.
pub const LIMITS: Limits = Limits { max_value: 1 << 24, max_entries: 64, max_transaction: 1 << 25, read_first: false };

/// The most steps of one operation: eight rounds, each a read and a commit that is sent three times.
const MOST_STEPS: usize = 64;

/// Two secrets, the first in force, and one for webhooks.
pub fn keyring() -> Keyring {
    let secret = |id: u8| Secret { id: id.into(), bytes: vec![id; 32] };
    let webhooks = vec![("shop".into(), b"webhook secret".to_vec())];
    Keyring { partition: vec![9; 32], secrets: vec![secret(2), secret(1)], webhooks }
}

/// A call at this second, with entropy of its own.
pub fn at(second: u64) -> Circumstances {
    let mut entropy = [7; 32];
    entropy[..8].copy_from_slice(&second.to_be_bytes());
    Circumstances { now: Instant::exactly(Timestamp::from_millis(second * 1000)), entropy }
}

/// A head, and verified properties: `POST /orders`, then lines `name: value` and, for properties, `@name=value`.
pub fn head(text: &[u8]) -> (Head, Vec<(String, String)>) {
    let request = request(text);
    (request.head, request.properties)
}

/// A request: its head, an empty line, its body.
pub fn request(text: &[u8]) -> Request {
    let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (line, mut rest) = halves(text, b"\n");
    let (method, target) = halves(line, b" ");
    let mut request = Request {
        head: Head { method: string(method), target: target.to_vec(), headers: Vec::new() },
        body: Body::Whole(Vec::new()),
        properties: Vec::new(),
    };
    loop {
        let (line, after) = halves(rest, b"\n");
        if line.is_empty() {
            request.body = Body::Whole(after.to_vec());
            return request;
        }
        if let Some(property) = line.strip_prefix(b"@") {
            let (name, value) = halves(property, b"=");
            request.properties.push((string(name), string(value)));
        } else {
            let (name, value) = halves(line, b": ");
            request.head.headers.push((string(name), value.to_vec()));
        }
        rest = after;
    }
}

fn halves<'a>(text: &'a [u8], by: &[u8]) -> (&'a [u8], &'a [u8]) {
    match text.windows(by.len()).position(|window| window == by) {
        Some(at) => (&text[..at], &text[at + by.len()..]),
        None => (text, b""),
    }
}

/// A store in memory that is exact as long as its script does not say otherwise: one byte for each answer.
///
/// | byte | a commit | a read |
/// |---|---|---|
/// | `l` | carried out, the answer lost | the answer lost |
/// | `x` | not carried out, the answer lost | the answer lost |
/// | `d` | carried out only before the next read, the answer lost | the answer lost |
/// | `e` | carried out only after the operation, the answer lost | the answer lost |
/// | `u`, `r` | not carried out, and said so | no answer |
/// | `p` | carried out, provisionally | answered |
/// | `g`, `n`, `w`, `z` | a lie | a lie |
/// | any other, or none | carried out and answered | answered |
#[derive(Clone, Default)]
pub struct Store {
    /// What is held.
    pub entries: BTreeMap<Vec<u8>, Entry>,
    /// The answers to come.
    pub script: VecDeque<u8>,
    /// Whether it has told anything but the truth.
    pub lied: bool,
    sequence: u64,
    late: Vec<Transaction>,
    after: Vec<Transaction>,
}

impl Store {
    /// Carries an operation out.
    pub fn drive<O: Operation>(&mut self, mut step: Step<O>) -> O::Output {
        for _ in 0..MOST_STEPS {
            step = match step {
                Step::Load(load) => {
                    let answer = self.get(load.keys());
                    load.loaded(answer)
                }
                Step::Commit(commit) => {
                    let answer = self.commit(commit.transaction());
                    commit.committed(answer)
                }
                Step::Done(output) => {
                    for transaction in std::mem::take(&mut self.after) {
                        self.apply(&transaction);
                    }
                    return output;
                }
            };
        }
        panic!("the operation does not end");
    }

    /// Puts other bytes under a key, as another version.
    pub fn replace(&mut self, key: &[u8], value: Vec<u8>) {
        self.sequence += 1;
        self.entries.insert(key.to_vec(), Entry { revision: self.revision(), value });
    }

    fn get(&mut self, keys: &[Key]) -> Result<Loaded, StoreError> {
        let fate = self.script.pop_front().unwrap_or_default();
        if let b'l' | b'x' | b'd' | b'e' = fate {
            return Err(StoreError::Unresolved("lost".into()));
        }
        for transaction in std::mem::take(&mut self.late) {
            self.apply(&transaction);
        }
        match fate {
            b'u' => Err(StoreError::Unavailable("down".into())),
            b'r' => Err(StoreError::Refused("no".into())),
            b'g' | b'n' | b'w' | b'z' => Ok((self.lie(fate, keys.len()), self.position())),
            _ => Ok((keys.iter().map(|key| self.entries.get(key.as_bytes()).cloned()).collect(), self.position())),
        }
    }

    fn commit(&mut self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        assert!(!transaction.expects.is_empty(), "nothing is written unconditionally");
        let lost = Err(StoreError::Unresolved("lost".into()));
        let fate = self.script.pop_front().unwrap_or_default();
        match fate {
            b'l' => drop(self.apply(transaction)),
            b'x' => {}
            b'd' => self.late.push(transaction.clone()),
            b'e' => self.after.push(transaction.clone()),
            b'u' => return Err(StoreError::Unavailable("down".into())),
            b'r' => return Err(StoreError::Refused("no".into())),
            b'z' => {
                self.lied = true;
                return Ok(CommitResult::Committed { position: self.position(), revisions: Vec::new() });
            }
            b'g' | b'n' | b'w' => {
                let held = self.lie(fate, transaction.expects.len());
                return Ok(CommitResult::Conflicted { held, position: self.position() });
            }
            b'p' => {
                return Ok(match self.apply(transaction) {
                    CommitResult::Committed { revisions, .. } => CommitResult::Provisional { revisions },
                    other => other,
                });
            }
            _ => return Ok(self.apply(transaction)),
        }
        lost
    }

    fn apply(&mut self, transaction: &Transaction) -> CommitResult {
        let held = |expected: &Expectation| self.entries.get(expected.key.as_bytes()).cloned();
        let held: Vec<Option<Entry>> = transaction.expects.iter().map(held).collect();
        let met = |(expected, held): (&Expectation, &Option<Entry>)| {
            expected.revision.as_ref() == held.as_ref().map(|entry| &entry.revision)
        };
        if !transaction.expects.iter().zip(&held).all(met) {
            return CommitResult::Conflicted { held, position: self.position() };
        }
        let mut revisions = Vec::new();
        for write in &transaction.writes {
            match write {
                Write::Put(put) => {
                    self.replace(put.key.as_bytes(), put.value.clone());
                    revisions.push(self.revision());
                }
                Write::Delete(key) => drop(self.entries.remove(key.as_bytes())),
            }
        }
        CommitResult::Committed { position: self.position(), revisions }
    }

    /// Garbage, absence, or the wrong number of answers.
    fn lie(&mut self, fate: u8, count: usize) -> Vec<Option<Entry>> {
        self.lied = true;
        let garbage = Entry { revision: Revision(vec![0xff]), value: self.script.iter().copied().collect() };
        match fate {
            b'g' => vec![Some(garbage); count],
            b'n' => vec![None; count],
            _ => vec![None; count + 1],
        }
    }

    fn revision(&self) -> Revision {
        Revision(self.sequence.to_be_bytes().to_vec())
    }

    fn position(&self) -> Position {
        Position { epoch: vec![1], sequence: self.sequence }
    }
}
