//! Pinned programs: whatever flows are resident, the pinned program does what the program does.
//!
//! The program is pinned, printed and compiled again. Flows of the inputs become resident at random. A resident copy of a table gets the
//! entries that packets of resident flows hit, and the original those that packets of other flows hit, so that a look-up in the wrong
//! one shows.

use crate::check::{Finding, Outcome, Step, compile, finding, first_line, options, run};
use crate::inputs::{Inputs, Packet, Write, inputs};
use base_bits::Bits;
use base_time::Rng;
use control_writes::{Match, Run};
use device::EventKind;
use ir::{Name, Program, StmtKind, Type};
use ir_pin::{Pinned, Request, pin};
use ir_prove::generate::EntrySpec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A program, and how it is to be pinned.
pub struct Trial<'a> {
    /// The program.
    pub program: Arc<Program>,
    /// Request for pinning.
    pub request: Request,
    /// Changes the pinned program before it runs, to see whether that is noticed.
    pub fault: Option<&'a dyn Fn(&mut Program)>,
}

/// How a trial ended in which nothing was wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tried {
    /// Pinning was refused, for these reasons.
    Refused(Vec<String>),
    /// Everything was the same.
    Same {
        /// Packets of resident flows, and of others.
        packets: [usize; 2],
        /// Frames that came out.
        frames: usize,
        /// Entries in resident copies.
        entries: usize,
    },
}

/// The key of a flow.
type Flow = Vec<Bits>;

impl Trial<'_> {
    /// The trial with inputs and resident flows drawn from `seed`.
    pub fn run(&self, packets: usize, seed: u64) -> Result<Tried, Finding> {
        let pinned = match pin(&self.program, &self.request) {
            Ok(pinned) => pinned,
            Err(found) => {
                let why = found.iter().map(|d| format!("{} ({})", d.title, d.code));
                return Ok(Tried::Refused(why.collect()));
            }
        };
        if let Some(problem) = target_p4::check(&pinned.program).first() {
            return Ok(Tried::Refused(vec![problem.title.clone()]));
        }
        let text = target_p4::print(&pinned.program);
        let program = compile(&text)
            .map_err(|refusal| finding(Step::Pin, refusal.title, format!("{}\n{text}", refusal.text)))?;
        let given = inputs(&self.program, packets, seed);
        self.compare(&pinned, program, &given, &mut Rng::new(seed).split("flows")).map_err(|found| {
            let details = format!("{}\n{text}", found.details);
            Finding { details, ..found }
        })
    }

    fn compare(
        &self,
        pinned: &Pinned,
        mut program: Program,
        given: &Inputs,
        rng: &mut Rng,
    ) -> Result<Tried, Finding> {
        let wrong = |why: String| finding(Step::Pin, first_line(&why), why);
        let manager = pinned.flow_manager.clone().unwrap_or_default();
        let flows = flows(&Arc::new(program.clone()), given, &manager).map_err(wrong)?;
        let in_source = in_source(&self.program, pinned).map_err(wrong)?;
        let touched = touched(&self.program, given, &in_source).map_err(wrong)?;
        let all: BTreeSet<&Flow> = flows.iter().flatten().collect();
        let resident: BTreeSet<&Flow> = all.into_iter().filter(|_| rng.next_bool()).collect();
        let is_resident = |flow: &Flow| resident.contains(flow);
        let (mut inside, mut outside) = (BTreeSet::new(), BTreeSet::new());
        for (flows, touched) in flows.iter().zip(&touched) {
            if flows.iter().any(is_resident) {
                inside.extend(touched.iter().copied());
            }
            if !flows.iter().all(is_resident) {
                outside.extend(touched.iter().copied());
            }
        }
        if let Some(fault) = self.fault {
            fault(&mut program);
        }
        let program = Arc::new(program);
        // Entries of the source are in the originals, and copies begin without them.
        let mut writes: Vec<Write> = vec![];
        for (at, (_, write)) in in_source.iter().enumerate() {
            writes.extend(
                inside.contains(&(given.writes.len() + at)).then(|| copy_of(pinned, write)).flatten(),
            );
        }
        for (at, write) in given.writes.iter().enumerate() {
            let copied = copy_of(pinned, write);
            match (write, copied) {
                (Write::Entry(spec), Some(copy)) if !pinned.whole.contains(&spec.table) => {
                    writes.extend(outside.contains(&at).then(|| write.clone()));
                    writes.extend(inside.contains(&at).then_some(copy));
                }
                (_, Some(copy)) => writes.extend([write.clone(), copy]),
                (_, None) => writes.push(write.clone()),
            }
        }
        let parts = keys_of(&program, &manager);
        for flow in &resident {
            // Fewer, if there is a fault.
            let keys = flow.iter().take(parts).cloned().map(Match::Exact).collect();
            let action = pinned.resident_action.clone().unwrap_or_default();
            let entry = EntrySpec { table: manager.clone(), keys, action, args: vec![], priority: None };
            writes.push(Write::Entry(entry));
        }
        let alone = run(&self.program, given).map_err(wrong)?;
        let pinned_inputs = Inputs { writes, packets: given.packets.clone() };
        let together = run(&program, &pinned_inputs).map_err(wrong)?;
        self.check_parts(pinned, given, &together, &flows, &is_resident).map_err(wrong)?;
        let count = |wanted: bool| {
            flows.iter().filter(|flows| flows.iter().any(|f| is_resident(f) == wanted)).count()
        };
        let tried = Tried::Same {
            packets: [count(true), count(false)],
            frames: alone.outputs.iter().map(Vec::len).sum(),
            entries: inside.len(),
        };
        let together = Outcome {
            refused: alone.refused.clone(),
            state: joined(&self.program, pinned, together.state),
            ..together
        };
        match alone.difference(&together) {
            Some(difference) => Err(finding(Step::Pin, "the pinned program does something else", difference)),
            None => Ok(tried),
        }
    }
}

