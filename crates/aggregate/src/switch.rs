//! A model of a job's switch program, with which the printed programs are compared.
//!
//! A restart of the switch erases all cells and slots. The control plane then sets another boot number; until
//! then the number is 0, and the switch drops every packet of the job.

use crate::key::{Place, Slot};
use crate::layout::Layout;
use crate::packet::{CONGESTED, DIRECT, Kind, MOST_ROWS, Packet, Pair};

/// Destination of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the sender of the packet that it answers.
    Back,
    /// To the destination of the packet that it was.
    On,
}

/// A bank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Bank {
    generation: u32,
    is_open: bool,
}

/// A packet of a channel that was folded, until another with the same number modulo the window.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Cell {
    seq: u32,
    /// Lanes whose pairs found no slot.
    overflowed: u128,
    /// Pairs that left their slots, in layouts that evict: the shadow.
    evicted: Vec<Pair>,
}

/// A switch with one job.
#[derive(Clone, Debug)]
pub struct Switch {
    layout: Layout,
    /// The number in BOOT packets.
    number: u16,
    job: u16,
    boot: u16,
    banks: [Bank; 2],
    /// Streams of pairs that it folds, in the order of their cells.
    senders: Vec<(Kind, u16)>,
    /// Another switch folds what this one leaves.
    has_parent: bool,
    /// Bytes of the longest answer.
    most_bytes: usize,
    cells: Vec<Cell>,
    /// Tag and value, by bank, lane and index; the tag 0 is empty.
    slots: Vec<(u128, u32)>,
}

impl Switch {
    /// An empty switch for the channels 0 to `channels` - 1.
    pub fn new(layout: Layout, number: u16, job: u16, channels: u16, boot: u16) -> Switch {
        let senders = (0..channels).map(|channel| (Kind::Data, channel)).collect();
        Switch::of_senders(layout, number, job, senders, boot)
    }

    /// An empty switch that folds these streams: DATA or OVERFLOW of a channel, or READREPLY of a switch.
    pub fn of_senders(layout: Layout, number: u16, job: u16, senders: Vec<(Kind, u16)>, boot: u16) -> Switch {
        Switch {
            layout,
            number,
            job,
            boot,
            banks: [Bank::default(); 2],
            cells: vec![Cell::default(); senders.len() * layout.window as usize],
            senders,
            has_parent: false,
            most_bytes: layout.most_bytes(),
            slots: vec![(0, 0); 2 * usize::from(layout.lanes) * layout.rows() as usize],
        }
    }

    /// Another switch folds what this one leaves.
    pub fn before_a_parent(self) -> Switch {
        Switch { has_parent: true, ..self }
    }

    /// Answers have at most so many bytes ([`Program::most_bytes`](crate::program::Program::most_bytes)).
    pub fn with_answers_of(self, most_bytes: usize) -> Switch {
        Switch { most_bytes, ..self }
    }

    /// Loses everything.
    pub fn restart(&mut self, boot: u16) {
        self.boot = boot;
        self.banks = [Bank::default(); 2];
        self.cells.fill(Cell::default());
        self.slots.fill((0, 0));
    }

    /// A packet of mapper or reducer, and whether it was marked by ECN. Gives what leaves: one packet, none if it is dropped, or the answers to a READ.
    pub fn handle(&mut self, packet: Packet, is_marked: bool) -> Vec<(Direction, Packet)> {
        if packet.job != self.job {
            return vec![(Direction::On, packet)];
        }
        if self.boot == 0 {
            return vec![];
        }
        match packet.kind {
            Kind::Data | Kind::Overflow | Kind::ReadReply => {
                self.data(packet, is_marked).into_iter().collect()
            }
            Kind::Open | Kind::Close | Kind::Read | Kind::Clear if packet.channel == self.number => {
                self.control(packet).into_iter().map(|answer| (Direction::Back, answer)).collect()
            }
            _ => vec![(Direction::On, packet)],
        }
    }

    fn boot_of(&self, packet: Packet) -> Packet {
        let (boot, channel) = (self.boot, self.number);
        Packet { kind: Kind::Boot, boot, channel, map: 0, pairs: vec![], ..packet }
    }

