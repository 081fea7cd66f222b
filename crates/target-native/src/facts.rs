//! Facts about a program, computed before its code is made.

use crate::layout::{Kind, Layout, kind_of};
use crate::runs::{Runs, runs};
use crate::tables::Wanted;
use dataplane_tables::KeyLayout;
use device::Blocks;
pub(crate) use device::embed::Constant;
use device::embed::{CellsFacts, MOST_VALUE_SET_BITS, TableFacts};
use device::region::Path;
use device::stage::BlockName;
use ir::{
    Callee, Control, ControlId, Expr, ExprKind, InstanceId, MatchKind, Name, ParserId, Program, Role, Stmt,
    StmtKind, SwitchOn, TableId, Transition, Type, ValueSetId, VarId, visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// Cells of an object that are shared with code at most; larger objects are left to the interpreter.
const MOST_CELLS: u64 = 1 << 24;

/// Constant entries that are tested one by one at most, those from which on runs of numbers are searched, and those that are searched at most.
const MOST_TESTED: usize = 12;
const FEWEST_SEARCHED: usize = 4;
const MOST_SEARCHED: usize = 256;

/// An array of more bytes is far from a core: half of its second-level cache.
const FAR: u64 = 1 << 19;

/// If all arrays have more bytes than this, those are far that are not [small](CellsCode::is_small): a packet that reads one of each finds few of its cells near.
const FAR_TOGETHER: u64 = 1 << 21;
const SMALL: u64 = 1 << 11;

/// Facts about a program that the code generator uses.
pub(crate) struct Facts {
    pub(crate) parser: ParserId,
    pub(crate) controls: BTreeMap<BlockName, ControlId>,
    /// Roles of each block's parameters.
    pub(crate) roles: BTreeMap<BlockName, Vec<Role>>,
    pub(crate) drop_port: u32,
    /// Names of the fields of the standard metadata.
    pub(crate) standard: Vec<Name>,
    /// Number of scalars that are registers.
    pub(crate) registers: usize,
    /// Tables that code applies itself.
    pub(crate) tables: BTreeMap<(ControlId, TableId), TableCode>,
    /// Objects whose cells code shares.
    pub(crate) cells: BTreeMap<InstanceId, CellsCode>,
    /// Extracted headers are copied, since the packet's first bytes may be needed again.
    pub(crate) copies: bool,
    /// True if the parser takes only whole bytes from the packet.
    pub(crate) parses_whole_bytes: bool,
    pub(crate) clones: bool,
    pub(crate) resubmits: bool,
    pub(crate) recirculates: bool,
    pub(crate) truncates: bool,
    /// A checksum is verified.
    pub(crate) verifies: bool,
    /// Direct meters answer, packet by packet.
    pub(crate) meters: bool,
    value_set_widths: Vec<usize>,
    /// For each value set, the number of its bits in the list of them, if it has one key of few bits.
    pub(crate) value_set_bits: Vec<Option<usize>>,
    /// Calls of their methods leave the code.
    pub(crate) frame_externs: Vec<InstanceId>,
    /// Positions at which frames continue.
    pub(crate) resumes: Vec<Path>,
    /// On TNA, whether packets that the ingress parser refuses reach ingress; `None` on other architectures.
    pub(crate) reads_parser_error: Option<bool>,
    /// Classes of packets may have code of their own.
    pub(crate) has_classes: bool,
    /// Several threads count in the same cells.
    pub(crate) shares: bool,
}

/// A table that code applies.
pub(crate) struct TableCode {
    /// In the list of table_replicas.
    pub(crate) index: usize,
    /// True if the table has an array of entry numbers.
    pub(crate) is_direct: bool,
    /// Words from one record to the next.
    pub(crate) stride: usize,
    pub(crate) layout: KeyLayout,
    /// For each action of the list: the word of a record and the kind of each parameter.
    pub(crate) data: Vec<Vec<(usize, Kind)>>,
    /// The word of a record with the address of the entry's counter.
    pub(crate) count: Option<usize>,
    /// The word of a record with the address of the entry's idle timer, if a hit changes nothing else.
    pub(crate) timer: Option<usize>,
    pub(crate) notes_hits: bool,
    pub(crate) has_meters: bool,
    /// Nobody can change its entries, and they are few enough to be code.
    pub(crate) constant: Option<Constant>,
    /// The constant entries as runs of numbers, where those are searched.
    pub(crate) runs: Option<Runs>,
    /// A profile chooses an entry's action.
    pub(crate) has_profile: bool,
}

/// An object whose cells code shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellsCode {
    /// In the list of shared cells.
    pub(crate) index: usize,
    pub(crate) size: u64,
    /// Bytes of a cell.
    pub(crate) bytes: u32,
    /// Kind of a cell; unused for counters, which code does not read.
    pub(crate) kind: Kind,
    /// All workers use the same cells. Counters have some for each worker.
    pub(crate) is_shared: bool,
    /// A packet's cell is rarely in the caches near a core.
    pub(crate) is_far: bool,
}

