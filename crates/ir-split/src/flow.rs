//! Dataflow over sections: facts and live values at the start of each.
//!
//! One pass forward and one pass backward over the sections in topological order; loops inside a statement run to
//! their fixed point. No path is enumerated.

use crate::arch;
use crate::facts::Facts;
use crate::field_lists::kept_by;
use crate::leaf_set::{LeafSet, Live};
use crate::parsed::reaches;
use crate::parser_places::{
    metadata_read, metadata_under, parser_of, path_of, shared_of, steps_to, successors,
};
use crate::place::{Covered, HeaderIndex, Leaf, Places, RoleKey};
use crate::placement::DeviceIndex;
use crate::prepare::role_type;
use crate::section::{Half, SectionId, SectionKind, Sections};
use ir::{
    Block, Call, Callee, ControlId, Direction, Expr, ExprKind, InstanceId, Parser, Program, Role, Stmt,
    StmtKind, Transition, Type, VarId, visit,
};
use p4_arch::v1model::COUNTED_LENGTH;
use p4_arch::{Duty, Meaning};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A program prepared for dataflow.
pub struct Flow {
    /// The program.
    pub program: Rc<Program>,
    /// Leaves of the program.
    pub places: Rc<Places>,
    port: Option<usize>,
    /// Length that counters of bytes read.
    counted_length: Option<Leaf>,
    /// Metadata that the parser may write.
    pub parser_writes: LeafSet,
    /// Metadata that the parser may read.
    pub parser_reads: LeafSet,
    /// The type of the metadata.
    metadata: Option<Type>,
    /// Fields of headers that egress may read while the header is invalid: a clone of egress takes them along.
    cloned_hidden: RefCell<LeafSet>,
    /// Headers that the parser may leave invalid with something in their fields.
    pub stale_after_parser: BTreeSet<HeaderIndex>,
    parsed_before: Rc<BTreeMap<HeaderIndex, BTreeSet<HeaderIndex>>>,
}

/// Analysis results at the start of a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtSection {
    /// On every path to it.
    pub facts: Facts,
    /// On some path from it.
    pub live: Live,
}

impl Flow {
    /// Prepares a program; `port` is the metadata field with the port a packet is for, if it is not in `egress_port`.
    pub fn new(program: Rc<Program>, port: Option<usize>) -> Flow {
        let mut flow = Flow {
            program: Rc::clone(&program),
            places: Rc::new(Places::new(&program)),
            port,
            counted_length: None,
            parser_writes: LeafSet::default(),
            parser_reads: LeafSet::default(),
            metadata: role_type(&program, Role::Metadata),
            cloned_hidden: RefCell::default(),
            stale_after_parser: BTreeSet::new(),
            parsed_before: Rc::default(),
        };
        flow.counted_length = flow.metadata.as_ref().and_then(|ty| {
            let counted = |f: &ir::Field| f.annotations.iter().any(|a| a.name == COUNTED_LENGTH);
            let number = program.fields(ty).iter().position(counted)?;
            flow.places.leaf_at(RoleKey::Metadata, &[number as u32])
        });
        if let Some((parser, stage)) = parser_of(&program) {
            let by_var = shared_of(parser, stage);
            flow.read_parser(parser, &by_var);
        }
        flow
    }

    /// Facts right after the parser.
    pub fn start_facts(&self) -> Facts {
        let mut written = self.parser_writes.clone();
        for leaf in self.standard_named(&arch::set_at_start()) {
            written.insert(leaf);
        }
        // A packet that was sent around keeps some of its metadata.
        self.kept(None).into_iter().for_each(|leaf| {
            written.insert(leaf);
        });
        let stale = self.stale_after_parser.clone();
        Facts::after_parser(self.parsed_before.clone(), self.places.headers.len(), written, stale)
    }

    /// The metadata that a field list keeps, or that any does.
    pub fn kept(&self, list: Option<u32>) -> Vec<Leaf> {
        match &self.metadata {
            Some(ty) => kept_by(&self.program, &self.places, ty, list),
            None => vec![],
        }
    }

