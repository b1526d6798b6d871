//! What is kept of an answer and how a known key is answered: cases 21, 32 to 37, 39, 42 and 43 of the field.

#![expect(clippy::panic, reason = "a test may fail")]

mod kit;

use kit::{Bench, attempt, request, small_values, status};
use oncegate_core::decision::{Admission, Answer, Decision};
use oncegate_core::request::{Outcome, Response, values};

fn rule(extra: &str) -> String {
    format!(
        r#"{{"operation":"order","match":{{"path":"/orders"}},"scope":{{"tenant":{{"header":"x-tenant"}}}},"retention":"60s"{extra}}}"#
    )
}

fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect();
    Response { status, headers, body: body.to_vec() }
}

/// Runs a request to this outcome, and sends it again.
fn replayed(bench: &mut Bench, outcome: Outcome) -> Admission {
    let claimed = attempt(&bench.admit(request("a", "k", "{}"), 0));
    bench.settle(&claimed, outcome, 0);
    let again = bench.admit(request("a", "k", "{}"), 1);
    assert_eq!(bench.origin_calls, 1);
    again
}

fn replay(admission: &Admission) -> &Response {
    match &admission.decision {
        Decision::Replay(response) => response,
        other => panic!("{}: {other:?}", admission.row),
    }
}

#[test]
fn case_32_an_empty_body_is_a_body() {
    for code in [201, 202, 204] {
        let mut bench = Bench::new(&rule(""));
        let again = replayed(&mut bench, Outcome::Answered(response(code, &[], b"")));
        assert_eq!((again.row.as_ref(), replay(&again).status, replay(&again).body.len()), ("replay-success", code, 0));
    }
}

