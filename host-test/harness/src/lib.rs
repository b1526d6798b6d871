//! Conformance vectors for oncegate: cases in JSON, and the subjects that play them.
//!
//! A [`vector`] tells a history of requests and outcomes against a policy, and what must come of each step: the row, the
//! answer, the store calls, and how often the origin has been called. A [`subject`] plays it: the core natively, the
//! component in wasmtime, `oncegate serve` over HTTP, or a host of yours. [`run`] compares.
//!
//! ```text
//! cargo run -p oncegate-harness -- run                       # all shipped cases, all subjects
//! cargo run -p oncegate-harness -- run --subject core --store sqlite:/tmp/a.sqlite my-cases.json
//! cargo run -p oncegate-harness -- tables                    # README's tables, from the code
//! ```
//!
//! It decides nothing about requests and knows no rule. What it cannot know: whether the cases are enough; it knows only
//! that each row has some ([`coverage`]).

pub mod coverage;
pub mod expect;
pub mod report;
pub mod run;
pub mod seen;
pub mod subject;
pub mod tables;
pub mod vector;

mod store;
