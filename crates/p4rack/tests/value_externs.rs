//! Programs with value externs: cut, proved equal, and in a rack.

use crate::support;

use base_diag::SourceMap;
use ir_prove::{Case, Effort, prove};
use ir_split::marks;
use p4rack::{Racked, up};
use std::fs;
use std::path::{Path, PathBuf};
use support::{case, compile_text, placement, small_program, text};

const DECLARED: &str = r#"
struct rtt_t { bit<32> smoothed; bit<32> variation; bit<32> timeout; }
@value_extern("ewma") extern Ewma {
    Ewma(bit<8> shift);
    bit<32> update(in bit<32> sample);
    @noSideEffects bit<32> value();
}
@value_extern("rtt") extern Rtt {
    Rtt(bit<32> least);
    void sample(in bit<32> measured, out rtt_t estimate);
    @noSideEffects bool known();
}
@value_extern("crc7") extern bit<7> crc7(in bit<16> data);
@value_extern("divide") extern bool divide(inout bit<64> number, in bit<32> by, out bit<32> rest);
"#;

fn source(locals: &str, ingress: &str) -> String {
    small_program(locals, ingress, "").replace("header h_t {", &format!("{DECLARED}header h_t {{"))
}

/// Both: outputs of functions and of objects live over the cuts, before, in and after the region.
fn both() -> String {
    source(
        "Ewma(2) mean; Rtt(10) path; rtt_t estimate;",
        "bit<64> number = 48w0 ++ hdr.h.a ++ hdr.h.b;
         bit<32> rest;
         bool done = divide(number, (bit<32>)hdr.h.b, rest);
         bit<32> average;
         @region(\"R\") {
             average = mean.update(24w0 ++ hdr.h.a);
             if (path.known() && crc7(hdr.h.a ++ hdr.h.b) > 20) { meta.x = 3; }
             path.sample(rest + 5, estimate);
             meta.y = 1w0 ++ crc7(meta.x ++ hdr.h.a);
         }
         if (done) { hdr.h.a = number[7:0] ^ average[7:0] ^ meta.y; }
         hdr.h.b = estimate.timeout[7:0] + estimate.variation[7:0] + rest[7:0] + meta.x;
         @region(\"S\") { hdr.h.b = hdr.h.b + (1w0 ++ crc7(hdr.h.b ++ hdr.h.a)); }",
    )
}

fn proved(source: &str, regions: &[&str]) -> Case {
    let mut map = SourceMap::new();
    let case = case(compile_text(source, &mut map), placement(regions));
    match prove(&case, &Effort { packets: 300, ..Effort::default() }) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
    case
}

#[test]
fn all_cuts_of_a_program_with_functions_and_objects() {
    for regions in [&["R"][..], &["S"], &["R", "S"]] {
        proved(&both(), regions);
    }
}

/// A function is computed on both devices.
#[test]
fn a_function_runs_on_both_sides() {
    let case = proved(&both(), &["S"]);
    let calls = |part: usize| case.parts[part].as_ref().expect("a part").program.own_externs().join(" ");
    assert_eq!((calls(0).as_str(), calls(1).as_str()), ("crc7 divide ewma rtt", "crc7"));
}

/// An output that is dropped from the hand-over, and whatever else goes wrong on the way, is noticed.
#[test]
fn mutants_are_noticed() {
    let case = proved(&both(), &["R"]);
    let effort = Effort { packets: 300, ..Effort::default() };
    let (mut outputs, mut doubled) = (0, 0);
    for mutant in ir_prove::mutants::mutants(&case.parts) {
        let broken = Case { parts: mutant.parts, ..case.clone() };
        assert!(prove(&broken, &effort).is_err(), "lived: {}", mutant.name);
        let dropped = mutant.name.contains("live value dropped");
        outputs += usize::from(
            dropped && ["rest", "average", "estimate", "done"].iter().any(|n| mutant.name.contains(n)),
        );
        doubled += usize::from(mutant.name.contains("effect done twice"));
    }
    assert!(outputs >= 5 && doubled >= 2, "{outputs} outputs, {doubled} effects");
}

/// A device that offers the externs, or one that does not.
fn rack(name: &str, nic: &str) -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice/RACK.toml");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("values-{name}"));
    fs::create_dir_all(&directory).unwrap();
    let text = fs::read_to_string(example).unwrap();
    let (head, _) = text.split_once("[[app]]").unwrap();
    let head = head
        .replace("externs = [\"beacon\"]", nic)
        .replace("class = \"switch\"\n", "class = \"switch\"\nexterns = [\"crc7\", \"divide\"]\n");
    let app = "[[app]]\nprogram = \"program.p4\"\norigin = \"tor\"\nmap = { R = \"nic\" }\n";
    fs::write(directory.join("RACK.toml"), format!("{head}{app}")).unwrap();
    fs::write(directory.join("program.p4"), both()).unwrap();
    directory
}

