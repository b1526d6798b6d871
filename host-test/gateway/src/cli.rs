//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use http::uri::{Authority, Scheme};
use http::{HeaderName, Uri};
use ipnet::IpNet;

/// Lets one logical action through once: an idempotency-key gateway.
#[derive(Parser, Debug)]
#[command(version, about, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// How log lines look on standard error; RUST_LOG=warn and the like choose which.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  stopped by SIGTERM or SIGINT, and every admitted attempt is settled
  1  could not start or go on, or stopped with attempts unsettled
  2  options, policy, keys or key set are wrong";

const TRY_IT: &str = "Try it:
  oncegate serve
      starts a sample origin too, and prints a few curl lines to try
  oncegate serve --origin http://127.0.0.1:3000 --scope header:X-Tenant
      covers POST and PATCH on every path; the key is optional; each tenant has keys of its own,
      and X-Tenant is believed from 127.0.0.1 only
  oncegate serve --origin http://127.0.0.1:3000 --scope jwt --auth jwks:keys.json
      each principal has keys of its own; bearer tokens are verified first
  oncegate serve --origin http://127.0.0.1:3000 --policy policy.json
      covers what the policy says

The first line on standard output, once requests are taken, is `listening on http://ADDRESS`.
HTTP/1.1 and HTTP/2 without TLS are taken on the same port; the origin is called with HTTP/1.1. Upgrades (WebSocket) are
not forwarded. A request that may have been sent is never sent again.";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Stand in front of an origin and call it once for each action.
    #[command(after_help = TRY_IT)]
    Serve(Box<ServeOptions>),
    /// Tell whether a policy is one, what it covers, and what it would forget of the one before.
    Check(CheckOptions),
    /// Start the sample origin alone: orders, bookings and refunds that count their effects.
    Origin(OriginOptions),
}

#[derive(Args, Debug)]
pub(crate) struct ServeOptions {
    /// Where to take requests; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Where to send them: http://HOST:PORT. Left out, a sample origin is started.
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<Base>,
    /// The policy: a JSON document that says what is covered and how.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Where records are kept: `sqlite:FILE`, or `memory`, which forgets everything when the process ends.
    #[arg(long, default_value = "sqlite:oncegate.sqlite", value_name = "STORE")]
    pub(crate) store: String,
    /// The secrets that records are made under. Made at the first start; all gateways on one store must share it.
    #[arg(long, default_value = "oncegate.keys.json", value_name = "FILE")]
    pub(crate) keys: PathBuf,
    /// A directory of yours alone, where the compiled component is kept for the next start. Left out, it is compiled at
    /// each start.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Where a key is unique, if there is no --policy: per value of a header that a declared peer sets, per principal
    /// that --auth verified, or shared by all callers.
    #[arg(long, value_name = "header:NAME|jwt|shared", conflicts_with = "policy")]
    pub(crate) scope: Option<Scope>,
    /// Who verifies callers, before anything is looked up: bearer tokens against a JSON Web Key Set, or an
    /// authorization service that is asked for each request.
    #[arg(long, value_name = "jwks:FILE|forward:URL")]
    pub(crate) auth: Option<AuthChoice>,
    /// The audience that a bearer token must name.
    #[arg(long, value_name = "AUD")]
    pub(crate) audience: Option<String>,
    /// The issuer that a bearer token must name.
    #[arg(long, value_name = "ISS")]
    pub(crate) issuer: Option<String>,
    /// A peer, or a network of them, whose scope and X-Forwarded headers are believed; may be repeated. Left out:
    /// loopback. The headers are removed from all other requests.
    #[arg(long, value_name = "ADDR|CIDR", value_parser = network)]
    pub(crate) peer: Vec<IpNet>,
    /// The longest time for the origin's whole answer to a covered request: 30s, 500ms. A rule's own limit stays in
    /// force where it is lower.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) upstream_timeout: Option<Duration>,
    /// The longest time for stopping: requests under way are finished and settled.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "60s")]
    pub(crate) stop_within: Duration,
}

#[derive(Args, Debug)]
pub(crate) struct CheckOptions {
    /// The policy.
    #[arg(value_name = "POLICY")]
    pub(crate) policy: PathBuf,
    /// The policy that it is to replace while records of it live: an edit that would forget them is refused.
    #[arg(long, value_name = "OLD")]
    pub(crate) against: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct OriginOptions {
    /// Where to take requests; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:3000", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// A plain HTTP server without a path: `http://HOST[:PORT]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Base(pub(crate) Authority);

impl FromStr for Base {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (base, path) = plain(text)?;
        if path == "/" { Ok(base) } else { Err("give it without a path: paths are passed on as they are".into()) }
    }
}

fn plain(text: &str) -> Result<(Base, String), String> {
    let uri: Uri = text.parse().map_err(|error| format!("not a URL ({error})"))?;
    let parts = uri.into_parts();
    match (parts.scheme, parts.authority) {
        (Some(scheme), Some(authority)) if scheme == Scheme::HTTP && !authority.as_str().contains('@') => {
            Ok((Base(authority), parts.path_and_query.map_or_else(|| "/".into(), |path| path.to_string())))
        }
        _ => Err("only http://HOST[:PORT] is supported; put TLS in front of it or a local proxy behind".into()),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Header(HeaderName),
    Principal,
    Shared,
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("header", name)) => {
                HeaderName::from_str(name).map(Scope::Header).map_err(|_| "this is no header name".into())
            }
            None if text == "jwt" => Ok(Scope::Principal),
            None if text == "shared" => Ok(Scope::Shared),
            _ => Err("give header:NAME, jwt or shared".into()),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AuthChoice {
    Jwks(PathBuf),
    /// A server, and the path and query to ask it with.
    Forward(Base, String),
}

impl FromStr for AuthChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("jwks", file)) if !file.is_empty() => Ok(AuthChoice::Jwks(file.into())),
            Some(("forward", url)) => plain(url).map(|(base, path)| AuthChoice::Forward(base, path)),
            _ => Err("give jwks:FILE or forward:URL".into()),
        }
    }
}

fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    text.parse().or_else(|_| address()).map_err(|_| "give an IP address, or a network such as 10.0.0.0/8".into())
}

fn span(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "give a time with its unit, such as 500ms, 30s or 2m".into())
}
