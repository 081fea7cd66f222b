//! The compiler's stages on one screen: preprocess and parse, check, elaborate, expand handlers, verify.

use base_diag::codes::elaborate::STAGE_PARAMETER;
use base_diag::{Diagnostic, Diagnostics, SourceMap};
use ir::Program;
use p4_check::typed;
use p4_syntax::{Loader, Options};
use std::sync::Arc;

/// Result of a compilation.
pub struct Compiled {
    /// The elaborated program; `None` if there are errors, or no `main`.
    pub program: Option<Arc<Program>>,
    /// Errors and warnings, in reading order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Last stage of the compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Types and names are right, and headers and metadata are structs if the architecture requires that. A program that declares externs of
    /// devices is elaborated if it can be, so that they can be checked; other findings of elaboration are not reported.
    Checked,
    /// The program can be run or split.
    Elaborated,
}

/// Compiles `main_file`.
pub fn compile(
    main_file: &str,
    loader: &dyn Loader,
    options: &Options,
    until: Until,
    map: &mut SourceMap,
) -> Compiled {
    let parsed = p4_syntax::parse(main_file, loader, options, map);
    let mut diagnostics = parsed.diagnostics;
    if diagnostics.has_errors()
        && let Some(diagnostic) = no_program(main_file)
    {
        return Compiled { program: None, diagnostics: vec![diagnostic] };
    }
    if !parsed.preprocessed {
        return Compiled { program: None, diagnostics: diagnostics.into_sorted(map) };
    }
    let (typed, found) = p4_check::check(&parsed.program);
    add(&mut diagnostics, found);
    if diagnostics.has_errors() || until == Until::Checked && !declares_value_externs(&typed) {
        if !diagnostics.has_errors() && !are_structs(&typed) {
            let found = ir_elaborate::elaborate(&typed).1.into_iter();
            add(&mut diagnostics, found.filter(|found| found.code == STAGE_PARAMETER).collect());
        }
        return Compiled { program: None, diagnostics: diagnostics.into_sorted(map) };
    }
    // Also for a check alone: declarations of handlers and externs are judged by their elaborated signatures.
    let (mut program, found) = ir_elaborate::elaborate(&typed);
    let expanded = program.as_mut().map_or(Ok(()), ir_handlers::expand);
    add(&mut diagnostics, expanded.err().unwrap_or_default());
    if until == Until::Checked {
        let program = program.filter(|_| !diagnostics.has_errors());
        return Compiled { program: program.map(Arc::new), diagnostics: diagnostics.into_sorted(map) };
    }
    add(&mut diagnostics, found);
    if diagnostics.has_errors() {
        return Compiled { program: None, diagnostics: diagnostics.into_sorted(map) };
    }
    if let Some(program) = &program {
        verify(program);
    }
    Compiled { program: program.map(Arc::new), diagnostics: diagnostics.into_sorted(map) }
}

fn declares_value_externs(typed: &typed::Program) -> bool {
    let objects = typed.externs.iter().map(|(_, object)| &object.annotations);
    let functions = typed.functions.iter().map(|(_, function)| &function.annotations);
    let is_own = |a: &typed::Annotation| matches!(a.name.as_str(), "value_extern" | "remote");
    objects.chain(functions).any(|annotations| annotations.iter().any(is_own))
}

/// True if all type arguments of `main` are structs. An architecture may require that.
fn are_structs(typed: &typed::Program) -> bool {
    let is_struct = |arg: &typed::Type| matches!(arg, typed::Type::Struct(id, _) if typed.structs[*id].kind == typed::StructKind::Struct);
    typed.main.is_none_or(|main| match &typed.instances[main].ty {
        typed::Type::Package(_, args) => args.iter().all(is_struct),
        _ => true,
    })
}

/// Error for a file that is not a program, if its name shows this.
fn no_program(file: &str) -> Option<Diagnostic> {
    let (what, help) = match file.rsplit_once('.')?.1 {
        "toml" => (
            "a rack's or a file of entries",
            "`p4rack up`, `plan`, `split`, `prove-split` and `switch` take racks, `run --entries` entries",
        ),
        "stf" => ("a test", "`p4rack run PROGRAM.p4 TEST.stf` runs it"),
        "json" => ("the output of another compiler", "give the program's source"),
        "pcap" | "pcapng" => ("a capture", "`p4rack run PROGRAM.p4 -i PORT@CAPTURE` runs its packets"),
        _ => return None,
    };
    let title = "the file is not a P4 program";
    let diagnostic = Diagnostic::error(base_diag::codes::syntax::INCLUDE_NOT_FOUND, title);
    Some(diagnostic.note(format!("`{file}` has the name of {what}")).help(help))
}

fn add(diagnostics: &mut Diagnostics, found: Vec<Diagnostic>) {
    found.into_iter().for_each(|d| diagnostics.push(d));
}

/// In debug builds every program is verified after every step; a finding is a bug of ours.
fn verify(program: &Program) {
    if cfg!(debug_assertions)
        && let Err(errors) = ir::verify::verify(program)
    {
        panic!("the elaborated program is not well formed: {errors:#?}");
    }
}
