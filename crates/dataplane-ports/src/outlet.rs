//! The ports of a device: sinks, used from any thread, and sources.

use crate::afxdp;
use crate::by_port::ByPort;
use crate::cable::Cable;
use crate::capture::{CaptureSink, CaptureSource};
use crate::leaving::Leaving;
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
use smallvec::SmallVec;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
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
    /// Lost frames by reason, as far as the reason is known.
    losses: Arc<Losses>,
    /// Frames of a port without one go nowhere.
    sink: Option<Mutex<Box<dyn Sink>>>,
    /// Something may wait to be written.
    waits: AtomicBool,
    /// Frames that were not taken.
    lost: AtomicU64,
}

/// Another lane has locked the sink.
struct Busy;

/// A sink that no other lane may use meanwhile.
type Locked<'o> = MutexGuard<'o, Box<dyn Sink>>;

/// Sources of frames, each with its port.
pub(crate) type Sources = Vec<(Port, Box<dyn Source>)>;

/// A port's two ends.
pub(crate) type Ends = (Option<Box<dyn Source>>, Option<Box<dyn Sink>>);

/// The error for a port that cannot be added.
fn refused(port: Port, why: String) -> PortError {
    PortError(format!("port {port}: {why}"))
}

impl Ports {
    /// The ports of cables.
    pub(crate) fn of(cables: Vec<(Port, Cable)>) -> Result<(Ports, Sources), PortError> {
        let (mut ports, mut sources) = (Ports::default(), vec![]);
        for (port, Cable { sink, source }) in cables {
            ports.check(port, None)?;
            sources.push((port, Box::new(source) as Box<dyn Source>));
            ports = ports.with(port, "cable".to_string(), None, Arc::default(), Some(Box::new(sink)));
        }
        Ok((ports, sources))
    }

    /// Opens a port. Returns the list with this port, and its source.
    pub(crate) fn and(
        &self,
        spec: &PortSpec,
        links: &Links,
    ) -> Result<(Ports, Option<Box<dyn Source>>), PortError> {
        let PortSpec { port, kind, record } = spec;
        let interface = kind.interface();
        self.check(*port, interface)?;
        let losses = Arc::default();
        let mut description = kind.to_string();
        let opened = open(kind, links, &losses, &mut description).and_then(|ends| match record {
            Some(directory) => {
                let name = interface.map_or_else(|| format!("port{port}"), str::to_string);
                recorded(ends, directory, &name)
            }
            None => Ok(ends),
        });
        let (source, sink) = opened.map_err(|why| refused(*port, why))?;
        Ok((self.with(*port, description, interface.map(str::to_string), losses, sink), source))
    }

    /// The list without a port; `None` if the port is not in the list.
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

    /// Number of ports.
    pub(crate) fn len(&self) -> usize {
        self.0.all.len()
    }

    /// The position of a port.
    #[inline]
    pub(crate) fn position(&self, port: Port) -> Option<usize> {
        self.0.positions.get(port).copied()
    }

    /// Sends the packets of a batch that leave, in order for each port; `count` gets each port with the number of its packets. Packets that are not
    /// taken are lost, as on a wire, and counted. Receivers see some packets only when they are [woken](Ports::wake).
    ///
    /// A lock waits until everything written before it is in the processor's own cache, and the places that
    /// sinks write to are in other caches. So as many sinks as possible are locked first, and then all are written to.
    pub(crate) fn send_packets(
        &self,
        leaving: &mut Leaving,
        packets: &mut [Packet],
        now: Time,
        mut count: impl FnMut(Port, u64),
    ) {
        let mut touched = std::mem::take(&mut leaving.touched);
        while !touched.is_empty() {
            let mut locked: SmallVec<[_; 16]> = SmallVec::new();
            self.lock_free(&mut touched, |at, port, outlet, sink| locked.push((at, port, outlet, sink)));
            if locked.is_empty() {
                // No lane waits for a sink while it has another one, or while a receiver waits for the lane.
                self.wake(leaving);
                let Some((at, (port, outlet))) = touched.pop().map(|at| (at, &self.0.all[at])) else { break };
                locked.push((at, *port, outlet, outlet.lock()));
            }
            for (at, port, outlet, sink) in &mut locked {
                let which = leaving.packets(*at);
                if let Some(sink) = sink {
                    outlet.note(which.len() - sink.send(packets, which, now));
                }
                count(*port, which.len() as u64);
                leaving.clear(*at);
            }
        }
        leaving.touched = touched;
    }

