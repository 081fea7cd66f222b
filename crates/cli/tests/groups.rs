//! `p4rack job switches`: programs that reduce together through switches, one of which is killed in the middle.

#![allow(clippy::disallowed_methods)]

use aggregate::Op;
use reduce_workers::{Group, GroupPlan, Joining, Keys, ReducedKeys, Values};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const JOB: &str = "\
mapper w1 = program(at = h1)
mapper w2 = program(at = h2)
mapper w3 = program(at = h3)
reducer sums = add(w1, w2, w3, at = master, rows = 256, window = 16)
";

fn place(name: &str) -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/jobs/RACK.toml");
    std::fs::copy(example, place.join("RACK.toml")).unwrap();
    std::fs::write(place.join("a.job"), JOB).unwrap();
    place
}

fn p4rack(place: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    command.args(args).current_dir(place).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The processes of the switches, and the spine's.
fn start(place: &Path) -> (Child, GroupPlan, String) {
    let mut child = p4rack(place, &["job", "switches", "a.job"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(said["groups"][0], "out/sums.group.json");
    let mut spine = String::new();
    for line in BufReader::new(child.stderr.as_mut().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(number) = line.strip_prefix("switch spine: process ") {
            spine = number.into();
            break;
        }
    }
    (child, GroupPlan::read(&place.join("out/sums.group.json")).unwrap(), spine)
}

#[test]
fn calls_are_exact_though_a_switch_is_killed() {
    let calls: u64 = if features::is_long() { 12 } else { 4 };
    let place = place("groups-killed");
    let (mut child, plan, spine) = start(&place);
    assert_eq!((plan.members.len(), plan.switches.len(), plan.parents), (4, 2, 1));
    assert_eq!(plan.operators, ["add", "max", "min"]);
    let root = linux_net::free_addresses(1).unwrap()[0];
    let done = AtomicU64::new(0);
    let program = |rank: usize| {
        let joining = Joining { rank, root, patience: Duration::from_secs(120), loss: 20_000, wait: None };
        let mut group = Group::join(plan.clone(), &joining, &mut || true).unwrap();
        let (mut restarts, mut saved) = (0, 0);
        for call in 0..calls {
            // Rank 0 makes sure that nothing waits for a call whose switch is killed before it.
            if rank == 0 && call == calls / 2 {
                assert!(Command::new("kill").args(["-9", &spine]).status().unwrap().success());
            }
            let values: Vec<i32> = (0..1500).map(|at| (at - 700) * (rank + 1) as i32 + call as i32).collect();
            let (sums, report) = group.all_reduce(Values::I32(&values), Op::Add, &mut || true).unwrap();
            let wanted: Vec<u8> =
                (0..1500).flat_map(|at: i32| ((at - 700) * 10 + 4 * call as i32).to_le_bytes()).collect();
            assert!(sums == wanted, "call {call}");
            restarts += report.restarts;
            saved += report.pairs_sent - report.pairs_arrived;
            let keys: Vec<u64> = (0..400).map(|at| at * (rank as u64 + 1)).collect();
            let most: Vec<u32> = vec![rank as u32; 400];
            let keys = Keys::Numbers(Values::U64(&keys));
            let (found, _) = group.reduce_by_key(&keys, Values::U32(&most), Op::Max, &mut || true).unwrap();
            let ReducedKeys::Numbers(numbers) = found.keys else { panic!("numbers come back as texts") };
            // The switches do not know this operator.
            let bits = [1u32 << rank, call as u32];
            let (bits, report) = group.all_reduce(Values::U32(&bits), Op::Or, &mut || true).unwrap();
            assert_eq!(bits, [15u32.to_le_bytes(), (call as u32).to_le_bytes()].concat());
            assert_eq!(report.fallback.as_deref(), Some("the switches fold by add, max, min only"));
            for (number, most) in numbers.iter().zip(&found.values) {
                let wanted = (0..4).rev().find(|rank| number % (rank + 1) == 0 && number / (rank + 1) < 400);
                assert_eq!(Some(*most), wanted, "key {number}");
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
        (restarts, saved)
    };
    let found = std::thread::scope(|scope| {
        let program = &program;
        let threads: Vec<_> = (0..4).map(|rank| scope.spawn(move || program(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(done.load(Ordering::Relaxed), 4 * calls);
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    let (restarts, saved) = found[0];
    assert!(restarts >= 1, "the switch was killed and nobody noticed");
    // 4,500 pairs are sent in each call, of 1,500 places.
    assert!(saved > calls * 1500, "{saved}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// Groups that end well and groups that end in the middle of a call leave nothing that a later one would notice.
#[test]
fn groups_follow_each_other_at_the_same_switches() {
    let place = place("groups-again");
    let (mut child, plan, _) = start(&place);
    let turns = [false, true, false, true, true, false];
    for (turn, is_interrupted) in (0..).zip(turns).take(if features::is_long() { 6 } else { 3 }) {
        let root = linux_net::free_addresses(1).unwrap()[0];
        let program = |rank: usize| {
            let joining =
                Joining { rank, root, patience: Duration::from_secs(120), loss: 20_000, wait: None };
            let mut group = Group::join(plan.clone(), &joining, &mut || true).unwrap();
            let begun = Instant::now();
            for call in 0..if is_interrupted { 1000 } else { 3 } {
                let time = Duration::from_millis(40 * (turn + 1));
                let mut goes_on = || !is_interrupted || rank > 0 || begun.elapsed() < time;
                let values: Vec<i32> = (0..1500).map(|at| (at - 700) * (rank + 1) as i32 + call).collect();
                let Ok((sums, report)) = group.all_reduce(Values::I32(&values), Op::Add, &mut goes_on) else {
                    assert!(is_interrupted, "turn {turn}, call {call}");
                    return;
                };
                let wanted: Vec<u8> =
                    (0..1500).flat_map(|at: i32| ((at - 700) * 10 + 4 * call).to_le_bytes()).collect();
                assert!(sums == wanted, "turn {turn}, call {call}");
                assert_eq!((report.restarts, report.fallback), (0, None));
            }
            assert!(!is_interrupted, "turn {turn}");
        };
        std::thread::scope(|scope| {
            let program = &program;
            (0..4).for_each(|rank| drop(scope.spawn(move || program(rank))));
        });
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// Arrays without keys on the wire; values of `min` travel past the switches, and keys are refused.
#[test]
fn arrays_travel_without_keys() {
    let place = place("groups-arrays");
    let job = JOB.replace("rows = 256, window = 16", "profile = arrays, rows = 4, window = 16");
    std::fs::write(place.join("a.job"), job).unwrap();
    let (mut child, plan, _) = start(&place);
    assert_eq!(plan.operators, ["add", "max", "or"]);
    let root = linux_net::free_addresses(1).unwrap()[0];
    let program = |rank: usize| {
        let joining = Joining { rank, root, patience: Duration::from_secs(120), loss: 20_000, wait: None };
        let mut group = Group::join(plan.clone(), &joining, &mut || true).unwrap();
        for call in 0..if features::is_long() { 4 } else { 2 } {
            let values: Vec<i32> = (0..1500).map(|at| (at - 700) * (rank + 1) as i32 + call).collect();
            let (sums, report) = group.all_reduce(Values::I32(&values), Op::Add, &mut || true).unwrap();
            let wanted: Vec<u8> =
                (0..1500).flat_map(|at: i32| ((at - 700) * 10 + 4 * call).to_le_bytes()).collect();
            assert!(sums == wanted, "call {call}");
            // 512 elements in a round; each arrives once.
            assert_eq!((report.rounds, report.pairs_arrived, report.fallback), (3, 1500, None));
            let wide: Vec<i64> = (0..10).map(|at| (at - 5) << 40).collect();
            let (sums, _) = group.all_reduce(Values::I64(&wide), Op::Add, &mut || true).unwrap();
            assert_eq!(sums, wide.iter().flat_map(|value| (4 * value).to_le_bytes()).collect::<Vec<u8>>());
            let (most, _) = group.all_reduce(Values::I32(&[rank as i32 - 9]), Op::Max, &mut || true).unwrap();
            assert_eq!(most, (-6i32).to_le_bytes());
            let (least, report) =
                group.all_reduce(Values::U32(&[rank as u32 + 3, 9]), Op::Min, &mut || true).unwrap();
            assert_eq!(least, [3u32.to_le_bytes(), 9u32.to_le_bytes()].concat());
            assert_eq!(report.fallback.as_deref(), Some("the switches fold by add, max, or only"));
        }
        let keys = Keys::Numbers(Values::U64(&[1]));
        group.reduce_by_key(&keys, Values::U32(&[1]), Op::Add, &mut || true).unwrap_err()
    };
    let refused = std::thread::scope(|scope| {
        let program = &program;
        let threads: Vec<_> = (0..4).map(|rank| scope.spawn(move || program(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for error in refused {
        assert!(error.title.contains("reduces arrays only"), "{error:?}");
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn programs_are_not_started_by_a_master() {
    let place = place("groups-run");
    let said = |args: &[&str]| {
        let mut child = p4rack(&place, args).spawn().unwrap();
        drop(child.stdin.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(!child.wait().unwrap().success(), "{said}");
        said
    };
    let run = said(&["job", "run", "a.job", "--local"]);
    assert!(
        run.contains("the mappers of `sums` are programs") && run.contains("p4rack job switches"),
        "{run}"
    );
    std::fs::write(place.join("b.job"), JOB.replace("program(at = h3)", "program(at = h9)")).unwrap();
    let strange = said(&["job", "switches", "b.job"]);
    assert!(strange.contains("there is no host `h9`"), "{strange}");
}
