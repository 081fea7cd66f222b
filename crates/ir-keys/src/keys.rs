//! The union key, the shard key, and the modes of all objects.

use crate::annotations::{Declared, declared};
use crate::input::{Input, Inputs, list};
use crate::union_key::{Part, ShardKey, UnionKey};
use crate::walk::Walk;
use base_diag::{Diagnostic, Span};
use ir::{MatchKind, Name, Program};
use ir_state::{Mode, StateObject, objects};
use std::collections::{BTreeMap, BTreeSet};

/// Something with a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// The table of this control-plane name.
    Table(Name),
    /// The register, counter or meter of this control-plane name.
    Object(Name),
}

/// One key of a table, or the index of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// As the control plane knows it; `index` of objects.
    pub text: Name,
    /// In bits; 0 of values without a layout.
    pub width: u32,
    /// The inputs on which the key's value depends.
    pub inputs: Inputs,
    /// The input that it is a copy of, wherever the key is used.
    pub copy_of: Option<Input>,
    /// The expression.
    pub span: Span,
}

/// A table or object with its keys, and how its copies relate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyed {
    /// The table or object.
    pub place: Place,
    /// In order; none of an object without cells, and of a table without keys.
    pub keys: Vec<Key>,
    /// Inputs of the packet that decide which entry or cell is used, through other entries, too.
    pub inputs: Inputs,
    /// How copies on several devices relate.
    pub mode: Mode,
    /// Why it has that mode.
    pub why: String,
    /// `@replicated_max`: the maximum number of entries of which every device has a copy.
    pub replicated_max: Option<u64>,
    /// The declaration.
    pub span: Span,
}

/// An obstacle to processing flows on several devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// The table or object.
    pub place: Place,
    /// Reason.
    pub reason: Reason,
    /// The key's expression, or the object's declaration.
    pub span: Span,
}

/// See [`Obstacle`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The key depends on something that is neither of the packet nor of an entry.
    Depends {
        /// The key.
        key: Name,
        /// The input on which the key depends.
        on: Input,
    },
    /// Packets read what other packets have written.
    Exclusive {
        /// The index of its cells has the shard key.
        is_per_flow: bool,
    },
}

/// The devices that process an app's flows, by `@affinity`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Affinity {
    /// All at the switch.
    High,
    /// Some at the switch, the others at helpers.
    Medium,
    /// All at helpers.
    Low,
}

/// The keys of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys {
    /// Packets that are equal in it are one flow.
    pub key: UnionKey,
    /// `@union_key` says it.
    pub is_union_declared: bool,
    /// `@shard_key` says it.
    pub is_shard_declared: bool,
    /// Inputs outside of the union key on which conditions depend. They decide whether a key is looked up.
    pub conditions: Inputs,
    /// Inputs of each condition, by its place.
    pub tests: BTreeMap<Span, Inputs>,
    /// Tables and objects, by name.
    pub keyed: Vec<Keyed>,
    /// Obstacles to processing flows on several devices.
    pub obstacles: Vec<Obstacle>,
    /// `@affinity`
    pub affinity: Option<Affinity>,
    /// Annotations that say what cannot be.
    pub wrong: Vec<Diagnostic>,
}

/// Finds the keys of a program for v1model.
pub fn keys(program: &Program) -> Keys {
    let walk = Walk::new(program);
    let mut found: BTreeMap<Place, Vec<Key>> = BTreeMap::new();
    for ((place, _), key) in &walk.found {
        found.entry(place.clone()).or_default().push(key.clone());
    }
    let tables: Vec<&ir::Table> = program.controls.iter().flat_map(|control| &control.tables).collect();
    if walk.is_exhausted() {
        found = given_up(program, &tables);
    }
    let closed: BTreeMap<Place, Inputs> =
        found.keys().map(|place| (place.clone(), closure(&found, [place.clone()]))).collect();
    let needed: Inputs = closed.values().flatten().cloned().collect();
    let parts = walk.roots.parts(program);
    let Declared { union, shard, pairs, affinity, mut wrong } = declared(program, &parts, &closed);
    wrong.extend(ir_state::check(program));
    let (is_union_declared, is_shard_declared) = (union.is_some(), shard.is_some());
    let inputs = union.unwrap_or(needed);
    let shard = shard.unwrap_or_else(|| shard_key(&tables, &found).iter().cloned().collect());
    let key = union_key(&parts, &inputs, &shard, &pairs);

    let shard: Inputs = shard.into_iter().collect();
    let mut keyed: Vec<Keyed> = vec![];
    for table in &tables {
        keyed.push(of_table(table, &found, &closed, &shard, &mut wrong));
    }
    let mut obstacles: Vec<Obstacle> =
        found.iter().flat_map(|(place, keys)| dependent(place, keys)).collect();
    for object in objects(program) {
        let of = of_object(program, &object, &found, &closed, &shard, &keyed);
        if of.mode == Mode::Exclusive {
            let is_per_flow = !shard.is_empty() && shard.is_subset(&of.inputs);
            let reason = Reason::Exclusive { is_per_flow };
            obstacles.push(Obstacle { place: of.place.clone(), reason, span: of.span });
        }
        keyed.push(of);
    }
    keyed.sort_by(|one, other| one.place.cmp(&other.place));
    let conditions = closure_of(&found, &walk.conditions.values().flatten().cloned().collect());
    let conditions = &conditions - &inputs;
    Keys {
        key,
        is_union_declared,
        is_shard_declared,
        conditions,
        tests: walk.conditions,
        keyed,
        obstacles,
        affinity,
        wrong,
    }
}