impl CellsCode {
    /// True if all cells are nearly always in the caches near a core.
    pub(crate) fn is_small(&self) -> bool {
        self.bytes_of_all() <= SMALL
    }

    fn bytes_of_all(&self) -> u64 {
        self.size * u64::from(self.bytes)
    }
}

impl Facts {
    pub(crate) fn new(blocks: Blocks<'_>, layout: &Layout, wanted: &mut Wanted) -> Facts {
        let program = blocks.program();
        let controls: BTreeMap<_, _> =
            BlockName::ALL.into_iter().filter_map(|block| Some((block, blocks.control(block)?))).collect();
        let [_, _, standard] = blocks.types();
        let standard = program.fields(&standard).iter().map(|field| field.name.clone()).collect();
        let mut facts = Facts {
            parser: blocks.parser(),
            roles: BlockName::ALL.into_iter().map(|block| (block, blocks.roles(block))).collect(),
            drop_port: blocks.drop_port(),
            standard,
            registers: layout.registers.pass_length + 1,
            tables: BTreeMap::new(),
            cells: BTreeMap::new(),
            copies: false,
            parses_whole_bytes: true,
            clones: false,
            resubmits: false,
            recirculates: false,
            truncates: false,
            verifies: false,
            meters: false,
            value_set_widths: vec![],
            value_set_bits: vec![],
            frame_externs: vec![],
            resumes: vec![],
            reads_parser_error: blocks.reads_parser_error(),
            has_classes: true,
            shares: false,
            controls,
        };
        facts.find_tables(blocks, wanted);
        facts.find_cells(blocks, wanted);
        facts.find_calls(program);
        facts.meters = facts.tables.values().any(|table| table.has_meters);
        facts.look_at_parser(program, wanted);
        (facts.frame_externs, facts.resumes) = (blocks.frame_externs(), blocks.resumes());
        facts
    }

    /// Number of positions of a select case that a value set stands for.
    pub(crate) fn value_set_width(&self, set: ValueSetId) -> usize {
        self.value_set_widths.get(set.index()).copied().unwrap_or(1)
    }

    fn find_tables(&mut self, blocks: Blocks<'_>, wanted: &mut Wanted) {
        for id in self.controls.values() {
            let control = blocks.program().control(*id);
            for at in 0..control.tables.len() {
                let at = (*id, TableId::from(at));
                if self.tables.contains_key(&at) {
                    continue;
                }
                if let Some(table) = table_code(blocks, control, at, wanted) {
                    self.tables.insert(at, table);
                }
            }
        }
    }

    fn find_cells(&mut self, blocks: Blocks<'_>, wanted: &mut Wanted) {
        for at in 0..blocks.program().instances.len() {
            let id = InstanceId::from(at);
            let Some(CellsFacts { size, bytes, ty }) = blocks.cells(id, MOST_CELLS) else { continue };
            let is_shared = ty.is_some();
            let kind = ty.map_or(Some(Kind::Bits(0)), |ty| cell_kind(blocks.program(), &ty));
            let Some(kind) = kind else { continue };
            let index = wanted.share(id);
            self.cells.insert(id, CellsCode { index, size, bytes, kind, is_shared, is_far: false });
        }
        let are_many = self.cells.values().map(CellsCode::bytes_of_all).sum::<u64>() > FAR_TOGETHER;
        for cells in self.cells.values_mut() {
            cells.is_far = cells.bytes_of_all() > FAR || are_many && !cells.is_small();
            wanted.far_cells += usize::from(cells.is_far);
        }
    }

