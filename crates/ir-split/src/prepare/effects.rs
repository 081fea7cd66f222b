//! `record-effects`: effects that a program asks of the traffic manager become values, and are requested at the end of
//! the half.
//!
//! Before: `if (c) { clone(CloneType.I2E, 5); } ...`
//! After:  `if (c) { meta.p4rack_clone = 1; meta.p4rack_clone_session = 5; } ...
//!          if (meta.p4rack_clone == 1) { clone(CloneType.I2E, meta.p4rack_clone_session); }`
//!
//! Why: the traffic manager of the origin executes the effects, and the end of each half runs there. As a value, an effect
//! travels there from any device. In each half the last call of a kind counts, as in `simple_switch`;
//! of the lengths to truncate to, the least.
//!
//! `truncate` and `recirculate` last from ingress into egress: where egress is cut, they are asked for at its end. A
//! resubmission of a packet that has been handed over cannot be left to the traffic manager, which has the hand-over for
//! the packet: it is noted in `restart`, and egress sends the original packet around.

use super::{add_metadata, again, field_list, role_type};
use crate::arch;
use crate::attempt::CutHalves;
use crate::layout::bits_for;
use crate::prepare::called::{calls, request};
use crate::refuse::{broken, unsupported};
use base_diag::{Diagnostic, Span};
use ir::{
    AnnotationValue, Block, Call, ControlId, Expr, ExprKind, Field, Program, Role, Stmt, StmtKind, Type,
    VarId, build,
};
use p4_arch::{CutCall, Duty, Meaning};
use std::cell::RefCell;

/// Effects that a program asks of the traffic manager, for the generator.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RequestedEffects {
    /// A packet may be cloned in an ingress that is cut: its original headers travel.
    pub clones_original: bool,
    /// Resubmission in an ingress that is cut, if there is one.
    pub restart: Option<Restart>,
    /// Packets that are cloned, or sent to a multicast group.
    pub copies: bool,
    /// Cloned at the end of egress.
    pub egress_clones: bool,
}

/// Resubmission in an ingress that is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restart {
    /// The metadata field that says that the packet came as a hand-over.
    pub resumed: usize,
    /// The one that says which of `lists` the original packet starts again with; 0 if it does not.
    pub restart: usize,
    /// The one that says to the next pass that it is one.
    pub restarted: usize,
    /// Bits of `restart`.
    pub width: u32,
    /// The field list of each resubmission.
    pub lists: Vec<Expr>,
}

/// Records the effects that the halves that are cut request.
///
/// A clone of egress keeps a request to truncate, in the traffic manager: where that clone may leave egress as a
/// hand-over, it is refused. So are clones of packets with varbits there.
pub fn record_effects(
    program: &mut Program,
    prefix: &str,
    cut: CutHalves,
    has_varbits: bool,
) -> Result<RequestedEffects, Vec<Diagnostic>> {
    let mut effects = RequestedEffects { copies: makes_copies(program), ..RequestedEffects::default() };
    let (Some(ingress), Some(egress)) =
        (arch::control(program, Duty::Ingress), arch::control(program, Duty::Egress))
    else {
        return Ok(effects);
    };
    let whole = [(ingress, true), (egress, cut.egress)];
    let last = if cut.egress { egress } else { ingress };
    let mut recorder = Recorder { program, prefix, missing: RefCell::default() };
    effects.egress_clones = calls(recorder.program, egress, CutCall::Clone);
    let mut refused = vec![];
    if cut.egress && effects.egress_clones {
        let why = "egress may clone a truncated packet, and egress is cut";
        recorder.refuse_calls(&[ingress, egress], CutCall::Truncate, why, &mut refused);
    }
    if cut.egress && has_varbits {
        let why = "a clone starts without metadata, which holds the lengths of varbits, and egress is cut";
        recorder.refuse_calls(&[ingress, egress], CutCall::Clone, why, &mut refused);
    }
    refused.extend(again::refuse_clones(recorder.program, [ingress, egress], cut));
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut at_end = vec![];
    if cut.ingress && calls(recorder.program, ingress, CutCall::Resubmit) {
        effects.restart = recorder.record_resubmit(ingress);
    }
    if cut.ingress && recorder.record(&[ingress], ingress, CutCall::Clone, "clone", &mut at_end) {
        effects.clones_original = true;
    }
    if cut.egress {
        recorder.record(&[egress], egress, CutCall::Clone, "egress_clone", &mut at_end);
        // In egress it asks for nothing, but a helper runs egress in its ingress.
        recorder.record(&[egress], egress, CutCall::Resubmit, "resubmit_in_egress", &mut vec![]);
    }
    let both: Vec<ControlId> = whole.iter().filter(|(_, wanted)| *wanted).map(|(id, _)| *id).collect();
    if recorder.record(&both, last, CutCall::Recirculate, "recirculate", &mut at_end) && cut.egress {
        recorder.forget_at_group(ingress, "recirculate");
    }
    let mut cuts = vec![];
    if recorder.record(&both, last, CutCall::Truncate, "truncate", &mut cuts) && cut.egress {
        recorder.forget_at_group(ingress, "truncate");
    }
    if let (Some(restart), false) = (&effects.restart, cut.egress) {
        // The original packet is resubmitted.
        let field = recorder.field(ingress, &Noted { number: restart.restart, ty: Type::Bit(restart.width) });
        let stays = build::equals(field, build::bits(restart.width, 0));
        cuts = cuts.into_iter().map(|(id, cut)| (id, build::if_then(stays.clone(), vec![cut]))).collect();
    }
    at_end.extend(cuts);
    let missing = recorder.missing.take();
    if !missing.is_empty() {
        return Err(missing);
    }
    for (control, stmt) in at_end {
        program.controls[control.index()].body.stmts.push(stmt);
    }
    Ok(effects)
}

