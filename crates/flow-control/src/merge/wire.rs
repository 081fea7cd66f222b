//! Messages between a hub and a device about several objects, as bytes: numbers of as many bytes as they need, seven bits in each, the lowest first; the index of a cell as the distance
//! from the cell before.
//!
//! ```text
//! to a device    hub, round, then for each object: id, operator, 0 and a pull, or 1 and a merge
//! to the hub     hub, round, then for each object: id and a push
//! pull    incarnation, seen
//! push    incarnation, sequence, seen, cells, retired: each as count, then each cell; a retired cell with `since` behind it
//! merge   incarnation, sequence, seen, cells
//! cell    distance of the index, epoch, value
//! ```

use super::hub::{Banked, Own, State};
use super::message::{Cell, Merge, Push, Retired};
use state_modes::{MERGES, Merge as Operator};

/// A hub's request or statement about one object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HubMessage {
    /// To push what it has counted.
    Pull {
        /// The incarnation that is known, 0 for none.
        incarnation: u64,
        /// Number of the device's newest push that has arrived.
        seen: u64,
    },
    /// Counts of the other devices.
    Merge(Merge<u64>),
}

/// A hub's message to a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToDevice {
    /// Number of the hub: larger than that of any hub before. A device does what the newest one says.
    pub hub: u64,
    /// Number of the hub's pull; the answer names it.
    pub round: u64,
    /// For each object: its id, the operator of its copies, and the message.
    pub objects: Vec<(u32, Operator, HubMessage)>,
}

/// A device's answer to a message with pulls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToHub {
    /// The newest hub that the device has heard. One that is older learns it so.
    pub hub: u64,
    /// Number of the pull.
    pub round: u64,
    /// For each object: its id, and the device's counts.
    pub objects: Vec<(u32, Push<u64>)>,
}

impl ToDevice {
    /// As bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![];
        [self.hub, self.round].into_iter().for_each(|n| write(n.into(), &mut out));
        for (id, operator, hub_message) in &self.objects {
            write((*id).into(), &mut out);
            write(number(*operator), &mut out);
            match hub_message {
                HubMessage::Pull { incarnation, seen } => {
                    [0, *incarnation, *seen].into_iter().for_each(|n| write(n.into(), &mut out));
                }
                HubMessage::Merge(merge) => {
                    write(1, &mut out);
                    write_merge(merge, &mut out);
                }
            }
        }
        out
    }

    /// Reads a message; `None` if the bytes are none.
    pub fn of(mut bytes: &[u8]) -> Option<ToDevice> {
        let (hub, round) = (short(&mut bytes)?, short(&mut bytes)?);
        let mut objects = vec![];
        while !bytes.is_empty() {
            let id = u32::try_from(short(&mut bytes)?).ok()?;
            let operator = *MERGES.get(usize::try_from(short(&mut bytes)?).ok()?)?;
            let hub_message = match short(&mut bytes)? {
                0 => HubMessage::Pull { incarnation: short(&mut bytes)?, seen: short(&mut bytes)? },
                1 => HubMessage::Merge(read_merge(&mut bytes)?),
                _ => return None,
            };
            objects.push((id, operator, hub_message));
        }
        Some(ToDevice { hub, round, objects })
    }
}

/// Number of an operator in messages: its position in [`MERGES`].
fn number(operator: Operator) -> u128 {
    match operator {
        Operator::Add => 0,
        Operator::Max => 1,
        Operator::Min => 2,
        Operator::Or => 3,
    }
}

impl ToHub {
    /// As bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![];
        [self.hub, self.round].into_iter().for_each(|n| write(n.into(), &mut out));
        for (id, push) in &self.objects {
            write((*id).into(), &mut out);
            write_push(push, &mut out);
        }
        out
    }

    /// Reads a message; `None` if the bytes are none.
    pub fn of(mut bytes: &[u8]) -> Option<ToHub> {
        let (hub, round) = (short(&mut bytes)?, short(&mut bytes)?);
        let mut objects = vec![];
        while !bytes.is_empty() {
            let id = u32::try_from(short(&mut bytes)?).ok()?;
            objects.push((id, read_push(&mut bytes)?));
        }
        Some(ToHub { hub, round, objects })
    }
}

