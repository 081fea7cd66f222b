//! The ports of a device: sinks, used from any thread, and sources.

use crate::afxdp;
use crate::by_port::ByPort;
use crate::cable::Cable;
use crate::capture::{CaptureSink, CaptureSource};
use crate::link::Links;
use crate::losses::Losses;
use crate::packet;
use crate::port::{Sink, Source};
use crate::recorded::recorded;
use crate::spec::{PortError, PortKind, PortSpec};
use crate::tap::Tap;
use crate::udp::Udp;
use base_time::Time;
use dataplane_api::Port;
use linux_net::xdp::Mode;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target_native::Packet;

/// Ports for outgoing frames. Clones share them.
#[derive(Clone, Default)]
pub struct Ports(Arc<Outlets>);

#[derive(Default)]
struct Outlets {
    /// Outlets in ascending order of port numbers.
    all: Vec<(Port, Arc<Outlet>)>,
    positions: ByPort<usize>,
}

/// Destination of a port's frames.
struct Outlet {
    /// As `-i` says it, without the number.
    kind: String,
    /// The interface that no other port may use.
    interface: Option<String>,
    /// Why frames were lost, as far as that is known.
    losses: Arc<Losses>,
    /// Frames of a port without one go nowhere.
    sink: Option<Mutex<Box<dyn Sink>>>,
    /// Something may wait to be written.
    waits: AtomicBool,
    /// Frames that were not taken.
    lost: AtomicU64,
}

/// Sources of frames, each with its port.
pub(crate) type Sources = Vec<(Port, Box<dyn Source>)>;

/// A port's two ends.
pub(crate) type Ends = (Option<Box<dyn Source>>, Option<Box<dyn Sink>>);

/// Why a port cannot be added.
fn refused(port: Port, why: String) -> PortError {
    PortError(format!("port {port}: {why}"))
}

impl Ports {
    /// Those of cables.
    pub(crate) fn of(cables: Vec<(Port, Cable)>) -> Result<(Ports, Sources), PortError> {
        let (mut ports, mut sources) = (Ports::default(), vec![]);
        for (port, Cable { sink, source }) in cables {
            ports.check(port, None)?;
            sources.push((port, Box::new(source) as Box<dyn Source>));
            ports = ports.with(port, "cable".to_string(), None, Arc::default(), Some(Box::new(sink)));
        }
        Ok((ports, sources))
    }

    /// The same and one more, which is opened, and its source.
    pub(crate) fn and(
        &self,
        spec: &PortSpec,
        links: &Links,
    ) -> Result<(Ports, Option<Box<dyn Source>>), PortError> {
        let PortSpec { port, kind, record } = spec;
        let interface = kind.interface();
        self.check(*port, interface)?;
        let losses = Arc::default();
        let mut told = kind.to_string();
        let opened = open(kind, links, &losses, &mut told).and_then(|ends| match record {
            Some(directory) => {
                let name = interface.map_or_else(|| format!("port{port}"), str::to_string);
                recorded(ends, directory, &name)
            }
            None => Ok(ends),
        });
        let (source, sink) = opened.map_err(|why| refused(*port, why))?;
        Ok((self.with(*port, told, interface.map(str::to_string), losses, sink), source))
    }

    /// The same without one; `None` if it is not there.
    pub(crate) fn without(&self, port: Port) -> Option<Ports> {
        self.position(port)?;
        let others = self.0.all.iter().filter(|(other, _)| *other != port);
        Some(Ports::new(others.cloned().collect()))
    }

    fn check(&self, port: Port, interface: Option<&str>) -> Result<(), PortError> {
        if self.position(port).is_some() {
            return Err(PortError(format!("port {port} is given twice")));
        }
        let has_it = |(_, outlet): &&(Port, Arc<Outlet>)| {
            interface.is_some() && outlet.interface.as_deref() == interface
        };
        match (self.0.all.iter().find(has_it), interface) {
            (Some((other, _)), Some(name)) => Err(refused(port, format!("`{name}` is port {other} already"))),
            _ => Ok(()),
        }
    }

    fn with(
        &self,
        port: Port,
        kind: String,
        interface: Option<String>,
        losses: Arc<Losses>,
        sink: Option<Box<dyn Sink>>,
    ) -> Ports {
        let (waits, lost) = (AtomicBool::new(false), AtomicU64::new(0));
        let outlet = Outlet { kind, interface, losses, sink: sink.map(Mutex::new), waits, lost };
        let mut all = Vec::clone(&self.0.all);
        all.insert(all.partition_point(|(other, _)| *other < port), (port, Arc::new(outlet)));
        Ports::new(all)
    }

    fn new(all: Vec<(Port, Arc<Outlet>)>) -> Ports {
        let positions = all.iter().enumerate().map(|(at, (port, _))| (*port, at)).collect();
        Ports(Arc::new(Outlets { all, positions }))
    }

    /// Frames that ports have lost for known reasons.
    pub fn losses(&self) -> impl Iterator<Item = (Port, &'static str, u64)> {
        self.0
            .all
            .iter()
            .flat_map(|(port, outlet)| outlet.losses.counts().map(|(why, count)| (*port, why, count)))
    }

    /// The numbers of all, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = Port> {
        self.0.all.iter().map(|(port, _)| *port)
    }

    /// Number and kind of each port, as in `-i`.
    pub fn kinds(&self) -> impl Iterator<Item = (Port, String)> {
        self.0.all.iter().map(|(port, outlet)| (*port, outlet.kind.clone()))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.all.len()
    }

    /// The position of a port.
    pub(crate) fn position(&self, port: Port) -> Option<usize> {
        self.0.positions.get(port).copied()
    }

    /// Sends packets by the port at a position; returns the number sent. Other packets are lost, as on a wire, and
    /// counted.
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

    /// Writes buffered frames.
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

/// Opens a port. `told` is its description, to which details are appended.
fn open(kind: &PortKind, links: &Links, losses: &Arc<Losses>, told: &mut String) -> Result<Ends, String> {
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
        PortKind::Packet(name) => {
            let (source, sink) = packet::open(&links.follow(name)?, losses)?;
            (Some(Box::new(source)), Some(Box::new(sink)))
        }
        PortKind::AfXdp(name) => {
            let (source, sink, mode) = afxdp::open(&links.follow(name)?, losses)?;
            told.push_str(match mode {
                Mode::Native => " (native)",
                Mode::Generic => " (generic)",
            });
            (Some(Box::new(source)), Some(Box::new(sink)))
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
