//! `p4rack job`: a job as processes on this machine, with losses, and a switch that is killed in the middle.

#![allow(clippy::disallowed_methods)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

fn p4rack(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    command.args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    p4rack(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An empty directory with the network of the example.
fn place(name: &str) -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::copy(example().join("RACK.toml"), place.join("RACK.toml")).unwrap();
    place
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/jobs")
}

/// Words of texts, counted one after the other.
fn counts(texts: &[PathBuf]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for path in texts {
        for word in std::fs::read_to_string(path).unwrap().split(|c: char| !c.is_alphanumeric()) {
            if !word.is_empty() {
                *counts.entry(word.to_lowercase()).or_default() += 1;
            }
        }
    }
    counts
}

fn result(path: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(path).unwrap();
    let row =
        |line: &str| line.rsplit_once(',').map(|(key, value)| (key.to_string(), value.parse().unwrap()));
    text.lines().filter_map(row).collect()
}

#[test]
fn the_example_counts_words_through_a_tree_of_switches() {
    let place = place("job-example");
    let job = example().join("words.job");
    let out = place.join("out");
    let args =
        ["job", "run", job.to_str().unwrap(), "--local", "-o", out.to_str().unwrap(), "--format", "json"];
    let done = run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let files = [1, 2, 3].map(|number| example().join(format!("data/{number}.txt")));
    assert_eq!(result(&out.join("counts.csv")), counts(&files));
    let said: Value = serde_json::from_slice(&done.stdout).unwrap();
    let reducer = &said["reducers"][0];
    assert!(reducer["saved_permille"].as_u64().unwrap() > 50, "{said}");
    assert!(reducer["read_from_slots"].as_u64().unwrap() > 0, "{said}");
    // Each pair that arrived took at least its 10 bytes.
    let number = |of: &str| reducer[of].as_u64().unwrap();
    assert!(number("bytes_to_reducer") > 10 * number("pairs_that_arrived"), "{said}");
    assert!(
        number("bytes_from_reducer") > 0 && number("bytes_of_full_packets") > 10 * number("pairs_sent"),
        "{said}"
    );
}

/// Three texts of many words, each of a vocabulary of their own and of a common one.
fn write_texts(place: &Path) -> Vec<PathBuf> {
    let texts = [1u64, 2, 3].map(|number| {
        let mut state = number;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (state >> 33) % 40_000;
            format!("w{}", number * number / 40_000)
        };
        let words: Vec<String> = (0..60_000).map(|_| word()).collect();
        let path = place.join(format!("{number}.txt"));
        std::fs::write(&path, words.join(" ")).unwrap();
        path
    });
    texts.to_vec()
}

const JOB: &str = "\
dataset d1 = \"h1:1.txt\"
dataset d2 = \"h2:2.txt\"
dataset d3 = \"h3:3.txt\"
mapper m1 = words(d1)
mapper m2 = words(d2)
mapper m3 = words(d3)
reducer counts = add(m1, m2, m3, at = master, rows = 64, rounds = 12, window = 16)
";

#[test]
fn losses_and_a_switch_that_is_killed_change_nothing() {
    let place = place("job-killed");
    let files = write_texts(&place);
    std::fs::write(place.join("a.job"), JOB).unwrap();
    let mut child =
        p4rack(&["job", "run", "a.job", "--local", "--loss", "5", "--patience", "120", "--format", "json"])
            .current_dir(&place)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let mut spine = None;
    let mut is_killed = false;
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(number) = line.strip_prefix("switch spine: process ") {
            spine = Some(number.to_string());
        }
        // Some rounds are committed, and others are to come.
        if line.starts_with("counts: 3 of") && !is_killed {
            is_killed = true;
            std::thread::sleep(Duration::from_millis(20));
            let killed = Command::new("kill").args(["-9", spine.as_deref().unwrap()]).status().unwrap();
            assert!(killed.success());
        }
        said += &format!("{line}\n");
    }
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert!(child.wait().unwrap().success(), "{said}{answer}");
    assert!(is_killed && said.contains("switch spine has ended"), "{said}");
    assert_eq!(result(&place.join("out/counts.csv")), counts(&files), "{said}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert!(answer["reducers"][0]["restarts"].as_u64().unwrap() >= 1, "{said}{answer}");
}

#[test]
fn a_switch_that_does_not_start_ends_the_job() {
    let place = place("job-no-switch");
    write_texts(&place);
    std::fs::write(place.join("a.job"), JOB).unwrap();
    let mut child = p4rack(&["job", "run", "a.job", "--local"])
        .current_dir(&place)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(number) = line.strip_prefix("switch spine: process ") {
            assert!(Command::new("kill").args(["-9", number]).status().unwrap().success());
        }
        said += &format!("{line}\n");
    }
    assert!(!child.wait().unwrap().success(), "{said}");
    assert!(said.contains("error[P4R1610]") && said.contains("switch `spine` does not start"), "{said}");
}

