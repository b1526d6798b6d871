//! The gate as a [`tower::Layer`](tower_layer::Layer): what `oncegate serve` runs, to be put in front of any service
//! that speaks [`http`].
//!
//! For each request, in this order:
//!
//! 1. Headers that rules believe are removed, unless the request came from a declared peer ([`Peers`]).
//! 2. The engine sees the head. What no rule covers streams through untouched.
//! 3. The body is read whole, up to the rule's limit, counted in bytes; then the engine decides.
//! 4. On `proceed` the service is called within the time that the decision leaves, the lease is renewed meanwhile, and
//!    the outcome is settled before the answer is given. All of this runs in a task of its own: a client that hangs up
//!    stops none of it.
//! 5. Every other decision carries its answer, and the service is not called.
//!
//! The layer holds no rule: what a request or an answer means is the engine's to say. It cannot know whether a service
//! that failed was called in vain, unless the service says so with a [`Fault`]; every other error counts as lost.
//!
//! The target is matched as the layer sees it. Behind something that rewrites it (`axum::Router::nest`), rules must be
//! written for the rewritten path: put the layer outside.

mod answer;
mod body;
mod counters;
mod flight;
mod hops;
mod path;

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Request, Response};
use ipnet::IpNet;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower_layer::Layer;
use tower_service::Service;

pub use self::answer::problem;
pub use self::body::{BoxError, GateBody, boxed, full};
pub use self::counters::Counters;
pub use self::hops::remove_hop_by_hop;
use crate::Enforcer;

/// Why there is no answer from the service, for those that can tell: give it as the service's error. The texts are
/// kept in the record; they must not hold anything of the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Not one byte of the request was written to whoever would act on it: it may be sent again.
    NotSent(String),
    /// Some of it may have been written, and no whole answer came.
    Lost(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotSent(why) => write!(f, "not sent: {why}"),
            Fault::Lost(why) => write!(f, "lost: {why}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Request extension: facts that whoever stands in front of the layer has verified, by name (`principal`,
/// `jwt.tenant` ...). Rules take scope parts from them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Properties(pub Vec<(String, String)>);

/// Request extension: the address of whoever sent the request to this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerAddress(pub IpAddr);

/// Whose headers are believed. A request without a [`PeerAddress`] comes from nobody declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Peers {
    /// Those with an address in one of these networks.
    Declared(Vec<IpNet>),
    /// Everybody: only where whatever is in front removes forged headers.
    Anybody,
}

impl Peers {
    fn believes(&self, peer: Option<&PeerAddress>) -> bool {
        match (self, peer) {
            (Peers::Anybody, _) => true,
            (Peers::Declared(networks), Some(PeerAddress(address))) => {
                let address = address.to_canonical();
                networks.iter().any(|network| network.contains(&address))
            }
            (Peers::Declared(_), None) => false,
        }
    }
}

/// The layer's bounds.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whose headers are believed. Default: nobody's.
    pub peers: Peers,
    /// How long reading a covered request's body may take. Default 30 s.
    pub body_timeout: Duration,
    /// The longest time for the service's whole answer to a covered request, where the rule allows more. Default: the
    /// rule's.
    pub upstream_timeout: Option<Duration>,
    /// How long an answer is held back while its outcome cannot be recorded. Default 5 s.
    pub hold: Duration,
    /// How long recording the outcome is tried in all. Default 60 s.
    pub settle_within: Duration,
    /// The most covered requests at once, waiting ones included; more are told to come back. Default 4096.
    pub max_in_flight: usize,
    /// The most requests at once that wait for another attempt; more are answered at once. Default 1024.
    pub max_waiting: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            peers: Peers::Declared(Vec::new()),
            body_timeout: Duration::from_secs(30),
            upstream_timeout: None,
            hold: Duration::from_secs(5),
            settle_within: Duration::from_secs(60),
            max_in_flight: 4096,
            max_waiting: 1024,
        }
    }
}

/// Puts a gate in front of a service. Clones share one gate: its bounds, counters and tasks.
#[derive(Clone)]
pub struct GateLayer {
    shared: Arc<Shared>,
}

impl GateLayer {
    /// A gate that asks this enforcer.
    pub fn new(enforcer: Arc<Enforcer>, config: Config) -> Self {
        let names = enforcer.configuration().believed_headers.iter();
        let believed = names.filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok()).collect();
        let in_flight = Arc::new(Semaphore::new(config.max_in_flight));
        let waiting = Semaphore::new(config.max_waiting);
        let (tasks, counters) = (TaskTracker::new(), Counters::default());
        GateLayer { shared: Arc::new(Shared { enforcer, believed, config, in_flight, waiting, tasks, counters }) }
    }

    /// How often each row was met.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Waits until every admitted attempt is settled, at most for so long, and tells how many were not. Stop accepting
    /// requests first: this does not.
    pub async fn drain(&self, within: Duration) -> usize {
        self.shared.tasks.close();
        // Running out of time shows in the count.
        let _ = tokio::time::timeout(within, self.shared.tasks.wait()).await;
        self.shared.tasks.len()
    }
}

impl fmt::Debug for GateLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateLayer").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for GateLayer {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Gate<S> {
        Gate { shared: Arc::clone(&self.shared), inner }
    }
}

/// A service behind the gate. It always answers: where the service fails, with a problem document (RFC 9457).
#[derive(Clone)]
pub struct Gate<S> {
    shared: Arc<Shared>,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for Gate<S>
where
    S: Service<Request<GateBody>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<GateBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Most requests never reach the inner service, so its readiness is awaited only before it is called.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let origin = origin(self.inner.clone());
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { Ok(shared.handle(origin, request.map(body::boxed)).await) })
    }
}

/// What all clones of a gate share.
struct Shared {
    enforcer: Arc<Enforcer>,
    believed: Vec<HeaderName>,
    config: Config,
    in_flight: Arc<Semaphore>,
    waiting: Semaphore,
    tasks: TaskTracker,
    counters: Counters,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<GateBody>, Fault>> + Send>>;

/// The inner service.
type Origin = Box<dyn FnMut(Request<GateBody>) -> Answering + Send>;

fn origin<S, R>(inner: S) -> Origin
where
    S: Service<Request<GateBody>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    Box::new(move |request| {
        let mut inner = inner.clone();
        Box::pin(async move {
            let ready = poll_fn(|cx| inner.poll_ready(cx)).await;
            ready.map_err(|error| Fault::NotSent(format!("the service is not ready: {}", error.into())))?;
            let answer = inner.call(request).await;
            answer.map(|response| response.map(body::boxed)).map_err(|error| fault_of(error.into()))
        })
    })
}

fn fault_of(error: BoxError) -> Fault {
    match error.downcast::<Fault>() {
        Ok(fault) => *fault,
        // The error's own text may quote the request.
        Err(_) => Fault::Lost("the service failed without an answer".into()),
    }
}
