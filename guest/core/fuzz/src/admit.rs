//! Admissions of any request under a policy that has a bit of everything, over a store with any answers.

use std::sync::{Arc, LazyLock};

use oncegate_core::decision::{Attempt, Conditions, Decision, Wait};
use oncegate_core::engine::Engine;
use oncegate_core::request::{Outcome, Request, Response};
use oncegate_core::store::Limits;
use oncegate_core::time::Timestamp;

use crate::kit::{self, Store};

const POLICY: &[u8] = br#"{"version":1,"described_by":"/policy","rules":[
    {"operation":"order","match":{"path":"/orders"},"scope":{"tenant":{"header":"x-tenant"}},"in_flight":{"wait":"5s"},
     "max_run":"3m","fingerprint":{"exclude":["/at"],"retryable_rebind":["/otp"],"headers":["x-currency"],"query":"sorted"},
     "previous":{"scope":[{"tenant":{"property":"jwt.org"}}],"fingerprint":[{},{"body":"raw"}]}},
    {"operation":"item","match":{"methods":["PUT","DELETE"],"path":"/orders/{order}/items/{item}"},
     "scope":{"tenant":{"property":"jwt.org"},"order":{"path":"order"}},"key":{"query":"key","body":"/key"},
     "fingerprint":{"body":"jcs","invalid":"raw","query":"ignore","properties":["jwt.role"]},"limits":{"request":64}},
    {"operation":"upload","match":{"path":"/files/**"},"scope":"shared","key":{"required":false},
     "fingerprint":{"body":"multipart"},"replay":{"mode":"refuse","store":"none"}},
    {"operation":"booking","match":{"path":"/bookings/{id}"},"scope":{"tenant":{"constant":"one"}},
     "legacy":{"lookup":"/bookings/{id}/done?by={key}"}},
    {"operation":"event","match":{"path":"/events"},"scope":"shared","webhook":{"scheme":"github","secrets":["shop"]}},
    {"operation":"odd","match":{"path":"/odd/**"},"ambiguous":"accept","scope":"shared","retention":"forever",
     "fingerprint":{"body":"form"},"origin":{"deduplicates":true},"key":{"format":{"min_length":3,"characters":"a-z-"}}}]}"#;

static ENGINES: LazyLock<[Arc<Engine>; 2]> = LazyLock::new(|| {
    [false, true].map(|read_first| {
        let limits = Limits { read_first, ..kit::LIMITS };
        Arc::new(Engine::new(POLICY, &kit::keyring(), limits).expect("the target's policy is right"))
    })
});

/// Runs the target. The first line: `1` where the store is read first, where the second request has waited, where the store
/// may have forgotten; then the store's answers. After it the request, which comes three times.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|&byte| byte == b'\n').unwrap_or(data.len());
    let (line, text) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let flag = |at: usize| line.get(at) == Some(&b'1');
    let engine = &ENGINES[usize::from(flag(0))];
    let mut store = Store::default();
    store.script.extend(line.iter().skip(3));
    let request = kit::request(text);
    let _ = engine.cover(&request.head);
    let forgot = Conditions { amnesia_until: flag(2).then_some(Timestamp::from_millis(1500)), ..Default::default() };
    let waited = Conditions { waited: flag(1), ..Default::default() };

    let first = admit(engine, &mut store, &request, forgot, 1);
    let second = admit(engine, &mut store, &request, waited, 2);
    assert!(!flag(2) || first.is_none(), "an absent record proves nothing");
    assert!(!flag(1) || second.is_none(), "who has waited does not get the claim");
    let mut claims: Vec<Attempt> = first.into_iter().chain(second).collect();
    if let Some(claim) = claims.first() {
        let headers = vec![("location".to_string(), b"/done".to_vec()), ("x-odd".to_string(), vec![0xff])];
        let outcome = Outcome::Answered(Response { status: 201, headers, body: b"done".to_vec() });
        let settling = engine.settle(claim.clone(), outcome, kit::at(3)).expect("our own attempt");
        let settlement = store.drive(settling);
        assert!(store.lied || !settlement.alarm, "{}", settlement.row);
    }
    claims.extend(admit(engine, &mut store, &request, Conditions::default(), 4));
    assert!(store.lied || claims.len() <= 1, "one claim proceeds once: {claims:?}");
}

/// The attempt, if one was admitted.
fn admit(
    engine: &Arc<Engine>,
    store: &mut Store,
    request: &Request,
    conditions: Conditions,
    second: u64,
) -> Option<Attempt> {
    let admission = store.drive(engine.admit(request.clone(), conditions, kit::at(second)));
    let proceed = match admission.decision {
        Decision::Bypass => return None,
        Decision::Proceed(proceed) => *proceed,
        Decision::Ask(inquiry) => inquiry.proceed,
        Decision::Replay(response)
        | Decision::Conflict(response)
        | Decision::Stop(response)
        | Decision::Refuse(response)
        | Decision::Unavailable(response)
        | Decision::Wait(Wait { response, .. }) => {
            is_sendable(&response);
            return None;
        }
    };
    let attempt = proceed.attempt;
    assert!(attempt.fence >= 1 && attempt.tries >= 1 && proceed.answer_by > Timestamp::from_millis(second * 1000));
    let visible = |(_, value): &(String, Vec<u8>)| value.iter().all(|byte| (0x20..=0x7e).contains(byte));
    assert!(proceed.send.iter().all(visible), "what the origin is told can stand in a header");
    let held = store.entries.get(attempt.key.as_bytes());
    assert!(store.lied || held.is_some_and(|entry| entry.revision == attempt.revision), "the claim is durable");
    Some(attempt)
}

fn is_sendable(response: &Response) {
    assert!((200..=599).contains(&response.status));
    for (name, value) in &response.headers {
        assert!(!name.is_empty() && !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "{name}");
    }
}
