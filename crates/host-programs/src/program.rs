//! The contract of host programs.
//!
//! One program runs all pairs of a workload, at both ends. It owns the state of the pairs; its runner owns hosts,
//! queues, links and time, sorts arriving frames, and carries out the effects in its [`Desk`]:
//!
//! ```text
//!            start ──> wake, bind
//! a timer ── tick ───> wake, send                 a frame, by socket or stamp ── frame ──> wake, send; Taken
//! ```

use crate::packet::{Ipv4, Route, Transport};
use crate::stamp::Stamp;
use crate::station::Station;
use crate::tally::Tally;
use crate::unused::Unused;
use crate::{kind::Load, mac::Mac};
use base_time::{Duration, Rng, Time};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Deref;

/// A workload while it runs. Deterministic: time, chance and frames come in as arguments.
pub trait HostProgram {
    /// A timer that it has set runs out.
    fn tick(&mut self, timer: u32, desk: &mut Desk<'_>);

    /// Handles a frame for one of the program's pairs. All checksums are correct.
    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken;

    /// True while the program has packets to send, or packets in flight that it would send again. The run continues
    /// until then.
    fn is_active(&self) -> bool;

    /// Additional measures, beside the tally.
    fn report(&self, _now: Time) -> Report {
        Report::default()
    }
}

/// Interface of a running program to the emulator. Timers are set before frames are sent, both in order.
pub struct Desk<'a> {
    /// Virtual time.
    pub now: Time,
    /// Measurements of the workload.
    pub tally: &'a mut Tally,
    /// Effects carried out when the program returns.
    pub effects: &'a mut Effects,
}

/// Effects that a program asks for.
#[derive(Default, Debug)]
pub struct Effects {
    /// Timers, and when each runs out.
    pub wakes: Vec<(u32, Time)>,
    /// Frames, by pair and end.
    pub frames: Vec<(u32, Side, Vec<u8>)>,
    /// Memory of frames that have arrived, for others.
    spare: Vec<Vec<u8>>,
}

/// Limit on the memory that is kept, in frames.
const MOST_SPARE: usize = 1024;

impl Effects {
    /// A frame is not needed any more.
    #[inline]
    pub fn reuse(&mut self, frame: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(frame);
        }
    }
}

impl Desk<'_> {
    /// [`HostProgram::tick`] is called with this number at this time, or now if that has passed. A timer that is set twice runs out
    /// twice.
    pub fn wake(&mut self, timer: u32, at: Time) {
        self.effects.wakes.push((timer, at));
    }

    /// Memory for a frame: empty, with some capacity if a frame was left over.
    #[inline]
    pub fn memory(&mut self) -> Vec<u8> {
        let mut memory = self.effects.spare.pop().unwrap_or_default();
        memory.clear();
        memory
    }

    /// One end of a pair sends a frame.
    pub fn send(&mut self, pair: u32, side: Side, frame: Vec<u8>) {
        self.effects.frames.push((pair, side, frame));
    }
}

/// An end of a pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// `from`: it sends, asks, or opens connections.
    Sender,
    /// `to`: it receives, answers, or listens.
    Receiver,
}

/// Contents of a frame, as far as its host has looked into it.
#[derive(Default)]
pub struct Sorted<'a> {
    /// Source address of the frame on the last link.
    pub from: Mac,
    /// The IPv4 packet; none in frames that came by [`Socket::EtherType`] or [`Socket::Rest`].
    pub packet: Option<Ipv4<'a>>,
    /// The UDP or ICMP packet in that, and its payload.
    pub transport: Option<(Transport, &'a [u8])>,
    /// Stamp by which the frame was assigned to the program; `None` if a socket matched.
    pub stamp: Option<Stamp>,
}

/// A frame for a program, with its contents.
pub struct Arrival<'a> {
    /// The number of the pair, from 0.
    pub pair: u32,
    /// The end at which the frame arrived; `None` at a host of another pair.
    pub side: Option<Side>,
    /// The bytes, padding included.
    pub frame: &'a [u8],
    /// Contents of the frame.
    pub sorted: &'a Sorted<'a>,
    /// The host's card.
    pub station: &'a Station,
}

impl<'a> Deref for Arrival<'a> {
    type Target = Sorted<'a>;

    #[inline]
    fn deref(&self) -> &Sorted<'a> {
        self.sorted
    }
}

/// Use that a program made of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The frame is the packet with this number, for which the pair waited; the log names it.
    Received(u32),
    /// The frame was used.
    Used,
    /// The frame was not used, and counts as a drop of the host.
    Unused(Unused),
}

/// Results of a program beside its tally.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// How the rate at which payload came is worked out.
    pub goodput: Goodput,
    /// True if packets that were sent and did not arrive are lost; false if they may still be in flight at the end of
    /// the run.
    pub is_loss_known: bool,
    /// Additional measures of this kind, each with a short name.
    pub measures: Vec<(&'static str, u64)>,
}

impl Default for Report {
    fn default() -> Report {
        Report { goodput: Goodput::UntilLast, is_loss_known: true, measures: vec![] }
    }
}

/// How the rate at which payload came is worked out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goodput {
    /// No constraint.
    None,
    /// From the first arrival to the last.
    UntilLast,
    /// From the first arrival until now: packets are in flight.
    UntilNow,
}

/// Arguments for the start of a program.
pub struct Setup<'a> {
    /// Keys of the rack file.
    pub load: &'a Load,
    /// The number of its first pair among those of all workloads: stamps, identifiers and source ports distinguish
    /// pairs by it.
    pub first: u32,
    /// Pairs of hosts, in order.
    pub pairs: Vec<Pair>,
    /// Random stream of the workload. That of pair `n` is `chance.split_index(n)`.
    pub chance: Rng,
    /// Frames of captures, by the paths that the rack names.
    pub captures: &'a mut Captures,
}

/// Frames of captures with their times since the first, by the paths that a rack names.
pub type Captures = BTreeMap<String, Capture>;

/// Frames with their times since the first.
pub type Capture = Vec<(Duration, Vec<u8>)>;

/// Addresses of a pair of hosts.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// From the sender to the receiver.
    pub route: Route,
    /// From the receiver to the sender.
    pub back: Route,
    /// The longest IP packets that the links of sender and receiver take, in bytes.
    pub mtu: (u32, u32),
}

/// A program, with its first timers and sockets.
pub type Begun = Result<(Box<dyn HostProgram>, Started), StartError>;

/// Timers and sockets of a program that starts.
#[derive(Default, Debug)]
pub struct Started {
    /// Timers, and when each runs out.
    pub wakes: Vec<(u32, Time)>,
    /// Frames for pairs, beside those with stamps: each at an end of a pair.
    pub sockets: Vec<(u32, Side, Socket)>,
}

/// Filter that assigns frames at a host to a program. Stamped packets need none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Socket {
    /// UDP datagrams or TCP segments by protocol, the other's address, and source and destination port, as far as they are fixed.
    Ports {
        /// 6 or 17.
        protocol: u8,
        /// The other's.
        address: Ipv4Addr,
        /// Source port, if fixed.
        source: Option<u16>,
        /// Destination port, if fixed.
        destination: Option<u16>,
    },
    /// IPv4 packets of a protocol that is none of ICMP, TCP and UDP. Their content is not checked.
    Protocol(u8),
    /// Frames that are not IPv4.
    EtherType(u16),
    /// Unchanged frames that no other program uses.
    Rest,
}

/// Reason why a workload cannot begin: a mistake in the rack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartError(pub String);
