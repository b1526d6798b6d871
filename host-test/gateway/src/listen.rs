//! Taking connections: HTTP/1.1 and HTTP/2 on one port, each with its bounds, and stopping without breaking any off.

use std::future::{Future, pending};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use oncegate_host::layer::{BoxError, GateBody};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;

/// A request's head must be there within this time; an idle connection is closed after it.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const LARGEST_HEAD: usize = 64 * 1024;
const MOST_CONNECTIONS: usize = 4096;
const MOST_STREAMS: u32 = 128;
const PING_EVERY: Duration = Duration::from_secs(30);

/// A port that is open.
pub(crate) struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Opens it.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::Run(format!("cannot listen on {address}: {error}"));
        let tcp = TcpListener::bind(address).await.map_err(failed)?;
        let address = tcp.local_addr().map_err(failed)?;
        Ok(Listener { tcp, address })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop`, then lets those under way end, within `grace`, and gives what is left of it. An
    /// error of `answer` breaks the connection off without an answer.
    pub(crate) async fn run<A, F>(self, answer: A, stop: impl Future<Output = ()>, grace: Duration) -> Duration
    where
        A: Fn(SocketAddr, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<GateBody>, BoxError>> + Send + 'static,
    {
        let builder = Arc::new(builder());
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let (stream, peer, place) = tokio::select! {
                accepted = accept(&self.tcp, &places) => accepted,
                () = &mut stop => break,
            };
            let (builder, watcher, answer) = (Arc::clone(&builder), graceful.watcher(), answer.clone());
            tokio::spawn(async move {
                serve(&builder, watcher, stream, peer, answer).await;
                drop(place);
            });
        }
        drop(self.tcp);
        tracing::info!("no new connections are taken");
        let begun = Instant::now();
        if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        grace.saturating_sub(begun.elapsed())
    }
}

async fn accept(tcp: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    loop {
        let Ok(place) = Arc::clone(places).acquire_owned().await else { return pending().await };
        match tcp.accept().await {
            Ok((stream, peer)) => return (stream, peer, place),
            Err(error) => {
                // Out of file descriptors, most likely: they come back when connections end.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve<A, F>(builder: &Builder<TokioExecutor>, watcher: Watcher, stream: TcpStream, peer: SocketAddr, answer: A)
where
    A: Fn(SocketAddr, Request<Incoming>) -> F,
    F: Future<Output = Result<Response<GateBody>, BoxError>> + Send + 'static,
{
    // Without it an answer may wait 40 ms for the client's acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection ended at once");
        return;
    }
    let begun = AtomicBool::new(false);
    let service = service_fn(|request| {
        begun.store(true, Ordering::Relaxed);
        answer(peer, request)
    });
    let connection = watcher.watch(builder.serve_connection(TokioIo::new(stream), service));
    // The builder's own limits begin once it knows the protocol; this one ends a connection that never says.
    let silent = async {
        tokio::time::sleep(HEAD_WITHIN).await;
        if begun.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
    };
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            tracing::debug!(error, "a connection broke off");
        },
        () = silent => tracing::debug!("a connection said nothing"),
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(LARGEST_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(LARGEST_HEAD as u32);
    builder
}

/// Ends when the process is told to stop.
pub(crate) async fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |error| Failure::Run(format!("cannot wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
