//! Looking into a canonical form: what it holds, without a tree.

use alloc::string::String;

use super::text;

/// One value in its canonical form, as [`canonicalize`](super::canonicalize) gives it. Of other bytes it tells anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form<'f>(pub &'f [u8]);

impl<'f> Form<'f> {
    /// An object without members.
    pub const EMPTY: Form<'static> = Form(b"{}");

    /// Name and value of each member, in order; `None`: no object.
    pub fn members(self) -> Option<impl Iterator<Item = (Form<'f>, Form<'f>)>> {
        let mut rest = inside(self.0, b'{')?;
        Some(core::iter::from_fn(move || {
            let name = next(&mut rest, b':')?;
            Some((name, next(&mut rest, b',')?))
        }))
    }

    /// Each element, in order; `None`: no array.
    pub fn elements(self) -> Option<impl Iterator<Item = Form<'f>>> {
        let mut rest = inside(self.0, b'[')?;
        Some(core::iter::from_fn(move || next(&mut rest, b',')))
    }

    /// A string, unescaped; `None`: no string.
    pub fn text(self) -> Option<String> {
        self.0.starts_with(b"\"").then(|| text::characters(self.0).collect())
    }

    /// A whole number; `None`: something else, or too large.
    pub fn number(self) -> Option<u64> {
        let (digits, power) =
            core::str::from_utf8(self.0).ok().map(|text| text.split_once('e').unwrap_or((text, "0")))?;
        digits.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(power.parse().ok()?)?)
    }
}

/// What stands between the brackets, the closing one included.
fn inside(form: &[u8], opening: u8) -> Option<&[u8]> {
    form.split_first().filter(|(first, _)| **first == opening).map(|(_, rest)| rest)
}

/// The next value, and after it the separator or the closing bracket.
fn next<'f>(rest: &mut &'f [u8], separator: u8) -> Option<Form<'f>> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let end = rest.iter().position(|&byte| {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            return false;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => depth -= 1,
            b'}' | b']' => return true,
            _ => return depth == 0 && byte == separator,
        }
        false
    })?;
    let (value, after) = rest.split_at_checked(end)?;
    *rest = after.split_first().map_or(&[], |(_, after)| after);
    (!value.is_empty()).then_some(Form(value))
}
