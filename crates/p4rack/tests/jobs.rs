//! `examples/jobs`: a tree of switches in virtual time. `P4RACK_ALL`: 200 seeds.

use base_diag::{SourceMap, Span};
use base_time::Rng;
use expect_test::expect_file;
use p4rack::{Racked, rack, up};
use rack_model::{Fault, FaultKind, Probability};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/jobs")
}

/// The programs and entries that `p4rack job compile` writes.
#[test]
fn the_files_of_the_example_are_those_of_its_job() {
    let mut map = SourceMap::new();
    let read = p4rack::job::read(&[example().join("words.job")], &mut map).expect("it is a job");
    let topology = p4rack::job::network(&example(), &mut map).expect("it is a network");
    let jobs: Vec<_> = read.into_iter().map(|text| text.job).collect();
    let plan = reduce_jobs::plan(&jobs, &topology).expect("there is a placement");
    for (name, text) in p4rack::job::files(&plan, &topology) {
        if !name.ends_with(".toml") {
            expect_file![example().join(name)].assert_eq(&text);
        }
    }
}

fn tree() -> Racked {
    let path = example().join("tree.toml");
    rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

fn measures(racked: &Racked) -> BTreeMap<String, u64> {
    let report = up::bring_up(racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
    let words = report.workloads.into_iter().next().expect("there is one");
    assert_eq!(
        (words.measures["wrong keys"], words.measures.get("trouble")),
        (0, Some(&0)),
        "{:?}",
        words.measures
    );
    assert_eq!(words.sent, words.received, "rounds");
    words.measures
}

#[test]
fn a_tree_saves_more_than_its_leaves_could() {
    let words = measures(&tree());
    let [best, saved] = ["saved at best, permille", "saved, permille"].map(|name| words[name]);
    assert!(saved * 10 > best * 7, "{saved} of {best}: {words:?}");
}

#[test]
fn losses_doubles_and_restarts_change_nothing() {
    let mut racked = tree();
    let mut restarts = 0;
    for seed in features::seeds(2, 200) {
        let mut rng = Rng::new(seed);
        racked.rack.seed = seed;
        for link in &mut racked.rack.links {
            let mut share = || Probability::from_ppb(1000 * rng.below(200_001) as u32);
            (link.loss, link.duplicate, link.reorder) = (share(), share(), share());
        }
        let device = rack_model::DeviceId(rng.below(3) as u32);
        let at = base_time::Time::ZERO + base_time::Duration::from_us(rng.between(200, 20_000));
        let lasts = Some(base_time::Duration::from_us(rng.between(50, 2000)));
        racked.rack.faults = vec![Fault { kind: FaultKind::DeviceDown(device), at, lasts, span: Span::NONE }];
        restarts += measures(&racked)["restarts of the switch"];
    }
    assert!(restarts > 0);
}

/// Three rounds; elements from 5,000 on are nobody's, and 0.
const ARRAYS: &str = "\
dataset d1 = \"h1:data/a1.txt\"
dataset d2 = \"h2:data/a2.txt\"
mapper m1 = array(d1)
mapper m2 = array(d2)
reducer grads = add(m1, m2, at = master, profile = arrays, rows = 16, elements = 5500)
";

fn beside() -> PathBuf {
    example().join("beside.toml")
}

/// A rack with the data of its jobs.
fn with_data(text: &str, name: &str) -> Result<Racked, Vec<base_diag::Diagnostic>> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(directory.join("data")).unwrap();
    for file in ["words.job", "data/1.txt", "data/2.txt", "data/3.txt"] {
        std::fs::copy(example().join(file), directory.join(file)).unwrap();
    }
    let group = "mapper w1 = program(at = h1)\nreducer sums = add(w1, at = master)\n";
    std::fs::write(directory.join("group.job"), group).unwrap();
    let mut rng = Rng::new(5);
    for (file, elements) in [("a1", 5000), ("a2", 3000)] {
        // One of 50 is too large for a sum in the switch.
        let mut value = || (rng.next_u64() >> 32) as u32 >> if rng.below(50) == 0 { 0 } else { 12 };
        let lines: Vec<String> = (0..elements).map(|_| value().to_string()).collect();
        std::fs::write(directory.join(format!("data/{file}.txt")), lines.join("\n")).unwrap();
    }
    std::fs::write(directory.join("arrays.job"), ARRAYS).unwrap();
    std::fs::write(directory.join("short.job"), ARRAYS.replace("5500", "4999")).unwrap();
    let twice = "dataset d1 = \"h1:data/1.txt\"\nmapper m1 = words(d1)\nmapper m2 = lines(d1)\nreducer more = add(m1, m2, at = master)\n";
    std::fs::write(directory.join("twice.job"), twice).unwrap();
    std::fs::write(directory.join("RACK.toml"), text).unwrap();
    let mut racked = rack::load(&directory, &[], &mut SourceMap::new())?;
    racked.add_job_data()?;
    Ok(racked)
}

#[test]
fn a_job_of_a_rack_runs_beside_other_traffic() {
    let text = std::fs::read_to_string(beside()).unwrap();
    let mut racked = with_data(&text, "jobs-beside").unwrap_or_else(|found| panic!("{found:#?}"));
    let mut words = std::collections::BTreeSet::new();
    for file in ["1", "2", "3"] {
        let text = std::fs::read_to_string(example().join(format!("data/{file}.txt"))).unwrap();
        words.extend(
            text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).filter(|word| !word.is_empty()),
        );
    }
    // Without and with losses; the other traffic is not repeated.
    for loss in [0, 50_000] {
        for link in &mut racked.rack.links {
            link.loss = Probability::from_ppb(1000 * loss);
        }
        let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
        let of = |name: &str| report.workloads.iter().find(|one| one.name == name).expect("it ran");
        let counts = of("counts");
        assert_eq!(
            (counts.measures["wrong keys"], counts.measures.get("trouble")),
            (0, Some(&0)),
            "{counts:?}"
        );
        assert_eq!(counts.measures["distinct keys"], words.len() as u64);
        assert_eq!((counts.sent, counts.received), (2, 2), "rounds");
        if loss == 0 {
            assert_eq!((of("udp-1").received, of("ping-2").received), (2000, 50));
            let [best, saved] =
                ["saved at best, permille", "saved, permille"].map(|name| counts.measures[name]);
            assert!(saved * 10 > best * 5, "{saved} of {best}: {counts:?}");
        }
    }
}

