//! TNA's extern objects.

use super::hash::{HashUnit, SELECTOR_HASHES};
use super::math::MathUnit;
use crate::build::{member, number, portable_object};
use crate::hash::Algorithm;
use crate::objects::Object;
use crate::objects::filter::Filter;
use crate::objects::profile::Profile;
use crate::objects::register::Register;
use ir::{Const, ExprKind, Instance, InstanceId, Program};
use ir_value::Value;
use std::collections::BTreeMap;

/// State object of an instance of the extern type `name`; `None` for a type that does not run.
pub(crate) fn object(program: &Program, instance: &Instance, name: &str) -> Option<Result<Object, String>> {
    Some(Ok(match name {
        "Checksum" | "ParserCounter" | "ParserPriority" | "Mirror" | "Resubmit" | "Digest"
        | "CRCPolynomial" | "Random" | "Atcam" | "Alpm" | "IdleTimeout" => Object::Nothing,
        name if name.starts_with("RegisterAction") => Object::Log(0),
        name if name.starts_with("DirectRegisterAction") => Object::Nothing,
        "Hash" => match HashUnit::of(program, instance) {
            Some(unit) => Object::HashUnit(unit),
            None => return Some(Err("the hash algorithm or its polynomial is not supported".into())),
        },
        "Lpf" | "DirectLpf" | "Wred" | "DirectWred" => Object::Filter(filter(program, instance, name)),
        "MathUnit" => match MathUnit::of(&instance.args, member(program, instance, 0).as_deref()) {
            Some(unit) => Object::MathUnit(unit),
            None => return Some(Err("the shift is not -1, 0 or 1, or the factor is zero".into())),
        },
        // One cell, which the control plane can write.
        "RegisterParam" => match instance.args.first().and_then(|arg| Value::constant(program, arg)) {
            Some(initial) => Object::Register(Register::new(1, initial)),
            None => return Some(Err("the parameter has no initial value".into())),
        },
        "DirectRegister" => match instance.type_args.first() {
            Some(ty) => {
                let initial = instance.args.first().and_then(|arg| Value::constant(program, arg));
                Object::DirectRegister(initial.unwrap_or_else(|| Value::zero(program, ty)))
            }
            None => return Some(Err("the register has no element type".into())),
        },
        "ActionSelector" => match selector(program, instance) {
            Some(profile) => Object::Profile(profile),
            None => {
                let known = SELECTOR_HASHES.join(", ");
                return Some(Err(format!("the hash of an action selector is one of {known}")));
            }
        },
        name => return portable_object(program, instance, name),
    }))
}

fn filter(program: &Program, instance: &Instance, name: &str) -> Filter {
    let settings = p4_arch::tna::settings_of(&instance.control_plane_name);
    let is_direct = name.starts_with("Direct");
    let first = usize::from(!is_direct);
    Filter {
        settings: program
            .instances
            .iter()
            .position(|other| other.control_plane_name == settings)
            .map(InstanceId::from),
        decision: name.ends_with("Wred").then(|| [number(instance, first), number(instance, first + 1)]),
        size: if is_direct { 1 } else { number(instance, 0) },
        cells: BTreeMap::new(),
    }
}

/// The members of a selector are its own, even if its program names the profile that has their memory on the hardware.
fn selector(program: &Program, instance: &Instance) -> Option<Profile> {
    let named = |at: usize| match instance.args.get(at).map(|arg| &arg.kind) {
        Some(ExprKind::Const(Const::Instance(id))) => program.instances.get(id.index()),
        _ => None,
    };
    let size = named(0).map_or_else(|| number(instance, 0), |profile| number(profile, 0));
    let name = member(program, named(1)?, 0)?;
    let algorithm = SELECTOR_HASHES.contains(&name.as_str()).then(|| Algorithm::by_name(&name))??;
    Some(Profile::new(size, Some(algorithm)))
}
