//! The key file: `{"partition": HEX, "secrets": [{"id": 1, "secret": HEX}]}`, readable by its owner only; the secrets of
//! webhooks stand there as well: `"webhooks": [{"name": NAME, "secret": HEX}]`.
//!
//! Whoever loses it loses every record: nothing that was made under its secrets can be found again.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use oncegate_core::keyring::{Keyring, Secret};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    partition: String,
    secrets: Vec<KeyFileSecret>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    webhooks: Vec<KeyFileWebhook>,
}

/// The key by which a webhook's sender signs, under the name that rules use.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileWebhook {
    name: String,
    secret: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileSecret {
    id: u32,
    secret: String,
}

/// Reads the key file; makes it first, if there is none.
pub(crate) fn load_or_make(path: &Path) -> Result<Keyring, Failure> {
    match load(path)? {
        Some(keyring) => Ok(keyring),
        None => {
            make(path)
                .map_err(|error| Failure::Run(format!("cannot make the key file {}: {error}", path.display())))?;
            tracing::warn!(file = %path.display(), "made a key file; keep it: without it no record can be found again");
            load(path)?.ok_or_else(|| Failure::Run(format!("the key file {} has gone again", path.display())))
        }
    }
}

fn load(path: &Path) -> Result<Option<Keyring>, Failure> {
    let wrong = |why: String| Failure::wrong(format_args!("key file {}", path.display()), why);
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let mode = fs::metadata(path).map_err(|error| wrong(error.to_string()))?.mode();
    if mode & 0o077 != 0 {
        return Err(wrong(format!("others may read or write it (mode {:03o}); run `chmod 600` on it", mode & 0o777)));
    }
    // The parser's own message would quote the file.
    let file: KeyFile = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("not a key file, see line {} column {}", error.line(), error.column())))?;
    let partition = unhex(&file.partition).ok_or_else(|| wrong("`partition` is not hexadecimal".into()))?;
    let secrets = file.secrets.iter().map(|held| Some(Secret { id: held.id, bytes: unhex(&held.secret)? }));
    let secrets = secrets.collect::<Option<_>>().ok_or_else(|| wrong("a `secret` is not hexadecimal".into()))?;
    let webhooks = file.webhooks.into_iter().map(|held| Some((held.name, unhex(&held.secret)?)));
    let webhooks =
        webhooks.collect::<Option<_>>().ok_or_else(|| wrong("a webhook's `secret` is not hexadecimal".into()))?;
    Ok(Some(Keyring { partition, secrets, webhooks }))
}

/// Makes the file whole or not at all, and never over another's: gateways may start side by side.
fn make(path: &Path) -> std::io::Result<()> {
    let secret = KeyFileSecret { id: 1, secret: fresh()? };
    let text = serde_json::to_vec_pretty(&KeyFile { partition: fresh()?, secrets: vec![secret], webhooks: vec![] })?;
    let draft = draft_of(path)?;
    let written = write_new(&draft, &text).and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    fs::remove_file(&draft)?;
    written?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}

fn draft_of(path: &Path) -> std::io::Result<PathBuf> {
    let mut name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    Ok(path.with_file_name(name))
}

fn write_new(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

fn fresh() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = digits.filter(|digits| digits.len() % 2 == 0)?;
    pairs.chunks_exact(2).map(|pair| u8::try_from(pair.iter().fold(0, |byte, digit| byte * 16 + digit)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_file_is_made_once_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let made = load_or_make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!((made.partition.len(), made.secrets[0].id, made.secrets[0].bytes.len()), (32, 1, 32));
        let again = load_or_make(&path).unwrap();
        assert_eq!((again.partition, &again.secrets[0].bytes), (made.partition, &made.secrets[0].bytes));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_key_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        load_or_make(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let Err(Failure::Use(message)) = load_or_make(&path) else { panic!("it was read") };
        assert!(message.contains("chmod 600"), "{message}");
    }

    #[test]
    fn a_broken_key_file_is_refused_without_being_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        write_new(&path, br#"{"partition":"c0ffee","secrets":[{"id":"c0ffee"}]}"#).unwrap();
        let Err(Failure::Use(message)) = load_or_make(&path) else { panic!("it was read") };
        assert!(!message.contains("c0ffee"), "{message}");
    }
}
