//! Chunks: a large body over several entries.

use alloc::vec::Vec;

use super::{Record, Seal, Unreadable, seal};
use crate::keyring::Keys;
use crate::store::{Entry, Key, Put};

const KIND_CHUNK: u8 = 2;

/// What a chunk needs beyond its bytes: nonce and tag.
pub(crate) const CHUNK_OVERHEAD: u64 = 40;

/// The most chunks of one body.
pub(super) const MAX_CHUNKS: u16 = 4096;

/// Where a receipt's body is, if not in the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunks {
    /// How many there are.
    pub count: u16,
    /// Bytes of body in all.
    pub length: u32,
}

/// The keys of a record's chunks, in order.
pub(crate) fn chunk_keys(record: &Record, key: &Key) -> Vec<Key> {
    let count = record.chunks.map_or(0, |chunks| chunks.count);
    (0..count)
        .map(|number| {
            let mut bytes = key.as_bytes().to_vec();
            if let Some(kind) = bytes.get_mut(3) {
                *kind = KIND_CHUNK;
            }
            bytes.extend_from_slice(&record.attempt);
            bytes.extend_from_slice(&number.to_be_bytes());
            Key(bytes)
        })
        .collect()
}

/// Moves the body of a record's receipt into chunks of at most `size` bytes. `None` if its secret is not held.
pub(crate) fn split(record: &mut Record, key: &Key, size: usize, seal: &mut Seal, keys: &Keys) -> Option<Vec<Put>> {
    let body = record.receipt.as_mut()?.body.take()?;
    let pieces: Vec<&[u8]> = body.chunks(size.max(1)).collect();
    let count = u16::try_from(pieces.len()).ok().filter(|count| *count <= MAX_CHUNKS)?;
    record.chunks = Some(Chunks { count, length: u32::try_from(body.len()).ok()? });
    let forget_at = record.forget_at();
    let put = |(key, piece): (Key, &&[u8])| {
        let value = seal.seal_chunk(piece, &key, record.secret, keys)?;
        Some(Put { key, value, forget_at, review_at: None })
    };
    chunk_keys(record, key).into_iter().zip(&pieces).map(put).collect()
}

/// Puts the body back. A chunk that is missing or does not open makes the record unreadable.
pub(crate) fn join(record: &mut Record, key: &Key, held: &[Option<Entry>], keys: &Keys) -> Result<(), Unreadable> {
    let Some(chunks) = record.chunks else { return Ok(()) };
    let mut body = Vec::new();
    for (key, entry) in chunk_keys(record, key).iter().zip(held) {
        let entry = entry.as_ref().ok_or(Unreadable::Damaged)?;
        body.extend(seal::open_chunk(&entry.value, key, record.secret, keys)?);
    }
    let receipt = record.receipt.as_mut().ok_or(Unreadable::Damaged)?;
    if held.len() != usize::from(chunks.count) || body.len() as u64 != u64::from(chunks.length) {
        return Err(Unreadable::Damaged);
    }
    receipt.body = Some(body);
    Ok(())
}
