//! An axum service behind the gate. Run it with `cargo run -p oncegate-host --example axum`, then twice:
//!
//! ```text
//! curl -i http://127.0.0.1:3000/orders -H 'Authorization: Bearer ada' -H 'Idempotency-Key: 1' \
//!   -H 'Content-Type: application/json' -d '{"sku":"lamp"}'
//! ```
//!
//! The second answer is the first one's, and no second order is made.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_host::layer::{Config, GateLayer, Properties};
use oncegate_host::{Enforcer, Options, entropy, store};

const POLICY: &str = r#"{ "version": 1, "rules": [{
    "operation": "create-order",
    "match": { "methods": ["POST"], "path": "/orders" },
    "key": { "header": "Idempotency-Key", "required": true },
    "scope": { "tenant": { "property": "principal" } }
}]}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = store::open("memory").await?;
    let enforcer = Arc::new(Enforcer::new(POLICY.as_bytes(), &keys()?, store, Options::default()).await?);
    let gate = GateLayer::new(enforcer, Config::default());
    // The last layer is the first to see a request: nobody reaches the gate unverified.
    let app = Router::new().route("/orders", post(create_order)).layer(gate.clone()).layer(from_fn(authenticate));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) }).await?;
    let left = gate.drain(Duration::from_secs(60)).await;
    if left == 0 { Ok(()) } else { Err(format!("{left} attempts were not settled").into()) }
}

async fn create_order(order: String) -> (StatusCode, String) {
    println!("an order is made");
    (StatusCode::CREATED, format!("ordered: {order}\n"))
}

/// Stands for whatever verifies your callers; here a token is its bearer's name.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let line = request.headers().get(header::AUTHORIZATION).and_then(|line| line.to_str().ok());
    let Some(name) = line.and_then(|line| line.strip_prefix("Bearer ")).map(String::from) else {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    };
    request.extensions_mut().insert(Properties(vec![("principal".into(), name)]));
    next.run(request).await
}

/// Fresh ones are right for a store in memory only: a store that lasts needs secrets that last.
fn keys() -> Result<Keyring, Box<dyn Error>> {
    let secret = Secret { id: 1, bytes: entropy()?.to_vec() };
    Ok(Keyring { partition: entropy()?.to_vec(), secrets: vec![secret], webhooks: vec![] })
}
