//! Canonical forms: bytes that are equal if and only if two inputs mean the same.
//!
//! | profile | equates | keeps apart |
//! |---|---|---|
//! | exact JSON ([`json`], [`Profile::Exact`](json::Profile::Exact)) | white space, member order, string escapes, spellings of one decimal number | numbers at any precision, absent and `null`, element order, Unicode normal forms |
//! | JCS ([`json`], [`Profile::Jcs`](json::Profile::Jcs)) | the same, and all numbers that round to one double | all else |
//! | form ([`form`]) | percent-encoding, `+` and a space | order, repetition, `a` and `a=`, bytes that are no UTF-8 |
//! | multipart ([`multipart`]) | the boundary, the case of part header names, white space around their values | parts in order: all their header lines, the content byte by byte |
//! | raw bytes | nothing | everything |
//!
//! Each is compared together with its name, the media type ([`media_type`]) and the content coding, so that bodies of two
//! profiles are never equal. Nothing is inflated, transcoded or normalized. What cannot be known here: whether the origin
//! reads a body as its media type says.
//!
//! Parts are joined by [`Parts`], each with its length before it, so that no two lists of parts give the same bytes.

pub mod form;
pub mod json;
pub mod media_type;
pub mod multipart;

use core::fmt;

use sha2::{Digest, Sha256};

/// Why bytes have no canonical form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormError {
    /// The byte of the body at which it shows, from 0.
    pub offset: usize,
    /// What shows there.
    pub fault: Fault,
}

/// What is wrong with a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// JSON that is not UTF-8.
    Encoding,
    /// A byte that cannot stand here in JSON, or the end too early.
    Syntax,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// A member named twice, after unescaping.
    DuplicateMember,
    /// Arrays and objects nested too deeply.
    TooDeep,
    /// A number that cannot be compared: a power of ten beyond 15 digits, or in JCS a number beyond the doubles.
    Number,
    /// A multipart delimiter is missing, broken, or stands where none can.
    Boundary,
    /// A part whose header is no field line, or which has no single `Content-Disposition: form-data` with a name.
    PartHeader,
    /// More parts, or more header lines in a part, than are read.
    TooManyParts,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            Fault::Encoding => "invalid UTF-8",
            Fault::Syntax => "not JSON",
            Fault::LoneSurrogate => "half of a surrogate pair",
            Fault::DuplicateMember => "a member named twice",
            Fault::TooDeep => "nested too deeply",
            Fault::Number => "a number too large to be compared",
            Fault::Boundary => "no multipart delimiter as it must stand",
            Fault::PartHeader => "not the header of a form-data part",
            Fault::TooManyParts => "too many parts",
        };
        write!(f, "{fault} at byte {}", self.offset)
    }
}

/// A body that was read into its canonical form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The canonical form of what is compared.
    pub form: alloc::vec::Vec<u8>,
    /// What stands where the wanted pointer points.
    pub wanted: json::Wanted,
}

/// A hash over parts that cannot run into one another: each is preceded by its length.
pub struct Parts(Sha256);

impl Parts {
    /// Begins a list under a domain, which keeps equal parts for different purposes apart.
    pub fn new(domain: &str) -> Self {
        let mut parts = Parts(Sha256::new());
        parts.add(domain.as_bytes());
        parts
    }

    /// Adds one part.
    pub fn add(&mut self, part: &[u8]) -> &mut Self {
        self.count(part.len());
        self.0.update(part);
        self
    }

    /// Adds a part that may be absent; absent differs from empty.
    pub fn add_optional(&mut self, part: Option<&[u8]>) -> &mut Self {
        self.count(usize::from(part.is_some()));
        part.map(|part| self.add(part));
        self
    }

    /// Adds the number of parts that follow as one list.
    pub fn count(&mut self, number: usize) -> &mut Self {
        self.0.update((number as u64).to_be_bytes());
        self
    }

    /// The hash.
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
