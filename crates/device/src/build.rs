//! From the program's declarations to tables, value sets and objects.

use crate::objects::Object;
use crate::objects::counter::Counter;
use crate::objects::frame::FrameObject;
use crate::objects::meter::MeterArray;
use crate::objects::profile::Profile;
use crate::objects::register::Register;
use crate::objects::value::ValueObject;
use crate::table::{Tables, key_spec};
use crate::value_externs;
use crate::value_set::{ValueSet, ValueSets};
use base_bits::Bits;
use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use dataplane_api::Registry;
use ir::{Const, ExprKind, Instance, MatchKind, Name, Program, Type, TypeKind};
use ir_value::Value;

/// Tables, value sets, an object for each instance, and the value extern of each extern function that has one.
type Built = (Tables, ValueSets, Vec<Object>, Vec<Option<ValueObject>>);

/// Builds the state of a device before its first packet.
pub(crate) fn build(
    program: &Program,
    registry: &Registry,
    make: MakeObject,
) -> Result<Built, Vec<Diagnostic>> {
    let mut problems = value_externs::check_value_externs(program, registry);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut keep = |problem: Diagnostic| problems.push(problem);
    let value_sets = value_sets(program, &mut keep);
    let objects = program
        .instances
        .iter()
        .map(|i| {
            object(program, i, registry, make).unwrap_or_else(|problem| {
                keep(problem);
                Object::Nothing
            })
        })
        .collect();
    match Tables::new(program) {
        Ok(tables) if problems.is_empty() => {
            Ok((tables, value_sets, objects, value_externs::functions(program, registry)))
        }
        Ok(_) => Err(problems),
        Err(more) => Err([problems, more].concat()),
    }
}

pub(crate) fn value_sets(program: &Program, keep: &mut dyn FnMut(Diagnostic)) -> ValueSets {
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
    ValueSets { by_parser, ..ValueSets::default() }
}

/// Makes an architecture's object of an instance; `None` for an unknown type.
pub(crate) type MakeObject = fn(&Program, &Instance, &str) -> Option<Result<Object, String>>;

fn object(
    program: &Program,
    instance: &Instance,
    registry: &Registry,
    make: MakeObject,
) -> Result<Object, Diagnostic> {
    let declared = program.extern_object(instance.object);
    if let Some(mark) = declared.frame_extern() {
        return frame_extern(program, instance, mark.as_str().unwrap_or_default(), registry);
    }
    if let Some(mark) = declared.value_extern() {
        return value_externs::instance(program, instance, mark, registry);
    }
    let made = if declared.user {
        Err("the device does not know this extern".to_string())
    } else {
        make(program, instance, &declared.name)
            .unwrap_or_else(|| Err(format!("`{}` is not supported yet", declared.name)))
    };
    made.map_err(|why| {
        let problem = Diagnostic::error(codes::NOT_SUPPORTED, format!("`{}` cannot be run", declared.name))
            .at(instance.span, why);
        match declared.user {
            true => problem
                .help("write `@value_extern(\"name\")` or `@frame_extern(\"name\")` before its declaration"),
            false => problem,
        }
    })
}

fn frame_extern(
    program: &Program,
    instance: &Instance,
    name: &str,
    registry: &Registry,
) -> Result<Object, Diagnostic> {
    let Some(factory) = registry.get(name) else {
        let problem =
            Diagnostic::error(codes::FRAME_EXTERN, format!("no frame extern `{name}` on this device"))
                .at(instance.span, "made here");
        let known: Vec<&str> = registry.names().collect();
        return Err(problem.suggest_or(name, known.iter().copied(), |d| {
            d.note(format!("the device offers: {}", known.join(", ")))
        }));
    };
    let value = |arg| Value::constant(program, arg).and_then(|value| value.to_key());
    let args: Vec<Bits> = instance.args.iter().filter_map(value).collect();
    factory(&args).map(|object| Object::Frame(FrameObject::new(object))).map_err(|error| {
        Diagnostic::error(codes::FRAME_EXTERN, format!("frame extern `{name}` refuses its arguments"))
            .at(instance.span, error.0)
    })
}

/// The object of an extern type that PSA and TNA have alike; `None` for any other.
pub(crate) fn portable_object(
    program: &Program,
    instance: &Instance,
    name: &str,
) -> Option<Result<Object, String>> {
    let counts_bytes =
        |position: usize| member(program, instance, position).is_some_and(|name| name == "BYTES");
    Some(Ok(match name {
        "Register" => match instance.type_args.first() {
            Some(ty) => {
                let initial = instance.args.get(1).and_then(|arg| Value::constant(program, arg));
                let initial = initial.unwrap_or_else(|| Value::zero(program, ty));
                Object::Register(Register::new(number(instance, 0), initial))
            }
            None => return Some(Err("the register has no element type".into())),
        },
        "Counter" => Object::Counter(Counter::new(number(instance, 0))),
        "DirectCounter" => Object::DirectCounter,
        "Meter" => Object::Meter(MeterArray::new(number(instance, 0), counts_bytes(1))),
        "DirectMeter" => Object::DirectMeter(counts_bytes(0)),
        "ActionProfile" => Object::Profile(Profile::new(number(instance, 0), None)),
        _ => return None,
    }))
}

/// A constructor argument that is a number; 0 if it is none.
pub(crate) fn number(instance: &Instance, position: usize) -> u64 {
    match instance.args.get(position).map(|arg| &arg.kind) {
        Some(ExprKind::Const(Const::Bits(bits))) => bits.to_u64().unwrap_or(u64::MAX),
        Some(ExprKind::Const(Const::Int(n))) => u64::try_from(n).unwrap_or(0),
        _ => 0,
    }
}

/// A constructor argument that is a member of an enum, by its name.
pub(crate) fn member(program: &Program, instance: &Instance, position: usize) -> Option<Name> {
    let arg = instance.args.get(position)?;
    match (&arg.ty, &arg.kind) {
        (Type::Named(id), ExprKind::Const(Const::Enum(at))) => match &program.type_decl(*id).kind {
            TypeKind::Enum(members) => members.get(*at as usize).cloned(),
            _ => None,
        },
        _ => None,
    }
}
