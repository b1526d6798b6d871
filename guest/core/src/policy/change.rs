//! What a new policy would forget of an old one: an edit that loses records is told before it is made.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Policy, Rule};

/// Why a policy may not replace another: an operation, and what would be lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forgotten {
    /// The declared operation.
    pub operation: String,
    /// One sentence that says what would be lost and what keeps it.
    pub message: String,
}

impl Policy {
    /// What would be forgotten if this policy replaced `old` while records of it live.
    pub fn forgets(&self, old: &Policy) -> Vec<Forgotten> {
        old.rules.iter().flat_map(|rule| self.forgets_of(rule)).collect()
    }

    fn forgets_of(&self, old: &Rule) -> Vec<Forgotten> {
        let tell = |message: String| Forgotten { operation: old.operation.clone(), message };
        let Some(new) = self.rule(&old.operation) else {
            let message = "the operation is gone, and with it its records: keep the rule until they are over";
            return alloc::vec![tell(message.into())];
        };
        let mut told = Vec::new();
        let known = |old: &Rule| old.scopes().all(|scope| new.scopes().any(|other| other == scope));
        if !known(old) {
            let message = "the scope changed: put the old one into `previous.scope` until its records are over";
            told.push(tell(message.into()));
        }
        if !old.plans().all(|plan| new.plans().any(|other| other.id() == plan.id())) {
            let message =
                "the fingerprint changed: put the old one into `previous.fingerprint` until its records are over";
            told.push(tell(message.into()));
        }
        let lost: Vec<&String> = old.methods.iter().filter(|method| !new.methods.contains(method)).collect();
        if !lost.is_empty() || old.template != new.template {
            let message = "the rule covers other requests: cover what it covered until its records are over";
            told.push(tell(message.into()));
        }
        if let (Some(header), true) = (&old.key.header, old.key.header != new.key.header) {
            told.push(tell(format!("the client key is no longer read from `{header}`: keep it there")));
        }
        told
    }
}
