//! Bytes of a record, as drawn in [`super`]. Reading trusts nothing: each length is checked, each number has its range.

use alloc::string::String;
use alloc::vec::Vec;

use super::chunks::MAX_CHUNKS;
use super::{Chunks, Receipt, Record, Unreadable};
use crate::answer::is_field;
use crate::decision::State;
use crate::request::Field;
use crate::time::Timestamp;

pub(super) const FORMAT: u8 = 1;
pub(super) const PREFIX: usize = 136;
pub(super) const NONCE: usize = 24;

const SUSPECTED: u16 = 1;
const UNBOUND: u16 = 1 << 8;
/// The high flags that this version does not know.
const MUST_UNDERSTAND: u16 = 0xff00 & !UNBOUND;
const RECEIPT: u16 = 1;
const OPERATION: u16 = 2;
const CHUNKS: u16 = 4;
const MAX_HEADERS: usize = 1024;
const STATUSES: core::ops::RangeInclusive<u16> = 200..=599;

const STATES: [State; 6] = [
    State::Claimed,
    State::InProgress,
    State::Succeeded,
    State::FailedPermanently,
    State::FailedRetryably,
    State::Unknown,
];

pub(super) fn prefix(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PREFIX + NONCE);
    let state = STATES.iter().position(|state| *state == record.state).unwrap_or(STATES.len() - 1);
    bytes.extend_from_slice(&[FORMAT, u8::try_from(state).unwrap_or(u8::MAX)]);
    let flags = (SUSPECTED * u16::from(record.double_effect_suspected)) | (UNBOUND * u16::from(record.unbound));
    bytes.extend_from_slice(&flags.to_be_bytes());
    for number in [record.fence, record.tries, record.secret] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    bytes.extend_from_slice(&record.action);
    bytes.extend_from_slice(&record.attempt);
    let optional = |time: Option<Timestamp>| time.map_or(0, Timestamp::as_millis);
    for time in [
        record.claimed_at.as_millis(),
        record.lease_until.as_millis(),
        optional(record.settled_at),
        record.retained_until.as_millis(),
        optional(record.not_before),
    ] {
        bytes.extend_from_slice(&time.to_be_bytes());
    }
    bytes.extend_from_slice(&record.plan);
    bytes.extend_from_slice(&record.fingerprint);
    bytes
}

pub(super) fn read_prefix(bytes: &[u8]) -> Result<Record, Unreadable> {
    let mut reader = Reader(bytes);
    let [format, state] = reader.array()?;
    if format > FORMAT {
        return Err(Unreadable::NewerFormat);
    }
    let flags = u16::from_be_bytes(reader.array()?);
    if format != FORMAT {
        return Err(Unreadable::Damaged);
    }
    if flags & MUST_UNDERSTAND != 0 {
        return Err(Unreadable::NewerFormat);
    }
    let state = *STATES.get(usize::from(state)).ok_or(Unreadable::Damaged)?;
    let [fence, tries, secret] = [reader.u32()?, reader.u32()?, reader.u32()?];
    let [action, attempt] = [reader.array()?, reader.array()?];
    let [claimed_at, lease_until] = [reader.time()?, reader.time()?];
    let settled_at = reader.optional_time()?;
    let retained_until = reader.time()?;
    let not_before = reader.optional_time()?;
    Ok(Record {
        state,
        double_effect_suspected: flags & SUSPECTED != 0,
        unbound: flags & UNBOUND != 0,
        fence,
        tries,
        secret,
        action,
        attempt,
        claimed_at,
        lease_until,
        settled_at,
        retained_until,
        not_before,
        plan: reader.array()?,
        fingerprint: reader.array()?,
        receipt: None,
        operation: String::new(),
        chunks: None,
        others: Vec::new(),
    })
}

/// `None` if a length does not fit its field.
pub(super) fn extensions(record: &Record) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut append = |tag: u16, value: &[u8]| {
        bytes.extend_from_slice(&tag.to_be_bytes());
        bytes.extend_from_slice(&u32::try_from(value.len()).ok()?.to_be_bytes());
        bytes.extend_from_slice(value);
        Some(())
    };
    if let Some(receipt) = &record.receipt {
        append(RECEIPT, &write_receipt(receipt)?)?;
    }
    append(OPERATION, record.operation.as_bytes())?;
    if let Some(Chunks { count, length }) = record.chunks {
        append(CHUNKS, &[&count.to_be_bytes()[..], &length.to_be_bytes()].concat())?;
    }
    for (tag, value) in &record.others {
        append(*tag, value)?;
    }
    Some(bytes)
}

