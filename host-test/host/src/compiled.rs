//! The component, compiled once in a process, and the machine that runs it.

use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use wasmtime::component::Component;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Made by build.rs from `guest/`.
static ENGINE_WASM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/engine.wasm"));

/// How often the guest's time is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// The most memory that one instance may ever have; address space, not memory, is set aside for it.
pub(crate) const MAX_MEMORY: usize = 256 << 20;

/// The most instances in the process, over all enforcers.
const MAX_INSTANCES: u32 = 1024;

/// What instances are made from.
pub(crate) struct Compiled {
    pub(crate) engine: Engine,
    pub(crate) component: Component,
}

/// Compiles the component, or takes it from `cache`, at the first call in this process. May take a second: not for an
/// async thread.
pub(crate) fn compiled(cache: Option<&Path>) -> Result<&'static Compiled, String> {
    static COMPILED: OnceLock<Result<Compiled, String>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| compile(cache).map_err(|fault| format!("{fault:#}")));
    compiled.as_ref().map_err(Clone::clone)
}

fn compile(cache: Option<&Path>) -> wasmtime::Result<Compiled> {
    let engine = Engine::new(&config())?;
    let component = match cache {
        None => Component::new(&engine, ENGINE_WASM)?,
        Some(directory) => cached(&engine, directory)?,
    };
    let ticking = engine.clone();
    thread::Builder::new().name("oncegate-ticks".to_owned()).spawn(move || {
        loop {
            thread::sleep(TICK);
            ticking.increment_epoch();
        }
    })?;
    Ok(Compiled { engine, component })
}

fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    // The encoded component is one module and the two small ones that tie its imports to it.
    pool.total_component_instances(MAX_INSTANCES)
        .total_core_instances(MAX_INSTANCES * 4)
        .max_core_instances_per_component(4)
        .total_memories(MAX_INSTANCES)
        .max_memories_per_component(1)
        .total_tables(MAX_INSTANCES * 3)
        .max_tables_per_component(3)
        .total_stacks(MAX_INSTANCES)
        .max_memory_size(MAX_MEMORY);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        // Checked accesses instead of the usual four GiB of address space for each instance.
        .memory_reservation(MAX_MEMORY as u64)
        .memory_guard_size(64 << 10)
        .epoch_interruption(true);
    config
}

/// A cache that cannot be used costs time, nothing else.
fn cached(engine: &Engine, directory: &Path) -> wasmtime::Result<Component> {
    let mut name = DefaultHasher::new();
    ENGINE_WASM.hash(&mut name);
    engine.precompile_compatibility_hash().hash(&mut name);
    let file = directory.join(format!("oncegate-{:016x}.cwasm", name.finish()));
    if is_ours(&file) {
        // SAFETY: the embedder names a directory that holds only what `write` below put there, and the file can be
        // written by its owner alone. Damage by chance and other versions are found by wasmtime itself.
        match unsafe { Component::deserialize_file(engine, &file) } {
            Ok(component) => return Ok(component),
            Err(fault) => tracing::warn!(%fault, "the compiled component in the cache is of no use"),
        }
    }
    let component = Component::new(engine, ENGINE_WASM)?;
    if let Err(fault) = write(&file, &component.serialize()?) {
        tracing::warn!(%fault, "the compiled component was not kept in the cache");
    }
    Ok(component)
}

fn is_ours(file: &Path) -> bool {
    #[cfg(unix)]
    fn is_private(held: &fs::Metadata) -> bool {
        std::os::unix::fs::PermissionsExt::mode(&held.permissions()) & 0o022 == 0
    }
    #[cfg(not(unix))]
    fn is_private(_: &fs::Metadata) -> bool {
        true
    }
    fs::symlink_metadata(file).is_ok_and(|held| held.is_file() && is_private(&held))
}

/// Whole or not at all, also with several processes.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension(format!("{}.unfinished", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&unfinished).and_then(|mut open| {
        open.write_all(bytes)?;
        open.sync_all()?;
        fs::rename(&unfinished, file)
    });
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}
