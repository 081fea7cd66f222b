//! `measure-varbits`: a metadata field for the length of each varbit in the packet's headers.
//!
//! Before: `packet.extract(hdr.options, n);`
//! After:  `p4rack_bits = n; packet.extract(hdr.options, n); meta.p4rack_len_options = p4rack_bits;`
//!
//! The length may look ahead, or read an extracted field; a failing extraction does not change the varbit.
//!
//! Why: the receiver of a hand-over must know how much to extract, and P4 has no operator for a varbit's length.

use super::{add_metadata, role_type};
use crate::expressions::{constant, root};
use crate::layout::varbit_bits;
use crate::refuse::unsupported;
use base_diag::{Diagnostic, Span};
use ir::{
    Block, Callee, Direction, Expr, ExprKind, Field, Parser, Program, Role, Stage, StageKind, Stmt, StmtKind,
    Type, TypeKind, Var, VarId, VarKind, build,
};
use std::collections::BTreeMap;

/// For each header with a varbit, by its path in the headers struct: the number of the metadata field with the
/// varbit's length in bits.
pub type Lengths = BTreeMap<Vec<u32>, usize>;

/// Adds the fields and keeps them true. A varbit that is set by anything but its extraction, or by a copy of another
/// header of the packet, is refused.
pub fn measure_varbits(program: &mut Program, prefix: &str) -> Result<Lengths, Vec<Diagnostic>> {
    let mut lengths = Lengths::new();
    let Some(headers) = role_type(program, Role::Headers) else { return Ok(lengths) };
    for (path, name) in varbit_headers(program, &headers, &mut vec![], "") {
        let name = format!("{prefix}_len{name}").into();
        let field = Field { name, ty: Type::Bit(32), annotations: vec![] };
        if let Some(number) = add_metadata(program, field) {
            lengths.insert(path, number);
        }
    }
    if lengths.is_empty() {
        return Ok(lengths);
    }
    let mut refused = vec![];
    for stage in program.stages.clone() {
        let types = program.clone();
        let vars = |params: &[VarId]| roles(&stage, params);
        match stage.kind {
            StageKind::Parse(id) => {
                let parser = &mut program.parsers[id.index()];
                let taken = add_local(parser, &format!("{prefix}_bits"));
                let mut pass = Pass::new(&types, &lengths, vars(&parser.params), &mut refused);
                pass.taken = Some(taken);
                for state in &mut parser.states {
                    pass.stmts(&mut state.stmts);
                }
            }
            StageKind::Control(id) => {
                let control = &mut program.controls[id.index()];
                let mut pass = Pass::new(&types, &lengths, vars(&control.params), &mut refused);
                pass.block(&mut control.body);
                control.actions.iter_mut().for_each(|a| pass.block(&mut a.body));
                // An action works on copies of its arguments; their lengths are not recorded.
                for run in control.tables.iter().flat_map(|t| &t.actions) {
                    let action = &control.actions[run.action.index()];
                    for (arg, param) in run.args.iter().zip(&action.params) {
                        let kind = &control.vars[param.index()].kind;
                        if matches!(kind, VarKind::Param(Direction::Out | Direction::InOut)) {
                            pass.refuse(arg, action.span);
                        }
                    }
                }
            }
            StageKind::Deparse(_) | StageKind::TrafficManager => {}
        }
    }
    if refused.is_empty() { Ok(lengths) } else { Err(refused) }
}

/// A variable of the parser for a number of bits.
fn add_local(parser: &mut Parser, name: &str) -> VarId {
    let var = VarId::from(parser.vars.len());
    let (kind, ty, span) = (VarKind::Local, Type::Bit(32), Span::NONE);
    parser.vars.push(Var { name: name.into(), ty, kind, annotations: vec![], span });
    parser.locals.push(build::stmt(StmtKind::Declare(var, Some(build::bits(32, 0)))));
    var
}

/// The headers with varbits below a type: path and name.
fn varbit_headers(program: &Program, ty: &Type, path: &mut Vec<u32>, name: &str) -> Vec<(Vec<u32>, String)> {
    if program.is_header(ty) {
        return match varbit_bits(program, ty) {
            Some(_) => vec![(path.clone(), name.to_string())],
            None => vec![],
        };
    }
    let parts: Vec<(String, Type)> = match ty {
        Type::Stack(elem, size) => (0..*size).map(|n| (n.to_string(), elem.as_ref().clone())).collect(),
        _ => program.fields(ty).iter().map(|f| (f.name.to_string(), f.ty.clone())).collect(),
    };
    let mut found = vec![];
    for (step, (part, ty)) in (0..).zip(parts) {
        path.push(step);
        found.extend(varbit_headers(program, &ty, path, &format!("{name}_{part}")));
        path.pop();
    }
    found
}

