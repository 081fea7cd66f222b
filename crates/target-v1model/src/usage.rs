//! Facts about a program that decide on the form of the converted one.

use crate::pieces::{refused, rest_name};
use crate::values;
use base_diag::{Diagnostic, Span, codes::tna as codes};
use device::tna::{self as tofino, Half};
use ir::{
    Arch, Call, Callee, Const, Control, ControlId, Expr, ExprKind, ParserId, Program, StageKind, StateRef,
    Stmt, StmtKind, Transition, Type, TypeKind, visit,
};
use std::collections::BTreeSet;

/// The facts.
pub(crate) struct Usage {
    /// 1 or 2.
    pub(crate) generation: u32,
    /// Bits of the headers of mirrored packets, each once; the number of a mirror is the place here plus one.
    pub(crate) mirrored: Vec<u32>,
    /// No packet is changed in egress.
    pub(crate) skips_egress: bool,
    /// A control looks at `parser_err` of ingress.
    pub(crate) reads_parser_error: bool,
    /// Bits of metadata that the parser of each half may leave before the frame.
    pub(crate) rests: [Vec<u32>; 2],
    /// Blocks of ingress, then of egress.
    pub(crate) parsers: [ParserId; 2],
    pub(crate) controls: [ControlId; 2],
    pub(crate) deparsers: [ControlId; 2],
}

impl Usage {
    /// The facts of a program without calls of functions, controls and parsers.
    pub(crate) fn of(program: &Program) -> Result<Usage, Vec<Diagnostic>> {
        check_pipes(program).map_err(|problem| vec![problem])?;
        let blocks = ["ingress", "egress"].map(|half| {
            let stage = |name: String| program.stage(&name).map(|stage| stage.kind);
            match (
                stage(format!("{half}_parser")),
                stage(half.to_string()),
                stage(format!("{half}_deparser")),
            ) {
                (
                    Some(StageKind::Parse(parser)),
                    Some(StageKind::Control(control)),
                    Some(StageKind::Deparse(deparser)),
                ) => Some((parser, control, deparser)),
                _ => None,
            }
        });
        let [Some(ingress), Some(egress)] = blocks else {
            return Err(vec![Diagnostic::error(codes::PIPES, "a stage of the pipeline is missing")]);
        };
        let mut usage = Usage {
            generation: tofino::generation(program),
            mirrored: vec![],
            skips_egress: false,
            reads_parser_error: false,
            rests: [vec![], vec![]],
            parsers: [ingress.0, egress.0],
            controls: [ingress.1, egress.1],
            deparsers: [ingress.2, egress.2],
        };
        usage.skips_egress = usage.bypasses(program) || usage.is_empty(program);
        for half in [Half::Ingress, Half::Egress].into_iter().take(usage.halves()) {
            usage.rests[half as usize] = usage.rests_of(program, half);
        }
        let mut found = vec![];
        usage.look(program, &mut found);
        if found.is_empty() { Ok(usage) } else { Err(found) }
    }

    /// Number of a mirror whose header has so many bits.
    pub(crate) fn mirror(&self, bits: u32) -> u64 {
        self.mirrored.iter().position(|known| *known == bits).map_or(0, |at| at as u64 + 1)
    }

    /// Halves whose code the converted program has.
    pub(crate) fn halves(&self) -> usize {
        if self.skips_egress { 1 } else { 2 }
    }

    /// Headers that the converted program has beside those of the original, with their bits.
    pub(crate) fn added_headers(&self) -> Vec<(String, u32)> {
        let mirrored = self.mirrored.iter().filter(|bits| **bits > 0);
        let mut all: Vec<(String, u32)> = mirrored.map(|bits| (format!("mirror_{bits}"), *bits)).collect();
        for half in [Half::Ingress, Half::Egress] {
            all.extend(self.rests[half as usize].iter().map(|bits| (rest_name(half, *bits), *bits)));
        }
        all
    }

