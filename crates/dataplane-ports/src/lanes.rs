//! Lanes, as the thread that owns the device steers them.

use crate::batch::BATCH;
use crate::cable::Cable;
use crate::lane::{Change, Lane, State, Turn};
use crate::link::Links;
use crate::outlet::Ports;
use crate::path::{Passed, Path};
use crate::sampler::{Sampled, Sampling};
use crate::spec::{PortError, PortSpec};
use control_writes::PortCount;
use crossbeam_channel::{Receiver, Sender, bounded};
use dataplane_api::Port;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;
use target_native::Worker;

/// All lanes of a device, each on its own thread. They end when this value is dropped.
pub struct Lanes {
    lanes: Vec<(Arc<Turn>, Option<JoinHandle<()>>)>,
    ports: Ports,
    links: Links,
    /// Ports that have come: the next one goes to the lane after that of the last one.
    come: usize,
    passed: Receiver<Passed>,
    /// So that the other end is there without lanes, too.
    _pass: Sender<Passed>,
}

impl Lanes {
    /// Opens ports, which `count` lanes serve; each source belongs to one of them. Up to `waiting` frames wait that lanes pass on. Until
    /// [`set`](Lanes::set) is called that is all frames. Times count from `started`.
    pub fn open(
        specs: &[PortSpec],
        cables: Vec<(Port, Cable)>,
        count: usize,
        waiting: usize,
        started: Instant,
    ) -> Result<Lanes, PortError> {
        let (links, count) = (Links::new(), count.max(1));
        let (mut ports, mut sources) = Ports::of(cables)?;
        for spec in specs {
            let (and, source) = ports.and(spec, &links)?;
            ports = and;
            sources.extend(source.map(|source| (spec.port, source)));
        }
        sources.sort_by_key(|(port, _)| *port);
        let come = sources.len();
        // Each lane has room for a batch.
        let (pass, passed) = bounded(waiting.max(2 * count * BATCH));
        let mut of_lanes: Vec<_> = (0..count).map(|_| vec![]).collect();
        for (number, source) in sources.into_iter().enumerate() {
            of_lanes[number % count].push(source);
        }
        let mut lanes = vec![];
        for sources in of_lanes {
            let failed = |error| PortError(format!("the ports cannot be waited for: {error}"));
            let lane = Lane::new(sources, ports.clone(), pass.clone(), count, started).map_err(failed)?;
            let turn = lane.turn();
            links.wake(Arc::clone(&turn.waker));
            let thread = std::thread::Builder::new().name("lane".to_string());
            let thread = thread.spawn(move || lane.run()).map_err(failed)?;
            lanes.push((turn, Some(thread)));
        }
        Ok(Lanes { lanes, ports, links, come, passed, _pass: pass })
    }

    /// Opens one more port, while frames pass.
    pub fn add(&mut self, spec: &PortSpec) -> Result<(), PortError> {
        let (ports, source) = self.ports.and(spec, &self.links)?;
        self.come += 1;
        let at = self.come % self.lanes.len();
        let mut come = source.map(|source| (spec.port, source));
        self.change(ports, |number, change| {
            if number == at {
                change.come.extend(come.take());
            }
        });
        Ok(())
    }

    /// Closes a port, while frames pass: nothing comes or leaves by it when this returns.
    pub fn remove(&mut self, port: Port) -> Result<(), PortError> {
        let ports = self.ports.without(port).ok_or_else(|| PortError(format!("there is no port {port}")))?;
        self.change(ports, |_, change| change.go.push(port));
        Ok(())
    }

