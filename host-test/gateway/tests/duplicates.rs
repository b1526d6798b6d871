//! Many duplicates at once over two gateways on one SQLite file: one call of the origin for each key.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use support::client::{Answer, Ask};
use support::{World, policy};

const KEYS: usize = 24;
const DUPLICATES: usize = 64;

fn order(key: usize) -> Ask {
    Ask::post("/orders").key(&format!("key-{key}")).json(json!({ "sku": "lamp", "number": key }))
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_over_two_gateways_call_the_origin_once_a_key() {
    let world = World::start(policy(json!({}))).await;
    let gateways = [world.gateway(&[]).await, world.gateway(&[]).await];

    let mut asking = Vec::new();
    for duplicate in 0..DUPLICATES {
        for key in 0..KEYS {
            let address = gateways[(duplicate + key) % 2].address;
            asking.push((key, tokio::spawn(order(key).sample("slow:20").send(address))));
        }
    }
    let mut created = vec![BTreeSet::new(); KEYS];
    for (key, answer) in asking {
        if let Some(id) = check(answer.await.unwrap()) {
            created[key].insert(id);
        }
    }
    assert_eq!(world.calls("orders").await, KEYS as u64);
    assert_eq!(world.effects("orders").await, KEYS as u64);
    for (key, mut ids) in created.into_iter().enumerate() {
        let again = order(key).send(gateways[key % 2].address).await;
        assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, KEYS as u64));
        ids.extend(check(again));
        assert_eq!(ids.len(), 1, "key {key} got more than one order");
    }
}

/// The order's id, or `None` for one that was told to come back.
fn check(answer: Answer) -> Option<String> {
    match answer.code() {
        201 => Some(answer.json()["id"].as_str().unwrap().into()),
        409 => {
            assert_eq!(answer.problem(), "in-progress");
            None
        }
        _ => panic!("neither created nor in progress: {answer:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_that_wait_get_the_answer() {
    let world = World::start(policy(json!({ "in_flight": { "wait": "20s" } }))).await;
    let gateways = [world.gateway(&[]).await, world.gateway(&[]).await];
    let begun = Instant::now();
    let asking: Vec<_> = (0..DUPLICATES)
        .map(|duplicate| tokio::spawn(order(0).sample("slow:300").send(gateways[duplicate % 2].address)))
        .collect();
    let mut replays = 0;
    for answer in asking {
        let answer = answer.await.unwrap();
        assert_eq!((answer.code(), answer.json()["id"].as_str()), (201, Some("order-1")));
        replays += usize::from(answer.replayed());
    }
    assert_eq!((replays, world.calls("orders").await), (DUPLICATES - 1, 1));
    assert!(begun.elapsed() < Duration::from_secs(20));
}
