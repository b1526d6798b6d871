//! From JSON to the document. What a value means is checked later; here it only has to have its type.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use super::fields::{Fault, Fields, Placed};
use super::*;
use crate::policy::webhook::{Encoding, Place, Scheme, SchemeName};

impl Document {
    /// Reads a document. `bytes` must be a JSON document without members named twice, which serde_json would merge.
    pub(in crate::policy) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| {
            let message = "the policy is no JSON document: ".to_string() + &error.to_string();
            Fault { path: String::new(), message }
        })?;
        let mut fields = Placed { path: String::new(), value }.fields()?;
        let version = fields.number("version", u64::from(u32::MAX))?;
        let document = Document {
            version: version.and_then(|version| u32::try_from(version).ok()).unwrap_or_default(),
            unmatched: one(&[Unmatched::Pass, Unmatched::Refuse], fields.choice("unmatched", &["pass", "refuse"])?),
            ambiguous: ambiguous(&mut fields)?,
            described_by: fields.text("described_by")?,
            rules: fields.need("rules")?.list()?.into_iter().map(rule).collect::<Result<_, _>>()?,
        };
        fields.end()?;
        Ok(document)
    }
}

fn rule(placed: Placed) -> Result<RuleDocument, Fault> {
    let mut fields = placed.fields()?;
    let rule = RuleDocument {
        operation: fields.need("operation")?.text()?,
        matches: matches(fields.need("match")?)?,
        ambiguous: ambiguous(&mut fields)?,
        key: key(fields.object("key")?)?,
        scope: scope(fields.need("scope")?)?,
        fingerprint: fingerprint(fields.object("fingerprint")?)?,
        previous: previous(fields.object("previous")?)?,
        lease: fields.span("lease")?,
        max_run: fields.span("max_run")?,
        settle_bound: fields.span("settle_bound")?,
        upstream_timeout: fields.span("upstream_timeout")?,
        longest_pause: fields.span("longest_pause")?,
        retention: retention(&mut fields)?,
        in_flight: in_flight(&mut fields)?,
        outcomes: outcomes(fields.object("outcomes")?)?,
        max_attempts: number(&mut fields, "max_attempts")?,
        committed_at: one(
            &[CommittedAt::End, CommittedAt::Headers],
            fields.choice("committed_at", &["end", "headers"])?,
        ),
        origin: origin(fields.object("origin")?)?,
        replay: replay(fields.object("replay")?)?,
        limits: limits(fields.object("limits")?)?,
        legacy: fields.take("legacy").map(legacy).transpose()?,
        webhook: fields.take("webhook").map(webhook).transpose()?,
        unsettled: one(
            &[Unsettled::Withhold, Unsettled::Release],
            fields.choice("unsettled", &["withhold", "release"])?,
        ),
    };
    fields.end()?;
    Ok(rule)
}

fn ambiguous(fields: &mut Fields) -> Result<Ambiguous, Fault> {
    Ok(one(&[Ambiguous::Refuse, Ambiguous::Accept], fields.choice("ambiguous", &["refuse", "accept"])?))
}

fn matches(placed: Placed) -> Result<Match, Fault> {
    let mut fields = placed.fields()?;
    let methods = match fields.take("methods") {
        Some(methods) => methods.list()?.into_iter().map(Placed::text).collect::<Result<_, _>>()?,
        None => alloc::vec!["POST".into(), "PATCH".into()],
    };
    let matches = Match { methods, path: fields.need("path")?.text()? };
    fields.end()?;
    Ok(matches)
}

fn key(mut fields: Fields) -> Result<KeyDocument, Fault> {
    let key = KeyDocument {
        header: fields.text("header")?,
        body: fields.text("body")?,
        query: fields.text("query")?,
        required: fields.flag("required")?,
        bare: fields.flag("bare")?,
        format: key_format(fields.object("format")?)?,
    };
    fields.end()?;
    Ok(key)
}

