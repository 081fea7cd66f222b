//! A host's network interface by AF_XDP sockets: datagrams of a job in frames, past the kernel's network stack.

use crate::wire::{AT_ONCE, CAPABLE, CONGESTED};
use aggregate::Datagram;
use aggregate::datagram::mac;
use linux_net::xdp::{LONGEST, Sockets};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Bytes of the longest IPv4 packet of a job.
const LONGEST_PACKET: u32 = 1500;

/// Tries to open an interface that is in use, and the time between two: the kernel gives up the sockets of a process a little after its end.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Bytes of Ethernet's header.
const ETHERNET: u32 = 14;

/// An interface with the job's port.
#[derive(Debug)]
pub(crate) struct Interface {
    sockets: Sockets,
    address: u32,
    card: [u8; 6],
    port: u16,
    cards: BTreeMap<u32, [u8; 6]>,
}

impl Interface {
    /// The interface with a name: datagrams to `address` and `port` are the job's.
    pub fn open(
        name: &str,
        address: Ipv4Addr,
        port: u16,
        cards: &[(Ipv4Addr, [u8; 6])],
    ) -> io::Result<Interface> {
        let named = |what: String| io::Error::other(format!("`{name}`: {what}"));
        let link = linux_net::find(name)?.ok_or_else(|| named("there is no such interface".into()))?;
        let most = LONGEST as u32 - ETHERNET;
        if !(LONGEST_PACKET..=most).contains(&link.mtu) {
            return Err(named(format!(
                "AF_XDP takes an MTU of {LONGEST_PACKET} to {most}, not {}",
                link.mtu
            )));
        }
        let busy = |opened: &io::Result<Sockets>| {
            opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
        };
        let mut opened = Sockets::open_udp(link.index, port);
        for _ in 0..TRIES {
            if !busy(&opened) {
                break;
            }
            std::thread::sleep(PAUSE);
            opened = Sockets::open_udp(link.index, port);
        }
        let sockets = opened.map_err(|error| {
            named(format!("AF_XDP: {error}; it needs root or cap_net_raw, cap_net_admin and cap_bpf, and an interface without an XDP program"))
        })?;
        let cards = cards.iter().map(|(host, card)| (u32::from(*host), *card)).collect();
        let address = u32::from(address);
        Ok(Interface { sockets, address, card: link.address, port, cards })
    }

    /// Sends a payload; it is lost if the ring is full.
    pub fn send(&mut self, to: Ipv4Addr, payload: &[u8]) {
        let destination = u32::from(to);
        let payload = payload.to_vec();
        let datagram = Datagram { source: self.address, destination, port: self.port, ecn: CAPABLE, payload };
        // A switch writes the next hop.
        let card = self.cards.get(&destination).copied().unwrap_or(mac(destination));
        let frame = datagram.frame(self.card, card);
        if let Some(socket) = self.sockets.all.first_mut() {
            socket.send([frame.as_slice()].into_iter());
        }
    }

    /// Payloads that wait, and whether each met congestion; if none waits, those that come within `wait`.
    pub fn receive(&mut self, wait: Duration) -> Vec<(Vec<u8>, bool)> {
        let mut came = self.take();
        if came.is_empty() && self.sockets.wait(wait).is_ok() {
            came = self.take();
        }
        came
    }

    /// Takes the frames that wait: the payloads of those for the job.
    fn take(&mut self) -> Vec<(Vec<u8>, bool)> {
        let Interface { sockets, address, port, .. } = self;
        let mut came = vec![];
        for socket in &mut sockets.all {
            socket.receive(AT_ONCE, |frame| {
                let datagram = Datagram::parse(frame);
                let is_ours = |one: &Datagram| one.destination == *address && one.port == *port;
                came.extend(datagram.filter(is_ours).map(|one| (one.payload, one.ecn == CONGESTED)));
            });
        }
        came
    }
}
