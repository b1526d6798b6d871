//! `multipart/form-data` (RFC 7578) by its parts: what remains when the random boundary is taken away.
//!
//! The form is a list of parts in order, each its header lines in order and its content, all with their lengths before
//! them. Header names are compared without case and values without the white space around them, but nothing inside a value
//! is read anew: a file name is compared as it is spelled.
//!
//! It is read strictly, because what two servers split differently must not become equal here: lines end with CR LF,
//! nothing stands before the first delimiter or after the last, no header is folded, and `--boundary` stands nowhere but in
//! a delimiter. Each part has one `Content-Disposition: form-data` with a name.

use alloc::string::String;
use alloc::vec::Vec;

use super::json::{Selection, Wanted};
use super::media_type::{is_token, trim, with_parameters};
use super::{Fault, FormError, Reading};

/// The most parts of one body.
pub const MAX_PARTS: usize = 1000;

/// The most header lines of one part.
pub const MAX_HEADERS: usize = 16;

/// Whether a text may be a boundary (RFC 2046, section 5.1.1).
pub fn is_boundary(text: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte);
    (1..=70).contains(&text.len()) && text.iter().all(allowed) && !text.ends_with(b" ")
}

/// The form of a body. A pointer of a single step stands for all parts of that name; longer ones lead nowhere.
pub fn read(input: &[u8], boundary: &[u8], selection: &Selection) -> Result<Reading, FormError> {
    if !is_boundary(boundary) {
        return Err(FormError { offset: 0, fault: Fault::Boundary });
    }
    let dashed = [b"--", boundary].concat();
    let mut cursor = Cursor { input, at: 0 };
    let mut reading = Reading { form: Vec::with_capacity(input.len()), wanted: Wanted::Absent };
    let mut parts = 0;
    cursor.expect(&dashed, Fault::Boundary)?;
    while cursor.opens_part()? {
        if parts == MAX_PARTS {
            return Err(cursor.fault(Fault::TooManyParts));
        }
        parts += 1;
        let mut part = cursor.part(&dashed)?;
        let (name, lines) = header(&mut part)?;
        note(&name, &lines, part.rest(), selection, &mut reading);
    }
    Ok(reading)
}

type Line<'a> = (String, &'a [u8]);

fn note(name: &[u8], lines: &[Line], content: &[u8], selection: &Selection, reading: &mut Reading) {
    let place = selection.member(selection.root(), || Some(name.to_vec()));
    if selection.wants(place) {
        reading.wanted = match reading.wanted {
            Wanted::Absent => Wanted::Text(content.to_vec()),
            _ => Wanted::Other,
        };
    }
    if selection.leaves_out(place) {
        return;
    }
    let form = &mut reading.form;
    form.extend_from_slice(&(lines.len() as u64).to_be_bytes());
    let strings = lines.iter().flat_map(|(name, value)| [name.as_bytes(), value]);
    for string in strings.chain([content]) {
        form.extend_from_slice(&(string.len() as u64).to_be_bytes());
        form.extend_from_slice(string);
    }
}

/// The header of a part with the empty line after it: the part's name, and all lines.
fn header<'a>(cursor: &mut Cursor<'a>) -> Result<(Vec<u8>, Vec<Line<'a>>), FormError> {
    let start = cursor.at;
    let mut lines: Vec<Line> = Vec::new();
    loop {
        let (offset, text) = (cursor.at, cursor.line()?);
        if text.is_empty() {
            break;
        }
        if lines.len() == MAX_HEADERS {
            return Err(FormError { offset, fault: Fault::TooManyParts });
        }
        lines.push(field_line(text).ok_or(FormError { offset, fault: Fault::PartHeader })?);
    }
    let name = name(&lines).ok_or(FormError { offset: start, fault: Fault::PartHeader })?;
    Ok((name, lines))
}

fn field_line(text: &[u8]) -> Option<Line<'_>> {
    let colon = text.iter().position(|&byte| byte == b':')?;
    let (name, value) = text.split_at_checked(colon)?;
    let value = trim(value.strip_prefix(b":")?);
    let plain = is_token(name) && value.iter().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e | 0x80..));
    plain.then(|| Some((core::str::from_utf8(name).ok()?.to_ascii_lowercase(), value)))?
}

fn name(lines: &[Line]) -> Option<Vec<u8>> {
    let mut dispositions = lines.iter().filter(|(name, _)| name == "content-disposition");
    let (Some((_, value)), None) = (dispositions.next(), dispositions.next()) else { return None };
    let (kind, parameters) = with_parameters(value)?;
    let (_, name) = parameters.into_iter().find(|(name, _)| name == "name")?;
    (kind == "form-data").then_some(name)
}

/// Where these bytes first stand. Both a boundary and a line's end are short, so that trying each place costs little, and a
/// faster search five kilobytes.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// After a delimiter: whether a part follows; else the body must end.
    fn opens_part(&mut self) -> Result<bool, FormError> {
        if self.expect(b"\r\n", Fault::Boundary).is_ok() {
            return Ok(true);
        }
        self.expect(b"--", Fault::Boundary)?;
        match self.rest() {
            b"" | b"\r\n" => Ok(false),
            _ => Err(self.fault(Fault::Boundary)),
        }
    }

    /// What stands before the next delimiter, which is passed.
    fn part(&mut self, dashed: &[u8]) -> Result<Cursor<'a>, FormError> {
        let start = self.at;
        self.at += find(self.rest(), dashed).ok_or(self.fault(Fault::Boundary))?;
        let before = self.input.get(..self.at).unwrap_or_default();
        let input = before.strip_suffix(b"\r\n").ok_or(self.fault(Fault::Boundary))?;
        self.at += dashed.len();
        Ok(Cursor { input, at: start })
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<&'a [u8], FormError> {
        let rest = self.rest();
        let length = find(rest, b"\r\n").ok_or(self.fault(Fault::PartHeader))?;
        self.at += length + 2;
        Ok(rest.get(..length).unwrap_or_default())
    }

    fn expect(&mut self, bytes: &[u8], fault: Fault) -> Result<(), FormError> {
        if !self.rest().starts_with(bytes) {
            return Err(self.fault(fault));
        }
        self.at += bytes.len();
        Ok(())
    }

    fn rest(&self) -> &'a [u8] {
        self.input.get(self.at..).unwrap_or_default()
    }

    fn fault(&self, fault: Fault) -> FormError {
        FormError { offset: self.at, fault }
    }
}
