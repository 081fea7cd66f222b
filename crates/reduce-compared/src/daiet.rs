//! DAIET (HotNets'17, and its public program): 10 pairs of 16 + 4 bytes in a packet, a slot for each value of a hash, an END of each mapper, and a flush of
//! all slots after the last END. Nothing is acknowledged or repeated: a lost packet is a wrong result, a lost END is none.

use crate::data::{Data, wrong};
use crate::network::{Node, Shape, System};
use aggregate::Op;
use base_time::{Duration, Time};
use std::collections::BTreeMap;

/// Pairs of a packet.
const PAIRS: usize = 10;

/// Bytes around the pairs: Ethernet with preamble and gap, IPv4, UDP, and DAIET's 9 bytes.
const AROUND: u64 = aggregate::datagram::AROUND + 9;

/// Reaction to a pair whose slot holds another key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collision {
    /// The public program: the new key replaces the old one, and the value is added to the slot's.
    Overwrites,
    /// The paper: the pair waits in a bucket, which travels on when it is full.
    Overflows,
}

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Pairs.
    Pairs(Vec<(u32, u32)>),
    /// A mapper has sent everything.
    End,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    collision: Collision,
    op: Op,
    slots: Vec<Option<(u32, u32)>>,
    bucket: Vec<(u32, u32)>,
    children: u16,
    /// ENDs that have not come; set anew by the first pairs after the last END.
    left: u16,
}

impl Switch {
    /// An empty switch for so many mappers.
    pub fn new(collision: Collision, op: Op, slots: u64, children: u16) -> Switch {
        let slots = vec![None; slots.max(1) as usize];
        Switch { collision, op, slots, bucket: vec![], children, left: 0 }
    }

    /// Packets that a packet leads to.
    pub fn handle(&mut self, packet: Packet) -> Vec<Packet> {
        match packet {
            Packet::Pairs(pairs) => {
                if self.left == 0 {
                    self.left = self.children;
                }
                pairs.into_iter().filter_map(|pair| self.fold(pair)).collect()
            }
            Packet::End => {
                // The public program subtracts from 0, too: its counter then wraps, and nothing is ever flushed.
                self.left = self.left.wrapping_sub(1);
                let mut out = if self.left == 0 { self.flush() } else { vec![] };
                out.push(Packet::End);
                out
            }
        }
    }

    fn fold(&mut self, (key, value): (u32, u32)) -> Option<Packet> {
        let at = crc32(key) as usize % self.slots.len();
        let slot = &mut self.slots[at];
        match slot {
            None => *slot = Some((key, value)),
            Some((held, sum)) if *held == key => *sum = self.op.fold(*sum, value),
            Some((held, sum)) if self.collision == Collision::Overwrites => {
                *held = key;
                *sum = self.op.fold(*sum, value);
            }
            Some(_) => {
                self.bucket.push((key, value));
                return (self.bucket.len() == PAIRS).then(|| Packet::Pairs(std::mem::take(&mut self.bucket)));
            }
        }
        None
    }

    fn flush(&mut self) -> Vec<Packet> {
        let held: Vec<_> =
            self.slots.iter_mut().filter_map(Option::take).chain(self.bucket.drain(..)).collect();
        held.chunks(PAIRS).map(|pairs| Packet::Pairs(pairs.to_vec())).collect()
    }

    fn restart(&mut self) {
        self.slots.fill(None);
        self.bucket.clear();
        self.left = 0;
    }
}

/// CRC-32 of a key of 16 bytes that ends with a number.
fn crc32(key: u32) -> u32 {
    let bytes = [0; 12].into_iter().chain(key.to_be_bytes());
    !bytes.fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 })
    })
}

struct Sender {
    packets: Vec<Packet>,
    next: usize,
    due: Time,
}

/// A job.
pub struct Daiet {
    op: Op,
    senders: Vec<Sender>,
    /// From the beginning of a packet to that of the next one, by bytes: picoseconds of a byte.
    pace: u64,
    switches: Vec<Switch>,
    shape: Shape,
    ends: u16,
    result: BTreeMap<u32, u64>,
    pairs: u64,
}

