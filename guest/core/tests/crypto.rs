//! The primitives, through the crates and features that the core is built with, against known answers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail"
)]

mod common;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use common::{hex, json_file, unhex, vectors};
use hmac::{Hmac, Mac};
use oncegate_core::canonical::Parts;
use serde_json::Value;
use sha2::{Digest, Sha256};

type Case = Vec<(String, String)>;

/// The blocks of `Name = value` lines.
fn blocks(text: &str) -> Vec<Case> {
    let lines = text.replace("\r\n", "\n");
    let block = |block: &str| {
        let pairs = block.lines().filter_map(|line| line.split_once(" = "));
        pairs.map(|(name, value)| (name.trim().to_string(), value.trim().to_string())).collect::<Case>()
    };
    lines.split("\n\n").map(block).filter(|case| !case.is_empty()).collect()
}

fn value<'c>(case: &'c Case, name: &str) -> Option<&'c str> {
    case.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
}

fn bytes(value: &Value) -> Vec<u8> {
    unhex(value.as_str().unwrap())
}

#[test]
fn sha256_known_answers() {
    let Some(folder) = vectors("nist-sha") else { return };
    let mut count = 0;
    for file in ["SHA256ShortMsg.rsp", "SHA256LongMsg.rsp"] {
        for case in blocks(&std::fs::read_to_string(folder.join(file)).unwrap()) {
            let (Some(bits), Some(message), Some(digest)) =
                (value(&case, "Len"), value(&case, "Msg"), value(&case, "MD"))
            else {
                continue;
            };
            let message = unhex(message);
            let message = &message[..bits.parse::<usize>().unwrap() / 8];
            assert_eq!(hex(&Sha256::digest(message)), digest, "{bits} bits");
            count += 1;
        }
    }
    assert!(count >= 128, "{count}");
}

#[test]
fn sha256_monte_carlo() {
    let Some(folder) = vectors("nist-sha") else { return };
    let cases = blocks(&std::fs::read_to_string(folder.join("SHA256Monte.rsp")).unwrap());
    let mut seed = unhex(cases.iter().find_map(|case| value(case, "Seed")).unwrap());
    let mut count = 0;
    for expected in cases.iter().filter_map(|case| value(case, "MD")) {
        let mut last = [seed.clone(), seed.clone(), seed];
        for _ in 0..1000 {
            let next = Sha256::digest(last.concat()).to_vec();
            last.rotate_left(1);
            last[2] = next;
        }
        assert_eq!(hex(&last[2]), expected, "round {count}");
        seed = last[2].clone();
        count += 1;
    }
    assert_eq!(count, 100);
}

/// Parts are SHA-256 over each part with its length, eight bytes in network order, before it.
#[test]
fn parts_are_sha256_over_lengths_and_parts() {
    let mut parts = Parts::new("domain");
    parts.add(b"").add(b"ab").add_optional(None).add_optional(Some(b"c")).count(3);
    let lengths = |number: u64| number.to_be_bytes().to_vec();
    let joined = [
        [lengths(6), b"domain".to_vec()].concat(),
        lengths(0),
        [lengths(2), b"ab".to_vec()].concat(),
        lengths(0),
        [lengths(1), lengths(1), b"c".to_vec()].concat(),
        lengths(3),
    ];
    assert_eq!(hex(&parts.finish()), hex(&Sha256::digest(joined.concat())));
}

#[test]
fn hmac_sha256_known_answers() {
    let Some(folder) = vectors("nist-sha") else { return };
    let mut count = 0;
    for case in blocks(&std::fs::read_to_string(folder.join("rfc-4231-sha256.txt")).unwrap()) {
        let (Some(key), Some(message), Some(tag)) = (value(&case, "Key"), value(&case, "Msg"), value(&case, "MD"))
        else {
            continue;
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(&unhex(key)).unwrap();
        mac.update(&unhex(message));
        assert_eq!(hex(&mac.finalize().into_bytes()), tag);
        count += 1;
    }
    assert!(count >= 6, "{count}");
}

#[test]
fn wycheproof_hmac_sha256() {
    let Some(folder) = vectors("wycheproof/testvectors_v1") else { return };
    let file = json_file(&folder.join("hmac_sha256_test.json"));
    let mut count = 0;
    for group in file["testGroups"].as_array().unwrap() {
        let size = group["tagSize"].as_u64().unwrap() as usize / 8;
        for case in group["tests"].as_array().unwrap() {
            let mut mac = Hmac::<Sha256>::new_from_slice(&bytes(&case["key"])).unwrap();
            mac.update(&bytes(&case["msg"]));
            let matches = mac.finalize().into_bytes()[..size] == bytes(&case["tag"]);
            assert_eq!(matches, case["result"] == "valid", "{}", case["tcId"]);
            count += 1;
        }
    }
    assert_eq!(count, file["numberOfTests"].as_u64().unwrap());
}

#[test]
fn wycheproof_xchacha20_poly1305() {
    let Some(folder) = vectors("wycheproof/testvectors_v1") else { return };
    let file = json_file(&folder.join("xchacha20_poly1305_test.json"));
    let (mut count, mut opened) = (0, 0);
    for case in file["testGroups"].as_array().unwrap().iter().flat_map(|group| group["tests"].as_array().unwrap()) {
        count += 1;
        let valid = case["result"] == "valid";
        let (msg, aad) = (bytes(&case["msg"]), bytes(&case["aad"]));
        // Lengths are part of the type here: a nonce of another length cannot be given.
        let Ok(nonce) = <[u8; 24]>::try_from(bytes(&case["iv"])) else {
            assert!(!valid, "{}", case["tcId"]);
            continue;
        };
        let aead = XChaCha20Poly1305::new_from_slice(&bytes(&case["key"])).unwrap();
        let sealed = [bytes(&case["ct"]), bytes(&case["tag"])].concat();
        let plain = aead.decrypt(&XNonce::from(nonce), Payload { msg: &sealed, aad: &aad });
        assert_eq!(plain.ok(), valid.then(|| msg.clone()), "{}", case["tcId"]);
        if valid {
            assert_eq!(aead.encrypt(&XNonce::from(nonce), Payload { msg: &msg, aad: &aad }).unwrap(), sealed);
            opened += 1;
        }
    }
    assert_eq!(count, file["numberOfTests"].as_u64().unwrap());
    assert!(opened > 200, "{opened}");
}
