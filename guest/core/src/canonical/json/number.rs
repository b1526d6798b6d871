//! Numbers as exact decimals: significant digits, then a power of ten.

use alloc::vec::Vec;

use super::{Fault, JsonError};

const MAX_EXPONENT_DIGITS: usize = 15;

/// Reads the number at `at`, appends its form, and returns where it ends.
///
/// The form is `0`, or an optional `-`, digits without zeros at either end, and `e` with the power of ten unless that is 0.
pub(super) fn number(input: &[u8], at: usize, form: &mut Vec<u8>) -> Result<usize, JsonError> {
    let mut scan = Scan { input, at };
    let negative = scan.take(b"-").is_some();
    let whole = scan.digits()?;
    if whole.len() > 1 && whole.starts_with(b"0") {
        return Err(JsonError { offset: at + usize::from(negative) + 1, fault: Fault::Syntax });
    }
    let fraction = match scan.take(b".") {
        Some(_) => scan.digits()?,
        None => &[],
    };
    let power = match scan.take(b"eE") {
        Some(_) => {
            let sign = scan.take(b"+-");
            Some((sign == Some(b'-'), scan.digits()?))
        }
        None => None,
    };
    append(negative, whole, fraction, power, form).ok_or(JsonError { offset: at, fault: Fault::Exponent })?;
    Ok(scan.at)
}

fn append(
    negative: bool,
    whole: &[u8],
    fraction: &[u8],
    power: Option<(bool, &[u8])>,
    form: &mut Vec<u8>,
) -> Option<()> {
    let digits = || whole.iter().chain(fraction);
    let Some(first) = digits().position(|&digit| digit != b'0') else {
        form.push(b'0');
        return Some(());
    };
    let zeros = digits().rev().take_while(|&&digit| digit == b'0').count();
    let taken = (whole.len() + fraction.len()).checked_sub(first + zeros)?;
    let power = power.map_or(Some(0), exponent)?;
    let power = power.checked_add(i64::try_from(zeros).ok()?)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    if negative {
        form.push(b'-');
    }
    form.extend(digits().skip(first).take(taken));
    if power != 0 {
        form.push(b'e');
        append_integer(power, form);
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

fn append_integer(value: i64, form: &mut Vec<u8>) {
    if value < 0 {
        form.push(b'-');
    }
    let mut rest = value.unsigned_abs();
    let start = form.len();
    while rest > 0 {
        form.push(b'0' + u8::try_from(rest % 10).unwrap_or_default());
        rest /= 10;
    }
    if let Some(digits) = form.get_mut(start..) {
        digits.reverse();
    }
}

struct Scan<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn take(&mut self, any_of: &[u8]) -> Option<u8> {
        let byte = self.input.get(self.at).copied().filter(|byte| any_of.contains(byte))?;
        self.at += 1;
        Some(byte)
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<&'a [u8], JsonError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(JsonError { offset: self.at, fault: Fault::Syntax });
        }
        self.at += count;
        Ok(rest.get(..count).unwrap_or_default())
    }
}
