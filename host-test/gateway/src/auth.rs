//! Who is calling: verified before anything is looked up, replays included, on covered and uncovered requests alike.

mod forward;
mod jwks;

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use oncegate_host::layer::{GateBody, Properties, problem};

pub(crate) use self::forward::Forward;
pub(crate) use self::jwks::{Expected, Jwks};

/// How callers are verified.
pub(crate) enum Auth {
    /// Not at all: whoever stands in front has done it.
    Elsewhere,
    /// By bearer tokens (RFC 6750) and the keys that may have signed them.
    Jwks(Jwks),
    /// By asking a service.
    Forward(Forward),
}

impl Auth {
    /// What is verified of the caller, or the answer to give instead.
    pub(crate) async fn check(&self, request: &Parts) -> Result<Properties, Box<Response<GateBody>>> {
        match self {
            Auth::Elsewhere => Ok(Properties::default()),
            Auth::Jwks(jwks) => jwks.check(&request.headers),
            Auth::Forward(forward) => forward.check(request).await.map_err(Box::new),
        }
    }
}

/// 401 with the challenge of RFC 6750, section 3.
fn unauthenticated(challenge: &'static str, detail: &str) -> Box<Response<GateBody>> {
    let mut response = problem(StatusCode::UNAUTHORIZED, "unauthenticated", detail);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    Box::new(response)
}
