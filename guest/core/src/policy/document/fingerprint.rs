//! As written: what a client key looks like, and what defines the action beside it.

use alloc::string::String;
use alloc::vec::Vec;

/// What a client key must look like, for callers to read. What is left out allows what any key may be.
#[derive(Debug, Default)]
pub struct KeyFormatDocument {
    /// The fewest characters, 1 to 255.
    pub min_length: Option<usize>,
    /// The most characters, 1 to 255.
    pub max_length: Option<usize>,
    /// The characters allowed, such as `a-zA-Z0-9_-`: single ones and ranges; a `-` at either end stands for itself.
    pub characters: Option<String>,
    /// How many random bits a key should hold. Published, and not checked: nobody can tell from one key.
    pub entropy_bits: Option<u16>,
}

/// What defines the action beside the key. Method, operation and path parameters always do.
#[derive(Debug, Clone, Default)]
pub struct FingerprintDocument {
    /// How the body is read.
    pub body: BodyProfile,
    /// JSON Pointers to members that do not change the action; `*` stands for every element of an array. In a form or
    /// multipart body, `/name` stands for the fields or parts of that name. Bodies read as raw bytes are compared whole.
    pub exclude: Vec<String>,
    /// JSON Pointers to the only members that define the action, less what `exclude` names. Empty: all of them.
    pub select: Vec<String>,
    /// JSON Pointers to members that a retry may change after a failure without effect, and only then: a one-time password.
    pub retryable_rebind: Vec<String>,
    /// Headers that change what is done (a currency, an API version).
    pub headers: Vec<String>,
    /// Verified properties that change what the call may do.
    pub properties: Vec<String>,
    /// How the query belongs to the action.
    pub query: QueryProfile,
    /// What becomes of a body that cannot be canonicalized.
    pub invalid: Invalid,
}

/// How a body is read for the fingerprint. A body with a content coding, or in a text encoding other than UTF-8, is read as
/// raw bytes whatever the profile. See [`crate::canonical`] for what each equates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodyProfile {
    /// By its media type: JSON as exact JSON, forms and multipart forms as such, all else as raw bytes.
    #[default]
    Auto,
    /// As exact JSON, whatever its media type.
    Json,
    /// As JSON by RFC 8785, which rounds numbers to doubles, whatever its media type: not for amounts.
    Jcs,
    /// As `application/x-www-form-urlencoded`, whatever its media type.
    Form,
    /// As `multipart/form-data`; the media type must name the boundary.
    Multipart,
    /// As raw bytes.
    Raw,
}

/// How the query is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueryProfile {
    /// As the bytes that came: another order or spelling is another action.
    #[default]
    AsIs,
    /// As form-urlencoded pairs in order of their names; pairs of one name stay in order.
    Sorted,
    /// Not at all.
    Ignore,
}

/// What becomes of a body that cannot be canonicalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Invalid {
    /// 400 with the byte offset.
    #[default]
    Refuse,
    /// Taken as raw bytes.
    Raw,
}
