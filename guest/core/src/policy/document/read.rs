//! From JSON to the document. What a value means is checked later; here it only has to have its type.

use alloc::string::String;

use super::fields::{Faults, Fields, Placed};
use super::*;
use crate::canonical::json::Form;
use crate::policy::ConfigurationError;
use crate::policy::webhook::{Encoding, Place, Scheme, SchemeName};

impl Document {
    /// Reads a document out of its canonical form.
    pub(in crate::policy) fn read(canonical: &[u8]) -> Result<Self, ConfigurationError> {
        let faults = Faults::default();
        let document = document(Placed { path: String::new(), form: Form(canonical), faults: &faults });
        match faults.first() {
            None => Ok(document),
            Some(fault) => Err(fault),
        }
    }
}

fn document(placed: Placed) -> Document {
    let mut fields = placed.fields();
    let document = Document {
        version: fields.number("version", u32::MAX).unwrap_or_default(),
        unmatched: one(&[Unmatched::Pass, Unmatched::Refuse], fields.choice("unmatched", &["pass", "refuse"])),
        ambiguous: ambiguous(&mut fields),
        described_by: fields.text("described_by"),
        rules: fields.need("rules").list().into_iter().map(rule).collect(),
    };
    fields.end();
    document
}

fn rule(placed: Placed) -> RuleDocument {
    let mut fields = placed.fields();
    let rule = RuleDocument {
        operation: fields.need("operation").text(),
        matches: matches(fields.need("match")),
        ambiguous: ambiguous(&mut fields),
        key: key(fields.object("key")),
        scope: scope(fields.need("scope")),
        fingerprint: fingerprint(fields.object("fingerprint")),
        previous: previous(fields.object("previous")),
        lease: fields.span("lease"),
        max_run: fields.span("max_run"),
        settle_bound: fields.span("settle_bound"),
        upstream_timeout: fields.span("upstream_timeout"),
        longest_pause: fields.span("longest_pause"),
        retention: retention(&mut fields),
        in_flight: in_flight(&mut fields),
        outcomes: outcomes(fields.object("outcomes")),
        max_attempts: fields.number("max_attempts", u32::MAX),
        committed_at: one(
            &[CommittedAt::End, CommittedAt::Headers],
            fields.choice("committed_at", &["end", "headers"]),
        ),
        origin: origin(fields.object("origin")),
        replay: replay(fields.object("replay")),
        limits: limits(fields.object("limits")),
        legacy: fields.take("legacy").map(legacy),
        webhook: fields.take("webhook").map(webhook),
        unsettled: one(
            &[Unsettled::Withhold, Unsettled::Release],
            fields.choice("unsettled", &["withhold", "release"]),
        ),
    };
    fields.end();
    rule
}

fn ambiguous(fields: &mut Fields) -> Ambiguous {
    one(&[Ambiguous::Refuse, Ambiguous::Accept], fields.choice("ambiguous", &["refuse", "accept"]))
}

fn matches(placed: Placed) -> Match {
    let mut fields = placed.fields();
    let methods = match fields.take("methods") {
        Some(methods) => methods.texts(),
        None => alloc::vec!["POST".into(), "PATCH".into()],
    };
    let matches = Match { methods, path: fields.need("path").text() };
    fields.end();
    matches
}

fn key(mut fields: Fields) -> KeyDocument {
    let key = KeyDocument {
        header: fields.text("header"),
        body: fields.text("body"),
        query: fields.text("query"),
        required: fields.flag("required"),
        bare: fields.flag("bare"),
        format: key_format(fields.object("format")),
    };
    fields.end();
    key
}

/// More than any length that is allowed.
const MOST: u32 = u16::MAX as u32;

fn key_format(mut fields: Fields) -> KeyFormatDocument {
    let format = KeyFormatDocument {
        min_length: fields.number("min_length", MOST).map(|number| number as usize),
        max_length: fields.number("max_length", MOST).map(|number| number as usize),
        characters: fields.text("characters"),
        entropy_bits: fields.number("entropy_bits", MOST).and_then(|number| u16::try_from(number).ok()),
    };
    fields.end();
    format
}

fn scope(placed: Placed) -> Scope {
    if placed.is_text() {
        if placed.text() != "shared" {
            placed.tell("write \"shared\", or an object of parts such as {\"tenant\": {\"header\": \"x-tenant\"}}");
        }
        return Scope::Shared;
    }
    Scope::Parts(placed.fields().all().into_iter().map(|(name, part)| (name, source(part))).collect())
}

fn source(placed: Placed) -> Source {
    let mut fields = placed.clone().fields();
    let found = [
        fields.text("header").map(Source::Header),
        fields.text("path").map(Source::Path),
        fields.text("constant").map(Source::Constant),
        fields.text("property").map(Source::Property),
    ];
    fields.end();
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(source), None) => source,
        _ => {
            placed.tell("write one of `header`, `path`, `constant`, `property`");
            Source::Constant(String::new())
        }
    }
}

