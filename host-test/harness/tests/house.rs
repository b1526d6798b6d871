//! The house's rules: where rules may stand, what core may need, how long a file may be.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Words of rules. Outside core they stand where its values are turned into others, value by value, and nowhere else.
const WORDS: [&str; 6] =
    ["lease_until", "expires_at", "retained_until", "not_before", "double_effect_suspected", "settled_at"];

/// Where values are turned into others, and where a harness shows them.
const CONVERSIONS: [&str; 6] = [
    "guest/component/src/from_core.rs",
    "guest/component/src/to_core.rs",
    "host-test/host/src/from_guest.rs",
    "host-test/host/src/to_guest.rs",
    "host-test/harness/src/expect.rs",
    "host-test/harness/tests/house.rs",
];

const LONGEST_FILE: usize = 500;

#[test]
fn rules_stand_in_core_alone() {
    let root = root();
    let mut faults = Vec::new();
    for path in sources(&root) {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if name.starts_with("guest/core/") || CONVERSIONS.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let found = WORDS.iter().filter(|word| text.contains(**word));
        faults.extend(found.map(|word| format!("{name} knows of `{word}`: leave the rule to core")));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_list_of_conversions_is_not_longer_than_needed() {
    for name in CONVERSIONS {
        let text = fs::read_to_string(root().join(name)).unwrap_or_else(|_| panic!("{name} is gone: take it out"));
        assert!(WORDS.iter().any(|word| text.contains(word)), "{name} needs no exception");
    }
}

#[test]
fn files_are_short() {
    let root = root();
    let mut paths = sources(&root);
    collect(&root.join("host-test/harness/vectors"), "json", &mut paths);
    let too_long: Vec<String> = paths
        .iter()
        .map(|path| (path, fs::read_to_string(path).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(too_long.is_empty(), "split: {too_long:#?}");
}

#[test]
fn core_depends_on_nothing_of_ours() {
    let metadata = metadata();
    let ours: Vec<&str> = members(&metadata).iter().filter_map(|package| package["name"].as_str()).collect();
    let core = members(&metadata).into_iter().find(|package| package["name"] == "oncegate-core").unwrap();
    let needed: Vec<&str> =
        core["dependencies"].as_array().unwrap().iter().filter_map(|needed| needed["name"].as_str()).collect();
    assert!(!needed.is_empty() && needed.iter().all(|name| !ours.contains(name)), "{needed:?}");
}

/// `arbitrary_precision` and `raw_value` let a magic key forge numbers; one crate that wants them turns them on for all.
#[test]
fn numbers_cannot_be_forged() {
    let metadata = metadata();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let json: Vec<&Value> = nodes.iter().filter(|node| node["id"].as_str().unwrap().contains("serde_json@")).collect();
    assert!(!json.is_empty(), "serde_json is not found under its name");
    for node in json {
        let features: Vec<&str> = node["features"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for forbidden in ["arbitrary_precision", "raw_value"] {
            assert!(!features.contains(&forbidden), "something turns on serde_json's {forbidden}: {features:?}");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Rust sources, in all crates.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["guest", "host-test", "examples"] {
        collect(&root.join(folder), "rs", &mut found);
    }
    assert!(found.len() > 20, "the sources are not found");
    found
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let built = path.file_name().is_some_and(|name| name == "target");
        if path.is_dir() && !built {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|held| held == extension) {
            found.push(path);
        }
    }
}

fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["metadata", "--format-version", "1", "--locked"]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn members(metadata: &Value) -> Vec<&Value> {
    let members = metadata["workspace_members"].as_array().unwrap();
    metadata["packages"].as_array().unwrap().iter().filter(|package| members.contains(&package["id"])).collect()
}
