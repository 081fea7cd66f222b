//! TNA's objects as v1model's.

use crate::pieces::refused;
use crate::skeleton::Skeleton;
use base_diag::Diagnostic;
use ir::{Const, Control, ControlId, Expr, ExprKind, Instance, InstanceId, Owner, Program, Type, build};

/// Value with which all cells of a register begin, where it is not zero: the control plane has to write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Initial {
    /// Control-plane name.
    pub register: String,
    /// Number of cells.
    pub cells: u64,
    /// The value of a cell.
    pub value: String,
}

/// The number of a constant argument: a member of an enum by its place.
pub(crate) fn number(program: &Program, id: InstanceId, at: usize) -> Option<u64> {
    constant(program.instance(id).args.get(at)?)
}

fn constant(arg: &Expr) -> Option<u64> {
    match &arg.kind {
        ExprKind::Const(Const::Enum(at)) => Some(u64::from(*at)),
        ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
        ExprKind::Const(Const::Int(number)) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// Cells of a register, counter or meter.
pub(crate) fn size(program: &Program, id: InstanceId) -> Option<u64> {
    let object = program.extern_object(program.instance(id).object);
    match object.name.as_str() {
        "RegisterParam" => Some(1),
        "Register" | "Counter" | "Meter" => number(program, id, 0),
        _ => None,
    }
}

/// Bits of a cell of a register.
pub(crate) fn cell_bits(program: &Program, id: InstanceId) -> Option<u32> {
    let bits = program.bits(program.instance(id).type_args.first()?)?;
    u32::try_from(bits).ok().filter(|bits| *bits > 0)
}

/// Turns the objects that v1model has, in another form, into those, and takes all others out of their blocks.
pub(crate) fn convert(
    program: &mut Program,
    skeleton: &Skeleton,
    found: &mut Vec<Diagnostic>,
) -> Vec<Initial> {
    let mut initial = vec![];
    let before = program.clone();
    for at in 0..before.instances.len() {
        let id = InstanceId::from(at);
        match form(&before, id, skeleton) {
            Ok(Some((object, types, args))) => {
                let changed = &mut program.instances[at];
                (changed.object, changed.type_args, changed.args) = (skeleton.object(object), types, args);
                changed.methods.clear();
                initial.extend(initial_value(&before, id));
            }
            Ok(None) => remove(program, id),
            Err(refused) => found.push(refused),
        }
    }
    // The profile of a selector is part of the selector.
    for (at, instance) in before.instances.iter().enumerate() {
        let is_used = |id: InstanceId| {
            before
                .controls
                .iter()
                .flat_map(|control| &control.tables)
                .any(|table| table.implementation == Some(id))
        };
        if before.extern_object(instance.object).name == "ActionProfile" && !is_used(at.into()) {
            remove(program, at.into());
        }
    }
    initial
}

/// The form of an object in v1model. `None`: v1model has nothing of its kind.
fn form(program: &Program, id: InstanceId, skeleton: &Skeleton) -> Result<Option<Form>, Diagnostic> {
    let instance = program.instance(id);
    let constant = |at: usize| {
        number(program, id, at).ok_or_else(|| {
            let label = format!("its argument {} is no constant", at + 1);
            refused("this object cannot be converted", instance.span, &label)
        })
    };
    let kind = |ty: &str, at: usize| {
        let member = constant(at)? as u32;
        Ok(build::expr(ExprKind::Const(Const::Enum(member)), skeleton.ty(ty)))
    };
    let cells = |count: u64| build::bits(32, count);
    let name = program.extern_object(instance.object).name.as_str();
    Ok(Some(match name {
        "Register" | "RegisterParam" => {
            let Some(wide) = cell_bits(program, id) else {
                let label = "its cells have no fixed layout";
                return Err(refused("this register cannot be converted", instance.span, label));
            };
            let count = if name == "Register" { constant(0)? } else { 1 };
            ("register", vec![Type::Bit(wide)], vec![cells(count)])
        }
        "Counter" => ("counter", vec![], vec![cells(constant(0)?), kind("CounterType", 1)?]),
        "DirectCounter" => ("direct_counter", vec![], vec![kind("CounterType", 0)?]),
        "Meter" => ("meter", vec![], vec![cells(constant(0)?), kind("MeterType", 1)?]),
        "DirectMeter" => ("direct_meter", vec![Type::Bit(8)], vec![kind("MeterType", 0)?]),
        "ActionProfile" => ("action_profile", vec![], instance.args.clone()),
        "ActionSelector" => {
            let Some((algorithm, size, wide)) = selector(program, instance) else {
                let label = "its hash is none of `IDENTITY`, `CRC16`, `CRC32`, `XOR16`";
                return Err(refused("this selector cannot be converted", instance.span, label));
            };
            let algorithm =
                build::expr(ExprKind::Const(Const::Enum(algorithm)), skeleton.ty("HashAlgorithm"));
            ("action_selector", vec![], vec![algorithm, cells(size), cells(wide)])
        }
        _ => return Ok(None),
    }))
}

/// An extern of v1model, with an instance's type arguments and arguments.
type Form = (&'static str, Vec<Type>, Vec<Expr>);

/// The value of a register's cells at the start, unless it is 0.
fn initial_value(program: &Program, id: InstanceId) -> Option<Initial> {
    let instance = program.instance(id);
    let at = match program.extern_object(instance.object).name.as_str() {
        "Register" => 1,
        "RegisterParam" => 0,
        _ => return None,
    };
    let value = constant_bits(program, instance.args.get(at)?)?;
    let register = instance.control_plane_name.to_string();
    let cells = size(program, id)?;
    (value.trim_start_matches("0x") != "0").then_some(Initial { register, cells, value })
}

/// The instance is no part of the program any more.
fn remove(program: &mut Program, id: InstanceId) {
    program.controls.iter_mut().for_each(|control| control.instances.retain(|known| *known != id));
    program.parsers.iter_mut().for_each(|parser| parser.instances.retain(|known| *known != id));
    let instance = &mut program.instances[id.index()];
    instance.owner = Owner::Control(ControlId(u32::MAX));
    instance.args.clear();
    instance.methods.clear();
}

/// The register with the metadata of ports becomes one of ingress, which reads it.
pub(crate) fn add_port_metadata(
    program: &mut Program,
    skeleton: &Skeleton,
    generation: u32,
    ingress: &mut Control,
    at: usize,
) {
    let Some(id) = port_metadata(program) else { return };
    let instance = &mut program.instances[id.index()];
    instance.name = "port_metadata".into();
    instance.object = skeleton.object("register");
    instance.type_args = vec![Type::Bit(p4_arch::tna::port_metadata_bits(generation))];
    instance.args = vec![build::bits(32, p4_arch::tna::PORTS.into())];
    instance.owner = Owner::Control(at.into());
    ingress.instances.push(id);
}

/// The register that the elaborator gives to every program for TNA.
pub(crate) fn port_metadata(program: &Program) -> Option<InstanceId> {
    let is_it = |instance: &Instance| instance.name == p4_arch::tna::PORT_METADATA;
    program.instances.iter().position(is_it).map(InstanceId::from)
}

/// The algorithm, the members and the bits of the hash of a selector.
fn selector(program: &Program, instance: &Instance) -> Option<(u32, u64, u64)> {
    let part = |at: usize| match &instance.args.get(at)?.kind {
        ExprKind::Const(Const::Instance(id)) => Some(program.instance(*id)),
        _ => None,
    };
    let hash = part(1)?;
    // Members of v1model's enum.
    let algorithm = match constant(hash.args.first()?)? {
        0 => 5,
        3 => 7,
        6 => 2,
        7 => 0,
        _ => return None,
    };
    let size = match part(0) {
        Some(profile) => constant(profile.args.first()?)?,
        None => constant(instance.args.first()?)?,
    };
    Some((algorithm, size, program.bits(hash.type_args.first()?)?))
}

/// A constant as the bits of a cell.
fn constant_bits(program: &Program, value: &Expr) -> Option<String> {
    let words = crate::values::words(program, value)?;
    let mut all = 0u128;
    for word in &words {
        let bits = match &word.kind {
            ExprKind::Const(Const::Bits(bits)) => bits.low_u128(),
            ExprKind::Cast(inner) => match &inner.kind {
                ExprKind::Const(Const::Bits(bits)) => bits.low_u128(),
                ExprKind::Const(Const::Bool(flag)) => u128::from(*flag),
                _ => return None,
            },
            _ => return None,
        };
        all = all.checked_shl(crate::values::width(word)).unwrap_or(0) | bits;
    }
    Some(format!("{all:#x}"))
}
