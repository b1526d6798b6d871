//! The stores that this crate brings along, against the suite and against what is special to each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod suite;

use std::path::Path;
use std::sync::Arc;

use oncegate_host::store::{self, CommitResult, Counted, Counts, Memory, OpenError, Sqlite, Store};
use suite::{claim, committed, conflicted, expect, fresh_key, held, put, race};

fn several_threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

async fn sqlite(directory: &Path) -> Arc<Sqlite> {
    Arc::new(Sqlite::open(directory.join("store.sqlite")).await.unwrap())
}

#[test]
fn memory_passes_the_suite() {
    several_threads().block_on(async {
        let memory = Arc::new(Memory::new());
        assert!(memory.is_empty());
        suite::all(&(Arc::clone(&memory) as Arc<dyn Store>)).await;
        assert!(!memory.is_empty());
    });
}

#[test]
fn sqlite_passes_the_suite() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let store: Arc<dyn Store> = sqlite(directory.path()).await;
        suite::all(&store).await;
    });
}

#[test]
fn two_sqlite_handles_are_one_store() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let handles: [Arc<dyn Store>; 2] = [sqlite(directory.path()).await, sqlite(directory.path()).await];
        assert_eq!(race(&handles).await, 40);
        let key = fresh_key();
        let revision = committed(&*handles[0], &claim(&key, None, b"by the first")).await.remove(0);
        assert_eq!(held(&*handles[1], &key).await.unwrap().value, b"by the first");
        committed(&*handles[1], &claim(&key, Some(&revision), b"by the second")).await;
        conflicted(&*handles[0], &claim(&key, Some(&revision), b"late")).await;
        let positions = [handles[0].get(&[]).await.unwrap().1, handles[1].get(&[]).await.unwrap().1];
        assert_eq!(positions[0], positions[1]);
    });
}

#[test]
fn sqlite_keeps_all_over_a_reopening() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let key = fresh_key();
        let first = sqlite(directory.path()).await;
        let revision = committed(&*first, &claim(&key, None, b"kept")).await.remove(0);
        let before = first.get(&[]).await.unwrap().1;
        drop(first);
        let second = sqlite(directory.path()).await;
        let entry = held(&*second, &key).await.unwrap();
        assert_eq!((entry.value.as_slice(), &entry.revision), (&b"kept"[..], &revision));
        assert_eq!(second.get(&[]).await.unwrap().1, before);
        let next = committed(&*second, &claim(&key, Some(&revision), b"kept")).await.remove(0);
        assert_ne!(next, revision);
    });
}

#[test]
fn one_sqlite_commit_takes_a_group_of_transactions() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let store = sqlite(directory.path()).await;
        let waiting: Vec<_> = (0..200)
            .map(|_| {
                let store = Arc::clone(&store);
                tokio::spawn(async move { committed(&*store, &claim(&fresh_key(), None, b"grouped")).await })
            })
            .collect();
        for task in waiting {
            assert_eq!(task.await.unwrap().len(), 1);
        }
        let commits = store.commits();
        assert!((1..=100).contains(&commits), "200 transactions took {commits} commits");
        assert_eq!(store.get(&[]).await.unwrap().1.sequence, 200);
    });
}

#[test]
fn a_replay_costs_sqlite_no_commit() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let store = sqlite(directory.path()).await;
        let key = fresh_key();
        committed(&*store, &claim(&key, None, b"held")).await;
        for _ in 0..50 {
            assert_eq!(conflicted(&*store, &claim(&key, None, b"again")).await[0].as_ref().unwrap().value, b"held");
        }
        assert_eq!(store.commits(), 1);
    });
}

#[test]
fn a_replay_does_not_wait_for_another_writer() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let store = sqlite(directory.path()).await;
        let key = fresh_key();
        committed(&*store, &claim(&key, None, b"held")).await;
        let other = rusqlite::Connection::open(directory.path().join("store.sqlite")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        conflicted(&*store, &claim(&key, None, b"again")).await;
        assert_eq!(held(&*store, &key).await.unwrap().value, b"held");
        // What has to write waits, and is written once the other has ended.
        let waiting = tokio::spawn({
            let store = Arc::clone(&store);
            async move { committed(&*store, &claim(&fresh_key(), None, b"new")).await }
        });
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(waiting.await.unwrap().len(), 1);
    });
}

