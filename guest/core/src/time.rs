//! Time as the host knows it. The core reads no clock: every call is told what the time is.

use core::time::Duration;

/// A point in time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Later than every time that a clock can show.
    pub const NEVER: Timestamp = Timestamp(u64::MAX);

    /// The time so many milliseconds after the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Timestamp(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This much later; `NEVER` where that cannot be told.
    pub fn after(self, span: Duration) -> Self {
        Timestamp(self.0.saturating_add(millis(span)))
    }

    /// This much earlier; the epoch where that cannot be told.
    pub fn before(self, span: Duration) -> Self {
        Timestamp(self.0.saturating_sub(millis(span)))
    }
}

/// What the host knows of the time: at least `earliest`, at most `latest`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instant {
    /// The time is not before this.
    pub earliest: Timestamp,
    /// The time is not after this.
    pub latest: Timestamp,
}

impl Instant {
    /// For a host that trusts its clock.
    pub const fn exactly(now: Timestamp) -> Self {
        Instant { earliest: now, latest: now }
    }

    /// Whether the limit is over for certain. At the limit itself it is.
    pub fn is_past(&self, limit: Timestamp) -> bool {
        self.earliest >= limit
    }
}

/// A span in whole milliseconds.
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
