//! Builds the component fresh from `guest/` and holds it to its promises: it imports nothing but our own interfaces, the
//! core in it imports nothing at all, and it stays small. A broken promise breaks the build.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, mem};

use wasm_encoder::{Component, ComponentSection, ComponentSectionId, Encode, Module, RawSection};
use wasmparser::{Encoding, Parser, Payload};

const TARGET: &str = "wasm32-unknown-unknown";

/// The only package that the component may import from.
const IMPORTS: &str = "oncegate:idempotency/";

/// The most bytes that the component may have. It is read and compiled where gateways start, and shipped with each.
const MAX_SIZE: usize = 300 << 10;

/// The guest's own profile; the host's stays as the workspace says.
const PROFILE: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "z"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
];

/// Of SHA-256 one round in a loop in place of 64 in a row: seven kilobytes less (see sha2's README, "Backends").
const FLAGS: &str = r#"--cfg=sha2_backend_soft="compact""#;

fn main() {
    if let Err(why) = make() {
        println!("cargo::error=the guest was not built: {why}");
    }
}

fn make() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    for input in ["guest", "wit", "Cargo.lock", "Cargo.toml", "rust-toolchain.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // target/PROFILE/build/PACKAGE/out. The outer cargo holds the lock of its own directory, so the guests have another.
    let target = out.ancestors().nth(4).ok_or("OUT_DIR lies too high")?.join("guests");
    ensure_target()?;
    build(&root, &target)?;
    let built = target.join(TARGET).join("release");
    check_core(&fs::read(built.join("examples/core_alone.wasm"))?)?;
    let component = wit_component::ComponentEncoder::default()
        .module(&fs::read(built.join("oncegate_component.wasm"))?)?
        .validate(true)
        .encode()?;
    let component = strip(&component)?;
    check_component(&component)?;
    fs::write(out.join("engine.wasm"), component)?;
    Ok(())
}

/// Where rustup does not install by itself what rust-toolchain.toml lists, this does.
fn ensure_target() -> Result<(), Box<dyn Error>> {
    let rustc = env::var_os("RUSTC").ok_or("cargo names no rustc")?;
    let found = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output()?;
    let directory = String::from_utf8(found.stdout)?;
    if found.status.success() && Path::new(directory.trim()).is_dir() {
        return Ok(());
    }
    println!("cargo::warning=the target {TARGET} is missing: running `rustup target add {TARGET}`");
    let added = Command::new("rustup").args(["target", "add", TARGET]).stdout(Stdio::null()).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("`rustup target add {TARGET}` failed; install that target for this toolchain").into()),
    }
}

fn build(root: &Path, target: &Path) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("cargo does not name itself")?);
    cargo
        .current_dir(root)
        .args(["build", "--package", "oncegate-component", "--lib", "--example", "core_alone"])
        .args(["--release", "--locked", "--target", TARGET, "--target-dir"])
        .arg(target)
        .stdin(Stdio::null());
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(leaks) {
            cargo.env_remove(name);
        }
    }
    let made = cargo.envs(PROFILE.iter().copied()).env("CARGO_ENCODED_RUSTFLAGS", FLAGS).output()?;
    match made.status.success() {
        true => Ok(()),
        false => {
            eprintln!("{}", String::from_utf8_lossy(&made.stderr));
            Err(format!("cargo build -p oncegate-component --target {TARGET}: {}; its words stand below", made.status)
                .into())
        }
    }
}

/// Whether a variable that the outer cargo (or clippy, or a coverage tool) set for the host would change the guest.
fn leaks(name: &str) -> bool {
    const KEPT: [&str; 5] = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_"];
    const DROPPED: [&str; 8] =
        ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "LLVM_PROFILE_FILE", "CLIPPY_", "TARGET", "OUT_DIR"];
    let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    begins(&DROPPED) && !begins(&KEPT)
}

/// Everything of the core is linked into this module, so that what it imports, the core imports.
fn check_core(module: &[u8]) -> Result<(), Box<dyn Error>> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ImportSection(imports) = payload? {
            let names: Result<Vec<_>, _> =
                imports.into_imports().map(|import| import.map(|import| import.name)).collect();
            return Err(format!("oncegate-core must import nothing, and imports {names:?}").into());
        }
    }
    Ok(())
}

/// Leaves out the custom sections, at each depth: they name tools and parts, and nothing runs by them.
fn strip(component: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut outer = Vec::new();
    let mut inner = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::Version { encoding: Encoding::Component, .. } => inner.extend_from_slice(&Component::HEADER),
            Payload::Version { encoding: Encoding::Module, .. } => inner.extend_from_slice(&Module::HEADER),
            Payload::ModuleSection { .. } => outer.push((ComponentSectionId::CoreModule, mem::take(&mut inner))),
            Payload::ComponentSection { .. } => outer.push((ComponentSectionId::Component, mem::take(&mut inner))),
            Payload::End(_) => {
                if let Some((id, around)) = outer.pop() {
                    let ended = mem::replace(&mut inner, around);
                    inner.push(id.into());
                    ended.encode(&mut inner);
                }
            }
            Payload::CustomSection(_) => {}
            other => {
                if let Some((id, range)) = other.as_section() {
                    let range = usize::try_from(range.start)?..usize::try_from(range.end)?;
                    let data = component.get(range).ok_or("a section lies outside of the component")?;
                    ComponentSection::append_to_component(&RawSection { id, data }, &mut inner);
                }
            }
        }
    }
    Ok(inner)
}

fn check_component(component: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    let name = import?.name.name;
                    if !name.starts_with(IMPORTS) {
                        return Err(format!("the component may import {IMPORTS}* alone, and imports {name}").into());
                    }
                }
            }
            _ => {}
        }
    }
    if component.len() > MAX_SIZE {
        return Err(format!("the component has {} bytes, and may have {MAX_SIZE}", component.len()).into());
    }
    Ok(())
}
