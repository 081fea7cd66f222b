//! What the architecture's facts say of an extern object.

use ir::{ExternObject, InstanceId, Program};
use p4_arch::{Access, Architecture, ObjectFacts, StateMode};

fn architecture(program: &Program) -> Option<&'static Architecture> {
    p4_arch::architecture(program.arch.name()?)
}

/// The facts of an object of the architecture's; `None` for the user's own.
pub fn facts_of(program: &Program, object: &ExternObject) -> Option<&'static ObjectFacts> {
    architecture(program)?.object(&object.name).filter(|_| !object.user)
}

/// How packets share an object of the architecture's; `None` for the user's own.
pub fn sharing(program: &Program, object: &ExternObject) -> Option<StateMode> {
    architecture(program)?.cut?.state(&object.name).filter(|_| !object.user)
}

/// What a method does to its object. Nothing is known of the user's own: it reads and writes.
pub fn access_of(program: &Program, object: InstanceId, method: u32) -> Access {
    let object = program.extern_object(program.instance(object).object);
    let known =
        || Some(facts_of(program, object)?.method(&object.methods.get(method as usize)?.name)?.access);
    known().unwrap_or(Access::Update)
}