/// The variables that hold the headers and the metadata.
fn roles(stage: &Stage, params: &[VarId]) -> (Option<VarId>, Option<VarId>) {
    let of = |role: Role| stage.roles.iter().position(|r| *r == role).and_then(|p| params.get(p)).copied();
    (of(Role::Headers), of(Role::Metadata))
}

struct Pass<'a> {
    program: &'a Program,
    lengths: &'a Lengths,
    headers: Option<VarId>,
    metadata: Option<(VarId, Type)>,
    /// Variable in which the parser keeps the length it extracts.
    taken: Option<VarId>,
    refused: &'a mut Vec<Diagnostic>,
}

impl<'a> Pass<'a> {
    fn new(
        program: &'a Program,
        lengths: &'a Lengths,
        (headers, metadata): (Option<VarId>, Option<VarId>),
        refused: &'a mut Vec<Diagnostic>,
    ) -> Pass<'a> {
        let metadata = metadata.zip(role_type(program, Role::Metadata));
        Pass { program, lengths, headers, metadata, taken: None, refused }
    }

    fn block(&mut self, block: &mut Block) {
        self.stmts(&mut block.stmts);
    }

    fn stmts(&mut self, stmts: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(stmts) {
            ir::visit::blocks_mut(&mut stmt, &mut |inner| self.block(inner));
            let (before, after) = self.around(&stmt);
            stmts.extend(before);
            stmts.push(stmt);
            stmts.extend(after);
        }
    }

    /// Statements to insert before and after a statement.
    fn around(&mut self, stmt: &Stmt) -> (Option<Stmt>, Option<Stmt>) {
        match &stmt.kind {
            StmtKind::Extract { header, varbit_bits: Some(bits), .. } => {
                if let (Some(length), Some(taken)) = (self.length_of(header), self.taken) {
                    let taken = build::var(taken, &Type::Bit(32));
                    let bits = build::cast(bits.clone(), Type::Bit(32));
                    return (Some(build::assign(taken.clone(), bits)), Some(build::assign(length, taken)));
                }
                self.refuse(header, stmt.span);
            }
            StmtKind::SetValid(header, true) => {
                if let Some(length) = self.length_of(header) {
                    let invalid = build::not(build::is_valid(header.clone()));
                    let zero = build::assign(length, build::bits(32, 0));
                    return (Some(build::if_then(invalid, vec![zero])), None);
                }
                self.refuse(header, stmt.span);
            }
            // Its length counts again when it becomes valid, and is 0 then.
            StmtKind::Assign(place, Expr { kind: ExprKind::InvalidHeader, .. })
                if self.length_of(place).is_some() => {}
            StmtKind::Assign(place, value) => {
                let of = |e: &Expr| match &e.kind {
                    ExprKind::Field(base, _) if matches!(e.ty, Type::Varbit(_)) => self.length_of(base),
                    _ => self.length_of(e),
                };
                if let (Some(to), Some(from)) = (of(place), of(value)) {
                    return (None, Some(build::assign(to, from)));
                }
                self.refuse(place, stmt.span);
            }
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => self.refuse(stack, stmt.span),
            StmtKind::Call(call) if !matches!(call.callee, Callee::ExternFunction(_)) => {
                call.args.iter().flatten().for_each(|arg| self.refuse(arg, call.span));
            }
            _ => {}
        }
        (None, None)
    }

    fn refuse(&mut self, place: &Expr, span: Span) {
        if self.headers.is_some() && root(place) == self.headers && holds_varbit(self.program, &place.ty) {
            let what = "a varbit is set by other means than its extraction: its length is not known";
            self.refused.push(unsupported(span, what));
        }
    }

    /// The field with the length of this header's varbit.
    fn length_of(&self, header: &Expr) -> Option<Expr> {
        let number = *self.lengths.get(&self.path(header)?)?;
        let (var, ty) = self.metadata.as_ref()?;
        Some(build::field(build::var(*var, ty), number, Type::Bit(32)))
    }

    fn path(&self, place: &Expr) -> Option<Vec<u32>> {
        match &place.kind {
            ExprKind::Var(var) if Some(*var) == self.headers => Some(vec![]),
            ExprKind::Field(base, index) => self.longer(base, *index),
            ExprKind::Index(base, index) => self.longer(base, constant(index)?),
            _ => None,
        }
    }

    fn longer(&self, base: &Expr, step: u32) -> Option<Vec<u32>> {
        let mut path = self.path(base)?;
        path.push(step);
        Some(path)
    }
}

/// Whether a value of this type has a varbit in it.
pub fn holds_varbit(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Varbit(_) => true,
        Type::Stack(elem, _) => holds_varbit(program, elem),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::Struct(fields) | TypeKind::Header(fields) | TypeKind::Union(fields) => {
                fields.iter().any(|f| holds_varbit(program, &f.ty))
            }
            _ => false,
        },
        _ => false,
    }
}