/// The keys of a program that is too large to be analyzed: nothing is known of them.
fn given_up(program: &Program, tables: &[&ir::Table]) -> BTreeMap<Place, Vec<Key>> {
    let key = |text: &str, span: Span| {
        let inputs = Inputs::from([Input::Unknown]);
        Key { text: text.into(), width: 0, inputs, copy_of: None, span }
    };
    let of_table = |table: &&ir::Table| {
        let keys = table.keys.iter().map(|declared| key(&declared.name, declared.expr.span)).collect();
        (Place::Table(table.control_plane_name.clone()), keys)
    };
    let of_object = |object: StateObject| {
        let instance = program.instance(object.instance);
        let has_cells = object.key == ir_state::Key::Cell;
        let place = Place::Object(instance.control_plane_name.clone());
        has_cells.then(|| (place, vec![key("index", instance.span)]))
    };
    tables.iter().map(of_table).chain(objects(program).into_iter().filter_map(of_object)).collect()
}

fn union_key(
    parts: &[(Input, Part)],
    inputs: &Inputs,
    shard: &[Input],
    pairs: &[(usize, usize)],
) -> UnionKey {
    let mut chosen: Vec<&(Input, Part)> = parts.iter().filter(|(input, _)| inputs.contains(input)).collect();
    chosen.sort_by(|one, other| one.1.name.cmp(&other.1.name));
    // An input of a shard key represents all elements of a stack.
    let place = |input: &Input| {
        let of_it = move |(_, (known, _)): &(usize, &&(Input, Part))| known == input;
        chosen.iter().enumerate().filter(of_it).map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let shard = ShardKey { parts: shard.iter().flat_map(place).collect(), pairs: pairs.to_vec() };
    UnionKey { parts: chosen.into_iter().map(|(_, part)| part.clone()).collect(), shard }
}

/// The inputs of the packet that keys of these places depend on, those of the entries included through which they do.
fn closure(found: &BTreeMap<Place, Vec<Key>>, places: impl IntoIterator<Item = Place>) -> Inputs {
    let mut waiting: Vec<Place> = places.into_iter().collect();
    let mut seen: BTreeSet<Place> = waiting.iter().cloned().collect();
    let mut inputs = Inputs::new();
    while let Some(place) = waiting.pop() {
        for input in found.get(&place).into_iter().flatten().flat_map(|key| &key.inputs) {
            if let Input::Entry(table) = input {
                let table = Place::Table(table.clone());
                if seen.insert(table.clone()) {
                    waiting.push(table);
                }
            } else if input.is_of_packet() {
                inputs.insert(input.clone());
            }
        }
    }
    inputs
}

/// [`closure`] of values that are not keys.
fn closure_of(found: &BTreeMap<Place, Vec<Key>>, inputs: &Inputs) -> Inputs {
    let entries = inputs.iter().filter_map(|input| match input {
        Input::Entry(table) => Some(Place::Table(table.clone())),
        _ => None,
    });
    let mut all = closure(found, entries);
    all.extend(inputs.iter().filter(|input| !matches!(input, Input::Entry(_))).cloned());
    all
}

/// Keys that depend on more than a packet and entries.
fn dependent<'k>(place: &'k Place, keys: &'k [Key]) -> impl Iterator<Item = Obstacle> + 'k {
    keys.iter().flat_map(move |key| {
        let bad =
            key.inputs.iter().filter(|input| !input.is_of_packet() && !matches!(input, Input::Entry(_)));
        bad.map(move |input| Obstacle {
            place: place.clone(),
            reason: Reason::Depends { key: key.text.clone(), on: input.clone() },
            span: key.span,
        })
    })
}

/// Inputs of which the table's exact keys are copies: equal for all packets that hit an entry, and known from the entry.
fn fixed(table: &ir::Table, keys: &[Key]) -> Inputs {
    let exact = table.keys.iter().zip(keys).filter(|(declared, _)| declared.match_kind == MatchKind::Exact);
    exact.filter_map(|(_, key)| key.copy_of.clone()).collect()
}

/// The inputs that entries of all per-flow tables fix. Per-flow tables are the tables with only exact keys whose entries fix the most inputs.
fn shard_key(tables: &[&ir::Table], found: &BTreeMap<Place, Vec<Key>>) -> Inputs {
    let is_exact = |table: &&&ir::Table| table.keys.iter().all(|key| key.match_kind == MatchKind::Exact);
    let of = |table: &&ir::Table| {
        let keys = found.get(&Place::Table(table.control_plane_name.clone()))?;
        Some(fixed(table, keys))
    };
    let inputs: Vec<Inputs> = tables.iter().filter(is_exact).filter_map(of).collect();
    let most = inputs.iter().map(Inputs::len).max().unwrap_or(0);
    let mut per_flow = inputs.into_iter().filter(|inputs| inputs.len() == most);
    let first = per_flow.next().unwrap_or_default();
    per_flow.fold(first, |common, inputs| &common & &inputs)
}

fn of_table(
    table: &ir::Table,
    found: &BTreeMap<Place, Vec<Key>>,
    closed: &BTreeMap<Place, Inputs>,
    shard: &Inputs,
    wrong: &mut Vec<Diagnostic>,
) -> Keyed {
    let place = Place::Table(table.control_plane_name.clone());
    let keys = found.get(&place).cloned().unwrap_or_default();
    let inputs = closed.get(&place).cloned().unwrap_or_default();
    let fixed = fixed(table, &keys);
    let missing: Inputs = shard - &fixed;
    let loose = |key: &&ir::TableKey| key.match_kind != MatchKind::Exact;
    let (mode, why) = if table.const_entries {
        (Mode::Replicated, "its entries are part of the program".to_string())
    } else if keys.is_empty() {
        let why = if table.keys.is_empty() { "it has no key" } else { "no packet looks it up" };
        (Mode::Replicated, why.to_string())
    } else if shard.is_empty() {
        (Mode::Replicated, "there is no shard key".to_string())
    } else if missing.is_empty() {
        (Mode::Sharded, "its key has the shard key".to_string())
    } else if missing.is_subset(&inputs)
        && let Some(key) = table.keys.iter().find(loose)
    {
        let kind = key.match_kind.name();
        (Mode::Replicated, format!("`{}` is matched by {kind}: an entry is for many flows", key.name))
    } else {
        (Mode::Replicated, format!("its key does not have {}", list(&missing)))
    };
    let replicated_max = crate::annotations::replicated_max(table, mode, wrong);
    Keyed { place, keys, inputs, mode, why, replicated_max, span: table.span }
}

fn of_object(
    program: &Program,
    object: &StateObject,
    found: &BTreeMap<Place, Vec<Key>>,
    closed: &BTreeMap<Place, Inputs>,
    shard: &Inputs,
    tables: &[Keyed],
) -> Keyed {
    let instance = program.instance(object.instance);
    let place = Place::Object(instance.control_plane_name.clone());
    let keys = found.get(&place).cloned().unwrap_or_default();
    let of_table = match &object.key {
        ir_state::Key::Entry(table) => tables.iter().find(|keyed| keyed.place == Place::Table(table.clone())),
        _ => None,
    };
    let inputs = match of_table {
        Some(table) => table.inputs.clone(),
        None => closed.get(&place).cloned().unwrap_or_default(),
    };
    let is_per_flow = !shard.is_empty() && shard.is_subset(&inputs);
    let why = match (object.mode, of_table) {
        (Mode::Merged(_), Some(table)) => {
            format!("copies add up; a cell goes with its entry, which is {}", table.mode.name())
        }
        (Mode::Merged(merge), None) => format!("copies are merged by `{}`", merge.name()),
        (Mode::Exclusive, _) if is_per_flow => {
            "packets read what packets have written; its index has the shard key".to_string()
        }
        (Mode::Exclusive, _) => "packets read what packets have written".to_string(),
        (Mode::Replicated, _) => "only the control plane writes it".to_string(),
        (Mode::Sharded | Mode::Soft, _) => format!("declared by `@{}`", object.mode.name()),
    };
    Keyed { place, keys, inputs, mode: object.mode, why, replicated_max: None, span: instance.span }
}

impl Place {
    /// The control-plane name.
    pub fn name(&self) -> &Name {
        match self {
            Place::Table(name) | Place::Object(name) => name,
        }
    }
}

impl Affinity {
    /// All, as `@affinity` names them.
    pub const ALL: [Affinity; 3] = [Affinity::High, Affinity::Medium, Affinity::Low];

    /// As `@affinity` names it.
    pub fn name(self) -> &'static str {
        match self {
            Affinity::High => "high",
            Affinity::Medium => "medium",
            Affinity::Low => "low",
        }
    }
}
