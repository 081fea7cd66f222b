//! The text form of the typed tree: P4 with everything that checking added written out.
//!
//! ```text
//! control c(inout bit<8> x) {
//!     apply {
//!         x = f<bit<8>>(in (x + 8w1), in y as bit<8>);
//!     }
//! }
//! ```
//!
//! Numbers have their widths, `e as T` is an implicit cast, arguments show their directions and defaults, type arguments
//! are complete. It is for people and tests; it is not read back.

mod body;
mod expr;

use std::fmt::Write;

use crate::typed::{
    ArgValue, Constructed, Decl, Direction, Enum, Instance, Local, Name, Program, State, StructKind, Table,
    Transition, TypeVarId, Var, VarId, VarKind,
};

/// The whole program, declarations of included files too.
pub fn print(program: &Program) -> String {
    let mut printer = Printer { p: program, out: String::new(), indent: 0 };
    for decl in &program.decls {
        printer.decl(*decl);
    }
    printer.out
}

/// The declarations of these names.
pub fn print_named(program: &Program, names: &[&str]) -> String {
    let mut printer = Printer { p: program, out: String::new(), indent: 0 };
    for decl in &program.decls {
        if decl_name(program, *decl).is_some_and(|n| names.contains(&n.text.as_str())) {
            printer.decl(*decl);
        }
    }
    printer.out
}

fn decl_name(p: &Program, decl: Decl) -> Option<&Name> {
    Some(match decl {
        Decl::Struct(id) => &p.structs[id].name,
        Decl::Enum(id) => &p.enums[id].name,
        Decl::NewType(id) => &p.new_types[id].name,
        Decl::Typedef(id) => &p.typedefs[id].name,
        Decl::Const(id) => &p.consts[id].name,
        Decl::Function(id) => &p.functions[id].name,
        Decl::Extern(id) => &p.externs[id].name,
        Decl::Action(id) => &p.actions[id].name,
        Decl::ParserType(id) => &p.parser_types[id].name,
        Decl::ControlType(id) => &p.control_types[id].name,
        Decl::Package(id) => &p.packages[id].name,
        Decl::Parser(id) => &p.parsers[id].name,
        Decl::Control(id) => &p.controls[id].name,
        Decl::Instance(id) => &p.instances[id].name,
        Decl::ValueSet(_) => return None,
    })
}

