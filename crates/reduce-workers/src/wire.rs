//! How packets of a job reach the network: by the kernel's UDP, or as frames of a cable to a switch process.

use crate::control::Attachment;
use aggregate::Datagram;
use aggregate::datagram::mac;
use base_time::Rng;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Longest datagram.
const MOST_BYTES: usize = 1 << 16;

/// ECN-capable (RFC 3168 §5), and "congestion experienced".
const CAPABLE: u8 = 2;
const CONGESTED: u8 = 3;

/// Bytes that the kernel may keep for us: a window of packets of every mapper.
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
    socket: UdpSocket,
    attachment: Attachment,
    port: u16,
    loss: Loss,
    buffer: Vec<u8>,
}

impl Wire {
    /// Opens the sockets of a host; `port` is the job's.
    pub fn open(attachment: Attachment, port: u16, loss: Loss) -> io::Result<Wire> {
        let socket = match &attachment {
            Attachment::Kernel { address } => UdpSocket::bind((*address, port))?,
            Attachment::Cable { local, remote, .. } => {
                let socket = UdpSocket::bind(local)?;
                socket.connect(remote)?;
                socket
            }
        };
        Ok(Wire { socket, attachment, port, loss, buffer: vec![0; MOST_BYTES] })
    }

    /// Sends a payload. It may be lost, as on any network.
    pub fn send(&mut self, to: Ipv4Addr, payload: &[u8]) {
        if self.loss.strikes() {
            return;
        }
        // Errors of earlier datagrams, such as a switch that is away, are reported here.
        let _ = match &self.attachment {
            Attachment::Kernel { .. } => self.socket.send_to(payload, (to, self.port)),
            Attachment::Cable { address, card, .. } => {
                let (source, destination) = (u32::from(*address), u32::from(to));
                let datagram = Datagram {
                    source,
                    destination,
                    port: self.port,
                    ecn: CAPABLE,
                    payload: payload.to_vec(),
                };
                // The switch writes the next hop.
                self.socket.send(&datagram.frame(*card, mac(destination)))
            }
        };
    }

    /// A payload, and whether it met congestion; none if none arrives in time. The kernel's UDP does not say what met congestion.
    pub fn receive(&mut self, wait: Duration) -> Option<(Vec<u8>, bool)> {
        self.socket.set_read_timeout(Some(wait.max(QUIET))).ok()?;
        let length = self.socket.recv(&mut self.buffer).ok()?;
        if self.loss.strikes() {
            return None;
        }
        let bytes = &self.buffer[..length];
        match &self.attachment {
            Attachment::Kernel { .. } => Some((bytes.to_vec(), false)),
            Attachment::Cable { address, .. } => {
                let datagram = Datagram::parse(bytes)?;
                let is_here = datagram.destination == u32::from(*address) && datagram.port == self.port;
                is_here.then_some((datagram.payload, datagram.ecn == CONGESTED))
            }
        }
    }

    /// The address that the socket has here.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}
