//! The client key: RFC 9651's own vectors for Strings and Items, the lenient spelling, agreement of its places, formats.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail"
)]

mod common;

use common::{files, policy, vectors};
use oncegate_core::canonical::json::Wanted;
use oncegate_core::identity::{IdentityFault, client_key, string_item};
use oncegate_core::policy::{KeySource, Policy};
use oncegate_core::request::Head;
use serde_json::{Value, json};

/// Every Item of the structured-field tests that comes as one line.
fn items() -> Option<Vec<(String, Value)>> {
    let all: Vec<(String, Value)> = files(&vectors("structured-field-tests")?)
        .into_iter()
        .filter(|(name, _)| name.ends_with(".json"))
        .flat_map(|(name, bytes)| {
            let cases: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
            cases.into_iter().map(move |case| (name.clone(), case))
        })
        .filter(|(_, case)| case["header_type"] == "item" && case["raw"].as_array().unwrap().len() == 1)
        .collect();
    assert!(all.len() > 800, "{}", all.len());
    Some(all)
}

#[test]
fn structured_field_strings() {
    let Some(items) = items() else { return };
    let (mut strings, mut refused) = (0, 0);
    for (file, case) in items {
        let read = string_item(case["raw"][0].as_str().unwrap().as_bytes());
        match (&case["must_fail"], &case["expected"][0]) {
            (Value::Bool(true), _) => assert_eq!(read, None, "{file}: {case}"),
            (_, Value::String(text)) => {
                assert_eq!(read.as_deref(), Some(text.as_bytes()), "{file}: {case}");
                strings += 1;
                continue;
            }
            // Another type of Item is well-formed, but is no String.
            (_, _) => assert_eq!(read, None, "{file}: {case}"),
        }
        refused += 1;
    }
    assert!(strings > 90 && refused > 500, "{strings} read, {refused} refused");
}

/// Every Item of the vectors as the value of a parameter: ignored when it is well-formed, refused when it is not.
#[test]
fn structured_field_parameters() {
    let Some(items) = items() else { return };
    for (file, case) in items {
        let raw = case["raw"][0].as_str().unwrap();
        // Spaces around an Item are the field's, and may not stand inside.
        if case["can_fail"] == true || raw.trim() != raw {
            continue;
        }
        let field = format!("\"key\";a;b={raw}");
        let expected = (case["must_fail"] != true).then(|| b"key".to_vec());
        assert_eq!(string_item(field.as_bytes()), expected, "{file}: {case}");
    }
    for (field, reads) in [
        ("\"key\"; a=1;  b", true),
        ("  \"key\"  ", true),
        ("\"key\" ;a", false),
        ("\"key\";A=1", false),
        ("\"key\";", false),
        ("\"key\";a =1", false),
        ("\"key\", \"key\"", false),
        ("\"key\"\t", false),
    ] {
        assert_eq!(string_item(field.as_bytes()).is_some(), reads, "{field}");
    }
}

fn source(key: Value) -> KeySource {
    policy(json!({}), key).rule("pay").unwrap().key.clone()
}

fn head(target: &str, headers: &[(&str, &[u8])]) -> Head {
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_vec())).collect();
    Head { method: "POST".into(), target: target.into(), headers }
}

fn from_header(source: &KeySource, value: &[u8]) -> Result<Option<Vec<u8>>, IdentityFault> {
    client_key(source, &head("/payments/1", &[("idempotency-key", value)]), &Wanted::Absent)
}

#[test]
fn one_key_however_written() {
    let lenient = source(json!({}));
    for spelled in [&b"a-1"[..], b"\"a-1\"", b" \"a-1\" ", b"\"a-1\";v=1", b"a-1 "] {
        assert_eq!(from_header(&lenient, spelled), Ok(Some(b"a-1".to_vec())), "{}", String::from_utf8_lossy(spelled));
    }
    let longest = "x".repeat(255);
    assert_eq!(from_header(&lenient, longest.as_bytes()), Ok(Some(longest.into_bytes())));
    let strict = source(json!({"bare": false}));
    assert_eq!(from_header(&strict, b"a-1"), Err(IdentityFault::KeyMalformed));
    assert_eq!(from_header(&strict, b"\"a-1\""), Ok(Some(b"a-1".to_vec())));
}

