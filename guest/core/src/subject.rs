//! The subject of an admission: a request with its identity and its fingerprint, and how it compares with a record.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use subtle::ConstantTimeEq;

use crate::answer::Problem;
use crate::decision::{Conditions, Id, State};
use crate::engine::Engine;
use crate::identity::{self, IdentityFault};
use crate::keyring::Derived;
use crate::plan::{Digest, Plan};
use crate::policy::webhook::Unverified;
use crate::policy::{Route, Rule};
use crate::record::{self, Record, Unreadable};
use crate::request::{Body, Request};
use crate::store::{Entry, Key};
use crate::table::{Absence, Lease, Likeness, Retention, Retry, Seen, Situation};
use crate::time::Instant;

/// A covered request that has an identity.
pub(crate) struct Subject {
    pub(crate) rule: Arc<Rule>,
    pub(crate) request: Request,
    path: Vec<(String, Vec<u8>)>,
    pub(crate) client_key: Vec<u8>,
    /// The record's key under each derivation in force, the current one first.
    pub(crate) keys: Vec<Key>,
    /// What the request comes to under the plan in force, or why it cannot be compared.
    digest: Result<Digest, Refusal>,
}

/// Why a request is not admitted, whatever is held.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) row: &'static str,
    pub(crate) problem: Problem,
    pub(crate) detail: String,
}

/// What a request comes to before the store is asked.
pub(crate) enum Preparation {
    Subject(Box<Subject>),
    /// Forwarded untouched.
    Bypass(&'static str),
    Refused(Refusal),
}

/// The record that counts, and where it stands.
pub(crate) struct Standing {
    pub(crate) at: usize,
    pub(crate) record: Record,
}

impl Subject {
    pub(crate) fn prepare(engine: &Engine, request: Request, now: Instant) -> Preparation {
        let (rule, path) = match engine.policy().route(&request.head) {
            Route::Pass(row) => return Preparation::Bypass(row),
            Route::Refuse(row, why) => return Preparation::Refused(Refusal::route(row, why)),
            Route::Covered(rule, path) => (Arc::clone(rule), path),
        };
        match Subject::identify(engine, rule, path, request, now) {
            Ok(Some(subject)) => Preparation::Subject(Box::new(subject)),
            Ok(None) => Preparation::Bypass("key-absent"),
            Err(refusal) => Preparation::Refused(refusal),
        }
    }

    fn identify(
        engine: &Engine,
        rule: Arc<Rule>,
        path: Vec<(String, Vec<u8>)>,
        request: Request,
        now: Instant,
    ) -> Result<Option<Self>, Refusal> {
        identity::check_connection(&rule, &request.head)?;
        if let (Some(webhook), Body::Whole(body)) = (&rule.webhook, &request.body) {
            webhook.verify(&request.head, body, now, |name| engine.keys().webhook(name))?;
        }
        let plan = &rule.plan;
        let form = match &request.body {
            Body::Whole(body) if body.len() as u64 <= rule.max_request => {
                plan.read_body(&request.head, body).map_err(|error| Refusal::unreadable(error.to_string()))
            }
            // An event that cannot be verified has no identity.
            _ if rule.webhook.is_some() => return Err(Refusal::too_large(rule.max_request)),
            _ => Err(Refusal::too_large(rule.max_request)),
        };
        let key = match &form {
            Ok(form) => identity::client_key(&rule.key, &request.head, form.key())?,
            Err(refusal) => {
                let in_head = identity::client_key(&rule.key, &request.head, &crate::canonical::json::Wanted::Absent)?;
                // It may stand in the body, which cannot be read.
                Some(in_head.ok_or_else(|| refusal.clone())?)
            }
        };
        let Some(key) = key else {
            return if rule.key.required { Err(IdentityFault::KeyMissing.into()) } else { Ok(None) };
        };
        let keys = identity::keys(&rule, engine.keys(), &request, &path, &key)?;
        let digest = form.map(|form| plan.digest(&rule.operation, &request.head, &path, &request.properties, &form));
        Ok(Some(Subject { rule, request, path, client_key: key, keys, digest }))
    }

    /// Why the request cannot be compared with any record, if so.
    pub(crate) fn fault(&self) -> Option<&Refusal> {
        self.digest.as_ref().err()
    }

    /// The value of a path parameter, as it came.
    pub(crate) fn parameter(&self, name: &str) -> &[u8] {
        self.path.iter().find(|(held, _)| held == name).map_or(&[], |(_, value)| value)
    }

    /// The fingerprint under the plan and the secret in force.
    pub(crate) fn fingerprint(&self, secret: &Derived) -> [u8; 32] {
        self.digest.as_ref().map(|digest| digest.keyed(&self.rule.plan, secret)).unwrap_or_default()
    }

    /// Which situation this is: what is held under the keys, seen at this time by this attempt.
    pub(crate) fn judge(
        &self,
        engine: &Engine,
        held: &[Option<Entry>],
        now: Instant,
        conditions: &Conditions,
        attempt: &Id,
    ) -> (Situation, Option<Standing>) {
        let mut over = None;
        for (at, (key, entry)) in self.keys.iter().zip(held).enumerate() {
            let Some(entry) = entry else { continue };
            let record = match record::open(&entry.value, key, engine.keys()) {
                Ok(record) => record,
                Err(Unreadable::NewerFormat) => return (Situation::of(Seen::NewerFormat), None),
                Err(Unreadable::Damaged) => return (Situation::of(Seen::Undecodable), None),
            };
            let situation = self.compare(engine, &record, now, conditions, attempt);
            let found = (situation, Some(Standing { at, record }));
            if situation.retention == Retention::Kept {
                return found;
            }
            over = over.or(Some(found));
        }
        let forgetful = conditions.amnesia_until.is_some_and(|until| !now.is_past(until));
        over.unwrap_or_else(|| {
            let absence = if forgetful { Absence::Amnesia } else { Absence::Free };
            (Situation { absence, ..Situation::of(Seen::Absent) }, None)
        })
    }

