//! Expectations: what a step must come to, and the comparison with what was seen.

use std::collections::BTreeMap;

use oncegate_core::decision::{Knowledge, State};
use oncegate_core::request::{Field, Response, values};
use serde::Deserialize;

use crate::seen::{Seen, Sight};
use crate::vector::{Content, Values};

/// What must come of a step. What is left out is not looked at, except `origin_calls`: left out, nothing was called.
///
/// A host that is seen from outside only (over HTTP) shows answers and what the origin got; the rest is compared where it
/// can be seen.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The table's row.
    pub row: Option<String>,
    /// What `admit` decides.
    pub decision: Option<DecisionName>,
    /// How often the origin has been called since the case's start.
    pub origin_calls: Option<u64>,
    /// The status of the client's answer.
    pub status: Option<u16>,
    /// Header fields of the client's answer: all lines of a name, `null` for none, `"*"` for any.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<Values>>,
    /// The body of the client's answer.
    pub body: Option<Content>,
    /// The kind of problem: the answer's `type` after `urn:oncegate:problem:`.
    pub problem: Option<String>,
    /// The least and the most seconds in the answer's `Retry-After`.
    pub retry_after: Option<[u64; 2]>,
    /// Store reads of this step.
    pub gets: Option<u64>,
    /// Store commits of this step, those that lost a race included.
    pub commits: Option<u64>,
    /// The attempt's fence.
    pub fence: Option<u32>,
    /// Tries of the action so far.
    pub tries: Option<u32>,
    /// `new`, or the name of an attempt of the same action.
    pub action: Option<String>,
    /// When the origin's answer must be complete, in milliseconds after the start.
    pub answer_by: Option<u64>,
    /// Header fields that the origin gets, as in `headers`.
    #[serde(default)]
    pub sent: BTreeMap<String, Option<Values>>,
    /// What `settle` takes the outcome to say.
    pub knowledge: Option<KnowledgeName>,
    /// How firmly `settle` has recorded it.
    pub standing: Option<StandingName>,
    /// Whether `settle` raises the alarm.
    pub alarm: Option<bool>,
    /// Whether `resolve` changed the record.
    pub resolved: Option<bool>,
    /// What `explain` tells of the record.
    pub held: Option<HeldExpectation>,
    /// Why the attempt cannot be judged: `other-generation` or `malformed`.
    pub error: Option<String>,
}

/// A decision by its name.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "as in wit/enforcer.wit")]
pub enum DecisionName {
    Bypass,
    Proceed,
    Ask,
    Replay,
    Conflict,
    Wait,
    Stop,
    Refuse,
    Unavailable,
}

/// A knowledge by its name.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "as in wit/enforcer.wit")]
pub enum KnowledgeName {
    Committed,
    Rejected,
    NoEffect,
    Unknown,
}

/// A standing by its name.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "as in wit/enforcer.wit")]
pub enum StandingName {
    Recorded,
    Provisional,
    Unrecorded,
}

/// What `explain` must tell of a record.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct HeldExpectation {
    /// `claimed`, `in-progress`, `succeeded`, `failed-permanently`, `failed-retryably`, `unknown`; `nothing`: no record
    /// that can be read.
    pub state: String,
    /// The request is the one that it was made for.
    pub same_fingerprint: Option<bool>,
    /// Its fence.
    pub fence: Option<u32>,
    /// Its tries.
    pub tries: Option<u32>,
    /// Two effects may have happened.
    pub double_effect_suspected: Option<bool>,
}

impl Expect {
    /// Whether an attempt comes of it.
    pub(crate) fn claims(&self) -> bool {
        matches!(self.decision, Some(DecisionName::Proceed | DecisionName::Ask))
    }

    /// What was seen otherwise, a line each. `before`: the calls of the origin before the step.
    pub fn faults(&self, seen: &Seen, before: u64) -> Vec<String> {
        let mut faults = Faults(Vec::new());
        faults.same("origin_calls", Some(self.origin_calls.unwrap_or(before)), Some(seen.origin_calls));
        self.compare_answer(seen.response.as_ref(), &mut faults);
        compare_fields("sent", &self.sent, &seen.sent, &mut faults);
        if let Some(attempt) = &seen.attempt {
            faults.same("fence", self.fence, Some(attempt.fence));
            faults.same("action", self.action.as_deref(), Some(attempt.action_of.as_str()));
        }
        if seen.sight == Sight::Inside || seen.row.is_some() {
            faults.same("row", self.row.as_deref(), seen.row.as_deref());
        }
        if seen.sight == Sight::Inside {
            self.compare_inside(seen, &mut faults);
        }
        faults.0
    }

