//! Splits broken on purpose, one at a time. [`prove`](crate::prove) has to notice each of them.

use base_bits::Bits;
use ir::{
    Action, BinaryOp, Block, Call, CallEffect, Callee, Const, Control, Expr, ExprKind, InstanceId, Keyset,
    Program, Stmt, StmtKind, Transition, Type, visit,
};
use ir_split::{LastArgs, LinkEntry, Part};
use std::sync::Arc;

/// A broken split.
#[derive(Clone)]
pub struct Mutant {
    /// Name: the fault and its position.
    pub name: String,
    /// Program of each device.
    pub parts: Vec<Option<Part>>,
}

/// The runtime's name for something.
type Own<'o> = &'o dyn Fn(&str) -> String;

/// All mutants of a split.
///
/// - *live value dropped*: a value is not put into the hand-over;
/// - *bit flipped*: its lowest bit is flipped on the path;
/// - *wrong region*: control does not pass to a section on another device, or a hand-over names another one;
/// - *header lost*: a header is not sent;
/// - *effect done twice*: a state object is used twice;
/// - *statement lost*: the runtime does not keep or give back an original header, does not request effects, restores
///   no validity, or begins no clone;
/// - *wrong port*: a hand-over leaves by another port.
pub fn mutants(parts: &[Option<Part>]) -> Vec<Mutant> {
    let mut all = vec![];
    for (device, part) in parts.iter().enumerate() {
        let Some(part) = part else { continue };
        let mut add = |name: String, program: Program| {
            let broken = Part { program: Arc::new(program), linkage: part.linkage.clone() };
            all.push(with_part(parts, device, format!("device {device}: {name}"), broken));
        };
        let own = |name: &str| format!("{}_{name}", part.linkage.prefix);
        for (control, action, at) in saves(&part.program, &own) {
            let name = describe(&part.program, control, action, at);
            add(
                format!("live value dropped: {name}"),
                edited(part, control, action, |stmts| {
                    stmts.remove(at);
                }),
            );
            add(format!("bit flipped: {name}"), edited(part, control, action, |stmts| flip(&mut stmts[at])));
        }
        for (control, action, at) in regions_sent(&part.program, &own) {
            let name = describe(&part.program, control, action, at);
            add(format!("wrong region: {name}"), edited(part, control, action, |stmts| flip(&mut stmts[at])));
        }
        for (control, action, at) in headers_sent(&part.program, &own) {
            let name = describe(&part.program, control, action, at);
            let without = edited(part, control, action, |stmts| {
                stmts.remove(at);
            });
            add(format!("header lost: {name}"), without);
        }
        for control in 0..part.program.controls.len() {
            for n in 0..count_gotos(&part.program, control, &own) {
                let mut program = Program::clone(&part.program);
                let target = misdirect(&mut program, control, n, &own);
                add(format!("wrong region: control {control}, number {n}, was {target}"), program);
            }
            for n in 0..count_effects(&part.program, control, &own) {
                let mut program = Program::clone(&part.program);
                double(&mut program, control, n, &own);
                add(format!("effect done twice: control {control}, number {n}"), program);
            }
        }
        for control in 0..part.program.controls.len() {
            for n in 0..count_own(&part.program, control, &own) {
                let mut program = Program::clone(&part.program);
                let lost = lose(&mut program, control, n, &own);
                add(format!("statement lost: control {control}, number {n}: {lost}"), program);
            }
        }
        for index in 0..part.linkage.entries.len() {
            let mut broken = part.clone();
            let LinkEntry { args, last, .. } = &mut broken.linkage.entries[index];
            let Some(port) = args.last_mut().filter(|_| *last == LastArgs::Port) else { continue };
            *port ^= 1;
            let name = format!("device {device}: wrong port: entry {index}");
            all.push(with_part(parts, device, name, broken));
        }
    }
    all
}

