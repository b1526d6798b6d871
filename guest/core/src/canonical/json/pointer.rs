//! JSON Pointers (RFC 6901), followed while the document is read. `*` stands for every element of an array.

use alloc::string::String;
use alloc::vec::Vec;

use super::text;

/// The most pointers that one reading follows.
pub const MAX_POINTERS: usize = 63;

/// A parsed pointer with at least one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// Reads `/member/0/*`; `None` if it is no pointer, or points to the whole document.
    pub fn parse(text: &str) -> Option<Self> {
        let steps = text.strip_prefix('/')?.split('/').map(step).collect::<Option<Vec<_>>>()?;
        Some(Pointer(steps))
    }
}

fn step(text: &str) -> Option<String> {
    let mut step = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        step.push(match character {
            '~' => match characters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(step)
}

/// The wanted pointer's place in a [`Matching`], after all that are excluded.
const WANTED: usize = MAX_POINTERS;

/// Which pointers lead through the value being read: a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Matching(u64);

impl Matching {
    pub(super) fn none() -> Self {
        Matching(0)
    }

    /// At the document itself: all.
    pub(super) fn all(excluded: usize, wanted: bool) -> Self {
        let exclude = (1u64 << excluded.min(MAX_POINTERS)) - 1;
        Matching(exclude | u64::from(wanted) << WANTED)
    }

    pub(super) fn any(self) -> bool {
        self.0 != 0
    }

    /// Those that go on to the member whose name has this form.
    pub(super) fn member(self, exclude: &[Pointer], wanted: Option<&Pointer>, depth: usize, name: &[u8]) -> Self {
        let name = text::unescape(name);
        self.filter(exclude, wanted, |pointer| pointer.0.get(depth).is_some_and(|step| step.as_bytes() == name))
    }

    /// Those that go on to this element of an array.
    pub(super) fn element(self, exclude: &[Pointer], wanted: Option<&Pointer>, depth: usize, index: usize) -> Self {
        if !self.any() {
            return self;
        }
        self.filter(exclude, wanted, |pointer| {
            pointer.0.get(depth).is_some_and(|step| step == "*" || step.parse() == Ok(index))
        })
    }

    /// Whether an excluded pointer ends at this depth.
    pub(super) fn is_excluded(self, exclude: &[Pointer], depth: usize) -> bool {
        self.any() && exclude.iter().enumerate().any(|(at, pointer)| self.holds(at) && pointer.0.len() == depth)
    }

    /// Whether the wanted pointer ends at this depth.
    pub(super) fn is_wanted(self, wanted: Option<&Pointer>, depth: usize) -> bool {
        self.holds(WANTED) && wanted.is_some_and(|pointer| pointer.0.len() == depth)
    }

    fn holds(self, at: usize) -> bool {
        self.0 >> at.min(WANTED) & 1 == 1
    }

    fn filter(self, exclude: &[Pointer], wanted: Option<&Pointer>, goes_on: impl Fn(&Pointer) -> bool) -> Self {
        let mut kept = 0;
        for (at, pointer) in exclude.iter().enumerate().take(MAX_POINTERS) {
            kept |= u64::from(self.holds(at) && goes_on(pointer)) << at;
        }
        kept |= u64::from(self.holds(WANTED) && wanted.is_some_and(goes_on)) << WANTED;
        Matching(kept)
    }
}
