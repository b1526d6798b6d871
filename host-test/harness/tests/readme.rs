//! README's tables are those of the code.

use std::path::Path;

use oncegate_harness::tables;

#[test]
fn readme_shows_the_tables_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (_, rest) = readme.split_once("<!-- tables -->\n").expect("README.md has no line `<!-- tables -->`");
    let (shown, _) = rest.split_once("<!-- /tables -->").expect("README.md has no line `<!-- /tables -->`");
    let expected = tables::markdown();
    let differs = shown.trim().lines().zip(expected.trim().lines()).find(|(shown, expected)| shown != expected);
    let how = "put the output of `cargo run -p oncegate-harness -- tables` between the marks in README.md";
    if let Some((shown, expected)) = differs {
        panic!("README.md differs from the code\n  README: {shown}\n  code:   {expected}\n{how}");
    }
    assert_eq!(shown.trim().lines().count(), expected.trim().lines().count(), "{how}");
}

#[test]
fn every_row_of_every_table_is_shown_once() {
    let text = tables::markdown();
    let outside = oncegate_core::telemetry::OUTSIDE;
    for row in oncegate_core::telemetry::rows().filter(|row| !outside.contains(row)) {
        assert_eq!(text.matches(&format!("| `{row}` |")).count(), 1, "{row}");
    }
}
