//! From the program's declarations to tables, value sets and objects.

use crate::codes;
use crate::hash::Algorithm;
use crate::objects::Object;
use crate::objects::counter::Counter;
use crate::objects::meter::MeterArray;
use crate::objects::profile::Profile;
use crate::objects::register::Register;
use crate::table::{Tables, key_spec};
use crate::value::Value;
use crate::value_set::{ValueSet, ValueSets};
use base_bits::Bits;
use base_diag::{Diagnostic, did_you_mean};
use dataplane_api::Registry;
use ir::{Const, Instance, MatchKind, Name, Program, Type, TypeKind};

type Built = (Tables, ValueSets, Vec<Object>);

/// All that a device keeps, as it is before the first packet.
pub(crate) fn build(program: &Program, registry: &Registry) -> Result<Built, Vec<Diagnostic>> {
    let mut problems = vec![];
    let mut keep = |problem: Diagnostic| problems.push(problem);
    let value_sets = value_sets(program, &mut keep);
    let objects = program
        .instances
        .iter()
        .map(|i| {
            object(program, i, registry).unwrap_or_else(|problem| {
                keep(problem);
                Object::Nothing
            })
        })
        .collect();
    match Tables::new(program) {
        Ok(tables) if problems.is_empty() => Ok((tables, value_sets, objects)),
        Ok(_) => Err(problems),
        Err(more) => Err([problems, more].concat()),
    }
}

fn value_sets(program: &Program, keep: &mut dyn FnMut(Diagnostic)) -> ValueSets {
    let mut build = |set: &ir::ValueSet| {
        let fields = program.fields(program.representation(&set.ty));
        let positions: Vec<(Name, &Type)> = match &set.ty {
            Type::Tuple(types) => {
                types.iter().enumerate().map(|(at, t)| (at.to_string().into(), t)).collect()
            }
            _ if !fields.is_empty() => fields.iter().map(|f| (f.name.clone(), &f.ty)).collect(),
            ty => vec![(set.name.clone(), ty)],
        };
        let specs = positions.iter().enumerate().map(|(at, (name, ty))| {
            let kind = set.match_kinds.get(at).unwrap_or(&MatchKind::Exact);
            key_spec(program, name, kind, ty, set.span)
        });
        let keys = specs.collect::<Result<Vec<_>, _>>().unwrap_or_else(|problem| {
            keep(problem);
            vec![]
        });
        ValueSet::new(set.control_plane_name.clone(), keys, set.size)
    };
    let by_parser = program.parsers.iter().map(|p| p.value_sets.iter().map(&mut build).collect()).collect();
    ValueSets { by_parser }
}

fn object(program: &Program, instance: &Instance, registry: &Registry) -> Result<Object, Diagnostic> {
    let declared = program.extern_object(instance.object);
    if let Some(mark) = declared.annotations.iter().find(|a| a.name == "frame_extern") {
        return frame_extern(instance, mark.as_str().unwrap_or_default(), registry);
    }
    let refused = |why: String| {
        Err(Diagnostic::error(codes::NOT_SUPPORTED, format!("`{}` cannot be run", declared.name))
            .at(instance.span, why))
    };
    if declared.user {
        return refused("only the architecture's externs and frame externs can be run".to_string());
    }
    Ok(match declared.name.as_str() {
        "register" => {
            let Some(ty) = instance.type_args.first() else {
                return refused("it has no element type".into());
            };
            Object::Register(Register::new(number(instance, 0), Value::zero(program, ty)))
        }
        "counter" => Object::Counter(Counter::new(number(instance, 0))),
        "direct_counter" => Object::DirectCounter,
        "Checksum16" => Object::Nothing,
        "meter" => Object::Meter(MeterArray::new(number(instance, 0), counts_bytes(program, instance, 1))),
        "direct_meter" => Object::DirectMeter(counts_bytes(program, instance, 0)),
        "action_profile" => Object::Profile(Profile::new(number(instance, 0), None)),
        "action_selector" => {
            let algorithm = member(program, instance, 0).and_then(|name| Algorithm::by_name(&name));
            let Some(algorithm) = algorithm else {
                return refused("this hash algorithm cannot be run".into());
            };
            Object::Profile(Profile::new(number(instance, 1), Some(algorithm)))
        }
        other => return refused(format!("`{other}` is not supported yet")),
    })
}

fn frame_extern(instance: &Instance, name: &str, registry: &Registry) -> Result<Object, Diagnostic> {
    let Some(factory) = registry.get(name) else {
        let problem =
            Diagnostic::error(codes::FRAME_EXTERN, format!("no frame extern `{name}` on this device"))
                .at(instance.span, "made here");
        let known: Vec<&str> = registry.names().collect();
        return Err(match did_you_mean(name, known.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.note(format!("the device offers: {}", known.join(", "))),
        });
    };
    let args: Vec<Bits> = instance.args.iter().filter_map(|(_, value)| Value::from(value).to_key()).collect();
    factory(&args).map(Object::Frame).map_err(|error| {
        Diagnostic::error(codes::FRAME_EXTERN, format!("frame extern `{name}` refuses its arguments"))
            .at(instance.span, error.0)
    })
}

/// A constructor argument that is a number; 0 if it is none.
fn number(instance: &Instance, position: usize) -> u64 {
    match instance.args.get(position) {
        Some((_, Const::Bits(bits))) => bits.to_u64().unwrap_or(u64::MAX),
        Some((_, Const::Int(n))) => u64::try_from(n).unwrap_or(0),
        _ => 0,
    }
}

/// A constructor argument that is a member of an enum, by its name.
fn member(program: &Program, instance: &Instance, position: usize) -> Option<Name> {
    match instance.args.get(position)? {
        (Type::Named(id), Const::Enum(at)) => match &program.type_decl(*id).kind {
            TypeKind::Enum(members) => members.get(*at as usize).cloned(),
            _ => None,
        },
        _ => None,
    }
}

fn counts_bytes(program: &Program, instance: &Instance, position: usize) -> bool {
    member(program, instance, position).is_some_and(|name| name == "bytes")
}
