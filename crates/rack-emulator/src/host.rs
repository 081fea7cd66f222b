//! A host: its queue, and what it does with frames that arrive.

use crate::flow::{Claim, Datagram, Flow};
use crate::memcached;
use crate::packet::{
    ECHO_REPLY, ECHO_REQUEST, Ipv4, Route, TCP, Transport, UDP, build, enclose, stations, value_of,
};
use crate::place::Reason;
use crate::stamp::Stamp;
use crate::tally::Tally;
use base_time::Time;
use rack_model::{Host, Mac, Workload};
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
    /// The pair whose captured frames it counts: whatever nobody else has use for.
    pub capture: Option<u32>,
    /// Pairs with a TCP stack here, by the other's address, its port if it is the server's, and ours if we are it.
    pub stacks: BTreeMap<(Ipv4Addr, TcpSide, u16), u32>,
    /// Pairs of a client and a store that is here or asked from here, by the other's address and the client's port.
    pub stores: BTreeMap<(Ipv4Addr, u16), u32>,
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

/// Which end of a TCP connection is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TcpSide {
    /// It sends.
    Client,
    /// It listens at the port.
    Server,
}

/// The workloads while they run.
pub(crate) struct Traffic<'a> {
    pub workloads: &'a [Workload],
    pub flows: &'a mut [Flow],
    pub tallies: &'a mut [Tally],
}

/// What a host did with a frame.
pub(crate) enum Outcome {
    /// It was for a workload.
    Delivered(Stamp),
    /// It is an IPv4 packet for the TCP stack of a pair.
    Segment(u32, TcpSide, Vec<u8>),
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
            capture: None,
            stacks: BTreeMap::new(),
            stores: BTreeMap::new(),
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

    /// A frame around an IPv4 packet of this host's TCP stack.
    pub fn frame(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let destination: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
        let route = self.route_to(Ipv4Addr::from(destination))?;
        Some(enclose(route, packet))
    }

    /// Takes a frame.
    pub fn receive(&mut self, index: u32, traffic: &mut Traffic<'_>, frame: Vec<u8>, now: Time) -> Outcome {
        self.counts.received += 1;
        let outcome = match &mut self.listener {
            Some(kept) => {
                kept.push(Received { at: now, frame });
                Outcome::Kept
            }
            None => match self.examine(index, traffic, &frame, now) {
                Ok(outcome) => outcome,
                Err(reason) => self.capture(index, traffic, reason, &frame, now),
            },
        };
        match outcome {
            Outcome::Dropped(_) => self.counts.dropped += 1,
            _ => self.counts.absorbed += 1,
        }
        outcome
    }

    /// What nobody has use for is counted for the capture that it may be of.
    fn capture(
        &self,
        index: u32,
        traffic: &mut Traffic<'_>,
        reason: Reason,
        frame: &[u8],
        now: Time,
    ) -> Outcome {
        if let Some(flow) = self.capture.filter(|_| !reason.is_corruption()) {
            traffic.watch(flow, index, frame);
        }
        match self.capture.and_then(|flow| traffic.flows.get(flow as usize)) {
            Some(flow) if !reason.is_corruption() => {
                if let Some(tally) = traffic.tallies.get_mut(flow.workload as usize) {
                    flow.receive_captured(tally, frame.len() as u64, now);
                }
                Outcome::Kept
            }
            _ => Outcome::Dropped(reason),
        }
    }

    fn examine(
        &self,
        index: u32,
        traffic: &mut Traffic<'_>,
        frame: &[u8],
        now: Time,
    ) -> Result<Outcome, Reason> {
        let (to, from) = stations(frame).ok_or(Reason::NotIpv4)?;
        if to != self.mac && to != Mac::BROADCAST {
            return Err(Reason::NotForHost);
        }
        let packet = Ipv4::parse(frame).ok_or(Reason::NotIpv4)?;
        if !packet.header_is_sound() {
            traffic.blame(index, &packet, None, Reason::HeaderChecksum);
            return Err(Reason::HeaderChecksum);
        }
        if !self.addresses.contains(&packet.destination) {
            return Err(Reason::NotForHost);
        }
        if packet.is_fragment {
            return Err(Reason::Fragment);
        }
        if !packet.transport_is_sound() {
            let store = packet.transport().and_then(|(transport, _)| self.store_of(&packet, transport));
            let segment = packet.tcp_ports().and_then(|(from, to)| self.stack_of(packet.source, from, to));
            let known = store.map(|(flow, _)| flow).or(segment.map(|(flow, _)| flow));
            let reason = match packet.protocol {
                TCP => Reason::TcpChecksum,
                UDP => Reason::UdpChecksum,
                _ => Reason::IcmpChecksum,
            };
            traffic.blame(index, &packet, known, reason);
            return Err(reason);
        }
        if let Some((source, destination)) = packet.tcp_ports() {
            let (flow, side) = self.stack_of(packet.source, source, destination).ok_or(Reason::NoReceiver)?;
            traffic.watch(flow, index, frame);
            return Ok(Outcome::Segment(flow, side, packet.bytes()));
        }
        let (transport, payload) = packet.transport().ok_or(Reason::NoReceiver)?;
        if let Transport::Echo { kind: ECHO_REQUEST, identifier, sequence } = transport {
            if let Some(stamp) = Stamp::read(payload) {
                traffic.watch(stamp.flow, index, frame);
            }
            let echo = Transport::Echo { kind: ECHO_REPLY, identifier, sequence };
            let fill = |answer: &mut [u8]| answer.copy_from_slice(payload);
            return Ok(Outcome::Answered(self.answer(&packet, from, echo, payload.len(), fill)));
        }
        if let Some((flow, is_request)) = self.store_of(&packet, transport) {
            let datagram = traffic.datagram(flow, is_request, payload, now).ok_or(Reason::PayloadChanged)?;
            traffic.watch(flow, index, frame);
            return Ok(match datagram {
                Datagram::Answered(stamp) => Outcome::Delivered(stamp),
                Datagram::Asked(answer) => {
                    let back = transport.back();
                    let fill = |bytes: &mut [u8]| bytes.copy_from_slice(&answer);
                    Outcome::Answered(self.answer(&packet, from, back, answer.len(), fill))
                }
            });
        }
        let stamp = Stamp::read(payload).ok_or(Reason::NoReceiver)?;
        let claim = traffic.claim(index, (stamp, transport, payload), now).ok_or(Reason::NoReceiver)?;
        if !matches!(claim, Claim::Corrupted(_)) {
            traffic.watch(stamp.flow, index, frame);
        }
        match claim {
            Claim::Counted => Ok(Outcome::Delivered(stamp)),
            Claim::Corrupted(reason) => Err(reason),
            Claim::Asked(size) => {
                let fill = |answer: &mut [u8]| stamp.write(answer);
                Ok(Outcome::Answered(self.answer(&packet, from, transport.back(), size as usize, fill)))
            }
        }
    }

