//! Exact JSON (RFC 8259), read in one pass into its canonical form, without a value tree.
//!
//! Equal forms mean equal values: members are sorted, white space and the spelling of strings and numbers are gone, and
//! nothing is rounded: `1.0`, `1` and `10e-1` are one number, `9007199254740993` and `9007199254740992` are two, and `-0` is `0`.
//! Strings are compared as they are, without Unicode normalization. An absent member differs from `null`.
//!
//! Refused with the byte's offset: invalid UTF-8, a byte order mark, lone surrogates, members named twice (after
//! unescaping), anything after the value, nesting beyond [`MAX_DEPTH`], exponents beyond 15 digits.

mod number;
mod pointer;
mod text;

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

pub use pointer::{MAX_POINTERS, Pointer};

/// The deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 128;

/// Why bytes have no canonical form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonError {
    /// The byte at which it shows, from 0.
    pub offset: usize,
    /// What shows there.
    pub fault: Fault,
}

/// What is wrong with a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Not UTF-8.
    Encoding,
    /// A byte that cannot stand here, or the end too early.
    Syntax,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// A member named twice.
    DuplicateMember,
    /// Nested too deeply.
    TooDeep,
    /// An exponent beyond 15 digits.
    Exponent,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            Fault::Encoding => "invalid UTF-8",
            Fault::Syntax => "not JSON",
            Fault::LoneSurrogate => "half of a surrogate pair",
            Fault::DuplicateMember => "a member named twice",
            Fault::TooDeep => "nested too deeply",
            Fault::Exponent => "an exponent too large to be compared",
        };
        write!(f, "{fault} at byte {}", self.offset)
    }
}

/// A document that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The canonical form, less what was excluded.
    pub form: Vec<u8>,
    /// What stands where the wanted pointer points.
    pub wanted: Wanted,
}

/// What stands at the wanted place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Nothing.
    Absent,
    /// A string, unescaped.
    Text(Vec<u8>),
    /// Something that is no string.
    Other,
}

/// The canonical form of a whole document.
pub fn canonicalize(input: &[u8]) -> Result<Vec<u8>, JsonError> {
    read(input, &[], None).map(|reading| reading.form)
}

/// Reads a document: leaves out what `exclude` points to (at most [`MAX_POINTERS`]) and notes what `wanted` points to.
pub fn read(input: &[u8], exclude: &[Pointer], wanted: Option<&Pointer>) -> Result<Reading, JsonError> {
    if let Err(error) = core::str::from_utf8(input) {
        return Err(JsonError { offset: error.valid_up_to(), fault: Fault::Encoding });
    }
    let mut reader = Reader {
        input,
        at: 0,
        form: Vec::with_capacity(input.len()),
        members: Vec::new(),
        exclude,
        wanted,
        found: Wanted::Absent,
    };
    reader.skip_space();
    reader.value(0, pointer::Matching::all(exclude.len(), wanted.is_some()))?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(Reading { form: reader.form, wanted: reader.found }),
        Some(_) => Err(reader.fault(Fault::Syntax)),
    }
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    form: Vec<u8>,
    /// Members of the objects being read, innermost last: where each name and its value stand in `form`.
    members: Vec<Member>,
    exclude: &'a [Pointer],
    wanted: Option<&'a Pointer>,
    found: Wanted,
}

