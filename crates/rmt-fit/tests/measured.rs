//! The model beside measurements of the open compiler's Tofino back end, for the generated families. The example `compare` does the
//! same for all programs; docs/fit.md has its table.

#[path = "../examples/compare/families.rs"]
mod families;
#[path = "../examples/compare/measured.rs"]
mod measured;

use base_diag::SourceMap;
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

/// Entries are counted in steps.
const ENTRIES: u64 = 1024;

/// The largest single table of each family on a Tofino 1: entries in the compiler, and in the model. docs/fit.md has this table. The search in the
/// compiler ended at 2,080,768 entries.
const LARGEST: [(&str, u64, u64); 10] = [
    ("exact_dst32", 2_080_768, 3_440_640),
    ("exact_mac48", 2_080_768, 2_211_840),
    ("exact_pair64", 1_720_320, 1_720_320),
    ("exact_five104", 999_424, 1_013_760),
    ("idle_five104", 917_504, 921_600),
    ("exact_v6", 868_352, 872_448),
    ("ternary_dst32", 147_456, 147_456),
    ("ternary_five104", 49_152, 49_152),
    ("ternary_v6", 49_152, 49_152),
    ("lpm_x", 147_456, 147_456),
];
const SEARCHED: u64 = 2_080_768;

fn table_fits(family: &str, entries: u64) -> bool {
    let text = families::program(&format!("{family}_{entries}")).expect("it is a family");
    let program = measured::elaborate_text(&text, 1, &mut SourceMap::new()).expect("it is right");
    let device = Device::built_in("tofino1").expect("it is built in");
    rmt_fit::fit(&program, &device).expect("it is lowered").fits()
}

#[test]
fn the_largest_table_of_each_family_is_within_ten_percent_of_the_compilers() {
    for (family, theirs, ours) in LARGEST {
        assert!(table_fits(family, ours), "{family}: {ours} entries do not fit");
        assert!(!table_fits(family, ours + ENTRIES), "{family}: more than {ours} entries fit");
        let is_near = ours.abs_diff(theirs) * 10 <= theirs;
        assert!(is_near || theirs == SEARCHED && ours > theirs, "{family}: {ours} and {theirs}");
    }
}