#[test]
fn malformed_keys_are_refused() {
    let lenient = source(json!({}));
    let long = [b'x'; 256];
    for spelled in [
        &b""[..],
        b"\"\"",
        b"a b",
        b"a,b",
        b"\"a\", \"b\"",
        b"a\"b",
        b"\"a",
        b"\"a\\b\"",
        b"a\x00b",
        b"a\tb",
        b"\"a\x7f\"",
        "é".as_bytes(),
        "\"é\"".as_bytes(),
        b"\xff",
        &long,
    ] {
        let read = from_header(&lenient, spelled);
        assert_eq!(read, Err(IdentityFault::KeyMalformed), "{}", String::from_utf8_lossy(spelled));
    }
}

/// Two payments were made because a second field line went unseen.
#[test]
fn case_41_a_second_field_line() {
    let lenient = source(json!({}));
    for second in [&b"b"[..], b"a", b""] {
        let head = head("/payments/1", &[("Idempotency-Key", b"a"), ("idempotency-key", second)]);
        assert_eq!(client_key(&lenient, &head, &Wanted::Absent), Err(IdentityFault::KeyRepeated));
    }
    let both = source(json!({"header": "idempotency-key", "query": "key"}));
    for query in ["key=a&key=a", "key=a&b=1&key", "key=a&k%65y=b"] {
        let twice = head(&format!("/payments/1?{query}"), &[]);
        assert_eq!(client_key(&both, &twice, &Wanted::Absent), Err(IdentityFault::KeyRepeated), "{query}");
    }
}

#[test]
fn all_places_agree() {
    let source = source(json!({"header": "idempotency-key", "query": "key", "body": "/id"}));
    let text = |text: &str| Wanted::Text(text.into());
    let key = Ok(Some(b"a".to_vec()));
    let anywhere = [
        ("/payments/1", vec![("idempotency-key", &b"\"a\""[..])], Wanted::Absent),
        ("/payments/1?key=a", vec![], Wanted::Absent),
        ("/payments/1", vec![], text("a")),
        ("/payments/1?key=a", vec![("idempotency-key", &b"a"[..])], text("a")),
    ];
    for (target, headers, body) in anywhere {
        assert_eq!(client_key(&source, &head(target, &headers), &body), key, "{target} {headers:?} {body:?}");
    }
    assert_eq!(client_key(&source, &head("/payments/1", &[]), &Wanted::Absent), Ok(None));
    let disagreement = Err(IdentityFault::KeyDisagreement);
    assert_eq!(client_key(&source, &head("/payments/1", &[("idempotency-key", b"a")]), &text("b")), disagreement);
    assert_eq!(client_key(&source, &head("/payments/1?key=b", &[("idempotency-key", b"a")]), &text("a")), disagreement);
    let malformed = Err(IdentityFault::KeyMalformed);
    assert_eq!(client_key(&source, &head("/payments/1?key=%61", &[]), &Wanted::Absent), malformed);
    assert_eq!(client_key(&source, &head("/payments/1?key", &[]), &Wanted::Absent), malformed);
    // The origin would read this as the key.
    assert_eq!(client_key(&source, &head("/payments/1?%6bey=a", &[]), &Wanted::Absent), malformed);
    assert_eq!(client_key(&source, &head("/payments/1", &[]), &Wanted::Other), malformed);
    assert_eq!(client_key(&source, &head("/payments/1", &[("idempotency-key", b"a")]), &text("")), malformed);
}

#[test]
fn a_rule_may_publish_a_format() {
    let format = json!({"min_length": 4, "max_length": 6, "characters": "a-f0-9_-", "entropy_bits": 122});
    let strict = source(json!({"format": format}));
    for (key, fits) in [("ab-9", true), ("\"ab_9\"", true), ("ab9", false), ("abcdef0", false), ("abcg", false)] {
        let expected = if fits { Ok(Some(key.trim_matches('"').into())) } else { Err(IdentityFault::KeyMalformed) };
        assert_eq!(from_header(&strict, key.as_bytes()), expected, "{key}");
    }
    assert_eq!(strict.format.entropy_bits, Some(122));
    for (format, place) in [
        (json!({"min_length": 0}), "min_length"),
        (json!({"min_length": 9, "max_length": 8}), "min_length"),
        (json!({"max_length": 256}), "max_length"),
        (json!({"characters": ""}), "characters"),
        (json!({"characters": "z-a"}), "characters"),
        (json!({"characters": "é"}), "characters"),
    ] {
        let rule = json!({"operation": "pay", "match": {"path": "/p"}, "scope": "shared", "key": {"format": format}});
        let document = json!({"version": 1, "rules": [rule]});
        let error = Policy::parse(document.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.path, format!("rules[0].key.format.{place}"));
    }
}
