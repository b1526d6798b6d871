//! Requests and answers for the tests of the host.
#![allow(dead_code, reason = "each test file uses its own part of the kit")]

use oncegate_core::decision::{Admission, Attempt, Circumstances, Decision};
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_core::request::{Body, Head, Outcome, Request, Response};
use oncegate_core::time::{Instant, Timestamp};

pub const POLICY: &str = r#"{"version":1,"rules":[
    {"operation":"web-order","match":{"methods":["POST"],"path":"/web-orders"},
     "scope":{"tenant":{"property":"tenant"}},"retention":"60s","lease":"30s","limits":{"request":"64MiB"}},
    {"operation":"batch-order","match":{"methods":["POST"],"path":"/batch-orders"},
     "scope":{"tenant":{"property":"tenant"}},"retention":"60s","lease":"30s"}]}"#;

pub fn keyring() -> Keyring {
    let secrets = vec![Secret { id: 1, bytes: vec![7; 32] }];
    Keyring { partition: vec![9; 32], secrets, webhooks: Vec::new() }
}

/// So many seconds after the epoch.
pub fn at(second: u64) -> Circumstances {
    let now = Instant::exactly(Timestamp::from_millis(second * 1000));
    Circumstances { now, entropy: oncegate_host::entropy().unwrap() }
}

pub fn order(tenant: &str, operation: &str, key: &str, quantity: i64) -> Request {
    with_body(tenant, operation, key, format!("{{\"quantity\":{quantity}}}").into_bytes())
}

pub fn with_body(tenant: &str, operation: &str, key: &str, body: Vec<u8>) -> Request {
    let headers = vec![
        ("content-type".to_owned(), b"application/json".to_vec()),
        ("idempotency-key".to_owned(), format!("\"{key}\"").into_bytes()),
    ];
    let head = Head { method: "POST".to_owned(), target: format!("/{operation}s").into_bytes(), headers };
    Request { head, body: Body::Whole(body), properties: vec![("tenant".to_owned(), tenant.to_owned())] }
}

pub fn answered(status: u16, body: &str) -> Outcome {
    let headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
    Outcome::Answered(Response { status, headers, body: body.as_bytes().to_vec() })
}

pub fn attempt(admission: &Admission) -> Attempt {
    match &admission.decision {
        Decision::Proceed(leave) => leave.attempt.clone(),
        other => panic!("{} is no leave to proceed: {other:?}", admission.row),
    }
}

pub fn replayed(admission: &Admission) -> &Response {
    match &admission.decision {
        Decision::Replay(response) => response,
        other => panic!("{} is no replay: {other:?}", admission.row),
    }
}
