//! Handlers in this process.

use crate::leased::{self, Had};
use crate::library::Instance;
use crate::snapshot::Memory;
use crate::{ARENA, Built, Share};
use crate::{mirrors, numbers};
use base_bits::Bits;
use base_time::Time;
use dataplane_api::{ExternError, Leased, Mirrors, NoMirrors, ValueExtern};
use ir_handlers::Handler;
use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Looks of the watchdog.
const LOOK: Duration = Duration::from_millis(500);

/// Looks during one call until it is taken for endless.
const PATIENCE: u32 = 10;

/// An instance.
pub struct Inline {
    instance: Instance,
    handler: Arc<Handler>,
    watch: Arc<Watch>,
    had: Had,
}

impl Inline {
    /// A new one with all leased blocks. Its random numbers begin at `seed`.
    pub fn new(built: &Built, handler: &Arc<Handler>, seed: u64) -> Result<Inline, ExternError> {
        Inline::sharing(built, handler, seed, Share::default())
    }

    /// A new one with a part of the leased blocks.
    pub fn sharing(
        built: &Built,
        handler: &Arc<Handler>,
        seed: u64,
        share: Share,
    ) -> Result<Inline, ExternError> {
        let found = built.library(&handler.name);
        let (library, number) =
            found.ok_or_else(|| ExternError("the library does not have it".to_string()))?;
        let instance =
            Instance::new(library, number, &handler.name, seed, share, ARENA).map_err(ExternError)?;
        let (handler, watch) = (Arc::clone(handler), Watch::new(&handler.name));
        let mut made = Inline { instance, handler, watch, had: Had::default() };
        match made.init()? {
            true => Ok(made),
            false => Err(refused_config(&made.handler.config)),
        }
    }

    /// Tells the handler its configuration; false if it refuses.
    fn init(&mut self) -> Result<bool, ExternError> {
        let config = CString::new(self.handler.config.as_str()).map_err(|e| ExternError(e.to_string()))?;
        Ok(self.watch.during(|| self.instance.init(&config)) == 0)
    }

    /// The state of a flow, which the handler then forgets. The key is that of `Handler::key`.
    pub fn export(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        self.watch.during(|| self.instance.export(key))
    }

    /// Gives the handler the state of a flow; false if it does not take it.
    pub fn import(&mut self, key: &[u8], state: &[u8]) -> bool {
        self.watch.during(|| self.instance.import(key, state))
    }

    /// Calls the handler with the bytes of a request; true if it gave a response. For measurements.
    pub fn raw(&mut self, request: &[u8], now: Time) -> bool {
        self.instance.request().copy_from_slice(request);
        self.watch.during(|| self.instance.call(now.as_ns())) == 0
    }

    /// Calls the handler for a batch of packets, in C: see `batch.c` of `target-c`. False if a frame is too short. For measurements.
    pub fn batch(&mut self, frames: &mut [Vec<u8>], ports: &mut [u32], now: Time) -> bool {
        self.watch.during(|| self.instance.batch(frames, ports, now.as_ns()))
    }
}

impl Inline {
    /// Runs C, which may look up tables.
    fn looking<T>(&mut self, mirrors: &dyn Mirrors, run: impl FnOnce(&mut Instance) -> T) -> T {
        let Inline { instance, handler, watch, .. } = self;
        if handler.mirrors.is_empty() {
            return watch.during(|| run(instance));
        }
        let mut look = |table: u32, key: &[u8], entry: &mut [u8]| {
            mirrors::look_up(handler, mirrors, table, key, entry);
        };
        watch.during(|| instance.looking(&mut look, run))
    }
}

/// Error of an `init` that gave something else than `P4R_OK`.
pub(crate) fn refused_config(config: &str) -> ExternError {
    ExternError(format!("its `init` refuses the configuration `{config}`"))
}

/// Puts a response into the outputs of a call.
pub(crate) fn answer(handler: &Handler, is_ok: bool, response: &[u8], outputs: &mut [Bits]) {
    if is_ok && let Some(fields) = &handler.response {
        numbers::decode(fields, response, outputs);
    }
    if handler.returns
        && let Some(given) = outputs.last_mut()
    {
        *given = Bits::from_bool(is_ok);
    }
}

/// The same for packed numbers: the response, and whether there is one where the handler says so.
pub(crate) fn answer_packed(handler: &Handler, is_ok: bool, response: &[u8], outputs: &mut [u8]) {
    let at = outputs.len().saturating_sub(usize::from(handler.returns));
    let (to, result) = outputs.split_at_mut(at);
    if is_ok && response.len() == to.len() {
        to.copy_from_slice(response);
    }
    if let Some(result) = result.first_mut() {
        *result = u8::from(is_ok);
    }
}

