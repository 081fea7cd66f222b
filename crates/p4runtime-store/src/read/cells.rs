//! Cells of counters, meters and registers.

use super::cursor::Part;
use super::{Live, counter_data, signed};
use crate::catalog::Described;
use crate::fault::{Result, Within, fault};
use crate::store::Store;
use crate::{data, object};
use control_writes::Count;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{CounterEntry, Index, MeterEntry, RegisterEntry, entity::Entity};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Limit on the cells of an object that one query reads.
const MOST_CELLS: u64 = 1 << 21;

/// Objects with cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Indexed {
    /// A counter.
    Counter(u32),
    /// A meter.
    Meter(u32),
    /// A register.
    Register(u32),
}

/// Selection of cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Each of them, as P4Runtime reads them. There is a limit on how many.
    All,
    /// Only written cells: those that are zero, or have no rates, are left out.
    Written,
}

/// The cells of objects, each with its size and name: one of them, or all.
fn parts<'o>(
    objects: impl Iterator<Item = (Indexed, i64, &'o str)>,
    index: Option<Index>,
    wanted: Wanted,
) -> Result<VecDeque<Part>> {
    let part = |(of, size, name): (Indexed, i64, &str)| {
        let kind = match of {
            Indexed::Counter(_) => "counter",
            Indexed::Meter(_) => "meter",
            Indexed::Register(_) => "register",
        };
        let cells = match (&index, u64::try_from(size).unwrap_or(0)) {
            (Some(index), _) => object::cells(Some(index), size),
            (None, size) if wanted == Wanted::All && size > MOST_CELLS => {
                let why = format!("the object has {size} cells, and the limit is {MOST_CELLS}");
                fault("too many cells for one read", why)
                    .code(Code::ResourceExhausted)
                    .help(|| Some("read single cells, each by its `index`".to_string()))
            }
            (None, size) => Ok(0..size),
        };
        // A cell that is requested by its index is returned even if it is zero.
        let wanted = if index.is_some() { Wanted::All } else { wanted };
        Ok(Part::Cells(of, cells.about(|| format!("{kind} `{name}`"))?, wanted, BTreeSet::new()))
    };
    objects.map(part).collect()
}

impl Store {
    pub(super) fn counter_parts(&self, query: &CounterEntry, wanted: Wanted) -> Result<VecDeque<Part>> {
        let counters = match query.counter_id {
            0 => self.catalog.info().counters.iter().collect(),
            id => vec![self.catalog.counter(id)?],
        };
        let counters = counters.iter().map(|c| (Indexed::Counter(c.id()), c.size, c.name()));
        parts(counters, query.index.filter(|_| query.counter_id != 0), wanted)
    }

    pub(super) fn meter_parts(&self, query: &MeterEntry, wanted: Wanted) -> Result<VecDeque<Part>> {
        let meters = match query.meter_id {
            0 => self.catalog.info().meters.iter().collect(),
            id => vec![self.catalog.meter(id)?],
        };
        let meters = meters.iter().map(|m| (Indexed::Meter(m.id()), m.size, m.name()));
        parts(meters, query.index.filter(|_| query.meter_id != 0), wanted)
    }

    pub(super) fn register_parts(&self, query: &RegisterEntry, wanted: Wanted) -> Result<VecDeque<Part>> {
        let registers = match query.register_id {
            0 => self.catalog.info().registers.iter().collect(),
            id => vec![self.catalog.register(id)?],
        };
        let registers = registers.iter().map(|r| (Indexed::Register(r.id()), i64::from(r.size), r.name()));
        parts(registers, query.index.filter(|_| query.register_id != 0), wanted)
    }

    /// Gives some cells of an object.
    pub(super) fn read_cells(
        &self,
        of: Indexed,
        cells: Range<u64>,
        wanted: Wanted,
        live: &dyn Live,
        give: &mut dyn FnMut(Entity),
    ) -> Result<()> {
        let index = |cell: u64| Some(Index { index: signed(cell) });
        match of {
            Indexed::Counter(counter_id) => {
                let mut give = |cell, count| {
                    let data = Some(counter_data(count));
                    give(Entity::CounterEntry(CounterEntry { counter_id, index: index(cell), data }));
                };
                let mut gaps = Gaps::new(&cells, wanted);
                live.counters(counter_id, cells, &mut |cell, count| {
                    gaps.before(cell).for_each(|cell| give(cell, Count::default()));
                    if wanted == Wanted::All || count != Count::default() {
                        give(cell, count);
                    }
                })?;
                gaps.rest().for_each(|cell| give(cell, Count::default()));
                Ok(())
            }
            Indexed::Meter(meter_id) => {
                let mut give = |cell, config| {
                    let index = index(cell);
                    give(Entity::MeterEntry(MeterEntry { meter_id, index, config, counter_data: None }));
                };
                let mut gaps = Gaps::new(&cells, wanted);
                for ((_, cell), rates) in self.meters.range((meter_id, cells.start)..(meter_id, cells.end)) {
                    gaps.before(*cell).for_each(|cell| give(cell, None));
                    give(*cell, Some(object::config(rates)));
                }
                gaps.rest().for_each(|cell| give(cell, None));
                Ok(())
            }
            Indexed::Register(register_id) => self.read_register(register_id, cells, wanted, live, give),
        }
    }

    fn read_register(
        &self,
        register_id: u32,
        cells: Range<u64>,
        wanted: Wanted,
        live: &dyn Live,
        give: &mut dyn FnMut(Entity),
    ) -> Result<()> {
        let spec = self.catalog.register(register_id)?.type_spec.as_ref();
        let mut give = |cell, data| {
            let index = Some(Index { index: signed(cell) });
            give(Entity::RegisterEntry(RegisterEntry { register_id, index, data: Some(data) }));
        };
        let zero = || data::encode(&self.catalog, spec, &self.catalog.register_zero(register_id)?);
        let mut gaps = Gaps::new(&cells, wanted);
        let mut try_give = |cell, value| -> Result<()> {
            let before = gaps.before(cell);
            if !before.is_empty() {
                let zero = zero()?;
                before.for_each(|cell| give(cell, zero.clone()));
            }
            let data = data::encode(&self.catalog, spec, &value)?;
            if wanted == Wanted::All || !super::written::is_zero(&data) {
                give(cell, data);
            }
            Ok(())
        };
        let mut done = Ok(());
        live.registers(register_id, cells, &mut |cell, value| {
            if done.is_ok() {
                done = try_give(cell, value);
            }
        })?;
        done?;
        let rest = gaps.rest();
        if !rest.is_empty() {
            let zero = zero()?;
            rest.for_each(|cell| give(cell, zero.clone()));
        }
        Ok(())
    }
}

/// The cells between those that are known, if all are wanted.
struct Gaps {
    /// Cells that were not given yet.
    left: Range<u64>,
}

impl Gaps {
    fn new(cells: &Range<u64>, wanted: Wanted) -> Gaps {
        match wanted {
            Wanted::All => Gaps { left: cells.clone() },
            Wanted::Written => Gaps { left: cells.end..cells.end },
        }
    }

    /// Cells before a known cell, which comes next.
    fn before(&mut self, known: u64) -> Range<u64> {
        let before = self.left.start..known;
        self.left.start = self.left.start.max(known + 1);
        before
    }

    /// Cells after the last known one.
    fn rest(self) -> Range<u64> {
        self.left
    }
}
