//! A sample origin that knows nothing of idempotency: it does each request that it gets, and counts.
//!
//! `POST /orders`, `POST /bookings/{item}`, `POST /refunds` have effects; `GET /_origin/calls` tells how often each was
//! called and how many effects there are. A request can say in `X-Sample` how it shall go wrong: see [`Instructions`].

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use oncegate_host::layer::{BoxError, GateBody, full};
use serde_json::{Value, json};

use crate::cli::OriginOptions;
use crate::failure::Failure;
use crate::listen::{Listener, stop_signal};

const LARGEST_BODY: usize = 4 * 1024 * 1024;
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// Runs the sample origin until the process is told to stop.
pub(crate) async fn run(options: OriginOptions) -> Result<(), Failure> {
    let stop = stop_signal().await?;
    let listener = Listener::open(options.listen).await?;
    println!("listening on http://{}", listener.address());
    serve(listener, stop).await;
    Ok(())
}

/// Runs it on this listener until `stop`.
pub(crate) async fn serve(listener: Listener, stop: impl Future<Output = ()>) {
    let books = Arc::new(Books::default());
    let answer = move |_: SocketAddr, request| {
        let books = Arc::clone(&books);
        async move { books.answer(request).await }
    };
    listener.run(answer, stop, STOP_WITHIN).await;
}

/// What there is to do.
const KINDS: [(&str, &str); 3] = [("orders", "order"), ("bookings", "booking"), ("refunds", "refund")];

#[derive(Default)]
struct Books {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    calls: BTreeMap<&'static str, u64>,
    effects: BTreeMap<&'static str, u64>,
}

impl Books {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<GateBody>, BoxError> {
        let path = request.uri().path().to_string();
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let kind = segments.first().and_then(|first| KINDS.iter().find(|(kind, _)| kind == first));
        match (request.method(), kind, segments.as_slice()) {
            (&Method::GET, _, ["_origin", "calls"]) => Ok(reply(StatusCode::OK, &self.told())),
            (&Method::POST, Some((kind, name)), ["orders" | "refunds"] | ["bookings", _]) => {
                self.count(|counts| &mut counts.calls, kind);
                self.act(kind, name, request).await
            }
            _ => Ok(reply(StatusCode::NOT_FOUND, &json!({ "error": "there is nothing here" }))),
        }
    }

    async fn act(
        &self,
        kind: &'static str,
        name: &str,
        request: Request<Incoming>,
    ) -> Result<Response<GateBody>, BoxError> {
        let instructions = Instructions::read(request.headers());
        let body = Limited::new(request.into_body(), LARGEST_BODY).collect().await?.to_bytes();
        if let Some(status) = instructions.status {
            tokio::time::sleep(instructions.slow).await;
            let mut response = reply(status, &json!({ "error": "as you wished" }));
            if status == StatusCode::TOO_MANY_REQUESTS {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("0"));
            }
            return Ok(response);
        }
        let id = format!("{name}-{}", self.count(|counts| &mut counts.effects, kind));
        tokio::time::sleep(instructions.slow).await;
        if instructions.drop {
            return Err("dropped as asked for".into());
        }
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut response = reply(StatusCode::CREATED, &json!({ "id": id, "asked": asked }));
        response.headers_mut().insert(LOCATION, HeaderValue::from_str(&format!("/{kind}/{id}"))?);
        if instructions.cookie {
            for cookie in ["session=1; HttpOnly", "theme=dark"] {
                response.headers_mut().append(SET_COOKIE, HeaderValue::from_static(cookie));
            }
        }
        Ok(response)
    }

    /// Counts one more, and gives the new number.
    fn count(&self, which: fn(&mut Counts) -> &mut BTreeMap<&'static str, u64>, kind: &'static str) -> u64 {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = which(&mut counts).entry(kind).or_default();
        *count += 1;
        *count
    }

    fn told(&self) -> Value {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let all = |map: &BTreeMap<&str, u64>| {
            let each = KINDS.iter().map(|(kind, _)| ((*kind).into(), map.get(kind).copied().unwrap_or(0).into()));
            Value::Object(each.collect())
        };
        json!({ "calls": all(&counts.calls), "effects": all(&counts.effects) })
    }
}

/// What `X-Sample` asks for, comma-separated. It is a header, so that a retry may ask for something else and still be
/// the same request.
#[derive(Default)]
struct Instructions {
    /// `slow:MS`: take so long with the answer; the effect has happened by then.
    slow: Duration,
    /// `status:CODE`: answer with it, without an effect.
    status: Option<StatusCode>,
    /// `drop`: after the effect, break the connection off.
    drop: bool,
    /// `cookie`: set two.
    cookie: bool,
}

impl Instructions {
    fn read(headers: &HeaderMap) -> Self {
        let mut instructions = Instructions::default();
        let lines = headers.get_all("x-sample").iter().filter_map(|line| line.to_str().ok());
        for word in lines.flat_map(|line| line.split(',')).map(str::trim) {
            match word.split_once(':') {
                Some(("slow", millis)) => instructions.slow = Duration::from_millis(millis.parse().unwrap_or(0)),
                Some(("status", code)) => instructions.status = code.parse().ok(),
                None if word == "drop" => instructions.drop = true,
                None if word == "cookie" => instructions.cookie = true,
                _ => {}
            }
        }
        instructions
    }
}

fn reply(status: StatusCode, body: &Value) -> Response<GateBody> {
    let mut response = Response::new(full(format!("{body}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Curl lines that show what the gate at this address does.
pub(crate) fn tour(gate: SocketAddr) -> String {
    let post = |key: &str, extra: &str, quantity: u32| {
        format!(
            "  curl -i http://{gate}/orders -H 'X-Tenant: acme' -H 'Idempotency-Key: {key}' \\\n    \
             {extra}-H 'Content-Type: application/json' -d '{{\"sku\":\"lamp\",\"quantity\":{quantity}}}'\n"
        )
    };
    let (first, changed) = (post("order-1", "", 2), post("order-1", "", 3));
    let slow = post("order-2", "-H 'X-Sample: slow:5000' ", 1);
    let (slow, meanwhile) = (format!("{} &", slow.trim_end()), post("order-2", "", 1));
    let (dropped, after) = (post("order-3", "-H 'X-Sample: drop' ", 1), post("order-3", "", 1));
    format!(
        "\nA sample origin is behind it. Try:\n\n\
         # 201 Created: the order is placed\n{first}\
         # sent again: the same 201 with Idempotent-Replayed: true, and no second order\n{first}\
         # the same key for another order: 422\n{changed}\
         # while the first is still slow, its retry: 409 with Retry-After\n{slow}\n{meanwhile}\
         # the connection breaks after the effect: the outcome is unknown, and a retry does not double it: 409\n\
         {dropped}{after}\
         # what the origin has seen\n  curl http://{gate}/_origin/calls\n"
    )
}