struct Printer<'a> {
    p: &'a Program,
    out: String,
    indent: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn open(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn type_params(&self, params: &[TypeVarId]) -> String {
        if params.is_empty() {
            return String::new();
        }
        let names: Vec<&str> = params.iter().map(|&v| self.p.type_vars[v].name.text.as_str()).collect();
        format!("<{}>", names.join(", "))
    }

    fn params(&self, params: &[VarId]) -> String {
        let all: Vec<String> = params.iter().map(|&v| self.param(&self.p.vars[v])).collect();
        format!("({})", all.join(", "))
    }

    fn param(&self, var: &Var) -> String {
        let direction = match var.kind {
            VarKind::Param(Direction::In) => "in ",
            VarKind::Param(Direction::Out) => "out ",
            VarKind::Param(Direction::InOut) => "inout ",
            _ => "",
        };
        let optional = if var.optional { "@optional " } else { "" };
        let mut text = format!("{optional}{direction}{} {}", self.p.show_type(&var.ty), var.name.text);
        if let Some(default) = &var.default {
            _ = write!(text, " = {}", self.expr(default));
        }
        text
    }

    fn constructor(&self, params: &[VarId]) -> String {
        if params.is_empty() { String::new() } else { self.params(params) }
    }

    fn decl(&mut self, decl: Decl) {
        let p = self.p;
        match decl {
            Decl::Struct(id) => {
                let d = &p.structs[id];
                let keyword = match d.kind {
                    StructKind::Struct => "struct",
                    StructKind::Header => "header",
                    StructKind::Union => "header_union",
                };
                self.open(&format!("{keyword} {}{}", d.name.text, self.type_params(&d.type_params)));
                for f in &d.fields {
                    self.line(&format!("{} {};", p.show_type(&f.ty), f.name.text));
                }
                self.close();
            }
            Decl::Enum(id) => self.enum_decl(&p.enums[id]),
            Decl::NewType(id) => {
                let d = &p.new_types[id];
                self.line(&format!("type {} {};", p.show_type(&d.of), d.name.text));
            }
            Decl::Typedef(id) => {
                let d = &p.typedefs[id];
                self.line(&format!("typedef {} {};", p.show_type(&d.ty), d.name.text));
            }
            Decl::Const(id) => self.constant(id),
            Decl::Function(id) => self.function("", id),
            Decl::Extern(id) => {
                let d = &p.externs[id];
                self.open(&format!("extern {}{}", d.name.text, self.type_params(&d.type_params)));
                d.constructors.iter().for_each(|&f| self.function("", f));
                for &f in &d.methods {
                    self.function(if p.functions[f].is_abstract { "abstract " } else { "" }, f);
                }
                self.close();
            }
            Decl::Action(id) => self.action(id),
            Decl::ParserType(id) => {
                let d = &p.parser_types[id];
                let params = self.params(&d.params);
                self.line(&format!("parser {}{}{params};", d.name.text, self.type_params(&d.type_params)));
            }
            Decl::ControlType(id) => {
                let d = &p.control_types[id];
                let params = self.params(&d.params);
                self.line(&format!("control {}{}{params};", d.name.text, self.type_params(&d.type_params)));
            }
            Decl::Package(id) => {
                let d = &p.packages[id];
                let params = self.params(&d.params);
                self.line(&format!("package {}{}{params};", d.name.text, self.type_params(&d.type_params)));
            }
            Decl::Parser(id) => {
                let d = &p.parsers[id];
                let head = format!("{}{}", d.name.text, self.type_params(&d.type_params));
                let params = self.params(&d.params);
                self.open(&format!("parser {head}{params}{}", self.constructor(&d.constructor_params)));
                d.locals.iter().for_each(|l| self.local(l));
                for state in &d.states {
                    self.state(&d.states, state);
                }
                self.close();
            }
            Decl::Control(id) => {
                let d = &p.controls[id];
                let head = format!("{}{}", d.name.text, self.type_params(&d.type_params));
                let params = self.params(&d.params);
                self.open(&format!("control {head}{params}{}", self.constructor(&d.constructor_params)));
                d.locals.iter().for_each(|l| self.local(l));
                self.open("apply");
                self.stmts(&d.body);
                self.close();
                self.close();
            }
            Decl::Instance(id) => self.instance(&p.instances[id]),
            Decl::ValueSet(_) => {}
        }
    }

    fn enum_decl(&mut self, d: &Enum) {
        let underlying =
            d.underlying.as_ref().map(|t| format!("{} ", self.p.show_type(t))).unwrap_or_default();
        self.open(&format!("enum {underlying}{}", d.name.text));
        for m in &d.members {
            match &m.value {
                Some(value) => self.line(&format!("{} = {value},", m.name.text)),
                None => self.line(&format!("{},", m.name.text)),
            }
        }
        self.close();
    }

    fn constant(&mut self, id: crate::typed::ConstId) {
        let d = &self.p.consts[id];
        let text = format!("const {} {} = {};", self.p.show_type(&d.ty), d.name.text, self.expr(&d.value));
        self.line(&text);
    }

    fn function(&mut self, prefix: &str, id: crate::typed::FunctionId) {
        let d = &self.p.functions[id];
        let head = format!(
            "{prefix}{} {}{}{}",
            self.p.show_type(&d.returns),
            d.name.text,
            self.type_params(&d.type_params),
            self.params(&d.params)
        );
        match &d.body {
            None => self.line(&format!("{head};")),
            Some(body) => {
                self.open(&head);
                self.stmts(body);
                self.close();
            }
        }
    }

    fn action(&mut self, id: crate::typed::ActionId) {
        let d = &self.p.actions[id];
        self.open(&format!("action {}{}", d.name.text, self.params(&d.params)));
        self.stmts(&d.body);
        self.close();
    }

    fn instance(&mut self, d: &Instance) {
        let mark = if d.direct { " // direct" } else { "" };
        let array = match &d.ty {
            crate::typed::Type::Array(_, n) => format!("[{n}]"),
            _ => String::new(),
        };
        let head = format!("{} {}{array}", self.construct(&d.construct), d.name.text);
        if d.implementations.is_empty() {
            self.line(&format!("{head};{mark}"));
            return;
        }
        self.open(&format!("{head} ="));
        d.inner.iter().for_each(|&i| self.instance(&self.p.instances[i]));
        d.implementations.iter().for_each(|i| self.function("", i.function));
        self.close();
    }

    fn local(&mut self, local: &Local) {
        match local {
            Local::Var(stmt) => self.stmt(stmt),
            Local::Const(id) => self.constant(*id),
            Local::Instance(id) => self.instance(&self.p.instances[*id]),
            Local::Action(id) => self.action(*id),
            Local::Table(id) => self.table(&self.p.tables[*id]),
            Local::ValueSet(id) => {
                let d = &self.p.value_sets[*id];
                let text = format!(
                    "value_set<{}>({}) {};",
                    self.p.show_type(&d.element),
                    self.expr(&d.size),
                    d.name.text
                );
                self.line(&text);
            }
        }
    }

    fn state(&mut self, states: &[State], state: &State) {
        self.open(&format!("state {}", state.name.text));
        state.stmts.iter().for_each(|s| self.stmt(s));
        let name = |target: &crate::typed::Target| match target {
            crate::typed::Target::State(i) => states.get(*i as usize).map_or("?", |s| s.name.text.as_str()),
            crate::typed::Target::Accept => "accept",
            crate::typed::Target::Reject => "reject",
        };
        match &state.transition {
            Transition::To(target, _) => self.line(&format!("transition {};", name(target))),
            Transition::Select { keys, cases, .. } => {
                let keys: Vec<String> = keys.iter().map(|k| self.expr(k)).collect();
                self.open(&format!("transition select({})", keys.join(", ")));
                for case in cases {
                    self.line(&format!("{}: {};", self.sets(&case.sets), name(&case.target)));
                }
                self.close();
            }
        }
        self.close();
    }

    fn table(&mut self, d: &Table) {
        self.open(&format!("table {}", d.name.text));
        for key in &d.keys {
            let kind = &self.p.match_kinds[key.match_kind].name.text;
            let name = key.source_name.as_ref().map(|n| format!(" // {n}")).unwrap_or_default();
            self.line(&format!("key {}: {kind};{name}", self.expr(&key.expr)));
        }
        for action in &d.actions {
            let name = &self.p.actions[action.action].name.text;
            let mark = if action.written { "" } else { " // added" };
            self.line(&format!("action {name}({});{mark}", self.args(&action.args)));
        }
        let is_const = if d.default_action.is_const { "const " } else { "" };
        let call = self.action_call(d, &d.default_action.call);
        self.line(&format!("{is_const}default_action {call};"));
        for entry in d.entries.iter().flat_map(|e| &e.entries) {
            let is_const = if entry.is_const { "const " } else { "" };
            let priority = entry.priority.as_ref().map(|p| format!("priority={p}: ")).unwrap_or_default();
            let call = self.action_call(d, &entry.call);
            self.line(&format!("{is_const}entry {priority}{}: {call};", self.sets(&entry.sets)));
        }
        if let Some(size) = &d.size {
            self.line(&format!("size = {};", self.expr(size)));
        }
        for property in &d.properties {
            let action = property.action.as_ref().map(|call| self.action_call(d, call));
            let value =
                property.value.as_ref().map(|v| self.expr(v)).or(action).unwrap_or_else(|| "?".into());
            self.line(&format!("{} = {value};", property.name.text));
        }
        self.close();
    }

    fn action_call(&self, table: &Table, call: &crate::typed::ActionCall) -> String {
        let listed = table.actions.get(call.action as usize);
        let name = listed.map_or("?", |a| self.p.actions[a.action].name.text.as_str());
        format!("{name}({})", self.args(&call.args))
    }

    fn construct(&self, c: &crate::typed::Construct) -> String {
        let name = match c.of {
            Constructed::Extern(id, _) => &self.p.externs[id].name,
            Constructed::Parser(id) => &self.p.parsers[id].name,
            Constructed::Control(id) => &self.p.controls[id].name,
            Constructed::Package(id) => &self.p.packages[id].name,
        };
        let args: Vec<String> = c
            .args
            .iter()
            .map(|a| match &a.value {
                ArgValue::Given(e) => self.expr(e),
                ArgValue::Default(e) => format!("default {}", self.expr(e)),
                ArgValue::DontCare => "_".into(),
                ArgValue::Absent => "absent".into(),
            })
            .collect();
        format!("{}{}({})", name.text, self.type_args(&c.type_args), args.join(", "))
    }

    fn type_args(&self, args: &[crate::typed::Type]) -> String {
        if args.is_empty() {
            return String::new();
        }
        let shown: Vec<String> = args.iter().map(|t| self.p.show_type(t)).collect();
        format!("<{}>", shown.join(", "))
    }
}
