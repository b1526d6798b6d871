//! From the core's words to those of `wit/`.

use oncegate_core::decision::{
    Admission, Answer, Attempt, AttemptError, Coverage, Decision, Explanation, Held, Inquiry, Knowledge, Proceed,
    Renewal, Resolution, Settlement, Standing, State, Wait,
};
use oncegate_core::engine::Engine;
use oncegate_core::policy::ConfigurationError;
use oncegate_core::request::Response;
use oncegate_core::time::{Timestamp, millis};

use crate::bare_unavailable;
use crate::bindings::exports::oncegate::idempotency::enforcer as wit;

pub(crate) fn configuration(engine: &Engine) -> wit::Configuration {
    let configuration = engine.configuration();
    wit::Configuration {
        generation: configuration.generation.to_vec(),
        believed_headers: configuration.believed_headers.to_vec(),
    }
}

pub(crate) fn configuration_error(error: ConfigurationError) -> wit::ConfigurationError {
    wit::ConfigurationError { path: error.path, message: error.message }
}

pub(crate) fn coverage(coverage: Coverage) -> wit::Coverage {
    match coverage {
        Coverage::Pass(row) => wit::Coverage::Pass(row.into_owned()),
        Coverage::Enforce { operation, max_body } => wit::Coverage::Enforce(wit::Reading { operation, max_body }),
        Coverage::Refuse { row, response } => {
            wit::Coverage::Refuse(wit::Refusal { row: row.into_owned(), response: self::response(response) })
        }
    }
}

pub(crate) fn admission(admission: Admission) -> wit::Admission {
    let Admission { row, operation, decision, detail } = admission;
    wit::Admission { row: row.into_owned(), operation, decision: self::decision(decision), detail }
}

/// The core answers an inquiry with one of the first three. With any other the origin would not be called either.
pub(crate) fn answering(admission: Admission) -> wit::Answering {
    let Admission { row, operation, decision, detail } = admission;
    let finding = match decision {
        Decision::Proceed(_) => wit::Finding::Proceed,
        Decision::Replay(answer) => wit::Finding::Replay(response(answer)),
        Decision::Unavailable(answer)
        | Decision::Conflict(answer)
        | Decision::Stop(answer)
        | Decision::Refuse(answer)
        | Decision::Wait(Wait { response: answer, .. }) => wit::Finding::Unavailable(response(answer)),
        Decision::Bypass | Decision::Ask(_) => wit::Finding::Unavailable(bare_unavailable()),
    };
    wit::Answering { row: row.into_owned(), operation, finding, detail }
}

pub(crate) fn settlement(settlement: Settlement) -> wit::Settlement {
    let (source, answer) = match settlement.answer {
        Answer::Origin(answer) => (wit::AnswerSource::Origin, answer),
        Answer::Instead(answer) => (wit::AnswerSource::Instead, answer),
    };
    wit::Settlement {
        row: settlement.row.into_owned(),
        knowledge: match settlement.knowledge {
            Knowledge::Committed => wit::Knowledge::Committed,
            Knowledge::Rejected => wit::Knowledge::Rejected,
            Knowledge::NoEffect => wit::Knowledge::NoEffect,
            Knowledge::Unknown => wit::Knowledge::Unknown,
        },
        standing: match settlement.standing {
            Standing::Recorded => wit::Standing::Recorded,
            Standing::Provisional => wit::Standing::Provisional,
            Standing::Unrecorded(why) => wit::Standing::Unrecorded(why),
        },
        source,
        answer: response(answer),
        alarm: settlement.alarm,
    }
}

pub(crate) fn attempt_error(error: AttemptError) -> wit::AttemptError {
    match error {
        AttemptError::OtherGeneration => wit::AttemptError::OtherGeneration,
        AttemptError::Malformed => wit::AttemptError::Malformed,
    }
}

pub(crate) fn renewal(renewal: Renewal) -> wit::Renewal {
    match renewal {
        Renewal::Renewed(attempt) => wit::Renewal::Renewed(self::attempt(attempt)),
        Renewal::Refused(row) => wit::Renewal::Refused(row.into_owned()),
        Renewal::Unavailable(why) => wit::Renewal::Unavailable(why),
    }
}

