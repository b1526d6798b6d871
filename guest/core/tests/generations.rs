//! Changing a policy must not forget: each change is made between an attempt and its retry, with both generations alive.

mod kit;

use kit::{Bench, answered, attempt, engine, keyring, request};
use oncegate_core::decision::{AttemptError, Standing};

fn rule(fields: &str) -> String {
    format!(r#"{{"operation":"order","match":{{"path":"/orders"}},"lease":"30s","retention":"60s",{fields}}}"#)
}

const TENANT: &str = r#""scope":{"tenant":{"header":"x-tenant"}}"#;

#[test]
fn no_change_forgets_what_is_settled_or_in_flight() {
    let scope = r#""scope":{"tenant":{"header":"x-tenant"},"region":{"constant":"eu"}},
        "previous":{"scope":[{"tenant":{"header":"x-tenant"}}]}"#;
    let fingerprint = format!(r#"{TENANT},"fingerprint":{{"exclude":["/trace"]}},"previous":{{"fingerprint":[{{}}]}}"#);
    let changes = [
        ("secret", TENANT.to_string(), vec![2, 1]),
        ("scope", scope.to_string(), vec![1]),
        ("fingerprint", fingerprint, vec![1]),
        ("retention", TENANT.to_string(), vec![1]),
    ];
    for (change, fields, secrets) in changes {
        let mut bench = Bench::new(&rule(TENANT));
        bench.run(request("a", "settled", r#"{"n":1}"#), 201, 0);
        let in_flight = attempt(&bench.admit(request("a", "in-flight", r#"{"n":1}"#), 0));
        let span = if change == "retention" { "1s" } else { "60s" };
        let new = engine(&rule(&fields).replace("60s", span), &keyring(&secrets));
        let old = std::mem::replace(&mut bench.engine, new);

        assert_eq!(bench.admit(request("a", "settled", r#"{"n":1}"#), 1).row, "replay-success", "{change}");
        assert_eq!(bench.admit(request("a", "settled", r#"{"n":2}"#), 1).row, "success-conflict", "{change}");
        assert_eq!(bench.admit(request("a", "in-flight", r#"{"n":1}"#), 1).row, "in-progress", "{change}");
        // The new generation does not judge the old one's attempts, which settle where they were admitted.
        let circumstances = bench.circumstances(2);
        let elsewhere = bench.engine.settle(in_flight.clone(), answered(201), circumstances).map(drop);
        assert_eq!(elsewhere.err(), Some(AttemptError::OtherGeneration), "{change}");
        let new = std::mem::replace(&mut bench.engine, old);
        assert_eq!(bench.settle(&in_flight, answered(201), 2).standing, Standing::Recorded, "{change}");
        // A client of the old gateway and one of the new one meet the same record.
        assert_eq!(bench.admit(request("a", "in-flight", r#"{"n":1}"#), 3).row, "replay-success", "{change}");
        bench.engine = new;
        assert_eq!(bench.admit(request("a", "in-flight", r#"{"n":1}"#), 3).row, "replay-success", "{change}");
        assert_eq!(bench.origin_calls, 2, "{change}");
        // The record's own times rule, whatever the policy says now.
        assert_eq!(bench.admit(request("a", "settled", r#"{"n":1}"#), 59).row, "replay-success", "{change}");
        assert_eq!(bench.admit(request("a", "settled", r#"{"n":1}"#), 60).row, "success-expired", "{change}");
        assert_eq!(bench.origin_calls, 3, "{change}");
    }
}

/// A change that does forget a plan stops, and does not run again.
#[test]
fn a_plan_that_is_not_held_stops() {
    let mut bench = Bench::new(&rule(TENANT));
    bench.run(request("a", "k", "{}"), 201, 0);
    bench.engine = engine(&rule(&format!(r#"{TENANT},"fingerprint":{{"exclude":["/trace"]}}"#)), &keyring(&[1]));
    assert_eq!((bench.admit(request("a", "k", "{}"), 1).row.as_ref(), bench.origin_calls), ("plan-unknown", 1));
}

/// A known key whose request can no longer be read is told so, not invited to make a new one.
#[test]
fn a_known_key_is_never_told_that_its_body_is_too_large() {
    let mut bench = Bench::new(&rule(TENANT));
    bench.run(request("a", "k", r#"{"a":1,"b":2}"#), 201, 0);
    bench.engine = engine(&rule(&format!(r#"{TENANT},"limits":{{"request":4}}"#)), &keyring(&[1]));
    assert_eq!(bench.admit(request("a", "k", r#"{"a":1,"b":2}"#), 1).row, "plan-unknown");
    assert_eq!(bench.admit(request("a", "new", r#"{"a":1,"b":2}"#), 1).row, "body-too-large");
    assert_eq!(bench.admit(request("a", "k", r#"{"a""#), 1).row, "plan-unknown");
    assert_eq!(bench.admit(request("a", "new", "{"), 1).row, "body-unreadable");
    // Over, it is not run again with a request that nobody can compare.
    assert_eq!(bench.admit(request("a", "k", "{"), 60).row, "body-unreadable");
    assert_eq!(bench.origin_calls, 1);
}
