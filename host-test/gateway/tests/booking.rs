//! The booking table over HTTP, through the program with SQLite: each answer is paired with the origin's calls.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod support;

use serde_json::json;
use support::client::{Answer, Ask};
use support::process::Process;
use support::{World, policy};

struct Bookings {
    world: World,
    gateway: Process,
}

impl Bookings {
    async fn start() -> Bookings {
        let world = World::start(policy(json!({}))).await;
        let gateway = world.gateway(&[]).await;
        Bookings { world, gateway }
    }

    /// Sends it, and says how often the origin has been called by then.
    async fn send(&self, ask: Ask) -> (Answer, u64) {
        let answer = ask.send(self.gateway.address).await;
        (answer, self.world.calls("bookings").await)
    }
}

fn booking(key: &str) -> Ask {
    Ask::post("/bookings/room-1").key(key).json(json!({ "guest": "Ada", "nights": 2 }))
}

#[tokio::test]
async fn a_success_is_replayed() {
    let bookings = Bookings::start().await;
    let (first, calls) = bookings.send(booking("k")).await;
    assert_eq!((first.code(), first.replayed(), calls), (201, false, 1));
    let (again, calls) = bookings.send(booking("k")).await;
    assert_eq!((again.code(), again.replayed(), calls), (201, true, 1));
    assert_eq!((&again.body, &again.headers["location"]), (&first.body, &first.headers["location"]));
    assert_eq!(bookings.world.effects("bookings").await, 1);
}

#[tokio::test]
async fn a_changed_request_conflicts() {
    let bookings = Bookings::start().await;
    let (first, calls) = bookings.send(booking("k")).await;
    assert_eq!((first.code(), calls), (201, 1));
    let changed = Ask::post("/bookings/room-1").key("k").json(json!({ "guest": "Ada", "nights": 3 }));
    let (conflict, calls) = bookings.send(changed).await;
    assert_eq!((conflict.code(), calls), (422, 1));
    assert_eq!(conflict.headers["content-type"], "application/problem+json");
}

#[tokio::test]
async fn a_permanent_failure_is_replayed() {
    let bookings = Bookings::start().await;
    let (first, calls) = bookings.send(booking("k").sample("status:404")).await;
    assert_eq!((first.code(), first.replayed(), calls), (404, false, 1));
    let (again, calls) = bookings.send(booking("k")).await;
    assert_eq!((again.code(), again.replayed(), calls), (404, true, 1));
    assert_eq!(again.body, first.body);
    assert_eq!(bookings.world.effects("bookings").await, 0);
}

#[tokio::test]
async fn a_failure_known_to_have_no_effect_may_be_tried_again() {
    let bookings = Bookings::start().await;
    let (first, calls) = bookings.send(booking("k").sample("status:429")).await;
    assert_eq!((first.code(), calls), (429, 1));
    let (again, calls) = bookings.send(booking("k")).await;
    assert_eq!((again.code(), again.replayed(), calls), (201, false, 2));
    assert_eq!(bookings.world.effects("bookings").await, 1);
}

#[tokio::test]
async fn an_unknown_outcome_is_not_tried_again() {
    for trouble in ["drop", "status:500"] {
        let bookings = Bookings::start().await;
        let (first, calls) = bookings.send(booking("k").sample(trouble)).await;
        assert!(first.status.is_client_error() || first.status.is_server_error(), "{trouble}: {first:?}");
        assert_eq!(calls, 1, "{trouble}");
        let (again, calls) = bookings.send(booking("k")).await;
        assert_eq!((again.code(), again.problem().as_str(), calls), (409, "outcome-unknown", 1), "{trouble}");
    }
}

#[tokio::test]
async fn one_key_for_two_items_is_two_operations() {
    let bookings = Bookings::start().await;
    let (one, calls) = bookings.send(booking("k")).await;
    assert_eq!((one.code(), one.replayed(), calls), (201, false, 1));
    let sibling = Ask::post("/bookings/room-2").key("k").json(json!({ "guest": "Ada", "nights": 2 }));
    let (other, calls) = bookings.send(sibling).await;
    assert_eq!((other.code(), other.replayed(), calls), (201, false, 2));
    assert_ne!(one.body, other.body);
}

#[tokio::test]
async fn one_key_of_two_tenants_is_two_operations() {
    let bookings = Bookings::start().await;
    let (one, calls) = bookings.send(booking("k")).await;
    assert_eq!((one.code(), calls), (201, 1));
    let (other, calls) = bookings.send(booking("k").without("x-tenant").header("x-tenant", "globex")).await;
    assert_eq!((other.code(), other.replayed(), calls), (201, false, 2));
}

#[tokio::test]
async fn the_order_of_members_does_not_matter() {
    let bookings = Bookings::start().await;
    let (first, calls) =
        bookings.send(Ask::post("/bookings/room-1").key("k").json(r#"{"a":1,"b":{"c":2,"d":3}}"#)).await;
    assert_eq!((first.code(), calls), (201, 1));
    let reordered = Ask::post("/bookings/room-1").key("k").json("{ \"b\": {\"d\":3, \"c\":2}, \"a\":1.0 }");
    let (again, calls) = bookings.send(reordered).await;
    assert_eq!((again.code(), again.replayed(), calls), (201, true, 1));
}

#[tokio::test]
async fn a_key_moved_from_header_to_body_is_the_same_action() {
    let bookings = Bookings::start().await;
    let (first, calls) = bookings.send(booking("k")).await;
    assert_eq!((first.code(), calls), (201, 1));
    let in_body = json!({ "guest": "Ada", "nights": 2, "idempotency_key": "k" });
    let (again, calls) = bookings.send(Ask::post("/bookings/room-1").json(in_body)).await;
    assert_eq!((again.code(), again.replayed(), calls), (201, true, 1));
}

#[tokio::test]
async fn a_missing_key_is_refused() {
    let bookings = Bookings::start().await;
    let (answer, calls) = bookings.send(Ask::post("/bookings/room-1").json(json!({}))).await;
    assert_eq!((answer.code(), calls), (400, 0));
}