    /// Fields that a clone of egress takes along although their header may be invalid.
    pub fn cloned_hidden(&self) -> LeafSet {
        self.cloned_hidden.borrow().clone()
    }

    /// Analysis results at the start of each section; the control of each half is given.
    pub fn analyze(&self, sections: &Sections, ingress: ControlId, egress: ControlId) -> Vec<AtSection> {
        loop {
            let found = self.analyze_once(sections, ingress, egress);
            let read = &found[sections.first(Half::Egress).0 as usize].live.hidden;
            let mut known = self.cloned_hidden.borrow_mut();
            let before = known.clone();
            known.union(read);
            if *known == before {
                return found;
            }
        }
    }

    /// At the start of each section: what has been written, and which headers have come or gone, since the packet was parsed.
    pub fn since_parsed(&self, sections: &Sections, ingress: ControlId, egress: ControlId) -> Vec<Facts> {
        let (before, stale) = (self.parsed_before.clone(), self.stale_after_parser.clone());
        let start = Facts::after_parser(before, self.places.headers.len(), LeafSet::default(), stale);
        let mut facts = self.forward(sections, [ingress, egress], start.clone());
        sections.iter().map(|(id, _)| facts.remove(&id).unwrap_or_else(|| start.clone())).collect()
    }

    /// At each section that control enters over one of these cuts, given by their devices: the facts on all paths over them, given
    /// those at the start of each section.
    pub fn over_cuts(
        &self,
        sections: &Sections,
        [ingress, egress]: [ControlId; 2],
        is_cut: impl Fn(DeviceIndex, DeviceIndex) -> bool,
        at: impl Fn(SectionId) -> Facts,
    ) -> BTreeMap<SectionId, Facts> {
        let mut found: BTreeMap<SectionId, Facts> = BTreeMap::new();
        for (id, section) in sections.iter() {
            let control = if section.half == Half::Ingress { ingress } else { egress };
            let mut left = BTreeMap::new();
            self.code_forward(control, &section.code, at(id), &mut left);
            let cut = left.into_iter().filter(|(to, _)| is_cut(section.device, sections.get(*to).device));
            for (to, facts) in cut {
                match found.get_mut(&to) {
                    Some(there) => there.meet(&facts),
                    None => drop(found.insert(to, facts)),
                }
            }
        }
        found
    }

    /// The facts at the start of each section that control may reach; `start` holds after the parser.
    fn forward(
        &self,
        sections: &Sections,
        [ingress, egress]: [ControlId; 2],
        mut start: Facts,
    ) -> BTreeMap<SectionId, Facts> {
        let control = |half| if half == Half::Ingress { ingress } else { egress };
        let mut facts: BTreeMap<SectionId, Facts> = BTreeMap::new();
        if let Some(id) = arch::control(&self.program, Duty::Verify) {
            start = self.whole_forward(id, start);
        }
        let start = self.locals_forward(ingress, start);
        facts.insert(sections.first(Half::Ingress), start);
        for (id, section) in sections.iter() {
            let Some(here) = facts.get(&id).cloned() else { continue };
            if section.kind == SectionKind::End && section.half == Half::Ingress {
                let behind = self.locals_forward(egress, self.at_egress(here.clone()));
                facts.insert(sections.first(Half::Egress), behind);
            }
            self.code_forward(control(section.half), &section.code, here, &mut facts);
        }
        facts
    }

    fn analyze_once(&self, sections: &Sections, ingress: ControlId, egress: ControlId) -> Vec<AtSection> {
        let control = |half| if half == Half::Ingress { ingress } else { egress };
        let mut facts = self.forward(sections, [ingress, egress], self.start_facts());
        let mut live: BTreeMap<SectionId, Live> = BTreeMap::new();
        for (id, section) in sections.iter().rev() {
            let here = match (section.kind, section.half) {
                (SectionKind::End, Half::Egress) => self.at_exit(facts.get(&id)),
                // After ingress comes the traffic manager, then the first section of egress.
                (SectionKind::End, Half::Ingress) => {
                    let first = sections.first(Half::Egress);
                    self.before_egress(live.get(&first).cloned().unwrap_or_default())
                }
                _ => {
                    let Some(here) = facts.get(&id) else { continue };
                    self.code_backward(control(section.half), &section.code, here.clone(), &live)
                }
            };
            live.insert(id, here);
        }
        // No path reaches such a section, so any facts hold there.
        let unreached = self.start_facts();
        sections
            .iter()
            .map(|(id, _)| AtSection {
                facts: facts.remove(&id).unwrap_or_else(|| unreached.clone()),
                live: live.remove(&id).unwrap_or_default(),
            })
            .collect()
    }

