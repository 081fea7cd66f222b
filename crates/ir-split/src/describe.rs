//! The sections and the values that travel to them, for people.

use crate::analysis::Analysis;
use crate::layout::LiveField;
use crate::section::{Section, SectionId};
use crate::split::{LiveValue, SectionInfo, Split};
use crate::witness::Witnesses;
use ir::{Name, Program};
use ir_state::Uses;
use std::collections::BTreeSet;

/// The split of an analysed program, without the devices' programs.
pub fn describe(a: &Analysis<'_>) -> Split {
    let witnesses = Witnesses::new(&a.flow, &a.sections, (a.ingress, a.egress));
    let layout = a.layout.as_ref().ok();
    let live_value = |id: SectionId, field: &LiveField| LiveValue {
        name: a.places().info(field.leaf).name.clone(),
        bits: field.width,
        writer: witnesses.writer(id, field.leaf),
        reader: witnesses.reader(id, field.leaf),
    };
    let object = |i: &ir::InstanceId| a.program.instance(*i).control_plane_name.clone();
    let info = |(id, s): (SectionId, &Section)| {
        let tables = &a.program.control(a.control(s.half)).tables;
        let used = &a.uses[&id];
        let fields = layout.and_then(|layout| layout.sections.get(&id));
        SectionInfo {
            name: s.name.clone(),
            region: s.region.clone(),
            half: s.half,
            kind: s.kind,
            device: s.device,
            call: s.call,
            tables: used.tables.iter().map(|t| tables[t.index()].control_plane_name.clone()).collect(),
            state: used.instances.keys().map(object).collect(),
            externs: own_externs(&a.program, used),
            live: fields.map(|fields| fields.iter().map(|f| live_value(id, f)).collect()),
        }
    };
    Split {
        sections: a.sections.iter().map(info).collect(),
        edges: a.sections.edges().collect(),
        common_bits: layout.map_or(0, |layout| layout.common_bits()),
        common: layout.map(|layout| layout.common.clone()).unwrap_or_default(),
        counted_behind_a_cut: a.counted.iter().map(|(instance, _)| object(instance)).collect(),
        ..Split::default()
    }
}

fn own_externs(program: &Program, used: &Uses) -> Vec<Name> {
    let instances = used.instances.keys().map(|id| program.instance(*id));
    let objects = instances.filter_map(|i| program.frame_extern(i).or_else(|| program.value_extern(i)));
    let functions = used.functions.iter().map(|id| &program.extern_functions[id.index()]);
    let functions = functions.filter_map(|function| function.value_extern()?.as_str());
    let names: BTreeSet<Name> = objects.chain(functions).map(Name::from).collect();
    names.into_iter().collect()
}
