//! Pinned programs, random ones and those of the examples: whichever flows are resident, nothing shows.

use base_time::Rng;
use ir::{Callee, ExprKind, Program, StmtKind};
use ir_pin::{Affinity, Request, Resident, Shards};
use p4_generate::merged::program;
use p4_generate::pinned::{Trial, Tried, some_key, tamed};
use p4_generate::{Config, generate};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support;

use support::with_stack;

fn request(program: &Program, seed: u64) -> Request {
    let mut rng = Rng::new(seed).split("key");
    let key = some_key(program, 3, &mut rng);
    let shards = Shards { count: 6, parts: (0..key.len()).collect(), pairs: vec![] };
    let mut request = Request {
        affinity: Affinity::Medium,
        region: "external".into(),
        key,
        shards: rng.next_bool().then_some(shards),
        flows: 64,
        resident: [].into(),
    };
    // Copies of about half of the tables have entries of resident flows alone.
    if let Ok(pinned) = ir_pin::pin(program, &request) {
        let some = pinned.tables.into_iter().filter(|_| rng.next_bool());
        request.resident = some.map(|copy| (copy.original, Resident::Most(64))).collect();
    }
    request
}

#[derive(Default, Debug)]
struct Counts {
    refused: BTreeMap<String, u32>,
    same: u32,
    packets: [usize; 2],
    frames: usize,
    entries: usize,
}

impl Counts {
    fn add(&mut self, what: &str, tried: Result<Tried, p4_generate::check::Finding>) {
        match tried {
            Ok(Tried::Refused(why)) => *self.refused.entry(why.join(", ")).or_default() += 1,
            Ok(Tried::Same { packets, frames, entries }) => {
                self.same += 1;
                self.packets[0] += packets[0];
                self.packets[1] += packets[1];
                self.frames += frames;
                self.entries += entries;
            }
            Err(finding) => panic!("{what}: {}: {}", finding.summary, finding.details),
        }
    }
}

#[test]
fn random_programs_do_the_same_when_pinned() {
    let seeds = features::seeds(40, 2000);
    let all = seeds.end - seeds.start;
    with_stack(move || {
        let mut counts = Counts::default();
        for seed in seeds {
            let config = Config { packets: 40, plain: 50, ..Config::default() };
            let made = program(&generate(seed, &config).source).expect("a program");
            let made = Arc::new(tamed(&made));
            let trial = Trial { request: request(&made, seed), program: made, fault: None };
            counts.add(&format!("seed {seed}"), trial.run(config.packets, seed));
        }
        println!("{counts:#?}");
        assert!(u64::from(counts.same) * 2 > all, "{counts:#?}");
        assert!(counts.packets.iter().all(|n| *n > all as usize) && counts.entries > 0, "{counts:#?}");
    });
}

/// The text of a program of the examples, with the files that it includes.
fn text(path: &Path) -> String {
    let source = std::fs::read_to_string(path).expect("a program");
    let line = |line: &str| match line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
        Some(file) => text(&path.with_file_name(file)),
        None => format!("{line}\n"),
    };
    source.lines().map(line).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "p4") {
            found.push(path);
        }
    }
}

/// The pinned firewall as a person reads it. `UPDATE_EXPECT=1` writes the file.
#[test]
fn a_pinned_program_is_legible() {
    with_stack(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let made = program(&text(&here.join("../../examples/apps/firewall.p4"))).expect("a program");
        let key = ir_keys::keys(&made).key.parts.iter().map(|part| part.name.clone()).collect();
        // Addresses and ports of UDP, in both directions.
        let shards = Shards { count: 2, parts: vec![0, 2, 5, 6], pairs: vec![(0, 1), (2, 3)] };
        let request =
            Request { key, shards: Some(shards), flows: 4096, resident: [].into(), ..request(&made, 1) };
        let printed = target_p4::print(&ir_pin::pin(&made, &request).expect("a pinned program").program);
        let path = here.join("tests/programs/pinned_firewall.p4");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::create_dir_all(here.join("tests/programs")).expect("a folder");
            std::fs::write(&path, &printed).expect("an expectation can be written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(printed == expected, "the pinned firewall is another one: see what UPDATE_EXPECT=1 changes");
    });
}

