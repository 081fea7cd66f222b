//! `main` is a package (P4-16 §5.3).

use base_diag::{Diagnostic, Diagnostics};

use crate::codes;
use crate::typed::{Decl, Name, Program, Type};

pub(crate) fn check_main(program: &Program, diags: &mut Diagnostics) {
    let wrong: Option<&Name> = program.decls.iter().find_map(|d| {
        let name = match d {
            Decl::Instance(id) if !matches!(program.instances[*id].ty, Type::Package(..)) => {
                &program.instances[*id].name
            }
            Decl::Const(id) => &program.consts[*id].name,
            Decl::Extern(id) => &program.externs[*id].name,
            Decl::Action(id) => &program.actions[*id].name,
            Decl::Parser(id) => &program.parsers[*id].name,
            Decl::Control(id) => &program.controls[*id].name,
            Decl::Struct(id) => &program.structs[*id].name,
            _ => return None,
        };
        (name.text == "main").then_some(name)
    });
    if let Some(name) = wrong {
        diags.push(
            Diagnostic::error(codes::BAD_MAIN, "`main` is not a package")
                .at(name.span, "the program starts with the package instance of this name"),
        );
    }
}
