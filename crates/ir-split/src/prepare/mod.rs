//! Bring a program that is cut into a form in which everything that has to travel is a value.
//!
//! ```text
//! normalize jumps and calls as structure
//! bind      whole headers and metadata that actions get, by their own name
//! wrap      the headers and metadata structs inside structs of ours, where they are used as one value
//! lent      colours of direct meters as values, where actions of other tables read them
//! counted   the length that counters of bytes see, where one counts behind a cut
//! varbit    the length of each varbit in a metadata field
//! tracked   the length that egress sees, where a hand-over would be counted otherwise
//! digests   their data as values, told at the end
//! again     refuses clones of packets that come to ingress again
//! orders    clones, resubmission, recirculation and truncation as values, asked for at the end
//! standard  the port a packet is for, where egress overwrites `egress_port`
//! ```

mod again;
mod bind;
mod counted;
mod digests;
mod lent;
mod normalize;
mod orders;
mod standard;
mod tracked;
mod varbit;
mod wrap;

pub use lent::{Lent, drop_lent, forget_lent, is_torn};
pub use normalize::normalize;
pub use orders::{CutHalves, Orders};
pub use standard::writes_standard;
pub use varbit::Lengths;

use base_diag::Diagnostic;
use ir::{Annotation, AnnotationBody, AnnotationValue, Field, Program, Role, StageKind, Type, TypeKind};

/// A program ready to be cut.
pub struct Prepared {
    /// The program.
    pub program: Program,
    /// What the runtime's names begin with.
    pub prefix: String,
    /// Where the lengths of varbits are.
    pub lengths: Lengths,
    /// What it orders.
    pub orders: Orders,
    /// The metadata field with the port a packet is for, where egress may overwrite `egress_port`.
    pub port: Option<usize>,
    /// Direct meters and counters that actions of other tables call.
    pub lent: Lent,
}

/// What a program turns out to need beside its cuts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Noted {
    /// Bytes are counted behind a cut.
    pub counted: bool,
    /// Egress reads `packet_length`, and v1model would count a hand-over otherwise.
    pub tracked: bool,
    /// So many branches around each region have it in all their arms.
    pub detours: usize,
    /// Actions of other tables read a direct meter, and these run elsewhere.
    pub lent: bool,
}

/// Prepares `program`.
pub fn prepare(
    program: &Program,
    prefix: String,
    cut: CutHalves,
    noted: Noted,
) -> Result<Prepared, Vec<Diagnostic>> {
    let mut program = program.clone();
    normalize(&mut program)?;
    bind::bind_whole_arguments(&mut program);
    wrap::wrap_whole_structs(&mut program, &prefix);
    let lent = if noted.lent { lent::note_colours(&mut program, &prefix) } else { Lent::new() };
    if noted.counted {
        counted::note_length(&mut program, &prefix);
    }
    let lengths = varbit::measure_varbits(&mut program, &prefix)?;
    if noted.tracked {
        tracked::track_length(&mut program, &prefix, &lengths)?;
    }
    for (stage, is_cut) in [("ingress", cut.ingress), ("egress", cut.egress)] {
        if let (Some(control), true) = (program.stage_control(stage), is_cut) {
            digests::record_digests(&mut program, &prefix, control)?;
        }
    }
    let orders = orders::record_orders(&mut program, &prefix, cut, !lengths.is_empty())?;
    let port = if cut.egress { standard::keep_port(&mut program, &prefix) } else { None };
    Ok(Prepared { program, prefix, lengths, orders, port, lent })
}

/// The type of the object that plays a role in ingress.
pub fn role_type(program: &Program, role: Role) -> Option<Type> {
    let stage = program.stage("ingress")?;
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

/// `@field_list(..)`
pub fn field_list(numbers: Vec<AnnotationValue>) -> Annotation {
    Annotation { name: "field_list".into(), body: AnnotationBody::Values(numbers) }
}
