//! Spans and sizes as people write them.

use alloc::format;
use alloc::string::String;
use core::time::Duration;

/// A span of time, such as `"60s"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span(pub Duration);

impl Span {
    /// Reads a whole number with one of the units `ms`, `s`, `m`, `h`, `d`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
        scaled(text, &units)
            .filter(|&millis| millis > 0)
            .map(|millis| Span(Duration::from_millis(millis)))
            .ok_or_else(|| format!("`{text}` is no span: write a positive number and ms, s, m, h or d, as in `60s`"))
    }
}

/// A number of bytes, such as `"1MiB"` or `65536`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size(pub u64);

impl Size {
    /// Reads a whole number with one of the units `B`, `KiB`, `MiB`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("B", 1)];
        scaled(text, &units)
            .map(Size)
            .ok_or_else(|| format!("`{text}` is no size: write a number of bytes, or one with B, KiB or MiB"))
    }
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (unit, factor) = units.iter().find(|(unit, _)| {
        text.strip_suffix(unit).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    })?;
    text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*factor)
}
