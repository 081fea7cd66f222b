//! `track-length`: the length that egress sees, as a value.
//!
//! Before: `hdr.tunnel.setValid(); saved = hdr.ipv4;` and in egress `x = std.packet_length;`
//! After:  at the start of ingress `meta.p4rack_tracked = std.packet_length;`, then
//!         `if (!hdr.tunnel.isValid()) { meta.p4rack_tracked = meta.p4rack_tracked + 8; } hdr.tunnel.setValid();`
//!         and at the start of egress `std.packet_length = meta.p4rack_tracked;`
//!
//! Why: v1model counts `setValid` and `setInvalid`, but no header that is assigned as a whole, no moved stack and no member of
//! a union that another member makes invalid. A hand-over makes all of them valid and invalid by calls, so the device's own
//! count is not the whole program's once there are such statements. The value is.
//!
//! A clone of ingress has the length with which the packet came, a clone of egress that of the packet at the end of egress:
//! both are kept as a field list is.

use super::counted::{keep_something, kept_lists};
use super::{Lengths, add_metadata, field_list};
use crate::arch;
use crate::expressions::{constant, root};
use crate::layout::varbit_bits;
use crate::refuse::{broken, unsupported};
use base_diag::Diagnostic;
use ir::{
    Block, ControlId, Expr, ExprKind, Field, Program, Role, Stage, StageKind, Stmt, StmtKind, Type, VarId,
    build, visit,
};
use p4_arch::v1model::instance_type::INGRESS_CLONE;
use p4_arch::{Duty, Meaning};

const WIDTH: u32 = 32;

/// Tracks the length. Refuses changes of the length where no metadata is available.
pub fn track_length(program: &mut Program, prefix: &str, lengths: &Lengths) -> Result<(), Vec<Diagnostic>> {
    let refused = untracked(program);
    if !refused.is_empty() {
        return Err(refused);
    }
    keep_something(program);
    let lists = kept_lists(program);
    let mut add = |name: &str| {
        let name = format!("{prefix}_{name}").into();
        add_metadata(
            program,
            Field { name, ty: Type::Bit(WIDTH), annotations: vec![field_list(lists.clone())] },
        )
    };
    let (Some(arrived), Some(tracked)) = (add("arrived"), add("tracked")) else { return Ok(()) };
    let mut refused = vec![];
    for stage in [Duty::Ingress, Duty::Egress] {
        let Some(at) = At::new(program, stage, lengths) else { continue };
        let value = |number| build::field(at.metadata.clone(), number, Type::Bit(WIDTH));
        let mut control = program.control(at.control).clone();
        let blocks =
            std::iter::once(&mut control.body).chain(control.actions.iter_mut().map(|a| &mut a.body));
        blocks.for_each(|block| at.track(program, block, &value(tracked), &mut refused));
        let first = match stage {
            Duty::Ingress => vec![
                build::assign(value(arrived), at.standard(program, Meaning::Length)?),
                build::assign(value(tracked), at.standard(program, Meaning::Length)?),
            ],
            _ => at.show(program, value(arrived), value(tracked))?,
        };
        control.body.stmts.splice(0..0, first);
        program.controls[at.control.index()] = control;
    }
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

/// Changes of the length where there is no metadata, or by an unknown amount.
fn untracked(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    let mut look = |stmts: &[Stmt], place: &str| {
        let block = Block { annotations: vec![], stmts: stmts.to_vec() };
        visit::stmts(&block, &mut |stmt| {
            if matches!(stmt.kind, StmtKind::SetValid(..)) {
                let what =
                    format!("{place} changes which headers are valid, and egress reads `packet_length`");
                found.push(unsupported(stmt.span, &what));
            }
        });
    };
    program.functions.iter().for_each(|function| look(&function.body.stmts, "a function"));
    for state in program.parsers.iter().flat_map(|parser| &parser.states) {
        look(&state.stmts, "the parser");
    }
    if let Some(id) = arch::control(program, Duty::Verify) {
        look(&program.control(id).body.stmts, "the verification of checksums");
    }
    found.extend(arch::first_frame_extern(program).map(|instance| {
        unsupported(
            instance.span,
            "a frame extern emits frames of other lengths, and egress reads `packet_length`",
        )
    }));
    found
}

/// A control and the metadata available in it.
struct At<'a> {
    control: ControlId,
    metadata: Expr,
    standard: Expr,
    headers: Option<VarId>,
    lengths: &'a Lengths,
}

