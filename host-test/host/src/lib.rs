//! The native host of oncegate: it embeds the component that holds the rules and gives it a store.
//!
//! It decides nothing about a request. What it adds is what the component cannot have: a store, the time, randomness,
//! and bounds on how long a call may take.
//!
//! - [`Enforcer`]: the component over a [`store`], for gateways: each commit stands by itself.
//! - [`caller`]: the component inside a database transaction of a service that owns its effect.
//! - [`layer`]: the gate in front of a service, as a tower layer.
//! - [`drive()`]: the core natively on the same stores, without the component; for tests and comparisons.

mod bindings;
pub mod caller;
mod circumstances;
mod compiled;
mod drive;
mod enforcer;
mod error;
mod from_guest;
mod instances;
pub mod layer;
mod serve;
pub mod store;
mod to_guest;

pub use circumstances::{circumstances, entropy, now};
pub use drive::drive;
pub use enforcer::{Enforcer, Options};
pub use error::{BuildError, EngineError};
pub use oncegate_core as core;
