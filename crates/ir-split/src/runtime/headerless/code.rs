//! The parts of a device's program: a mark on hand-overs, the position on arrival and on leaving.
//!
//! ```text
//! parser     start                select(ingress_port) { p4rack_links: p4rack_came; default: the program's start }
//!            p4rack_came          came := 1; the program's start
//! ingress    if (came == 1)       region := unknown
//!                                 headerless: p4rack_enter.apply(): port -> section, output port
//!                                 headerless-ipv4: from the fragment offset, which becomes zero
//!            if (region == k)     p4rack_save_k(): leaving := 1; the output port in use is kept for the position
//!            if (leaving == 1)    if (packet_length < 60) drop       where links pad
//!                                 else p4rack_lane.apply(): section (, output port) -> port
//! ```

use super::Position;
use super::lanes::{Lane, lanes};
use super::offset::{OFFSET_BITS, fragment_offset, section_bits};
use crate::arch::PORT_BITS;
use crate::generate::{Drop, Generator, Moved};
use crate::layout::SHORTEST_BITS;
use crate::runtime::At;
use crate::runtime::parser::{case, select};
use crate::section::SectionId;
use crate::split::{LastArgs, LinkEntry};
use ir::build::struct_field;
use ir::{
    Expr, ExprKind, Keyset, MatchKind, ParserState, Stmt, StmtKind, TableId, TableKey, Type, VarId, build,
};
use p4_arch::{Duty, Meaning};

/// Metadata: the packet came as a hand-over.
const CAME: &str = "came";

/// Metadata: the output port that the position of the hand-over that leaves names.
const FOR_PORT: &str = "for_port";

