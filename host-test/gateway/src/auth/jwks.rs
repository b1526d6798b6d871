//! Bearer tokens, verified against a JSON Web Key Set (RFC 7517) in a file.
//!
//! Each key takes the one algorithm that its `alg` names, whatever a token says of itself. The file is read once; keys
//! are changed by a restart.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use http::{HeaderMap, Response, header};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use oncegate_host::layer::{GateBody, Properties};
use serde_json::{Map, Value};

use super::unauthenticated;
use crate::failure::Failure;

/// What a token must say besides being signed and in force.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// Its `aud`; `None`: any.
    pub(crate) audience: Option<String>,
    /// Its `iss`; `None`: any.
    pub(crate) issuer: Option<String>,
}

/// The keys that may sign tokens.
pub(crate) struct Jwks {
    keys: Vec<Key>,
    expected: Expected,
}

struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Jwks {
    /// Reads the key set.
    pub(crate) fn load(path: &Path, expected: Expected) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::wrong(format_args!("key set {}", path.display()), why);
        let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let set: JwkSet = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("not a JSON Web Key Set, see line {}", error.line())))?;
        let keys = set.keys.iter().enumerate();
        let keys = keys.map(|(place, jwk)| read(jwk).map_err(|why| wrong(format!("keys[{place}]: {why}"))));
        let keys: Vec<Key> = keys.collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(wrong("it holds no key, so nobody could call".into()));
        }
        Ok(Jwks { keys, expected })
    }

    /// The properties `principal` (the token's `sub`) and `jwt.NAME` for each claim that is a string.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Properties, Box<Response<GateBody>>> {
        let token = bearer(headers).ok_or_else(|| unauthenticated("Bearer", "send one bearer token"))?;
        let claims = self.claims(token).ok_or_else(|| {
            unauthenticated("Bearer error=\"invalid_token\"", "the bearer token is not valid here; get a new one")
        })?;
        let mut properties = Vec::new();
        for (name, value) in claims {
            if let Value::String(value) = value {
                if name == "sub" {
                    properties.push(("principal".into(), value.clone()));
                }
                properties.push((format!("jwt.{name}"), value));
            }
        }
        Ok(Properties(properties))
    }

    fn claims(&self, token: &str) -> Option<Map<String, Value>> {
        let told = jsonwebtoken::decode_header(token).ok()?;
        let fitting =
            self.keys.iter().filter(|key| key.algorithm == told.alg && (told.kid.is_none() || key.id == told.kid));
        fitting.into_iter().find_map(|key| {
            let validation = self.validation(key.algorithm);
            jsonwebtoken::decode::<Map<String, Value>>(token, &key.key, &validation).ok().map(|token| token.claims)
        })
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.validate_nbf = true;
        validation.validate_aud = self.expected.audience.is_some();
        if let Some(audience) = &self.expected.audience {
            validation.set_audience(&[audience]);
            validation.required_spec_claims.insert("aud".into());
        }
        if let Some(issuer) = &self.expected.issuer {
            validation.set_issuer(&[issuer]);
            validation.required_spec_claims.insert("iss".into());
        }
        validation
    }
}

fn read(jwk: &Jwk) -> Result<Key, String> {
    let named = jwk.common.key_algorithm.ok_or("it has no `alg`; say which one algorithm it takes")?;
    let algorithm = Algorithm::from_str(&named.to_string()).map_err(|_| format!("`alg` {named} signs no tokens"))?;
    let key = DecodingKey::from_jwk(jwk).map_err(|error| error.to_string())?;
    if !key.family().algorithms().contains(&algorithm) {
        return Err(format!("`alg` {named} does not fit its `kty`"));
    }
    Ok(Key { id: jwk.common.key_id.clone(), algorithm, key })
}

/// The token of the one `Authorization` line.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, token) = line.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
}
