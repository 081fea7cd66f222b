//! Verified checksums: `verify_checksum` becomes a `Checksum` of the parser, where the header is extracted.
//!
//! Before: `verify_checksum(hdr.ipv4.ihl == 5, { hdr.ipv4.version, ... }, hdr.ipv4.sum, HashAlgorithm.csum16);`
//! After:  `state ipv4 { packet.extract(hdr.ipv4); sum.add(hdr.ipv4); standard.wrong = sum.verify(); ... }`
//!         `if (hdr.ipv4.isValid() && hdr.ipv4.ihl == 5 && (standard.wrong || hdr.ipv4.sum == 0xffff)) { standard.checksum_error = 1; }`
//!
//! A `Checksum` accepts 0 and 0xffff for the same fields, because both are zero in ones' complement; v1model accepts the one that it computes. That is 0xffff only
//! if all fields are zero, so the new program takes 0xffff for wrong. The condition is evaluated after the parser, as in v1model.

use crate::checksums;
use crate::original::{add_metadata, metadata, path, refused, standard_of, standard_type};
use base_diag::{Diagnostic, Span};
use ir::{
    Block, Call, Callee, Const, ControlId, Direction, Expr, ExprKind, ExternId, Instance, InstanceId, Owner,
    ParserId, Program, StateRef, Stmt, StmtKind, Transition, Type, Var, VarId, VarKind, build, visit,
};

const VERIFY: &str = "verify_checksum";
const FIELD: &str = "checksum_error";
const BITS: u32 = 16;

/// The control that verifies, if it calls anything.
fn control(program: &Program) -> Option<ControlId> {
    let id = program.stage_control(VERIFY)?;
    (!program.control(id).body.stmts.is_empty()).then_some(id)
}

/// True if the program reads the result of verifications, and has some.
pub(crate) fn is_read(program: &Program) -> bool {
    let mut found = false;
    let mut look = |expr: &Expr| found |= metadata(program, expr) == Some(FIELD);
    for control in &program.controls {
        let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
        bodies.for_each(|body| visit::all_exprs(body, &mut look));
        let keys = control.tables.iter().flat_map(|table| &table.keys);
        keys.for_each(|key| visit::subexprs(&key.expr, &mut look));
        let runs = control.tables.iter().flat_map(|table| &table.actions);
        runs.flat_map(|run| &run.args).for_each(|arg| visit::subexprs(arg, &mut look));
    }
    program.functions.iter().for_each(|function| visit::all_exprs(&function.body, &mut look));
    found && control(program).is_some()
}

/// Refuses verifications that no parser can do, if their result is read.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let Some(id) = control(program).filter(|_| is_read(program)) else { return vec![] };
    let control = program.control(id);
    let span_of = |stmt: &Stmt| if stmt.span == Span::NONE { control.span } else { stmt.span };
    let found = statements(&control.body).into_iter().filter_map(|stmt| match Verified::of(program, stmt) {
        Ok(_) => None,
        Err(why) => Some(refused("this verification", span_of(stmt), why)),
    });
    found.collect()
}

/// The statements of a block and of blocks that stand in it without a condition.
fn statements(block: &Block) -> Vec<&Stmt> {
    let mut all = vec![];
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Block(inner) => all.extend(statements(inner)),
            _ => all.push(stmt),
        }
    }
    all
}

/// A verification.
struct Verified<'p> {
    condition: &'p Expr,
    /// The header.
    header: &'p Expr,
    /// The checksum.
    place: &'p Expr,
    data: &'p Expr,
    /// The sum of all fields is that of the header as a whole.
    is_whole: bool,
    parser: ParserId,
    /// Standard metadata of the parser.
    standard: VarId,
}

/// The place in a parser that has the type of its root and the fields of `header`; the variables differ.
fn is_same(program: &Program, parser: ParserId, place: &Expr, header: &Expr) -> bool {
    let (Some((var, fields)), Some((_, wanted))) = (path(place), path(header)) else { return false };
    let vars = &program.parser(parser).vars;
    let root = vars.get(var.index()).map(|var| &var.ty);
    fields == wanted && root == root_type(header)
}

fn root_type(place: &Expr) -> Option<&Type> {
    match &place.kind {
        ExprKind::Var(_) => Some(&place.ty),
        ExprKind::Field(base, _) => root_type(base),
        _ => None,
    }
}

