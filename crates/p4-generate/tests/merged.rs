//! Random programs in pairs: merged, each does what it does alone.

use base_time::Time;
use ir::{Block, Const, ExprKind, Program, StmtKind};
use p4_generate::inputs::{Inputs, Packet};
use p4_generate::merged::{Trial, Tried, program};
use p4_generate::{Config, generate};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use traffic_classes::Class;

use crate::support;

use support::with_stack;

/// The classes of two apps, and what their packets' ports become.
type Way = (&'static str, [Option<&'static str>; 2], fn(usize, u32) -> u32);

const WAYS: [Way; 3] = [
    ("ports", [Some("port in 0..7"), Some("port > 7")], |app, port| port % 8 + 8 * app as u32),
    ("addresses", [Some("ethernet.dst < 0x800000000000"), None], |_, port| port),
    (
        "ip",
        [Some("ipv4 && !(tcp && l4.dst < 1024) || ethernet.type < 0x4000 || port == 3"), None],
        |_, port| port,
    ),
];

/// A program that sends back what came in, with these metadata and statements of checksums, ingress and egress.
fn echo(metadata: &str, verify: &str, ingress: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
        #define V1MODEL_VERSION 20200408
        #include <v1model.p4>
        header h_t {{ bit<8> x; bit<8> result; }}
        struct headers {{ h_t h; }}
        struct metadata {{ {metadata} }}
        parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
            state start {{ p.extract(hdr.h); transition accept; }}
        }}
        control V(inout headers hdr, inout metadata meta) {{
            apply {{ {verify} }}
        }}
        control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
        control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
            apply {{ sm.egress_spec = sm.ingress_port; {ingress} }}
        }}
        control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{ apply {{ {egress} }} }}
        control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr.h); }} }}
        V1Switch(P(), V(), I(), E(), C(), D()) main;"
    )
}

/// The pair of a seed with traffic classes that separate their packets.
fn pair(seed: u64, way: usize, config: &Config) -> (Trial<'static>, &'static str, fn(usize, u32) -> u32) {
    let (name, classes, port) = WAYS[way];
    let class = |at: usize| classes[at].map(|text| Class::read(text).expect("a class"));
    let made = |seed: u64| Arc::new(program(&generate(seed, config).source).expect("a program"));
    let one = made(seed);
    // All programs of a switch are for one version of v1model.
    let other = (1_000_000 + seed..).step_by(10_000).map(made).find(|other| other.arch == one.arch);
    let other = other.expect("another program");
    let apps = vec![("one", one, class(0)), ("two", other, class(1))];
    (Trial { apps, fault: None, native: true }, name, port)
}

fn pairs(seeds: Range<u64>) {
    let config = Config { packets: 12, ..Config::default() };
    let (mut refused, mut packets) = (BTreeMap::<String, u32>::new(), [0, 0]);
    let all = seeds.end - seeds.start;
    for seed in seeds {
        let (trial, name, port) = pair(seed, (seed % 3) as usize, &config);
        match trial.run(config.packets, seed, &port) {
            Ok(Tried::Refused(why)) => *refused.entry(why).or_default() += 1,
            Ok(Tried::Same(same)) => {
                packets[0] += same[0];
                packets[1] += same[1];
            }
            Err(finding) => panic!("seed {seed}, by {name}: {}: {}", finding.summary, finding.details),
        }
    }
    let merged = all - u64::from(refused.values().sum::<u32>());
    println!("{merged} of {all} pairs merged, {packets:?} packets; {refused:#?}");
    assert!(merged * 2 > all, "{refused:#?}");
    assert!(packets.iter().all(|packets| *packets > all as usize), "{packets:?}");
}

#[test]
fn merged_programs_do_what_each_does_alone() {
    with_stack(|| pairs(features::seeds(24, 2000)));
}

/// A clone without a field list keeps nothing but the app's number, whatever lists the metadata have.
#[test]
fn plain_clones_keep_no_metadata() {
    let ingress = "meta.x = 7; clone(CloneType.I2E, 1); clone(CloneType.I2E, 2);";
    let source = echo("@field_list(0) bit<8> x;", "", ingress, "hdr.h.result = meta.x;");
    let made = || Arc::new(program(&source).expect("a program"));
    let apps = vec![("one", made(), Class::read("port < 4").ok()), ("two", made(), None)];
    let trial = Trial { apps, fault: None, native: true };
    for seed in 0..8 {
        let tried = trial.run(20, seed, &|app, port| port % 4 + 4 * app as u32);
        assert!(matches!(tried, Ok(Tried::Same(_))), "{tried:?}");
    }
}

