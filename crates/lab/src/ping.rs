//! ICMP echo (RFC 792) from one host to others, without a program of the machine.

use crate::network::Network;
use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recv, sendto, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// Results of pinging every host from every other.
#[derive(Clone, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct Pings {
    /// Host by host: its name, and the others with whether they answered.
    pub hosts: Vec<(String, Vec<(String, bool)>)>,
}

impl Pings {
    /// Answers and requests.
    pub fn count(&self) -> (usize, usize) {
        let all = || self.hosts.iter().flat_map(|(_, others)| others);
        (all().filter(|(_, answered)| *answered).count(), all().count())
    }

    /// As Mininet writes it.
    pub fn text(&self) -> String {
        let (received, sent) = self.count();
        let line = |(name, others): &(String, Vec<(String, bool)>)| {
            let word =
                |(other, answered): &(String, bool)| if *answered { other.clone() } else { "X".to_string() };
            format!("{name} -> {}\n", others.iter().map(word).collect::<Vec<_>>().join(" "))
        };
        let lines: String = self.hosts.iter().map(line).collect();
        let dropped = ((sent - received) * 100).checked_div(sent).unwrap_or(0);
        format!("{lines}*** Results: {dropped}% dropped ({received}/{sent} received)\n")
    }
}

/// Pings every host from every other, all hosts at once, with this time limit for each answer.
pub fn ping_all(network: &Network, patience: Duration) -> Pings {
    let hosts = &network.lab.hosts;
    let from = |at: usize| {
        let others = (0..hosts.len()).filter(|other| *other != at);
        let answers = others.map(|other| {
            let answered = match network.address(other) {
                Some(IpAddr::V4(to)) => network
                    .space(at)
                    .and_then(|space| space.within(|| ping(to, patience)))
                    .is_ok_and(|done| done),
                _ => false,
            };
            (hosts[other].name.value.clone(), answered)
        });
        (hosts[at].name.value.clone(), answers.collect::<Vec<_>>())
    };
    let from = &from;
    let found = thread::scope(|scope| {
        let threads: Vec<_> = (0..hosts.len()).map(|at| scope.spawn(move || from(at))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    Pings { hosts: found }
}

/// True if an address answers one request from the namespace of this thread.
fn ping(to: Ipv4Addr, patience: Duration) -> bool {
    exchange(to, patience).unwrap_or(false)
}

fn exchange(to: Ipv4Addr, patience: Duration) -> nix::Result<bool> {
    let socket = socket(AddressFamily::Inet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)?;
    let wait = TimeVal::milliseconds(i64::try_from(patience.as_millis()).unwrap_or(1000).clamp(1, 60_000));
    setsockopt(&socket, ReceiveTimeout, &wait)?;
    // In the namespace are several at once at most: one for each address.
    let id = u16::from_be_bytes([to.octets()[2] ^ to.octets()[1], to.octets()[3]]);
    let request = message(REQUEST, id);
    let until = Instant::now() + patience;
    sendto(socket.as_raw_fd(), &request, &SockaddrIn::from(SocketAddrV4::new(to, 0)), MsgFlags::empty())?;
    let mut buffer = [0; 2048];
    while Instant::now() < until {
        match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            Ok(length) if is_answer(&buffer[..length], to, &request) => return Ok(true),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// An echo with 56 bytes of data, as `ping` sends.
fn message(kind: u8, id: u16) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let mut message = vec![kind, 0, 0, 0, high, low, 0, 1];
    message.extend((0..56).map(|byte| byte as u8));
    let [high, low] = checksum(&message).to_be_bytes();
    (message[2], message[3]) = (high, low);
    message
}

/// A packet with the answer to a request.
fn is_answer(packet: &[u8], from: Ipv4Addr, request: &[u8]) -> bool {
    let header = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
    let is_from = packet.get(12..16) == Some(&from.octets()[..]);
    let Some(answer) = packet.get(header..) else { return false };
    is_from && answer.first() == Some(&REPLY) && answer.get(4..) == request.get(4..)
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | two.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_data_of_its_request() {
        let to = Ipv4Addr::new(10, 0, 1, 1);
        let request = message(REQUEST, 7);
        assert_eq!(checksum(&request), 0);
        let mut packet = vec![0x45; 20];
        packet[12..16].copy_from_slice(&to.octets());
        packet.extend(message(REPLY, 7));
        assert!(is_answer(&packet, to, &request));
        assert!(!is_answer(&packet, Ipv4Addr::new(10, 0, 1, 2), &request));
        assert!(!is_answer(&packet, to, &message(REQUEST, 8)));
        packet[20] = REQUEST;
        assert!(!is_answer(&packet, to, &request));
        assert!(!is_answer(&[], to, &request));
    }
}
