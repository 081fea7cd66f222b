//! What the architecture's facts say of an extern object.

use ir::{ExternObject, InstanceId, Program};
use p4_arch::{Access, StateMode};

/// How packets share an object of the architecture's; `None` for the user's own.
pub fn sharing(program: &Program, object: &ExternObject) -> Option<StateMode> {
    p4_arch::architecture(program.arch.name())?.cut?.state(&object.name).filter(|_| !object.user)
}

/// What a method does to its object. Nothing is known of the user's own: it reads and writes.
pub fn access_of(program: &Program, object: InstanceId, method: u32) -> Access {
    let object = program.extern_object(program.instance(object).object);
    let known = || {
        let facts = p4_arch::architecture(program.arch.name())?.object(&object.name)?;
        Some(facts.method(&object.methods.get(method as usize)?.name)?.access)
    };
    if object.user { Access::Update } else { known().unwrap_or(Access::Update) }
}
