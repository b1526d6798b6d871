//! Exact JSON.

use std::sync::LazyLock;

use oncegate_core::canonical::json::{Pointer, Profile, Role, Selection, canonicalize, read};
use oncegate_core::canonical::{Fault, FormError};

use crate::tree::{self, Untold};

static SELECTION: LazyLock<Selection> = LazyLock::new(|| {
    let pointers = [
        (Role::Exclude, "/a/b"),
        (Role::Exclude, "/list/*/x"),
        (Role::Exclude, "/list/0"),
        (Role::Want, "/key"),
        (Role::Want, "/a/0"),
    ];
    let parsed = pointers.map(|(role, text)| (role, Pointer::parse(text).expect("a pointer")));
    Selection::new(parsed.to_vec()).expect("few pointers")
});

/// Runs the target.
pub fn run(data: &[u8]) {
    let reading = canonicalize(data);
    let selected = read(data, Profile::Exact, &SELECTION);
    assert_eq!(selected.as_ref().err(), reading.as_ref().err(), "what is left out must be well-formed as well");
    match reading {
        Ok(form) => accepted(data, &form),
        Err(error) => refused(data, error),
    }
}

fn accepted(data: &[u8], form: &[u8]) {
    assert_eq!(canonicalize(form).as_deref(), Ok(form), "a form is its own form");
    assert_eq!(canonicalize(&tree::respelled(form)).as_deref(), Ok(form), "spelling does not matter");
    assert!(tree::is_grammatical(data) && tree::is_grammatical(form));
    match (tree::read(data), tree::read(form)) {
        (Err(Untold::Beyond), told) => assert_eq!(told, Err(Untold::Beyond)),
        (told, of_form) => assert_eq!(told.expect("serde_json reads it, too"), of_form.expect("and its form")),
    }
}

fn refused(data: &[u8], FormError { offset, fault }: FormError) {
    assert!(offset <= data.len());
    let told = tree::read(data);
    match fault {
        Fault::Encoding => assert_eq!(std::str::from_utf8(data).map_err(|error| error.valid_up_to()), Err(offset)),
        Fault::Syntax => assert!(!tree::is_grammatical(data), "{offset}"),
        Fault::DuplicateMember => assert!(matches!(told, Err(Untold::Duplicate | Untold::Beyond)), "{told:?}"),
        // A member named twice before it is told there first.
        Fault::LoneSurrogate => assert!(told.is_err(), "{told:?}"),
        Fault::TooDeep => assert!(data.iter().filter(|byte| b"[{".contains(byte)).count() > 64),
        // An exponent of more than fifteen digits, zeros before it not counted.
        Fault::Number => assert!(data[offset..].iter().filter(|byte| byte.is_ascii_digit()).count() > 16),
        Fault::Boundary | Fault::PartHeader | Fault::TooManyParts => panic!("{fault:?} in JSON"),
    }
    if told.is_ok() {
        assert!(matches!(fault, Fault::TooDeep | Fault::Number), "serde_json reads it: {fault:?} at {offset}");
    }
}
