//! What goes on with an attempt: what was known of it stays known, and a lost answer changes nothing.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod kit;

use kit::{Bench, Fate, answered, attempt, request};
use oncegate_core::decision::{Attempt, Evidence, Renewal, Testimony, Verdict};
use oncegate_core::request::Outcome;

const RULE: &str = r#"{"operation":"order","match":{"path":"/orders"},"scope":{"tenant":{"header":"x-tenant"}},
    "lease":"30s","max_run":"60s","retention":"600s"}"#;

fn renew(bench: &mut Bench, attempt: &Attempt, second: u64) -> Renewal {
    let circumstances = bench.circumstances(second);
    let step = bench.engine.renew(attempt.clone(), circumstances).unwrap();
    bench.store.drive(step)
}

#[test]
fn a_renewal_whose_answer_was_lost_is_a_renewal() {
    for fate in [Fate::Answered, Fate::Landed, Fate::Lost, Fate::Late] {
        let mut bench = Bench::new(RULE);
        let claimed = attempt(&bench.admit(request("a", "k", "{}"), 0));
        bench.store.fates = [fate].into();
        let Renewal::Renewed(renewed) = renew(&mut bench, &claimed, 10) else { panic!("{fate:?}") };
        assert_eq!(renewed.lease_until.as_millis(), 40_000, "{fate:?}");
        assert_eq!(bench.admit(request("a", "k", "{}"), 39).row, "in-progress", "{fate:?}");
        assert_eq!((bench.settle(&renewed, answered(201), 39).row.as_ref(), bench.origin_calls), ("settle-success", 1));
    }
}

#[test]
fn renewals_end_at_max_run() {
    let mut bench = Bench::new(RULE);
    let mut held = attempt(&bench.admit(request("a", "k", "{}"), 0));
    for (second, until) in [(20, 50_000), (45, 60_000)] {
        let Renewal::Renewed(renewed) = renew(&mut bench, &held, second) else { panic!("at {second}") };
        assert_eq!(renewed.lease_until.as_millis(), until);
        held = renewed;
    }
    assert_eq!(renew(&mut bench, &held, 50), Renewal::Refused("renew-limit".into()));
    assert_eq!((bench.admit(request("a", "k", "{}"), 60).row.as_ref(), bench.origin_calls), ("lease-lost", 1));
    assert!(matches!(renew(&mut bench, &held, 61), Renewal::Refused(_)));
}

#[test]
fn a_resolution_whose_answer_was_lost_is_a_resolution() {
    for fate in [Fate::Answered, Fate::Landed, Fate::Lost, Fate::Late] {
        let mut bench = Bench::new(RULE);
        let lost = attempt(&bench.admit(request("a", "k", "{}"), 0));
        bench.settle(&lost, Outcome::Lost("reset".into()), 1);
        bench.store.fates = [fate].into();
        let circumstances = bench.circumstances(2);
        let testimony = Testimony { actor: "ann".into(), reason: "not in the books".into() };
        let step = bench.engine.resolve(lost.key, Verdict::NoEffect(Evidence::AttemptGone), testimony, circumstances);
        let resolution = bench.store.drive(step);
        assert_eq!((resolution.row.as_ref(), resolution.resolved), ("resolve-no-effect", true), "{fate:?}");
        assert_eq!((bench.admit(request("a", "k", "{}"), 3).row.as_ref(), bench.origin_calls), ("retry", 2));
    }
}

/// A suspicion of a double effect outlives the next claim, its renewal and its settlement.
#[test]
fn a_suspicion_stays() {
    let mut bench = Bench::new(RULE);
    let first = attempt(&bench.admit(request("a", "k", "{}"), 0));
    bench.settle(&first, Outcome::Lost("reset".into()), 1);
    let circumstances = bench.circumstances(40);
    let testimony = Testimony { actor: "ann".into(), reason: "not in the books".into() };
    let verdict = Verdict::NoEffect(Evidence::Forced);
    let step = bench.engine.resolve(first.key.clone(), verdict, testimony, circumstances);
    assert_eq!(bench.store.drive(step).row, "resolve-forced");
    let second = attempt(&bench.admit(request("a", "k", "{}"), 41));
    let Renewal::Renewed(second) = renew(&mut bench, &second, 50) else { panic!("not renewed") };
    let late = bench.settle(&first, answered(201), 51);
    assert_eq!((late.row.as_ref(), late.alarm), ("fenced-committed", true));
    bench.settle(&second, answered(201), 52);
    let circumstances = bench.circumstances(53);
    let step = bench.engine.explain(request("a", "k", "{}"), circumstances);
    let explanation = bench.store.drive(step).unwrap();
    assert!(explanation.held.unwrap().double_effect_suspected);
    assert_eq!(bench.origin_calls, 2);
}
