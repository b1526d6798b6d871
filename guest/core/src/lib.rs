//! oncegate's rules: which request may reach the origin, and what is remembered of it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod admission;
pub mod answer;
pub mod canonical;
pub mod explanation;
pub mod fact;
pub mod identity;
pub mod lifecycle;
pub mod plan;
pub mod policy;
pub mod record;
pub mod resolution;
pub mod settlement;
pub mod table;
pub mod telemetry;

pub mod decision;
pub mod engine;
pub mod keyring;
pub mod request;
pub mod step;
pub mod store;
pub mod time;

mod outcome;
mod subject;