fn fingerprint(mut fields: Fields) -> FingerprintDocument {
    use BodyProfile::*;
    let bodies = ["auto", "json", "jcs", "form", "multipart", "raw"];
    let queries = [QueryProfile::AsIs, QueryProfile::Sorted, QueryProfile::Ignore];
    let fingerprint = FingerprintDocument {
        body: one(&[Auto, Json, Jcs, Form, Multipart, Raw], fields.choice("body", &bodies)),
        exclude: fields.texts("exclude"),
        select: fields.texts("select"),
        retryable_rebind: fields.texts("retryable_rebind"),
        headers: fields.texts("headers"),
        properties: fields.texts("properties"),
        query: one(&queries, fields.choice("query", &["as_is", "sorted", "ignore"])),
        invalid: one(&[Invalid::Refuse, Invalid::Raw], fields.choice("invalid", &["refuse", "raw"])),
    };
    fields.end();
    fingerprint
}

fn previous(mut fields: Fields) -> Previous {
    let mut list = |name| fields.take(name).map(Placed::list).unwrap_or_default();
    let previous = Previous {
        scope: list("scope").into_iter().map(scope).collect(),
        fingerprint: list("fingerprint").into_iter().map(|placed| fingerprint(placed.fields())).collect(),
    };
    fields.end();
    previous
}

fn retention(fields: &mut Fields) -> Retention {
    let Some(placed) = fields.take("retention") else { return Retention::default() };
    match placed.text().as_str() {
        "forever" => Retention::Forever,
        text => match Span::parse(text) {
            Ok(span) => Retention::For(span.0),
            Err(message) => {
                placed.tell(&message);
                Retention::default()
            }
        },
    }
}

fn in_flight(fields: &mut Fields) -> InFlight {
    let Some(placed) = fields.take("in_flight") else { return InFlight::Reject };
    if placed.is_text() {
        placed.choice(&["reject"]);
        return InFlight::Reject;
    }
    let mut fields = placed.clone().fields();
    let wait = fields.span("wait");
    fields.end();
    if wait.is_none() {
        placed.tell("write \"reject\" or {\"wait\": \"10s\"}");
    }
    wait.map_or(InFlight::Reject, InFlight::Wait)
}

fn outcomes(fields: Fields) -> Unique<KnowledgeName> {
    use KnowledgeName::*;
    let names = ["committed", "rejected", "no-effect", "unknown"];
    let known = |placed: Placed| one(&[Committed, Rejected, NoEffect, Unknown], placed.choice(&names));
    fields.all().into_iter().map(|(status, placed)| (status, known(placed))).collect()
}

fn origin(mut fields: Fields) -> Origin {
    let origin = Origin {
        deduplicates: fields.flag("deduplicates").unwrap_or_default(),
        fences: fields.flag("fences").unwrap_or_default(),
    };
    fields.end();
    origin
}

fn replay(mut fields: Fields) -> Replay {
    let modes = [ReplayMode::Bytes, ReplayMode::Operation, ReplayMode::Refuse];
    let replay = Replay {
        mode: one(&modes, fields.choice("mode", &["bytes", "operation", "refuse"])),
        store: one(&[Store::Full, Store::Status, Store::None], fields.choice("store", &["full", "status", "none"])),
        headers: fields.texts("headers"),
    };
    fields.end();
    replay
}

fn limits(mut fields: Fields) -> SizeLimits {
    let limits = SizeLimits { request: fields.size("request"), response: fields.size("response") };
    fields.end();
    limits
}

fn legacy(placed: Placed) -> LegacyDocument {
    let mut fields = placed.fields();
    let legacy = LegacyDocument { lookup: fields.need("lookup").text(), max_body: fields.size("max_body") };
    fields.end();
    legacy
}

fn webhook(placed: Placed) -> Webhook {
    let mut fields = placed.fields();
    let webhook = Webhook {
        secrets: fields.texts("secrets"),
        scheme: scheme(fields.need("scheme")),
        tolerance: fields.span("tolerance"),
    };
    fields.end();
    webhook
}

fn scheme(placed: Placed) -> SchemeName {
    if placed.is_text() {
        return match placed.choice(&["standard", "stripe", "github"]) {
            1 => SchemeName::Stripe,
            2 => SchemeName::Github,
            _ => SchemeName::Standard,
        };
    }
    let mut outer = placed.fields();
    let mut fields = outer.need("custom").fields();
    outer.end();
    let scheme = Scheme {
        signature: place(fields.need("signature")),
        encoding: one(&[Encoding::Base64, Encoding::Hex], fields.need("encoding").choice(&["base64", "hex"])),
        timestamp: fields.take("timestamp").map(place),
        id: fields.take("id").map(place),
        signed: fields.need("signed").text(),
    };
    fields.end();
    SchemeName::Custom(scheme)
}

fn place(placed: Placed) -> Place {
    let mut fields = placed.clone().fields();
    let place = Place {
        header: fields.need("header").text(),
        separator: fields.text("separator").and_then(|text| {
            let mut characters = text.chars();
            let (one, more) = (characters.next(), characters.next());
            if more.is_some() {
                placed.tell("a separator is one character");
            }
            one
        }),
        prefix: fields.text("prefix").unwrap_or_default(),
    };
    fields.end();
    place
}

/// The value whose name was chosen.
fn one<T: Copy + Default>(of: &[T], at: usize) -> T {
    of.get(at).copied().unwrap_or_default()
}
