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
    for (at, instance) in before.instances.iter().enumerate() {
        let id = InstanceId::from(at);
        let name = before.extern_object(instance.object).name.clone();
        let kind = |ty: &str, at: usize| {
            let member = number(&before, id, at).unwrap_or(0) as u32;
            build::expr(ExprKind::Const(Const::Enum(member)), skeleton.ty(ty))
        };
        let cells = |count: u64| build::bits(32, count);
        let count = size(&before, id).unwrap_or(0);
        let (object, types, args) = match name.as_str() {
            "Register" | "RegisterParam" => {
                let Some(wide) = cell_bits(&before, id) else {
                    found.push(refused(
                        "this register cannot be converted",
                        instance.span,
                        "its cells have no fixed layout",
                    ));
                    continue;
                };
                let first = instance.args.get(usize::from(name == "Register"));
                if let Some(value) = first
                    .and_then(|value| constant_bits(&before, value))
                    .filter(|value| value.trim_start_matches("0x") != "0")
                {
                    let register = instance.control_plane_name.to_string();
                    initial.push(Initial { register, cells: count, value });
                }
                ("register", vec![Type::Bit(wide)], vec![cells(count)])
            }
            "Counter" => ("counter", vec![], vec![cells(count), kind("CounterType", 1)]),
            "DirectCounter" => ("direct_counter", vec![], vec![kind("CounterType", 0)]),
            "Meter" => ("meter", vec![], vec![cells(count), kind("MeterType", 1)]),
            "DirectMeter" => ("direct_meter", vec![Type::Bit(8)], vec![kind("MeterType", 0)]),
            "ActionProfile" => ("action_profile", vec![], instance.args.clone()),
            "ActionSelector" => match selector(&before, instance) {
                Some((algorithm, size, wide)) => {
                    let algorithm =
                        build::expr(ExprKind::Const(Const::Enum(algorithm)), skeleton.ty("HashAlgorithm"));
                    ("action_selector", vec![], vec![algorithm, cells(size), cells(wide)])
                }
                None => {
                    let label = "its hash is none of `IDENTITY`, `CRC16`, `CRC32`, `XOR16`";
                    found.push(refused("this selector cannot be converted", instance.span, label));
                    continue;
                }
            },
            _ => {
                remove(program, id);
                continue;
            }
        };
        let changed = &mut program.instances[at];
        (changed.object, changed.type_args, changed.args) = (skeleton.object(object), types, args);
        changed.methods.clear();
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
