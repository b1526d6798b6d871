//! From the component's words to the core's. What the component gives is checked like any other input.

use std::time::Duration;

use oncegate_core::decision::{
    Admission, Answer, Attempt, AttemptError, Coverage, Decision, Explanation, Held, Inquiry, Knowledge, Proceed,
    Renewal, Resolution, Settlement, Standing, State, Wait,
};
use oncegate_core::engine::Configuration;
use oncegate_core::request::Response;
use oncegate_core::store::{Expectation, Key, Put, Revision, Transaction, Write};
use oncegate_core::time::Timestamp;

use crate::EngineError;
use crate::bindings::exports::oncegate::idempotency::enforcer as wit;
use crate::bindings::oncegate::idempotency::store;

pub(crate) fn configuration(configuration: wit::Configuration) -> Result<Configuration, EngineError> {
    Ok(Configuration {
        generation: exactly(configuration.generation, "configuration")?,
        believed_headers: configuration.believed_headers,
    })
}

pub(crate) fn coverage(coverage: wit::Coverage) -> Coverage {
    match coverage {
        wit::Coverage::Pass(row) => Coverage::Pass(row.into()),
        wit::Coverage::Enforce(wit::Reading { operation, max_body }) => Coverage::Enforce { operation, max_body },
        wit::Coverage::Refuse(wit::Refusal { row, response }) => {
            Coverage::Refuse { row: row.into(), response: self::response(response) }
        }
    }
}

pub(crate) fn admission(admission: wit::Admission) -> Result<Admission, EngineError> {
    let wit::Admission { row, operation, decision, detail } = admission;
    Ok(Admission { row: row.into(), operation, decision: self::decision(decision)?, detail })
}

/// `proceed` is the inquiry's own, which the component does not give back.
pub(crate) fn answering(answering: wit::Answering, proceed: Proceed) -> Admission {
    let wit::Answering { row, operation, finding, detail } = answering;
    let decision = match finding {
        wit::Finding::Proceed => Decision::Proceed(Box::new(proceed)),
        wit::Finding::Replay(answer) => Decision::Replay(response(answer)),
        wit::Finding::Unavailable(answer) => Decision::Unavailable(response(answer)),
    };
    Admission { row: row.into(), operation, decision, detail }
}

pub(crate) fn settlement(settlement: wit::Settlement) -> Settlement {
    Settlement {
        row: settlement.row.into(),
        knowledge: match settlement.knowledge {
            wit::Knowledge::Committed => Knowledge::Committed,
            wit::Knowledge::Rejected => Knowledge::Rejected,
            wit::Knowledge::NoEffect => Knowledge::NoEffect,
            wit::Knowledge::Unknown => Knowledge::Unknown,
        },
        standing: match settlement.standing {
            wit::Standing::Recorded => Standing::Recorded,
            wit::Standing::Provisional => Standing::Provisional,
            wit::Standing::Unrecorded(why) => Standing::Unrecorded(why),
        },
        answer: match settlement.source {
            wit::AnswerSource::Origin => Answer::Origin(response(settlement.answer)),
            wit::AnswerSource::Instead => Answer::Instead(response(settlement.answer)),
        },
        alarm: settlement.alarm,
    }
}

pub(crate) fn attempt_error(error: wit::AttemptError) -> EngineError {
    EngineError::Attempt(match error {
        wit::AttemptError::OtherGeneration => AttemptError::OtherGeneration,
        wit::AttemptError::Malformed => AttemptError::Malformed,
    })
}

pub(crate) fn renewal(renewal: wit::Renewal) -> Result<Renewal, EngineError> {
    Ok(match renewal {
        wit::Renewal::Renewed(attempt) => Renewal::Renewed(self::attempt(attempt)?),
        wit::Renewal::Refused(row) => Renewal::Refused(row.into()),
        wit::Renewal::Unavailable(why) => Renewal::Unavailable(why),
    })
}

pub(crate) fn resolution(resolution: wit::Resolution) -> Resolution {
    let wit::Resolution { row, resolved, detail } = resolution;
    Resolution { row: row.into(), resolved, detail }
}

pub(crate) fn explanation(explanation: wit::Explanation) -> Result<Explanation, EngineError> {
    Ok(Explanation {
        operation: explanation.operation,
        scope: explanation.scope,
        keys: explanation.keys.into_iter().map(Key).collect(),
        row: explanation.row.into(),
        held: explanation.held.map(held).transpose()?,
    })
}

