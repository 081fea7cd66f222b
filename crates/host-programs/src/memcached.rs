//! `memcached`: a client of memcached and a store, over UDP in the text protocol (`protocol.txt` of memcached).
//!
//! The store has every key from the start, and writes never change a key's value: whatever the order of requests, one
//! answer is right. So neither end stores values, and answers are compared byte for byte.

use crate::kind::{Count, Key, Kind, Rule, Size, Wanted};
use crate::packet::{Transport, UDP, build};
use crate::program::{Arrival, Begun, Desk, HostProgram, Setup, Side, Socket, Taken};
use crate::source::Pace;
use crate::stamp::Stamp;
use crate::streams::Streams;
use crate::unused::Unused;
use base_time::{Duration, Rng, Zipf};
use std::collections::BTreeMap;

/// The longest value that one datagram carries.
pub const MOST_VALUE: u32 = 1400;

/// Limit on the keys of a workload.
pub const MOST_KEYS: u32 = 1_000_000;

/// Requests to a store, sent whatever becomes of the answers. Gaps are by chance.
pub static MEMCACHED: Kind = Kind {
    word: "memcached",
    count: Count::PACKETS,
    size: Some(Size { least: 1, most: MOST_VALUE, default: 1000 }),
    keys: &[
        Key::new("verb", Wanted::Word(&["get", "set"])),
        Key::new("keys", Wanted::Number { least: 1, most: MOST_KEYS, default: None }),
        Key::new("skew", Wanted::Thousandths(1000)),
        Key::time("interval", Duration::from_ms(1)),
    ],
    // A value set by one client is read by another.
    rule: Some(Rule::OneSize("the values of one store have two sizes")),
    since_start: |load, n| load.time("interval") * n,
    // Beside the value: memcached's header, and at most as much text as that of an answer with it.
    frame_bytes: |load| Some(load.size.saturating_add(14 + 20 + 8 + 8 + 38)),
    start,
};

/// Request of a client to a store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verb {
    /// A value.
    Get,
    /// To keep a value.
    Set,
}

struct Memcached {
    streams: Streams,
    verb: Verb,
    keys: Zipf,
    clients: Vec<Client>,
}

/// A client's memory: stores have none.
struct Client {
    /// Random generator for the keys.
    chance: Rng,
    /// Requests by their ids, and when each was sent.
    asked: BTreeMap<u16, (Request, Stamp)>,
}

fn start(setup: Setup<'_>) -> Begun {
    let load = setup.load;
    let verb = if load.text("verb") == "set" { Verb::Set } else { Verb::Get };
    let keys = Zipf::new(load.number("keys"), load.number("skew"));
    let client = |chance| Client { chance, asked: BTreeMap::new() };
    let clients = Streams::chances(&setup, "flows").map(client).collect();
    let (streams, mut started) = Streams::start(&setup, Pace::Poisson);
    // Both ends know datagrams by the other's address and the client's port.
    for (pair, at) in setup.pairs.iter().zip(0..) {
        let (client, route) = (Some(streams.source_port(at)), pair.route);
        let ends = [
            (Side::Sender, route.destination, Some(PORT), client),
            (Side::Receiver, route.source, client, Some(PORT)),
        ];
        for (side, address, source, destination) in ends {
            started.sockets.push((at, side, Socket::Ports { protocol: UDP, address, source, destination }));
        }
    }
    Ok((Box::new(Memcached { streams, verb, keys, clients }), started))
}

impl HostProgram for Memcached {
    fn tick(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let size = self.streams.load.size;
        let udp = Transport::Udp { source: self.streams.source_port(pair), destination: PORT };
        let (Some((stream, stamp)), Some(client)) =
            (self.streams.next(pair, desk), self.clients.get_mut(pair as usize))
        else {
            return;
        };
        let key = self.keys.draw(&mut client.chance) as u32;
        let request = Request { id: stamp.sequence as u16, verb: self.verb, key, size };
        client.asked.insert(request.id, (request, stamp));
        let bytes = request.bytes();
        let fill = |payload: &mut [u8]| payload.copy_from_slice(&bytes);
        let frame = build(stream.route, udp, request.id, bytes.len(), fill);
        desk.send(pair, Side::Sender, frame);
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let (Some((transport, payload)), Some(packet)) = (arrival.transport, arrival.packet) else {
            return Taken::Unused(Unused::NoReceiver);
        };
        let taken = match arrival.side {
            Some(Side::Receiver) => {
                let request = Request::read(payload, self.verb, self.streams.load.size);
                request.map(|request| {
                    let answer = request.answer();
                    let fill = |bytes: &mut [u8]| bytes.copy_from_slice(&answer);
                    let back = transport.back();
                    let frame = arrival.station.answer(&packet, arrival.from, back, answer.len(), fill);
                    desk.send(arrival.pair, Side::Receiver, frame);
                    Taken::Used
                })
            }
            _ => {
                let client = self.clients.get(arrival.pair as usize);
                let asked = id(payload).and_then(|id| client?.asked.get(&id));
                let answered = asked.filter(|(request, _)| request.answer() == payload);
                answered.map(|(_, stamp)| *stamp).map(|stamp| {
                    let bytes = payload.len() as u32;
                    self.streams.count(arrival.pair, stamp, bytes, desk.tally, desk.now);
                    Taken::Received(stamp.sequence)
                })
            }
        };
        taken.unwrap_or_else(|| {
            desk.tally.corrupt(Unused::PayloadChanged);
            Taken::Unused(Unused::PayloadChanged)
        })
    }

