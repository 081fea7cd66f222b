//! Parameters of `crc16_custom` and `crc32_custom` as annotations, for programs without a control plane that sets them.
//!
//! ```text
//! @crc16_custom(0x1021, 0xffff, 0, false, false) V1Switch(...) main;      all calls and objects
//! @crc16_custom(0x8005, 0, 0, true, true) { hash(m.h, ...); }             the calls in a block
//! ```
//!
//! The values are the polynomial, the initial and the final value, and whether data and remainder are reflected. The innermost annotation of a
//! call counts. Printed programs keep annotations, so parts of a split program compute what the whole one does.

use crate::hash::CustomCrcs;
use crate::v1model::calculations;
use base_diag::{Diagnostic, Span};
use control_writes::Crc;
use ir::{Annotation, AnnotationBody, AnnotationValue, Annotations, Block, Program, Stmt, StmtKind, visit};

const ANNOTATIONS: [(&str, u32); 2] = [("crc16_custom", 16), ("crc32_custom", 32)];

/// The checks as the program sets them up.
pub(crate) fn custom_crcs(program: &Program) -> Result<CustomCrcs, Vec<Diagnostic>> {
    let mut crcs = CustomCrcs::default();
    crcs.calculations = calculations(program).into();
    for (width, crc) in annotated(&program.annotations, "`main`")? {
        crcs.set(width, crc);
    }
    let mut problems = vec![];
    let mut body = |body: &Block| {
        visit::stmts(body, &mut |stmt| {
            let StmtKind::Block(block) = &stmt.kind else { return };
            match annotated(&block.annotations, "a block") {
                Ok(found) => set_in_block(block, &found, &mut crcs),
                Err(wrong) => problems.extend(wrong.into_iter().map(|one| one.at(stmt.span, "this block"))),
            }
        });
    };
    for control in &program.controls {
        control.actions.iter().map(|action| &action.body).chain([&control.body]).for_each(&mut body);
    }
    program.functions.iter().for_each(|function| body(&function.body));
    if problems.is_empty() { Ok(crcs) } else { Err(problems) }
}

/// Outer blocks come first: inner ones replace their parameters.
fn set_in_block(block: &Block, found: &[(u32, Crc)], crcs: &mut CustomCrcs) {
    if found.is_empty() {
        return;
    }
    visit::stmts(block, &mut |stmt| {
        if let StmtKind::Call(call) = &stmt.kind {
            found.iter().for_each(|(width, crc)| crcs.set_for(call.span, *width, *crc));
        }
    });
}

/// The program with the parameters of a calculation, or of all calls and objects. False: it has no such calculation.
pub fn annotate_crc(program: &mut Program, calculation: Option<&str>, width: u32, crc: Crc) -> bool {
    let Some((name, _)) = ANNOTATIONS.iter().find(|(_, known)| *known == width) else { return false };
    let number = |word: u32| AnnotationValue::Int(word.into());
    let values = vec![
        number(crc.polynomial),
        number(crc.initial),
        number(crc.final_xor),
        AnnotationValue::Bool(crc.reflect_data),
        AnnotationValue::Bool(crc.reflect_remainder),
    ];
    let annotation = Annotation { name: (*name).into(), body: AnnotationBody::Values(values) };
    let Some(calculation) = calculation else {
        program.annotations.retain(|known| known.name != *name);
        program.annotations.push(annotation);
        return true;
    };
    let Some(call) = calculations(program).into_iter().find(|of| of.name == calculation) else {
        return false;
    };
    for control in &mut program.controls {
        let actions = control.actions.iter_mut().map(|action| &mut action.body);
        actions.chain([&mut control.body]).for_each(|body| enclose(body, call.call, &annotation));
    }
    program.functions.iter_mut().for_each(|function| enclose(&mut function.body, call.call, &annotation));
    true
}

/// Puts a call into a block of its own, with an annotation.
fn enclose(body: &mut Block, call: Span, annotation: &Annotation) {
    for stmt in &mut body.stmts {
        match &stmt.kind {
            StmtKind::Call(of) if of.span == call => {
                let own = std::mem::replace(stmt, Stmt::new(StmtKind::Break));
                stmt.span = own.span;
                stmt.kind =
                    StmtKind::Block(Block { annotations: vec![annotation.clone()], stmts: vec![own] });
            }
            _ => visit::blocks_mut(stmt, &mut |inner| enclose(inner, call, annotation)),
        }
    }
}

/// The parameters that annotations set, each with its width.
fn annotated(annotations: &Annotations, of: &str) -> Result<Vec<(u32, Crc)>, Vec<Diagnostic>> {
    let mut all = vec![];
    for (name, width) in ANNOTATIONS {
        let Some(annotation) = annotations.iter().find(|known| known.name == name) else { continue };
        let crc = parameters(annotation, width).ok_or_else(|| {
            let title = format!("`@{name}` of {of} has no parameters of a CRC");
            let problem = Diagnostic::error(base_diag::codes::run::NOT_SUPPORTED, title)
                .note("they are the polynomial, the initial and the final value, and whether data and remainder are reflected");
            vec![problem.help(format!("for example: `@{name}(0x1021, 0xffff, 0, false, false)`"))]
        })?;
        all.push((width, crc));
    }
    Ok(all)
}

fn parameters(annotation: &Annotation, width: u32) -> Option<Crc> {
    let [polynomial, initial, final_xor, reflect_data, reflect_remainder] = annotation.body.values() else {
        return None;
    };
    let word = |value: &AnnotationValue| match value {
        AnnotationValue::Int(number) => u32::try_from(number).ok().filter(|n| width == 32 || n >> width == 0),
        _ => None,
    };
    let flag = |value: &AnnotationValue| match value {
        AnnotationValue::Bool(flag) => Some(*flag),
        _ => None,
    };
    Some(Crc {
        polynomial: word(polynomial)?,
        initial: word(initial)?,
        final_xor: word(final_xor)?,
        reflect_data: flag(reflect_data)?,
        reflect_remainder: flag(reflect_remainder)?,
    })
}
