//! The case that the project began from: an order and its receipt in one transaction of the service that owns both. Each
//! answer is paired with the number of effects and receipts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod kit;

use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use kit::{POLICY, at, keyring, order};
use oncegate_core::decision::{Answer, Conditions, Decision, Standing};
use oncegate_core::request::{Outcome, Response};
use oncegate_host::Options;
use oncegate_host::caller::Caller;
use oncegate_host::store::Sqlite;
use oncegate_host::store::sqlite::Bound;
use rusqlite::Connection;
use tokio::runtime::Runtime;

/// A service with one table of its own, that follows the protocol of `oncegate_host::caller`.
struct Service {
    directory: tempfile::TempDir,
    runtime: Runtime,
    caller: Caller,
}

/// What goes wrong in one call.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Between the effect and its receipt.
    BeforeReceipt,
}

#[derive(Clone, PartialEq, Debug)]
enum Reply {
    Created(Vec<u8>),
    Rejected(Vec<u8>),
    Replayed(u16, Vec<u8>),
    Conflict,
}

impl Service {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let connection = connect(directory.path());
        connection
            .execute_batch(
                "CREATE TABLE effects (
                    id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, operation TEXT NOT NULL,
                    quantity INTEGER NOT NULL CHECK (quantity > 0)
                )",
            )
            .unwrap();
        Sqlite::create_schema(&connection).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let keys = keyring();
        let caller = Caller::new(POLICY.as_bytes(), &keys, Bound::LIMITS, Options::default());
        let caller = runtime.block_on(caller).unwrap();
        Service { directory, runtime, caller }
    }

    /// One request over a connection of its own. An error rolls back by dropping it.
    fn execute(
        &self,
        (tenant, operation, key): (&str, &str, &str),
        quantity: i64,
        second: u64,
        fault: Fault,
    ) -> Result<Reply, String> {
        let connection = connect(self.directory.path());
        connection.execute_batch("BEGIN IMMEDIATE").map_err(|busy| busy.to_string())?;
        let mut bound = Bound::new(&connection).unwrap();
        let request = order(tenant, operation, key, quantity);
        let admitting = self.caller.admit(&mut bound, request, Conditions::default(), at(second));
        let admission = self.runtime.handle().block_on(admitting).unwrap();
        let reply = match admission.decision {
            Decision::Proceed(leave) => {
                connection.execute_batch("SAVEPOINT effect").unwrap();
                let outcome = effect(&connection, tenant, operation, quantity);
                if fault == Fault::BeforeReceipt {
                    return Err("injected failure after the effect, before its receipt".to_owned());
                }
                let settling = self.caller.settle(&mut bound, &leave.attempt, outcome.clone(), at(second));
                let settlement = self.runtime.handle().block_on(settling).unwrap();
                assert_eq!(settlement.standing, Standing::Provisional);
                match (&*settlement.row, settlement.answer) {
                    ("settle-success", Answer::Origin(response)) => Reply::Created(response.body),
                    ("settle-rejection", Answer::Origin(response)) => Reply::Rejected(response.body),
                    other => panic!("unforeseen settlement: {other:?}"),
                }
            }
            Decision::Replay(response) => Reply::Replayed(response.status, response.body),
            Decision::Conflict(_) => Reply::Conflict,
            other => return Err(format!("{}: {other:?}", admission.row)),
        };
        connection.execute_batch("COMMIT").map_err(|lost| lost.to_string())?;
        Ok(reply)
    }

    /// Effects and receipts.
    fn counts(&self) -> (u32, u32) {
        let count = "SELECT (SELECT count(*) FROM effects), (SELECT count(*) FROM oncegate_entries)";
        connect(self.directory.path()).query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }
}

fn connect(directory: &Path) -> Connection {
    let connection = Connection::open(directory.join("orders.sqlite")).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection
}

/// The effect; one that the database forbids is a rejection, of which nothing stays.
fn effect(connection: &Connection, tenant: &str, operation: &str, quantity: i64) -> Outcome {
    let insert = "INSERT INTO effects (tenant, operation, quantity) VALUES (?1, ?2, ?3)";
    let (status, body) = match connection.execute(insert, (tenant, operation, quantity)) {
        Ok(_) => (201, format!("{{\"effect\":{},\"quantity\":{quantity}}}", connection.last_insert_rowid())),
        Err(_) => {
            connection.execute_batch("ROLLBACK TO effect").unwrap();
            (409, "{\"error\":\"a quantity is positive\"}".to_owned())
        }
    };
    let headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
    Outcome::Answered(Response { status, headers, body: body.into_bytes() })
}

