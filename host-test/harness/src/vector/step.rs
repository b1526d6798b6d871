//! One step of a case as it is written, and what it comes to.

use serde::Deserialize;

use super::message::{Ref, RequestDocument, ResponseDocument};
use crate::expect::Expect;

/// One step: when it happens, what happens, and what must come of it.
#[derive(Deserialize, Debug, Clone)]
#[serde(try_from = "Written")]
pub struct Step {
    /// Milliseconds after the case's start; never less than in the step before.
    pub at: u64,
    /// How far the time is uncertain: it is at least `at`, and at most `at` plus this.
    pub uncertain: u64,
    /// What happens.
    pub act: Act,
    /// What the step's first store calls come to; after that the store answers as ever.
    pub store: Vec<Fault>,
    /// What must come of it.
    pub expect: Expect,
}

/// What happens in a step. In the file it is the member of the same name; the other members stand beside it.
#[derive(Debug, Clone)]
pub enum Act {
    /// `admit`: a request comes.
    Admit {
        /// The request.
        request: Ref<RequestDocument>,
        /// `as`: what later steps call the attempt, if it is one.
        name: Option<String>,
        /// `waited`: the caller has waited for another attempt.
        waited: bool,
        /// `amnesia_until`: until then (milliseconds after the start) the store may have forgotten.
        amnesia_until: Option<u64>,
    },
    /// `settle`: an attempt ends.
    Settle {
        /// `attempt`: which. Left out, the last one that was admitted.
        attempt: Option<String>,
        /// What became of it: a response by name, `{"answered": R}`, `{"oversized": R}`, `{"not_sent": WHY}` or
        /// `{"lost": WHY}`.
        outcome: OutcomeDocument,
    },
    /// `lookup`: the fact that an `ask` wanted was looked up.
    Lookup {
        /// `attempt`: for which. Left out, the last one that was admitted.
        attempt: Option<String>,
        /// What became of the lookup, told as in `settle`.
        outcome: OutcomeDocument,
    },
    /// `renew: true`: an attempt wants a longer lease.
    Renew {
        /// `attempt`: which. Left out, the last one that was admitted.
        attempt: Option<String>,
    },
    /// `resolve`: somebody tells the truth about what is held for a request.
    Resolve {
        /// The request.
        request: Ref<RequestDocument>,
        /// `verdict`: `{"committed": R}`, `{"rejected": R}`, or `{"no_effect": EVIDENCE}`.
        verdict: VerdictDocument,
    },
    /// `explain`: somebody asks how a request is seen.
    Explain {
        /// The request.
        request: Ref<RequestDocument>,
    },
    /// `forget`: what is held for a request is to be dropped, if it may be.
    Forget {
        /// The request.
        request: Ref<RequestDocument>,
    },
    /// `tamper`: something happens to what is held for a request, behind everybody's back.
    Tamper {
        /// The request.
        request: Ref<RequestDocument>,
        /// `by`: what.
        by: Tampering,
    },
    /// `configure`: another policy comes into force, or other secrets.
    Configure {
        /// The policy's name in `policies`; `null`: the file's `policy`.
        policy: Option<String>,
        /// `secrets`: the secrets in force, the current one first. Default `[1]`.
        secrets: Vec<u32>,
    },
}

/// What became of an attempt.
#[derive(Deserialize, Debug, Clone)]
#[serde(untagged)]
pub enum OutcomeDocument {
    /// The response of this name, whole.
    Named(String),
    /// As it says.
    Told(Told),
}

/// What became of an attempt, said in full.
#[derive(Deserialize, Debug, Clone)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The origin's whole answer.
    Answered(Ref<ResponseDocument>),
    /// The head of an answer that is too large to keep.
    Oversized(Ref<ResponseDocument>),
    /// Not one byte was sent; why.
    NotSent(String),
    /// No whole answer came; why.
    Lost(String),
}

/// The truth about an unknown outcome.
#[derive(Deserialize, Debug, Clone)]
#[serde(rename_all = "snake_case")]
pub enum VerdictDocument {
    /// It happened.
    Committed(Ref<ResponseDocument>),
    /// It was rejected.
    Rejected(Ref<ResponseDocument>),
    /// It did not happen: `origin-fences`, `attempt-gone`, `drained` or `forced`.
    NoEffect(EvidenceName),
}

