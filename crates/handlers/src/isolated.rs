//! Handlers in processes of their own.
//!
//! Each instance is a process that answers calls on its standard input. If it crashes, or does not answer in time, it is ended, the packet
//! gets no answer, and a new process continues from the last snapshot. Snapshots are taken after every 32 calls, and less often
//! where the memory is large, so that taking them costs no more than the calls. Changes since the last snapshot are lost.
//!
//! With several workers, the calls of a flow are in one of them: a crash costs the changes of its flows alone. Threads of an engine wait for different
//! workers at the same time. Leased blocks are shared by the workers as
//! by servers.
//!
//! A flow whose packets kill the process twice in a minute poisons it: its calls get no answer any more, without reaching the handler.

use crate::failure::{Failure, Failures};
use crate::inline::{answer, answer_packed, refused_config, time_of};
use crate::leased::{self, Had};
use crate::process::{BUDGET, Process, Silence};
use crate::snapshot::{self, Memory};
use crate::{Built, Share, numbers};
use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{ExternError, Leased, Mirrors, NoMirrors, SharedCalls, ValueExtern};
use ir_handlers::Handler;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls between two snapshots of a small memory.
const CALLS: u64 = 32;

/// Bytes of memory for which a snapshot may be taken after one call.
const BYTES_A_CALL: u64 = 512;

/// Time in which the second crash by one flow poisons it.
const FORGET: Duration = Duration::from_ms(60_000);

/// The most flows that are remembered for a crash.
const MOST_FLOWS: usize = 4096;

/// An instance: one worker or more.
pub struct Isolated(Arc<Pool>);

/// The workers of an instance. Threads that call different ones do not wait for each other.
struct Pool {
    handler: Arc<Handler>,
    share: Share,
    workers: Vec<Slot>,
}

/// A worker, for one thread at a time.
struct Slot {
    worker: Mutex<Worker>,
    /// When the worker wants a tick; nobody waits for its calls to read it.
    tick_at_ns: AtomicU64,
}

impl Slot {
    fn with<T>(&self, run: impl FnOnce(&mut Worker) -> T) -> T {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let given = run(&mut worker);
        self.tick_at_ns.store(worker.tick_at_ns, Ordering::Relaxed);
        given
    }

    fn tick_at(&self) -> Option<Time> {
        time_of(self.tick_at_ns.load(Ordering::Relaxed))
    }
}

struct Worker {
    built: Arc<Built>,
    handler: Arc<Handler>,
    seed: u64,
    number: u16,
    share: Share,
    process: Option<Process>,
    /// The last snapshot.
    saved: Memory,
    /// Calls since then.
    since: u64,
    tick_at_ns: u64,
    /// Time of the last call or tick.
    now: Time,
    /// Flows that ended the process: the time, and whether it was twice.
    crashes: BTreeMap<Vec<u8>, (Time, bool)>,
    /// The leased blocks, once it has been told.
    blocks: Option<Vec<u8>>,
    had: Had,
    /// The process has only been set up.
    is_fresh: bool,
}

impl Isolated {
    /// A new one with all leased blocks. Its random numbers begin at `seed`.
    pub fn new(built: &Arc<Built>, handler: &Arc<Handler>, seed: u64) -> Result<Isolated, ExternError> {
        Isolated::sharing(built, handler, seed, Share::default(), 1)
    }

    /// A new one of so many workers, with a part of the leased blocks.
    pub fn sharing(
        built: &Arc<Built>,
        handler: &Arc<Handler>,
        seed: u64,
        share: Share,
        workers: u16,
    ) -> Result<Isolated, ExternError> {
        let workers = workers.max(1);
        let worker = |number| Worker::new(built, handler, seed, share, (number, workers));
        let slot = |worker: Worker| {
            let tick_at_ns = AtomicU64::new(worker.tick_at_ns);
            Slot { worker: Mutex::new(worker), tick_at_ns }
        };
        let workers = (0..workers).map(|number| worker(number).map(slot)).collect::<Result<_, _>>()?;
        Ok(Isolated(Arc::new(Pool { handler: Arc::clone(handler), share, workers })))
    }

    /// The state of a flow, which the handler then forgets. The key is that of `Handler::key`.
    pub fn export(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.of_flow(key)?.with(|worker| worker.export(key))
    }

    /// Gives the handler the state of a flow; false if it does not take it.
    pub fn import(&mut self, key: &[u8], state: &[u8]) -> bool {
        self.0.of_flow(key).is_some_and(|slot| slot.with(|worker| worker.import(key, state)))
    }
}

