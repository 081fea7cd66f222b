//! Devices that have no link to each other: what lies between them sends on what passes, and takes as long as the plan says.

use crate::support;

use base_diag::SourceMap;
use ir_split::DeviceIndex;
use p4rack::{Racked, rack, up};
use std::fs;
use std::path::Path;
use support::text;

/// A second helper, rules that say what runs where, and frames of the size that the workload sends.
const MORE: &str = "[device.fpga]\nclass = \"fpga\"\nservice = \"1us\"\n[[link]]\nends = [\"fpga:1\", \"tor:4\"]\n\
rate = \"1Gbit/s\"\ndelay = \"700ns\"\nmtu = 2000\n[plan]\nsize = 242\n";

/// The slice's rack as planned; its sampler is left out, and `Tag` lies around `Mark`.
fn planned(name: &str, more: &str) -> Racked {
    planned_on(name, &format!("{MORE}{more}"))
}

/// [`planned`] with other devices.
fn planned_on(name: &str, devices: &str) -> Racked {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("paths-{name}"));
    fs::create_dir_all(&directory).unwrap();
    let changes = [
        (
            "RACK.toml",
            "map = { Sample = \"nic\", Acl = \"nic\", Mark = \"nic\", Out = \"nic\" }",
            "map = \"plan\"\ndefines = { NO_SAMPLER = 1 }",
        ),
        (
            "slice.p4",
            "if (meta.vid != 0 && !hdr.vlan.isValid()) {",
            "@region(\"Tag\") { if (meta.vid != 0 && !hdr.vlan.isValid()) {",
        ),
        (
            "slice.p4",
            "marks.apply();\n                        }\n                    }",
            "marks.apply();\n                        }\n                    } }",
        ),
    ];
    for file in ["slice.p4", "entries.stf", "RACK.toml"] {
        let mut text = fs::read_to_string(example.join(file)).unwrap();
        for (_, old, new) in changes.iter().filter(|(of, ..)| *of == file) {
            assert!(text.contains(old), "{file} does not say {old}");
            text = text.replace(old, new);
        }
        let end = if file == "RACK.toml" { devices } else { "" };
        fs::write(directory.join(file), text + end).unwrap();
    }
    fs::write(directory.join("places.rules"), "rule Tag if smartnic;\nrule Mark if fpga;\n").unwrap();
    let mut map = SourceMap::new();
    rack::load(&directory, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)))
}

/// Predicted latency, and the least latency measured for a packet of the stream, in picoseconds.
fn latencies(racked: &Racked) -> (f64, f64) {
    let cost = racked.apps[0].costs.iter().find(|cost| cost.objective == "Latency").unwrap();
    let report = up::bring_up(racked).unwrap().run().unwrap();
    let upload = report.workloads.iter().find(|stream| stream.name == "upload").unwrap();
    (cost.value as f64, upload.latency.unwrap().min_ps as f64)
}

#[test]
fn ways_over_the_switch_take_as_long_as_predicted() {
    let (base, base_is) = latencies(&planned("at-switch", ""));
    let away = planned("away", "rules = [\"places.rules\"]\n");
    let [tag, mark] = ["Tag", "Mark"].map(|region| away.apps[0].placement.device_of(region));
    assert_eq!((tag, mark), (DeviceIndex(1), DeviceIndex(2)));
    let (predicted, is) = latencies(&away);
    let (more, is) = (predicted - base, is - base_is);
    assert!(more > 0.0 && (more - is).abs() < 0.01 * is, "{more} ps predicted, {is} ps emulated");
}

/// The FPGA is attached to a second switch, which runs no part of the program.
#[test]
fn ways_over_a_switch_that_runs_nothing_take_as_long_as_predicted() {
    const FABRIC: &str = "[device.fpga]\nclass = \"fpga\"\nservice = \"1us\"\n[device.spine]\nclass = \"switch\"\nservice = \"450ns\"\nparallel = 64\n\
[[link]]\nends = [\"spine:1\", \"tor:4\"]\nrate = \"1Gbit/s\"\ndelay = \"700ns\"\nmtu = 2000\n\
[[link]]\nends = [\"fpga:1\", \"spine:2\"]\nrate = \"1Gbit/s\"\ndelay = \"300ns\"\nmtu = 2000\n[plan]\nsize = 242\n";
    let (base, base_is) = latencies(&planned_on("fabric-at-switch", FABRIC));
    let away = planned_on("fabric-away", &format!("{FABRIC}rules = [\"places.rules\"]\n"));
    let [tag, mark] = ["Tag", "Mark"].map(|region| away.apps[0].placement.device_of(region));
    assert_eq!((tag, mark), (DeviceIndex(1), DeviceIndex(2)));
    let (predicted, is) = latencies(&away);
    let (more, is) = (predicted - base, is - base_is);
    assert!(more > 0.0 && (more - is).abs() < 0.01 * is, "{more} ps predicted, {is} ps emulated");
}
