//! Policies: each fault is told with its place, and an edit that would forget is told before it is made.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use oncegate_core::policy::Policy;

fn fault(document: &str) -> String {
    Policy::parse(document.as_bytes()).unwrap_err().to_string()
}

fn rule(fields: &str) -> String {
    format!(r#"{{"version":1,"rules":[{{"operation":"order","match":{{"path":"/orders/{{order}}"}}{fields}}}]}}"#)
}

const TENANT: &str = r#","scope":{"tenant":{"header":"x-tenant"}}"#;

#[test]
fn each_fault_is_told_with_its_place() {
    let with = |fields: &str| rule(&format!("{TENANT}{fields}"));
    let cases = [
        (r#"{"version":1,"rules":[],"rules":[]}"#.to_string(), "a member named twice at byte 24"),
        (r#"{"version":2,"rules":[]}"#.to_string(), "version: version 2"),
        (r#"{"version":1,"ruels":[]}"#.to_string(), "unknown field `ruels`"),
        (with(r#","leese":"60s""#), "rules[0].leese: unknown field `leese`"),
        (with(r#","lease":"60""#), "rules[0].lease: `60` is no span"),
        (with(r#","lease":60"#), "rules[0].lease: write text"),
        (with(r#","lease":"10s","max_run":"5s""#), "rules[0].max_run: shorter than the lease"),
        (with(r#","lease":"10s","upstream_timeout":"10s""#), "rules[0].upstream_timeout: longer than"),
        (with(r#","lease":"10s","settle_bound":"10s""#), "rules[0].settle_bound: not shorter"),
        (with(r#","limits":{"request":"65MiB"}"#), "rules[0].limits.request: more than 64 MiB"),
        (with(r#","outcomes":{"99":"committed"}"#), "rules[0].outcomes.99: write a status"),
        (with(r#","outcomes":{"4xx":"maybe"}"#), "rules[0].outcomes.4xx: `maybe` is not known here"),
        (with(r#","key":{"body":"no"}"#), "rules[0].key.body: `no` is no JSON Pointer"),
        (with(r#","fingerprint":{"exclude":["x"]}"#), "rules[0].fingerprint.exclude[0]: `x`"),
        (with(r#","fingerprint":{"headers":["Authorization"]}"#), "rules[0].fingerprint.headers[0]: a credential"),
        (with(r#","replay":{"headers":["connection"]}"#), "rules[0].replay.headers[0]: `connection` belongs"),
        (with(r#","replay":{"store":"none"}"#), "rules[0].replay.store: with `none`"),
        (with(r#","legacy":{"lookup":"/x/{y}"}"#), "rules[0].legacy.lookup: the path template has no parameter {y}"),
        (with(r#","max_attempts":0"#), "rules[0].max_attempts: write at least 1"),
        (rule(""), "rules[0]: `scope` is missing"),
        (rule(r#","scope":{}"#), "rules[0].scope: no part named `tenant`"),
        (rule(r#","scope":"everyone""#), "rules[0].scope: write \"shared\""),
        (rule(r#","scope":{"tenant":{"path":"tenant"}}"#), "rules[0].scope.tenant: the path template has no parameter"),
        (rule(r#","scope":{"tenant":{"cookie":"t"}}"#), "rules[0].scope.tenant.cookie: unknown field `cookie`"),
    ];
    for (document, expected) in cases {
        let told = fault(&document);
        assert!(told.contains(expected), "{document}\n told: {told}\n expected: {expected}");
    }
}

#[test]
fn defaults_are_those_that_are_documented() {
    let policy = Policy::parse(rule(TENANT).as_bytes()).unwrap();
    let rule = policy.rule("order").unwrap();
    let seconds = [rule.lease, rule.max_run, rule.settle_bound, rule.upstream_timeout].map(|span| span.as_secs());
    assert_eq!(seconds, [60, 60, 10, 50]);
    assert_eq!(rule.methods, ["POST", "PATCH"]);
    assert_eq!((rule.max_request, rule.max_response), (1 << 20, 1 << 20));
    assert_eq!((rule.key.header.as_deref(), rule.key.required), (Some("idempotency-key"), true));
    assert_eq!(policy.believed_headers(), ["x-tenant"]);
}

#[test]
fn an_edit_that_would_forget_is_told() {
    let policy = |fields: &str| Policy::parse(rule(fields).as_bytes()).unwrap();
    let old = policy(TENANT);
    let told = |new: &Policy| new.forgets(&old).into_iter().map(|forgotten| forgotten.message).collect::<Vec<_>>();
    assert!(told(&old).is_empty());
    assert!(told(&policy(&format!(r#"{TENANT},"retention":"48h""#))).is_empty());

    let scope = r#","scope":{"tenant":{"header":"x-tenant"},"region":{"constant":"eu"}}"#;
    assert!(told(&policy(scope))[0].contains("previous.scope"));
    let kept = format!(r#"{scope},"previous":{{"scope":[{{"tenant":{{"header":"X-Tenant"}}}}]}}"#);
    assert!(told(&policy(&kept)).is_empty());

    let fingerprint = format!(r#"{TENANT},"fingerprint":{{"exclude":["/trace"]}}"#);
    assert!(told(&policy(&fingerprint))[0].contains("previous.fingerprint"));
    let kept = format!(r#"{fingerprint},"previous":{{"fingerprint":[{{}}]}}"#);
    assert!(told(&policy(&kept)).is_empty());

    let gone = Policy::parse(br#"{"version":1,"rules":[]}"#).unwrap();
    assert!(told(&gone)[0].contains("the operation is gone"));
    let elsewhere = format!(r#"{TENANT},"key":{{"header":"X-Key"}}"#);
    assert!(told(&policy(&elsewhere))[0].contains("idempotency-key"));
}

#[test]
fn the_key_policy_tells_callers_what_they_need_and_no_more() {
    let fields = r#","scope":{"tenant":{"property":"secret-claim"}},"retention":"forever","in_flight":{"wait":"2s"},
        "key":{"header":"Idempotency-Key","body":"/key","format":{"min_length":16,"characters":"a-f0-9"}}"#;
    let policy = Policy::parse(rule(fields).as_bytes()).unwrap();
    let published = serde_json::to_string(&policy.key_policy()).unwrap();
    for told in [
        r#""path":"/orders/{order}""#,
        r#""key_in":["header idempotency-key","body /key"]"#,
        r#""key_min_length":16"#,
        r#""key_characters":"0123456789abcdef""#,
        r#""known_for_seconds":null"#,
        r#""waits_for_milliseconds":2000"#,
    ] {
        assert!(published.contains(told), "{told} in {published}");
    }
    assert!(!published.contains("secret-claim"));
}
