//! Fuzz targets for the core. Each asserts what is promised of its parser or operation, and not only that nothing panics.
//!
//! | target | input | asserted |
//! |---|---|---|
//! | [`json`] | a document | a form is its own form; accepted and refused as `serde_json` does, but for the documented differences; the form's value is the document's; white space, member order and escapes do not matter |
//! | [`jcs`] | a document | a form is its own form; accepted as exact JSON is, but for numbers beyond the doubles; the form of the exact form is the same |
//! | [`body`] | plan, content type, content coding, body, a line each | read, or told why not; form-urlencoded as `form_urlencoded` reads it; a multipart form does not know the boundary; media types are their own form |
//! | [`client_key`] | a key as a client may write it | quoted, bare, in the query and in the body it is one key, of 1 to 255 visible ASCII characters or spaces |
//! | [`policy`] | a policy, and after a zero byte a request's head | parsed or turned down in one sentence; what is parsed forgets nothing of itself, and covers or passes any head |
//! | [`record`] | how a written record is damaged, or what extensions stand in a sealed one | damaged bytes never proceed, never replay and stay; whole ones keep their row; what is written again says the same |
//! | [`admit`] | answers of the store on the first line, then a request | it ends within a bound; as long as the store tells the truth, one claim proceeds once |
//!
//! # Running
//!
//! With cargo-fuzz on the pinned stable toolchain, from the repository's root:
//!
//! ```text
//! .ci/fuzz 10                      # each target for ten seconds, from the committed seeds
//! .ci/fuzz 60 json admit           # these two for a minute
//! FUZZ_RUNS=10000000 .ci/fuzz 0    # so many executions each, however long it takes; see RELIABILITY.md
//! ```
//!
//! No sanitizer is used, as the core forbids unsafe code; overflow checks and debug assertions are on. `corpus/` holds seeds made by
//! hand; what a run finds beyond them stays outside the tree. An input that fails becomes a named test in
//! `guest/core/tests`, with its story at its head.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a target fails by panicking")]

pub mod admit;
pub mod body;
pub mod client_key;
pub mod jcs;
pub mod json;
pub mod policy;
pub mod record;

mod kit;
mod tree;
