//! `oncegate serve` over HTTP: the real program as a child process, with an origin of the harness's behind it.
//!
//! An `admit` is a request, and an attempt is in flight from when the origin has it until its `settle` tells what the
//! origin does. Nothing is waited for but requests and answers. What cannot be seen from outside is not compared, and the
//! clock cannot be set, so only cases are played in which time plays no part.

mod client;
mod origin;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use oncegate_core::request::{Response, values};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use self::origin::{Arrival, Origin, Reply};
use super::{Play, Stage, Subject};
use crate::expect::member;
use crate::seen::{Seen, SeenAttempt, Sight};
use crate::vector::{Act, Case, File, OutcomeDocument, Ref, Step, Told};

/// Every wait is bounded by it.
const SOON: Duration = Duration::from_secs(20);

/// The gateway's program.
#[derive(Debug)]
pub struct Serve {
    program: PathBuf,
}

impl Serve {
    /// Plays cases with this program.
    pub fn new(program: PathBuf) -> Self {
        Serve { program }
    }

    /// The `oncegate` that was built with this program.
    ///
    /// # Errors
    /// There is none.
    pub fn beside_this_program() -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        // Tests lie one directory deeper.
        let found =
            own.ancestors().skip(1).take(2).map(|directory| directory.join("oncegate")).find(|path| path.is_file());
        found.map(Serve::new).ok_or_else(|| "the gateway is not built: run `cargo build -p oncegate`".to_string())
    }
}

#[async_trait]
impl Subject for Serve {
    fn name(&self) -> &'static str {
        "serve"
    }

    fn cannot(&self, file: &File, case: &Case) -> Option<&'static str> {
        if !case.is_timeless() {
            return Some("needs a clock that can be set");
        }
        let mut settled = Vec::new();
        case.steps.iter().find_map(|step| match &step.act {
            _ if !step.store.is_empty() => Some("needs a store that fails"),
            Act::Admit { waited: true, .. } | Act::Admit { amnesia_until: Some(_), .. } => Some("needs a host's word"),
            Act::Admit { request, .. } => {
                let verified = file.request(request).is_ok_and(|request| !request.properties.is_empty());
                verified.then_some("needs verified properties")
            }
            Act::Settle { outcome: OutcomeDocument::Told(Told::NotSent(_)), .. } => {
                Some("needs an origin that is away")
            }
            Act::Settle { outcome: OutcomeDocument::Told(Told::Oversized(_)), .. } => Some("needs a streamed answer"),
            Act::Settle { attempt, .. } if settled.contains(&attempt) => Some("settles twice"),
            Act::Settle { attempt, .. } => {
                settled.push(attempt);
                None
            }
            Act::Tamper { .. } => Some("needs a store that can be reached"),
            Act::Configure { .. } => Some("needs another configuration"),
            Act::Renew { .. } => Some("needs a clock that can be set"),
            Act::Resolve { .. } | Act::Explain { .. } | Act::Forget { .. } | Act::Lookup { .. } => {
                Some("cannot be told over HTTP")
            }
        })
    }

    async fn begin(&self, stage: Stage) -> Result<Box<dyn Play>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let policy = folder.path().join("policy.json");
        std::fs::write(&policy, stage.file.policy(None)?).map_err(|error| error.to_string())?;
        let origin = Origin::start().await?;
        let mut child = self.command(&origin, folder.path(), &policy).spawn().map_err(|error| error.to_string())?;
        let stdout = child.stdout.take().ok_or("the gateway has no standard output")?;
        let mut line = String::new();
        let mut reader = BufReader::new(stdout);
        match tokio::time::timeout(SOON, reader.read_line(&mut line)).await {
            Ok(Ok(_)) => {}
            _ => return Err("the gateway does not start".into()),
        }
        let address = line.trim().strip_prefix("listening on http://").unwrap_or_default().to_string();
        if address.is_empty() {
            return Err(format!("the gateway does not listen: {line}"));
        }
        let (exchanges, actions) = (BTreeMap::new(), BTreeMap::new());
        Ok(Box::new(Playing { stage, child, address, origin, exchanges, actions, _folder: folder, _stdout: reader }))
    }
}

