//! Inbound webhooks: who signed an event is checked before its id is looked up, or anyone could spend a guessed id.
//!
//! A scheme is data: where signature and timestamp stand, and what is signed. All known schemes here are HMAC-SHA-256.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use super::units::Span;
use crate::answer::hex;
use crate::request::Head;
use crate::time::{Instant, Timestamp};

/// How a rule's events are signed.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Names of secrets in the keyring; any of them may have signed.
    pub secrets: Vec<String>,
    /// The scheme.
    pub scheme: SchemeName,
    /// How far the timestamp may be from now. Default 5 minutes.
    pub tolerance: Option<Span>,
}

/// A scheme, by name or as data.
#[derive(Debug, Clone)]
pub enum SchemeName {
    /// Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,<base64> ...` over `id.timestamp.body`.
    Standard,
    /// `Stripe-Signature: t=<timestamp>,v1=<hex>` over `timestamp.body`.
    Stripe,
    /// `X-Hub-Signature-256: sha256=<hex>` over the body; no timestamp.
    Github,
    /// Another provider's.
    Custom(Scheme),
}

/// A scheme as data.
#[derive(Debug, Clone)]
pub struct Scheme {
    /// Where the signatures stand.
    pub signature: Place,
    /// How they are written.
    pub encoding: Encoding,
    /// Where the timestamp stands, in seconds; none: it is not checked.
    pub timestamp: Option<Place>,
    /// Where the event's id stands, if it is signed.
    pub id: Option<Place>,
    /// What is signed: text with `{id}`, `{timestamp}` and `{body}`.
    pub signed: String,
}

/// A place in a header: items between separators, of which those with the prefix count, less the prefix.
#[derive(Debug, Clone)]
pub struct Place {
    /// The header.
    pub header: String,
    /// Between items. Default: the header is one item.
    pub separator: Option<char>,
    /// Before each item that counts. Default: none.
    pub prefix: String,
}

/// How a signature is written.
#[derive(Debug, Clone, Copy, Default)]
pub enum Encoding {
    /// RFC 4648, section 4, with padding.
    #[default]
    Base64,
    /// Lower-case digits.
    Hex,
}

/// Why an event is not believed. None of it tells what would have been right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unverified {
    /// No signature, timestamp or id where the scheme has it.
    Missing,
    /// The timestamp is too far from now.
    Stale,
    /// No secret gives this signature.
    Wrong,
}

impl SchemeName {
    /// The scheme as data.
    pub fn scheme(&self) -> Scheme {
        let place = |header: &str, separator, prefix: &str| Place {
            header: header.to_string(),
            separator,
            prefix: prefix.to_string(),
        };
        match self {
            SchemeName::Standard => Scheme {
                signature: place("webhook-signature", Some(' '), "v1,"),
                encoding: Encoding::Base64,
                timestamp: Some(place("webhook-timestamp", None, "")),
                id: Some(place("webhook-id", None, "")),
                signed: "{id}.{timestamp}.{body}".to_string(),
            },
            SchemeName::Stripe => Scheme {
                signature: place("stripe-signature", Some(','), "v1="),
                encoding: Encoding::Hex,
                timestamp: Some(place("stripe-signature", Some(','), "t=")),
                id: None,
                signed: "{timestamp}.{body}".to_string(),
            },
            SchemeName::Github => Scheme {
                signature: place("x-hub-signature-256", None, "sha256="),
                encoding: Encoding::Hex,
                timestamp: None,
                id: None,
                signed: "{body}".to_string(),
            },
            SchemeName::Custom(scheme) => scheme.clone(),
        }
    }
}

impl Webhook {
    /// The header that holds an event's id where the rule names no other place.
    pub(super) fn id_header(&self) -> &'static str {
        match self.scheme {
            SchemeName::Github => "x-github-delivery",
            _ => "webhook-id",
        }
    }

    /// Checks an event's signature. `secret` gives the bytes of a named secret.
    pub fn verify<'k>(
        &self,
        head: &Head,
        body: &[u8],
        now: Instant,
        secret: impl Fn(&str) -> Option<&'k [u8]>,
    ) -> Result<(), Unverified> {
        let scheme = self.scheme.scheme();
        let one = |place: &Option<Place>| match place {
            Some(place) => place.items(head).next().ok_or(Unverified::Missing),
            None => Ok(Vec::new()),
        };
        let (id, timestamp) = (one(&scheme.id)?, one(&scheme.timestamp)?);
        if scheme.timestamp.is_some() {
            self.check_age(&timestamp, now)?;
        }
        let signed = scheme.signed(&id, &timestamp, body);
        let given: Vec<Vec<u8>> = scheme.signature.items(head).collect();
        if given.is_empty() {
            return Err(Unverified::Missing);
        }
        let mut right = Choice::from(0);
        for secret in self.secrets.iter().filter_map(|name| secret(name)) {
            let expected = scheme.encoding.write(&sign(secret, &signed));
            for signature in &given {
                right |= expected.as_bytes().ct_eq(signature);
            }
        }
        if bool::from(right) { Ok(()) } else { Err(Unverified::Wrong) }
    }

    fn check_age(&self, timestamp: &[u8], now: Instant) -> Result<(), Unverified> {
        let seconds = core::str::from_utf8(timestamp).ok().and_then(|text| text.parse::<u64>().ok());
        let millis = seconds.and_then(|seconds| seconds.checked_mul(1000)).ok_or(Unverified::Missing)?;
        let tolerance = self.tolerance.map_or(core::time::Duration::from_secs(300), |span| span.0);
        let at = Timestamp::from_millis(millis);
        let near = at.after(tolerance) >= now.earliest && at.before(tolerance) <= now.latest;
        if near { Ok(()) } else { Err(Unverified::Stale) }
    }
}

impl Scheme {
    fn signed(&self, id: &[u8], timestamp: &[u8], body: &[u8]) -> Vec<u8> {
        let mut signed = Vec::with_capacity(body.len() + 64);
        for (number, part) in self.signed.split('{').enumerate() {
            let (name, text) = match part.split_once('}') {
                Some(split) if number > 0 => split,
                _ => ("", part),
            };
            signed.extend_from_slice(match name {
                "id" => id,
                "timestamp" => timestamp,
                "body" => body,
                _ => b"",
            });
            signed.extend_from_slice(text.as_bytes());
        }
        signed
    }
}

impl Place {
    fn items<'a>(&'a self, head: &'a Head) -> impl Iterator<Item = Vec<u8>> + 'a {
        let separator = self.separator.and_then(|separator| u8::try_from(separator).ok());
        head.values(&self.header)
            .flat_map(move |value| value.split(move |byte| Some(*byte) == separator))
            .filter_map(|item| item.trim_ascii().strip_prefix(self.prefix.as_bytes()))
            .map(<[u8]>::to_vec)
    }
}

impl Encoding {
    fn write(self, bytes: &[u8]) -> String {
        match self {
            Encoding::Hex => hex(bytes),
            Encoding::Base64 => base64(bytes),
        }
    }
}

fn sign(secret: &[u8], signed: &[u8]) -> [u8; 32] {
    // HMAC takes keys of any length (RFC 2104), so there is no error to report.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return [0; 32] };
    mac.update(signed);
    mac.finalize().into_bytes().into()
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sextet = (group >> (18 - 6 * place) & 0x3f) as usize;
            let digit = alphabet.get(sextet).copied().map_or('=', char::from);
            text.push(if place <= chunk.len() { digit } else { '=' });
        }
    }
    text
}