impl Pool {
    /// The worker of a request.
    fn of_request(&self, request: &[u8]) -> &Slot {
        let Pool { handler, share, workers } = self;
        let block = handler.block.as_ref().and_then(|field| request.get(field.at..field.at + field.size));
        let block = block.map_or(0, |bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
        let at = match block {
            0 => hash(&numbers::key(&handler.request, &handler.key, request)) as usize % workers.len(),
            block => share.worker(block, workers.len()),
        };
        &workers[at]
    }

    /// A call with packed numbers.
    fn packed(&self, inputs: &[u8], outputs: &mut [u8], mirrors: &dyn Mirrors, now: Time) {
        let given = self.of_request(inputs).with(|worker| worker.call(inputs, mirrors, now));
        answer_packed(&self.handler, given.is_some(), given.as_deref().unwrap_or_default(), outputs);
    }

    /// The worker of a flow.
    fn of_flow(&self, key: &[u8]) -> Option<&Slot> {
        let at = hash(key) as usize % self.workers.len();
        self.workers.get(at).filter(|_| key.len() == self.handler.key.size)
    }
}

impl SharedCalls for Pool {
    fn call_packed(&self, _method: usize, inputs: &[u8], outputs: &mut [u8], now: Time) {
        self.packed(inputs, outputs, &NoMirrors, now);
    }
}

impl Worker {
    /// The worker of this number of so many.
    fn new(
        built: &Arc<Built>,
        handler: &Arc<Handler>,
        seed: u64,
        share: Share,
        (number, workers): (u16, u16),
    ) -> Result<Worker, ExternError> {
        let seed = seed.wrapping_add(u64::from(number));
        let mut worker = Worker {
            built: Arc::clone(built),
            handler: Arc::clone(handler),
            seed,
            number,
            share: share.part(number, workers),
            process: None,
            saved: Memory { random: seed, tick_at_ns: u64::MAX, bytes: vec![] },
            since: 0,
            tick_at_ns: u64::MAX,
            now: Time::ZERO,
            crashes: BTreeMap::new(),
            blocks: None,
            had: Had::default(),
            is_fresh: true,
        };
        worker.start().map_err(ExternError)?;
        worker.save();
        // Its `init` may have asked for a tick.
        worker.tick_at_ns = worker.saved.tick_at_ns;
        Ok(worker)
    }

    /// Starts a process, and gives it the configuration.
    fn start(&mut self) -> Result<(), String> {
        let mut command = self.built.worker(&self.handler.name)?;
        self.process = Some(Process::start(&mut command)?);
        let mut body = self.seed.to_le_bytes().to_vec();
        body.extend(u32::from(self.number).to_le_bytes());
        body.extend(self.share.server.to_le_bytes());
        body.extend(self.share.servers.to_le_bytes());
        body.extend(self.handler.config.bytes());
        body.push(0);
        match self.ask(b'i', &body)? {
            (0, _) => {}
            _ => return Err(refused_config(&self.handler.config).0),
        }
        if let Some(blocks) = self.blocks.clone() {
            self.ask(b'l', &blocks)?;
        }
        Ok(())
    }

    /// Leases exactly these blocks; the use that the handler makes of blocks.
    fn lease(&mut self, blocks: Vec<u8>, begins: bool) -> Leased {
        self.blocks = Some(blocks.clone());
        if begins {
            self.had.forget();
        }
        if begins && !self.is_fresh {
            // It took the same configuration before; without a process, calls have no answer.
            let _ = self.start();
        }
        let said = match self.ask(b'l', &blocks) {
            Ok((0, body)) if body.len() == 4 + blocks.len() => {
                Some(Leased { usable: number(&body[..4]) as u32, busy: body[4..].to_vec() })
            }
            Ok(_) => None,
            Err(_) => {
                self.recover();
                None
            }
        };
        // A block that is said to be empty is empty after a crash, too.
        self.save();
        if begins {
            self.tick_at_ns = self.saved.tick_at_ns;
        }
        self.had.answer(&blocks, said)
    }

    /// Status and results of an operation without look-ups.
    fn ask(&mut self, operation: u8, body: &[u8]) -> Result<(u8, Vec<u8>), String> {
        self.ask_with(operation, body, &NoMirrors)
    }

