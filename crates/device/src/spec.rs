//! Tables, value sets and objects that a control plane can write to, in the initial state of a program.
//!
//! Readers of entries use them to resolve names and values; nothing of them runs.

use crate::architecture::objects;
use crate::build;
use crate::control_plane::TableEntry;
use crate::names::{refused, resolve, resolve_action};
use crate::objects::Object;

use crate::table::{KeySpec, Table, Tables, entry_key, normal_of};
use base_diag::Diagnostic;
use control_writes::{EntryKey, Match};
use dataplane_api::EntryError;
use ir::{InstanceId, Name, Program, Type};
use ir_value::Value;

/// Everything that a control plane can write to.
#[derive(Clone, Debug)]
pub struct Specs {
    /// In the order of the program.
    pub tables: Vec<TableSpec>,
    /// In the order of the program.
    pub value_sets: Vec<ValueSetSpec>,
    /// In the order of the program, those that keep nothing left out.
    pub objects: Vec<ObjectSpec>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// The control-plane name.
    pub name: Name,
    /// Keys, without those of kind `selector`.
    pub keys: Vec<KeySpec>,
    /// The list of the source.
    pub actions: Vec<ActionSpec>,
    /// Entries have priorities.
    pub has_priorities: bool,
    /// The name of its action profile or selector.
    pub profile: Option<Name>,
    /// The name of its direct counter.
    pub counter: Option<Name>,
    /// The name of its direct meter.
    pub meter: Option<Name>,
    /// The entries of the source, in their order.
    pub entries: Vec<TableEntry>,
    /// The handle of the next entry.
    pub next_handle: u64,
}

/// An action of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionSpec {
    /// The control-plane name.
    pub name: Name,
    /// Name and width of each parameter without direction.
    pub params: Vec<(Name, u32)>,
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSetSpec {
    /// The control-plane name.
    pub name: Name,
    /// One for each field.
    pub keys: Vec<KeySpec>,
}

/// An object.
#[derive(Clone, Debug)]
pub struct ObjectSpec {
    /// The control-plane name.
    pub name: Name,
    /// Kind of the object.
    pub kind: ObjectKind,
}

/// Kinds of objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A register with cells of this type.
    Register(Type),
    /// An array of counters.
    Counter,
    /// A counter of each entry of a table.
    DirectCounter,
    /// An array of meters.
    Meter,
    /// A meter of each entry of a table.
    DirectMeter,
    /// An action profile, or a selector.
    Profile,
}

impl ObjectKind {
    /// In words, for messages.
    pub fn in_words(&self) -> &'static str {
        match self {
            ObjectKind::Register(_) => "register",
            ObjectKind::Counter | ObjectKind::DirectCounter => "counter",
            ObjectKind::Meter | ObjectKind::DirectMeter => "meter",
            ObjectKind::Profile => "action profile or selector",
        }
    }
}

impl Specs {
    /// Specs of a program. Errors: reasons why it cannot be run.
    pub fn new(program: &Program) -> Result<Specs, Vec<Diagnostic>> {
        let mut problems = vec![];
        let value_sets = build::value_sets(program, &mut |problem| problems.push(problem));
        let tables = Tables::new(program)?;
        if !problems.is_empty() {
            return Err(problems);
        }
        let make = objects(program).ok();
        let object = |instance: &ir::Instance| {
            let declared = program.extern_object(instance.object);
            let object = make?(program, instance, declared.name.as_str())?.ok()?;
            let name = instance.control_plane_name.clone();
            let kind = match object {
                Object::Register(_) => ObjectKind::Register(instance.type_args.first()?.clone()),
                Object::Counter(_) => ObjectKind::Counter,
                Object::DirectCounter => ObjectKind::DirectCounter,
                Object::Meter(_) => ObjectKind::Meter,
                Object::DirectMeter(_) => ObjectKind::DirectMeter,
                Object::Profile(_) => ObjectKind::Profile,
                Object::Nothing
                | Object::Hash(_)
                | Object::HashUnit(_)
                | Object::MathUnit(_)
                | Object::Filter(_)
                | Object::DirectRegister(_)
                | Object::Log(_)
                | Object::Frame(_)
                | Object::Value(_) => return None,
            };
            Some(ObjectSpec { name, kind })
        };
        let sets = value_sets.by_parser.iter().flatten();
        Ok(Specs {
            tables: tables.iter().map(|table| TableSpec::new(program, table)).collect(),
            value_sets: sets
                .map(|set| ValueSetSpec { name: set.control_plane_name.clone(), keys: set.keys().to_vec() })
                .collect(),
            objects: program.instances.iter().filter_map(object).collect(),
        })
    }

    /// The table that the user means.
    pub fn table(&self, name: &str) -> Result<usize, EntryError> {
        resolve("table", name, self.tables.iter().map(|table| table.name.as_str()))
    }

    /// The value set that the user means.
    pub fn value_set(&self, name: &str) -> Result<&ValueSetSpec, EntryError> {
        let known = self.value_sets.iter().map(|set| set.name.as_str());
        let at = resolve("value set", name, known)?;
        self.value_sets.get(at).ok_or_else(|| refused("no such value set"))
    }

    /// The object that the user means, among those that `is_it` accepts; `kind` is for the error.
    pub fn object(
        &self,
        kind: &str,
        name: &str,
        is_it: impl Fn(&ObjectKind) -> bool,
    ) -> Result<&ObjectSpec, EntryError> {
        let known: Vec<&ObjectSpec> = self.objects.iter().filter(|object| is_it(&object.kind)).collect();
        let at = resolve(kind, name, known.iter().map(|object| object.name.as_str()))?;
        known.get(at).copied().ok_or_else(|| refused(format!("there is no {kind} `{name}`")))
    }
}

impl TableSpec {
    fn new(program: &Program, table: &Table) -> TableSpec {
        let named =
            |id: Option<InstanceId>| Some(program.instances.get(id?.index())?.control_plane_name.clone());
        let width = |ty: &Type| Value::zero(program, ty).to_key().map_or(0, |bits| bits.width());
        let action = |action: &crate::table::ActionSpec| ActionSpec {
            name: action.control_plane_name.clone(),
            params: action.data.iter().map(|(name, ty)| (name.clone(), width(ty))).collect(),
        };
        TableSpec {
            name: table.control_plane_name.clone(),
            keys: table.keys.clone(),
            actions: table.actions.iter().map(action).collect(),
            has_priorities: table.has_priorities(),
            profile: named(table.implementation),
            counter: named(table.counters),
            meter: named(table.meters),
            entries: table
                .oldest_first()
                .into_iter()
                .map(|(key, entry)| TableEntry::new(table, key, entry))
                .collect(),
            next_handle: table.next_handle(),
        }
    }

    /// The key of an entry in the table's normal form.
    pub fn key(&self, matches: &[Match], priority: Option<i64>) -> Result<EntryKey, EntryError> {
        entry_key(&self.name, &self.keys, self.has_priorities, matches, priority)
    }

    /// The action that the user means.
    pub fn action(&self, name: &str) -> Result<&ActionSpec, EntryError> {
        let at = resolve_action(&self.name, name, self.actions.iter().map(|action| action.name.as_str()))?;
        self.actions.get(at).ok_or_else(|| refused("no such action"))
    }
}

impl ValueSetSpec {
    /// A member in the set's normal form.
    pub fn member(&self, wanted: &[Match]) -> Result<Vec<Match>, EntryError> {
        normal_of(&self.name, "fields", &self.keys, wanted)
    }
}
