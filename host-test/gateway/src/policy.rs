//! The policy documents that `serve` makes itself. What they mean is core's to say.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::Scope;
use crate::key_policy;

/// Left between the longest time for the origin's answer and the end of the lease, for settling.
const FOR_SETTLING: Duration = Duration::from_secs(10);

/// POST and PATCH on every path, the key optional.
pub(crate) fn covering_all(scope: &Scope, upstream_timeout: Option<Duration>) -> Vec<u8> {
    let mut rule = json!({
        "operation": "request",
        "match": { "methods": ["POST", "PATCH"], "path": "/**" },
        "key": { "header": "Idempotency-Key", "required": false },
        "scope": match scope {
            Scope::Header(name) => json!({ "tenant": { "header": name.as_str() } }),
            Scope::Principal => json!({ "tenant": { "property": "principal" } }),
            Scope::Shared => json!("shared"),
        },
    });
    if let (Some(timeout), Some(rule)) = (upstream_timeout, rule.as_object_mut()) {
        let lease = timeout.saturating_add(FOR_SETTLING);
        let spans =
            [("upstream_timeout", timeout), ("settle_bound", FOR_SETTLING), ("lease", lease), ("max_run", lease)];
        for (name, span) in spans {
            rule.insert(name.into(), format!("{}ms", span.as_millis()).into());
        }
    }
    document(vec![rule])
}

/// What the sample origin offers. Keys may also stand in a booking's body.
pub(crate) fn of_sample() -> Vec<u8> {
    let rule = |operation: &str, path: &str, scope: Value, key: Value| json!({ "operation": operation, "match": { "methods": ["POST"], "path": path }, "key": key, "scope": scope });
    let tenant = json!({ "header": "X-Tenant" });
    let header = json!({ "header": "Idempotency-Key" });
    let either = json!({ "header": "Idempotency-Key", "body": "/idempotency_key" });
    document(vec![
        rule("create-order", "/orders", json!({ "tenant": tenant }), header.clone()),
        rule("create-booking", "/bookings/{item}", json!({ "tenant": tenant, "item": { "path": "item" } }), either),
        rule("create-refund", "/refunds", json!({ "tenant": tenant }), header),
    ])
}

fn document(rules: Vec<Value>) -> Vec<u8> {
    json!({ "version": 1, "unmatched": "pass", "described_by": key_policy::PATH, "rules": rules })
        .to_string()
        .into_bytes()
}