impl<'p> Verified<'p> {
    /// The verification that a statement calls, or why no parser can do it.
    fn of(program: &'p Program, stmt: &'p Stmt) -> Result<Verified<'p>, &'static str> {
        const OTHER: &str = "no `verify_checksum` with `HashAlgorithm.csum16`";
        let StmtKind::Call(call) = &stmt.kind else { return Err(OTHER) };
        let Callee::ExternFunction(id) = call.callee else { return Err(OTHER) };
        if program.extern_functions[id.index()].name != VERIFY {
            return Err(OTHER);
        }
        let [Some(condition), Some(data), Some(place), Some(algorithm)] = &call.args[..] else {
            return Err(OTHER);
        };
        if !checksums::is_known(program, algorithm, place) {
            return Err(OTHER);
        }
        let ExprKind::Field(header, checksum) = &place.kind else { return Err("the checksum is no field") };
        let header: &Expr = header;
        if !program.is_header(&header.ty) || path(header).is_none() {
            return Err("the checksum is no field of a header");
        }
        let mut parts = vec![];
        if !add_parts(program, header, data, &mut parts) {
            return Err("the data are not fields of the checksum's header");
        }
        let bits: u64 = parts.iter().map(|(_, bits)| bits).sum();
        if !bits.is_multiple_of(u64::from(BITS)) {
            return Err("the data have no whole number of 16 bits");
        }
        let is_whole = is_whole(program, header, *checksum, &parts);
        let parser = parser(program, header)?;
        let of = program.parser(parser);
        let standard = standard_of(program, &of.vars, &of.params)
            .ok_or("the parser of the header does not have the standard metadata")?;
        Ok(Verified { condition, header, place, data, is_whole, parser, standard })
    }
}

/// Adds the fields of the data and their bits, in order; a constant has no field. False if there is anything else.
fn add_parts(program: &Program, header: &Expr, data: &Expr, parts: &mut Vec<(Option<u32>, u64)>) -> bool {
    match &data.kind {
        ExprKind::Aggregate(of) => of.iter().all(|part| add_parts(program, header, part, parts)),
        ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Aggregate(_)) => {
            add_parts(program, header, inner, parts)
        }
        kind => {
            let field = match kind {
                ExprKind::Const(Const::Bits(_)) => None,
                ExprKind::Field(base, field) if path(base).is_some() && path(base) == path(header) => {
                    Some(*field)
                }
                _ => return false,
            };
            let Some(bits) = program.bits(&data.ty) else { return false };
            parts.push((field, bits));
            true
        }
    }
}

/// True if the data and the checksum are all fields of the header, each as many bits after a border of 16 bits as in the header.
fn is_whole(program: &Program, header: &Expr, checksum: u32, parts: &[(Option<u32>, u64)]) -> bool {
    let word = u64::from(BITS);
    let mut at = 0;
    let mut in_data = vec![(checksum, 0)];
    for (field, bits) in parts {
        let Some(field) = field else { return false };
        in_data.push((*field, at % word));
        at += bits;
    }
    let mut at = 0;
    let mut in_header = vec![];
    for (field, bits) in (0..).zip(program.fields(&header.ty).iter().map(|field| program.bits(&field.ty))) {
        let Some(bits) = bits else { return false };
        in_header.push((field, at % word));
        at += bits;
    }
    in_data.sort_unstable();
    in_data == in_header
}

/// The parser that extracts the header, as it is, once for each packet.
fn parser(program: &Program, header: &Expr) -> Result<ParserId, &'static str> {
    let mut found = None;
    for at in 0..program.parsers.len() {
        let id = ParserId::from(at);
        for (state, of) in program.parser(id).states.iter().enumerate() {
            let (mut extractions, mut changes) = (0, false);
            let all = Block { annotations: vec![], stmts: of.stmts.clone() };
            visit::stmts(&all, &mut |stmt| {
                extractions += usize::from(extracts(program, id, stmt, header));
                changes |= writes(program, id, stmt, header);
            });
            let outside = of.stmts.iter().filter(|stmt| extracts(program, id, stmt, header)).count();
            if changes {
                return Err("a parser changes the header");
            }
            if extractions == 0 {
                continue;
            }
            if outside != 1 || extractions != 1 || reaches(program, id, state) {
                return Err("a state extracts the header under a condition, or again");
            }
            if found.replace(id).is_some_and(|other| other != id) {
                return Err("several parsers extract the header");
            }
        }
    }
    found.ok_or("no parser extracts the header")
}

/// True for the extraction of a header.
fn extracts(program: &Program, parser: ParserId, stmt: &Stmt, header: &Expr) -> bool {
    matches!(&stmt.kind, StmtKind::Extract { header: place, .. } if is_same(program, parser, place, header))
}

/// True if a statement of a parser changes a header, or a field of it.
fn writes(program: &Program, parser: ParserId, stmt: &Stmt, header: &Expr) -> bool {
    let (StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) | StmtKind::SetValid(place, _)) =
        &stmt.kind
    else {
        return false;
    };
    let whole = match &place.kind {
        ExprKind::Slice { base, .. } => base.as_ref(),
        _ => place,
    };
    let whole = match &whole.kind {
        ExprKind::Field(base, _) if program.is_header(&base.ty) => base.as_ref(),
        _ => whole,
    };
    is_same(program, parser, whole, header)
}

