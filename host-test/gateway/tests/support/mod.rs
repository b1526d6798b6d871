//! What the tests share: the program as child processes on free ports, a plain HTTP client, and an origin in the test.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

pub mod client;
pub mod origin;
pub mod process;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use self::client::Ask;
use self::process::Process;

/// A folder, a sample origin, and as many gateways in front of it as are started.
pub struct World {
    pub folder: TempDir,
    pub origin: Process,
}

impl World {
    /// The sample origin, and a policy for it.
    pub async fn start(policy: Value) -> World {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.json"), policy.to_string()).unwrap();
        let origin = Process::start(&["origin", "--listen", "127.0.0.1:0"]).await;
        World { folder, origin }
    }

    /// A gateway on this world's store and keys.
    pub async fn gateway(&self, more: &[&str]) -> Process {
        let origin = format!("http://{}", self.origin.address);
        Process::start(&gateway_arguments(self.folder.path(), &origin, more)).await
    }

    /// How often the origin was asked for one of these.
    pub async fn calls(&self, kind: &str) -> u64 {
        self.books().await["calls"][kind].as_u64().unwrap()
    }

    /// How many of these there are.
    pub async fn effects(&self, kind: &str) -> u64 {
        self.books().await["effects"][kind].as_u64().unwrap()
    }

    async fn books(&self) -> Value {
        Ask::get("/_origin/calls").send(self.origin.address).await.json()
    }

    /// Returns once the origin was asked so often.
    pub async fn reached(&self, kind: &str, calls: u64) {
        let reached = async {
            while self.calls(kind).await < calls {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reached).await.expect("the origin was not asked");
    }
}

/// Compiling the component takes longer than most tests.
pub const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// `serve` with the files of this folder.
pub fn gateway_arguments(folder: &Path, origin: &str, more: &[&str]) -> Vec<String> {
    let file = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let mut arguments: Vec<String> = ["serve", "--listen", "127.0.0.1:0", "--origin", origin].map(String::from).into();
    arguments.extend(["--store".into(), format!("sqlite:{}", file("once.sqlite"))]);
    arguments.extend(["--keys".into(), file("keys.json")]);
    arguments.extend(["--cache".into(), CACHE.into()]);
    if !more.contains(&"--scope") {
        arguments.extend(["--policy".into(), file("policy.json")]);
    }
    arguments.extend(more.iter().map(|argument| argument.to_string()));
    arguments
}

/// The policy of most tests. `more` is merged into each rule.
pub fn policy(more: Value) -> Value {
    let rule = |operation: &str, path: &str, scope: Value| {
        let mut rule = json!({
            "operation": operation,
            "match": { "methods": ["POST"], "path": path },
            "key": { "header": "Idempotency-Key", "body": "/idempotency_key", "required": true },
            "scope": scope,
        });
        for (name, value) in more.as_object().unwrap() {
            rule[name] = value.clone();
        }
        rule
    };
    let tenant = json!({ "header": "X-Tenant" });
    json!({
        "version": 1,
        "unmatched": "pass",
        "rules": [
            rule("create-order", "/orders", json!({ "tenant": tenant })),
            rule("create-booking", "/bookings/{item}", json!({ "tenant": tenant, "item": { "path": "item" } })),
        ],
    })
}
