//! Which profile reads a body, and what the reading comes to.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::canonical::json::{Profile, Selection, Wanted};
use crate::canonical::media_type::{MediaType, trim};
use crate::canonical::{FormError, Parts, Reading, form, json, multipart};
use crate::policy::document::{BodyProfile, Invalid};
use crate::request::Head;

/// A body in the form that its plan gives it.
pub struct BodyForm<'b> {
    profile: &'static str,
    media_type: Vec<u8>,
    coding: Vec<u8>,
    form: Cow<'b, [u8]>,
    /// The client key, where the plan looks for it in the body.
    pub key: Wanted,
}

impl BodyForm<'_> {
    /// Adds the body to what the action is made of.
    pub(super) fn add_to(&self, parts: &mut Parts) {
        parts.add(self.profile.as_bytes()).add(&self.media_type).add(&self.coding).add(&self.form);
    }
}

/// How a body is to be read, and less which parameters its media type is compared then.
enum Reader<'m> {
    Raw,
    Json(Profile),
    Form,
    Multipart(&'m [u8]),
}

/// Brings a body into its form.
pub(super) fn read<'b>(
    profile: BodyProfile,
    invalid: Invalid,
    selection: &Selection,
    head: &Head,
    body: &'b [u8],
) -> Result<BodyForm<'b>, FormError> {
    let coding = coding(head);
    let media_type = media_type(head);
    let as_text = coding.is_empty() && media_type.as_ref().is_none_or(MediaType::is_utf8);
    let reader = match media_type.as_ref() {
        _ if body.is_empty() || !as_text => Reader::Raw,
        media_type => reader(profile, media_type),
    };
    let (name, less, reading): (_, &[&str], _) = match reader {
        Reader::Raw => ("raw", &[], None),
        Reader::Json(Profile::Exact) => ("json", &["charset"], Some(json::read(body, Profile::Exact, selection))),
        Reader::Json(Profile::Jcs) => ("jcs", &["charset"], Some(json::read(body, Profile::Jcs, selection))),
        Reader::Form => ("form", &["charset"], Some(Ok(form::read(body, selection)))),
        Reader::Multipart(boundary) => {
            ("multipart", &["boundary", "charset"], Some(multipart::read(body, boundary, selection)))
        }
    };
    let told = |less| media_type.as_ref().map_or_else(|| untold(head), |media_type| media_type.form(less));
    match reading {
        Some(Ok(Reading { form, wanted })) => {
            Ok(BodyForm { profile: name, media_type: told(less), coding, form: form.into(), key: wanted })
        }
        Some(Err(error)) if invalid == Invalid::Refuse => Err(error),
        _ => Ok(BodyForm { profile: "raw", media_type: told(&[]), coding, form: body.into(), key: Wanted::Absent }),
    }
}

fn reader(profile: BodyProfile, media_type: Option<&MediaType>) -> Reader<'_> {
    let boundary = media_type.and_then(|media_type| media_type.parameter("boundary"));
    match (profile, media_type) {
        (BodyProfile::Json, _) => Reader::Json(Profile::Exact),
        (BodyProfile::Jcs, _) => Reader::Json(Profile::Jcs),
        (BodyProfile::Form, _) => Reader::Form,
        (BodyProfile::Multipart, _) => Reader::Multipart(boundary.unwrap_or_default()),
        (BodyProfile::Auto, Some(media_type)) if media_type.is_json() => Reader::Json(Profile::Exact),
        (BodyProfile::Auto, Some(media_type)) => match media_type.essence() {
            "application/x-www-form-urlencoded" => Reader::Form,
            "multipart/form-data" => Reader::Multipart(boundary.unwrap_or_default()),
            _ => Reader::Raw,
        },
        (BodyProfile::Auto, None) | (BodyProfile::Raw, _) => Reader::Raw,
    }
}

/// The media type, if there is one, and only one.
fn media_type(head: &Head) -> Option<MediaType> {
    let mut lines = head.values("content-type");
    let (Some(value), None) = (lines.next(), lines.next()) else { return None };
    MediaType::parse(value)
}

/// What the header says that is no media type: no form of a media type begins with a line break.
fn untold(head: &Head) -> Vec<u8> {
    head.values("content-type").flat_map(|value| [b"\n", trim(value)].concat()).collect()
}

/// The content codings in lower case, or nothing where the body is plain (RFC 9110, section 8.4).
fn coding(head: &Head) -> Vec<u8> {
    let lines: Vec<&[u8]> = head.values("content-encoding").collect();
    let mut codings: Vec<Vec<u8>> =
        lines.join(&b',').split(|&byte| byte == b',').map(|coding| trim(coding).to_ascii_lowercase()).collect();
    codings.retain(|coding| !coding.is_empty() && coding != b"identity");
    codings.join(&b',')
}
