//! Handlers in C under programs: the source NAT of `examples/snat`, on one device, cut, and in a rack.

use crate::support::{self, nat};

use base_bits::Bits;
use base_diag::SourceMap;
use base_time::{Duration, Time};
use dataplane_api::{Device, ExternError, ValueExtern};
use device::{Options, Switch};
use handlers::Isolation;
use ir_prove::Effort;
use nat::{Flow, ICMP, PUBLIC, TCP, UDP, back, flow, packet};
use p4rack::proof::{Trial, prove_app};
use p4rack::{handlers as offers, rack, up};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::text;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/snat")
}

fn program() -> Arc<ir::Program> {
    let main = example().join("snat.p4").display().to_string();
    let mut map = SourceMap::new();
    let program = rack::compile_program(&main, &Default::default(), &mut map, &mut vec![]);
    program.unwrap_or_else(|found| panic!("{}", text(&found, &map)))
}

/// The example on one device.
fn device(isolation: Isolation, native: bool) -> Switch {
    on_one_device(program(), example().join("snat.c"), isolation, native)
}

fn on_one_device(program: Arc<ir::Program>, source: PathBuf, isolation: Isolation, native: bool) -> Switch {
    let name = source.with_extension("p4").display().to_string();
    let options = offers::Options { files: vec![source], isolation, seed: 5, ..Default::default() };
    let mut map = SourceMap::new();
    let registry = offers::offers(&program, &name, &options, &mut map)
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)))
        .registry;
    let options = Options { registry, ..Options::default() };
    if native {
        let engine = target_native::Engine::compile(&program, options);
        engine.unwrap_or_else(|found| panic!("{}", text(&found, &map))).into_switch()
    } else {
        ir_interp::switch(program, options).unwrap_or_else(|found| panic!("{}", text(&found, &map)))
    }
}

/// Small, seeded numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The oracle: no two flows share a public port at a time, a mapping stays while its flow is alive, what comes back goes to who
/// sent, checksums are right, and what nobody asked for is dropped. All ways of running give the same frames.
#[test]
fn translations_are_one_to_one() {
    let mut devices = vec![
        device(Isolation::Inline, false),
        device(Isolation::Inline, true),
        device(Isolation::Process, true),
    ];
    let (mut chance, mut known) = (Chance(3), BTreeMap::<Flow, u16>::new());
    let mut count = 0;
    for n in 0..600u64 {
        let protocol = [TCP, UDP, ICMP][chance.below(3) as usize];
        let src = (0x0a00_0001 + chance.below(9) as u32, 1000 + chance.below(6) as u16);
        let peer_port = if protocol == ICMP { src.1 } else { 80 + chance.below(3) as u16 };
        let sent = Flow { protocol, src, dst: (0xc633_6401 + chance.below(3) as u32, peer_port) };
        let payload: Vec<u8> = (0..chance.below(40)).map(|n| n as u8).collect();
        let frame = packet(sent, &payload, protocol != UDP || chance.below(4) != 0);
        let now = Time::ZERO + Duration::from_ms(n);
        let outputs: Vec<_> = devices.iter_mut().map(|device| device.process(1, &frame, now)).collect();
        assert!(outputs.windows(2).all(|two| two[0] == two[1]), "packet {n}");
        let [output] = outputs[0].as_slice() else { panic!("packet {n}: {:?}", outputs[0]) };
        assert_eq!(output.port, 2);
        let seen = flow(&output.frame);
        assert_eq!((seen.src.0, seen.dst.0), (PUBLIC, sent.dst.0));
        let port = seen.src.1;
        assert_eq!(*known.entry(sent).or_insert(port), port, "the mapping stays");
        let owners = known.iter().filter(|(_, known)| **known == port).count();
        assert_eq!(owners, 1, "port {port} has one flow");
        // The answer, and one from somebody else.
        let mut answer = packet(back(seen), &payload, true);
        if protocol == ICMP {
            answer[34] = 0;
            let sum = (u16::from_be_bytes([answer[36], answer[37]]) as u32 + 0x0800) % 0xffff;
            answer[36..38].copy_from_slice(&(sum as u16).to_be_bytes());
        }
        let outputs: Vec<_> = devices.iter_mut().map(|device| device.process(2, &answer, now)).collect();
        assert!(outputs.windows(2).all(|two| two[0] == two[1]), "answer {n}");
        let [output] = outputs[0].as_slice() else { panic!("answer {n}: {:?}", outputs[0]) };
        assert_eq!((output.port, flow(&output.frame)), (1, back(sent)));
        let stranger = Flow { src: (seen.dst.0 ^ 0x100, seen.dst.1), ..back(seen) };
        for device in &mut devices {
            assert_eq!(device.process(2, &packet(stranger, &payload, true), now), []);
        }
        count += 1;
    }
    assert!(count == 600 && known.len() > 300, "{} flows", known.len());
}

