//! Vectors: cases of one or more policies, told so that any host in any language can play them.
//!
//! # A file
//!
//! ```json
//! {
//!   "about": "What is replayed, and for how long.",
//!   "policy": { "version": 1, "rules": [ ... ] },
//!   "policies": { "narrower": { ... } },
//!   "requests": {
//!     "order": { "method": "POST", "target": "/orders",
//!                "headers": { "Idempotency-Key": "k-1", "X-Tenant": "acme", "Content-Type": "application/json" },
//!                "body": { "json": { "sku": "lamp", "quantity": 2 } } },
//!     "changed": { "like": "order", "body": { "json": { "sku": "lamp", "quantity": 3 } } }
//!   },
//!   "responses": { "made": { "status": 201, "headers": { "Location": "/orders/1" }, "body": "made" } },
//!   "cases": [
//!     { "name": "replay-success", "row": "replay-success",
//!       "steps": [
//!         { "at": 0,   "admit": "order", "expect": { "row": "first-claim", "decision": "proceed", "origin_calls": 1 } },
//!         { "at": 100, "settle": "made", "expect": { "row": "settle-success", "status": 201 } },
//!         { "at": 200, "admit": "order", "expect": { "row": "replay-success", "status": 201, "body": "made",
//!                                                    "headers": { "Idempotent-Replayed": "true" }, "origin_calls": 1 } }
//!       ] } ]
//! }
//! ```
//!
//! # A case
//!
//! A case is a history: it starts with an empty store, the file's `policy` and the secret 1, and each step happens at its
//! time (`at`, milliseconds after the case's start). What is held is therefore never described, it is made; bytes that no
//! history makes are put there by `tamper`. A case is named after the row that it shows, and that row is expected by one of
//! its steps.
//!
//! Where all steps of a case lie within a second, time plays no part in it, and a host that cannot set its clock may play
//! it as fast as it can.
//!
//! # What is common to all hosts
//!
//! - Secret `n` is any 32 bytes of the host's choice, the same throughout a case. Whoever draws new ones for each case can
//!   play all cases on one store.
//! - A request is given to the policy's coverage first (`cover`), and its body is read up to what that says. The two agree.
//! - The origin is called once for each `proceed`, except where the attempt is settled as `not_sent`. `origin_calls` is the
//!   number of calls since the case's start. A step that does not say it calls nothing.
//! - Looking up a fact is no call of the origin. What a webhook's sender signs with is any bytes.
//! - `gets` and `commits` are the store calls of the step itself.

mod message;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

pub(crate) use message::unhex;
pub use message::{
    Content, ContentTold, Fields, PlainRequest, Ref, RequestDocument, ResponseDocument, Unresolved, Values,
};
pub use step::{Act, EvidenceName, Fault, Gone, OutcomeDocument, Step, Tampering, Told, VerdictDocument};

/// The files that are shipped, by name.
pub const SHIPPED: &[(&str, &str)] = &[
    ("admission", include_str!("../vectors/admission.json")),
    ("facts", include_str!("../vectors/facts.json")),
    ("identity", include_str!("../vectors/identity.json")),
    ("lifecycle", include_str!("../vectors/lifecycle.json")),
    ("outside", include_str!("../vectors/outside.json")),
    ("replay", include_str!("../vectors/replay.json")),
    ("settlement", include_str!("../vectors/settlement.json")),
];

/// A file of cases.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What the cases have in common, in a sentence.
    pub about: String,
    /// The policy that every case starts with.
    pub policy: Value,
    /// Other policies, for the step `configure`.
    #[serde(default)]
    pub policies: BTreeMap<String, Value>,
    /// Requests by name.
    #[serde(default)]
    pub requests: BTreeMap<String, RequestDocument>,
    /// The origin's responses by name.
    #[serde(default)]
    pub responses: BTreeMap<String, ResponseDocument>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A history and what is expected of it.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The row, and after a space the variant: `replay-success after a restart`.
    pub name: String,
    /// The row that it shows.
    pub row: String,
    /// Why it is worth a case, where the name does not tell; with a report from the field, that.
    #[serde(default)]
    pub story: Option<String>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

impl File {
    /// Reads a file. The error says where it is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let mut file: File = serde_path_to_error::deserialize(&mut deserializer)
            .map_err(|error| format!("{}: {}", error.path(), error.inner()))?;
        let mut names = BTreeSet::new();
        for case in &mut file.cases {
            case.complete().map_err(|why| format!("case `{}`: {why}", case.name))?;
            if !names.insert(case.name.clone()) {
                return Err(format!("case `{}`: the name stands twice", case.name));
            }
        }
        Ok(file)
    }

    /// The policy of this name; none: the one that cases start with.
    pub fn policy(&self, name: Option<&str>) -> Result<Vec<u8>, String> {
        let policy = match name {
            None => Some(&self.policy),
            Some(name) => self.policies.get(name),
        };
        policy
            .map(|policy| policy.to_string().into_bytes())
            .ok_or_else(|| "there is no policy of this name".to_string())
    }
}

impl Case {
    /// Gives each attempt a name, each step that is about an attempt that name, and finds what cannot be played.
    fn complete(&mut self) -> Result<(), String> {
        let (mut now, mut names, mut last) = (0, BTreeSet::new(), None);
        for (at, step) in self.steps.iter_mut().enumerate() {
            if step.at < now {
                return Err(format!("step {at} happens before the one before it"));
            }
            now = step.at;
            match &mut step.act {
                Act::Admit { name, .. } if step.expect.claims() => {
                    let name = name.get_or_insert_with(|| format!("attempt of step {at}")).clone();
                    if !names.insert(name.clone()) {
                        return Err(format!("step {at}: the attempt `{name}` was admitted before"));
                    }
                    last = Some(name);
                }
                Act::Settle { attempt, .. } | Act::Lookup { attempt, .. } | Act::Renew { attempt } => {
                    let named = attempt.take().or_else(|| last.clone());
                    let named = named.ok_or_else(|| format!("step {at}: no attempt was admitted before"))?;
                    if !names.contains(&named) {
                        return Err(format!("step {at}: no attempt `{named}` was admitted before"));
                    }
                    *attempt = Some(named);
                }
                _ => {}
            }
        }
        if !self.steps.iter().any(|step| step.expect.row.as_ref() == Some(&self.row)) {
            return Err(format!("no step expects the row `{}`", self.row));
        }
        match self.name.strip_prefix(self.row.as_str()) {
            Some(rest) if rest.is_empty() || rest.starts_with(' ') => Ok(()),
            _ => Err(format!("the name begins with the row `{}`, then a space and the variant", self.row)),
        }
    }

    /// Whether the origin hears of an attempt: not if it is settled as never sent.
    pub fn sends(&self, attempt: &str) -> bool {
        !self.steps.iter().any(|step| match &step.act {
            Act::Settle { attempt: of, outcome: OutcomeDocument::Told(told) } => {
                of.as_deref() == Some(attempt) && matches!(told, Told::NotSent(_))
            }
            _ => false,
        })
    }

    /// Whether time plays no part: all happens within a second.
    pub fn is_timeless(&self) -> bool {
        self.steps.iter().all(|step| step.at < 1000 && step.uncertain == 0)
    }
}
