//! From the document to the checked policy. Each fault names its place and what to write instead.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use sha2::{Digest, Sha256};

use super::document::{
    BodyProfile, CommittedAt, Document, FingerprintDocument, KeyDocument, KnowledgeName, LegacyDocument, ReplayMode,
    RuleDocument, Scope, Source, Store, Unique,
};
use super::target::Template;
use super::webhook::Webhook;
use super::{ConfigurationError, KeySource, Legacy, Policy, Rule, StatusPattern, TargetPart};
use crate::answer::{self, is_token};
use crate::canonical::json;
use crate::decision::Knowledge;
use crate::identity::KeyFormat;
use crate::plan::Plan;

const MIB: u64 = 1 << 20;
const MAX_BODY: u64 = 64 * MIB;
const MAX_RULES: usize = 1024;

type Fault = ConfigurationError;

pub(super) fn policy(bytes: &[u8]) -> Result<Policy, Fault> {
    // The canonical form rejects duplicate members, which serde_json would quietly merge.
    let canonical =
        json::canonicalize(bytes).map_err(|error| fault("", format!("the policy is no JSON document: {error}")))?;
    let document = Document::read(&canonical)?;
    if document.version != 1 {
        return Err(fault("version", format!("version {} is not known here: write 1", document.version)));
    }
    if document.rules.len() > MAX_RULES {
        return Err(fault("rules", format!("more than {MAX_RULES} rules: split the policy")));
    }
    let mut rules: Vec<Arc<Rule>> = Vec::with_capacity(document.rules.len());
    for (at, written) in document.rules.into_iter().enumerate() {
        let checked = rule(written).map_err(|fault| Fault { path: format!("rules[{at}].{}", fault.path), ..fault })?;
        if rules.iter().any(|other| other.operation == checked.operation) {
            return Err(fault(&format!("rules[{at}].operation"), "the name is taken: operations are unique".into()));
        }
        rules.push(Arc::new(checked));
    }
    let described_by = document.described_by;
    if described_by
        .as_ref()
        .is_some_and(|link| link.is_empty() || !link.bytes().all(|b| b.is_ascii_graphic() && b != b'>'))
    {
        return Err(fault("described_by", "write a URI reference such as `/idempotency`".into()));
    }
    Ok(Policy {
        unmatched: document.unmatched,
        ambiguous: document.ambiguous,
        described_by,
        rules,
        digest: Sha256::digest(&canonical).into(),
    })
}

fn rule(written: RuleDocument) -> Result<Rule, Fault> {
    let operation_fits = (1..=64).contains(&written.operation.len())
        && written.operation.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
    if !operation_fits {
        return Err(fault("operation", "write 1 to 64 of a-z, 0-9, `.`, `_`, `-`".into()));
    }
    let template = Template::parse(&written.matches.path).map_err(|why| fault("match.path", why.into()))?;
    if written.matches.methods.is_empty() {
        return Err(fault("match.methods", "name at least one method".into()));
    }
    if let Some(method) = written.matches.methods.iter().find(|method| !is_token(method)) {
        return Err(fault("match.methods", format!("`{method}` is no method")));
    }
    let scope = scope_parts("scope", written.scope, &template)?;
    let earlier_scopes = earlier("scope", written.previous.scope, |path, scope| scope_parts(path, scope, &template))?;
    let key = key(written.key, written.webhook.as_ref())?;
    let plan = fingerprint_plan("fingerprint", written.fingerprint, &key)?;
    let earlier_plans =
        earlier("fingerprint", written.previous.fingerprint, |path, written| fingerprint_plan(path, written, &key))?;
    let lease = written.lease.map_or(Duration::from_secs(60), |span| span.0);
    let max_run = written.max_run.map_or(lease, |span| span.0);
    if max_run < lease {
        return Err(fault("max_run", "shorter than the lease: write at least the lease, or leave it out".into()));
    }
    let settle_bound = written.settle_bound.map_or((lease / 6).min(Duration::from_secs(10)), |span| span.0);
    let longest = max_run.saturating_sub(settle_bound);
    if settle_bound >= lease {
        return Err(fault("settle_bound", "not shorter than the lease: nothing would be left for the origin".into()));
    }
    let upstream_timeout = written.upstream_timeout.map_or(longest, |span| span.0);
    if upstream_timeout > longest {
        let message = "longer than `max_run` (or the lease) less `settle_bound`: the lease would end before the answer";
        return Err(fault("upstream_timeout", message.into()));
    }
    if written.max_attempts == Some(0) {
        return Err(fault("max_attempts", "write at least 1, or leave it out".into()));
    }
    if written.replay.store == Store::None && written.replay.mode != ReplayMode::Refuse {
        return Err(fault(
            "replay.store",
            "with `none` there is nothing to replay: write `\"mode\": \"refuse\"`".into(),
        ));
    }
    let held = size("limits.response", written.limits.response.map(|size| size.0))?;
    let max_response = match written.committed_at {
        CommittedAt::End => held,
        CommittedAt::Headers => 0,
    };
    let legacy = written.legacy.map(|legacy| self::legacy(legacy, &template)).transpose()?;
    let webhook = written.webhook.map(self::webhook).transpose()?;
    if webhook.is_some() && (!key.required || written.replay.mode == ReplayMode::Refuse) {
        let message = "a signed event always has an id, and a known one is answered as it was: drop `key.required` and \
                       `replay.mode`";
        return Err(fault("webhook", message.into()));
    }
    Ok(Rule {
        operation: written.operation,
        methods: written.matches.methods,
        template,
        ambiguous: written.ambiguous,
        key,
        scope,
        earlier_scopes,
        plan,
        earlier_plans,
        lease,
        max_run,
        settle_bound,
        upstream_timeout,
        longest_pause: written.longest_pause.map_or(Duration::from_secs(60), |span| span.0),
        retention: written.retention,
        in_flight: written.in_flight,
        outcomes: outcomes(written.outcomes)?,
        max_attempts: written.max_attempts,
        deduplicates: written.origin.deduplicates,
        fences: written.origin.fences,
        replay: written.replay.mode,
        store: written.replay.store,
        replayed: replayed(written.replay.headers)?,
        max_request: size("limits.request", written.limits.request.map(|size| size.0))?,
        max_response,
        legacy,
        webhook,
        unsettled: written.unsettled,
    })
}

