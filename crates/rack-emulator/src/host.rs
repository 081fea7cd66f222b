//! A host: assigns arriving frames to the pairs of workloads.

use crate::sockets::Sockets;
use base_time::Time;
use host_programs::packet::{
    ECHO_REPLY, ECHO_REQUEST, IPV4, Ipv4, TAGS, TCP, Transport, UDP, stations, word,
};
use host_programs::stamp::Stamp;
use host_programs::station::Station;
use host_programs::{Mac, Socket, Sorted, Unused};
use rack_model::Host;
use std::net::{IpAddr, Ipv4Addr};

/// A frame that a listening host has received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// When its last bit arrived.
    pub at: Time,
    /// The frame, padding included.
    pub frame: Vec<u8>,
}

pub(crate) struct HostNode {
    pub station: Station,
    /// Pairs whose frames are recognised without a stamp.
    pub sockets: Sockets,
    /// Frames go here and not to the workloads, if the caller listens.
    pub listener: Option<Vec<Received>>,
}

/// Owner of a frame.
pub(crate) enum Found<'f> {
    /// A pair's.
    Pair(u32, Sorted<'f>),
    /// The host's own: a ping, perhaps of a pair, and its answer.
    Ping { pair: Option<u32>, answer: Vec<u8> },
    /// A frame of no pair, with the reason; for a corrupt frame, the pair to which it seems to belong.
    Nobody(Unused, Option<u32>),
}

impl HostNode {
    /// `host` with the facts about all `hosts`, at a link that accepts IP packets of `mtu` bytes.
    pub fn new(host: &Host, hosts: &[Host], mtu: u32) -> HostNode {
        let on_link = |address: Ipv4Addr| host.ip.iter().any(|n| n.value.contains(IpAddr::V4(address)));
        let all = hosts.iter().flat_map(|h| h.ip.iter().map(|n| (n.value.v4(), h.mac.value)));
        let known = all.filter_map(|(address, mac)| Some((address?, mac)));
        let station = Station {
            mac: host.mac.value,
            addresses: host.ip.iter().filter_map(|n| n.value.v4()).collect(),
            neighbours: known.filter(|(address, _)| on_link(*address)).collect(),
            gateway: host.gateway,
            mtu,
        };
        HostNode { station, sockets: Sockets::default(), listener: None }
    }

    /// Owner of a frame.
    pub fn find<'f>(&self, frame: &'f [u8]) -> Found<'f> {
        self.examine(frame).unwrap_or_else(|reason| Found::Nobody(reason, None))
    }

    fn examine<'f>(&self, frame: &'f [u8]) -> Result<Found<'f>, Unused> {
        let (to, from) = stations(frame).ok_or(Unused::NotIpv4)?;
        if to != self.station.mac && to != Mac::BROADCAST {
            return Err(Unused::NotForHost);
        }
        let Some(packet) = Ipv4::parse(frame) else {
            let pair = self.socket(|| Some(Socket::EtherType(ether_type(frame)?))).ok_or(Unused::NotIpv4)?;
            return Ok(Found::Pair(pair, Sorted { from, ..Sorted::default() }));
        };
        // A damaged packet still counts for its workload, as far as its payload or ports identify one.
        let transport = packet.transport();
        let stamped = || Some(Stamp::read(transport?.1)?.flow);
        if !packet.header_is_sound() {
            return Ok(Found::Nobody(Unused::HeaderChecksum, stamped()));
        }
        if !self.station.addresses.contains(&packet.destination) {
            return Err(Unused::NotForHost);
        }
        if packet.is_fragment {
            return Err(Unused::Fragment);
        }
        // Sockets of a protocol get packets before the transport's checks: they have formats of their own.
        if let Some(pair) = self.socket(|| Some(Socket::Protocol(packet.protocol))) {
            return Ok(Found::Pair(pair, Sorted { from, packet: Some(packet), transport, stamp: None }));
        }
        if !packet.transport_is_sound() {
            let reason = match packet.protocol {
                TCP => Unused::TcpChecksum,
                UDP => Unused::UdpChecksum,
                _ => Unused::IcmpChecksum,
            };
            let pair = self.by_ports(&packet, transport.map(|(transport, _)| transport));
            return Ok(Found::Nobody(reason, pair.or_else(stamped)));
        }
        if let Some(pair) = self.by_ports(&packet, transport.map(|(transport, _)| transport)) {
            return Ok(Found::Pair(pair, Sorted { from, packet: Some(packet), transport, stamp: None }));
        }
        let (transport, payload) = transport.ok_or(Unused::NoReceiver)?;
        let stamp = Stamp::read(payload);
        if let Transport::Echo { kind: ECHO_REQUEST, identifier, sequence } = transport {
            let echo = Transport::Echo { kind: ECHO_REPLY, identifier, sequence };
            let fill = |answer: &mut [u8]| answer.copy_from_slice(payload);
            let answer = self.station.answer(&packet, from, echo, payload.len(), fill);
            return Ok(Found::Ping { pair: stamp.map(|stamp| stamp.flow), answer });
        }
        let stamp = stamp.ok_or(Unused::NoReceiver)?;
        let (packet, transport) = (Some(packet), Some((transport, payload)));
        Ok(Found::Pair(stamp.flow, Sorted { from, packet, transport, stamp: Some(stamp) }))
    }

    /// The pair with a socket, as far as there are any here.
    #[inline(always)]
    fn socket(&self, socket: impl FnOnce() -> Option<Socket>) -> Option<u32> {
        if self.sockets.is_empty() {
            return None;
        }
        self.sockets.get(socket()?)
    }

    /// The pair of a datagram or segment.
    #[inline(always)]
    fn by_ports(&self, packet: &Ipv4<'_>, transport: Option<Transport>) -> Option<u32> {
        if self.sockets.is_empty() {
            return None;
        }
        let ports = match transport {
            Some(Transport::Udp { source, destination }) => (source, destination),
            Some(Transport::Echo { .. }) => return None,
            None => packet.tcp_ports()?,
        };
        self.sockets.by_ports(packet.protocol, packet.source, ports)
    }
}

/// The EtherType after all VLAN tags, if it is not IPv4's.
fn ether_type(frame: &[u8]) -> Option<u16> {
    let types = [12, 16, 20].map(|at| word(frame, at));
    types.into_iter().flatten().find(|kind| !TAGS.contains(kind)).filter(|kind| *kind != IPV4)
}