/// With losses; the array of one host is shorter.
#[test]
fn arrays_of_files_are_added_element_by_element() {
    let text = std::fs::read_to_string(beside()).unwrap().replace("words.job", "arrays.job");
    let mut racked = with_data(&text, "jobs-arrays").unwrap_or_else(|found| panic!("{found:#?}"));
    for link in &mut racked.rack.links {
        link.loss = Probability::from_ppb(50_000_000);
    }
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
    let grads = report.workloads.iter().find(|one| one.name == "grads").expect("it ran");
    let measure = |name: &str| grads.measures[name];
    assert_eq!((measure("wrong keys"), grads.measures.get("trouble")), (0, Some(&0)), "{grads:?}");
    assert_eq!((grads.sent, grads.received, measure("distinct keys")), (3, 3, 5500));
    assert_eq!(measure("pairs sent"), 8_000);
    // An element once, but for values that are too large.
    assert_eq!(measure("of these, read from slots"), 5500, "{grads:?}");
    assert!((1..400).contains(&measure("of these, past the slots")), "{grads:?}");
}

/// Values that the workload draws; without a switch, all reach the reducer.
#[test]
fn a_workload_draws_arrays() {
    let text = std::fs::read_to_string(beside()).unwrap();
    let load = "[[workload]]\nkind = \"reduce\"\nname = \"drawn\"\nfrom = [\"h1\", \"h3\"]\nto = \"master\"\nop = \"max\"\n\
                by = \"hosts\"\nprofile = \"arrays\"\nswitch = \"10.0.0.254\"\ncount = 3000\nrows = 16\nport = 5000\n";
    let racked = with_data(&(text + load), "jobs-drawn").unwrap_or_else(|found| panic!("{found:#?}"));
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
    let drawn = report.workloads.iter().find(|one| one.name == "drawn").expect("it ran");
    assert_eq!((drawn.measures["wrong keys"], drawn.sent, drawn.received), (0, 2, 2), "{drawn:?}");
    assert_eq!((drawn.measures["pairs sent"], drawn.measures["distinct keys"]), (6000, 3000));
    let of_min = load.replace("\"max\"", "\"min\"").replace("\"hosts\"", "\"switch\"");
    let text = std::fs::read_to_string(beside()).unwrap() + &of_min;
    let racked = with_data(&text, "jobs-drawn-min").unwrap_or_else(|found| panic!("{found:#?}"));
    let refused = up::bring_up(&racked).err().expect("`min` was taken");
    assert!(format!("{refused:?}").contains("cannot reduce by `min`"), "{refused:?}");
}

