//! The gateway as a proxy: what passes untouched, what is added and removed, and what counts as sent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod support;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, Method, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper_util::rt::TokioIo;
use serde_json::json;
use support::client::Ask;
use support::origin::{Body, TestOrigin};
use support::process::Process;
use support::{World, gateway_arguments, policy};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A gateway with the usual policy in front of this address.
async fn gateway_to(origin: SocketAddr) -> (Process, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.json"), policy(json!({})).to_string()).unwrap();
    let arguments = gateway_arguments(folder.path(), &format!("http://{origin}"), &[]);
    (Process::start(&arguments).await, folder)
}

fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed()
}

fn order(key: &str) -> Ask {
    Ask::post("/orders").key(key).json(json!({ "sku": "lamp" }))
}

#[tokio::test]
async fn uncovered_requests_stream_both_ways() {
    let echo = |request: http::Request<hyper::body::Incoming>| async {
        let body = request.into_body().map_err(std::io::Error::other).boxed();
        Ok(Response::new(body))
    };
    let origin = TestOrigin::start(echo).await;
    let (gateway, _folder) = gateway_to(origin.address).await;

    let stream = TcpStream::connect(gateway.address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let (chunks, source) = mpsc::channel::<Bytes>(1);
    let source = futures_util::stream::unfold(source, |mut source| async { Some((source.recv().await?, source)) });
    let body = StreamBody::new(source.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk))));
    let request = http::Request::put("/echo").header("host", "test").body(body).unwrap();

    // Each piece comes back before the next one is sent: nothing on the way waits for the end.
    let piece = Bytes::from(vec![7; 256 * 1024]);
    chunks.send(piece.clone()).await.unwrap();
    let mut echoed = sender.send_request(request).await.unwrap().into_body();
    for _ in 0..16 {
        let mut back = 0;
        while back < piece.len() {
            back += echoed.frame().await.unwrap().unwrap().into_data().unwrap().len();
        }
        assert_eq!((back, origin.calls()), (piece.len(), 1));
        chunks.send(piece.clone()).await.unwrap();
    }
    drop(chunks);
    assert_eq!(echoed.collect().await.unwrap().to_bytes().len(), piece.len());
}

#[tokio::test]
async fn headers_of_one_connection_stay_on_it() {
    let (seen, mut arrived) = mpsc::unbounded_channel::<HeaderMap>();
    let origin = TestOrigin::start(move |request| {
        seen.send(request.headers().clone()).unwrap();
        async {
            let response = Response::builder()
                .header("connection", "X-Theirs")
                .header("x-theirs", "1")
                .header("keep-alive", "timeout=5")
                .header("vary", "a")
                .header("x-kept", "1")
                .header("vary", "b");
            Ok(response.body(whole("done")).unwrap())
        }
    })
    .await;
    let (gateway, _folder) = gateway_to(origin.address).await;
    for (ask, calls) in [(Ask::get("/anything"), 1), (order("k"), 2)] {
        let ask = ask.header("connection", "X-Mine").header("x-mine", "1").header("te", "trailers");
        let answer = ask.header("upgrade", "websocket").header("x-kept", "1").send(gateway.address).await;
        assert_eq!((answer.code(), origin.calls()), (200, calls));
        assert_eq!((answer.all("vary"), answer.all("x-kept")), (vec!["a", "b"], vec!["1"]));
        for gone in ["x-theirs", "keep-alive"] {
            assert!(!answer.headers.contains_key(gone), "{gone} came back");
        }
        let arrived = arrived.recv().await.unwrap();
        for gone in ["connection", "x-mine", "te", "upgrade"] {
            assert!(!arrived.contains_key(gone), "{gone} was passed on");
        }
        let host = gateway.address.to_string();
        let (host, from) = (host.as_str(), "127.0.0.1");
        for (name, value) in [("host", host), ("x-kept", "1"), ("x-forwarded-for", from), ("x-forwarded-host", host)] {
            assert_eq!(arrived[name], value, "{name}");
        }
    }
}

#[tokio::test]
async fn the_origin_learns_key_action_attempt_and_fence() {
    let (seen, mut arrived) = mpsc::unbounded_channel::<HeaderMap>();
    let origin = TestOrigin::start(move |request| {
        seen.send(request.headers().clone()).unwrap();
        async { Ok(Response::new(whole("done"))) }
    })
    .await;
    let (gateway, _folder) = gateway_to(origin.address).await;
    let in_body = Ask::post("/orders").json(json!({ "idempotency_key": "k" }));
    let answer = in_body.header("oncegate-action", "forged").send(gateway.address).await;
    assert_eq!((answer.code(), origin.calls()), (200, 1));
    let arrived = arrived.recv().await.unwrap();
    assert_eq!(arrived.get_all("idempotency-key").iter().count(), 1);
    assert!(!arrived.values().any(|value| value == "forged"));
}