#[test]
fn the_order_fixture() {
    let service = Service::start();
    let intent = ("north", "web-order", "intent-a");

    let gate = Barrier::new(8);
    let replies: Vec<Reply> = std::thread::scope(|scope| {
        let call = || {
            gate.wait();
            service.execute(intent, 2, 0, Fault::None).unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(call)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let created: Vec<_> = replies.iter().filter(|reply| matches!(reply, Reply::Created(_))).collect();
    let [Reply::Created(original)] = created[..] else { panic!("not one was created: {replies:?}") };
    let replay = Reply::Replayed(201, original.clone());
    assert_eq!(replies.iter().filter(|reply| **reply == replay).count(), 7);
    assert_eq!(service.counts(), (1, 1));

    assert_eq!(service.execute(intent, 3, 1, Fault::None), Ok(Reply::Conflict));
    assert_eq!(service.counts(), (1, 1));
    for other in
        [("south", "web-order", "intent-a"), ("north", "batch-order", "intent-a"), ("north", "web-order", "intent-b")]
    {
        assert!(matches!(service.execute(other, 2, 1, Fault::None), Ok(Reply::Created(_))));
    }
    assert_eq!(service.counts(), (4, 4));

    let rolled_back = ("north", "web-order", "rolled-back");
    assert!(service.execute(rolled_back, 1, 2, Fault::BeforeReceipt).unwrap_err().starts_with("injected"));
    assert_eq!(service.counts(), (4, 4));
    assert!(matches!(service.execute(rolled_back, 1, 2, Fault::None), Ok(Reply::Created(_))));
    assert_eq!(service.counts(), (5, 5));

    // Committed, and the answer never given: its client asks again over a fresh connection.
    let unanswered = ("north", "web-order", "committed-no-reply");
    let Ok(Reply::Created(lost)) = service.execute(unanswered, 1, 3, Fault::None) else { panic!("not created") };
    assert_eq!(service.execute(unanswered, 1, 3, Fault::None), Ok(Reply::Replayed(201, lost)));
    assert_eq!(service.counts(), (6, 6));

    assert_eq!(service.execute(intent, 2, 59, Fault::None), Ok(replay));
    assert_eq!(service.counts(), (6, 6));
    let Ok(Reply::Created(anew)) = service.execute(intent, 2, 60, Fault::None) else { panic!("not created anew") };
    assert_ne!(&anew, original);
    assert_eq!(service.counts(), (7, 6));
}

#[test]
fn a_rejection_leaves_a_receipt_and_no_effect() {
    let service = Service::start();
    let intent = ("north", "web-order", "none");
    let Ok(Reply::Rejected(why)) = service.execute(intent, 0, 0, Fault::None) else { panic!("not rejected") };
    assert_eq!(service.counts(), (0, 1));
    assert_eq!(service.execute(intent, 0, 1, Fault::None), Ok(Reply::Replayed(409, why)));
    assert_eq!(service.counts(), (0, 1));
}

#[test]
fn a_transaction_that_is_not_open_is_not_written_to() {
    let service = Service::start();
    let connection = connect(service.directory.path());
    let mut bound = Bound::new(&connection).unwrap();
    let request = order("north", "web-order", "intent-a", 2);
    let admitting = service.caller.admit(&mut bound, request, Conditions::default(), at(0));
    let admission = service.runtime.handle().block_on(admitting).unwrap();
    assert!(matches!(admission.decision, Decision::Unavailable(response) if response.status == 503));
    assert_eq!(service.counts(), (0, 0));
}

#[test]
fn what_is_rolled_back_was_never_admitted() {
    let service = Service::start();
    let connection = connect(service.directory.path());
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut bound = Bound::new(&connection).unwrap();
    let request = order("north", "web-order", "intent-a", 2);
    let admitting = service.caller.admit(&mut bound, request, Conditions::default(), at(0));
    let admission = service.runtime.handle().block_on(admitting).unwrap();
    assert_eq!(admission.row, "first-claim");
    connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(service.counts(), (0, 0));
    assert!(matches!(service.execute(("north", "web-order", "intent-a"), 2, 0, Fault::None), Ok(Reply::Created(_))));
    assert_eq!(service.counts(), (1, 1));
}