pub(crate) fn transaction(transaction: store::Transaction) -> Transaction {
    let expectation = |expected: store::Expectation| Expectation {
        key: Key(expected.key),
        revision: expected.revision.map(Revision),
    };
    let write = |write| match write {
        store::Write::Put(put) => Write::Put(Put {
            key: Key(put.key),
            value: put.value,
            forget_at: put.forget_at.map(Timestamp::from_millis),
            review_at: put.review_at.map(Timestamp::from_millis),
        }),
        store::Write::Delete(key) => Write::Delete(Key(key)),
    };
    Transaction {
        expects: transaction.expects.into_iter().map(expectation).collect(),
        writes: transaction.writes.into_iter().map(write).collect(),
    }
}

fn decision(decision: wit::Decision) -> Result<Decision, EngineError> {
    Ok(match decision {
        wit::Decision::Bypass => Decision::Bypass,
        wit::Decision::Proceed(leave) => Decision::Proceed(Box::new(proceed(leave)?)),
        wit::Decision::Ask(inquiry) => Decision::Ask(Box::new(self::inquiry(inquiry)?)),
        wit::Decision::Answer(wit::Answer { kind, response, retry_in, bound }) => {
            let response = self::response(response);
            match kind {
                wit::AnswerKind::Replay => Decision::Replay(response),
                wit::AnswerKind::Conflict => Decision::Conflict(response),
                wit::AnswerKind::Wait => Decision::Wait(Wait {
                    response,
                    retry_in: Duration::from_millis(retry_in),
                    bound: Duration::from_millis(bound),
                }),
                wit::AnswerKind::Stop => Decision::Stop(response),
                wit::AnswerKind::Refuse => Decision::Refuse(response),
                wit::AnswerKind::Unavailable => Decision::Unavailable(response),
            }
        }
    })
}

fn proceed(leave: wit::Proceed) -> Result<Proceed, EngineError> {
    Ok(Proceed {
        attempt: attempt(leave.attempt)?,
        send: leave.send,
        answer_by: Timestamp::from_millis(leave.answer_by),
        renew_every: leave.renew_every.map(Duration::from_millis),
        max_response: leave.max_response,
    })
}

fn inquiry(inquiry: wit::Inquiry) -> Result<Inquiry, EngineError> {
    let wit::Inquiry { proceed, target, max_body } = inquiry;
    Ok(Inquiry { proceed: self::proceed(proceed)?, target, max_body })
}

fn attempt(attempt: wit::Attempt) -> Result<Attempt, EngineError> {
    const WHAT: &str = "attempt";
    Ok(Attempt {
        key: Key(attempt.key),
        revision: Revision(attempt.revision),
        generation: exactly(attempt.generation, WHAT)?,
        operation: attempt.operation,
        plan: exactly(attempt.plan, WHAT)?,
        fingerprint: exactly(attempt.fingerprint, WHAT)?,
        secret: attempt.secret,
        action: exactly(attempt.action, WHAT)?,
        id: exactly(attempt.id, WHAT)?,
        fence: attempt.fence,
        tries: attempt.tries,
        claimed_at: Timestamp::from_millis(attempt.claimed_at),
        lease_until: Timestamp::from_millis(attempt.lease_until),
    })
}

fn held(held: wit::Held) -> Result<Held, EngineError> {
    Ok(Held {
        key: Key(held.key),
        state: match held.state {
            wit::State::Claimed => State::Claimed,
            wit::State::InProgress => State::InProgress,
            wit::State::Succeeded => State::Succeeded,
            wit::State::FailedPermanently => State::FailedPermanently,
            wit::State::FailedRetryably => State::FailedRetryably,
            wit::State::Unknown => State::Unknown,
        },
        same_fingerprint: held.same_fingerprint,
        action: exactly(held.action, "explanation")?,
        attempt: exactly(held.attempt, "explanation")?,
        fence: held.fence,
        tries: held.tries,
        claimed_at: Timestamp::from_millis(held.claimed_at),
        lease_until: Timestamp::from_millis(held.lease_until),
        settled_at: held.settled_at.map(Timestamp::from_millis),
        retained_until: held.retained_until.map(Timestamp::from_millis),
        double_effect_suspected: held.double_effect_suspected,
    })
}

fn response(response: wit::Response) -> Response {
    Response { status: response.status, headers: response.headers, body: response.body }
}

fn exactly<const LENGTH: usize>(bytes: Vec<u8>, what: &'static str) -> Result<[u8; LENGTH], EngineError> {
    bytes.try_into().map_err(|_| EngineError::Malformed(what))
}
