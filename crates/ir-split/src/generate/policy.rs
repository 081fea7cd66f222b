//! Edge policies: which port a hand-over leaves by.
//!
//! A port leads to the device or to the next one on the way there. `direct` maps the region to the port of the one device that runs it; `return` maps the origin's number to the port
//! that leads back. Each is a table that the control plane fills with the linkage, so that a device keeps its program
//! when its cables change. A miss is a counted drop. `call` needs no table of its own: control is led to a section of
//! the caller first, by one of the two.

use super::runtime::Drop;
use super::{Generator, LinkEntry};
use crate::arch::PORT_BITS;
use crate::placement::DeviceIndex;
use crate::section::SectionId;
use ir::build;
use ir::{ActionId, Const, Expr, Stmt, StmtKind, TableId, Type, VarId};
use p4_arch::{Duty, Meaning};

impl Generator<'_> {
    /// Edge policies: `return` to the origin by its number, `direct` by the region's.
    pub fn find_port(&mut self, targets: &[SectionId]) -> Vec<Stmt> {
        let to_origin = |id: &SectionId| self.cut.sections.get(*id).device == self.cut.placement.origin;
        let (back, on): (Vec<_>, Vec<_>) = targets.iter().copied().partition(to_origin);
        let clear_group = build::assign(self.standard(Duty::Ingress, Meaning::Group), build::bits(16, 0));
        let forward = self.forward_action();
        let miss = self.drop(Duty::Ingress, Drop::NoPort);
        let miss = self.add_own_action(self.cut.ingress, "no_port", vec![], miss);
        let mut stmts = vec![clear_group];
        let mut return_stmt = None;
        if !back.is_empty() {
            let origin = self.named_field(self.header_field(Duty::Ingress, self.common), "origin");
            let placement = self.cut.placement;
            let count = placement.origins().count();
            let table = self.add_port_table("return", (origin, "origin"), [forward, miss], count);
            for (number, origin) in (0..).zip(placement.origins()) {
                self.link_entry(table, number, self.port_to(origin));
            }
            return_stmt = Some(build::stmt(StmtKind::Apply(table)));
        }
        if on.is_empty() {
            stmts.extend(return_stmt);
            return stmts;
        }
        let key = (self.region_of(Duty::Ingress), "region");
        let table = self.add_port_table("direct", key, [forward, miss], on.len());
        for &id in &on {
            let port = self.port_to(self.cut.sections.get(id).device);
            self.link_entry(table, u64::from(id.0), port);
        }
        let direct = build::stmt(StmtKind::Apply(table));
        let Some(return_stmt) = return_stmt else {
            stmts.push(direct);
            return stmts;
        };
        let at_origin = back
            .into_iter()
            .map(|id| build::equals(self.region_of(Duty::Ingress), self.region_value(u64::from(id.0))));
        let at_origin = at_origin.reduce(|a, b| {
            build::expr(ir::ExprKind::Binary(ir::BinaryOp::Or, Box::new(a), Box::new(b)), Type::Bool)
        });
        let at_origin =
            at_origin.unwrap_or_else(|| build::expr(ir::ExprKind::Const(Const::Bool(false)), Type::Bool));
        let choose = StmtKind::If(at_origin, build::block(vec![return_stmt]), build::block(vec![direct]));
        stmts.push(build::stmt(choose));
        stmts
    }

    /// The port by which the way to a device begins.
    fn port_to(&self, device: DeviceIndex) -> Option<u64> {
        let next = self.cut.routes.next(self.device, device)?;
        self.cut.placement.ports.get(&(self.device, next)).copied()
    }

    /// On a helper of several origins: `meta.p4rack_origin = hdr.p4rack.origin`, for the way back.
    pub fn note_origin(&self) -> Option<Stmt> {
        let common = self.header_field(Duty::Ingress, self.common);
        let origin = self.named_field(common.clone(), "origin");
        let noted = build::field(self.metadata(Duty::Ingress), self.returns_to?, origin.ty.clone());
        Some(build::if_then(build::is_valid(common), vec![build::assign(noted, origin)]))
    }

    fn add_port_table(
        &mut self,
        name: &str,
        (key, key_name): (Expr, &str),
        actions: [ActionId; 2],
        entries: usize,
    ) -> TableId {
        let size = 16.max(entries as u64);
        let (name, key_name) = (self.own(name), format!("{}.{key_name}", self.cut.prefix));
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let table = build::exact_table(&name, &control.control_plane_name, key, &key_name, actions, size);
        control.tables.push(table);
        TableId::from(control.tables.len() - 1)
    }

    fn link_entry(&mut self, table: TableId, key: u64, port: Option<u64>) {
        let control = self.out.control(self.cut.ingress);
        let table = control.tables[table.index()].control_plane_name.clone();
        let action = format!("{}.{}", control.control_plane_name, self.own("forward")).into();
        self.linkage.entries.extend(port.map(|port| LinkEntry { table, key, action, port }));
    }

    fn forward_action(&mut self) -> ActionId {
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let port = VarId::from(control.vars.len());
        control.vars.push(build::data_param("port", Type::Bit(PORT_BITS)));
        let value = build::var(port, &Type::Bit(PORT_BITS));
        let assign = build::assign(self.standard(Duty::Ingress, Meaning::ToPort), value);
        self.add_own_action(self.cut.ingress, "forward", vec![port], vec![assign])
    }
}
