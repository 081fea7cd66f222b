//! Do the packets of a flow keep their order?
//!
//! A packet that passes a helper is overtaken by one that does not. A *flow* is the packets that arrive on one port
//! with the same headers. They take the same devices in the same order if no value that decides the path *varies*
//! within a flow. Varying values: results of registers and meters, random numbers, clocks and queues, lengths,
//! checksums, and what the parser sees of the payload.
//!
//! ```text
//! meter.execute(0, colour);                colour varies
//! if (colour == 2) { @region("X") {..} }   some packets of a flow pass X's device, others do not
//! ```
//!
//! Varying values are found without regard to the order of statements: a value varies if it is ever set from one that
//! does, or if a condition or key that varies decides whether it is set.

use crate::arch;
use crate::flow::Flow;
use crate::leaf_set::LeafSet;
use crate::parser_places::parser_of;
use crate::place::{Covered, Leaf, RoleKey, Root};
use crate::placement::DeviceIndex;
use crate::section::{Code, Sections};
use base_diag::Span;
use ir::{
    Block, Call, Callee, ControlId, Direction, Expr, ExprKind, Stmt, StmtKind, SwitchOn, TableId, visit,
};
use std::collections::BTreeSet;

/// If a place has more paths than this, they count as different.
const MOST_PATHS: usize = 8;

/// The devices that packets pass from some place on.
type Paths = BTreeSet<Vec<DeviceIndex>>;

/// The conditions that lead packets of one flow over different devices.
pub fn deciding(flow: &Flow, sections: &Sections, controls: [ControlId; 2]) -> Vec<Span> {
    if sections.cut_edges().is_empty() {
        return vec![];
    }
    let mut varying = Varying { flow, leaves: LeafSet::default() };
    varying.start();
    loop {
        let before = varying.leaves.clone();
        controls.iter().for_each(|id| varying.control(*id));
        if varying.leaves == before {
            break;
        }
    }
    let mut paths: Vec<Paths> = vec![Paths::new(); sections.list.len()];
    let mut found = vec![];
    for (id, section) in sections.iter().rev() {
        let control = controls[usize::from(section.half == crate::section::Half::Egress)];
        let mut here = varying.paths(control, &section.code, &paths, &mut found);
        for next in sections.successors(id).iter().filter(|_| section.code.is_empty()) {
            here.extend(paths[next.0 as usize].iter().cloned());
        }
        if here.is_empty() {
            here.insert(vec![]);
        }
        paths[id.0 as usize] = here.into_iter().map(|path| by(section.device, path)).collect();
    }
    found.reverse();
    found
}

/// A path that begins at `device`.
fn by(device: DeviceIndex, mut path: Vec<DeviceIndex>) -> Vec<DeviceIndex> {
    if path.first() != Some(&device) {
        path.insert(0, device);
    }
    path
}

struct Varying<'f> {
    flow: &'f Flow,
    leaves: LeafSet,
}

