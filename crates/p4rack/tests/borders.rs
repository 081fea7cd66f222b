//! Unmarked regions: the borders, the choices of each policy, and proofs that such cuts are split and equal.

use crate::support;

use base_diag::SourceMap;
use expect_test::{Expect, expect};
use ir::{Program, StmtKind, visit};
use ir_prove::{Case, Effort, prove};
use ir_split::Placement;
use ir_split::auto::{self, Policy};
use rack_model::DeviceClass;
use std::sync::Arc;
use support::{compile_text, small_program};

const TABLES: &str = "register<bit<8>, bit<32>>(4) r;
    action set(bit<8> v) { meta.x = v; }
    table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = NoAction(); }
    table u { key = { hdr.h.b: exact; } actions = { set; NoAction; } default_action = NoAction(); }";

const BODY: &str = "bit<8> n = hdr.h.b + 1;
    if (t.apply().hit) { meta.y = n; std.egress_spec = 2; } else { std.egress_spec = 3; }
    @name(\"last\") { r.write(0, meta.y); u.apply(); }
    hdr.h.b = meta.x ^ n;";

/// The statements that each region holds, by the first line of each.
fn check(policy: Policy, expected: Expect) {
    check_in(TABLES, BODY, policy, expected);
}

fn check_in(declarations: &str, body: &str, policy: Policy, expected: Expect) {
    let mut map = SourceMap::new();
    let program = compile_text(&small_program(declarations, body, ""), &mut map);
    let mut marked = auto::unmarked(&program);
    auto::mark(&mut marked, &auto::cuts(&program, policy));
    let mut out = String::new();
    for control in &marked.controls {
        visit::stmts(&control.body, &mut |stmt| {
            let StmtKind::Block(block) = &stmt.kind else { return };
            let Some(region) = block.region() else { return };
            let first = |s: &ir::Stmt| map.text(s.span).lines().next().unwrap_or("").to_string();
            let texts: Vec<_> = block.stmts.iter().map(first).collect();
            out.push_str(&format!("{region}: {}\n", texts.join(" / ")));
        });
    }
    expected.assert_eq(&out);
}

#[test]
fn a_region_for_each_table_and_extern() {
    check(
        Policy::Tables,
        expect![[r#"
        t: if (t.apply().hit) { meta.y = n; std.egress_spec = 2; } else { std.egress_spec = 3; }
        r: r.write(0, meta.y);
        u: u.apply();
    "#]],
    );
}

#[test]
fn a_region_for_each_named_block() {
    check(
        Policy::Blocks,
        expect![[r#"
        last: @name("last") { r.write(0, meta.y); u.apply(); }
    "#]],
    );
}

#[test]
fn chains_cover_the_body() {
    check(
        Policy::Chain,
        expect![[r#"
        Ingress: bit<8> n = hdr.h.b + 1; / if (t.apply().hit) { meta.y = n; std.egress_spec = 2; } else { std.egress_spec = 3; }
        Ingress2: @name("last") { r.write(0, meta.y); u.apply(); } / hdr.h.b = meta.x ^ n;
    "#]],
    );
}

#[test]
fn links_have_their_tables_inside() {
    check(
        Policy::Nested,
        expect![[r#"
        Ingress: bit<8> n = hdr.h.b + 1; / if (t.apply().hit) { meta.y = n; std.egress_spec = 2; } else { std.egress_spec = 3; }
        t: if (t.apply().hit) { meta.y = n; std.egress_spec = 2; } else { std.egress_spec = 3; }
        Ingress2: @name("last") { r.write(0, meta.y); u.apply(); } / hdr.h.b = meta.x ^ n;
        r: r.write(0, meta.y);
        u: u.apply();
    "#]],
    );
}

const ARITHMETIC: &str = "
    register<bit<128>, bit<8>>(4) wide;
    register<bit<64>, bit<8>>(4) narrow;
    action scale(bit<8> by) { meta.x = hdr.h.a * by; }
    action twice() { meta.x = hdr.h.a * 2; }
    table scaled { key = { hdr.h.a: exact; } actions = { scale; NoAction; } const default_action = NoAction; }
    table doubled { key = { hdr.h.b: exact; } actions = { twice; NoAction; } const default_action = NoAction; }
    bit<128> w; bit<64> n;
";

/// Products of run-time values, shifts by run-time values, wide registers and loops; shifts by constants are excluded.
#[test]
fn a_region_for_what_a_tofino_cannot_do() {
    let body = "scaled.apply(); doubled.apply(); hdr.h.b = hdr.h.a << 3; hdr.h.b = hdr.h.b << hdr.h.a; wide.read(w, 0);
        narrow.read(n, 0); if (hdr.h.a > 3) { meta.y = hdr.h.a / 4; meta.y *= hdr.h.b; }
        for (bit<8> i in 1..hdr.h.b) { meta.x = meta.x + i; }";
    let expected = expect![[r#"
        scaled: scaled.apply();
        Beyond: hdr.h.b = hdr.h.b << hdr.h.a;
        wide: wide.read(w, 0);
        Beyond2: meta.y *= hdr.h.b;
        Beyond3: for (bit<8> i in 1..hdr.h.b) { meta.x = meta.x + i; }
    "#]];
    check_in(ARITHMETIC, body, Policy::Beyond(DeviceClass::Tofino1), expected);
    check_in(ARITHMETIC, body, Policy::Beyond(DeviceClass::Switch), expect![""]);
}

/// Proves a marked program with this region alone away from the origin.
fn prove_cut(whole: &Arc<Program>, marked: &Program, region: &str) {
    let case = support::case(Arc::new(marked.clone()), Placement::alone(region));
    let case = Case { whole: Arc::clone(whole), ..case };
    let effort = Effort { packets: 100, ..Effort::default() };
    match prove(&case, &effort) {
        Ok(tried) => assert!(tried.outputs > 10, "{region}: {tried:?}"),
        Err(failure) => panic!("{region}\n{}", failure.describe()),
    }
}

#[test]
fn every_border_is_a_cut() {
    let whole = compile_text(&small_program(TABLES, BODY, "hdr.h.a = 1; meta.y = 2;"), &mut SourceMap::new());
    let borders = auto::borders(&whole);
    assert_eq!(borders.len(), 11);
    for border in &borders {
        let mut marked = auto::unmarked(&whole);
        auto::mark_from(&mut marked, border, "Cut");
        prove_cut(&whole, &marked, "Cut");
    }
}

#[test]
fn every_region_of_a_policy_is_a_cut() {
    let whole = compile_text(&small_program(TABLES, BODY, ""), &mut SourceMap::new());
    for policy in [Policy::Tables, Policy::Blocks, Policy::Chain, Policy::Nested] {
        let cuts = auto::cuts(&whole, policy);
        let mut marked = auto::unmarked(&whole);
        auto::mark(&mut marked, &cuts);
        for cut in &cuts {
            prove_cut(&whole, &marked, &cut.name);
        }
    }
}

#[test]
fn a_variable_declared_in_a_region_is_read_behind_it() {
    let whole = compile_text(&small_program(TABLES, BODY, ""), &mut SourceMap::new());
    let borders = auto::borders(&whole);
    let mut marked = auto::unmarked(&whole);
    auto::mark_between(&mut marked, &borders[0], &borders[1], "Cut");
    prove_cut(&whole, &marked, "Cut");
}

#[test]
fn borders_lie_in_applied_controls_too() {
    let source = small_program("Inner() inner;", "inner.apply(hdr, meta); hdr.h.b = meta.y;", "").replace(
        "control I(",
        "control Inner(inout headers hdr, inout metadata meta) { apply { meta.x = hdr.h.a; meta.y = meta.x; } }
control I(",
    );
    let whole = compile_text(&source, &mut SourceMap::new());
    assert_eq!(auto::borders(&whole).len(), 2);
    let open = auto::open(&whole).expect("the control is put into its caller");
    assert_eq!(auto::borders(&open).len(), 3);
    for border in auto::borders(&open) {
        let mut marked = open.clone();
        auto::mark_from(&mut marked, &border, "Cut");
        prove_cut(&whole, &marked, "Cut");
    }
}

#[test]
fn a_border_in_a_loop_is_refused() {
    let body = "for (bit<8> i = 0; i < 3; i = i + 1) { meta.x = meta.x + 1; hdr.h.a = meta.x; }";
    let whole = compile_text(&small_program("", body, ""), &mut SourceMap::new());
    let borders = auto::borders(&whole);
    assert_eq!(borders.iter().map(|b| b.in_loop).collect::<Vec<_>>(), [false, true, true]);
    let mut marked = auto::unmarked(&whole);
    auto::mark_from(&mut marked, &borders[2], "Cut");
    let refused = ir_split::split(&marked, &Placement::alone("Cut")).expect_err("a loop runs on one device");
    assert_eq!(refused[0].code, base_diag::codes::split::MISPLACED_REGION);
}

#[test]
fn the_length_of_a_varbit_is_looked_up_ahead() {
    let source = small_program("", "meta.x = hdr.h.b; hdr.h.b = meta.x;", "")
        .replace("header h_t { bit<8> a; bit<8> b; }", "header h_t { bit<8> a; bit<8> b; varbit<64> c; }")
        .replace("packet.extract(hdr.h);", "packet.extract(hdr.h, (bit<32>)packet.lookahead<bit<3>>() * 8);")
        .replace("packet.extract(hdr.g);", "packet.extract(hdr.g, 8);");
    let whole = compile_text(&source, &mut SourceMap::new());
    for border in auto::borders(&whole) {
        let mut marked = auto::unmarked(&whole);
        auto::mark_from(&mut marked, &border, "Cut");
        prove_cut(&whole, &marked, "Cut");
    }
}

/// Both tables use the register, so neither is a cut alone; the nearest one has both and what stands between them.
#[test]
fn the_nearest_cut_around_one_that_is_refused() {
    let declarations = "register<bit<8>, bit<32>>(4) r;
        action use() { r.read(meta.x, 0); r.write(0, meta.x + 1); }
        table a { actions = { use; } default_action = use(); }
        table b { actions = { use; } default_action = use(); }
        table c { actions = { NoAction; } }";
    let source = support::small_program(declarations, "a.apply(); hdr.h.b = 1; b.apply(); c.apply();", "");
    let mut map = SourceMap::new();
    let program = support::compile_text(&source, &mut map);
    let found = ir_footprint::analysis::regions(&program, Some(Policy::Tables), true, &map).unwrap();
    let cut: Vec<(&str, bool)> = found.iter().map(|r| (r.name.as_str(), r.cut.is_ok())).collect();
    assert_eq!(cut, [("a", false), ("b", false), ("c", true)]);
    let near: Vec<_> = found.iter().filter_map(|r| r.nearest.as_ref()).collect();
    assert_eq!(near.len(), 2);
    for near in near {
        assert_eq!((near.statements, near.tables.join(" ").as_str()), (3, "I.a I.b"));
    }
}

/// The nearest cut around a region that the source marks.
#[test]
fn the_nearest_cut_around_a_marked_region_that_is_refused() {
    let declarations = "register<bit<8>, bit<32>>(4) r;
        action use() { r.read(meta.x, 0); r.write(0, meta.x + 1); }
        table a { actions = { use; } default_action = use(); }
        table b { actions = { use; } default_action = use(); }";
    let ingress = "@region(\"A\") { a.apply(); } hdr.h.b = 1; b.apply(); @region(\"C\") { hdr.h.b = 3; }";
    let source = support::small_program(declarations, ingress, "");
    let mut map = SourceMap::new();
    let program = support::compile_text(&source, &mut map);
    let found = ir_footprint::analysis::regions(&program, None, true, &map).unwrap();
    let near =
        |r: &ir_footprint::analysis::Region| r.nearest.as_ref().map(|n| (n.statements, n.tables.join(" ")));
    let near: Vec<_> = found.iter().map(|r| (r.name.as_str(), r.cut.is_ok(), near(r))).collect();
    assert_eq!(near, [("A", false, Some((3, "I.a I.b".to_string()))), ("C", true, None)]);
}

/// `A` and `B` use one register; `C` runs wherever it likes.
#[test]
fn the_nearest_map_of_regions_to_one_that_is_refused() {
    let declarations = "register<bit<8>, bit<32>>(4) r;
        action use() { r.read(meta.x, 0); r.write(0, meta.x + 1); }
        table a { actions = { use; } default_action = use(); }
        table b { actions = { use; } default_action = use(); }";
    let nearest = |ingress: &str, placement: &ir_split::Placement| {
        let source = support::small_program(declarations, ingress, "");
        let program = support::compile_text(&source, &mut SourceMap::new());
        let found = ir_split::split(&program, placement).expect_err("a refusal");
        let helped = ir_footprint::nearest::with_help(&program, placement, found);
        helped.iter().flat_map(|d| &d.help).find(|h| h.starts_with("the nearest")).cloned()
    };
    let names = ["A", "B", "C"].map(ir::Name::from);
    let three = "@region(\"A\") { a.apply(); } @region(\"B\") { b.apply(); } @region(\"C\") { hdr.h.b = 3; }";
    let joined = "the nearest map that can be split is `{ A = \"at_A\", B = \"at_A\", C = \"at_C\" }`: `B` joins `A` on `at_A`";
    assert_eq!(nearest(three, &ir_split::Placement::apart(&names)).as_deref(), Some(joined));
    // One use is not marked, so the other one has to come to it.
    let two = "@region(\"A\") { a.apply(); } b.apply(); @region(\"C\") { hdr.h.b = 3; }";
    let stays = "the nearest map that can be split is `{ C = \"nic\" }`: `A` stays at `tor`";
    assert_eq!(nearest(two, &support::placement(&["A", "C"])).as_deref(), Some(stays));
    // Nothing but the whole program at the origin can be made of this.
    let one = "@region(\"A\") { a.apply(); } b.apply();";
    assert_eq!(nearest(one, &support::placement(&["A"])), None);
}
