//! The IR of a program as text: elaborated, behind a pass, or lowered.

use base_diag::Diagnostic;
use ir::Program;
use std::fmt::Write;

/// Which form of a program is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// As the front end made it.
    Elaborated,
    /// Behind all passes.
    Lowered,
    /// Behind each of these passes, in the order in which they run.
    After(Vec<String>),
}

/// Why there is no text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoText {
    /// No pass has this name.
    UnknownPass(String),
    /// The program cannot be lowered.
    Refused(Vec<Diagnostic>),
}

/// The text of `program` in that form.
pub fn text(program: &Program, form: &Form) -> Result<String, NoText> {
    match form {
        Form::Elaborated => Ok(ir::text::write(program)),
        Form::Lowered => {
            ir_lower::lower(program).map(|lowered| ir::text::write(&lowered)).map_err(NoText::Refused)
        }
        Form::After(names) => {
            let known = |name: &String| ir_lower::PASSES.iter().any(|pass| pass.name == name);
            if let Some(unknown) = names.iter().find(|name| !known(name)) {
                return Err(NoText::UnknownPass(unknown.clone()));
            }
            let mut out = String::new();
            let lowered = ir_lower::lower_until(program, &mut |pass, changed, now| {
                if names.iter().any(|name| name == pass.name) {
                    let what = if changed.0 { "" } else { ", which changed nothing" };
                    let _ = write!(out, "# behind {}{what}\n{}", pass.name, ir::text::write(now));
                }
            });
            lowered.map(|_| out).map_err(NoText::Refused)
        }
    }
}

/// All passes in their order: name, what it does, what holds behind it.
pub fn passes() -> String {
    let width = ir_lower::PASSES.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for pass in ir_lower::PASSES {
        let _ = writeln!(out, "{:<width$}  {}; ensures: {}", pass.name, pass.about, pass.ensures);
    }
    out
}
