//! Subjects: what plays a case. Whoever has another host implements [`Subject`] for it and plays the same vectors.

mod component;
mod core;
mod inside;
mod serve;

use std::sync::Arc;

use async_trait::async_trait;
use oncegate_host::store::Store;

use crate::seen::Seen;
use crate::vector::{Case, File, Step};

pub use self::component::Component;
pub use self::core::Core;
pub use self::serve::Serve;

/// An implementation under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// Why it cannot play a case, if so.
    fn cannot(&self, file: &File, case: &Case) -> Option<&'static str>;

    /// Begins a case: nothing is held, the file's policy and the secret 1 are in force.
    ///
    /// # Errors
    /// It does not start; why.
    async fn begin(&self, stage: Stage) -> Result<Box<dyn Play>, String>;
}

/// What a case is played with.
#[derive(Clone)]
pub struct Stage {
    /// The file that the case stands in.
    pub file: Arc<File>,
    /// The case.
    pub case: Arc<Case>,
    /// Where records are kept. It may hold those of other cases.
    pub store: Arc<dyn Store>,
}

/// A case that is being played.
#[async_trait]
pub trait Play: Send {
    /// Plays the next step.
    ///
    /// # Errors
    /// It cannot be played, or the subject failed; why.
    async fn play(&mut self, step: &Step) -> Result<Seen, String>;

    /// Ends the case, and all that was started for it.
    ///
    /// # Errors
    /// Something was left over; what.
    async fn end(self: Box<Self>) -> Result<(), String>;
}
