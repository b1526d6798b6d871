//! Written records: damaged ones, whole ones, and ones that are sealed rightly and hold anything.

use std::sync::{Arc, LazyLock};

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use oncegate_core::decision::*;
use oncegate_core::engine::Engine;
use oncegate_core::request::{Outcome, Request, Response};
use oncegate_core::store::{Key, Limits};
use sha2::Sha256;

use crate::kit::{self, Store};

const POLICY: &[u8] = br#"{"version":1,"rules":[{"operation":"order","match":{"path":"/orders"},"scope":"shared",
    "max_run":"1h"}]}"#;

const REQUEST: &[u8] = b"POST /orders\ncontent-type: application/json\nidempotency-key: k\n\n{\"amount\":1}";

/// As the record's written form has it: everything before the sealed extensions.
const PREFIX: usize = 160;

const NONCE: usize = 24;

/// Real records, each with what a further request meets.
struct Bench {
    engine: Arc<Engine>,
    held: Vec<Held>,
}

struct Held {
    store: Store,
    attempt: Attempt,
    /// The chunk of the body, where it is not in the record.
    chunk: Option<Vec<u8>>,
    row: &'static str,
}

static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    // Bodies of more than a hundred bytes are split off.
    let limits = Limits { max_value: 65_536 + 100, ..kit::LIMITS };
    let engine = Arc::new(Engine::new(POLICY, &kit::keyring(), limits).expect("the target's policy is right"));
    let answers = [
        (0, 0, "in-progress"),
        (201, 5, "replay-success"),
        (400, 5, "replay-failure"),
        (429, 5, "retry"),
        (500, 5, "unknown"),
        (201, 200, "replay-success"),
    ];
    let held = answers.map(|(status, length, row)| held(&engine, status, length, row)).into();
    Bench { engine, held }
});

fn held(engine: &Arc<Engine>, status: u16, length: usize, row: &'static str) -> Held {
    let mut store = Store::default();
    let admission = store.drive(engine.admit(kit::request(REQUEST), Conditions::default(), kit::at(1)));
    let Decision::Proceed(proceed) = admission.decision else { panic!("{} is no proceed", admission.row) };
    if status != 0 {
        let outcome = Outcome::Answered(answer(status, length));
        store.drive(engine.settle(proceed.attempt.clone(), outcome, kit::at(2)).expect("our own attempt"));
    }
    let chunk = store.entries.keys().find(|key| **key != proceed.attempt.key.0).cloned();
    Held { store, attempt: proceed.attempt, chunk, row }
}

fn answer(status: u16, length: usize) -> Response {
    Response { status, headers: vec![("content-type".into(), b"text/plain".to_vec())], body: vec![b'x'; length] }
}

/// Runs the target: which record, which operation, how the bytes change, and the change.
pub fn run(data: &[u8]) {
    let [which, operation, how, change @ ..] = data else { return };
    let held = &BENCH.held[usize::from(*which) % BENCH.held.len()];
    if how % 4 == 3 {
        return sealed(held, change);
    }
    let key = held.chunk.as_ref().filter(|_| how & 4 != 0).unwrap_or(&held.attempt.key.0);
    let before = &held.store.entries[key].value;
    let bytes = changed(before, how % 4, change);
    let mut store = held.store.clone();
    if bytes == *before {
        let admission = admit(&mut store, kit::request(REQUEST));
        return assert_eq!(admission.row, held.row, "what is whole keeps its row");
    }
    store.replace(key, bytes.clone());
    if held.chunk.as_ref() == Some(key) {
        let admission = admit(&mut store, kit::request(REQUEST));
        assert_eq!(admission.row, "undecodable", "a body is whole or not given");
    } else {
        damaged(held, &mut store, *operation);
    }
    assert_eq!(store.entries[key].value, bytes, "the bytes stay");
}

fn changed(before: &[u8], how: u8, change: &[u8]) -> Vec<u8> {
    match how {
        0 => {
            let mut bytes = before.to_vec();
            for triple in change.chunks_exact(3) {
                let at = usize::from(u16::from_be_bytes([triple[0], triple[1]])) % bytes.len();
                bytes[at] ^= triple[2];
            }
            bytes
        }
        1 => change.to_vec(),
        _ => {
            let [high, low, more @ ..] = change else { return before.to_vec() };
            let length = usize::from(u16::from_be_bytes([*high, *low])) % (before.len() + 1);
            [&before[..length], more].concat()
        }
    }
}