    fn is_active(&self) -> bool {
        self.streams.is_active()
    }
}

/// The store's port.
const PORT: u16 = 11211;

/// Bytes of memcached's header: request id, sequence number, datagrams, reserved; 16 bits each.
const HEADER: usize = 8;

/// A request: the payload of one datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Request {
    id: u16,
    verb: Verb,
    key: u32,
    /// Bytes of a value.
    size: u32,
}

impl Request {
    /// As a client writes it.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = header(self.id);
        match self.verb {
            Verb::Get => bytes.extend(format!("get {:016}\r\n", self.key).bytes()),
            Verb::Set => {
                bytes.extend(format!("set {:016} 0 0 {}\r\n", self.key, self.size).bytes());
                bytes.extend(value(self.key, self.size));
                bytes.extend(b"\r\n");
            }
        }
        bytes
    }

    /// The request that a store has received; none if it is none of a client of ours.
    fn read(bytes: &[u8], verb: Verb, size: u32) -> Option<Request> {
        let id = id(bytes)?;
        let key = std::str::from_utf8(bytes.get(HEADER + 4..HEADER + 20)?).ok()?.parse().ok()?;
        let request = Request { id, verb, key, size };
        (request.bytes() == bytes).then_some(request)
    }

    /// The one right answer.
    fn answer(self) -> Vec<u8> {
        let mut bytes = header(self.id);
        match self.verb {
            Verb::Get => {
                bytes.extend(format!("VALUE {:016} 0 {}\r\n", self.key, self.size).bytes());
                bytes.extend(value(self.key, self.size));
                bytes.extend(b"\r\nEND\r\n");
            }
            Verb::Set => bytes.extend(b"STORED\r\n"),
        }
        bytes
    }
}

/// The id of a request or an answer.
fn id(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk::<2>().map(|id| u16::from_be_bytes(*id))
}

/// Frame header of a memcached message that fits one UDP datagram.
fn header(id: u16) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0]].concat()
}

/// Letters, other ones under each key.
fn value(key: u32, size: u32) -> impl Iterator<Item = u8> {
    (0..size).map(move |at| b'a' + (key.wrapping_mul(7).wrapping_add(at) % 26) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_memcached_s() {
        let get = Request { id: 258, verb: Verb::Get, key: 7, size: 3 };
        assert_eq!(get.bytes(), b"\x01\x02\0\0\0\x01\0\0get 0000000000000007\r\n");
        assert_eq!(get.answer(), b"\x01\x02\0\0\0\x01\0\0VALUE 0000000000000007 0 3\r\nxyz\r\nEND\r\n");
        let set = Request { verb: Verb::Set, ..get };
        assert_eq!(set.bytes(), b"\x01\x02\0\0\0\x01\0\0set 0000000000000007 0 0 3\r\nxyz\r\n");
        assert_eq!(set.answer(), b"\x01\x02\0\0\0\x01\0\0STORED\r\n");
    }

    #[test]
    fn what_is_not_quite_a_request_is_none() {
        let set = Request { id: 1, verb: Verb::Set, key: 12, size: 5 };
        let bytes = set.bytes();
        assert_eq!(Request::read(&bytes, Verb::Set, 5), Some(set));
        assert_eq!(Request::read(&bytes, Verb::Get, 5), None);
        for at in 2..bytes.len() {
            assert_eq!(Request::read(&bytes[..at], Verb::Set, 5), None);
            let mut other = bytes.clone();
            other[at] ^= 0x80;
            assert_eq!(Request::read(&other, Verb::Set, 5), None, "byte {at}");
        }
    }
}