struct Member {
    name: Range<usize>,
    end: usize,
    offset: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize, matching: pointer::Matching) -> Result<(), JsonError> {
        if matching.is_wanted(self.wanted, depth) && self.peek() != Some(b'"') {
            self.found = Wanted::Other;
        }
        match self.peek() {
            Some(b'{') => self.object(depth, matching),
            Some(b'[') => self.array(depth, matching),
            Some(b'"') => {
                let start = self.form.len();
                self.string()?;
                if matching.is_wanted(self.wanted, depth) {
                    self.found = Wanted::Text(text::unescape(self.form.get(start..).unwrap_or_default()));
                }
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => Err(self.fault(Fault::Syntax)),
        }
    }

    fn object(&mut self, depth: usize, matching: pointer::Matching) -> Result<(), JsonError> {
        self.open(depth)?;
        let first = self.members.len();
        let start = self.form.len();
        self.form.push(b'{');
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.member(depth, matching)?;
                if !self.another(b'}')? {
                    break;
                }
            }
        }
        self.close_object(start, first)
    }

    fn member(&mut self, depth: usize, matching: pointer::Matching) -> Result<(), JsonError> {
        let (offset, begin) = (self.at, self.form.len());
        if self.peek() != Some(b'"') {
            return Err(self.fault(Fault::Syntax));
        }
        self.string()?;
        let name = begin..self.form.len();
        let inner = match self.form.get(name.clone()) {
            Some(name) if matching.any() => matching.member(self.exclude, self.wanted, depth, name),
            _ => pointer::Matching::none(),
        };
        self.skip_space();
        self.expect(b':')?;
        self.form.push(b':');
        self.skip_space();
        self.value(depth + 1, inner)?;
        self.skip_space();
        if inner.is_excluded(self.exclude, depth + 1) {
            // Kept until the object is closed, as the name still counts for duplicates.
            self.form.truncate(name.end);
        }
        self.members.push(Member { name, end: self.form.len(), offset });
        Ok(())
    }

    /// Puts the members of the object that begins at `start` in order and checks that each is named once.
    fn close_object(&mut self, start: usize, first: usize) -> Result<(), JsonError> {
        let mut members = self.members.split_off(first);
        let Reader { form, .. } = self;
        let name = |member: &Member| form.get(member.name.clone()).unwrap_or_default();
        members.sort_by(|one, other| name(one).cmp(name(other)).then(one.offset.cmp(&other.offset)));
        let twice = members.windows(2).find_map(|pair| match pair {
            [one, other] if name(one) == name(other) => Some(other.offset),
            _ => None,
        });
        if let Some(offset) = twice {
            return Err(JsonError { offset, fault: Fault::DuplicateMember });
        }
        let mut ordered = Vec::with_capacity(form.len().saturating_sub(start) + members.len());
        for member in members.iter().filter(|member| member.end > member.name.end) {
            ordered.push(if ordered.is_empty() { b'{' } else { b',' });
            ordered.extend_from_slice(form.get(member.name.start..member.end).unwrap_or_default());
        }
        if ordered.is_empty() {
            ordered.push(b'{');
        }
        ordered.push(b'}');
        form.truncate(start);
        form.append(&mut ordered);
        Ok(())
    }

    fn array(&mut self, depth: usize, matching: pointer::Matching) -> Result<(), JsonError> {
        self.open(depth)?;
        self.form.push(b'[');
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            let mut index = 0;
            loop {
                let inner = matching.element(self.exclude, self.wanted, depth, index);
                if index > 0 {
                    self.form.push(b',');
                }
                let begin = self.form.len();
                self.value(depth + 1, inner)?;
                if inner.is_excluded(self.exclude, depth + 1) {
                    // An excluded element keeps its place, so that the ones after it do not move.
                    self.form.truncate(begin);
                    self.form.push(b'_');
                }
                self.skip_space();
                index += 1;
                if !self.another(b']')? {
                    break;
                }
            }
        }
        self.form.push(b']');
        Ok(())
    }

    fn open(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth >= MAX_DEPTH {
            return Err(self.fault(Fault::TooDeep));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Whether a comma, and so another element, follows; else the closing byte must.
    fn another(&mut self, closing: u8) -> Result<bool, JsonError> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                Ok(true)
            }
            Some(byte) if byte == closing => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.fault(Fault::Syntax)),
        }
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at = text::string(self.input, self.at, &mut self.form)?;
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        self.at = number::number(self.input, self.at, &mut self.form)?;
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), JsonError> {
        for &byte in word {
            self.expect(byte)?;
        }
        self.form.extend_from_slice(word);
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() != Some(byte) {
            return Err(self.fault(Fault::Syntax));
        }
        self.at += 1;
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn fault(&self, fault: Fault) -> JsonError {
        JsonError { offset: self.at, fault }
    }
}