    fn locals_forward(&self, control: ControlId, facts: Facts) -> Facts {
        let locals = &self.program.control(control).locals;
        locals.iter().fold(facts, |facts, stmt| self.stmt_forward(control, stmt, facts))
    }

    /// The traffic manager overwrites its part of the standard metadata.
    fn at_egress(&self, mut facts: Facts) -> Facts {
        self.standard_named(&arch::set_at_egress()).into_iter().for_each(|leaf| facts.write(leaf));
        self.standard(&[Meaning::ToPort]).into_iter().for_each(|leaf| facts.zero(leaf));
        // Clones start here too, with any headers and the metadata that they keep.
        if arch::makes_clones(&self.program) {
            (0..self.places.headers.len() as u32).for_each(|index| facts.forget(HeaderIndex(index)));
            self.kept(None).into_iter().for_each(|leaf| facts.write(leaf));
        }
        facts
    }

    fn before_egress(&self, mut live: Live) -> Live {
        for leaf in self.standard_named(&arch::set_at_egress()) {
            live.live.remove(leaf);
        }
        for leaf in self.standard_named(&arch::read_after_ingress()) {
            live.live.insert(leaf);
        }
        live
    }

    /// The facts after a control as a whole.
    fn whole_forward(&self, id: ControlId, facts: Facts) -> Facts {
        let facts = self.locals_forward(id, facts);
        self.block_forward(id, &self.program.control(id).body, facts)
    }

    /// Values live before a whole control.
    fn whole_backward(&self, id: ControlId, facts: &Facts, live: Live) -> Live {
        let control = self.program.control(id);
        let stmts = control.locals.iter().chain(&control.body.stmts).cloned().collect();
        self.block_backward(id, &Block { annotations: vec![], stmts }, facts, live)
    }

    /// Values that the deparser may read.
    pub fn deparser_reads(&self, facts: &Facts) -> Live {
        match arch::control(&self.program, Duty::Deparse) {
            Some(id) => self.whole_backward(id, facts, Live::default()),
            None => Live::default(),
        }
    }

    /// Behind egress come checksums, the deparser, and the port.
    fn at_exit(&self, facts: Option<&Facts>) -> Live {
        let facts = facts.cloned().unwrap_or_else(|| self.start_facts());
        let mut live = match arch::control(&self.program, Duty::Compute) {
            Some(id) => {
                let live = self.deparser_reads(&self.whole_forward(id, facts.clone()));
                self.whole_backward(id, &facts, live)
            }
            None => self.deparser_reads(&facts),
        };
        for leaf in self.standard_named(&arch::read_after_egress()).into_iter().chain(self.port()) {
            live.live.insert(leaf);
        }
        live
    }

    /// The value that says by which port a packet leaves.
    pub fn port(&self) -> Option<Leaf> {
        match self.port {
            Some(number) => self.places.leaf_at(RoleKey::Metadata, &[number as u32]),
            None => self.places.standard(Meaning::OutPort),
        }
    }

    /// The leaves of these fields of the standard metadata.
    pub fn standard(&self, meanings: &[Meaning]) -> Vec<Leaf> {
        meanings.iter().filter_map(|meaning| self.places.standard(*meaning)).collect()
    }

    /// The leaves of the fields of these names.
    fn standard_named(&self, names: &[&str]) -> Vec<Leaf> {
        names.iter().filter_map(|name| self.places.standard_named(name)).collect()
    }

