//! The legacy fallback: a fact is looked up after the claim, and a lookup without an answer is not absence.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

mod kit;

use kit::{Bench, answered, request, status};
use oncegate_core::decision::{Admission, Decision, Inquiry};
use oncegate_core::request::{Outcome, Response};

const RULE: &str = r#"{"operation":"order","match":{"path":"/{kind}"},"scope":{"tenant":{"header":"x-tenant"}},
    "retention":"60s","legacy":{"lookup":"/{kind}/by-key/{key}","max_body":"10B"}}"#;

fn ask(bench: &mut Bench, key: &str, second: u64) -> Inquiry {
    match bench.admit(request("a", key, "{}"), second).decision {
        Decision::Ask(inquiry) => *inquiry,
        other => panic!("{other:?}"),
    }
}

fn answer(bench: &mut Bench, inquiry: Inquiry, lookup: Outcome, second: u64) -> Admission {
    let circumstances = bench.circumstances(second);
    let step = bench.engine.answered(inquiry, lookup, circumstances).unwrap();
    let admission = bench.store.drive(step);
    bench.origin_calls += usize::from(matches!(admission.decision, Decision::Proceed(_)));
    admission
}

#[test]
fn a_fact_is_adopted_unbound_to_the_fingerprint() {
    let mut bench = Bench::new(RULE);
    let inquiry = ask(&mut bench, "a/b", 0);
    assert_eq!(inquiry.target, b"/orders/by-key/a%2Fb");
    assert_eq!(bench.admit(request("a", "a/b", "{}"), 1).row, "in-progress", "the claim is made");
    let fact = Response { status: 200, headers: Vec::new(), body: b"shipped".to_vec() };
    let admission = answer(&mut bench, inquiry, Outcome::Answered(fact), 2);
    assert_eq!((admission.row.as_ref(), status(&admission.decision)), ("legacy-replay", 200));
    // Nobody knows what was asked at the time, so another body is no conflict.
    let again = bench.admit(request("a", "a/b", r#"{"other":1}"#), 3);
    let Decision::Replay(replay) = &again.decision else { panic!("{}", again.row) };
    assert_eq!(
        (again.row.as_ref(), replay.body.as_slice(), bench.origin_calls),
        ("replay-success", &b"shipped"[..], 0)
    );
}

#[test]
fn a_fact_is_bounded() {
    let mut bench = Bench::new(RULE);
    let inquiry = ask(&mut bench, "k", 0);
    let fact = Response { status: 200, headers: Vec::new(), body: vec![b'x'; 11] };
    assert_eq!(answer(&mut bench, inquiry, Outcome::Answered(fact), 0).row, "legacy-replay");
    assert_eq!((bench.admit(request("a", "k", "{}"), 1).row.as_ref(), bench.origin_calls), ("tombstone", 0));
}

#[test]
fn no_fact_lets_the_claim_proceed() {
    for code in [404, 410] {
        let mut bench = Bench::new(RULE);
        let inquiry = ask(&mut bench, "k", 0);
        let attempt = inquiry.proceed.attempt.clone();
        let admission = answer(&mut bench, inquiry, answered(code), 0);
        assert_eq!((admission.row.as_ref(), bench.origin_calls), ("first-claim", 1));
        assert_eq!(bench.settle(&attempt, answered(201), 1).row, "settle-success");
    }
}

#[test]
fn no_answer_is_not_absence() {
    let lost = Outcome::Lost("reset".into());
    for lookup in [answered(500), answered(403), answered(302), lost, Outcome::NotSent("refused".into())] {
        let mut bench = Bench::new(RULE);
        let inquiry = ask(&mut bench, "k", 0);
        let admission = answer(&mut bench, inquiry, lookup, 0);
        assert_eq!((admission.row.as_ref(), status(&admission.decision)), ("fact-unanswered", 503));
        // The claim is released, and the next one asks again before it may proceed.
        let inquiry = ask(&mut bench, "k", 1);
        assert_eq!((inquiry.proceed.attempt.fence, bench.origin_calls), (2, 0));
        assert_eq!(
            (answer(&mut bench, inquiry, answered(200), 1).row.as_ref(), bench.origin_calls),
            ("legacy-replay", 0)
        );
    }
}
