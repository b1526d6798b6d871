//! The secrets that records are made under.

use alloc::vec::Vec;
use core::fmt;

/// One generation of the secret from which the keys for lookup, fingerprint and sealing are derived.
#[derive(Clone)]
pub struct Secret {
    /// Kept in each record; never reused for other bytes.
    pub id: u32,
    /// At least 32 random bytes.
    pub bytes: Vec<u8>,
}

/// All secrets in force, shared by every gateway on one store.
#[derive(Clone)]
pub struct Keyring {
    /// At least 32 random bytes that place tenants into partitions; never rotated.
    pub partition: Vec<u8>,
    /// The first is used for what is new.
    pub secrets: Vec<Secret>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}