/// True if a state can follow itself.
fn reaches(program: &Program, parser: ParserId, state: usize) -> bool {
    let states = &program.parser(parser).states;
    let mut seen = vec![false; states.len()];
    let mut todo = vec![state];
    while let Some(at) = todo.pop() {
        let next: Vec<StateRef> = match &states[at].transition {
            Transition::Goto(next) => vec![*next],
            Transition::Select(select) => select.cases.iter().map(|case| case.next).collect(),
        };
        for next in next {
            let StateRef::State(next) = next else { continue };
            if next.index() == state {
                return true;
            }
            if !std::mem::replace(&mut seen[next.index()], true) {
                todo.push(next.index());
            }
        }
    }
    false
}

/// Computes the checksums in the parser, and makes of the control one that also has the standard metadata and sets `checksum_error`.
pub(crate) fn replace(program: &mut Program) {
    let Some(id) = control(program) else { return };
    let old = program.clone();
    let object = checksums::object(program);
    let ty = Type::Named(standard_type(&old));
    let control = &mut program.controls[id.index()];
    control.body = Block::default();
    let standard = VarId::from(control.vars.len());
    control.vars.push(Var {
        name: "standard_metadata".into(),
        ty: ty.clone(),
        kind: VarKind::Param(Direction::InOut),
        annotations: vec![],
        span: Span::NONE,
    });
    control.params.push(standard);
    for stmt in statements(&old.control(id).body) {
        let Ok(verified) = Verified::of(&old, stmt) else { continue };
        let name = format!("wrong_sum{}", program.instances.len());
        let wrong = add_metadata(program, &name, Type::Bool);
        sum(program, object, &verified, wrong);
        let place = verified.place.clone();
        let ones = build::bits(BITS, u64::from(u16::MAX));
        let ones = build::cast(ones, place.ty.clone());
        let is_wrong = build::or(flag(build::var(standard, &ty), wrong), build::equals(place, ones));
        let applies = build::and(build::is_valid(verified.header.clone()), verified.condition.clone());
        let Some(error) = field_of(program, FIELD) else { continue };
        let set =
            build::assign(build::field(build::var(standard, &ty), error, Type::Bit(1)), build::bits(1, 1));
        let stmt = build::if_then(build::and(applies, is_wrong), vec![set]).at(stmt.span);
        program.controls[id.index()].body.stmts.push(stmt);
    }
}

fn field_of(program: &Program, name: &str) -> Option<usize> {
    program.fields(&Type::Named(standard_type(program))).iter().position(|field| field.name == name)
}

fn flag(standard: Expr, field: usize) -> Expr {
    build::field(standard, field, Type::Bool)
}

/// Adds up the fields after each extraction of the header.
fn sum(program: &mut Program, object: ExternId, verified: &Verified<'_>, wrong: usize) {
    let old = program.clone();
    let id = verified.parser;
    let ty = Type::Named(standard_type(&old));
    for (at, state) in old.parser(id).states.iter().enumerate() {
        let extraction = state.stmts.iter().position(|stmt| extracts(&old, id, stmt, verified.header));
        let Some(extraction) = extraction else { continue };
        let StmtKind::Extract { header, .. } = &state.stmts[extraction].kind else { continue };
        let span = state.stmts[extraction].span;
        let instance = InstanceId::from(program.instances.len());
        let data = if verified.is_whole {
            header.clone()
        } else {
            let with = vec![verified.data.clone(), verified.place.clone()];
            let types = with.iter().map(|part| part.ty.clone()).collect();
            let mut all = build::expr(ExprKind::Aggregate(with), Type::Tuple(types));
            in_parser(&mut all, header);
            all
        };
        let add = build::call(Callee::Method(instance, checksums::ADD), vec![data.ty.clone()], vec![data]);
        let verify = Call {
            callee: Callee::Method(instance, checksums::VERIFY),
            type_args: vec![],
            args: vec![],
            span,
        };
        let verify = build::expr(ExprKind::Call(Box::new(verify)), Type::Bool);
        let result = build::assign(flag(build::var(verified.standard, &ty), wrong), verify);
        let parser = &mut program.parsers[id.index()];
        parser.states[at].stmts.insert(extraction + 1, add.at(span));
        parser.states[at].stmts.insert(extraction + 2, result.at(span));
        parser.instances.push(instance);
        let name = format!("{}.checksum{}", parser.control_plane_name, instance.index());
        program.instances.push(Instance {
            name: "checksum".into(),
            control_plane_name: name.into(),
            object,
            type_args: vec![],
            args: vec![],
            owner: Owner::Parser(id),
            methods: vec![],
            annotations: vec![],
            span: Span::NONE,
        });
    }
}

/// Replaces the header of each field by `header`, the same one in the parser.
fn in_parser(data: &mut Expr, header: &Expr) {
    visit::subexprs_mut(data, &mut |expr| {
        if let ExprKind::Field(base, _) = &mut expr.kind
            && base.ty == header.ty
        {
            **base = header.clone();
        }
    });
}
