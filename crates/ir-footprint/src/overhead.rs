//! Costs of the runtime on each device beside the program itself, counted in the printed parts and their entries.
//!
//! ```text
//! device  tables  entry bits  register bits  header bits  branches  ports
//! tor          1          12              0          175        17      1
//! ```

use crate::footprint;
use ir::{Block, Expr, ExprKind, Program, StmtKind, Transition, Type, visit};
use ir_split::Part;
use serde::Serialize;

/// The runtime's share of one device's program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Overhead {
    /// The device.
    pub device: String,
    /// Tables and value sets of the runtime.
    pub tables: usize,
    /// Bits of all their entries: what is matched, the number of the action, its parameters.
    pub entry_bits: u64,
    /// Bits of its registers.
    pub register_bits: u64,
    /// Cells of its counters.
    pub counter_cells: u64,
    /// Bits of the longest hand-over that the device sends or takes, without the packet's own headers.
    pub header_bits: u64,
    /// Conditions of controls and cases of the parser that look at what is the runtime's.
    pub branches: usize,
    /// Ports that join the device to others.
    pub ports: usize,
}

/// Costs of the runtime on each device that has a part.
pub fn overhead<'p>(parts: impl Iterator<Item = (&'p str, &'p Part)>) -> Vec<Overhead> {
    parts.map(|(name, part)| of_part(name, part)).collect()
}

/// Costs of the runtime in one part.
pub fn of_part(device: &str, part: &Part) -> Overhead {
    let (program, linkage) = (&part.program, &part.linkage);
    let ours = Ours { program, prefix: &linkage.prefix };
    let of_entry = |table: &str| footprint::table(program, table).map_or(0, |needs| needs.entry_bits);
    let members = linkage.value_sets.iter().map(|(_, members)| members.len());
    let port_bits = u64::from(ir_split::PORT_BITS);
    let tables =
        program.controls.iter().flat_map(|c| &c.tables).filter(|t| ours.holds(&t.control_plane_name)).count();
    Overhead {
        device: device.to_string(),
        tables: tables + linkage.value_sets.len(),
        entry_bits: linkage.entries.iter().map(|e| of_entry(&e.table)).sum::<u64>()
            + members.clone().map(|n| n as u64 * port_bits).sum::<u64>(),
        register_bits: ours.cells("register").map(|(cells, bits)| cells * bits).sum(),
        counter_cells: ours.cells("counter").map(|(cells, _)| cells).sum(),
        header_bits: ours.header_bits(),
        branches: ours.branches(),
        ports: members.sum(),
    }
}

/// The table that people read.
pub fn text(all: &[Overhead]) -> String {
    let widest = all.iter().map(|o| o.device.chars().count()).max().unwrap_or(0).max("device".len());
    let mut out =
        format!("{:widest$}  tables  entry bits  register bits  header bits  branches  ports\n", "device");
    for o in all {
        out.push_str(&format!(
            "{:widest$}  {:>6}  {:>10}  {:>13}  {:>11}  {:>8}  {:>5}\n",
            o.device, o.tables, o.entry_bits, o.register_bits, o.header_bits, o.branches, o.ports
        ));
    }
    out
}

/// Names of the runtime in a part: they begin with the prefix that the splitter found free.
struct Ours<'a> {
    program: &'a Program,
    prefix: &'a str,
}

impl Ours<'_> {
    fn name(&self, name: &str) -> bool {
        !self.prefix.is_empty() && (name == self.prefix || name.starts_with(&format!("{}_", self.prefix)))
    }

    /// True if a thing with this control-plane name is ours, or in a control of ours: `In.p4rack_leave.edge_of`.
    fn holds(&self, name: &str) -> bool {
        name.split('.').any(|part| self.name(part))
    }

    /// Size and bits of each of its objects of a kind.
    fn cells(&self, kind: &str) -> impl Iterator<Item = (u64, u64)> {
        let program = self.program;
        let found = program.instances.iter().filter(move |i| {
            self.holds(&i.control_plane_name) && program.extern_object(i.object).name == kind
        });
        found.map(move |i| {
            let size = i.args.iter().find_map(|arg| match &arg.kind {
                ir::ExprKind::Const(ir::Const::Bits(bits)) => bits.to_u64(),
                _ => None,
            });
            let bits = i.type_args.first().and_then(|ty| program.bits(ty)).unwrap_or(0);
            (size.unwrap_or(0), bits)
        })
    }

    /// `p4rack_t` and the longest of the sections' headers.
    fn header_bits(&self) -> u64 {
        let common = format!("{}_t", self.prefix);
        let pad = format!("{}_pad_t", self.prefix);
        let mut longest = 0;
        let mut first = 0;
        for ty in self.program.types.iter().filter(|ty| self.name(&ty.name)) {
            let ir::TypeKind::Header(fields) = &ty.kind else { continue };
            let bits: u64 = fields.iter().filter_map(|f| self.program.bits(&f.ty)).sum();
            match ty.name.as_str() {
                name if name == common => first = bits,
                name if name == pad => {}
                _ => longest = longest.max(bits),
            }
        }
        first + longest
    }

    fn branches(&self) -> usize {
        let mut count = 0;
        for control in &self.program.controls {
            let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
            blocks.for_each(|block| count += self.branches_of(block));
        }
        for state in self.program.parsers.iter().flat_map(|p| &p.states) {
            let block = Block { annotations: vec![], stmts: state.stmts.clone() };
            count += self.branches_of(&block);
            if let Transition::Select(select) = &state.transition
                && (self.name(&state.name) || select.exprs.iter().any(|e| self.looks(e)))
            {
                count += select.cases.len().saturating_sub(1);
            }
        }
        count
    }

    fn branches_of(&self, block: &Block) -> usize {
        let mut count = 0;
        visit::stmts(block, &mut |stmt| {
            if let StmtKind::If(cond, ..) = &stmt.kind {
                count += usize::from(self.looks(cond));
            }
        });
        count
    }

    /// True if the expression reads something of the runtime's.
    fn looks(&self, e: &Expr) -> bool {
        let mut found = false;
        visit::subexprs(e, &mut |e| {
            let ExprKind::Field(base, index) = &e.kind else { return };
            let field = self.program.fields(&base.ty).get(*index as usize);
            found |= field.is_some_and(|f| self.name(&f.name));
            found |= matches!(base.ty, Type::Named(id) if self.name(&self.program.type_decl(id).name));
        });
        found
    }
}
