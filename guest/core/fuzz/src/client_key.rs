//! The client key, wherever it may stand.

use oncegate_core::canonical::json::Wanted;
use oncegate_core::identity::{IdentityFault, KeyFormat, MAX_CLIENT_KEY, client_key, string_item};
use oncegate_core::policy::KeySource;
use oncegate_core::policy::document::KeyFormatDocument;
use oncegate_core::request::Head;

type Found = Result<Option<Vec<u8>>, IdentityFault>;

/// Runs the target.
pub fn run(data: &[u8]) {
    let (lenient, strict) = (in_header(&[data], true), in_header(&[data], false));
    assert!(in_header(&[data, data], true) == Err(IdentityFault::KeyRepeated), "two fields are never one key");
    if let Ok(found) = &strict {
        assert_eq!(lenient.as_ref(), Ok(found), "the lenient mode reads what the strict one does");
        assert_eq!(string_item(data.trim_ascii()).as_ref(), found.as_ref(), "a Structured Field String");
    }
    for found in [lenient, in_query(data), in_body(data)] {
        match found {
            Ok(Some(key)) => is_one_key(&key),
            Ok(None) => panic!("a key was given"),
            Err(fault) => assert!(matches!(fault, IdentityFault::KeyMalformed | IdentityFault::KeyRepeated)),
        }
    }
    assert_eq!(in_body(data).is_ok(), is_key(data), "in the body it stands as it is");
}

/// Whatever is accepted is accepted in every spelling, and is the same key.
fn is_one_key(key: &[u8]) {
    assert!(is_key(key), "{key:?}");
    let (told, quoted) = (Ok(Some(key.to_vec())), quote(key));
    assert_eq!(in_header(&[&quoted], true), told);
    assert_eq!(in_header(&[&quoted], false), told);
    assert_eq!(in_header(&[&[&quoted[..], b";a=?1;b=\"x\""].concat()], false), told, "parameters say nothing");
    assert_eq!(in_body(key), told);
    let bare = in_header(&[key], true);
    let plain = !key.iter().any(|byte| b" ,\"".contains(byte));
    assert_eq!(bare == told, plain, "bare and quoted agree, or it cannot be bare");
    let (in_query, spells) = (in_query(key), !key.iter().any(|byte| b"%+&".contains(byte)));
    assert_eq!(in_query == told, spells, "{in_query:?}");
    let source = source(Some("idempotency-key"), Some("key"), true);
    let other = if key == b"x" { b"y" } else { b"x" };
    let both = |query: &[u8]| client_key(&source, &head(&[&quoted], query), &Wanted::Text(key.to_vec()));
    if spells {
        assert_eq!(both(key), told, "three places agree");
        assert_eq!(both(other), Err(IdentityFault::KeyDisagreement));
    }
}

fn is_key(text: &[u8]) -> bool {
    (1..=MAX_CLIENT_KEY).contains(&text.len()) && text.iter().all(|byte| (0x20..=0x7e).contains(byte))
}

fn in_header(values: &[&[u8]], bare: bool) -> Found {
    client_key(&source(Some("idempotency-key"), None, bare), &head(values, b""), &Wanted::Absent)
}

fn in_query(value: &[u8]) -> Found {
    client_key(&source(None, Some("key"), true), &head(&[], value), &Wanted::Absent)
}

fn in_body(text: &[u8]) -> Found {
    client_key(&source(None, None, true), &Head::default(), &Wanted::Text(text.to_vec()))
}

fn source(header: Option<&str>, query: Option<&str>, bare: bool) -> KeySource {
    let format = KeyFormat::new(&KeyFormatDocument::default()).expect("any key may be");
    KeySource { header: header.map(Into::into), query: query.map(Into::into), body: None, required: true, bare, format }
}

fn head(values: &[&[u8]], query: &[u8]) -> Head {
    let headers = values.iter().map(|value| ("Idempotency-Key".into(), value.to_vec())).collect();
    Head { method: "POST".into(), target: [b"/orders?a=1&key=", query].concat(), headers }
}

/// RFC 9651, section 4.1.6.
fn quote(key: &[u8]) -> Vec<u8> {
    let escaped = key.iter().flat_map(|&byte| if b"\"\\".contains(&byte) { vec![b'\\', byte] } else { vec![byte] });
    [vec![b'"'], escaped.collect(), vec![b'"']].concat()
}
