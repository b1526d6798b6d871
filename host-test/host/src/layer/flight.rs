//! One admitted attempt: the service is called, the lease renewed meanwhile, the outcome settled, the answer given.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use http::{Request, Response};
use oncegate_core::decision::{Answer, Attempt, Proceed, Renewal, Settlement, Standing};
use oncegate_core::request::Outcome;
use oncegate_core::time::Timestamp;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::answer::{self, Trouble};
use super::body::{self, GateBody, Taken};
use super::path::{jittered, short};
use super::{Config, Fault, Origin, Shared};
use crate::{Enforcer, EngineError, circumstances, now};

/// The first pause between two tries to settle; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// An attempt that may call the service.
pub(super) struct Flight {
    pub(super) shared: Arc<Shared>,
    pub(super) proceed: Proceed,
    /// When its admission began.
    pub(super) begun: Instant,
}

/// What came back: the outcome, and for an oversized answer what is to be streamed.
pub(super) struct Landed {
    pub(super) outcome: Outcome,
    rest: Option<GateBody>,
}

impl From<Outcome> for Landed {
    fn from(outcome: Outcome) -> Self {
        Landed { outcome, rest: None }
    }
}

impl Flight {
    /// Calls the service at most once and settles whatever comes of it. `answer` is called once, possibly before the
    /// outcome could be recorded.
    pub(super) async fn run(
        mut self,
        mut origin: Origin,
        mut request: Request<GateBody>,
        answer: impl FnOnce(Response<GateBody>),
    ) {
        let Some(left) = time_left(&self.shared.config, self.proceed.answer_by) else {
            let outcome = Outcome::NotSent("the lease would not have covered the call".into());
            return self.settle(outcome.into(), answer).await;
        };
        answer::replace(request.headers_mut(), std::mem::take(&mut self.proceed.send));
        let (landed_now, landed) = oneshot::channel();
        let max_response = self.proceed.max_response;
        let calling = async {
            let landed = call(&mut origin, request, left, max_response).await;
            drop(landed_now);
            landed
        };
        // Both end together: a renewal under way is waited for, so that its value is the one to settle with.
        let (came, ()) = tokio::join!(calling, self.renew_until(landed));
        self.settle(came, answer).await;
    }

    async fn renew_until(&mut self, mut landed: oneshot::Receiver<()>) {
        let Some(every) = self.proceed.renew_every else { return };
        while timeout(every, &mut landed).await.is_err() {
            let attempt = &mut self.proceed.attempt;
            match renew(&self.shared.enforcer, attempt).await {
                Ok(Renewal::Renewed(renewed)) => *attempt = renewed,
                Ok(Renewal::Refused(row)) => {
                    self.shared.counters.count(&row);
                    tracing::warn!(%row, operation = attempt.operation, attempt = short(&attempt.id), "not renewed");
                    return;
                }
                Ok(Renewal::Unavailable(detail)) => {
                    tracing::warn!(detail, attempt = short(&attempt.id), "not renewed");
                }
                Err(error) => tracing::error!(%error, attempt = short(&attempt.id), "the engine failed to renew"),
            }
        }
    }