    fn compare_answer(&self, response: Option<&Response>, faults: &mut Faults) {
        faults.same("status", self.status, response.map(|response| response.status));
        let fields = response.map_or(&[][..], |response| &response.headers);
        compare_fields("headers", &self.headers, fields, faults);
        if let Some(body) = &self.body {
            let found = response.map(|response| Bytes(response.body.clone()));
            match body.bytes() {
                Ok(bytes) => faults.same("body", Some(Bytes(bytes)), found),
                Err(why) => faults.0.push(format!("body: {why}")),
            }
        }
        let problem = response.and_then(problem);
        faults.same("problem", self.problem.as_deref(), problem.as_deref());
        if let Some([least, most]) = self.retry_after {
            let text = values(fields, "retry-after").next().map(|value| String::from_utf8_lossy(value).into_owned());
            let seconds = text.as_ref().and_then(|text| text.parse::<u64>().ok());
            if !seconds.is_some_and(|seconds| (least..=most).contains(&seconds)) {
                faults.0.push(format!("retry_after: expected {least} to {most}, got {text:?}"));
            }
        }
    }

    fn compare_inside(&self, seen: &Seen, faults: &mut Faults) {
        faults.same("decision", self.decision, seen.decision);
        faults.same("gets", self.gets, Some(seen.gets));
        faults.same("commits", self.commits, Some(seen.commits));
        let attempt = seen.attempt.as_ref();
        if attempt.is_none() {
            faults.same("fence", self.fence, None);
            faults.same("action", self.action.as_deref(), None);
        }
        faults.same("tries", self.tries, attempt.and_then(|attempt| attempt.tries));
        faults.same("answer_by", self.answer_by, attempt.and_then(|attempt| attempt.answer_by));
        faults.same("knowledge", self.knowledge, seen.knowledge);
        faults.same("standing", self.standing, seen.standing);
        faults.same("alarm", self.alarm, seen.alarm);
        faults.same("resolved", self.resolved, seen.resolved);
        faults.same("error", self.error.as_deref(), seen.error.as_deref());
        if let Some(expected) = &self.held {
            let held = seen.held.as_ref();
            let state = held.map_or("nothing", |held| state_name(held.state));
            faults.same("held.state", Some(expected.state.as_str()), Some(state));
            let same = held.and_then(|held| held.same_fingerprint);
            faults.same("held.same_fingerprint", expected.same_fingerprint, same);
            faults.same("held.fence", expected.fence, held.map(|held| held.fence));
            faults.same("held.tries", expected.tries, held.map(|held| held.tries));
            let suspected = held.map(|held| held.double_effect_suspected);
            faults.same("held.double_effect_suspected", expected.double_effect_suspected, suspected);
        }
    }
}

/// Shown as text, and with what is no text escaped.
#[derive(PartialEq)]
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

struct Faults(Vec<String>);

impl Faults {
    /// Nothing expected is always met.
    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: Option<T>, seen: Option<T>) {
        match (expected, seen) {
            (None, _) => {}
            (Some(expected), Some(seen)) if expected == seen => {}
            (Some(expected), Some(seen)) => self.0.push(format!("{what}: expected {expected:?}, got {seen:?}")),
            (Some(expected), None) => self.0.push(format!("{what}: expected {expected:?}, got none")),
        }
    }
}

fn compare_fields(what: &str, expected: &BTreeMap<String, Option<Values>>, fields: &[Field], faults: &mut Faults) {
    for (name, expected) in expected {
        let found: Vec<String> =
            values(fields, name).map(|value| String::from_utf8_lossy(value).into_owned()).collect();
        let expected = match expected {
            None => Vec::new(),
            Some(Values::One(any)) if any == "*" && !found.is_empty() => continue,
            Some(Values::One(value)) => vec![value.clone()],
            Some(Values::Many(values)) => values.clone(),
        };
        faults.same(&format!("{what}.{name}"), Some(expected), Some(found));
    }
}

/// The kind of problem of a problem document.
pub(crate) fn problem(response: &Response) -> Option<String> {
    member(response, "type")?.strip_prefix("urn:oncegate:problem:").map(str::to_string)
}

/// A text in a problem document.
pub(crate) fn member(response: &Response, name: &str) -> Option<String> {
    let media_type = values(&response.headers, "content-type").next()?;
    let document: serde_json::Value = serde_json::from_slice(&response.body).ok()?;
    (media_type == b"application/problem+json").then(|| document.get(name)?.as_str().map(str::to_string))?
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Claimed => "claimed",
        State::InProgress => "in-progress",
        State::Succeeded => "succeeded",
        State::FailedPermanently => "failed-permanently",
        State::FailedRetryably => "failed-retryably",
        State::Unknown => "unknown",
    }
}

impl From<Knowledge> for KnowledgeName {
    fn from(knowledge: Knowledge) -> Self {
        match knowledge {
            Knowledge::Committed => KnowledgeName::Committed,
            Knowledge::Rejected => KnowledgeName::Rejected,
            Knowledge::NoEffect => KnowledgeName::NoEffect,
            Knowledge::Unknown => KnowledgeName::Unknown,
        }
    }
}
