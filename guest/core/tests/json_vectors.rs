//! JSON against the vectors of others: JSONTestSuite, and RFC 8785's own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail"
)]

mod common;

use common::{Random, files, hex, vectors};
use oncegate_core::canonical::json::{Profile, Selection, canonicalize, read};
use oncegate_core::canonical::{Fault, FormError};
use sha2::{Digest, Sha256};

fn jcs(input: &[u8]) -> Result<Vec<u8>, FormError> {
    read(input, Profile::Jcs, &Selection::default()).map(|reading| reading.form)
}

/// Valid JSON by its grammar, and refused here: which of the two values is meant cannot be known.
const DUPLICATES: [&str; 2] = ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"];

/// Where parsers may choose: only numbers of any size are accepted. The rest is not UTF-8, half a surrogate pair, a byte
/// order mark, or 500 levels deep, or has
/// an exponent of 50 digits.
const CHOSEN: [&str; 9] = [
    "i_number_double_huge_neg_exp.json",
    "i_number_neg_int_huge_exp.json",
    "i_number_pos_double_huge_exp.json",
    "i_number_real_neg_overflow.json",
    "i_number_real_pos_overflow.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
];

#[test]
fn json_test_suite() {
    let Some(folder) = vectors("JSONTestSuite/test_parsing") else { return };
    let (mut yes, mut no) = (0, 0);
    for (name, bytes) in files(&folder) {
        let exact = canonicalize(&bytes);
        if name.starts_with("n_") {
            assert!(exact.is_err() && jcs(&bytes).is_err(), "{name} is accepted");
            no += 1;
        } else if DUPLICATES.contains(&name.as_str()) {
            let fault = |result: Result<_, FormError>| result.unwrap_err().fault;
            assert_eq!((fault(exact), fault(jcs(&bytes))), (Fault::DuplicateMember, Fault::DuplicateMember), "{name}");
        } else if name.starts_with("y_") {
            let form = exact.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(canonicalize(&form).as_ref(), Ok(&form), "{name}: a form is its own form");
            jcs(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            yes += 1;
        } else {
            assert_eq!(exact.is_ok(), CHOSEN.contains(&name.as_str()), "{name}: {exact:?}");
        }
        for end in 0..bytes.len().min(300) {
            let _ = canonicalize(&bytes[..end]);
        }
    }
    assert!(yes >= 90 && no >= 180, "{yes} and {no} files");
}

/// Pairs in which one document is what a careless reader makes of the other.
#[test]
fn json_test_suite_transformations_stay_apart() {
    let Some(folder) = vectors("JSONTestSuite/test_transform") else { return };
    let form = |name: &str| canonicalize(&std::fs::read(folder.join(name)).unwrap());
    let apart = [
        ("number_-9223372036854775808.json", "number_-9223372036854775809.json"),
        ("number_9223372036854775807.json", "number_9223372036854775808.json"),
        ("number_1.0.json", "number_1.000000000000000005.json"),
        ("number_1000000000000000.json", "number_10000000000000000999.json"),
        ("object_key_nfc_nfd.json", "number_1e6.json"),
    ];
    for (one, other) in apart {
        assert_ne!(form(one).unwrap(), form(other).unwrap(), "{one} and {other}");
    }
    assert_eq!(form("object_key_nfc_nfd.json").unwrap(), form("object_key_nfd_nfc.json").unwrap(), "only reordered");
    for name in files(&folder).into_iter().map(|(name, _)| name) {
        if name.starts_with("object_same_key") {
            assert_eq!(form(&name).unwrap_err().fault, Fault::DuplicateMember, "{name}");
        }
        if name.contains("_invalid_codepoint") {
            assert!(form(&name).is_err(), "{name}");
        }
    }
    assert_eq!(form("number_1e-999.json").unwrap(), b"[1e-999]");
}

#[test]
fn jcs_vectors() {
    let Some(folder) = vectors("jcs/testdata") else { return };
    let inputs = files(&folder.join("input"));
    assert_eq!(inputs.len(), 6);
    for (name, input) in inputs {
        let output = std::fs::read(folder.join("output").join(&name)).unwrap();
        let hexed = std::fs::read_to_string(folder.join("outhex").join(name.replace(".json", ".txt"))).unwrap();
        let form = jcs(&input).unwrap();
        assert_eq!(String::from_utf8_lossy(&form), String::from_utf8_lossy(&output), "{name}");
        assert_eq!(hex(&form), hexed.split_whitespace().collect::<String>(), "{name}");
        assert_eq!(jcs(&form).as_ref(), Ok(&form), "{name}: a form is its own form");
    }
}

/// The first 100,000 lines of the number file of RFC 8785's author, made again by its published rule and compared by hash.
#[test]
fn jcs_numbers() {
    let Some(folder) = vectors("jcs/testdata") else { return };
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let listed = readme.split("staticU64s = new BigUint64Array([").nth(1).unwrap().split("])").next().unwrap();
    let listed: Vec<u64> = listed
        .split(',')
        .map(|item| item.trim().trim_end_matches('n'))
        .filter(|item| !item.is_empty())
        .map(|item| u64::from_str_radix(item.strip_prefix("0x").unwrap(), 16).unwrap())
        .collect();
    let serial = (0..2000).map(|at| 0x0010_0000_0000_0000 + at);
    let mut block = vec![0; 32];
    let drawn = std::iter::repeat_with(move || {
        block = Sha256::digest(&block).to_vec();
        block.chunks(8).map(|eight| u64::from_le_bytes(eight.try_into().unwrap())).collect::<Vec<_>>()
    });
    let drawn = drawn.flatten().filter(|bits| f64::from_bits(*bits).is_finite() && f64::from_bits(*bits) != 0.0);
    let mut hash = Sha256::new();
    for (at, bits) in listed.into_iter().chain(serial).chain(drawn).take(100_000).enumerate() {
        // Seventeen digits tell every double.
        let form = jcs(format!("{:.16e}", f64::from_bits(bits)).as_bytes()).unwrap();
        hash.update(format!("{bits:x},{}\n", String::from_utf8(form).unwrap()));
        let expected = match at + 1 {
            1_000 => "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
            10_000 => "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892",
            100_000 => "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7",
            _ => continue,
        };
        assert_eq!(hex(&hash.clone().finalize()), expected, "within the first {} lines", at + 1);
    }
}

/// What JCS equates and the exact profile keeps apart (the reason why it is not the default).
#[test]
fn jcs_rounds_and_exact_does_not() {
    for (one, other) in [
        ("9007199254740992", "9007199254740993"),
        ("18446744073709551615", "18446744073709551616"),
        ("0.1", "0.10000000000000000001"),
        ("1e-400", "0"),
    ] {
        assert_eq!(jcs(one.as_bytes()), jcs(other.as_bytes()), "{one} and {other}");
        assert_ne!(canonicalize(one.as_bytes()), canonicalize(other.as_bytes()), "{one} and {other}");
    }
    assert_eq!(jcs(b"[1,1e400]"), Err(FormError { offset: 3, fault: Fault::Number }));
    assert_eq!(jcs(br#"{"a":1,"a":2}"#).unwrap_err().fault, Fault::DuplicateMember);
}

#[test]
fn a_fault_has_its_offset() {
    for (input, offset, fault) in [
        (&b"\xef\xbb\xbf{}"[..], 0, Fault::Syntax),
        (b"{\"a\":\"\xff\"}", 6, Fault::Encoding),
        (b"[1] 2", 4, Fault::Syntax),
        (b"", 0, Fault::Syntax),
        (br#"{"a":1,"b":2,"\u0061":3}"#, 13, Fault::DuplicateMember),
        (br#"["\ud800"]"#, 2, Fault::LoneSurrogate),
        (br#"["\udc00\ud800"]"#, 2, Fault::LoneSurrogate),
        (b"[01]", 2, Fault::Syntax),
        (b"[-01]", 3, Fault::Syntax),
        (b"[1e1000000000000000]", 1, Fault::Number),
    ] {
        assert_eq!(canonicalize(input), Err(FormError { offset, fault }), "{}", String::from_utf8_lossy(input));
    }
    assert_eq!(canonicalize(b"[1e999999999999999, 0e99999999999999999999]").unwrap(), b"[1e999999999999999,0]");
}

/// Found by fuzzing: `10e999999999999999` was read, but `1e1000000000000000`, which is the same number and its form, was not.
#[test]
fn a_number_is_too_large_in_every_spelling_or_in_none() {
    let fault = |offset| Err(FormError { offset, fault: Fault::Number });
    for large in ["10e999999999999999", "1e1000000000000000", "0.1e1000000000000001", "1000e999999999999997"] {
        assert_eq!(canonicalize(large.as_bytes()), fault(0), "{large}");
    }
    for small in ["0.1e-999999999999999", "1e-1000000000000000", "100e-1000000000000002"] {
        assert_eq!(canonicalize(small.as_bytes()), fault(0), "{small}");
    }
    for largest in ["10e999999999999998", "1e999999999999999", "0.01e1000000000000001", "0.1e+001000000000000000"] {
        assert_eq!(canonicalize(largest.as_bytes()).as_deref(), Ok(&b"1e999999999999999"[..]), "{largest}");
    }
    assert_eq!(canonicalize(b"1e9223372036854775808"), fault(0), "beyond what can be reckoned with");
}

/// Depth is bounded, and so is the stack: a guest has about a mebibyte of it.
#[test]
fn depth_and_stack_are_bounded() {
    let nested = |depth: usize| [r#"{"b":1,"a":["#.repeat(depth / 2), "]}".repeat(depth / 2)].concat();
    let deepest = nested(64);
    let small = std::thread::Builder::new().stack_size(128 * 1024);
    let form = small.spawn(move || canonicalize(deepest.as_bytes())).unwrap().join().unwrap().unwrap();
    assert_eq!(form.len(), nested(64).len());
    assert_eq!(canonicalize(nested(66).as_bytes()).unwrap_err().fault, Fault::TooDeep);
    assert_eq!(canonicalize(&b"[".repeat(1 << 20)).unwrap_err().fault, Fault::TooDeep);
}

/// Bytes that are nearly JSON: no panic, and what has a form is the form of itself.
#[test]
fn damaged_documents() {
    let whole = br#"{"a":[1.50,-0,1e2,"\u00e9\ud83d\ude00\n"],"b":{"c":null,"d":true},"":"x"}"#;
    let mut random = Random(7);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut bytes = whole.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.next() as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, *random.pick(b"{}[]\",:\\eE+-.0 u_")),
            }
        }
        if let Ok(form) = canonicalize(&bytes) {
            assert_eq!(canonicalize(&form), Ok(form.clone()));
            read += 1;
        }
    }
    assert!(read > 500, "only {read} could be read");
}
