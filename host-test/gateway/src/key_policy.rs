//! The published key policy: what callers may know, as JSON for programs and as a page for people.

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY};
use http::request::Parts;
use http::{HeaderValue, Method, Response};
use oncegate_core::policy::publication::{KeyPolicy, Operation};
use oncegate_host::layer::{GateBody, full};

/// Where it is published, and what `described_by` names by default.
pub(crate) const PATH: &str = "/.well-known/idempotency-key-policy";

/// Both forms, made once.
pub(crate) struct Published {
    json: String,
    html: String,
}

impl Published {
    pub(crate) fn new(policy: &KeyPolicy) -> Self {
        // A list of strings and numbers always serializes.
        Published { json: serde_json::to_string_pretty(policy).unwrap_or_default(), html: page(policy) }
    }

    /// The answer, if this is what was asked for.
    pub(crate) fn answer(&self, head: &Parts) -> Option<Response<GateBody>> {
        if head.uri.path() != PATH || !matches!(head.method, Method::GET | Method::HEAD) {
            return None;
        }
        let accepts = |wanted: &str| {
            head.headers.get_all(ACCEPT).iter().any(|line| line.to_str().is_ok_and(|text| text.contains(wanted)))
        };
        let (kind, text) = match accepts("text/html") {
            true => ("text/html; charset=utf-8", &self.html),
            false => ("application/json", &self.json),
        };
        let mut response = Response::new(full(if head.method == Method::HEAD { String::new() } else { text.clone() }));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(VARY, HeaderValue::from_static("accept"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
        Some(response)
    }
}

fn page(policy: &KeyPolicy) -> String {
    let rows: String = policy.operations.iter().map(row).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Idempotency keys</title>\
         <style>body{{font:16px/1.5 sans-serif;margin:2rem}}td,th{{padding:.3rem .8rem;text-align:left;\
         border-bottom:1px solid #ccc}}</style></head>\n<body><h1>Idempotency keys</h1>\n\
         <p>Send a key of your own making with each operation below, and the same key with each retry. A key that was \
         used for another request is answered 422; one whose first request is still running, 409 with Retry-After; one \
         whose outcome is unknown, 409: do not make a new key then.</p>\n\
         <table><thead><tr><th>Operation</th><th>Requests</th><th>Key in</th><th>Length</th><th>Known for</th>\
         <th>A duplicate</th></tr></thead>\n<tbody>\n{rows}</tbody></table></body></html>\n"
    )
}

fn row(operation: &Operation) -> String {
    let key = format!("{}{}", operation.key_in.join(", "), if operation.key_required { "" } else { " (optional)" });
    let known = match operation.known_for_seconds {
        Some(seconds) => format!("{seconds} s"),
        None => "ever".into(),
    };
    let duplicate = match operation.waits_for_milliseconds {
        0 => "is told at once".into(),
        millis => format!("waits up to {millis} ms"),
    };
    let requests = format!("{} {}", operation.methods.join(", "), operation.path);
    let length = format!("{} to {}", operation.key_min_length, operation.key_max_length);
    let cells = [operation.operation.clone(), requests, key, length, known, duplicate];
    let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
    format!("<tr>{cells}</tr>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use oncegate_core::policy::Policy;

    fn published(path: &str) -> Published {
        let document = format!(
            r#"{{"version":1,"rules":[{{"operation":"order","match":{{"path":"{path}"}},"scope":"shared"}}]}}"#
        );
        Published::new(&Policy::parse(document.as_bytes()).unwrap().key_policy())
    }

    #[test]
    fn programs_get_json_and_browsers_a_page() {
        let asked = |accept: &str| {
            let request = Request::get(PATH).header(ACCEPT, accept).body(()).unwrap();
            published("/orders").answer(&request.into_parts().0).unwrap()
        };
        for (accept, kind) in [("*/*", "application/json"), ("text/html,*/*", "text/html; charset=utf-8")] {
            assert_eq!(asked(accept).headers()[CONTENT_TYPE], kind);
        }
        let elsewhere = Request::get("/orders").body(()).unwrap();
        assert!(published("/orders").answer(&elsewhere.into_parts().0).is_none());
        let posted = Request::post(PATH).body(()).unwrap();
        assert!(published("/orders").answer(&posted.into_parts().0).is_none());
    }

    #[test]
    fn a_policy_cannot_put_markup_into_the_page() {
        let page = published("/<script>").html;
        assert!(!page.contains("<script>") && page.contains("/&lt;script&gt;"), "{page}");
    }
}
