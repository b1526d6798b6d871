//! Between the engine's values and [`http`]'s, and the few answers that the layer must make without the engine.

use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use oncegate_core::request::{Field, Head, Response as Told};

use super::body::{self, GateBody};

/// The head of a request as the engine sees it.
pub(super) fn head_of<B>(request: &Request<B>) -> Head {
    Head {
        method: request.method().as_str().into(),
        target: request.uri().path_and_query().map(|target| target.as_str().as_bytes().to_vec()).unwrap_or_default(),
        headers: fields(request.headers()),
    }
}

/// The head of a response as the engine sees it.
pub(super) fn told<B>(response: &Response<B>, body: Vec<u8>) -> Told {
    Told { status: response.status().as_u16(), headers: fields(response.headers()), body }
}

fn fields(headers: &HeaderMap) -> Vec<Field> {
    headers.iter().map(|(name, value)| (name.as_str().into(), value.as_bytes().to_vec())).collect()
}

/// Puts these lines in place of any of the same names. Lines that HTTP cannot carry are left out.
pub(super) fn replace(headers: &mut HeaderMap, send: Vec<Field>) {
    let lines: Vec<_> = send.into_iter().filter_map(line).collect();
    for (name, _) in &lines {
        headers.remove(name);
    }
    for (name, value) in lines {
        headers.append(name, value);
    }
}

fn line((name, value): Field) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(&value).ok()?))
}

/// An answer of the engine with its body.
pub(super) fn whole(mut told: Told) -> Response<GateBody> {
    let bytes = std::mem::take(&mut told.body);
    let mut response = with_body(told, body::full(bytes));
    // Framing is made anew from the body.
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

/// An answer of the engine in front of a body that is streamed.
pub(super) fn with_body(told: Told, body: GateBody) -> Response<GateBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(told.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in told.headers.into_iter().filter_map(line).filter(|(name, _)| name != TRANSFER_ENCODING) {
        response.headers_mut().append(name, value);
    }
    response
}

/// What went wrong where the engine could not say it.
#[derive(Clone, Copy)]
pub(super) enum Trouble {
    /// The engine failed or has no room. The origin was not called.
    Unavailable,
    /// Too many covered requests. The origin was not called.
    Crowded,
    /// The request's body did not come in time. The origin was not called.
    SlowBody,
    /// The request's body broke off. The origin was not called.
    BrokenBody,
    /// The origin was called, and what became of it could not be recorded.
    Unrecorded,
    /// No rule covers the request, and it was not sent.
    Unreachable,
    /// No rule covers the request, and its answer was lost.
    NoAnswer,
}

impl Trouble {
    fn parts(self) -> (StatusCode, &'static str, &'static str) {
        use Trouble::*;
        match self {
            Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the gate cannot decide now; retry with the same key")
            }
            Crowded => (StatusCode::SERVICE_UNAVAILABLE, "crowded", "too many requests; retry with the same key"),
            SlowBody => (StatusCode::REQUEST_TIMEOUT, "slow-body", "the request's body did not come in time"),
            BrokenBody => (StatusCode::BAD_REQUEST, "broken-body", "the request's body broke off"),
            Unrecorded => (
                StatusCode::SERVICE_UNAVAILABLE,
                "unrecorded",
                "the outcome could not be recorded; do not make a new key, retry with the same one",
            ),
            Unreachable => (StatusCode::BAD_GATEWAY, "origin-unreachable", "the origin cannot be reached"),
            NoAnswer => (StatusCode::BAD_GATEWAY, "origin-no-answer", "the origin gave no answer"),
        }
    }

    /// The row to count and log.
    pub(super) fn row(self) -> &'static str {
        self.parts().1
    }

    /// The answer as a problem document.
    pub(super) fn response(self) -> Response<GateBody> {
        let (status, row, detail) = self.parts();
        problem(status, row, detail)
    }
}

/// An answer that says what is wrong (RFC 9457): `row` names the problem, `detail` is one sentence that says what to
/// do. A 503 invites to come back in a second.
pub fn problem(status: StatusCode, row: &str, detail: &str) -> Response<GateBody> {
    let document = serde_json::json!({
        "type": format!("urn:oncegate:problem:{row}"),
        "title": status.canonical_reason().unwrap_or_default(),
        "status": status.as_u16(),
        "detail": detail,
    });
    let mut response = Response::new(body::full(document.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
