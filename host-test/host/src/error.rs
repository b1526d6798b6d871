//! What can go wrong around the component. None of it says anything about a request: what is known of that is in the
//! answers.

use std::fmt;

use oncegate_core::decision::AttemptError;
use oncegate_core::policy::ConfigurationError;

/// Why an enforcer was not made.
#[derive(Debug)]
pub enum BuildError {
    /// The policy or the keyring was turned down.
    Configuration(ConfigurationError),
    /// The component cannot be compiled, or does not run here; why.
    Component(String),
}

/// Why a call has no answer. A claim that it had made by then stays until its lease is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EngineError {
    /// All instances of the component were in use for too long.
    Busy,
    /// The component failed or took too long; what it says of itself. The instance is discarded.
    Trapped(String),
    /// The component's answer is no value of its type; which.
    Malformed(&'static str),
    /// The attempt cannot be judged here.
    Attempt(AttemptError),
    /// The system gives no random numbers.
    NoEntropy,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Configuration(ConfigurationError { path, message }) if path.is_empty() => {
                write!(f, "the policy cannot be used: {message}")
            }
            BuildError::Configuration(ConfigurationError { path, message }) => {
                write!(f, "the policy cannot be used: {path}: {message}")
            }
            BuildError::Component(why) => write!(f, "the component cannot be used: {why}"),
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Busy => write!(f, "no instance of the component became free in time; allow more instances"),
            EngineError::Trapped(why) => write!(f, "the component failed: {why}"),
            EngineError::Malformed(what) => write!(f, "the component gave a malformed {what}"),
            EngineError::Attempt(AttemptError::OtherGeneration) => {
                write!(f, "the attempt was admitted under another configuration; settle it there")
            }
            EngineError::Attempt(AttemptError::Malformed) => {
                write!(f, "the attempt is not one that an admission returned; pass on what admit gave")
            }
            EngineError::NoEntropy => write!(f, "the system gives no random numbers"),
        }
    }
}

impl std::error::Error for BuildError {}
impl std::error::Error for EngineError {}
