//! `oncegate check`: whether a policy is one, and what it would forget of the one before.

use std::fs;
use std::path::Path;

use oncegate_core::policy::Policy;

use crate::cli::CheckOptions;
use crate::failure::Failure;

/// Reads the policy, and holds it against the older one, if there is one.
pub(crate) fn run(options: &CheckOptions) -> Result<(), Failure> {
    let policy = load(&options.policy)?;
    if let Some(old) = &options.against {
        let forgotten = policy.forgets(&load(old)?);
        for loss in &forgotten {
            eprintln!("{}: {}", loss.operation, loss.message);
        }
        if !forgotten.is_empty() {
            let what = format!("{} would be forgotten of {}", things(forgotten.len()), old.display());
            return Err(Failure::Use(what));
        }
    }
    println!("{}: {} rules", options.policy.display(), policy.rules().len());
    for operation in policy.key_policy().operations {
        println!("  {}  {} {}", operation.operation, operation.methods.join(","), operation.path);
    }
    Ok(())
}

fn load(path: &Path) -> Result<Policy, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::wrong(path.display(), why);
    let document = fs::read(path).map_err(|error| wrong(&error))?;
    Policy::parse(&document).map_err(|error| wrong(&error))
}

fn things(count: usize) -> String {
    match count {
        1 => "1 thing".into(),
        more => format!("{more} things"),
    }
}
