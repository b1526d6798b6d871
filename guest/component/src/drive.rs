//! Carries out the core's steps on the imported store.

use alloc::vec::Vec;

use oncegate_core::step::{Operation, Step};
use oncegate_core::store::{
    CommitResult, Entry, Expectation, Key, Limits, Loaded, Position, Revision, StoreError, Transaction, Write,
};

use crate::bindings::oncegate::idempotency::store as wit;

/// Until the operation is done. The core bounds the number of its steps.
pub(crate) fn drive<O: Operation>(mut step: Step<O>) -> O::Output {
    loop {
        step = match step {
            Step::Load(load) => {
                let answer = get(load.keys());
                load.loaded(answer)
            }
            Step::Commit(commit) => {
                let answer = self::commit(commit.transaction());
                commit.committed(answer)
            }
            Step::Done(output) => return output,
        }
    }
}

/// What the store can hold.
pub(crate) fn limits() -> Limits {
    let wit::Limits { max_value, max_entries, max_transaction, read_first } = wit::get_limits();
    Limits { max_value, max_entries, max_transaction, read_first }
}

fn get(keys: &[Key]) -> Result<Loaded, StoreError> {
    let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.0.clone()).collect();
    let (held, position) = wit::get(&keys).map_err(error)?;
    Ok((entries(held), self::position(position)))
}

fn commit(transaction: &Transaction) -> Result<CommitResult, StoreError> {
    let Transaction { expects, writes } = transaction;
    let transaction = wit::Transaction {
        expects: expects.iter().map(expectation).collect(),
        writes: writes.iter().map(write).collect(),
    };
    Ok(match wit::commit(&transaction).map_err(error)? {
        wit::CommitResult::Committed(written) => {
            CommitResult::Committed { position: position(written.position), revisions: revisions(written.revisions) }
        }
        wit::CommitResult::Provisional(made) => CommitResult::Provisional { revisions: revisions(made) },
        wit::CommitResult::Conflicted(conflict) => {
            CommitResult::Conflicted { held: entries(conflict.held), position: position(conflict.position) }
        }
    })
}

fn expectation(expectation: &Expectation) -> wit::Expectation {
    let revision = expectation.revision.as_ref().map(|revision| revision.0.clone());
    wit::Expectation { key: expectation.key.0.clone(), revision }
}

fn write(write: &Write) -> wit::Write {
    match write {
        Write::Put(put) => wit::Write::Put(wit::Put {
            key: put.key.0.clone(),
            value: put.value.clone(),
            forget_at: put.forget_at.map(|at| at.as_millis()),
            review_at: put.review_at.map(|at| at.as_millis()),
        }),
        Write::Delete(key) => wit::Write::Delete(key.0.clone()),
    }
}

fn entries(held: Vec<Option<wit::Entry>>) -> Vec<Option<Entry>> {
    let entry = |held: wit::Entry| Entry { revision: Revision(held.revision), value: held.value };
    held.into_iter().map(|held| held.map(entry)).collect()
}

fn revisions(made: Vec<wit::Revision>) -> Vec<Revision> {
    made.into_iter().map(Revision).collect()
}

fn position(position: wit::Position) -> Position {
    Position { epoch: position.epoch, sequence: position.sequence }
}

fn error(error: wit::Error) -> StoreError {
    match error {
        wit::Error::Unavailable(why) => StoreError::Unavailable(why),
        wit::Error::Unresolved(why) => StoreError::Unresolved(why),
        wit::Error::Refused(why) => StoreError::Refused(why),
    }
}
