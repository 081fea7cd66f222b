//! The entries of one router: routes, next hops, neighbours.

use crate::Mac;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// Entries of a router; all its ports have one MAC address.
pub(super) struct Router {
    mac: Mac,
    text: String,
}

impl Router {
    pub fn new(mac: Mac) -> Router {
        Router { mac, text: String::new() }
    }

    /// Adds a neighbouring router at a port: next hop number `port`.
    pub fn router(&mut self, port: u32, address: Ipv4Addr, mac: Mac) {
        let (ours, to) = (hex(self.mac), address.to_bits());
        let _ = writeln!(
            self.text,
            "add next_hops meta.next_hop:{port} to_router(port:{port}, src_addr:{ours}, neighbour:0x{to:08x})"
        );
        self.neighbour(address, mac);
    }

    /// Adds a host at a port: next hop number `port`, and a route to the host.
    pub fn host(&mut self, port: u32, address: Ipv4Addr, mac: Mac) {
        let ours = hex(self.mac);
        let _ =
            writeln!(self.text, "add next_hops meta.next_hop:{port} to_host(port:{port}, src_addr:{ours})");
        self.neighbour(address, mac);
        self.via(address, 32, port);
    }

    /// Adds a route for a prefix to a port.
    pub fn via(&mut self, prefix: Ipv4Addr, length: u32, port: u32) {
        let prefix = prefix.to_bits();
        let _ =
            writeln!(self.text, "add routes hdr.ipv4.dst_addr:0x{prefix:08x}/{length} via(next_hop:{port})");
    }

    /// Everything else is spread over some ports; `again` where that was done before.
    pub fn up(&mut self, first: u32, count: u32, again: bool) {
        let action = if again { "spread_again" } else { "spread" };
        let _ = writeln!(
            self.text,
            "add routes hdr.ipv4.dst_addr:0x00000000/0 {action}(first:{first}, count:{count})"
        );
    }

    pub fn into_text(self) -> String {
        self.text
    }

    fn neighbour(&mut self, address: Ipv4Addr, mac: Mac) {
        let (address, mac) = (address.to_bits(), hex(mac));
        let _ = writeln!(self.text, "add neighbours meta.neighbour:0x{address:08x} resolve(dst_addr:{mac})");
    }
}

fn hex(mac: Mac) -> String {
    mac.0.iter().fold("0x".to_string(), |text, byte| format!("{text}{byte:02x}"))
}
