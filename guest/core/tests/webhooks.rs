//! Webhooks are verified before they are looked up, and a known event is answered as it was.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod kit;

use hmac::{Hmac, KeyInit, Mac};
use kit::{Bench, answered, attempt, status};
use oncegate_core::request::{Body, Head, Request};
use sha2::Sha256;

const STANDARD: &str = r#"{"operation":"event","match":{"path":"/hooks"},"scope":{"tenant":{"constant":"shop"}},
    "webhook":{"scheme":"standard","secrets":["shop"]}}"#;

fn event(id: &str, timestamp: &str, signature: &str, body: &str) -> Request {
    let header = |name: &str, value: &str| (name.to_string(), value.as_bytes().to_vec());
    let headers = vec![
        header("webhook-id", id),
        header("webhook-timestamp", timestamp),
        header("webhook-signature", signature),
        header("content-type", "application/json"),
    ];
    let head = Head { method: "POST".into(), target: b"/hooks".to_vec(), headers };
    Request { head, body: Body::Whole(body.as_bytes().to_vec()), properties: Vec::new() }
}

fn sign(secret: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// RFC 4648, by another way than the core's.
fn base64(bytes: &[u8]) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let mut text: String = bits
        .chunks(6)
        .map(|chunk| alphabet[chunk.iter().fold(0, |sum, bit| sum << 1 | usize::from(*bit)) << (6 - chunk.len())])
        .collect();
    text.extend(std::iter::repeat_n('=', (4 - text.len() % 4) % 4));
    text
}

fn signed(secret: &[u8], id: &str, second: u64, body: &str) -> Request {
    let signature = base64(&sign(secret, &format!("{id}.{second}.{body}")));
    event(id, &second.to_string(), &format!("v1,bm9uZQ== v1,{signature}"), body)
}

#[test]
fn a_known_event_is_answered_as_it_was() {
    let mut bench = Bench::new(STANDARD);
    let claimed = attempt(&bench.admit(signed(b"webhook secret", "evt_1", 1000, "{}"), 1000));
    bench.settle(&claimed, answered(204), 1000);
    // Sent again by the provider, signed anew.
    let again = bench.admit(signed(b"webhook secret", "evt_1", 1060, "{}"), 1060);
    assert_eq!((again.row.as_ref(), status(&again.decision), bench.origin_calls), ("replay-success", 204, 1));
}

#[test]
fn an_event_that_is_not_signed_by_its_sender_spends_no_id() {
    let mut bench = Bench::new(STANDARD);
    let good = signed(b"webhook secret", "evt_1", 1000, "{}");
    let mut other_body = good.clone();
    other_body.body = Body::Whole(b"[]".to_vec());
    let mut other_id = good.clone();
    other_id.head.headers[0].1 = b"evt_2".to_vec();
    let mut unsigned = good.clone();
    unsigned.head.headers.remove(2);
    let forged = signed(b"another secret", "evt_1", 1000, "{}");
    let stale = signed(b"webhook secret", "evt_1", 699, "{}");
    let early = signed(b"webhook secret", "evt_1", 1301, "{}");
    for request in [other_body, other_id, unsigned, forged, stale, early] {
        let admission = bench.admit(request, 1000);
        assert_eq!((admission.row.as_ref(), status(&admission.decision)), ("webhook-unverified", 401));
    }
    assert_eq!((bench.store.commits, bench.store.reads, bench.origin_calls), (0, 0, 0));
    assert_eq!((bench.admit(good, 1000).row.as_ref(), bench.origin_calls), ("first-claim", 1));
}

#[test]
fn provider_schemes_are_data() {
    let body = r#"{"id":"evt_9","type":"paid"}"#;
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let header = |name: &str, value: String| (name.to_string(), value.into_bytes());
    let stripe = hex(sign(b"webhook secret", &format!("1000.{body}")));
    let github = hex(sign(b"webhook secret", body));
    let cases = [
        (
            r#""key":{"body":"/id"},"webhook":{"scheme":"stripe","secrets":["shop"]}"#,
            vec![header("stripe-signature", format!("t=1000,v1={},v1={stripe}", "0".repeat(64)))],
        ),
        (
            r#""webhook":{"scheme":"github","secrets":["shop"]}"#,
            vec![header("x-hub-signature-256", format!("sha256={github}")), header("x-github-delivery", "d-1".into())],
        ),
        (
            r#""key":{"body":"/id"},"webhook":{"secrets":["shop"],"scheme":{"custom":{"encoding":"hex",
                "signature":{"header":"X-Sig"},"signed":"{body}"}}}"#,
            vec![header("x-sig", github.clone())],
        ),
    ];
    for (fields, mut headers) in cases {
        let rule = format!(
            r#"{{"operation":"event","match":{{"path":"/hooks"}},"scope":{{"tenant":{{"constant":"shop"}}}},{fields}}}"#
        );
        let mut bench = Bench::new(&rule);
        headers.push(header("content-type", "application/json".into()));
        let head = Head { method: "POST".into(), target: b"/hooks".to_vec(), headers };
        let request = Request { head, body: Body::Whole(body.as_bytes().to_vec()), properties: Vec::new() };
        let claimed = attempt(&bench.admit(request.clone(), 1000));
        bench.settle(&claimed, answered(200), 1000);
        assert_eq!(bench.admit(request.clone(), 1001).row, "replay-success", "{fields}");
        let mut forged = request;
        forged.head.headers[0].1.pop();
        assert_eq!(bench.admit(forged, 1001).row, "webhook-unverified", "{fields}");
        assert_eq!(bench.origin_calls, 1);
    }
}
