//! What every store must do, whatever it is made of. Each function takes a store that may hold other things already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oncegate_core::time::Timestamp;
use oncegate_host::store::{
    CommitResult, Entry, Expectation, Key, Put, Revision, Store, StoreError, Transaction, Write,
};

/// Runs all of it.
pub async fn all(store: &Arc<dyn Store>) {
    absent_is_absent(&**store).await;
    bytes_come_back_as_they_were_put(&**store).await;
    expectations_guard_writes(&**store).await;
    a_conflict_tells_what_is_held(&**store).await;
    many_entries_are_one(&**store).await;
    revisions_never_repeat(&**store).await;
    positions_rise(&**store).await;
    due_pages_in_key_order(&**store).await;
    what_is_too_large_is_refused(&**store).await;
    one_of_many_claims_wins(store).await;
}

/// A key that no other call returns.
pub fn fresh_key() -> Key {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut hash = [0; 32];
    hash[..4].copy_from_slice(&number);
    Key([&[1, 0, 7, 1][..], &hash].concat())
}

pub fn put(key: &Key, value: &[u8]) -> Write {
    Write::Put(Put { key: key.clone(), value: value.to_vec(), forget_at: None, review_at: None })
}

pub fn expect(key: &Key, revision: Option<&Revision>) -> Expectation {
    Expectation { key: key.clone(), revision: revision.cloned() }
}

/// Puts one value, expecting what is given.
pub fn claim(key: &Key, revision: Option<&Revision>, value: &[u8]) -> Transaction {
    Transaction { expects: vec![expect(key, revision)], writes: vec![put(key, value)] }
}

pub async fn committed(store: &dyn Store, transaction: &Transaction) -> Vec<Revision> {
    match store.commit(transaction).await {
        Ok(CommitResult::Committed { revisions, .. }) => revisions,
        other => panic!("not committed: {other:?}"),
    }
}

pub async fn conflicted(store: &dyn Store, transaction: &Transaction) -> Vec<Option<Entry>> {
    match store.commit(transaction).await {
        Ok(CommitResult::Conflicted { held, .. }) => held,
        other => panic!("not conflicted: {other:?}"),
    }
}

pub async fn held(store: &dyn Store, key: &Key) -> Option<Entry> {
    let (mut entries, _) = store.get(std::slice::from_ref(key)).await.unwrap();
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}

async fn absent_is_absent(store: &dyn Store) {
    let (entries, _) = store.get(&[fresh_key(), fresh_key()]).await.unwrap();
    assert_eq!(entries, [None, None]);
    assert_eq!(store.get(&[]).await.unwrap().0, []);
}

async fn bytes_come_back_as_they_were_put(store: &dyn Store) {
    let every_byte: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    for value in [&b""[..], b"\0", &[0xff, 0xfe], "text ä".as_bytes(), &every_byte] {
        let key = fresh_key();
        let revisions = committed(store, &claim(&key, None, value)).await;
        assert_eq!(revisions.len(), 1);
        assert!((1..=16).contains(&revisions[0].0.len()));
        assert_eq!(held(store, &key).await, Some(Entry { revision: revisions[0].clone(), value: value.to_vec() }));
    }
}

async fn expectations_guard_writes(store: &dyn Store) {
    let key = fresh_key();
    let first = committed(store, &claim(&key, None, b"first")).await.remove(0);
    conflicted(store, &claim(&key, None, b"again")).await;
    let second = committed(store, &claim(&key, Some(&first), b"second")).await.remove(0);
    conflicted(store, &claim(&key, Some(&first), b"late")).await;
    let nobody = fresh_key();
    assert_eq!(conflicted(store, &claim(&nobody, Some(&second), b"x")).await, [None]);
    assert_eq!(held(store, &key).await.unwrap().value, b"second");
    assert_eq!(held(store, &nobody).await, None);
}

