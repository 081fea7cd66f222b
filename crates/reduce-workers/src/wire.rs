//! How packets of a job reach the network: by the kernel's UDP, as frames of a cable to a switch process, or as frames of a network interface (AF_XDP).

use crate::control::Attachment;
use crate::interface::Interface;
use aggregate::Datagram;
use aggregate::datagram::mac;
use base_time::Rng;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longest datagram.
const MOST_BYTES: usize = 1 << 16;

/// ECN-capable (RFC 3168 §5), and "congestion experienced".
pub(crate) const CAPABLE: u8 = 2;
pub(crate) const CONGESTED: u8 = 3;

/// Limit on the kernel's memory for packets that wait at a socket. It is taken only while they wait.
pub(crate) const WAITING: usize = 16 << 20;

/// Packets that are received at a time from a socket, at most.
pub(crate) const AT_ONCE: usize = 256;

/// Shortest wait for a packet.
const QUIET: Duration = Duration::from_micros(100);

/// Losses made on purpose, for tests: packets that are sent, and packets that arrive.
#[derive(Debug)]
pub struct Loss {
    millionths: u32,
    chance: Rng,
}

impl Loss {
    /// A loss of `millionths` packets in a million.
    pub fn new(millionths: u32, seed: u64) -> Loss {
        Loss { millionths, chance: Rng::new(seed) }
    }

    fn strikes(&mut self) -> bool {
        self.millionths > 0 && self.chance.chance_ppm(self.millionths)
    }
}

/// A host's connection to the network.
#[derive(Debug)]
pub struct Wire {
    medium: Medium,
    port: u16,
    loss: Loss,
    buffer: Vec<u8>,
    /// Bytes of the kernel's memory for packets that wait.
    allowed: Option<usize>,
}

#[derive(Debug)]
enum Medium {
    /// Payloads in datagrams of the kernel.
    Kernel(UdpSocket),
    /// Frames in datagrams, with the host's address and card.
    Cable(UdpSocket, Ipv4Addr, [u8; 6]),
    /// Behind a lock because its rings may be used by one thread at a time, and a wire may be shared.
    Interface(Box<Mutex<Interface>>),
}

fn alone(interface: &mut Mutex<Interface>) -> &mut Interface {
    interface.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    /// Opens the sockets of a host; `port` is the job's.
    pub fn open(attachment: Attachment, port: u16, loss: Loss) -> io::Result<Wire> {
        let medium = match &attachment {
            Attachment::Kernel { address } => Medium::Kernel(UdpSocket::bind((*address, port))?),
            Attachment::Cable { address, card, local, remote } => {
                let socket = UdpSocket::bind(local)?;
                socket.connect(remote)?;
                Medium::Cable(socket, *address, *card)
            }
            Attachment::Interface { address, interface, cards } => {
                let interface = Interface::open(interface, *address, port, cards)?;
                Medium::Interface(Box::new(Mutex::new(interface)))
            }
        };
        let allowed = match &medium {
            Medium::Kernel(socket) | Medium::Cable(socket, ..) => {
                Some(linux_net::allow_received(socket, WAITING)?)
            }
            Medium::Interface(_) => None,
        };
        Ok(Wire { medium, port, loss, buffer: vec![0; MOST_BYTES], allowed })
    }

    /// Bytes of the kernel's memory that packets may take while they wait; `None` with AF_XDP, whose rings are fixed.
    pub fn allowed(&self) -> Option<usize> {
        self.allowed
    }

    /// Sends a payload. It may be lost, as on any network.
    pub fn send(&mut self, to: Ipv4Addr, payload: &[u8]) {
        if self.loss.strikes() {
            return;
        }
        // Errors of earlier datagrams, such as a switch that is away, are reported here.
        let _ = match &mut self.medium {
            Medium::Interface(interface) => return alone(interface).send(to, payload),
            Medium::Kernel(socket) => socket.send_to(payload, (to, self.port)),
            Medium::Cable(socket, address, card) => {
                let (source, destination) = (u32::from(*address), u32::from(to));
                let datagram = Datagram {
                    source,
                    destination,
                    port: self.port,
                    ecn: CAPABLE,
                    payload: payload.to_vec(),
                };
                // The switch writes the next hop.
                socket.send(&datagram.frame(*card, mac(destination)))
            }
        };
    }

    /// Payloads that wait, and whether each met congestion; if none waits, those that arrive within `wait`. The kernel's UDP does not say what met congestion.
    ///
    /// A process that had no processor for a while finds answers here that its timers do not know of: it looks at all of them before it sends a packet again.
    pub fn receive(&mut self, wait: Duration) -> Vec<(Vec<u8>, bool)> {
        let wait = wait.max(QUIET);
        let Wire { medium, port, loss, buffer, .. } = self;
        let mut came = match medium {
            Medium::Interface(interface) => alone(interface).receive(wait),
            Medium::Kernel(socket) => datagrams(socket, buffer, wait, |bytes| Some((bytes.to_vec(), false))),
            Medium::Cable(socket, address, _) => datagrams(socket, buffer, wait, |bytes| {
                let datagram = Datagram::parse(bytes)?;
                let is_here = datagram.destination == u32::from(*address) && datagram.port == *port;
                is_here.then_some((datagram.payload, datagram.ecn == CONGESTED))
            }),
        };
        came.retain(|_| !loss.strikes());
        came
    }
}

/// Readings of the datagrams that wait at a socket, or of those that arrive within `wait`.
fn datagrams<T>(
    socket: &UdpSocket,
    buffer: &mut [u8],
    wait: Duration,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Vec<T> {
    let mut came = vec![];
    let mut has_waited = false;
    // Datagrams that are nothing of the job count, too: however many there are, timers have their turn.
    for _ in 0..AT_ONCE {
        if let Some(bytes) = linux_net::receive_waiting(socket, buffer) {
            came.extend(read(bytes));
            continue;
        }
        if has_waited || !came.is_empty() || socket.set_read_timeout(Some(wait)).is_err() {
            break;
        }
        has_waited = true;
        let Ok(length) = socket.recv(buffer) else { break };
        came.extend(read(&buffer[..length]));
    }
    came
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_others_do_not_keep_timers_waiting() {
        let (address, card, port) = (Ipv4Addr::new(10, 0, 0, 1), [2; 6], 9000);
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (local, remote) = ("127.0.0.1:0".parse().unwrap(), peer.local_addr().unwrap());
        let cable = Attachment::Cable { address, card, local, remote };
        let mut wire = Wire::open(cable, port, Loss::new(0, 1)).unwrap();
        wire.send(address, b"where it is");
        let (_, here) = peer.recv_from(&mut [0; 100]).unwrap();
        for _ in 0..AT_ONCE {
            peer.send_to(b"no frame", here).unwrap();
        }
        let (source, destination, payload) = (address.into(), address.into(), vec![7; 30]);
        let datagram = Datagram { source, destination, port, ecn: CAPABLE, payload: payload.clone() };
        peer.send_to(&datagram.frame(card, card), here).unwrap();
        let wait = Duration::from_secs(5);
        assert_eq!(wire.receive(wait), []);
        assert_eq!(wire.receive(wait), [(payload, false)]);
    }
}
