//! The native host of oncegate: it embeds the component that holds the rules and gives it a store.
//!
//! It decides nothing about a request. What it adds is what the component cannot have: a store, the time, randomness,
//! and bounds on how long a call may take.

mod engine;
pub mod layer;
pub mod store;

pub use engine::{Engine, EngineError};
