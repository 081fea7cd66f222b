//! Random programs in pairs: merged, each does what it does alone.

use base_time::{Rng, Time};
use ir::{Block, Const, ExprKind, Program, StmtKind};
use ir_merge::{App, merge};
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
    (Trial { apps, fault: None, native: true, shares_parser: false }, name, port)
}

fn pairs(seeds: Range<u64>) {
    let config = Config { packets: 12, ..Config::default() };
    let (mut refused, mut packets) = (BTreeMap::<String, u32>::new(), [0, 0]);
    for seed in seeds.clone() {
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
    let all = seeds.end - seeds.start;
    let merged = all - u64::from(refused.values().sum::<u32>());
    println!("{merged} of {all} pairs merged, {packets:?} packets; {refused:#?}");
    assert!(merged * 2 > all, "{refused:#?}");
    assert!(packets.iter().all(|packets| *packets > all as usize), "{packets:?}");
}

#[test]
fn merged_programs_do_what_each_does_alone() {
    with_stack(|| pairs(features::seeds(12, 2000)));
}

/// Names of the merged headers and of the states of the merged parser, with the notes of the merge.
fn parts(apps: &[(&str, Arc<Program>, Option<Class>)]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let apps = apps.iter().map(|(name, program, class)| App {
        name: (*name).into(),
        program,
        class: class.clone(),
        priority: None,
        has_regions: false,
        shares_parser: true,
    });
    let merged = merge(&apps.collect::<Vec<_>>()).unwrap_or_else(|found| panic!("{found:#?}"));
    let headers = merged.program.types.iter().find(|decl| decl.name == "merged_headers");
    let Some(ir::TypeKind::Struct(fields)) = headers.map(|decl| &decl.kind) else { panic!("no headers") };
    let names = fields.iter().map(|field| field.name.to_string()).collect();
    let states = merged.program.parsers.iter().flat_map(|parser| &parser.states);
    (names, states.map(|state| state.name.to_string()).collect(), merged.notes)
}

/// Statements of a state: common ones in their order, with random ones of an app's own between them.
fn state(common: &[&str], rng: &mut Rng) -> String {
    const OWN: [&str; 5] = [
        "meta.a = hdr.h.x;",
        "meta.a = meta.a + 1;",
        "meta.b = hdr.h.x[3:0];",
        "meta.a = hdr.h.result ^ 0x5a;",
        "meta.a[3:0] = meta.b;",
    ];
    let mut text = String::new();
    for at in 0..=common.len() {
        (0..rng.below(3)).for_each(|_| text += OWN[rng.index(OWN.len())]);
        text += common.get(at).copied().unwrap_or_default();
    }
    text
}

/// Two apps whose parsers have random common statements, and each random ones of its own: one parser serves both.
#[test]
fn parsers_that_agree_are_one() {
    const COMMON: [&str; 4] = [
        "hdr.h.x = hdr.h.x + 1;",
        "verify(hdr.h.x != 9, error.NoMatch);",
        "hdr.h.result = hdr.h.result | 0x40;",
        "p.advance(8);",
    ];
    with_stack(|| {
        for seed in features::seeds(12, 2000) {
            let mut rng = Rng::new(seed).split("agree");
            let mut some = |most: u64| (0..rng.below(most)).map(|_| COMMON[rng.index(4)]).collect::<Vec<_>>();
            let (first, second) = ([vec!["p.extract(hdr.h);"], some(3)].concat(), some(3));
            let [one, two] = [1, 2].map(|app| {
                let mut rng = Rng::new(seed).split_index(app);
                let parser = format!(
                    "{} transition select(hdr.h.x) {{ 0..127: more; default: accept; }} }} state more {{ {} transition accept;",
                    state(&first, &mut rng),
                    state(&second, &mut rng)
                );
                ends_with("bit<8> a; bit<4> b;", &parser, "meta.a + (bit<8>)meta.b")
            });
            let apps = vec![("one", one, Class::read("port < 4").ok()), ("two", two, None)];
            assert_eq!(parts(&apps).0, ["one_two"], "seed {seed}: {:?}", parts(&apps).2);
            let trial = Trial { apps, fault: None, native: true, shares_parser: true };
            let tried = trial.run(40, seed, &|app, port| port % 4 + 4 * app as u32);
            assert!(
                matches!(&tried, Ok(Tried::Same(same)) if same.iter().all(|n| *n > 0)),
                "seed {seed}: {tried:?}"
            );
        }
    });
}

/// A program with this body of its parser's first state, and that sends back what this makes of `meta`.
fn ends_with(metadata: &str, state: &str, result: &str) -> Arc<Program> {
    let text = echo(metadata, "", &format!("hdr.h.result = {result};"), "");
    let text = text.replace("p.extract(hdr.h); transition accept;", state);
    Arc::new(program(&text).unwrap_or_else(|why| panic!("{why}")))
}

#[test]
fn parsers_agree_but_for_what_they_note_of_a_packet() {
    let plain = ends_with("bit<8> a;", "p.extract(hdr.h); meta.a = hdr.h.x; transition accept;", "meta.a");
    let other = ends_with(
        "bit<4> b; bit<8> c;",
        "p.extract(hdr.h); meta.b = hdr.h.x[3:0]; meta.c = 7; transition accept;",
        "meta.c + (bit<8>)meta.b",
    );
    let class = |text: &str| Class::read(text).ok();
    let trial = |one: &Arc<Program>, two: &Arc<Program>| Trial {
        apps: vec![("one", Arc::clone(one), class("port < 4")), ("two", Arc::clone(two), None)],
        fault: None,
        native: true,
        shares_parser: true,
    };
    let shared = trial(&plain, &other);
    let (headers, states, notes) = parts(&shared.apps);
    assert_eq!((headers, notes), (vec!["one_two".to_string()], vec![]));
    assert!(states.iter().any(|state| state == "one_two_start"), "{states:?}");
    // Each of these has a parser of its own.
    let own = [
        ("bit<8> a;", "p.extract(hdr.h); p.advance(8); transition accept;", "meta.a", "start"),
        ("bit<8> a;", "p.extract(hdr.h); hdr.h.x = 1; transition accept;", "meta.a", "start"),
        (
            "bit<8> a;",
            "p.extract(hdr.h); verify(hdr.h.x != 1, error.NoMatch); transition accept;",
            "meta.a",
            "start",
        ),
        (
            "bit<8> a;",
            "p.extract(hdr.h); meta.a = p.lookahead<bit<8>>(); transition accept;",
            "meta.a",
            "start",
        ),
        (
            "bit<8> a;",
            "p.extract(hdr.h); transition select(hdr.h.x) { 1: accept; default: reject; }",
            "meta.a",
            "start",
        ),
        (
            "bit<8> a;",
            "p.extract(hdr.h); meta.a = 1; transition select(meta.a) { 1: accept; default: reject; }",
            "meta.a",
            "start",
        ),
    ];
    for (metadata, state, result, place) in own {
        let alone = ends_with(metadata, state, result);
        let apart = trial(&plain, &alone);
        let (headers, _, notes) = parts(&apart.apps);
        assert_eq!(headers, ["one", "two"], "{state}");
        assert!(notes.iter().any(|note| note.contains(&format!("`{place}`"))), "{state}: {notes:?}");
        let tried = apart.run(30, 5, &|app, port| port % 4 + 4 * app as u32);
        assert!(matches!(tried, Ok(Tried::Same(_))), "{state}: {tried:?}");
    }
    for seed in 0..8 {
        let tried = shared.run(30, seed, &|app, port| port % 4 + 4 * app as u32);
        assert!(matches!(tried, Ok(Tried::Same(_))), "{tried:?}");
    }
}

/// A clone without a field list keeps nothing but the app's number, whatever lists the metadata have.
#[test]
fn plain_clones_keep_no_metadata() {
    let ingress = "meta.x = 7; clone(CloneType.I2E, 1); clone(CloneType.I2E, 2);";
    let source = echo("@field_list(0) bit<8> x;", "", ingress, "hdr.h.result = meta.x;");
    let made = || Arc::new(program(&source).expect("a program"));
    let apps = vec![("one", made(), Class::read("port < 4").ok()), ("two", made(), None)];
    let trial = Trial { apps, fault: None, native: true, shares_parser: false };
    for seed in 0..8 {
        let tried = trial.run(20, seed, &|app, port| port % 4 + 4 * app as u32);
        assert!(matches!(tried, Ok(Tried::Same(_))), "{tried:?}");
    }
}

/// Clones carry the app's number by a field list that no program uses.
#[test]
fn clones_of_programs_that_use_all_field_lists_are_refused() {
    for lists in [255, 256] {
        let numbers: Vec<String> = (0..lists).map(|list| list.to_string()).collect();
        let metadata = format!("@field_list({}) bit<8> x;", numbers.join(", "));
        let made = |ingress: &str| Arc::new(program(&echo(&metadata, "", ingress, "")).expect("a program"));
        let merge = |ingress: &str| {
            let apps = vec![("one", made(ingress), Class::read("port < 4").ok()), ("two", made(""), None)];
            Trial { apps, fault: None, native: false, shares_parser: false }
                .run(4, 0, &|app, port| port % 4 + 4 * app as u32)
        };
        assert!(matches!(merge(""), Ok(Tried::Same(_))), "{lists}");
        match merge("clone(CloneType.I2E, 1);") {
            Ok(Tried::Refused(why)) => assert!(lists == 256 && why.contains("use all 256"), "{lists}: {why}"),
            tried => assert!(lists == 255 && matches!(tried, Ok(Tried::Same(_))), "{lists}: {tried:?}"),
        }
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
    let trial = Trial { apps, fault: None, native: true, shares_parser: false };
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
