//! Instances of the component: made ready once, lent for one call at a time, bounded in number, memory and time.
//!
//! An instance that trapped, or whose call was given up half way, is dropped and another made in its place.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use oncegate_core::engine::Configuration;
use oncegate_core::policy::ConfigurationError;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::exports::oncegate::idempotency::enforcer::{self as wit, Guest};
use crate::bindings::{Engine, EnginePre};
use crate::compiled::{Compiled, TICK, compiled};
use crate::enforcer::Options;
use crate::error::{BuildError, EngineError};
use crate::from_guest;
use crate::serve::{Backing, State};

/// An instance with more memory than this after a call is not kept.
const KEPT_MEMORY: usize = 16 << 20;

pub(crate) struct Instances {
    compiled: &'static Compiled,
    ready: EnginePre<State>,
    policy: Vec<u8>,
    keys: wit::Keyring,
    options: Options,
    idle: Mutex<Vec<Instance>>,
    permits: Semaphore,
}

pub(crate) struct Instance {
    store: Store<State>,
    engine: Engine,
}

/// An instance that is lent for one call. Dropped before it is given back, the instance is lost.
pub(crate) struct Lent<'i> {
    instances: &'i Instances,
    instance: Instance,
    _permit: SemaphorePermit<'i>,
}

impl Instances {
    /// Makes the first instance, to check the configuration.
    pub(crate) async fn new(
        policy: &[u8],
        keys: wit::Keyring,
        options: Options,
        backing: Backing,
    ) -> Result<(Self, Configuration), BuildError> {
        let cache = options.cache.clone();
        let compiling = tokio::task::spawn_blocking(move || compiled(cache.as_deref()));
        let compiled = compiling.await.unwrap_or_else(|_| Err("compiling it was cut short".to_owned()));
        let compiled = compiled.map_err(BuildError::Component)?;
        let mut linker = Linker::new(&compiled.engine);
        Engine::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state).map_err(unusable)?;
        let ready = linker.instantiate_pre(&compiled.component).and_then(EnginePre::new).map_err(unusable)?;
        let permits = Semaphore::new(options.instances.max(1));
        let instances =
            Instances { compiled, ready, policy: policy.to_vec(), keys, options, idle: Mutex::default(), permits };
        let (first, configured) = instances.make(backing).await.map_err(unusable)?;
        let configured = configured.map_err(|wit::ConfigurationError { path, message }| {
            BuildError::Configuration(ConfigurationError { path, message })
        })?;
        let configuration = from_guest::configuration(configured).map_err(|fault| unusable(fault.into()))?;
        instances.idle().push(first);
        Ok((instances, configuration))
    }

    /// Lends an instance whose store calls go to `backing`.
    pub(crate) async fn lend(&self, backing: Backing) -> Result<Lent<'_>, EngineError> {
        let permit = match timeout(self.options.instance_wait, self.permits.acquire()).await {
            Ok(Ok(permit)) => permit,
            _ => return Err(EngineError::Busy),
        };
        let idle = self.idle().pop();
        let instance = match idle {
            Some(mut instance) => {
                instance.begin(backing, self.options.guest_time);
                instance
            }
            None => match self.make(backing).await {
                Ok((instance, Ok(_))) => instance,
                Ok((_, Err(_))) => return Err(EngineError::Malformed("configuration")),
                Err(fault) if fault.is::<wasmtime::PoolConcurrencyLimitError>() => return Err(EngineError::Busy),
                Err(fault) => return Err(trapped(&fault)),
            },
        };
        Ok(Lent { instances: self, instance, _permit: permit })
    }

    /// Makes and configures an instance. It has the whole time of a call again when it returns.
    async fn make(
        &self,
        backing: Backing,
    ) -> wasmtime::Result<(Instance, Result<wit::Configuration, wit::ConfigurationError>)> {
        let state = State::new(backing, self.options.memory, self.options.store_wait);
        let mut store = Store::new(&self.compiled.engine, state);
        store.limiter(|state| state);
        store.epoch_deadline_callback(|mut context| {
            // Yielding lets other tasks of this thread go on; a tick while the store is waited for counts once.
            Ok(if context.data_mut().spend_tick() { UpdateDeadline::Yield(1) } else { UpdateDeadline::Interrupt })
        });
        begin(&mut store, self.options.guest_time);
        let engine = self.ready.instantiate_async(&mut store).await?;
        let guest = engine.oncegate_idempotency_enforcer();
        let configured = guest.call_configure(&mut store, &self.policy, &self.keys).await?;
        begin(&mut store, self.options.guest_time);
        Ok((Instance { store, engine }, configured))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Instance>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance {
    fn begin(&mut self, backing: Backing, guest_time: Duration) {
        self.store.data_mut().backing = backing;
        begin(&mut self.store, guest_time);
    }
}

impl Lent<'_> {
    /// What to call, and on what.
    pub(crate) fn guest(&mut self) -> (&Guest, &mut Store<State>) {
        (self.instance.engine.oncegate_idempotency_enforcer(), &mut self.instance.store)
    }

    /// Gives the instance back after a call, if it can be used again.
    pub(crate) fn finish<T>(self, answer: wasmtime::Result<T>) -> Result<T, EngineError> {
        let answer = answer.map_err(|fault| trapped(&fault))?;
        let Lent { instances, mut instance, _permit } = self;
        let state = instance.store.data_mut();
        state.backing = Backing::None;
        if state.memory() <= KEPT_MEMORY {
            instances.idle().push(instance);
        }
        Ok(answer)
    }
}

fn begin(store: &mut Store<State>, guest_time: Duration) {
    // One more, since the first may come at once.
    let ticks = guest_time.as_millis().div_ceil(TICK.as_millis()) + 1;
    store.data_mut().begin(u32::try_from(ticks).unwrap_or(u32::MAX));
    store.set_epoch_deadline(1);
}

fn trapped(fault: &wasmtime::Error) -> EngineError {
    EngineError::Trapped(fault.root_cause().to_string())
}

fn unusable(fault: wasmtime::Error) -> BuildError {
    BuildError::Component(format!("{fault:#}"))
}
