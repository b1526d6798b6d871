//! From the core's words to those of the component.

use oncegate_core::decision::{Attempt, Circumstances, Conditions, Evidence, Inquiry, Proceed, Testimony, Verdict};
use oncegate_core::keyring::Keyring;
use oncegate_core::request::{Body, Head, Outcome, Request, Response};
use oncegate_core::store::{CommitResult, Entry, Limits, Loaded, Position, Revision, StoreError};
use oncegate_core::time::{Timestamp, millis};

use crate::bindings::exports::oncegate::idempotency::enforcer as wit;
use crate::bindings::oncegate::idempotency::{store, types};

pub(crate) fn keyring(keys: &Keyring) -> wit::Keyring {
    let secret = |secret: &oncegate_core::keyring::Secret| wit::Secret { id: secret.id, bytes: secret.bytes.clone() };
    let webhook = |(name, bytes): &(String, Vec<u8>)| wit::WebhookSecret { name: name.clone(), bytes: bytes.clone() };
    wit::Keyring {
        partition: keys.partition.clone(),
        secrets: keys.secrets.iter().map(secret).collect(),
        webhooks: keys.webhooks.iter().map(webhook).collect(),
    }
}

pub(crate) fn head(head: Head) -> wit::Head {
    wit::Head { method: head.method, target: head.target, headers: head.headers }
}

pub(crate) fn request(request: Request) -> wit::Request {
    let body = match request.body {
        Body::Whole(bytes) => wit::Body::Whole(bytes),
        Body::TooLarge => wit::Body::TooLarge,
    };
    wit::Request { head: head(request.head), body, properties: request.properties }
}

pub(crate) fn conditions(conditions: Conditions) -> wit::Conditions {
    wit::Conditions { waited: conditions.waited, amnesia_until: conditions.amnesia_until.map(Timestamp::as_millis) }
}

pub(crate) fn circumstances(circumstances: Circumstances) -> wit::Circumstances {
    let Circumstances { now, entropy } = circumstances;
    wit::Circumstances {
        now: types::Instant { earliest: now.earliest.as_millis(), latest: now.latest.as_millis() },
        entropy: entropy.to_vec(),
    }
}

pub(crate) fn attempt(attempt: &Attempt) -> wit::Attempt {
    wit::Attempt {
        key: attempt.key.0.clone(),
        revision: attempt.revision.0.clone(),
        generation: attempt.generation.to_vec(),
        operation: attempt.operation.clone(),
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

pub(crate) fn inquiry(inquiry: Inquiry) -> wit::Inquiry {
    let Inquiry { proceed, target, max_body } = inquiry;
    let Proceed { attempt, send, answer_by, renew_every, max_response } = proceed;
    let proceed = wit::Proceed {
        attempt: self::attempt(&attempt),
        send,
        answer_by: answer_by.as_millis(),
        renew_every: renew_every.map(millis),
        max_response,
    };
    wit::Inquiry { proceed, target, max_body }
}

pub(crate) fn outcome(outcome: Outcome) -> wit::Outcome {
    match outcome {
        Outcome::Answered(answer) => wit::Outcome::Answered(response(answer)),
        Outcome::Oversized(head) => wit::Outcome::Oversized(response(head)),
        Outcome::NotSent(why) => wit::Outcome::NotSent(why),
        Outcome::Lost(why) => wit::Outcome::Lost(why),
    }
}

pub(crate) fn verdict(verdict: Verdict) -> wit::Verdict {
    match verdict {
        Verdict::Committed(answer) => wit::Verdict::Committed(response(answer)),
        Verdict::Rejected(answer) => wit::Verdict::Rejected(response(answer)),
        Verdict::NoEffect(evidence) => wit::Verdict::NoEffect(match evidence {
            Evidence::OriginFences => wit::Evidence::OriginFences,
            Evidence::AttemptGone => wit::Evidence::AttemptGone,
            Evidence::Drained => wit::Evidence::Drained,
            Evidence::Forced => wit::Evidence::Forced,
        }),
    }
}

pub(crate) fn testimony(testimony: Testimony) -> wit::Testimony {
    wit::Testimony { actor: testimony.actor, reason: testimony.reason }
}

pub(crate) fn limits(limits: Limits) -> store::Limits {
    let Limits { max_value, max_entries, max_transaction, read_first } = limits;
    store::Limits { max_value, max_entries, max_transaction, read_first }
}

pub(crate) fn loaded((held, position): Loaded) -> (Vec<Option<store::Entry>>, store::Position) {
    (entries(held), self::position(position))
}

pub(crate) fn entry(entry: Entry) -> store::Entry {
    store::Entry { revision: entry.revision.0, value: entry.value }
}

pub(crate) fn commit_result(result: CommitResult) -> store::CommitResult {
    match result {
        CommitResult::Committed { position, revisions } => store::CommitResult::Committed(store::Written {
            position: self::position(position),
            revisions: self::revisions(revisions),
        }),
        CommitResult::Provisional { revisions } => store::CommitResult::Provisional(self::revisions(revisions)),
        CommitResult::Conflicted { held, position } => {
            store::CommitResult::Conflicted(store::Conflict { held: entries(held), position: self::position(position) })
        }
    }
}

pub(crate) fn store_error(error: StoreError) -> store::Error {
    match error {
        StoreError::Unavailable(why) => store::Error::Unavailable(why),
        StoreError::Unresolved(why) => store::Error::Unresolved(why),
        StoreError::Refused(why) => store::Error::Refused(why),
    }
}

fn response(response: Response) -> wit::Response {
    wit::Response { status: response.status, headers: response.headers, body: response.body }
}

fn entries(held: Vec<Option<Entry>>) -> Vec<Option<store::Entry>> {
    held.into_iter().map(|held| held.map(entry)).collect()
}

fn position(position: Position) -> store::Position {
    store::Position { epoch: position.epoch, sequence: position.sequence }
}

fn revisions(made: Vec<Revision>) -> Vec<Vec<u8>> {
    made.into_iter().map(|revision| revision.0).collect()
}