fn earlier<T, U>(name: &str, written: Vec<T>, check: impl Fn(&str, T) -> Result<U, Fault>) -> Result<Vec<U>, Fault> {
    written.into_iter().enumerate().map(|(at, one)| check(&format!("previous.{name}[{at}]"), one)).collect()
}

fn scope_parts(path: &str, scope: Scope, template: &Template) -> Result<Scope, Fault> {
    let Scope::Parts(parts) = scope else { return Ok(Scope::Shared) };
    if !parts.iter().any(|(name, _)| name == "tenant") {
        let message = "no part named `tenant`: name where the tenant comes from, or write \"shared\" if all callers \
                       are to share one space of keys";
        return Err(fault(path, message.into()));
    }
    let mut checked = Vec::with_capacity(parts.len());
    for (name, source) in parts {
        let place = format!("{path}.{name}");
        let source = match source {
            Source::Header(header) => Source::Header(header_name(&place, &header)?),
            Source::Path(parameter) if !template.parameters().contains(&parameter.as_str()) => {
                return Err(fault(&place, format!("the path template has no parameter {{{parameter}}}")));
            }
            Source::Constant(text) | Source::Property(text) if text.is_empty() => {
                return Err(fault(&place, "empty: write what it stands for".into()));
            }
            other => other,
        };
        checked.push((name, source));
    }
    Ok(Scope::Parts(checked))
}

fn key(written: KeyDocument, webhook: Option<&Webhook>) -> Result<KeySource, Fault> {
    let header = match (&written.header, &written.body, &written.query) {
        (Some(name), _, _) => Some(header_name("key.header", name)?),
        (None, None, None) => Some(webhook.map_or("idempotency-key", Webhook::id_header).to_string()),
        (None, _, _) => None,
    };
    if let Some(text) = &written.body
        && pointer("key.body", text)?.is_wild()
    {
        return Err(fault("key.body", "`*` may stand for several places: name the one that holds the key".into()));
    }
    if written.query.as_deref() == Some("") {
        return Err(fault("key.query", "empty: name the query parameter".into()));
    }
    Ok(KeySource {
        header,
        body: written.body,
        query: written.query,
        required: written.required.unwrap_or(true),
        bare: written.bare.unwrap_or(true),
        format: KeyFormat::new(&written.format)
            .map_err(|(field, why)| fault(&format!("key.format.{field}"), why.into()))?,
    })
}

fn fingerprint_plan(path: &str, written: FingerprintDocument, key: &KeySource) -> Result<Plan, Fault> {
    let lists =
        [("exclude", &written.exclude), ("select", &written.select), ("retryable_rebind", &written.retryable_rebind)];
    for (name, list) in lists {
        for (at, text) in list.iter().enumerate() {
            pointer(&format!("{path}.{name}[{at}]"), text)?;
        }
        if !list.is_empty() && written.body == BodyProfile::Raw {
            return Err(fault(&format!("{path}.{name}"), "raw bytes have no members: choose another `body`".into()));
        }
    }
    let mut headers = Vec::new();
    for (at, name) in written.headers.iter().enumerate() {
        let place = format!("{path}.headers[{at}]");
        let name = header_name(&place, name)?;
        if matches!(name.as_str(), "authorization" | "proxy-authorization" | "cookie") {
            let message = "a credential changes between honest retries: use a verified property instead";
            return Err(fault(&place, message.into()));
        }
        headers.push(name);
    }
    Plan::new(&written, headers, key).ok_or_else(|| {
        let message = format!("more than {} pointers in all: name what holds them", json::MAX_POINTERS);
        fault(&format!("{path}.exclude"), message)
    })
}

