//! Declarations in source order: each is checked whole before the next, since names are declared before use.
//!
//! Members of `error` are the exception: all `error` declarations of a program make one set, whose members can be used
//! anywhere (P4-16 §7.1.2). They are declared before everything else.

mod annotation;
mod block;
mod constant;
mod function;
mod instance;
mod params;
mod types;

use base_diag::Span;
use p4_syntax::ast;
use smol_str::SmolStr;

use crate::cx::{Checker, Place};
use crate::scope::Def;
use crate::typed::Decl;

pub(crate) use params::ParamOf;

impl Checker {
    /// Checks all declarations of a program. Declarations with syntax errors are declared but not checked.
    pub(crate) fn decls(&mut self, program: &ast::Program) {
        self.error_decls(program);
        let mut damage = program.damage.iter().peekable();
        for (i, decl) in program.decls.iter().enumerate() {
            let mut recovered = None;
            while let Some(next) = damage.next_if(|d| d.at == i) {
                if next.recovered { recovered = Some(next) } else { self.distrust(&next.words) }
            }
            match recovered {
                None => self.decl(decl),
                Some(damage) => {
                    let diags = std::mem::take(&mut self.diags);
                    self.decl(decl);
                    self.diags = diags;
                    if let Some(name) = decl.name() {
                        self.scopes.rebind(&name.text, Def::Error);
                    }
                    self.distrust(&damage.words);
                }
            }
        }
    }

    /// Declares the members of `error`. Those of declarations with syntax errors are declared but not judged.
    fn error_decls(&mut self, program: &ast::Program) {
        for (i, decl) in program.decls.iter().enumerate() {
            let ast::Decl::Error(d) = decl else { continue };
            if program.damage.iter().any(|damage| damage.recovered && damage.at == i) {
                let diags = std::mem::take(&mut self.diags);
                self.error_decl(d);
                self.diags = diags;
            } else {
                self.error_decl(d);
            }
        }
        self.unread = program.damage.iter().flat_map(|damage| damage.words.iter().cloned()).collect();
    }

    /// Names that nothing declares may have been going to be declared in text that could not be read.
    fn distrust(&mut self, words: &[SmolStr]) {
        for word in words {
            if self.scopes.lookup(word).is_none() {
                self.scopes.bind(word, Def::Error, Span::NONE);
            }
        }
    }

    /// Checks a top-level declaration.
    pub(crate) fn decl(&mut self, decl: &ast::Decl) {
        self.place = Place::TopLevel;
        self.infer.clear();
        let done = match decl {
            ast::Decl::Const(d) => self.constant(d).map(Decl::Const),
            ast::Decl::Extern(d) => Some(Decl::Extern(self.extern_decl(d))),
            ast::Decl::ExternForward(d) => self.extern_forward(d).map(Decl::Extern),
            ast::Decl::ExternFunction(d) => Some(Decl::Function(self.extern_function(d))),
            ast::Decl::Function(d) => Some(Decl::Function(self.function(d))),
            ast::Decl::Action(d) => Some(Decl::Action(self.action(d))),
            ast::Decl::Parser(d) => Some(Decl::Parser(self.parser(d))),
            ast::Decl::ParserType(d) => Some(Decl::ParserType(self.parser_type(d))),
            ast::Decl::Control(d) => Some(Decl::Control(self.control_decl(d))),
            ast::Decl::ControlType(d) => Some(Decl::ControlType(self.control_type(d))),
            ast::Decl::Package(d) => Some(Decl::Package(self.package(d))),
            ast::Decl::Struct(d) => Some(Decl::Struct(self.struct_decl(d))),
            ast::Decl::Enum(d) => Some(Decl::Enum(self.enum_decl(d))),
            // Declared before all others.
            ast::Decl::Error(_) => None,
            ast::Decl::MatchKind(d) => {
                self.match_kind_decl(d);
                None
            }
            ast::Decl::Typedef(d) => self.typedef(d),
            ast::Decl::Instance(d) => self.instance(d).map(|id| {
                if d.name.text == "main" {
                    self.program.main = Some(id);
                }
                Decl::Instance(id)
            }),
        };
        self.program.decls.extend(done);
    }
}