impl Trial<'_> {
    /// Objects at helpers have what packets of other flows than the resident ones have left there, and nothing else. Where chance decides, or
    /// a packet belongs to several flows, that is not known.
    fn check_parts(
        &self,
        pinned: &Pinned,
        given: &Inputs,
        together: &Outcome,
        flows: &[Vec<Flow>],
        is_resident: &dyn Fn(&Flow) -> bool,
    ) -> Result<(), String> {
        let by_chance = self.program.extern_functions.iter().any(|f| f.name == "random");
        if by_chance || pinned.objects.is_empty() || flows.iter().any(|flows| flows.len() > 1) {
            return Ok(());
        }
        let outside = given.packets.iter().zip(flows).filter(|(_, flows)| !flows.iter().any(is_resident));
        let packets = outside.map(|(packet, _)| packet.clone()).collect();
        let alone = run(&self.program, &Inputs { writes: given.writes.clone(), packets })?;
        for copy in &pinned.objects {
            let name = copy.original.as_str();
            let (expected, found) = (alone.state.get(name), together.state.get(name));
            if expected != found {
                return Err(format!("`{name}` at helpers: {expected:?} against {found:?}"));
            }
        }
        Ok(())
    }
}

/// The flows that each packet is looked up as, if none is resident.
fn flows(program: &Arc<Program>, given: &Inputs, manager: &Name) -> Result<Vec<Vec<Flow>>, String> {
    each_packet(program, given, &mut |events| {
        let mut found = vec![];
        for event in events {
            if let EventKind::Table { table, keys, .. } = event
                && table == manager
            {
                found.push(keys.iter().filter_map(|key| key.value.bits().cloned()).collect());
            }
        }
        found
    })
}

