//! JSON by RFC 8785.

use oncegate_core::canonical::json::{Profile, Selection, canonicalize, read};
use oncegate_core::canonical::{Fault, FormError};

use crate::tree;

/// Runs the target.
pub fn run(data: &[u8]) {
    let (exact, jcs) = (canonicalize(data), form(data));
    match (exact, jcs) {
        (Ok(exact), Ok(jcs)) => {
            assert_eq!(form(&jcs).as_deref(), Ok(&jcs[..]), "a form is its own form");
            assert_eq!(form(&exact).as_deref(), Ok(&jcs[..]), "the exact form means the same");
            assert_eq!(form(&tree::respelled(&jcs)).as_deref(), Ok(&jcs[..]), "spelling does not matter");
            assert_eq!(tree::read(data).expect("serde_json reads it, too"), tree::read(&jcs).expect("and its form"));
        }
        (Ok(_), Err(FormError { fault: Fault::Number, .. })) => {
            assert_eq!(tree::read(data), Err(tree::Untold::Beyond), "a number beyond the doubles");
        }
        // What is refused first may differ where a number is beyond one of the two.
        (Err(_), Err(FormError { fault: Fault::Number, .. })) | (Err(FormError { fault: Fault::Number, .. }), _) => {}
        // Of several members that are named twice each profile tells the first in its own order.
        (Err(exact), Err(jcs)) if exact.fault == Fault::DuplicateMember => assert_eq!(jcs.fault, exact.fault),
        (exact, jcs) => assert_eq!(exact.err(), jcs.err()),
    }
}

fn form(input: &[u8]) -> Result<Vec<u8>, FormError> {
    read(input, Profile::Jcs, &Selection::default()).map(|reading| reading.form)
}
