//! Sealing: the prefix in the clear, the extensions under an AEAD, and the store key and the prefix bound to them.

use alloc::vec::Vec;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

use super::codec::{self, NONCE, PREFIX};
use super::{Record, Unreadable};
use crate::keyring::Keys;
use crate::store::Key;

/// Seals what one call writes. Each seal has a nonce of its own, drawn from the call's entropy.
#[derive(Clone)]
pub(crate) struct Seal {
    entropy: [u8; 32],
    used: u32,
}

impl Seal {
    pub(crate) fn new(entropy: [u8; 32]) -> Self {
        Seal { entropy, used: 0 }
    }

    /// Sixteen bytes for an id.
    pub(crate) fn id(&mut self) -> [u8; 16] {
        crate::plan::shorten(self.draw())
    }

    /// The written form of a record. `None` if its secret is not held here, or it is too large to be written.
    pub(crate) fn seal(&mut self, record: &Record, key: &Key, keys: &Keys) -> Option<Vec<u8>> {
        let secret = keys.with_id(record.secret)?;
        let drawn = self.draw();
        let nonce = drawn.first_chunk::<NONCE>()?;
        let mut bytes = codec::prefix(record);
        bytes.extend_from_slice(nonce);
        let plain = codec::extensions(record)?;
        let sealed = XChaCha20Poly1305::new(&secret.sealing.into())
            .encrypt(&XNonce::from(*nonce), Payload { msg: &plain, aad: &associated(key, &bytes) })
            .ok()?;
        bytes.extend_from_slice(&sealed);
        Some(bytes)
    }

    fn draw(&mut self) -> [u8; 32] {
        self.used += 1;
        Sha256::new().chain_update(self.entropy).chain_update(self.used.to_be_bytes()).finalize().into()
    }
}

/// Reads the record under a key.
pub(crate) fn open(bytes: &[u8], key: &Key, keys: &Keys) -> Result<Record, Unreadable> {
    let damaged = Unreadable::Damaged;
    let (prefix, sealed) = bytes.split_at_checked(PREFIX + NONCE).ok_or(damaged)?;
    let mut record = codec::read_prefix(prefix)?;
    let secret = keys.with_id(record.secret).ok_or(damaged)?;
    let nonce = prefix.last_chunk::<NONCE>().ok_or(damaged)?;
    let plain = XChaCha20Poly1305::new(&secret.sealing.into())
        .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &associated(key, prefix) })
        .map_err(|_| damaged)?;
    codec::read_extensions(&plain, &mut record)?;
    Ok(record)
}

fn associated(key: &Key, prefix: &[u8]) -> Vec<u8> {
    [key.as_bytes(), prefix].concat()
}
