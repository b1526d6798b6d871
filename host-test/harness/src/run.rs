//! Runs cases against subjects, and tells what came of it.

use std::sync::Arc;
use std::time::Duration;

use oncegate_host::store::Store;

use crate::subject::{Stage, Subject};
use crate::vector::{Case, File};

/// A case takes no longer than this.
const LONGEST: Duration = Duration::from_secs(60);

/// What came of one case with one subject.
#[derive(Debug, Clone)]
pub struct Report {
    /// The file's name.
    pub file: String,
    /// The case's name.
    pub case: String,
    /// The subject's name.
    pub subject: &'static str,
    /// The rows that were met, in order.
    pub rows: Vec<String>,
    /// How often the origin was called.
    pub origin_calls: u64,
    /// How it ended.
    pub verdict: Verdict,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All was as expected.
    Passed,
    /// It was not played; why.
    Skipped(&'static str),
    /// What was otherwise, a line each.
    Failed(Vec<String>),
}

/// Runs all cases of a file against a subject, one after another. They may share a store.
pub async fn run(name: &str, file: &Arc<File>, subject: &dyn Subject, store: &Arc<dyn Store>) -> Vec<Report> {
    let mut reports = Vec::new();
    for case in &file.cases {
        let stage = Stage { file: Arc::clone(file), case: Arc::new(case.clone()), store: Arc::clone(store) };
        let mut report = Report {
            file: name.to_string(),
            case: case.name.clone(),
            subject: subject.name(),
            rows: Vec::new(),
            origin_calls: 0,
            verdict: Verdict::Passed,
        };
        report.verdict = match subject.cannot(file, case) {
            Some(why) => Verdict::Skipped(why),
            None => match tokio::time::timeout(LONGEST, play(case, subject, stage, &mut report)).await {
                Ok(Ok(())) => Verdict::Passed,
                Ok(Err(faults)) => Verdict::Failed(faults),
                Err(_) => Verdict::Failed(vec!["it did not end in time".to_string()]),
            },
        };
        reports.push(report);
    }
    reports
}

async fn play(case: &Case, subject: &dyn Subject, stage: Stage, report: &mut Report) -> Result<(), Vec<String>> {
    let mut play = subject.begin(stage).await.map_err(|why| vec![format!("it does not begin: {why}")])?;
    let mut faults = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        let seen = match play.play(step).await {
            Ok(seen) => seen,
            Err(why) => {
                faults.push(format!("step {at}: {why}"));
                break;
            }
        };
        let otherwise = step.expect.faults(&seen, report.origin_calls);
        faults.extend(otherwise.into_iter().map(|fault| format!("step {at}: {fault}")));
        report.origin_calls = seen.origin_calls;
        report.rows.extend(seen.row);
    }
    if let Err(why) = play.end().await {
        faults.push(format!("at the end: {why}"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
