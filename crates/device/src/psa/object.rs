//! PSA's extern objects.

use crate::build::{member, number, portable_object};
use crate::hash::Algorithm;
use crate::objects::Object;
use crate::objects::profile::Profile;
use ir::{Instance, Program};

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
        "ActionSelector" => match algorithm(program, instance) {
            Some(algorithm) => Object::Profile(Profile::new(number(instance, 1), Some(algorithm))),
            None => return Some(Err("the hash algorithm is not supported".into())),
        },
        name => return portable_object(program, instance, name),
    }))
}

fn algorithm(program: &Program, instance: &Instance) -> Option<Algorithm> {
    Algorithm::by_name(&member(program, instance, 0)?)
}
