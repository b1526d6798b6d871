//! No spelling of a target goes round a rule, and none that is plain is refused.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use oncegate_core::policy::{Policy, Route};
use oncegate_core::request::Head;

const POLICY: &str = r#"{"version":1,"rules":[
    {"operation":"a","match":{"path":"/orders"},"scope":"shared"},
    {"operation":"b","match":{"path":"/orders/{order}/items/{item}"},"scope":"shared"},
    {"operation":"c","match":{"path":"/slashed/"},"scope":"shared"},
    {"operation":"d","match":{"path":"/api/**","methods":["PUT"]},"scope":"shared"},
    {"operation":"e","match":{"path":"/odd/**"},"ambiguous":"accept","scope":"shared"}]}"#;

fn route(method: &str, target: &str, headers: &[&str]) -> String {
    let policy = Policy::parse(POLICY.as_bytes()).unwrap();
    let headers = headers.iter().map(|name| (name.to_string(), b"DELETE".to_vec())).collect();
    let head = Head { method: method.into(), target: target.as_bytes().to_vec(), headers };
    match policy.route(&head) {
        Route::Pass(row) => row.to_string(),
        Route::Refuse(row, _) => row.to_string(),
        Route::Covered(rule, path) => {
            let values: Vec<String> = path.iter().map(|(_, value)| String::from_utf8_lossy(value).into()).collect();
            format!("{} {}", rule.operation, values.join(",")).trim_end().to_string()
        }
    }
}

#[test]
fn plain_targets_are_covered_or_pass() {
    let cases = [
        ("POST", "/orders", "a"),
        ("POST", "/orders?x=../..;", "a"),
        ("POST", "/orders/1/items/%C3%A9%20x", "b 1,%C3%A9%20x"),
        ("POST", "/slashed/", "c"),
        ("PUT", "/api/x/y", "d"),
        ("PUT", "/api", "d"),
        ("POST", "/api/x", "uncovered"),
        ("POST", "/elsewhere/", "uncovered"),
        ("POST", "/", "uncovered"),
        ("POST", "/orders/1", "uncovered"),
        ("GET", "/orders", "not-a-mutation"),
        ("GET", "/a//b/../c;d", "not-a-mutation"),
        ("POST", "/odd//a;b/../c", "e"),
    ];
    for (method, target, expected) in cases {
        assert_eq!(route(method, target, &[]), expected, "{method} {target}");
    }
}

#[test]
fn other_spellings_are_refused() {
    for target in [
        "/orders/",
        "//orders",
        "/orders//",
        "/./orders",
        "/x/../orders",
        "/orders/.",
        "/orders;a=b",
        "/orders%2F",
        "/%6Frders",
        "/orders%2e",
        "\\orders",
        "/orders\\",
        "/orders%00",
        "/orders%5c",
        "/orders%",
        "/orders%4",
        "/orders%zz",
        "/orders/1/items/%c3%A9",
        "/orders%3B",
        "/orders/1/items/%2E%2E",
        "/orders/1/items//",
        "/slashed",
        "orders",
        "/orders\u{e9}",
        "/a b",
        "http://host/orders",
    ] {
        assert_eq!(route("POST", target, &[]), "target-ambiguous", "{target}");
    }
    assert_eq!(route("DELETE", "/a/../orders", &[]), "target-ambiguous", "a mutation that no rule matches");
    for header in ["X-HTTP-Method-Override", "x-method-override", "X-HTTP-Method"] {
        assert_eq!(route("POST", "/elsewhere", &[header]), "method-override");
        assert_eq!(route("GET", "/orders", &[header]), "method-override");
    }
    for query in ["_method=PUT", "a=b&%5Fmethod=PUT", "_%6dethod"] {
        assert_eq!(route("POST", &format!("/orders?{query}"), &[]), "method-override", "{query}");
    }
}
