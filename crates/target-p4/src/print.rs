//! The printer: its state, and the order of a program.

use crate::globals::Globals;
use crate::local::Local;
use crate::wrap::wrap;
use ir::{Arch, Program};
use std::fmt::Write as _;

/// The value of `V1MODEL_VERSION` that v1model.p4 takes by itself.
const DEFAULT_VERSION: u32 = 20180101;

/// `program` as P4-16 source.
pub fn print(program: &Program) -> String {
    let mut printer = Printer {
        program,
        globals: Globals::new(program),
        local: Local::default(),
        out: String::new(),
        packages: vec![],
        indent: 0,
    };
    printer.program();
    wrap(&printer.out)
}

pub(crate) struct Printer<'p> {
    pub program: &'p Program,
    pub globals: Globals,
    /// Names in the block that is being printed.
    pub local: Local<'p>,
    pub out: String,
    /// The package types declared for `main`, inner ones first.
    pub packages: Vec<String>,
    indent: usize,
}

impl<'p> Printer<'p> {
    fn program(&mut self) {
        let program = self.program;
        self.includes();
        self.errors();
        self.match_kinds();
        for (index, decl) in program.types.iter().enumerate() {
            self.type_decl(index, decl);
        }
        self.extern_declarations();
        self.package_declarations();
        self.top_level_instances();
        self.functions();
        self.top_level_actions();
        for (index, parser) in program.parsers.iter().enumerate() {
            self.parser(index.into(), parser);
        }
        for (index, control) in program.controls.iter().enumerate() {
            self.control(index.into(), control);
        }
        self.main();
    }

    fn includes(&mut self) {
        if !self.program.errors.is_empty() {
            self.line("#include <core.p4>");
        }
        match &self.program.arch {
            Arch::V1Model(DEFAULT_VERSION) => self.line("#include <v1model.p4>"),
            Arch::V1Model(version) => {
                self.line(&format!("#define V1MODEL_VERSION {version}"));
                self.line("#include <v1model.p4>");
            }
            Arch::Psa { dpdk: false } => self.line("#include <psa.p4>"),
            Arch::Psa { dpdk: true } => self.line("#include <dpdk/psa.p4>"),
            Arch::Pna { dpdk: false } => self.line("#include <pna.p4>"),
            Arch::Pna { dpdk: true } => self.line("#include <dpdk/pna.p4>"),
            Arch::Tna(1) => self.line("#include <tna.p4>"),
            Arch::Tna(generation) => {
                self.line(&format!("#define __TARGET_TOFINO__ {generation}"));
                self.line("#include <tna.p4>");
            }
            Arch::T2na => self.line("#include <t2na.p4>"),
            Arch::Other(_) => {}
        }
    }

    pub(crate) fn line(&mut self, text: &str) {
        let width = self.indent * 4;
        let _ = writeln!(self.out, "{:width$}{text}", "");
    }

    pub(crate) fn blank(&mut self) {
        if !self.out.ends_with("{\n") {
            self.out.push('\n');
        }
    }

    /// Lines between braces: `head {`, the output of `body`, `}tail`.
    pub(crate) fn braces(&mut self, head: &str, tail: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{head} {{"));
        self.indented(body);
        self.line(&format!("}}{tail}"));
    }

    pub(crate) fn indented(&mut self, body: impl FnOnce(&mut Self)) {
        self.indent += 1;
        body(self);
        self.indent -= 1;
    }
}
