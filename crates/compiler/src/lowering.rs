//! The forms of a program as text: elaborated, after a pass, lowered, and the code that is generated.

use base_diag::Diagnostic;
use ir::Program;
use std::fmt::Write;

/// Form of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// As the front end made it.
    Elaborated,
    /// The program after all passes.
    Lowered,
    /// After each of these passes, in the order in which they run; `clif` and `machine-code` are the code that is generated last.
    After(Vec<String>),
}

/// Reason why there is no text.
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
            let is_code = |name: &&String| CODE.iter().any(|(code, _)| code == name);
            let is_pass = |name: &String| ir_lower::PASSES.iter().any(|pass| pass.name == name);
            let known = |name: &String| is_pass(name) || is_code(&name);
            if let Some(unknown) = names.iter().find(|name| !known(name)) {
                return Err(NoText::UnknownPass(unknown.clone()));
            }
            let mut out = String::new();
            let lowered = ir_lower::lower_until(program, &mut |pass, changed, now| {
                if names.iter().any(|name| name == pass.name) {
                    let what = if changed.0 { "" } else { ", which changed nothing" };
                    let _ = write!(out, "# after {}{what}\n{}", pass.name, ir::text::write(now));
                }
            });
            let lowered = lowered.map_err(NoText::Refused)?;
            if names.iter().any(|name| is_code(&name)) {
                code(lowered, names, &mut out).map_err(NoText::Refused)?;
            }
            Ok(out)
        }
    }
}

/// The forms of the generated code, each with a description.
const CODE: [(&str, &str); 2] = [
    ("clif", "the code that Cranelift gets; for PSA, that of each half"),
    ("machine-code", "the instructions for this machine, as Cranelift prints them"),
];

/// Appends the requested forms of the generated code.
fn code(lowered: Program, names: &[String], out: &mut String) -> Result<(), Vec<Diagnostic>> {
    let functions = target_native::code_text(lowered)?;
    if functions.is_empty() {
        out.push_str("# no code: the interpreter runs this program\n");
    }
    for function in &functions {
        for ((name, _), text) in CODE.iter().zip([&function.clif, &function.machine_code]) {
            if names.iter().any(|wanted| wanted == name) {
                let _ = write!(out, "# {name} of {}\n{}\n", function.name, text.trim_end());
            }
        }
    }
    Ok(())
}

/// All passes in order, each with name, effect and ensured properties; then the forms of the generated code.
pub fn passes() -> String {
    let width = ir_lower::PASSES.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for pass in ir_lower::PASSES {
        let _ = writeln!(out, "{:<width$}  {}; ensures: {}", pass.name, pass.about, pass.ensures);
    }
    for (name, about) in CODE {
        let _ = writeln!(out, "{name:<width$}  {about}");
    }
    out
}
