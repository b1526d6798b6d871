//! Starting: what is asked for, what is refused and why, and the tour that the program prints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod support;

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use support::client::Ask;
use support::process::{Process, run};
use support::{World, policy};

#[tokio::test]
async fn an_origin_without_a_scope_is_explained() {
    let (code, message) = run(&["serve", "--origin", "http://127.0.0.1:1"]).await;
    assert_eq!(code, Some(2));
    for word in ["--scope header:", "--scope jwt", "--scope shared", "--policy"] {
        assert!(message.contains(word), "{word} is not in: {message}");
    }
}

#[tokio::test]
async fn wrong_use_ends_with_two() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    std::fs::write(file("policy.json"), r#"{"version":1,"surprise":true,"rules":[]}"#).unwrap();
    let (policy, keys) = (file("policy.json"), file("keys.json"));
    for arguments in [
        vec!["serve", "--origin", "https://example.org", "--scope", "shared"],
        vec!["serve", "--origin", "http://127.0.0.1:1", "--scope", "jwt"],
        vec!["serve", "--store", "redis:nowhere"],
        vec!["serve", "--policy", &policy, "--store", "memory", "--keys", &keys, "--cache", support::CACHE],
    ] {
        let (code, message) = run(&arguments).await;
        assert_eq!(code, Some(2), "{arguments:?}: {message}");
        assert!(!message.is_empty());
    }
}

#[tokio::test]
async fn keys_that_others_may_read_are_refused() {
    let world = World::start(policy(json!({}))).await;
    drop(world.gateway(&[]).await);
    let keys = world.folder.path().join("keys.json");
    assert_eq!(std::fs::metadata(&keys).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o644)).unwrap();
    let origin = format!("http://{}", world.origin.address);
    let arguments = support::gateway_arguments(world.folder.path(), &origin, &[]);
    let (code, message) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(code, Some(2));
    assert!(message.contains("chmod 600"), "{message}");
}

/// What the README's tour shows, step by step.
#[tokio::test]
async fn the_sample_tour_holds() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.json");
    let files = ["--keys", keys.to_str().unwrap(), "--cache", support::CACHE];
    let mut gateway =
        Process::start(&[&["serve", "--listen", "127.0.0.1:0", "--store", "memory"], &files[..]].concat()).await;
    let tour = gateway.output().await;
    assert!(tour.contains(&format!("curl -i http://{}/orders", gateway.address)), "{tour}");

    let at = gateway.address;
    let calls = || async move { Ask::get("/_origin/calls").send(at).await.json()["calls"]["orders"].as_u64().unwrap() };
    let order =
        |key: &str, quantity: u32| Ask::post("/orders").key(key).json(json!({ "sku": "lamp", "quantity": quantity }));

    let first = order("order-1", 2).send(at).await;
    assert_eq!((first.code(), first.replayed(), calls().await), (201, false, 1));
    let again = order("order-1", 2).send(at).await;
    assert_eq!((again.code(), again.replayed(), calls().await), (201, true, 1));
    let changed = order("order-1", 3).send(at).await;
    assert_eq!((changed.code(), calls().await), (422, 1));

    let slow = tokio::spawn(order("order-2", 1).sample("slow:1500").send(at));
    while calls().await < 2 {
        tokio::task::yield_now().await;
    }
    let meanwhile = order("order-2", 1).send(at).await;
    assert_eq!((meanwhile.code(), meanwhile.problem().as_str(), calls().await), (409, "in-progress", 2));
    assert!(meanwhile.headers.contains_key("retry-after"));
    assert_eq!((slow.await.unwrap().code(), calls().await), (201, 2));

    let dropped = order("order-3", 1).sample("drop").send(at).await;
    assert!(dropped.code() >= 400);
    assert_eq!(calls().await, 3);
    let after = order("order-3", 1).send(at).await;
    assert_eq!((after.code(), after.problem().as_str(), calls().await), (409, "outcome-unknown", 3));
}

/// Without a policy POST and PATCH are covered, and the key is optional.
#[tokio::test]
async fn without_a_policy_keyed_posts_are_covered() {
    let world = World::start(json!({})).await;
    let gateway = world.gateway(&["--scope", "header:X-Tenant"]).await;
    let order = || Ask::post("/orders").json(json!({ "sku": "lamp" }));
    let first = order().key("k").send(gateway.address).await;
    assert_eq!((first.code(), first.replayed(), world.calls("orders").await), (201, false, 1));
    let again = order().key("k").send(gateway.address).await;
    assert_eq!((again.code(), again.replayed(), world.calls("orders").await), (201, true, 1));
    for calls in [2, 3] {
        let without = order().send(gateway.address).await;
        assert_eq!((without.code(), without.replayed(), world.calls("orders").await), (201, false, calls));
    }
    let large = Ask::post("/orders").json(json!({ "text": "x".repeat(2 * 1024 * 1024) })).send(gateway.address).await;
    assert_eq!((large.code(), world.calls("orders").await), (201, 4), "a large body without a key passes");
}

/// Callers can read how keys work, and each problem says where.
#[tokio::test]
async fn the_key_policy_is_published() {
    let world = World::start(json!({})).await;
    let gateway = world.gateway(&["--scope", "header:X-Tenant"]).await;
    let published = Ask::get("/.well-known/idempotency-key-policy").send(gateway.address).await;
    assert_eq!((published.code(), &published.json()["operations"][0]["key_required"]), (200, &json!(false)));
    let refused = Ask::post("/orders").key("").json(json!({})).send(gateway.address).await;
    assert_eq!((refused.code(), world.calls("orders").await), (400, 0));
    let link = "</.well-known/idempotency-key-policy>; rel=\"describedby\"";
    assert_eq!(refused.headers["link"].to_str().unwrap(), link);
}

#[tokio::test]
async fn check_tells_what_an_edit_would_forget() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, scope: serde_json::Value| {
        let path = folder.path().join(name);
        let rule = json!({ "operation": "order", "match": { "path": "/orders" }, "scope": scope });
        std::fs::write(&path, json!({ "version": 1, "rules": [rule] }).to_string()).unwrap();
        path.to_str().unwrap().to_string()
    };
    let old = write("old.json", json!({ "tenant": { "header": "x-tenant" } }));
    let new = write("new.json", json!({ "tenant": { "property": "principal" } }));
    assert_eq!(run(&["check", &old, "--against", &old]).await.0, Some(0));
    let (code, message) = run(&["check", &new, "--against", &old]).await;
    assert_eq!(code, Some(2));
    assert!(message.contains("order: the scope changed") && message.contains("previous.scope"), "{message}");
}
