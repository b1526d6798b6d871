//! The schema and the statements, on a connection that somebody else opened and whose transaction somebody else ends.

use oncegate_core::store::{CommitResult, Entry, Expectation, Key, Position, Revision, StoreError, Transaction, Write};
use oncegate_core::time::Timestamp;
use rusqlite::{Connection, Error, ErrorCode, OptionalExtension, Row, TransactionBehavior, ffi, params};

use crate::store::{OpenError, Revisions};

/// The schema's version. It stands in a table of ours, since `user_version` belongs to the caller where the tables live
/// in the caller's database.
const VERSION: i64 = 1;

/// `oncegate_review` holds the few entries that are under review, in the order in which `due` pages through them.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS oncegate_store (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        version INTEGER NOT NULL,
        epoch BLOB NOT NULL,
        sequence INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS oncegate_entries (
        key BLOB NOT NULL UNIQUE,
        revision BLOB NOT NULL,
        value BLOB NOT NULL,
        forget_at INTEGER,
        review_at INTEGER
    ) STRICT;
    CREATE INDEX IF NOT EXISTS oncegate_review ON oncegate_entries (key, review_at) WHERE review_at IS NOT NULL;
    CREATE INDEX IF NOT EXISTS oncegate_forget ON oncegate_entries (forget_at) WHERE forget_at IS NOT NULL;
";

/// Makes the tables, if they are not there; in a transaction of its own, if none is open.
pub(super) fn create(connection: &Connection) -> Result<(), OpenError> {
    let describe = |fault: Error| OpenError::Sqlite(describe(&fault));
    if held_version(connection).map_err(describe)?.is_none() {
        make(connection).map_err(describe)?;
    }
    match held_version(connection).map_err(describe)? {
        Some(VERSION) => Ok(()),
        Some(newer) if newer > VERSION => Err(OpenError::Sqlite(format!(
            "its schema has version {newer} and this program knows up to {VERSION}; use a newer oncegate"
        ))),
        _ => Err(OpenError::Sqlite("its schema is not one of oncegate's".to_owned())),
    }
}

fn held_version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let there = connection.table_exists(None, "oncegate_store")?;
    if !there {
        return Ok(None);
    }
    connection.query_row("SELECT version FROM oncegate_store", [], |row| row.get(0)).optional()
}

fn make(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = match connection.is_autocommit() {
        true => Some(rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?),
        false => None,
    };
    connection.execute_batch(SCHEMA)?;
    let mut epoch = [0; 16];
    getrandom::fill(&mut epoch).map_err(|_| fault(ffi::SQLITE_IOERR, "the system gives no random numbers"))?;
    connection.execute("INSERT OR IGNORE INTO oncegate_store VALUES (1, ?1, ?2, 0)", params![VERSION, epoch])?;
    transaction.map_or(Ok(()), rusqlite::Transaction::commit)
}

/// What is held under each key.
pub(super) fn load<'a>(
    connection: &Connection,
    keys: impl Iterator<Item = &'a Key>,
) -> rusqlite::Result<Vec<Option<Entry>>> {
    let mut select = connection.prepare_cached("SELECT revision, value FROM oncegate_entries WHERE key = ?1")?;
    keys.map(|key| select.query_row([key.as_bytes()], |row| entry(row, 0)).optional()).collect()
}

/// How far the store is.
pub(super) fn position(connection: &Connection) -> rusqlite::Result<Position> {
    let mut select = connection.prepare_cached("SELECT epoch, sequence FROM oncegate_store")?;
    select.query_row([], |row| {
        Ok(Position { epoch: row.get(0)?, sequence: u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default() })
    })
}

/// Says how far the store is now.
pub(super) fn set_sequence(connection: &Connection, sequence: u64) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE oncegate_store SET sequence = ?1")?.execute([stored(sequence)]).map(drop)
}

/// The answer to a transaction that expects what does not hold; `None`: all of it holds.
pub(super) fn conflict(connection: &Connection, expects: &[Expectation]) -> rusqlite::Result<Option<CommitResult>> {
    if met(connection, expects)? {
        return Ok(None);
    }
    let held = load(connection, expects.iter().map(|expectation| &expectation.key))?;
    Ok(Some(CommitResult::Conflicted { held, position: position(connection)? }))
}

