//! The controls of a device: its sections between resuming and leaving.

use super::rename::Renumber;
use super::{Generator, LinkEntry, build};
use crate::layout::{EPOCH_BITS, ETHER_TYPE, VERSION};
use crate::place::{Leaf, Root};
use crate::section::{Code, Half, SectionId};
use crate::v1model::PORT_BITS;
use base_diag::Span;
use ir::{
    ActionId, Block, Callee, Const, ControlId, Direction, Expr, ExternFunctionId, ExternId, InstanceId,
    Owner, Role, Signature, SignatureParam, Stmt, StmtKind, SwitchCase, TableId, Type, VarId,
};

/// Cells of the counter `p4rack_drops`.
#[derive(Clone, Copy)]
enum Drop {
    /// A hand-over of an unknown version, app, epoch or region, or cut short.
    Unknown = 0,
    /// An ordinary frame at a device that is not the origin.
    NotOrigin = 1,
    /// No entry says by which port to go on.
    NoPort = 2,
    /// The program sends to a port that joins devices.
    LinkPort = 3,
}

const DROP_CELLS: u64 = 4;

/// `02:52:41:43:4b:00`: locally administered, "RACK".
const ADDRESS: u64 = 0x0252_4143_4b00;

/// How a variable or member of a whole program's control is numbered in the control under construction.
#[derive(Clone, Copy, Default)]
struct Moved {
    vars: u32,
    actions: u32,
    tables: u32,
}

