//! The component in its embedding: the same answers as the core gives natively, at the price that the design names, and
//! within its bounds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod kit;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kit::{POLICY, answered, at, attempt, keyring, order, replayed, with_body};
use oncegate_core::decision::{Answer, AttemptError, Conditions, Coverage, Decision, Renewal, Standing};
use oncegate_core::engine::Engine;
use oncegate_core::store::{CommitResult, Entry, Key, Limits, Loaded, StoreError, Transaction};
use oncegate_core::time::Timestamp;
use oncegate_host::store::{Counted, Counts, Memory, Sqlite, Store};
use oncegate_host::{BuildError, Enforcer, EngineError, Options, drive};

async fn over(store: Arc<dyn Store>, options: Options) -> Enforcer {
    Enforcer::new(POLICY.as_bytes(), &keyring(), store, options).await.unwrap()
}

fn now() -> Conditions {
    Conditions::default()
}

#[tokio::test]
async fn a_request_costs_what_the_design_says() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(directory.path().join("store.sqlite")).await.unwrap();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(Memory::new()), Arc::new(sqlite)];
    for store in stores {
        let counted = Arc::new(Counted::new(store));
        let enforcer = over(counted.clone(), Options::default()).await;
        let one_commit = Counts { get: 0, commit: 1, due: 0 };

        let first = enforcer.admit(order("north", "web-order", "a", 2), now(), at(0)).await.unwrap();
        assert_eq!((&*first.row, counted.take()), ("first-claim", one_commit));

        let settled = enforcer.settle(&attempt(&first), answered(201, "made"), at(1)).await.unwrap();
        assert_eq!((&*settled.row, counted.take()), ("settle-success", one_commit));
        assert_eq!(settled.standing, Standing::Recorded);
        assert!(matches!(settled.answer, Answer::Origin(response) if response.body == b"made"));

        let again = enforcer.admit(order("north", "web-order", "a", 2), now(), at(2)).await.unwrap();
        assert_eq!((&*again.row, counted.take()), ("replay-success", one_commit));
        assert_eq!((replayed(&again).status, &*replayed(&again).body), (201, &b"made"[..]));

        let other = enforcer.admit(order("north", "web-order", "a", 3), now(), at(2)).await.unwrap();
        assert!(matches!(other.decision, Decision::Conflict(response) if response.status == 422));
        assert_eq!(counted.take(), one_commit);
    }
}

#[tokio::test]
async fn the_core_natively_is_the_same_gate() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let enforcer = over(Arc::clone(&store), Options::default()).await;
    let native = Arc::new(Engine::new(POLICY.as_bytes(), &keyring(), store.limits()).unwrap());
    assert_eq!(enforcer.configuration(), &native.configuration());

    let request = order("north", "web-order", "a", 2);
    assert_eq!(enforcer.cover(&request.head).await.unwrap(), native.cover(&request.head));
    let mut elsewhere = request.head.clone();
    elsewhere.target = b"/elsewhere".to_vec();
    assert_eq!(enforcer.cover(&elsewhere).await.unwrap(), native.cover(&elsewhere));
    assert!(matches!(native.cover(&elsewhere), Coverage::Pass(_)));

    // Admitted in the component, renewed and settled natively, replayed by both.
    let admission = enforcer.admit(request.clone(), now(), at(0)).await.unwrap();
    let step = native.settle(attempt(&admission), answered(201, "made"), at(1)).unwrap();
    assert_eq!(drive(step, &*store).await.standing, Standing::Recorded);
    let circumstances = at(2);
    let by_core = drive(native.admit(request.clone(), now(), circumstances), &*store).await;
    let by_component = enforcer.admit(request.clone(), now(), circumstances).await.unwrap();
    assert_eq!(by_core, by_component);
    assert_eq!(replayed(&by_core).body, b"made");

    let explained = enforcer.explain(request.clone(), circumstances).await.unwrap();
    assert_eq!(explained, drive(native.explain(request, circumstances), &*store).await);
    assert_eq!(explained.unwrap().row, "replay-success");
}

#[tokio::test]
async fn a_bad_policy_is_told_by_its_path() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let policy = POLICY.replace("\"60s\"", "\"sixty\"");
    match Enforcer::new(policy.as_bytes(), &keyring(), store, Options::default()).await {
        Err(BuildError::Configuration(fault)) => assert!(fault.path.starts_with("rules[0]"), "{fault:?}"),
        other => panic!("not turned down: {other:?}"),
    }
}

