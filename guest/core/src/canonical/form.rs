//! `application/x-www-form-urlencoded` as the URL Standard reads it (url.spec.whatwg.org, section 5.1), but to bytes: decoded
//! to text, `%FE` and `%FF` would be one.
//!
//! Equates: ways to percent-encode a byte, `+` and an encoded space, empty pairs (`a=1&&b=2`) and none. Keeps apart: the
//! order of pairs, repeated names, and a name without `=` from one with an empty value. A `%` that is no encoding stands
//! for itself. Every input has a form, and the form is at most three times as long.
//!
//! The form is itself form-urlencoded, with only `%`, `&` and, in names, `=` encoded.

use alloc::vec::Vec;

use super::Reading;
use super::json::{Selection, Wanted};

/// A name, and its value unless there is no `=`.
pub type Pair = (Vec<u8>, Option<Vec<u8>>);

/// The pairs in order, decoded.
pub fn pairs(input: &[u8]) -> impl Iterator<Item = Pair> {
    input.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let mut halves = pair.splitn(2, |&byte| byte == b'=');
        (decode(halves.next().unwrap_or_default()), halves.next().map(decode))
    })
}

/// The form of a body. A pointer of a single step stands for all pairs of that name; longer ones lead nowhere.
pub fn read(input: &[u8], selection: &Selection) -> Reading {
    let (mut form, mut wanted) = (Vec::with_capacity(input.len()), Wanted::Absent);
    for pair in pairs(input) {
        let place = selection.member(selection.root(), || Some(pair.0.clone()));
        if selection.wants(place) {
            wanted = match (wanted, &pair.1) {
                (Wanted::Absent, Some(value)) => Wanted::Text(value.clone()),
                _ => Wanted::Other,
            };
        }
        if !selection.leaves_out(place) {
            append(&pair, &mut form);
        }
    }
    Reading { form, wanted }
}

/// The form with its pairs in order of their names. Pairs of one name stay in order.
pub fn sorted(input: &[u8]) -> Vec<u8> {
    let mut pairs: Vec<Pair> = pairs(input).collect();
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut form = Vec::with_capacity(input.len());
    pairs.iter().for_each(|pair| append(pair, &mut form));
    form
}

fn decode(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let encoded = match (first, after) {
            (b'%', [high, low, after @ ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| (high << 4 | low, after)),
            (b'+', _) => Some((b' ', after)),
            _ => None,
        };
        let (byte, after) = encoded.unwrap_or((first, after));
        decoded.push(byte);
        rest = after;
    }
    decoded
}

fn append((name, value): &Pair, form: &mut Vec<u8>) {
    if !form.is_empty() {
        form.push(b'&');
    }
    encode(name, b"%&=", form);
    if let Some(value) = value {
        form.push(b'=');
        encode(value, b"%&", form);
    }
}

fn encode(text: &[u8], reserved: &[u8], form: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'%' if reserved.contains(&byte) => form.extend_from_slice(b"%25"),
            b'&' if reserved.contains(&byte) => form.extend_from_slice(b"%26"),
            b'=' if reserved.contains(&byte) => form.extend_from_slice(b"%3D"),
            _ => form.push(byte),
        }
    }
}

/// The value of a hexadecimal digit of either case (RFC 3986, section 2.1).
fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