#[test]
fn a_worker_that_fails_or_vanishes_is_named() {
    let place = place("job-vanished");
    let files = write_texts(&place);
    std::fs::remove_file(&files[1]).unwrap();
    std::fs::write(place.join("a.job"), JOB).unwrap();
    let done = p4rack(&["job", "run", "a.job", "--local"]).current_dir(&place).output().unwrap();
    let said = text(&done.stderr);
    assert!(
        !done.status.success() && said.contains("error[P4R1609]") && said.contains("mapper `m2`"),
        "{said}"
    );
    assert!(!place.join("out/counts.csv").exists());
    // Nobody starts the workers.
    let done = p4rack(&["job", "run", "a.job", "--patience", "1"]).current_dir(&place).output().unwrap();
    let said = text(&done.stderr);
    assert!(
        said.contains("error[P4R1610]") && said.contains("no worker has connected for mapper `m1`"),
        "{said}"
    );
    assert!(said.contains("start on h1: p4rack job worker m1 --master 127.0.0.1:"), "{said}");
}

#[test]
fn a_job_is_compiled_for_its_switches() {
    let place = place("job-compiled");
    std::fs::write(place.join("a.job"), JOB).unwrap();
    let done = p4rack(&["job", "compile", "a.job", "-o", "made"]).current_dir(&place).output().unwrap();
    let said = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(said.contains("left reduces the pairs of m1, m2"), "{said}");
    let made = place.join("made");
    for switch in ["left", "right", "spine"] {
        let checked = p4rack(&["check", &format!("{switch}.p4")]).current_dir(&made).output().unwrap();
        assert!(checked.status.success(), "{}", text(&checked.stderr));
        assert!(made.join(format!("{switch}.toml")).exists() && made.join(format!("{switch}.stf")).exists());
    }
    // Files that stay as they are can be read at any time: a switch may start while the job is run with the same directory.
    let early = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let left = std::fs::File::options().append(true).open(made.join("left.p4")).unwrap();
    left.set_modified(early).unwrap();
    std::fs::write(made.join("right.p4"), "").unwrap();
    let done = p4rack(&["job", "compile", "a.job", "-o", "made"]).current_dir(&place).output().unwrap();
    assert!(done.status.success() && left.metadata().unwrap().modified().unwrap() == early);
    assert!(std::fs::metadata(made.join("right.p4")).unwrap().len() > 0);
    let workers: Value =
        serde_json::from_str(&std::fs::read_to_string(made.join("workers.json")).unwrap()).unwrap();
    assert_eq!(workers["reducers"][0]["mappers"][2]["address"], "10.0.1.3");
    let again = p4rack(&["job", "check", "a.job", "a.job"]).current_dir(&place).output().unwrap();
    let said = text(&again.stderr);
    assert!(!again.status.success() && said.contains("error[P4R1607]") || said.is_empty(), "{said}");
}

#[test]
fn a_job_is_compiled_for_a_tofino() {
    let place = place("job-for-tofino");
    std::fs::write(place.join("a.job"), JOB).unwrap();
    let compile = |switch: &str| {
        let arguments = ["job", "compile", "a.job", "-o", "made", "--tna", "spine", "--tna", switch];
        p4rack(&arguments).current_dir(&place).output().unwrap()
    };
    let done = compile("left");
    assert!(done.status.success() && done.stderr.is_empty(), "{}", text(&done.stderr));
    let made = place.join("made");
    for switch in ["left", "spine"] {
        let fits = p4rack(&["fit", &format!("{switch}.tna.p4")]).current_dir(&made).output().unwrap();
        assert!(
            fits.status.success() && text(&fits.stdout).contains("fits tofino1"),
            "{}",
            text(&fits.stdout)
        );
        let entries = std::fs::read_to_string(made.join(format!("{switch}.tna.stf"))).unwrap();
        assert!(entries.ends_with("\nmirroring_add 1 68\n"), "{entries}");
        let entries = [
            "run",
            &format!("{switch}.tna.p4"),
            "--entries",
            &format!("{switch}.tna.stf"),
            "--packet",
            "1:00",
        ];
        let run = p4rack(&entries).current_dir(&made).output().unwrap();
        assert!(run.status.success(), "{}", text(&run.stderr));
    }
    assert!(!made.join("right.tna.p4").exists());
    let done = compile("middle");
    let said = text(&done.stderr);
    assert!(!done.status.success() && said.contains("no switch `middle` has a program"), "{said}");
    assert!(said.contains("left, right, spine"), "{said}");
    std::fs::write(place.join("a.job"), JOB.replace("window = 16", "window = 16, profile = software"))
        .unwrap();
    let done = compile("left");
    let said = text(&done.stderr);
    assert!(!done.status.success() && said.contains("use the profile `pipeline`"), "{said}");
}

