//! The policy, checked and ready: which requests are covered, and by which rule.
//!
//! It decides from the head of a request alone. It cannot know whether a scope is right for the business: two callers
//! that share a tenant value share its keys.

pub mod document;
pub mod publication;
pub mod target;
pub mod units;
pub mod webhook;

pub mod change;
mod check;

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::decision::Knowledge;
use crate::identity::KeyFormat;
use crate::plan::Plan;
use crate::request::Head;
use document::{Ambiguous, InFlight, ReplayMode, Retention, Scope, Store, Unmatched, Unsettled};
use target::Template;
use webhook::Webhook;

/// Why a policy or keyring was turned down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigurationError {
    /// Where, such as `rules[2].lease`; empty for the whole document.
    pub path: String,
    /// One sentence that says what to do.
    pub message: String,
}

impl core::fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl core::error::Error for ConfigurationError {}

/// A checked policy.
#[derive(Debug)]
pub struct Policy {
    unmatched: Unmatched,
    ambiguous: Ambiguous,
    described_by: Option<String>,
    rules: Vec<Arc<Rule>>,
    /// The document in canonical form, hashed.
    digest: [u8; 32],
}

/// A checked rule.
#[derive(Debug)]
pub struct Rule {
    /// The declared operation.
    pub operation: String,
    /// Covered methods.
    pub methods: Vec<String>,
    /// Covered paths.
    pub template: Template,
    /// What becomes of a covered request that can be read in two ways.
    pub ambiguous: Ambiguous,
    /// Where the client key stands.
    pub key: KeySource,
    /// Where it is unique.
    pub scope: Scope,
    /// Where it was unique before.
    pub earlier_scopes: Vec<Scope>,
    /// How the fingerprint is made.
    pub plan: Plan,
    /// How it was made before.
    pub earlier_plans: Vec<Plan>,
    /// Length of an attempt's lease.
    pub lease: Duration,
    /// How far renewals may extend it.
    pub max_run: Duration,
    /// Kept free for settling.
    pub settle_bound: Duration,
    /// The longest wait for the origin.
    pub upstream_timeout: Duration,
    /// The longest pause of a gateway.
    pub longest_pause: Duration,
    /// Life of a finished result.
    pub retention: Retention,
    /// What a duplicate gets meanwhile.
    pub in_flight: InFlight,
    /// What a status says of the effect, exact ones and classes.
    pub outcomes: Vec<(StatusPattern, Knowledge)>,
    /// Tries in all.
    pub max_attempts: Option<u32>,
    /// The origin deduplicates by action id.
    pub deduplicates: bool,
    /// The origin refuses old fences.
    pub fences: bool,
    /// How a known key is answered.
    pub replay: ReplayMode,
    /// What is kept of an answer.
    pub store: Store,
    /// Lower-case names of headers to replay.
    pub replayed: Vec<String>,
    /// Bytes of request body.
    pub max_request: u64,
    /// Bytes of response body that are held; 0 where the answer counts from its headers on.
    pub max_response: u64,
    /// Where a durable business fact may be looked up.
    pub legacy: Option<Legacy>,
    /// How events are signed.
    pub webhook: Option<Webhook>,
    /// What an unrecorded outcome shows.
    pub unsettled: Unsettled,
}

/// Where the client key stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySource {
    /// Lower-case header name.
    pub header: Option<String>,
    /// JSON Pointer.
    pub body: Option<String>,
    /// Query parameter.
    pub query: Option<String>,
    /// Whether it must be there.
    pub required: bool,
    /// Whether the header may hold it without quotes.
    pub bare: bool,
    /// What it must look like.
    pub format: KeyFormat,
}

/// Where a durable business fact may be looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Legacy {
    /// The target of the lookup, with `{parameter}` and `{key}`.
    pub target: Vec<TargetPart>,
    /// Bytes of the fact's answer that are taken over.
    pub max_body: u64,
}

/// A piece of a lookup's target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetPart {
    /// As it stands.
    Literal(String),
    /// A path parameter, as it came.
    Parameter(String),
    /// The client key, percent-encoded.
    Key,
}

/// A status, or a class of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StatusPattern {
    /// Exactly this.
    Exactly(u16),
    /// The hundred that begins with this digit.
    Class(u16),
}

impl StatusPattern {
    /// Whether a status falls under it.
    pub fn covers(self, status: u16) -> bool {
        match self {
            StatusPattern::Exactly(code) => status == code,
            StatusPattern::Class(digit) => status / 100 == digit,
        }
    }
}

/// What the head of a request meets.
pub enum Route<'p> {
    /// Not a mutation, or none that a rule covers and the policy lets pass.
    Pass(&'static str),
    /// Refused whatever the body.
    Refuse(&'static str, String),
    /// Covered.
    Covered(&'p Arc<Rule>, Vec<(String, Vec<u8>)>),
}

impl Policy {
    /// Reads and checks a document.
    pub fn parse(document: &[u8]) -> Result<Self, ConfigurationError> {
        check::policy(document)
    }

    /// Finds what covers a request. A target that may be read in two ways is refused before any rule is tried, so that
    /// no spelling goes round a rule.
    pub fn route(&self, head: &Head) -> Route<'_> {
        let reading = matches!(head.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE");
        let path = head.path();
        let mut of_method = self.rules.iter().filter(|rule| rule.methods.contains(&head.method));
        let rule = of_method.clone().find_map(|rule| {
            let found = rule.template.matches(path)?;
            Some((rule, found.into_iter().map(|(name, value)| (name.to_string(), value.to_vec())).collect()))
        });
        let accepts = rule.as_ref().map_or(self.ambiguous, |(rule, _)| rule.ambiguous) == Ambiguous::Accept;
        if !accepts && target::overrides_method(head) {
            return Route::Refuse("method-override", "the request asks for another method than its own".into());
        }
        if !accepts && (!reading || rule.is_some()) {
            if let Some(why) = target::plain(path) {
                return Route::Refuse("target-ambiguous", why.into());
            }
            if rule.is_none() && of_method.any(|rule| rule.template.matches_but_for_slash(path)) {
                let why = "a rule covers this path but for the slash at its end: spell it as the rule does";
                return Route::Refuse("target-ambiguous", why.into());
            }
        }
        match (rule, reading, self.unmatched) {
            (Some((rule, found)), _, _) => Route::Covered(rule, found),
            (None, true, _) => Route::Pass("not-a-mutation"),
            (None, false, Unmatched::Pass) => Route::Pass("uncovered"),
            (None, false, Unmatched::Refuse) => {
                Route::Refuse("uncovered-refused", "no rule covers this request".into())
            }
        }
    }

    /// The rule of an operation.
    pub fn rule(&self, operation: &str) -> Option<&Arc<Rule>> {
        self.rules.iter().find(|rule| rule.operation == operation)
    }

    /// Headers that rules believe: those that stand in a scope. Lower case, each once.
    pub fn believed_headers(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for scope in self.rules.iter().flat_map(|rule| rule.scopes()) {
            let Scope::Parts(parts) = scope else { continue };
            for (_, source) in parts {
                if let document::Source::Header(name) = source
                    && !names.contains(name)
                {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// Where the key policy is published.
    pub fn described_by(&self) -> Option<&str> {
        self.described_by.as_deref()
    }

    /// The rules, in order.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// Hash of the document's canonical form.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl Rule {
    /// The scope in force, then earlier ones.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        core::iter::once(&self.scope).chain(&self.earlier_scopes)
    }

    /// The plan in force, then earlier ones.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        core::iter::once(&self.plan).chain(&self.earlier_plans)
    }
}
