//! Canonical forms: bytes that are equal if and only if two inputs mean the same.
//!
//! | profile | equates | keeps apart |
//! |---|---|---|
//! | exact JSON ([`json`]) | white space, member order, string escapes, spellings of one decimal number | numbers at any precision, absent and `null`, all else |
//! | raw bytes | nothing | everything |
//!
//! Parts are joined by [`Parts`], each with its length before it, so that no two lists of parts give the same bytes.

pub mod json;

use sha2::{Digest, Sha256};

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
