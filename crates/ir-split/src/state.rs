//! State objects: which section touches which, and whether a placement keeps each at one device.

use crate::arch;
use crate::arch::counts_bytes;
use crate::section::{Code, Half, SectionId, Sections};
use ir::{Block, ControlId, InstanceId, Program, TableId};
use ir_state::{Apart, Touch, Uses, apart, calls_of_block, is_merged, order_matters, uses_of_block};
use p4_arch::Duty;
use std::collections::{BTreeMap, BTreeSet};

/// Objects that `code` of a control uses.
pub fn uses_of(program: &Program, control: ControlId, code: &[Code]) -> Uses {
    let mut uses = Uses::default();
    add_code(program, control, code, &mut uses);
    uses
}

fn add_code(program: &Program, control: ControlId, code: &[Code], uses: &mut Uses) {
    for piece in code {
        match piece {
            Code::Stmt(stmt) => uses.add_stmt(program, control, stmt),
            Code::If(cond, yes, no) => {
                uses.add_expr(program, control, cond);
                add_code(program, control, yes, uses);
                add_code(program, control, no, uses);
            }
            Code::Switch(on, cases) => {
                uses.add_switch(program, control, on);
                cases.iter().for_each(|c| add_code(program, control, &c.code, uses));
            }
            Code::Region(_, inner) => add_code(program, control, inner, uses),
            Code::Goto(_) => {}
        }
    }
}

/// Declarations that no code of a program uses; the control plane may still write them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Idle {
    /// Tables that are never applied, and the objects they use.
    pub tables: BTreeMap<ControlId, Uses>,
    /// Tables that are never applied, with actions that use an object of a table or statement that runs: they are kept
    /// without these actions' effects, which would pull the object to their device.
    pub hollow: BTreeMap<ControlId, BTreeSet<TableId>>,
    /// Objects that nothing calls, those of idle tables among them.
    pub instances: BTreeSet<InstanceId>,
}

/// Finds unused declarations. Tables that only handlers look up are used. An unapplied table that shares its profile with an applied
/// one is left out: it would pull the profile to its own device.
pub fn idle(program: &Program) -> Idle {
    let mut busy: BTreeSet<InstanceId> = used_before_ingress(program).into_keys().collect();
    let mut applied = BTreeMap::new();
    for index in 0..program.controls.len() {
        let id = ControlId::from(index);
        let uses = uses_of_block(program, id, &program.control(id).body);
        busy.extend(uses.instances.keys().copied());
        applied.insert(id, uses.tables);
    }
    let externs = busy.iter().filter_map(|id| program.value_extern(program.instance(*id)));
    let called: BTreeSet<&str> = externs.collect();
    let mut idle = Idle::default();
    for (id, applied) in applied {
        let mut uses = Uses::default();
        for table in (0..program.control(id).tables.len()).map(TableId::from) {
            let mut own = Uses::default();
            own.add_table(program, id, table);
            let declared = &program.control(id).tables[table.index()];
            // The device of its handler has it.
            let is_mirrored = declared.annotations.iter().any(|annotation| {
                annotation.name == "mirror" && annotation.as_str().is_some_and(|name| called.contains(name))
            });
            if applied.contains(&table) || is_mirrored {
                continue;
            }
            let objects = [declared.implementation, declared.counters, declared.meters];
            if own.instances.keys().all(|object| !busy.contains(object)) {
                uses.add_table(program, id, table);
            } else if objects.iter().flatten().all(|object| !busy.contains(object)) {
                idle.hollow.entry(id).or_default().insert(table);
            }
        }
        idle.tables.insert(id, uses);
    }
    let instances = (0..program.instances.len()).map(InstanceId::from);
    idle.instances = instances.filter(|i| !busy.contains(i)).collect();
    idle
}

/// Objects that the parser and checksum verification use: these run at the origin, before ingress.
pub fn used_before_ingress(program: &Program) -> BTreeMap<InstanceId, Touch> {
    let stmts = program.parsers.iter().flat_map(|p| &p.states).flat_map(|state| state.stmts.iter().cloned());
    let mut found = calls_of_block(program, &Block { annotations: vec![], stmts: stmts.collect() });
    if let Some(id) = arch::control(program, Duty::Verify) {
        found.extend(calls_of_block(program, &program.control(id).body));
    }
    found
}

