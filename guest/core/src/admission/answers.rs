//! What a client is told where the origin is not called.

use core::time::Duration;

use super::Admitting;
use crate::answer::{self, Problem};
use crate::decision::{Admission, Decision, Wait};
use crate::policy::document::{InFlight, ReplayMode};
use crate::record::Record;
use crate::request::Response;
use crate::table::Kind;
use crate::time::Timestamp;

impl Admitting {
    /// A decision that calls no origin.
    pub(super) fn decide(&self, row: &'static str, kind: Kind, record: Option<Record>) -> Admission {
        let say = |problem, detail: &str| self.problem(problem, row, detail, None);
        let decision = match (kind, row) {
            (Kind::Replay, _) => self.replay(row, record),
            (Kind::Conflict, _) => {
                Decision::Conflict(say(Problem::KeyReused, "this key was used for another request: nothing was done"))
            }
            (Kind::Wait, "retry-later") => Decision::Wait(self.too_early(row, record)),
            (Kind::Wait, _) => Decision::Wait(self.wait(row)),
            (Kind::Stop, "plan-unknown") => {
                Decision::Stop(say(Problem::NotComparable, "do not make a new key: ask what became of this one"))
            }
            (Kind::Stop, "retry-exhausted") => {
                Decision::Stop(say(Problem::AttemptsExhausted, "it was tried as often as the rule allows"))
            }
            (Kind::Stop, _) => Decision::Stop(say(Problem::OutcomeUnknown, answer::UNKNOWN)),
            (Kind::Refuse, "domain-taken") => {
                Decision::Refuse(say(Problem::AlreadyExists, "another request made it before"))
            }
            (Kind::Refuse, _) => Decision::Refuse(say(Problem::KeyExpired, "use a new key only for a new action")),
            (Kind::Unavailable | Kind::Proceed, _) => {
                let detail = "nothing was sent: retry with the same key";
                Decision::Unavailable(self.problem(
                    Problem::StoreUnavailable,
                    row,
                    detail,
                    Some(Duration::from_secs(2)),
                ))
            }
        };
        self.admission(row, decision)
    }

    fn replay(&self, row: &'static str, record: Option<Record>) -> Decision {
        let receipt = record.as_ref().and_then(|record| Some((record, record.receipt.as_ref()?)));
        match receipt {
            Some((record, receipt)) if self.subject.rule.replay != ReplayMode::Refuse => {
                Decision::Replay(answer::replay(&self.subject.rule, record, receipt))
            }
            _ => {
                let detail = "nothing was sent again: look at what there is";
                Decision::Refuse(self.problem(Problem::AlreadyDone, row, detail, None))
            }
        }
    }

    fn wait(&self, row: &'static str) -> Wait {
        let bound = match self.subject.rule.in_flight {
            InFlight::Reject => Duration::ZERO,
            InFlight::Wait(bound) => bound.0,
        };
        let detail = "nothing was sent: retry with the same key";
        let response = self.problem(Problem::InProgress, row, detail, Some(Duration::from_secs(1)));
        Wait { response, retry_in: Duration::from_millis(50), bound }
    }

    /// The last answer again, or a problem, with the time that is left.
    fn too_early(&self, row: &'static str, record: Option<Record>) -> Wait {
        let now = self.circumstances.now.earliest.as_millis();
        let until = record.as_ref().and_then(|record| record.not_before).map_or(now, Timestamp::as_millis);
        let left = Duration::from_millis(until.saturating_sub(now));
        let detail = "it had no effect and may be tried again: retry with the same key";
        let problem = self.problem(Problem::InProgress, row, detail, Some(left));
        let rule = &self.subject.rule;
        let receipt = record.as_ref().and_then(|record| Some((record, record.receipt.as_ref()?)));
        let response = match receipt {
            Some((record, receipt)) if receipt.body.is_some() && rule.replay == ReplayMode::Bytes => {
                let mut response = answer::replay(rule, record, receipt);
                response.headers.retain(|(name, _)| name != "retry-after");
                response.headers.extend(problem.headers.into_iter().filter(|(name, _)| name == "retry-after"));
                response
            }
            _ => problem,
        };
        Wait { response, retry_in: left, bound: Duration::ZERO }
    }

    /// A problem document; a wait is lengthened by up to as much again, so that retries do not come all at once.
    pub(super) fn problem(&self, problem: Problem, row: &str, detail: &str, wait: Option<Duration>) -> Response {
        let jitter = u32::from(self.circumstances.entropy.first().copied().unwrap_or_default());
        self.engine.problem(
            problem,
            row,
            detail,
            wait.map(|wait| wait + wait.max(Duration::from_secs(1)) * jitter / 256),
        )
    }
}
