//! The union key, the shard key, and what each object's copies may be.

use crate::input::{Input, Inputs};
use crate::walk::Walk;
use base_diag::Span;
use ir::{AnnotationBody, MatchKind, Name, Program};
use ir_state::{Mode, StateObject, objects};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

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
    /// What its value depends on.
    pub inputs: Inputs,
    /// The expression.
    pub span: Span,
}

/// A table or object with its keys, and where copies of it may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyed {
    /// The table or object.
    pub place: Place,
    /// Its keys, in order; none of an object without cells, and of a table that has none.
    pub keys: Vec<Key>,
    /// Inputs of a packet that decide which entry or cell is used, through the data of other entries, too.
    pub inputs: Inputs,
    /// How copies on several devices relate.
    pub mode: Mode,
    /// Why it has that mode.
    pub why: String,
}

/// A key that depends on more than a packet and entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// The table or object.
    pub place: Place,
    /// The key.
    pub key: Name,
    /// What it depends on.
    pub input: Input,
    /// The expression.
    pub span: Span,
}

/// The keys of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys {
    /// Packets that are equal in these inputs are one flow.
    pub union: Inputs,
    /// Inputs by which flows are divided among devices.
    pub shard: Inputs,
    /// The shard key is that of `@shard_key`.
    pub is_declared: bool,
    /// Tables and objects, by name.
    pub keyed: Vec<Keyed>,
    /// What stands in the way of dividing flows among devices.
    pub obstacles: Vec<Obstacle>,
    /// Fields in `@shard_key` or `@union_key` that no key depends on.
    pub unknown: Vec<Name>,
}

/// Finds the keys of a v1model program.
pub fn keys(program: &Program) -> Keys {
    let mut found: BTreeMap<Place, Vec<Key>> = BTreeMap::new();
    for ((place, _), key) in Walk::new(program).found {
        found.entry(place).or_default().push(key);
    }
    let tables: Vec<&ir::Table> = program.controls.iter().flat_map(|control| &control.tables).collect();
    let obstacles: Vec<Obstacle> = found.iter().flat_map(|(place, keys)| obstacles(place, keys)).collect();
    let closed: BTreeMap<Place, Inputs> =
        found.keys().map(|place| (place.clone(), closure(&found, place))).collect();
    let mut union: Inputs = closed.values().flatten().cloned().collect();
    let mut unknown = vec![];
    if let Some(declared) = declared(program, "union_key") {
        let (known, other) = of_names(&union, &declared);
        (union, unknown) = (known, other);
    }
    let said = declared(program, "shard_key").map(|names| of_names(&union, &names));
    let is_declared = said.is_some();
    let shard = match said {
        Some((shard, other)) => {
            unknown.extend(other);
            shard
        }
        None => shard_key(&tables, &closed),
    };
    let mut keyed: Vec<Keyed> = vec![];
    for table in &tables {
        let place = Place::Table(table.control_plane_name.clone());
        let Some(keys) = found.get(&place) else { continue };
        let inputs = closed.get(&place).cloned().unwrap_or_default();
        let blocked = obstacles.iter().find(|obstacle| obstacle.place == place);
        let missing: Vec<String> = shard.difference(&inputs).map(Input::to_string).collect();
        let (mode, why) = match blocked {
            Some(obstacle) => (Mode::Replicated, format!("`{}` depends on {}", obstacle.key, obstacle.input)),
            None if shard.is_empty() => (Mode::Replicated, "there is no shard key".to_string()),
            None if missing.is_empty() => (Mode::Sharded, "its key has the shard key".to_string()),
            None => (Mode::Replicated, format!("its key lacks {}", missing.join(", "))),
        };
        keyed.push(Keyed { place, keys: keys.clone(), inputs, mode, why });
    }
    for object in objects(program) {
        keyed.push(of_object(program, &object, &found, &closed, &shard, &keyed));
    }
    keyed.sort_by(|one, other| one.place.cmp(&other.place));
    Keys { union, shard, is_declared, keyed, obstacles, unknown }
}

/// The inputs of a packet that a key depends on, those of the entries included whose data it has.
fn closure(found: &BTreeMap<Place, Vec<Key>>, place: &Place) -> Inputs {
    let (mut seen, mut waiting) = (vec![place.clone()], vec![place.clone()]);
    let mut inputs = Inputs::new();
    while let Some(place) = waiting.pop() {
        for input in found.get(&place).into_iter().flatten().flat_map(|key| &key.inputs) {
            match input {
                Input::Data(table) => {
                    let table = Place::Table(table.clone());
                    if !seen.contains(&table) {
                        seen.push(table.clone());
                        waiting.push(table);
                    }
                }
                input if input.is_of_packet() => drop(inputs.insert(input.clone())),
                _ => {}
            }
        }
    }
    inputs
}

