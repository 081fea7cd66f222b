//! A host: its queue, and what it does with frames that arrive.

use crate::flow::Flow;
use crate::packet::{ECHO_REPLY, ECHO_REQUEST, Ipv4, Route, Transport, build, stations};
use crate::place::Reason;
use crate::stamp::Stamp;
use base_time::Time;
use rack_model::{Host, Mac};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// A frame that a listening host has received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// When its last bit arrived.
    pub at: Time,
    /// Its bytes, padding included.
    pub frame: Vec<u8>,
}

pub(crate) struct HostNode {
    mac: Mac,
    addresses: Vec<Ipv4Addr>,
    /// Hosts of its own networks.
    neighbours: BTreeMap<Ipv4Addr, Mac>,
    gateway: Option<Mac>,
    pub outlet: u32,
    /// Frames go here and not to the workloads, if the caller listens.
    pub listener: Option<Vec<Received>>,
    pub counts: HostCounts,
}

/// What a host has seen since the start, in frames.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct HostCounts {
    pub received: u64,
    /// Made here: by workloads, as answers, by the caller.
    pub created: u64,
    /// Handed to the link.
    pub sent: u64,
    /// Received and used.
    pub absorbed: u64,
    /// Received and not used, or not sent since the queue was full.
    pub dropped: u64,
}

/// What a host did with a frame.
pub(crate) enum Outcome {
    /// It was for a workload.
    Delivered(Stamp),
    /// It was kept for the caller.
    Kept,
    /// It was a request, and this is the answer.
    Answered(Vec<u8>),
    Dropped(Reason),
}

impl HostNode {
    /// `host`, with what it must know of all `hosts`.
    pub fn new(host: &Host, hosts: &[Host], outlet: u32) -> HostNode {
        let on_link = |address: Ipv4Addr| host.ip.iter().any(|n| n.value.contains(IpAddr::V4(address)));
        let all = hosts.iter().flat_map(|h| h.ip.iter().map(|n| (n.value.v4(), h.mac.value)));
        let known = all.filter_map(|(address, mac)| Some((address?, mac)));
        HostNode {
            mac: host.mac.value,
            addresses: host.ip.iter().filter_map(|n| n.value.v4()).collect(),
            neighbours: known.filter(|(address, _)| on_link(*address)).collect(),
            gateway: host.gateway,
            outlet,
            listener: None,
            counts: HostCounts::default(),
        }
    }

    /// How packets from here to `destination` are addressed.
    pub fn route_to(&self, destination: Ipv4Addr) -> Option<Route> {
        Some(Route {
            source_mac: self.mac,
            next_hop: self.neighbours.get(&destination).copied().or(self.gateway)?,
            source: *self.addresses.first()?,
            destination,
        })
    }

    /// Takes a frame.
    pub fn receive(&mut self, index: u32, flows: &mut [Flow], frame: Vec<u8>, now: Time) -> Outcome {
        self.counts.received += 1;
        let outcome = match &mut self.listener {
            Some(kept) => {
                kept.push(Received { at: now, frame });
                Outcome::Kept
            }
            None => self.examine(index, flows, &frame, now).unwrap_or_else(Outcome::Dropped),
        };
        match outcome {
            Outcome::Dropped(_) => self.counts.dropped += 1,
            _ => self.counts.absorbed += 1,
        }
        outcome
    }

    fn examine(&self, index: u32, flows: &mut [Flow], frame: &[u8], now: Time) -> Result<Outcome, Reason> {
        let (to, from) = stations(frame).ok_or(Reason::NotIpv4)?;
        if to != self.mac && to != Mac::BROADCAST {
            return Err(Reason::NotForHost);
        }
        let packet = Ipv4::parse(frame).ok_or(Reason::NotIpv4)?;
        if !packet.header_is_sound() {
            blame(index, flows, &packet);
            return Err(Reason::Corrupted);
        }
        if !self.addresses.contains(&packet.destination) {
            return Err(Reason::NotForHost);
        }
        if packet.is_fragment {
            return Err(Reason::Fragment);
        }
        if !packet.transport_is_sound() {
            blame(index, flows, &packet);
            return Err(Reason::Corrupted);
        }
        let (transport, payload) = packet.transport().ok_or(Reason::NoReceiver)?;
        if let Transport::Echo { kind: ECHO_REQUEST, identifier, sequence } = transport {
            return Ok(Outcome::Answered(self.answer(&packet, from, identifier, sequence, payload)));
        }
        let stamp = Stamp::read(payload).ok_or(Reason::NoReceiver)?;
        let flow = flow_of(index, flows, stamp).ok_or(Reason::NoReceiver)?;
        if flow.receive(stamp, transport, payload, now) {
            Ok(Outcome::Delivered(stamp))
        } else {
            Err(Reason::Corrupted)
        }
    }

    /// The answer to an echo request. Without a way to the asker it goes back to where the frame came from.
    fn answer(
        &self,
        packet: &Ipv4<'_>,
        from: Mac,
        identifier: u16,
        sequence: u16,
        payload: &[u8],
    ) -> Vec<u8> {
        let next_hop = self.route_to(packet.source).map_or(from, |route| route.next_hop);
        let route =
            Route { source_mac: self.mac, next_hop, source: packet.destination, destination: packet.source };
        let echo = Transport::Echo { kind: ECHO_REPLY, identifier, sequence };
        build(route, echo, sequence, payload.len(), |p| p.copy_from_slice(payload))
    }
}

/// The flow that counts packets with this stamp at host `index`.
fn flow_of(index: u32, flows: &mut [Flow], stamp: Stamp) -> Option<&mut Flow> {
    flows.get_mut(stamp.workload as usize).filter(|flow| flow.receiver() == index)
}

/// Counts a corrupted packet for the flow that it seems to be of.
fn blame(index: u32, flows: &mut [Flow], packet: &Ipv4<'_>) {
    let stamp = packet.transport().and_then(|(_, payload)| Stamp::read(payload));
    if let Some(flow) = stamp.and_then(|stamp| flow_of(index, flows, stamp)) {
        flow.corrupted += 1;
    }
}