/// Whether a packet's pass may use an object whose order of use matters, by half.
pub fn uses_in_order(program: &Program) -> BTreeMap<Half, bool> {
    let shows = |(object, _): (&InstanceId, &Touch)| order_matters(program, *object);
    let of_stage = |stage| {
        let id = arch::control(program, stage)?;
        Some(uses_of_block(program, id, &program.control(id).body).instances)
    };
    let mut ingress = used_before_ingress(program);
    ingress.extend(of_stage(Duty::Ingress).into_iter().flatten());
    let egress = of_stage(Duty::Egress).unwrap_or_default();
    [(Half::Ingress, ingress), (Half::Egress, egress)]
        .map(|(half, used)| (half, used.iter().any(shows)))
        .into()
}

/// A meter or counter of a table's entries.
pub fn is_direct(program: &Program, instance: InstanceId) -> bool {
    let object = program.extern_object(program.instance(instance).object);
    !object.user && matches!(object.name.as_str(), "direct_meter" | "direct_counter")
}

/// True of a handler: it keeps the state of each flow apart.
pub fn is_handler(program: &Program, object: InstanceId) -> bool {
    let object = program.extern_object(program.instance(object).object);
    object.annotations.iter().any(|annotation| annotation.name == "remote")
}

/// Two uses of one object that a placement separates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Separated {
    /// The object.
    pub instance: InstanceId,
    /// The first use.
    pub first: SectionId,
    /// The second.
    pub second: SectionId,
}

/// Finds objects that are used at several devices, or on both sides of a cut that one packet may pass. Counters may be, and merged registers, but
/// what a packet has read from one copy it must not write to another one.
pub fn separated(program: &Program, sections: &Sections, uses: &BTreeMap<SectionId, Uses>) -> Vec<Separated> {
    let mut by_object: BTreeMap<InstanceId, Vec<SectionId>> = BTreeMap::new();
    for (&section, used) in uses {
        used.instances.keys().for_each(|&i| by_object.entry(i).or_default().push(section));
    }
    by_object.retain(|i, _| apart(program, *i) != Apart::May || is_merged(program, *i));
    let beyond = beyond_a_cut(sections);
    let mut found = vec![];
    for (instance, users) in by_object {
        let pairs = users.iter().enumerate().flat_map(|(i, &a)| users[i + 1..].iter().map(move |&b| (a, b)));
        let touch = |section: &SectionId| uses[section].instances[&instance];
        let is_merged = is_merged(program, instance);
        let bad = pairs.into_iter().find(|&(a, b)| {
            let is_beyond = beyond[a.0 as usize].contains(&b);
            match is_merged {
                true => is_beyond && touch(&a).reads && touch(&b).writes && !touch(&b).reads,
                false => is_beyond || sections.get(a).device != sections.get(b).device,
            }
        });
        found.extend(bad.map(|(first, second)| Separated { instance, first, second }));
    }
    found
}

/// Objects that count bytes after a cut, each with a section that uses it there. A clone of egress may come from after
/// any cut.
pub fn counted_behind_a_cut(
    program: &Program,
    sections: &Sections,
    uses: &BTreeMap<SectionId, Uses>,
) -> Vec<(InstanceId, SectionId)> {
    let mut found: BTreeMap<InstanceId, SectionId> = BTreeMap::new();
    let clones = arch::makes_clones(program);
    let is_cut = !sections.cut_edges().is_empty();
    let is_behind =
        |id| sections.is_behind_a_cut(id) || is_cut && clones && sections.get(id).half == Half::Egress;
    for (&id, used) in uses.iter().filter(|(id, _)| is_behind(**id)) {
        let counted = used.instances.keys().filter(|i| counts_bytes(program, **i));
        counted.for_each(|&instance| {
            found.entry(instance).or_insert(id);
        });
    }
    found.into_iter().collect()
}

/// For each section, the sections that control may reach from it by a path with a cut edge in it.
fn beyond_a_cut(sections: &Sections) -> Vec<BTreeSet<SectionId>> {
    let count = sections.list.len();
    let mut reach: Vec<BTreeSet<SectionId>> = vec![BTreeSet::new(); count];
    let mut beyond: Vec<BTreeSet<SectionId>> = vec![BTreeSet::new(); count];
    for (id, section) in sections.iter().rev() {
        for next in sections.successors(id) {
            let (at, to) = (id.0 as usize, next.0 as usize);
            let mut all = reach[to].clone();
            all.insert(next);
            let far =
                if sections.get(next).device == section.device { beyond[to].clone() } else { all.clone() };
            beyond[at].extend(far);
            reach[at].extend(all);
        }
    }
    beyond
}