    /// Bits of metadata that are left at an `accept`: those of statements that cannot be converted count as read.
    fn rests_of(&self, program: &Program, half: Half) -> Vec<u32> {
        let header = ["ingress_intrinsic_metadata_t", "egress_intrinsic_metadata_t"][half as usize];
        let ty = program.types.iter().position(|decl| decl.name == header);
        let own = ty.and_then(|ty| program.bits(&Type::Named(ty.into()))).unwrap_or(0) as u32;
        let data = if half == Half::Ingress { p4_arch::tna::port_metadata_bits(self.generation) } else { 0 };
        let area = own + data;
        let parser = program.parser(self.parsers[half as usize]);
        let (mut seen, mut waiting, mut rests) = (BTreeSet::new(), vec![(0usize, 0u32)], BTreeSet::new());
        while let Some((at, mut offset)) = waiting.pop() {
            if offset >= area || !seen.insert((at, offset)) {
                continue;
            }
            let state = &parser.states[at];
            for stmt in &state.stmts {
                let bits = match &stmt.kind {
                    StmtKind::Extract { header, .. } => program.bits(&header.ty).unwrap_or(0),
                    StmtKind::Advance(_, bits) => match &bits.kind {
                        ExprKind::Const(Const::Bits(bits)) => bits.low_u64(),
                        _ => u64::from(area),
                    },
                    _ => 0,
                };
                offset = u64::from(offset).saturating_add(bits).min(u64::from(area)) as u32;
            }
            let mut follow = |next: &StateRef| match next {
                StateRef::State(next) => waiting.push((next.index(), offset)),
                StateRef::Accept if offset < area => {
                    rests.insert(area - offset);
                }
                _ => {}
            };
            match &state.transition {
                Transition::Goto(next) => follow(next),
                Transition::Select(select) => select.cases.iter().for_each(|case| follow(&case.next)),
            }
        }
        rests.into_iter().collect()
    }

    /// Ingress always sets `bypass_egress`, and no mirrored packet comes to egress.
    fn bypasses(&self, program: &Program) -> bool {
        let control = program.control(self.controls[0]);
        let (mut always, mut assigned) = (0, 0);
        let is_one = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Assign(place, value)
                if is_member(program, place, tofino::TO_MANAGER, "bypass_egress") =>
            {
                Some(matches!(&value.kind, ExprKind::Const(Const::Bits(bits)) if bits.low_u64() == 1))
            }
            _ => None,
        };
        for stmt in &control.body.stmts {
            always += u32::from(is_one(stmt) == Some(true));
        }
        for block in [&control.body].into_iter().chain(control.actions.iter().map(|action| &action.body)) {
            visit::stmts(block, &mut |stmt| assigned += u32::from(is_one(stmt).is_some()));
        }
        always == 1 && assigned == 1 && !self.mirrors_in_ingress(program)
    }

    /// The deparser of ingress mirrors packets.
    pub(crate) fn mirrors_in_ingress(&self, program: &Program) -> bool {
        let mut found = false;
        calls(program.control(self.deparsers[0]), &mut |call| {
            found |= method(program, call).is_some_and(|(object, _)| object == "Mirror")
        });
        found
    }

    /// Egress reads the switch's metadata and nothing else, and does nothing.
    fn is_empty(&self, program: &Program) -> bool {
        let parser = program.parser(self.parsers[1]);
        let [state] = parser.states.as_slice() else { return false };
        let is_metadata = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Extract { header, .. } => is_type(program, &header.ty, "egress_intrinsic_metadata_t"),
            _ => false,
        };
        let [only] = state.stmts.as_slice() else { return false };
        is_metadata(only)
            && state.transition == ir::Transition::Goto(ir::StateRef::Accept)
            && program.control(self.controls[1]).body.stmts.is_empty()
            && program
                .control(self.deparsers[1])
                .body
                .stmts
                .iter()
                .all(|stmt| matches!(stmt.kind, StmtKind::Emit(..)))
    }

    fn look(&mut self, program: &Program, found: &mut Vec<Diagnostic>) {
        for decl in &program.types {
            let TypeKind::Header(fields) = &decl.kind else { continue };
            let bits = |field: &ir::Field| program.bits(&field.ty).unwrap_or(0);
            let is_filled = |field: &ir::Field| {
                !bits(field).is_multiple_of(8) && field.annotations.iter().any(|a| a.name == "flexible")
            };
            if fields.iter().any(is_filled) || !fields.iter().map(bits).sum::<u64>().is_multiple_of(8) {
                let label = "give `@flexible` fields that are no whole bytes fields of padding instead";
                found.push(refused("this header cannot be converted", decl.span, label));
            }
        }
        for half in 0..self.halves() {
            let mut widths = vec![];
            let mut unknown = vec![];
            calls(program.control(self.deparsers[half]), &mut |call| {
                if method(program, call).is_some_and(|(object, _)| object == "Mirror") {
                    match call.args.get(1) {
                        Some(Some(header)) => match values::words(program, header) {
                            Some(words) => widths.push(words.iter().map(values::width).sum()),
                            None => unknown.push(header.span),
                        },
                        _ => widths.push(0),
                    }
                    if self.generation == 2 && half == 1 {
                        found.push(refused(
                            "a mirror of egress on Tofino 2 has no counterpart in v1model",
                            call.span,
                            "it may mirror the packet as egress received it",
                        ));
                    }
                }
            });
            found.extend(
                unknown
                    .into_iter()
                    .map(|span| refused("this header cannot be converted", span, "it has no fixed layout")),
            );
            widths.retain(|wide| !self.mirrored.contains(wide));
            self.mirrored.extend(widths);
            self.mirrored.sort_unstable();
            self.mirrored.dedup();
            for id in [self.controls[half], self.deparsers[half]] {
                let control = program.control(id);
                let mut look = |expr: &Expr| {
                    visit::subexprs(expr, &mut |expr| {
                        if half == 0 {
                            self.reads_parser_error |= is_member(
                                program,
                                expr,
                                "ingress_intrinsic_metadata_from_parser_t",
                                "parser_err",
                            );
                        }
                        if is_member(program, expr, "egress_intrinsic_metadata_t", "egress_rid_first") {
                            let label = "no copy of a multicast group is the first";
                            found.push(refused(
                                "`egress_rid_first` has no counterpart in v1model",
                                expr.span,
                                label,
                            ));
                        }
                        for of in [tofino::INGRESS_DEPARSER, tofino::EGRESS_DEPARSER] {
                            if is_member(program, expr, of, "mirror_io_select") {
                                let label =
                                    "v1model mirrors packets as ingress receives and as egress sends them";
                                found.push(refused(
                                    "`mirror_io_select` has no counterpart in v1model",
                                    expr.span,
                                    label,
                                ));
                            }
                        }
                    });
                };
                for block in
                    [&control.body].into_iter().chain(control.actions.iter().map(|action| &action.body))
                {
                    visit::all_exprs(block, &mut look);
                }
                control.tables.iter().flat_map(|table| &table.keys).for_each(|key| look(&key.expr));
            }
        }
        found.dedup();
    }
}