fn key_format(mut fields: Fields) -> Result<KeyFormatDocument, Fault> {
    let format = KeyFormatDocument {
        min_length: number(&mut fields, "min_length")?,
        max_length: number(&mut fields, "max_length")?,
        characters: fields.text("characters")?,
        entropy_bits: number(&mut fields, "entropy_bits")?,
    };
    fields.end()?;
    Ok(format)
}

fn scope(placed: Placed) -> Result<Scope, Fault> {
    if let Value::String(text) = &placed.value {
        return match text.as_str() {
            "shared" => Ok(Scope::Shared),
            other => {
                let message = alloc::format!(
                    "`{other}` is no scope: write \"shared\", or an object of parts such as \
                     {{\"tenant\": {{\"header\": \"x-tenant\"}}}}"
                );
                Err(Fault { path: placed.path, message })
            }
        };
    }
    let parts = placed.fields()?.others();
    parts.into_iter().map(|(name, part)| Ok((name, source(part)?))).collect::<Result<_, _>>().map(Scope::Parts)
}

fn source(placed: Placed) -> Result<Source, Fault> {
    let path = placed.path.clone();
    let mut fields = placed.fields()?;
    let found = [
        fields.text("header")?.map(Source::Header),
        fields.text("path")?.map(Source::Path),
        fields.text("constant")?.map(Source::Constant),
        fields.text("property")?.map(Source::Property),
    ];
    fields.end()?;
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(source), None) => Ok(source),
        _ => Err(Fault { path, message: "write one of `header`, `path`, `constant`, `property`".into() }),
    }
}

fn fingerprint(mut fields: Fields) -> Result<FingerprintDocument, Fault> {
    use BodyProfile::*;
    let bodies = ["auto", "json", "jcs", "form", "multipart", "raw"];
    let queries = [QueryProfile::AsIs, QueryProfile::Sorted, QueryProfile::Ignore];
    let fingerprint = FingerprintDocument {
        body: one(&[Auto, Json, Jcs, Form, Multipart, Raw], fields.choice("body", &bodies)?),
        exclude: fields.texts("exclude")?,
        select: fields.texts("select")?,
        retryable_rebind: fields.texts("retryable_rebind")?,
        headers: fields.texts("headers")?,
        properties: fields.texts("properties")?,
        query: one(&queries, fields.choice("query", &["as_is", "sorted", "ignore"])?),
        invalid: one(&[Invalid::Refuse, Invalid::Raw], fields.choice("invalid", &["refuse", "raw"])?),
    };
    fields.end()?;
    Ok(fingerprint)
}

fn previous(mut fields: Fields) -> Result<Previous, Fault> {
    let mut list = |name| fields.take(name).map_or(Ok(Vec::new()), Placed::list);
    let scope_list = list("scope")?;
    let fingerprints = list("fingerprint")?;
    fields.end()?;
    Ok(Previous {
        scope: scope_list.into_iter().map(scope).collect::<Result<_, _>>()?,
        fingerprint: fingerprints.into_iter().map(|placed| fingerprint(placed.fields()?)).collect::<Result<_, _>>()?,
    })
}

fn retention(fields: &mut Fields) -> Result<Retention, Fault> {
    let Some(placed) = fields.take("retention") else { return Ok(Retention::default()) };
    let path = placed.path.clone();
    match placed.text()?.as_str() {
        "forever" => Ok(Retention::Forever),
        text => Span::parse(text).map(|span| Retention::For(span.0)).map_err(|message| Fault { path, message }),
    }
}

fn in_flight(fields: &mut Fields) -> Result<InFlight, Fault> {
    let Some(placed) = fields.take("in_flight") else { return Ok(InFlight::Reject) };
    if placed.value.is_string() {
        return placed.choice(&["reject"]).map(|_| InFlight::Reject);
    }
    let path = placed.path.clone();
    let mut fields = placed.fields()?;
    let wait = fields.span("wait")?;
    fields.end()?;
    let message = "write \"reject\" or {\"wait\": \"10s\"}";
    wait.map(InFlight::Wait).ok_or(Fault { path, message: message.into() })
}

