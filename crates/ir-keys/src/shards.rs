//! The number of a packet's shard as a hash of what the packet brings, and the tables whose entries fix it.
//!
//! ```text
//! struct metadata { @shard("R", 6) bit<16> shard; }
//! hash(meta.shard, HashAlgorithm.crc32, 16w0, { hdr.ipv4.src, hdr.ipv4.dst }, 16w6);
//! table flows { key = { hdr.ipv4.src: exact; hdr.ipv4.dst: exact; hdr.udp.dst: exact; } ... }      fixes it
//! table users { key = { hdr.ipv4.src: exact; } ... }                                               does not
//! ```
//!
//! All packets that hit an entry of a table that fixes it have the same number, if they have one at all: where the program hashes only some
//! packets, the others keep the number 0.

use crate::formula::{Choice, Hash, Hashed, Part, Test, Value};
use crate::input::Input;
use crate::known::{Origin, Path, Root};
use crate::walk::Walk;
use ir::{
    AnnotationValue, BinaryOp, Block, Call, Const, Expr, ExprKind, MatchKind, Name, Program, Role, Type,
    TypeKind, Var,
};
use std::collections::{BTreeMap, BTreeSet};

/// The shards of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sharding {
    /// The region.
    pub region: Name,
    /// The number of a packet's shard.
    pub number: Hash,
    /// Tables whose entries fix it, by control-plane name: the names of the keys that have the hash's inputs.
    pub tables: BTreeMap<Name, BTreeMap<Input, Name>>,
}

/// The shards of all regions whose numbers are hashes of what packets bring.
pub fn shardings(program: &Program) -> Vec<Sharding> {
    let regions = regions(program);
    if regions.is_empty() {
        return vec![];
    }
    let walk = Walk::new(program);
    if walk.is_exhausted() {
        return vec![];
    }
    let of_region = |(region, field): (Name, Vec<u32>)| {
        let number = walk.numbers.get(&field)?.clone()?;
        let inputs = number.inputs();
        let tables = program.controls.iter().flat_map(|control| &control.tables);
        let tables = tables.filter_map(|table| fixes(&walk, table, &inputs)).collect();
        Some(Sharding { region, number, tables })
    };
    regions.into_iter().filter_map(of_region).collect()
}

/// The keys that have the inputs, if the table's exact keys are copies of all of them.
fn fixes(
    walk: &Walk<'_>,
    table: &ir::Table,
    inputs: &BTreeSet<Input>,
) -> Option<(Name, BTreeMap<Input, Name>)> {
    let name = &table.control_plane_name;
    let copied = |(at, key): (usize, &ir::TableKey)| {
        let found = walk.found.get(&(crate::Place::Table(name.clone()), at as u32))?;
        let input = found.copy_of.clone().filter(|input| inputs.contains(input))?;
        (key.match_kind == MatchKind::Exact).then(|| (input, key.name.clone()))
    };
    let keys: BTreeMap<Input, Name> = table.keys.iter().enumerate().filter_map(copied).collect();
    (keys.len() == inputs.len()).then(|| (name.clone(), keys))
}

/// The regions that `@shard` names, with the field of metadata that stands behind it.
fn regions(program: &Program) -> Vec<(Name, Vec<u32>)> {
    let mut found = vec![];
    let ingress = program.stage("ingress");
    let at = ingress.and_then(|stage| stage.roles.iter().position(|role| *role == Role::Metadata));
    let control = program.stage_control("ingress").map(|id| program.control(id));
    if let (Some(at), Some(control)) = (at, control)
        && let Some(param) = control.params.get(at)
    {
        within(program, &control.vars[param.index()].ty, &mut vec![], &mut found);
    }
    found
}

fn within(program: &Program, ty: &Type, path: &mut Vec<u32>, found: &mut Vec<(Name, Vec<u32>)>) {
    for (at, field) in program.fields(ty).iter().enumerate() {
        path.push(at as u32);
        for annotation in field.annotations.iter().filter(|annotation| annotation.name == "shard") {
            if let [AnnotationValue::Str(region), _] = annotation.body.values() {
                found.push((region.as_str().into(), path.clone()));
            }
        }
        within(program, &field.ty, path, found);
        path.pop();
    }
}

