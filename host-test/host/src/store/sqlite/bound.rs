//! The store inside a transaction that the caller holds open; see `crate::caller`.

use std::fmt;

use oncegate_core::store::{CommitResult, Key, Limits, Loaded, StoreError, Transaction};
use rusqlite::Connection;

use super::sql;
use crate::store::{LIMITS, Revisions, check};

/// The store's tables seen through a connection on which the caller has begun a transaction (`BEGIN IMMEDIATE`, so that
/// nobody else can write in between). What it commits stands if and when the caller's transaction does.
pub struct Bound<'c> {
    connection: &'c Connection,
    revisions: Revisions,
}

impl<'c> Bound<'c> {
    /// What it can hold: as much as the store in a file of its own.
    pub const LIMITS: Limits = LIMITS;

    /// Binds to the open transaction of a connection whose database has the store's tables
    /// ([`Sqlite::create_schema`](super::Sqlite::create_schema)).
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new(connection: &'c Connection) -> Result<Self, StoreError> {
        let revisions = Revisions::new().map_err(|fault| StoreError::Unavailable(fault.to_string()))?;
        Ok(Bound { connection, revisions })
    }

    pub(crate) fn get(&self, keys: &[Key]) -> Result<Loaded, StoreError> {
        self.within_transaction()?;
        let read = || Ok((sql::load(self.connection, keys.iter())?, sql::position(self.connection)?));
        read().map_err(|fault| sql::sorted(&fault))
    }

    pub(crate) fn commit(&mut self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        self.within_transaction()?;
        check(transaction, &LIMITS)?;
        self.write(transaction).map_err(|fault| sql::sorted(&fault))
    }

    fn write(&mut self, transaction: &Transaction) -> rusqlite::Result<CommitResult> {
        if let Some(conflict) = sql::conflict(self.connection, &transaction.expects)? {
            return Ok(conflict);
        }
        self.connection.execute_batch("SAVEPOINT oncegate_commit")?;
        let written = self.apply(transaction);
        if written.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK TO oncegate_commit; RELEASE oncegate_commit")?;
        }
        let revisions = written?;
        self.connection.execute_batch("RELEASE oncegate_commit")?;
        Ok(CommitResult::Provisional { revisions })
    }

    fn apply(&mut self, transaction: &Transaction) -> rusqlite::Result<Vec<oncegate_core::store::Revision>> {
        let revisions = sql::write(self.connection, transaction, &mut self.revisions)?;
        let sequence = sql::position(self.connection)?.sequence + 1;
        sql::set_sequence(self.connection, sequence)?;
        Ok(revisions)
    }

    /// Outside of a transaction each statement would stand by itself.
    fn within_transaction(&self) -> Result<(), StoreError> {
        match self.connection.is_autocommit() {
            true => {
                Err(StoreError::Unavailable("the caller's transaction is not open any more; begin again".to_owned()))
            }
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").finish_non_exhaustive()
    }
}