#[test]
fn a_device_has_to_offer_what_its_part_calls() {
    let mut map = SourceMap::new();
    let offers = "externs = { crc7 = \"0ns\", ewma = \"3us\", rtt = \"1us\" }";
    let racked = p4rack::rack::load(&rack("offered", offers), &[], &mut map);
    racked.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let mut map = SourceMap::new();
    let missing = rack("missing", "externs = [\"ewma\", \"crc7\"]");
    let directory = format!("{}/", missing.display());
    let found = p4rack::rack::load(&missing, &[], &mut map).err().expect("rtt is missing");
    expect_test::expect![[r#"
        error[P4R0703]: `nic` does not offer `rtt`
          --> RACK.toml:20:9
           |
        20 | [device.nic]
           |         ^^^ a region that calls it is placed here
           |
           = note: no device of the rack offers it
           = help: place the region elsewhere in the app's `map`, or add it to the device's `externs`
    "#]]
    .assert_eq(&text(&found, &map).replace(&directory, ""));
}

#[test]
fn the_program_is_marked_where_the_test_says() {
    let mut map = SourceMap::new();
    let marks = marks(&compile_text(&both(), &mut map)).expect("marks");
    let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(names, ["R", "S"]);
    let state: Vec<&str> = marks[0].state.iter().map(|name| name.as_str()).collect();
    assert_eq!(state, ["I.mean", "I.path"]);
}

/// The slice's rack as planned, where the access list takes an average, which takes so long on the SmartNIC.
fn planned(name: &str, offers: &str) -> Racked {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("values-{name}"));
    fs::create_dir_all(&directory).unwrap();
    let read = |file: &str| fs::read_to_string(example.join(file)).unwrap();
    let change = |text: String, old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        text.replacen(old, new, 1)
    };
    let extern_type =
        "@value_extern(\"ewma\") extern Ewma { Ewma(bit<8> shift); bit<32> update(in bit<32> sample); }";
    let program =
        change(read("slice.p4"), "control RouterVerify(", &format!("{extern_type}\ncontrol RouterVerify("));
    let program = change(program, "    table acl {", "    Ewma(2) mean;\n    table acl {");
    let program = change(program, "acl.apply();", "mean.update(7); acl.apply();");
    let map = "map = { Sample = \"nic\", Acl = \"nic\", Mark = \"nic\", Out = \"nic\" }";
    let rack = change(read("RACK.toml"), map, "map = \"plan\"\ndefines = { NO_SAMPLER = 1 }");
    let rack = change(rack, "externs = [\"beacon\"]", offers);
    let plan = "[plan]\nsize = 242\nrules = [\"places.rules\"]\n";
    fs::write(directory.join("slice.p4"), program).unwrap();
    fs::write(directory.join("entries.stf"), read("entries.stf")).unwrap();
    fs::write(directory.join("RACK.toml"), format!("{rack}{plan}")).unwrap();
    fs::write(directory.join("places.rules"), "rule Acl if smartnic;\n").unwrap();
    let mut map = SourceMap::new();
    p4rack::rack::load(&directory, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)))
}

/// Predicted latency, and the least latency measured for a packet of the stream, in picoseconds.
fn latencies(racked: &Racked) -> (i128, i128) {
    let cost = racked.apps[0].costs.iter().find(|cost| cost.objective == "Latency").unwrap();
    let report = up::bring_up(racked).unwrap().run().unwrap();
    let upload = report.workloads.iter().find(|stream| stream.name == "upload").unwrap();
    (i128::from(cost.value), i128::from(upload.latency.unwrap().min_ps))
}

/// If the device gives no time, a call takes the time that the extern declares: 5 ns.
#[test]
fn calls_take_time_in_plans_and_in_the_rack() {
    let declared = latencies(&planned("declared", "externs = [\"ewma\"]"));
    let slow = latencies(&planned("slow", "externs = { ewma = \"3us\" }"));
    let more = 3_000_000 - 5_000;
    assert_eq!((slow.0 - declared.0, slow.1 - declared.1), (more, more));
}
