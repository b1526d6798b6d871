//! What of a document is compared: JSON Pointers (RFC 6901) to what is left out, to what alone is kept, and to what is
//! wanted by itself. They are followed while the document is read.
//!
//! `*` stands for every element of an array. To leave out outranks to keep. Where something else than an object or array
//! stands on the way to what is kept, it is kept as it is.

use alloc::string::String;
use alloc::vec::Vec;

/// The most pointers that one reading follows.
pub const MAX_POINTERS: usize = 64;

/// A parsed pointer with at least one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pointer(Vec<String>);

/// What a pointer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// What it points to is left out.
    Exclude,
    /// Only what such pointers point to is kept.
    Select,
    /// What it points to is handed out.
    Want,
}

/// Pointers and what they are for. The default keeps everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection(Vec<(Role, Pointer)>);

/// Where the reader is.
#[derive(Clone, Copy)]
pub(in crate::canonical) struct Place {
    pub(super) depth: usize,
    /// Which pointers lead here: a bit each.
    leading: u64,
    /// Nothing is selected, or what is, holds this.
    covered: bool,
}

impl Pointer {
    /// Reads `/member/0/*`; `None` if it is no pointer, or points to the whole document.
    pub fn parse(text: &str) -> Option<Self> {
        let steps = text.strip_prefix('/')?.split('/').map(step).collect::<Option<Vec<_>>>()?;
        Some(Pointer(steps))
    }

    /// Whether it may point to more than one place.
    pub fn is_wild(&self) -> bool {
        self.0.iter().any(|step| step == "*")
    }
}

impl Selection {
    /// `None` if there are more than [`MAX_POINTERS`].
    pub fn new(pointers: Vec<(Role, Pointer)>) -> Option<Self> {
        (pointers.len() <= MAX_POINTERS).then_some(Selection(pointers))
    }

    pub(in crate::canonical) fn root(&self) -> Place {
        let leading = (0..self.0.len()).fold(0, |bits, at| bits | bit(at));
        Place { depth: 0, leading, covered: self.0.iter().all(|(role, _)| *role != Role::Select) }
    }

    /// The member with this name, which is asked for only where it matters.
    pub(in crate::canonical) fn member(&self, place: Place, name: impl FnOnce() -> Option<Vec<u8>>) -> Place {
        let name = if place.leading == 0 { None } else { name() };
        self.inside(place, |step| name.as_deref() == Some(step.as_bytes()))
    }

    /// This element of an array.
    pub(super) fn element(&self, place: Place, index: usize) -> Place {
        self.inside(place, |step| step == "*" || (is_index(step) && step.parse() == Ok(index)))
    }

    pub(in crate::canonical) fn leaves_out(&self, place: Place) -> bool {
        self.any(place, |role, ends| role == Role::Exclude && ends)
            || !(place.covered || self.any(place, |role, _| role == Role::Select))
    }

    pub(in crate::canonical) fn wants(&self, place: Place) -> bool {
        self.any(place, |role, ends| role == Role::Want && ends)
    }

    fn inside(&self, place: Place, goes_on: impl Fn(&str) -> bool) -> Place {
        let mut inner = Place { depth: place.depth + 1, leading: 0, covered: place.covered };
        for (at, (role, pointer)) in self.leading(place) {
            if pointer.0.get(place.depth).is_some_and(|step| goes_on(step)) {
                inner.leading |= bit(at);
                inner.covered |= *role == Role::Select && pointer.0.len() == inner.depth;
            }
        }
        inner
    }

    fn any(&self, place: Place, is: impl Fn(Role, bool) -> bool) -> bool {
        self.leading(place).any(|(_, (role, pointer))| is(*role, pointer.0.len() == place.depth))
    }

    fn leading(&self, place: Place) -> impl Iterator<Item = (usize, &(Role, Pointer))> {
        let count = if place.leading == 0 { 0 } else { self.0.len() };
        self.0.iter().take(count).enumerate().filter(move |(at, _)| place.leading & bit(*at) != 0)
    }
}

fn bit(at: usize) -> u64 {
    u32::try_from(at).ok().and_then(|at| 1u64.checked_shl(at)).unwrap_or_default()
}

/// RFC 6901, section 4: no sign and no leading zeros.
fn is_index(step: &str) -> bool {
    step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()))
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