impl Serve {
    fn command(&self, origin: &Origin, folder: &Path, policy: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--store", "memory", "--origin"]);
        command.arg(format!("http://{}", origin.address()));
        command.arg("--policy").arg(policy).arg("--keys").arg(folder.join("keys.json"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).current_dir(folder);
        command.env("RUST_LOG", "error").kill_on_drop(true);
        command
    }
}

struct Playing {
    stage: Stage,
    child: Child,
    address: String,
    origin: Origin,
    /// Attempts in flight.
    exchanges: BTreeMap<String, Exchange>,
    /// The first attempt of each action, as the origin was told.
    actions: BTreeMap<Vec<u8>, String>,
    _folder: TempDir,
    // Kept open, or the gateway cannot print.
    _stdout: BufReader<tokio::process::ChildStdout>,
}

struct Exchange {
    asking: JoinHandle<Result<Response, String>>,
    arrival: Arrival,
}

impl Playing {
    async fn admit(&mut self, step: &Step, name: &str, request: crate::vector::PlainRequest) -> Result<Seen, String> {
        let mut asking = tokio::spawn(client::ask(self.address.clone(), request));
        let arrival = tokio::select! {
            answer = &mut asking => return Ok(answered(answer.map_err(|error| error.to_string())??)),
            arrival = self.origin.next() => arrival?,
        };
        if !step.expect.claims() {
            // Forwarded untouched: the answer is of no interest.
            arrival.reply.send(Reply::Answer(Response { status: 200, headers: Vec::new(), body: Vec::new() })).ok();
            asking.await.map_err(|error| error.to_string())??;
            return Ok(Seen { sight: Sight::Outside, ..Seen::default() });
        }
        let one = |field: &str| values(&arrival.headers, field).next().map(<[u8]>::to_vec).unwrap_or_default();
        let fence = String::from_utf8_lossy(&one("oncegate-fence")).parse().map_err(|_| "the origin got no fence")?;
        let action = one("oncegate-action");
        let known = self.actions.get(&action).cloned();
        self.actions.entry(action).or_insert_with(|| name.to_string());
        let action_of = known.unwrap_or_else(|| "new".to_string());
        let attempt = Some(SeenAttempt { fence, tries: None, action_of, answer_by: None });
        let sent = arrival.headers.clone();
        self.exchanges.insert(name.to_string(), Exchange { asking, arrival });
        Ok(Seen { sight: Sight::Outside, attempt, sent, ..Seen::default() })
    }

    async fn settle(&mut self, attempt: &str, outcome: &OutcomeDocument) -> Result<Seen, String> {
        let response = |response| self.stage.file.response(response);
        let reply = match outcome {
            OutcomeDocument::Named(name) => Reply::Answer(response(&Ref::Named(name.clone()))?),
            OutcomeDocument::Told(Told::Answered(answer)) => Reply::Answer(response(answer)?),
            OutcomeDocument::Told(_) => Reply::BreakOff,
        };
        let exchange = self.exchanges.remove(attempt).ok_or("the origin did not get this attempt")?;
        exchange.arrival.reply.send(reply).map_err(|_| "the gateway no longer waits for the origin")?;
        Ok(answered(exchange.asking.await.map_err(|error| error.to_string())??))
    }
}

#[async_trait]
impl Play for Playing {
    async fn play(&mut self, step: &Step) -> Result<Seen, String> {
        let playing = async {
            match &step.act {
                Act::Admit { request, name, .. } => {
                    let request = self.stage.file.request(request)?;
                    self.admit(step, name.as_deref().unwrap_or_default(), request).await
                }
                Act::Settle { attempt, outcome } => self.settle(attempt.as_deref().unwrap_or_default(), outcome).await,
                _ => Err("this cannot be played over HTTP".to_string()),
            }
        };
        let seen = tokio::time::timeout(SOON, playing).await.map_err(|_| "nothing happens any more")??;
        Ok(Seen { origin_calls: self.origin.calls(), ..seen })
    }

    async fn end(mut self: Box<Self>) -> Result<(), String> {
        for exchange in self.exchanges.values() {
            exchange.asking.abort();
        }
        self.child.kill().await.map_err(|error| error.to_string())
    }
}

/// The client's answer; a problem document names its row.
fn answered(response: Response) -> Seen {
    let row = member(&response, "row");
    Seen { sight: Sight::Outside, row, response: Some(response), ..Seen::default() }
}