pub(super) fn read_extensions(bytes: &[u8], record: &mut Record) -> Result<(), Unreadable> {
    let mut reader = Reader(bytes);
    while !reader.0.is_empty() {
        let tag = u16::from_be_bytes(reader.array()?);
        let length = reader.u32()?;
        let value = reader.bytes(length)?;
        match tag {
            RECEIPT => record.receipt = Some(read_receipt(value)?),
            OPERATION => record.operation = String::from_utf8(value.to_vec()).map_err(|_| Unreadable::Damaged)?,
            CHUNKS => record.chunks = Some(read_chunks(value)?),
            _ => record.others.push((tag, value.to_vec())),
        }
    }
    Ok(())
}

fn write_receipt(receipt: &Receipt) -> Option<Vec<u8>> {
    let body = receipt.body.as_deref();
    if !STATUSES.contains(&receipt.status) {
        return None;
    }
    let mut bytes = Vec::with_capacity(body.unwrap_or_default().len() + 256);
    bytes.extend_from_slice(&receipt.status.to_be_bytes());
    bytes.push(u8::from(body.is_some()));
    let count = u16::try_from(receipt.headers.len()).ok().filter(|&count| usize::from(count) <= MAX_HEADERS)?;
    bytes.extend_from_slice(&count.to_be_bytes());
    for (name, value) in &receipt.headers {
        bytes.extend_from_slice(&u16::try_from(name.len()).ok()?.to_be_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&u32::try_from(value.len()).ok()?.to_be_bytes());
        bytes.extend_from_slice(value);
    }
    bytes.extend_from_slice(body.unwrap_or_default());
    Some(bytes)
}

fn read_receipt(bytes: &[u8]) -> Result<Receipt, Unreadable> {
    let mut reader = Reader(bytes);
    let status = u16::from_be_bytes(reader.array()?);
    let [kept] = reader.array()?;
    let count = u16::from_be_bytes(reader.array()?);
    if !STATUSES.contains(&status) || kept > 1 || usize::from(count) > MAX_HEADERS {
        return Err(Unreadable::Damaged);
    }
    let headers = (0..count).map(|_| reader.field()).collect::<Result<Vec<Field>, _>>()?;
    match (kept, reader.0) {
        (1, rest) => Ok(Receipt { status, headers, body: Some(rest.to_vec()) }),
        (_, []) => Ok(Receipt { status, headers, body: None }),
        _ => Err(Unreadable::Damaged),
    }
}

fn read_chunks(bytes: &[u8]) -> Result<Chunks, Unreadable> {
    let mut reader = Reader(bytes);
    let (count, length) = (u16::from_be_bytes(reader.array()?), reader.u32()?);
    let fits = reader.0.is_empty() && (1..=MAX_CHUNKS).contains(&count);
    if fits { Ok(Chunks { count, length }) } else { Err(Unreadable::Damaged) }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (array, rest) = self.0.split_first_chunk().ok_or(Unreadable::Damaged)?;
        self.0 = rest;
        Ok(*array)
    }

    fn bytes(&mut self, length: u32) -> Result<&'a [u8], Unreadable> {
        let length = usize::try_from(length).map_err(|_| Unreadable::Damaged)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Unreadable::Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, Unreadable> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn time(&mut self) -> Result<Timestamp, Unreadable> {
        Ok(Timestamp::from_millis(u64::from_be_bytes(self.array()?)))
    }

    fn optional_time(&mut self) -> Result<Option<Timestamp>, Unreadable> {
        Ok(Some(self.time()?).filter(|time| time.as_millis() != 0))
    }

    fn field(&mut self) -> Result<Field, Unreadable> {
        let length = u32::from(u16::from_be_bytes(self.array()?));
        let name = String::from_utf8(self.bytes(length)?.to_vec()).map_err(|_| Unreadable::Damaged)?;
        let length = self.u32()?;
        let field = (name, self.bytes(length)?.to_vec());
        if is_field(&field) { Ok(field) } else { Err(Unreadable::Damaged) }
    }
}
