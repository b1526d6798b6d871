//! The vocabulary of the store: what the core asks for and what may be answered. It mirrors `wit/store.wit`, where each
//! item's contract is written down.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::time::Timestamp;

/// A store key: version, partition, kind, hash, and for some kinds a suffix.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub Vec<u8>);

impl Key {
    /// The key as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in &self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// Names one version of one key; 1 to 16 opaque bytes, never repeated for a key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Revision(pub Vec<u8>);

/// What is held under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Which version this is.
    pub revision: Revision,
    /// The bytes as they were put.
    pub value: Vec<u8>,
}

/// What must be true of a key when a transaction is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// Which key.
    pub key: Key,
    /// The revision it must have; `None`: it must be absent.
    pub revision: Option<Revision>,
}

/// One change of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// Set a key.
    Put(Put),
    /// Remove a key; nothing, if it is absent.
    Delete(Key),
}

/// Sets a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Put {
    /// Which key.
    pub key: Key,
    /// The new value.
    pub value: Vec<u8>,
    /// The host may drop the entry from then on; `None`: never by the clock.
    pub forget_at: Option<Timestamp>,
    /// `due` lists the entry from then on; `None`: never.
    pub review_at: Option<Timestamp>,
}

/// Writes all of `writes` if all of `expects` hold, else nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Transaction {
    /// What must be true.
    pub expects: Vec<Expectation>,
    /// What is then written.
    pub writes: Vec<Write>,
}

/// Which store answered, and how far it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// Changes when the store is replaced, restored or failed over.
    pub epoch: Vec<u8>,
    /// Never falls within an epoch.
    pub sequence: u64,
}

/// The answer to a commit. A lost race is an answer, not an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommitResult {
    /// Written and durable.
    Committed {
        /// How far the store is.
        position: Position,
        /// The new revision of each put, in order.
        revisions: Vec<Revision>,
    },
    /// Written into a transaction that the caller holds open.
    Provisional {
        /// The new revision of each put, in order.
        revisions: Vec<Revision>,
    },
    /// Nothing was written.
    Conflicted {
        /// What is held under each key of `expects`.
        held: Vec<Option<Entry>>,
        /// How far the store is.
        position: Position,
    },
}

/// The answer to a read: what is held under each key, and how far the store is.
pub type Loaded = (Vec<Option<Entry>>, Position);

/// Why there is no answer. Never the same as an absent entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// Nothing was written or read; later may work.
    Unavailable(String),
    /// The answer was lost: all of it was written, or none, or it will be.
    Unresolved(String),
    /// The store will not: too large, denied, full.
    Refused(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unavailable(why) => write!(f, "store unavailable: {why}"),
            StoreError::Unresolved(why) => write!(f, "store answer lost: {why}"),
            StoreError::Refused(why) => write!(f, "store refused: {why}"),
        }
    }
}

impl core::error::Error for StoreError {}

/// What a store can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The longest value, in bytes.
    pub max_value: u32,
    /// The most writes in one transaction.
    pub max_entries: u32,
    /// The most bytes of keys and values in one transaction.
    pub max_transaction: u32,
    /// A failed conditional commit is as dear as a write: read before claiming.
    pub read_first: bool,
}
