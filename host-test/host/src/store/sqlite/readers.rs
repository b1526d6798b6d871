//! Connections that only read, each in a snapshot of its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use oncegate_core::store::StoreError;
use rusqlite::{Connection, Transaction};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::{QUEUE_WAIT, connect, sql};

/// How many reads may run at once.
const CONNECTIONS: usize = 4;

#[derive(Debug)]
pub(super) struct Readers {
    file: Arc<Path>,
    /// Opened when they are first needed, and again if one is lost.
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(file: PathBuf) -> Self {
        Readers { file: file.into(), idle: Arc::default(), permits: Arc::new(Semaphore::new(CONNECTIONS)) }
    }

    /// Runs `read` in one snapshot, on a thread that may block. The snapshot is taken after the call began, so it holds
    /// all that was answered before.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = match timeout(QUEUE_WAIT, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            _ => return Err(StoreError::Unavailable("too many reads are waiting".to_owned())),
        };
        let (file, idle) = (Arc::clone(&self.file), Arc::clone(&self.idle));
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let held = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = held.map_or_else(|| open(&file), Ok)?;
            let answer = snapshot(&mut connection, read)?;
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(answer)
        });
        match done.await {
            Ok(answer) => answer.map_err(|fault: rusqlite::Error| sql::sorted(&fault)),
            Err(_) => Err(StoreError::Unavailable("the read was cut short".to_owned())),
        }
    }
}

fn snapshot<T>(
    connection: &mut Connection,
    read: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.transaction()?;
    let answer = read(&transaction)?;
    transaction.finish()?;
    Ok(answer)
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(file)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}
