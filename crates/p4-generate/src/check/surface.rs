//! Control-plane view of a program.

use ir::{Program, Type};
use std::collections::BTreeSet;

/// One line for each table, key, action, instance and value set, by their control-plane names.
pub(super) fn surface(program: &Program) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let width = |ty: &Type| program.bits(ty).map_or("no".to_string(), |bits| bits.to_string());
    for control in &program.controls {
        for table in &control.tables {
            let name = &table.control_plane_name;
            all.insert(format!("table {name} of {:?}, constant: {}", table.size, table.const_entries));
            for (at, key) in table.keys.iter().enumerate() {
                let bits = width(&key.expr.ty);
                all.insert(format!("key {at} of {name}: {} {:?} {bits} bits", key.name, key.match_kind));
            }
            for run in &table.actions {
                let Some(action) = control.actions.get(run.action.index()) else { continue };
                all.insert(format!("action {} of {name}", action.control_plane_name));
                let data = action.params.iter().skip(run.args.len());
                for param in data.filter_map(|p| control.vars.get(p.index())) {
                    let bits = width(&param.ty);
                    all.insert(format!("data {} of {}: {bits} bits", param.name, action.control_plane_name));
                }
            }
        }
    }
    for instance in &program.instances {
        let object = &program.extern_object(instance.object).name;
        all.insert(format!("{object} {}", instance.control_plane_name));
    }
    for set in program.parsers.iter().flat_map(|p| &p.value_sets) {
        all.insert(format!("value set {} of {}", set.control_plane_name, set.size));
    }
    all
}