#[tokio::test]
async fn http2_requests_are_the_same_actions() {
    let world = World::start(policy(json!({}))).await;
    let gateway = world.gateway(&[]).await;
    let first = order("k").send_http2(gateway.address).await;
    assert_eq!((first.code(), first.replayed(), world.calls("orders").await), (201, false, 1));
    let again = order("k").send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, 1));
}

#[tokio::test]
async fn cookies_are_set_once() {
    let world = World::start(policy(json!({}))).await;
    let gateway = world.gateway(&[]).await;
    let first = order("k").sample("cookie").send(gateway.address).await;
    assert_eq!((first.code(), world.calls("orders").await), (201, 1));
    assert_eq!(first.all("set-cookie"), ["session=1; HttpOnly", "theme=dark"]);
    let again = order("k").send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, 1));
    assert!(!again.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_refused() {
    let world = World::start(policy(json!({ "limits": { "request": "1KiB", "response": "1MiB" } }))).await;
    let gateway = world.gateway(&[]).await;
    let mut client = TcpStream::connect(gateway.address).await.unwrap();
    let head = "POST /orders HTTP/1.1\r\nHost: test\r\nX-Tenant: acme\r\nIdempotency-Key: k\r\n\
                Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..3 {
        client.write_all(format!("190\r\n{}\r\n", "x".repeat(0x190)).as_bytes()).await.unwrap();
    }
    let mut answer = [0; 12];
    tokio::time::timeout(Duration::from_secs(20), client.read_exact(&mut answer)).await.expect("no answer").unwrap();
    assert_eq!((&answer, world.calls("orders").await), (b"HTTP/1.1 413", 0));
}

#[tokio::test]
async fn an_oversized_answer_is_streamed_and_never_run_again() {
    let origin = TestOrigin::start(|_| async { Ok(Response::new(whole(vec![b'x'; 3 * 1024 * 1024]))) }).await;
    let (gateway, _folder) = gateway_to(origin.address).await;
    let first = order("k").send(gateway.address).await;
    assert_eq!((first.code(), first.body.len(), origin.calls()), (200, 3 * 1024 * 1024, 1));
    let again = order("k").send(gateway.address).await;
    assert_eq!((again.body.len() < 1024 * 1024, origin.calls()), (true, 1), "{}", again.status);
}

#[tokio::test]
async fn a_refused_connection_is_not_sent_and_may_be_tried_again() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (gateway, folder) = gateway_to(port).await;
    let refused = order("k").send(gateway.address).await;
    assert!(refused.status.is_server_error(), "{refused:?}");
    gateway.kill().await;

    let origin = TestOrigin::start(|_| async { Ok(Response::new(whole("done"))) }).await;
    let arguments = gateway_arguments(folder.path(), &format!("http://{}", origin.address), &[]);
    let gateway = Process::start(&arguments).await;
    let again = order("k").send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), origin.calls()), (200, false, 1));
}

#[tokio::test]
async fn an_answer_cut_short_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (gateway, _folder) = gateway_to(listener.local_addr().unwrap()).await;
    let (counted, mut calls) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            counted.send(()).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf").await;
        }
    });
    let first = order("k").send(gateway.address).await;
    assert!(first.code() >= 400 && !first.body.starts_with(b"half"), "{first:?}");
    let again = order("k").send(gateway.address).await;
    assert_eq!((again.code(), again.problem().as_str()), (409, "outcome-unknown"));
    let mut seen = 0;
    while calls.try_recv().is_ok() {
        seen += 1;
    }
    assert_eq!(seen, 1);
}

#[tokio::test]
async fn connections_are_used_again_and_a_stale_one_loses_nothing() {
    let origin = TestOrigin::start(|_| async { Ok(Response::new(whole("done"))) }).await;
    let (gateway, _folder) = gateway_to(origin.address).await;
    for number in 0..20 {
        let answer = order(&format!("k{number}")).send(gateway.address).await;
        assert_eq!((answer.code(), origin.calls()), (200, number + 1));
    }
    assert!(origin.connections() < 20, "{} connections for 20 requests", origin.connections());
}

#[tokio::test]
async fn other_methods_pass() {
    let origin = TestOrigin::start(|request| async move {
        let mut response = Response::new(whole(request.method().as_str().to_string()));
        response.headers_mut().insert("x-target", request.uri().to_string().parse().unwrap());
        Ok(response)
    })
    .await;
    let (gateway, _folder) = gateway_to(origin.address).await;
    for (number, method) in [Method::GET, Method::DELETE, Method::OPTIONS].into_iter().enumerate() {
        let answer = Ask::new(method.clone(), "/a%20b?c=%2F&&d").send(gateway.address).await;
        assert_eq!(
            (answer.code(), &answer.body[..], origin.calls()),
            (200, method.as_str().as_bytes(), number as u64 + 1)
        );
        assert_eq!(answer.headers["x-target"], "/a%20b?c=%2F&&d");
    }
}
