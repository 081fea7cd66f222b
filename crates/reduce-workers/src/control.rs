//! The control connection: lines of JSON over TCP.

use aggregate::{Place, Slot};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

/// Longest line.
pub const MOST_LINE: u64 = 1 << 26;

/// Attachment of a host to the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attachment {
    /// By the kernel's UDP, at this address of the machine.
    Kernel {
        /// The host's address.
        address: Ipv4Addr,
    },
    /// By frames in datagrams: a cable to a port of a switch process.
    Cable {
        /// The host's address.
        address: Ipv4Addr,
        /// The address of its card.
        card: [u8; 6],
        /// The socket of the host.
        local: SocketAddr,
        /// The socket of the switch's port.
        remote: SocketAddr,
    },
    /// By AF_XDP sockets at a network interface, past the kernel's network stack. The kernel keeps all frames but those of the job.
    Interface {
        /// The host's address.
        address: Ipv4Addr,
        /// Name of the interface.
        interface: String,
        /// Addresses of the cards of other hosts, for networks without a `p4rack switch`, which would write the next hop.
        cards: Vec<(Ipv4Addr, [u8; 6])>,
    },
}

impl Attachment {
    /// The host's address.
    pub fn address(&self) -> Ipv4Addr {
        match self {
            Attachment::Kernel { address }
            | Attachment::Cable { address, .. }
            | Attachment::Interface { address, .. } => *address,
        }
    }
}

/// The task of a worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Work {
    /// The text of the job.
    pub text: String,
    /// Name of the mapper.
    pub mapper: String,
    /// Larger than that of every earlier worker of the mapper.
    pub incarnation: u32,
    /// For each reducer that it sends to.
    pub tasks: Vec<Task>,
    /// The worker's connection to the network.
    pub attachment: Attachment,
    /// Losses made on purpose, in millionths.
    pub loss: u32,
    /// Least time before a packet is sent again, in milliseconds; none: the usual one.
    pub wait: Option<u64>,
    /// Directory of relative paths.
    pub directory: String,
}

/// A channel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Name of the reducer.
    pub reducer: String,
    /// The reducer's number in packets, which the text of the job may leave out.
    pub number: u16,
    /// Number of the channel.
    pub channel: u16,
    /// True if a switch folds the pairs.
    pub is_switched: bool,
    /// Address of the reducer's host.
    pub to: Ipv4Addr,
    /// The address of its card.
    pub card: [u8; 6],
}

/// From worker to master.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Report {
    /// The first line: which mapper it is.
    Hello { mapper: String },
    /// The data is read: pairs for each task.
    Ready { pairs: Vec<u64> },
    /// The worker ends.
    Failed { title: String, place: String, help: String, code: u16 },
    /// Keys of the places that were asked for; none where the mapper has no such key.
    Names { names: Vec<Option<Name>> },
    /// Packets with pairs so far, and those sent again.
    Sent { packets: u64, repeated: u64 },
}

/// From master to worker, after [`Work`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Instruction {
    /// Asks for the text of the keys at these places.
    Name { reducer: String, places: Vec<WirePlace> },
    /// The job is over.
    End,
}

/// A key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Name {
    Text(String),
    /// One that is no UTF-8.
    Bytes(Vec<u8>),
}

impl Name {
    pub fn of(key: &[u8]) -> Name {
        match std::str::from_utf8(key) {
            Ok(text) => Name::Text(text.into()),
            Err(_) => Name::Bytes(key.to_vec()),
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Name::Text(text) => text.into_bytes(),
            Name::Bytes(bytes) => bytes,
        }
    }
}

/// A place: lane, index, tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct WirePlace(u8, u16, u64, u64);

impl From<Place> for WirePlace {
    fn from(place: Place) -> WirePlace {
        WirePlace(place.slot.lane, place.slot.index, (place.tag >> 64) as u64, place.tag as u64)
    }
}

impl From<WirePlace> for Place {
    fn from(WirePlace(lane, index, high, low): WirePlace) -> Place {
        Place { slot: Slot { lane, index }, tag: u128::from(high) << 64 | u128::from(low) }
    }
}

/// Sends a line.
pub(crate) fn send(mut stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// The next line; none at the end, or if it is too long or no such message.
pub(crate) fn receive<T: DeserializeOwned>(reader: &mut BufReader<TcpStream>) -> Option<T> {
    let mut line = vec![];
    reader.by_ref().take(MOST_LINE).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}
