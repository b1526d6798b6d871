//! The core linked alone, with every operation within reach: what this imports, the core imports. The build checks that
//! it is nothing (`host-test/host/build.rs`). It is never run.

use std::sync::Arc;

use oncegate_core::decision::{Circumstances, Conditions, Decision, Evidence, Testimony, Verdict};
use oncegate_core::engine::Engine;
use oncegate_core::keyring::{Keyring, Secret};
use oncegate_core::request::{Body, Head, Outcome, Request, Response};
use oncegate_core::step::{Operation, Step};
use oncegate_core::store::{CommitResult, Entry, Limits, Position, Revision};
use oncegate_core::time::{Instant, Timestamp};

/// Where the linker starts; the input stands for all that it cannot know.
///
/// # Safety
/// `input` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reach(input: *const u8, length: usize) -> usize {
    // SAFETY: as the caller promises.
    let input = unsafe { core::slice::from_raw_parts(input, length) };
    all(input).unwrap_or_default()
}

fn all(input: &[u8]) -> Option<usize> {
    let keys = Keyring {
        partition: input.to_vec(),
        secrets: vec![Secret { id: 1, bytes: input.to_vec() }],
        webhooks: Vec::new(),
    };
    let limits = Limits { max_value: 1 << 20, max_entries: 8, max_transaction: 1 << 20, read_first: input.is_empty() };
    let engine = Arc::new(Engine::new(input, &keys, limits).ok()?);
    let head = Head { method: "POST".to_owned(), target: input.to_vec(), headers: Vec::new() };
    let now = Instant::exactly(Timestamp::from_millis(input.len() as u64));
    let circumstances = Circumstances { now, entropy: input.try_into().ok()? };
    let request = Request { head, body: Body::Whole(input.to_vec()), properties: Vec::new() };
    let response = Response { status: 200, headers: Vec::new(), body: input.to_vec() };

    let covered = engine.cover(&request.head);
    let explained = drive(engine.explain(request.clone(), circumstances), input);
    let admission = drive(engine.admit(request, Conditions::default(), circumstances), input);
    if let Decision::Ask(inquiry) = &admission.decision {
        let fact = Outcome::Answered(response.clone());
        let answered = drive(engine.answered((**inquiry).clone(), fact, circumstances).ok()?, input);
        return Some(format!("{answered:?}").len());
    }
    let Decision::Proceed(leave) = &admission.decision else { return None };
    let dispatched = drive(engine.dispatch(leave.attempt.clone(), circumstances).ok()?, input);
    let renewed = drive(engine.renew(leave.attempt.clone(), circumstances).ok()?, input);
    let answered = Outcome::Answered(response.clone());
    let settled = drive(engine.settle(leave.attempt.clone(), answered, circumstances).ok()?, input);
    let testimony = Testimony { actor: String::new(), reason: String::new() };
    let verdict = if input.len() > 9 { Verdict::Committed(response) } else { Verdict::NoEffect(Evidence::Forced) };
    let resolved = drive(engine.resolve(leave.attempt.key.clone(), verdict, testimony, circumstances), input);
    Some(format!("{covered:?}{explained:?}{admission:?}{dispatched:?}{renewed:?}{settled:?}{resolved:?}").len())
}

fn drive<O: Operation>(mut step: Step<O>, input: &[u8]) -> O::Output {
    let position = || Position { epoch: input.to_vec(), sequence: 1 };
    let held = || vec![Some(Entry { revision: Revision(input.to_vec()), value: input.to_vec() })];
    loop {
        step = match step {
            Step::Load(load) => load.loaded(Ok((held(), position()))),
            Step::Commit(commit) if input.len() % 2 == 0 => {
                commit.committed(Ok(CommitResult::Conflicted { held: held(), position: position() }))
            }
            Step::Commit(commit) => {
                commit.committed(Ok(CommitResult::Committed { revisions: Vec::new(), position: position() }))
            }
            Step::Done(output) => return output,
        }
    }
}