pub(crate) fn resolution(resolution: Resolution) -> wit::Resolution {
    let Resolution { row, resolved, detail } = resolution;
    wit::Resolution { row: row.into_owned(), resolved, detail }
}

pub(crate) fn explanation(explanation: Explanation) -> wit::Explanation {
    wit::Explanation {
        operation: explanation.operation,
        scope: explanation.scope,
        keys: explanation.keys.into_iter().map(|key| key.0).collect(),
        row: explanation.row.into_owned(),
        held: explanation.held.map(held),
    }
}

fn decision(decision: Decision) -> wit::Decision {
    let (kind, response, retry_in, bound) = match decision {
        Decision::Bypass => return wit::Decision::Bypass,
        Decision::Proceed(leave) => return wit::Decision::Proceed(proceed(*leave)),
        Decision::Ask(inquiry) => return wit::Decision::Ask(self::inquiry(*inquiry)),
        Decision::Wait(Wait { response, retry_in, bound }) => {
            (wit::AnswerKind::Wait, response, millis(retry_in), millis(bound))
        }
        Decision::Replay(answer) => (wit::AnswerKind::Replay, answer, 0, 0),
        Decision::Conflict(answer) => (wit::AnswerKind::Conflict, answer, 0, 0),
        Decision::Stop(answer) => (wit::AnswerKind::Stop, answer, 0, 0),
        Decision::Refuse(answer) => (wit::AnswerKind::Refuse, answer, 0, 0),
        Decision::Unavailable(answer) => (wit::AnswerKind::Unavailable, answer, 0, 0),
    };
    wit::Decision::Answer(wit::Answer { kind, response: self::response(response), retry_in, bound })
}

fn proceed(leave: Proceed) -> wit::Proceed {
    wit::Proceed {
        attempt: attempt(leave.attempt),
        send: leave.send,
        answer_by: leave.answer_by.as_millis(),
        renew_every: leave.renew_every.map(millis),
        max_response: leave.max_response,
    }
}

fn inquiry(inquiry: Inquiry) -> wit::Inquiry {
    let Inquiry { proceed, target, max_body } = inquiry;
    wit::Inquiry { proceed: self::proceed(proceed), target, max_body }
}

fn attempt(attempt: Attempt) -> wit::Attempt {
    wit::Attempt {
        key: attempt.key.0,
        revision: attempt.revision.0,
        generation: attempt.generation.to_vec(),
        operation: attempt.operation,
        plan: attempt.plan.to_vec(),
        fingerprint: attempt.fingerprint.to_vec(),
        secret: attempt.secret,
        action: attempt.action.to_vec(),
        id: attempt.id.to_vec(),
        fence: attempt.fence,
        tries: attempt.tries,
        claimed_at: attempt.claimed_at.as_millis(),
        lease_until: attempt.lease_until.as_millis(),
    }
}

fn held(held: Held) -> wit::Held {
    wit::Held {
        key: held.key.0,
        state: match held.state {
            State::Claimed => wit::State::Claimed,
            State::InProgress => wit::State::InProgress,
            State::Succeeded => wit::State::Succeeded,
            State::FailedPermanently => wit::State::FailedPermanently,
            State::FailedRetryably => wit::State::FailedRetryably,
            State::Unknown => wit::State::Unknown,
        },
        same_fingerprint: held.same_fingerprint,
        action: held.action.to_vec(),
        attempt: held.attempt.to_vec(),
        fence: held.fence,
        tries: held.tries,
        claimed_at: held.claimed_at.as_millis(),
        lease_until: held.lease_until.as_millis(),
        settled_at: held.settled_at.map(Timestamp::as_millis),
        retained_until: held.retained_until.map(Timestamp::as_millis),
        double_effect_suspected: held.double_effect_suspected,
    }
}

fn response(response: Response) -> wit::Response {
    wit::Response { status: response.status, headers: response.headers, body: response.body }
}