    fn data(&mut self, mut packet: Packet, is_marked: bool) -> Option<(Direction, Packet)> {
        let is_direct = packet.kind == Kind::Overflow && packet.aux & DIRECT != 0;
        let place = self.senders.iter().position(|sender| *sender == (packet.kind, packet.channel));
        // DATA of an unknown channel is dropped; everything else passes to the reducer unchanged.
        let Some(place) = place.filter(|_| !is_direct) else {
            return (packet.kind != Kind::Data).then_some((Direction::On, packet));
        };
        // The switch has restarted, or the generation is not open: the reducer notices by the boot number.
        let bank = self.banks[(packet.generation & 1) as usize];
        if bank.generation != packet.generation || !bank.is_open {
            return Some((Direction::On, self.boot_of(packet)));
        }
        let at = place * self.layout.window as usize + (packet.seq % self.layout.window) as usize;
        let cell = self.cells.get(at)?;
        if packet.seq < cell.seq {
            return None;
        }
        // Only the first copy of a packet is folded. Duplicates get the same answer from the stored bitmap.
        if packet.seq > cell.seq {
            let mut cell = Cell { seq: packet.seq, overflowed: 0, evicted: vec![] };
            for mut pair in packet.pairs.iter().copied() {
                if self.layout.is_dense() {
                    pair.place = Place { tag: 1, slot: Slot { index: packet.seq as u16, ..pair.place.slot } };
                }
                if let Some(left) = self.fold(pair, &packet) {
                    cell.overflowed |= 1 << pair.place.slot.lane;
                    cell.evicted.extend(self.layout.evict.then_some(left));
                }
            }
            self.cells[at] = cell;
        }
        let cell = &self.cells[at];
        packet.pairs.retain(|pair| cell.overflowed >> pair.place.slot.lane & 1 != 0);
        // With eviction, the new pair took the slot, and the pair that was in it travels on in its place.
        if self.layout.evict {
            for pair in &mut packet.pairs {
                let is_it = |left: &&Pair| left.place.slot.lane == pair.place.slot.lane;
                if let Some(left) = cell.evicted.iter().find(is_it) {
                    (pair.place.tag, pair.value) = (left.place.tag, left.value);
                }
            }
        }
        if packet.kind == Kind::ReadReply {
            return Some((Direction::On, packet));
        }
        // Without a parent, the mapper itself sends the remaining pairs, which the ACK names in its bitmap.
        if cell.overflowed == 0 || !self.has_parent {
            packet.kind = Kind::Ack;
            packet.aux = if is_marked { CONGESTED } else { 0 };
            if !self.layout.evict {
                packet.map = packet.pairs.drain(..).fold(0, |map, pair| map | 1 << pair.place.slot.lane);
            }
            return Some((Direction::Back, packet));
        }
        Some((Direction::On, Packet { kind: Kind::Overflow, ..packet }))
    }

    /// So many slots of a lane, from one on.
    fn slots(&mut self, generation: u32, slot: Slot, count: u32) -> &mut [(u128, u32)] {
        let bank = (generation & 1) * u32::from(self.layout.lanes) + u32::from(slot.lane);
        let first = (bank * self.layout.rows() + u32::from(slot.index)) as usize;
        &mut self.slots[first..first + count as usize]
    }

    /// Folds a pair; gives the pair that has to travel on. A bucket holds its pairs in the order in which they came, the last one first.
    fn fold(&mut self, pair: Pair, packet: &Packet) -> Option<Pair> {
        let Layout { evict, .. } = self.layout;
        let Place { slot, tag } = pair.place;
        let first = Slot { index: self.layout.bucket_of(slot.index), ..slot };
        let bucket = self.slots(packet.generation, first, self.layout.ways());
        let end = bucket.iter().position(|held| held.0 == tag || held.0 == 0);
        if let Some(held) = end.map(|at| &mut bucket[at]).filter(|held| held.0 != 0) {
            held.1 = packet.op.fold(held.1, pair.value);
            return None;
        }
        if end.is_none() && !evict {
            return Some(pair);
        }
        let count = end.map_or(bucket.len(), |hole| hole + 1);
        let moved = &mut bucket[..count];
        moved.rotate_right(1);
        let (left, value) = std::mem::replace(&mut moved[0], (tag, pair.value));
        end.is_none().then_some(Pair { place: Place { slot, tag: left }, value })
    }