impl<'a> At<'a> {
    fn new(program: &Program, stage: Duty, lengths: &'a Lengths) -> Option<At<'a>> {
        let stage = arch::stage(program, stage)?;
        let StageKind::Control(control) = stage.kind else { return None };
        let metadata = parameter(program, stage, control, Role::Metadata)?;
        let standard = parameter(program, stage, control, Role::StandardMetadata)?;
        let headers = parameter(program, stage, control, Role::Headers).as_ref().and_then(root);
        Some(At { control, metadata, standard, headers, lengths })
    }

    fn standard(&self, program: &Program, meaning: Meaning) -> Result<Expr, Vec<Diagnostic>> {
        let name = arch::field(program, meaning);
        let fields = program.fields(&self.standard.ty);
        let number = fields.iter().position(|f| Some(f.name.as_str()) == name);
        let number =
            number.ok_or_else(|| vec![broken(&format!("the standard metadata's field for {meaning:?}"))])?;
        Ok(build::field(self.standard.clone(), number, fields[number].ty.clone()))
    }

    /// Statements at the start of egress that set the length.
    fn show(&self, program: &Program, arrived: Expr, tracked: Expr) -> Result<Vec<Stmt>, Vec<Diagnostic>> {
        let kind = self.standard(program, Meaning::Kind)?;
        let clone = build::equals(kind, build::bits(32, u64::from(INGRESS_CLONE)));
        let length = self.standard(program, Meaning::Length)?;
        // More may have been taken away than there was: the count is then below zero, which shows as zero.
        let negative = build::less(build::bits(WIDTH, (1 << (WIDTH - 1)) - 1), tracked.clone());
        Ok(vec![
            build::if_then(clone, vec![build::assign(tracked.clone(), arrived)]),
            build::assign(length.clone(), tracked),
            build::if_then(negative, vec![build::assign(length, build::bits(WIDTH, 0))]),
        ])
    }

    fn track(&self, program: &Program, block: &mut Block, tracked: &Expr, refused: &mut Vec<Diagnostic>) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            visit::blocks_mut(&mut stmt, &mut |inner| self.track(program, inner, tracked, refused));
            if let StmtKind::SetValid(place, valid) = &stmt.kind {
                match self.bytes(program, place, *valid) {
                    Some(bytes) => block.stmts.push(change(place, *valid, bytes, tracked)),
                    None => refused.push(unsupported(
                        stmt.span,
                        "a header of unknown length or position is made valid or invalid, and egress reads `packet_length`",
                    )),
                }
            }
            block.stmts.push(stmt);
        }
    }

    /// The bytes that a header has: a new one none in its varbit.
    fn bytes(&self, program: &Program, place: &Expr, new: bool) -> Option<Expr> {
        let path = self.path(place);
        if path.is_none() && has_index(place) {
            return None;
        }
        let bits = program.bits(&place.ty)?;
        let Some(most) = varbit_bits(program, &place.ty) else { return Some(build::bits(WIDTH, bits / 8)) };
        let fixed = bits - most;
        if new {
            return Some(build::bits(WIDTH, fixed / 8));
        }
        let length = self.lengths.get(&path?)?;
        let length = build::field(self.metadata.clone(), *length, Type::Bit(WIDTH));
        Some(build::shift_right(build::add(build::bits(WIDTH, fixed), length), 3))
    }

    /// The path of a header of the packet.
    fn path(&self, place: &Expr) -> Option<Vec<u32>> {
        let (base, step) = match &place.kind {
            ExprKind::Var(var) if Some(*var) == self.headers => return Some(vec![]),
            ExprKind::Field(base, index) => (base, *index),
            ExprKind::Index(base, index) => (base, constant(index)?),
            _ => return None,
        };
        let mut path = self.path(base)?;
        path.push(step);
        Some(path)
    }
}

/// `if (place.isValid() != valid) { tracked changes }`
fn change(place: &Expr, valid: bool, bytes: Expr, tracked: &Expr) -> Stmt {
    let is_valid = build::is_valid(place.clone());
    let (cond, sum) = match valid {
        true => (build::not(is_valid), build::add(tracked.clone(), bytes)),
        false => (is_valid, build::subtract(tracked.clone(), bytes)),
    };
    build::if_then(cond, vec![build::assign(tracked.clone(), sum)])
}

/// Whether an index that is known only at run time leads to the place: it may be none of the stack's.
fn has_index(place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Index(base, index) => constant(index).is_none() || has_index(base),
        ExprKind::Field(base, _) => has_index(base),
        ExprKind::Var(_) => false,
        _ => true,
    }
}

fn parameter(program: &Program, stage: &Stage, control: ControlId, role: Role) -> Option<Expr> {
    let position = stage.roles.iter().position(|r| *r == role)?;
    let control = program.control(control);
    let var = *control.params.get(position)?;
    Some(build::var(var, &control.vars[var.index()].ty))
}