    fn find_calls(&mut self, program: &Program) {
        let mut names = BTreeSet::new();
        let mut ingress = BTreeSet::new();
        for (block, id) in &self.controls {
            let control = program.control(*id);
            let bodies = control.actions.iter().map(|a| &a.body).chain([&control.body]);
            for body in bodies {
                visit::stmts(body, &mut |stmt| {
                    if let StmtKind::Call(call) = &stmt.kind
                        && let Callee::ExternFunction(id) = call.callee
                        && let Some(function) = program.extern_functions.get(id.index())
                    {
                        names.insert(function.name.clone());
                        if *block == BlockName::Ingress {
                            ingress.insert(function.name.clone());
                        }
                    }
                });
            }
        }
        let starts = |names: &BTreeSet<Name>, prefix: &str| names.iter().any(|name| name.starts_with(prefix));
        self.clones = starts(&names, "clone");
        self.resubmits = starts(&names, "resubmit");
        self.recirculates = starts(&names, "recirculate");
        // Clones may be cut by their session.
        self.truncates = self.clones || starts(&names, "truncate");
        self.verifies = starts(&names, "verify_checksum");
        self.copies = starts(&ingress, "clone") || starts(&ingress, "resubmit");
    }

    fn look_at_parser(&mut self, program: &Program, wanted: &mut Wanted) {
        let parser = program.parser(self.parser);
        let width = |ty: &Type| match program.representation(ty) {
            Type::Tuple(types) => types.len(),
            named @ Type::Named(_) if !program.fields(named).is_empty() => program.fields(named).len(),
            _ => 1,
        };
        self.value_set_widths = parser.value_sets.iter().map(|set| width(&set.ty)).collect();
        let bits = parser.value_sets.iter().enumerate().map(|(at, set)| {
            let few = matches!(program.representation(&set.ty), Type::Bit(n) if *n <= MOST_VALUE_SET_BITS);
            few.then(|| wanted.value_set(self.parser, ValueSetId::from(at)))
        });
        self.value_set_bits = bits.collect();
        for state in &parser.states {
            for stmt in &state.stmts {
                // TNA fills headers up to whole bytes.
                let fills = self.reads_parser_error.is_some();
                self.parses_whole_bytes &= fills || takes_whole_bytes(program, stmt);
            }
            if let Transition::Select(select) = &state.transition {
                self.parses_whole_bytes &= select.exprs.iter().all(|e| kind_of(program, &e.ty).is_some());
            }
        }
    }
}

/// The kind of a cell: a number, or a struct as one number.
fn cell_kind(program: &Program, ty: &Type) -> Option<Kind> {
    kind_of(program, ty).or_else(|| Some(Kind::Bits(crate::code::packed_widths(program, ty)?.0)))
}

fn takes_whole_bytes(program: &Program, stmt: &Stmt) -> bool {
    let mut whole = match &stmt.kind {
        StmtKind::Extract { header, .. } => fixed_bits(program, &header.ty).is_multiple_of(8),
        _ => true,
    };
    visit::blocks(stmt, &mut |block| {
        whole &= block.stmts.iter().all(|stmt| takes_whole_bytes(program, stmt));
    });
    whole
}

/// Without varbits, which are whole bytes or an error.
fn fixed_bits(program: &Program, ty: &Type) -> u64 {
    match program.representation(ty) {
        Type::Varbit(_) => 0,
        named @ Type::Named(_) if !program.fields(named).is_empty() => {
            program.fields(named).iter().map(|field| fixed_bits(program, &field.ty)).sum()
        }
        ty => program.bits(ty).unwrap_or(0),
    }
}

