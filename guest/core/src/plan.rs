//! The fingerprint's recipe: which parts of a request define the action, and in what form.
//!
//! Always: method, operation, path parameters, body. By the rule: query, headers, verified properties. Never: the client
//! key itself, wherever it stands, so that moving it changes nothing; nor credentials.
//!
//! The body is read by a profile of [`crate::canonical`], and compared together with its media type and content coding.
//!
//! A plan's id stands in each record, so that a record is compared by the recipe that it was made with. A plan cannot know
//! which members a business regards as material: what a rule excludes may differ unnoticed.

mod body;

use alloc::string::String;
use alloc::vec::Vec;

pub use body::BodyForm;

use crate::canonical::json::{Pointer, Role, Selection, Wanted};
use crate::canonical::media_type::trim;
use crate::canonical::{FormError, Parts, form};
use crate::decision::Id;
use crate::keyring::{Derived, mac};
use crate::policy::KeySource;
use crate::policy::document::{BodyProfile, FingerprintDocument, Invalid, QueryProfile};
use crate::request::{Head, values};

/// Raised when the same recipe would give other bytes.
const ALGORITHM: &[u8] = b"1";

const HALF: usize = 16;

/// A recipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    id: Id,
    body: BodyProfile,
    invalid: Invalid,
    selection: Selection,
    /// The same, less what a retry may change; none: nothing may.
    rebindable: Option<Selection>,
    key_in_query: Option<String>,
    query: QueryProfile,
    headers: Vec<String>,
    properties: Vec<String>,
}

/// A body in its form, and in the one less what a retry may change.
pub struct BodyForms<'b> {
    whole: BodyForm<'b>,
    rebindable: Option<BodyForm<'b>>,
}

/// What a request comes to. Without a key it tells nothing about what a record holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    /// All that defines the action.
    pub whole: [u8; 32],
    /// The same, less what a retry may change.
    pub rebindable: Option<[u8; 32]>,
}

impl BodyForms<'_> {
    /// The client key, where the plan looks for it in the body.
    pub fn key(&self) -> &Wanted {
        &self.whole.key
    }
}

impl Digest {
    /// The fingerprint under a secret. Of a plan that lets a retry change something, the first half is over what it may
    /// not change and the second over everything; else it is over everything.
    pub(crate) fn keyed(&self, plan: &Plan, secret: &Derived) -> [u8; 32] {
        let keyed = |digest: &[u8; 32]| mac(&secret.fingerprint, &[&plan.id, digest]);
        let whole = keyed(&self.whole);
        let Some(rebindable) = &self.rebindable else { return whole };
        let mut halves = keyed(rebindable);
        halves.iter_mut().skip(HALF).zip(whole).for_each(|(to, from)| *to = from);
        halves
    }
}

impl Plan {
    /// The plan of a checked rule: `headers` in lower case. `None` if it has more pointers than can be followed.
    pub(crate) fn new(written: &FingerprintDocument, headers: Vec<String>, key: &KeySource) -> Option<Self> {
        let excluded = in_order(written.exclude.iter().chain(&key.body));
        let selected = in_order(&written.select);
        let rebind = in_order(&written.retryable_rebind);
        let headers = in_order(&headers);
        let properties = in_order(&written.properties);
        let mut id = Parts::new("oncegate plan");
        id.add(ALGORITHM)
            .add(body_name(written.body))
            .add(invalid_name(written.invalid))
            .add(query_name(written.query));
        id.add_optional(key.query.as_ref().map(String::as_bytes));
        for list in [&excluded, &selected, &rebind, &headers, &properties] {
            id.count(list.len());
            for item in list {
                id.add(item.as_bytes());
            }
        }
        let role = |role, list: &[String]| {
            list.iter().filter_map(|text| Some((role, Pointer::parse(text)?))).collect::<Vec<_>>()
        };
        let wanted: Vec<String> = key.body.iter().cloned().collect();
        let kept = [role(Role::Exclude, &excluded), role(Role::Select, &selected), role(Role::Want, &wanted)].concat();
        let rebindable = match rebind.is_empty() {
            true => None,
            false => Some(Selection::new([kept.clone(), role(Role::Exclude, &rebind)].concat())?),
        };
        Some(Plan {
            id: shorten(id.finish()),
            body: written.body,
            invalid: written.invalid,
            selection: Selection::new(kept)?,
            rebindable,
            key_in_query: key.query.clone(),
            query: written.query,
            headers,
            properties,
        })
    }

