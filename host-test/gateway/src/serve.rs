//! `oncegate serve`: everything put together, run, and stopped in the right order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use ipnet::IpNet;
use oncegate_core::policy::Policy;
use oncegate_host::layer::{BoxError, Config, Gate, GateBody, GateLayer, PeerAddress, Peers, problem};
use oncegate_host::store::OpenError;
use oncegate_host::{BuildError, Enforcer, Options};
use tower::{Layer, Service};

use crate::auth::{Auth, Expected, Forward, Jwks};
use crate::cli::{AuthChoice, Scope, ServeOptions};
use crate::failure::Failure;
use crate::key_policy::Published;
use crate::listen::{Listener, stop_signal};
use crate::origin::Origin;
use crate::{keys, policy, sample};

const HOW_TO_SCOPE: &str =
    "an origin needs a policy or a scope, because two callers who choose the same key must not get each other's answers
  --scope header:X-Tenant       keys are unique per value of a header that your proxy sets (see --peer)
  --scope jwt --auth jwks:FILE  keys are unique per principal of a verified bearer token
  --scope shared                all callers share one space of keys: only if they are one party
  --policy FILE                 or say it per route";

/// Runs the gateway until the process is told to stop.
pub(crate) async fn run(options: ServeOptions) -> Result<(), Failure> {
    let document = policy_of(&options)?;
    let auth = auth_of(&options)?;
    let enforcer = enforcer_of(&options, &document).await?;
    let published = Policy::parse(&document).map_err(|error| Failure::wrong("policy", error))?.key_policy();
    let stop = stop_signal().await?;
    let listener = Listener::open(options.listen).await?;
    let address = listener.address();

    let trusted: Arc<[IpNet]> = if options.peer.is_empty() { loopback().into() } else { options.peer.into() };
    let config = Config {
        peers: Peers::Declared(trusted.to_vec()),
        upstream_timeout: options.upstream_timeout,
        ..Config::default()
    };
    let layer = GateLayer::new(enforcer, config);
    let (authority, tour) = match options.origin {
        Some(base) => (base.0, String::new()),
        None => (start_sample().await?, sample::tour(address)),
    };
    let front = Arc::new(Front {
        published: Published::new(&published),
        auth,
        gate: layer.layer(Origin::new(authority, trusted)),
    });
    println!("listening on http://{address}");
    print!("{tour}");

    let answer = move |peer: SocketAddr, request| {
        let front = Arc::clone(&front);
        async move { Ok::<_, BoxError>(front.answer(peer, request).await) }
    };
    let left = listener.run(answer, stop, options.stop_within).await;
    match layer.drain(left).await {
        0 => Ok(()),
        left => Err(Failure::Run(format!("{left} attempts were not settled in time; retries will find them unknown"))),
    }
}

fn policy_of(options: &ServeOptions) -> Result<Vec<u8>, Failure> {
    match (&options.policy, &options.scope, &options.origin) {
        (Some(file), _, _) => {
            std::fs::read(file).map_err(|error| Failure::wrong(format_args!("policy {}", file.display()), error))
        }
        (None, Some(Scope::Principal), _) if options.auth.is_none() => {
            Err(Failure::Use("--scope jwt needs --auth: say who verifies the principal".into()))
        }
        (None, Some(scope), Some(_)) => Ok(policy::covering_all(scope, options.upstream_timeout)),
        (None, None, Some(_)) => Err(Failure::Use(HOW_TO_SCOPE.into())),
        (None, None, None) => Ok(policy::of_sample()),
        (None, Some(_), None) => Err(Failure::Use("--scope is for your own --origin: the sample has a policy".into())),
    }
}

fn auth_of(options: &ServeOptions) -> Result<Auth, Failure> {
    let expected = Expected { audience: options.audience.clone(), issuer: options.issuer.clone() };
    let expects = expected.audience.is_some() || expected.issuer.is_some();
    match &options.auth {
        Some(AuthChoice::Jwks(file)) => Jwks::load(file, expected).map(Auth::Jwks),
        _ if expects => Err(Failure::Use("--audience and --issuer are about the tokens of --auth jwks:FILE".into())),
        Some(AuthChoice::Forward(base, target)) => Forward::new(base.clone(), target.clone())
            .map(Auth::Forward)
            .ok_or_else(|| Failure::Use("--auth forward: the URL has no usable host".into())),
        None => Ok(Auth::Elsewhere),
    }
}

async fn enforcer_of(options: &ServeOptions, policy: &[u8]) -> Result<Arc<Enforcer>, Failure> {
    let store = oncegate_host::store::open(&options.store).await;
    let store = store.map_err(|error| match error {
        OpenError::Sqlite(_) => Failure::Run(error.to_string()),
        OpenError::NoScheme | OpenError::NoFile | OpenError::Unsupported(_) => Failure::Use(error.to_string()),
    })?;
    let keys = keys::load_or_make(&options.keys)?;
    let bounds = Options { cache: options.cache.clone(), ..Options::default() };
    match Enforcer::new(policy, &keys, store, bounds).await {
        Ok(enforcer) => Ok(Arc::new(enforcer)),
        Err(error @ BuildError::Configuration(_)) => Err(Failure::Use(error.to_string())),
        Err(error @ BuildError::Component(_)) => Err(Failure::Run(error.to_string())),
    }
}

async fn start_sample() -> Result<Authority, Failure> {
    let listener = Listener::open(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let authority = Authority::try_from(listener.address().to_string());
    // It ends with the process: it must outlive the requests that are under way.
    tokio::spawn(sample::serve(listener, std::future::pending()));
    authority.map_err(|error| Failure::Run(format!("cannot name the sample origin: {error}")))
}

fn loopback() -> Vec<IpNet> {
    let v4 = ipnet::Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
    vec![v4.into(), IpAddr::from(Ipv6Addr::LOCALHOST).into()]
}

/// What stands in front of the gate.
struct Front {
    published: Published,
    auth: Auth,
    gate: Gate<Origin>,
}

impl Front {
    async fn answer(&self, peer: SocketAddr, request: Request<Incoming>) -> Response<GateBody> {
        if request.method() == Method::CONNECT {
            return problem(StatusCode::METHOD_NOT_ALLOWED, "no-tunnels", "this gateway opens no tunnels");
        }
        let (mut head, body) = request.into_parts();
        if let Some(response) = self.published.answer(&head) {
            return response;
        }
        // HTTP/2 and absolute targets name the host in the target; that outranks `Host` (RFC 9112, section 3.2.2).
        if let Some(host) = head.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
            head.headers.insert(HOST, host);
        }
        head.extensions.insert(PeerAddress(peer.ip()));
        match self.auth.check(&head).await {
            Ok(properties) => head.extensions.insert(properties),
            Err(response) => return *response,
        };
        match self.gate.clone().call(Request::from_parts(head, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
