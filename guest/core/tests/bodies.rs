//! Forms, multipart forms, media types, codings and selections: what each profile equates and what it keeps apart.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail"
)]

mod common;

use common::{Random, Sent, assert_apart, assert_same, fingerprint, json_file, policy, vectors};
use oncegate_core::canonical::json::{Pointer, Profile, Role, Selection, Wanted, read};
use oncegate_core::canonical::media_type::MediaType;
use oncegate_core::canonical::{Fault, form, multipart};
use oncegate_core::identity::string_item;
use oncegate_core::policy::Policy;
use serde_json::json;

fn selection(pointers: &[(Role, &str)]) -> Selection {
    Selection::new(pointers.iter().map(|(role, text)| (*role, Pointer::parse(text).unwrap())).collect()).unwrap()
}

fn kept(pointers: &[(Role, &str)], document: &str) -> String {
    let reading = read(document.as_bytes(), Profile::Exact, &selection(pointers)).unwrap();
    String::from_utf8(reading.form).unwrap()
}

#[test]
fn exclusions() {
    use Role::Exclude;
    let document = r#"{"b":[{"url":1,"x":2},{"url":3}],"a":{"url":4},"url":5,"*":6}"#;
    for (pointers, expected) in [
        (&[(Exclude, "/url")][..], r#"{"*":6,"a":{"url":4},"b":[{"url":1,"x":2},{"url":3}]}"#),
        (&[(Exclude, "/b/*/url")], r#"{"*":6,"a":{"url":4},"b":[{"x":2},{}],"url":5}"#),
        (&[(Exclude, "/b/0"), (Exclude, "/a")], r#"{"*":6,"b":[_,{"url":3}],"url":5}"#),
        (&[(Exclude, "/b/*"), (Exclude, "/*")], r#"{"a":{"url":4},"b":[_,_],"url":5}"#),
        (&[(Exclude, "/b/00"), (Exclude, "/b/+1"), (Exclude, "/b/-"), (Exclude, "/a/url/x")], &kept(&[], document)),
    ] {
        assert_eq!(kept(pointers, document), expected, "{pointers:?}");
    }
    assert_eq!(kept(&[(Exclude, "/a~1b~0")], r#"{"a\u002fb\u007e":1,"c":2}"#), r#"{"c":2}"#);
    // What is left out must still be JSON, and is still named once.
    let fault =
        |document: &str| read(document.as_bytes(), Profile::Exact, &selection(&[(Exclude, "/a")])).unwrap_err().fault;
    assert_eq!(fault(r#"{"a":1,"a":2}"#), Fault::DuplicateMember);
    assert_eq!(fault(r#"{"a":{"b":1,"b":2}}"#), Fault::DuplicateMember);
    assert_eq!(fault(r#"{"a":01}"#), Fault::Syntax);
}

#[test]
fn selections() {
    use Role::{Exclude, Select};
    let document = r#"{"order":{"amount":5,"otp":"1","items":[{"sku":1,"note":2},{"sku":3}]},"trace":7}"#;
    for (pointers, expected) in [
        (&[(Select, "/order/amount")][..], r#"{"order":{"amount":5}}"#),
        (&[(Select, "/order/items/*/sku")], r#"{"order":{"items":[{"sku":1},{"sku":3}]}}"#),
        (&[(Select, "/order/items/1")], r#"{"order":{"items":[_,{"sku":3}]}}"#),
        (
            &[(Select, "/order"), (Exclude, "/order/otp"), (Exclude, "/order/items/*/note")],
            r#"{"order":{"amount":5,"items":[{"sku":1},{"sku":3}]}}"#,
        ),
        (&[(Select, "/absent")], "{}"),
    ] {
        assert_eq!(kept(pointers, document), expected, "{pointers:?}");
    }
    // Something else on the way is kept: it is not what was expected, and so must not be equal to what was.
    assert_eq!(kept(&[(Select, "/a/b")], r#"{"a":5,"c":1}"#), r#"{"a":5}"#);
    assert_eq!(kept(&[(Select, "/a/b")], "5"), "5");
    assert_ne!(kept(&[(Select, "/a")], r#"{"a":null}"#), kept(&[(Select, "/a")], "{}"), "null is not absent");
    assert!(Selection::new(vec![(Select, Pointer::parse("/a").unwrap()); 65]).is_none());
}

#[test]
fn the_wanted_member_is_found_even_where_it_is_left_out() {
    let pointers = [(Role::Exclude, "/meta"), (Role::Want, "/meta/key")];
    for (document, wanted) in [
        (r#"{"meta":{"key":"\u0061\"\n"},"a":1}"#, Wanted::Text(b"a\"\n".to_vec())),
        (r#"{"meta":{"key":7},"a":1}"#, Wanted::Other),
        (r#"{"meta":{"key":null},"a":1}"#, Wanted::Other),
        (r#"{"meta":{},"a":1}"#, Wanted::Absent),
        (r#"{"meta":[{"key":"a"}],"a":1}"#, Wanted::Absent),
    ] {
        let reading = read(document.as_bytes(), Profile::Exact, &selection(&pointers)).unwrap();
        assert_eq!((reading.wanted, reading.form.as_slice()), (wanted, &br#"{"a":1}"#[..]), "{document}");
    }
}

#[test]
fn urlencoded_vectors() {
    let Some(folder) = vectors("url-wpt") else { return };
    let cases = json_file(&folder.join("urlencoded-parser-data.json"));
    for case in cases.as_array().unwrap() {
        let input = case["input"].as_str().unwrap();
        let pairs: Vec<(Vec<u8>, Vec<u8>)> =
            form::pairs(input.as_bytes()).map(|(name, value)| (name, value.unwrap_or_default())).collect();
        // The vectors decode to text, in which bytes that are no UTF-8 become U+FFFD.
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let read: Vec<(String, String)> = pairs.iter().map(|(name, value)| (text(name), text(value))).collect();
        let expected: Vec<(String, String)> = serde_json::from_value(case["output"].clone()).unwrap();
        assert_eq!(read, expected, "{input}");
        // The form says the same, and is its own form.
        let form = form::read(input.as_bytes(), &Selection::default()).form;
        let again: Vec<_> = form::pairs(&form).map(|(name, value)| (name, value.unwrap_or_default())).collect();
        assert_eq!(again, pairs, "{input}");
        assert_eq!(form::read(&form, &Selection::default()).form, form, "{input}");
    }
    assert_eq!(cases.as_array().unwrap().len(), 35);
}

#[test]
fn forms() {
    let auto = policy(json!({}), json!({}));
    let sent = |body: &str| Sent::new("/payments/1", "application/x-www-form-urlencoded", body);
    for (one, other) in [("a=b+c", "a=b%20c"), ("a=%41", "a=A"), ("a=1&&b=2&", "a=1&b=2"), ("a=%2f", "%61=%2F")] {
        assert_same(&auto, &sent(one), &sent(other));
    }
    for (one, other) in [
        ("a=1&b=2", "b=2&a=1"),
        ("a=1", "a=1&a=1"),
        ("a", "a="),
        ("a=%FE", "a=%FF"),
        ("a=%FE", "a=%EF%BF%BD"),
        ("a=1%26b=2", "a=1&b=2"),
        ("a%3D1=2", "a=1=2"),
        ("a=%2B", "a=+"),
        ("a=%00", "a="),
    ] {
        assert_apart(&auto, &sent(one), &sent(other));
    }
    let less = policy(json!({"exclude": ["/otp", "/deep/er"]}), json!({}));
    assert_same(&less, &sent("a=1&otp=1&b=2"), &sent("a=1&b=2&%6Ftp=2&otp"));
    assert_apart(&less, &sent("deep=1"), &sent("deep=2"));
    let only = policy(json!({"select": ["/a"], "body": "form"}), json!({}));
    assert_same(&only, &sent("a=1&b=2"), &sent("c=3&a=1"));
    assert_apart(&only, &sent("a=1&b=2"), &sent("a=2&b=2"));
}

const PARTS: &str = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\n\
    Content-Disposition: form-data; name=\"f\"; filename=\"x.bin\"\r\nContent-Type: image/png\r\n\r\n\0\u{1}\r\n\r\n--B--\r\n";

fn multipart_body(boundary: &str, body: &str) -> Sent {
    Sent::new("/payments/1", &format!("multipart/form-data; boundary={boundary}"), body)
}

#[test]
fn multipart_keeps_parts_apart() {
    let auto = policy(json!({}), json!({}));
    let whole = multipart_body("B", PARTS);
    fingerprint(&auto, &whole).unwrap();
    for (from, to) in [
        ("\r\n\r\n1\r\n", "\r\n\r\n2\r\n"),
        ("name=\"a\"", "name=\"b\""),
        ("name=\"a\"", "name=a"),
        ("x.bin", "X.bin"),
        ("x.bin", "x\\.bin"),
        ("image/png", "image/gif"),
        ("\u{1}\r\n\r\n--B--", "\u{1}\r\n--B--"),
        ("Content-Type: image/png\r\n", ""),
        ("form-data; name=\"a\"", "form-data;  name=\"a\""),
    ] {
        assert!(PARTS.contains(from), "{from}");
        assert_apart(&auto, &whole, &multipart_body("B", &PARTS.replacen(from, to, 1)));
    }
    for (from, to) in [("Content-Type:", "content-TYPE:"), (": image/png", ":image/png \t"), ("--B--\r\n", "--B--")] {
        assert_same(&auto, &whole, &multipart_body("B", &PARTS.replacen(from, to, 1)));
    }
    assert_same(&auto, &whole, &multipart_body("\"B\"; charset=UTF-8", PARTS));
    assert_apart(&auto, &whole, &multipart_body("B; charset=latin-1", PARTS));
    let twice = PARTS.replacen("--B\r\n", "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\n", 1);
    assert_apart(&auto, &whole, &multipart_body("B", &twice));
    // What is moved over an edge is another body.
    let edge = |text: &str| PARTS.replacen("Content-Type: image/png\r\n\r\n", text, 1);
    for (one, other) in [
        ("x: yz\r\n\r\n", "xy: z\r\n\r\n"),
        ("x: y\r\n\r\nz", "x: yz\r\n\r\n"),
        ("x: y\r\nz:\r\n\r\n", "x: yz\r\n\r\n"),
    ] {
        assert_apart(&auto, &multipart_body("B", &edge(one)), &multipart_body("B", &edge(other)));
    }
    let less = policy(json!({"exclude": ["/f"]}), json!({}));
    assert_same(&less, &whole, &multipart_body("B", &PARTS.replace("x.bin", "y.bin")));
    assert_apart(&less, &whole, &multipart_body("B", &PARTS.replacen("\r\n1\r\n", "\r\n2\r\n", 1)));
}

/// What two servers may split differently has no form.
#[test]
fn multipart_is_read_strictly() {
    let parse = |body: &str| multipart::read(body.as_bytes(), b"B", &Selection::default()).map_err(|error| error.fault);
    assert!(parse(PARTS).is_ok());
    assert!(parse("--B--").is_ok());
    for (from, to, fault) in [
        ("--B\r\nC", "\r\n--B\r\nC", Fault::Boundary),
        ("--B--\r\n", "--B--\r\nmore", Fault::Boundary),
        ("--B--\r\n", "--B-", Fault::Boundary),
        ("--B--\r\n", "", Fault::Boundary),
        ("1\r\n--B", "1\n--B", Fault::Boundary),
        ("1\r\n--B", "1\r\n--Bx\r\n--B", Fault::Boundary),
        ("\r\n\r\n1", "\r\n\r\n1--B", Fault::Boundary),
        ("1\r\n--B\r\n", "1\r\n--B \r\n", Fault::Boundary),
        ("x.bin", "--B", Fault::Boundary),
        ("\r\n\r\n1\r\n", "\r\n1\r\n", Fault::PartHeader),
        ("\r\n\r\n1", "\n\n1", Fault::PartHeader),
        ("; name=\"a\"", "", Fault::PartHeader),
        ("; name=\"a\"", "; name=\"a", Fault::PartHeader),
        ("; name=\"a\"", "; name=\"a\"; name=\"b\"", Fault::PartHeader),
        ("; name=\"a\"", ";\r\n name=\"a\"", Fault::PartHeader),
        ("form-data; name=\"a\"", "attachment; name=\"a\"", Fault::PartHeader),
        ("Content-Type: image/png", "Content-Disposition: form-data; name=\"a\"", Fault::PartHeader),
        ("Content-Type: ", "Content-Type : ", Fault::PartHeader),
        ("image/png", "image/\npng", Fault::PartHeader),
    ] {
        assert!(PARTS.contains(from), "{from}");
        assert_eq!(parse(&PARTS.replacen(from, to, 1)), Err(fault), "{from:?} to {to:?}");
    }
    let parts = |count: usize| {
        ["--B\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n".repeat(count).as_str(), "--B--"].concat()
    };
    assert!(parse(&parts(1000)).is_ok());
    assert_eq!(parse(&parts(1001)), Err(Fault::TooManyParts));
    let lines = |count: usize| PARTS.replacen("Content-Type: image/png", &vec!["x: y"; count].join("\r\n"), 1);
    assert!(parse(&lines(15)).is_ok());
    assert_eq!(parse(&lines(16)), Err(Fault::TooManyParts));
    for end in 0..PARTS.len() - 2 {
        assert!(parse(&PARTS[..end]).is_err(), "cut at {end}");
    }
    for boundary in ["", "B ", "é", &"x".repeat(71)] {
        let error = multipart::read(PARTS.as_bytes(), boundary.as_bytes(), &Selection::default()).unwrap_err();
        assert_eq!((error.offset, error.fault), (0, Fault::Boundary));
    }
}

#[test]
fn media_types() {
    let form = |text: &str| MediaType::parse(text.as_bytes()).map(|media_type| media_type.form(&[]));
    for (one, other) in [
        ("text/plain;charset=UTF-8", "Text/PLAIN ; Charset=\"utf-8\""),
        ("a/b;x=1;y=2", "a/b; Y=2; x=1"),
        ("a/b", "a/b;"),
        ("a/b;x=\"\\1\"", "a/b;x=1"),
    ] {
        assert_eq!(form(one).unwrap(), form(other).unwrap(), "{one} and {other}");
    }
    for (one, other) in [("a/b;x=A", "a/b;x=a"), ("a/b", "a/c"), ("a/b;x=1", "a/b;x=\"1;y=2\""), ("a/b", "a/b;x=1")] {
        assert_ne!(form(one).unwrap(), form(other).unwrap(), "{one} and {other}");
    }
    for none in ["", "a", "a/", "/b", "a/b c", "a/b;x", "a/b;x=", "a/b;x=1 y=2", "a/b;x=\"1", "a/b;x=1;X=2", "a/b, c/d"]
    {
        assert_eq!(form(none), None, "{none}");
    }
}

fn typed(content_type: &str) -> Sent {
    Sent::new("/payments/1", content_type, r#"{"b":1.0,"a":"x"}"#)
}

fn respelled(content_type: &str) -> Sent {
    Sent::new("/payments/1", content_type, r#"{"a":"x","b":1}"#)
}

#[test]
fn json_by_its_media_type() {
    let auto = policy(json!({}), json!({}));
    for json in ["application/json", "application/json; charset=UTF-8", "Application/Problem+JSON", "a/b+json;v=2"] {
        assert_same(&auto, &typed(json), &respelled(json));
    }
    assert_same(&auto, &typed("application/json"), &respelled("application/json; charset=utf-8"));
    for raw in ["text/plain", "application/jsonl", "application/json; charset=utf-16", "application/json, text/plain"] {
        assert_apart(&auto, &typed(raw), &respelled(raw));
        assert_same(&auto, &typed(raw), &typed(raw));
    }
    // The same bytes under two media types are two things: a merge patch is no JSON Patch.
    assert_apart(&auto, &typed("application/merge-patch+json"), &typed("application/json-patch+json"));
    assert_apart(&auto, &typed("application/vnd.x+json;v=1"), &typed("application/vnd.x+json;v=2"));
    let twice = |sent: Sent| sent.with("content-type", "text/plain");
    assert_apart(&auto, &twice(typed("application/json")), &twice(respelled("application/json")));
    let any = policy(json!({"body": "json"}), json!({}));
    assert_same(&any, &typed("text/plain"), &respelled("text/plain"));
    let rounded = policy(json!({"body": "jcs"}), json!({}));
    assert_same(&rounded, &Sent::json("[9007199254740993]"), &Sent::json("[9007199254740992]"));
    assert_apart(&auto, &Sent::json("[9007199254740993]"), &Sent::json("[9007199254740992]"));
}

#[test]
fn content_codings_are_compared_as_they_came() {
    let auto = policy(json!({}), json!({}));
    let coded = |sent: Sent, coding: &str| sent.with("Content-Encoding", coding);
    assert_apart(&auto, &coded(typed("application/json"), "gzip"), &coded(respelled("application/json"), "gzip"));
    assert_apart(&auto, &coded(typed("application/json"), "gzip"), &coded(typed("application/json"), "br"));
    assert_apart(&auto, &coded(typed("application/json"), "gzip"), &typed("application/json"));
    assert_same(&auto, &coded(typed("application/json"), "identity"), &respelled("application/json"));
    assert_same(&auto, &coded(typed("a/b"), "GZIP, br"), &coded(coded(typed("a/b"), "gzip"), "br"));
    assert_apart(&auto, &coded(typed("a/b"), "gzip, br"), &coded(typed("a/b"), "br, gzip"));
}

#[test]
fn bodies_of_two_profiles_are_never_equal() {
    let auto = policy(json!({}), json!({}));
    let all = [
        Sent::json("{}"),
        Sent::json(""),
        Sent::new("/payments/1", "text/plain", "{}"),
        Sent::new("/payments/1", "text/plain", ""),
        Sent::new("/payments/1", "application/x-www-form-urlencoded", "{}"),
        Sent::new("/payments/1", "application/x-www-form-urlencoded", ""),
        multipart_body("B", "--B--"),
        Sent::json("{}").with("Content-Encoding", "gzip"),
    ];
    for (at, one) in all.iter().enumerate() {
        for other in &all[..at] {
            assert_apart(&auto, one, other);
        }
    }
    // The form of a multipart body, sent as raw bytes, is something else.
    let forged = multipart::read(PARTS.as_bytes(), b"B", &Selection::default()).unwrap().form;
    assert_apart(&auto, &multipart_body("B", PARTS), &Sent::new("/payments/1", "a/b", forged));
}

#[test]
fn what_cannot_be_read_is_refused_or_raw_by_choice() {
    let refusing = policy(json!({}), json!({}));
    let raw = policy(json!({"invalid": "raw"}), json!({}));
    let broken = |body: &str| Sent::json(body);
    let error = fingerprint(&refusing, &broken(r#"{"a":1,"a":2}"#)).unwrap_err();
    assert_eq!(error.to_string(), "a member named twice at byte 7");
    assert_eq!(fingerprint(&refusing, &multipart_body("B", "--B")).unwrap_err().offset, 3);
    assert_same(&raw, &broken(r#"{"a":1,"a":2}"#), &broken(r#"{"a":1,"a":2}"#));
    assert_apart(&raw, &broken(r#"{"a":1,"a":2}"#), &broken(r#"{"a":2}"#));
    assert_apart(&raw, &broken(r#"{"a":1,"a":2}"#), &broken(r#"{"a":1, "a":2}"#));
    assert_apart(&raw, &multipart_body("B", "--B"), &multipart_body("C", "--B"));
}

#[test]
fn the_query_by_its_profile() {
    let sent = |target: &str| Sent::new(target, "application/json", "{}");
    let key = json!({"query": "key"});
    let as_is = policy(json!({}), key.clone());
    assert_apart(&as_is, &sent("/payments/1?a=1&b=2"), &sent("/payments/1?b=2&a=1"));
    assert_apart(&as_is, &sent("/payments/1?a=%41"), &sent("/payments/1?a=A"));
    assert_same(&as_is, &sent("/payments/1?a=1&key=k"), &sent("/payments/1?key=k&a=1"));
    assert_same(&as_is, &sent("/payments/1?key=k"), &sent("/payments/1"));
    let sorted = policy(json!({"query": "sorted"}), key);
    assert_same(&sorted, &sent("/payments/1?a=1&b=2"), &sent("/payments/1?b=2&key=k&%61=1"));
    assert_same(&sorted, &sent("/payments/1?key=k"), &sent("/payments/1"));
    assert_apart(&sorted, &sent("/payments/1?a=1&a=2"), &sent("/payments/1?a=2&a=1"));
    assert_apart(&sorted, &sent("/payments/1?%61=1&a=2"), &sent("/payments/1?a=2&%61=1"));
    let many = |order: &dyn Fn(usize) -> usize| {
        let pairs: Vec<String> = (0..100).map(|at| format!("{}={}", order(at) % 2, order(at))).collect();
        sent(&format!("/payments/1?{}", pairs.join("&")))
    };
    assert_apart(&sorted, &many(&|at| at), &many(&|at| 99 - at));
    assert_same(&sorted, &many(&|at| at), &many(&|at| if at < 50 { at * 2 } else { at * 2 - 99 }));
    let ignored = policy(json!({"query": "ignore"}), json!({}));
    assert_same(&ignored, &sent("/payments/1?a=1"), &sent("/payments/1"));
    let plain = policy(json!({}), json!({}));
    assert_apart(&plain, &sent("/payments/1?"), &sent("/payments/1"));
}

#[test]
fn a_plan_names_its_recipe() {
    let id = |fingerprint| *policy(fingerprint, json!({})).rule("pay").unwrap().plan.id();
    let recipes = [
        json!({}),
        json!({"body": "json"}),
        json!({"body": "jcs"}),
        json!({"body": "form"}),
        json!({"body": "multipart"}),
        json!({"body": "raw"}),
        json!({"exclude": ["/a"]}),
        json!({"select": ["/a"]}),
        json!({"exclude": ["/a"], "select": ["/b"]}),
        json!({"headers": ["a"]}),
        json!({"properties": ["a"]}),
        json!({"query": "sorted"}),
        json!({"query": "ignore"}),
        json!({"invalid": "raw"}),
    ];
    for (at, one) in recipes.iter().enumerate() {
        for other in &recipes[..at] {
            assert_ne!(id(one.clone()), id(other.clone()), "{one} and {other}");
        }
    }
    assert_eq!(id(json!({"exclude": ["/a", "/b", "/a"]})), id(json!({"exclude": ["/b", "/a"]})));
    for (part, path) in [
        (json!({"fingerprint": {"exclude": ["a"]}}), "fingerprint.exclude[0]"),
        (json!({"fingerprint": {"select": ["/a", ""]}}), "fingerprint.select[1]"),
        (json!({"fingerprint": {"select": ["/a"], "body": "raw"}}), "fingerprint.select"),
        (
            json!({"fingerprint": {"exclude": vec!["/a"; 65].iter().enumerate().map(|(at, text)| format!("{text}{at}"))
            .collect::<Vec<_>>()}}),
            "fingerprint.exclude",
        ),
        (json!({"key": {"body": "/events/*/id"}}), "key.body"),
    ] {
        let mut rule = json!({"operation": "pay", "match": {"path": "/p"}, "scope": "shared"});
        rule.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        let document = json!({"version": 1, "rules": [rule]});
        assert_eq!(Policy::parse(document.to_string().as_bytes()).unwrap_err().path, format!("rules[0].{path}"));
    }
}

/// Forms of random bytes: their own form, and equal if and only if the decoded pairs are.
#[test]
fn forms_by_their_pairs() {
    let (mut equal, mut different) = (0, 0);
    for seed in 0..60_000 {
        let mut random = Random(seed);
        let length = 1 + random.below(5);
        let mut body = || -> Vec<u8> { (0..length).map(|_| *random.pick(b"aa&&==+ %%22B6")).collect() };
        let (one, other) = (body(), body());
        let form = |body: &[u8]| form::read(body, &Selection::default()).form;
        let pairs = |body: &[u8]| form::pairs(body).collect::<Vec<_>>();
        assert_eq!(form(&form(&one)), form(&one), "seed {seed}");
        assert_eq!(pairs(&form(&one)), pairs(&one), "seed {seed}");
        let same = pairs(&one) == pairs(&other);
        assert_eq!(same, form(&one) == form(&other), "seed {seed}");
        let mut by_name = pairs(&one);
        by_name.sort_by(|(one, _), (other, _)| one.cmp(other));
        assert_eq!(pairs(&form::sorted(&one)), by_name, "seed {seed}");
        if same { equal += 1 } else { different += 1 }
    }
    assert!(equal > 1_000 && different > 1_000, "{equal} equal, {different} different");
}

/// Bytes that are nearly a multipart body, a media type or a key: no panic, and most of them refused.
#[test]
fn damaged_bodies() {
    let mut refused = 0;
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let mut damage = |text: &[u8]| {
            let mut bytes = text.to_vec();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = random.next() as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, *random.pick(b"-B\r\n:;=\" %\\")),
                }
            }
            bytes
        };
        let body = damage(PARTS.as_bytes());
        match multipart::read(&body, b"B", &Selection::default()) {
            Err(error) => {
                assert!(error.offset <= body.len());
                refused += 1;
            }
            Ok(reading) => assert!(reading.form.len() < 3 * body.len()),
        }
        if let Some(media_type) = MediaType::parse(&damage(b"a/b; charset=\"utf-8\"; x=1")) {
            let form = media_type.form(&[]);
            assert_eq!(MediaType::parse(&form).unwrap().form(&[]), form, "seed {seed}");
        }
        let _ = string_item(&damage(b"\"a\\\"b\"; c=:YQ==:; d=%\"f%c3%bc\"; e=@1; f=-1.5; g=?0"));
    }
    assert!(refused > 10_000, "{refused}");
}
