//! The controls of a device: its sections between resuming and leaving.

use super::Generator;
use super::externs::Drop;
use super::moved::Moved;
use crate::arch;
use crate::arch::PORT_BITS;
use crate::runtime::At;
use crate::section::{Code, Half, SectionId};
use base_diag::Span;
use ir::{ActionId, Block, Callee, Expr, Renumber, Stmt, StmtKind, SwitchCase, TableId, VarId, build};
use p4_arch::{Duty, Meaning};

impl Generator<'_> {
    /// Writes the bodies of ingress and egress.
    pub fn write_bodies(&mut self) {
        let moved = if self.is_origin() { Moved::default() } else { self.import_egress() };
        self.write_ingress(moved);
        match self.is_origin() {
            true => self.write_egress(),
            false => {
                for stage in [Duty::Egress, Duty::Verify, Duty::Compute] {
                    let Some(id) = arch::control(&self.out, stage) else { continue };
                    let control = &mut self.out.controls[id.index()];
                    control.body = Block::default();
                    control.locals.clear();
                }
                let copies = self.cut.policies.iter().flat_map(|policy| policy.in_egress(self)).collect();
                self.out.controls[self.cut.egress.index()].body = build::block(copies);
            }
        }
    }

    fn write_ingress(&mut self, moved: Moved) {
        let ingress = self.cut.ingress;
        let entered = self.entered_here();
        let sends_on = !self.sent_on().is_empty();
        let mut stmts = vec![];
        if !entered.is_empty() || sends_on {
            stmts.extend(self.runtime.arrive(self));
        }
        if !entered.is_empty() || sends_on || !self.is_origin() {
            stmts.push(self.drop_unknown());
        }
        let here: Vec<SectionId> = self.sections_here(|half| !self.is_origin() || half == Half::Ingress);
        if self.is_origin() {
            stmts.extend(self.runtime.begin(self));
        }
        for id in here {
            stmts.push(self.guarded_section(At { stage: Duty::Ingress, control: ingress, moved }, id));
        }
        if self.is_origin() {
            stmts.extend(self.keep_off_links());
            stmts.extend(self.forget_originals());
            for id in entered.into_iter().filter(|&id| self.cut.sections.get(id).half == Half::Egress) {
                stmts.extend(self.pass_to_egress(id));
            }
        }
        stmts.extend(self.save_leaving(moved));
        if sends_on {
            // Of a hand-over that is only sent on, nothing runs.
            let is_ours = build::equals(self.leaving_of(Duty::Ingress), build::bits(1, 0));
            stmts = vec![build::if_then(is_ours, stmts)];
        }
        stmts.extend(self.leave_ingress());
        stmts.extend(self.drop_at_end());
        self.out.controls[ingress.index()].body = build::block(stmts);
    }

    /// Drops hand-overs of an unknown section and, on a helper, ordinary frames.
    fn drop_unknown(&mut self) -> Stmt {
        let is = |g: &Self, value: u64| build::equals(g.region_of(Duty::Ingress), g.region_value(value));
        let unknown = is(self, self.cut.layout.unknown_region);
        let dropped = self.drop(Drop::Unknown);
        if self.is_origin() {
            return build::if_then(unknown, dropped);
        }
        let ordinary = build::if_then(is(self, 0), self.drop(Drop::NotOrigin));
        build::if_else(unknown, dropped, vec![ordinary])
    }

    fn write_egress(&mut self) {
        let egress = self.cut.egress;
        let mut stmts = self.start_clone();
        let at = At { stage: Duty::Egress, control: egress, moved: Moved::default() };
        for id in self.sections_here(|half| half == Half::Egress) {
            stmts.push(self.guarded_section(at, id));
        }
        let targets = self.leaving_from_egress();
        stmts.extend(self.save_one(at, &targets));
        if !targets.is_empty() {
            stmts.push(self.leave_egress());
        }
        stmts = self.keep_copies_off_links(stmts);
        if let Some(starts) = self.starts_again(Duty::Egress) {
            let again = build::block(self.start_again());
            stmts = vec![build::stmt(StmtKind::If(starts, again, build::block(stmts)))];
        }
        let staying = build::equals(self.leaving_of(Duty::Egress), build::bits(1, 0));
        self.out.controls[egress.index()].body = build::block(vec![build::if_then(staying, stmts)]);
    }

    /// A packet that leaves from egress is packed and comes around through the parser.
    fn leave_egress(&mut self) -> Stmt {
        let mut leave = self.runtime.send(self, Duty::Egress, self.cut.egress);
        // The program's decision travels as a live value; here it would drop the hand-over.
        leave.push(build::assign(self.standard(Duty::Egress, Meaning::ToPort), build::bits(PORT_BITS, 0)));
        let recirculate = self.recirculate_function();
        let mut list = 0;
        if let Some((field, number)) = self.packed {
            let packed = build::field(self.metadata(Duty::Egress), field, ir::Type::Bit(1));
            leave.push(build::assign(packed, build::bits(1, 1)));
            list = number;
        }
        let list = build::bits(8, u64::from(list));
        leave.push(build::call(Callee::ExternFunction(recirculate), vec![], vec![list]));
        let leaving = build::equals(self.leaving_of(Duty::Egress), build::bits(1, 1));
        build::if_then(leaving, leave)
    }

    /// Copies of a packet reach egress without having passed the end of ingress with their port.
    fn keep_copies_off_links(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        if !self.cut.effects.copies {
            return stmts;
        }
        let Some(on_link) = self.is_on_link(Duty::Egress, Meaning::OutPort) else { return stmts };
        let drop = build::block(self.drop_in_egress(Drop::LinkPort));
        vec![build::stmt(StmtKind::If(on_link, drop, build::block(stmts)))]
    }

    /// The port is one that joins the origin to another device.
    fn is_on_link(&self, stage: Duty, meaning: Meaning) -> Option<Expr> {
        let ports = self.cut.placement.link_ports(self.device).into_iter();
        let is_it = |n| build::equals(self.standard(stage, meaning), build::bits(PORT_BITS, n));
        ports.map(is_it).reduce(build::or)
    }

    fn sections_here(&self, wanted: impl Fn(Half) -> bool) -> Vec<SectionId> {
        let here = self.cut.sections.iter().filter(|(_, s)| s.device == self.role() && wanted(s.half));
        here.map(|(id, _)| id).collect()
    }

    /// `if (region == id) { restore; code }`
    fn guarded_section(&mut self, at: At, id: SectionId) -> Stmt {
        let At { stage, moved, .. } = at;
        let mut stmts: Vec<Stmt> = self.runtime.resume(self, at, id).into_iter().collect();
        let section = self.cut.sections.get(id);
        let half = section.half;
        let code = match section.kind {
            crate::section::SectionKind::End if half == Half::Ingress => {
                vec![Code::Goto(self.cut.sections.first(Half::Egress))]
            }
            _ => section.code.clone(),
        };
        let offset = if half == Half::Egress { moved } else { Moved::default() };
        stmts.extend(self.stmts(stage, half, &code, offset));
        let here = build::equals(self.region_of(stage), self.region_value(u64::from(id.0)));
        build::if_then(here, stmts)
    }

    /// A resumed egress section: the traffic manager takes the packet to the port it was for.
    fn pass_to_egress(&self, id: SectionId) -> Option<Stmt> {
        let port = self.runtime.port_of(self, id)?;
        let to_port = build::assign(self.standard(Duty::Ingress, Meaning::ToPort), port);
        let here = build::equals(self.region_of(Duty::Ingress), self.region_value(u64::from(id.0)));
        Some(build::if_then(here, vec![to_port]))
    }

    /// Ports that join devices carry hand-overs only: frames that the program sends there are dropped and counted.
    fn keep_off_links(&mut self) -> Option<Stmt> {
        let first = self.region_value(u64::from(self.cut.sections.first(Half::Egress).0));
        let to_egress = build::equals(self.region_of(Duty::Ingress), first);
        let to_link = self.is_on_link(Duty::Ingress, Meaning::ToPort)?;
        Some(build::if_then(build::and(to_egress, to_link), self.drop(Drop::LinkPort)))
    }

    /// Sections elsewhere that packets leave for from this device's ingress.
    fn leaving_from_ingress(&self) -> Vec<SectionId> {
        let egress = self.leaving_from_egress();
        self.entered_from_here().into_iter().filter(|id| !egress.contains(id)).collect()
    }

    /// Saves for the section elsewhere that comes next.
    fn save_leaving(&mut self, moved: Moved) -> Option<Stmt> {
        let at = At { stage: Duty::Ingress, control: self.cut.ingress, moved };
        self.save_one(at, &self.leaving_from_ingress())
    }

    /// `if (region == 3) { save } else if (region == 5) { save }`: all save into the same fields, which takes one stage of a Tofino where only one can run.
    fn save_one(&mut self, at: At, targets: &[SectionId]) -> Option<Stmt> {
        let mut saves = vec![];
        for &id in targets {
            let there = build::equals(self.region_of(at.stage), self.region_value(u64::from(id.0)));
            saves.push((there, self.runtime.save(self, at, id)));
        }
        let chain = |rest: Option<Stmt>, (there, save): (Expr, Vec<Stmt>)| {
            Some(build::if_else(there, save, rest.into_iter().collect()))
        };
        saves.into_iter().rev().fold(None, chain)
    }

    /// Sends hand-overs that were packed here, and looks up the port of every hand-over that leaves.
    fn leave_ingress(&mut self) -> Option<Stmt> {
        let mut targets = self.leaving_from_ingress();
        let mut leave = vec![];
        let sent_on = self.sent_on();
        if !targets.is_empty() {
            leave = self.runtime.send(self, Duty::Ingress, self.cut.ingress);
            if !sent_on.is_empty() {
                let is_packed = self.came_with_header(Duty::Ingress);
                leave = vec![build::if_then(build::not(is_packed), leave)];
            }
        }
        targets.extend(sent_on.into_iter().map(|(id, _)| id));
        targets.sort();
        targets.dedup();
        if targets.is_empty() {
            return None;
        }
        leave.extend(self.runtime.find_port(self, &targets));
        let leaving = build::equals(self.leaving_of(Duty::Ingress), build::bits(1, 1));
        Some(build::if_then(leaving, leave))
    }

    /// Code of the whole program as statements of this device's control.
    fn stmts(&self, stage: Duty, half: Half, code: &[Code], moved: Moved) -> Vec<Stmt> {
        let var = |v: VarId| self.moved_var(half, v, moved);
        let action = |a: ActionId| ActionId(a.0 + moved.actions);
        let table = |t: TableId| TableId(t.0 + moved.tables);
        let renumber = Renumber { var: &var, action: &action, table: &table, instance: &|i| i };
        let blocks = |code: &[Code]| build::block(self.stmts(stage, half, code, moved));
        let mut out = vec![];
        for piece in code {
            out.push(match piece {
                Code::Stmt(stmt) => {
                    let mut stmt = self.retyped(stmt);
                    renumber.stmt(&mut stmt);
                    stmt
                }
                Code::If(cond, yes, no) => {
                    // Without arms: `blocks` renumbers these.
                    let head = StmtKind::If(cond.clone(), Block::default(), Block::default());
                    let mut head = self.retyped(&build::stmt(head));
                    renumber.stmt(&mut head);
                    let StmtKind::If(cond, ..) = head.kind else { continue };
                    build::stmt(StmtKind::If(cond, blocks(yes), blocks(no)))
                }
                Code::Switch(on, cases) => {
                    let mut head = self.retyped(&build::stmt(StmtKind::Switch(on.clone(), vec![])));
                    renumber.stmt(&mut head);
                    let StmtKind::Switch(on, _) = head.kind else { continue };
                    let case = |c: &crate::section::CodeCase| SwitchCase {
                        labels: c.labels.clone(),
                        body: blocks(&c.code),
                        span: Span::NONE,
                    };
                    build::stmt(StmtKind::Switch(on, cases.iter().map(case).collect()))
                }
                Code::Region(annotations, inner) => {
                    let inner = blocks(inner);
                    build::stmt(StmtKind::Block(Block { annotations: annotations.clone(), ..inner }))
                }
                Code::Goto(target) => {
                    build::assign(self.region_of(stage), self.region_value(u64::from(target.0)))
                }
            });
        }
        out
    }

    /// A statement of the whole program with this program's type numbers.
    fn retyped(&self, stmt: &Stmt) -> Stmt {
        let mut stmt = stmt.clone();
        super::rename::shift_stmt_types(&mut stmt, self.types_at, self.types_added);
        stmt
    }
}
