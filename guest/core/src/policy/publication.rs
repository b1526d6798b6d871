//! The published key policy: what callers may know of a policy, so that they can choose keys and retries rightly. It names
//! no scope, secret or origin.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use super::document::{InFlight, ReplayMode, Retention};
use super::{Policy, Rule};
use crate::time::millis;

/// What callers may know of a policy.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct KeyPolicy {
    /// One for each rule, in the order in which they are tried.
    pub operations: Vec<Operation>,
}

/// What callers may know of a rule.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Its declared name.
    pub operation: String,
    /// Covered methods.
    pub methods: Vec<String>,
    /// Covered paths, as a template.
    pub path: String,
    /// Where a key may stand, such as `header idempotency-key`.
    pub key_in: Vec<String>,
    /// Whether there must be one.
    pub key_required: bool,
    /// The fewest characters of a key.
    pub key_min_length: usize,
    /// The most characters of a key.
    pub key_max_length: usize,
    /// The ASCII characters that a key may hold.
    pub key_characters: String,
    /// How many random bits a key should hold.
    pub key_entropy_bits: Option<u16>,
    /// How long a key is known after its outcome, in seconds; none: for ever.
    pub known_for_seconds: Option<u64>,
    /// How long a duplicate waits for the first one's answer, in milliseconds; 0: it is told 409 at once.
    pub waits_for_milliseconds: u64,
    /// How a known key is answered: `bytes`, `operation` or `refuse`.
    pub replay: &'static str,
    /// How often it may be tried in all; none: no limit.
    pub max_attempts: Option<u32>,
    /// The most bytes of a request's body.
    pub max_request_bytes: u64,
}

impl Policy {
    /// What is published.
    pub fn key_policy(&self) -> KeyPolicy {
        KeyPolicy { operations: self.rules().iter().map(|rule| operation(rule)).collect() }
    }
}

fn operation(rule: &Rule) -> Operation {
    let places = [("header", &rule.key.header), ("body", &rule.key.body), ("query", &rule.key.query)];
    let format = &rule.key.format;
    let ascii = (0u8..128).filter(|code| format.characters >> code & 1 == 1).map(char::from);
    Operation {
        operation: rule.operation.clone(),
        methods: rule.methods.clone(),
        path: rule.template.to_string(),
        key_in: places
            .iter()
            .filter_map(|(place, name)| name.as_ref().map(|name| [place, name.as_str()].join(" ")))
            .collect(),
        key_required: rule.key.required,
        key_min_length: format.min_length,
        key_max_length: format.max_length,
        key_characters: ascii.collect(),
        key_entropy_bits: format.entropy_bits,
        known_for_seconds: match rule.retention {
            Retention::For(span) => Some(span.as_secs()),
            Retention::Forever => None,
        },
        waits_for_milliseconds: match rule.in_flight {
            InFlight::Reject => 0,
            InFlight::Wait(span) => millis(span.0),
        },
        replay: match rule.replay {
            ReplayMode::Bytes => "bytes",
            ReplayMode::Operation => "operation",
            ReplayMode::Refuse => "refuse",
        },
        max_attempts: rule.max_attempts,
        max_request_bytes: rule.max_request,
    }
}