/// The access list drops what has no tenant; the job's packets are not its.
#[test]
fn a_job_shares_a_switch_with_an_app() {
    let apps = example().join("../apps").display().to_string();
    let acl = format!("\n[[app]]\nname = \"acl\"\nprogram = \"{apps}/acl.p4\"\norigin = \"spine\"\n");
    let text = std::fs::read_to_string(beside()).unwrap() + &acl;
    let racked = with_data(&text, "jobs-shared").unwrap_or_else(|found| panic!("{found:#?}"));
    let report = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().unwrap();
    let of = |name: &str| report.workloads.iter().find(|one| one.name == name).expect("it ran");
    let counts = of("counts");
    assert_eq!((counts.measures["wrong keys"], counts.received), (0, 2), "{counts:?}");
    assert_eq!(of("udp-1").received, 0);
}

#[test]
fn where_a_rack_reduces_is_what_the_job_command_says() {
    let jobs = rack::jobs_of(&beside(), &mut SourceMap::new()).unwrap().expect("it has a job");
    let switches: Vec<&str> =
        jobs.plan.switches.iter().map(|device| jobs.topology.switches[device.switch].as_str()).collect();
    assert_eq!(switches, ["left", "right", "spine"]);
    for (app, (source, entries)) in &jobs.programs {
        let name = app.strip_prefix("jobs at ").expect("it is named after its switch");
        expect_file![example().join(format!("{name}.p4"))].assert_eq(source);
        expect_file![example().join(format!("{name}.stf"))].assert_eq(entries);
    }
}

#[test]
fn jobs_that_no_rack_can_run_are_refused() {
    let good = std::fs::read_to_string(beside()).unwrap();
    let cases = [
        ("words.job", "nothing.job", "a file cannot be read"),
        ("words.job", "group.job", "the mappers of `sums` are programs"),
        ("words.job", "short.job", "the data has an element 4999, and the job's arrays have 4999"),
        ("words.job", "twice.job", "`h1` has several parts of jobs"),
        (
            "kind = \"ping\"",
            "kind = \"ping\"\nname = \"counts\"",
            "a workload and a reducer are called `counts`",
        ),
        ("[host.h3]", "[host.h7]", "there is no host `h3`"),
    ];
    for (from, to, wanted) in cases {
        let mut text = good.replacen(from, to, 1);
        if to == "[host.h7]" {
            text = text.replace("\"h3\"", "\"h7\"");
        }
        let found = with_data(&text, "jobs-mistakes").err().unwrap_or_else(|| panic!("{to} was taken"));
        assert!(found.iter().any(|problem| problem.title.contains(wanted)), "{to}: {found:#?}");
        assert!(found.iter().all(|problem| !problem.labels.is_empty()), "{to}: {found:#?}");
    }
}
