//! Connections to one server, and the one rule about them: a request of which a byte may have been written is never
//! sent again.
//!
//! hyper hands a request back if and only if its connection ended before the request was taken off the queue, so before
//! a byte of it was encoded (`TrySendError::take_message`). Such a request is sent once more over a fresh connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::uri::Authority;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use oncegate_host::layer::{Fault, GateBody};
use tokio::net::TcpStream;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// An idle connection is used again within this time only. Servers close theirs after two seconds or more, and a
/// request that meets the close is an unknown outcome.
const IDLE_FOR: Duration = Duration::from_secs(1);
const MOST_IDLE: usize = 256;

/// HTTP/1.1 connections to one server. Those in use are as many as there are requests.
pub(crate) struct Pool {
    authority: Authority,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    sender: SendRequest<GateBody>,
    since: Instant,
}

impl Pool {
    /// Connects when the first request comes.
    pub(crate) fn new(authority: Authority) -> Self {
        Pool { authority, idle: Mutex::default() }
    }

    /// Sends a request and gives the head of the answer. Its target and `Host` are sent as they are.
    pub(crate) async fn send(self: &Arc<Self>, mut request: Request<GateBody>) -> Result<Response<Incoming>, Fault> {
        if let Some(mut sender) = self.take_idle() {
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(self.keep(sender, response)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(Fault::Lost(error.into_error().to_string())),
                },
            }
        }
        let mut sender = self.connect().await.map_err(Fault::NotSent)?;
        match sender.try_send_request(request).await {
            Ok(response) => Ok(self.keep(sender, response)),
            Err(mut error) => match error.take_message() {
                Some(_) => Err(Fault::NotSent(error.into_error().to_string())),
                None => Err(Fault::Lost(error.into_error().to_string())),
            },
        }
    }

    async fn connect(&self) -> Result<SendRequest<GateBody>, String> {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let connecting = TcpStream::connect((host, self.authority.port_u16().unwrap_or(80)));
        let stream = match tokio::time::timeout(CONNECT_WITHIN, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(format!("cannot connect: {}", error.kind())),
            Err(_) => return Err(format!("no connection within {} s", CONNECT_WITHIN.as_secs())),
        };
        stream.set_nodelay(true).map_err(|error| format!("cannot connect: {}", error.kind()))?;
        let handshake = Builder::new().handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| error.to_string())?;
        // How a connection ended is told to its request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    fn take_idle(&self) -> Option<SendRequest<GateBody>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|held| held.since.elapsed() < IDLE_FOR && held.sender.is_ready());
        idle.pop().map(|held| held.sender)
    }

    /// Puts the connection back once the answer's body has been read to its end.
    fn keep(self: &Arc<Self>, mut sender: SendRequest<GateBody>, response: Response<Incoming>) -> Response<Incoming> {
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
                if idle.len() < MOST_IDLE {
                    idle.push(Idle { sender, since: Instant::now() });
                }
            }
        });
        response
    }
}