impl Generator<'_> {
    /// Declares the metadata for positions, and `more` of one bit each.
    pub fn add_position_metadata(&mut self, more: &[&'static str]) {
        let mut fields = vec![(CAME, 1)];
        if !self.cut.layout.ports.is_empty() {
            fields.push((FOR_PORT, PORT_BITS));
        }
        fields.extend(more.iter().map(|name| (*name, 1)));
        let named = fields.iter().map(|(name, bits)| struct_field(&self.own(name), Type::Bit(*bits)));
        let named = named.collect();
        let base = self.append_fields(&self.metadata_type.clone(), named);
        self.kept.extend(fields.iter().enumerate().map(|(n, (name, _))| ((*name).into(), base + n)));
    }

    /// `meta.p4rack_came`
    pub fn came_of(&self, stage: Duty) -> Expr {
        self.position_field(stage, CAME)
    }

    /// A field of the metadata for positions.
    pub fn position_field(&self, stage: Duty, name: &str) -> Expr {
        let field = self.kept_field(stage, name);
        field.unwrap_or_else(|| self.lacks(format!("the metadata `{name}`"), self.leaving_of(stage)))
    }

    fn lanes(&self) -> Vec<Lane> {
        lanes(self.cut.routes, self.cut.layout, self.cut.placement)
    }

    /// The ports by which hand-overs come, in the parser: a value set of this name.
    pub fn note_hand_overs(&mut self, name: &str) {
        let into = self.lanes().into_iter().filter(|lane| lane.to == self.device);
        let mut ports: Vec<u64> =
            into.filter_map(|lane| lane.ports(self.cut.placement)).map(|(_, here)| here).collect();
        if self.entered_here_by(false).is_empty() {
            return;
        }
        ports.sort_unstable();
        ports.dedup();
        let set = self.add_link_set(name, &ports);
        let own = self.rename_start();
        let parser = self.cut.parser.index();
        let mark = build::assign(self.came_of(Duty::Parse), build::bits(1, 1));
        let came = self.state("came", vec![mark], ir::Transition::Goto(own));
        let states = &mut self.out.parsers[parser].states;
        let at = ir::StateRef::State(ir::StateId::from(states.len()));
        states.push(came);
        let port = self.standard(Duty::Parse, Meaning::InPort);
        let cases = vec![case(Keyset::ValueSet(set), at), case(Keyset::DontCare, own)];
        let start = self.state("start", vec![], select(vec![port], cases));
        self.out.parsers[parser].states[0] = ParserState { name: "start".into(), ..start };
    }

    /// The section that a hand-over is for, and the output port.
    pub fn find_position(&mut self, position: Position) -> Vec<Stmt> {
        let region = self.region_of(Duty::Ingress);
        let unknown = self.region_value(self.cut.layout.unknown_region);
        let mut stmts = vec![build::assign(region, unknown)];
        stmts.extend(match position {
            Position::Port => vec![build::stmt(StmtKind::Apply(self.add_enter_table()))],
            Position::FragmentOffset => self.read_offset(),
        });
        vec![build::if_then(build::equals(self.came_of(Duty::Ingress), build::bits(1, 1)), stmts)]
    }

    /// The port by which a hand-over comes says where it goes on.
    fn add_enter_table(&mut self) -> TableId {
        let has_port = !self.cut.layout.ports.is_empty();
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let mut param = |name: &str, width: u32| {
            control.vars.push(build::data_param(name, Type::Bit(width)));
            VarId::from(control.vars.len() - 1)
        };
        let region_bits = self.cut.layout.region_bits;
        let mut params = vec![param("region", region_bits)];
        params.extend(has_port.then(|| param("port", PORT_BITS)));
        let value = |at: usize, width| build::var(params[at], &Type::Bit(width));
        let mut stmts = vec![build::assign(self.region_of(Duty::Ingress), value(0, region_bits))];
        if has_port {
            stmts.push(build::assign(self.standard(Duty::Ingress, Meaning::ToPort), value(1, PORT_BITS)));
        }
        let at = self.add_own_action(self.cut.ingress, "at", params, stmts);
        let nowhere = self.add_own_action(self.cut.ingress, "nowhere", vec![], vec![]);
        let into: Vec<Lane> = self.lanes().into_iter().filter(|lane| lane.to == self.device).collect();
        let port = self.standard(Duty::Ingress, Meaning::InPort);
        let name = self.own("enter");
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let size = 16.max(into.len() as u64);
        let key_name = format!("{}.port", self.cut.prefix);
        let table =
            build::exact_table(&name, &control.control_plane_name, port, &key_name, [at, nowhere], size);
        let action: ir::Name = control.actions[at.index()].control_plane_name.clone();
        let table_name = table.control_plane_name.clone();
        control.tables.push(table);
        let id = TableId::from(control.tables.len() - 1);
        for lane in into {
            let Some((_, here)) = lane.ports(self.cut.placement) else { continue };
            let mut args = vec![u64::from(lane.section.0)];
            args.extend(has_port.then(|| lane.value.unwrap_or(0)));
            let (table, action) = (table_name.clone(), action.clone());
            self.linkage.entries.push(LinkEntry {
                table,
                keys: vec![here],
                action,
                args,
                last: LastArgs::Plain,
            });
        }
        id
    }

    /// The fragment offset in a stage, as this device's program knows it.
    fn offset_field(&self, stage: Duty) -> Expr {
        let found = fragment_offset(self.cut.program, self.cut.places);
        match found {
            Some((_, leaf)) => self.place(stage, leaf, Moved::default()),
            None => self.lacks("a fragment offset".to_string(), self.leaving_of(stage)),
        }
    }

    fn read_offset(&mut self) -> Vec<Stmt> {
        let (field, bits) = (self.offset_field(Duty::Ingress), section_bits(self.cut.layout));
        let rest = OFFSET_BITS - bits;
        let slice = |hi: u32, lo: u32| {
            let kind = ExprKind::Slice { base: Box::new(field.clone()), hi, lo };
            build::expr(kind, Type::Bit(hi + 1 - lo))
        };
        let mut stmts = vec![];
        for id in self.entered_here_by(false) {
            let is_it = build::equals(slice(OFFSET_BITS - 1, rest), build::bits(bits, id.0.into()));
            let here = build::assign(self.region_of(Duty::Ingress), self.region_value(id.0.into()));
            stmts.push(build::if_then(is_it, vec![here]));
        }
        if rest > 0 {
            let port = self.standard(Duty::Ingress, Meaning::ToPort);
            stmts.push(build::assign(port, slice(rest - 1, 0)));
        }
        stmts.push(build::assign(field.clone(), build::bits(OFFSET_BITS, 0)));
        let found = fragment_offset(self.cut.program, self.cut.places);
        match found {
            Some((header, _)) => {
                let is_valid = build::is_valid(self.program_header(Duty::Ingress, header));
                vec![build::if_then(is_valid, stmts)]
            }
            None => stmts,
        }
    }

    /// `p4rack_save_S();`, whose action sets `mark`, too.
    pub fn leave_for(&mut self, position: Position, at: At, id: SectionId, mark: Option<&str>) -> Vec<Stmt> {
        let At { stage, control, .. } = at;
        let mut stmts = vec![build::assign(self.leaving_of(stage), build::bits(1, 1))];
        let mark = mark.map(|name| self.position_field(stage, name));
        stmts.extend(mark.map(|field| build::assign(field, build::bits(1, 1))));
        let port = self.standard(stage, Meaning::ToPort);
        let needs_port = self.cut.layout.ports.contains_key(&id);
        let port = if needs_port { port } else { build::bits(PORT_BITS, 0) };
        let has_ports = !self.cut.layout.ports.is_empty();
        match position {
            Position::Port => {
                let kept = has_ports.then(|| self.position_field(stage, FOR_PORT));
                stmts.extend(kept.map(|field| build::assign(field, port)));
            }
            Position::FragmentOffset => {
                let bits = section_bits(self.cut.layout);
                let mut value = build::bits(bits, id.0.into());
                if has_ports {
                    let both = ir::BinaryOp::Concat;
                    value = build::binary(both, value, port, Type::Bit(OFFSET_BITS));
                }
                stmts.push(build::assign(self.offset_field(stage), value));
            }
        }
        let name = format!("save_{}", self.identifier(id));
        let action = self.add_own_action(control, &name, vec![], stmts);
        vec![build::run(action)]
    }

    /// The port that stands for the position, or that leads to the device. A frame that its link would pad is dropped and counted.
    pub fn find_lane(&mut self, position: Position, targets: &[SectionId]) -> Vec<Stmt> {
        let clear_group = build::assign(self.standard(Duty::Ingress, Meaning::Group), build::bits(16, 0));
        let by_port = position == Position::Port && !self.cut.layout.ports.is_empty();
        let actions = [self.forward_action(), self.no_port_action()];
        let leaving = self.lanes().into_iter().filter(|lane| lane.from == self.device);
        let leaving: Vec<Lane> = leaving.filter(|lane| targets.contains(&lane.section)).collect();
        let region = self.region_of(Duty::Ingress);
        let port = by_port.then(|| self.position_field(Duty::Ingress, FOR_PORT));
        let (name, prefix) = (self.own("lane"), self.cut.prefix);
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let size = 16.max(leaving.len() as u64);
        let key_name = format!("{prefix}.region");
        let mut table =
            build::exact_table(&name, &control.control_plane_name, region, &key_name, actions, size);
        table.keys.extend(port.map(|expr| TableKey {
            expr,
            match_kind: MatchKind::Exact,
            name: format!("{prefix}.port").into(),
            annotations: vec![],
        }));
        let action = control.actions[actions[0].index()].control_plane_name.clone();
        let table_name = table.control_plane_name.clone();
        control.tables.push(table);
        let id = TableId::from(control.tables.len() - 1);
        let mut known = vec![];
        for lane in leaving {
            let mut keys = vec![u64::from(lane.section.0)];
            keys.extend(by_port.then(|| lane.value.unwrap_or(0)));
            // All positions in the packet share one link.
            let lane = if position == Position::Port { lane } else { Lane { number: 0, ..lane } };
            let Some((out, _)) = lane.ports(self.cut.placement) else { continue };
            if known.contains(&keys) {
                continue;
            }
            known.push(keys.clone());
            let (table, action) = (table_name.clone(), action.clone());
            self.linkage.entries.push(LinkEntry {
                table,
                keys,
                action,
                args: vec![out],
                last: LastArgs::Port,
            });
        }
        let lane = build::stmt(StmtKind::Apply(id));
        if !self.cut.placement.pads {
            return vec![clear_group, lane];
        }
        let length = self.standard(Duty::Ingress, Meaning::Length);
        let is_short = build::less(length, build::bits(32, u64::from(SHORTEST_BITS / 8)));
        let drop = self.drop(Drop::Short);
        vec![clear_group, build::if_else(is_short, drop, vec![lane])]
    }
}
