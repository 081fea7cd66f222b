//! `deprecated`: calls of declarations marked `@deprecated("use another")`.

use base_diag::{Diagnostic, Diagnostics};

use crate::codes;
use crate::late::all_bodies;
use crate::typed::walk::{Visitor, walk_call};
use crate::typed::{Call, Callee, Program};

pub(crate) fn warn_deprecated(program: &Program, diags: &mut Diagnostics) {
    all_bodies(program, &mut Deprecated { program, diags });
}

struct Deprecated<'a> {
    program: &'a Program,
    diags: &'a mut Diagnostics,
}

impl Visitor for Deprecated<'_> {
    fn call(&mut self, call: &Call) {
        let called = match &call.callee {
            Callee::Function(id) | Callee::Method { method: id, .. } => {
                let f = &self.program.functions[*id];
                Some((&f.name, &f.annotations))
            }
            Callee::Action(id) => {
                let a = &self.program.actions[*id];
                Some((&a.name, &a.annotations))
            }
            _ => None,
        };
        if let Some((name, annotations)) = called
            && let Some(mark) = annotations.get("deprecated")
        {
            let title = format!("`{}` is deprecated", name.text);
            let mut warning =
                Diagnostic::warning(codes::DEPRECATED, "deprecated", title).at(call.span, "called here");
            if let Some(text) = mark.string() {
                warning = warning.note(text);
            }
            self.diags.push(warning);
        }
        walk_call(self, call);
    }
}
