//! From the words of `wit/` to the core's.

use alloc::vec::Vec;
use core::time::Duration;

use oncegate_core::decision::{Attempt, Circumstances, Conditions, Evidence, Inquiry, Proceed, Testimony, Verdict};
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_core::request::{Body, Head, Outcome, Request, Response};
use oncegate_core::store::{Key, Revision};
use oncegate_core::time::{Instant, Timestamp};

use crate::bindings::exports::oncegate::idempotency::enforcer as wit;
use crate::{Fault, MALFORMED_CALL};

pub(crate) fn keyring(keys: wit::Keyring) -> Keyring {
    let secrets = keys.secrets.into_iter().map(|secret| Secret { id: secret.id, bytes: secret.bytes }).collect();
    let webhooks = keys.webhooks.into_iter().map(|secret| (secret.name, secret.bytes)).collect();
    Keyring { partition: keys.partition, secrets, webhooks }
}

pub(crate) fn head(head: wit::Head) -> Head {
    Head { method: head.method, target: head.target, headers: head.headers }
}

pub(crate) fn request(request: wit::Request) -> Request {
    let body = match request.body {
        wit::Body::Whole(bytes) => Body::Whole(bytes),
        wit::Body::TooLarge => Body::TooLarge,
    };
    Request { head: head(request.head), body, properties: request.properties }
}

pub(crate) fn conditions(conditions: wit::Conditions) -> Conditions {
    let amnesia_until = conditions.amnesia_until.map(Timestamp::from_millis);
    Conditions { waited: conditions.waited, amnesia_until }
}

pub(crate) fn circumstances(circumstances: wit::Circumstances) -> Result<Circumstances, Fault> {
    let now = Instant {
        earliest: Timestamp::from_millis(circumstances.now.earliest),
        latest: Timestamp::from_millis(circumstances.now.latest),
    };
    Ok(Circumstances { now, entropy: exactly(circumstances.entropy)? })
}

pub(crate) fn attempt(attempt: wit::Attempt) -> Result<Attempt, Fault> {
    Ok(Attempt {
        key: Key(attempt.key),
        revision: Revision(attempt.revision),
        generation: exactly(attempt.generation)?,
        operation: attempt.operation,
        plan: exactly(attempt.plan)?,
        fingerprint: exactly(attempt.fingerprint)?,
        secret: attempt.secret,
        action: exactly(attempt.action)?,
        id: exactly(attempt.id)?,
        fence: attempt.fence,
        tries: attempt.tries,
        claimed_at: Timestamp::from_millis(attempt.claimed_at),
        lease_until: Timestamp::from_millis(attempt.lease_until),
    })
}

pub(crate) fn inquiry(inquiry: wit::Inquiry) -> Result<Inquiry, Fault> {
    let leave = inquiry.proceed;
    let proceed = Proceed {
        attempt: attempt(leave.attempt)?,
        send: leave.send,
        answer_by: Timestamp::from_millis(leave.answer_by),
        renew_every: leave.renew_every.map(Duration::from_millis),
        max_response: leave.max_response,
    };
    Ok(Inquiry { proceed, target: inquiry.target, max_body: inquiry.max_body })
}

pub(crate) fn outcome(outcome: wit::Outcome) -> Outcome {
    match outcome {
        wit::Outcome::Answered(answer) => Outcome::Answered(response(answer)),
        wit::Outcome::Oversized(head) => Outcome::Oversized(response(head)),
        wit::Outcome::NotSent(why) => Outcome::NotSent(why),
        wit::Outcome::Lost(why) => Outcome::Lost(why),
    }
}

pub(crate) fn key(key: Vec<u8>) -> Key {
    Key(key)
}

pub(crate) fn verdict(verdict: wit::Verdict) -> Verdict {
    match verdict {
        wit::Verdict::Committed(answer) => Verdict::Committed(response(answer)),
        wit::Verdict::Rejected(answer) => Verdict::Rejected(response(answer)),
        wit::Verdict::NoEffect(evidence) => Verdict::NoEffect(match evidence {
            wit::Evidence::OriginFences => Evidence::OriginFences,
            wit::Evidence::AttemptGone => Evidence::AttemptGone,
            wit::Evidence::Drained => Evidence::Drained,
            wit::Evidence::Forced => Evidence::Forced,
        }),
    }
}

pub(crate) fn testimony(testimony: wit::Testimony) -> Testimony {
    Testimony { actor: testimony.actor, reason: testimony.reason }
}

fn response(response: wit::Response) -> Response {
    Response { status: response.status, headers: response.headers, body: response.body }
}

fn exactly<const LENGTH: usize>(bytes: Vec<u8>) -> Result<[u8; LENGTH], Fault> {
    bytes.try_into().map_err(|_| Fault(MALFORMED_CALL))
}
