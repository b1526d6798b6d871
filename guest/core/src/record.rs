//! The record: what is remembered of one logical action.
//!
//! The written form, version 1 (all numbers big-endian). The prefix is frozen: every later version keeps it, and it is the
//! associated data of the seal, so that a flipped bit anywhere in a record is noticed.
//!
//! ```text
//!   0   1  format: 1
//!   1   1  state: 0 claimed, 1 in progress, 2 succeeded, 3 failed permanently, 4 failed retryably, 5 unknown
//!   2   2  flags: bit 0 double effect suspected, bit 8 bound to no fingerprint; a reader may ignore unknown low 8 bits, and must not unknown high 8
//!   4   4  fence
//!   8   4  tries
//!  12   4  id of the secret
//!  16  16  action id
//!  32  16  attempt id
//!  48   8  claimed at
//!  56   8  lease until
//!  64   8  settled at, 0 if not
//!  72   8  retained until, all ones if for ever or not settled
//!  80   8  not before (of a retry), 0 if at once
//!  88  16  plan id
//! 104  32  fingerprint
//! 136  24  nonce
//! 160   *  sealed extensions (XChaCha20-Poly1305): each a tag (2), a length (4), and bytes; unknown tags are kept
//!           tag 1 receipt, 2 operation, 3 testimony, 4 chunks
//! ```
//!
//! A body that does not fit into one entry is split over chunks, written with the record in one transaction: their keys are
//! the record's with another kind, the attempt's id and a number, so that no attempt finds another's; each is a nonce (24)
//! and sealed bytes.

mod chunks;
mod codec;
mod seal;

use alloc::string::String;
use alloc::vec::Vec;

use crate::decision::{Attempt, Id, State};
use crate::keyring::Keys;
use crate::request::Field;
use crate::store::{Key, Put};
use crate::time::Timestamp;

pub use chunks::Chunks;
pub(crate) use chunks::{CHUNK_OVERHEAD, chunk_keys, join, split};
pub(crate) use seal::{Seal, open};

/// Where a receipt's body is cut off from being kept: the most bytes of a record beyond the stored body.
pub(crate) const OVERHEAD: u64 = 64 * 1024;

/// What is remembered of one logical action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// How far it is.
    pub state: State,
    /// Two effects may have happened.
    pub double_effect_suspected: bool,
    /// Adopted from a business fact, and bound to no fingerprint.
    pub unbound: bool,
    /// Rises with each reclaim.
    pub fence: u32,
    /// Tries so far.
    pub tries: u32,
    /// The secret of fingerprint and seal.
    pub secret: u32,
    /// The logical action.
    pub action: Id,
    /// The latest attempt.
    pub attempt: Id,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// Until when it may plausibly still be running.
    pub lease_until: Timestamp,
    /// When the outcome was recorded.
    pub settled_at: Option<Timestamp>,
    /// When the result stops being authoritative; `NEVER` if not settled.
    pub retained_until: Timestamp,
    /// When a retry may start.
    pub not_before: Option<Timestamp>,
    /// The fingerprint's recipe.
    pub plan: Id,
    /// Of the request that the latest attempt was made for.
    pub fingerprint: [u8; 32],
    /// The origin's answer, once there is one.
    pub receipt: Option<Receipt>,
    /// The rule's declared operation.
    pub operation: String,
    /// Where the receipt's body is, if not in the record.
    pub chunks: Option<Chunks>,
    /// Extensions that this version does not read, kept as they are.
    pub others: Vec<(u16, Vec<u8>)>,
}

/// The origin's answer as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// 200 to 599.
    pub status: u16,
    /// The replayed headers, in order.
    pub headers: Vec<Field>,
    /// The bytes; `None`: a tombstone, as they were too many.
    pub body: Option<Vec<u8>>,
}

/// Why bytes are no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// A newer version wrote it.
    NewerFormat,
    /// It does not decode or open.
    Damaged,
}

/// The tag of the extension that says who resolved the record; read by people, not by rules.
pub(crate) const TESTIMONY: u16 = 3;

impl Record {
    /// The record as the claim of an attempt left it.
    pub(crate) fn of(attempt: &Attempt) -> Self {
        Record {
            state: State::InProgress,
            double_effect_suspected: false,
            unbound: false,
            fence: attempt.fence,
            tries: attempt.tries,
            secret: attempt.secret,
            action: attempt.action,
            attempt: attempt.id,
            claimed_at: attempt.claimed_at,
            lease_until: attempt.lease_until,
            settled_at: None,
            retained_until: Timestamp::NEVER,
            not_before: None,
            plan: attempt.plan,
            fingerprint: attempt.fingerprint,
            receipt: None,
            operation: attempt.operation.clone(),
            chunks: None,
            others: Vec::new(),
        }
    }

    /// Whether the outcome is settled.
    pub fn is_terminal(&self) -> bool {
        matches!(self.state, State::Succeeded | State::FailedPermanently | State::FailedRetryably)
    }

    /// Whether the answer's body is kept, here or in chunks.
    pub(crate) fn has_body(&self) -> bool {
        self.chunks.is_some() || self.receipt.as_ref().is_some_and(|receipt| receipt.body.is_some())
    }

    /// The record sealed under a key, with the times at which the store may drop it or should show it: a settled one may
    /// go when it is over, an open one is to be looked at when its lease is, and never goes by the clock. `None` if its
    /// secret is not held, or it is too large to be written.
    pub(crate) fn put(&self, seal: &mut Seal, key: &Key, keys: &Keys) -> Option<Put> {
        let value = seal.seal(self, key, keys)?;
        let review_at = (!self.is_terminal()).then_some(self.lease_until);
        Some(Put { key: key.clone(), value, forget_at: self.forget_at(), review_at })
    }

    /// When the store may drop it.
    fn forget_at(&self) -> Option<Timestamp> {
        Some(self.retained_until).filter(|until| self.is_terminal() && *until != Timestamp::NEVER)
    }
}