/// The programs of the examples, by the union key that is found in each, and by other keys.
#[test]
fn the_programs_of_the_examples_do_the_same_when_pinned() {
    with_stack(|| {
        let mut paths = vec![];
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &mut paths);
        let seeds = if features::is_long() { 40 } else { 2 };
        let mut counts = Counts::default();
        let mut pinned = 0;
        // In the short form, one program of three.
        let (step, least) = if features::is_long() { (1, 12) } else { (3, 3) };
        for path in paths.into_iter().step_by(step) {
            let Ok(made) = program(&text(&path)) else { continue };
            // Externs of the user's own, and handlers, are somewhere else.
            if !made.own_externs().is_empty() || text(&path).contains("@remote(") {
                continue;
            }
            let made = Arc::new(tamed(&made));
            let before = counts.same;
            for seed in 1..=seeds {
                let mut request = request(&made, seed);
                if seed == 1 {
                    let key = ir_keys::keys(&made).key;
                    request.key = key.parts.iter().map(|part| part.name.clone()).collect();
                    request.shards =
                        Some(Shards { count: 2, parts: key.shard.parts, pairs: key.shard.pairs });
                }
                let trial = Trial { request, program: Arc::clone(&made), fault: None };
                counts.add(&format!("{}, seed {seed}", path.display()), trial.run(60, seed));
            }
            pinned += u32::from(counts.same > before);
        }
        println!("{pinned} programs: {counts:#?}");
        assert!(pinned >= least && counts.frames > 0, "{counts:#?}");
    });
}

/// A program with counters and a register that is merged, and one whose packets come around.
fn small(egress: &str, ingress: &str, body: &str) -> Arc<Program> {
    let source = format!(
        "#include <core.p4>
        #define V1MODEL_VERSION 20200408
        #include <v1model.p4>
        header h_t {{ bit<8> a; bit<8> b; bit<8> c; }}
        struct headers {{ h_t h; }}
        struct metadata {{ }}
        parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
            state start {{ p.extract(hdr.h); transition accept; }}
        }}
        control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
        control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
            {ingress}
            apply {{ {body} }}
        }}
        control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
            apply {{ {egress} }}
        }}
        control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr.h); }} }}
        V1Switch(P(), C(), I(), E(), C(), D()) main;"
    );
    Arc::new(program(&source).expect("a program"))
}

fn counting() -> Arc<Program> {
    let ingress = "counter<bit<8>>(256, CounterType.packets) all; direct_counter(CounterType.packets) hits;
        @merge(\"add\") register<bit<32>, bit<32>>(256) bytes;
        action to(bit<9> port) { sm.egress_spec = port; bit<32> n; bytes.read(n, (bit<32>)hdr.h.a); n = n + 1;
            bytes.write((bit<32>)hdr.h.a, n); }
        table t { key = { hdr.h.a: exact; } actions = { to; NoAction; } counters = hits; default_action = NoAction(); }
        table u { key = { hdr.h.c: ternary; hdr.h.a: exact; } actions = { to; NoAction; } default_action = NoAction(); }";
    small("", ingress, "all.count(hdr.h.a); if (t.apply().miss) { u.apply(); }")
}

fn coming_around() -> Arc<Program> {
    let ingress = "action set(bit<8> c) { hdr.h.c = c; sm.egress_spec = 3; }
        table t { key = { hdr.h.a: ternary; } actions = { set; } default_action = set(1); }";
    small(
        "if (hdr.h.b[0:0] == 1) { hdr.h.a = hdr.h.a ^ 1; hdr.h.b = 0; recirculate_preserving_field_list(3); }",
        ingress,
        "t.apply();",
    )
}

fn two_parts(made: &Arc<Program>, key: &[&str], seed: u64) -> Trial<'static> {
    let key: Vec<ir::Name> = key.iter().map(|name| (*name).into()).collect();
    let some = ["I.t", "I.u"].map(|name| (name.into(), Resident::Most(300)));
    let has =
        |name: &ir::Name| made.controls.iter().flat_map(|c| &c.tables).any(|t| t.control_plane_name == *name);
    let shards = Some(Shards { count: 6, parts: vec![0], pairs: vec![] });
    let resident = some.into_iter().filter(|(name, _)| has(name)).collect();
    Trial {
        request: Request { key, shards, resident, flows: 300, ..request(made, seed) },
        program: Arc::clone(made),
        fault: None,
    }
}

#[test]
fn copies_of_objects_have_parts_of_the_sum() {
    for made in [counting(), coming_around()] {
        let mut counts = Counts::default();
        for seed in 1..=40 {
            counts.add("small", two_parts(&made, &["hdr.h.a", "hdr.h.c"], seed).run(30, seed));
        }
        assert_eq!(counts.same, 40, "{counts:#?}");
        assert!(counts.packets.iter().all(|n| *n > 100) && counts.frames > 100, "{counts:#?}");
    }
}

