//! Printing: one file for each kind of thing, in the order of the text.

mod block;
mod decl;
mod expr;
mod stmt;
mod table;

use super::names::Names;
use crate::{Action, Arch, Control, Name, Parser, Program, StateId, StateRef, Table, Var};
use std::fmt::Write as _;

/// The text form of `program`, from which [`read`](super::read) makes the same program without spans.
pub fn write(program: &Program) -> String {
    let mut writer = Writer::new(program);
    writer.program();
    writer.out
}

/// The text of one expression that stands in a block with these variables and tables.
pub(crate) fn write_expr(program: &Program, vars: &[Var], tables: &[Table], expr: &crate::Expr) -> String {
    let mut writer = Writer::new(program);
    writer.scope = Scope { vars, var_names: var_names(vars), tables, ..Scope::default() };
    writer.scope.table_names = Names::new(tables.iter().map(|table| &table.name));
    writer.expr(expr, 0)
}

/// The text of statements of `control`, indented by `indent` steps of four columns.
pub fn write_stmts(program: &Program, control: &Control, stmts: &[crate::Stmt], indent: usize) -> String {
    let mut writer = Writer::new(program);
    writer.scope = Scope::of_control(control);
    writer.indent = indent;
    writer.stmts(stmts);
    writer.out
}

/// The text of a type.
pub(crate) fn write_type(program: &Program, ty: &crate::Type) -> String {
    Writer::new(program).ty(ty)
}

pub(super) struct Writer<'p> {
    program: &'p Program,
    types: Names,
    errors: Names,
    externs: Names,
    extern_functions: Names,
    instances: Names,
    functions: Names,
    parsers: Names,
    controls: Names,
    scope: Scope<'p>,
    out: String,
    indent: usize,
}

/// Declarations of the block that is being printed.
#[derive(Default)]
struct Scope<'p> {
    vars: &'p [Var],
    var_names: Names,
    actions: Names,
    tables: &'p [Table],
    table_names: Names,
    states: Names,
    value_sets: Names,
}

fn var_names(vars: &[Var]) -> Names {
    Names::new(vars.iter().map(|var| &var.name))
}

impl<'p> Scope<'p> {
    fn of_vars(vars: &'p [Var]) -> Scope<'p> {
        Scope { vars, var_names: var_names(vars), ..Scope::default() }
    }

    fn of_parser(parser: &'p Parser) -> Scope<'p> {
        Scope {
            states: Names::new(parser.states.iter().map(|state| &state.name)),
            value_sets: Names::new(parser.value_sets.iter().map(|set| &set.name)),
            ..Scope::of_vars(&parser.vars)
        }
    }

    fn of_control(control: &'p Control) -> Scope<'p> {
        Scope {
            actions: Names::new(control.actions.iter().map(|action: &Action| &action.name)),
            tables: &control.tables,
            table_names: Names::new(control.tables.iter().map(|table| &table.name)),
            ..Scope::of_vars(&control.vars)
        }
    }
}

impl<'p> Writer<'p> {
    fn new(program: &'p Program) -> Writer<'p> {
        fn names<'a, T>(things: &'a [T], name: fn(&'a T) -> &'a Name) -> Names {
            Names::new(things.iter().map(name))
        }
        Writer {
            program,
            types: names(&program.types, |t| &t.name),
            errors: names(&program.errors, |e| e),
            externs: names(&program.externs, |e| &e.name),
            extern_functions: names(&program.extern_functions, |f| &f.name),
            instances: names(&program.instances, |i| &i.name),
            functions: names(&program.functions, |f| &f.name),
            parsers: names(&program.parsers, |p| &p.name),
            controls: names(&program.controls, |c| &c.name),
            scope: Scope::default(),
            out: String::new(),
            indent: 0,
        }
    }

    fn program(&mut self) {
        let program = self.program;
        let arch = match &program.arch {
            Arch::V1Model(version) => format!("v1model {version}"),
            Arch::Psa { dpdk } => format!("psa{}", if *dpdk { " dpdk" } else { "" }),
            Arch::Pna { dpdk } => format!("pna{}", if *dpdk { " dpdk" } else { "" }),
            Arch::Tna(generation) => format!("tna {generation}"),
            Arch::T2na => "t2na".to_string(),
            Arch::Other(name) => format!("other {}", super::names::plain(name)),
        };
        self.line(&format!("{}arch {arch};", decl::annotations(&program.annotations)));
        let errors: Vec<String> = program.errors.iter().map(|e| super::names::plain(e)).collect();
        self.line(&format!("errors {{ {} }}", errors.join(", ")));
        program.types.iter().for_each(|decl| self.type_decl(decl));
        program.externs.iter().for_each(|object| self.extern_object(object));
        program.extern_functions.iter().for_each(|function| self.extern_function(function));
        program.instances.iter().for_each(|instance| self.instance(instance));
        program.functions.iter().for_each(|function| self.function(function));
        program.parsers.iter().for_each(|parser| self.parser(parser));
        program.controls.iter().for_each(|control| self.control(control));
        self.stages();
        self.main();
    }

    fn line(&mut self, text: &str) {
        let width = self.indent * 4;
        let _ = writeln!(self.out, "{:width$}{text}", "");
    }

    fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Lines between braces: `head {`, the output of `body`, `}tail`.
    fn braces(&mut self, head: &str, tail: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
        body(self);
        self.indent -= 1;
        self.line(&format!("}}{tail}"));
    }

    fn state_ref(&self, state: StateRef) -> String {
        match state {
            StateRef::Accept => "accept".to_string(),
            StateRef::Reject => "reject".to_string(),
            StateRef::State(StateId(id)) => self.scope.states.guarded(id as usize),
        }
    }
}
