//! Identity: whose action this is. Scope, operation and client key become one store key, under each derivation in force.
//!
//! The store key is keyed and one-way: who holds a dump of the store can confirm no guess. What it cannot know: whether the
//! inputs of a scope were verified. They come from the host, and a header from whoever could set it.

mod client_key;
mod structured;

use alloc::string::String;
use alloc::vec::Vec;

pub use client_key::{KeyFormat, MAX_CLIENT_KEY, client_key};
pub(crate) use client_key::{percent_encode, quote};
pub use structured::string_item;

use crate::keyring::{Derived, Keys, mac};
use crate::policy::Rule;
use crate::policy::document::{Scope, Source};
use crate::request::{Head, Request};
use crate::store::Key;

const KEY_VERSION: u8 = 1;
const KIND_RECORD: u8 = 1;

/// Why a request has no identity. The names are rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdentityFault {
    /// No client key, and the rule requires one.
    KeyMissing,
    /// A client key that is empty, too long, or holds other than visible ASCII.
    KeyMalformed,
    /// More than one field or parameter holds a client key.
    KeyRepeated,
    /// Two places hold different client keys.
    KeyDisagreement,
    /// `Connection` names a header that the rule relies on: the next hop would not see it.
    HopByHop,
    /// A part of the scope, by its name, has no value.
    ScopeMissing(String),
    /// A part of the scope, by its name, has more than one value.
    ScopeRepeated(String),
}

/// `Connection` must not name what a rule relies on.
pub(crate) fn check_connection(rule: &Rule, head: &Head) -> Result<(), IdentityFault> {
    let mut listed = head.values("connection").flat_map(|value| value.split(|&byte| byte == b','));
    let relied_on = |name: &[u8]| {
        let is = |other: &String| other.as_bytes().eq_ignore_ascii_case(name);
        let scopes = rule.scopes().any(|scope| match scope {
            Scope::Shared => false,
            Scope::Parts(parts) => {
                parts.iter().any(|(_, source)| matches!(source, Source::Header(header) if is(header)))
            }
        });
        scopes || rule.key.header.as_ref().is_some_and(is) || rule.plans().any(|plan| plan.reads_header(name))
    };
    match listed.any(|name| relied_on(name.trim_ascii())) {
        true => Err(IdentityFault::HopByHop),
        false => Ok(()),
    }
}

/// The record's store key under every derivation in force: each scope with each secret. The first is the current one.
pub(crate) fn keys(
    rule: &Rule,
    secrets: &Keys,
    request: &Request,
    path: &[(String, Vec<u8>)],
    client_key: &[u8],
) -> Result<Vec<Key>, IdentityFault> {
    let mut keys: Vec<Key> = Vec::new();
    for (at, scope) in rule.scopes().enumerate() {
        let values = match scope_values(scope, request, path) {
            Ok(values) => values,
            Err(fault) if at == 0 => return Err(fault),
            // What an earlier scope cannot tell was never recorded under it.
            Err(_) => continue,
        };
        for secret in secrets.all() {
            let key = store_key(&rule.operation, &secrets.partition, secret, &values, client_key);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    Ok(keys)
}

type ScopeValues<'a> = Vec<(&'a str, Vec<u8>)>;

fn scope_values<'a>(
    scope: &'a Scope,
    request: &Request,
    path: &[(String, Vec<u8>)],
) -> Result<ScopeValues<'a>, IdentityFault> {
    let Scope::Parts(parts) = scope else { return Ok(Vec::new()) };
    let value = |name: &String, source: &Source| {
        let missing = || IdentityFault::ScopeMissing(name.clone());
        let found = match source {
            Source::Constant(text) => Some(text.as_bytes().to_vec()),
            Source::Path(parameter) => path.iter().find(|(held, _)| held == parameter).map(|(_, value)| value.clone()),
            Source::Property(property) => one(name, request.properties.iter(), |(held, value)| {
                (held == property).then(|| value.as_bytes().to_vec())
            })?,
            Source::Header(header) => one(name, request.head.headers.iter(), |(held, value)| {
                held.eq_ignore_ascii_case(header).then(|| value.trim_ascii().to_vec())
            })?,
        };
        found.filter(|value| !value.is_empty()).ok_or_else(missing)
    };
    parts.iter().map(|(name, source)| Ok((name.as_str(), value(name, source)?))).collect()
}

fn one<T>(
    part: &str,
    items: impl Iterator<Item = T>,
    pick: impl Fn(T) -> Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, IdentityFault> {
    let mut found = items.filter_map(pick);
    let first = found.next();
    match found.next() {
        Some(_) => Err(IdentityFault::ScopeRepeated(part.into())),
        None => Ok(first),
    }
}

/// Version, partition, kind, hash. The partition depends on the tenant alone, and not on what may be rotated, so that all of
/// a tenant's entries can stand in one transaction.
fn store_key(operation: &str, partition: &[u8], secret: &Derived, scope: &ScopeValues, client_key: &[u8]) -> Key {
    let tenant = scope.iter().find(|(name, _)| *name == "tenant").map_or(&b""[..], |(_, value)| value);
    let mut parts: Vec<&[u8]> = alloc::vec![b"oncegate record", operation.as_bytes(), client_key];
    for (name, value) in scope {
        parts.push(name.as_bytes());
        parts.push(value);
    }
    let mut key = Vec::with_capacity(36);
    key.push(KEY_VERSION);
    key.extend(mac(partition, &[tenant]).into_iter().take(2));
    key.push(KIND_RECORD);
    key.extend(mac(&secret.lookup, &parts));
    Key(key)
}
