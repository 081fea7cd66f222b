//! `detour`: packets that do not run a region pass by its device all the same.
//!
//! Before: `a.read(..); if (c) { @region("R") { t.apply(); } } b.read(..);`
//! After:  `a.read(..); if (c) { @region("R") { t.apply(); } } else { @region("R") { } } b.read(..);`
//!
//! Why: links and devices keep order, but packets on different paths overtake one another. Where they use objects before and
//! after the branch they have to take one path (`access_order`). Only branches around a region are changed, the innermost
//! first: `levels` of them.

use crate::placement::{DeviceIndex, Placement};
use ir::{Annotation, Block, Name, Stmt, StmtKind, SwitchCase, SwitchLabel};

/// The regions that control passes in a block, and how many branches stand around each.
type Passed = Vec<(Name, DeviceIndex, usize)>;

/// Lets all arms of the innermost `levels` branches around each region that is away pass by its device.
pub fn detour(body: &mut Block, placement: &Placement, levels: usize) {
    block(body, placement, levels);
}

/// Maximum number of branches around a region on another device.
pub fn levels(body: &Block, placement: &Placement) -> usize {
    let mut body = body.clone();
    block(&mut body, placement, 0).iter().map(|(.., levels)| *levels).max().unwrap_or(0)
}

fn block(block: &mut Block, placement: &Placement, levels: usize) -> Passed {
    if let Some(name) = block.region()
        && placement.device_of(&name) != placement.origin()
    {
        let device = placement.device_of(&name);
        return vec![(name, device, 0)];
    }
    let mut passed = Passed::new();
    for at in &mut block.stmts {
        add(&mut passed, stmt(at, placement, levels));
    }
    passed
}

fn stmt(stmt: &mut Stmt, placement: &Placement, levels: usize) -> Passed {
    let mut arms: Vec<&mut Block> = match &mut stmt.kind {
        StmtKind::Block(inner) => return block(inner, placement, levels),
        StmtKind::If(_, yes, no) => vec![yes, no],
        StmtKind::Switch(_, cases) => {
            let mut inner: Vec<Passed> =
                cases.iter_mut().map(|case| block(&mut case.body, placement, levels)).collect();
            if !cases.iter().any(SwitchCase::is_default) && inner.iter().flatten().any(|p| p.2 < levels) {
                cases.push(SwitchCase {
                    labels: vec![SwitchLabel::Default],
                    body: Block::default(),
                    span: stmt.span,
                });
                inner.push(Passed::new());
            }
            let arms = cases.iter_mut().map(|case| &mut case.body).collect();
            return join(arms, inner, placement, levels);
        }
        // No cut falls in a loop.
        _ => return Passed::new(),
    };
    let inner = arms.iter_mut().map(|arm| block(arm, placement, levels)).collect();
    join(arms, inner, placement, levels)
}

/// Adds to each arm the regions that only others pass.
fn join(arms: Vec<&mut Block>, inner: Vec<Passed>, placement: &Placement, levels: usize) -> Passed {
    let mut all = Passed::new();
    inner.iter().for_each(|passed| add(&mut all, passed.clone()));
    for (arm, passed) in arms.into_iter().zip(&inner) {
        for (name, device, around) in &all {
            let lacks = !passed.iter().any(|(_, known, _)| known == device);
            if lacks && *around < levels && !placement.policy_of(name).rules().gives_back() {
                arm.stmts.push(empty(name));
            }
        }
    }
    all.into_iter().map(|(name, device, around)| (name, device, around + 1)).collect()
}

/// One region for each device, with the most branches around it.
fn add(all: &mut Passed, more: Passed) {
    for (name, device, around) in more {
        match all.iter_mut().find(|(_, known, _)| *known == device) {
            Some(known) => known.2 = known.2.max(around),
            None => all.push((name, device, around)),
        }
    }
}

fn empty(region: &Name) -> Stmt {
    let marked = Block { annotations: vec![Annotation::string("region", region.as_str())], stmts: vec![] };
    Stmt { kind: StmtKind::Block(marked), span: base_diag::Span::NONE }
}
