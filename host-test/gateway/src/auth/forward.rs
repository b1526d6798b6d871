//! Callers, verified by a service that is asked for each request.
//!
//! It gets a GET with the caller's `Authorization` and `Cookie`, and the original method, host, target and addresses in
//! `X-Forwarded-*`. An answer with 2xx lets the request through; its `X-Principal` and `X-Tenant` become properties.
//! Every other answer is the caller's. No answer is a 503: nobody passes unverified.

use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use oncegate_host::layer::{Fault, GateBody, PeerAddress, Properties, full, problem, remove_hop_by_hop};

use crate::cli::Base;
use crate::origin::{FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO, Pool};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// The most bytes of a refusal that are passed on.
const LARGEST_ANSWER: usize = 64 * 1024;

const FORWARDED_METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
/// The answer's headers that become properties.
const VERIFIED: [(&str, &str); 2] = [("x-principal", "principal"), ("x-tenant", "tenant")];

/// An authorization service.
pub(crate) struct Forward {
    pool: Arc<Pool>,
    host: HeaderValue,
    target: String,
}

impl Forward {
    /// The service at this server and target.
    pub(crate) fn new(base: Base, target: String) -> Option<Self> {
        let host = HeaderValue::from_str(base.0.as_str()).ok()?;
        Some(Forward { pool: Arc::new(Pool::new(base.0)), host, target })
    }

    /// What the service says of the caller, or its answer.
    pub(crate) async fn check(&self, request: &Parts) -> Result<Properties, Response<GateBody>> {
        let unavailable = |why: &str| {
            tracing::error!(why, "the authorization service does not answer");
            problem(StatusCode::SERVICE_UNAVAILABLE, "authorization-unavailable", "the caller cannot be verified now")
        };
        match tokio::time::timeout(ANSWER_WITHIN, self.ask(request)).await {
            Ok(Ok(answer)) if answer.status().is_success() => match properties(answer.headers()) {
                Some(properties) => Ok(properties),
                None => Err(unavailable("it gave a principal or tenant twice or unreadably")),
            },
            Ok(Ok(answer)) => Err(answer),
            Ok(Err(fault)) => Err(unavailable(&fault.to_string())),
            Err(_) => Err(unavailable("it took too long")),
        }
    }

    async fn ask(&self, request: &Parts) -> Result<Response<GateBody>, Fault> {
        let mut question = Request::new(full(""));
        *question.uri_mut() = self.target.parse().map_err(|_| Fault::NotSent("its target is no target".into()))?;
        *question.headers_mut() = self.question_headers(request);
        let (mut head, body) = self.pool.send(question).await?.into_parts();
        remove_hop_by_hop(&mut head.headers);
        let body = Limited::new(body, LARGEST_ANSWER).collect().await;
        let body = body.map_err(|_| Fault::Lost("its answer broke off or is too large".into()))?;
        Ok(Response::from_parts(head, full(body.to_bytes())))
    }

    fn question_headers(&self, request: &Parts) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for name in [AUTHORIZATION, COOKIE] {
            for value in request.headers.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        let target = request.uri.path_and_query().map_or("/", |target| target.as_str());
        let peer = request.extensions.get().map(|PeerAddress(address)| address.to_string());
        let told = [
            (FORWARDED_METHOD, HeaderValue::from_str(request.method.as_str()).ok()),
            (FORWARDED_URI, HeaderValue::from_str(target).ok()),
            (FORWARDED_HOST, request.headers.get(HOST).cloned()),
            (FORWARDED_FOR, peer.and_then(|peer| HeaderValue::from_str(&peer).ok())),
            (FORWARDED_PROTO, Some(HeaderValue::from_static("http"))),
            (HOST, Some(self.host.clone())),
        ];
        headers.extend(told.into_iter().filter_map(|(name, value)| Some((name, value?))));
        headers
    }
}

/// `None`: a header that should be one readable line is not.
fn properties(headers: &HeaderMap) -> Option<Properties> {
    let mut properties = Vec::new();
    for (header, property) in VERIFIED {
        let mut lines = headers.get_all(header).iter();
        if let Some(line) = lines.next() {
            properties.push((property.into(), line.to_str().ok()?.into()));
        }
        if lines.next().is_some() {
            return None;
        }
    }
    Some(Properties(properties))
}
