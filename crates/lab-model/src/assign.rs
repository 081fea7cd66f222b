//! Addresses as p4-utils assigns them.
//!
//! | strategy | a host's address | its gateway |
//! |---|---|---|
//! | `l2` | `10.0.H.H/16`, H its number | none |
//! | `mixed` | `10.S.S.H/24`, S the number of its switch | `10.S.S.254` |
//! | `l3` | `10.S.H.2/24` | `10.S.H.1` |
//!
//! MAC addresses are `00:00` and the IPv4 address; those on the switch's side of the link `00:01` and the address.

use crate::lab::{Gateway, Lab, Neighbour};
use rack_model::{Link, Mac, Network, NodeId};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// How hosts get addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strategy {
    L2,
    Mixed,
    L3,
    /// The file says them.
    Manual,
}

impl Strategy {
    pub(crate) const WORDS: [&str; 4] = ["l2", "mixed", "l3", "manual"];

    pub(crate) fn parse(text: &str) -> Option<Strategy> {
        Some(match text {
            "l2" => Strategy::L2,
            "mixed" => Strategy::Mixed,
            "l3" => Strategy::L3,
            "manual" => Strategy::Manual,
            _ => return None,
        })
    }
}

/// Assigns addresses to the hosts without one. `number_of` returns a switch's number, from 1.
pub(crate) fn addresses(lab: &mut Lab, strategy: Strategy, number_of: &[u32]) {
    let mut taken: BTreeSet<Ipv4Addr> =
        lab.hosts.iter().flat_map(|host| &host.addresses).filter_map(|n| n.v4()).collect();
    for link in lab.links.clone() {
        let Some((at, switch)) = host_and_switch(&link) else { continue };
        let number = number_of.get(switch).copied().unwrap_or(0).to_be_bytes();
        let host = &mut lab.hosts[at];
        if strategy == Strategy::Manual || !host.addresses.is_empty() {
            continue;
        }
        let of_host = host_number(&host.name.value);
        // p4-utils numbers addresses by the host's name (`h3`: 3); a taken number gives way to the next free one.
        let candidates = of_host.into_iter().chain(1..=65_534);
        let address = |number_of_host: u32| {
            let [_, _, high, low] = number_of_host.to_be_bytes();
            let [_, _, upper, lower] = number;
            match strategy {
                Strategy::L2 => Ipv4Addr::new(10, 0, high, low),
                Strategy::Mixed | Strategy::Manual => Ipv4Addr::new(10, upper, lower, low),
                Strategy::L3 => Ipv4Addr::new(10, lower, low, 2),
            }
        };
        let Some(address) = candidates.map(address).find(|address| !taken.contains(address)) else {
            continue;
        };
        taken.insert(address);
        let prefix = if strategy == Strategy::L2 { 16 } else { 24 };
        host.addresses = vec![Network { address: IpAddr::V4(address), prefix }];
        let [a, b, c, _] = address.octets();
        host.gateway = match strategy {
            Strategy::L2 | Strategy::Manual => None,
            Strategy::Mixed => Some(Gateway::Address(Ipv4Addr::new(a, b, c, 254).into())),
            Strategy::L3 => Some(Gateway::Address(Ipv4Addr::new(a, b, c, 1).into())),
        };
    }
    for host in &mut lab.hosts {
        if host.mac.is_none() {
            host.mac =
                host.addresses.first().and_then(|network| network.v4()).map(|address| mac_of(0, address));
        }
    }
}

/// Hosts know each other's MAC addresses in one network, and their gateways'.
pub(crate) fn neighbours(lab: &mut Lab, of_networks: bool, of_gateways: bool) {
    let known: Vec<(Network, Mac)> =
        lab.hosts.iter().filter_map(|host| Some((*host.addresses.first()?, host.mac?))).collect();
    for host in &mut lab.hosts {
        let Some(own) = host.addresses.first().copied() else { continue };
        if of_networks {
            let others = known
                .iter()
                .filter(|(network, _)| network.address != own.address && own.contains(network.address));
            host.neighbours
                .extend(others.map(|(network, mac)| Neighbour { address: network.address, mac: *mac }));
        }
        if let (true, Some(Gateway::Address(address)), Some(own)) = (of_gateways, host.gateway, own.v4()) {
            host.neighbours.push(Neighbour { address, mac: mac_of(1, own) });
        }
    }
}

/// The host and the switch that a link joins.
fn host_and_switch(link: &Link) -> Option<(usize, usize)> {
    let [a, b] = link.ends.map(|end| end.node);
    match (a, b) {
        (NodeId::Host(host), NodeId::Device(switch)) | (NodeId::Device(switch), NodeId::Host(host)) => {
            Some((host.0 as usize, switch.0 as usize))
        }
        _ => None,
    }
}

/// 7 of `h7`.
fn host_number(name: &str) -> Option<u32> {
    name.strip_prefix('h')?.parse().ok().filter(|number| (1..65_535).contains(number))
}

fn mac_of(side: u8, address: Ipv4Addr) -> Mac {
    let [a, b, c, d] = address.octets();
    Mac([0, side, a, b, c, d])
}
