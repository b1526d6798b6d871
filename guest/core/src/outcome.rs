//! What an outcome says of the effect. Knowledge comes from provenance first, and only then from the status: a 503 that the
//! origin sent and one that a gateway made say different things, so a gateway's own is never an answer.
//!
//! | outcome | knowledge |
//! |---|---|
//! | not one byte was sent | no effect |
//! | sent, and no whole answer | unknown |
//! | the origin's header `Oncegate-Outcome` | what it says |
//! | the rule's `outcomes` | what it says |
//! | 2xx, 3xx | committed |
//! | 401, 403, 407, 425, 429 | no effect |
//! | 408, 5xx | unknown |
//! | other 4xx | rejected |

use crate::answer::OUTCOME;
use crate::decision::Knowledge;
use crate::policy::Rule;
use crate::request::{Outcome, Response, values};

/// What is known of the effect.
pub(crate) fn knowledge(rule: &Rule, outcome: &Outcome) -> Knowledge {
    match outcome {
        Outcome::NotSent(_) => Knowledge::NoEffect,
        Outcome::Lost(_) => Knowledge::Unknown,
        Outcome::Answered(response) | Outcome::Oversized(response) => {
            spoken(response).or_else(|| ruled(rule, response.status)).unwrap_or_else(|| by_status(response.status))
        }
    }
}

/// What the origin says itself. A word that is not known here, or two that differ, say `unknown`.
fn spoken(response: &Response) -> Option<Knowledge> {
    let mut words = values(&response.headers, OUTCOME).map(|word| match word.trim_ascii() {
        b"committed" => Knowledge::Committed,
        b"rejected" => Knowledge::Rejected,
        b"no-effect" => Knowledge::NoEffect,
        _ => Knowledge::Unknown,
    });
    let first = words.next()?;
    Some(if words.all(|word| word == first) { first } else { Knowledge::Unknown })
}

fn ruled(rule: &Rule, status: u16) -> Option<Knowledge> {
    rule.outcomes.iter().find(|(pattern, _)| pattern.covers(status)).map(|(_, knowledge)| *knowledge)
}

fn by_status(status: u16) -> Knowledge {
    match status {
        200..=399 => Knowledge::Committed,
        401 | 403 | 407 | 425 | 429 => Knowledge::NoEffect,
        408 => Knowledge::Unknown,
        400..=499 => Knowledge::Rejected,
        _ => Knowledge::Unknown,
    }
}