async fn a_conflict_tells_what_is_held(store: &dyn Store) {
    let (here, gone) = (fresh_key(), fresh_key());
    let revision = committed(store, &claim(&here, None, b"here")).await.remove(0);
    let both = Transaction { expects: vec![expect(&gone, None), expect(&here, None)], writes: vec![put(&gone, b"x")] };
    let entry = Entry { revision, value: b"here".to_vec() };
    assert_eq!(conflicted(store, &both).await, [None, Some(entry)]);
    assert_eq!(held(store, &gone).await, None);
}

async fn many_entries_are_one(store: &dyn Store) {
    let keys: Vec<Key> = (0..5).map(|_| fresh_key()).collect();
    let whole = Transaction {
        expects: keys.iter().map(|key| expect(key, None)).collect(),
        writes: keys.iter().map(|key| put(key, b"whole")).collect(),
    };
    let revisions = committed(store, &whole).await;
    assert_eq!(revisions.len(), 5);
    conflicted(store, &whole).await;
    // One that does not hold, however late, keeps all from being written.
    let half = Transaction {
        expects: vec![expect(&keys[0], Some(&revisions[0])), expect(&keys[4], Some(&revisions[0]))],
        writes: vec![put(&keys[0], b"half"), Write::Delete(keys[1].clone()), put(&fresh_key(), b"half")],
    };
    let held_now = conflicted(store, &half).await;
    assert!(held_now.iter().flatten().all(|entry| entry.value == b"whole") || revisions[0] == revisions[4]);
    for key in &keys {
        assert_eq!(held(store, key).await.unwrap().value, b"whole");
    }
    // Writes need no expectation of their own key; deleting an absent key changes nothing.
    let mixed = Transaction {
        expects: vec![expect(&keys[0], Some(&revisions[0]))],
        writes: vec![put(&keys[1], b"mixed"), Write::Delete(keys[0].clone()), Write::Delete(fresh_key())],
    };
    assert_eq!(committed(store, &mixed).await.len(), 1);
    assert_eq!(held(store, &keys[0]).await, None);
    assert_eq!(held(store, &keys[1]).await.unwrap().value, b"mixed");
}

async fn revisions_never_repeat(store: &dyn Store) {
    let key = fresh_key();
    let mut seen = std::collections::HashSet::new();
    for round in 0..20_u8 {
        let first = committed(store, &claim(&key, None, b"same bytes")).await.remove(0);
        let second = committed(store, &claim(&key, Some(&first), b"same bytes")).await.remove(0);
        assert!(seen.insert(first) && seen.insert(second.clone()), "a revision came again in round {round}");
        let delete =
            Transaction { expects: vec![expect(&key, Some(&second))], writes: vec![Write::Delete(key.clone())] };
        assert_eq!(committed(store, &delete).await, []);
    }
}

async fn positions_rise(store: &dyn Store) {
    let key = fresh_key();
    let (_, start) = store.get(&[]).await.unwrap();
    let CommitResult::Committed { position: written, .. } = store.commit(&claim(&key, None, b"x")).await.unwrap()
    else {
        panic!("not committed")
    };
    let CommitResult::Conflicted { position: lost, .. } = store.commit(&claim(&key, None, b"x")).await.unwrap() else {
        panic!("not conflicted")
    };
    let (_, end) = store.get(&[key]).await.unwrap();
    assert!(start.sequence < written.sequence && written.sequence <= lost.sequence && lost.sequence <= end.sequence);
    assert!([&written, &lost, &end].iter().all(|position| position.epoch == start.epoch));
}