    /// Status and results of an operation. Without an answer, the process is ended, and the reason is returned.
    fn ask_with(
        &mut self,
        operation: u8,
        body: &[u8],
        mirrors: &dyn Mirrors,
    ) -> Result<(u8, Vec<u8>), String> {
        self.is_fresh = operation == b'i' || self.is_fresh && matches!(operation, b'l' | b's');
        let Some(process) = &mut self.process else { return Err("its process does not run".to_string()) };
        let asked = process.ask(operation, body, (&self.handler, mirrors));
        if asked.is_err()
            && let Some(mut process) = self.process.take()
        {
            let is_late = matches!(asked, Err(Silence::Late));
            return Err(match process.end() {
                _ if is_late => format!("no answer in {} s", BUDGET.as_secs()),
                Ok(status) => match status.signal() {
                    Some(signal) => format!("signal {signal}{}", named(signal)),
                    None => format!("it ended with status {}", status.code().unwrap_or(-1)),
                },
                Err(error) => error.to_string(),
            });
        }
        asked.map_err(|_| String::new())
    }

    /// A new process with the memory of the last snapshot.
    fn recover(&mut self) {
        let memory = self.saved.clone();
        if self.start().is_ok() && !self.load(&memory) {
            // The handler does not accept its own snapshot: it continues with empty memory.
            let _ = self.start();
        }
        self.since = 0;
    }

    fn save(&mut self) {
        match self.ask(b's', &[]) {
            Ok((_, body)) if body.len() >= 16 => {
                let (random, tick_at_ns) = (number(&body), number(&body[8..]));
                self.saved = Memory { random, tick_at_ns, bytes: body[16..].to_vec() };
                self.since = 0;
            }
            // Its context is spoilt.
            _ => self.recover(),
        }
    }

    fn load(&mut self, memory: &Memory) -> bool {
        let mut body = memory.random.to_le_bytes().to_vec();
        body.extend(memory.tick_at_ns.to_le_bytes());
        body.extend(&memory.bytes);
        let is_done = matches!(self.ask(b'r', &body), Ok((0, _)));
        if is_done {
            self.tick_at_ns = memory.tick_at_ns;
        }
        is_done
    }

    /// Records a call without an answer, and starts a new process.
    fn failed(&mut self, why: String, request: &[u8], now: Time) {
        let key = numbers::key(&self.handler.request, &self.handler.key, request);
        let before = self.crashes.get(&key).map(|(at, _)| *at);
        let poisons = !key.is_empty() && before.is_some_and(|at| at + FORGET > now);
        if self.crashes.len() >= MOST_FLOWS {
            self.crashes.retain(|_, (at, poisons)| *poisons || *at + FORGET > now);
        }
        if self.crashes.len() < MOST_FLOWS {
            self.crashes.insert(key, (now, poisons));
        }
        let request = numbers::shown(&self.handler.request, request);
        let failures: &Failures = self.built.failures();
        failures.add(Failure { handler: self.handler.name.clone(), why, request, at: now, poisons });
        self.recover();
    }

    /// Counts a call that took too long.
    fn slow(&self, took: Duration, request: &[u8]) {
        let request = || numbers::shown(&self.handler.request, request);
        self.built.failures().slow(&self.handler.name, self.handler.budget, took, request);
    }

    /// The response of a call; `None` if the handler gives none.
    fn call(&mut self, request: &[u8], mirrors: &dyn Mirrors, now: Time) -> Option<Vec<u8>> {
        // Threads may come in another order than their packets.
        self.now = self.now.max(now);
        let handler = Arc::clone(&self.handler);
        let key = numbers::key(&handler.request, &handler.key, request);
        if self.crashes.get(&key).is_some_and(|(_, poisons)| *poisons) {
            return None;
        }
        let body = [&self.now.as_ns().to_le_bytes(), request].concat();
        match self.ask_with(b'c', &body, mirrors) {
            Ok((status, mut given)) if given.len() >= 16 => {
                self.tick_at_ns = number(&given);
                // A handler that writes where it must not may change this number.
                let took = Duration::from_ns(number(&given[8..]).min(1 << 50));
                if took > handler.budget {
                    self.slow(took, request);
                }
                self.since += 1;
                if self.since >= CALLS.max(self.saved.bytes.len() as u64 / BYTES_A_CALL) {
                    self.save();
                }
                (status == 0).then(|| given.split_off(16))
            }
            Ok(_) => None,
            Err(why) => {
                self.failed(why, request, self.now);
                None
            }
        }
    }

    fn export(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        match self.ask(b'e', key) {
            Ok((_, state)) => Some(state).filter(|state| !state.is_empty()),
            Err(_) => {
                self.recover();
                None
            }
        }
    }

    fn import(&mut self, key: &[u8], state: &[u8]) -> bool {
        let given = self.ask(b'm', &[key, state].concat());
        if given.is_err() {
            self.recover();
        }
        matches!(given, Ok((0, _)))
    }