/// Mappings end, their ports rest, and are used again.
#[test]
fn mappings_end_after_idle_time() {
    let mut device = device(Isolation::Inline, true);
    let at = |s: u64| Time::ZERO + Duration::from_ms(s * 1000);
    let mut send = |n: u32, s: u64| {
        device.tick(at(s));
        let sent =
            Flow { protocol: UDP, src: (0x0a00_0000 + (n >> 8), n as u16 & 0xff | 0x400), dst: (9, 53) };
        // An error goes back inside.
        let outputs = device.process(1, &packet(sent, b"x", true), at(s)).into_iter();
        outputs.filter(|output| output.port == 2).map(|output| flow(&output.frame).src.1).next()
    };
    let ports: Vec<Option<u16>> = (0..4096).map(|n| send(n, 0)).collect();
    let mut used: Vec<u16> = ports.iter().copied().flatten().collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 4096, "all ports of 1024 to 5119");
    assert_eq!(send(5000, 1), None, "none is left");
    assert_eq!(send(7, 100), ports[7], "this flow lives on");
    assert_eq!(send(5000, 121), None, "the others have ended, and their ports rest");
    assert!(send(5000, 152).is_some_and(|port| port != ports[7].unwrap()));
    assert_eq!(send(7, 153), ports[7]);
}

/// The source NAT as CLIP's appendix prints it: what is known passes, what is not goes to the handler, and `post` writes what came back.
const PRINTED: &str = r#"#include <core.p4>
#include <v1model.p4>
header tuple_t { bit<32> src_addr; bit<16> src_port; }
struct headers_t { tuple_t tuple5; }
struct metadata_t { }
struct request_t { bit<32> addr; bit<16> port; }
struct response_t { bit<32> sub_addr; bit<16> src_addr; }
@remote(handler = "remote_handler", key = { req.addr, req.port })
extern void remote_handler(in request_t req, out response_t res);
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.tuple5); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    request_t req;
    response_t res;
    bool flight = false;
    table nat_table {
        key = { req.addr: exact; req.port: exact; }
        actions = { NoAction; }
        const entries = { (0x0a000001, 7): NoAction(); }
    }
    apply {
        req.addr = hdr.tuple5.src_addr;
        req.port = hdr.tuple5.src_port;
        if (nat_table.apply().miss) { flight = true; }
        if (flight) { remote_handler(req, res); }
        hdr.tuple5.src_addr = res.sub_addr;
        std.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.tuple5); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// `mirrored_flow_table` finds nothing, since nothing is stored there.
const PRINTED_HANDLER: &str = r#"#include "printed.h"
int remote_handler_init(p4r_ctx *ctx, const char *config) { return p4r_alloc(ctx, 4) ? P4R_OK : P4R_DROP; }
int remote_handler(p4r_ctx *ctx, const request_t *req, response_t *res) {
    uint32_t *allocated = p4r_memory(ctx);
    response_t_set_sub_addr(res, 0xcb007100 + ++*allocated);
    response_t_set_src_addr(res, 1024);
    return P4R_OK;
}
"#;

/// Packets show the faults of the SNAT that the paper prints.
#[test]
fn the_printed_snat_is_wrong() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("handlers-printed");
    std::fs::create_dir_all(&directory).unwrap();
    let (main, source) = (directory.join("printed.p4"), directory.join("printed.c"));
    std::fs::write(&main, PRINTED).unwrap();
    std::fs::write(&source, PRINTED_HANDLER).unwrap();
    let mut map = SourceMap::new();
    let options = Default::default();
    let program = rack::compile_program(&main.display().to_string(), &options, &mut map, &mut vec![]);
    let program = program.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let mut device = on_one_device(program, source, Isolation::Inline, true);
    let mut send = |flow: [u8; 6]| device.process(1, &flow, Time::ZERO)[0].frame.clone();
    let (known, new) = ([10, 0, 0, 1, 0, 7], [10, 0, 0, 2, 0, 8]);
    assert_eq!(send(known), [0, 0, 0, 0, 0, 7], "a known flow loses its address: `res` was never set");
    assert_eq!(send(new), [203, 0, 113, 1, 0, 8], "the port is never written");
    assert_eq!(
        send(new),
        [203, 0, 113, 2, 0, 8],
        "the next packet of the flow gets another mapping: none is stored"
    );
}

fn load(path: &Path) -> p4rack::Racked {
    let mut map = SourceMap::new();
    p4rack::rack::load(path, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)))
}