#[test]
fn a_job_is_compiled_for_bmv2() {
    let place = place("job-for-bmv2");
    let compile = |profile: &str, switch: &str, boot: &str| {
        let job = JOB.replace("window = 16", &format!("window = 16, profile = {profile}"));
        std::fs::write(place.join("a.job"), job).unwrap();
        let to = ["-o", "made", "--bmv2", "spine", "--bmv2", switch, "--boot", boot];
        let arguments = [&["job", "compile", "a.job"][..], &to].concat();
        p4rack(&arguments).current_dir(&place).output().unwrap()
    };
    let done = compile("pipeline", "left", "3");
    assert!(done.status.success() && done.stderr.is_empty(), "{}", text(&done.stderr));
    let made = place.join("made");
    let read = |name: &str| std::fs::read_to_string(made.join(name)).unwrap();
    for switch in ["left", "spine"] {
        let (program, commands) = (format!("{switch}.bmv2.p4"), format!("{switch}.commands.txt"));
        // The same but for the length of answers.
        let (own, other) = (read(&program), read(&format!("{switch}.p4")));
        let lines = own.lines().zip(other.lines()).filter(|(one, other)| one != other);
        let lines: Vec<&str> = lines.map(|(line, _)| line).collect();
        assert_eq!(lines, ["const bit<16> MOST_LENGTH = 301;"]);
        let said = read(&commands);
        let serve = said.lines().find(|line| line.starts_with("table_add AggIngress.jobs AggIngress.serve "));
        assert!(serve.is_some_and(|line| line.contains(" => 0x3 ")), "{said}");
        assert!(said.contains("table_add AggIngress.routes AggIngress.forward 0xa000001/32 => "), "{said}");
        assert!(said.contains("\nmirroring_add 1 "), "{said}");
        let run = ["run", &program, "--entries", &commands, "--packet", "1:00"];
        let run = p4rack(&run).current_dir(&made).output().unwrap();
        assert!(run.status.success(), "{}", text(&run.stderr));
    }
    let refused = [
        (compile("pipeline", "middle", "1"), "no switch `middle` has a program"),
        (compile("software", "left", "1"), "a packet may grow by 512 bytes"),
        (compile("pipeline", "left", "0"), "0 is not in 1..=65535"),
    ];
    for (done, why) in refused {
        let said = text(&done.stderr);
        assert!(!done.status.success() && said.contains(why), "{said}");
    }
}

/// Arrays of three hosts, as numbers in lines, added through two levels of switches.
#[test]
fn arrays_in_files_are_added() {
    let place = place("job-arrays");
    let elements: u64 = if features::is_long() { 9000 } else { 2000 };
    let arrays = [1u64, 2, 3].map(|host| {
        let value =
            |at: u64| (at * at * host * 977) % if at.is_multiple_of(40) { u64::MAX >> 1 } else { 1 << 20 };
        let values: Vec<u64> = (0..elements).map(value).collect();
        let lines: Vec<String> = values.iter().map(u64::to_string).collect();
        std::fs::write(place.join(format!("{host}.txt")), lines.join("\n")).unwrap();
        values
    });
    let job = JOB.replace("words(", "array(").replace(
        "rows = 64, rounds = 12, window = 16",
        &format!("rows = 64, profile = arrays, value = u64, elements = {elements}"),
    );
    std::fs::write(place.join("a.job"), &job).unwrap();
    let args = ["job", "run", "a.job", "--local", "--loss", "2", "--patience", "120", "--format", "json"];
    let done = p4rack(&args).current_dir(&place).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let wanted: Vec<String> = (0..elements as usize)
        .map(|at| format!("{at},{}", arrays.iter().map(|values| values[at]).sum::<u64>()))
        .collect();
    let found = std::fs::read_to_string(place.join("out/counts.csv")).unwrap();
    // Without the line of titles.
    let found: Vec<&str> =
        found.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).collect();
    assert_eq!(found, wanted);
    let said: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(said["reducers"][0]["read_from_slots"].as_u64().unwrap() >= elements, "{said}");
    // Data that is longer than the job says.
    std::fs::write(place.join("a.job"), job.replace(&elements.to_string(), "1000")).unwrap();
    let done = p4rack(&args).current_dir(&place).output().unwrap();
    let said = text(&done.stderr);
    assert!(
        !done.status.success() && said.contains("element 1000, and the job's arrays have 1000"),
        "{said}"
    );
}
