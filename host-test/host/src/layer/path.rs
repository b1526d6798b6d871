//! The path of a request up to its admission: cover, read, admit, wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, COOKIE, EXPECT, HOST};
use http::request::Parts;
use http::{Request, Response, Uri};
use oncegate_core::decision::{Admission, Conditions, Coverage, Decision, Inquiry, Wait};
use oncegate_core::request::{Body, Head, Outcome, Request as Asked};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::answer::{Trouble, head_of, whole};
use super::body::{self, GateBody, Taken};
use super::flight::{self, Flight};
use super::{Fault, Origin, PeerAddress, Properties, Shared, remove_hop_by_hop};
use crate::{EngineError, circumstances};

impl Shared {
    /// Answers one request.
    pub(super) async fn handle(self: Arc<Self>, origin: Origin, mut request: Request<GateBody>) -> Response<GateBody> {
        if !self.config.peers.believes(request.extensions().get::<PeerAddress>()) {
            for name in &self.believed {
                request.headers_mut().remove(name);
            }
        }
        let head = head_of(&request);
        match self.enforcer.cover(&head).await {
            Ok(Coverage::Pass(row)) => {
                self.counters.count(&row);
                self.pass(origin, request).await
            }
            Ok(Coverage::Refuse { row, response }) => {
                self.counters.count(&row);
                tracing::info!(%row, "refused");
                whole(response)
            }
            Ok(Coverage::Enforce { max_body, .. }) => self.enforce(origin, request, head, max_body).await,
            Err(error) => {
                tracing::error!(%error, "the engine failed to cover");
                self.trouble(Trouble::Unavailable)
            }
        }
    }

    /// Forwards what is not covered.
    async fn pass(&self, mut origin: Origin, request: Request<GateBody>) -> Response<GateBody> {
        match origin(request).await {
            Ok(response) => response,
            Err(fault) => {
                tracing::warn!(%fault, "no answer to an uncovered request");
                self.trouble(match fault {
                    Fault::NotSent(_) => Trouble::Unreachable,
                    Fault::Lost(_) => Trouble::NoAnswer,
                })
            }
        }
    }

    async fn enforce(
        self: Arc<Self>,
        origin: Origin,
        request: Request<GateBody>,
        head: Head,
        max_body: u64,
    ) -> Response<GateBody> {
        let Ok(place) = Arc::clone(&self.in_flight).try_acquire_owned() else {
            return self.trouble(Trouble::Crowded);
        };
        let (mut parts, body) = request.into_parts();
        let taken = match tokio::time::timeout(self.config.body_timeout, body::take(body, max_body)).await {
            Ok(Ok(taken)) => taken,
            Ok(Err(_)) => return self.trouble(Trouble::BrokenBody),
            Err(_) => return self.trouble(Trouble::SlowBody),
        };
        // The sender's framing ends here. What `Connection` names must go before the engine's own headers are added.
        remove_hop_by_hop(&mut parts.headers);
        parts.headers.remove(EXPECT);
        let (body, rest) = match taken {
            Taken::Whole(bytes) => (Body::Whole(bytes.to_vec()), Rest::Whole(bytes)),
            Taken::Larger(start, rest) => (Body::TooLarge, Rest::Larger(start, rest)),
        };
        let properties = parts.extensions.remove::<Properties>().unwrap_or_default().0;
        let asked = Asked { head, body, properties };
        self.admit(Covered { origin, parts, rest, asked, place }).await
    }

    /// Asks until the answer is more than "wait", within the decision's bound.
    async fn admit(self: Arc<Self>, mut covered: Covered) -> Response<GateBody> {
        let begun = Instant::now();
        let mut waiting = None;
        let mut conditions = Conditions::default();
        loop {
            // A claim must be followed by its settlement even if the client hangs up now, so nobody but the task owns it.
            let (reply, answer) = oneshot::channel();
            self.tasks.spawn(Arc::clone(&self).attempt(covered, conditions, reply));
            let wait = match answer.await {
                Ok(Ended::Answered(response)) => return response,
                Ok(Ended::Waiting(back, wait)) => {
                    covered = *back;
                    wait
                }
                Err(_) => return self.trouble(Trouble::Unrecorded),
            };
            let left = wait.bound.saturating_sub(begun.elapsed());
            if waiting.is_none() {
                waiting = self.waiting.try_acquire().ok();
            }
            if left.is_zero() || waiting.is_none() {
                return whole(wait.response);
            }
            tokio::time::sleep(jittered(wait.retry_in).min(left)).await;
            conditions.waited = true;
        }
    }