/// Writes one transaction, whose expectations were found to hold.
pub(super) fn write(
    connection: &Connection,
    transaction: &Transaction,
    revisions: &mut Revisions,
) -> rusqlite::Result<Vec<Revision>> {
    let mut made = Vec::new();
    for write in &transaction.writes {
        match write {
            Write::Put(put) => {
                let revision = revisions.next();
                connection
                    .prepare_cached(
                        "INSERT INTO oncegate_entries (key, revision, value, forget_at, review_at)
                         VALUES (?1, ?2, ?3, ?4, ?5)
                         ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, value = excluded.value,
                             forget_at = excluded.forget_at, review_at = excluded.review_at",
                    )?
                    .execute(params![
                        put.key.as_bytes(),
                        revision.0,
                        put.value,
                        put.forget_at.map(|at| stored(at.as_millis())),
                        put.review_at.map(|at| stored(at.as_millis())),
                    ])?;
                made.push(revision);
            }
            Write::Delete(key) => {
                connection.prepare_cached("DELETE FROM oncegate_entries WHERE key = ?1")?.execute([key.as_bytes()])?;
            }
        }
    }
    Ok(made)
}

/// Entries to be reviewed at or before a time, in key order.
pub(super) fn due(
    connection: &Connection,
    before: Timestamp,
    after: Option<&Key>,
    limit: u32,
) -> rusqlite::Result<Vec<(Key, Entry)>> {
    let after = after.map_or(&[] as &[u8], Key::as_bytes);
    connection
        .prepare_cached(
            "SELECT key, revision, value FROM oncegate_entries INDEXED BY oncegate_review
             WHERE review_at IS NOT NULL AND review_at <= ?1 AND key > ?2 ORDER BY key LIMIT ?3",
        )?
        .query_map(params![stored(before.as_millis()), after, limit], |row| Ok((Key(row.get(0)?), entry(row, 1)?)))?
        .collect()
}

/// Sorts a fault from before a COMMIT, when nothing is written yet.
pub(super) fn sorted(fault: &Error) -> StoreError {
    use ErrorCode::{
        AuthorizationForStatementDenied, DatabaseCorrupt, DiskFull, NotADatabase, PermissionDenied, ReadOnly, TooBig,
    };
    let why = describe(fault);
    match fault.sqlite_error_code() {
        Some(
            DiskFull
            | TooBig
            | ReadOnly
            | PermissionDenied
            | AuthorizationForStatementDenied
            | DatabaseCorrupt
            | NotADatabase,
        ) => StoreError::Refused(why),
        _ => StoreError::Unavailable(why),
    }
}

/// Says a fault without any value of a statement.
pub(super) fn describe(fault: &Error) -> String {
    match fault {
        Error::SqliteFailure(code, Some(message)) => format!("{message} (sqlite code {})", code.extended_code),
        Error::SqliteFailure(code, None) => format!("{code} (sqlite code {})", code.extended_code),
        Error::SqlInputError { error, msg, .. } => format!("{msg} (sqlite code {})", error.extended_code),
        _ => "the file does not hold what was written to it".to_owned(),
    }
}

/// Whether another connection was in the way.
pub(super) fn is_busy(fault: &Error) -> bool {
    matches!(fault.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A fault that SQLite did not find by itself.
pub(super) fn fault(code: i32, why: &str) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), Some(why.to_owned()))
}

fn met(connection: &Connection, expects: &[Expectation]) -> rusqlite::Result<bool> {
    let mut select = connection.prepare_cached("SELECT revision FROM oncegate_entries WHERE key = ?1")?;
    for expectation in expects {
        let held: Option<Vec<u8>> = select.query_row([expectation.key.as_bytes()], |row| row.get(0)).optional()?;
        if held != expectation.revision.as_ref().map(|revision| revision.0.clone()) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn entry(row: &Row<'_>, first: usize) -> rusqlite::Result<Entry> {
    Ok(Entry { revision: Revision(row.get(first)?), value: row.get(first + 1)? })
}

/// SQLite's integers are signed; no clock shows what is cut off.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
