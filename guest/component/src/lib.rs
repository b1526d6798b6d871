//! The world `engine`: the core driven over the store that the host provides.
//!
//! It decides nothing. Each call turns what the host gave into the core's words, carries out the core's steps on the
//! imported store, and turns the outcome back. All that it keeps is the configuration.
//!
//! It does without `std`, whose panics would be put into words that nobody can read: a component has no stderr.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod bindings {
    #![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated from wit/")]
    wit_bindgen::generate!({ path: "../../wit", world: "engine" });
}
mod drive;
mod from_core;
mod to_core;

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::RefCell;

use oncegate_core::engine::Engine;

use self::bindings::exports::oncegate::idempotency::enforcer as wit;
use self::bindings::oncegate::idempotency::types::Response;
use self::drive::drive;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

static ENGINE: Kept = Kept(RefCell::new(None));

/// What an instance keeps between calls.
struct Kept(RefCell<Option<Arc<Engine>>>);

// SAFETY: an instance has one thread, and is not entered while a call is in it.
unsafe impl Sync for Kept {}

/// The row of a call to an instance that was never configured.
const NOT_CONFIGURED: &str = "not-configured";

/// The row of a call that holds what is no value of its type, such as entropy of another length.
const MALFORMED_CALL: &str = "malformed-call";

struct Component;

bindings::export!(Component with_types_in bindings);

impl wit::Guest for Component {
    fn configure(policy: Vec<u8>, keys: wit::Keyring) -> Result<wit::Configuration, wit::ConfigurationError> {
        let engine = Engine::new(&policy, &to_core::keyring(keys), drive::limits());
        let engine = engine.map_err(from_core::configuration_error)?;
        let configuration = from_core::configuration(&engine);
        ENGINE.0.replace(Some(Arc::new(engine)));
        Ok(configuration)
    }

    fn cover(head: wit::Head) -> wit::Coverage {
        match engine() {
            Ok(engine) => from_core::coverage(engine.cover(&to_core::head(head))),
            Err(Fault(row)) => {
                wit::Coverage::Refuse(wit::Refusal { row: row.to_owned(), response: bare_unavailable() })
            }
        }
    }

    fn admit(request: wit::Request, conditions: wit::Conditions, circumstances: wit::Circumstances) -> wit::Admission {
        let ready = || Ok((engine()?, to_core::circumstances(circumstances)?));
        match ready() {
            Ok((engine, circumstances)) => {
                let (request, conditions) = (to_core::request(request), to_core::conditions(conditions));
                from_core::admission(drive(engine.admit(request, conditions, circumstances)))
            }
            Err(Fault(row)) => wit::Admission {
                row: row.to_owned(),
                operation: String::new(),
                decision: wit::Decision::Answer(wit::Answer {
                    kind: wit::AnswerKind::Unavailable,
                    response: bare_unavailable(),
                    retry_in: 0,
                    bound: 0,
                }),
                detail: None,
            },
        }
    }

    fn answered(
        inquiry: wit::Inquiry,
        lookup: wit::Outcome,
        circumstances: wit::Circumstances,
    ) -> Result<wit::Answering, wit::AttemptError> {
        let engine = engine()?;
        let (inquiry, circumstances) = (to_core::inquiry(inquiry)?, to_core::circumstances(circumstances)?);
        let step = engine.answered(inquiry, to_core::outcome(lookup), circumstances);
        Ok(from_core::answering(drive(step.map_err(from_core::attempt_error)?)))
    }

    fn settle(
        attempt: wit::Attempt,
        outcome: wit::Outcome,
        circumstances: wit::Circumstances,
    ) -> Result<wit::Settlement, wit::AttemptError> {
        let engine = engine()?;
        let (attempt, circumstances) = (to_core::attempt(attempt)?, to_core::circumstances(circumstances)?);
        let step = engine.settle(attempt, to_core::outcome(outcome), circumstances);
        Ok(from_core::settlement(drive(step.map_err(from_core::attempt_error)?)))
    }

    fn renew(attempt: wit::Attempt, circumstances: wit::Circumstances) -> Result<wit::Renewal, wit::AttemptError> {
        let engine = engine()?;
        let (attempt, circumstances) = (to_core::attempt(attempt)?, to_core::circumstances(circumstances)?);
        let step = engine.renew(attempt, circumstances);
        Ok(from_core::renewal(drive(step.map_err(from_core::attempt_error)?)))
    }

    fn resolve(
        key: Vec<u8>,
        verdict: wit::Verdict,
        testimony: wit::Testimony,
        circumstances: wit::Circumstances,
    ) -> wit::Resolution {
        let ready = || Ok((engine()?, to_core::circumstances(circumstances)?));
        match ready() {
            Ok((engine, circumstances)) => {
                let (verdict, testimony) = (to_core::verdict(verdict), to_core::testimony(testimony));
                from_core::resolution(drive(engine.resolve(to_core::key(key), verdict, testimony, circumstances)))
            }
            Err(Fault(row)) => wit::Resolution { row: row.to_owned(), resolved: false, detail: None },
        }
    }

    fn explain(request: wit::Request, circumstances: wit::Circumstances) -> Result<wit::Explanation, String> {
        let ready = || Ok((engine()?, to_core::circumstances(circumstances)?));
        let (engine, circumstances) = ready().map_err(|Fault(row)| row.to_owned())?;
        drive(engine.explain(to_core::request(request), circumstances))
            .map(from_core::explanation)
            .map_err(|row| row.to_string())
    }
}

/// A call that cannot reach the core; the row says why.
struct Fault(&'static str);

impl From<Fault> for wit::AttemptError {
    fn from(Fault(row): Fault) -> Self {
        match row {
            NOT_CONFIGURED => wit::AttemptError::OtherGeneration,
            _ => wit::AttemptError::Malformed,
        }
    }
}

fn engine() -> Result<Arc<Engine>, Fault> {
    ENGINE.0.borrow().clone().ok_or(Fault(NOT_CONFIGURED))
}

/// The answer of a component that has no policy to speak by.
fn bare_unavailable() -> Response {
    Response { status: 503, headers: Vec::new(), body: Vec::new() }
}

/// The host sees a trap, and throws the instance away.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
