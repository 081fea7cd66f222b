//! `p4rack sweep`: rows are those of `p4rack up`, in the order of the combinations, however many run at a time.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn p4rack(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_p4rack")).args(args).current_dir(root).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn rows(args: &[&str]) -> Vec<Value> {
    let output = p4rack(&[&["sweep", "examples/slice", "--format", "json"], args].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    said["rows"].as_array().expect("rows").clone()
}

#[test]
fn rows_are_the_reports_of_single_runs() {
    let up = |seed: &str| -> Value {
        let output = p4rack(&["up", "examples/slice", "--seed", seed, "--format", "json"]);
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let found = rows(&["--seeds", "3,2", "--set", "link[1].loss=0.5%,0%", "--jobs", "3"]);
    let of = |loss: &str, seed: u64| -> Vec<&Value> {
        found.iter().filter(|row| row["link[1].loss"] == loss && row["seed"] == seed).collect()
    };
    let order: Vec<(&str, u64)> = found
        .iter()
        .map(|row| (row["link[1].loss"].as_str().unwrap(), row["seed"].as_u64().unwrap()))
        .collect();
    let mut runs = order.clone();
    runs.dedup();
    assert_eq!(runs, [("0.5%", 3), ("0.5%", 2), ("0%", 3), ("0%", 2)]);
    for seed in [2, 3] {
        let report = up(&seed.to_string());
        let workloads = report["report"]["workloads"].as_array().unwrap();
        // The file has this loss.
        let same = of("0.5%", seed);
        assert_eq!(same.len(), workloads.len());
        for (row, wanted) in same.iter().zip(workloads) {
            for key in ["name", "sent", "received", "lost", "goodput_bits_per_s"] {
                assert!(row[key] == wanted[key], "{key}: {row} {wanted}");
            }
            assert_eq!(row["latency.mean_ps"], wanted["latency"]["mean_ps"]);
            assert_eq!(row["duration_ps"], report["report"]["duration_ps"]);
        }
        let lost = |rows: Vec<&Value>| rows.iter().map(|row| row["lost"].as_u64().unwrap()).sum::<u64>();
        assert_eq!(lost(of("0%", seed)), 0);
    }
}

#[test]
fn a_table_is_csv_with_a_line_for_each_workload() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sweep.csv");
    let path = path.display().to_string();
    let output = p4rack(&["sweep", "examples/slice", "--seeds", "1..2", "-o", &path]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    let titles: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(titles[..2], ["seed", "duration_ps"]);
    assert!(titles.contains(&"received") && titles.contains(&"latency.mean_ps"), "{titles:?}");
    let seeds: Vec<&str> = lines.map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(seeds.iter().filter(|seed| **seed == "1").count() * 2, seeds.len());
}

#[test]
fn phases_have_rows_of_their_own() {
    let output = p4rack(&["sweep", "examples/wordcount", "--format", "json", "--set", "rack.name=a"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let phases: Vec<&str> =
        said["rows"].as_array().unwrap().iter().filter_map(|row| row["phase"].as_str()).collect();
    assert!(phases.contains(&"losses") && phases.contains(&"restart"), "{phases:?}");
    assert!(said["rows"][0]["measures.wrong keys"] == 0, "{said}");
}

#[test]
fn mistakes_name_the_value() {
    let cases: [(&[&str], i32, &str); 7] = [
        (&["--set", "link.lose=1%"], 1, "the file has no `link.lose`"),
        (&["--set", "link.rate=1Gbit/s,fast"], 1, "RACK.toml with link.rate=fast:"),
        (&["--set", "link.rate"], 2, "write PATH=VALUE"),
        (&["--set", "link..rate=1"], 1, "no path to a value"),
        (&["--seeds", "5..1"], 2, "write FIRST..LAST"),
        (
            &["--seeds", "1..1000", "--set", &format!("rack.name={}", "a,".repeat(1001))],
            2,
            "more than 1000000 runs",
        ),
        (&["--phase", "none"], 1, "the rack has no phases"),
    ];
    for (args, status, what) in cases {
        let output = p4rack(&[&["sweep", "examples/slice"], args].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.contains(what), "{args:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}
