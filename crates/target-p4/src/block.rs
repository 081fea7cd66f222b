//! Printing shared by functions, parsers and controls, and printing of functions.

use crate::annotation::{annotation, inline};
use crate::externs::direction;
use crate::local::Local;
use crate::print::Printer;
use ir::{Annotations, Callee, Function, FunctionId, InstanceId, StmtKind, VarId, VarKind};
use std::collections::BTreeSet;

impl<'p> Printer<'p> {
    /// Functions stand before those that call them; implementations of abstract methods stand in their instance.
    pub(crate) fn functions(&mut self) {
        let program = self.program;
        let methods: BTreeSet<FunctionId> =
            program.instances.iter().flat_map(|i| &i.methods).map(|(_, function)| *function).collect();
        let mut done = methods.clone();
        for index in 0..program.functions.len() {
            self.function_in_order(index.into(), &mut done);
        }
    }

    fn function_in_order(&mut self, id: FunctionId, done: &mut BTreeSet<FunctionId>) {
        let program = self.program;
        let Some(function) = program.functions.get(id.index()) else { return };
        if !done.insert(id) {
            return;
        }
        let mut called = vec![];
        crate::calls::note_calls(&function.body.stmts, &mut |callee| {
            if let Callee::Function(id) = callee {
                called.push(*id);
            }
        });
        called.into_iter().for_each(|id| self.function_in_order(id, done));
        let name = self.globals.functions[id.index()].clone();
        self.blank();
        self.function_as(&name, function, &[]);
    }

    /// The names around it stay: a method's implementation stands inside of a block, and its last parameters are
    /// the values `captured` of that block.
    pub(crate) fn function_as(&mut self, name: &str, function: &'p Function, captured: &[String]) {
        let around = std::mem::take(&mut self.local);
        self.function_names(function);
        let (params, last) = function.params.split_at(function.params.len().saturating_sub(captured.len()));
        for (id, text) in last.iter().zip(captured) {
            if let Some(name) = self.local.var_names.get_mut(id.index()) {
                name.clone_from(text);
            }
        }
        self.local = Local {
            instances: around.instances.clone(),
            prefix: around.prefix.clone(),
            ..std::mem::take(&mut self.local)
        };
        self.annotations(&function.annotations);
        let head = format!("{} {name}", self.ty(&function.returns));
        self.headed(&head, params, |p| p.stmts(&function.body.stmts));
        self.local = around;
    }

    pub(crate) fn annotations(&mut self, annotations: &Annotations) {
        annotations.iter().for_each(|a| self.line(&annotation(a)));
    }

    /// `head(params) { body }`, the parameters on lines of their own if they are many.
    pub(crate) fn headed(&mut self, head: &str, params: &[VarId], body: impl FnOnce(&mut Self)) {
        let params: Vec<String> = params.iter().map(|id| self.param(*id)).collect();
        let one_line = format!("{head}({})", params.join(", "));
        if one_line.len() <= 90 || params.is_empty() {
            let start = self.out.len();
            self.braces(&one_line, "", body);
            // Nothing between the braces: one line.
            if self.out[start..].lines().count() == 2 {
                self.out.truncate(start);
                self.line(&format!("{one_line} {{ }}"));
            }
            return;
        }
        let pad = " ".repeat(head.len() + 1);
        for (index, param) in params.iter().enumerate() {
            let start = if index == 0 { format!("{head}(") } else { pad.clone() };
            let end = if index + 1 < params.len() { "," } else { ") {" };
            self.line(&format!("{start}{param}{end}"));
        }
        self.indented(body);
        self.line("}");
    }

    fn param(&self, id: VarId) -> String {
        let Some(var) = self.local.vars.get(id.index()) else { return "?".to_string() };
        let direction = match var.kind {
            VarKind::Param(way) => direction(way),
            VarKind::Local => "",
        };
        format!("{}{direction}{} {}", inline(&var.annotations), self.ty(&var.ty), self.var(id))
    }

    /// Instances, blocks of its own and variables of a block. Variables come first if implementations of methods may
    /// read them.
    pub(crate) fn instances_and_locals(
        &mut self,
        instances: &'p [InstanceId],
        locals: &[ir::Stmt],
        sub_blocks: fn(&mut Self),
    ) {
        let program = self.program;
        let mut calls = false;
        crate::calls::each_call(locals, &mut |_| calls = true);
        let mut all = instances.iter().filter_map(|id| program.instances.get(id.index()));
        let locals_first = !calls && all.any(|i| program.captures(i).next().is_some());
        if locals_first {
            self.locals(locals);
        }
        self.local_instances(instances);
        sub_blocks(self);
        if !locals_first {
            self.locals(locals);
        }
    }

    /// Variables beside tables or states.
    fn locals(&mut self, locals: &[ir::Stmt]) {
        let declarations: Vec<_> =
            locals.iter().filter(|s| matches!(s.kind, StmtKind::Declare(..))).collect();
        declarations.into_iter().for_each(|stmt| self.stmts(std::slice::from_ref(stmt)));
    }
}