#[tokio::test]
async fn foreign_attempts_are_turned_down() {
    let enforcer = over(Arc::new(Memory::new()), Options::default()).await;
    let admission = enforcer.admit(order("north", "web-order", "a", 2), now(), at(0)).await.unwrap();
    let mut foreign = attempt(&admission);
    foreign.generation = [0; 16];
    let refused = Err(EngineError::Attempt(AttemptError::OtherGeneration));
    assert_eq!(enforcer.settle(&foreign, answered(200, ""), at(1)).await, refused);
    let mut odd = attempt(&admission);
    odd.operation = "no-such-operation".to_owned();
    let refused = Err(EngineError::Attempt(AttemptError::Malformed));
    assert_eq!(enforcer.renew(&odd, at(1)).await, refused);
    // The one that it made it still knows.
    assert!(matches!(enforcer.renew(&attempt(&admission), at(1)).await, Ok(Renewal::Refused(_) | Renewal::Renewed(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_proceeds() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Sqlite::open(directory.path().join("store.sqlite")).await.unwrap());
    // Fewer instances than calls: they take turns.
    let enforcer = Arc::new(over(store, Options { instances: 4, ..Options::default() }).await);
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let enforcer = Arc::clone(&enforcer);
            tokio::spawn(async move { enforcer.admit(order("north", "web-order", "a", 2), now(), at(0)).await })
        })
        .collect();
    let mut rows = Vec::new();
    for call in calls {
        rows.push(call.await.unwrap().unwrap().row);
    }
    assert_eq!(rows.iter().filter(|row| *row == "first-claim").count(), 1);
    assert_eq!(rows.iter().filter(|row| *row == "in-progress").count(), 63);
}

#[tokio::test]
async fn too_much_memory_ends_one_call_alone() {
    let enforcer = over(Arc::new(Memory::new()), Options { memory: 4 << 20, ..Options::default() }).await;
    let large = with_body("north", "web-order", "a", vec![b' '; 8 << 20]);
    assert!(matches!(enforcer.admit(large, now(), at(0)).await, Err(EngineError::Trapped(_))));
    let next = enforcer.admit(order("north", "web-order", "a", 2), now(), at(0)).await.unwrap();
    assert_eq!(next.row, "first-claim");
}

#[tokio::test]
async fn too_much_time_ends_one_call_alone() {
    let options = Options { guest_time: Duration::from_millis(100), ..Options::default() };
    let enforcer = over(Arc::new(Memory::new()), options).await;
    let large = [b"[", "1234567,".repeat(4 << 20).as_bytes(), b"1]"].concat();
    let long = with_body("north", "web-order", "a", large);
    assert!(matches!(enforcer.admit(long, now(), at(0)).await, Err(EngineError::Trapped(_))));
    let next = enforcer.admit(order("north", "web-order", "a", 2), now(), at(0)).await.unwrap();
    assert_eq!(next.row, "first-claim");
}

/// Takes every call and answers none.
struct Silent;

#[async_trait]
impl Store for Silent {
    fn limits(&self) -> Limits {
        Memory::new().limits()
    }

    async fn get(&self, _: &[Key]) -> Result<Loaded, StoreError> {
        std::future::pending().await
    }

    async fn commit(&self, _: &Transaction) -> Result<CommitResult, StoreError> {
        std::future::pending().await
    }

    async fn due(&self, _: Timestamp, _: Option<&Key>, _: u32) -> Result<Vec<(Key, Entry)>, StoreError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_silent_store_is_waited_for_within_bounds() {
    // It takes longer than the guest may compute, which does not count.
    let options =
        Options { store_wait: Duration::from_millis(50), guest_time: Duration::from_millis(60), ..Options::default() };
    let enforcer = over(Arc::new(Silent), options).await;
    let admission = enforcer.admit(order("north", "web-order", "a", 2), now(), at(0)).await.unwrap();
    assert!(matches!(admission.decision, Decision::Unavailable(response) if response.status == 503));
    assert!(admission.detail.unwrap().contains("50 ms"));
}

#[tokio::test]
async fn instances_are_bounded_and_a_dropped_call_frees_its_own() {
    let options = Options { instances: 1, instance_wait: Duration::from_millis(50), ..Options::default() };
    let enforcer = Arc::new(over(Arc::new(Silent), options).await);
    let holding = {
        let enforcer = Arc::clone(&enforcer);
        async move { enforcer.admit(order("north", "web-order", "a", 2), now(), at(0)).await }
    };
    let mut holding = Box::pin(holding);
    // Its first poll takes the instance, and the store never answers.
    assert!(futures_util::poll!(&mut holding).is_pending());
    let head = order("north", "web-order", "a", 2).head;
    assert_eq!(enforcer.cover(&head).await, Err(EngineError::Busy));
    drop(holding);
    assert!(matches!(enforcer.cover(&head).await, Ok(Coverage::Enforce { .. })));
}
