//! The gate in front of a service in the same process: the real component over a store in memory. Each answer is paired
//! with the calls of the service.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_host::layer::{Config, Fault, GateBody, GateLayer, PeerAddress, Peers, Properties, full};
use oncegate_host::{Enforcer, Options, store};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

async fn gate(more: Value, config: Config) -> GateLayer {
    let mut rule = json!({
        "operation": "create-order",
        "match": { "methods": ["POST"], "path": "/orders" },
        "key": { "header": "Idempotency-Key", "required": true },
        "scope": { "tenant": { "property": "principal" } },
    });
    for (name, value) in more.as_object().unwrap() {
        rule[name] = value.clone();
    }
    let policy = json!({ "version": 1, "rules": [rule] }).to_string();
    let keys =
        Keyring { partition: vec![1; 32], secrets: vec![Secret { id: 1, bytes: vec![2; 32] }], webhooks: vec![] };
    let store = store::open("memory").await.unwrap();
    let enforcer = Enforcer::new(policy.as_bytes(), &keys, store, Options::default()).await.unwrap();
    GateLayer::new(Arc::new(enforcer), config)
}

fn order(key: &str) -> Request<Full<Bytes>> {
    Request::post("/orders")
        .header("idempotency-key", key)
        .extension(Properties(vec![("principal".into(), "ada".into())]))
        .body(Full::from("lamp"))
        .unwrap()
}

/// Counts its own calls.
#[derive(Clone, Default)]
struct Calls(Arc<AtomicU64>);

