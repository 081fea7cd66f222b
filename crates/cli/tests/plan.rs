//! `p4rack plan` on one switch, an FPGA and a server.

use crate::support;

use std::path::Path;
use std::process::{Command, Output};

fn plan(args: &[&str]) -> Output {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan");
    let files = ["--config", "config.json", "--devices", "devices.json", "--network", "network.json"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    command.args(["plan", "program.json", "--rules", "rules.txt", "--focus", "tor"]).args(files).args(args);
    command.current_dir(data).output().expect("the binary runs")
}

fn json(args: &[&str]) -> serde_json::Value {
    let output = plan(&[args, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Device of the cache in each plan.
fn caches(args: &[&str]) -> Vec<String> {
    let plans = json(args)["plans"].as_array().expect("a list of plans").clone();
    plans.iter().map(|plan| plan["placement"]["1.Cache"].as_str().expect("a device").to_string()).collect()
}

#[test]
fn the_front_has_what_nothing_beats() {
    assert_eq!(caches(&[]), ["card"], "a server takes less than 1 Gbit/s");
    let mut both = caches(&["--rate", "500Mbit/s"]);
    both.sort();
    assert_eq!(both, ["card", "server"], "one is faster, the other needs less power");
    assert_eq!(caches(&["--rate", "500Mbit/s", "--first"]), ["card"]);
    assert_eq!(caches(&["--rate", "500Mbit/s", "--without", "card"]), ["server"]);
    assert_eq!(caches(&["--rate", "500Mbit/s", "--objective", "Power", "--first"]), ["server"]);
}

#[test]
fn a_plan_says_why() {
    let reported = stdout(&plan(&["--explain"]));
    for word in ["card cache", "tor route", "search complete"] {
        assert!(reported.contains(word), "no `{word}` in\n{reported}");
    }
}

#[test]
fn what_does_not_fit_says_what_would_help() {
    let output = plan(&["--why-not", "1.Cache=server"]);
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(reported.contains("P4R0808") && reported.contains("InputRate"), "{reported}");
}

/// `--why-not` names the constraint that already excludes a device, and never lifts one silently.
#[test]
fn why_not_names_what_rules_a_device_out() {
    for (args, words) in [
        (&["--why-not", "0.Start=card"][..], &["`0.Start` is pinned to `tor`", "--focus card"][..]),
        (&["--why-not", "2.Route=server"], &["`2.Route` is pinned to `tor`"]),
        (&["--why-not", "1.Cache=card", "--without", "card"], &["`card` is excluded", "--without card"]),
        // One region a device holds on the card, too.
        (&["--why-not", "1.Cache=card", "--rate", "500Mbit/s"], &[]),
    ] {
        let output = plan(args);
        let reported = stderr(&output);
        assert_eq!(output.status.success(), words.is_empty(), "{args:?}: {reported}");
        assert!(words.iter().all(|word| reported.contains(word)), "{args:?}: {reported}");
    }
    // The pin itself may be asked for.
    assert_eq!(caches(&["--why-not", "0.Start=tor"]), ["card"]);
}

#[test]
fn a_wrong_name_is_reported_with_the_right_one() {
    let output = plan(&["--without", "crad"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`card`"));
}

#[test]
fn the_page_shows_every_plan() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plans.html");
    let output = plan(&["--rate", "500Mbit/s", "--html", &path.display().to_string()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(&path).expect("the page was written");
    assert_eq!(support::unbalanced(&page), Vec::<String>::new());
    assert!(!page.contains("http"), "it needs nothing else");
    // An axis each for latency and power, a line, a row and a drawing for each of two plans.
    for (words, count) in [
        ("class=\"axis\"", 2),
        ("class=\"line\" data-plan", 2),
        ("class=\"plan\" data-plan", 2),
        ("class=\"drawing scroll\" data-plan", 2),
        ("class=\"way\"", 2),
        (">server (", 1),
        (">card (", 1),
    ] {
        assert_eq!(page.matches(words).count(), count, "{words} in\n{page}");
    }
    let nowhere = plan(&["--html", "/nowhere/plans.html"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(stderr(&nowhere).contains("`/nowhere/plans.html` cannot be written"));
}
