//! Why the program ends other than well, and with which exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// Why the program could not go on.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Exit code 1: something that worked with this configuration before did not work now.
    Run(String),
    /// Exit code 2: options, policy, keys or key set are wrong; starting again will not help.
    Use(String),
}

impl Failure {
    /// Wrong use, with what is wrong in front.
    pub(crate) fn wrong(what: impl Display, why: impl Display) -> Self {
        Failure::Use(format!("{what}: {why}"))
    }

    /// Says it on standard error.
    pub(crate) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Failure::Run(message) => (message, 1),
            Failure::Use(message) => (message, 2),
        };
        eprintln!("oncegate: {message}");
        ExitCode::from(code)
    }
}
