//! Helpers that the tests of this crate share.
#![allow(dead_code)]

pub mod nat;

use base_bits::Bits;
use base_diag::{Diagnostic, SourceMap, Style, render};
use base_time::Time;
use compiler::make_parts;
use compiler::{Until, compile};
use control_writes::Match;
use device::{Options, Switch};
use device_control::Codes;
use ir::Program;
use ir_prove::Case;
use ir_split::{DeviceIndex, Placement};
use p4rack::{Disk, Racked, rack};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use target_native::Engine;

/// The example's program, compiled.
pub fn slice() -> Arc<Program> {
    let main = format!("{}/../../examples/slice/slice.p4", env!("CARGO_MANIFEST_DIR"));
    let mut map = SourceMap::new();
    let compiled = compile(&main, &Disk, &Default::default(), Until::Elaborated, &mut map);
    compiled.program.unwrap_or_else(|| panic!("{}", text(&compiled.diagnostics, &map)))
}

/// A rack of the examples.
pub fn example(file: &str) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
    let mut map = SourceMap::new();
    sharing_codes(rack::load(&path, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map))))
}

/// The rack, with the machine code that others of this test have made of the same programs.
pub fn sharing_codes(racked: Racked) -> Racked {
    static CODES: OnceLock<Codes> = OnceLock::new();
    Racked { codes: CODES.get_or_init(Codes::default).clone(), ..racked }
}

/// The first device of a rack with its entries, as machine code and in the interpreter.
pub fn both_engines(racked: &Racked) -> [Switch; 2] {
    engines_of(racked, 0, 0)
}

/// A device of a rack with the entries of one of its apps, as machine code and in the interpreter.
pub fn engines_of(racked: &Racked, app: usize, device: usize) -> [Switch; 2] {
    let program = Arc::clone(&racked.part(app, device).expect("it runs a program").part.program);
    let options = || Options { registry: netfn_registry::all(), ..Options::default() };
    let engine = Engine::compile(&program, options()).expect("it can be compiled").into_switch();
    let interpreter = ir_interp::switch(program, options()).expect("it can be run");
    [engine, interpreter].map(|mut switch| {
        racked
            .fill(app, device)
            .into_iter()
            .for_each(|write| switch.write(write, Time::ZERO).expect("an entry"));
        switch
    })
}

/// Both engines, which do the same with each packet. The interpreter takes most of the time: in the short form it gets the first packets only, and what a test
/// wants of all others it wants of the machine code.
pub struct Both {
    devices: [Switch; 2],
    compared: usize,
}

impl Both {
    /// Machine code and interpreter, in this order, compared for so many packets in the short form.
    pub fn new(devices: [Switch; 2], packets: usize) -> Both {
        Both { devices, compared: if features::is_long() { usize::MAX } else { packets } }
    }

    /// The result of `act`, the same of each engine that gets the packet.
    pub fn each<T: PartialEq + std::fmt::Debug>(&mut self, mut act: impl FnMut(&mut Switch) -> T) -> T {
        let [engine, interpreter] = &mut self.devices;
        let given = act(engine);
        if self.compared > 0 {
            self.compared -= 1;
            assert_eq!(given, act(interpreter));
        }
        given
    }

    /// The devices.
    pub fn both(&mut self) -> &mut [Switch; 2] {
        &mut self.devices
    }
}

/// An exact entry: table, keys, action and arguments, with their widths.
pub type Exact<'a> = (&'a str, &'a [(u32, u64)], &'a str, &'a [(u32, u64)]);

