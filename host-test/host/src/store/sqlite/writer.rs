//! The one thread that writes. While the disk takes one COMMIT, more transactions queue up; the next COMMIT takes them
//! all (group commit). Each is checked on its own, after those before it in the group: one that conflicts or fails
//! writes nothing and spoils no other.
//!
//! It cannot know what a COMMIT did whose answer is an I/O error: the frames may be in the log and come back to life at
//! the next start. That is `Unresolved`; all that failed before is certain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use oncegate_core::store::{CommitResult, Position, StoreError, Transaction, Write};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use super::{ANSWER_WAIT, QUEUE_WAIT, sql};
use crate::store::Revisions;

/// The most transactions in one COMMIT.
const GROUP: usize = 256;

/// How many KiB of transactions may wait; each counts as at least one.
const ROOM_KIB: usize = 64 << 10;

type Answer = Result<CommitResult, StoreError>;

struct Job {
    transaction: Arc<Transaction>,
    answer: oneshot::Sender<Answer>,
    _room: OwnedSemaphorePermit,
}

#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::UnboundedSender<Job>,
    room: Arc<Semaphore>,
    commits: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread. It ends when the handle is dropped.
    pub(super) fn start(connection: Connection, revisions: Revisions) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::unbounded_channel();
        let commits = Arc::new(AtomicU64::new(0));
        let mut desk = Desk { connection, revisions, commits: Arc::clone(&commits) };
        thread::Builder::new().name("oncegate-sqlite".to_owned()).spawn(move || desk.run(queue))?;
        Ok(Writer { jobs, room: Arc::new(Semaphore::new(ROOM_KIB)), commits })
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Relaxed)
    }

    /// Queues a transaction that is within the limits, and waits for what became of it.
    pub(super) async fn commit(&self, transaction: Arc<Transaction>) -> Answer {
        let room = Arc::clone(&self.room).acquire_many_owned(kib(&transaction));
        let Ok(Ok(room)) = timeout(QUEUE_WAIT, room).await else {
            return Err(StoreError::Unavailable("too many transactions are waiting".to_owned()));
        };
        let (answer, answered) = oneshot::channel();
        if self.jobs.send(Job { transaction, answer, _room: room }).is_err() {
            return Err(StoreError::Unavailable("the writer has ended".to_owned()));
        }
        match timeout(ANSWER_WAIT, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(StoreError::Unresolved("the writer ended before it answered".to_owned())),
            Err(_) => Err(StoreError::Unresolved("the writer did not answer in time".to_owned())),
        }
    }
}

/// Where the writer sits.
struct Desk {
    connection: Connection,
    revisions: Revisions,
    commits: Arc<AtomicU64>,
}

/// Why no transaction of a group has an answer of its own.
enum Failure {
    /// Nothing was written, perhaps because of one of them: each may be tried alone.
    OfOne(StoreError),
    /// It is the same for all.
    OfAll(StoreError),
}

impl Desk {
    fn run(&mut self, mut queue: mpsc::UnboundedReceiver<Job>) {
        while let Some(first) = queue.blocking_recv() {
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = queue.try_recv()
            {
                group.push(next);
            }
            // Whoever gave up has been told that the answer is lost, which stays true if nothing is written.
            group.retain(|job| !job.answer.is_closed());
            self.serve(group);
        }
    }

    fn serve(&mut self, group: Vec<Job>) {
        let transactions: Vec<&Transaction> = group.iter().map(|job| &*job.transaction).collect();
        let answers = match self.commit(&transactions) {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(Failure::OfOne(_)) if transactions.len() > 1 => {
                transactions.iter().map(|transaction| self.alone(transaction)).collect()
            }
            Err(Failure::OfOne(why) | Failure::OfAll(why)) => vec![Err(why); transactions.len()],
        };
        for (job, answer) in group.into_iter().zip::<Vec<Answer>>(answers) {
            // Nobody may be waiting any more.
            let _ = job.answer.send(answer);
        }
    }

    fn alone(&mut self, transaction: &Transaction) -> Answer {
        match self.commit(&[transaction]) {
            Ok(mut answers) => answers.pop().ok_or_else(|| StoreError::Unresolved("no answer was made".to_owned())),
            Err(Failure::OfOne(why) | Failure::OfAll(why)) => Err(why),
        }
    }

    /// Takes the whole group into one COMMIT. An answer counts only once that has succeeded, a conflict's too: what it
    /// shows may have been written earlier in the same group.
    fn commit(&mut self, group: &[&Transaction]) -> Result<Vec<CommitResult>, Failure> {
        // Dropping it rolls back.
        let open = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|fault| Failure::OfAll(sql::sorted(&fault)))?;
        let (answers, wrote) =
            write(&open, &mut self.revisions, group).map_err(|fault| Failure::OfOne(sql::sorted(&fault)))?;
        if !wrote {
            return Ok(answers);
        }
        match open.execute_batch("COMMIT") {
            Ok(()) => {
                self.commits.fetch_add(1, Relaxed);
                Ok(answers)
            }
            // Still open: it is rolled back now. Full: the mark that ends a commit is written last, so it is not there.
            Err(fault) if !open.is_autocommit() => Err(Failure::OfAll(sql::sorted(&fault))),
            Err(fault) if fault.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                Err(Failure::OfOne(sql::sorted(&fault)))
            }
            Err(fault) => Err(Failure::OfAll(StoreError::Unresolved(sql::describe(&fault)))),
        }
    }
}

/// Checks and writes each of the group in turn; also tells whether anything was written.
fn write(
    open: &Connection,
    revisions: &mut Revisions,
    group: &[&Transaction],
) -> rusqlite::Result<(Vec<CommitResult>, bool)> {
    let before = sql::position(open)?;
    let mut sequence = before.sequence;
    let mut answers = Vec::with_capacity(group.len());
    for transaction in group {
        let answer = match sql::conflict(open, &transaction.expects)? {
            Some(conflict) => conflict,
            None => {
                let revisions = sql::write(open, transaction, revisions)?;
                sequence += 1;
                CommitResult::Committed { position: Position { epoch: before.epoch.clone(), sequence }, revisions }
            }
        };
        answers.push(answer);
    }
    if sequence > before.sequence {
        sql::set_sequence(open, sequence)?;
    }
    Ok((answers, sequence > before.sequence))
}

fn kib(transaction: &Transaction) -> u32 {
    let bytes: usize = transaction
        .writes
        .iter()
        .map(|write| match write {
            Write::Put(put) => put.key.0.len() + put.value.len(),
            Write::Delete(key) => key.0.len(),
        })
        .sum();
    u32::try_from(bytes.div_ceil(1024).max(1)).unwrap_or(u32::MAX)
}