impl Calls {
    fn one_more(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Status, problem or body, and whether it is a replay.
async fn ask<S>(service: &S, request: Request<Full<Bytes>>) -> (u16, String, bool)
where
    S: Service<Request<Full<Bytes>>, Response = Response<GateBody>> + Clone,
    S::Error: std::fmt::Debug,
{
    let response = service.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let problem = serde_json::from_str::<Value>(&text).ok();
    let problem = problem.and_then(|document| Some(document["type"].as_str()?.rsplit(':').next()?.to_string()));
    (head.status.as_u16(), problem.unwrap_or(text), head.headers.contains_key("idempotent-replayed"))
}

#[tokio::test]
async fn an_axum_router_is_called_once() {
    let calls = Calls::default();
    let counting = calls.clone();
    let handler = move |body: String| async move { (StatusCode::CREATED, format!("{body} {}", counting.one_more())) };
    let gate = gate(json!({}), Config::default()).await;
    let app = Router::new().route("/orders", post(handler)).layer(gate.clone());
    for replays in 0..3 {
        let response = app.clone().oneshot(order("k").map(axum::body::Body::new)).await.unwrap();
        assert_eq!((response.status(), calls.count()), (StatusCode::CREATED, 1));
        assert_eq!(response.headers().contains_key("idempotent-replayed"), replays > 0);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "lamp 1");
    }
    assert_eq!((gate.counters().of("first-claim"), gate.counters().of("replay-success")), (1, 2));
    assert_eq!(gate.drain(Duration::from_secs(5)).await, 0);
}

#[tokio::test]
async fn a_service_that_was_not_reached_may_be_called_again() {
    let calls = Calls::default();
    let counting = calls.clone();
    let inner = service_fn(move |_: Request<GateBody>| {
        let call = counting.one_more();
        async move { if call == 1 { Err(Fault::NotSent("nobody there".into())) } else { Ok(Response::new(full("done"))) } }
    });
    let service = gate(json!({}), Config::default()).await.layer(inner);
    let (status, problem, _) = ask(&service, order("k")).await;
    assert_eq!((status, problem.as_str(), calls.count()), (503, "origin-unreached", 1));
    assert_eq!((ask(&service, order("k")).await, calls.count()), ((200, "done".into(), false), 2));
    assert_eq!((ask(&service, order("k")).await, calls.count()), ((200, "done".into(), true), 2));
}

#[tokio::test]
async fn other_errors_panics_and_time_running_out_are_unknown() {
    for trouble in ["error", "panic", "time"] {
        let calls = Calls::default();
        let counting = calls.clone();
        let inner = service_fn(move |_: Request<GateBody>| {
            counting.one_more();
            async move {
                match trouble {
                    "error" => Err(std::io::Error::other("an effect may have happened")),
                    "panic" => panic!("an effect may have happened"),
                    _ => std::future::pending::<Result<Response<GateBody>, _>>().await,
                }
            }
        });
        let config = Config { upstream_timeout: Some(Duration::from_millis(200)), ..Config::default() };
        let service = gate(json!({}), config).await.layer(inner);
        for _ in 0..2 {
            let (status, problem, _) = ask(&service, order("k")).await;
            assert_eq!((status, problem.as_str(), calls.count()), (409, "outcome-unknown", 1), "{trouble}");
        }
    }
}

#[tokio::test]
async fn a_lease_is_renewed_while_the_service_works() {
    let calls = Calls::default();
    let counting = calls.clone();
    let inner = service_fn(move |_: Request<GateBody>| {
        counting.one_more();
        async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok::<_, Fault>(Response::new(full("done")))
        }
    });
    let times = json!({ "lease": "2s", "max_run": "20s", "upstream_timeout": "10s", "settle_bound": "500ms" });
    let gate = gate(times, Config::default()).await;
    let service = gate.layer(inner);
    let first = tokio::spawn({
        let service = service.clone();
        async move { ask(&service, order("k")).await }
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (status, problem, _) = ask(&service, order("k")).await;
    assert_eq!((status, problem.as_str(), calls.count()), (409, "in-progress", 1));
    assert_eq!((first.await.unwrap(), calls.count()), ((200, "done".into(), false), 1));
    assert_eq!((ask(&service, order("k")).await, calls.count()), ((200, "done".into(), true), 1));
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_stop_the_settling() {
    let calls = Calls::default();
    let counting = calls.clone();
    let (called, mut is_called) = tokio::sync::mpsc::channel(1);
    let (release, released) = tokio::sync::watch::channel(false);
    let inner = service_fn(move |_: Request<GateBody>| {
        counting.one_more();
        let (called, mut released) = (called.clone(), released.clone());
        async move {
            called.send(()).await.unwrap();
            released.wait_for(|released| *released).await.unwrap();
            Ok::<_, Fault>(Response::new(full("done")))
        }
    });
    let gate = gate(json!({}), Config::default()).await;
    let service = gate.layer(inner);
    let leaving = tokio::spawn(service.clone().oneshot(order("k")));
    is_called.recv().await.unwrap();
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    release.send(true).unwrap();
    assert_eq!((gate.drain(Duration::from_secs(10)).await, calls.count()), (0, 1));
    assert_eq!((ask(&service, order("k")).await, calls.count()), ((200, "done".into(), true), 1));
}

#[tokio::test]
async fn believed_headers_are_taken_from_declared_peers_only() {
    let calls = Calls::default();
    let counting = calls.clone();
    let inner = service_fn(move |_: Request<GateBody>| {
        counting.one_more();
        async { Ok::<_, Fault>(Response::new(full("done"))) }
    });
    let peers = Peers::Declared(vec!["10.0.0.0/8".parse().unwrap()]);
    let scope = json!({ "scope": { "tenant": { "header": "X-Tenant" } } });
    let service = gate(scope, Config { peers, ..Config::default() }).await.layer(inner);
    let from = |peer: Option<[u8; 4]>| {
        let mut request = order("k");
        request.headers_mut().insert("x-tenant", "acme".parse().unwrap());
        if let Some(peer) = peer {
            request.extensions_mut().insert(PeerAddress(IpAddr::from(peer)));
        }
        request
    };
    for stranger in [None, Some([192, 0, 2, 1])] {
        let (status, problem, _) = ask(&service, from(stranger)).await;
        assert_eq!((status, problem.as_str(), calls.count()), (403, "scope-missing", 0));
    }
    assert_eq!((ask(&service, from(Some([10, 1, 2, 3]))).await, calls.count()), ((200, "done".into(), false), 1));
}

#[tokio::test]
async fn more_than_the_gate_holds_are_told_to_come_back() {
    let calls = Calls::default();
    let counting = calls.clone();
    let inner = service_fn(move |_: Request<GateBody>| {
        counting.one_more();
        async { Ok::<_, Fault>(Response::new(full("done"))) }
    });
    let service = gate(json!({}), Config { max_in_flight: 0, ..Config::default() }).await.layer(inner);
    let (status, problem, _) = ask(&service, order("k")).await;
    assert_eq!((status, problem.as_str(), calls.count()), (503, "crowded", 0));
}