impl Daiet {
    /// A job whose mappers send at `rate` bits per second, whatever happens.
    pub fn new(data: &Data, shape: Shape, slots: u64, collision: Collision, rate: u64) -> Daiet {
        let sender = |pairs: &Vec<(u32, u32)>| {
            let packets = pairs.chunks(PAIRS).map(|pairs| Packet::Pairs(pairs.to_vec()));
            Sender { packets: packets.chain([Packet::End]).collect(), next: 0, due: Time::ZERO }
        };
        // Every switch forwards every END.
        let children = |switch| match switch {
            0 if shape.has_two_tiers => {
                (0..shape.mappers).filter(|mapper| shape.is_far(*mapper)).count() as u16
            }
            _ => shape.mappers,
        };
        let switch = |number| Switch::new(collision, data.op, slots, children(number));
        Daiet {
            op: data.op,
            senders: data.pairs.iter().map(sender).collect(),
            pace: 8_000_000_000_000 / rate.max(1),
            switches: (0..shape.switches()).map(switch).collect(),
            shape,
            ends: 0,
            result: BTreeMap::new(),
            pairs: 0,
        }
    }

    /// Pairs that reached the reducer.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Keys with a wrong value.
    pub fn wrong(&self, fold: &BTreeMap<u32, u64>) -> u64 {
        wrong(fold, &self.result)
    }
}

impl System for Daiet {
    type Packet = Packet;

    fn bytes(&self, packet: &Packet) -> u64 {
        match packet {
            Packet::Pairs(pairs) => AROUND + 20 * pairs.len() as u64,
            // A frame of 64 bytes with preamble and gap.
            Packet::End => 84,
        }
    }

    fn pass(
        &mut self,
        switch: u16,
        ends: (Node, Node),
        packet: Packet,
        _: bool,
    ) -> Vec<(Node, Node, Packet)> {
        let out = self.switches[usize::from(switch)].handle(packet);
        out.into_iter().map(|packet| (ends.0, ends.1, packet)).collect()
    }

    fn arrive(&mut self, _: Node, _: Time, packet: &Packet, _: bool) {
        match packet {
            Packet::Pairs(pairs) => {
                self.pairs += pairs.len() as u64;
                for (key, value) in pairs {
                    let (op, value) = (self.op, u64::from(*value));
                    let held = self.result.entry(*key);
                    held.and_modify(|held| *held = op.fold_wide(*held, value)).or_insert(value);
                }
            }
            Packet::End => self.ends += 1,
        }
    }

    fn poll(&mut self, at: Node, now: Time) -> Option<(Node, Packet)> {
        let Node::Mapper(mapper) = at else { return None };
        let sender = self.senders.get(usize::from(mapper)).filter(|sender| sender.due <= now)?;
        let packet = sender.packets.get(sender.next)?.clone();
        let wait = Duration::from_ps(self.bytes(&packet) * self.pace);
        let sender = &mut self.senders[usize::from(mapper)];
        sender.next += 1;
        sender.due = now + wait;
        Some((Node::Reducer, packet))
    }

    fn deadline(&self, at: Node) -> Option<Time> {
        let Node::Mapper(mapper) = at else { return None };
        let sender = self.senders.get(usize::from(mapper))?;
        (sender.next < sender.packets.len()).then_some(sender.due)
    }

    fn is_done(&self) -> bool {
        self.ends == self.shape.mappers
    }

    fn restart(&mut self, switch: u16) {
        self.switches[usize::from(switch)].restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two keys with the same slot of one.
    fn collide(collision: Collision) -> Vec<Packet> {
        let mut switch = Switch::new(collision, Op::Add, 1, 1);
        assert_eq!(switch.handle(Packet::Pairs(vec![(1, 10), (2, 5)])), []);
        switch.handle(Packet::End)
    }

    #[test]
    fn the_public_program_gives_one_key_the_values_of_another() {
        assert_eq!(collide(Collision::Overwrites), [Packet::Pairs(vec![(2, 15)]), Packet::End]);
        assert_eq!(collide(Collision::Overflows), [Packet::Pairs(vec![(1, 10), (2, 5)]), Packet::End]);
    }

    #[test]
    fn the_checksum_is_that_of_ieee_802_3() {
        // As `zlib.crc32(bytes(12) + b"\x01\x02\x03\x04")` has it.
        assert_eq!(crc32(0x0102_0304), 0x7bc3_6f84);
    }
}
