//! Strings: every escape resolved, then only `"`, `\` and control characters escaped again, in one way: that of RFC 8785,
//! section 3.2.2.2, so that no string's form is longer than the string.

use alloc::string::String;
use alloc::vec::Vec;

use crate::canonical::{Fault, FormError};

/// Reads the string at `at` (its opening quote), appends its form, and returns where it ends. The input is UTF-8.
pub(super) fn string(input: &[u8], at: usize, form: &mut Vec<u8>) -> Result<usize, FormError> {
    form.push(b'"');
    let mut at = at + 1;
    loop {
        let rest = input.get(at..).unwrap_or_default();
        let run = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
        form.extend_from_slice(rest.get(..run).unwrap_or_default());
        at += run;
        match input.get(at) {
            Some(b'"') => {
                form.push(b'"');
                return Ok(at + 1);
            }
            Some(b'\\') => {
                let (character, end) = escape(input, at)?;
                append(character, form);
                at = end;
            }
            _ => return Err(FormError { offset: at, fault: Fault::Syntax }),
        }
    }
}

/// The text of a string's form; `None` if it is the form of something else.
pub(super) fn unescape(form: &[u8]) -> Option<Vec<u8>> {
    form.starts_with(b"\"").then(|| characters(form).collect::<String>().into_bytes())
}

/// The characters of a string's form, one by one.
pub(super) fn characters(form: &[u8]) -> impl Iterator<Item = char> {
    let inner = form.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or_default();
    let mut rest = core::str::from_utf8(inner).unwrap_or_default();
    core::iter::from_fn(move || {
        let (character, end) = match rest.chars().next()? {
            '\\' => escape(rest.as_bytes(), 0).ok()?,
            plain => (plain, plain.len_utf8()),
        };
        rest = rest.get(end..)?;
        Some(character)
    })
}

/// Reads the escape at `at` (its backslash): the character, and where the escape ends.
fn escape(input: &[u8], at: usize) -> Result<(char, usize), FormError> {
    let character = match input.get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(input, at),
        _ => return Err(FormError { offset: at, fault: Fault::Syntax }),
    };
    Ok((character, at + 2))
}

fn unicode(input: &[u8], at: usize) -> Result<(char, usize), FormError> {
    let lone = FormError { offset: at, fault: Fault::LoneSurrogate };
    let high = unit(input, at)?;
    if !(0xd800..=0xdfff).contains(&high) {
        return char::from_u32(high).map(|character| (character, at + 6)).ok_or(lone);
    }
    if high > 0xdbff || input.get(at + 6..at + 8) != Some(b"\\u") {
        return Err(lone);
    }
    let low = unit(input, at + 6)?;
    if !(0xdc00..=0xdfff).contains(&low) {
        return Err(lone);
    }
    let point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    char::from_u32(point).map(|character| (character, at + 12)).ok_or(lone)
}

/// The four hexadecimal digits after `\u`.
fn unit(input: &[u8], at: usize) -> Result<u32, FormError> {
    let digits = input.get(at + 2..at + 6).unwrap_or_default();
    let value = digits.iter().try_fold(0, |sum, &digit| Some(sum << 4 | char::from(digit).to_digit(16)?));
    match value {
        Some(value) if digits.len() == 4 => Ok(value),
        _ => Err(FormError { offset: at, fault: Fault::Syntax }),
    }
}

fn append(character: char, form: &mut Vec<u8>) {
    let short = match character {
        '"' | '\\' => character,
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\0'..='\u{1f}' => {
            let digit = |nibble: u32| char::from_digit(nibble, 16).unwrap_or('0') as u8;
            let code = u32::from(character);
            return form.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(code >> 4), digit(code & 0xf)]);
        }
        _ => return form.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    };
    form.extend_from_slice(&[b'\\', short as u8]);
}
