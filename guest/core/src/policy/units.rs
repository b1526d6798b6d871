//! Spans and sizes as people write them.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

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

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Span::parse(&text).map_err(D::Error::custom)
    }
}

/// A number of bytes, such as `"1MiB"` or `65536`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or text such as \"64KiB\" or \"1MiB\"")
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("B", 1)];
                scaled(text, &units)
                    .map(Size)
                    .ok_or_else(|| E::custom(format!("`{text}` is no size: write a number and B, KiB or MiB")))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (unit, factor) = units.iter().find(|(unit, _)| {
        text.strip_suffix(unit).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    })?;
    text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*factor)
}