async fn due_pages_in_key_order(store: &dyn Store) {
    let mut keys: Vec<Key> = (0..7).map(|_| fresh_key()).collect();
    keys.sort();
    let times = [Some(10), None, Some(20), Some(10), Some(21), Some(5), Some(20)];
    // Written in another order than that of the keys.
    for (key, at) in keys.iter().zip(times).rev() {
        let review_at = at.map(Timestamp::from_millis);
        let write = Write::Put(Put { key: key.clone(), value: b"due".to_vec(), forget_at: None, review_at });
        committed(store, &Transaction { expects: vec![], writes: vec![write] }).await;
    }
    let all = pages(store, 20, 2).await;
    assert_eq!(all, [&keys[0], &keys[2], &keys[3], &keys[5], &keys[6]].map(Clone::clone));
    assert_eq!(pages(store, 10, 100).await, [&keys[0], &keys[3], &keys[5]].map(Clone::clone));
    assert_eq!(pages(store, 4, 100).await, []);
    // Putting it again without a time takes it off the list; so does deleting it.
    let off = Transaction { expects: vec![], writes: vec![put(&keys[0], b"done"), Write::Delete(keys[5].clone())] };
    committed(store, &off).await;
    assert_eq!(pages(store, 10, 1).await, [keys[3].clone()]);
    let clear = keys.iter().map(|key| Write::Delete(key.clone())).collect();
    committed(store, &Transaction { expects: vec![], writes: clear }).await;
    assert_eq!(pages(store, u64::MAX, 10).await, []);
}

async fn pages(store: &dyn Store, before: u64, limit: u32) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    loop {
        let page = store.due(Timestamp::from_millis(before), keys.last(), limit).await.unwrap();
        assert!(page.len() <= limit as usize);
        if page.is_empty() {
            return keys;
        }
        keys.extend(page.into_iter().map(|(key, _)| key));
    }
}

async fn what_is_too_large_is_refused(store: &dyn Store) {
    let limits = store.limits();
    let key = fresh_key();
    let value = vec![7; limits.max_value as usize + 1];
    let refused = |answer| assert!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}");
    refused(store.commit(&claim(&key, None, &value)).await);
    let largest = &value[1..];
    let many = (0..=limits.max_transaction / limits.max_value).map(|_| put(&fresh_key(), largest)).collect();
    refused(store.commit(&Transaction { expects: vec![], writes: many }).await);
    let many = (0..=limits.max_entries).map(|_| put(&fresh_key(), b"")).collect();
    refused(store.commit(&Transaction { expects: vec![], writes: many }).await);
    let twice = vec![put(&key, b"a"), Write::Delete(key.clone())];
    refused(store.commit(&Transaction { expects: vec![], writes: twice }).await);
    let twice = vec![expect(&key, None), expect(&key, None)];
    refused(store.commit(&Transaction { expects: twice, writes: vec![put(&key, b"a")] }).await);
    assert_eq!(held(store, &key).await, None);
    // The largest that it says it can hold, it can.
    committed(store, &claim(&key, None, largest)).await;
    assert_eq!(held(store, &key).await.unwrap().value, largest);
    committed(store, &Transaction { expects: vec![], writes: vec![Write::Delete(key)] }).await;
}

async fn one_of_many_claims_wins(store: &Arc<dyn Store>) {
    assert_eq!(race(std::slice::from_ref(store)).await, 40);
}

/// Eight tasks claim the same 40 keys, spread over the given handles of one store. How many claims won: each key's
/// winner is checked against what is held.
pub async fn race(handles: &[Arc<dyn Store>]) -> usize {
    let keys: Arc<Vec<Key>> = Arc::new((0..40).map(|_| fresh_key()).collect());
    let tasks: Vec<_> = (0..8_u8)
        .map(|task| {
            let (store, keys) = (Arc::clone(&handles[task as usize % handles.len()]), Arc::clone(&keys));
            tokio::spawn(async move {
                let mut won = Vec::new();
                for key in keys.iter() {
                    match store.commit(&claim(key, None, &[task])).await.unwrap() {
                        CommitResult::Committed { revisions, .. } => won.push((key.clone(), task, revisions)),
                        CommitResult::Conflicted { held, .. } => assert!(held[0].is_some()),
                        CommitResult::Provisional { .. } => panic!("nobody holds a transaction open"),
                    }
                }
                won
            })
        })
        .collect();
    let mut wins = Vec::new();
    for task in tasks {
        wins.extend(task.await.unwrap());
    }
    for (key, task, revisions) in &wins {
        let entry = Entry { revision: revisions[0].clone(), value: vec![*task] };
        assert_eq!(held(&*handles[0], key).await, Some(entry));
    }
    wins.len()
}
