//! Constructs that have no counterpart in TNA.

use crate::bridge::{self, Bridge};
use crate::convert::Options;
use crate::original::{metadata, refused};
use crate::times::ARRIVAL;
use crate::{checksums, digests, direct_counters, hashes, selectors, verified};
use base_diag::codes::tna::CONVERT;
use base_diag::{Diagnostic, Span};
use ir::{Arch, Block, Call, Callee, ControlId, Expr, Program, Stmt, StmtKind, visit};

/// Fields of the metadata with the same meaning on both architectures.
const FIELDS: [&str; 7] = [
    "ingress_port",
    "egress_spec",
    "egress_port",
    "mcast_grp",
    "checksum_error",
    // A converted program makes no packet of another: both are 0, but in the egress of copies.
    "instance_type",
    "egress_rid",
];
/// Fields that decide about copies.
const GROUP: &str = "mcast_grp";
/// Extern functions that the new program has, too.
const FUNCTIONS: [&str; 1] = ["mark_to_drop"];
/// Extern objects that the new program has, too.
const OBJECTS: [&str; 7] = [
    "register",
    "counter",
    "direct_counter",
    "action_profile",
    selectors::SELECTOR,
    "packet_in",
    "packet_out",
];

/// Refuses a program that cannot be converted.
pub(crate) fn check(program: &Program, options: Options) -> Result<Option<Bridge>, Vec<Diagnostic>> {
    let Arch::V1Model(_) = &program.arch else {
        let is =
            program.arch.name().map_or("an architecture of its own".to_string(), |name| format!("`{name}`"));
        let error = Diagnostic::error(CONVERT, "only programs for v1model can be converted to TNA");
        return Err(vec![error.note(format!("this one is for {is}"))]);
    };
    let mut uses = Uses {
        program,
        found: checksums::check(program),
        group: None,
        in_control: false,
        in_action: false,
        has_length: false,
        options,
    };
    uses.found.extend(verified::check(program));
    uses.found.extend(digests::check(program));
    uses.found.extend(direct_counters::check(program));
    uses.found.extend(selectors::check(program));
    uses.blocks();
    for instance in &program.instances {
        let object = program.extern_object(instance.object).name.as_str();
        if !OBJECTS.contains(&object) && !instance.name.starts_with('$') {
            uses.found.push(refused(
                &format!("`{object}`"),
                instance.span,
                "an object that TNA does not have in this form",
            ));
        }
    }
    let mut found = uses.found;
    let bridge = bridge::is_needed(program, uses.group.is_some()).then(|| Bridge::of(program));
    let bridge = bridge.transpose().unwrap_or_else(|why| {
        found.push(why);
        None
    });
    if let (Some(_), true) = (&bridge, digests::of_egress(program)) {
        let span = uses.group.unwrap_or(Span::NONE);
        found.push(refused("digests of egress after multicast", span, "only ingress sends digests"));
    }
    if found.is_empty() { Ok(bridge) } else { Err(found) }
}

struct Uses<'a> {
    program: &'a Program,
    found: Vec<Diagnostic>,
    /// The first place where a multicast group is set.
    group: Option<Span>,
    /// Tables and objects can be declared here.
    in_control: bool,
    in_action: bool,
    /// A control of an egress that knows the length of the packet.
    has_length: bool,
    options: Options,
}

impl Uses<'_> {
    fn blocks(&mut self) {
        let program = self.program;
        for parser in &program.parsers {
            for state in &parser.states {
                self.stmts(&state.stmts);
                if let ir::Transition::Select(select) = &state.transition {
                    select.exprs.iter().for_each(|e| self.expr(e));
                }
            }
        }
        // Checksums have rules of their own.
        let is_other = |id: usize| !checksums::controls(program).contains(&Some(ControlId::from(id)));
        self.in_control = true;
        let of_egress = bridge::of_egress(program);
        let resizes = bridge::resizes(program);
        for (id, control) in program.controls.iter().enumerate().filter(|(id, _)| is_other(*id)) {
            self.has_length = !resizes && of_egress.contains(&ControlId::from(id));
            self.block(&control.body);
            self.in_action = true;
            control.actions.iter().for_each(|action| self.block(&action.body));
            self.in_action = false;
            control.tables.iter().flat_map(|t| &t.keys).for_each(|key| self.expr(&key.expr));
        }
        (self.in_control, self.has_length) = (false, false);
        program.functions.iter().for_each(|function| self.block(&function.body));
    }

    fn block(&mut self, block: &Block) {
        self.stmts(&block.stmts);
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        visit::calls(stmts, &mut |call| self.call(call));
        for stmt in stmts {
            self.stmt(stmt);
            visit::blocks(stmt, &mut |block| visit::stmts(block, &mut |stmt| self.stmt(stmt)));
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) = &stmt.kind
            && metadata(self.program, place) == Some(GROUP)
        {
            self.group.get_or_insert(stmt.span);
        }
        visit::exprs(stmt, &mut |e| self.expr(e));
    }

    fn expr(&mut self, expr: &Expr) {
        visit::subexprs(expr, &mut |e| {
            let is_time = |field: &str| field == ARRIVAL && self.options.ticks && self.in_control;
            let is_length = |field: &str| field == "packet_length" && self.has_length;
            let other = |field: &&str| !FIELDS.contains(field) && !is_time(field) && !is_length(field);
            if let Some(field) = metadata(self.program, e).filter(other) {
                let label = match field {
                    "packet_length" => "the ingress of a Tofino does not have the length of a packet",
                    ARRIVAL if self.options.ticks => "only controls have the time",
                    ARRIVAL => "a Tofino cannot divide its nanoseconds: `--ticks` takes steps of 1,024 ns",
                    _ => "TNA has no such metadata, or with another meaning",
                };
                self.found.push(refused(&format!("`{field}`"), e.span, label));
            }
        });
    }

    fn call(&mut self, call: &Call) {
        let Callee::ExternFunction(id) = call.callee else { return };
        let function = &self.program.extern_functions[id.index()];
        let name = function.name.as_str();
        if hashes::is_hash(self.program, call) {
            let elsewhere = || refused("this `hash`", call.span, "only controls can compute it");
            self.found.extend(if self.in_control {
                hashes::check(self.program, call, self.in_action)
            } else {
                Some(elsewhere())
            });
            return;
        }
        if self.in_control && digests::is_digest(self.program, call) {
            return;
        }
        // `mark_to_drop()` does not say whose metadata it is.
        if !FUNCTIONS.contains(&name) || call.args.is_empty() {
            self.found.push(refused(&format!("`{name}`"), call.span, "a function of v1model"));
        }
    }
}
