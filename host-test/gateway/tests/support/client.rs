//! A plain HTTP client: one request, one connection, nothing done behind the test's back.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;

const SOON: Duration = Duration::from_secs(60);

/// A request.
#[derive(Clone)]
pub struct Ask {
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Ask {
    pub fn new(method: Method, target: &str) -> Ask {
        Ask { method, target: target.into(), headers: HeaderMap::new(), body: Bytes::new() }
    }

    pub fn get(target: &str) -> Ask {
        Ask::new(Method::GET, target)
    }

    pub fn post(target: &str) -> Ask {
        Ask::new(Method::POST, target).header("x-tenant", "acme")
    }

    pub fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        self
    }

    pub fn without(mut self, name: &str) -> Ask {
        self.headers.remove(name);
        self
    }

    pub fn key(self, key: &str) -> Ask {
        self.header("idempotency-key", key)
    }

    /// What the sample origin shall do.
    pub fn sample(self, instructions: &str) -> Ask {
        self.header("x-sample", instructions)
    }

    pub fn json(self, body: impl ToString) -> Ask {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Ask {
        self.body = body.into();
        self
    }

    fn request(self, authority: &str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.target.parse().unwrap();
        *request.headers_mut() = self.headers;
        request.headers_mut().entry("host").or_insert(HeaderValue::from_str(authority).unwrap());
        request
    }

    /// Sends it over HTTP/1.1 and waits for the whole answer.
    pub async fn send(self, address: SocketAddr) -> Answer {
        self.try_send(address).await.expect("no answer")
    }

    /// Like [`Ask::send`]; `None`: the connection ended without a whole answer.
    pub async fn try_send(self, address: SocketAddr) -> Option<Answer> {
        let asking = async {
            let stream = TcpStream::connect(address).await.ok()?;
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
            let connection = tokio::spawn(connection);
            let answer = answer_of(sender.send_request(self.request(&address.to_string())).await).await;
            connection.abort();
            answer
        };
        tokio::time::timeout(SOON, asking).await.expect("it took too long")
    }

    /// Sends it over HTTP/2 with prior knowledge.
    pub async fn send_http2(mut self, address: SocketAddr) -> Answer {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        self.target = format!("http://{address}{}", self.target);
        let mut request = self.request(&address.to_string());
        request.headers_mut().remove("host");
        let answer = answer_of(sender.send_request(request).await).await;
        connection.abort();
        answer.expect("no answer")
    }
}

async fn answer_of(response: hyper::Result<http::Response<hyper::body::Incoming>>) -> Option<Answer> {
    let (head, body) = response.ok()?.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    Some(Answer { status: head.status, headers: head.headers, body })
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn code(&self) -> u16 {
        self.status.as_u16()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The last word of the problem's type.
    pub fn problem(&self) -> String {
        let document = self.json();
        let kind = document["type"].as_str().unwrap_or_else(|| panic!("no problem: {self:?}"));
        kind.rsplit([':', '/', '#']).next().unwrap().to_string()
    }

    pub fn replayed(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }

    pub fn all(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
    }
}
