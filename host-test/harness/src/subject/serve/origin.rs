//! An origin that counts what it gets, and does with it what the case says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use oncegate_core::request::{Field, Response};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// A running origin; it stops when dropped.
pub(super) struct Origin {
    address: SocketAddr,
    calls: Arc<AtomicU64>,
    arrivals: mpsc::Receiver<Arrival>,
    task: JoinHandle<()>,
}

/// A request that the origin has got.
pub(super) struct Arrival {
    pub(super) headers: Vec<Field>,
    /// What it does with it.
    pub(super) reply: oneshot::Sender<Reply>,
}

/// What the origin does.
pub(super) enum Reply {
    Answer(Response),
    BreakOff,
}

impl Origin {
    pub(super) async fn start() -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (announce, arrivals) = mpsc::channel(64);
        let calls = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(accept(listener, Arc::clone(&calls), announce));
        Ok(Origin { address, calls, arrivals, task })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// The next request that it gets.
    pub(super) async fn next(&mut self) -> Result<Arrival, String> {
        self.arrivals.recv().await.ok_or_else(|| "the origin has stopped".to_string())
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, calls: Arc<AtomicU64>, announce: mpsc::Sender<Arrival>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (calls, announce) = (Arc::clone(&calls), announce.clone());
        let service = service_fn(move |request| answer(request, Arc::clone(&calls), announce.clone()));
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// An error breaks the connection off.
async fn answer(
    request: hyper::Request<Incoming>,
    calls: Arc<AtomicU64>,
    announce: mpsc::Sender<Arrival>,
) -> Result<hyper::Response<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
    calls.fetch_add(1, Ordering::SeqCst);
    let (head, body) = request.into_parts();
    body.collect().await?;
    let field = |(name, value): (&hyper::header::HeaderName, &HeaderValue)| {
        (name.as_str().to_string(), value.as_bytes().to_vec())
    };
    let (reply, told) = oneshot::channel();
    announce.send(Arrival { headers: head.headers.iter().map(field).collect(), reply }).await?;
    match told.await? {
        Reply::BreakOff => Err("as the case says".into()),
        Reply::Answer(response) => {
            let mut answer = hyper::Response::builder().status(response.status);
            for (name, value) in response.headers {
                answer = answer.header(name, HeaderValue::from_bytes(&value)?);
            }
            Ok(answer.body(Full::new(Bytes::from(response.body)))?)
        }
    }
}
