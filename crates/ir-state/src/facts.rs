//! Facts of the architecture about an extern object.

use ir::{CallEffect, ExternObject, InstanceId, Program};
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

/// An object of a value extern whose methods depend on their arguments alone: copies of it may be anywhere.
pub fn is_pure(object: &ExternObject) -> bool {
    object.value_extern().is_some() && object.methods.iter().all(|method| method.effect() == CallEffect::Pure)
}

/// Access of a method to its object. Value externs declare it; methods of other user externs are taken to read and
/// write.
pub fn access_of(program: &Program, object: InstanceId, method: u32) -> Access {
    let object = program.extern_object(program.instance(object).object);
    if object.value_extern().is_some() {
        return match object.methods.get(method as usize).map(ir::ExternMethod::effect) {
            Some(CallEffect::Pure) => Access::None,
            Some(CallEffect::Reads) => Access::Read,
            Some(CallEffect::Writes) | None => Access::Update,
        };
    }
    let known =
        || Some(facts_of(program, object)?.method(&object.methods.get(method as usize)?.name)?.access);
    known().unwrap_or(Access::Update)
}