#[test]
fn a_failing_transaction_spoils_no_other() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let store = sqlite(directory.path()).await;
        let other = rusqlite::Connection::open(directory.path().join("store.sqlite")).unwrap();
        // Makes one value impossible to write, after it has passed every check of ours.
        other
            .execute_batch(
                "CREATE TRIGGER no BEFORE INSERT ON oncegate_entries WHEN new.value = x'6e6f'
                 BEGIN SELECT RAISE(ABORT, 'no'); END;
                 BEGIN IMMEDIATE",
            )
            .unwrap();
        let good: Vec<_> = (0..20).map(|_| fresh_key()).collect();
        let bad = fresh_key();
        let half = fresh_key();
        let mut tasks = Vec::new();
        for key in good.clone() {
            let store = Arc::clone(&store);
            tasks.push(tokio::spawn(async move { store.commit(&claim(&key, None, b"good")).await }));
        }
        let mut transaction = claim(&half, None, b"half");
        transaction.expects.push(expect(&bad, None));
        transaction.writes.push(put(&bad, b"no"));
        let failing = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.commit(&transaction).await }
        });
        // They form a group behind the lock.
        other.execute_batch("ROLLBACK").unwrap();
        assert!(failing.await.unwrap().is_err());
        for task in tasks {
            assert!(matches!(task.await.unwrap(), Ok(CommitResult::Committed { .. })));
        }
        assert_eq!(held(&*store, &half).await, None);
        assert_eq!(held(&*store, &bad).await, None);
        for key in &good {
            assert_eq!(held(&*store, key).await.unwrap().value, b"good");
        }
    });
}

#[cfg(unix)]
#[test]
fn sqlite_files_are_their_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let store = sqlite(directory.path()).await;
        committed(&*store, &claim(&fresh_key(), None, b"x")).await;
        let mut files = 0;
        for file in std::fs::read_dir(directory.path()).unwrap() {
            assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
            files += 1;
        }
        assert_eq!(files, 3, "the database, its log and its index");
    });
}

#[test]
fn a_newer_schema_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        drop(sqlite(directory.path()).await);
        let file = directory.path().join("store.sqlite");
        rusqlite::Connection::open(&file).unwrap().execute("UPDATE oncegate_store SET version = 2", []).unwrap();
        let why = Sqlite::open(&file).await.unwrap_err().to_string();
        assert!(why.contains("version 2") && why.contains("newer oncegate"), "{why}");
    });
}

#[test]
fn what_is_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let file = directory.path().join("notes.txt");
        std::fs::write(&file, "not a database, but longer than the hundred bytes of a header ".repeat(20)).unwrap();
        assert!(matches!(Sqlite::open(&file).await, Err(OpenError::Sqlite(_))));
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("not a database"));
    });
}

#[test]
fn urls_name_stores() {
    let directory = tempfile::tempdir().unwrap();
    several_threads().block_on(async {
        let file = format!("sqlite:{}", directory.path().join("by-url.sqlite").display());
        for url in ["memory", "memory:", &file] {
            let store = store::open(url).await.unwrap();
            committed(&*store, &claim(&fresh_key(), None, b"x")).await;
        }
        for (url, says) in [
            ("sqlite:", "names no file"),
            ("sqlite::memory:", "names no file"),
            ("postgres://user:secret@host/db", "'postgres'"),
            ("store.sqlite", "no scheme"),
            ("sqlite:/no/such/directory/x", "cannot be opened"),
        ] {
            let why = store::open(url).await.err().unwrap().to_string();
            assert!(why.contains(says) && !why.contains("secret"), "{why}");
        }
    });
}

#[test]
fn counted_counts() {
    several_threads().block_on(async {
        let counted = Counted::new(Arc::new(Memory::new()));
        let key = fresh_key();
        committed(&counted, &claim(&key, None, b"x")).await;
        conflicted(&counted, &claim(&key, None, b"x")).await;
        held(&counted, &key).await;
        assert_eq!(counted.take(), Counts { get: 1, commit: 2, due: 0 });
        assert_eq!(counted.counts(), Counts::default());
    });
}
