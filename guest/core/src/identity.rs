//! Identity: whose action this is. Scope, operation and client key become one store key, under each derivation in force.
//!
//! The store key is keyed and one-way: who holds a dump of the store can confirm no guess. What it cannot know: whether the
//! inputs of a scope were verified. They come from the host, and a header from whoever could set it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::canonical::json::Wanted;
use crate::keyring::{Derived, Keys, mac};
use crate::plan::is_named;
use crate::policy::document::{Scope, Source};
use crate::policy::{KeySource, Rule};
use crate::request::{Head, Request};
use crate::store::Key;

/// The longest client key, in characters.
pub const MAX_CLIENT_KEY: usize = 255;

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

/// Where the client key stands and what it is; `None`: not given.
pub fn client_key(source: &KeySource, head: &Head, in_body: &Wanted) -> Result<Option<Vec<u8>>, IdentityFault> {
    let header = match &source.header {
        Some(name) => single(head.values(name))?.map(|value| from_header(value, source.bare)).transpose()?,
        None => None,
    };
    let query = match (&source.query, head.query()) {
        (Some(name), Some(query)) => {
            let mut pairs = query.split(|&byte| byte == b'&').filter(|pair| is_named(pair, name.as_bytes()));
            single(&mut pairs)?.map(|pair| from_query(pair.get(name.len() + 1..).unwrap_or_default())).transpose()?
        }
        _ => None,
    };
    let body = match in_body {
        Wanted::Absent => None,
        Wanted::Text(text) => Some(checked(text.clone())?),
        Wanted::Other => return Err(IdentityFault::KeyMalformed),
    };
    let mut found = [header, query, body].into_iter().flatten();
    let first = found.next();
    match found.any(|other| Some(other) != first) {
        true => Err(IdentityFault::KeyDisagreement),
        false => Ok(first),
    }
}

fn single<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Result<Option<&'a [u8]>, IdentityFault> {
    let first = values.next();
    match values.next() {
        Some(_) => Err(IdentityFault::KeyRepeated),
        None => Ok(first),
    }
}

/// A Structured Field String (RFC 9651, section 3.3.3), or bare where the rule is lenient. A bare key with a comma is
/// refused, as it may be two fields that someone on the way has joined.
fn from_header(value: &[u8], bare: bool) -> Result<Vec<u8>, IdentityFault> {
    let value = value.trim_ascii();
    if let Some(rest) = value.strip_prefix(b"\"") {
        return checked(unquote(rest).ok_or(IdentityFault::KeyMalformed)?);
    }
    if !bare || value.iter().any(|byte| matches!(byte, b' ' | b',' | b'"')) {
        return Err(IdentityFault::KeyMalformed);
    }
    checked(value.to_vec())
}

fn unquote(rest: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(rest.len());
    let mut bytes = rest.iter().copied();
    loop {
        match bytes.next()? {
            b'"' => return bytes.next().is_none().then_some(text),
            b'\\' => match bytes.next()? {
                escaped @ (b'"' | b'\\') => text.push(escaped),
                _ => return None,
            },
            byte => text.push(byte),
        }
    }
}

/// A client key as a Structured Field String.
pub(crate) fn quote(key: &[u8]) -> Vec<u8> {
    let mut quoted = alloc::vec![b'"'];
    for &byte in key {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(byte);
    }
    quoted.push(b'"');
    quoted
}

/// Appends bytes so that they stand for themselves in a path or query (RFC 3986, section 2.3).
pub(crate) fn percent_encode(bytes: &[u8], target: &mut Vec<u8>) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(byte);
        } else {
            let digits = [byte >> 4, byte & 0xf].map(|digit| b"0123456789ABCDEF".get(usize::from(digit)).copied());
            target.push(b'%');
            target.extend(digits.into_iter().flatten());
        }
    }
}

/// A query's value is taken as it stands; one that is encoded could be spelled in several ways.
fn from_query(value: &[u8]) -> Result<Vec<u8>, IdentityFault> {
    match value.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        true => Err(IdentityFault::KeyMalformed),
        false => checked(value.to_vec()),
    }
}

fn checked(key: Vec<u8>) -> Result<Vec<u8>, IdentityFault> {
    let fits = (1..=MAX_CLIENT_KEY).contains(&key.len()) && key.iter().all(|byte| matches!(byte, 0x20..=0x7e));
    if fits { Ok(key) } else { Err(IdentityFault::KeyMalformed) }
}

/// `Connection` must not name what a rule relies on.
pub(crate) fn check_connection(rule: &Rule, head: &Head) -> Result<(), IdentityFault> {
    let mut listed = head.values("connection").flat_map(|value| value.split(|&byte| byte == b','));
    let relied_on = |name: &[u8]| {
        let is = |other: &String| other.as_bytes().eq_ignore_ascii_case(name);
        let scopes = rule.scopes().any(|scope| match scope {
            Scope::Shared => false,
            Scope::Parts(parts) => parts.values().any(|source| matches!(source, Source::Header(header) if is(header))),
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