    /// The leaves of a variable.
    pub fn leaves_of_var(&self, control: ControlId, var: VarId) -> Vec<Leaf> {
        let ty = self.program.control(control).vars[var.index()].ty.clone();
        let expr = Expr { kind: ExprKind::Var(var), ty, span: base_diag::Span::NONE };
        match self.places.covered(control, &expr) {
            Covered::Whole(leaves) | Covered::Part(leaves) => leaves,
            Covered::Nothing => vec![],
        }
    }

    /// Headers whose validity a write to `place` (which covers `leaves`) may change: all but a write to a field.
    pub fn headers_written_whole(&self, place: &Expr, leaves: &[Leaf]) -> BTreeSet<HeaderIndex> {
        match self.is_in_header(place) {
            true => BTreeSet::new(),
            false => leaves.iter().filter_map(|&leaf| self.places.info(leaf).header).collect(),
        }
    }

    /// True for a field of a header, or a part of one.
    fn is_in_header(&self, place: &Expr) -> bool {
        match &place.kind {
            ExprKind::Field(base, _)
            | ExprKind::Index(base, _)
            | ExprKind::Slice { base, .. }
            | ExprKind::SlicePlus { base, .. } => self.program.is_header(&base.ty) || self.is_in_header(base),
            _ => false,
        }
    }

    /// The validity of every header in a place that is not the packet's.
    pub fn validities(&self, control: ControlId, place: &Expr) -> Vec<Leaf> {
        match self.places.covered(control, place) {
            Covered::Whole(leaves) | Covered::Part(leaves) => {
                leaves.into_iter().filter(|&leaf| self.places.info(leaf).is_validity).collect()
            }
            Covered::Nothing => vec![],
        }
    }

    /// True for an instance of a frame extern.
    pub fn is_frame_extern(&self, instance: InstanceId) -> bool {
        let object = self.program.extern_object(self.program.instance(instance).object);
        arch::frame_extern(object).is_some()
    }

    /// Counting bytes reads how many there are.
    pub fn count(&self, instance: InstanceId, live: &mut LeafSet) {
        if let Some(length) = self.counted_length.filter(|_| arch::counts_bytes(&self.program, instance)) {
            live.insert(length);
        }
    }

    /// How each argument of a call passes.
    pub fn directions(&self, control: ControlId, call: &Call) -> Vec<Direction> {
        let of_vars = |vars: &[ir::Var], params: &[VarId]| -> Vec<Direction> {
            params
                .iter()
                .map(|p| match vars[p.index()].kind {
                    ir::VarKind::Param(direction) => direction,
                    ir::VarKind::Local => Direction::None,
                })
                .collect()
        };
        let of_signature =
            |params: &[ir::SignatureParam]| params.iter().map(|p| p.direction).collect::<Vec<_>>();
        match &call.callee {
            Callee::Function(id) => {
                let function = &self.program.functions[id.index()];
                of_vars(&function.vars, &function.params)
            }
            Callee::Action(id) => {
                let control = self.program.control(control);
                of_vars(&control.vars, &control.actions[id.index()].params)
            }
            Callee::Control(id) => {
                of_vars(&self.program.control(*id).vars, &self.program.control(*id).params)
            }
            Callee::Parser(id) => of_vars(&self.program.parser(*id).vars, &self.program.parser(*id).params),
            Callee::ExternFunction(id) => {
                of_signature(&self.program.extern_functions[id.index()].signature.params)
            }
            Callee::Method(instance, method) => {
                let object = self.program.extern_object(self.program.instance(*instance).object);
                of_signature(&object.methods[*method as usize].signature.params)
            }
            // The signature is not at hand: in and out covers every direction.
            Callee::ParamMethod(..) => call.args.iter().map(|_| Direction::InOut).collect(),
        }
    }

    /// Finds the parser's reads and writes, and which headers it certainly extracts before which others.
    fn read_parser(&mut self, parser: &Parser, by_var: &BTreeMap<VarId, RoleKey>) {
        let mut extracts: Vec<Vec<HeaderIndex>> = vec![];
        for state in &parser.states {
            let block = Block { annotations: vec![], stmts: state.stmts.clone() };
            let mut here = vec![];
            // An extraction inside an `if` is not sure: it says nothing of the headers before it.
            let sure: Vec<_> = block.stmts.iter().filter_map(|s| self.extracted_by(s, by_var)).collect();
            here.extend(sure);
            self.read_parser_block(&block, by_var, BTreeSet::new());
            if let Transition::Select(select) = &state.transition {
                for expr in &select.exprs {
                    self.parser_calls_of(expr, by_var);
                    self.parser_reads_of(expr, by_var);
                }
            }
            extracts.push(here);
        }
        self.oust_rivals(parser, by_var);
        self.parsed_before = Rc::new(dominating_extracts(parser, &extracts));
    }

