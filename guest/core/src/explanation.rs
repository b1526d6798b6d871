//! Explanation: how a request is seen, and what is held for it. It reads and changes nothing.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::admission::meet;
use crate::decision::{Circumstances, Conditions, Explanation, Held, Id, RowName};
use crate::engine::Engine;
use crate::policy::document::Scope;
use crate::request::Request;
use crate::step::{Firm, Next, Operation};
use crate::store::{Entry, Key, Revision, StoreError};
use crate::subject::{Preparation, Standing, Subject};
use crate::table::Likeness;
use crate::time::Timestamp;

/// An explanation under way.
pub struct Explaining {
    engine: Arc<Engine>,
    subject: Subject,
    circumstances: Circumstances,
}

impl Explaining {
    pub(crate) fn begin(engine: Arc<Engine>, request: Request, circumstances: Circumstances) -> Next<Self> {
        match Subject::prepare(&engine, request, circumstances.now) {
            Preparation::Subject(subject) => {
                let keys = subject.keys.clone();
                Next::Look(Explaining { engine, subject: *subject, circumstances }, keys)
            }
            Preparation::Bypass(row) => Next::Done(Err(row.to_string())),
            Preparation::Refused(refusal) => Next::Done(Err(refusal.row.to_string())),
        }
    }
}

impl Operation for Explaining {
    type Output = Result<Explanation, String>;

    fn keys(&self) -> &[Key] {
        &self.subject.keys
    }

    fn react(self, held: Vec<Option<Entry>>) -> Next<Self> {
        let conditions = Conditions::default();
        let (situation, standing) =
            self.subject.judge(&self.engine, &held, self.circumstances.now, &conditions, &Id::default());
        let row = meet(&situation).0;
        let scope = match &self.subject.rule.scope {
            Scope::Shared => Vec::new(),
            Scope::Parts(parts) => parts.iter().map(|(name, _)| name.clone()).collect(),
        };
        let held = standing.and_then(|Standing { at, record }| {
            let key = self.subject.keys.get(at)?.clone();
            let settled = record.is_terminal() && record.retained_until != Timestamp::NEVER;
            Some(Held {
                key,
                state: record.state,
                same_fingerprint: match situation.likeness {
                    Likeness::Same => Some(true),
                    Likeness::Rebindable | Likeness::Different => Some(false),
                    Likeness::Incomparable => None,
                },
                action: record.action,
                attempt: record.attempt,
                fence: record.fence,
                tries: record.tries,
                claimed_at: record.claimed_at,
                lease_until: record.lease_until,
                settled_at: record.settled_at,
                retained_until: settled.then_some(record.retained_until),
                double_effect_suspected: record.double_effect_suspected,
            })
        });
        let operation = self.subject.rule.operation.clone();
        Next::Done(Ok(Explanation { operation, scope, keys: self.subject.keys, row: RowName::Borrowed(row), held }))
    }

    fn written(self, _: Firm, _: Revision) -> Self::Output {
        Err("an explanation writes nothing".to_string())
    }

    fn failed(self, error: StoreError) -> Self::Output {
        Err(error.to_string())
    }
}
