//! All shipped cases, on each subject and each store that is here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

use std::sync::Arc;

use oncegate_harness::coverage;
use oncegate_harness::report;
use oncegate_harness::run::{Report, Verdict, run};
use oncegate_harness::subject::{Component, Core, Serve, Subject};
use oncegate_harness::vector::{File, SHIPPED};
use oncegate_host::store::{Memory, Store};

async fn all(subject: &dyn Subject, store: Arc<dyn Store>) -> Vec<Report> {
    let mut reports = Vec::new();
    for (name, text) in SHIPPED {
        let file = Arc::new(File::parse(text).unwrap_or_else(|why| panic!("{name}: {why}")));
        reports.extend(run(name, &file, subject, &store).await);
    }
    reports
}

/// How many were played.
fn assert_passed(reports: &[Report]) -> usize {
    let failed: Vec<Report> =
        reports.iter().filter(|report| matches!(report.verdict, Verdict::Failed(_))).cloned().collect();
    assert!(failed.is_empty(), "{}", report::table(&failed));
    reports.iter().filter(|report| report.verdict == Verdict::Passed).count()
}

async fn sqlite(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    oncegate_host::store::open(&format!("sqlite:{}", folder.path().join("store").display())).await.unwrap()
}

#[tokio::test]
async fn the_core_on_memory_meets_every_row() {
    let reports = all(&Core, Arc::new(Memory::new())).await;
    let played = assert_passed(&reports);
    assert_eq!(played, reports.len(), "the core plays every case");
    let faults = coverage::faults(&reports);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn the_core_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let reports = all(&Core, sqlite(&folder).await).await;
    assert_eq!(assert_passed(&reports), reports.len());
}

#[tokio::test]
async fn the_component_on_memory() {
    let reports = all(&Component, Arc::new(Memory::new())).await;
    assert_mostly_played(&reports, 90);
}

#[tokio::test]
async fn the_component_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let reports = all(&Component, sqlite(&folder).await).await;
    assert_mostly_played(&reports, 90);
}

#[tokio::test]
async fn serve_over_http() {
    let serve = Serve::beside_this_program().unwrap();
    let reports = all(&serve, Arc::new(Memory::new())).await;
    assert_mostly_played(&reports, 30);
}

/// A subject that skips its way through shows nothing.
fn assert_mostly_played(reports: &[Report], least_percent: usize) {
    let played = assert_passed(reports);
    assert!(played * 100 >= reports.len() * least_percent, "only {played} of {} were played", reports.len());
}