fn damaged(held: &Held, store: &mut Store, operation: u8) {
    let (engine, key) = (&BENCH.engine, held.attempt.key.clone());
    let unreadable =
        |row: &str| row.ends_with("undecodable") || row.ends_with("unreadable") || row.ends_with("future-format");
    let row = match operation % 6 {
        0 => {
            let admission = admit(store, kit::request(REQUEST));
            assert!(matches!(admission.decision, Decision::Stop(_) | Decision::Unavailable(_)), "{}", admission.row);
            admission.row
        }
        1 => {
            let explanation = store.drive(engine.explain(kit::request(REQUEST), kit::at(5))).expect("it has a key");
            assert_eq!(explanation.held, None);
            explanation.row
        }
        2 => {
            let outcome = Outcome::Answered(answer(201, 3));
            let settling = engine.settle(held.attempt.clone(), outcome, kit::at(5)).expect("our own attempt");
            let settlement = store.drive(settling);
            assert!(matches!(settlement.standing, Standing::Unrecorded(_)), "{}", settlement.row);
            assert!(matches!(settlement.answer, Answer::Instead(_)), "what is not recorded is not given away");
            settlement.row
        }
        3 => {
            let resolution = resolve(store, key, Verdict::NoEffect(Evidence::Forced));
            assert!(!resolution.resolved);
            resolution.row
        }
        4 => store.drive(engine.forget(key, kit::at(1 << 30))).expect("the store answers"),
        _ => match store.drive(engine.renew(held.attempt.clone(), kit::at(5)).expect("our own attempt")) {
            Renewal::Refused(row) => return assert_eq!(row, "renew-lost"),
            other => panic!("{other:?}"),
        },
    };
    assert!(unreadable(&row), "{row}");
}

/// A record that this keyring sealed, with a prefix that is changed here and there, and with any extensions.
fn sealed(held: &Held, change: &[u8]) {
    let key = &held.attempt.key;
    let mut store = held.store.clone();
    let Some((count, rest)) = change.split_first() else { return };
    let (patches, extensions) = rest.split_at(rest.len().min(usize::from(count % 8) * 2));
    let mut prefix = store.entries[&key.0].value[..PREFIX].to_vec();
    for patch in patches.chunks_exact(2) {
        prefix[usize::from(patch[0]) % (PREFIX - NONCE)] = patch[1];
    }
    let Some(bytes) = seal(key, &prefix, extensions) else { return };
    store.replace(&key.0, bytes);
    let seen = explain(&mut store);
    let met = admit(&mut store.clone(), kit::request(REQUEST));
    if seen.is_none() {
        assert!(!matches!(met.decision, Decision::Proceed(_) | Decision::Replay(_)), "{}", met.row);
    }
    // Another attempt's effect is noted beside what is held, which is written again.
    let other = Attempt { id: [0xee; 16], ..held.attempt.clone() };
    let outcome = Outcome::Answered(answer(201, 3));
    store.drive(BENCH.engine.settle(other, outcome, kit::at(5)).expect("an attempt of this generation"));
    let again = explain(&mut store);
    let state = seen.as_ref().map(|seen| seen.state);
    if state == Some(State::Claimed) {
        return;
    }
    let suspected = seen.map(|seen| oncegate_core::decision::Held { double_effect_suspected: true, ..seen });
    assert_eq!(again, suspected, "what is written again says the same");
    let met_again = admit(&mut store, kit::request(REQUEST));
    assert_eq!(met.row, met_again.row);
    if let (Decision::Replay(one), Decision::Replay(other)) = (met.decision, met_again.decision) {
        assert_eq!(one, other);
    }
}

/// The seal as it is documented, by a hand of our own; `None` where the prefix names a secret that is not there.
fn seal(key: &Key, prefix: &[u8], extensions: &[u8]) -> Option<Vec<u8>> {
    let id = u32::from_be_bytes(*prefix[12..].first_chunk()?);
    let secret = kit::keyring().secrets.into_iter().find(|secret| secret.id == id)?;
    let purpose = b"oncegate sealing";
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.bytes).ok()?;
    mac.update(&(purpose.len() as u64).to_be_bytes());
    mac.update(purpose);
    let cipher = XChaCha20Poly1305::new(&mac.finalize().into_bytes());
    let nonce: [u8; NONCE] = *prefix.last_chunk()?;
    let aad = [key.as_bytes(), prefix].concat();
    let sealed = cipher.encrypt(&XNonce::from(nonce), Payload { msg: extensions, aad: &aad }).ok()?;
    Some([prefix, &sealed].concat())
}

fn admit(store: &mut Store, request: Request) -> Admission {
    store.drive(BENCH.engine.admit(request, Conditions::default(), kit::at(5)))
}

fn explain(store: &mut Store) -> Option<oncegate_core::decision::Held> {
    store.drive(BENCH.engine.explain(kit::request(REQUEST), kit::at(5))).expect("it has a key").held
}

fn resolve(store: &mut Store, key: Key, verdict: Verdict) -> Resolution {
    let testimony = Testimony { actor: "a".into(), reason: "b".into() };
    store.drive(BENCH.engine.resolve(key, verdict, testimony, kit::at(5)))
}
