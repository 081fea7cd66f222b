//! Apps that share a switch: `examples/apps`, and all shipped programs in pairs.

use base_diag::SourceMap;
use p4_generate::merged::{Trial, Tried};
use p4_syntax::Options;
use p4rack::{rack, up};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use traffic_classes::Class;

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

#[test]
fn each_app_of_the_example_gets_its_packets() {
    let racked =
        rack::load(&example("apps"), &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    let [app] = racked.apps.as_slice() else { panic!("one program") };
    let names: Vec<&str> = racked.rack.apps.iter().map(|app| app.name.value.as_str()).collect();
    assert_eq!(names, ["firewall+acl+nat"]);
    assert!(
        app.texts[0].as_ref().is_some_and(|text| text.contains("firewall_FirewallIngress")),
        "{:?}",
        app.texts[0]
    );
    let mut running = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}"));
    let report = running.run().unwrap_or_else(|found| panic!("{found:#?}"));
    let lost: Vec<(&str, u64, u64)> =
        report.workloads.iter().map(|load| (load.name.as_str(), load.sent, load.lost)).collect();
    assert_eq!(
        lost,
        [("call", 500, 0), ("scan", 100, 100), ("query", 500, 0), ("other", 100, 100), ("web", 500, 0)]
    );
}

/// Merged, each of two programs does what it does alone, with entries and packets of its own.
#[test]
fn shipped_programs_share_a_switch() {
    let files = [
        "apps/firewall.p4",
        "apps/acl.p4",
        "apps/nat.p4",
        "bench/acl/acl.p4",
        "bench/dcswitch/dcswitch.p4",
        "bench/firewall/firewall.p4",
        "bench/l2/l2.p4",
        "bench/nat/nat.p4",
        "bench/router/router.p4",
        "bench/sketch/sketch.p4",
        "bench/vxlan/vxlan.p4",
        "qos/qos.p4",
    ];
    let compiled = |file: &&str| {
        let (mut map, mut warnings) = (SourceMap::new(), vec![]);
        let main = example(file).display().to_string();
        let program = rack::compile_program(&main, &Options::default(), &mut map, &mut warnings);
        Arc::clone(&program.unwrap_or_else(|found| panic!("{file}: {found:#?}")))
    };
    let programs: Vec<_> = files.iter().map(compiled).collect();
    let class = |text: &str| Some(Class::read(text).expect("a class"));
    let mut merged = 0;
    for one in 0..files.len() {
        for other in one + 1..files.len() {
            let (first, second) = match (one + other) % 2 {
                0 => (class("port < 8"), class("port >= 8")),
                _ => (class("ipv4 && port < 8 || port < 4"), None),
            };
            let apps = vec![("one", programs[one].clone(), first), ("two", programs[other].clone(), second)];
            let trial = Trial { apps, fault: None, native: false, shares_parser: one % 2 == 0 };
            let ports = |app: usize, port: u32| port % 8 + 8 * app as u32;
            match trial.run(40, (one * 100 + other) as u64, &ports) {
                Ok(Tried::Same(packets)) => {
                    merged += 1;
                    assert!(packets.iter().all(|n| *n > 0), "{} and {}", files[one], files[other]);
                }
                Ok(Tried::Refused(why)) => panic!("{} and {}: {why}", files[one], files[other]),
                Err(found) => panic!("{} and {}: {}", files[one], files[other], found.details),
            }
        }
    }
    assert_eq!(merged, files.len() * (files.len() - 1) / 2);
}

/// Random pairs of the programs in the directory that `P4RACK_PROGRAMS` names, `P4RACK_PAIRS` of them (100 unless set). Those that are not for
/// v1model, or that the merger refuses, are counted and left out.
#[test]
fn programs_of_a_directory_share_a_switch() {
    let Some(directory) = std::env::var_os("P4RACK_PROGRAMS") else { return };
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let thread = thread.spawn(move || random_pairs(Path::new(&directory))).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn random_pairs(directory: &Path) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the directory")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "p4"))
        .collect();
    files.sort();
    let compiled = |path: &PathBuf| {
        let (mut map, mut warnings) = (SourceMap::new(), vec![]);
        let program =
            rack::compile_program(&path.display().to_string(), &Options::default(), &mut map, &mut warnings)
                .ok()?;
        let runs = ir_interp::switch(Arc::clone(&program), device::Options::default()).is_ok();
        (runs && matches!(program.arch, ir::Arch::V1Model(_))).then_some((path.clone(), program))
    };
    let programs: Vec<_> = files.iter().filter_map(compiled).collect();
    println!("{} of {} programs are for v1model and run", programs.len(), files.len());
    let mut rng = base_time::Rng::new(features::setting("P4RACK_SEED", 1));
    let (mut refused, mut packets, mut tried) = (std::collections::BTreeMap::<String, u32>::new(), 0, 0);
    while tried < features::setting("P4RACK_PAIRS", if features::is_long() { 100 } else { 40 }) {
        let one = &programs[rng.index(programs.len())];
        let other = &programs[rng.index(programs.len())];
        if one.1.arch != other.1.arch {
            continue;
        }
        tried += 1;
        let classes = match rng.below(2) {
            0 => [Class::read("port < 8").ok(), None],
            _ => [Class::read("ethernet.type < 0x7000 && port < 12 || port < 4").ok(), None],
        };
        let [first, second] = classes;
        let apps = vec![("one", one.1.clone(), first), ("two", other.1.clone(), second)];
        let trial = Trial { apps, fault: None, native: true, shares_parser: false };
        let names = format!("{} and {}", one.0.display(), other.0.display());
        match trial.run(40, tried, &|app, port| port % 12 + 4 * app as u32) {
            Ok(Tried::Same(same)) => packets += same.iter().sum::<usize>(),
            Ok(Tried::Refused(why)) => {
                *refused.entry(why).or_default() += 1;
                println!("refused: {names}");
            }
            Err(found) => panic!("{names}: {}: {}", found.summary, found.details),
        }
    }
    println!("{tried} pairs, {packets} packets the same; refused: {refused:#?}");
}