/// Appends a push.
fn write_push(push: &Push<u64>, out: &mut Vec<u8>) {
    for number in [push.incarnation, push.sequence, push.seen, push.cells.len() as u64] {
        write(number.into(), out);
    }
    write_cells(push.cells.iter(), out);
    write(push.retired.len() as u128, out);
    write_cells(push.retired.iter().map(|retired| &retired.last), out);
    push.retired.iter().for_each(|retired| write(retired.since.into(), out));
}

/// Appends a merge.
fn write_merge(merge: &Merge<u64>, out: &mut Vec<u8>) {
    for number in [merge.incarnation, merge.sequence, merge.seen, merge.cells.len() as u64] {
        write(number.into(), out);
    }
    write_cells(merge.cells.iter(), out);
}

/// Takes a push off the front; `None` if there is none.
fn read_push(bytes: &mut &[u8]) -> Option<Push<u64>> {
    let (incarnation, sequence, seen) = (short(bytes)?, short(bytes)?, short(bytes)?);
    let cells = read_cells(bytes)?;
    let last = read_cells(bytes)?;
    let retired: Option<Vec<_>> =
        last.into_iter().map(|last| Some(Retired { last, since: short(bytes)? })).collect();
    Some(Push { incarnation, sequence, seen, cells, retired: retired? })
}

/// Takes a merge off the front; `None` if there is none.
fn read_merge(bytes: &mut &[u8]) -> Option<Merge<u64>> {
    let (incarnation, sequence, seen) = (short(bytes)?, short(bytes)?, short(bytes)?);
    Some(Merge { incarnation, sequence, seen, cells: read_cells(bytes)? })
}

impl State {
    /// As bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![];
        write(self.banked.epoch.into(), &mut out);
        write(self.banked.value, &mut out);
        for own in &self.own {
            write(own.first_epoch.into(), &mut out);
            // No count, and a count of zero, are two things.
            write(u128::from(own.value.is_some()) | u128::from(own.is_unused) << 1, &mut out);
            own.value.into_iter().for_each(|value| write(value, &mut out));
        }
        out
    }

    /// Reads a state; `None` if the bytes are none.
    pub fn of(mut bytes: &[u8]) -> Option<State> {
        let epoch = u32::try_from(short(&mut bytes)?).ok()?;
        let banked = Banked { epoch, value: read(&mut bytes)? };
        let mut own = vec![];
        while !bytes.is_empty() {
            let first_epoch = u32::try_from(short(&mut bytes)?).ok()?;
            let is = short(&mut bytes)?;
            let value = if is & 1 == 0 { None } else { Some(read(&mut bytes)?) };
            own.push(Own { first_epoch, value, is_unused: is & 2 != 0 });
        }
        Some(State { banked, own })
    }
}

fn write_cells<'c>(cells: impl Iterator<Item = &'c Cell<u64>>, out: &mut Vec<u8>) {
    let mut next = 0_u64;
    for Cell { cell, epoch, value } in cells {
        // Cells come in order; whatever order they have, a distance wraps.
        write(cell.wrapping_sub(next).into(), out);
        write((*epoch).into(), out);
        write(*value, out);
        next = cell.wrapping_add(1);
    }
}

fn read_cells(bytes: &mut &[u8]) -> Option<Vec<Cell<u64>>> {
    /// A cell has no fewer bytes.
    const LEAST: usize = 3;
    let count = usize::try_from(short(bytes)?).ok().filter(|count| *count <= bytes.len() / LEAST)?;
    let mut next = 0_u64;
    let mut cells = Vec::with_capacity(count);
    for _ in 0..count {
        let cell = next.wrapping_add(short(bytes)?);
        let epoch = u32::try_from(short(bytes)?).ok()?;
        cells.push(Cell { cell, epoch, value: read(bytes)? });
        next = cell.wrapping_add(1);
    }
    Some(cells)
}

