//! Golden records: what version 1 wrote is read for ever, to the same decision, and is still written to the byte.
//! `golden/v1.txt` is never edited; a line may only be added.

#![expect(clippy::unwrap_used, clippy::string_slice, reason = "a test may fail")]

mod kit;

use kit::{attempt, request, small_values};
use oncegate_core::request::{Outcome, Response};
use oncegate_core::store::{Entry, Revision};

const GOLDEN: &str = include_str!("golden/v1.txt");

/// A rule that has to stay as it is, as the records were made under it.
const RULE: &str = r#"{"operation":"order","match":{"path":"/orders"},"scope":{"tenant":{"header":"x-tenant"}},
    "lease":"30s","retention":"60s","replay":{"headers":["x-own"]}}"#;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn what_version_1_wrote_is_still_read() {
    let mut count = 0;
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        let [row, second, entries] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let mut bench = small_values(RULE, 65_700);
        for entry in entries.split(',') {
            let (key, value) = entry.split_once(':').unwrap();
            let entry = Entry { revision: Revision(vec![1]), value: bytes(value) };
            bench.store.entries.insert(bytes(key), entry);
        }
        // So that this call's attempt is not the one that made the record.
        bench.circumstances(0);
        let admission = bench.admit(request("golden", "key", r#"{"amount":1}"#), second.parse().unwrap());
        assert_eq!(admission.row, row);
        count += 1;
    }
    assert_eq!(count, 8);
}

#[test]
fn version_1_is_written_to_the_byte() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let own = vec![("x-own".to_string(), b"1".to_vec()), ("location".to_string(), b"/orders/1".to_vec())];
    let said = |status, body: &[u8]| Outcome::Answered(Response { status, headers: own.clone(), body: body.to_vec() });
    let head = Outcome::Oversized(Response { status: 201, headers: own.clone(), body: Vec::new() });
    let mut golden = GOLDEN.lines().filter(|line| !line.starts_with('#'));
    let outcomes = [
        ("in-progress", None),
        ("replay-success", Some(said(201, b"made"))),
        ("replay-success", Some(said(201, &[7; 300]))),
        ("tombstone", Some(head)),
        ("replay-failure", Some(said(400, b"no"))),
        ("retry", Some(said(429, b"later"))),
        ("unknown", Some(Outcome::Lost("reset".into()))),
        ("success-expired", Some(said(204, b""))),
    ];
    for (row, outcome) in outcomes {
        let mut bench = small_values(RULE, 65_700);
        let claimed = attempt(&bench.admit(request("golden", "key", r#"{"amount":1}"#), 1000));
        if let Some(outcome) = outcome {
            bench.settle(&claimed, outcome, 1001);
        }
        let entries: Vec<String> =
            bench.store.entries.iter().map(|(key, entry)| format!("{}:{}", hex(key), hex(&entry.value))).collect();
        let second = if row == "success-expired" { 2000 } else { 1002 };
        let made = format!("{row} {second} {}", entries.join(","));
        assert_eq!(golden.next(), Some(made.as_str()), "the written format changed: raise its version\n{made}");
    }
}
