//! Runs the opened program on the full tables.

use crate::open::{self, Fixed, Opened};
use crate::slice::slice;
use base_bits::{BitWriter, Bits};
use base_diag::Diagnostic;
use base_time::Time;
use device::trace::{EventKind, Hit};
use device::{Options, Switch};
use ir::{Name, Program};
use ir_keys::{Keys, Source};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Most choices on a path, and most paths of a flow.
const CHOICES: u64 = 64;
const PATHS: usize = 4096;

/// Zero bytes after the given fields: no packet is too short unless a choice says so.
const PAYLOAD: usize = 2048;

/// A lookup of a flow.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Touched {
    /// Control-plane name of the table.
    pub table: Name,
    /// Values of its keys, in order.
    pub key: Vec<Bits>,
}

/// A flow has more paths than are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

/// The full tables of a program, and the paths of flows through them.
pub struct FlowTables {
    switch: Switch,
    opened: Opened,
    key: ir_keys::UnionKey,
}

impl FlowTables {
    /// Empty tables. `keys` are those of the program.
    ///
    /// # Errors
    ///
    /// Reasons why flows of this program cannot be followed.
    pub fn new(program: &Program, keys: &Keys, options: Options) -> Result<FlowTables, Vec<Diagnostic>> {
        FlowTables::unsliced(&slice(program, &Fixed::new(keys)), keys, options)
    }

    /// The same, running all of the program: touch sets that those of [`FlowTables::new`] are compared with. Most flows have many more paths.
    pub fn unsliced(program: &Program, keys: &Keys, options: Options) -> Result<FlowTables, Vec<Diagnostic>> {
        let refusals = keys.refusals();
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let (program, opened) = open::open(program, &Fixed::new(keys)).map_err(|found| vec![found])?;
        let switch = ir_interp::switch(Arc::new(program), options)?;
        Ok(FlowTables { switch, opened, key: keys.key.clone() })
    }

    /// The control plane of the full tables: what is written here is the desired state.
    pub fn tables(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// Every lookup that packets of the flow may do, with the entry that each hits. `flow` has the values of the union
    /// key's parts, in order.
    pub fn touched(&mut self, flow: &[Bits]) -> Result<BTreeMap<Touched, Option<Hit>>, TooMany> {
        let mut touched = BTreeMap::new();
        let mut choices = 0;
        for _ in 0..PATHS {
            let path = self.path(flow, choices)?;
            if !path.is_dead {
                touched.extend(path.lookups);
            }
            // Choices are taken from the lowest bit on: the last one that was not yet taken the other way is.
            let Some(last) = (0..path.used).rev().find(|at| choices >> at & 1 == 0) else {
                return Ok(touched);
            };
            choices = (choices | 1 << last) & (u64::MAX >> (63 - last));
        }
        Err(TooMany)
    }

    fn path(&mut self, flow: &[Bits], choices: u64) -> Result<Path, TooMany> {
        let mut frame = BitWriter::new();
        frame.push(&Bits::new(64, u128::from(choices)));
        frame.push(&Bits::new(32, 0));
        frame.push(&Bits::new(8, 0));
        for (_, value) in self.opened.fields.iter().zip(self.fields(flow)) {
            frame.push(&value);
        }
        frame.pad();
        let mut frame = frame.finish();
        frame.resize(frame.len() + PAYLOAD, 0);
        self.switch.set_trace(true);
        self.switch.process(self.port(flow), &frame, Time::ZERO);
        let events = self.switch.take_trace();
        // Nobody reads them.
        drop(self.switch.take_digests());
        drop(self.switch.take_log());
        let mut path = Path { used: 0, is_dead: false, lookups: vec![] };
        for event in events {
            match event.kind {
                EventKind::Write { place, new, .. } if place.ends_with(open::USED) => {
                    let used = new.bits().and_then(Bits::to_u64).unwrap_or(u64::MAX);
                    path.used = path.used.max(used);
                }
                EventKind::Write { place, new, .. } if place.ends_with(open::DEAD) => {
                    path.is_dead |= new.bits().is_some_and(|bits| !bits.is_zero());
                }
                EventKind::Table { table, keys, hit, .. } => {
                    let key = keys.into_iter().filter_map(|key| key.value.bits().cloned()).collect();
                    path.lookups.push((Touched { table, key }, hit));
                }
                _ => {}
            }
        }
        if path.used > CHOICES { Err(TooMany) } else { Ok(path) }
    }

    /// Values of the parts that are fields, in order, each with the width of its part.
    fn fields<'f>(&'f self, flow: &'f [Bits]) -> impl Iterator<Item = Bits> + 'f {
        let parts = self.key.parts.iter().enumerate().filter(|(_, part)| part.source != Source::Port);
        parts.map(|(at, part)| {
            let value = flow.get(at).filter(|value| value.width() == part.width);
            value.cloned().unwrap_or_else(|| Bits::new(part.width, 0))
        })
    }

    fn port(&self, flow: &[Bits]) -> u32 {
        let at = self.key.parts.iter().position(|part| part.source == Source::Port);
        let value = at.and_then(|at| flow.get(at)?.to_u64());
        value.and_then(|port| u32::try_from(port).ok()).unwrap_or(0)
    }
}

/// One path of a flow.
struct Path {
    /// Choices that it took.
    used: u64,
    /// No packet takes it.
    is_dead: bool,
    lookups: Vec<(Touched, Option<Hit>)>,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "packets of the flow may take more than {PATHS} paths, or more than {CHOICES} decisions on one"
        )
    }
}