/// The switch and the server are the device with all of it: the handler is called over a cut.
#[test]
fn a_call_over_a_cut_is_the_call_inline() {
    let racked = load(&example());
    let app = &racked.apps[0];
    let calls = |device: usize| app.parts[device].as_ref().map(|part| part.program.own_externs().join(" "));
    assert_eq!((calls(0).as_deref(), calls(1).as_deref()), (Some(""), Some("snat")));
    assert_eq!(app.placement.policy_of("snat"), ir_split::Policy::Call);
    let effort = Effort { packets: 200, ..Effort::default() };
    let proved = prove_app(app, &Trial { effort, lossy: false }).unwrap_or_else(|found| panic!("{found:?}"));
    match proved.outcome {
        Ok(tried) => assert!(tried.outputs > 10 && tried.hops > 20, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

#[test]
fn a_rack_translates() {
    let report = up::bring_up(&load(&example())).unwrap().run().unwrap();
    let count = |name: &str| {
        let workload = report.workloads.iter().find(|workload| workload.name == name).expect("it ran");
        (workload.sent, workload.received)
    };
    assert_eq!(count("ping"), (100, 100));
    assert_eq!(count("upload"), (500, 500));
    assert_eq!(count("scan"), (100, 0));
}

/// A handler in Rust: the number of its calls, and whether that is odd.
struct Tally(u64);

impl ValueExtern for Tally {
    fn call(&mut self, _method: usize, inputs: &[Bits], outputs: &mut [Bits], _now: Time) {
        self.0 += 1 + inputs[0].low_u64() % 2;
        outputs[0] = Bits::new(8, self.0.into());
        outputs[1] = Bits::from_bool(self.0 % 2 == 1);
    }

    fn snapshot(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        let bytes = snapshot.try_into().map_err(|_| ExternError("not a tally".to_string()))?;
        self.0 = u64::from_be_bytes(bytes);
        Ok(())
    }
}

/// Calls in conditions and in both branches become regions of the calls alone; a handler may be in Rust.
#[test]
fn calls_are_cut_wherever_they_stand() {
    let declared = "struct q_t { bit<8> a; } struct r_t { bit<8> n; }
        @remote(handler = \"tally\", group = \"nic\", key = { q.a }) extern bool tally(in q_t q, out r_t r);\nparser P";
    let ingress = "q.a = hdr.h.a;
        if (hdr.h.a > 100) {
            if (hdr.h.b > 3 && tally(q, r) || hdr.h.b == 1) { hdr.h.b = r.n; } else { meta.x = 1; }
        } else {
            bool odd = tally(q, r);
            hdr.h.a = odd ? r.n : 8w7;
        }
        std.egress_spec = 2; hdr.h.b = hdr.h.b + meta.x;";
    let source = support::small_program("q_t q; r_t r;", ingress, "").replacen("parser P", declared, 1);
    let mut program = support::compile_text(&source, &mut SourceMap::new());
    let found = ir_handlers::handlers(&program);
    let names = found.iter().map(|(id, handler)| (*id, handler.name.clone())).collect();
    let regions = ir_split::handler_calls(Arc::make_mut(&mut program), &names);
    let regions: Vec<&str> = regions.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(regions, ["tally", "tally_2"]);
    let mut placement = support::placement(&[]);
    let nic = ir_split::DeviceIndex(1);
    let site = ir_split::Site::new(nic, ir_split::Policy::Call);
    placement.sites = regions.iter().map(|region| ((*region).into(), site.clone())).collect();
    let mut case = support::case(program, placement);
    let make = |_: &[Bits]| Ok(Box::new(Tally(0)) as Box<dyn ValueExtern>);
    case.registry.add_value("tally", ir_handlers::offer(&found[0].1, Arc::new(make)));
    let nic = case.parts[1].as_ref().expect("it has the calls").program.own_externs().join(" ");
    assert_eq!(nic, "tally");
    match ir_prove::prove(&case, &Effort { packets: 300, ..Effort::default() }) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

/// A group that nothing has.
#[test]
fn an_unknown_group_is_named() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("handlers-group");
    std::fs::create_dir_all(&directory).unwrap();
    for file in ["RACK.toml", "snat.p4", "snat.c"] {
        let text = std::fs::read_to_string(example().join(file)).unwrap();
        std::fs::write(directory.join(file), text.replace("group = \"nat\"", "group = \"nad\"")).unwrap();
    }
    let mut map = SourceMap::new();
    let found = p4rack::rack::load(&directory, &[], &mut map).err().expect("no such group");
    let reported = text(&found, &map);
    assert!(reported.contains("error[P4R1406]: there is no group and no device `nad`"), "{reported}");
    assert!(reported.contains("did you mean `nat`?"), "{reported}");
}

/// Without its source a program with a handler does not run, and a source without handlers is refused.
#[test]
fn sources_are_wanted_where_handlers_are() {
    let mut map = SourceMap::new();
    let found =
        offers::offers(&program(), "snat.p4", &offers::Options::default(), &mut map).err().expect("none");
    assert_eq!(found[0].title, "handler `snat` has no source");
    let files = vec![example().join("snat.c")];
    let options = offers::Options { files, ..offers::Options::default() };
    let found =
        offers::offers(&support::slice(), "slice.p4", &options, &mut map).err().expect("it calls none");
    assert_eq!(found[0].title, "the program calls no handlers");
}