/// Refuses programs that are not for TNA.
pub(crate) fn check_architecture(program: &Program) -> Result<(), Vec<Diagnostic>> {
    match &program.arch {
        Arch::Tna(_) | Arch::T2na => Ok(()),
        arch => {
            let is = arch.name().map_or("an architecture of its own".to_string(), |name| format!("`{name}`"));
            Err(vec![
                Diagnostic::error(codes::CONVERT, "only programs for TNA and T2NA can be converted")
                    .note(format!("this one is for {is}"))
                    .at(Span::NONE, ""),
            ])
        }
    }
}

/// Refuses programs for several pipes, whose tables differ from pipe to pipe, and ghost threads.
fn check_pipes(program: &Program) -> Result<(), Diagnostic> {
    let further = program.stages.iter().find_map(|stage| stage.name.split_once('.'));
    if let Some((pipe, _)) = further {
        return Err(Diagnostic::error(codes::PIPES, "programs for several pipes cannot be converted")
            .note(format!("`{pipe}` has a pipeline of its own, and v1model has one for all ports"))
            .help("convert a program for each pipe: give `Switch` one pipeline"));
    }
    if program.stages.iter().any(|stage| stage.name == "ghost") {
        return Err(Diagnostic::error(codes::PIPES, "a ghost thread cannot be converted")
            .note("v1model has no thread that sees the depths of all queues")
            .help("leave the last argument of `Pipeline` out"));
    }
    Ok(())
}

/// A residual checksum lacks the rest of the parser that asks for it, which is not known any more where that parser is
/// part of another one.
pub(crate) fn check_residuals(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let mut found = vec![];
    for (at, parser) in program.parsers.iter().enumerate() {
        if program.stages.iter().any(|stage| stage.kind == StageKind::Parse(at.into())) {
            continue;
        }
        for stmt in parser.states.iter().flat_map(|state| &state.stmts) {
            if let StmtKind::Call(call) = &stmt.kind
                && method(program, call) == Some(("Checksum", "subtract_all_and_deposit"))
            {
                let label = "in a parser that another one applies";
                found.push(refused("a residual checksum cannot be converted", call.span, label));
            }
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Type of that name.
pub(crate) fn is_type(program: &Program, ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Named(id) if program.type_decl(*id).name == name)
}

/// The field `name` of a value of the type `of`.
pub(crate) fn is_member(program: &Program, expr: &Expr, of: &str, name: &str) -> bool {
    match &expr.kind {
        ExprKind::Field(base, at) if is_type(program, &base.ty, of) => {
            program.fields(&base.ty).get(*at as usize).is_some_and(|field| field.name == name)
        }
        _ => false,
    }
}

/// Names of the extern and of the method that a call names.
pub(crate) fn method<'p>(program: &'p Program, call: &Call) -> Option<(&'p str, &'p str)> {
    let Callee::Method(id, method) = call.callee else { return None };
    let object = program.extern_object(program.instances.get(id.index())?.object);
    Some((object.name.as_str(), object.methods.get(method as usize)?.name.as_str()))
}

fn calls(control: &Control, f: &mut dyn FnMut(&Call)) {
    for block in [&control.body].into_iter().chain(control.actions.iter().map(|action| &action.body)) {
        visit::calls(&block.stmts, f);
    }
}
