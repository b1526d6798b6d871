//! The origin as a service: the request's head made right for the next hop, then one try over a pool of connections.
//!
//! It never answers in the origin's place. What is not the origin's answer is a [`Fault`].

mod pool;

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery};
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use ipnet::IpNet;
use oncegate_host::layer::{Fault, GateBody, PeerAddress, remove_hop_by_hop};
use tower::Service;

pub(crate) use self::pool::Pool;

pub(crate) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
pub(crate) const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// An origin server.
#[derive(Clone)]
pub(crate) struct Origin {
    pool: Arc<Pool>,
    /// Whose X-Forwarded headers are continued; those of others are dropped.
    trusted: Arc<[IpNet]>,
}

impl Origin {
    /// The origin at this authority.
    pub(crate) fn new(authority: Authority, trusted: Arc<[IpNet]>) -> Self {
        Origin { pool: Arc::new(Pool::new(authority)), trusted }
    }
}

impl Service<Request<GateBody>> for Origin {
    type Response = Response<Incoming>;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, Fault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<GateBody>) -> Self::Future {
        let Origin { pool, trusted } = self.clone();
        Box::pin(async move {
            let peer = request.extensions().get().map(|PeerAddress(address)| address.to_canonical());
            let continued = peer.is_some_and(|peer| trusted.iter().any(|network| network.contains(&peer)));
            forward(request.headers_mut(), peer, continued);
            let target = request.uri().path_and_query().cloned();
            *request.uri_mut() = Uri::from(target.unwrap_or(PathAndQuery::from_static("/")));
            *request.version_mut() = Version::HTTP_11;
            let mut response = pool.send(request).await?;
            remove_hop_by_hop(response.headers_mut());
            Ok(response)
        })
    }
}

/// Makes a request's headers right for the next hop.
fn forward(headers: &mut HeaderMap, peer: Option<IpAddr>, continued: bool) {
    remove_hop_by_hop(headers);
    // The body is on its way already: whoever waited for `100 Continue` has been told by then.
    headers.remove(EXPECT);
    join_cookies(headers);
    if !continued {
        for name in [FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO] {
            headers.remove(name);
        }
    }
    if let Some(address) = peer.and_then(|peer| HeaderValue::from_str(&peer.to_string()).ok()) {
        headers.append(FORWARDED_FOR, address);
    }
    if let Some(host) = headers.get(HOST).cloned() {
        headers.entry(FORWARDED_HOST).or_insert(host);
    }
    headers.entry(FORWARDED_PROTO).or_insert(HeaderValue::from_static("http"));
}

/// HTTP/2 may split cookies into lines; HTTP/1.1 wants them in one (RFC 9113, section 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let lines: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if lines.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn forwarded_headers_of_strangers_are_replaced() {
        let mut theirs =
            headers(&[("host", "api.test"), ("x-forwarded-for", "10.9.9.9"), ("x-forwarded-proto", "https")]);
        forward(&mut theirs, Some(IpAddr::from([192, 0, 2, 1])), false);
        let expected = [
            ("host", "api.test"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-host", "api.test"),
            ("x-forwarded-proto", "http"),
        ];
        assert_eq!(theirs, headers(&expected));
    }

    #[test]
    fn forwarded_headers_of_declared_peers_are_continued() {
        let mut theirs =
            headers(&[("host", "api.test"), ("x-forwarded-for", "10.9.9.9"), ("x-forwarded-proto", "https")]);
        forward(&mut theirs, Some(IpAddr::from([127, 0, 0, 1])), true);
        let all: Vec<_> = theirs.get_all(FORWARDED_FOR).iter().collect();
        assert_eq!(all, ["10.9.9.9", "127.0.0.1"]);
        assert_eq!(theirs[FORWARDED_PROTO], "https");
    }

    #[test]
    fn cookies_split_by_http2_are_joined() {
        let mut split = HeaderMap::new();
        split.append(COOKIE, HeaderValue::from_static("a=1"));
        split.append(COOKIE, HeaderValue::from_static("b=2"));
        join_cookies(&mut split);
        assert_eq!(split.get_all(COOKIE).iter().collect::<Vec<_>>(), ["a=1; b=2"]);
    }
}