    /// A header that is extracted after another member of its union makes that invalid.
    fn oust_rivals(&mut self, parser: &Parser, by_var: &BTreeMap<VarId, RoleKey>) {
        let mut extracted: Vec<(usize, HeaderIndex)> = vec![];
        for (index, state) in parser.states.iter().enumerate() {
            let block = Block { annotations: vec![], stmts: state.stmts.clone() };
            visit::stmts(&block, &mut |stmt| {
                extracted.extend(self.extracted_by(stmt, by_var).map(|header| (index, header)));
            });
        }
        for &(at, header) in &extracted {
            let rivals = &self.places.header(header).rivals;
            let ousted = |&(before, other): &(usize, HeaderIndex)| {
                rivals.contains(&other) && (before == at || reaches(parser, before, at))
            };
            self.stale_after_parser.extend(extracted.iter().filter(|e| ousted(e)).map(|(_, other)| *other));
        }
    }

    /// The header that a statement extracts.
    fn extracted_by(&self, stmt: &Stmt, by_var: &BTreeMap<VarId, RoleKey>) -> Option<HeaderIndex> {
        let StmtKind::Extract { header, .. } = &stmt.kind else { return None };
        let (RoleKey::Headers, path) = path_of(header, by_var)? else { return None };
        self.places.of_packet().find(|(_, h)| h.path == path).map(|(index, _)| index)
    }

    /// `sure` are the paths of headers that are valid before the block.
    fn read_parser_block(
        &mut self,
        block: &Block,
        by_var: &BTreeMap<VarId, RoleKey>,
        mut sure: BTreeSet<Vec<u32>>,
    ) {
        for stmt in &block.stmts {
            self.read_parser_stmt(stmt, by_var, &sure);
            visit::blocks(stmt, &mut |inner| self.read_parser_block(inner, by_var, sure.clone()));
            match &stmt.kind {
                StmtKind::Extract { header: place, .. } | StmtKind::SetValid(place, true) => {
                    let whole = steps_to(place, by_var).filter(|(.., there)| *there);
                    sure.extend(whole.map(|(_, path, _)| path));
                }
                StmtKind::Assign(place, _) if self.is_in_header(place) => {}
                StmtKind::Assign(place, _)
                    if !matches!(path_of(place, by_var), Some((RoleKey::Headers, _))) => {}
                StmtKind::Declare(..) | StmtKind::Verify(..) | StmtKind::Advance(..) => {}
                _ => sure.clear(),
            }
        }
    }

    fn read_parser_stmt(
        &mut self,
        stmt: &Stmt,
        by_var: &BTreeMap<VarId, RoleKey>,
        sure: &BTreeSet<Vec<u32>>,
    ) {
        visit::exprs(stmt, &mut |e| self.parser_calls_of(e, by_var));
        if let StmtKind::Call(call) = &stmt.kind {
            self.given_to(call, by_var);
        }
        // A field of a header that is valid leaves nothing in one that is not.
        let is_sure = |place: &Expr| {
            let field = self.is_in_header(place).then(|| path_of(place, by_var)).flatten();
            field.is_some_and(|(_, path)| sure.iter().any(|header| path.starts_with(header)))
        };
        match &stmt.kind {
            StmtKind::Extract { header, .. } => self.parser_writes_of(header, by_var),
            StmtKind::SetValid(place, true) => self.parser_ousts(place, by_var),
            StmtKind::SetValid(place, false) => self.parser_touches(place, by_var),
            StmtKind::Assign(place, value) => {
                if !is_sure(place) {
                    self.parser_touches(place, by_var);
                }
                self.parser_writes_of(place, by_var);
                self.parser_reads_of(value, by_var);
            }
            StmtKind::AssignOp(_, place, value) => {
                if !is_sure(place) {
                    self.parser_touches(place, by_var);
                }
                self.parser_writes_of(place, by_var);
                self.parser_reads_of(place, by_var);
                self.parser_reads_of(value, by_var);
            }
            _ => visit::exprs(stmt, &mut |e| self.parser_reads_of(e, by_var)),
        }
    }