impl Varying<'_> {
    fn start(&mut self) {
        let varying = arch::facts(&self.flow.program).map_or(&[][..], |facts| facts.varying);
        for leaf in varying.iter().filter_map(|name| self.flow.places.standard_named(name)) {
            self.leaves.insert(leaf);
        }
        // Values kept from another pass may be anything.
        self.flow.kept(None).into_iter().for_each(|leaf| {
            self.leaves.insert(leaf);
        });
        let Some((parser, _)) = parser_of(&self.flow.program) else { return };
        let mut looks = false;
        for state in &parser.states {
            let block = Block { annotations: vec![], stmts: state.stmts.clone() };
            visit::all_exprs(&block, &mut |e| {
                looks |=
                    matches!(e.kind, ExprKind::Lookahead(_) | ExprKind::PacketLength(_) | ExprKind::Call(_));
            });
        }
        if looks {
            self.leaves.union(&self.flow.parser_writes);
        }
    }

    fn control(&mut self, id: ControlId) {
        let control = self.flow.program.control(id);
        control.locals.iter().for_each(|stmt| self.stmt(id, stmt, false));
        self.block(id, &control.body, false);
    }

    fn block(&mut self, control: ControlId, block: &Block, under: bool) {
        block.stmts.iter().for_each(|stmt| self.stmt(control, stmt, under));
    }

    /// `under` says that it varies whether the statement runs.
    fn stmt(&mut self, control: ControlId, stmt: &Stmt, under: bool) {
        visit::exprs(stmt, &mut |e| self.effects(control, e, under));
        match &stmt.kind {
            StmtKind::Declare(var, Some(value)) if under || self.varies(control, value) => {
                self.flow.leaves_of_var(control, *var).into_iter().for_each(|leaf| self.mark(leaf));
            }
            StmtKind::Assign(place, value) if under || self.varies(control, value) => {
                self.set(control, place)
            }
            StmtKind::AssignOp(_, place, value) if under || self.varies(control, value) => {
                self.set(control, place);
            }
            StmtKind::SetValid(place, _) | StmtKind::PushFront(place, _) | StmtKind::PopFront(place, _)
                if under =>
            {
                self.set(control, place);
            }
            StmtKind::Call(call) => self.call(control, call, under),
            StmtKind::Apply(table) => self.table(control, *table, under),
            StmtKind::If(cond, yes, no) => {
                let under = under || self.varies(control, cond);
                self.block(control, yes, under);
                self.block(control, no, under);
            }
            StmtKind::Switch(on, cases) => {
                self.switch(control, on, under);
                let under = under || self.decides(control, on);
                cases.iter().for_each(|case| self.block(control, &case.body, under));
            }
            StmtKind::Block(block) => self.block(control, block, under),
            StmtKind::For { init, cond, update, body } => {
                let under = under || self.varies(control, cond);
                init.iter().chain(update).for_each(|inner| self.stmt(control, inner, under));
                self.block(control, body, under);
            }
            StmtKind::ForIn { body, .. } => self.block(control, body, under),
            _ => {}
        }
    }

    /// Side effects of an expression.
    fn effects(&mut self, control: ControlId, e: &Expr, under: bool) {
        let mut tables = vec![];
        let mut calls = vec![];
        visit::subexprs(e, &mut |e| match &e.kind {
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => tables.push(*table),
            ExprKind::Call(call) => calls.push(call.clone()),
            _ => {}
        });
        tables.into_iter().for_each(|table| self.table(control, table, under));
        calls.iter().for_each(|call| self.call(control, call, under));
    }

    fn switch(&mut self, control: ControlId, on: &SwitchOn, under: bool) {
        match on {
            SwitchOn::ActionRun(table) => self.table(control, *table, under),
            SwitchOn::Value(value) => self.effects(control, value, under),
        }
    }

    fn table(&mut self, control: ControlId, table: TableId, under: bool) {
        let here = self.flow.program.control(control);
        let under = under || self.key_varies(control, table);
        for run in &here.tables[table.index()].actions {
            self.action(control, run.action, &run.args.iter().map(Some).collect::<Vec<_>>(), under);
        }
    }

    fn action(&mut self, control: ControlId, action: ir::ActionId, args: &[Option<&Expr>], under: bool) {
        let action = &self.flow.program.control(control).actions[action.index()];
        for (param, arg) in action.params.iter().zip(args) {
            if arg.is_some_and(|arg| under || self.varies(control, arg)) {
                self.flow.leaves_of_var(control, *param).into_iter().for_each(|leaf| self.mark(leaf));
            }
        }
        self.block(control, &action.body, under);
        for (param, arg) in action.params.iter().zip(args) {
            let given_back =
                self.flow.leaves_of_var(control, *param).iter().any(|l| self.leaves.contains(*l));
            if let (Some(arg), true) = (arg, given_back) {
                self.set(control, arg);
            }
        }
    }

    fn call(&mut self, control: ControlId, call: &Call, under: bool) {
        if let Callee::Action(action) = &call.callee {
            let args: Vec<Option<&Expr>> = call.args.iter().map(Option::as_ref).collect();
            return self.action(control, *action, &args, under);
        }
        let reads_state = match &call.callee {
            Callee::Method(..) => true,
            Callee::ExternFunction(f) => self.flow.program.extern_functions[f.index()].name == "random",
            _ => false,
        };
        let from = reads_state || under || call.args.iter().flatten().any(|arg| self.varies(control, arg));
        for (arg, direction) in call.args.iter().zip(self.flow.directions(control, call)) {
            if let (Some(arg), Direction::Out | Direction::InOut, true) = (arg, direction, from) {
                self.set(control, arg);
            }
        }
    }

    fn set(&mut self, control: ControlId, place: &Expr) {
        if let Covered::Whole(leaves) | Covered::Part(leaves) = self.flow.places.covered(control, place) {
            leaves.into_iter().for_each(|leaf| self.mark(leaf));
        }
        // The validity of the packet's headers is no leaf: a field stands for it.
        if let Some(header) = self.flow.places.header_of(control, place) {
            let all = self.flow.places.all_of(RoleKey::Headers);
            let of_header =
                all.into_iter().filter(|leaf| self.flow.places.info(*leaf).header == Some(header));
            of_header.collect::<Vec<_>>().into_iter().for_each(|leaf| self.mark(leaf));
        }
    }

    fn mark(&mut self, leaf: Leaf) {
        self.leaves.insert(leaf);
    }

    fn key_varies(&self, control: ControlId, table: TableId) -> bool {
        let keys = &self.flow.program.control(control).tables[table.index()].keys;
        keys.iter().any(|key| self.varies(control, &key.expr))
    }

    fn decides(&self, control: ControlId, on: &SwitchOn) -> bool {
        match on {
            SwitchOn::ActionRun(table) => self.key_varies(control, *table),
            SwitchOn::Value(value) => self.varies(control, value),
        }
    }

    fn varies(&self, control: ControlId, e: &Expr) -> bool {
        let mut found = false;
        visit::subexprs(e, &mut |e| match &e.kind {
            ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                if let Covered::Whole(leaves) | Covered::Part(leaves) = self.flow.places.covered(control, e) {
                    // A struct around a field is not read as a whole.
                    let scalar = !matches!(e.kind, ExprKind::Var(_)) || leaves.len() == 1;
                    found |= scalar && leaves.iter().any(|leaf| self.is_read(*leaf, leaves.len()));
                }
            }
            ExprKind::IsValid(header) => {
                if let Some(index) = self.flow.places.header_of(control, header) {
                    let all = self.flow.places.all_of(RoleKey::Headers);
                    found |= all.into_iter().any(|leaf| {
                        self.flow.places.info(leaf).header == Some(index) && self.leaves.contains(leaf)
                    });
                }
            }
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                found |= self.key_varies(control, *table)
            }
            ExprKind::Call(call) => found |= matches!(call.callee, Callee::Method(..)),
            ExprKind::Lookahead(_) | ExprKind::PacketLength(_) => found = true,
            _ => {}
        });
        found
    }

    /// True if the leaf is read. Of a place with several leaves only those outside of the standard metadata count: that
    /// is never read as a whole.
    fn is_read(&self, leaf: Leaf, together: usize) -> bool {
        let standard = self.flow.places.info(leaf).root == Root::Shared(RoleKey::Standard);
        self.leaves.contains(leaf) && (together == 1 || !standard)
    }

    /// Paths from the start of `code`; records conditions that vary and choose among different paths.
    fn paths(&self, control: ControlId, code: &[Code], of_section: &[Paths], found: &mut Vec<Span>) -> Paths {
        let mut out = Paths::new();
        for piece in code {
            match piece {
                Code::Stmt(_) => {}
                Code::Goto(target) => out.extend(of_section[target.0 as usize].iter().cloned()),
                Code::Region(_, inner) => out.extend(self.paths(control, inner, of_section, found)),
                Code::If(cond, yes, no) => {
                    let arms = [yes, no].map(|arm| self.paths(control, arm, of_section, found));
                    self.choose(&arms, self.varies(control, cond), cond.span, found);
                    out.extend(arms.into_iter().flatten());
                }
                Code::Switch(on, cases) => {
                    let arms: Vec<Paths> =
                        cases.iter().map(|case| self.paths(control, &case.code, of_section, found)).collect();
                    let span = match on {
                        SwitchOn::Value(value) => value.span,
                        SwitchOn::ActionRun(table) => {
                            self.flow.program.control(control).tables[table.index()].span
                        }
                    };
                    self.choose(&arms, self.decides(control, on), span, found);
                    out.extend(arms.into_iter().flatten());
                }
            }
        }
        // A full set counts as different from all others (`choose`), so a path that is left out hides no warning.
        while out.len() > MOST_PATHS {
            out.pop_last();
        }
        out
    }

    fn choose(&self, arms: &[Paths], varies: bool, span: Span, found: &mut Vec<Span>) {
        let one = arms.windows(2).all(|pair| pair[0] == pair[1] && pair[0].len() < MOST_PATHS);
        if varies && !one {
            found.push(span);
        }
    }
}