/// Copies by entry begin without the entries of the source: they get those that resident flows hit.
#[test]
fn entries_of_the_source_are_copied_when_flows_hit_them() {
    let ingress = "action to(bit<9> port) { sm.egress_spec = port; }
        table t { key = { hdr.h.a: ternary; } actions = { to; NoAction; } default_action = NoAction();
            entries = { priority = 2: (8w0 &&& 1): to(1); priority = 1: (_): to(2); } }";
    let made = small("", ingress, "t.apply();");
    let mut counts = Counts::default();
    for seed in 1..=10 {
        let trial = two_parts(&made, &["hdr.h.a"], seed);
        let pinned = ir_pin::pin(&made, &trial.request).expect("a pinned program");
        let tables = pinned.program.controls.iter().flat_map(|control| &control.tables);
        let entries = tables.filter(|table| table.name.starts_with('t')).map(|table| table.entries.len());
        assert_eq!(entries.collect::<Vec<_>>(), [2, 0]);
        counts.add("entries", trial.run(30, seed));
    }
    assert_eq!(counts.same, 10, "{counts:#?}");
    assert!(counts.packets.iter().all(|n| *n > 10) && counts.frames > 30, "{counts:#?}");
}

/// A pinned program that is wrong in one way is noticed.
#[test]
fn wrong_pinned_programs_are_noticed() {
    type Fault = (&'static str, fn() -> Arc<Program>, fn(&mut Program));
    let faults: [Fault; 5] = [
        ("a table of the resident body is no copy", counting, |program| {
            let (t, resident) = (table(program, "I.t"), table(program, "I.t_resident"));
            exprs(program, &mut |e| match &mut e.kind {
                ExprKind::ApplyMiss(id) if *id == resident => *id = t,
                _ => {}
            });
        }),
        ("an object of a copied action is no copy", counting, |program| {
            let bytes = instance(program, "I.bytes");
            let action = action(program, "I.to_resident");
            ir::visit::stmts_mut(action, &mut |stmt| method(stmt, bytes));
        }),
        ("a counter of the resident body is no copy", counting, |program| {
            let (all, copy) = (instance(program, "I.all"), instance(program, "I.all_resident"));
            stmts(program, &mut |stmt| {
                if matches!(&stmt.kind, StmtKind::Call(call) if matches!(call.callee, Callee::Method(id, _) if id == copy))
                {
                    method(stmt, all);
                }
            });
        }),
        ("the flow manager's key lacks a part", counting, |program| {
            let id = table(program, "I.flow_manager");
            ingress(program).tables[id.index()].keys.pop();
        }),
        ("a packet that comes around is looked up again", coming_around, |program| {
            for decl in &mut program.types {
                if let ir::TypeKind::Struct(fields) = &mut decl.kind {
                    fields.iter_mut().filter(|f| f.name == "pinned").for_each(|f| f.annotations.clear());
                }
            }
        }),
    ];
    for (fault, made, change) in faults {
        let made = made();
        let noticed = (1..=40).find(|seed| {
            let trial = two_parts(&made, &["hdr.h.a", "hdr.h.c"], *seed);
            Trial { fault: Some(&change), ..trial }.run(30, *seed).is_err()
        });
        println!("{fault}: {noticed:?}");
        assert!(noticed.is_some(), "nothing notices that {fault}");
    }
}

fn ingress(program: &mut Program) -> &mut ir::Control {
    let id = program.stage_control("ingress").expect("ingress");
    &mut program.controls[id.index()]
}

fn table(program: &mut Program, name: &str) -> ir::TableId {
    let at = ingress(program).tables.iter().position(|t| t.control_plane_name == name);
    at.unwrap_or_else(|| panic!("no table {name}")).into()
}

fn instance(program: &Program, name: &str) -> ir::InstanceId {
    let at = program.instances.iter().position(|i| i.control_plane_name == name);
    at.unwrap_or_else(|| panic!("no object {name}")).into()
}

fn action<'p>(program: &'p mut Program, name: &str) -> &'p mut ir::Block {
    let found = ingress(program).actions.iter_mut().find(|a| a.control_plane_name == name);
    &mut found.unwrap_or_else(|| panic!("no action {name}")).body
}

fn stmts(program: &mut Program, f: &mut dyn FnMut(&mut ir::Stmt)) {
    ir::visit::stmts_mut(&mut ingress(program).body, f);
}

fn exprs(program: &mut Program, f: &mut dyn FnMut(&mut ir::Expr)) {
    stmts(program, &mut |stmt| ir::visit::exprs_mut(stmt, &mut |e| ir::visit::subexprs_mut(e, f)));
}

/// The call goes to another object.
fn method(stmt: &mut ir::Stmt, to: ir::InstanceId) {
    if let StmtKind::Call(call) = &mut stmt.kind
        && let Callee::Method(instance, _) = &mut call.callee
    {
        *instance = to;
    }
}
