//! Exact JSON (RFC 8259), read in one pass into its canonical form, without a value tree.
//!
//! Equal forms mean equal values: members are sorted, white space and the spelling of strings and numbers are gone, and
//! nothing is rounded: `1.0`, `1` and `10e-1` are one number, `9007199254740993` and `9007199254740992` are two, and `-0` is `0`.
//! Strings are compared as they are, without Unicode normalization. An absent member differs from `null`.
//!
//! Refused with the byte's offset: invalid UTF-8, a byte order mark, lone surrogates, members named twice (after
//! unescaping), anything after the value, nesting beyond [`MAX_DEPTH`], numbers whose power of ten has more than 15 digits.
//!
//! Memory is at most about seven times the input. Time grows with the input, but each level of nesting whose members are
//! out of order copies what it holds once: at worst [`MAX_DEPTH`] copies, which is what sets that bound.

mod number;
mod object;
mod selection;
mod text;
mod view;

use alloc::vec::Vec;

pub use selection::{MAX_POINTERS, Pointer, Role, Selection};
pub use view::Form;

use super::{Fault, FormError, Reading};
use object::Member;
use selection::Place;

/// The deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 64;

/// What counts as one number, and how members are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Exact decimals. Two numbers are one if and only if their values are.
    Exact,
    /// RFC 8785, the JSON Canonicalization Scheme: numbers are rounded to doubles, so that `0.1` and
    /// `0.10000000000000000001`, or `9007199254740992` and `9007199254740993`, are one. For those who must match what another
    /// system signs or hashes, and not for amounts. Members named twice are refused here too, as RFC 7493 wants.
    Jcs,
}

/// What stands at the wanted place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Nothing.
    Absent,
    /// A string, unescaped.
    Text(Vec<u8>),
    /// Something that is no string, or more than one.
    Other,
}

/// The exact canonical form of a whole document.
pub fn canonicalize(input: &[u8]) -> Result<Vec<u8>, FormError> {
    read(input, Profile::Exact, &Selection::default()).map(|reading| reading.form)
}

/// Reads a document. What the selection leaves out must still be well-formed; an array's element that is left out keeps its
/// place, so that the ones after it do not move.
pub fn read(input: &[u8], profile: Profile, selection: &Selection) -> Result<Reading, FormError> {
    if let Err(error) = core::str::from_utf8(input) {
        return Err(FormError { offset: error.valid_up_to(), fault: Fault::Encoding });
    }
    let form = Vec::with_capacity(input.len());
    let mut reader = Reader { input, at: 0, profile, selection, form, members: Vec::new(), found: Wanted::Absent };
    reader.skip_space();
    reader.value(selection.root())?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(Reading { form: reader.form, wanted: reader.found }),
        Some(_) => Err(reader.fault(Fault::Syntax)),
    }
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    profile: Profile,
    selection: &'a Selection,
    form: Vec<u8>,
    /// Members of the objects being read, innermost last.
    members: Vec<Member>,
    found: Wanted,
}

impl Reader<'_> {
    fn value(&mut self, place: Place) -> Result<(), FormError> {
        let start = self.form.len();
        match self.peek() {
            Some(b'{') => self.object(place)?,
            Some(b'[') => self.array(place)?,
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal(b"true")?,
            Some(b'f') => self.literal(b"false")?,
            Some(b'n') => self.literal(b"null")?,
            _ => return Err(self.fault(Fault::Syntax)),
        }
        if self.selection.wants(place) {
            let form = self.form.get(start..).unwrap_or_default();
            self.found = text::unescape(form).map_or(Wanted::Other, Wanted::Text);
        }
        Ok(())
    }

    fn object(&mut self, place: Place) -> Result<(), FormError> {
        self.open(place)?;
        let (first, start) = (self.members.len(), self.form.len());
        self.form.push(b'{');
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.member(place)?;
                if !self.another(b'}')? {
                    break;
                }
                self.form.push(b',');
            }
        }
        object::close(&mut self.form, start, self.members.get_mut(first..).unwrap_or_default(), self.profile)?;
        self.members.truncate(first);
        Ok(())
    }

    fn member(&mut self, place: Place) -> Result<(), FormError> {
        let (offset, begin) = (self.at, self.form.len());
        if self.peek() != Some(b'"') {
            return Err(self.fault(Fault::Syntax));
        }
        self.string()?;
        let name = begin..self.form.len();
        let inner = self.selection.member(place, || text::unescape(self.form.get(name.clone())?));
        self.skip_space();
        self.expect(b':')?;
        self.form.push(b':');
        self.skip_space();
        self.value(inner)?;
        self.skip_space();
        if self.selection.leaves_out(inner) {
            // The name stays until the object is closed, as it still counts for duplicates.
            self.form.truncate(name.end);
        }
        self.members.push(Member { name, end: self.form.len(), offset });
        Ok(())
    }

    fn array(&mut self, place: Place) -> Result<(), FormError> {
        self.open(place)?;
        self.form.push(b'[');
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            let mut index = 0;
            loop {
                let inner = self.selection.element(place, index);
                let begin = self.form.len();
                self.value(inner)?;
                if self.selection.leaves_out(inner) {
                    self.form.truncate(begin);
                    // No JSON value begins so.
                    self.form.push(b'_');
                }
                self.skip_space();
                index += 1;
                if !self.another(b']')? {
                    break;
                }
                self.form.push(b',');
            }
        }
        self.form.push(b']');
        Ok(())
    }

    fn open(&mut self, place: Place) -> Result<(), FormError> {
        if place.depth >= MAX_DEPTH {
            return Err(self.fault(Fault::TooDeep));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Whether a comma, and so another element, follows; else the closing byte must.
    fn another(&mut self, closing: u8) -> Result<bool, FormError> {
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

    fn string(&mut self) -> Result<(), FormError> {
        self.at = text::string(self.input, self.at, &mut self.form)?;
        Ok(())
    }

    fn number(&mut self) -> Result<(), FormError> {
        self.at = number::number(self.input, self.at, self.profile, &mut self.form)?;
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), FormError> {
        for &byte in word {
            self.expect(byte)?;
        }
        self.form.extend_from_slice(word);
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), FormError> {
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

    fn fault(&self, fault: Fault) -> FormError {
        FormError { offset: self.at, fault }
    }
}
