//! `hot`: a table of which the switch has the busy entries, for a handler that has all of them.
//!
//! Before: `if (!t.apply().hit) { @region("h") { h.call(q, r); } }`
//! After:  `if (!t_resident.apply().hit) { @region("h") { h.call(q, r); } }`, and no packet looks up `t`: it is where `h` runs
//!
//! Needs no flow manager, unlike [`pin`](crate::pin): entries are exact, so an entry of the copy is right for each packet that hits it, and a packet that
//! misses is the handler's.

use crate::copies;
use crate::objects::Doubled;
use crate::request::{Pinned, Resident};
use ir::{Block, ControlId, Name, Program, StmtKind, TableId, build};

/// The annotation, which the changed program does not have.
const NAME: &str = "hot";

/// The program with a copy of a table of ingress, with at most `top` entries. `region` is where the handler runs.
pub fn hot(program: &Program, (ingress, table): (ControlId, TableId), top: u64, region: Name) -> Pinned {
    let mut out = program.clone();
    let doubled = Doubled { tables: [table].into(), ..Doubled::default() };
    let copies = copies::make(&mut out, ingress, &doubled, &|_| Resident::Most(top));
    let control = &mut out.controls[ingress.index()];
    let mut body = std::mem::take(&mut control.body);
    copies.same_vars(&mut body);
    control.body = body;
    for (original, copy) in &copies.tables {
        control.tables[original.index()].annotations.retain(|annotation| annotation.name != NAME);
        let own = |annotation: &ir::Annotation| annotation.name != NAME && annotation.name != "mirror";
        control.tables[copy.index()].annotations.retain(own);
    }
    if cfg!(debug_assertions)
        && let Err(errors) = ir::verify::verify(&out)
    {
        panic!("the program with a hot table is not well formed: {errors:#?}");
    }
    let [tables, actions, objects] = copies.names(&out, ingress);
    Pinned {
        program: out,
        flow_manager: None,
        resident_action: None,
        tables,
        whole: Default::default(),
        actions,
        objects,
        region: Some(region),
        shards: 0,
    }
}

/// A program that only parses and looks the table up: its keys name flows.
pub fn look_up(program: &Program, (ingress, table): (ControlId, TableId)) -> Program {
    let mut out = program.clone();
    for control in &mut out.controls {
        control.body = Block::default();
        control.locals.clear();
    }
    out.controls[ingress.index()].body = build::block(vec![build::stmt(StmtKind::Apply(table))]);
    out
}
