//! A plain HTTP/1.1 client: one request, one connection, nothing sent twice.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::header::HeaderValue;
use hyper_util::rt::TokioIo;
use oncegate_core::request::Response;
use tokio::net::TcpStream;

use crate::vector::PlainRequest;

/// Sends a request and waits for the whole answer.
pub(super) async fn ask(address: String, request: PlainRequest) -> Result<Response, String> {
    exchange(&address, request).await.map_err(|error| format!("no answer: {error}"))
}

async fn exchange(address: &str, request: PlainRequest) -> Result<Response, Box<dyn std::error::Error + Send + Sync>> {
    let PlainRequest { head, body, .. } = request;
    let target = String::from_utf8(head.target)?;
    let mut asked = hyper::Request::builder().method(head.method.as_str()).uri(target).header("host", address);
    for (name, value) in head.headers {
        asked = asked.header(name, HeaderValue::from_bytes(&value)?);
    }
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let (head, body) = sender.send_request(asked.body(Full::new(Bytes::from(body)))?).await?.into_parts();
    let body = body.collect().await?.to_bytes().to_vec();
    connection.abort();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_string(), value.as_bytes().to_vec()));
    Ok(Response { status: head.status.as_u16(), headers: headers.collect(), body })
}