fn obstacles<'k>(place: &'k Place, keys: &'k [Key]) -> impl Iterator<Item = Obstacle> + 'k {
    keys.iter().flat_map(move |key| {
        let bad = key.inputs.iter().filter(|input| !input.is_of_packet() && !matches!(input, Input::Data(_)));
        bad.map(move |input| Obstacle {
            place: place.clone(),
            key: key.text.clone(),
            input: input.clone(),
            span: key.span,
        })
    })
}

/// What the keys of per-flow tables have in common: those with exact keys alone that depend on the most inputs.
fn shard_key(tables: &[&ir::Table], closed: &BTreeMap<Place, Inputs>) -> Inputs {
    let is_exact = |table: &&&ir::Table| {
        !table.keys.is_empty() && table.keys.iter().all(|key| key.match_kind == MatchKind::Exact)
    };
    let exact = tables.iter().filter(is_exact);
    let inputs: Vec<&Inputs> =
        exact.filter_map(|table| closed.get(&Place::Table(table.control_plane_name.clone()))).collect();
    let most = inputs.iter().map(|inputs| inputs.len()).max().unwrap_or(0);
    let mut per_flow = inputs.into_iter().filter(|inputs| inputs.len() == most && most > 1);
    let first = per_flow.next().cloned().unwrap_or_default();
    per_flow.fold(first, |common, inputs| &common & inputs)
}

fn of_object(
    program: &Program,
    object: &StateObject,
    found: &BTreeMap<Place, Vec<Key>>,
    closed: &BTreeMap<Place, Inputs>,
    shard: &Inputs,
    tables: &[Keyed],
) -> Keyed {
    let name = program.instance(object.instance).control_plane_name.clone();
    let place = Place::Object(name);
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
            format!("copies add up; cells go with the entries, which are {}", table.mode.name())
        }
        (Mode::Merged(merge), None) => format!("copies are joined by `{}`", merge.name()),
        (Mode::Exclusive, _) if is_per_flow => {
            "packets read what packets have written; its index has the shard key: `@sharded` would divide it"
                .to_string()
        }
        (Mode::Exclusive, _) => "packets read what packets have written".to_string(),
        (Mode::Replicated, _) => "only the control plane writes it".to_string(),
        (Mode::Sharded | Mode::Soft, _) => format!("`@{}`", object.mode.name()),
    };
    Keyed { place, keys, inputs, mode: object.mode, why }
}

/// The names in an annotation of `main`: `@shard_key(hdr.ipv4.src, hdr.ipv4.dst)`.
fn declared(program: &Program, name: &str) -> Option<Vec<String>> {
    let annotation = program.annotations.iter().find(|annotation| annotation.name == name)?;
    let text = match &annotation.body {
        AnnotationBody::Tokens(text) => text.clone(),
        body => {
            let texts = body.values().iter().filter_map(|value| match value {
                ir::AnnotationValue::Str(text) => Some(text.clone()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join(",")
        }
    };
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    Some(
        text.split(',').filter(|name| !name.is_empty() && *name != "symmetric").map(str::to_string).collect(),
    )
}

/// The inputs of these names, and the names that are none.
fn of_names(inputs: &Inputs, names: &[String]) -> (Inputs, Vec<Name>) {
    let find = |name: &String| inputs.iter().find(|input| input.to_string() == *name).cloned();
    let known = names.iter().filter_map(find).collect();
    let unknown = names.iter().filter(|name| find(name).is_none()).map(Name::from);
    (known, unknown.collect())
}

impl Place {
    /// Its control-plane name.
    pub fn name(&self) -> &Name {
        match self {
            Place::Table(name) | Place::Object(name) => name,
        }
    }
}

/// For people.
impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |inputs: &Inputs| match inputs.is_empty() {
            true => "none".to_string(),
            false => inputs.iter().map(Input::to_string).collect::<Vec<_>>().join(", "),
        };
        writeln!(f, "union key  {}", list(&self.union))?;
        let declared = if self.is_declared { " (declared)" } else { "" };
        writeln!(f, "shard key  {}{declared}", list(&self.shard))?;
        let width = self.keyed.iter().map(|keyed| keyed.place.name().len()).max().unwrap_or(0);
        for keyed in &self.keyed {
            writeln!(f, "  {:<width$}  {:<10} {}", keyed.place.name(), keyed.mode.name(), keyed.why)?;
            for key in &keyed.keys {
                let mut inputs = list(&key.inputs);
                if inputs == *key.text {
                    inputs = String::new();
                } else {
                    inputs = format!(": {inputs}");
                }
                let mut line = String::new();
                write!(line, "  {:<width$}    {}{inputs}", "", key.text)?;
                writeln!(f, "{}", line.trim_end())?;
            }
        }
        for obstacle in &self.obstacles {
            let (place, key) = (obstacle.place.name(), &obstacle.key);
            writeln!(f, "in the way: `{key}` of {place} depends on {}", obstacle.input)?;
        }
        for name in &self.unknown {
            writeln!(f, "in the way: no key depends on `{name}`, which an annotation names")?;
        }
        Ok(())
    }
}
