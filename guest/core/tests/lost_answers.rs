//! G1 where the store's answers are lost: whatever became of a commit, the origin is called at most once, and who was told
//! that nothing was sent can rely on it.

mod kit;

use kit::{Bench, Fate, RULE, answered, attempt, request};
use oncegate_core::decision::{Decision, Standing};

const FATES: [Fate; 6] = [Fate::Answered, Fate::Landed, Fate::Lost, Fate::Late, Fate::After, Fate::Unavailable];

/// Every sequence of four fates.
fn sequences() -> impl Iterator<Item = [Fate; 4]> {
    FATES.into_iter().flat_map(|a| {
        FATES
            .into_iter()
            .flat_map(move |b| FATES.into_iter().flat_map(move |c| FATES.into_iter().map(move |d| [a, b, c, d])))
    })
}

#[test]
fn a_claim_whose_answers_are_lost_calls_the_origin_at_most_once() {
    for fates in sequences() {
        let mut bench = Bench::new(RULE);
        bench.store.fates = fates.into();
        let first = bench.admit(request("a", "k", "{}"), 0);
        let told = matches!(first.decision, Decision::Proceed(_) | Decision::Unavailable(_));
        assert!(told, "{fates:?}: {}", first.row);
        bench.store.fates.clear();
        bench.store.arrive();
        // A second client with the same key, while the first one's lease is running.
        let second = bench.admit(request("a", "k", "{}"), 1);
        assert!(bench.origin_calls <= 1, "{fates:?}: {} then {}", first.row, second.row);
        if let Decision::Proceed(proceed) = &first.decision {
            assert_eq!(second.row, "in-progress", "{fates:?}");
            let settlement = bench.settle(&proceed.attempt, answered(201), 2);
            assert_eq!((settlement.row.as_ref(), &settlement.standing), ("settle-success", &Standing::Recorded));
            assert_eq!(bench.admit(request("a", "k", "{}"), 3).row, "replay-success", "{fates:?}");
            assert_eq!(bench.origin_calls, 1);
        }
    }
}

/// Given up: the client was told 503 and nothing was sent. A claim that lands after that must not hold the key, as nobody
/// would ever settle it.
#[test]
fn a_claim_that_was_given_up_cannot_land_any_more() {
    let mut bench = Bench::new(RULE);
    bench.store.fates = [Fate::Lost, Fate::Lost, Fate::After].into();
    let first = bench.admit(request("a", "k", "{}"), 0);
    assert_eq!(first.row, "store-unresolved");
    bench.store.arrive();
    let second = bench.admit(request("a", "k", "{}"), 1);
    assert_eq!((second.row.as_ref(), bench.origin_calls), ("retry", 1));
    assert_eq!(attempt(&second).fence, 2);
}

#[test]
fn a_settlement_whose_answers_are_lost_is_recorded_once_it_says_so() {
    for fates in sequences() {
        let mut bench = Bench::new(RULE);
        let claimed = attempt(&bench.admit(request("a", "k", "{}"), 0));
        bench.store.fates = fates.into();
        let settlement = bench.settle(&claimed, answered(201), 1);
        bench.store.fates.clear();
        bench.store.arrive();
        let settlement = match settlement.standing {
            Standing::Unrecorded(_) => bench.settle(&claimed, answered(201), 2),
            _ => settlement,
        };
        assert_eq!(settlement.standing, Standing::Recorded, "{fates:?}");
        let again = bench.admit(request("a", "k", "{}"), 3);
        assert_eq!((again.row.as_ref(), bench.origin_calls), ("replay-success", 1), "{fates:?}");
    }
}

/// Reclaims and claims over expired records lose their answers as well.
#[test]
fn a_reclaim_whose_answers_are_lost_calls_the_origin_at_most_once_more() {
    for (status, second) in [(429, 5), (201, 70), (400, 70)] {
        for fates in sequences() {
            let mut bench = Bench::new(RULE);
            bench.run(request("a", "k", "{}"), status, 0);
            bench.store.fates = fates.into();
            let again = bench.admit(request("a", "k", "{}"), second);
            let told = matches!(again.decision, Decision::Proceed(_) | Decision::Unavailable(_));
            assert!(told, "{status} {fates:?}: {}", again.row);
            bench.store.fates.clear();
            bench.store.arrive();
            bench.admit(request("a", "k", "{}"), second + 1);
            assert!(bench.origin_calls <= 2, "{status} {fates:?}: {}", again.row);
        }
    }
}
