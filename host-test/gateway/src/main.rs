//! `oncegate`: the native gateway. It parses the command line, starts what it asks for and turns the end into an exit
//! code; every rule about requests is in the component that it runs.

mod auth;
mod check;
mod cli;
mod failure;
mod key_policy;
mod keys;
mod listen;
mod origin;
mod policy;
mod sample;
mod serve;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, LogFormat};
use crate::failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr(cli.log);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::Run(format!("cannot start: {error}")).report(),
    };
    let ended = runtime.block_on(async {
        match cli.command {
            Command::Serve(options) => serve::run(*options).await,
            Command::Check(options) => check::run(&options),
            Command::Origin(options) => sample::run(options).await,
        }
    });
    // What still runs was given its time; a stuck store must not keep the process.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn log_to_stderr(format: LogFormat) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let coloured = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(coloured);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}
