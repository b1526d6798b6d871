//! What a file may say, and how one that is wrong is told.

use oncegate_harness::vector::{File, SHIPPED};

#[test]
fn shipped_files_are_read() {
    for (name, text) in SHIPPED {
        let file = File::parse(text).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(!file.cases.is_empty(), "{name}");
    }
}

#[test]
fn a_file_that_is_wrong_is_told_where() {
    let case = |steps: &str| {
        format!(r#"{{"about":"","policy":{{}},"cases":[{{"name":"retry","row":"retry","steps":[{steps}]}}]}}"#)
    };
    let wrong = [
        (r#"{"at":0,"admit":"a","expect":{"row":"retry"}}"#, "origin_calls"),
        (r#"{"at":0,"expect":{"row":"retry"}}"#, "does one thing"),
        (r#"{"at":0,"explain":"a","forget":"a","expect":{"row":"retry"}}"#, "does one thing"),
        (r#"{"at":0,"explain":"a","expect":{"row":"retry","colour":1}}"#, "colour"),
        (r#"{"at":0,"explain":"a","expct":{}}"#, "expct"),
        (r#"{"at":0,"settle":"a","expect":{"row":"retry"}}"#, "no attempt"),
        (r#"{"at":0,"explain":"a","expect":{"row":"unknown"}}"#, "no step expects the row"),
        (r#"{"at":1,"explain":"a","expect":{"row":"retry"}},{"at":0,"explain":"a"}"#, "before"),
    ];
    for (steps, word) in wrong {
        let why = File::parse(&case(steps)).unwrap_err();
        assert!(why.contains(word), "{steps}: {why}");
    }
}
