//! All state objects of a program, each with its mode, its key, and who uses it.

use crate::facts::{facts_of, is_pure};
use crate::mode::mode_of;
use crate::uses::{Touch, calls_of_block, uses_of_block};
use ir::{Block, InstanceId, Name, Program, StageKind, StmtKind, visit};
use p4_arch::TableUse;
use state_modes::Mode;
use std::collections::BTreeMap;

/// A state object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateObject {
    /// The object.
    pub instance: InstanceId,
    /// Rule for copies.
    pub mode: Mode,
    /// The part of it that one use is about.
    pub key: Key,
    /// Accessors, in the order of stages; a region inside another one is an accessor of its own.
    pub accessors: Vec<Accessor>,
}

/// The part of an object that one use is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Key {
    /// All of it.
    Whole,
    /// The cell of an index.
    Cell,
    /// The cell of the entry that a packet hits, in the table of this control-plane name.
    Entry(Name),
}

/// Code that uses an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accessor {
    /// The stage: `parser`, `ingress`, ...
    pub stage: Name,
    /// The innermost region around the use; none if it is in no region.
    pub region: Option<Name>,
    /// Reads and writes.
    pub touch: Touch,
}

/// The state objects of a program, in the order of its instances.
pub fn objects(program: &Program) -> Vec<StateObject> {
    let mut accessors: BTreeMap<InstanceId, Vec<Accessor>> = BTreeMap::new();
    for stage in &program.stages {
        for (region, used) in used_in(program, stage.kind) {
            for (object, touch) in used {
                let accessor = Accessor { stage: stage.name.clone(), region: region.clone(), touch };
                accessors.entry(object).or_default().push(accessor);
            }
        }
    }
    let all = (0..program.instances.len()).map(InstanceId::from).filter(|id| has_state(program, *id));
    let object = |instance: InstanceId| StateObject {
        instance,
        mode: mode_of(program, instance),
        key: key_of(program, instance),
        accessors: accessors.remove(&instance).unwrap_or_default(),
    };
    all.map(object).collect()
}

fn has_state(program: &Program, id: InstanceId) -> bool {
    let object = program.extern_object(program.instance(id).object);
    object.user && !is_pure(object) || facts_of(program, object).is_some_and(|facts| facts.state)
}

/// The part of an object that one use is about.
pub fn key_of(program: &Program, instance: InstanceId) -> Key {
    let object = program.extern_object(program.instance(instance).object);
    let Some(facts) = facts_of(program, object) else { return Key::Whole };
    let mut tables = program.controls.iter().flat_map(|control| &control.tables);
    let of_it = |table: &&ir::Table| [table.counters, table.meters].contains(&Some(instance));
    match (facts.table, tables.find(of_it)) {
        (TableUse::Direct(_), Some(table)) => Key::Entry(table.control_plane_name.clone()),
        _ if facts.methods.iter().any(|method| method.index.is_some()) => Key::Cell,
        _ => Key::Whole,
    }
}

/// Objects used in a stage, by region: first those outside of regions.
fn used_in(program: &Program, stage: StageKind) -> Vec<(Option<Name>, BTreeMap<InstanceId, Touch>)> {
    match stage {
        StageKind::TrafficManager => vec![],
        StageKind::Parse(id) => {
            let stmts = program.parser(id).states.iter().flat_map(|state| state.stmts.iter().cloned());
            vec![(None, calls_of_block(program, &Block { annotations: vec![], stmts: stmts.collect() }))]
        }
        StageKind::Control(id) | StageKind::Deparse(id) => {
            let mut body = program.control(id).body.clone();
            let mut regions = vec![];
            take_regions(&mut body, &mut regions);
            let all = std::iter::once((None, body)).chain(regions.into_iter().map(|(n, b)| (Some(n), b)));
            all.map(|(region, block)| (region, uses_of_block(program, id, &block).instances)).collect()
        }
    }
}

/// Moves the regions of a block out of it, each without those inside of it.
fn take_regions(block: &mut Block, regions: &mut Vec<(Name, Block)>) {
    for stmt in &mut block.stmts {
        if let StmtKind::Block(inner) = &mut stmt.kind
            && let Some(name) = inner.region()
        {
            let mut inner = std::mem::take(inner);
            let at = regions.len();
            take_regions(&mut inner, regions);
            regions.insert(at, (name, inner));
        } else {
            visit::blocks_mut(stmt, &mut |inner| take_regions(inner, regions));
        }
    }
}
