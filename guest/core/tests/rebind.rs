//! Retryable with a correction: what a retry may change, and only after a failure without effect.

mod kit;

use kit::{Bench, answered, attempt, request};

const RULE: &str = r#"{"operation":"transfer","match":{"path":"/orders"},"scope":{"tenant":{"header":"x-tenant"}},
    "retention":"60s","max_attempts":3,"fingerprint":{"retryable_rebind":["/otp"]}}"#;

fn transfer(amount: u32, otp: &str) -> oncegate_core::request::Request {
    request("a", "k", &format!(r#"{{"amount":{amount},"otp":"{otp}"}}"#))
}

/// Case 15: a wrong one-time password, refused before any effect, may be corrected; the amount may not.
#[test]
fn case_15_a_wrong_one_time_password_may_be_corrected() {
    let mut bench = Bench::new(RULE);
    bench.run(transfer(10, "111111"), 401, 0);
    assert_eq!((bench.admit(transfer(20, "222222"), 1).row.as_ref(), bench.origin_calls), ("retry-conflict", 1));
    let corrected = bench.admit(transfer(10, "222222"), 2);
    assert_eq!((corrected.row.as_ref(), bench.origin_calls), ("retry-rebound", 2));
    // While it is in flight and once it is done, the corrected request is the action, and no other.
    assert_eq!(bench.admit(transfer(10, "333333"), 3).row, "in-progress-conflict");
    assert_eq!(bench.admit(transfer(10, "222222"), 3).row, "in-progress");
    bench.settle(&attempt(&corrected), answered(201), 4);
    assert_eq!(bench.admit(transfer(10, "222222"), 5).row, "replay-success");
    assert_eq!(bench.admit(transfer(10, "111111"), 5).row, "success-conflict");
    assert_eq!(bench.origin_calls, 2);
}

#[test]
fn attempts_are_counted() {
    let mut bench = Bench::new(RULE);
    for otp in ["1", "2", "3"] {
        bench.run(transfer(10, otp), 401, 0);
    }
    assert_eq!((bench.admit(transfer(10, "4"), 1).row.as_ref(), bench.origin_calls), ("retry-exhausted", 3));
    assert_eq!(bench.admit(transfer(11, "4"), 1).row, "retry-conflict");
}

#[test]
fn nothing_may_change_where_no_rule_says_so() {
    let mut bench = Bench::new(kit::RULE);
    bench.run(transfer(10, "1"), 401, 0);
    assert_eq!((bench.admit(transfer(10, "2"), 1).row.as_ref(), bench.origin_calls), ("retry-conflict", 1));
}