    fn compare(
        &self,
        engine: &Engine,
        record: &Record,
        now: Instant,
        conditions: &Conditions,
        attempt: &Id,
    ) -> Situation {
        let lease = match (now.is_past(record.lease_until), self.rule.deduplicates) {
            (false, _) => Lease::Running,
            (true, false) => Lease::Over,
            (true, true) => Lease::Reclaimable,
        };
        let seen = match record.state {
            State::InProgress if record.attempt == *attempt && lease == Lease::Running => Seen::OwnClaim,
            State::Claimed => Seen::Claimed,
            State::InProgress => Seen::InProgress,
            State::Succeeded if record.has_body() => Seen::Succeeded,
            State::Succeeded => Seen::Tombstone,
            State::FailedPermanently => Seen::FailedPermanently,
            State::FailedRetryably => Seen::FailedRetryably,
            State::Unknown => Seen::Unknown,
        };
        let alone = Situation { likeness: self.likeness(engine, record), ..Situation::of(seen) };
        if !record.is_terminal() {
            return Situation { lease, ..alone };
        }
        let retention = if now.is_past(record.retained_until) { Retention::Over } else { Retention::Kept };
        let early = record.not_before.is_some_and(|until| !now.is_past(until));
        let retry = match record.state {
            State::FailedRetryably if self.rule.max_attempts.is_some_and(|most| record.tries >= most) => {
                Retry::Exhausted
            }
            // Who has waited gets the answer that there is, and leaves the claim to others.
            State::FailedRetryably if early || conditions.waited => Retry::Early,
            _ => Retry::Ready,
        };
        Situation { retention, retry, ..alone }
    }

    /// Compared by the plan and the secret that the record was made with.
    fn likeness(&self, engine: &Engine, record: &Record) -> Likeness {
        if record.unbound && self.digest.is_ok() {
            return Likeness::Same;
        }
        let (Ok(digest), Some(plan), Some(secret)) = (
            &self.digest,
            self.rule.plans().find(|plan| *plan.id() == record.plan),
            engine.keys().with_id(record.secret),
        ) else {
            return Likeness::Incomparable;
        };
        let digest = if plan.id() == self.rule.plan.id() { Some(*digest) } else { self.digest_by(plan) };
        let Some(digest) = digest else { return Likeness::Incomparable };
        let fingerprint = digest.keyed(plan, secret);
        match bool::from(fingerprint.ct_eq(&record.fingerprint)) {
            true => Likeness::Same,
            false if plan.rebinds(&fingerprint, &record.fingerprint) => Likeness::Rebindable,
            false => Likeness::Different,
        }
    }

    fn digest_by(&self, plan: &Plan) -> Option<Digest> {
        let Body::Whole(body) = &self.request.body else { return None };
        let form = plan.read_body(&self.request.head, body).ok()?;
        Some(plan.digest(&self.rule.operation, &self.request.head, &self.path, &self.request.properties, &form))
    }
}

impl Refusal {
    pub(crate) fn route(row: &'static str, detail: String) -> Self {
        let problem = if row == "uncovered-refused" { Problem::NotCovered } else { Problem::RequestAmbiguous };
        Refusal { row, problem, detail }
    }

    fn unreadable(detail: String) -> Self {
        Refusal { row: "body-unreadable", problem: Problem::BodyUnreadable, detail }
    }

    fn too_large(limit: u64) -> Self {
        let detail = "send at most ".to_string() + &limit.to_string() + " bytes";
        Refusal { row: "body-too-large", problem: Problem::BodyTooLarge, detail }
    }
}

impl From<Unverified> for Refusal {
    fn from(why: Unverified) -> Self {
        let detail = match why {
            Unverified::Missing => "the event has no signature where its scheme has it",
            Unverified::Stale => "the event's timestamp is too far from now",
            Unverified::Wrong => "the event's signature is not that of its sender",
        };
        Refusal { row: "webhook-unverified", problem: Problem::SignatureInvalid, detail: detail.to_string() }
    }
}

impl From<IdentityFault> for Refusal {
    fn from(fault: IdentityFault) -> Self {
        let about_part = |part: String, what: &str| "the part `".to_string() + &part + "` of the scope " + what;
        let (row, problem, detail) = match fault {
            IdentityFault::KeyMissing => (
                "key-missing",
                Problem::KeyMissing,
                "send a key of your own making, and the same one with each retry".into(),
            ),
            IdentityFault::KeyMalformed => (
                "key-malformed",
                Problem::KeyMalformed,
                "send a key in the form that the key policy publishes, best in quotes".into(),
            ),
            IdentityFault::KeyRepeated => ("key-repeated", Problem::KeyMalformed, "send the key once".into()),
            IdentityFault::KeyDisagreement => {
                ("key-disagreement", Problem::KeyMalformed, "two places hold different keys: send one".into())
            }
            IdentityFault::HopByHop => {
                ("hop-by-hop", Problem::RequestAmbiguous, "Connection names a header that the rule relies on".into())
            }
            IdentityFault::ScopeMissing(part) => {
                ("scope-missing", Problem::ScopeMissing, about_part(part, "has no verified value"))
            }
            IdentityFault::ScopeRepeated(part) => {
                ("scope-repeated", Problem::RequestAmbiguous, about_part(part, "has more than one value"))
            }
        };
        Refusal { row, problem, detail }
    }
}
