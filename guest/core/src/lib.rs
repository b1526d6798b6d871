#![no_std]
#![forbid(unsafe_code)]
//! oncegate's rules.
extern crate alloc;
pub mod decision;
pub mod keyring;
pub mod request;
pub mod store;
pub mod time;
