//! PSA's extern objects.

use crate::build::{member, number};
use crate::hash::Algorithm;
use crate::objects::Object;
use crate::objects::counter::Counter;
use crate::objects::meter::MeterArray;
use crate::objects::profile::Profile;
use crate::objects::register::Register;
use ir::{Instance, Program};
use ir_value::Value;

/// State object of an instance of the extern type `name`; `None` for a type that PSA lacks.
pub(crate) fn object(program: &Program, instance: &Instance, name: &str) -> Option<Result<Object, String>> {
    Some(Ok(match name {
        "PacketReplicationEngine" | "BufferingQueueingEngine" | "InternetChecksum" | "Random" | "Digest" => {
            Object::Nothing
        }
        "Hash" | "Checksum" => match algorithm(program, instance) {
            Some(algorithm) => Object::Hash(algorithm),
            None => return Some(Err("the hash algorithm is not supported".into())),
        },
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
        "Meter" => Object::Meter(MeterArray::new(number(instance, 0), counts_bytes(program, instance, 1))),
        "DirectMeter" => Object::DirectMeter(counts_bytes(program, instance, 0)),
        "ActionProfile" => Object::Profile(Profile::new(number(instance, 0), None)),
        "ActionSelector" => match algorithm(program, instance) {
            Some(algorithm) => Object::Profile(Profile::new(number(instance, 1), Some(algorithm))),
            None => return Some(Err("the hash algorithm is not supported".into())),
        },
        _ => return None,
    }))
}

fn algorithm(program: &Program, instance: &Instance) -> Option<Algorithm> {
    Algorithm::by_name(&member(program, instance, 0)?)
}

fn counts_bytes(program: &Program, instance: &Instance, position: usize) -> bool {
    member(program, instance, position).is_some_and(|name| name == "BYTES")
}
