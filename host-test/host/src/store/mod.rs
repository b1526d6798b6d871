//! The store: the trait that the component's imports are served from, and what this crate brings along for it.
//!
//! It decides nothing about records: to a store they are keys, revisions and bytes. It cannot know whether an entry
//! matters, so it never turns a fault into an absent entry, nor one fault into another.

mod counted;
mod memory;
pub mod sqlite;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use oncegate_core::time::Timestamp;

pub use counted::{Counted, Counts};
pub use memory::Memory;
pub use oncegate_core::store::{
    CommitResult, Entry, Expectation, Key, Limits, Loaded, Position, Put, Revision, StoreError, Transaction, Write,
};
pub use sqlite::Sqlite;

/// A transactional key-value store. The contract of each call is written down in `wit/store.wit`.
///
/// A call may be dropped before it answers: what it asked for then happened, or not, or will happen yet.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// What it can hold; constant.
    fn limits(&self) -> Limits;

    /// What is held under each key, in their order, from one linearizable read.
    async fn get(&self, keys: &[Key]) -> Result<Loaded, StoreError>;

    /// Writes all of it or nothing; durable when it answers `Committed`.
    async fn commit(&self, transaction: &Transaction) -> Result<CommitResult, StoreError>;

    /// Up to `limit` entries to be reviewed at or before `before`, in key order after the key `after`. A store may give
    /// fewer at once: only an empty answer is the end.
    async fn due(&self, before: Timestamp, after: Option<&Key>, limit: u32) -> Result<Vec<(Key, Entry)>, StoreError>;
}

/// Opens the store that a URL names: `memory` (lost at exit) or `sqlite:FILE` (made if it is not there).
///
/// # Errors
/// The URL names no store of this crate, or the store cannot be opened.
pub async fn open(url: &str) -> Result<Arc<dyn Store>, OpenError> {
    match url.split_once(':') {
        None if url == "memory" => Ok(Arc::new(Memory::new())),
        Some(("memory", "")) => Ok(Arc::new(Memory::new())),
        Some(("sqlite", "" | ":memory:")) => Err(OpenError::NoFile),
        Some(("sqlite", file)) => Ok(Arc::new(Sqlite::open(PathBuf::from(file)).await?)),
        Some((scheme, _)) => Err(OpenError::Unsupported(scheme.to_owned())),
        None => Err(OpenError::NoScheme),
    }
}

/// Why a store was not opened. The URL itself is not repeated: it may hold a password.
#[derive(Debug)]
pub enum OpenError {
    /// The URL has no scheme.
    NoScheme,
    /// `sqlite:` without a file.
    NoFile,
    /// No store of this crate has this scheme.
    Unsupported(String),
    /// The file is there but cannot be used; why.
    Sqlite(String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::NoScheme => write!(f, "the store has no scheme; write memory or sqlite:FILE"),
            OpenError::NoFile => {
                write!(f, "sqlite: names no file; write sqlite:FILE, or memory for a store without one")
            }
            OpenError::Unsupported(scheme) => {
                write!(f, "there is no store of the kind '{scheme}' here; write memory or sqlite:FILE")
            }
            OpenError::Sqlite(why) => write!(f, "the sqlite store cannot be opened: {why}"),
        }
    }
}

impl std::error::Error for OpenError {}

/// What the stores of this crate can hold.
const LIMITS: Limits = Limits { max_value: 16 << 20, max_entries: 128, max_transaction: 32 << 20, read_first: false };

/// The most entries in one answer of `due`.
const DUE_PAGE: u32 = 1024;

/// Refuses a transaction that is over the limits or names a key twice in one list.
fn check(transaction: &Transaction, limits: &Limits) -> Result<(), StoreError> {
    let refuse = |why: String| Err(StoreError::Refused(why));
    let most = limits.max_entries as usize;
    if transaction.writes.len() > most || transaction.expects.len() > most {
        return refuse(format!("a transaction may hold at most {most} entries; split it"));
    }
    let mut size = 0;
    let mut written = HashSet::new();
    for write in &transaction.writes {
        let (key, value) = match write {
            Write::Put(put) => (&put.key, put.value.len()),
            Write::Delete(key) => (key, 0),
        };
        if value > limits.max_value as usize {
            return refuse(format!("a value may have at most {} bytes", limits.max_value));
        }
        size += key.0.len() + value;
        if !written.insert(key) {
            return refuse("a transaction may write a key only once".to_owned());
        }
    }
    if size > limits.max_transaction as usize {
        return refuse(format!("a transaction may have at most {} bytes", limits.max_transaction));
    }
    let mut expected = HashSet::new();
    if transaction.expects.iter().all(|expectation| expected.insert(&expectation.key)) {
        Ok(())
    } else {
        refuse("a transaction may expect something of a key only once".to_owned())
    }
}

/// Makes revisions that never repeat, whatever happens to the store: eight bytes drawn when it was opened, then a count.
#[derive(Debug)]
struct Revisions {
    opened: [u8; 8],
    made: u64,
}

impl Revisions {
    fn new() -> Result<Self, getrandom::Error> {
        let mut opened = [0; 8];
        getrandom::fill(&mut opened)?;
        Ok(Revisions { opened, made: 0 })
    }

    fn next(&mut self) -> Revision {
        self.made += 1;
        Revision([self.opened, self.made.to_be_bytes()].concat())
    }
}