/// A merge that is wrong in one way is noticed.
#[test]
fn wrong_merges_are_noticed() {
    type Fault = (&'static str, usize, fn(&mut Program));
    let faults: [Fault; 4] = [
        ("the app's number does not go with copies", 1, |program| {
            let metadata = program.types.iter_mut().find(|decl| decl.name == "merged_metadata");
            if let Some(ir::TypeKind::Struct(fields)) = metadata.map(|decl| &mut decl.kind) {
                fields[0].annotations.clear();
            }
        }),
        ("groups are not moved", 0, |program| {
            branches(body(program, "ingress"), &mut |branch| branch.stmts.truncate(1));
        }),
        ("egress sees the moved group", 0, |program| {
            branches(body(program, "egress"), &mut |branch| {
                let last = branch.stmts.pop();
                branch.stmts = last.into_iter().collect();
            });
        }),
        ("sessions are not moved", 0, |program| {
            let actions = program.controls.iter_mut().flat_map(|c| {
                let actions = c.actions.iter_mut().map(|a| &mut a.body);
                actions.chain(std::iter::once(&mut c.body))
            });
            for block in actions {
                ir::visit::stmts_mut(block, &mut |stmt| {
                    if let StmtKind::Call(call) = &mut stmt.kind
                        && let Some(Some(session)) = call.args.get_mut(1)
                        && let ExprKind::Const(Const::Bits(bits)) = &mut session.kind
                        && bits.to_u64().is_some_and(|n| n > 1 << 14)
                    {
                        *session = ir::build::bits(32, bits.to_u64().unwrap_or(0) - (1 << 14));
                    }
                });
            }
        }),
    ];
    for (fault, way, change) in faults {
        let config = Config { packets: 16, ..Config::default() };
        with_stack(move || {
            let noticed = (1..=60).find(|seed| {
                let (trial, _, port) = pair(*seed, way, &config);
                let trial = Trial { fault: Some(&change), native: false, ..trial };
                trial.run(config.packets, *seed, &port).is_err()
            });
            println!("{fault}: {noticed:?}");
            assert!(noticed.is_some(), "nothing notices that {fault}");
        });
    }
}

fn body<'p>(program: &'p mut Program, stage: &str) -> &'p mut Block {
    let id = program.stage_control(stage).expect("a control");
    &mut program.controls[id.index()].body
}

/// The branch of each app, where it is not empty.
fn branches(block: &mut Block, f: &mut dyn FnMut(&mut Block)) {
    for stmt in &mut block.stmts {
        if let StmtKind::If(_, yes, no) = &mut stmt.kind {
            f(yes);
            branches(no, f);
        }
    }
}

#[test]
fn the_ether_type_of_a_tagged_packet_is_behind_the_tag() {
    let made = |result: u32| {
        Arc::new(program(&echo("", "", &format!("hdr.h.result = {result};"), "")).expect("a program"))
    };
    let apps = vec![("one", made(1), Class::read("ethernet.type < 0x4000").ok()), ("two", made(2), None)];
    let trial = Trial { apps, fault: None, native: true };
    let packet = |tag: &[u8], ether_type: u16| Packet {
        port: 1,
        frame: [&[2; 12], tag, &ether_type.to_be_bytes(), &[0; 46]].concat(),
        at: Time::ZERO,
    };
    let types = [0x0000, 0x0800, 0x3fff, 0x4000, 0x86dd, 0x9000];
    let packets = types.into_iter().flat_map(|ty| [packet(&[], ty), packet(&[0x81, 0, 0x20, 5], ty)]);
    let inputs = Inputs { writes: vec![], packets: packets.collect() };
    let tried = trial.run_on(vec![inputs.clone(), inputs]);
    assert!(matches!(&tried, Ok(Tried::Same(same)) if *same == [6, 6]), "{tried:?}");
}
