//! G7 and G11 on the written form: a damaged record is unknown, never absent and never replayed, and what it holds is not
//! to be read off it.

mod kit;

use kit::{Bench, RULE, answered, attempt, request, status};
use oncegate_core::decision::Decision;
use oncegate_core::store::Entry;

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    for state in ["succeeded", "failed", "retryable", "unknown", "in progress"] {
        let mut bench = Bench::new(RULE);
        let claimed = attempt(&bench.admit(request("a", "k", "{}"), 0));
        match state {
            "succeeded" => drop(bench.settle(&claimed, answered(201), 1)),
            "failed" => drop(bench.settle(&claimed, answered(400), 1)),
            "retryable" => drop(bench.settle(&claimed, answered(429), 1)),
            "unknown" => drop(bench.settle(&claimed, answered(500), 1)),
            _ => {}
        }
        let (key, Entry { revision, value }) =
            bench.store.entries.iter().next().map(|(k, e)| (k.clone(), e.clone())).unwrap();
        let flipped = (0..value.len() * 8).map(|bit| {
            let mut bytes = value.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        });
        let cut = (0..value.len()).map(|length| value[..length].to_vec());
        let longer = [[value.clone(), vec![0]].concat()];
        for bytes in flipped.chain(cut).chain(longer) {
            bench.store.entries.insert(key.clone(), Entry { revision: revision.clone(), value: bytes.clone() });
            let admission = bench.admit(request("a", "k", "{}"), 2);
            let told = (admission.row.as_ref(), status(&admission.decision));
            assert!(matches!(told, ("undecodable", 409) | ("future-format", 503)), "{state}: {told:?}");
            assert_eq!(bench.store.entries[&key].value, bytes, "the bytes stay");
        }
        assert_eq!(bench.origin_calls, 1);
    }
}

/// G4: a record that was moved under another identity does not open.
#[test]
fn a_record_under_another_key_does_not_open() {
    let mut bench = Bench::new(RULE);
    bench.run(request("a", "k", "{}"), 201, 0);
    let of_a = bench.store.entries.values().next().unwrap().clone();
    bench.run(request("b", "k", "{}"), 201, 0);
    for entry in bench.store.entries.values_mut() {
        *entry = of_a.clone();
    }
    let told: Vec<String> =
        ["a", "b"].iter().map(|tenant| bench.admit(request(tenant, "k", "{}"), 1).row.into_owned()).collect();
    assert_eq!(told, ["replay-success", "undecodable"]);
    assert_eq!(bench.origin_calls, 2);
}

#[test]
fn a_record_tells_nothing_to_who_has_no_secret() {
    let mut bench = Bench::new(RULE);
    let claimed = attempt(&bench.admit(request("canary-tenant", "canary-key", r#"{"card":"canary-body"}"#), 0));
    bench.settle(&claimed, answered(201), 1);
    for (key, entry) in &bench.store.entries {
        let dump = [key.clone(), entry.value.clone()].concat();
        for canary in ["canary", "answer 201", "text/plain", "order"] {
            assert!(!dump.windows(canary.len()).any(|window| window == canary.as_bytes()), "{canary} in the clear");
        }
    }
}

#[test]
fn a_secret_is_rotated_without_forgetting() {
    let mut bench = Bench::new(RULE);
    let old = attempt(&bench.admit(request("a", "settled", "{}"), 0));
    bench.settle(&old, answered(201), 0);
    let in_flight = attempt(&bench.admit(request("a", "in-flight", "{}"), 0));
    let before = std::mem::replace(&mut bench.engine, kit::engine(RULE, &kit::keyring(&[2, 1])));
    // The old generation is still alive and settles what it admitted.
    assert_eq!(bench.admit(request("a", "settled", "{}"), 1).row, "replay-success");
    assert_eq!(bench.admit(request("a", "settled", r#"{"x":1}"#), 1).row, "success-conflict");
    assert_eq!(bench.admit(request("a", "in-flight", "{}"), 1).row, "in-progress");
    let rotated = std::mem::replace(&mut bench.engine, before);
    assert_eq!(bench.settle(&in_flight, answered(201), 2).row, "settle-success");
    bench.engine = rotated;
    assert_eq!(bench.admit(request("a", "in-flight", "{}"), 3).row, "replay-success");
    assert_eq!(bench.origin_calls, 2);
    // Over, it is claimed anew under the new secret, and the old entry goes.
    let anew = bench.admit(request("a", "settled", "{}"), 70);
    assert_eq!((anew.row.as_ref(), attempt(&anew).secret, bench.store.entries.len()), ("success-expired", 2, 2));
    assert!(matches!(anew.decision, Decision::Proceed(_)));
}
