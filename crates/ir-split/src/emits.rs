//! `expand-emits`: the deparser emits headers one by one.
//!
//! Before: `packet.emit(hdr);`
//! After:  `packet.emit(hdr.ethernet); packet.emit(hdr.ipv4);`
//!
//! Why: a device's headers struct has the runtime's headers too, which the program's own deparser must not emit.

use crate::place::is_struct;
use ir::{Block, Expr, ExprKind, Program, Stmt, StmtKind};

/// Expands the emits of a block; nested blocks are left to the checks.
pub fn expand_emits(program: &Program, block: &Block) -> Block {
    let stmts = block.stmts.iter().flat_map(|stmt| match &stmt.kind {
        StmtKind::Emit(packet, value) => {
            let mut headers = vec![];
            parts(program, value, &mut headers);
            let emit = |header| Stmt { kind: StmtKind::Emit(*packet, header), span: stmt.span };
            headers.into_iter().map(emit).collect()
        }
        _ => vec![stmt.clone()],
    });
    Block { annotations: block.annotations.clone(), stmts: stmts.collect() }
}

/// The headers of a value, in declaration order; anything that is no struct stays as it is.
fn parts(program: &Program, value: &Expr, out: &mut Vec<Expr>) {
    let fields = program.fields(&value.ty);
    if !is_struct(program, &value.ty) {
        out.push(value.clone());
        return;
    }
    for (index, field) in fields.iter().enumerate() {
        let kind = ExprKind::Field(Box::new(value.clone()), index as u32);
        parts(program, &Expr { kind, ty: field.ty.clone(), span: value.span }, out);
    }
}