/// Entries that the source gives to tables that are copied by entry and may change, with their handles.
fn in_source(program: &Arc<Program>, pinned: &Pinned) -> Result<Vec<(u64, Write)>, String> {
    let switch = ir_interp::switch(Arc::clone(program), options()).map_err(|found| format!("{found:?}"))?;
    let mut found = vec![];
    let tables = program.controls.iter().flat_map(|control| &control.tables);
    for table in tables.filter(|table| !table.const_entries) {
        let name = &table.control_plane_name;
        if pinned.whole.contains(name) || !pinned.tables.iter().any(|copy| copy.original == *name) {
            continue;
        }
        for entry in switch.table_entries(name).map_err(|refused| refused.message)? {
            let Run::Action(call) = entry.run else { continue };
            let keys = entry.key.matches.to_vec();
            let spec = EntrySpec {
                table: name.clone(),
                keys,
                action: call.action,
                args: call.args,
                priority: Some(entry.key.priority),
            };
            found.push((entry.handle, Write::Entry(spec)));
        }
    }
    Ok(found)
}

/// The writes whose entries each packet hits; those of the source are numbered after the given ones.
fn touched(
    program: &Arc<Program>,
    given: &Inputs,
    in_source: &[(u64, Write)],
) -> Result<Vec<Vec<usize>>, String> {
    let mut by_handle: BTreeMap<(Name, u64), usize> = BTreeMap::new();
    for (at, (handle, write)) in in_source.iter().enumerate() {
        if let Write::Entry(spec) = write {
            by_handle.insert((spec.table.clone(), *handle), given.writes.len() + at);
        }
    }
    let mut switch =
        ir_interp::switch(Arc::clone(program), options()).map_err(|found| format!("{found:?}"))?;
    for (at, write) in given.writes.iter().enumerate() {
        if let Write::Entry(e) = write
            && let Ok(handle) = switch.table_add(&e.table, &e.keys, &e.action, &e.args, e.priority)
        {
            by_handle.insert((e.table.clone(), handle), at);
        }
    }
    each_packet(program, given, &mut |events| {
        let mut found = vec![];
        for event in events {
            if let EventKind::Table { table, hit: Some(hit), .. } = event {
                found.extend(by_handle.get(&(table.clone(), hit.handle)).copied());
            }
        }
        found
    })
}

/// Applies `f` to the trace of each packet.
fn each_packet<T>(
    program: &Arc<Program>,
    given: &Inputs,
    f: &mut dyn FnMut(&[EventKind]) -> T,
) -> Result<Vec<T>, String> {
    let mut switch =
        ir_interp::switch(Arc::clone(program), options()).map_err(|found| format!("{found:?}"))?;
    for write in &given.writes {
        // The reference has refused it, too.
        let _ = write.apply(&mut switch);
    }
    switch.set_trace(true);
    let mut made = vec![];
    for Packet { port, frame, at } in &given.packets {
        switch.process(*port, frame, *at);
        let events: Vec<EventKind> = switch.take_trace().into_iter().map(|event| event.kind).collect();
        made.push(f(&events));
    }
    Ok(made)
}

/// The write for the resident copy, if there is one.
fn copy_of(pinned: &Pinned, write: &Write) -> Option<Write> {
    let moved = |spec: &EntrySpec| {
        let table: Name = pinned.resident(&spec.table).into();
        let action = pinned.resident(&spec.action).into();
        (table != spec.table).then(|| EntrySpec { table, action, ..spec.clone() })
    };
    match write {
        Write::Entry(spec) => moved(spec).map(Write::Entry),
        Write::Default(spec) => moved(spec).map(Write::Default),
        _ => None,
    }
}

fn keys_of(program: &Program, table: &Name) -> usize {
    let mut tables = program.controls.iter().flat_map(|c| &c.tables);
    tables.find(|t| t.control_plane_name == *table).map_or(0, |t| t.keys.len())
}

