//! The compiled component is kept where the embedder says. A test of its own process, since it is compiled once in one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

mod kit;

use std::sync::Arc;

use kit::{POLICY, keyring};
use oncegate_host::store::Memory;
use oncegate_host::{Enforcer, Options};

#[cfg(unix)]
#[tokio::test]
async fn the_compiled_component_is_kept_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let options = Options { cache: Some(directory.path().to_owned()), ..Options::default() };
    let made = Enforcer::new(POLICY.as_bytes(), &keyring(), Arc::new(Memory::new()), options).await;
    assert!(made.is_ok());
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    let [file] = &files[..] else { panic!("not one file: {files:?}") };
    assert!(file.file_name().to_string_lossy().ends_with(".cwasm"));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