impl Generator<'_> {
    /// Writes the bodies of ingress and egress.
    pub fn write_bodies(&mut self) {
        let moved = if self.is_origin() { Moved::default() } else { self.import_egress() };
        self.write_ingress(moved);
        match self.is_origin() {
            true => self.write_egress(),
            false => {
                for stage in ["egress", "verify_checksum", "compute_checksum"] {
                    let Some(id) = self.out.stage_control(stage) else { continue };
                    let control = &mut self.out.controls[id.index()];
                    control.body = Block::default();
                    control.locals.clear();
                }
            }
        }
    }

    fn write_ingress(&mut self, moved: Moved) {
        let ingress = self.cut.ingress;
        let entered = self.entered_here();
        let region = self.region_of("ingress");
        let mut stmts = vec![];
        if !entered.is_empty() || self.recirculates() {
            let common = self.header_field("ingress", self.common);
            stmts
                .push(build::if_then(build::is_valid(common.clone()), vec![build::set_valid(common, false)]));
            let unknown = self.region_value(self.cut.layout.unknown_region);
            stmts.push(build::if_then(
                build::equals(region.clone(), unknown),
                self.drop("ingress", Drop::Unknown),
            ));
        }
        let here: Vec<SectionId> = self.sections_here(|half| !self.is_origin() || half == Half::Ingress);
        if !self.is_origin() {
            let drop = self.drop("ingress", Drop::NotOrigin);
            stmts.push(build::if_then(build::equals(region.clone(), self.region_value(0)), drop));
        }
        for id in here {
            stmts.push(self.guarded_section("ingress", ingress, id, moved));
        }
        if self.is_origin() {
            stmts.extend(self.keep_off_links());
            for id in entered.into_iter().filter(|&id| self.cut.sections.get(id).half == Half::Egress) {
                stmts.push(self.pass_to_egress(id));
            }
        }
        stmts.extend(self.leave_ingress(moved));
        self.out.controls[ingress.index()].body = build::block(stmts);
    }

    fn write_egress(&mut self) {
        let egress = self.cut.egress;
        let mut stmts = vec![];
        for id in self.sections_here(|half| half == Half::Egress) {
            stmts.push(self.guarded_section("egress", egress, id, Moved::default()));
        }
        let targets = self.leaving_from_egress();
        for &id in &targets {
            stmts.push(self.save_section("egress", egress, id, Moved::default()));
        }
        if !targets.is_empty() {
            let mut leave = self.send("egress", egress);
            // What the program decided travels as live value; here it would drop the hand-over.
            leave.push(build::assign(self.standard("egress", "egress_spec"), build::bits(PORT_BITS, 0)));
            let recirculate = self.recirculate_function();
            leave.push(build::call(Callee::ExternFunction(recirculate), vec![], vec![build::bits(8, 0)]));
            let leaving = build::equals(self.leaving_of("egress"), build::bits(1, 1));
            stmts.push(build::if_then(leaving, leave));
        }
        let staying = build::equals(self.leaving_of("egress"), build::bits(1, 0));
        self.out.controls[egress.index()].body = build::block(vec![build::if_then(staying, stmts)]);
    }

    fn sections_here(&self, wanted: impl Fn(Half) -> bool) -> Vec<SectionId> {
        let here = self.cut.sections.iter().filter(|(_, s)| s.device == self.device && wanted(s.half));
        here.map(|(id, _)| id).collect()
    }

    /// `if (region == id) { restore; code }`
    fn guarded_section(&mut self, stage: &str, control: ControlId, id: SectionId, moved: Moved) -> Stmt {
        let mut stmts = vec![];
        if let Some(restore) = self.restore(stage, control, id, moved) {
            stmts.push(restore);
        }
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

    /// `if (hdr.p4rack_S.isValid()) { p4rack_restore_S(); }`, if the section is entered over a cut.
    fn restore(&mut self, stage: &str, control: ControlId, id: SectionId, moved: Moved) -> Option<Stmt> {
        if !self.entered_here().contains(&id) {
            return None;
        }
        let header = self.header_field(stage, *self.of_section.get(&id)?);
        let mut stmts = vec![];
        for live in self.cut.layout.sections.get(&id)? {
            let place = self.place(stage, live.leaf, moved);
            let value = self.named_field(header.clone(), &live.name);
            stmts.push(build::assign(place.clone(), build::cast(value, place.ty)));
        }
        stmts.push(build::set_valid(header.clone(), false));
        let action =
            self.add_action(control, &format!("p4rack_restore_{}", self.identifier(id)), vec![], stmts);
        Some(build::if_then(build::is_valid(header), vec![build::run(action)]))
    }

    /// `if (region == S) { p4rack_save_S(); }`
    fn save_section(&mut self, stage: &str, control: ControlId, id: SectionId, moved: Moved) -> Stmt {
        let header = self.header_field(stage, self.of_section[&id]);
        let mut stmts = vec![build::set_valid(header.clone(), true)];
        for live in self.cut.layout.sections.get(&id).into_iter().flatten() {
            let value = self.place(stage, live.leaf, moved);
            let place = self.named_field(header.clone(), &live.name);
            stmts.push(build::assign(place.clone(), build::cast(value, place.ty)));
        }
        if self.cut.layout.section_bits(id) > self.live_bits(id) {
            let padding = self.named_field(header, "padding");
            let width = self.cut.layout.section_bits(id) - self.live_bits(id);
            stmts.push(build::assign(padding, build::bits(width, 0)));
        }
        stmts.push(build::assign(self.leaving_of(stage), build::bits(1, 1)));
        let action = self.add_action(control, &format!("p4rack_save_{}", self.identifier(id)), vec![], stmts);
        let there = build::equals(self.region_of(stage), self.region_value(u64::from(id.0)));
        build::if_then(there, vec![build::run(action)])
    }

    fn live_bits(&self, id: SectionId) -> u32 {
        self.cut.layout.sections.get(&id).into_iter().flatten().map(|f| f.width).sum()
    }

    /// A resumed egress section: the traffic manager takes the packet to the port it was for.
    fn pass_to_egress(&mut self, id: SectionId) -> Stmt {
        let header = self.header_field("ingress", self.of_section[&id]);
        let leaf = self.cut.places.standard("egress_port");
        let live = self.cut.layout.sections.get(&id).into_iter().flatten().find(|f| Some(f.leaf) == leaf);
        let port = self.named_field(header, live.map_or("", |f| &f.name));
        let to_port = build::assign(self.standard("ingress", "egress_spec"), port);
        let here = build::equals(self.region_of("ingress"), self.region_value(u64::from(id.0)));
        build::if_then(here, vec![to_port])
    }

    /// Ports that join devices carry hand-overs only: what the program sends there is dropped and counted.
    fn keep_off_links(&mut self) -> Vec<Stmt> {
        let origin = self.cut.placement.origin;
        let links: Vec<u64> = self
            .cut
            .placement
            .ports
            .iter()
            .filter(|((from, _), _)| *from == origin)
            .map(|(_, &port)| port)
            .collect();
        let first = self.region_value(u64::from(self.cut.sections.first(Half::Egress).0));
        let to_egress = build::equals(self.region_of("ingress"), first);
        let mut checks = vec![];
        for port in links {
            let to_link =
                build::equals(self.standard("ingress", "egress_spec"), build::bits(PORT_BITS, port));
            let drop = self.drop("ingress", Drop::LinkPort);
            checks.push(build::if_then(build::and(to_egress.clone(), to_link), drop));
        }
        checks
    }

    /// Saves for every section elsewhere, then sends and looks up the port.
    fn leave_ingress(&mut self, moved: Moved) -> Vec<Stmt> {
        let ingress = self.cut.ingress;
        let targets = self.entered_from_here();
        if targets.is_empty() {
            return vec![];
        }
        let mut stmts = vec![];
        for &id in &targets {
            let relayed = self.is_origin() && self.cut.sections.get(id).half == Half::Egress;
            stmts.push(match relayed {
                // It was packed in egress and comes around: only its port is still to be found.
                true => {
                    let there = build::equals(self.region_of("ingress"), self.region_value(u64::from(id.0)));
                    build::if_then(there, vec![build::assign(self.leaving_of("ingress"), build::bits(1, 1))])
                }
                false => self.save_section("ingress", ingress, id, moved),
            });
        }
        let mut leave = self.send("ingress", ingress);
        leave.extend(self.find_port(&targets));
        let leaving = build::equals(self.leaving_of("ingress"), build::bits(1, 1));
        stmts.push(build::if_then(leaving, leave));
        stmts
    }

    /// The call that packs headers into a hand-over.
    fn send(&mut self, stage: &str, control: ControlId) -> Vec<Stmt> {
        let common = self.header_field(stage, self.common);
        let mut stmts = vec![build::set_valid(common.clone(), true)];
        let placement = self.cut.placement;
        let values = [
            ("dst_addr", ADDRESS),
            ("src_addr", ADDRESS + 1 + u64::from(self.device.0)),
            ("ether_type", u64::from(ETHER_TYPE)),
            ("version", VERSION),
            ("app", placement.app),
            ("epoch", placement.epoch % (1 << EPOCH_BITS)),
            ("origin", 0),
            ("padding", 0),
        ];
        for (name, value) in values {
            let width = self.cut.layout.width_of(name);
            if width > 0 {
                stmts.push(build::assign(self.named_field(common.clone(), name), build::bits(width, value)));
            }
        }
        stmts.push(build::assign(self.named_field(common.clone(), "region"), self.region_of(stage)));
        for (&index, &copy) in &self.sent {
            let name = &self.cut.places.header(index).name;
            let own = self.program_header(stage, index);
            let has = self.named_field(common.clone(), &format!("has_{name}"));
            stmts.push(build::assign(has, build::cast(build::is_valid(own.clone()), Type::Bit(1))));
            stmts.push(build::assign(self.header_field(stage, copy), own.clone()));
            stmts.push(build::set_valid(own, false));
        }
        vec![build::run(self.add_action(control, "p4rack_send", vec![], stmts))]
    }

    /// Edge policies: `return` to the origin by its number, `direct` by the region's.
    fn find_port(&mut self, targets: &[SectionId]) -> Vec<Stmt> {
        let to_origin = |id: &SectionId| self.cut.sections.get(*id).device == self.cut.placement.origin;
        let (back, on): (Vec<_>, Vec<_>) = targets.iter().copied().partition(to_origin);
        let clear_group = build::assign(self.standard("ingress", "mcast_grp"), build::bits(16, 0));
        let forward = self.forward_action();
        let miss = self.drop("ingress", Drop::NoPort);
        let miss = self.add_action(self.cut.ingress, "p4rack_no_port", vec![], miss);
        let mut stmts = vec![clear_group];
        let mut return_stmt = None;
        if !back.is_empty() {
            let origin = self.named_field(self.header_field("ingress", self.common), "origin");
            let table = self.add_port_table("p4rack_return", origin, "p4rack.origin", [forward, miss]);
            let port = self.cut.placement.ports.get(&(self.device, self.cut.placement.origin)).copied();
            self.link_entry(table, 0, port);
            return_stmt = Some(build::stmt(StmtKind::Apply(table)));
        }
        if on.is_empty() {
            stmts.extend(return_stmt);
            return stmts;
        }
        let table =
            self.add_port_table("p4rack_direct", self.region_of("ingress"), "p4rack.region", [forward, miss]);
        for &id in &on {
            let port =
                self.cut.placement.ports.get(&(self.device, self.cut.sections.get(id).device)).copied();
            self.link_entry(table, u64::from(id.0), port);
        }
        let direct = build::stmt(StmtKind::Apply(table));
        let Some(return_stmt) = return_stmt else {
            stmts.push(direct);
            return stmts;
        };
        let at_origin = back
            .into_iter()
            .map(|id| build::equals(self.region_of("ingress"), self.region_value(u64::from(id.0))));
        let at_origin = at_origin.reduce(|a, b| {
            build::expr(ir::ExprKind::Binary(ir::BinaryOp::Or, Box::new(a), Box::new(b)), Type::Bool)
        });
        let at_origin =
            at_origin.unwrap_or_else(|| build::expr(ir::ExprKind::Const(Const::Bool(false)), Type::Bool));
        let choose = StmtKind::If(at_origin, build::block(vec![return_stmt]), build::block(vec![direct]));
        stmts.push(build::stmt(choose));
        stmts
    }

    fn add_port_table(&mut self, name: &str, key: Expr, key_name: &str, actions: [ActionId; 2]) -> TableId {
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let table = build::exact_table(name, &control.control_plane_name, key, key_name, actions, 16);
        control.tables.push(table);
        TableId::from(control.tables.len() - 1)
    }

    fn link_entry(&mut self, table: TableId, key: u64, port: Option<u64>) {
        let control = self.out.control(self.cut.ingress);
        let table = control.tables[table.index()].control_plane_name.clone();
        let action = format!("{}.p4rack_forward", control.control_plane_name).into();
        self.linkage.entries.extend(port.map(|port| LinkEntry { table, key, action, port }));
    }

    fn forward_action(&mut self) -> ActionId {
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let port = VarId::from(control.vars.len());
        control.vars.push(build::data_param("port", Type::Bit(PORT_BITS)));
        let value = build::var(port, &Type::Bit(PORT_BITS));
        let assign = build::assign(self.standard("ingress", "egress_spec"), value);
        self.add_action(self.cut.ingress, "p4rack_forward", vec![port], vec![assign])
    }

    /// Counts and drops.
    fn drop(&mut self, stage: &str, reason: Drop) -> Vec<Stmt> {
        let counter = self.drop_counter();
        let mark = self.mark_to_drop_function();
        let metadata = build::var(
            self.role_var(stage, Role::StandardMetadata).unwrap_or(VarId(0)),
            &self.shared_type(stage, Role::StandardMetadata),
        );
        vec![
            build::call(Callee::Method(counter, 0), vec![], vec![build::bits(32, reason as u64)]),
            build::call(Callee::ExternFunction(mark), vec![], vec![metadata]),
        ]
    }

    fn drop_counter(&mut self) -> InstanceId {
        if let Some(found) = self.out.instances.iter().position(|i| i.name == "p4rack_drops") {
            return InstanceId::from(found);
        }
        let object = self.counter_object();
        let index = self.out.extern_object(object).type_params.iter().map(|_| Type::Bit(32)).collect();
        let kind = self.out.extern_object(object).constructors[0][1].ty.clone();
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let id = InstanceId::from(self.out.instances.len());
        control.instances.push(id);
        self.out.instances.push(ir::Instance {
            name: "p4rack_drops".into(),
            control_plane_name: format!("{}.p4rack_drops", control.control_plane_name).into(),
            object,
            type_args: index,
            args: vec![
                (Type::Bit(32), Const::Bits(base_bits::Bits::new(32, u128::from(DROP_CELLS)))),
                // CounterType.packets
                (kind, Const::Enum(0)),
            ],
            owner: Owner::Control(self.cut.ingress),
            methods: vec![],
            annotations: vec![],
            span: Span::NONE,
        });
        id
    }

    /// v1model's `counter`, declared here if the program does not use it.
    fn counter_object(&mut self) -> ExternId {
        if let Some(found) = self.out.externs.iter().position(|e| e.name == "counter" && !e.user) {
            return ExternId::from(found);
        }
        let kind = self
            .out
            .types
            .iter()
            .position(|t| t.name == "CounterType")
            .map_or(Type::Void, |i| Type::Named(ir::TypeId::from(i)));
        // The index is a type parameter since this version of the architecture.
        let generic = matches!(self.out.arch, ir::Arch::V1Model(version) if version >= 20_200_408);
        let (type_params, index) = match generic {
            true => (vec!["I".into()], Type::Param("I".into())),
            false => (vec![], Type::Bit(32)),
        };
        let param =
            |name: &str, direction, ty| SignatureParam { name: name.into(), direction, ty, optional: false };
        let size = param("size", Direction::None, Type::Bit(32));
        let count = Signature {
            type_params: vec![],
            params: vec![param("index", Direction::In, index)],
            returns: Type::Void,
        };
        self.out.externs.push(ir::ExternObject {
            name: "counter".into(),
            user: false,
            type_params,
            constructors: vec![vec![size, param("type", Direction::None, kind)]],
            methods: vec![ir::ExternMethod {
                name: "count".into(),
                signature: count,
                is_abstract: false,
                annotations: vec![],
            }],
            annotations: vec![],
            span: Span::NONE,
        });
        ExternId::from(self.out.externs.len() - 1)
    }

    fn mark_to_drop_function(&mut self) -> ExternFunctionId {
        let ty = self.shared_type("ingress", Role::StandardMetadata);
        self.function("mark_to_drop", "standard_metadata", Direction::InOut, ty)
    }

    fn recirculate_function(&mut self) -> ExternFunctionId {
        self.function("recirculate_preserving_field_list", "index", Direction::None, Type::Bit(8))
    }

    /// The architecture's function with one parameter of that type, declared here if nobody used it before.
    fn function(&mut self, name: &str, param: &str, direction: Direction, ty: Type) -> ExternFunctionId {
        let functions = &mut self.out.extern_functions;
        if let Some(found) = functions.iter().position(|f| f.name == name && f.signature.params.len() == 1) {
            return ExternFunctionId::from(found);
        }
        let params = vec![SignatureParam { name: param.into(), direction, ty, optional: false }];
        functions.push(ir::ExternFunction {
            name: name.into(),
            user: false,
            signature: Signature { type_params: vec![], params, returns: Type::Void },
            annotations: vec![],
            span: Span::NONE,
        });
        ExternFunctionId::from(functions.len() - 1)
    }

    fn add_action(
        &mut self,
        control: ControlId,
        name: &str,
        params: Vec<VarId>,
        stmts: Vec<Stmt>,
    ) -> ActionId {
        let control = &mut self.out.controls[control.index()];
        if let Some(found) = control.actions.iter().position(|a| a.name == name) {
            return ActionId::from(found);
        }
        control.actions.push(build::action(name, &control.control_plane_name, params, stmts));
        ActionId::from(control.actions.len() - 1)
    }

    /// A leaf as a place in a stage of this device.
    fn place(&self, stage: &str, leaf: Leaf, moved: Moved) -> Expr {
        let info = self.cut.places.info(leaf);
        let base = match info.root {
            Root::Shared(key) => {
                let role = Self::role_of(key);
                build::var(self.role_var(stage, role).unwrap_or(VarId(0)), &self.shared_type(stage, role))
            }
            Root::Local(control, var) => {
                // A variable of egress stands in ingress on a helper, with this program's type numbers.
                let is_moved = control == self.cut.egress && !self.is_origin();
                let (owner, offset) = if is_moved { (self.cut.ingress, moved.vars) } else { (control, 0) };
                let var = VarId(var.0 + offset);
                build::var(var, &self.out.control(owner).vars[var.index()].ty)
            }
        };
        self.descend(base, &info.path)
    }

    /// Code of the whole program as statements of this device's control.
    fn stmts(&self, stage: &str, half: Half, code: &[Code], moved: Moved) -> Vec<Stmt> {
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

    fn moved_var(&self, half: Half, var: VarId, moved: Moved) -> VarId {
        if self.is_origin() || half == Half::Ingress {
            return var;
        }
        let egress = self.cut.program.control(self.cut.egress);
        let stage = self.cut.program.stage("egress");
        let position = egress.params.iter().position(|p| *p == var);
        match (position, stage) {
            (Some(position), Some(stage)) => self.role_var("ingress", stage.roles[position]).unwrap_or(var),
            _ => VarId(var.0 + moved.vars),
        }
    }

    /// Copies the members of egress into ingress: a helper runs all its sections before its traffic manager.
    fn import_egress(&mut self) -> Moved {
        let (ingress, egress) = (self.cut.ingress, self.cut.egress);
        let source = self.out.control(egress).clone();
        let target = self.out.control(ingress);
        let moved = Moved {
            vars: target.vars.len() as u32,
            actions: target.actions.len() as u32,
            tables: target.tables.len() as u32,
        };
        let var = |v: VarId| self.moved_var(Half::Egress, v, moved);
        let action = |a: ActionId| ActionId(a.0 + moved.actions);
        let table = |t: TableId| TableId(t.0 + moved.tables);
        let renumber = Renumber { var: &var, action: &action, table: &table, instance: &|i| i };
        let mut actions = source.actions;
        let mut tables = source.tables;
        let mut locals = source.locals;
        for action in &mut actions {
            renumber.block(&mut action.body);
            action.params.iter_mut().for_each(|p| p.0 += moved.vars);
        }
        tables.iter_mut().for_each(|t| renumber.in_table(t));
        locals.iter_mut().for_each(|l| renumber.stmt(l));
        for instance in &source.instances {
            self.out.instances[instance.index()].owner = Owner::Control(ingress);
        }
        let target = &mut self.out.controls[ingress.index()];
        for action in &mut actions {
            while target.actions.iter().any(|a| a.name == action.name) {
                action.name = format!("egress_{}", action.name).into();
            }
        }
        for table in &mut tables {
            while target.tables.iter().any(|t| t.name == table.name) {
                table.name = format!("egress_{}", table.name).into();
            }
        }
        target.vars.extend(source.vars);
        target.actions.extend(actions);
        target.tables.extend(tables);
        target.locals.extend(locals);
        target.instances.extend(source.instances);
        let emptied = &mut self.out.controls[egress.index()];
        emptied.actions.clear();
        emptied.tables.clear();
        emptied.instances.clear();
        moved
    }
}
