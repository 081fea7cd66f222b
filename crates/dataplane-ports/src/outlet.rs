//! The ports of a device: what frames go out by, from any thread, and what they come in by.

use crate::by_port::ByPort;
use crate::cable::Cable;
use crate::capture::{CaptureSink, CaptureSource};
use crate::port::{Sink, Source};
use crate::spec::{PortError, PortKind, PortSpec};
use crate::tap::Tap;
use crate::udp::Udp;
use base_time::Time;
use dataplane_api::Port;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target_native::Packet;

/// What frames go out by. A clone is the same.
#[derive(Clone, Default)]
pub struct Ports(Arc<Outlets>);

#[derive(Default)]
struct Outlets {
    /// By ascending numbers.
    all: Vec<(Port, Outlet)>,
    positions: ByPort<usize>,
}

/// Where the frames of one port go.
struct Outlet {
    /// Frames of a port without one go nowhere.
    sink: Option<Mutex<Box<dyn Sink>>>,
    /// Something may wait to be written.
    waits: AtomicBool,
    /// Frames that were not taken.
    lost: AtomicU64,
}

/// What frames come in by, each with its port.
pub(crate) type Sources = Vec<(Port, Box<dyn Source>)>;

/// A port's two ends.
type Ends = (Option<Box<dyn Source>>, Option<Box<dyn Sink>>);

impl Ports {
    /// Opens all; none if one cannot be opened.
    pub(crate) fn open(
        specs: &[PortSpec],
        cables: Vec<(Port, Cable)>,
    ) -> Result<(Ports, Sources), PortError> {
        let mut all: Vec<(Port, Ends)> = vec![];
        for (port, Cable { sink, source }) in cables {
            all.push((port, (Some(Box::new(source)), Some(Box::new(sink)))));
        }
        for PortSpec { port, kind } in specs {
            let ends = open(kind).map_err(|why| PortError(format!("port {port}: {why}")))?;
            all.push((*port, ends));
        }
        all.sort_by_key(|(port, _)| *port);
        if let Some(twice) = all.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(PortError(format!("port {} is given twice", twice[0].0)));
        }
        let (mut outlets, mut sources) = (vec![], vec![]);
        for (port, (source, sink)) in all {
            sources.extend(source.map(|source| (port, source)));
            let (waits, lost) = (AtomicBool::new(false), AtomicU64::new(0));
            outlets.push((port, Outlet { sink: sink.map(Mutex::new), waits, lost }));
        }
        let positions = outlets.iter().enumerate().map(|(at, (port, _))| (*port, at)).collect();
        Ok((Ports(Arc::new(Outlets { all: outlets, positions })), sources))
    }

    /// The numbers of all, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = Port> {
        self.0.all.iter().map(|(port, _)| *port)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.all.len()
    }

    /// The position of a port.
    pub(crate) fn position(&self, port: Port) -> Option<usize> {
        self.0.positions.get(port).copied()
    }

    /// Sends packets by the port at a position, and gives its number. What cannot be sent is lost, as on a wire, and counted.
    pub(crate) fn send_packets(
        &self,
        at: usize,
        packets: &mut [Packet],
        which: &[usize],
        now: Time,
    ) -> Option<Port> {
        let (port, outlet) = self.0.all.get(at)?;
        if let Some(mut sink) = outlet.lock() {
            let sent = sink.send(packets, which, now);
            outlet.note(which.len() - sent);
        }
        Some(*port)
    }

    /// Sends a frame; one for a port that is not there goes nowhere.
    pub fn send(&self, port: Port, frame: &[u8], now: Time) {
        let Some((_, outlet)) = self.position(port).and_then(|at| self.0.all.get(at)) else { return };
        let Some(mut sink) = outlet.lock() else { return };
        let sent = sink.send_frame(frame, now);
        outlet.note(usize::from(!sent));
    }

    /// How many frames were not taken.
    pub fn lost(&self) -> u64 {
        self.0.all.iter().map(|(_, outlet)| outlet.lost.load(Ordering::Relaxed)).sum()
    }

    /// Writes what waits to be written.
    pub fn flush(&self) -> io::Result<()> {
        self.0.all.iter().try_for_each(|(_, outlet)| match outlet.lock() {
            Some(mut sink) if outlet.waits.swap(false, Ordering::Relaxed) => sink.flush(),
            _ => Ok(()),
        })
    }
}

impl Outlet {
    fn lock(&self) -> Option<MutexGuard<'_, Box<dyn Sink>>> {
        self.sink.as_ref().map(|sink| sink.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something was sent, and so many frames were not taken. To be called with the sink locked.
    fn note(&self, lost: usize) {
        self.waits.store(true, Ordering::Relaxed);
        self.lost.fetch_add(lost as u64, Ordering::Relaxed);
    }
}

fn open(kind: &PortKind) -> Result<Ends, String> {
    Ok(match kind {
        PortKind::Pcap { input, output } => {
            let mut ends: Ends = (None, None);
            if let Some(path) = input {
                let opened = CaptureSource::open(path);
                ends.0 = Some(Box::new(opened.map_err(|error| format!("`{}`: {error}", path.display()))?));
            }
            if let Some(path) = output {
                let made = CaptureSink::create(path);
                ends.1 = Some(Box::new(made.map_err(|error| format!("`{}`: {error}", path.display()))?));
            }
            ends
        }
        PortKind::Tap(name) => {
            let tap = Tap::open(name).map_err(|error| format!("TAP `{name}`: {error}"))?;
            (Some(Box::new(tap.clone())), Some(Box::new(tap)))
        }
        PortKind::Udp { from, to } => {
            let opened = Udp::open(*from, *to).and_then(|udp| Ok((udp.again()?, udp)));
            let (source, sink) = opened.map_err(|error| format!("{from} to {to}: {error}"))?;
            (Some(Box::new(source)), Some(Box::new(sink)))
        }
    })
}