/// The program uses multicast groups, or clones, which may go to one.
fn makes_copies(program: &Program) -> bool {
    let calls = arch::makes_clones(program);
    let standard = role_type(program, Role::StandardMetadata);
    let mut writes = false;
    for control in &program.controls {
        let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
        for block in blocks {
            ir::visit::stmts(block, &mut |stmt| {
                let StmtKind::Assign(place, _) = &stmt.kind else { return };
                let ExprKind::Field(base, n) = &place.kind else { return };
                let name = program.fields(&base.ty).get(*n as usize).map(|f| f.name.as_str());
                writes |= Some(&base.ty) == standard.as_ref()
                    && name.is_some()
                    && name == arch::field(program, Meaning::Group);
            });
        }
    }
    calls || writes
}

struct Recorder<'a> {
    program: &'a mut Program,
    prefix: &'a str,
    /// Missing declarations, as errors: nothing is guessed in their place.
    missing: RefCell<Vec<Diagnostic>>,
}

/// A metadata field of the runtime.
struct Noted {
    number: usize,
    ty: Type,
}

impl Recorder<'_> {
    /// Records the calls of the `wanted` kind in `controls` in fields called `name`, and adds the requests at the end
    /// of `last` to `at_end`. False if there are no such calls.
    fn record(
        &mut self,
        controls: &[ControlId],
        last: ControlId,
        wanted: CutCall,
        name: &str,
        at_end: &mut Vec<(ControlId, Stmt)>,
    ) -> bool {
        let (mut variants, mut has_value) = (vec![], false);
        for &id in controls {
            self.each_call(id, wanted, &mut |call| {
                let variant = without_value(call);
                has_value |= value_of(call).is_some();
                if !variants.contains(&variant) {
                    variants.push(variant);
                }
            });
        }
        if variants.is_empty() {
            return false;
        }
        let which = self.note(name, Type::Bit(bits_for(variants.len() as u64)));
        let value = has_value.then(|| self.note(&format!("{name}_value"), Type::Bit(32)));
        for &id in controls {
            let fields = (self.field(id, &which), value.as_ref().map(|v| self.field(id, v)));
            self.rewrite(id, wanted, &mut |call| {
                let number = variants.iter().position(|v| *v == without_value(call)).map_or(0, |at| at + 1);
                let mut stmts = vec![];
                if let (Some(place), Some(value)) = (&fields.1, value_of(call)) {
                    stmts.push(build::assign(place.clone(), build::cast(value.clone(), Type::Bit(32))));
                }
                stmts.push(build::assign(fields.0.clone(), number_of(&fields.0, number)));
                // Of several truncations the shortest counts; of other requests, the last.
                match (wanted == CutCall::Truncate, &fields.1, value_of(call)) {
                    (true, Some(place), Some(value)) => vec![if_less(&fields.0, place, value, stmts)],
                    _ => stmts,
                }
            });
        }
        let field = self.field(last, &which);
        let value = value.map(|v| self.field(last, &v));
        for (number, variant) in (1..).zip(variants) {
            let is_it = build::equals(field.clone(), number_of(&field, number));
            let call = build::stmt(StmtKind::Call(with_value(variant, value.as_ref())));
            at_end.push((last, build::if_then(is_it, vec![call])));
        }
        true
    }

    /// Copies to a group are neither recirculated nor truncated because of effects that their packet asked for.
    fn forget_at_group(&mut self, ingress: ControlId, name: &str) {
        let Some(noted) = self.noted(name) else { return };
        let (Some(group), field) = (self.standard(ingress, Meaning::Group), self.field(ingress, &noted))
        else {
            return;
        };
        let none = build::equals(group, build::bits(16, 0));
        let forget = build::assign(field.clone(), number_of(&field, 0));
        let stmt = build::if_then(build::not(none), vec![forget]);
        self.program.controls[ingress.index()].body.stmts.push(stmt);
    }

    /// `if (resubmit == n) { if (resumed == 0) { resubmit(list n); } else { restart = n; to any port } }`
    fn record_resubmit(&mut self, ingress: ControlId) -> Option<Restart> {
        let mut at_end = vec![];
        self.record(&[ingress], ingress, CutCall::Resubmit, "resubmit", &mut at_end);
        let lists: Vec<Expr> = at_end.iter().filter_map(|(_, stmt)| first_argument(stmt)).collect();
        let width = bits_for(lists.len() as u64);
        let resumed = self.note("resumed", Type::Bit(1));
        let restart = self.note("restart", Type::Bit(width));
        let numbers = lists.iter().filter_map(crate::expressions::constant);
        let name = format!("{}_restarted", self.prefix).into();
        let annotations = vec![field_list(numbers.map(|n| AnnotationValue::Int(n.into())).collect())];
        let restarted = add_metadata(self.program, Field { name, ty: Type::Bit(1), annotations })?;
        let fresh = build::equals(self.field(ingress, &resumed), build::bits(1, 0));
        let again = self.field(ingress, &restart);
        for (number, (_, mut stmt)) in (1..).zip(at_end) {
            if let StmtKind::If(_, yes, _) = &mut stmt.kind {
                let mut otherwise = vec![build::assign(again.clone(), number_of(&again, number))];
                for field in [Meaning::ToPort, Meaning::Group] {
                    if let Some(place) = self.standard(ingress, field) {
                        let zero = number_of(&place, 0);
                        otherwise.push(build::assign(place, zero));
                    }
                }
                let whole = std::mem::take(yes);
                let choose = StmtKind::If(fresh.clone(), whole, build::block(otherwise));
                *yes = build::block(vec![build::stmt(choose)]);
            }
            self.program.controls[ingress.index()].body.stmts.push(stmt);
        }
        let (resumed, restart) = (resumed.number, restart.number);
        Some(Restart { resumed, restart, restarted, width, lists })
    }

    /// Records that something is missing, so that the program is refused. `stand_in` is used until then.
    fn lacks<T>(&self, what: &str, stand_in: T) -> T {
        self.missing.borrow_mut().push(broken(what));
        stand_in
    }

    fn note(&mut self, name: &str, ty: Type) -> Noted {
        let name = format!("{}_{name}", self.prefix).into();
        let field = Field { name, ty: ty.clone(), annotations: vec![] };
        let number = add_metadata(self.program, field);
        Noted { number: number.unwrap_or_else(|| self.lacks("the struct of the metadata", 0)), ty }
    }

    /// A field that was noted before.
    fn noted(&self, name: &str) -> Option<Noted> {
        let name = format!("{}_{name}", self.prefix);
        let ty = role_type(self.program, Role::Metadata)?;
        let number = self.program.fields(&ty).iter().position(|f| f.name == name)?;
        Some(Noted { number, ty: self.program.fields(&ty)[number].ty.clone() })
    }

    fn field(&self, control: ControlId, noted: &Noted) -> Expr {
        let (var, ty) = self.role(control, Role::Metadata);
        build::field(build::var(var, &ty), noted.number, noted.ty.clone())
    }

    fn standard(&self, control: ControlId, meaning: Meaning) -> Option<Expr> {
        let name = arch::field(self.program, meaning)?;
        let (var, ty) = self.role(control, Role::StandardMetadata);
        let number = self.program.fields(&ty).iter().position(|f| f.name == name)?;
        let field_type = self.program.fields(&ty)[number].ty.clone();
        Some(build::field(build::var(var, &ty), number, field_type))
    }

    fn role(&self, control: ControlId, role: Role) -> (VarId, Type) {
        let is_it = |s: &&ir::Stage| s.kind == ir::StageKind::Control(control);
        let stage = self.program.stages.iter().find(is_it);
        let position = stage.and_then(|s| s.roles.iter().position(|r| *r == role));
        let control = self.program.control(control);
        let var = position.and_then(|at| control.params.get(at)).copied();
        let var = var.unwrap_or_else(|| self.lacks(&format!("the {role:?} parameter of a half"), VarId(0)));
        (var, control.vars[var.index()].ty.clone())
    }

    fn refuse_calls(&self, controls: &[ControlId], wanted: CutCall, why: &str, out: &mut Vec<Diagnostic>) {
        for &id in controls {
            self.each_call(id, wanted, &mut |call| out.push(unsupported(call.span, why)));
        }
    }

    fn each_call(&self, control: ControlId, wanted: CutCall, f: &mut dyn FnMut(&Call)) {
        let control = self.program.control(control);
        let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
        for block in blocks {
            ir::visit::stmts(block, &mut |stmt| {
                if let Some(call) = request(self.program, stmt, wanted) {
                    f(call);
                }
            });
        }
    }

    fn rewrite(&mut self, control: ControlId, wanted: CutCall, f: &mut dyn FnMut(&Call) -> Vec<Stmt>) {
        let mut changed = self.program.control(control).clone();
        rewrite_block(self.program, &mut changed.body, wanted, f);
        changed.actions.iter_mut().for_each(|a| rewrite_block(self.program, &mut a.body, wanted, f));
        self.program.controls[control.index()] = changed;
    }
}

