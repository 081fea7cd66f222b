//! `p4rack profile`.

use std::path::Path;
use std::process::{Command, Output};

fn p4rack(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_p4rack-experiments")).args(args).output().expect("the binary runs")
}

#[test]
fn profile_writes_a_table_for_the_planner() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nic.csv");
    let path = file.to_str().unwrap();
    let output = p4rack(&[
        "profile",
        "fec-encode",
        "kv-cache",
        "--size",
        "200,300",
        "--time",
        "5ms",
        "--frames",
        "2500",
        "--class",
        "NIC",
        "--format",
        "json",
        "-o",
        path,
    ]);
    assert!(output.status.success());
    let reported: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let measured = reported["measured"].as_array().unwrap();
    assert_eq!(
        (measured.len(), measured[3]["function"].as_str(), measured[3]["size"].as_u64()),
        (4, Some("kv-cache"), Some(300))
    );
    let points = measured.iter().flat_map(|one| one["points"].as_array().unwrap()).count();
    let text = std::fs::read_to_string(file).unwrap();
    let (columns, rows) = text.split_once('\n').unwrap();
    assert!(columns.starts_with("name,props") && columns.ends_with("conclusion"), "{columns}");
    assert!(rows.lines().all(|row| row.split(',').count() == 9 && row.starts_with("NIC ")), "{rows}");
    assert_eq!(rows.lines().count(), points);
    for wrong in [&["fec"][..], &["fec-encode", "--size", "20"], &["fec-encode", "--time", "0s"]] {
        assert_eq!(p4rack(&[&["profile"], wrong].concat()).status.code(), Some(2), "{wrong:?}");
    }
}
