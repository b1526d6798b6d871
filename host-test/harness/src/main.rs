//! The command: plays cases, and prints what came of them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand, ValueEnum};
use oncegate_harness::report;
use oncegate_harness::run::{Verdict, run};
use oncegate_harness::subject::{Component, Core, Serve, Subject};
use oncegate_harness::tables;
use oncegate_harness::vector::{File, SHIPPED};

/// Plays conformance cases against oncegate.
#[derive(Parser)]
#[command(version, about, after_help = HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play cases and print a table of rows, origin calls and results. Exit code 1 if one failed.
    #[command(after_help = HELP)]
    Run {
        /// What plays them: the core natively, the component in wasmtime, `oncegate serve` over HTTP, or all of these.
        #[arg(long, value_enum, default_value_t = Which::All)]
        subject: Which,
        /// Where core and component keep records: `memory` or `sqlite:FILE`. Cases on one store never meet.
        #[arg(long, default_value = "memory", value_name = "URL")]
        store: String,
        /// The gateway's program for the subject `serve`. Left out: `oncegate` beside this program.
        #[arg(long, value_name = "FILE")]
        gateway: Option<PathBuf>,
        /// Files of cases. Left out: those that are shipped.
        files: Vec<PathBuf>,
    },
    /// Print README's tables from the code.
    Tables,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Which {
    Core,
    Component,
    Serve,
    All,
}

const HELP: &str = "Examples:
  cargo build && cargo run -p oncegate-harness -- run
      all shipped cases with all subjects; `serve` needs the gateway to be built
  cargo run -p oncegate-harness -- run --subject core --store sqlite:/tmp/cases.sqlite host-test/harness/vectors/replay.json
      one file, on a store that is kept
  cargo run -p oncegate-harness -- tables
      the text between the marks <!-- tables --> and <!-- /tables --> of README.md

A case is a history: requests, outcomes and what must come of each step, every answer with the number of origin calls.
The format is told in the documentation of the module `vector` (cargo doc -p oncegate-harness --open). A subject that
cannot play a case says why: the gateway's clock cannot be set, so over HTTP only cases in which time plays no part are
played.";

#[tokio::main]
async fn main() -> ExitCode {
    let played = match Cli::parse().command {
        Command::Tables => {
            print!("{}", tables::markdown());
            return ExitCode::SUCCESS;
        }
        Command::Run { subject, store, gateway, files } => play(subject, &store, gateway, &files).await,
    };
    match played {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("oncegate-harness: {why}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing failed.
async fn play(which: Which, store: &str, gateway: Option<PathBuf>, files: &[PathBuf]) -> Result<bool, String> {
    let store = oncegate_host::store::open(store).await.map_err(|error| error.to_string())?;
    let mut reports = Vec::new();
    for (name, file) in read(files)? {
        for subject in subjects(which, gateway.clone())? {
            reports.extend(run(&name, &file, &*subject, &store).await);
        }
    }
    print!("{}", report::table(&reports));
    Ok(!reports.iter().any(|report| matches!(report.verdict, Verdict::Failed(_))))
}

fn read(files: &[PathBuf]) -> Result<Vec<(String, Arc<File>)>, String> {
    if files.is_empty() {
        let parse = |(name, text): &(&str, &str)| Ok((name.to_string(), Arc::new(File::parse(text)?)));
        return SHIPPED.iter().map(parse).collect();
    }
    let mut read = Vec::new();
    for path in files {
        let fault = |why: String| format!("{}: {why}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        read.push((name, Arc::new(File::parse(&text).map_err(fault)?)));
    }
    Ok(read)
}

fn subjects(which: Which, gateway: Option<PathBuf>) -> Result<Vec<Box<dyn Subject>>, String> {
    let wanted = |one| which == one || which == Which::All;
    let mut subjects: Vec<Box<dyn Subject>> = Vec::new();
    if wanted(Which::Core) {
        subjects.push(Box::new(Core));
    }
    if wanted(Which::Component) {
        subjects.push(Box::new(Component));
    }
    if wanted(Which::Serve) {
        subjects.push(Box::new(match gateway {
            Some(program) => Serve::new(program),
            None => Serve::beside_this_program()?,
        }));
    }
    Ok(subjects)
}
