//! Checks every promise that the data definitions make.
//!
//! A failure is not a user's mistake but a bug in the code that built or changed the program: the elaborator, a pass, the
//! splitter. Run it after each of them in debug builds.

mod block;
mod call;
mod control;
mod expr;
mod externs;
mod operators;
mod parser;
mod recursion;
mod scope;
mod stage;
mod statement;
mod table;
mod types;

use crate::{Program, Type};
use base_diag::Span;
use scope::Scope;
use std::collections::BTreeSet;
use std::fmt;

/// A broken promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The declaration it stands in: `control ingress, table acl`.
    pub place: String,
    /// Place in the source; `Span::NONE` if there is none.
    pub span: Span,
    /// Description of the error.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Everything that is wrong with `program`, in its order. If types or signatures are wrong, bodies are not
/// looked at: nothing there would make sense.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    let mut verifier = Verifier { program, errors: vec![], place: vec![], scope: Scope::default() };
    verifier.declarations();
    if verifier.errors.is_empty() {
        verifier.bodies();
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'p> {
    program: &'p Program,
    errors: Vec<VerifyError>,
    place: Vec<String>,
    scope: Scope<'p>,
}

impl<'p> Verifier<'p> {
    fn declarations(&mut self) {
        self.at("errors".to_string(), Self::errors);
        self.type_decls();
        self.extern_decls();
        self.signatures();
    }

    fn bodies(&mut self) {
        self.instances();
        self.control_plane_names();
        self.at("calls".to_string(), Self::recursion);
        for function in &self.program.functions {
            self.at(format!("function {}", function.name), |v| v.function(function));
        }
        for (index, parser) in self.program.parsers.iter().enumerate() {
            self.at(format!("parser {}", parser.name), |v| v.parser(index.into(), parser));
        }
        for (index, control) in self.program.controls.iter().enumerate() {
            self.at(format!("control {}", control.name), |v| v.control(index.into(), control));
        }
        self.at("stages".to_string(), Self::stages);
        self.at("main".to_string(), Self::main);
    }

    /// Runs `check`; its errors are reported in `place`.
    fn at(&mut self, place: String, check: impl FnOnce(&mut Self)) {
        self.place.push(place);
        check(self);
        self.place.pop();
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.errors.push(VerifyError { place: self.place.join(", "), span, message: message.into() });
    }

    fn require(&mut self, holds: bool, span: Span, message: impl FnOnce(&Self) -> String) {
        if !holds {
            let message = message(self);
            self.error(span, message);
        }
    }

    /// Names that must differ.
    fn unique<'a>(&mut self, what: &str, names: impl IntoIterator<Item = &'a crate::Name>) {
        let mut seen = BTreeSet::new();
        for name in names {
            let new = seen.insert(name);
            self.require(new, Span::NONE, |_| format!("two of its {what} are named `{name}`"));
        }
    }

    /// The text of a type.
    fn show(&self, ty: &Type) -> String {
        crate::text::write_type(self.program, ty)
    }

    /// The text of an expression.
    fn show_expr(&self, expr: &crate::Expr) -> String {
        crate::text::write_expr(self.program, self.scope.vars, self.scope.tables, expr)
    }
}
