//! Policies as they are written, and any request's head under them.

use std::sync::Arc;

use oncegate_core::engine::Engine;
use oncegate_core::policy::{ConfigurationError, Policy, Route};
use oncegate_core::request::{Body, Request};

use crate::kit;

/// Runs the target: a policy, and after a zero byte a request's head.
pub fn run(data: &[u8]) {
    let mut halves = data.splitn(2, |&byte| byte == 0);
    let (document, head) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let policy = match Policy::parse(document) {
        Ok(policy) => policy,
        Err(error) => return is_told(&error),
    };
    assert_eq!(policy.forgets(&policy), [], "a policy forgets nothing of itself");
    let engine = match Engine::new(document, &kit::keyring(), kit::LIMITS) {
        Ok(engine) => Arc::new(engine),
        Err(error) => {
            assert!(error.path.contains("webhook.secrets"), "only a secret can be missing: {error}");
            return is_told(&error);
        }
    };
    let configuration = engine.configuration();
    assert!(configuration.believed_headers.iter().all(|name| !name.is_empty()));
    let (head, properties) = kit::head(head);
    let covered = matches!(policy.route(&head), Route::Covered(..));
    let enforced = matches!(engine.cover(&head), oncegate_core::decision::Coverage::Enforce { .. });
    assert!(covered || !enforced, "what no rule covers is not enforced");
    let request = Request { head, body: Body::Whole(b"{}".to_vec()), properties };
    kit::Store::default().drive(engine.admit(request, Default::default(), kit::at(1)));
}

fn is_told(error: &ConfigurationError) {
    assert!(!error.message.is_empty());
    assert!(error.path.is_empty() || error.to_string().starts_with(&error.path));
}