fn outcomes(fields: Fields) -> Result<Unique<KnowledgeName>, Fault> {
    use KnowledgeName::*;
    let names = ["committed", "rejected", "no-effect", "unknown"];
    let known = |placed: Placed| Ok(one(&[Committed, Rejected, NoEffect, Unknown], placed.choice(&names)?));
    fields.others().into_iter().map(|(status, placed)| Ok((status, known(placed)?))).collect()
}

fn origin(mut fields: Fields) -> Result<Origin, Fault> {
    let origin = Origin {
        deduplicates: fields.flag("deduplicates")?.unwrap_or_default(),
        fences: fields.flag("fences")?.unwrap_or_default(),
    };
    fields.end()?;
    Ok(origin)
}

fn replay(mut fields: Fields) -> Result<Replay, Fault> {
    let modes = [ReplayMode::Bytes, ReplayMode::Operation, ReplayMode::Refuse];
    let replay = Replay {
        mode: one(&modes, fields.choice("mode", &["bytes", "operation", "refuse"])?),
        store: one(&[Store::Full, Store::Status, Store::None], fields.choice("store", &["full", "status", "none"])?),
        headers: fields.texts("headers")?,
    };
    fields.end()?;
    Ok(replay)
}

fn limits(mut fields: Fields) -> Result<SizeLimits, Fault> {
    let limits = SizeLimits { request: fields.size("request")?, response: fields.size("response")? };
    fields.end()?;
    Ok(limits)
}

fn legacy(placed: Placed) -> Result<LegacyDocument, Fault> {
    let mut fields = placed.fields()?;
    let legacy = LegacyDocument { lookup: fields.need("lookup")?.text()?, max_body: fields.size("max_body")? };
    fields.end()?;
    Ok(legacy)
}

fn webhook(placed: Placed) -> Result<Webhook, Fault> {
    let mut fields = placed.fields()?;
    let webhook = Webhook {
        secrets: fields.texts("secrets")?,
        scheme: scheme(fields.need("scheme")?)?,
        tolerance: fields.span("tolerance")?,
    };
    fields.end()?;
    Ok(webhook)
}

fn scheme(placed: Placed) -> Result<SchemeName, Fault> {
    if placed.value.is_string() {
        let named = [SchemeName::Standard, SchemeName::Stripe, SchemeName::Github];
        let at = placed.choice(&["standard", "stripe", "github"])?;
        return Ok(named.into_iter().nth(at).unwrap_or(SchemeName::Standard));
    }
    let mut outer = placed.fields()?;
    let mut fields = outer.need("custom")?.fields()?;
    outer.end()?;
    let scheme = Scheme {
        signature: place(fields.need("signature")?)?,
        encoding: one(&[Encoding::Base64, Encoding::Hex], fields.need("encoding")?.choice(&["base64", "hex"])?),
        timestamp: fields.take("timestamp").map(place).transpose()?,
        id: fields.take("id").map(place).transpose()?,
        signed: fields.need("signed")?.text()?,
    };
    fields.end()?;
    Ok(SchemeName::Custom(scheme))
}

fn place(placed: Placed) -> Result<Place, Fault> {
    let path = placed.path.clone();
    let mut fields = placed.fields()?;
    let (header, separator) = (fields.need("header")?.text()?, fields.text("separator")?);
    let prefix = fields.text("prefix")?.unwrap_or_default();
    fields.end()?;
    let mut characters = separator.iter().flat_map(|text| text.chars());
    let separator = characters.next();
    match characters.next() {
        None => Ok(Place { header, separator, prefix }),
        Some(_) => Err(Fault { path: path + ".separator", message: "write one character".into() }),
    }
}

/// The value whose name was chosen.
fn one<T: Copy + Default>(of: &[T], at: usize) -> T {
    of.get(at).copied().unwrap_or_default()
}

fn number<T: TryFrom<u64>>(fields: &mut Fields, name: &'static str) -> Result<Option<T>, Fault> {
    Ok(fields.number(name, u64::from(u16::MAX))?.and_then(|number| T::try_from(number).ok()))
}
