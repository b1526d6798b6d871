//! Bodies by their media type: forms, multipart forms, JSON and raw bytes, under every profile of a plan.

use std::sync::LazyLock;

use oncegate_core::canonical::json::Selection;
use oncegate_core::canonical::media_type::MediaType;
use oncegate_core::canonical::{form, multipart};
use oncegate_core::policy::Policy;
use oncegate_core::request::Head;

/// A rule for each way to read a body.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let members = r#","exclude":["/skip","/list/*/x"],"select":["/a","/list"],"retryable_rebind":["/otp"]"#;
    let plans = [("auto", ""), ("auto", members), ("json", ""), ("jcs", members), ("form", members), ("raw", "")];
    let plans = plans.into_iter().chain([("form", ""), ("multipart", ""), ("multipart", members)]);
    let rules = plans.flat_map(|(body, more)| ["refuse", "raw"].map(|invalid| (body, more, invalid)));
    let rules: Vec<String> = rules
        .enumerate()
        .map(|(at, (body, more, invalid))| {
            let key = if at % 4 == 0 { r#""key":{"body":"/key"},"# } else { "" };
            format!(
                r#"{{"operation":"o{at}","match":{{"path":"/o{at}"}},"scope":"shared",{key}
                "fingerprint":{{"body":"{body}","invalid":"{invalid}"{more}}}}}"#
            )
        })
        .collect();
    let document = format!(r#"{{"version":1,"rules":[{}]}}"#, rules.join(","));
    Policy::parse(document.as_bytes()).expect("the target's policy is right")
});

/// Runs the target: plan, content type, content coding, and body are a line each.
pub fn run(data: &[u8]) {
    let mut lines = data.splitn(4, |&byte| byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (plan, content_type, coding, body) = (line(), line(), line(), line());
    let plan = plan.first().map_or(0, |&letter| usize::from(letter.wrapping_sub(b'a')));
    read_by_plan(plan % POLICY.rules().len(), content_type, coding, body);
    form_is_what_the_standard_reads(body);
    if let Some(media_type) = MediaType::parse(content_type) {
        let form = media_type.form(&[]);
        assert_eq!(MediaType::parse(&form).map(|again| again.form(&[])), Some(form), "its own form");
        if let Some(boundary) = media_type.parameter("boundary") {
            boundary_does_not_matter(boundary, body);
        }
    }
}

fn read_by_plan(at: usize, content_type: &[u8], coding: &[u8], body: &[u8]) {
    let field = |name: &str, value: &[u8]| (name.to_string(), value.to_vec());
    let mut headers = vec![field("Content-Type", content_type)];
    if !coding.is_empty() {
        headers.push(field("content-encoding", coding));
    }
    let head = Head { method: "POST".into(), target: b"/orders".to_vec(), headers };
    let rule = &POLICY.rules()[at];
    match rule.plan.read_body(&head, body) {
        Ok(form) => drop(rule.plan.digest(&rule.operation, &head, &[], &[], &form)),
        // Every other plan takes what cannot be read as raw bytes.
        Err(error) => assert!(error.offset <= body.len() && at.is_multiple_of(2), "{error}"),
    }
}

fn form_is_what_the_standard_reads(body: &[u8]) {
    let read = |input: &[u8]| form::read(input, &Selection::default()).form;
    let (pairs, form) = (form::pairs(body).collect::<Vec<_>>(), read(body));
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let ours = pairs.iter().map(|(name, value)| (lossy(name), lossy(value.as_deref().unwrap_or_default())));
    let theirs = form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned()));
    assert!(ours.eq(theirs), "as the URL Standard reads it");
    assert_eq!(read(&form), form, "a form is its own form");
    assert!(form::pairs(&form).eq(pairs.iter().cloned()), "the form tells all pairs, so other pairs have another form");
    let encode = |bytes: &[u8]| form_urlencoded::byte_serialize(bytes).collect::<String>();
    let respelled = pairs.iter().map(|(name, value)| match value {
        Some(value) => format!("{}={}&", encode(name), encode(value)),
        None => encode(name) + "&&",
    });
    assert_eq!(read(respelled.collect::<String>().as_bytes()), form, "spelling does not matter");
    assert_eq!(form::sorted(&form::sorted(body)), form::sorted(body));
}

fn boundary_does_not_matter(boundary: &[u8], body: &[u8]) {
    const OTHER: &[u8] = b"--another_boundary:0123456789";
    let Ok(reading) = multipart::read(body, boundary, &Selection::default()) else { return };
    if body.windows(OTHER.len()).any(|window| window == OTHER) {
        return;
    }
    let dashed = [b"--", boundary].concat();
    let mut renamed = Vec::new();
    let mut rest = body;
    while let Some((&byte, after)) = rest.split_first() {
        match rest.strip_prefix(&dashed[..]) {
            Some(after) => {
                renamed.extend_from_slice(OTHER);
                rest = after;
            }
            None => {
                renamed.push(byte);
                rest = after;
            }
        }
    }
    let again = multipart::read(&renamed, &OTHER[2..], &Selection::default());
    assert_eq!(again.map(|reading| reading.form), Ok(reading.form), "only the boundary differs");
}
