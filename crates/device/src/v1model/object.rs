//! v1model's extern objects.

use crate::build::{member, number};
use crate::hash::Algorithm;
use crate::objects::Object;
use crate::objects::counter::Counter;
use crate::objects::meter::MeterArray;
use crate::objects::profile::Profile;
use crate::objects::register::Register;
use ir::{Instance, Program};
use ir_value::Value;

/// State object of an instance of the extern type `name`; `None` for a type that v1model lacks.
pub(crate) fn object(program: &Program, instance: &Instance, name: &str) -> Option<Result<Object, String>> {
    Some(Ok(match name {
        "register" => match instance.type_args.first() {
            Some(ty) => Object::Register(Register::new(number(instance, 0), Value::zero(program, ty))),
            None => return Some(Err("the register has no element type".into())),
        },
        "counter" => Object::Counter(Counter::new(number(instance, 0))),
        "direct_counter" => Object::DirectCounter,
        "Checksum16" => Object::Nothing,
        "meter" => Object::Meter(MeterArray::new(number(instance, 0), counts_bytes(program, instance, 1))),
        "direct_meter" => Object::DirectMeter(counts_bytes(program, instance, 0)),
        "action_profile" => Object::Profile(Profile::new(number(instance, 0), None)),
        "action_selector" => match member(program, instance, 0).and_then(|name| Algorithm::by_name(&name)) {
            Some(algorithm) => Object::Profile(Profile::new(number(instance, 1), Some(algorithm))),
            None => return Some(Err("the hash algorithm is not supported".into())),
        },
        _ => return None,
    }))
}

fn counts_bytes(program: &Program, instance: &Instance, position: usize) -> bool {
    member(program, instance, position).is_some_and(|name| name == "bytes")
}
