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
        let cipher = cipher(record.secret, keys)?;
        let drawn = self.draw();
        let nonce = drawn.first_chunk::<NONCE>()?;
        let mut bytes = codec::prefix(record);
        bytes.extend_from_slice(nonce);
        let plain = codec::extensions(record)?;
        let sealed =
            cipher.encrypt(&XNonce::from(*nonce), Payload { msg: &plain, aad: &associated(key, &bytes) }).ok()?;
        bytes.extend_from_slice(&sealed);
        Some(bytes)
    }

    /// The written form of a chunk.
    pub(super) fn seal_chunk(&mut self, plain: &[u8], key: &Key, secret: u32, keys: &Keys) -> Option<Vec<u8>> {
        let drawn = self.draw();
        let nonce = drawn.first_chunk::<NONCE>()?;
        let payload = Payload { msg: plain, aad: key.as_bytes() };
        let sealed = cipher(secret, keys)?.encrypt(&XNonce::from(*nonce), payload).ok()?;
        Some([&nonce[..], &sealed].concat())
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
    let cipher = cipher(record.secret, keys).ok_or(damaged)?;
    let nonce = prefix.last_chunk::<NONCE>().ok_or(damaged)?;
    let plain = cipher
        .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &associated(key, prefix) })
        .map_err(|_| damaged)?;
    codec::read_extensions(&plain, &mut record)?;
    Ok(record)
}

/// Reads the chunk under a key.
pub(super) fn open_chunk(bytes: &[u8], key: &Key, secret: u32, keys: &Keys) -> Result<Vec<u8>, Unreadable> {
    let damaged = Unreadable::Damaged;
    let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or(damaged)?;
    let payload = Payload { msg: sealed, aad: key.as_bytes() };
    cipher(secret, keys).ok_or(damaged)?.decrypt(&XNonce::from(*nonce), payload).map_err(|_| damaged)
}

fn cipher(secret: u32, keys: &Keys) -> Option<XChaCha20Poly1305> {
    keys.with_id(secret).map(|secret| XChaCha20Poly1305::new(&secret.sealing.into()))
}

fn associated(key: &Key, prefix: &[u8]) -> Vec<u8> {
    [key.as_bytes(), prefix].concat()
}
