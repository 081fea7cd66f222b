//! Sockets of a host: the pairs whose frames are recognised without a stamp.

use host_programs::Socket;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// The pair of each socket. Sockets with ports are asked for with nearly every frame, up to three times: they are numbers, and kinds that the host
/// does not have are not looked for.
#[derive(Default)]
pub(crate) struct Sockets {
    ports: FxHashMap<u128, u32>,
    /// A bit for each kind of socket with ports: see [`kind`].
    kinds: u8,
    others: BTreeMap<Socket, u32>,
}

impl Sockets {
    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.others.is_empty()
    }

    /// Adds a socket of a pair. Returns the pair that has it, which is another one if that was first.
    pub fn add(&mut self, socket: Socket, pair: u32) -> u32 {
        match number(socket) {
            Some(number) => {
                self.kinds |= 1 << kind(number);
                *self.ports.entry(number).or_insert(pair)
            }
            None => *self.others.entry(socket).or_insert(pair),
        }
    }

    /// The pair with a socket.
    #[inline(always)]
    pub fn get(&self, socket: Socket) -> Option<u32> {
        match number(socket) {
            Some(number) => self.numbered(number),
            None if self.others.is_empty() => None,
            None => self.others.get(&socket).copied(),
        }
    }

    /// The pair of a datagram or segment: the one with both ports, else with the destination port, else with the source port.
    #[inline(always)]
    pub fn by_ports(&self, protocol: u8, address: Ipv4Addr, ports: (u16, u16)) -> Option<u32> {
        let (source, destination) = (u128::from(ports.0), u128::from(ports.1));
        let known = [(0, source, destination), (SOURCE, ANY, destination), (DESTINATION, source, ANY)];
        // A loop, which is unrolled.
        for (kind, source, destination) in known {
            if self.kinds >> kind & 1 != 0
                && let Some(pair) = self.numbered(number_of(protocol, address, source, destination))
            {
                return Some(pair);
            }
        }
        None
    }

    fn numbered(&self, number: u128) -> Option<u32> {
        self.ports.get(&number).copied()
    }
}

/// Bit of a port that is not fixed.
const ANY: u128 = 1 << 16;

/// The number of a socket with ports. `None` of others.
#[inline(always)]
fn number(socket: Socket) -> Option<u128> {
    let Socket::Ports { protocol, address, source, destination } = socket else { return None };
    let port = |port: Option<u16>| port.map_or(ANY, u128::from);
    Some(number_of(protocol, address, port(source), port(destination)))
}

/// The number of a socket with these ports: protocol, address, source and destination port, the last two with 17 bits.
#[inline(always)]
fn number_of(protocol: u8, address: Ipv4Addr, source: u128, destination: u128) -> u128 {
    let ends = source << 17 | destination;
    u128::from(protocol) << 66 | u128::from(address.to_bits()) << 34 | ends
}

/// Ports that a socket leaves open.
const SOURCE: u8 = 2;
const DESTINATION: u8 = 1;

/// The sum of [`SOURCE`] and [`DESTINATION`], as far as a socket leaves them open.
fn kind(number: u128) -> u8 {
    let open = |at: u32, kind: u8| if number >> at & ANY != 0 { kind } else { 0 };
    open(17, SOURCE) | open(0, DESTINATION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn every_part_of_a_socket_counts() {
        let ports = |protocol, last, source, destination| {
            let address = Ipv4Addr::new(10, 0, 0, last);
            Socket::Ports { protocol, address, source, destination }
        };
        let all = [
            ports(17, 1, Some(0), Some(5)),
            ports(6, 1, Some(0), Some(5)),
            ports(17, 2, Some(0), Some(5)),
            ports(17, 1, Some(1), Some(5)),
            ports(17, 1, Some(0), Some(u16::MAX)),
            ports(17, 1, None, Some(5)),
            ports(17, 1, Some(0), None),
            ports(17, 1, None, None),
            Socket::Protocol(17),
            Socket::EtherType(17),
            Socket::Rest,
        ];
        for known in 0..all.len() {
            let mut sockets = Sockets::default();
            assert!(sockets.is_empty() && all.iter().all(|socket| sockets.get(*socket).is_none()));
            assert_eq!((sockets.add(all[known], 7), sockets.add(all[known], 8)), (7, 7));
            let found: Vec<usize> = (0..all.len()).filter(|at| sockets.get(all[*at]).is_some()).collect();
            assert_eq!((found, sockets.get(all[known])), (vec![known], Some(7)));
        }
        let mut sockets = Sockets::default();
        for (socket, pair) in all.into_iter().zip(0..) {
            assert_eq!(sockets.add(socket, pair), pair);
        }
        assert!(all.into_iter().zip(0..).all(|(socket, pair)| sockets.get(socket) == Some(pair)));
    }
    #[test]
    fn both_ports_go_before_the_destination_and_that_before_the_source() {
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let ports = |source, destination| Socket::Ports { protocol: 6, address, source, destination };
        let all = [(Some(7), Some(9)), (None, Some(9)), (Some(7), None)];
        for known in 0..8 {
            let mut sockets = Sockets::default();
            let known: Vec<usize> = (0..3).filter(|at| known >> at & 1 != 0).collect();
            known.iter().for_each(|at| _ = sockets.add(ports(all[*at].0, all[*at].1), *at as u32));
            assert_eq!(sockets.by_ports(6, address, (7, 9)), known.first().map(|at| *at as u32));
            let is_there = |at| known.contains(&at).then_some(at as u32);
            assert_eq!(sockets.by_ports(6, address, (8, 9)), is_there(1));
            assert_eq!(sockets.by_ports(6, address, (7, 8)), is_there(2));
            assert_eq!(sockets.by_ports(17, address, (7, 9)), None);
            assert_eq!(sockets.by_ports(6, Ipv4Addr::new(10, 0, 0, 2), (7, 9)), None);
        }
    }
}