    /// Names the recipe.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Whether two fingerprints differ at most in what a retry may change.
    pub(crate) fn rebinds(&self, one: &[u8; 32], other: &[u8; 32]) -> bool {
        let first = |fingerprint: &[u8; 32]| fingerprint.first_chunk::<HALF>().copied();
        self.rebindable.is_some() && first(one) == first(other)
    }

    /// Whether the plan reads this header: a declared one, or one that says how the body is to be read.
    pub(crate) fn reads_header(&self, name: &[u8]) -> bool {
        let declared = self.headers.iter().map(String::as_str);
        let mut read = declared.chain(["content-type", "content-encoding"]);
        read.any(|header| header.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Brings a body into its form. What cannot be is an error, unless the rule takes it as raw bytes.
    pub fn read_body<'b>(&self, head: &Head, body: &'b [u8]) -> Result<BodyForms<'b>, FormError> {
        let read = |selection| body::read(self.body, self.invalid, selection, head, body);
        let whole = read(&self.selection)?;
        let rebindable = self.rebindable.as_ref().map(read).transpose()?;
        Ok(BodyForms { whole, rebindable })
    }

    /// What the parts of a request come to under this plan: equal if and only if all of them are.
    pub fn digest(
        &self,
        operation: &str,
        head: &Head,
        path: &[(String, Vec<u8>)],
        properties: &[(String, String)],
        body: &BodyForms,
    ) -> Digest {
        let digest = |body: &BodyForm| {
            let mut parts = Parts::new("oncegate fingerprint");
            parts.add(&self.id).add(operation.as_bytes()).add(head.method.as_bytes());
            parts.count(path.len());
            for (name, value) in path {
                parts.add(name.as_bytes()).add(value);
            }
            parts.add_optional(self.query(head).as_deref());
            self.add_declared(&mut parts, head, properties);
            body.add_to(&mut parts);
            parts.finish()
        };
        Digest { whole: digest(&body.whole), rebindable: body.rebindable.as_ref().map(digest) }
    }

    fn add_declared(&self, parts: &mut Parts, head: &Head, properties: &[(String, String)]) {
        for name in &self.headers {
            parts.count(values(&head.headers, name).count());
            for value in values(&head.headers, name) {
                parts.add(trim(value));
            }
        }
        for name in &self.properties {
            let held = || properties.iter().filter(|(held, _)| held == name);
            parts.count(held().count());
            for (_, value) in held() {
                parts.add(value.as_bytes());
            }
        }
    }

    /// The query by its profile, less the client key.
    fn query(&self, head: &Head) -> Option<Vec<u8>> {
        let query = head.query().filter(|_| self.query != QueryProfile::Ignore)?;
        let kept = match &self.key_in_query {
            None => query.to_vec(),
            Some(name) => {
                let others = query.split(|&byte| byte == b'&').filter(|pair| !is_named(pair, name.as_bytes()));
                let others: Vec<&[u8]> = others.collect();
                others.join(&b'&')
            }
        };
        let kept = if self.query == QueryProfile::Sorted { form::sorted(&kept) } else { kept };
        // A query that held the key alone is none, so that moving the key changes nothing.
        (!kept.is_empty() || (self.query == QueryProfile::AsIs && self.key_in_query.is_none())).then_some(kept)
    }
}

/// Whether a pair `name=value` of a query has this name.
fn is_named(pair: &[u8], name: &[u8]) -> bool {
    pair.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
}

/// The first half of a hash.
pub(crate) fn shorten(hash: [u8; 32]) -> Id {
    let mut id = [0; 16];
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    id
}

fn in_order<'a>(list: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut list: Vec<String> = list.into_iter().cloned().collect();
    list.sort_unstable();
    list.dedup();
    list
}

// Names that stand in every plan's id.

fn body_name(profile: BodyProfile) -> &'static [u8] {
    match profile {
        BodyProfile::Auto => b"auto",
        BodyProfile::Json => b"json",
        BodyProfile::Jcs => b"jcs",
        BodyProfile::Form => b"form",
        BodyProfile::Multipart => b"multipart",
        BodyProfile::Raw => b"raw",
    }
}

fn invalid_name(invalid: Invalid) -> &'static [u8] {
    match invalid {
        Invalid::Refuse => b"refuse",
        Invalid::Raw => b"raw",
    }
}

fn query_name(query: QueryProfile) -> &'static [u8] {
    match query {
        QueryProfile::AsIs => b"as_is",
        QueryProfile::Sorted => b"sorted",
        QueryProfile::Ignore => b"ignore",
    }
}
