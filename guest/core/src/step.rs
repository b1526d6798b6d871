//! The machine behind every operation: what to ask of the store next, until it is done.
//!
//! The core never calls out. It returns a step that owns its data, the shell carries it out and hands the answer back, and
//! each step consumes itself, so that an answer cannot reach the wrong state. All loops are bounded.

use alloc::string::String;
use alloc::vec::Vec;

use crate::store::{CommitResult, Entry, Key, Loaded, Revision, StoreError, Transaction};

/// How often a commit whose answer was lost is sent again, unchanged.
const RESENDS: u8 = 2;

/// How often an operation begins anew because others were faster.
const ROUNDS: u8 = 8;

/// What the shell has to do next.
#[must_use = "a step does nothing until its answer is handed back"]
pub enum Step<O: Operation> {
    /// Read these keys, then call [`Load::loaded`].
    Load(Load<O>),
    /// Commit this transaction, then call [`Commit::committed`].
    Commit(Commit<O>),
    /// Nothing more: this is the outcome.
    Done(O::Output),
}

/// A read that is wanted.
#[must_use = "a step does nothing until its answer is handed back"]
pub struct Load<O> {
    operation: O,
    budget: Budget,
    keys: Vec<Key>,
    after: After,
}

/// A commit that is wanted.
#[must_use = "a step does nothing until its answer is handed back"]
pub struct Commit<O> {
    operation: O,
    budget: Budget,
    transaction: Transaction,
}

/// How firmly a commit stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Firm {
    /// Durably.
    Committed,
    /// As firmly as the caller's own transaction.
    Provisional,
}

/// Why a read was wanted.
#[derive(Clone, Copy)]
enum After {
    Nothing,
    LostAnswer,
}

#[derive(Clone, Copy)]
struct Budget {
    rounds: u8,
    resends: u8,
}

/// What an operation wants next.
pub enum Next<O: Operation> {
    /// To know what is held under these keys.
    Look(O, Vec<Key>),
    /// This to be written.
    Write(O, Transaction),
    /// Nothing more.
    Done(O::Output),
}

/// An operation over the entries of one identity. It is a value: no answer is kept anywhere else.
pub trait Operation: Sized {
    /// What it comes to.
    type Output;

    /// The keys that it is about: its transactions expect each of them, in this order.
    fn keys(&self) -> &[Key];

    /// What is held is known: under the keys that it wanted to look at, or that its transaction expected.
    fn react(self, held: Vec<Option<Entry>>) -> Next<Self>;

    /// What it wanted written is written; the new revision of its first put.
    fn written(self, firm: Firm, revision: Revision) -> Self::Output;

    /// The answer to its commit was lost again and again, and this is held now. The commit may still land.
    fn lost(self, held: Vec<Option<Entry>>) -> Next<Self> {
        self.react(held)
    }

    /// The store gave no answer.
    fn failed(self, error: StoreError) -> Self::Output;
}

impl<O: Operation> Step<O> {
    /// Begins an operation.
    pub(crate) fn begin(next: Next<O>) -> Self {
        Budget { rounds: ROUNDS, resends: RESENDS }.take(next)
    }
}

impl Budget {
    fn take<O: Operation>(self, next: Next<O>) -> Step<O> {
        match next {
            Next::Done(output) => Step::Done(output),
            Next::Look(operation, keys) => Step::Load(Load { operation, budget: self, keys, after: After::Nothing }),
            Next::Write(operation, transaction) => {
                Step::Commit(Commit { operation, budget: Budget { resends: RESENDS, ..self }, transaction })
            }
        }
    }

    /// Another round, if there is one left.
    fn again<O: Operation>(self, operation: O, react: impl FnOnce(O) -> Next<O>) -> Step<O> {
        match self.rounds.checked_sub(1) {
            Some(rounds) => Budget { rounds, ..self }.take(react(operation)),
            None => {
                let why = String::from("others kept changing the record");
                Step::Done(operation.failed(StoreError::Unavailable(why)))
            }
        }
    }
}

impl<O: Operation> Load<O> {
    /// What to read.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Hands back what is held under each key.
    pub fn loaded(self, answer: Result<Loaded, StoreError>) -> Step<O> {
        match answer {
            Ok((held, _)) if held.len() == self.keys.len() => {
                let after = self.after;
                self.budget.again(self.operation, |operation| match after {
                    After::Nothing => operation.react(held),
                    After::LostAnswer => operation.lost(held),
                })
            }
            Ok(_) => Step::Done(self.operation.failed(malformed())),
            Err(error) => Step::Done(self.operation.failed(error)),
        }
    }
}

impl<O: Operation> Commit<O> {
    /// What to commit.
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// Hands back what became of it. A lost answer sends the same again, which its expectations make harmless, and then
    /// reads what is held.
    pub fn committed(mut self, answer: Result<CommitResult, StoreError>) -> Step<O> {
        match answer {
            Ok(CommitResult::Committed { revisions, .. }) => self.written(Firm::Committed, revisions),
            Ok(CommitResult::Provisional { revisions }) => self.written(Firm::Provisional, revisions),
            Ok(CommitResult::Conflicted { held, .. }) if held.len() == self.operation.keys().len() => {
                self.budget.again(self.operation, |operation| operation.react(held))
            }
            Ok(CommitResult::Conflicted { .. }) => Step::Done(self.operation.failed(malformed())),
            Err(StoreError::Unresolved(_)) => match self.budget.resends.checked_sub(1) {
                Some(resends) => {
                    self.budget.resends = resends;
                    Step::Commit(self)
                }
                None => {
                    let keys = self.operation.keys().to_vec();
                    Step::Load(Load { operation: self.operation, budget: self.budget, keys, after: After::LostAnswer })
                }
            },
            Err(error) => Step::Done(self.operation.failed(error)),
        }
    }

    fn written(self, firm: Firm, revisions: Vec<Revision>) -> Step<O> {
        // A transaction of deletions alone has no new revision.
        let revision = revisions.into_iter().next().unwrap_or(Revision(Vec::new()));
        Step::Done(self.operation.written(firm, revision))
    }
}

fn malformed() -> StoreError {
    StoreError::Unresolved(String::from("the store answered for other keys than it was asked for"))
}
