//! What the tests of the canonical forms share: vectors, fingerprints through a real policy, and seeded randomness.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail"
)]

use std::io::Write;
use std::path::{Path, PathBuf};

use oncegate_core::canonical::FormError;
use oncegate_core::policy::{Policy, Route};
use oncegate_core::request::Head;
use serde_json::{Value, json};

/// A folder of vectors: below `$ONCEGATE_VECTORS`, or below `shared/vectors` in a folder above this crate.
pub fn vectors(name: &str) -> Option<PathBuf> {
    let above = || {
        let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        folders.map(|folder| folder.join("shared/vectors")).find(|found| found.is_dir())
    };
    let found = std::env::var_os("ONCEGATE_VECTORS").map(PathBuf::from).or_else(above).map(|all| all.join(name));
    let found = found.filter(|folder| folder.is_dir());
    if found.is_none() {
        // Not by eprintln, which the test harness swallows.
        let told = writeln!(
            std::io::stderr(),
            "SKIPPED: no vectors `{name}`: set ONCEGATE_VECTORS to the folder that holds them"
        );
        told.unwrap();
    }
    found
}

/// The files of a folder, by name.
pub fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// A JSON file of vectors.
pub fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A policy of one rule over `POST /payments/{id}`.
pub fn policy(fingerprint: Value, key: Value) -> Policy {
    let rule = json!({
        "operation": "pay", "match": {"path": "/payments/{id}"}, "scope": "shared",
        "fingerprint": fingerprint, "key": key,
    });
    let document = json!({"version": 1, "rules": [rule]});
    Policy::parse(&serde_json::to_vec(&document).unwrap()).unwrap()
}

/// A request to be compared.
pub struct Sent {
    pub head: Head,
    pub body: Vec<u8>,
}

impl Sent {
    pub fn new(target: &str, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        let head = Head { method: "POST".into(), target: target.into(), headers: vec![] };
        Sent { head, body: body.as_ref().to_vec() }.with("Content-Type", content_type)
    }

    pub fn json(body: impl AsRef<[u8]>) -> Self {
        Sent::new("/payments/1", "application/json", body)
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.head.headers.push((name.into(), value.into()));
        self
    }
}

/// What a request comes to under the policy's one rule.
pub fn fingerprint(policy: &Policy, sent: &Sent) -> Result<[u8; 32], FormError> {
    let Route::Covered(rule, path) = policy.route(&sent.head) else { panic!("not covered") };
    let body = rule.plan.read_body(&sent.head, &sent.body)?;
    Ok(rule.plan.digest(&rule.operation, &sent.head, &path, &[], &body).whole)
}

/// Two requests that are one action.
#[track_caller]
pub fn assert_same(policy: &Policy, one: &Sent, other: &Sent) {
    assert_eq!(fingerprint(policy, one).unwrap(), fingerprint(policy, other).unwrap(), "honest retries conflict");
}

/// Two requests that are two actions.
#[track_caller]
pub fn assert_apart(policy: &Policy, one: &Sent, other: &Sent) {
    assert_ne!(fingerprint(policy, one).unwrap(), fingerprint(policy, other).unwrap(), "two actions are equal");
}

/// SplitMix64: the same numbers from the same seed, everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}
