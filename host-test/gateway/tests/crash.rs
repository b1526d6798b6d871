//! Gateways that die, clients that hang up, and stopping: the origin is called once whatever ends in between.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use support::client::Ask;
use support::{World, policy};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

fn order(key: &str) -> Ask {
    Ask::post("/orders").key(key).json(json!({ "sku": "lamp" }))
}

#[tokio::test]
async fn a_gateway_killed_between_claim_and_answer_leaves_the_truth() {
    let lease = Duration::from_secs(4);
    let short = json!({ "lease": "4s", "max_run": "4s", "upstream_timeout": "3s", "settle_bound": "1s" });
    let world = World::start(policy(short)).await;
    let gateway = world.gateway(&[]).await;

    let claimed = Instant::now();
    let asking = tokio::spawn(order("k").sample("slow:2500").try_send(gateway.address));
    world.reached("orders", 1).await;
    gateway.kill().await;
    assert!(asking.await.unwrap().is_none(), "the client cannot have got an answer");

    let gateway = world.gateway(&[]).await;
    let answer = order("k").send(gateway.address).await;
    assert!(claimed.elapsed() < lease, "the machine is too slow for this test's lease");
    assert_eq!((answer.code(), answer.problem().as_str(), world.calls("orders").await), (409, "in-progress", 1));
    assert!(answer.headers.contains_key("retry-after"));

    tokio::time::sleep(lease.saturating_sub(claimed.elapsed()) + Duration::from_millis(100)).await;
    for _ in 0..2 {
        let answer = order("k").send(gateway.address).await;
        assert_eq!(
            (answer.code(), answer.problem().as_str(), world.calls("orders").await),
            (409, "outcome-unknown", 1)
        );
    }
    assert_eq!(world.effects("orders").await, 1);
}

#[tokio::test]
async fn a_client_that_hangs_up_does_not_stop_the_settling() {
    let world = World::start(policy(json!({}))).await;
    let gateway = world.gateway(&[]).await;

    let body = r#"{"sku":"lamp"}"#;
    let mut client = TcpStream::connect(gateway.address).await.unwrap();
    let request = format!(
        "POST /orders HTTP/1.1\r\nHost: test\r\nX-Tenant: acme\r\nIdempotency-Key: k\r\nX-Sample: slow:500\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write_all(request.as_bytes()).await.unwrap();
    world.reached("orders", 1).await;
    drop(client);

    let begun = Instant::now();
    let answer = loop {
        let answer = order("k").send(gateway.address).await;
        assert_eq!(world.calls("orders").await, 1);
        if answer.code() != 409 {
            break answer;
        }
        assert_eq!(answer.problem(), "in-progress");
        assert!(begun.elapsed() < Duration::from_secs(20), "it was never settled");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((answer.code(), answer.replayed(), world.calls("orders").await), (201, true, 1));
    assert_eq!(world.effects("orders").await, 1);
}

#[tokio::test]
async fn sigterm_settles_what_is_in_flight() {
    let world = World::start(policy(json!({}))).await;
    let gateway = world.gateway(&[]).await;
    let address = gateway.address;

    let asking = tokio::spawn(order("k").sample("slow:1000").send(address));
    world.reached("orders", 1).await;
    gateway.terminate().await;
    let answer = asking.await.unwrap();
    assert_eq!((answer.code(), world.calls("orders").await), (201, 1));
    assert_eq!(gateway.ended().await.code(), Some(0));

    let gateway = world.gateway(&[]).await;
    let again = order("k").send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, 1));
    assert_eq!(again.body, answer.body);
}

#[tokio::test]
async fn sigterm_settles_even_what_its_client_has_left() {
    let world = World::start(policy(json!({}))).await;
    let gateway = world.gateway(&[]).await;
    let asking = tokio::spawn(order("k").sample("slow:1000").try_send(gateway.address));
    world.reached("orders", 1).await;
    asking.abort();
    gateway.terminate().await;
    assert_eq!(gateway.ended().await.code(), Some(0));

    let gateway = world.gateway(&[]).await;
    let again = order("k").send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, 1));
}