fn write(mut number: u128, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0_u128;
    for at in 0..u128::BITS.div_ceil(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u128::from(first & 0x7f);
        // The last byte has room for two bits.
        if part << (7 * at) >> (7 * at) != part {
            return None;
        }
        number |= part << (7 * at);
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn short(bytes: &mut &[u8]) -> Option<u64> {
    u64::try_from(read(bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(cell: u64, epoch: u32, value: u128) -> Cell<u64> {
        Cell { cell, epoch, value }
    }

    #[test]
    fn each_operator_is_read_as_it_was_written() {
        for (position, operator) in MERGES.into_iter().enumerate() {
            assert_eq!(number(operator), position as u128);
            let objects = vec![(7, operator, HubMessage::Pull { incarnation: 1, seen: 2 })];
            let message = ToDevice { hub: 1, round: 2, objects };
            assert_eq!(ToDevice::of(&message.bytes()), Some(message));
        }
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let cells = vec![cell(0, 0, 1), cell(1, 3, u128::MAX), cell(u64::MAX, u32::MAX, 0x80), cell(5, 0, 0)];
        let retired = vec![Retired { last: cell(9, 1, 7), since: 300 }];
        let push = Push { incarnation: u64::MAX, sequence: 1 << 40, seen: 3, cells: cells.clone(), retired };
        let merge = Merge { incarnation: 1, sequence: 2, seen: 127, cells };
        let pull = HubMessage::Pull { incarnation: 9, seen: 1 << 33 };
        let down = [(7, Operator::Min, pull), (u32::MAX, Operator::Add, HubMessage::Merge(merge))];
        let down = ToDevice { hub: 1 << 60, round: 3, objects: down.to_vec() };
        let up = ToHub { hub: 7, round: 1 << 50, objects: vec![(7, push.clone()), (8, push)] };
        assert_eq!(ToDevice::of(&down.bytes()), Some(down.clone()));
        assert_eq!(ToHub::of(&up.bytes()), Some(up.clone()));
        let (down, up) = (down.bytes(), up.bytes());
        assert!(
            (0..down.len()).all(|end| ToDevice::of(&down[..end]).is_none_or(|cut| cut.objects.len() < 2))
        );
        assert!((0..up.len()).all(|end| ToHub::of(&up[..end]).is_none_or(|cut| cut.objects.len() < 2)));
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let own = vec![
            Own { first_epoch: 0, value: None, is_unused: true },
            Own { first_epoch: 300, value: Some(0), is_unused: false },
            Own { first_epoch: u32::MAX, value: Some(u128::MAX), is_unused: false },
        ];
        let state = State { banked: Banked { epoch: 301, value: 1 << 100 }, own };
        let bytes = state.bytes();
        assert_eq!(State::of(&bytes), Some(state));
        assert_eq!(State::of(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_neighbouring_cell_takes_three_bytes() {
        let mut bytes = vec![];
        write_cells([cell(70_000, 0, 1), cell(70_001, 0, 100)].iter(), &mut bytes);
        assert_eq!(bytes, [0xf0, 0xa2, 0x04, 0, 1, 0, 0, 100]);
    }

    #[test]
    fn whatever_bytes_come_nothing_is_reserved_for_what_is_not_there() {
        let mut huge: &[u8] = &[1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0];
        assert_eq!(read_merge(&mut huge), None);
        let mut endless: &[u8] = &[0xff; 40];
        assert_eq!(read_merge(&mut endless), None);
        let mut seed = 1_u32;
        for _ in 0..10_000 {
            let bytes: Vec<u8> = (0..20)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 24) as u8
                })
                .collect();
            let _ = (ToDevice::of(&bytes), ToHub::of(&bytes));
        }
    }
}
