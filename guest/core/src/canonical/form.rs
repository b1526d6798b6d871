//! `application/x-www-form-urlencoded` as the URL Standard reads it (url.spec.whatwg.org, section 5.1), but to bytes: decoded
//! to text, `%FE` and `%FF` would be one.
//!
//! Equates: ways to percent-encode a byte, `+` and an encoded space, empty pairs (`a=1&&b=2`) and none. Keeps apart: the
//! order of pairs, repeated names, and a name without `=` from one with an empty value. A `%` that is no encoding stands
//! for itself. Every input has a form, and the form is at most three times as long.
//!
//! The form is itself form-urlencoded, with only `%`, `&`, `+` and, in names, `=` encoded.

use alloc::vec::Vec;

use super::Reading;
use super::json::{Selection, Wanted};

/// A name, and its value unless there is no `=`.
pub type Pair = (Vec<u8>, Option<Vec<u8>>);

/// The pairs in order, decoded.
pub fn pairs(input: &[u8]) -> impl Iterator<Item = Pair> {
    encoded(input).map(|(name, value)| (decoded(name).collect(), value.map(|value| decoded(value).collect())))
}

/// The form of a body. A pointer of a single step stands for all pairs of that name; longer ones lead nowhere.
pub fn read(input: &[u8], selection: &Selection) -> Reading {
    let (mut form, mut wanted) = (Vec::with_capacity(input.len()), Wanted::Absent);
    for (name, value) in encoded(input) {
        let place = selection.member(selection.root(), || Some(decoded(name).collect()));
        if selection.wants(place) {
            wanted = match (wanted, value) {
                (Wanted::Absent, Some(value)) => Wanted::Text(decoded(value).collect()),
                _ => Wanted::Other,
            };
        }
        if !selection.leaves_out(place) {
            append(name, value, &mut form);
        }
    }
    Reading { form, wanted }
}

/// The form with its pairs in order of their names. Pairs of one name stay in order.
pub fn sorted(input: &[u8]) -> Vec<u8> {
    let mut pairs: Vec<_> = encoded(input).collect();
    pairs.sort_by(|(one, _), (other, _)| decoded(one).cmp(decoded(other)));
    let mut form = Vec::with_capacity(input.len());
    for (name, value) in pairs {
        append(name, value, &mut form);
    }
    form
}

fn encoded(input: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    input.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let mut halves = pair.splitn(2, |&byte| byte == b'=');
        (halves.next().unwrap_or_default(), halves.next())
    })
}

fn decoded(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        let encoded = match (first, after) {
            (b'%', [high, low, after @ ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| (high << 4 | low, after)),
            (b'+', _) => Some((b' ', after)),
            _ => None,
        };
        let (byte, after) = encoded.unwrap_or((first, after));
        rest = after;
        Some(byte)
    })
}

fn append(name: &[u8], value: Option<&[u8]>, form: &mut Vec<u8>) {
    if !form.is_empty() {
        form.push(b'&');
    }
    for byte in decoded(name) {
        match byte {
            b'=' => form.extend_from_slice(b"%3D"),
            _ => append_byte(byte, form),
        }
    }
    if let Some(value) = value {
        form.push(b'=');
        decoded(value).for_each(|byte| append_byte(byte, form));
    }
}

fn append_byte(byte: u8, form: &mut Vec<u8>) {
    match byte {
        b'%' => form.extend_from_slice(b"%25"),
        b'&' => form.extend_from_slice(b"%26"),
        b'+' => form.extend_from_slice(b"%2B"),
        _ => form.push(byte),
    }
}

/// The value of a hexadecimal digit of either case (RFC 3986, section 2.1).
fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
