//! Memory of a table's entries in a stage: how many entries share how wide a word.
//!
//! Exact match stores the key without the bits that the row address implies, a version, and the entry's action and data. From
//! one to nine entries share a word of one to eight blocks; the layout that takes the fewest blocks is chosen. Where
//! not all entries fit, the layout that holds the most is chosen.

use crate::amount::{Amounts, Resource};
use crate::device::Device;
use crate::unit::{Match, Side, SideKind, Unit, bits_of, data_per_word};

/// Bits of the key that the address of a row says.
const GHOST_BITS: u32 = 10;
/// Bits of an entry that say whether it is in use.
const VERSION_BITS: u32 = 4;
/// Maximum number of bits of action data in the entry itself.
const IMMEDIATE_BITS: u32 = 32;
/// Number of ways of an exact table; each has its own hash function, and an entry may be in any of them.
const WAYS: u32 = 4;
/// Hash bits that select a block within its way, summed over all ways.
const SELECT_BITS: u32 = 12;
/// The most entries that share a word, and blocks that a word takes.
const MOST_ENTRIES: u32 = 9;
const MOST_WIDE: u32 = 8;
/// Entries that one block of a word may hold a part of.
const ENTRIES_PER_BLOCK: u32 = 5;
/// Pointers and numbers of actions in a block.
const OVERHEAD_BITS: u32 = 64;

/// Entries of a table in a stage, with the resources that they use.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Part {
    /// Entries that it holds, of those asked for.
    pub entries: u64,
    /// Blocks of memory, map RAMs, hash bits.
    pub amounts: Amounts,
    /// Blocks that each packet reads.
    pub reads: u32,
    /// Map RAMs that each packet reads and writes.
    pub map_reads: u32,
    /// Blocks in a word and entries in a word, for reports.
    pub wide: u32,
    /// Entries in a word.
    pub packed: u32,
}

/// As many of `left` entries as find room in `free`, with the memory beside them. `shared` are objects that are in the
/// stage already.
pub fn part(
    device: &Device,
    unit: &Unit,
    of: &Match,
    left: u64,
    free: &Amounts,
    shared: &dyn Fn(&str) -> bool,
) -> Option<Part> {
    let fixed: Vec<&Side> = unit.side.iter().filter(|s| s.cells.is_some() && !shared(&s.name)).collect();
    let mut base = Part::default();
    fixed.iter().for_each(|side| add_side(device, side, 0, &mut base));
    let mut best: Option<Part> = None;
    for word in words(device, of) {
        if let Some(found) = word.part(device, unit, of, left, free, &base) {
            let better = best.is_none_or(|b| {
                let all = |p: &Part| p.entries >= left;
                match (all(&found), all(&b)) {
                    (true, true) => found.amounts[Resource::Sram] < b.amounts[Resource::Sram],
                    (false, false) => found.entries > b.entries,
                    (found, _) => found,
                }
            });
            if better {
                best = Some(found);
            }
        }
    }
    best
}

/// A form of a table's words.
struct Word {
    wide: u32,
    packed: u32,
    /// Action data in memory of its own.
    data: Option<Side>,
    /// Bits of each entry beside the key.
    overhead: u32,
}

/// The forms that a table's words may have.
fn words(device: &Device, of: &Match) -> Vec<Word> {
    let choice = match of.actions {
        0 | 1 => 0,
        2..=8 => bits_of(u64::from(of.actions)),
        _ => 6,
    };
    let pointers = choice + of.pointer_bits;
    let data = || Some(data_per_word(of.data_bits));
    let mut forms = vec![];
    if of.indirect || of.data_bits == 0 {
        forms.push((pointers, None));
    } else {
        if of.data_bits <= IMMEDIATE_BITS {
            forms.push((pointers + of.data_bits, None));
        }
        forms.push((pointers, data()));
    }
    let mut words = vec![];
    for (overhead, data) in forms {
        if of.ternary {
            let wide = (of.key_bits + VERSION_BITS).div_ceil(device.memory.tcam_bits.max(1)).max(1);
            words.push(Word { wide, packed: 1, data, overhead });
            continue;
        }
        let bits = of.key_bits.saturating_sub(GHOST_BITS) + VERSION_BITS + overhead;
        let mut widest: u32 = 0;
        for wide in 1..=MOST_WIDE {
            let room = device.memory.sram_bits.saturating_mul(wide);
            let packed = (room / bits.max(1)).min(MOST_ENTRIES).min(ENTRIES_PER_BLOCK * wide);
            let packed = packed.min(OVERHEAD_BITS * wide / overhead.max(1));
            // A wider word is worth a look only if it holds more.
            if packed > widest {
                widest = packed;
                words.push(Word { wide, packed, data: data.clone(), overhead });
            }
        }
        // Where memory beside each entry is dear, fewer entries in a narrow word may be best.
        for packed in 1..device.memory.sram_bits / bits.max(1) {
            words.push(Word { wide: 1, packed, data: data.clone(), overhead });
        }
    }
    words
}

