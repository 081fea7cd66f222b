//! The model beside measurements of the open compiler's Tofino back end, for the generated families. The example `compare` does the
//! same for all programs; docs/fit.md has its table.

#[path = "../examples/compare/families.rs"]
mod families;
#[path = "../examples/compare/measured.rs"]
mod measured;

use rmt_fit::{Device, Fit, Resource};

/// Rows that are looked at without `P4RACK_ALL`: one in so many.
const STEP: usize = 5;

fn fit(row: &measured::Row) -> Option<Fit> {
    families::program(&row.program)?;
    let program = measured::program(row, "nowhere")?.ok()?;
    let name = if row.device == "tofino" { "tofino1" } else { "tofino2" };
    let device = Device::built_in(name).expect("it is built in");
    Some(rmt_fit::fit(&program, &device).expect("it is lowered"))
}

#[test]
fn the_families_take_what_was_measured() {
    let step = if features::is_long() { 1 } else { STEP };
    let (mut rows, mut wrong) = (0, vec![]);
    for row in measured::rows(include_str!("../testdata/measured.csv")).iter().step_by(step) {
        let Some(fit) = fit(row) else { continue };
        rows += 1;
        let total = |resource| fit.pipes.iter().map(|p| u64::from(p.total()[resource])).sum::<u64>();
        let stages = fit.pipes[0].placement.stages.len() as u64;
        let tagalong: u32 = fit.pipes[0].phv.iter().map(|c| c.tagalong).sum();
        // The report of a program with a table that finds no stage ends before it.
        let last = row.get("last_stage").filter(|_| fit.pipes[0].placement.unplaced.is_empty());
        let near =
            |ours: u64, theirs: Option<u64>| theirs.is_none_or(|theirs| ours.abs_diff(theirs) * 10 <= theirs);
        let good = fit.fits() == (row.get("fits") == Some(1))
            && last.is_none_or(|last| last.abs_diff(stages) <= 1)
            && (last.is_none() || near(total(Resource::Sram), row.get("sram")))
            && near(total(Resource::Tcam), row.get("tcam"))
            && near(total(Resource::MapRam), row.get("map_ram"))
            && (last.is_none() || near(u64::from(tagalong), Some(row.tagalong())));
        if !good {
            wrong.push(format!("{} {}", row.program, row.device));
        }
    }
    assert!(rows >= 100 / step, "{rows} rows");
    assert_eq!(wrong, Vec::<String>::new());
}