/// A time in nanoseconds, all ones for never.
pub(crate) fn time_of(ns: u64) -> Option<Time> {
    // Times beyond 2^63 picoseconds do not come.
    (ns < u64::MAX / 2000).then(|| Time::ZERO + base_time::Duration::from_ns(ns))
}

impl ValueExtern for Inline {
    fn call(&mut self, method: usize, inputs: &[Bits], outputs: &mut [Bits], now: Time) {
        self.call_with(method, inputs, outputs, &NoMirrors, now);
    }

    fn call_with(
        &mut self,
        _method: usize,
        inputs: &[Bits],
        outputs: &mut [Bits],
        mirrors: &dyn Mirrors,
        now: Time,
    ) {
        numbers::encode(&self.handler.request, inputs, self.instance.request());
        let is_ok = self.looking(mirrors, |instance| instance.call(now.as_ns())) == 0;
        answer(&self.handler, is_ok, self.instance.response(), outputs);
    }

    fn call_packed(
        &mut self,
        _method: usize,
        inputs: &[u8],
        outputs: &mut [u8],
        mirrors: &dyn Mirrors,
        now: Time,
    ) -> bool {
        let results = usize::from(self.handler.returns);
        let Some((response, result)) = outputs.len().checked_sub(results).map(|at| outputs.split_at_mut(at))
        else {
            return false;
        };
        let Some(status) = self.looking(mirrors, |instance| instance.pass(inputs, response, now.as_ns()))
        else {
            return false;
        };
        if let Some(result) = result.first_mut() {
            *result = u8::from(status == 0);
        }
        true
    }

    fn deadline(&self) -> Option<Time> {
        time_of(self.instance.tick_at_ns())
    }

    fn tick(&mut self, now: Time) {
        self.tick_with(&NoMirrors, now);
    }

    fn tick_with(&mut self, mirrors: &dyn Mirrors, now: Time) {
        self.looking(mirrors, |instance| instance.tick(now.as_ns()));
    }

    fn lease(&mut self, blocks: Option<&[u8]>) -> Leased {
        let Some(all) = leased::of_handler(&self.handler, blocks.unwrap_or_default()) else {
            return Leased::default();
        };
        if blocks.is_none() {
            self.instance.forget();
            self.had.forget();
            // It took the same configuration before.
            let _ = self.init();
        }
        let said = self.watch.during(|| self.instance.lease(&all));
        self.had.answer(&all, said)
    }

    fn snapshot(&self) -> Vec<u8> {
        self.watch.during(|| self.instance.memory()).write()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        let memory = Memory::read(snapshot)?;
        match self.watch.during(|| self.instance.restore(&memory)) {
            true => Ok(()),
            false => Err(ExternError(format!("`{}` does not take the snapshot", self.handler.name))),
        }
    }
}

/// Shows the watchdog whether a call returns.
struct Watch {
    name: String,
    /// Odd during a call.
    calls: AtomicU64,
}

impl Watch {
    fn new(name: &str) -> Arc<Watch> {
        let watch = Arc::new(Watch { name: name.to_string(), calls: AtomicU64::new(0) });
        Watchdog::add(&watch);
        watch
    }

    fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls + 1, Ordering::Relaxed);
        let given = run();
        self.calls.store(calls + 2, Ordering::Relaxed);
        given
    }
}

/// A thread that ends the process, with a message, if a call never returns.
struct Watchdog(Vec<(Weak<Watch>, u64, u32)>);

static WATCHED: Mutex<Option<Watchdog>> = Mutex::new(None);

impl Watchdog {
    fn add(watch: &Arc<Watch>) {
        let mut all = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = all.is_none();
        all.get_or_insert(Watchdog(vec![])).0.push((Arc::downgrade(watch), 0, 0));
        drop(all);
        if is_new {
            let looks = || {
                loop {
                    std::thread::sleep(LOOK);
                    let mut all = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
                    all.iter_mut().for_each(Watchdog::look);
                }
            };
            // Without the thread, calls are not watched.
            let _ = std::thread::Builder::new().name("handlers".to_string()).spawn(looks);
        }
    }

    fn look(&mut self) {
        self.0.retain_mut(|(watch, last, looks)| {
            let Some(watch) = watch.upgrade() else { return false };
            let calls = watch.calls.load(Ordering::Relaxed);
            *looks = if calls == *last && calls % 2 == 1 { *looks + 1 } else { 0 };
            *last = calls;
            if *looks >= PATIENCE {
                let seconds = (LOOK * PATIENCE).as_secs();
                eprintln!(
                    "error[P4R1407]: handler `{}` does not return\n  = note: one call took more than {seconds} s\n  = help: `--isolate` runs handlers in separate processes, which are ended after {} s",
                    watch.name,
                    crate::BUDGET.as_secs()
                );
                std::process::exit(1);
            }
            true
        });
    }
}