    fn tick(&mut self, mirrors: &dyn Mirrors, now: Time) {
        self.now = self.now.max(now);
        match self.ask_with(b't', &self.now.as_ns().to_le_bytes(), mirrors) {
            Ok((_, given)) if given.len() >= 8 => self.tick_at_ns = number(&given),
            Ok(_) => self.tick_at_ns = u64::MAX,
            Err(why) => {
                self.failed(why, &[], self.now);
                // The same tick would fail again.
                self.tick_at_ns = u64::MAX;
            }
        }
    }

    fn restore(&mut self, memory: Memory) -> Result<(), ExternError> {
        self.now = Time::ZERO;
        if self.load(&memory) {
            self.saved = memory;
            return Ok(());
        }
        if self.process.is_none() {
            self.recover();
        }
        Err(ExternError(format!("`{}` does not take the snapshot", self.handler.name)))
    }
}

/// FNV-1a.
fn hash(key: &[u8]) -> u64 {
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let whole = key.iter().fold(0xcbf2_9ce4_8422_2325, hash);
    if key.is_empty() { 0 } else { whole ^ whole >> 32 }
}

impl ValueExtern for Isolated {
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
        let handler = &self.0.handler;
        let mut request = vec![0; handler.request.size];
        numbers::encode(&handler.request, inputs, &mut request);
        let given = self.0.of_request(&request).with(|worker| worker.call(&request, mirrors, now));
        answer(handler, given.is_some(), given.as_deref().unwrap_or_default(), outputs);
    }

    fn call_packed(
        &mut self,
        _method: usize,
        inputs: &[u8],
        outputs: &mut [u8],
        mirrors: &dyn Mirrors,
        now: Time,
    ) -> bool {
        let is_fit = inputs.len() == self.0.handler.request.size;
        if is_fit {
            self.0.packed(inputs, outputs, mirrors, now);
        }
        is_fit
    }

    fn shared(&self) -> Option<Arc<dyn SharedCalls>> {
        let pool: Arc<dyn SharedCalls> = Arc::clone(&self.0) as _;
        self.0.handler.mirrors.is_empty().then_some(pool)
    }

    fn deadline(&self) -> Option<Time> {
        self.0.workers.iter().filter_map(Slot::tick_at).min()
    }

    fn tick(&mut self, now: Time) {
        self.tick_with(&NoMirrors, now);
    }

    fn tick_with(&mut self, mirrors: &dyn Mirrors, now: Time) {
        let due = self.0.workers.iter().filter(|slot| slot.tick_at().is_some_and(|at| at <= now));
        due.for_each(|slot| slot.with(|worker| worker.tick(mirrors, now)));
    }

    fn lease(&mut self, blocks: Option<&[u8]>) -> Leased {
        let Pool { handler, share, workers } = &*self.0;
        let Some(all) = leased::of_handler(handler, blocks.unwrap_or_default()) else {
            return Leased::default();
        };
        let lease = |(number, slot): (usize, &Slot)| {
            let own = leased::of_worker(&all, *share, (number, workers.len()));
            slot.with(|worker| worker.lease(own, blocks.is_none()))
        };
        let answers: Vec<Leased> = workers.iter().enumerate().map(lease).collect();
        // Each worker needs a block: its flows take no numbers of others.
        let is_able = answers.iter().all(|one| one.usable > 0);
        let sum = answers.iter().fold(0u32, |sum, one| sum.saturating_add(one.usable));
        let usable = if is_able { sum } else { 0 };
        Leased { usable, ..answers.iter().fold(Leased::default(), |all, one| all.and(one)) }
    }

    fn snapshot(&self) -> Vec<u8> {
        let save = |worker: &mut Worker| {
            worker.save();
            worker.saved.clone()
        };
        let saved: Vec<Memory> = self.0.workers.iter().map(|slot| slot.with(save)).collect();
        snapshot::write_all(saved.iter())
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        let all = snapshot::read_all(snapshot, self.0.workers.len())?;
        let mut each = self.0.workers.iter().zip(all);
        each.try_for_each(|(slot, memory)| slot.with(|worker| worker.restore(memory)))
    }
}

/// The first 8 bytes, least significant first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn named(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (it used memory that it does not have)",
        libc::SIGBUS => " (bus error)",
        libc::SIGFPE => " (division by zero)",
        libc::SIGILL => " (illegal instruction)",
        libc::SIGABRT => " (abort)",
        _ => "",
    }
}