/// State of the pinned program, with each object and its copy together.
fn joined(
    program: &Program,
    pinned: &Pinned,
    mut state: BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, Vec<u8>> {
    for copy in &pinned.objects {
        let Some(resident) = state.remove(copy.resident.as_str()) else { continue };
        let Some(instance) = program.instances.iter().find(|i| i.control_plane_name == copy.original) else {
            continue;
        };
        let original = state.remove(copy.original.as_str()).unwrap_or_default();
        let sum = match program.extern_object(instance.object).name.as_str() {
            "register" => {
                let width = instance.type_args.first().and_then(|ty: &Type| program.bits(ty)).unwrap_or(1);
                add_cells(&original, &resident, width as usize)
            }
            _ => device::add_counts(&original, &resident),
        };
        state.insert(copy.original.to_string(), sum);
    }
    state
}

/// Adds registers cell by cell: an index of eight bytes, then the value.
fn add_cells(one: &[u8], other: &[u8], width: usize) -> Vec<u8> {
    let cell = 8 + width.div_ceil(8);
    let shift = (8 - width % 8) % 8;
    let mut sums: BTreeMap<[u8; 8], u128> = BTreeMap::new();
    for cell in one.chunks_exact(cell).chain(other.chunks_exact(cell)) {
        let value = cell[8..].iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte)) >> shift;
        let index = <[u8; 8]>::try_from(&cell[..8]).unwrap_or_default();
        let sum = sums.entry(index).or_default();
        *sum = sum.wrapping_add(value) & (u128::MAX >> (128 - width.min(128)));
    }
    let bytes = |value: u128| ((value << shift).to_be_bytes()[16 - width.div_ceil(8)..]).to_vec();
    let nonzero = sums.into_iter().filter(|(_, value)| *value != 0);
    nonzero.flat_map(|(index, value)| [index.to_vec(), bytes(value)].concat()).collect()
}

/// Up to `most` parts of a flow's key: numbers in headers, and the port.
pub fn some_key(program: &Program, most: usize, rng: &mut Rng) -> Vec<Name> {
    let Some(ingress) = program.stage_control("ingress").map(|id| program.control(id)) else { return vec![] };
    let roles = program.stage("ingress").map(|stage| stage.roles.clone()).unwrap_or_default();
    let mut all: Vec<String> = vec![];
    for (role, id) in roles.iter().zip(&ingress.params) {
        let var = &ingress.vars[id.index()];
        match role {
            ir::Role::Headers => parts(program, &var.ty, var.name.to_string(), &mut all),
            ir::Role::StandardMetadata => all.push(format!("{}.ingress_port", var.name)),
            _ => {}
        }
    }
    rng.shuffle(&mut all);
    all.truncate(most);
    all.into_iter().map(Name::from).collect()
}

fn parts(program: &Program, ty: &Type, name: String, all: &mut Vec<String>) {
    match program.representation(ty) {
        Type::Bit(1..) => all.push(name),
        Type::Stack(element, _) => parts(program, element, format!("{name}[0]"), all),
        named @ Type::Named(_) => {
            for field in program.fields(named) {
                parts(program, &field.ty, format!("{name}.{}", field.name), all);
            }
        }
        _ => {}
    }
}

/// The program without what only one place can have: meters, registers, profiles and objects with memory are not used.
pub fn tamed(program: &Program) -> Program {
    let mut tame = program.clone();
    let exclusive: BTreeSet<ir::InstanceId> = (0..program.instances.len())
        .map(ir::InstanceId::from)
        .filter(|id| ir_state::mode_of(program, *id) == ir_state::Mode::Exclusive)
        .collect();
    let is_call = |stmt: &ir::Stmt| match &stmt.kind {
        StmtKind::Call(call) => matches!(call.callee, ir::Callee::Method(id, _) if exclusive.contains(&id)),
        _ => false,
    };
    let functions = tame.functions.iter_mut().map(|function| &mut function.body);
    let mut blocks: Vec<&mut ir::Block> = functions.collect();
    for control in &mut tame.controls {
        for table in &mut control.tables {
            table.meters = None;
            table.implementation = None;
            table.keys.retain(|key| key.match_kind != ir::MatchKind::Selector);
        }
        blocks.extend(control.actions.iter_mut().map(|action| &mut action.body));
        blocks.push(&mut control.body);
    }
    for block in blocks {
        without(block, &is_call);
    }
    tame
}

fn without(block: &mut ir::Block, unwanted: &dyn Fn(&ir::Stmt) -> bool) {
    block.stmts.retain(|stmt| !unwanted(stmt));
    for stmt in &mut block.stmts {
        ir::visit::blocks_mut(stmt, &mut |inner| without(inner, unwanted));
    }
}
