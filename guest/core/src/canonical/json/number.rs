//! Numbers: exact decimals as significant digits and a power of ten, or doubles as RFC 8785 writes them.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::Profile;
use crate::canonical::{Fault, FormError};

/// The largest power of ten in a form, either way.
const MAX_POWER: u64 = 999_999_999_999_999;

/// As many digits of an exponent as can be reckoned with. No body is long enough to bring a longer one back to [`MAX_POWER`].
const MAX_EXPONENT_DIGITS: usize = 18;

/// Reads the number at `at`, appends its form, and returns where it ends.
pub(super) fn number(input: &[u8], at: usize, profile: Profile, form: &mut Vec<u8>) -> Result<usize, FormError> {
    let mut scan = Scan { input, at };
    let number = scan.number()?;
    let appended = match profile {
        Profile::Exact => append_exact(&number, form),
        Profile::Jcs => append_double(input.get(at..scan.at).unwrap_or_default(), form),
    };
    appended.ok_or(FormError { offset: at, fault: Fault::Number })?;
    Ok(scan.at)
}

struct Number<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    power: Option<(bool, &'a [u8])>,
}

/// `0`, or an optional `-`, digits without zeros at either end, and `e` with the power of ten unless that is 0.
fn append_exact(number: &Number, form: &mut Vec<u8>) -> Option<()> {
    let digits = || number.whole.iter().chain(number.fraction);
    let Some(first) = digits().position(|&digit| digit != b'0') else {
        form.push(b'0');
        return Some(());
    };
    let zeros = digits().rev().take_while(|&&digit| digit == b'0').count();
    let taken = (number.whole.len() + number.fraction.len()).checked_sub(first + zeros)?;
    let written = number.power.map_or(Some(0), exponent)?;
    let power =
        written.checked_add(i64::try_from(zeros).ok()?)?.checked_sub(i64::try_from(number.fraction.len()).ok()?)?;
    // The form's power counts, and not the exponent as written: another spelling of the number must fare the same.
    if power.unsigned_abs() > MAX_POWER {
        return None;
    }
    if number.negative {
        form.push(b'-');
    }
    form.extend(digits().skip(first).take(taken));
    if power != 0 {
        form.push(b'e');
        form.extend_from_slice(power.to_string().as_bytes());
    }
    Some(())
}

fn exponent((negative, digits): (bool, &[u8])) -> Option<i64> {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = digits.get(zeros..)?;
    if digits.len() > MAX_EXPONENT_DIGITS {
        return None;
    }
    let value = digits.iter().try_fold(0i64, |sum, digit| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')))?;
    Some(if negative { -value } else { value })
}

/// RFC 8785, section 3.2.2.3.
fn append_double(text: &[u8], form: &mut Vec<u8>) -> Option<()> {
    let value: f64 = core::str::from_utf8(text).ok()?.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    form.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
    Some(())
}

struct Scan<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn number(&mut self) -> Result<Number<'a>, FormError> {
        let negative = self.take(b"-").is_some();
        let begin = self.at;
        let whole = self.digits()?;
        if whole.len() > 1 && whole.starts_with(b"0") {
            return Err(FormError { offset: begin + 1, fault: Fault::Syntax });
        }
        let fraction = match self.take(b".") {
            Some(_) => self.digits()?,
            None => &[],
        };
        let power = match self.take(b"eE") {
            Some(_) => {
                let sign = self.take(b"+-");
                Some((sign == Some(b'-'), self.digits()?))
            }
            None => None,
        };
        Ok(Number { negative, whole, fraction, power })
    }

    fn take(&mut self, any_of: &[u8]) -> Option<u8> {
        let byte = self.input.get(self.at).copied().filter(|byte| any_of.contains(byte))?;
        self.at += 1;
        Some(byte)
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<&'a [u8], FormError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(FormError { offset: self.at, fault: Fault::Syntax });
        }
        self.at += count;
        Ok(rest.get(..count).unwrap_or_default())
    }
}
