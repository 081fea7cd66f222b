//! Blocks that are entered in the middle: after the call of a frame extern, or at a region.

use crate::machine::{Arch, Flow, Machine};
use device::region::{Arm, Path, arms};
use device::stage::Stop;
use ir::Block;

impl<A: Arch> Machine<'_, A> {
    /// Runs a block from `path` to its end.
    pub(crate) fn run_from(&mut self, block: &Block, path: &Path) -> Result<Flow, Stop> {
        self.run_inner(block, &path.outer, path.first)
    }

    fn run_inner(&mut self, block: &Block, outer: &[(usize, Arm)], first: usize) -> Result<Flow, Stop> {
        let Some(((position, arm), deeper)) = outer.split_first() else {
            return self.run(block.stmts.get(first..).unwrap_or_default());
        };
        let stmt = block.stmts.get(*position).ok_or(Stop::Broken("an unknown region"))?;
        let inner = arms(stmt).into_iter().find(|(a, _)| a == arm).map(|(_, b)| b);
        match self.run_inner(inner.ok_or(Stop::Broken("an unknown region"))?, deeper, first)? {
            Flow::Next => self.run(block.stmts.get(position + 1..).unwrap_or_default()),
            flow => Ok(flow),
        }
    }
}