impl Walk<'_> {
    /// A leaf of metadata is written.
    pub(crate) fn note_number(&mut self, leaf: &Path, origin: &Origin) {
        if leaf.root != Root::Metadata {
            return;
        }
        let hash = match &origin.value {
            Some(Value::Hash(hash)) => Some(hash.clone()),
            _ => None,
        };
        let known = self.numbers.entry(leaf.fields.clone()).or_insert_with(|| hash.clone());
        if *known != hash {
            *known = None;
        }
    }

    /// A condition as a test of inputs; none if it depends on more.
    pub(crate) fn test(&self, condition: &Expr) -> Option<Test> {
        let both = |a: &Expr, b: &Expr| Some((self.test(a)?.into(), self.test(b)?.into()));
        let inputs = |a: &Expr, b: &Expr| {
            let is_unsigned = matches!(self.program.representation(&a.ty), Type::Bit(_));
            Some((self.input(a)?, self.input(b)?)).filter(|_| is_unsigned)
        };
        match &condition.kind {
            ExprKind::Const(Const::Bool(value)) => Some(Test::Const(*value)),
            ExprKind::Binary(op, a, b) => match op {
                BinaryOp::And => both(a, b).map(|(a, b)| Test::And(a, b)),
                BinaryOp::Or => both(a, b).map(|(a, b)| Test::Or(a, b)),
                BinaryOp::Lt => inputs(a, b).map(|(a, b)| Test::Less(a, b)),
                BinaryOp::Gt => inputs(a, b).map(|(a, b)| Test::Less(b, a)),
                BinaryOp::Eq => inputs(a, b).map(|(a, b)| Test::Equal(a, b)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The input that a place has a copy of.
    fn input(&self, e: &Expr) -> Option<Input> {
        self.leaf(&self.place(e)?).copied().cloned()
    }

    /// Walks over both blocks; the places to which they copy different inputs have one of the two afterwards.
    pub(crate) fn choose(&mut self, test: &Test, (yes, no): (&Block, &Block), vars: &[Var]) {
        let before = self.known.clone();
        self.block(yes, vars);
        let after_yes = std::mem::replace(&mut self.known, before);
        self.block(no, vars);
        let after_no = self.known.clone();
        self.join(&after_yes);
        let leaves: BTreeSet<&Path> = after_yes.written().chain(after_no.written()).collect();
        for leaf in leaves {
            let one = |known: &crate::known::Known| {
                known.get(leaf).cloned().unwrap_or_else(|| self.at_start(leaf)).copied().cloned()
            };
            if let (Some(yes), Some(no)) = (one(&after_yes), one(&after_no))
                && yes != no
            {
                let value = Some(Value::Choice(Choice { test: test.clone(), yes, no }));
                let inputs = self.leaf(leaf).inputs;
                self.known.set(leaf.clone(), Origin { value, ..Origin::of(inputs) });
            }
        }
    }

    /// v1model's `hash`, if all that it hashes is known.
    pub(crate) fn hash(&self, call: &Call) -> Option<Hash> {
        let [_, algorithm, base, data, max] = call.args.as_slice() else { return None };
        let number = |e: &Option<Expr>| match &e.as_ref()?.kind {
            ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
            _ => None,
        };
        let mut parts = vec![];
        self.hashed(data.as_ref()?, &mut parts)?;
        let algorithm = algorithm.as_ref()?;
        let (Type::Named(id), ExprKind::Const(Const::Enum(member))) = (&algorithm.ty, &algorithm.kind) else {
            return None;
        };
        let TypeKind::Enum(members) = &self.program.type_decl(*id).kind else { return None };
        let algorithm = members.get(*member as usize)?.clone();
        Some(Hash { algorithm, base: number(base)?, max: number(max)?.max(1), parts })
    }

    fn hashed(&self, data: &Expr, parts: &mut Vec<Part>) -> Option<()> {
        match &data.kind {
            ExprKind::Aggregate(all) => all.iter().try_for_each(|part| self.hashed(part, parts)),
            _ => {
                let place = self.place(data)?;
                let origin = self.leaf(&place);
                let value = match (origin.copied(), &origin.value) {
                    (Some(input), _) => Hashed::Input(input.clone()),
                    (None, Some(Value::Choice(choice))) => Hashed::Choice(choice.clone()),
                    _ => return None,
                };
                parts.push(Part { value, is_of_header: place.root == Root::Headers });
                Some(())
            }
        }
    }
}