    /// The calls in an expression.
    fn parser_calls_of(&mut self, expr: &Expr, by_var: &BTreeMap<VarId, RoleKey>) {
        visit::subexprs(expr, &mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                self.given_to(call, by_var);
            }
        });
    }

    /// A call may write its arguments.
    fn given_to(&mut self, call: &Call, by_var: &BTreeMap<VarId, RoleKey>) {
        for place in call.args.iter().flatten() {
            self.parser_touches(place, by_var);
            self.parser_writes_of(place, by_var);
        }
    }

    /// The parser changes something of a header by other means than extracting it.
    fn parser_touches(&mut self, place: &Expr, by_var: &BTreeMap<VarId, RoleKey>) {
        let Some((RoleKey::Headers, path)) = path_of(place, by_var) else { return };
        let related = |h: &crate::place::HeaderInfo| h.path.starts_with(&path) || path.starts_with(&h.path);
        let touched = self.places.of_packet().filter(|(_, h)| related(h));
        self.stale_after_parser.extend(touched.map(|(index, _)| index));
    }

    /// The parser makes a header valid, and by that invalid the other members of its union, if it has one.
    fn parser_ousts(&mut self, place: &Expr, by_var: &BTreeMap<VarId, RoleKey>) {
        let Some((RoleKey::Headers, path)) = path_of(place, by_var) else { return };
        let rivals = self.places.of_packet().filter(|(_, h)| h.path == path).flat_map(|(_, h)| &h.rivals);
        self.stale_after_parser.extend(rivals);
    }

    fn parser_reads_of(&mut self, expr: &Expr, by_var: &BTreeMap<VarId, RoleKey>) {
        metadata_read(expr, by_var, &self.places, &mut |leaf| {
            self.parser_reads.insert(leaf);
        });
    }

    fn parser_writes_of(&mut self, place: &Expr, by_var: &BTreeMap<VarId, RoleKey>) {
        for leaf in self.metadata_under(place, by_var) {
            self.parser_writes.insert(leaf);
        }
    }

    /// The metadata leaves at or below a place of the parser; none for anything else.
    fn metadata_under(&self, place: &Expr, by_var: &BTreeMap<VarId, RoleKey>) -> Vec<Leaf> {
        metadata_under(place, by_var, &self.places)
    }
}

/// For each header that is extracted in one state only: the headers extracted on every path before it.
fn dominating_extracts(
    parser: &Parser,
    extracts: &[Vec<HeaderIndex>],
) -> BTreeMap<HeaderIndex, BTreeSet<HeaderIndex>> {
    let all: BTreeSet<HeaderIndex> = extracts.iter().flatten().copied().collect();
    // Headers surely extracted when a state is entered: all, until a path shows otherwise.
    let mut at_entry = vec![all.clone(); parser.states.len()];
    if let Some(start) = at_entry.first_mut() {
        start.clear();
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (index, state) in parser.states.iter().enumerate() {
            let mut out = at_entry[index].clone();
            out.extend(&extracts[index]);
            for next in successors(&state.transition) {
                let before = at_entry[next].len();
                at_entry[next].retain(|h| out.contains(h));
                changed |= at_entry[next].len() != before;
            }
        }
    }
    let mut result: BTreeMap<HeaderIndex, BTreeSet<HeaderIndex>> = BTreeMap::new();
    for (index, headers) in extracts.iter().enumerate() {
        let mut so_far = at_entry[index].clone();
        for &header in headers {
            result
                .entry(header)
                .and_modify(|s| s.retain(|h| so_far.contains(h)))
                .or_insert_with(|| so_far.clone());
            so_far.insert(header);
        }
    }
    result
}