    fn control(&mut self, packet: Packet) -> Vec<Packet> {
        let bank = &mut self.banks[(packet.generation & 1) as usize];
        if packet.boot != self.boot {
            // A reducer that does not know the switch learns the last generation of the bank.
            let seq = if packet.kind == Kind::Open { bank.generation } else { packet.seq };
            return vec![self.boot_of(Packet { seq, ..packet })];
        }
        if packet.kind == Kind::Open {
            if packet.generation < bank.generation {
                return vec![];
            }
            if packet.generation > bank.generation {
                *bank = Bank { generation: packet.generation, is_open: true };
            }
            return vec![Packet { kind: Kind::Opened, map: 0, ..packet }];
        }
        if bank.generation != packet.generation {
            return vec![self.boot_of(packet)];
        }
        if packet.kind == Kind::Close {
            bank.is_open = false;
            return vec![Packet { kind: Kind::Closed, map: 0, ..packet }];
        }
        if bank.is_open {
            return vec![];
        }
        let is_read = packet.kind == Kind::Read;
        let has_room = if is_read { packet.map >> 16 == 0 } else { packet.map == 0 };
        if !(1..=MOST_ROWS).contains(&packet.aux) || !has_room {
            return vec![];
        }
        let each = if packet.map == 0 { packet.aux } else { packet.map as u32 };
        let part = |first| {
            let (seq, aux) = (packet.seq.wrapping_add(first), each.min(packet.aux - first));
            Packet { seq, aux, map: 0, ..packet.clone() }
        };
        (0..packet.aux).step_by(each as usize).map(|first| self.rows(part(first))).collect()
    }

    /// The answer to a request for some rows.
    fn rows(&mut self, packet: Packet) -> Packet {
        let layout = self.layout;
        let mut rows: Vec<Vec<Pair>> = vec![];
        let (mut read, mut bytes) = (0, layout.header_bytes());
        // A row more is read only if the packet has room for a full one.
        let most = self.most_bytes - layout.row_bytes();
        while read < packet.aux && (read == 0 || bytes + layout.block_bytes() <= most) {
            let index = (packet.seq.wrapping_add(read) & (layout.rows() - 1)) as u16;
            read += 1;
            let row = self.row(packet.generation, index, packet.kind == Kind::Clear);
            bytes += row.len() * layout.pair_bytes();
            bytes += if rows.is_empty() || row.is_empty() { 0 } else { layout.block_bytes() };
            rows.extend((!row.is_empty()).then_some(row));
        }
        rows.reverse();
        let kind = if packet.kind == Kind::Clear { Kind::Cleared } else { Kind::ReadReply };
        Packet { kind, aux: read << 16 | packet.aux, pairs: rows.concat(), ..packet }
    }

    /// The pairs of a row, or none if it is emptied.
    fn row(&mut self, generation: u32, index: u16, empties: bool) -> Vec<Pair> {
        let mut pairs = vec![];
        for lane in 0..self.layout.lanes {
            let slot = Slot { lane, index };
            let is_dense = self.layout.is_dense();
            let held = &mut self.slots(generation, slot, 1)[0];
            if empties {
                *held = (0, 0);
            } else if held.0 != 0 || is_dense {
                // Rows of arrays are whole: 0 is the value of an empty slot.
                pairs.push(Pair {
                    place: Place { slot, tag: if is_dense { 1 } else { held.0 } },
                    value: held.1,
                });
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;

    #[test]
    fn the_oldest_pair_of_a_bucket_leaves() {
        let layout = Layout { lanes: 4, tag_bits: 32, index_bits: 1, window: 4, evict: true };
        let mut switch = Switch::new(layout, 0, 1, 1, 1);
        let packet = Packet::new(Kind::Data, 1, Op::Add);
        let mut fold = |tag| {
            let place = Place { slot: Slot { lane: 2, index: 0 }, tag };
            switch.fold(Pair { place, value: 1 }, &packet).map(|left| (left.place.tag, left.value))
        };
        // Use does not make a pair young again.
        let left = [7, 8, 7, 9, 8, 7, 7].map(&mut fold);
        assert_eq!(left, [None, None, None, Some((7, 2)), None, Some((8, 2)), None]);
        let held = [0, 1].map(|row| switch.row(0, row, false)[0]);
        assert_eq!(
            held.map(|pair| (pair.place.tag, pair.place.slot.index, pair.value)),
            [(7, 0, 2), (9, 1, 1)]
        );
    }
}