/// Adds entries.
pub fn add(switch: &mut Switch, entries: &[Exact<'_>]) {
    let bits = |(width, value): &(u32, u64)| Bits::new(*width, (*value).into());
    for (table, keys, action, data) in entries {
        let keys: Vec<Match> = keys.iter().map(|key| Match::Exact(bits(key))).collect();
        let data: Vec<Bits> = data.iter().map(bits).collect();
        switch.table_add(table, &keys, action, &data, None).expect(table);
    }
}

/// `examples/baseline/tofino.p4` with a protocol, as machine code and in the interpreter. Frames that port 1 receives are flooded to port 9.
pub fn on_tofino(protocol: &str, entries: &[Exact<'_>]) -> [Switch; 2] {
    let main = format!("{}/../../examples/baseline/tofino.p4", env!("CARGO_MANIFEST_DIR"));
    let options = p4_syntax::Options { defines: vec![protocol.to_string()], ..Default::default() };
    let mut map = SourceMap::new();
    let compiled = compile(&main, &Disk, &options, Until::Elaborated, &mut map);
    let program = compiled.program.unwrap_or_else(|| panic!("{}", text(&compiled.diagnostics, &map)));
    let engine = Engine::compile(&program, Options::default()).expect("it can be compiled").into_switch();
    let interpreter = ir_interp::switch(program, Options::default()).expect("it can be run");
    let flooded: [Exact<'_>; 4] = [
        ("BaselineIngress.ports", &[(9, 1)], "port_is", &[(10, 1)]),
        ("BaselineIngress.domains", &[(10, 1), (1, 0), (12, 0)], "domain", &[(16, 10), (12, 1)]),
        ("BaselineIngress.floods", &[(16, 10)], "flood", &[(16, 1)]),
        ("BaselineEgress.tags", &[(9, 9), (16, 10)], "untagged", &[]),
    ];
    [engine, interpreter].map(|mut switch| {
        add(&mut switch, &flooded);
        add(&mut switch, entries);
        switch.multicast_group_set(1, vec![(9, 1)]);
        switch
    })
}

/// Diagnostics as a user sees them.
pub fn text(found: &[Diagnostic], map: &SourceMap) -> String {
    found.iter().map(|d| render(d, map, Style::Plain)).collect()
}

/// `tor` and `nic`, joined by ports 300 and 301, with these regions on `nic`.
pub fn placement(on_nic: &[&str]) -> Placement {
    let (tor, nic) = (DeviceIndex(0), DeviceIndex(1));
    Placement {
        devices: vec!["tor".into(), "nic".into()],
        sites: on_nic.iter().map(|r| ((*r).into(), nic.into())).collect(),
        ports: [((tor, nic), 300), ((nic, tor), 301)].into(),
        ..Placement::whole("tor")
    }
}

/// A program and its split, the parts compiled from their printed sources.
pub fn case(whole: Arc<Program>, placement: Placement) -> Case {
    let mut map = SourceMap::new();
    let (_, parts, texts) =
        make_parts(&whole, &placement, &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    keep(&texts);
    for part in parts.iter().flatten() {
        if let Err(errors) = ir::verify::verify(&part.program) {
            panic!("{errors:#?}");
        }
    }
    Case { whole, parts, placement, registry: netfn_registry::all() }
}

/// Writes printed programs to the target directory, for tests with other compilers: `TEST-N.p4` of the last split of a test.
fn keep(texts: &[Option<String>]) {
    let directory = format!("{}/parts", env!("CARGO_TARGET_TMPDIR"));
    let test = std::thread::current().name().unwrap_or("test").to_string();
    std::fs::create_dir_all(&directory).expect("the target directory can be written");
    for (device, text) in texts.iter().enumerate() {
        if let Some(text) = text {
            std::fs::write(format!("{directory}/{test}-{device}.p4"), text).expect("a part can be written");
        }
    }
}

/// A v1model program with these declarations and bodies; `hdr.h` and `hdr.g` are headers of two bytes each.
pub fn small_program(declarations: &str, ingress: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; }}
struct headers {{ h_t h; h_t g; }}
struct metadata {{ bit<8> x; bit<8> y; bool flag; }}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    state start {{
        packet.extract(hdr.h);
        transition select(hdr.h.a) {{ 1: second; default: accept; }}
    }}
    state second {{ packet.extract(hdr.g); transition accept; }}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
{declarations}
    apply {{
{ingress}
    }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    apply {{
{egress}
    }}
}}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out packet, in headers hdr) {{ apply {{ packet.emit(hdr.h); packet.emit(hdr.g); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// Compiles a program given as text.
pub fn compile_text(source: &str, map: &mut SourceMap) -> Arc<Program> {
    compiler::reparse("test.p4", source, map).unwrap_or_else(|found| panic!("{}", text(&found, map)))
}

/// The times in milliseconds that transfers need in a program of `ns3/`: each has the number of its host, the nanosecond at which it begins, and bytes.
pub fn ns_3_times(program: &Path, args: &[String], transfers: &[(usize, u64, u32)]) -> Vec<f64> {
    let lines = transfers.iter().map(|(host, at_ns, bytes)| format!("{host} {at_ns} {bytes}\n"));
    // Tests may run in one process.
    let name = program.file_name().expect("a program").to_string_lossy();
    let list = std::env::temp_dir().join(format!("p4rack-ns3-{name}-{}.txt", std::process::id()));
    std::fs::write(&list, lines.collect::<String>()).expect("a file");
    let done = std::process::Command::new(program)
        .args(args)
        .stdin(std::fs::File::open(&list).expect("a file"))
        .output()
        .expect("it runs");
    std::fs::remove_file(&list).expect("a file");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let times = String::from_utf8(done.stdout).expect("text");
    times.lines().map(|ns| ns.parse::<f64>().expect("a number") / 1e6).collect()
}