#[test]
fn case_34_a_large_answer_becomes_a_tombstone_and_never_a_second_run() {
    let mut bench = Bench::new(&rule(r#","limits":{"response":10}"#));
    let headers = [("Location", "/orders/1"), ("Content-Type", "text/plain")];
    let again = replayed(&mut bench, Outcome::Oversized(response(201, &headers, b"")));
    assert_eq!((again.row.as_ref(), replay(&again).status, replay(&again).body.len()), ("tombstone", 201, 0));
    let names: Vec<&str> = replay(&again).headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["location", "idempotent-replayed", "idempotency-expires"]);
}

#[test]
fn case_35_and_39_values_stay_apart_and_bytes_stay_bytes() {
    let mut bench = Bench::new(&rule(r#","replay":{"headers":["x-many"]}"#));
    let body: Vec<u8> = (0..=255).collect();
    let headers = [("x-many", "a, b"), ("content-type", "image/png"), ("x-many", "c")];
    let again = replayed(&mut bench, Outcome::Answered(response(200, &headers, &body)));
    let many: Vec<&[u8]> = values(&replay(&again).headers, "x-many").collect();
    assert_eq!((many, &replay(&again).body), (vec![&b"a, b"[..], b"c"], &body));
}

#[test]
fn case_21_36_and_37_listed_headers_are_replayed_and_no_others() {
    let mut bench = Bench::new(&rule(""));
    let headers =
        [("Location", "/1"), ("Set-Cookie", "s=1"), ("Transfer-Encoding", "chunked"), ("Date", "now"), ("X-Own", "1")];
    let again = replayed(&mut bench, Outcome::Answered(response(303, &headers, b"see")));
    let names: Vec<&str> = replay(&again).headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["location", "idempotent-replayed", "idempotency-expires"]);
    assert_eq!(values(&replay(&again).headers, "idempotent-replayed").next(), Some(&b"true"[..]));
}

/// Case 43: the client is told how long the key is known, at first and with each replay.
#[test]
fn the_expiry_is_published() {
    let mut bench = Bench::new(&rule(""));
    let claimed = attempt(&bench.admit(request("a", "k", "{}"), 5));
    let settlement = bench.settle(&claimed, kit::answered(201), 10);
    let Answer::Origin(first) = settlement.answer else { panic!("withheld") };
    let again = bench.admit(request("a", "k", "{}"), 69);
    for response in [&first, replay(&again)] {
        assert_eq!(values(&response.headers, "idempotency-expires").next(), Some(&b"@70"[..]));
    }
    assert_eq!((bench.admit(request("a", "k", "{}"), 70).row.as_ref(), bench.origin_calls), ("success-expired", 2));
}

#[test]
fn a_known_key_is_answered_by_the_rules_mode() {
    let mut bench = Bench::new(&rule(r#","replay":{"mode":"operation"}"#));
    let headers = [("location", "/orders/1"), ("etag", "1")];
    let again = replayed(&mut bench, Outcome::Answered(response(201, &headers, b"stale by then")));
    let names: Vec<&str> = replay(&again).headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["location", "oncegate-action", "idempotent-replayed", "idempotency-expires"]);
    assert_eq!((replay(&again).status, replay(&again).body.len()), (201, 0));

    for kept in ["full", "status", "none"] {
        let mut bench = Bench::new(&rule(&format!(r#","replay":{{"mode":"refuse","store":"{kept}"}}"#)));
        let again = replayed(&mut bench, Outcome::Answered(response(201, &headers, b"once only")));
        assert!(matches!(&again.decision, Decision::Refuse(response) if response.status == 409), "{kept}");
    }

    let mut bench = Bench::new(&rule(r#","replay":{"store":"status"}"#));
    let again = replayed(&mut bench, Outcome::Answered(response(201, &headers, b"not kept")));
    assert_eq!((again.row.as_ref(), replay(&again).body.len()), ("tombstone", 0));
}

#[test]
fn committed_at_headers_holds_nothing() {
    let mut bench = Bench::new(&rule(r#","committed_at":"headers""#));
    let admission = bench.admit(request("a", "k", "{}"), 0);
    let Decision::Proceed(proceed) = admission.decision else { panic!("{}", admission.row) };
    assert_eq!(proceed.max_response, 0);
}

#[test]
fn a_body_beyond_a_value_is_split_and_joined_in_the_same_transaction() {
    let mut bench = small_values(&rule(""), 70_000);
    let body: Vec<u8> = (0..500_000u32).map(|number| (number % 251) as u8).collect();
    let again = replayed(&mut bench, Outcome::Answered(response(201, &[], &body)));
    assert_eq!((again.row.as_ref(), &replay(&again).body), ("replay-success", &body));
    assert_eq!((bench.store.commits, bench.store.reads, bench.store.entries.len()), (3, 1, 9));
    // Claimed anew, it takes its chunks along.
    assert_eq!(bench.admit(request("a", "k", "{}"), 60).row, "success-expired");
    assert_eq!((bench.store.entries.len(), bench.origin_calls), (1, 2));
}

#[test]
fn a_missing_or_damaged_chunk_is_read_once_more_and_then_unknown() {
    for damage in ["missing", "flipped", "swapped"] {
        let mut bench = small_values(&rule(""), 70_000);
        let claimed = attempt(&bench.admit(request("a", "k", "{}"), 0));
        let body: Vec<u8> = (0..300_000u32).map(|number| (number % 251) as u8).collect();
        bench.settle(&claimed, Outcome::Answered(response(201, &[], &body)), 0);
        let chunks: Vec<Vec<u8>> = bench.store.entries.keys().filter(|key| key.len() > 36).cloned().collect();
        match damage {
            "missing" => drop(bench.store.entries.remove(&chunks[1])),
            "flipped" => bench.store.entries.get_mut(&chunks[1]).unwrap().value[100] ^= 1,
            _ => {
                let other = bench.store.entries[&chunks[2]].clone();
                bench.store.entries.insert(chunks[1].clone(), other);
            }
        }
        let again = bench.admit(request("a", "k", "{}"), 1);
        assert_eq!((again.row.as_ref(), status(&again.decision)), ("undecodable", 409), "{damage}");
        assert_eq!((bench.store.reads, bench.origin_calls), (2, 1));
    }
}

/// Headers are checked when they are written: one that would break a message is not kept.
#[test]
fn a_header_that_would_split_a_response_is_not_kept() {
    let mut bench = Bench::new(&rule(r#","replay":{"headers":["x-own"]}"#));
    let headers = [("x-own", "a\r\nset-cookie: b"), ("x-own", "fine")];
    let again = replayed(&mut bench, Outcome::Answered(response(200, &headers, b"")));
    assert_eq!(values(&replay(&again).headers, "x-own").collect::<Vec<_>>(), [b"fine"]);
}

/// Case 15 and 38: classes by knowledge, per rule, and the origin's own word before both.
#[test]
fn outcomes_are_classified_by_provenance_then_origin_then_rule_then_status() {
    let own = |word: &str, code| Outcome::Answered(response(code, &[("Oncegate-Outcome", word)], b""));
    let said = |code| Outcome::Answered(response(code, &[], b""));
    let cases = [
        ("", said(201), "replay-success"),
        ("", said(303), "replay-success"),
        ("", said(400), "replay-failure"),
        ("", said(401), "retry"),
        ("", said(408), "unknown"),
        ("", said(425), "retry"),
        ("", said(500), "unknown"),
        ("", said(503), "unknown"),
        ("", Outcome::Lost("reset".into()), "unknown"),
        ("", Outcome::NotSent("refused".into()), "retry"),
        (r#","outcomes":{"5xx":"no-effect","503":"rejected"}"#, said(500), "retry"),
        (r#","outcomes":{"5xx":"no-effect","503":"rejected"}"#, said(503), "replay-failure"),
        (r#","outcomes":{"2xx":"unknown"}"#, own("committed", 200), "replay-success"),
        ("", own("no-effect", 500), "retry"),
        ("", own("no such word", 201), "unknown"),
    ];
    for (extra, outcome, row) in cases {
        let mut bench = Bench::new(&rule(extra));
        let claimed = attempt(&bench.admit(request("a", "k", "{}"), 0));
        let settlement = bench.settle(&claimed, outcome.clone(), 0);
        if let Answer::Origin(response) = settlement.answer {
            assert!(values(&response.headers, "oncegate-outcome").next().is_none(), "told to the client");
        }
        let again = bench.admit(request("a", "k", "{}"), 1);
        let calls = if row == "retry" { 2 } else { 1 };
        assert_eq!((again.row.as_ref(), bench.origin_calls), (row, calls), "{extra} {outcome:?}");
    }
}
