//! A store in one SQLite file: the default, for one machine, any number of gateway processes.
//!
//! The file is in WAL mode with `synchronous=FULL`, so that a commit is on the disk before it is answered, and becomes
//! visible to readers only then. One thread writes and takes all transactions that wait into one COMMIT (see `writer`);
//! reads go to connections of their own and never wait for it. A transaction whose expectations do not hold in a read is
//! answered from that read, so that replays never queue behind the writer.
//!
//! It cannot know whether the disk tells the truth about `fsync`, nor what a network file system does with locks: keep
//! the file on a local disk.

mod bound;
mod readers;
mod sql;
mod writer;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oncegate_core::time::Timestamp;
use rusqlite::{Connection, OpenFlags};

use self::readers::Readers;
use self::writer::Writer;
use super::{
    CommitResult, DUE_PAGE, Entry, Key, LIMITS, Limits, Loaded, OpenError, Revisions, Store, StoreError, Transaction,
    check,
};

pub use bound::Bound;

/// How long a lock that another process holds is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// How long room in a queue is waited for.
const QUEUE_WAIT: Duration = Duration::from_secs(5);

/// How long the writer's answer is waited for, before it counts as lost.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// Keeps everything in one SQLite file.
#[derive(Debug)]
pub struct Sqlite {
    readers: Readers,
    writer: Writer,
}

impl Sqlite {
    /// Opens the file, or makes it, readable by its owner only.
    ///
    /// # Errors
    /// The file cannot be opened or made, is no SQLite database, or holds a newer schema than this version knows.
    pub async fn open(file: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let file = file.into();
        let opened = tokio::task::spawn_blocking(move || Sqlite::open_blocking(&file)).await;
        opened.unwrap_or_else(|_| Err(OpenError::Sqlite("opening it was cut short".to_owned())))
    }

    /// Makes the store's tables in a database of the caller, where they are not there yet; see [`Bound`].
    ///
    /// # Errors
    /// The database refuses, or holds a newer schema than this version knows.
    pub fn create_schema(connection: &Connection) -> Result<(), OpenError> {
        sql::create(connection)
    }

    /// How many COMMITs that wrote something this handle made: each is one wait for the disk.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    fn open_blocking(file: &Path) -> Result<Self, OpenError> {
        create_file(file).map_err(|fault| OpenError::Sqlite(fault.to_string()))?;
        let connection = connect(file).map_err(|fault| OpenError::Sqlite(sql::describe(&fault)))?;
        sql::create(&connection)?;
        let revisions = Revisions::new().map_err(|fault| OpenError::Sqlite(fault.to_string()))?;
        let writer = Writer::start(connection, revisions).map_err(|fault| OpenError::Sqlite(fault.to_string()))?;
        Ok(Sqlite { readers: Readers::new(file.to_owned()), writer })
    }
}

#[async_trait]
impl Store for Sqlite {
    fn limits(&self) -> Limits {
        LIMITS
    }

    async fn get(&self, keys: &[Key]) -> Result<Loaded, StoreError> {
        let keys = keys.to_vec();
        self.readers.run(move |snapshot| Ok((sql::load(snapshot, keys.iter())?, sql::position(snapshot)?))).await
    }

    async fn commit(&self, transaction: &Transaction) -> Result<CommitResult, StoreError> {
        check(transaction, &LIMITS)?;
        let transaction = Arc::new(transaction.clone());
        if !transaction.expects.is_empty() {
            let read = Arc::clone(&transaction);
            // A read that fails settles nothing: the writer then tells.
            if let Ok(Some(conflict)) = self.readers.run(move |snapshot| sql::conflict(snapshot, &read.expects)).await {
                return Ok(conflict);
            }
        }
        self.writer.commit(transaction).await
    }

    async fn due(&self, before: Timestamp, after: Option<&Key>, limit: u32) -> Result<Vec<(Key, Entry)>, StoreError> {
        let after = after.cloned();
        let limit = limit.min(DUE_PAGE);
        self.readers.run(move |snapshot| sql::due(snapshot, before, after.as_ref(), limit)).await
    }
}

/// Makes the file, if it is not there, before SQLite does, to set its mode; SQLite gives its side files the same.
fn create_file(file: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LOCK_WAIT)?;
    enter_wal(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // On macOS a plain fsync does not reach the disk; elsewhere these change nothing.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    Ok(connection)
}

/// SQLite does not wait for the lock when several processes enter WAL at once, so this does.
fn enter_wal(connection: &Connection) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Err(fault) if sql::is_busy(&fault) && waited < LOCK_WAIT => {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            Err(fault) => return Err(fault),
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(_) => return Err(sql::fault(rusqlite::ffi::SQLITE_CANTOPEN, "the file system allows no WAL mode")),
        }
    }
}
