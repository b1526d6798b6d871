//! The secrets, and the keys that are derived from them: one for lookup, one for fingerprints, one for sealing, and one
//! that places tenants. Each is an HMAC-SHA-256 of its purpose, so none tells another.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::policy::ConfigurationError;

const MIN_BYTES: usize = 32;

/// One generation of the secret.
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
    /// Secrets by which webhooks are signed, by the names that rules use.
    pub webhooks: Vec<(String, Vec<u8>)>,
}

/// What a keyring derives.
pub(crate) struct Keys {
    pub(crate) partition: [u8; 32],
    pub(crate) current: Derived,
    pub(crate) earlier: Vec<Derived>,
    webhooks: Vec<(String, Vec<u8>)>,
}

/// What one secret derives.
pub(crate) struct Derived {
    pub(crate) id: u32,
    pub(crate) lookup: [u8; 32],
    pub(crate) fingerprint: [u8; 32],
    pub(crate) sealing: [u8; 32],
}

impl Keys {
    pub(crate) fn derive(ring: &Keyring) -> Result<Self, ConfigurationError> {
        let fault = |path: &str, message: &str| ConfigurationError { path: path.into(), message: message.into() };
        let short = |bytes: &[u8]| bytes.len() < MIN_BYTES;
        if short(&ring.partition) {
            return Err(fault("keyring.partition", "give at least 32 random bytes"));
        }
        for (at, secret) in ring.secrets.iter().enumerate() {
            let path = "keyring.secrets[".to_string() + &at.to_string() + "]";
            if short(&secret.bytes) {
                return Err(fault(&path, "give at least 32 random bytes"));
            }
            if ring.secrets.iter().take(at).any(|other| other.id == secret.id) {
                return Err(fault(&path, "the id is taken: each secret has its own, for good"));
            }
        }
        let mut secrets = ring.secrets.iter().map(Derived::from);
        let current = secrets.next().ok_or_else(|| fault("keyring.secrets", "give at least one secret"))?;
        let partition = mac(&ring.partition, &[b"oncegate partition"]);
        Ok(Keys { partition, current, earlier: secrets.collect(), webhooks: ring.webhooks.clone() })
    }

    /// All secrets, the current one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Derived> {
        core::iter::once(&self.current).chain(&self.earlier)
    }

    /// The secret by which a webhook is signed.
    pub(crate) fn webhook(&self, name: &str) -> Option<&[u8]> {
        self.webhooks.iter().find(|(held, _)| held == name).map(|(_, bytes)| bytes.as_slice())
    }

    pub(crate) fn with_id(&self, id: u32) -> Option<&Derived> {
        self.all().find(|secret| secret.id == id)
    }
}

impl From<&Secret> for Derived {
    fn from(secret: &Secret) -> Self {
        let derive = |purpose: &str| mac(&secret.bytes, &[purpose.as_bytes()]);
        Derived {
            id: secret.id,
            lookup: derive("oncegate lookup"),
            fingerprint: derive("oncegate fingerprint"),
            sealing: derive("oncegate sealing"),
        }
    }
}

/// HMAC-SHA-256 over parts, each with its length before it.
pub(crate) fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes keys of any length (RFC 2104), so there is no error to report.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
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