fn rewrite_block(
    program: &Program,
    block: &mut Block,
    wanted: CutCall,
    f: &mut dyn FnMut(&Call) -> Vec<Stmt>,
) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        ir::visit::blocks_mut(&mut stmt, &mut |inner| rewrite_block(program, inner, wanted, f));
        match request(program, &stmt, wanted) {
            Some(call) => block.stmts.extend(f(call)),
            None => block.stmts.push(stmt),
        }
    }
}

/// The argument that is worked out at the call: the session of a clone, the length to cut to.
fn value_position(call: &Call) -> Option<usize> {
    match call.args.len() {
        1 => call.args[0].as_ref().is_some_and(|e| e.ty == Type::Bit(32)).then_some(0),
        _ => Some(1),
    }
}

fn value_of(call: &Call) -> Option<&Expr> {
    call.args.get(value_position(call)?)?.as_ref()
}

fn without_value(call: &Call) -> Call {
    let mut call = Call { span: Span::NONE, ..call.clone() };
    if let Some(position) = value_position(&call) {
        call.args[position] = None;
    }
    call.args.iter_mut().flatten().for_each(|e| e.span = Span::NONE);
    call
}

fn with_value(mut call: Call, value: Option<&Expr>) -> Call {
    for arg in call.args.iter_mut().filter(|a| a.is_none()) {
        *arg = value.cloned();
    }
    call
}

/// `if (which == 0 || length < value) { value = length; which = n; }`
fn if_less(which: &Expr, value: &Expr, length: &Expr, then: Vec<Stmt>) -> Stmt {
    let none = build::equals(which.clone(), number_of(which, 0));
    let less = build::less(build::cast(length.clone(), Type::Bit(32)), value.clone());
    build::if_then(build::or(none, less), then)
}

/// The argument of the call in `if (..) { call(argument); }`.
fn first_argument(stmt: &Stmt) -> Option<Expr> {
    let StmtKind::If(_, yes, _) = &stmt.kind else { return None };
    let StmtKind::Call(call) = &yes.stmts.first()?.kind else { return None };
    call.args.first()?.clone()
}

fn number_of(field: &Expr, number: usize) -> Expr {
    let width = if let Type::Bit(n) = field.ty { n } else { 1 };
    build::bits(width, number as u64)
}
