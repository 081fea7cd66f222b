//! `landings`: calls of `flyto(Name())` become regions.
//!
//! Before: `a; flyto(Point()); b; if (c) { flyto(FlightStart()); d; } e;`
//! After:  `a; @region("Point") { b; if (c) { @region("FlightStart") { d; } } e; }`
//!
//! This is how Flightplan's users mark their programs (its §4.1.1). `flyto` is an extern function with a landing for its
//! argument, and each landing an extern function without parameters: `extern Landing Point();`. A segment goes on to the
//! next `flyto` of its block, or to the block's end: after a branch control is where the branch began. One may fly back
//! to `FlightStart` any number of times; from the second time on these segments are numbered, `FlightStart_2`.

use crate::arch;
use crate::auto::{declared_before, region};
use base_diag::codes::split as codes;
use base_diag::{Diagnostic, Span};
use ir::{Block, Call, Callee, ExprKind, ExternFunctionId, Program, Stmt, StmtKind, visit};
use p4_arch::Duty;

/// Name of the region in which a program starts and to which it returns.
const HOME: &str = "FlightStart";

/// Replaces the calls in the bodies of ingress and egress; those elsewhere are refused. Programs without them stay as they are.
pub fn landings(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let is_flyto = |f: &ir::ExternFunction| f.user && f.name == "flyto" && f.signature.params.len() == 1;
    let Some(flyto) = program.extern_functions.iter().position(is_flyto) else { return Ok(()) };
    let flyto = ExternFunctionId::from(flyto);
    let names = program.extern_functions.iter().map(|f| f.name.to_string()).collect();
    let mut pass = Pass { flyto, names, homes: 0, wrong: vec![] };
    for stage in [Duty::Ingress, Duty::Egress] {
        let Some(id) = arch::control(program, stage) else { continue };
        pass.block(&mut program.controls[id.index()].body);
    }
    pass.refuse_rest(program);
    if pass.wrong.is_empty() { Ok(()) } else { Err(pass.wrong) }
}

struct Pass {
    flyto: ExternFunctionId,
    /// Names of the extern functions.
    names: Vec<String>,
    /// Number of returns home in the program.
    homes: usize,
    wrong: Vec<Diagnostic>,
}

impl Pass {
    fn block(&mut self, block: &mut Block) {
        let mut before: Vec<Stmt> = vec![];
        let mut segments: Vec<(String, Span, Vec<Stmt>)> = vec![];
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Some(landing) = self.landing(&stmt) {
                segments.push((landing, stmt.span, vec![]));
                continue;
            }
            visit::blocks_mut(&mut stmt, &mut |inner| self.block(inner));
            match segments.last_mut() {
                Some((_, _, stmts)) => stmts.push(stmt),
                None => before.push(stmt),
            }
        }
        let last = segments.len().saturating_sub(1);
        for (n, (name, span, mut stmts)) in segments.into_iter().enumerate() {
            if n < last {
                // Later statements may read its variables.
                before.extend(stmts.iter_mut().filter_map(declared_before));
            }
            before.push(region(&name, span, stmts));
        }
        block.stmts = before;
    }

    /// The name of the segment that starts with this statement.
    fn landing(&mut self, stmt: &Stmt) -> Option<String> {
        let StmtKind::Call(call) = &stmt.kind else { return None };
        if call.callee != Callee::ExternFunction(self.flyto) {
            return None;
        }
        let Some(name) = self.named(call) else {
            self.refuse(
                stmt.span,
                "its argument is not a `Landing`",
                "write `flyto(Name())`, with `extern Landing Name();`",
            );
            return Some(HOME.to_string());
        };
        if !matches!(name.as_str(), HOME | "Flight_Start") {
            return Some(name);
        }
        self.homes += 1;
        Some(if self.homes == 1 { HOME.to_string() } else { format!("{HOME}_{}", self.homes) })
    }

    fn named(&self, call: &Call) -> Option<String> {
        let ExprKind::Call(landing) = &call.args.first()?.as_ref()?.kind else { return None };
        let Callee::ExternFunction(id) = landing.callee else { return None };
        landing.args.is_empty().then(|| self.names.get(id.index()).cloned()).flatten()
    }

    /// Calls that are left stand where no region can be.
    fn refuse_rest(&mut self, program: &Program) {
        let controls = program.controls.iter();
        let blocks = controls.flat_map(|c| std::iter::once(&c.body).chain(c.actions.iter().map(|a| &a.body)));
        let functions = program.functions.iter().map(|f| &f.body);
        let mut spans = vec![];
        let mut look = |stmt: &Stmt| {
            if matches!(&stmt.kind, StmtKind::Call(call) if call.callee == Callee::ExternFunction(self.flyto))
            {
                spans.push(stmt.span);
            }
        };
        blocks.chain(functions).for_each(|block| visit::stmts(block, &mut look));
        for state in program.parsers.iter().flat_map(|p| &p.states) {
            state.stmts.iter().for_each(&mut look);
        }
        for span in spans {
            self.refuse(span, "a segment cannot start here", "fly from the `apply` of ingress or egress");
        }
    }

    fn refuse(&mut self, span: Span, why: &str, help: &str) {
        let title = "`flyto` cannot be called here";
        self.wrong.push(Diagnostic::error(codes::MISPLACED_REGION, title).at(span, why).help(help));
    }
}
