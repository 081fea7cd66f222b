//! Ingress and egress of v1model: the controls of the program with the code of its deparsers, and the parts of the skeleton.

use crate::calls::Calls;
use crate::context::{Block, Context};
use crate::pieces::{nanoseconds, refused};
use crate::ports::port_metadata;
use crate::values::{self, member};
use base_diag::Diagnostic;
use device::tna::{self as tofino, Half};
use ir::{Annotation, Control, Expr, ExprKind, MatchKind, Stmt, Type, VarId, VarKind, build};
use ir_merge::Substitution;

/// Ingress: the program's, then its deparser's code and the traffic manager.
pub(crate) fn ingress(context: &mut Context<'_>, code: &[Stmt]) -> Control {
    let program = context.program;
    let (mut control, block, parts) = body(context, Half::Ingress, code);
    let meta = |name: &str| member(program, &block.meta, name).unwrap_or_else(|| build::bool(false));
    let standard = |name: &str| member(program, &block.standard, name).unwrap_or_else(|| build::bool(false));
    let number = |value: u64, of: &Expr| build::bits(values::width(of), value);
    let set = |name: &str, value: u64| build::assign(meta(name), number(value, &meta(name)));
    let mut first = vec![set("mirror", 0), set("resubmits", 0)];
    first.extend(from_parser(context, &block, Half::Ingress));
    first.extend(port_metadata(context, &block, &mut control.vars));
    let mut then = vec![];
    let mut take = |to: &str, of: &str, name: &str| {
        if let Some(value) = context.metadata_of(&block, of).and_then(|value| member(program, &value, name)) {
            then.push(build::assign(meta(to), build::cast(value, meta(to).ty)));
        }
    };
    for (to, name) in [
        ("unicast", "ucast_egress_port"),
        ("group_a", "mcast_grp_a"),
        ("group_b", "mcast_grp_b"),
        ("bypass", "bypass_egress"),
        ("queue", "qid"),
        ("class", "ingress_cos"),
        ("cpu_class", "icos_for_copy_to_cpu"),
        ("copies_to_cpu", "copy_to_cpu"),
    ] {
        take(to, tofino::TO_MANAGER, name);
    }
    take("drop", tofino::INGRESS_DEPARSER, "drop_ctl");
    if context.usage.skips_egress {
        then.push(set("bypass", 1));
    }
    let [manage, send] = [0, 1].map(|at| apply(at, &block));
    then.push(manage);
    let mut all = first;
    all.extend(parts);
    all.extend(then);
    // A packet that the parser refuses comes to its end.
    let mut ends = build::equals(meta("refused"), build::bits(1, 1));
    if !context.usage.reads_parser_error {
        let error = standard("parser_error");
        let none = build::expr(ExprKind::Const(ir::Const::Error(0usize.into())), Type::Error);
        ends = build::or(ends, build::differs(error, none));
    }
    let drop = build::call(
        ir::Callee::ExternFunction(context.skeleton.function("mark_to_drop")),
        vec![],
        vec![block.standard.clone()],
    );
    let clears = vec![set("left", 0), set("to", 0), drop];
    let received = build::if_else(ends, clears, all);
    let is = |step: u64| build::equals(meta("step"), build::bits(8, step));
    let not = |step: u64| build::differs(meta("step"), build::bits(8, step));
    let forwards = vec![build::assign(standard("egress_spec"), meta("port"))];
    let others = vec![build::if_else(not(3), vec![received], vec![set("left", 0)]), send];
    control.body.stmts = match context.usage.skips_egress {
        true => others,
        false => vec![build::if_else(is(1), forwards, others)],
    };
    control
}

