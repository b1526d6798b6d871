//! An origin in the test itself, where a test must see what arrives or decide when to answer.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub type Body = BoxBody<Bytes, std::io::Error>;

/// A running origin; it stops when dropped.
pub struct TestOrigin {
    pub address: SocketAddr,
    calls: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl TestOrigin {
    /// Answers each request with this; an error breaks the connection off.
    pub async fn start<A, F>(answer: A) -> TestOrigin
    where
        A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<Body>, std::io::Error>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::new(AtomicU64::new(0));
        let connections = Arc::new(AtomicU64::new(0));
        let (counted, connected) = (Arc::clone(&calls), Arc::clone(&connections));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connected.fetch_add(1, Ordering::SeqCst);
                let (answer, counted) = (answer.clone(), Arc::clone(&counted));
                let service = service_fn(move |request| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    answer(request)
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        TestOrigin { address, calls, connections, task }
    }

    /// How many requests reached it.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Over how many connections they came.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for TestOrigin {
    fn drop(&mut self) {
        self.task.abort();
    }
}
