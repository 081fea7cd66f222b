//! The tables by which hand-overs find their port: one for each edge policy that leads some.
//!
//! The control plane fills them with the linkage, so that a device keeps its program when its cables change. A port leads to the
//! device or to the next one on the path there. A miss is a counted drop.

use super::Generator;
use super::externs::Drop;
use crate::arch::PORT_BITS;
use crate::placement::DeviceIndex;
use crate::policy::{PortKey, PortTable};
use crate::section::SectionId;
use crate::split::{LastArgs, LinkEntry};
use ir::{ActionId, Expr, ExprKind, Stmt, StmtKind, TableId, Type, VarId, build};
use p4_arch::{Duty, Meaning};

impl Generator<'_> {
    /// `if (region is one of a policy's) { p4rack_POLICY.apply(); } else { the next policy's }`
    pub fn find_port(&mut self, targets: &[SectionId]) -> Vec<Stmt> {
        let clear_group = build::assign(self.standard(Duty::Ingress, Meaning::Group), build::bits(16, 0));
        let mut led = vec![];
        let mut left = targets.to_vec();
        for policy in self.cut.policies {
            let (sections, placement) = (self.cut.sections, self.cut.placement);
            let own = left.extract_if(.., |id| policy.leads(*id, sections, placement));
            let own: Vec<SectionId> = own.collect();
            if !own.is_empty() {
                let found = policy.lead(self, &own);
                led.push((own, found));
            }
        }
        // The last policy leads all remaining hand-overs.
        let mut found = led.pop().map_or(vec![], |(_, found)| found);
        for (own, stmts) in led.into_iter().rev() {
            if let Some(any) = self.leaves_for(Duty::Ingress, &own) {
                found = vec![build::if_else(any, stmts, found)];
            }
        }
        found.insert(0, clear_group);
        found
    }

    /// The packet leaves for one of these sections.
    pub fn leaves_for(&self, stage: Duty, sections: &[SectionId]) -> Option<Expr> {
        let is_it = |id: &SectionId| build::equals(self.region_of(stage), self.region_value(id.0.into()));
        sections.iter().map(is_it).reduce(build::or)
    }

    /// The value that goes with the section for which the packet leaves; the last value goes with all that are left.
    ///
    /// A policy passes such values to its control and so applies it at one place: for BMv2, one statement follows a table.
    pub fn by_section(&self, stage: Duty, values: Vec<(&[SectionId], Expr)>) -> Option<Expr> {
        let earlier =
            |rest: Expr, (sections, value): (&[SectionId], Expr)| match self.leaves_for(stage, sections) {
                Some(any) => {
                    let ty = value.ty.clone();
                    build::expr(ExprKind::Ternary(any.into(), value.into(), rest.into()), ty)
                }
                None => rest,
            };
        let mut values = values.into_iter().rev();
        let (_, last) = values.next()?;
        Some(values.fold(last, earlier))
    }

    /// Applies a table that gives the port.
    pub fn look_up(&mut self, policy: &str, table: &PortTable) -> Vec<Stmt> {
        let actions = [self.forward_action(), self.no_port_action()];
        vec![build::stmt(StmtKind::Apply(self.add_port_table(policy, table, actions)))]
    }

    fn add_port_table(&mut self, policy: &str, led: &PortTable, actions: [ActionId; 2]) -> TableId {
        let (key, key_name) = match led.key {
            PortKey::Region => (self.region_of(Duty::Ingress), "region"),
            PortKey::Field(name) => (self.common_field(Duty::Ingress, name), name),
        };
        let size = 16.max(led.entries.len() as u64);
        let (name, key_name) = (self.own(policy), format!("{}.{key_name}", self.cut.prefix));
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let table = build::exact_table(&name, &control.control_plane_name, key, &key_name, actions, size);
        control.tables.push(table);
        let table = TableId::from(control.tables.len() - 1);
        for &(number, device) in &led.entries {
            self.link_entry(table, number, self.port_to(device));
        }
        table
    }

    /// The port by which the path to a device begins.
    pub fn port_to(&self, device: DeviceIndex) -> Option<u64> {
        let next = self.cut.routes.next(self.device, device)?;
        self.cut.placement.ports.get(&(self.device, next)).copied()
    }

    fn link_entry(&mut self, table: TableId, key: u64, port: Option<u64>) {
        let control = self.out.control(self.cut.ingress);
        let table = control.tables[table.index()].control_plane_name.clone();
        let action = format!("{}.{}", control.control_plane_name, self.own("forward")).into();
        self.linkage.entries.extend(port.map(|port| LinkEntry {
            table,
            keys: vec![key],
            action,
            args: vec![port],
            last: LastArgs::Port,
        }));
    }

    /// Drops what has no port.
    pub fn no_port_action(&mut self) -> ActionId {
        let drop = self.drop(Drop::NoPort);
        self.add_own_action(self.cut.ingress, "no_port", vec![], drop)
    }

    /// Sends by the port that an entry says.
    pub fn forward_action(&mut self) -> ActionId {
        let name = self.own("forward");
        let known = &self.out.control(self.cut.ingress).actions;
        if let Some(found) = known.iter().position(|action| action.name == name) {
            return ActionId::from(found);
        }
        let control = &mut self.out.controls[self.cut.ingress.index()];
        let port = VarId::from(control.vars.len());
        control.vars.push(build::data_param("port", Type::Bit(PORT_BITS)));
        let value = build::var(port, &Type::Bit(PORT_BITS));
        let assign = build::assign(self.standard(Duty::Ingress, Meaning::ToPort), value);
        self.add_own_action(self.cut.ingress, "forward", vec![port], vec![assign])
    }
}
