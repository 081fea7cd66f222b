//! A host's network card: its addresses, and how its packets are addressed.

use crate::mac::Mac;
use crate::packet::{Ipv4, Route, Transport, build};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A host. There is no ARP: the addresses of all hosts are known.
#[derive(Clone, Debug)]
pub struct Station {
    /// Address of the card.
    pub mac: Mac,
    /// IP addresses; packets are sent from the first.
    pub addresses: Vec<Ipv4Addr>,
    /// Hosts in the networks of this host.
    pub neighbours: BTreeMap<Ipv4Addr, Mac>,
    /// Address of the gateway to other networks.
    pub gateway: Option<Mac>,
    /// The longest IP packet that its link takes, in bytes.
    pub mtu: u32,
}

impl Station {
    /// How packets from here to `destination` are addressed.
    pub fn route_to(&self, destination: Ipv4Addr) -> Option<Route> {
        Some(Route {
            source_mac: self.mac,
            next_hop: self.neighbours.get(&destination).copied().or(self.gateway)?,
            source: *self.addresses.first()?,
            destination,
        })
    }

    /// Builds the answer to a packet whose frame came from `from`. Without a route to the sender, the answer goes to `from`.
    pub fn answer(
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
