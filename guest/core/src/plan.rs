//! The fingerprint's recipe: which parts of a request define the action, and in what form.
//!
//! Always: method, operation, path parameters, body. By the rule: query, headers, verified properties. Never: the client
//! key itself, wherever it stands, so that moving it changes nothing; nor credentials.
//!
//! A plan's id stands in each record, so that a record is compared by the recipe that it was made with. A plan cannot know
//! which members a business regards as material: what a rule excludes may differ unnoticed.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::canonical::Parts;
use crate::canonical::json::{self, JsonError, Pointer, Wanted};
use crate::decision::Id;
use crate::policy::KeySource;
use crate::policy::document::{BodyProfile, FingerprintDocument, Invalid};
use crate::request::{Head, values};

/// Raised when the same recipe would give other bytes.
const ALGORITHM: &[u8] = b"1";

/// A recipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    id: Id,
    body: BodyProfile,
    invalid: Invalid,
    exclude: Vec<Pointer>,
    key_in_body: Option<Pointer>,
    key_in_query: Option<String>,
    query: bool,
    headers: Vec<String>,
    properties: Vec<String>,
}

/// A body in the form that its plan gives it.
pub struct BodyForm {
    profile: &'static str,
    media_type: Vec<u8>,
    coding: Vec<u8>,
    form: Vec<u8>,
    /// The client key, where the plan looks for it in the body.
    pub key: Wanted,
}

impl Plan {
    /// The plan of a checked rule: `headers` in lower case, sorted.
    pub(crate) fn new(written: &FingerprintDocument, headers: Vec<String>, key: &KeySource) -> Self {
        let mut excluded: Vec<&str> = written.exclude.iter().chain(&key.body).map(String::as_str).collect();
        excluded.sort_unstable();
        excluded.dedup();
        let mut properties = written.properties.clone();
        properties.sort();
        properties.dedup();
        let query = written.query.unwrap_or(true);
        let mut id = Parts::new("oncegate plan");
        let body: &[u8] = match written.body {
            BodyProfile::Auto => b"auto",
            BodyProfile::Json => b"json",
            BodyProfile::Raw => b"raw",
        };
        let invalid: &[u8] = match written.invalid {
            Invalid::Refuse => b"refuse",
            Invalid::Raw => b"raw",
        };
        id.add(ALGORITHM).add(body).add(invalid).count(usize::from(query));
        id.add_optional(key.query.as_ref().map(String::as_bytes));
        for list in [&excluded, &refs(&headers), &refs(&properties)] {
            id.count(list.len());
            list.iter().for_each(|item| {
                id.add(item.as_bytes());
            });
        }
        Plan {
            id: shorten(id.finish()),
            body: written.body,
            invalid: written.invalid,
            exclude: excluded.into_iter().filter_map(Pointer::parse).collect(),
            key_in_body: key.body.as_deref().and_then(Pointer::parse),
            key_in_query: key.query.clone(),
            query,
            headers,
            properties,
        }
    }

    /// Names the recipe.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// How many pointers the plan follows in a body.
    pub(crate) fn pointers(&self) -> usize {
        self.exclude.len()
    }

    /// Whether the plan reads this header, beside those that say how the body is to be read.
    pub(crate) fn reads_header(&self, name: &[u8]) -> bool {
        self.headers.iter().any(|header| header.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Brings a body into its form.
    pub fn read_body(&self, head: &Head, body: &[u8]) -> Result<BodyForm, JsonError> {
        let coding = coding(head);
        let media_type = head.values("content-type").next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
        let form = |profile, media_type, form, key| BodyForm { profile, media_type, coding: coding.clone(), form, key };
        let as_json = match self.body {
            BodyProfile::Raw => false,
            BodyProfile::Json => coding.is_empty(),
            BodyProfile::Auto => coding.is_empty() && is_json(&media_type),
        };
        if body.is_empty() {
            return Ok(form("empty", Vec::new(), Vec::new(), Wanted::Absent));
        }
        if as_json {
            match (json::read(body, &self.exclude, self.key_in_body.as_ref()), self.invalid) {
                (Ok(reading), _) => return Ok(form("json", Vec::new(), reading.form, reading.wanted)),
                (Err(error), Invalid::Refuse) => return Err(error),
                (Err(_), Invalid::Raw) => {}
            }
        }
        Ok(form("raw", media_type, body.to_vec(), Wanted::Absent))
    }

    /// What the parts of a request come to under this plan: equal if and only if all of them are.
    pub fn digest(
        &self,
        operation: &str,
        head: &Head,
        path: &[(String, Vec<u8>)],
        properties: &[(String, String)],
        body: &BodyForm,
    ) -> [u8; 32] {
        let mut parts = Parts::new("oncegate fingerprint");
        parts.add(&self.id).add(operation.as_bytes()).add(head.method.as_bytes());
        parts.count(path.len());
        for (name, value) in path {
            parts.add(name.as_bytes()).add(value);
        }
        parts.add_optional(self.query(head).as_deref());
        for name in &self.headers {
            parts.count(values(&head.headers, name).count());
            for value in values(&head.headers, name) {
                parts.add(value.trim_ascii());
            }
        }
        for name in &self.properties {
            let value = properties.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_bytes());
            parts.add_optional(value);
        }
        parts.add(body.profile.as_bytes()).add(&body.media_type).add(&body.coding).add(&body.form);
        parts.finish()
    }

    /// The query as it came, less the client key.
    fn query(&self, head: &Head) -> Option<Vec<u8>> {
        let query = head.query().filter(|_| self.query)?;
        let Some(name) = &self.key_in_query else { return Some(query.to_vec()) };
        let kept: Vec<&[u8]> =
            query.split(|&byte| byte == b'&').filter(|pair| !is_named(pair, name.as_bytes())).collect();
        (!kept.is_empty()).then(|| kept.join(&b'&'))
    }
}

/// Whether a pair `name=value` of a query has this name.
pub(crate) fn is_named(pair: &[u8], name: &[u8]) -> bool {
    pair.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
}

/// The first half of a hash.
pub(crate) fn shorten(hash: [u8; 32]) -> Id {
    let mut id = [0; 16];
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    id
}

fn refs(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

/// The content codings, or nothing where the body is plain.
fn coding(head: &Head) -> Vec<u8> {
    let codings: Vec<&[u8]> = head.values("content-encoding").collect();
    let joined = codings.join(&b","[..]).trim_ascii().to_ascii_lowercase();
    if joined == b"identity" { Vec::new() } else { joined }
}

/// `application/json` or a type with the suffix `+json`, in UTF-8 (RFC 8259, section 8.1; RFC 6839).
fn is_json(media_type: &[u8]) -> bool {
    let text = String::from_utf8_lossy(media_type);
    let mut parts = text.split(';').map(|part| part.trim().to_string());
    let essence = parts.next().unwrap_or_default();
    let utf8 = parts.all(|parameter| match parameter.strip_prefix("charset=") {
        Some(charset) => matches!(charset.trim_matches('"'), "utf-8" | "utf8"),
        None => true,
    });
    utf8 && (essence == "application/json" || essence.ends_with("+json"))
}
