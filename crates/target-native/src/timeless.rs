//! Programs whose results do not depend on time.
//!
//! A batch runs at one time. The packets of such a program may have arrived at different times: the program reads no clock, nothing
//! is reported about a packet, and nothing stores its time of arrival.
//!
//! A program is refused unless it is known to be independent of time, so some independent programs are not recognised.

use ir::{Block, Call, Callee, Expr, ExprKind, Program, Stmt, StmtKind, Transition, Type, visit};

/// Extern functions that see no time.
const FUNCTIONS: [&str; 6] = [
    "hash",
    "truncate",
    "update_checksum",
    "update_checksum_with_payload",
    "verify_checksum",
    "verify_checksum_with_payload",
];

/// Extern objects whose methods read no clock.
const OBJECTS: [&str; 3] = ["counter", "direct_counter", "register"];

/// True if a lowered program is known to be timeless; `standard` is the type of its standard metadata.
pub(crate) fn is_timeless(program: &Program, standard: &Type) -> bool {
    let mut search = Search { program, standard, found: false };
    for control in &program.controls {
        control.locals.iter().for_each(|stmt| search.stmt(stmt));
        control.actions.iter().map(|action| &action.body).for_each(|body| search.block(body));
        search.block(&control.body);
        for table in &control.tables {
            // Entries that become idle, and meters.
            search.found |= !table.properties.is_empty() || table.meters.is_some();
            table.keys.iter().for_each(|key| search.expr(&key.expr));
        }
    }
    for state in program.parsers.iter().flat_map(|parser| &parser.states) {
        state.stmts.iter().for_each(|stmt| search.stmt(stmt));
        if let Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(|expr| search.expr(expr));
        }
    }
    program.functions.iter().for_each(|function| search.block(&function.body));
    !search.found
}

/// Looks for what may see the time.
struct Search<'p> {
    program: &'p Program,
    standard: &'p Type,
    found: bool,
}

impl Search<'_> {
    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            // It gets all of the standard metadata, and sets a port.
            StmtKind::Call(call) if self.function(call) == Some("mark_to_drop") => return,
            StmtKind::Call(call) => self.call(call),
            StmtKind::For { init, update, .. } => init.iter().chain(update).for_each(|stmt| self.stmt(stmt)),
            _ => {}
        }
        visit::exprs(stmt, &mut |expr| self.expr(expr));
        visit::blocks(stmt, &mut |block| self.block(block));
    }

    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Call(call) = &expr.kind {
            self.call(call);
        }
        match &expr.kind {
            ExprKind::Field(base, at) if base.ty == *self.standard => {
                let field = self.program.fields(&base.ty).get(*at as usize);
                self.found |= field
                    .is_none_or(|field| field.name.contains("timestamp") || field.name == "deq_timedelta");
                visit::parts(base, &mut |part| self.expr(part));
            }
            // All of it, with the times.
            _ if expr.ty == *self.standard => self.found = true,
            _ => visit::parts(expr, &mut |part| self.expr(part)),
        }
    }

    /// The extern function that is called.
    fn function(&self, call: &Call) -> Option<&str> {
        let Callee::ExternFunction(id) = call.callee else { return None };
        self.program.extern_functions.get(id.index()).map(|function| &*function.name)
    }

    fn call(&mut self, call: &Call) {
        let program = self.program;
        let is_harmless = match call.callee {
            Callee::Function(_) | Callee::Action(_) | Callee::Control(_) | Callee::Parser(_) => true,
            Callee::ExternFunction(_) => self.function(call).is_some_and(|name| FUNCTIONS.contains(&name)),
            Callee::Method(id, _) => program
                .instances
                .get(id.index())
                .is_some_and(|instance| OBJECTS.contains(&&*program.extern_object(instance.object).name)),
            Callee::ParamMethod(..) => false,
        };
        self.found |= !is_harmless;
    }
}
