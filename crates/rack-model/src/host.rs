//! `[host.NAME]`: a server that sends and answers, with one network card.
//!
//! ```toml
//! [host.h1]
//! mac = "02:00:00:00:01:01"
//! ip = "10.0.1.1/24"                 # or a list of them
//! gateway = "02:00:00:00:00:01"      # the MAC address that leads to other networks
//! ```
//!
//! There is no ARP: a frame for a host of the same network carries that host's MAC address, a frame for any
//! other the gateway's.

use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{Mac, Network, Spanned};
use std::net::{IpAddr, Ipv4Addr};
use toml::de::DeValue;

/// A host of the rack. Its one network card is port 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Name of the host.
    pub name: Spanned<String>,
    /// The address of its network card.
    pub mac: Spanned<Mac>,
    /// IP addresses, at least one.
    pub ip: Vec<Spanned<Network>>,
    /// The MAC address that leads to other networks.
    pub gateway: Option<Mac>,
}

impl Host {
    /// First IPv4 address.
    pub fn v4(&self) -> Option<Ipv4Addr> {
        self.ip.iter().find_map(|n| n.value.v4())
    }

    /// The MAC address that a frame from here to `to` carries for its address `address`; none if that is in
    /// another network and there is no gateway.
    pub fn next_hop(&self, to: &Host, address: IpAddr) -> Option<Mac> {
        match self.ip.iter().any(|n| n.value.contains(address)) {
            true => Some(to.mac.value),
            false => self.gateway,
        }
    }
}

pub(crate) fn read(r: &mut Reader, name: Spanned<String>, item: Item<'_>) -> Option<Host> {
    let mut s = Section::new(r, format!("host `{}`", name.value), name.span, item)?;
    let mac = s.required(r, "mac", "\"02:00:00:00:00:01\"", value::station);
    let ip = s.required(r, "ip", "\"10.0.1.1/24\"", networks);
    let gateway = s.optional(r, "gateway", value::station);
    s.finish(r);
    Some(Host { name, mac: mac?, ip: ip?.value, gateway: gateway.map(|g| g.value) })
}

/// One address or a list of at least one.
fn networks(r: &mut Reader, item: Item<'_>) -> Option<Vec<Spanned<Network>>> {
    if !matches!(item.value, DeValue::Array(_)) {
        return Some(vec![Spanned::new(value::network(r, item)?, item.span)]);
    }
    let before = r.diagnostics.error_count();
    let networks = value::list(r, item, value::network)?;
    if networks.is_empty() && r.diagnostics.error_count() == before {
        r.bad_value(item.span, "no address", "a host needs at least one");
    }
    (!networks.is_empty()).then_some(networks)
}
