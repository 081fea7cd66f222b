//! Statements whose ends stay apart.
//!
//! ```text
//! Before: if (c) { m.region = 4; } else { m.region = 1; }   if (m.region == 4) { a } else { b }
//! After:  if (c) { m.region = 4; a } else { m.region = 1; b }
//! ```
//!
//! Where the branches of an `if` leave different constants in a variable that later code asks for, that code is made once for each branch, and the answers
//! are [`known`](super::known).

use super::{Code, Made};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use ir::{Stmt, StmtKind};

/// Ends that stay apart at most.
const MOST_ENDS: usize = 4;

/// An end of statements.
pub(crate) struct End {
    /// Code goes on here.
    pub(crate) block: Block,
    /// Numbers, where they are known, of the scalars that keep ends apart.
    numbers: Vec<Option<u64>>,
}

impl<'a> Code<'a, '_> {
    /// Statements in order. Their ends differ in the known numbers of the scalars `by`.
    pub(crate) fn stmts_apart(&mut self, stmts: &'a [Stmt], by: &[usize]) -> Made<Vec<End>> {
        let mut ends = vec![self.pause(by)];
        for stmt in stmts {
            let mut next = vec![];
            for end in ends {
                self.b.switch_to_block(end.block);
                next.extend(self.stmt_apart(stmt, by)?);
            }
            ends = self.join_equal(next);
        }
        Ok(ends)
    }

    fn stmt_apart(&mut self, stmt: &'a Stmt, by: &[usize]) -> Made<Vec<End>> {
        match &stmt.kind {
            StmtKind::Block(block) => self.stmts_apart(&block.stmts, by),
            StmtKind::If(cond, yes, no) if self.places().can(cond) => {
                let is = self.value(cond)?;
                if let Some(is) = self.is_known(is) {
                    return self.stmts_apart(if is { &yes.stmts } else { &no.stmts }, by);
                }
                let [then, other] = [(); 2].map(|()| self.b.create_block());
                self.b.ins().brif(is, then, &[], other, &[]);
                let mut ends = vec![];
                for (block, holds, body) in [(then, true, yes), (other, false, no)] {
                    self.b.seal_block(block);
                    self.b.switch_to_block(block);
                    self.assume(cond, holds);
                    ends.extend(self.stmts_apart(&body.stmts, by)?);
                }
                Ok(ends)
            }
            _ => {
                self.stmts(std::slice::from_ref(stmt))?;
                Ok(vec![self.pause(by)])
            }
        }
    }

    /// Ends the block here.
    fn pause(&mut self, by: &[usize]) -> End {
        let numbers: Vec<Value> = by.iter().map(|scalar| self.scalar(*scalar)).collect();
        let numbers = numbers.into_iter().map(|number| self.known_number(number)).collect();
        let block = self.b.create_block();
        self.b.ins().jump(block, &[]);
        self.b.seal_block(block);
        End { block, numbers }
    }

    /// Joins the ends at which the same numbers are known, or all if there are too many.
    fn join_equal(&mut self, ends: Vec<End>) -> Vec<End> {
        let mut groups: Vec<Vec<End>> = vec![];
        for end in ends {
            match groups.iter_mut().find(|group| group[0].numbers == end.numbers) {
                Some(group) => group.push(end),
                None => groups.push(vec![end]),
            }
        }
        if groups.len() > MOST_ENDS {
            let all = groups.into_iter().flatten().map(|end| End { numbers: vec![], ..end });
            groups = vec![all.collect()];
        }
        groups.into_iter().map(|group| self.join(group)).collect()
    }

    fn join(&mut self, mut ends: Vec<End>) -> End {
        if ends.len() == 1 {
            return ends.remove(0);
        }
        let block = self.b.create_block();
        for end in &ends {
            self.b.switch_to_block(end.block);
            self.b.ins().jump(block, &[]);
        }
        self.b.seal_block(block);
        End { block, ..ends.remove(0) }
    }
}
