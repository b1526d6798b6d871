//! Faults of other layers around the fingerprint, by their numbers in the list of cases.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod common;
mod kit;

use common::{Sent, assert_apart, assert_same, fingerprint, hex, policy};
use kit::{Bench, RULE, answered, attempt, status};
use oncegate_core::canonical::Parts;
use oncegate_core::decision::Decision;
use oncegate_core::request::{Body, Outcome, Request, Response};
use serde_json::json;
use sha2::{Digest, Sha256};

fn request(body: &[u8]) -> Request {
    Request { body: Body::Whole(body.to_vec()), ..kit::request("acme", "k", "") }
}

/// Other order of JSON members, new hash, false conflict.
#[test]
fn case_23_member_order() {
    let policy = policy(json!({}), json!({}));
    assert_same(
        &policy,
        &Sent::json(r#"{"amount":5,"to":{"b":1,"a":2}}"#),
        &Sent::json(r#"{"to":{"a":2,"b":1},"amount":5}"#),
    );
    let mut bench = Bench::new(RULE);
    bench.run(request(br#"{"amount":5,"to":"x"}"#), 201, 0);
    let again = bench.admit(request(br#"{ "to": "x", "amount": 5.0 }"#), 1);
    assert_eq!((&*again.row, status(&again.decision), bench.origin_calls), ("replay-success", 201, 1));
}

/// The query was left out: `?dry_run=1` first, the live call then "replayed".
#[test]
fn case_24_dry_run() {
    let mut bench = Bench::new(RULE);
    let mut dry = request(b"{}");
    dry.head.target = b"/orders?dry_run=1".to_vec();
    bench.run(dry, 200, 0);
    let live = bench.admit(request(b"{}"), 1);
    assert_eq!((&*live.row, status(&live.decision), bench.origin_calls), ("success-conflict", 422, 1));
}

/// `?a=&a=b&c=` and `?a=&b=c&b=` hashed alike.
#[test]
fn case_25_joined_parameters() {
    for query in ["as_is", "sorted"] {
        let policy = policy(json!({"query": query}), json!({}));
        let sent = |target: &str| Sent::new(target, "application/json", "{}");
        assert_apart(&policy, &sent("/payments/1?a=&a=b&c="), &sent("/payments/1?a=&b=c&b="));
        assert_apart(&policy, &sent("/payments/1?ab=c"), &sent("/payments/1?a=bc"));
        assert_apart(&policy, &sent("/payments/1?a=b"), &sent("/payments/1a=b?"));
    }
    let form = policy(json!({}), json!({}));
    let sent = |body: &str| Sent::new("/payments/1", "application/x-www-form-urlencoded", body);
    assert_apart(&form, &sent("a=&a=b&c="), &sent("a=&b=c&b="));
    // Parts cannot run into one another, and neither can lists of them, purposes, or absence.
    let parts = |domain: &str, parts: &[&[u8]]| {
        let mut hash = Parts::new(domain);
        for part in parts {
            hash.add(part);
        }
        hash.finish()
    };
    assert_ne!(parts("d", &[b"ab", b"c"]), parts("d", &[b"a", b"bc"]));
    assert_ne!(parts("d", &[b"abc"]), parts("d", &[b"abc", b""]));
    assert_ne!(parts("da", &[b"b"]), parts("d", &[b"ab"]));
    let headers = policy_with_headers();
    assert_apart(&headers, &Sent::json("{}").with("a", "1"), &Sent::json("{}").with("b", "1"));
    assert_apart(&headers, &Sent::json("{}").with("a", "1").with("a", "2"), &Sent::json("{}").with("a", "1, 2"));
    assert_apart(&headers, &Sent::json("{}").with("a", ""), &Sent::json("{}"));
    assert_same(&headers, &Sent::json("{}").with("A", " 1"), &Sent::json("{}").with("a", "1"));
}

fn policy_with_headers() -> oncegate_core::policy::Policy {
    policy(json!({"headers": ["a", "B"]}), json!({}))
}

/// The body stream had been read already: every hash was that of the empty body. Here with a hash made by hand.
#[test]
fn case_26_known_hashes() {
    let policy = policy(json!({"body": "raw"}), json!({}));
    let by_hand = |body: &[u8]| {
        let part = |part: &[u8]| [&(part.len() as u64).to_be_bytes(), part].concat();
        let count = |number: u64| number.to_be_bytes().to_vec();
        let plan = policy.rule("pay").unwrap().plan.id();
        let all = [
            part(b"oncegate fingerprint"),
            part(plan),
            part(b"pay"),
            part(b"POST"),
            count(1),
            part(b"id"),
            part(b"1"),
            count(0), // no query
            part(b"raw"),
            part(b"text/plain"),
            part(b""), // no coding
            part(body),
        ];
        hex(&Sha256::digest(all.concat()))
    };
    for body in [&b""[..], b"a", b"b", b"{\"amount\":1}"] {
        let sent = Sent::new("/payments/1", "text/plain", body);
        assert_eq!(hex(&fingerprint(&policy, &sent).unwrap()), by_hand(body));
    }
    // Pinned: a change here forgets every record, unless the algorithm's number changes with it.
    let pinned = Sent::json(r#"{"amount":1.50,"to":"é"}"#);
    let auto = common::policy(json!({}), json!({}));
    assert_eq!(hex(&fingerprint(&auto, &pinned).unwrap()), PINNED);
}

const PINNED: &str = "e9b1a25422fb69fd1c68c8a2fb45ddb487cb3363ca196b3869ed04cbb737496c";

/// multipart retries differ in their boundary.
#[test]
fn case_27_random_boundary() {
    let policy = policy(json!({}), json!({}));
    let sent = |boundary: &str, amount: &str| {
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"amount\"\r\n\r\n{amount}\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\nContent-Type: application/pdf\r\n\r\n\
             %PDF\r\n--{boundary}--\r\n"
        );
        Sent::new("/payments/1", &format!("multipart/form-data; boundary={boundary}"), body)
    };
    assert_same(&policy, &sent("----WebKitFormBoundary7MA4", "5"), &sent("d74496d66958873e", "5"));
    assert_apart(&policy, &sent("----WebKitFormBoundary7MA4", "5"), &sent("----WebKitFormBoundary7MA4", "6"));
}

/// A temporary upload URL in the body made false conflicts.
#[test]
fn case_28_declared_exclusions() {
    let policy = policy(json!({"exclude": ["/files/*/upload_url"]}), json!({}));
    let sent = |url: &str, name: &str| {
        Sent::json(format!(r#"{{"files":[{{"name":"{name}","upload_url":"{url}"}}],"amount":5}}"#))
    };
    assert_same(&policy, &sent("https://a/1", "x"), &sent("https://a/2", "x"));
    assert_apart(&policy, &sent("https://a/1", "x"), &sent("https://a/1", "y"));
    assert_same(&policy, &sent("https://a/1", "x"), &Sent::json(r#"{"files":[{"name":"x"}],"amount":5}"#));
}

/// `null` and a missing member were merged by shallow normalization.
#[test]
fn case_29_null_is_not_absent() {
    let policy = policy(json!({}), json!({}));
    assert_apart(&policy, &Sent::json(r#"{"a":1,"b":null}"#), &Sent::json(r#"{"a":1}"#));
    assert_apart(&policy, &Sent::json(r#"{"a":{"b":null}}"#), &Sent::json(r#"{"a":{}}"#));
    assert_apart(&policy, &Sent::json("[null]"), &Sent::json("[]"));
    assert_apart(&policy, &Sent::json("null"), &Sent::json(""));
}

/// Big integers beyond 2^53 became equal; `{"amount":1,"amount":2}` became `{"amount":2}`.
#[test]
fn case_30_big_integers_and_duplicate_members() {
    let policy = policy(json!({}), json!({}));
    let amount = |amount: &str| Sent::json(format!(r#"{{"amount":{amount}}}"#));
    assert_apart(&policy, &amount("9007199254740992"), &amount("9007199254740993"));
    assert_apart(&policy, &amount("0.1"), &amount("0.10000000000000000001"));
    assert_same(&policy, &amount("100"), &amount("1.00e2"));
    let error = fingerprint(&policy, &Sent::json(r#"{"amount":1,"amount":2}"#)).unwrap_err();
    assert_eq!(error.to_string(), "a member named twice at byte 12");
    let mut bench = Bench::new(RULE);
    let refused = bench.admit(request(br#"{"amount":1,"amount":2}"#), 0);
    assert_eq!((status(&refused.decision), bench.origin_calls), (400, 0));
    let Decision::Refuse(problem) = &refused.decision else { panic!("{} is no refusal", refused.row) };
    assert!(String::from_utf8_lossy(&problem.body).contains("a member named twice at byte 12"));
}

/// One store dropped the hash, and every identical replay failed: the record carries it through what is written and read.
#[test]
fn case_31_identical_replay() {
    let mut bench = Bench::new(RULE);
    let first = bench.admit(request(br#"{"amount":1}"#), 0);
    bench.settle(&attempt(&first), answered(201), 1);
    for second in 2..5 {
        let again = bench.admit(request(br#"{"amount":1}"#), second);
        assert_eq!((&*again.row, status(&again.decision), bench.origin_calls), ("replay-success", 201, 1));
        let other = bench.admit(request(br#"{"amount":2}"#), second);
        assert_eq!((&*other.row, status(&other.decision), bench.origin_calls), ("success-conflict", 422, 1));
    }
}

/// A binary body passed through text decoding.
#[test]
fn case_39_bytes_all_the_way() {
    let every: Vec<u8> = (0..=255).collect();
    let policy = policy(json!({}), json!({}));
    let sent = |body: &[u8]| Sent::new("/payments/1", "application/octet-stream", body);
    for byte in [0x00, 0x80, 0xfe, 0xff] {
        let mut other = every.clone();
        other.push(byte);
        assert_apart(&policy, &sent(&other), &sent(&every));
        assert_apart(&policy, &sent(&[byte]), &sent("\u{fffd}".as_bytes()));
    }
    let mut bench = Bench::new(RULE);
    let mut binary = request(&every);
    binary.head.headers.iter_mut().for_each(|(name, value)| {
        if name == "content-type" {
            *value = b"application/octet-stream".to_vec();
        }
    });
    let first = bench.admit(binary.clone(), 0);
    let headers = vec![("content-type".to_string(), b"application/octet-stream".to_vec())];
    let response = Response { status: 200, headers, body: every.clone() };
    bench.settle(&attempt(&first), Outcome::Answered(response), 1);
    let again = bench.admit(binary, 2);
    let Decision::Replay(replayed) = &again.decision else { panic!("{} is no replay", again.row) };
    assert_eq!((&replayed.body, bench.origin_calls), (&every, 1));
}

/// A chunked body (or a length of -1) went round the size limit: the bytes count, whatever the head says.
#[test]
fn case_40_bytes_are_counted() {
    let rule = RULE.replace("\"lease\"", "\"limits\":{\"request\":16},\"lease\"");
    for length in [None, Some("-1"), Some("3"), Some("17")] {
        let mut bench = Bench::new(&rule);
        let mut large = request(br#"{"amount":100000}"#);
        let length = length.map(|length| ("content-length".to_string(), length.as_bytes().to_vec()));
        large.head.headers.extend(length.or(Some(("transfer-encoding".to_string(), b"chunked".to_vec()))));
        let refused = bench.admit(large.clone(), 0);
        assert_eq!((status(&refused.decision), bench.origin_calls), (413, 0));
        large.body = Body::TooLarge;
        let refused = bench.admit(large.clone(), 1);
        assert_eq!((status(&refused.decision), bench.origin_calls), (413, 0));
        large.body = Body::Whole(br#"{"amount":10000}"#.to_vec());
        bench.admit(large, 2);
        assert_eq!(bench.origin_calls, 1);
    }
}

/// A second header field with the key made two payments.
#[test]
fn case_41_second_key() {
    let mut bench = Bench::new(RULE);
    let mut twice = request(b"{}");
    twice.head.headers.push(("Idempotency-Key".into(), b"other".to_vec()));
    let refused = bench.admit(twice, 0);
    assert_eq!((status(&refused.decision), bench.origin_calls), (400, 0));
}

/// The next hop would not see what the fingerprint was made of.
#[test]
fn connection_names_no_header_of_the_fingerprint() {
    let rule = RULE.replace("\"lease\"", "\"fingerprint\":{\"headers\":[\"Currency\"]},\"lease\"");
    for (named, admitted) in
        [("content-type", 0), ("Content-Encoding", 0), ("close, currency", 0), ("close, x-other", 1)]
    {
        let mut bench = Bench::new(&rule);
        let mut sent = request(b"{}");
        sent.head.headers.push(("connection".into(), named.into()));
        let expected = if admitted == 1 { 0 } else { 400 };
        assert_eq!((status(&bench.admit(sent, 0).decision), bench.origin_calls), (expected, admitted), "{named}");
    }
}