/// Egress: the way there, or the program's with its deparser's code.
pub(crate) fn egress(context: &mut Context<'_>, code: Option<&Vec<Stmt>>) -> Control {
    let program = context.program;
    let mut control = context.skeleton.egress.clone();
    let mut block = Block::of(&control.params, &control.vars);
    let mut parts = vec![];
    if let Some(code) = code {
        (control, block, parts) = body(context, Half::Egress, code);
    } else {
        control.body.stmts.clear();
    }
    let meta = |name: &str| member(program, &block.meta, name).unwrap_or_else(|| build::bool(false));
    let kind = member(program, &block.standard, "instance_type").unwrap_or_else(|| build::bool(false));
    let set =
        |name: &str, value: u64| build::assign(meta(name), build::bits(values::width(&meta(name)), value));
    let is_clone = |number: u64| build::equals(kind.clone(), build::bits(32, number));
    let mut out = vec![];
    for bits in context.usage.mirrored.iter().filter(|bits| **bits > 0) {
        let Some(header) = member(program, &block.headers, &format!("mirror_{bits}")) else { continue };
        let of_egress = build::and(is_clone(2), build::equals(meta("left"), build::bits(8, 0)));
        let mirrored = build::or(is_clone(1), of_egress);
        let is_it = build::equals(meta("mirror"), build::bits(8, context.usage.mirror(*bits)));
        let value = values::from_top(&meta("mirrored"), 0, *bits);
        let data = build::field(header.clone(), 0, Type::Bit(*bits));
        out.push(build::if_then(
            build::and(mirrored, is_it),
            vec![build::set_valid(header, true), build::assign(data, value)],
        ));
    }
    let [leave, finish] = [2, 3].map(|at| apply(at, &block));
    if code.is_none() {
        out.push(leave);
        control.body.stmts = out;
        return control;
    }
    out.push(leave);
    let mut inside = vec![set("mirror", 0)];
    inside.extend(from_parser(context, &block, Half::Egress));
    inside.extend(parts);
    if let Some(drop) =
        context.metadata_of(&block, tofino::EGRESS_DEPARSER).and_then(|of| member(program, &of, "drop_ctl"))
    {
        inside.push(build::assign(meta("drop"), drop));
    }
    inside.push(finish);
    // A clone of egress has the step of the packet that it was made of.
    let is_first =
        build::or(build::differs(meta("step"), build::bits(8, 1)), build::or(is_clone(1), is_clone(2)));
    control.body.stmts = vec![build::if_else(is_first, out, inside)];
    control
}

/// The control of a half over v1model's parameters, without a body, and the statements of its body and of its deparser.
fn body(context: &mut Context<'_>, half: Half, code: &[Stmt]) -> (Control, Block, Vec<Stmt>) {
    let program = context.program;
    let frame = if half == Half::Ingress { &context.skeleton.ingress } else { &context.skeleton.egress };
    let own = program.control(context.usage.controls[half as usize]);
    let ends = program.control(context.usage.deparsers[half as usize]);
    let mut control = Control { params: frame.params.clone(), vars: frame.vars.clone(), ..own.clone() };
    control.vars.retain(|var| matches!(var.kind, VarKind::Param(_)));
    let block = Block::of(&control.params, &control.vars);
    let mut parts = vec![];
    for (source, stmts) in [(own, &own.body.stmts[..]), (ends, code)] {
        let arguments = context.arguments(&block, half, &source.params, &source.vars);
        let mut vars = vec![];
        for (at, var) in source.vars.iter().enumerate() {
            let param = source.params.iter().position(|param| param.index() == at);
            vars.push(match param.and_then(|param| arguments.get(param)) {
                Some(argument) => argument.clone(),
                None => {
                    control.vars.push(var.clone());
                    build::var_of(&control.vars, VarId::from(control.vars.len() - 1))
                }
            });
        }
        let moved = |var: &mut VarId| {
            if let Some(ExprKind::Var(new)) = vars.get(var.index()).map(|new| &new.kind) {
                *var = *new;
            }
        };
        let is_own = std::ptr::eq(source, own);
        if is_own {
            control.actions.iter_mut().flat_map(|action| &mut action.params).for_each(moved);
        }
        let substitution = Substitution { vars: vars.clone(), value_sets: 0 };
        let mut locals = source.locals.clone();
        substitution.stmts(&mut locals);
        if is_own {
            control.locals = locals;
            control.actions.iter_mut().for_each(|action| substitution.block(&mut action.body));
            for table in &mut control.tables {
                table.keys.iter_mut().for_each(|key| substitution.expr(&mut key.expr));
                table.actions.iter_mut().flat_map(|run| &mut run.args).for_each(|arg| substitution.expr(arg));
            }
        } else {
            control.locals.extend(locals);
            control.instances.extend(source.instances.iter().copied());
        }
        let mut stmts = stmts.to_vec();
        substitution.stmts(&mut stmts);
        parts.extend(stmts);
    }
    let Control { vars, actions, tables, .. } = &mut control;
    let mut calls = Calls {
        program,
        skeleton: context.skeleton,
        usage: context.usage,
        vars,
        meta: block.meta.clone(),
        found: &mut context.found,
        sums: None,
        in_action: true,
    };
    actions.iter_mut().for_each(|action| calls.list(&mut action.body.stmts));
    calls.in_action = false;
    calls.list(&mut parts);
    for table in tables {
        properties(table, calls.found);
    }
    (control, block, parts)
}