impl Word {
    fn part(
        &self,
        device: &Device,
        unit: &Unit,
        of: &Match,
        left: u64,
        free: &Amounts,
        base: &Part,
    ) -> Option<Part> {
        let (kind, words, most, least) = if of.ternary {
            let most = device.stage.tcam_rows / self.wide * device.stage.tcam_columns;
            (Resource::Tcam, u64::from(device.memory.tcam_words), most, 1)
        } else {
            let most = device.stage.sram_rows / self.wide * device.stage.sram_columns;
            (
                Resource::Sram,
                u64::from(device.memory.sram_words),
                most,
                if is_identity(of) { 1 } else { WAYS },
            )
        };
        let per_block = (words * u64::from(self.packed)).max(1);
        let rows = left.saturating_mul(u64::from(of.rows_per_100)).div_ceil(100);
        let wanted = u32::try_from(rows.div_ceil(per_block)).unwrap_or(u32::MAX).max(least);
        let most = most.min(free[kind] / self.wide);
        // As deep as wanted, else as deep as fits together with everything beside it: later stages take the rest.
        let mut depth = wanted.min(most);
        while depth >= least {
            let mut part = *base;
            part.wide = self.wide;
            part.packed = self.packed;
            part.amounts[kind] += depth * self.wide;
            let allocated = u64::from(depth) * per_block;
            let held = allocated * 100 / u64::from(of.rows_per_100.max(1));
            part.entries = if depth >= wanted { left } else { held.min(left) };
            self.beside(device, unit, of, allocated, depth, &mut part);
            let is_small =
                unit.side.iter().all(|s| object_rams(device, s, allocated) <= device.memory.object_rams);
            if is_small && part.amounts.beyond(free).is_none() {
                return Some(part);
            }
            depth -= 1;
        }
        None
    }

    /// Adds the memory of a table other than the blocks of its key: action data, overhead, side memory.
    fn beside(&self, device: &Device, unit: &Unit, of: &Match, allocated: u64, depth: u32, part: &mut Part) {
        if of.ternary {
            if self.overhead > 0 {
                let per_word = (device.memory.sram_bits / self.overhead.next_power_of_two().max(8)).max(1);
                let words = u64::from(device.memory.sram_words) * u64::from(per_word);
                part.amounts[Resource::Sram] += to_u32(allocated.div_ceil(words));
                part.reads += 1;
            }
        } else {
            let (ways, bits) = ways(of, depth);
            part.amounts[Resource::HashBits] += bits;
            part.reads += ways * self.wide;
        }
        let direct = unit.side.iter().filter(|s| s.cells.is_none());
        direct.chain(&self.data).for_each(|side| add_side(device, side, allocated, part));
    }
}

/// True if every value of the key has a place of its own: one way suffices.
fn is_identity(of: &Match) -> bool {
    of.key_bits <= GHOST_BITS || of.key_bits < u64::BITS && of.entries >= 1 << of.key_bits
}

/// Number of ways for a depth in blocks, and the number of hash bits that select a row and a block in each way.
fn ways(of: &Match, depth: u32) -> (u32, u32) {
    if is_identity(of) {
        return (1, GHOST_BITS + bits_of(u64::from(depth)));
    }
    let way = 1 << (depth / WAYS).max(1).ilog2();
    let larger = depth.saturating_sub(way * WAYS).min(2);
    (depth.div_ceil(way), WAYS * GHOST_BITS + (WAYS * way.ilog2() + larger).min(SELECT_BITS))
}

/// Number of blocks of a side memory for this number of entries, including the spare.
fn object_rams(device: &Device, side: &Side, entries: u64) -> u32 {
    let cells = side.cells.unwrap_or(entries);
    let words = cells.div_ceil(u64::from(side.per_word)).saturating_mul(u64::from(side.words_per_cell));
    let blocks = to_u32(words.div_ceil(u64::from(device.memory.sram_words.max(1))));
    if side.kind.is_synthesized() { blocks.saturating_add(1) } else { blocks }
}

/// Adds the memory of `side`, for this number of entries if it is per entry.
fn add_side(device: &Device, side: &Side, entries: u64, part: &mut Part) {
    let blocks = object_rams(device, side, entries);
    let of = |part: &mut Part, resource: Resource, n: u32| {
        part.amounts[resource] = part.amounts[resource].saturating_add(n);
    };
    match side.kind {
        SideKind::Idle => {
            of(part, Resource::MapRam, blocks);
            part.map_reads += WAYS + 1;
            return;
        }
        SideKind::ActionData => part.reads += side.words_per_cell,
        SideKind::Counter => of(part, Resource::StatisticsAlu, 1),
        SideKind::Meter | SideKind::Stateful | SideKind::Selector => of(part, Resource::MeterAlu, 1),
    }
    of(part, Resource::Sram, blocks);
    if side.kind.is_synthesized() {
        of(part, Resource::MapRam, blocks);
        part.reads += 2;
        part.map_reads += 1;
    }
}

/// Memory of the objects that a unit without entries uses.
pub fn objects(device: &Device, unit: &Unit, shared: &dyn Fn(&str) -> bool) -> Part {
    let mut part = Part::default();
    for side in unit.side.iter().filter(|s| !shared(&s.name)) {
        add_side(device, side, 1, &mut part);
    }
    part
}

/// Number of blocks of the largest object that a unit uses regardless of its number of entries.
pub fn largest_object<'u>(device: &Device, unit: &'u Unit) -> Option<(&'u Side, u32)> {
    let fixed = unit.side.iter().filter(|s| s.cells.is_some() && s.kind.is_synthesized());
    fixed.map(|s| (s, object_rams(device, s, 0))).max_by_key(|(_, rams)| *rams)
}

fn to_u32(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