    /// Admits once, and goes on to whatever that allows.
    async fn attempt(self: Arc<Self>, mut covered: Covered, conditions: Conditions, reply: oneshot::Sender<Ended>) {
        let begun = Instant::now();
        let flight = |proceed| Flight { shared: Arc::clone(&self), proceed, begun };
        let mut admission = self.ask(&covered.asked, conditions).await;
        if let Ok(Admission { decision: Decision::Ask(inquiry), .. }) = &admission {
            let inquiry = Inquiry::clone(inquiry);
            let lookup = self.look_up(&mut covered, &inquiry).await;
            admission = self.answered(&inquiry, lookup).await;
            if admission.is_err() {
                // The claim is made, and whatever went wrong, nothing was sent.
                let unsent = Outcome::NotSent("the engine failed between claim and call".into());
                return flight(inquiry.proceed).settle(unsent.into(), |response| answer(reply, response)).await;
            }
        }
        let Ok(admission) = admission else { return answer(reply, self.trouble(Trouble::Unavailable)) };
        self.admitted(&admission, begun.elapsed());
        match admission.decision {
            Decision::Bypass => {
                let response = self.pass(covered.origin, Request::from_parts(covered.parts, covered.rest.joined()));
                answer(reply, response.await);
            }
            Decision::Proceed(proceed) => {
                let Covered { origin, parts, rest, place, .. } = covered;
                let request = Request::from_parts(parts, rest.joined());
                flight(*proceed).run(origin, request, |response| answer(reply, response)).await;
                drop(place);
            }
            Decision::Wait(wait) => drop(reply.send(Ended::Waiting(Box::new(covered), wait))),
            Decision::Replay(told)
            | Decision::Conflict(told)
            | Decision::Stop(told)
            | Decision::Refuse(told)
            | Decision::Unavailable(told) => answer(reply, whole(told)),
            Decision::Ask(_) => {
                tracing::error!("the engine asks twice");
                answer(reply, self.trouble(Trouble::Unavailable));
            }
        }
    }

    async fn ask(&self, asked: &Asked, conditions: Conditions) -> Result<Admission, EngineError> {
        let admission = async { self.enforcer.admit(asked.clone(), conditions, circumstances()?).await };
        admission.await.inspect_err(|error| tracing::error!(%error, "the engine failed to admit"))
    }

    async fn answered(&self, inquiry: &Inquiry, lookup: Outcome) -> Result<Admission, EngineError> {
        let admission = async { self.enforcer.answered(inquiry.clone(), lookup, circumstances()?).await };
        admission.await.inspect_err(|error| tracing::error!(%error, "the engine failed to take a lookup's answer"))
    }

    /// Asks the service for a fact with GET, as the caller: with its credentials and what is believed of it.
    async fn look_up(&self, covered: &mut Covered, inquiry: &Inquiry) -> Outcome {
        let target = std::str::from_utf8(&inquiry.target).ok().and_then(|target| target.parse::<Uri>().ok());
        let (Some(target), Some(left)) = (target, flight::time_left(&self.config, inquiry.proceed.answer_by)) else {
            return Outcome::NotSent("the lookup has no usable target, or no time".into());
        };
        let mut request = Request::new(body::full(""));
        *request.uri_mut() = target;
        for name in [HOST, AUTHORIZATION, COOKIE].iter().chain(&self.believed) {
            for value in covered.parts.headers.get_all(name) {
                request.headers_mut().append(name, value.clone());
            }
        }
        request.extensions_mut().extend(covered.parts.extensions.clone());
        flight::call(&mut covered.origin, request, left, inquiry.max_body).await.outcome
    }

    fn admitted(&self, admission: &Admission, took: Duration) {
        self.counters.count(&admission.row);
        let Admission { row, operation, detail, decision } = admission;
        let attempt = match decision {
            Decision::Proceed(proceed) => short(&proceed.attempt.id),
            _ => String::new(),
        };
        let millis = took.as_millis() as u64;
        match detail {
            None => tracing::info!(%row, %operation, attempt, millis, "admitted"),
            Some(detail) => tracing::warn!(%row, %operation, attempt, millis, detail, "admitted"),
        }
    }

    pub(super) fn trouble(&self, trouble: Trouble) -> Response<GateBody> {
        self.counters.count(&trouble.row().into());
        trouble.response()
    }
}

/// A covered request on its way.
struct Covered {
    origin: Origin,
    parts: Parts,
    rest: Rest,
    asked: Asked,
    place: OwnedSemaphorePermit,
}

/// The body to forward.
enum Rest {
    Whole(Bytes),
    Larger(Bytes, GateBody),
}

impl Rest {
    fn joined(self) -> GateBody {
        match self {
            Rest::Whole(bytes) => body::full(bytes),
            Rest::Larger(start, rest) => body::rejoined(start, rest),
        }
    }
}

/// How one admission ended.
enum Ended {
    Answered(Response<GateBody>),
    Waiting(Box<Covered>, Wait),
}

/// A client that has hung up takes no answer.
fn answer(reply: oneshot::Sender<Ended>, response: Response<GateBody>) {
    drop(reply.send(Ended::Answered(response)));
}

/// The beginning of an attempt's id: enough to find its lines in a log.
pub(super) fn short(id: &[u8; 16]) -> String {
    id.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// The span, give or take a quarter, so that those who wait do not come back together.
pub(super) fn jittered(span: Duration) -> Duration {
    let dice = getrandom::u32().unwrap_or(u32::MAX / 2);
    span.mul_f64(0.75 + 0.5 * f64::from(dice) / f64::from(u32::MAX))
}
