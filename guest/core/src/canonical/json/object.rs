//! Objects: members in order, each named once, and none that is left out.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use super::{Profile, text};
use crate::canonical::{Fault, FormError};

/// A member that was read: where its name and its value stand in the form. One that is left out ends with its name.
pub(super) struct Member {
    pub(super) name: Range<usize>,
    pub(super) end: usize,
    /// Where the name stands in the input.
    pub(super) offset: usize,
}

/// Closes the object that begins at `start`: its members stand there in the order of the input, with commas between them.
pub(super) fn close(
    form: &mut Vec<u8>,
    start: usize,
    members: &mut [Member],
    profile: Profile,
) -> Result<(), FormError> {
    let name = |member: &Member| form.get(member.name.clone()).unwrap_or_default();
    let order = |one: &Member, other: &Member| match profile {
        Profile::Exact => name(one).cmp(name(other)),
        Profile::Jcs => by_utf16(name(one), name(other)),
    };
    let in_order = members.is_sorted_by(|one, other| order(one, other) == Ordering::Less);
    if in_order && members.iter().all(Member::is_kept) {
        form.push(b'}');
        return Ok(());
    }
    members.sort_unstable_by(|one, other| order(one, other).then(one.offset.cmp(&other.offset)));
    let twice = members.windows(2).find_map(|pair| match pair {
        [one, other] if name(one) == name(other) => Some(other.offset),
        _ => None,
    });
    if let Some(offset) = twice {
        return Err(FormError { offset, fault: Fault::DuplicateMember });
    }
    let mut ordered = Vec::with_capacity(form.len().saturating_sub(start) + 1);
    ordered.push(b'{');
    for member in members.iter().filter(|member| member.is_kept()) {
        if ordered.len() > 1 {
            ordered.push(b',');
        }
        ordered.extend_from_slice(form.get(member.name.start..member.end).unwrap_or_default());
    }
    ordered.push(b'}');
    form.truncate(start);
    form.append(&mut ordered);
    Ok(())
}

impl Member {
    fn is_kept(&self) -> bool {
        self.end > self.name.end
    }
}

/// RFC 8785, section 3.2.3.
fn by_utf16(one: &[u8], other: &[u8]) -> Ordering {
    let units = |name| {
        text::characters(name).flat_map(|character| {
            let mut units = [0; 2];
            let count = character.encode_utf16(&mut units).len();
            units.into_iter().take(count)
        })
    };
    units(one).cmp(units(other))
}