    /// The pair that a TCP segment from `source` is of, and which end we are.
    fn stack_of(&self, source: Ipv4Addr, from: u16, to: u16) -> Option<(u32, TcpSide)> {
        let find = |side, port| self.stacks.get(&(source, side, port)).map(|flow| (*flow, side));
        find(TcpSide::Server, to).or_else(|| find(TcpSide::Client, from))
    }

    /// The pair whose client's or store's datagram this is, and whether it is a request.
    fn store_of(&self, packet: &Ipv4<'_>, transport: Transport) -> Option<(u32, bool)> {
        let Transport::Udp { source, destination } = transport else { return None };
        let is_request = destination == memcached::PORT;
        let port = if is_request { source } else { destination };
        let flow = self.stores.get(&(packet.source, port))?;
        (is_request || source == memcached::PORT).then_some((*flow, is_request))
    }

    /// The answer to a packet. Without a way to the asker it goes back to where the frame came from.
    fn answer(
        &self,
        packet: &Ipv4<'_>,
        from: Mac,
        transport: Transport,
        payload: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let next_hop = self.route_to(packet.source).map_or(from, |route| route.next_hop);
        let route =
            Route { source_mac: self.mac, next_hop, source: packet.destination, destination: packet.source };
        build(route, transport, packet.identification, payload, fill)
    }
}

impl Traffic<'_> {
    /// Lets the flow count a packet that has arrived at `host`.
    fn claim(&mut self, host: u32, packet: (Stamp, Transport, &[u8]), now: Time) -> Option<Claim> {
        let flow = self.flows.get_mut(packet.0.flow as usize)?;
        let workload = self.workloads.get(flow.workload as usize)?;
        let tally = self.tallies.get_mut(flow.workload as usize)?;
        flow.receive((workload, tally), host, packet, now)
    }

    /// Lets the flow look at a datagram of memcached's; none if it is not what it should be.
    fn datagram(&mut self, flow: u32, at_store: bool, payload: &[u8], now: Time) -> Option<Datagram> {
        let flow = self.flows.get_mut(flow as usize)?;
        let workload = self.workloads.get(flow.workload as usize)?;
        let tally = self.tallies.get_mut(flow.workload as usize)?;
        flow.receive_datagram((workload, tally), at_store, payload, now)
    }

    /// Counts a corrupted packet for the flow that it seems to be of: `known`, or what its stamp says.
    fn blame(&mut self, host: u32, packet: &Ipv4<'_>, known: Option<u32>, reason: Reason) {
        let stamp = || packet.transport().and_then(|(_, payload)| Stamp::read(payload));
        let flow = known.or_else(|| Some(stamp()?.flow));
        let flow = flow.and_then(|flow| self.flows.get(flow as usize));
        let tally = flow.filter(|flow| [flow.from, flow.to].contains(&host));
        if let Some(tally) = tally.and_then(|flow| self.tallies.get_mut(flow.workload as usize)) {
            tally.corrupt(reason);
        }
    }

    /// Counts the header fields that a workload watches, of a frame of its `flow` that has arrived at `host`.
    fn watch(&mut self, flow: u32, host: u32, frame: &[u8]) {
        let Some(flow) = self.flows.get(flow as usize) else { return };
        let watched = self.workloads.get(flow.workload as usize).map_or(&[][..], |w| &w.watch);
        if watched.is_empty() {
            return;
        }
        if let Some(tally) = self.tallies.get_mut(flow.workload as usize) {
            for (at, field) in watched.iter().enumerate() {
                tally.watched.entry((at, flow.to == host)).or_default().add(value_of(*field, frame));
            }
        }
    }
}
