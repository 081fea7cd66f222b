//! Splits broken on purpose, one at a time. [`prove`](crate::prove) has to notice each of them.

use crate::case::Part;
use base_bits::Bits;
use ir::{Action, BinaryOp, Block, Callee, Const, Expr, ExprKind, Program, Stmt, StmtKind, Type, visit};
use ir_split::LinkEntry;
use std::sync::Arc;

/// A broken split.
#[derive(Clone)]
pub struct Mutant {
    /// What was done to it.
    pub name: String,
    /// Its parts.
    pub parts: Vec<Option<Part>>,
}

/// All mutants of a split.
///
/// - *live value dropped*: a value is not put into the hand-over;
/// - *bit flipped*: its lowest bit is turned over on the way;
/// - *wrong region*: control passes to another section than it should;
/// - *header lost*: a header's validity bit stays zero;
/// - *effect done twice*: a state object is used twice;
/// - *wrong port*: a hand-over leaves by another port.
///
/// The packet's length is left alone: it travels always, also where nothing reads it.
pub fn mutants(parts: &[Option<Part>]) -> Vec<Mutant> {
    let mut all = vec![];
    for (device, part) in parts.iter().enumerate() {
        let Some(part) = part else { continue };
        let mut add = |name: String, program: Program| {
            let broken = Part { program: Arc::new(program), linkage: part.linkage.clone() };
            all.push(with_part(parts, device, format!("device {device}: {name}"), broken));
        };
        for (control, action, at) in saves(&part.program) {
            let name = describe(&part.program, control, action, at);
            add(
                format!("live value dropped: {name}"),
                edited(part, control, action, |stmts| {
                    stmts.remove(at);
                }),
            );
            add(format!("bit flipped: {name}"), edited(part, control, action, |stmts| flip(&mut stmts[at])));
        }
        for (control, action, at) in validity_bits(&part.program) {
            let name = describe(&part.program, control, action, at);
            add(
                format!("header lost: {name}"),
                edited(part, control, action, |stmts| {
                    if let StmtKind::Assign(_, value) = &mut stmts[at].kind {
                        *value = zero(1);
                    }
                }),
            );
        }
        for control in 0..part.program.controls.len() {
            for n in 0..count_gotos(&part.program.controls[control].body) {
                let mut program = Program::clone(&part.program);
                let target = misdirect(&mut program.controls[control].body, n);
                add(format!("wrong region: control {control}, number {n}, was {target}"), program);
            }
            for n in 0..count_effects(&part.program, control) {
                let mut program = Program::clone(&part.program);
                double(&mut program, control, n);
                add(format!("effect done twice: control {control}, number {n}"), program);
            }
        }
        for index in 0..part.linkage.entries.len() {
            let mut broken = part.clone();
            let LinkEntry { port, .. } = &mut broken.linkage.entries[index];
            *port ^= 1;
            let name = format!("device {device}: wrong port: entry {index}");
            all.push(with_part(parts, device, name, broken));
        }
    }
    all
}

fn with_part(parts: &[Option<Part>], device: usize, name: String, part: Part) -> Mutant {
    let mut parts = parts.to_vec();
    parts[device] = Some(part);
    Mutant { name, parts }
}

fn edited(part: &Part, control: usize, action: usize, edit: impl FnOnce(&mut Vec<Stmt>)) -> Program {
    let mut program = Program::clone(&part.program);
    edit(&mut program.controls[control].actions[action].body.stmts);
    program
}

/// Assignments of live values in `p4rack_save_*` actions: control, action, position.
fn saves(program: &Program) -> Vec<(usize, usize, usize)> {
    assignments(program, |action, field| {
        action.name.starts_with("p4rack_save_")
            && !["packet_length", "padding", "p4rack_leaving"].contains(&field)
    })
}

/// Assignments of `has_*` bits in `p4rack_send`.
fn validity_bits(program: &Program) -> Vec<(usize, usize, usize)> {
    assignments(program, |action, field| action.name == "p4rack_send" && field.starts_with("has_"))
}

fn assignments(program: &Program, wanted: impl Fn(&Action, &str) -> bool) -> Vec<(usize, usize, usize)> {
    let mut found = vec![];
    for (c, control) in program.controls.iter().enumerate() {
        for (a, action) in control.actions.iter().enumerate() {
            for (at, stmt) in action.body.stmts.iter().enumerate() {
                if field_assigned(program, stmt).is_some_and(|field| wanted(action, field)) {
                    found.push((c, a, at));
                }
            }
        }
    }
    found
}

fn field_assigned<'a>(program: &'a Program, stmt: &Stmt) -> Option<&'a str> {
    let StmtKind::Assign(place, _) = &stmt.kind else { return None };
    field_name(program, place)
}