    /// Locks the sinks that no other lane has, and gives them with their positions and ports; the others stay in the list.
    fn lock_free<'o>(
        &'o self,
        positions: &mut Vec<usize>,
        mut give: impl FnMut(usize, Port, &'o Outlet, Option<Locked<'o>>),
    ) {
        positions.retain(|at| {
            let Some((port, outlet)) = self.0.all.get(*at) else { return false };
            let Ok(sink) = outlet.try_lock() else { return true };
            give(*at, *port, outlet, sink);
            false
        });
    }

    /// Wakes the receivers of sent packets. A fence waits until all lines that were written are in the processor's own cache: there is one for all
    /// sinks that can be locked at once.
    pub(crate) fn wake(&self, leaving: &mut Leaving) {
        let mut ports = leaving.take_sent_to();
        while !ports.is_empty() {
            let mut locked: SmallVec<[_; 16]> = SmallVec::new();
            self.lock_free(&mut ports, |_, _, _, sink| locked.extend(sink));
            if locked.is_empty()
                && let Some((_, outlet)) = ports.pop().and_then(|at| self.0.all.get(at))
                && let Some(sink) = outlet.lock()
            {
                locked.push(sink);
            }
            locked.iter_mut().for_each(|sink| sink.pass());
            fence(Ordering::SeqCst);
            locked.iter_mut().for_each(|sink| sink.ring());
        }
        leaving.woken(ports);
    }

    /// Sends a frame; one for a port that is not there goes nowhere.
    pub fn send(&self, port: Port, frame: &[u8], now: Time) {
        let Some((_, outlet)) = self.position(port).and_then(|at| self.0.all.get(at)) else { return };
        let Some(mut sink) = outlet.lock() else { return };
        let sent = sink.send_frame(frame, now);
        outlet.note(usize::from(!sent));
    }

    /// Number of frames that sinks have refused.
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
    fn lock(&self) -> Option<Locked<'_>> {
        self.sink.as_ref().map(|sink| sink.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Locks the sink without waiting; an error if another lane has the lock.
    fn try_lock(&self) -> Result<Option<Locked<'_>>, Busy> {
        let Some(sink) = &self.sink else { return Ok(None) };
        match sink.try_lock() {
            Ok(sink) => Ok(Some(sink)),
            Err(TryLockError::Poisoned(poisoned)) => Ok(Some(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => Err(Busy),
        }
    }

    /// Counts `lost` refused frames of a sent batch. To be called with the sink locked.
    fn note(&self, lost: usize) {
        self.waits.store(true, Ordering::Relaxed);
        if lost > 0 {
            self.lost.fetch_add(lost as u64, Ordering::Relaxed);
        }
    }
}

/// Opens a port. `description` is its description, to which details are appended.
fn open(
    kind: &PortKind,
    links: &Links,
    losses: &Arc<Losses>,
    description: &mut String,
) -> Result<Ends, String> {
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
            description.push_str(match mode {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cable::cable;
    use mio::{Events, Poll, Token, Waker};
    use std::time::Duration;

    #[test]
    fn a_sink_that_another_lane_has_keeps_no_other_waiting() {
        let [(inside, mut one), (also, mut other)] = [cable(8), cable(8)];
        let (ports, _sources) = Ports::of(vec![(3, inside), (4, also)]).unwrap();
        let mut poll = Poll::new().unwrap();
        let waker = Arc::new(Waker::new(poll.registry(), Token(0)).unwrap());
        one.source.wait(&waker);
        let of_another = ports.0.all[1].1.lock();
        let sending = ports.clone();
        let lane = std::thread::spawn(move || {
            let mut packets = [1, 2, 3].map(|byte| Packet::new(0, &[byte; 60]).unwrap());
            let mut leaving = Leaving::default();
            leaving.resize(2);
            [(0, 1), (1, 0), (1, 2)].into_iter().for_each(|(port, packet)| leaving.add(port, packet));
            let mut counts = vec![];
            let count = |port, packets| counts.push((port, packets));
            sending.send_packets(&mut leaving, &mut packets, Time::ZERO, count);
            sending.wake(&mut leaving);
            (leaving, counts)
        });
        let mut events = Events::with_capacity(1);
        poll.poll(&mut events, Some(Duration::from_secs(60))).unwrap();
        assert!(!events.is_empty(), "the receiver is not woken");
        assert_eq!(one.receive(), Some(vec![2; 60]));
        assert_eq!(other.receive(), None);
        drop(of_another);
        let (leaving, counts) = lane.join().unwrap();
        assert!(leaving.touched.is_empty() && [0, 1].iter().all(|port| leaving.packets(*port).is_empty()));
        assert_eq!(counts, [(3, 1), (4, 2)]);
        assert_eq!([other.receive(), other.receive()], [1, 3].map(|byte| Some(vec![byte; 60])));
        assert_eq!(ports.lost(), 0);
    }

    #[test]
    fn receivers_are_woken_while_another_lane_has_a_sink() {
        let [(inside, mut one), (also, mut other)] = [cable(8), cable(8)];
        let (ports, _sources) = Ports::of(vec![(3, inside), (4, also)]).unwrap();
        let polls = [&mut one, &mut other].map(|cable| {
            let poll = Poll::new().unwrap();
            let waker = Arc::new(Waker::new(poll.registry(), Token(0)).unwrap());
            cable.source.wait(&waker);
            (poll, waker)
        });
        let wait = |(mut poll, _): (Poll, Arc<Waker>)| {
            let mut events = Events::with_capacity(1);
            poll.poll(&mut events, Some(Duration::from_secs(60))).unwrap();
            assert!(!events.is_empty(), "a receiver is not woken");
        };
        let mut packets = [1, 2].map(|byte| Packet::new(0, &[byte; 60]).unwrap());
        let mut leaving = Leaving::default();
        leaving.resize(2);
        [(0, 0), (1, 1)].into_iter().for_each(|(port, packet)| leaving.add(port, packet));
        ports.send_packets(&mut leaving, &mut packets, Time::ZERO, |_, _| ());
        assert_eq!([one.receive(), other.receive()], [None, None]);
        let of_another = ports.0.all[0].1.lock();
        let waking = ports.clone();
        let lane = std::thread::spawn(move || waking.wake(&mut leaving));
        let [of_one, of_other] = polls;
        wait(of_other);
        assert_eq!([one.receive(), other.receive()], [None, Some(vec![2; 60])]);
        drop(of_another);
        wait(of_one);
        lane.join().unwrap();
        assert_eq!(one.receive(), Some(vec![1; 60]));
    }
}