fn table_code(
    blocks: Blocks<'_>,
    control: &Control,
    at: (ControlId, TableId),
    wanted: &mut Wanted,
) -> Option<TableCode> {
    let (program, facts) = (blocks.program(), blocks.table(at)?);
    let layout = crate::tables::key_layout(&facts.keys)?;
    let table = control.tables.get(at.1.index())?;
    // A record: the action, the slot of the entry's counter if there is one, then the action's data in 64-bit words.
    let count = facts.counts.then_some(1);
    let timer = facts.only_restarts.then_some(1 + count.iter().len());
    let first = 1 + count.iter().len() + timer.iter().len();
    let mut data = vec![];
    let mut most = first - 1;
    for listed in &table.actions {
        if !listed.args.is_empty() {
            return None;
        }
        let action = control.actions.get(listed.action.index())?;
        let mut word = first;
        let mut params = vec![];
        for param in &action.params {
            let kind = kind_of(program, &control.vars.get(param.index())?.ty)?;
            params.push((word, kind));
            word += if kind.width() > 64 { 2 } else { 1 };
        }
        most = most.max(word - 1);
        data.push(params);
    }
    let selects = table.keys.iter().filter(|key| key.match_kind == MatchKind::Selector);
    let chosen_by =
        selects.map(|key| Some(kind_of(program, &key.expr.ty)?.width())).collect::<Option<_>>()?;
    let (index, spec) = wanted.add(at, &facts, &layout, most, data.clone(), chosen_by);
    let (is_direct, stride) = (spec.is_direct(), spec.stride());
    let TableFacts { notes_hits, has_meters, has_profile, counts, constant, .. } = facts;
    let is_plain = !(notes_hits || has_profile || counts);
    let constant = constant.filter(|constant| is_plain && constant.entries.len() <= MOST_SEARCHED);
    let searched = constant.as_ref().filter(|constant| !constant.is_exact());
    let searched = searched.filter(|constant| constant.entries.len() >= FEWEST_SEARCHED);
    let runs = searched.and_then(|constant| runs(constant, &layout));
    let are_few = |constant: &Constant| constant.is_exact() || constant.entries.len() <= MOST_TESTED;
    let constant = constant.filter(|constant| runs.is_some() || are_few(constant));
    Some(TableCode {
        index,
        is_direct,
        stride,
        layout,
        data,
        count,
        timer,
        notes_hits,
        has_meters,
        constant,
        runs,
        has_profile,
    })
}

/// The variables that a statement mentions, with the tables that it applies and their actions.
pub(crate) fn mentioned(control: Option<&Control>, stmt: &Stmt) -> BTreeSet<VarId> {
    let mut found = Mentioned { control, vars: BTreeSet::new(), tables: BTreeSet::new() };
    found.stmt(stmt);
    found.vars
}

struct Mentioned<'c> {
    control: Option<&'c Control>,
    vars: BTreeSet<VarId>,
    tables: BTreeSet<TableId>,
}

impl Mentioned<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        visit::exprs(stmt, &mut |expr| self.expr(expr));
        match &stmt.kind {
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => self.table(*table),
            StmtKind::Declare(var, _) | StmtKind::ForIn { var, .. } => {
                self.vars.insert(*var);
            }
            StmtKind::For { init, update, .. } => init.iter().chain(update).for_each(|s| self.stmt(s)),
            _ => {}
        }
        visit::blocks(stmt, &mut |block| block.stmts.iter().for_each(|stmt| self.stmt(stmt)));
    }

    fn expr(&mut self, expr: &Expr) {
        let mut tables = vec![];
        visit::subexprs(expr, &mut |expr| match &expr.kind {
            ExprKind::Var(var) => {
                self.vars.insert(*var);
            }
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => tables.push(*table),
            _ => {}
        });
        tables.into_iter().for_each(|table| self.table(table));
    }

    fn table(&mut self, id: TableId) {
        let Some(table) = self.control.and_then(|c| c.tables.get(id.index())) else { return };
        if !self.tables.insert(id) {
            return;
        }
        table.keys.iter().for_each(|key| self.expr(&key.expr));
        for listed in &table.actions {
            listed.args.iter().for_each(|arg| self.expr(arg));
            let Some(action) = self.control.and_then(|c| c.actions.get(listed.action.index())) else {
                continue;
            };
            self.vars.extend(&action.params);
            action.body.stmts.iter().for_each(|stmt| self.stmt(stmt));
        }
    }
}