fn field_name<'a>(program: &'a Program, place: &Expr) -> Option<&'a str> {
    let ExprKind::Field(base, index) = &place.kind else { return None };
    program.fields(&base.ty).get(*index as usize).map(|f| f.name.as_str())
}

fn describe(program: &Program, control: usize, action: usize, at: usize) -> String {
    let action = &program.controls[control].actions[action];
    let field = field_assigned(program, &action.body.stmts[at]).unwrap_or("?");
    format!("{}.{field}", action.name)
}

fn flip(stmt: &mut Stmt) {
    if let StmtKind::Assign(_, value) = &mut stmt.kind
        && let Type::Bit(width) = value.ty
    {
        let one = Const::Bits(Bits::one(width));
        let one = Expr { kind: ExprKind::Const(one), ty: value.ty.clone(), span: value.span };
        let flipped = ExprKind::Binary(BinaryOp::BitXor, Box::new(value.clone()), Box::new(one));
        *value = Expr { kind: flipped, ty: value.ty.clone(), span: value.span };
    }
}

fn zero(width: u32) -> Expr {
    let kind = ExprKind::Const(Const::Bits(Bits::zero(width)));
    Expr { kind, ty: Type::Bit(width), span: base_diag::Span::NONE }
}

/// Assignments of constants to the metadata field `p4rack_region`. All its values are wide as the field.
fn is_goto(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Assign(place, value)
        if matches!(&place.kind, ExprKind::Field(base, _) if matches!(base.kind, ExprKind::Var(_)))
            && matches!(value.kind, ExprKind::Const(_))
            && stmt.span.is_none())
}

fn count_gotos(body: &Block) -> usize {
    let mut count = 0;
    visit::stmts(body, &mut |stmt| count += usize::from(is_goto(stmt)));
    count
}

/// Makes the `n`-th `Goto` name section 0, which no cut leads to; gives what it named.
fn misdirect(body: &mut Block, n: usize) -> String {
    let mut at = 0;
    let mut was = String::new();
    visit::stmts_mut(body, &mut |stmt| {
        if !is_goto(stmt) {
            return;
        }
        if at == n
            && let StmtKind::Assign(_, value) = &mut stmt.kind
            && let (ExprKind::Const(Const::Bits(bits)), Type::Bit(width)) = (&value.kind, &value.ty)
        {
            was = bits.to_decimal();
            *value = zero(*width);
        }
        at += 1;
    });
    was
}

/// Statements of a control's body that use a state object: calls of its methods, and tables whose actions do.
fn is_effect(program: &Program, control: usize, stmt: &Stmt) -> bool {
    match &stmt.kind {
        // A frame extern has one call only, by its contract.
        StmtKind::Call(call) => match call.callee {
            Callee::Method(instance, _) => {
                let object = program.extern_object(program.instance(instance).object);
                !object.annotations.iter().any(|a| a.name == "frame_extern")
            }
            _ => false,
        },
        StmtKind::Apply(table) => {
            let control = &program.controls[control];
            control.tables[table.index()].actions.iter().any(|run| {
                let mut found = false;
                visit::stmts(&control.actions[run.action.index()].body, &mut |s| {
                    found |= matches!(&s.kind, StmtKind::Call(c) if matches!(c.callee, Callee::Method(..)));
                });
                found
            })
        }
        _ => false,
    }
}

fn is_runtime(program: &Program, control: usize, stmt: &Stmt) -> bool {
    let name = match &stmt.kind {
        StmtKind::Call(call) => match call.callee {
            Callee::Method(instance, _) => &program.instance(instance).name,
            _ => return false,
        },
        StmtKind::Apply(table) => &program.controls[control].tables[table.index()].name,
        _ => return false,
    };
    name.starts_with("p4rack_")
}

fn count_effects(program: &Program, control: usize) -> usize {
    let mut count = 0;
    visit::stmts(&program.controls[control].body, &mut |stmt| {
        count += usize::from(is_effect(program, control, stmt) && !is_runtime(program, control, stmt));
    });
    count
}

fn double(program: &mut Program, control: usize, n: usize) {
    let source = program.clone();
    let mut at = 0;
    visit::stmts_mut(&mut program.controls[control].body, &mut |stmt| {
        if !is_effect(&source, control, stmt) || is_runtime(&source, control, stmt) {
            return;
        }
        if at == n {
            let twice = Block { annotations: vec![], stmts: vec![stmt.clone(), stmt.clone()] };
            // A nested walk meets the two copies again: the count has moved on by then.
            stmt.kind = StmtKind::Block(twice);
        }
        at += 1;
    });
}