/// Table properties and match kinds that v1model names differently or not at all.
fn properties(table: &mut ir::Table, found: &mut Vec<Diagnostic>) {
    for (name, value) in std::mem::take(&mut table.properties) {
        match name.as_str() {
            "idle_timeout" => table.properties.push(("support_timeout".into(), value)),
            "registers" | "filters" | "proxy_hash" => {
                let title = format!("the table property `{name}` has no counterpart in v1model");
                found.push(refused(&title, value.span, "given here"));
            }
            _ => {}
        }
    }
    for key in &mut table.keys {
        if let MatchKind::Other(_) = &key.match_kind {
            key.match_kind = MatchKind::Exact;
        }
    }
    table.annotations.retain(|annotation: &Annotation| annotation.name != "id");
}

/// The time and error that the parser of a half hands to its control.
fn from_parser(context: &Context<'_>, block: &Block, half: Half) -> Vec<Stmt> {
    let program = context.program;
    let Some(of) = context.metadata_of(block, tofino::from_parser(half)) else { return vec![] };
    let meta = |name: &str| member(program, &block.meta, name);
    let standard = |name: &str| member(program, &block.standard, name);
    let mut out = vec![];
    let arrived = match half {
        Half::Ingress => meta("arrived"),
        Half::Egress => standard("egress_global_timestamp"),
    };
    if let (Some(time), Some(arrived)) = (member(program, &of, "global_tstamp"), arrived) {
        out.push(build::assign(time, nanoseconds(arrived)));
    }
    let (Some(bits), Some(refused), Some(error)) =
        (member(program, &of, "parser_err"), meta("refused"), standard("parser_error"))
    else {
        return out;
    };
    let set = |value: u64| build::assign(bits.clone(), build::bits(16, value));
    let is = |name: &str| {
        let at = program.errors.iter().position(|known| known == name)?;
        let error_value = build::expr(ExprKind::Const(ir::Const::Error(at.into())), Type::Error);
        Some(build::equals(error.clone(), error_value))
    };
    use p4_arch::tna::parser_error::{NO_MATCH, PARTIAL_HEADER, bit};
    let mut chain = vec![];
    let short = program.errors.iter().filter(|name| bit(name) == PARTIAL_HEADER).filter_map(|name| is(name));
    if let Some(short) = short.reduce(build::or) {
        let none = build::expr(ExprKind::Const(ir::Const::Error(0usize.into())), Type::Error);
        let other = build::if_then(build::differs(error.clone(), none), vec![set(NO_MATCH)]);
        chain = vec![build::if_else(short, vec![set(PARTIAL_HEADER)], vec![other])];
    }
    out.push(build::if_else(build::equals(refused, build::bits(1, 1)), vec![set(NO_MATCH)], chain));
    out
}

/// `part.apply(meta, standard_metadata);`
fn apply(part: usize, block: &Block) -> Stmt {
    let callee = ir::Callee::Control(part.into());
    build::call(callee, vec![], vec![block.meta.clone(), block.standard.clone()])
}
