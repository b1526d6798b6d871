//! Paths: the templates of rules, and whether a target is spelled plainly.
//!
//! Paths are matched as the bytes that came, segment by segment. Nothing is decoded or normalized, so a spelling that an
//! origin might read as another path must not get as far as matching: see [`plain`].

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::canonical::form;
use crate::request::Head;

/// A path template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    segments: Vec<Segment>,
    end: End,
}

/// How a template ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// With its last segment.
    Segment,
    /// With a slash after it.
    Slash,
    /// `**`: any further segments.
    Open,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Segment {
    Literal(Vec<u8>),
    Parameter(String),
}

impl Template {
    /// Reads `/orders/{order}` or `/api/**`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = text.strip_prefix('/').ok_or("a path template starts with a slash")?;
        let (rest, end) = match (rest.strip_suffix("**"), rest.strip_suffix('/')) {
            (Some(before), _) if before.is_empty() || before.ends_with('/') => {
                (before.trim_end_matches('/'), End::Open)
            }
            (_, Some(before)) => (before, End::Slash),
            _ => (rest, End::Segment),
        };
        let segments = match rest {
            "" => Vec::new(),
            _ => rest.split('/').map(Segment::parse).collect::<Result<_, _>>()?,
        };
        let template = Template { segments, end };
        let names = template.parameters();
        if names.iter().enumerate().any(|(at, name)| names.iter().skip(at + 1).any(|other| other == name)) {
            return Err("a path parameter is named twice");
        }
        Ok(template)
    }

    /// Names of the parameters, in order.
    pub fn parameters(&self) -> Vec<&str> {
        self.segments
            .iter()
            .filter_map(|segment| match segment {
                Segment::Parameter(name) => Some(name.as_str()),
                Segment::Literal(_) => None,
            })
            .collect()
    }

    /// The values of the parameters, if the path matches.
    pub fn matches<'t, 'p>(&'t self, path: &'p [u8]) -> Option<Vec<(&'t str, &'p [u8])>> {
        let mut rest = path;
        let mut found = Vec::new();
        for segment in &self.segments {
            let after = rest.strip_prefix(b"/")?;
            let length = after.iter().position(|&byte| byte == b'/').unwrap_or(after.len());
            let (part, after) = after.split_at_checked(length)?;
            match segment {
                Segment::Literal(bytes) if bytes == part => {}
                Segment::Parameter(name) if !part.is_empty() => found.push((name.as_str(), part)),
                _ => return None,
            }
            rest = after;
        }
        let ends = match self.end {
            End::Segment => rest.is_empty() || (self.segments.is_empty() && rest == b"/"),
            End::Slash => rest == b"/",
            End::Open => true,
        };
        ends.then_some(found)
    }

    /// Whether the path matches but for a slash at its end: many origins take both for one.
    pub fn matches_but_for_slash(&self, path: &[u8]) -> bool {
        let other = match path.strip_suffix(b"/") {
            Some(shorter) => shorter.to_vec(),
            None => [path, b"/"].concat(),
        };
        self.matches(&other).is_some()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            match segment {
                Segment::Literal(bytes) => write!(f, "/{}", String::from_utf8_lossy(bytes))?,
                Segment::Parameter(name) => write!(f, "/{{{name}}}")?,
            }
        }
        match self.end {
            End::Segment if self.segments.is_empty() => f.write_str("/"),
            End::Segment => Ok(()),
            End::Slash => f.write_str("/"),
            End::Open => f.write_str("/**"),
        }
    }
}

impl Segment {
    fn parse(part: &str) -> Result<Self, &'static str> {
        if part.is_empty() {
            return Err("a path template has no empty segments");
        }
        if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let named = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            return if named {
                Ok(Segment::Parameter(name.to_string()))
            } else {
                Err("a path parameter is named with letters, digits and _")
            };
        }
        if part.contains(['{', '}', '*', '?', '#']) {
            return Err("a path segment is either literal or one {parameter}; ** stands only at the end");
        }
        Ok(Segment::Literal(part.as_bytes().to_vec()))
    }
}

/// Why a target could be read as another one, or `None` where it is spelled plainly.
///
/// Refused are dot segments, empty segments (but for a slash at the end), backslashes, `;`, control and non-ASCII bytes,
/// and percent-encodings that are broken, in lower case, or stand for a slash, backslash, dot, semicolon, control byte, or
/// any character that needs no encoding.
pub fn plain(path: &[u8]) -> Option<&'static str> {
    let Some(rest) = path.strip_prefix(b"/") else { return Some("the path does not start with a slash") };
    if rest.is_empty() {
        return None;
    }
    let rest = rest.strip_suffix(b"/").unwrap_or(rest);
    for segment in rest.split(|&byte| byte == b'/') {
        match segment {
            b"" => return Some("the path has an empty segment"),
            b"." | b".." => return Some("the path has a dot segment"),
            _ => {}
        }
        let mut bytes = segment.iter().copied();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\\' => return Some("the path has a backslash"),
                b';' => return Some("the path has a semicolon"),
                b'%' => match (bytes.next().and_then(upper_hex), bytes.next().and_then(upper_hex)) {
                    (Some(high), Some(low)) if needs_encoding(high << 4 | low) => {}
                    _ => return Some("the path has a percent-encoding that may be read in two ways"),
                },
                0x21..=0x7e => {}
                _ => return Some("the path has a byte that must be percent-encoded"),
            }
        }
    }
    None
}

fn needs_encoding(byte: u8) -> bool {
    let ambiguous = matches!(byte, b'/' | b'\\' | b'.' | b';' | b'-' | b'_' | b'~') || byte.is_ascii_alphanumeric();
    !ambiguous && !byte.is_ascii_control()
}

/// The value of a hexadecimal digit; both cases name the same byte, and RFC 3986, section 2.1, wants the upper one.
fn upper_hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Whether the request asks for another method than its own.
pub fn overrides_method(head: &Head) -> bool {
    let by_header = ["x-http-method-override", "x-http-method", "x-method-override"]
        .iter()
        .any(|name| head.values(name).next().is_some());
    // Frameworks read `_method` on POST only, and decode its name.
    let by_query = head.method == "POST"
        && head.query().is_some_and(|query| form::pairs(query).into_iter().any(|(name, _)| *name == b"_method"[..]));
    by_header || by_query
}
