//! Bring a program that is cut into a form in which everything that has to travel is a value.
//!
//! ```text
//! normalize jumps and calls as structure
//! bind      whole headers and metadata that actions get, by their own name
//! wrap      the headers and metadata structs inside structs of ours, where they are used as one value
//! colours   colours of direct meters as values, where actions of other tables read them
//! counted   the length that counters of bytes see, where one counts after a cut
//! varbit    the length of each varbit in a metadata field
//! tracked   the length that egress sees, where a hand-over would be counted otherwise
//! digests   their data as values, told at the end
//! again     refuses clones of packets that come to ingress again
//! effects   clones, resubmission, recirculation and truncation as values, asked for at the end
//! standard  the port a packet is for, where egress overwrites `egress_port`
//! ```

pub mod again;
pub mod bind;
mod called;
pub mod colours;
pub mod counted;
pub mod digests;
pub mod effects;
pub mod normalize;
pub mod standard;
pub mod tracked;
pub mod varbit;
pub mod wrap;

pub use colours::{ForeignObjects, drop_foreign_calls, forget_foreign, is_torn};
pub use effects::RequestedEffects;
pub use normalize::normalize;
pub use standard::writes_standard;
pub use varbit::Lengths;

use crate::arch;
use ir::{Annotation, AnnotationBody, AnnotationValue, Field, Program, Role, StageKind, Type, TypeKind};
use p4_arch::Duty;

/// The type of the object that plays a role in ingress.
pub fn role_type(program: &Program, role: Role) -> Option<Type> {
    let stage = arch::stage(program, Duty::Ingress)?;
    let StageKind::Control(id) = stage.kind else { return None };
    let position = stage.roles.iter().position(|r| *r == role)?;
    let control = program.control(id);
    Some(control.vars[control.params.get(position)?.index()].ty.clone())
}

/// Adds a field to the metadata; gives its number.
pub fn add_metadata(program: &mut Program, field: Field) -> Option<usize> {
    let Some(Type::Named(id)) = role_type(program, Role::Metadata) else { return None };
    match &mut program.types[id.index()].kind {
        TypeKind::Struct(fields) => {
            fields.push(field);
            Some(fields.len() - 1)
        }
        _ => None,
    }
}

/// An annotation without a body.
pub fn mark(name: &str) -> Annotation {
    Annotation { name: name.into(), body: AnnotationBody::Empty }
}

/// `@field_list(..)`
pub fn field_list(numbers: Vec<AnnotationValue>) -> Annotation {
    Annotation { name: "field_list".into(), body: AnnotationBody::Values(numbers) }
}
