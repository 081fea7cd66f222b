//! Fig. 16: how apps become one program, step by step. The rack is `examples/pinned/apps.toml`.

use super::gateway::failed;
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::Diagnostic;
use ir::{Program, Table as IrTable};
use p4rack::pinned::PinnedApp;
use p4rack::rack::{Racked, SplitApp};
use rack_emulator::Table;
use std::time::Instant;

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig16",
    about: "The five steps by which apps become one program, in the program that is printed for the switch: names, sizes, flow managers, instances and the choice of the app. The paper merges two sets of four apps in 642 ms.",
    set: "a firewall, an access list and a NAT with 4,096 flows each at the switch. The time is that of reading the rack: three programs are checked, merged and split, and the parts of three devices are printed and read again.",
    leaves_out: "the paper's compiler for the switch, which comes after; the paper merges controls and does not say how it merges parsers: each app has its own states here.",
    run,
};

/// An app in the program of the switch, after the five steps.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Merged {
    name: String,
    /// Tables of the app alone, and those of them with the app's prefix; and the prefix.
    renamed: (usize, usize, String),
    /// Entries of the copies of tables.
    sizes: Vec<(String, u64)>,
    /// Entries and parts of the key of the flow manager.
    flow_manager: (u64, usize),
    /// Objects that packets write at the switch.
    objects: usize,
    /// Value by which the parser names the app.
    number: u8,
}

fn tables(program: &Program) -> impl Iterator<Item = &IrTable> {
    program.controls.iter().flat_map(|control| &control.tables)
}

fn last(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_string()
}

/// An app in the program of the switch; none if it is not merged with others.
fn merged(app: &SplitApp, one: &PinnedApp) -> Option<Merged> {
    let share = one.share.as_ref()?;
    let part = app.parts.get(app.placement.origin().0 as usize)?.as_ref()?;
    let at_switch = |name: &str| {
        let merged = share.name(name);
        tables(&part.program).find(|table| table.control_plane_name == merged)
    };
    let manager = at_switch(one.pinned.flow_manager.as_ref()?)?;
    let whole: Vec<&IrTable> = tables(&app.whole)
        .filter(|table| share.own_name(&table.control_plane_name).is_some_and(|own| own != "NoAction"))
        .collect();
    let copies = one.pinned.tables.iter();
    let sizes =
        copies.filter_map(|copy| Some((last(&copy.resident), at_switch(&copy.resident)?.size?))).collect();
    let objects = part.program.instances.iter();
    let objects = objects.filter(|object| share.own_name(&object.control_plane_name).is_some());
    Some(Merged {
        name: one.model.name.value.clone(),
        renamed: (tables(&one.pinned.program).count(), whole.len(), share.prefix.to_string()),
        sizes,
        flow_manager: (manager.size?, manager.keys.len()),
        objects: objects.count(),
        number: share.number,
    })
}

/// The apps of the rack after the five steps, and milliseconds to read the rack.
#[allow(clippy::disallowed_methods)]
fn measured(lab: &mut Lab<'_>) -> Result<(Vec<Merged>, Racked, f64), Vec<Diagnostic>> {
    (lab.show_progress)("merging");
    let begun = Instant::now();
    let racked = lab.rack("apps.toml")?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    let of = |app: &SplitApp| app.pinned.iter().map(|one| merged(app, one)).collect::<Option<Vec<_>>>();
    let all = racked.apps.first().and_then(of).filter(|all| all.len() == 3);
    let all = all.ok_or_else(|| failed("three apps share the switch of `apps.toml`"))?;
    Ok((all, racked, ms))
}

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let (apps, _, ms) = measured(lab)?;
    let mut rows: Vec<[String; 5]> = vec![];
    let mut step = |step: &str, paper: &str, of: &dyn Fn(&Merged) -> String| {
        let [one, two, three] = [0, 1, 2].map(|at| apps.get(at).map_or_else(String::new, of));
        rows.push([step.to_string(), one, two, three, paper.to_string()]);
    };
    step("app", "", &|app| app.name.clone());
    step("1: names", "the main control is renamed", &|app| {
        format!("{} of {} tables with `{}.`", app.renamed.1, app.renamed.0, app.renamed.2)
    });
    step("2: sizes of objects", "by the allocation", &|app| {
        let sizes = app.sizes.iter().map(|(table, size)| format!("{table} {size}"));
        sizes.collect::<Vec<_>>().join(", ")
    });
    step("3: flow manager", "a table over the union key", &|app| {
        format!("{} entries, a key of {} parts", app.flow_manager.0, app.flow_manager.1)
    });
    step("4: instances", "one of each app's control", &|app| format!("{} objects of its own", app.objects));
    step("5: choice of the app", "in the merged control", &|app| {
        format!("app {} in the parser, by its class", app.number)
    });
    rows.push([
        "time of all steps".into(),
        format!("{ms:.0} ms"),
        String::new(),
        String::new(),
        "642 ms for two sets of four apps".into(),
    ]);
    let titles = ["<step", "<first app", "<second app", "<third app", "<paper"];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_steps_have_been_made_for_each_app() {
        let mut lab = Lab::of_examples("pinned");
        let (apps, racked, _) = measured(&mut lab).unwrap();
        let names: Vec<&str> = apps.iter().map(|app| app.name.as_str()).collect();
        assert_eq!(names, ["firewall", "acl", "nat"]);
        let numbers: BTreeSet<u8> = apps.iter().map(|app| app.number).collect();
        assert_eq!(numbers.len(), 3, "each app has a number of its own: {apps:?}");
        for app in &apps {
            let (alone, prefixed, prefix) = &app.renamed;
            assert!(alone == prefixed && *prefix == app.name, "{app:?}");
            assert_eq!(app.flow_manager.0, 4096);
            assert!(app.flow_manager.1 > 1 && !app.sizes.is_empty(), "{app:?}");
        }
        // Tables of as many entries as flows are whole, and larger ones have as many entries as flows.
        for (app, table) in
            [("firewall", "outbound_resident"), ("acl", "rules_resident"), ("nat", "outbound_resident")]
        {
            let app = apps.iter().find(|of| of.name == app).expect("it is there");
            assert!(app.sizes.contains(&(table.to_string(), 4096)), "{app:?}");
        }
        // One program for all: no two tables have one name.
        let whole = &racked.apps[0].whole;
        let unique: BTreeSet<&str> = tables(whole).map(|table| table.control_plane_name.as_str()).collect();
        assert_eq!(unique.len(), tables(whole).count());
    }
}
