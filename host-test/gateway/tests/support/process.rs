//! The program as a child process.

use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// Every wait on a process is bounded by it.
pub const SOON: Duration = Duration::from_secs(60);

/// A running `oncegate`; it is killed when dropped.
pub struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Process {
    /// Starts it and waits until it listens.
    pub async fn start(arguments: &[impl AsRef<std::ffi::OsStr>]) -> Process {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        tokio::time::timeout(SOON, stdout.read_line(&mut line)).await.expect("it does not listen").unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("not the first line").parse().unwrap();
        Process { child, stdout, address }
    }

    /// SIGKILL, and wait for the end.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM.
    pub async fn terminate(&self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> ExitStatus {
        tokio::time::timeout(SOON, self.child.wait()).await.expect("it does not end").unwrap()
    }

    /// The next bytes of its standard output.
    pub async fn output(&mut self) -> String {
        let mut bytes = vec![0; 64 * 1024];
        let length = tokio::time::timeout(SOON, self.stdout.read(&mut bytes)).await.expect("no output").unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }
}

/// Runs it to its end: exit code and standard error.
pub async fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let running = command(arguments).output();
    let output = tokio::time::timeout(SOON, running).await.expect("it does not end").unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn command(arguments: &[impl AsRef<std::ffi::OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncegate"));
    command.args(arguments).stdin(Stdio::null()).env("RUST_LOG", "warn").kill_on_drop(true);
    command
}
