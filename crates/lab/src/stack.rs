//! A host's network stack: addresses, routes, neighbours. All of it happens in the namespace of the calling thread.

use crate::netlink;
use lab_model::{Gateway, Host};
use rack_model::Mac;
use std::fmt::Display;
use std::net::Ipv4Addr;

/// Switches that the tutorials turn off in every host, too: without them programs that know no IPv6 see frames that nobody asked for.
const NO_IPV6: [&str; 2] = ["all", "default"];

/// Sets the loopback up.
pub fn loopback() -> Result<(), String> {
    interface("lo", None)
}

/// No interface of this namespace, now or later, has IPv6. A kernel without IPv6 has nothing to turn off.
pub fn without_ipv6() {
    NO_IPV6.into_iter().for_each(without_ipv6_on);
}

/// An interface has no IPv6.
pub fn without_ipv6_on(interface: &str) {
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1");
}

/// Sets an interface up with its MAC address.
pub fn interface(name: &str, mac: Option<Mac>) -> Result<(), String> {
    let index = index(name)?;
    if let Some(mac) = mac {
        netlink::set_mac(index, mac).map_err(|error| failure(&format!("MAC address of {name}"), &error))?;
    }
    netlink::set_up(index, true).map_err(|error| failure(name, &error))
}

/// Sets an interface up, and has it shown as `state UP`.
pub fn running(name: &str) -> Result<(), String> {
    interface(name, None)?;
    netlink::set_working(index(name)?).map_err(|error| failure(name, &error))
}

/// Addresses, routes and neighbours of a host; `name` is its first interface, which is up.
pub fn configure(host: &Host, name: &str) -> Result<(), String> {
    let index = index(name)?;
    for network in &host.addresses {
        netlink::add_address(index, *network)
            .map_err(|error| failure(&format!("address {network}"), &error))?;
    }
    routes(host, index)
}

/// Routes and neighbours of a host whose interface has been down: they went with it, its addresses are still there.
pub fn restore(host: &Host, name: &str) -> Result<(), String> {
    routes(host, index(name)?)
}

fn routes(host: &Host, index: u32) -> Result<(), String> {
    let know = |address, mac| {
        netlink::add_neighbour(index, address, mac)
            .map_err(|error| failure(&format!("neighbour {address}"), &error))
    };
    host.neighbours.iter().try_for_each(|known| know(known.address, known.mac))?;
    let gateway = match host.gateway {
        None => return Ok(()),
        Some(Gateway::Address(address)) => address,
        Some(Gateway::Mac(mac)) => {
            // A gateway address that no host has: frames to all other networks carry its MAC address.
            let address = Ipv4Addr::new(169, 254, 0, 1).into();
            know(address, mac)?;
            address
        }
    };
    netlink::add_default_route(index, gateway).map_err(|error| failure(&format!("gateway {gateway}"), &error))
}

/// Sets an interface up or down.
pub fn set_up(name: &str, is_up: bool) -> Result<(), String> {
    netlink::set_up(index(name)?, is_up).map_err(|error| failure(name, &error))
}

fn index(name: &str) -> Result<u32, String> {
    netlink::index(name).map_err(|error| failure(&format!("interface {name}"), &error))
}

fn failure(what: &str, error: &dyn Display) -> String {
    format!("{what}: {error}")
}