    /// Changes the ports of all lanes, and waits until they have.
    fn change(&mut self, ports: Ports, mut each: impl FnMut(usize, &mut Change)) {
        for (number, state) in self.pause().0.iter_mut().enumerate() {
            state.change.ports = Some(ports.clone());
            each(number, &mut state.change);
        }
        self.ports = ports;
        for (turn, thread) in &self.lanes {
            turn.wake();
            while !turn.state.lock().change.is_done()
                && thread.as_ref().is_some_and(|lane| !lane.is_finished())
            {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
        }
    }

    /// Ports for outgoing frames.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Work that lanes pass to the owner.
    pub fn passed(&self) -> &Receiver<Passed> {
        &self.passed
    }

    /// Sets the path that runs frames; `None` passes them to the owner. When this returns, no frame runs on the old
    /// path. Work passed on until then comes first: `before` does it while the lanes stand still.
    pub fn set(&self, path: Option<&Path>, before: impl FnMut(Passed)) {
        self.set_paused(None, path, before);
    }

    /// [`set`](Lanes::set) of lanes that were paused before.
    pub fn set_paused<'l>(
        &'l self,
        paused: Option<Paused<'l>>,
        path: Option<&Path>,
        mut before: impl FnMut(Passed),
    ) {
        let workers: Vec<Option<Worker>> =
            self.lanes.iter().map(|_| path.map(|path| path.shared.worker())).collect();
        let mut turns = paused.unwrap_or_else(|| self.pause());
        if path.is_some() {
            self.passed.try_iter().take(self.passed.len()).for_each(&mut before);
        }
        for (state, worker) in turns.0.iter_mut().zip(workers) {
            state.set(path.zip(worker));
        }
        drop(turns);
        self.lanes.iter().for_each(|(turn, _)| turn.wake());
    }

    /// Pauses all lanes until the returned value is dropped.
    pub fn pause(&self) -> Paused<'_> {
        Paused(self.lanes.iter().map(|(turn, _)| turn.state.lock()).collect())
    }

    /// Counts of frames that lanes have run, by port.
    pub fn counts(&self) -> BTreeMap<Port, PortCount> {
        let mut all: BTreeMap<Port, PortCount> = BTreeMap::new();
        for (turn, _) in &self.lanes {
            for (port, count) in turn.state.lock().counts.iter() {
                let sum = all.entry(port).or_default();
                sum.received += count.received;
                sum.sent += count.sent;
            }
        }
        all
    }

    /// Some of the frames that lanes have run since the last call; which ones from now on.
    pub fn sample(&self, sampling: &Sampling) -> Sampled {
        let mut all = Sampled::default();
        for (turn, _) in &self.lanes {
            let Sampled { frames, samples } = turn.state.lock().sampler.take(sampling);
            all.frames += frames;
            all.samples.extend(samples);
        }
        all
    }

    /// Received frames with the EtherType of hand-overs, by port. Those on a port that joins no devices of a rack are the program's own, or forged.
    pub fn hand_overs(&self) -> BTreeMap<Port, u64> {
        let mut all = BTreeMap::new();
        for (turn, _) in &self.lanes {
            for (port, count) in turn.state.lock().hand_overs.iter() {
                *all.entry(port).or_default() += count;
            }
        }
        all
    }

    /// Whether something is at the other end, by port.
    pub fn links(&self) -> BTreeMap<Port, bool> {
        let mut all = BTreeMap::new();
        for (turn, _) in &self.lanes {
            all.extend(turn.state.lock().links.iter().map(|(port, is_up)| (port, *is_up)));
        }
        all
    }

    /// Frames that were lost since too many waited that lanes pass on.
    pub fn lost(&self) -> u64 {
        self.lanes.iter().map(|(turn, _)| turn.lost.load(Ordering::Relaxed)).sum()
    }

    /// Stops all lanes: frames received by then have been sent or passed on.
    pub fn stop(&mut self) {
        for (turn, _) in &self.lanes {
            turn.ends.store(true, Ordering::Relaxed);
            turn.wake();
        }
        for (_, thread) in &mut self.lanes {
            // One that panicked has ended, too.
            let _ = thread.take().map(JoinHandle::join);
        }
    }
}

/// See [`Lanes::pause`].
pub struct Paused<'l>(Vec<MutexGuard<'l, State>>);

impl Drop for Lanes {
    fn drop(&mut self) {
        self.stop();
    }
}