/// Splits whose devices take hand-overs of any epoch. Only a run in which the plan changes can notice them.
pub fn of_epochs(parts: &[Option<Part>]) -> Vec<Mutant> {
    let mut all = vec![];
    for (device, part) in parts.iter().enumerate() {
        let Some(part) = part else { continue };
        let mut program = Program::clone(&part.program);
        if forget_epoch(&mut program, &format!("{}_hand_over", part.linkage.prefix)) {
            let broken = Part { program: Arc::new(program), linkage: part.linkage.clone() };
            all.push(with_part(parts, device, format!("device {device}: any epoch"), broken));
        }
    }
    all
}

/// Has a parser state look at everything but the epoch of a hand-over; false if it never does.
fn forget_epoch(program: &mut Program, state: &str) -> bool {
    let source = program.clone();
    let mut found = false;
    let states = program.parsers.iter_mut().flat_map(|parser| &mut parser.states);
    for state in states.filter(|known| known.name == *state) {
        let Transition::Select(select) = &mut state.transition else { continue };
        let epoch = select.exprs.iter().position(|expr| field_name(&source, expr) == Some("epoch"));
        let Some(epoch) = epoch else { continue };
        for key in select.cases.iter_mut().filter_map(|case| case.keys.get_mut(epoch)) {
            found |= matches!(key, Keyset::Value(_));
            *key = Keyset::DontCare;
        }
    }
    found
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
fn saves(program: &Program, own: Own) -> Vec<(usize, usize, usize)> {
    let (save, leaving) = (own("save_"), own("leaving"));
    assignments(program, |action, field| {
        action.name.starts_with(&save) && field != "padding" && field != leaving
    })
}

/// Statements of `p4rack_send` that set the region.
fn regions_sent(program: &Program, own: Own) -> Vec<(usize, usize, usize)> {
    let send = own("send");
    assignments(program, |action, field| action.name == send && field == "region")
}

/// Statements of `p4rack_send` that copy headers to send.
fn headers_sent(program: &Program, own: Own) -> Vec<(usize, usize, usize)> {
    let (send, sent) = (own("send"), own("sent_"));
    assignments(program, |action, field| action.name == send && field.starts_with(&sent))
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

/// Assignments to the metadata field `p4rack_region` that name a section on another device.
fn is_goto(program: &Program, leaving: &[Bits], stmt: &Stmt, own: Own) -> bool {
    let StmtKind::Assign(place, value) = &stmt.kind else { return false };
    let ExprKind::Const(Const::Bits(target)) = &value.kind else { return false };
    field_name(program, place) == Some(&own("region")) && leaving.contains(target)
}

/// The sections that a control saves live values for: `if (region == k) { p4rack_save_..(); }`.
fn leaving(control: &Control, own: Own) -> Vec<Bits> {
    let save = own("save_");
    let mut found = vec![];
    visit::stmts(&control.body, &mut |stmt| {
        let StmtKind::If(cond, yes, _) = &stmt.kind else { return };
        let ExprKind::Binary(BinaryOp::Eq, _, value) = &cond.kind else { return };
        let ExprKind::Const(Const::Bits(region)) = &value.kind else { return };
        let saves = yes.stmts.iter().any(|s| match &s.kind {
            StmtKind::Call(Call { callee: Callee::Action(action), .. }) => {
                control.actions[action.index()].name.starts_with(&save)
            }
            _ => false,
        });
        found.extend(saves.then(|| region.clone()));
    });
    found
}

fn count_gotos(program: &Program, control: usize, own: Own) -> usize {
    let control = &program.controls[control];
    let leaving = leaving(control, own);
    let mut count = 0;
    visit::stmts(&control.body, &mut |stmt| count += usize::from(is_goto(program, &leaving, stmt, own)));
    count
}

/// Makes the `n`-th `Goto` name section 0, which no cut leads to; returns the former name.
fn misdirect(program: &mut Program, control: usize, n: usize, own: Own) -> String {
    let source = program.clone();
    let leaving = leaving(&source.controls[control], own);
    let mut at = 0;
    let mut was = String::new();
    visit::stmts_mut(&mut program.controls[control].body, &mut |stmt| {
        if !is_goto(&source, &leaving, stmt, own) {
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

/// `if`s of the runtime's own: their condition names one of its fields or headers, and they do something else than count
/// a drop, run a section, or hide a header that is not there.
fn is_own_if(program: &Program, stmt: &Stmt, own: Own) -> Option<String> {
    let StmtKind::If(cond, yes, no) = &stmt.kind else { return None };
    let (mut names, region, leaving) = (vec![], own("region"), own("leaving"));
    visit::subexprs(cond, &mut |e| names.extend(field_name(program, e).map(str::to_string)));
    let ours = ["orig_", "clone", "resubmit", "recirculate", "truncate", "digest", "restart"];
    let wanted =
        names.iter().find(|n| ours.iter().any(|o| n.starts_with(&own(o))) && **n != region && **n != leaving);
    let does = !yes.stmts.is_empty() && no.stmts.is_empty();
    wanted.filter(|_| does).cloned()
}

fn count_own(program: &Program, control: usize, own: Own) -> usize {
    let mut count = 0;
    visit::stmts(&program.controls[control].body, &mut |stmt| {
        count += usize::from(is_own_if(program, stmt, own).is_some());
    });
    count
}

/// Empties the `n`-th of them; returns its condition.
fn lose(program: &mut Program, control: usize, n: usize, own: Own) -> String {
    let source = program.clone();
    let (mut at, mut lost) = (0, String::new());
    visit::stmts_mut(&mut program.controls[control].body, &mut |stmt| {
        let Some(name) = is_own_if(&source, stmt, own) else { return };
        if at == n
            && let StmtKind::If(_, yes, _) = &mut stmt.kind
        {
            yes.stmts.clear();
            lost = name;
        }
        at += 1;
    });
    lost
}

/// The method that a statement calls, for its result or without.
fn method_called(stmt: &Stmt) -> Option<(InstanceId, u32)> {
    let callee = match &stmt.kind {
        StmtKind::Call(call) => &call.callee,
        StmtKind::Assign(_, Expr { kind: ExprKind::Call(call), .. }) => &call.callee,
        _ => return None,
    };
    match callee {
        Callee::Method(instance, method) => Some((*instance, *method)),
        _ => None,
    }
}

/// Statements of a control's body that use a state object: calls of its methods, and tables whose actions do.
fn is_effect(program: &Program, control: usize, stmt: &Stmt) -> bool {
    if let Some((instance, method)) = method_called(stmt) {
        let object = program.extern_object(program.instance(instance).object);
        let method = object.methods.get(method as usize);
        // A frame extern has one call only, by its contract. A method of a value extern that does not change the memory
        // may be called twice.
        let writes = || method.is_some_and(|method| method.effect() == CallEffect::Writes);
        return object.frame_extern().is_none() && (object.value_extern().is_none() || writes());
    }
    match &stmt.kind {
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

fn is_runtime(program: &Program, control: usize, stmt: &Stmt, own: Own) -> bool {
    let name = match &stmt.kind {
        StmtKind::Call(call) => match call.callee {
            Callee::Method(instance, _) => &program.instance(instance).name,
            _ => return false,
        },
        StmtKind::Apply(table) => &program.controls[control].tables[table.index()].name,
        _ => return false,
    };
    name.starts_with(&own(""))
}

fn count_effects(program: &Program, control: usize, own: Own) -> usize {
    let mut count = 0;
    visit::stmts(&program.controls[control].body, &mut |stmt| {
        count += usize::from(is_effect(program, control, stmt) && !is_runtime(program, control, stmt, own));
    });
    count
}

fn double(program: &mut Program, control: usize, n: usize, own: Own) {
    let source = program.clone();
    let mut at = 0;
    visit::stmts_mut(&mut program.controls[control].body, &mut |stmt| {
        if !is_effect(&source, control, stmt) || is_runtime(&source, control, stmt, own) {
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
