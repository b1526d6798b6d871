//! Who is asking: verified before anything is looked up, and scope headers believed from declared peers only.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use support::client::Ask;
use support::origin::TestOrigin;
use support::process::Process;
use support::{World, policy};

const SECRET: &[u8] = b"a secret for tests only, 32 bytes";
/// The same in base64url, as a key set has it.
const SECRET_IN_SET: &str = "YSBzZWNyZXQgZm9yIHRlc3RzIG9ubHksIDMyIGJ5dGVz";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn token(claims: Value) -> String {
    let header = Header { kid: Some("one".into()), ..Header::new(Algorithm::HS256) };
    format!("Bearer {}", encode(&header, &claims, &EncodingKey::from_secret(SECRET).unwrap()).unwrap())
}

fn token_of(subject: &str) -> String {
    token(json!({ "sub": subject, "exp": now() + 600, "aud": "orders" }))
}

fn order() -> Ask {
    Ask::post("/orders").key("k").json(json!({ "sku": "lamp" }))
}

async fn gateway_with_keys(world: &World) -> Process {
    let file = world.folder.path().join("jwks.json");
    let set = json!({ "keys": [{ "kty": "oct", "kid": "one", "alg": "HS256", "k": SECRET_IN_SET }] });
    std::fs::write(&file, set.to_string()).unwrap();
    let auth = format!("jwks:{}", file.display());
    world.gateway(&["--scope", "jwt", "--auth", &auth, "--audience", "orders"]).await
}

#[tokio::test]
async fn a_replay_needs_a_valid_token_too() {
    let world = World::start(json!({})).await;
    let gateway = gateway_with_keys(&world).await;
    let first = order().header("authorization", &token_of("ada")).send(gateway.address).await;
    assert_eq!((first.code(), first.replayed(), world.calls("orders").await), (201, false, 1));

    let expired = token(json!({ "sub": "ada", "exp": now() - 600, "aud": "orders" }));
    let not_yet = token(json!({ "sub": "ada", "exp": now() + 600, "nbf": now() + 300, "aud": "orders" }));
    let for_others = token(json!({ "sub": "ada", "exp": now() + 600, "aud": "billing" }));
    let for_nobody = token(json!({ "sub": "ada", "exp": now() + 600 }));
    let endless = token(json!({ "sub": "ada", "aud": "orders" }));
    let unsigned = "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.".to_string();
    for forged in [expired, not_yet, for_others, for_nobody, endless, unsigned, "Basic YTpi".into()] {
        let answer = order().header("authorization", &forged).send(gateway.address).await;
        assert_eq!((answer.code(), world.calls("orders").await), (401, 1), "{forged}");
        assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    }
    let none = order().send(gateway.address).await;
    assert_eq!((none.code(), world.calls("orders").await), (401, 1));

    let again = order().header("authorization", &token_of("ada")).send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, 1));
    let other = order().header("authorization", &token_of("grace")).send(gateway.address).await;
    assert_eq!((other.code(), other.replayed(), world.calls("orders").await), (201, false, 2));
}

#[tokio::test]
async fn an_authorization_service_is_asked_first() {
    let service = TestOrigin::start(|request| async move {
        let told = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_string());
        assert_eq!((request.method().as_str(), request.uri().to_string().as_str()), ("GET", "/check?for=orders"));
        let mut response = Response::new(Full::new("come in".into()).map_err(|never| match never {}).boxed());
        match told("authorization").as_deref() {
            Some("Token ada") => drop(response.headers_mut().insert("x-principal", "ada".parse().unwrap())),
            Some("Token down") => return Err(std::io::Error::other("down")),
            _ => *response.status_mut() = StatusCode::FORBIDDEN,
        }
        assert_eq!(told("x-forwarded-method").as_deref(), Some("POST"));
        assert_eq!(told("x-forwarded-uri").as_deref(), Some("/orders"));
        Ok(response)
    })
    .await;
    let world = World::start(json!({})).await;
    let auth = format!("forward:http://{}/check?for=orders", service.address);
    let gateway = world.gateway(&["--scope", "jwt", "--auth", &auth]).await;
    let as_caller = |caller: &str| order().header("authorization", &format!("Token {caller}"));

    let first = as_caller("ada").send(gateway.address).await;
    assert_eq!((first.code(), first.replayed(), world.calls("orders").await), (201, false, 1));
    let again = as_caller("ada").send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, 1));
    let stranger = as_caller("mallory").send(gateway.address).await;
    assert_eq!((stranger.code(), &stranger.body[..], world.calls("orders").await), (403, &b"come in"[..], 1));
    let nobody_there = as_caller("down").send(gateway.address).await;
    assert_eq!((nobody_there.code(), world.calls("orders").await), (503, 1));
}

#[tokio::test]
async fn a_scope_header_is_believed_from_declared_peers_only() {
    let world = World::start(policy(json!({}))).await;
    let strangers = world.gateway(&["--peer", "192.0.2.0/24"]).await;
    let answer = order().send(strangers.address).await;
    assert!(answer.status.is_client_error(), "{answer:?}");
    assert_eq!(world.calls("orders").await, 0);

    let peers = world.gateway(&["--peer", "192.0.2.0/24", "--peer", "127.0.0.1"]).await;
    let answer = order().send(peers.address).await;
    assert_eq!((answer.code(), world.calls("orders").await), (201, 1));
    let twice = order().header("x-tenant", "globex").send(peers.address).await;
    assert!(twice.status.is_client_error(), "{twice:?}");
    assert_eq!(world.calls("orders").await, 1);
}

#[tokio::test]
async fn a_connection_header_that_names_the_key_is_refused() {
    let world = World::start(policy(json!({}))).await;
    let gateway = world.gateway(&[]).await;
    let answer = order().header("connection", "Idempotency-Key").send(gateway.address).await;
    assert_eq!((answer.code(), world.calls("orders").await), (400, 0));
}