    /// Settles until it is recorded, or the time for it is over. The answer is held back for a shorter time.
    pub(super) async fn settle(&self, landed: Landed, answer: impl FnOnce(Response<GateBody>)) {
        let Landed { outcome, rest } = landed;
        let config = &self.shared.config;
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut held = Some((answer, rest));
        loop {
            let (told, again) = self.settle_once(&outcome).await;
            if (!again || begun.elapsed() >= config.hold)
                && let Some((answer, rest)) = held.take()
            {
                answer(match told {
                    Some(told) => released(told, rest),
                    None => self.shared.trouble(Trouble::Unrecorded),
                });
            }
            if !again {
                return;
            }
            if begun.elapsed() >= config.settle_within {
                let (operation, attempt) = (&self.proceed.attempt.operation, short(&self.proceed.attempt.id));
                tracing::error!(%operation, attempt, "the outcome was not recorded; resolve it by hand");
                return;
            }
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The settlement, if there is one, and whether to try again.
    async fn settle_once(&self, outcome: &Outcome) -> (Option<Settlement>, bool) {
        let attempt = &self.proceed.attempt;
        match settle(&self.shared.enforcer, attempt, outcome).await {
            Ok(settlement) => {
                self.settled(&settlement, attempt);
                let again = matches!(settlement.standing, Standing::Unrecorded(_));
                (Some(settlement), again)
            }
            Err(error) => {
                tracing::error!(%error, attempt = short(&attempt.id), "the engine failed to settle");
                // Another instance may do better, but no other will judge the attempt otherwise.
                (None, !matches!(error, EngineError::Attempt(_)))
            }
        }
    }

    fn settled(&self, settlement: &Settlement, attempt: &Attempt) {
        self.shared.counters.count(&settlement.row);
        let Settlement { row, knowledge, standing, alarm, .. } = settlement;
        let (operation, id, millis) = (&attempt.operation, short(&attempt.id), self.begun.elapsed().as_millis() as u64);
        match standing {
            Standing::Unrecorded(detail) => {
                tracing::warn!(%row, %operation, attempt = id, millis, ?knowledge, detail, "not settled");
            }
            _ => tracing::info!(%row, %operation, attempt = id, millis, ?knowledge, "settled"),
        }
        if *alarm {
            tracing::error!(%row, %operation, attempt = id, "a double effect is suspected; look into the origin's books");
        }
    }
}

async fn settle(enforcer: &Enforcer, attempt: &Attempt, outcome: &Outcome) -> Result<Settlement, EngineError> {
    enforcer.settle(attempt, outcome.clone(), circumstances()?).await
}

async fn renew(enforcer: &Enforcer, attempt: &Attempt) -> Result<Renewal, EngineError> {
    enforcer.renew(attempt, circumstances()?).await
}

/// What the client is given. An oversized answer's body follows its head, unless something else is given in its place.
fn released(settlement: Settlement, rest: Option<GateBody>) -> Response<GateBody> {
    match (settlement.answer, rest) {
        (Answer::Origin(head), Some(rest)) => answer::with_body(head, rest),
        (Answer::Origin(told) | Answer::Instead(told), _) => answer::whole(told),
    }
}

/// How long a call may take that must be answered by then; `None`: the time is over.
pub(super) fn time_left(config: &Config, answer_by: Timestamp) -> Option<Duration> {
    let left = answer_by.as_millis().checked_sub(now().latest.as_millis())?;
    let left = Some(Duration::from_millis(left)).filter(|left| !left.is_zero())?;
    Some(config.upstream_timeout.map_or(left, |most| most.min(left)))
}

/// Calls the service, within the time, for an answer of at most so many bytes.
pub(super) async fn call(
    origin: &mut Origin,
    request: Request<GateBody>,
    within: Duration,
    max_response: u64,
) -> Landed {
    let answering = async {
        let (head, body) = origin(request).await?.into_parts();
        let taken = body::take(body, max_response).await;
        let taken = taken.map_err(|_| Fault::Lost("the answer was cut short".into()))?;
        Ok((Response::from_parts(head, ()), taken))
    };
    let landed = match timeout(within, AssertUnwindSafe(answering).catch_unwind()).await {
        Ok(Ok(landed)) => landed,
        // A panic's own text may quote the request.
        Ok(Err(_)) => Err(Fault::Lost("the service panicked".into())),
        Err(_) => Err(Fault::Lost(format!("no whole answer within {} ms", within.as_millis()))),
    };
    match landed {
        Ok((head, Taken::Whole(bytes))) => Outcome::Answered(answer::told(&head, bytes.to_vec())).into(),
        Ok((head, Taken::Larger(start, rest))) => Landed {
            outcome: Outcome::Oversized(answer::told(&head, Vec::new())),
            rest: Some(body::rejoined(start, rest)),
        },
        Err(Fault::NotSent(why)) => Outcome::NotSent(why).into(),
        Err(Fault::Lost(why)) => Outcome::Lost(why).into(),
    }
}