/// Why it is safe to say that nothing happened.
#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "as in wit/enforcer.wit")]
pub enum EvidenceName {
    OriginFences,
    AttemptGone,
    Drained,
    Forced,
}

/// What happens to a held record.
#[derive(Deserialize, Debug, Clone)]
#[serde(rename_all = "snake_case")]
pub enum Tampering {
    /// These bytes (hexadecimal) stand in its place, or where nothing stood.
    Replace(String),
    /// The byte at this offset (from the end, if negative) becomes another: `[offset, value]`.
    Byte(i64, u8),
    /// Only so many bytes are left.
    Cut(usize),
    /// It is gone: `true`.
    Delete(Gone),
}

/// `true`.
#[derive(Deserialize, Debug, Clone)]
#[serde(try_from = "bool")]
pub struct Gone;

/// What a store call comes to, in place of its answer.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Nothing happens, and the store says so.
    Unavailable,
    /// The store will not.
    Refused,
    /// Nothing happens, and the answer is lost.
    Unresolved,
    /// It happens, and the answer is lost.
    Landed,
    /// Nothing out of the ordinary.
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    at: u64,
    #[serde(default)]
    uncertain: u64,
    admit: Option<Ref<RequestDocument>>,
    r#as: Option<String>,
    #[serde(default)]
    waited: bool,
    amnesia_until: Option<u64>,
    settle: Option<OutcomeDocument>,
    lookup: Option<OutcomeDocument>,
    attempt: Option<String>,
    renew: Option<bool>,
    resolve: Option<Ref<RequestDocument>>,
    verdict: Option<VerdictDocument>,
    explain: Option<Ref<RequestDocument>>,
    forget: Option<Ref<RequestDocument>>,
    tamper: Option<Ref<RequestDocument>>,
    by: Option<Tampering>,
    #[serde(default, deserialize_with = "present")]
    configure: Option<Option<String>>,
    secrets: Option<Vec<u32>>,
    #[serde(default)]
    store: Vec<Fault>,
    #[serde(default)]
    expect: Expect,
}

/// Tells `null` from a member that is not there.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl TryFrom<Written> for Step {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { at, uncertain, store, expect, attempt, .. } = written;
        let mut acts = Vec::new();
        if let Some(request) = written.admit {
            let (name, waited) = (written.r#as, written.waited);
            acts.push(Act::Admit { request, name, waited, amnesia_until: written.amnesia_until });
        }
        if let Some(outcome) = written.settle {
            acts.push(Act::Settle { attempt: attempt.clone(), outcome });
        }
        if let Some(outcome) = written.lookup {
            acts.push(Act::Lookup { attempt: attempt.clone(), outcome });
        }
        if written.renew.is_some() {
            acts.push(Act::Renew { attempt });
        }
        if let Some(request) = written.resolve {
            let verdict = written.verdict.ok_or("`resolve` needs a `verdict`")?;
            acts.push(Act::Resolve { request, verdict });
        }
        acts.extend(written.explain.map(|request| Act::Explain { request }));
        acts.extend(written.forget.map(|request| Act::Forget { request }));
        if let Some(request) = written.tamper {
            acts.push(Act::Tamper { request, by: written.by.ok_or("`tamper` needs a `by`")? });
        }
        if let Some(policy) = written.configure {
            acts.push(Act::Configure { policy, secrets: written.secrets.unwrap_or_else(|| vec![1]) });
        }
        let [act] = <[Act; 1]>::try_from(acts)
            .map_err(|acts| format!("a step does one thing, such as `admit`, and this one does {}", acts.len()))?;
        if matches!(act, Act::Admit { .. }) && expect.origin_calls.is_none() {
            return Err("the `expect` of an `admit` says `origin_calls`: an answer counts with its calls".into());
        }
        Ok(Step { at, uncertain, act, store, expect })
    }
}

impl TryFrom<bool> for Gone {
    type Error = &'static str;

    fn try_from(gone: bool) -> Result<Self, &'static str> {
        if gone { Ok(Gone) } else { Err("write `true`") }
    }
}