fn legacy(written: LegacyDocument, template: &Template) -> Result<Legacy, Fault> {
    let mut target = Vec::new();
    let mut rest = written.lookup.as_str();
    if !rest.starts_with('/') {
        return Err(fault("legacy.lookup", "write a path at the origin, such as `/orders/{order}`".into()));
    }
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) =
            after.split_once('}').ok_or_else(|| fault("legacy.lookup", "a `{` without its `}`".into()))?;
        target.push(TargetPart::Literal(before.into()));
        target.push(match name {
            "key" => TargetPart::Key,
            name if template.parameters().contains(&name) => TargetPart::Parameter(name.into()),
            name => return Err(fault("legacy.lookup", format!("the path template has no parameter {{{name}}}"))),
        });
        rest = after;
    }
    target.push(TargetPart::Literal(rest.into()));
    Ok(Legacy { target, max_body: written.max_body.map_or(64 * 1024, |size| size.0).min(MIB) })
}

fn webhook(written: Webhook) -> Result<Webhook, Fault> {
    if written.secrets.is_empty() {
        return Err(fault("webhook.secrets", "name at least one secret of the keyring".into()));
    }
    if !written.scheme.scheme().signed.contains("{body}") {
        return Err(fault(
            "webhook.scheme.custom.signed",
            "the body is not signed: write `{body}` where it stands".into(),
        ));
    }
    Ok(written)
}

fn outcomes(written: Unique<KnowledgeName>) -> Result<Vec<(StatusPattern, Knowledge)>, Fault> {
    let (mut patterns, mut classes) = (Vec::new(), Vec::new());
    for (status, knowledge) in written {
        let pattern = match status.as_bytes() {
            [digit @ b'2'..=b'5', b'x', b'x'] => Some(StatusPattern::Class(u16::from(digit - b'0'))),
            [b'2'..=b'5', _, _] => status.parse().ok().map(StatusPattern::Exactly),
            _ => None,
        };
        let message = "write a status from 200 to 599, or a class such as `5xx`";
        let pattern = pattern.ok_or_else(|| fault(&format!("outcomes.{status}"), message.into()))?;
        match pattern {
            StatusPattern::Exactly(_) => patterns.push((pattern, knowledge.into())),
            StatusPattern::Class(_) => classes.push((pattern, knowledge.into())),
        }
    }
    // Exact statuses are met first.
    patterns.append(&mut classes);
    Ok(patterns)
}

fn replayed(written: Vec<String>) -> Result<Vec<String>, Fault> {
    let mut names: Vec<String> = answer::REPLAYED.iter().map(|name| name.to_string()).collect();
    for (at, name) in written.iter().enumerate() {
        let place = format!("replay.headers[{at}]");
        let name = header_name(&place, name)?;
        if answer::is_framing(&name) {
            return Err(fault(&place, format!("`{name}` belongs to one connection and is made anew for each answer")));
        }
        names.push(name);
    }
    Ok(names)
}

fn size(path: &str, written: Option<u64>) -> Result<u64, Fault> {
    match written.unwrap_or(MIB) {
        bytes if bytes <= MAX_BODY => Ok(bytes),
        _ => Err(fault(path, "more than 64 MiB: bodies are held in memory".into())),
    }
}

fn header_name(path: &str, name: &str) -> Result<String, Fault> {
    if is_token(name) { Ok(name.to_ascii_lowercase()) } else { Err(fault(path, format!("`{name}` is no header name"))) }
}

fn pointer(path: &str, text: &str) -> Result<json::Pointer, Fault> {
    json::Pointer::parse(text)
        .ok_or_else(|| fault(path, format!("`{text}` is no JSON Pointer (RFC 6901): write it as `/member/member`")))
}

fn fault(path: &str, message: String) -> Fault {
    Fault { path: path.into(), message }
}

impl From<KnowledgeName> for Knowledge {
    fn from(name: KnowledgeName) -> Self {
        match name {
            KnowledgeName::Committed => Knowledge::Committed,
            KnowledgeName::Rejected => Knowledge::Rejected,
            KnowledgeName::NoEffect => Knowledge::NoEffect,
            KnowledgeName::Unknown => Knowledge::Unknown,
        }
    }
}
