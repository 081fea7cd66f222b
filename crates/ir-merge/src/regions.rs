//! Regions of apps that are placed: the merged program has them under names of its own, in the bodies of ingress and egress.

use base_diag::Diagnostic;
use ir::{Annotation, AnnotationBody, AnnotationValue, Block, Name, Program, StmtKind, TypeKind, visit};

/// Annotations whose first value is the name of a region.
const OF_REGIONS: [&str; 3] = ["region", "shard", "group"];

/// Merged name of a region.
pub fn merged(prefix: &str, own: &str) -> Name {
    format!("{prefix}_{own}").into()
}

/// Renames the regions of a program. A region without a new name is not marked any more.
pub fn rename(program: &mut Program, name: &dyn Fn(&str) -> Option<Name>) {
    let renamed = |annotation: &mut Annotation| {
        if !OF_REGIONS.contains(&annotation.name.as_str()) {
            return true;
        }
        let AnnotationBody::Values(values) = &mut annotation.body else { return false };
        let Some(AnnotationValue::Str(own)) = values.first_mut() else { return false };
        let new = name(own);
        if let Some(new) = &new {
            *own = new.to_string();
        }
        new.is_some()
    };
    for decl in &mut program.types {
        if let TypeKind::Struct(fields) = &mut decl.kind {
            fields.iter_mut().for_each(|field| field.annotations.retain_mut(renamed));
        }
    }
    let in_block = |block: &mut Block| {
        visit::stmts_mut(block, &mut |stmt| {
            if let StmtKind::Block(block) = &mut stmt.kind {
                block.annotations.retain_mut(renamed);
            }
        });
    };
    for control in &mut program.controls {
        in_block(&mut control.body);
        control.actions.iter_mut().for_each(|action| in_block(&mut action.body));
    }
    program.functions.iter_mut().for_each(|function| in_block(&mut function.body));
}

/// Makes the controls of apps parts of ingress and egress, where regions are cut.
pub fn lift(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    ir_lower::check_inlining(program)?;
    let _ = ir_lower::hoist_effects(program);
    let _ = ir_lower::eliminate_exits(program);
    let _ = ir_lower::eliminate_returns(program);
    let _ = ir_lower::inline_controls(program);
    Ok(())
}
