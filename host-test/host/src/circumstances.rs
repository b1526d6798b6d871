//! What a call is told of the world: the time and fresh randomness, from the system.
//!
//! It cannot know how far the system's clock is off; a host that can should give the core an interval instead.

use std::time::{SystemTime, UNIX_EPOCH};

use oncegate_core::decision::Circumstances;
use oncegate_core::time::{Instant, Timestamp};

use crate::EngineError;

/// The time by the system's clock, which is trusted to the millisecond. Before 1970 it is the epoch.
pub fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant::exactly(Timestamp::from_millis(0).after(since))
}

/// 32 fresh bytes from the system's cryptographic generator.
///
/// # Errors
/// The system has none to give.
pub fn entropy() -> Result<[u8; 32], EngineError> {
    let mut entropy = [0; 32];
    getrandom::fill(&mut entropy).map_err(|_| EngineError::NoEntropy)?;
    Ok(entropy)
}

/// Both: what a call needs.
///
/// # Errors
/// As [`entropy`].
pub fn circumstances() -> Result<Circumstances, EngineError> {
    Ok(Circumstances { now: now(), entropy: entropy()? })
}
