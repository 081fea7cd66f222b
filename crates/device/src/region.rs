//! Calls of frame externs and starts of regions: paths into a control's body, at which a frame continues (`ResumeAt`).

use ir::{Block, Call, Callee, Control, InstanceId, Name, Stmt, StmtKind};
use std::collections::BTreeMap;

/// A place between statements: for each block from the outside in, the position of a statement, and which block
/// in it; then the position of the statement that runs first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path {
    /// From the outside in.
    pub outer: Vec<(usize, Arm)>,
    /// Index of the first statement in the innermost block.
    pub first: usize,
}

/// A block that stands directly in a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arm {
    /// Then branch of an `if`, or a nested block.
    Yes,
    /// Else branch of an `if`.
    No,
    /// Case of a `switch`.
    Case(usize),
}

/// The places where frames may start.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// Behind the call of each instance.
    pub after: BTreeMap<InstanceId, Path>,
    /// At the start of each marked block, by its name; the first of equal names.
    pub starts: BTreeMap<Name, Path>,
}

impl Regions {
    /// Regions of a control's body. Loops are not entered.
    pub fn of(control: &Control) -> Regions {
        let mut regions = Regions::default();
        regions.visit(&control.body, &mut Path::default());
        regions
    }

    fn visit(&mut self, block: &Block, path: &mut Path) {
        for (position, stmt) in block.stmts.iter().enumerate() {
            if let StmtKind::Call(Call { callee: Callee::Method(instance, _), .. }) = &stmt.kind {
                self.after.insert(*instance, Path { outer: path.outer.clone(), first: position + 1 });
            }
            for (arm, inner) in arms(stmt) {
                path.outer.push((position, arm));
                if let Some(name) = inner.region() {
                    self.starts.entry(name).or_insert_with(|| Path { outer: path.outer.clone(), first: 0 });
                }
                self.visit(inner, path);
                path.outer.pop();
            }
        }
    }
}

/// The blocks that stand directly in a statement.
pub fn arms(stmt: &Stmt) -> Vec<(Arm, &Block)> {
    match &stmt.kind {
        StmtKind::If(_, yes, no) => vec![(Arm::Yes, yes), (Arm::No, no)],
        StmtKind::Block(block) => vec![(Arm::Yes, block)],
        StmtKind::Switch(_, cases) => {
            cases.iter().enumerate().map(|(at, c)| (Arm::Case(at), &c.body)).collect()
        }
        _ => vec![],
    }
}

impl Path {
    /// Statements from here to the end of the block, piece by piece; `None` if the path is of another block.
    pub fn rests<'b>(&self, block: &'b Block) -> Option<Vec<&'b [Stmt]>> {
        let (mut block, mut rests) = (block, vec![]);
        for (position, arm) in &self.outer {
            rests.push(block.stmts.get(position + 1..)?);
            block = arms(block.stmts.get(*position)?).into_iter().find(|(a, _)| a == arm)?.1;
        }
        rests.push(block.stmts.get(self.first..)?);
        rests.reverse();
        Some(rests)
    }
}
