//! `p4rack reproduce`: small runs; they show the order of numbers, not the numbers.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const NAMES: [&str; 18] = [
    "fig7", "fig9", "fig10", "fig11", "fig12", "fig13", "fig14", "fig18", "fig19", "fig20", "fig21", "fig22",
    "rtt", "stages", "table1", "table2", "table3", "table4",
];

fn reproduce(args: &[&str]) -> Output {
    reproduce_of("flightplan", args)
}

fn reproduce_of(paper: &str, args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack-experiments"));
    command.args(["reproduce", paper]).args(args).current_dir(root).output().expect("the binary runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(args: &[&str]) -> String {
    let output = reproduce(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// The rows of an experiment, each an object.
fn rows(args: &[&str]) -> Vec<Value> {
    let reported: Value = serde_json::from_str(&text(&[args, &["--format", "json"]].concat())).expect("JSON");
    assert_eq!((&reported["ok"], &reported["experiment"]), (&Value::Bool(true), &Value::from(args[0])));
    assert!(reported["set"].as_str().is_some_and(|set| !set.is_empty()));
    assert!(reported["leaves_out"].as_str().is_some_and(|out| !out.is_empty()));
    reported["rows"].as_array().expect("rows").clone()
}

/// The number that a cell begins with.
fn number(row: &Value, column: &str) -> f64 {
    let cell = row[column].as_str().unwrap_or_else(|| panic!("no `{column}` in {row}"));
    let end = cell.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(cell.len());
    cell[..end].parse().unwrap_or_else(|_| panic!("{cell}"))
}

#[test]
fn all_are_listed() {
    let list = text(&[]);
    assert_eq!(list.lines().filter_map(|line| line.split(' ').next()).collect::<Vec<_>>(), NAMES);
    let reported: Value = serde_json::from_str(&text(&["--format", "json"])).expect("JSON");
    assert_eq!(reported["experiments"].as_array().map(Vec::len), Some(NAMES.len()));
}

#[test]
fn mistakes_are_reported() {
    for (figure, words) in [("fig99", "fig9"), ("tabel1", "did you mean `table1`?")] {
        let output = reproduce(&[figure]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    let nowhere = reproduce(&["fig13", "--racks", "nowhere"]);
    assert_eq!(nowhere.status.code(), Some(1));
    for words in ["P4R0701", "nowhere/figure-13.toml", "`--racks DIR`"] {
        assert!(stderr(&nowhere).contains(words), "{}", stderr(&nowhere));
    }
    let unwritable = reproduce(&["fig13", "--html", "no/a.html"]);
    assert_eq!(unwritable.status.code(), Some(1));
    assert!(stderr(&unwritable).contains("`no/a.html` cannot be written"), "{}", stderr(&unwritable));
    let page = reproduce(&["fig9", "--html", "page.html"]);
    assert_eq!((page.status.code(), stderr(&page).contains("fig9 has no HTML page")), (Some(2), true));
}

/// The paper's numbers are beside ours; chosen parameters and omissions are below.
#[test]
fn stages_stand_beside_the_papers() {
    for (figure, paper) in [("fig10", "1.19Gbit/s of 10"), ("fig13", "almost three times as much")] {
        let text = text(&[figure, "--until", "3ms"]);
        for words in ["max  paper", paper, "10 TCP connections", "The model leaves out"] {
            assert!(text.contains(words), "no `{words}` in\n{text}");
        }
    }
}

/// Costs of plans are independent of runs. They are lower than in the paper with Tofinos; here an Arista has a board
/// for the tables.
#[test]
fn plans_cost_what_their_devices_cost() {
    let cell = |row: &Value, column: &str| row[column].as_str().expect("a cell").to_string();
    let found = rows(&["fig9"]);
    let costs: Vec<_> = found.iter().map(|row| (cell(row, "power"), cell(row, "cost"))).collect();
    let wanted = [("192.4W", "18"), ("301.1W", "15"), ("532.3W", "27"), ("867.6W", "30")];
    assert_eq!(costs, wanted.map(|(power, cost)| (power.to_string(), cost.to_string())));
    let plans = rows(&["fig11", "--until", "25ms"]);
    let powers: Vec<String> = plans[1..].iter().map(|row| cell(row, "power")).collect();
    assert_eq!(powers, ["192.4W", "247W", "301.1W"]);
}

#[test]
fn the_cache_keeps_reads_quick_at_any_rate() {
    let found = rows(&["fig12", "--until", "25ms"]);
    let read = found.iter().rfind(|row| row["requests"] == "get").expect("reads");
    assert!(number(read, "answered") < number(read, "answered with cache"), "{read}");
}

#[test]
fn short_headers_make_short_queues() {
    let found = rows(&["fig14", "--until", "60ms"]);
    assert!(number(&found[1], "queue, mean") < number(&found[0], "queue, mean"), "{found:?}");
}

#[test]
fn hand_overs_are_as_quick_as_on_the_testbed() {
    let quick = |row: &Value| number(row, "below 1us");
    let loads = rows(&["fig19", "--until", "3ms"]);
    let of = |load: &str| loads.iter().find(|row| row["load"] == load).map(quick).expect("the load is tried");
    assert!(of("30%") > 80.0 && of("50%") > 60.0 && of("90%") < of("50%"), "{loads:?}");
    let bursts = rows(&["fig20", "--until", "3ms"]);
    assert!(bursts.windows(2).all(|pair| quick(&pair[0]) >= quick(&pair[1])), "{bursts:?}");
    let pings = rows(&["fig18", "--until", "10ms"]);
    assert!(pings.iter().any(|row| row["paper"] == "+18.7%"), "{pings:?}");
}

#[test]
fn tables_stand_beside_the_papers() {
    for (table, count, column, paper) in [
        ("table1", 7, "paper's Gbit/s", "9.07"),
        ("table2", 18, "entry bits / paper", "88 / 179"),
        ("table3", 10, "paper's us", "5800"),
    ] {
        let found = rows(&[table, "--until", "2ms"]);
        assert_eq!(found.len(), count);
        assert_eq!(found[0][column], paper);
    }
}

/// Formulas and a short run; `clip scaling` is in the tests of `group-trials`.
#[test]
fn clips_figures_about_scaling() {
    let clip = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack-experiments"));
        let output = command.args(["reproduce", "clip"]).args(args).output().expect("the binary runs");
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let list = clip(&[]);
    let names: Vec<_> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        names,
        ["scaling", "fig5a", "fig5b", "fig6", "fig7", "fig8", "retransmissions", "table1", "table2"]
    );
    let reported: Value = serde_json::from_str(&clip(&["fig5a", "fig7", "--format", "json"])).expect("JSON");
    let rows = |at: usize| reported["results"][at]["rows"].as_array().expect("rows").clone();
    for row in rows(0).iter().filter(|row| row["paper"] != "") {
        assert_eq!(row["1 is near the bound"], row["paper"]);
    }
    let seconds = rows(1);
    for row in &seconds[..5] {
        for (place, paper) in [("server 1, Mpps", "server 1"), ("server 2", "server 2"), ("switch", "switch")]
        {
            let (ours, paper) = (number(row, place), row[format!("paper: {paper}")].as_str());
            let paper: f64 = paper.and_then(|text| text.parse().ok()).expect("a number");
            assert!((ours - paper).abs() < 0.1, "{row}");
        }
    }
    let summary = seconds[5]["time"].as_str().expect("a text");
    assert!(summary.starts_with("wrong 0, reordered 0, lost 0; "), "{summary}");
}

/// The program gives each segment the sender's verdict; tshark, where it is installed, flags as many segments.
#[test]
fn retransmissions_are_judged_beside_tshark() {
    let args = ["reproduce", "clip", "retransmissions", "--format", "json"];
    let output = Command::new(env!("CARGO_BIN_EXE_p4rack-experiments")).args(args).output();
    let output = output.expect("the binary runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let reported: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = reported["results"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 5);
    for row in rows {
        let cell = |column: &str| row[column].as_str().unwrap_or_else(|| panic!("no `{column}` in {row}"));
        let own = ["seen", "before the tap", "out of order"].map(cell);
        assert_eq!(cell("senders: after, before, overtaken"), own.join(", "), "{row}");
        assert_eq!(cell("unknown"), "0", "{row}");
        let count = |column: &str| cell(column).parse::<u64>().ok();
        if let (Some(again), Some(late)) = (count("tshark: retransmission"), count("tshark: out of order")) {
            let all: u64 = own.iter().map(|count| count.parse::<u64>().expect("a number")).sum();
            assert_eq!(again + late, all, "{row}");
        }
    }
    assert!(
        rows[1..]
            .iter()
            .all(|row| number(row, "seen") + number(row, "before the tap") + number(row, "out of order")
                > 200.0)
    );
}

/// The runs end soon after the failure.
#[test]
fn spares_take_over_before_much_is_lost() {
    let found = rows(&["fig22", "--until", "12ms"]);
    let row = |load: &str, failure: &str| {
        let is_it = |row: &&Value| row["load"] == load && row["failure"] == failure;
        found.iter().find(is_it).unwrap_or_else(|| panic!("{load}, {failure}")).clone()
    };
    let lost = |load: &str, failure: &str| number(&row(load, failure), "lost");
    for load in ["1 Gbit/s", "1%", "50%", "95%"] {
        assert_eq!(
            (&row(load, "nothing fails")["in use"], &row(load, "nothing fails")["changes"]),
            (&"f1".into(), &"0".into())
        );
        assert_eq!(row(load, "the same, no controller")["in use"], "f2");
    }
    for row in &found {
        // Packets still under way when the run ends count as lost without a failure, too.
        let ended = lost(row["load"].as_str().unwrap(), "nothing fails");
        assert!(number(row, "lost") <= number(row, "limit") + ended, "{row}");
    }
    assert!((6.0..=15.0).contains(&lost("1 Gbit/s", "the device dies")), "{found:?}");
    assert!(lost("95%", "the device dies") > lost("50%", "the device dies"));
}

#[test]
fn losses_by_congestion_are_bounded_by_the_threshold() {
    let found = rows(&["fig21", "--until", "10ms"]);
    let lost = |load: &str, threshold: &str| {
        let is_it = |row: &&Value| row["load"] == load && row["T"] == threshold;
        number(found.iter().find(is_it).unwrap_or_else(|| panic!("{load}, {threshold}")), "lost")
    };
    // A queue of 64 frames is more than ten times the smallest threshold by itself.
    for (threshold, most) in [("8", 120.0), ("32", 320.0), ("128", 1280.0)] {
        assert!(lost("200%", threshold) < most, "{found:?}");
        assert!(lost("200%", threshold) < lost("200%", "-"), "{found:?}");
    }
}

/// Everything arrives that may, the firewalls stop the rest, and the spare is in use in the end.
#[test]
fn a_fat_tree_of_many_programs_does_what_its_programs_say() {
    let found = rows(&["fig7"]);
    let cell = |row: &Value, column: &str| row[column].as_str().expect("a cell").to_string();
    let workloads: Vec<&Value> = found.iter().filter(|row| row["wanted"] != "").collect();
    assert_eq!(workloads.len(), 11);
    for row in workloads {
        let (received, wanted) = (number(row, "received"), cell(row, "wanted"));
        match wanted.strip_prefix(">= ") {
            Some(least) => assert!(received >= least.parse().expect("a number"), "{row}"),
            None => assert_eq!(cell(row, "received"), wanted, "{row}"),
        }
        assert_eq!(row["changed"], "0", "{row}");
    }
    let named = |name: &str| found.iter().find(|row| cell(row, "traffic").starts_with(name)).expect("a row");
    assert!(number(named("lost by links"), "received") > 50.0, "{found:?}");
    assert_eq!(named("fail-over of edge-1-1-wall,")["seen"], "in use: edge-1-1-wall2");
    assert_eq!(named("marked")["seen"], "ipv4.dscp 46: 30");
}

#[test]
fn a_hand_over_lengthens_round_trips() {
    let found = rows(&["rtt"]);
    assert_eq!(found.len(), 2);
    for row in found {
        let difference =
            row["difference"].as_str().and_then(|text| text.strip_prefix('+')).expect("it takes longer");
        let percent: f64 = difference.trim_end_matches('%').parse().expect("a number");
        assert!((0.1..100.0).contains(&percent), "{row}");
    }
}

/// Section 7.2: 10 stages with compression, 4 without; the numbers are those of the documentation.
#[test]
fn compression_takes_more_than_half_of_the_stages_of_a_router() {
    let found = rows(&["stages"]);
    let row = |name: &str| found.iter().find(|row| row["resource"] == name).expect("a row");
    let numbers = |name: &str| (number(row(name), "with"), number(row(name), "without"));
    assert_eq!(numbers("stages"), (9.0, 4.0));
    assert_eq!(numbers("stateful ALUs"), (20.0, 0.0));
    let (with, without) = numbers("SRAM");
    assert!((600.0..1000.0).contains(&(with - without)), "{with} and {without}");
}

/// Tests of the library look at Table II and at the restart of a switch with less data than the experiments have.
#[test]
fn systems_that_reduce_stand_beside_each_other() {
    if features::is_long() {
        let output = reproduce_of("p4com", &["table2", "restart", "--format", "json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let reported: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = [0, 1].map(|at| reported["results"][at]["rows"].as_array().expect("rows").len());
        assert_eq!(rows, [20, 6]);
    }
    let list = reproduce_of("p4com", &[]);
    let names = String::from_utf8(list.stdout).expect("text");
    for name in
        ["formula", "fig6", "fig7", "fig8", "table2", "memory", "skew-systems", "stragglers", "restart"]
    {
        assert!(names.lines().any(|line| line.split(' ').next() == Some(name)), "{name}: {names}");
    }
}

/// FlexSwitch's Table 3: on average short and medium transfers are many times as fast by RCP, and about as fast at the median. Long ones cannot be faster:
/// alone on the link they take a good part of their time by TCP.
#[test]
fn transfers_are_faster_by_rcp_as_far_as_the_link_allows() {
    let output = reproduce_of("flexswitch", &["table3", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let reported: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = reported["results"][0]["rows"].as_array().expect("rows");
    let transfers: f64 = rows.iter().map(|row| number(row, "transfers")).sum();
    assert_eq!((rows.len(), transfers), (3, 8000.0));
    // Mean, median and 95th percentile.
    let three = |row: &Value, column: &str| -> Vec<f64> {
        let cell = row[column].as_str().expect("text");
        cell.split(", ").map(|number| number.parse().expect("a number")).collect()
    };
    for (row, least) in rows.iter().zip([5.0, 5.0, 1.0]) {
        let [tcp, rcp] = ["TCP", "RCP"].map(|scheme| three(row, &format!("{scheme}: mean, median, p95")));
        let (ratio, alone, most) =
            (number(row, "ratio of means"), number(row, "alone"), number(row, "at most"));
        assert!(least <= ratio && ratio < most && alone < rcp[0], "{row}");
        assert!((tcp[0] / alone / most - 1.0).abs() < 0.05, "{row}");
    }
    let [tcp, rcp] = ["TCP", "RCP"].map(|scheme| three(&rows[0], &format!("{scheme}: mean, median, p95"))[1]);
    assert!(tcp < 1.5 * rcp && rcp < 1.5 * tcp, "{tcp} {rcp}");
    assert!(number(&rows[2], "at most") < 5.0, "{rows:?}");
    let nowhere = reproduce_of("flexswitch", &["table3", "--racks", "nowhere"]);
    assert_eq!(nowhere.status.code(), Some(1));
}

/// FlexSwitch's Table 6: all programs but CoDel's run on a limited switch.
#[test]
fn limited_switches_run_the_protocols() {
    let output = reproduce_of("flexswitch", &["table6", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let reported: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = reported["results"][0]["rows"].as_array().expect("rows");
    let with = |column: &str, text: &str| -> Vec<&str> {
        let rows = rows.iter().filter(|row| row[column].as_str().is_some_and(|cell| cell.starts_with(text)));
        rows.map(|row| row["protocol"].as_str().expect("a protocol")).collect()
    };
    assert_eq!((rows.len(), with("program", "examples/").len()), (18, 18));
    assert_eq!(with("limited switch", "no"), ["CoDel"]);
    assert_eq!(with("program", "examples/conga, "), ["WCMP", "Presto"]);
}

/// FlexSwitch's Table 4: a switch with the features of the paper's baseline takes about as much as that.
#[test]
fn a_baseline_switch_fits_a_tofino() {
    let output = reproduce_of("flexswitch", &["table4", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let reported: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = reported["results"][0]["rows"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["program"] == name).expect("a row");
    let (theirs, ours) = (row("paper: baseline"), row("ours: baseline"));
    assert_eq!(ours["fits"], "yes");
    for (column, most) in [("SRAM", 0.2), ("TCAM", 0.2), ("hash bits", 0.25), ("ALUs", 0.3)] {
        let ratio = number(ours, column) / number(theirs, column);
        assert!((ratio - 1.0).abs() < most, "{column}: {ratio}");
    }
    // With each protocol, too; what it adds is in the order of what the paper's adds.
    for (name, stages) in [("RCP", 12.0), ("XCP", 12.0), ("CONGA", 11.0)] {
        let with = row(&format!("ours: with {name}"));
        assert_eq!((&with["fits"], number(with, "stages")), (&Value::from("yes"), stages), "{name}");
        let [theirs, ours] = ["paper", "ours"].map(|whose| row(&format!("{whose}: {name} adds")));
        assert!(number(ours, "SRAM") < 10.0 + 3.0 * number(theirs, "SRAM"), "{name}");
    }
    // As in the documentation.
    let fits =
        ["DCTCP", "Seawall", "RCP", "XCP"].map(|name| row(&format!("ours: {name} alone"))["fits"].clone());
    assert_eq!(fits, ["yes", "yes", "no", "no"]);
}
