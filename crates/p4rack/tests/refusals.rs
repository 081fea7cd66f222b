//! What the splitter refuses: one small program for each code.

mod support;

use base_diag::SourceMap;
use expect_test::{Expect, expect};
use ir_split::{Placement, split};
use support::{compile_text, placement, small_program};

/// Splits with region `R` on `nic` and compares `code title | label` of each diagnostic.
fn check(declarations: &str, ingress: &str, egress: &str, expected: Expect) {
    check_placed(declarations, ingress, egress, placement(&["R"]), expected);
}

fn check_placed(declarations: &str, ingress: &str, egress: &str, placement: Placement, expected: Expect) {
    check_source(&small_program(declarations, ingress, egress), placement, expected);
}

fn check_source(source: &str, placement: Placement, expected: Expect) {
    let mut map = SourceMap::new();
    let program = compile_text(source, &mut map);
    let lines = match split(&program, &placement) {
        Ok(_) => "split".to_string(),
        Err(found) => {
            let line = |d: &base_diag::Diagnostic| {
                let label = d.labels.first().map(|l| l.text.as_str()).unwrap_or_default();
                format!("{} {} | {label}", d.code, d.title)
            };
            found.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    };
    expected.assert_eq(&lines);
}

#[test]
fn a_plain_region_is_split() {
    check("", "@region(\"R\") { meta.x = hdr.h.a; } std.egress_spec = (bit<9>)meta.x;", "", expect!["split"]);
}

#[test]
fn orders_whose_original_is_not_known() {
    let source = small_program("", "@region(\"R\") { meta.x = 1; resubmit_preserving_field_list(0); }", "")
        .replace("packet.extract(hdr.h);", "packet.advance(8); packet.extract(hdr.h);");
    check_source(
        &source,
        placement(&["R"]),
        expect![
            "P4R0501 this program cannot be split yet | the parser skips bytes, and ingress resubmits packets behind a cut: how they came in is not known"
        ],
    );
    check(
        "",
        "truncate(20); std.egress_spec = 1;",
        "@region(\"R\") { meta.x = 1; } clone(CloneType.E2E, 5);",
        expect![
            "P4R0501 this program cannot be split yet | a packet is truncated that egress may clone, and egress is cut"
        ],
    );
    check(
        "",
        "for (bit<8> i = 0; i < 3; i = i + 1) { digest<bit<8>>(1, i); } @region(\"R\") { meta.x = 1; }",
        "",
        expect!["P4R0501 this program cannot be split yet | a digest that may be sent twice"],
    );
}

#[test]
fn bytes_of_what_a_frame_extern_gives_are_not_counted_behind_a_cut() {
    let source = small_program(
        "counter<bit<32>>(8, CounterType.bytes) c; Beacon() b;",
        "b.call(1w0); @region(\"R\") { c.count(0); }",
        "",
    )
    .replace(
        "header h_t",
        "@frame_extern(\"beacon\") extern Beacon { Beacon(); void call(in bit<1> x); }\nheader h_t",
    );
    check_source(
        &source,
        placement(&["R"]),
        expect!["P4R0509 `I.c` counts bytes behind a cut | it would see the length of the hand-over"],
    );
}

#[test]
fn a_register_is_not_shared_by_two_switches() {
    let tor2 = ir_split::DeviceIndex(2);
    let nic = ir_split::DeviceIndex(1);
    let mut both = Placement { twins: vec![tor2], ..placement(&["R"]) };
    both.devices.push("tor2".into());
    both.ports.extend([((tor2, nic), 300), ((nic, tor2), 302)]);
    check_placed(
        "register<bit<8>, bit<32>>(4) r;",
        "@region(\"R\") { r.write(0, 1); }",
        "",
        both,
        expect!["P4R0505 `I.r` would be shared by several switches | it would be at `nic`"],
    );
}

#[test]
fn packets_do_not_overtake_between_two_objects() {
    let two = "register<bit<8>, bit<32>>(4) r; register<bit<8>, bit<32>>(4) q;";
    let branch = "r.write(0, 1); if (hdr.h.a > 9) { @region(\"R\") { meta.x = 1; } } q.write(0, meta.x);";
    check_placed(
        two,
        branch,
        "",
        Placement { detours: false, ..placement(&["R"]) },
        expect![
            "P4R0510 packets may overtake between `I.r` and `I.q` | used by packets that go on to the other one"
        ],
    );
    check(two, branch, "", expect!["split"]);
    // One of them is used on either side: no path helps.
    check(
        two,
        "r.write(0, 1); @region(\"R\") { q.write(0, meta.x); } if (hdr.h.a > 9) { r.write(0, 2); }",
        "",
        expect!["P4R0505 `I.r` is used across a cut | a packet leaves `tor` between the two uses"],
    );
    check(two, "r.write(0, 1); @region(\"R\") { q.write(0, hdr.h.a); }", "", expect!["split"]);
}

#[test]
fn hand_overs_fit_their_links() {
    let pair = (ir_split::DeviceIndex(0), ir_split::DeviceIndex(1));
    let limited =
        Placement { longest_frame: Some(1514), longest_on_link: [(pair, 1514)].into(), ..placement(&["R"]) };
    check_placed(
        "",
        "@region(\"R\") { meta.x = 1; }",
        "",
        limited,
        expect![
            "P4R0511 hand-overs to `R` do not fit their link | it passes from `tor` to `nic` on its way here"
        ],
    );
}

/// What is tracked is proved in `clones_and_lengths`.
#[test]
fn egress_reads_a_length_that_is_not_tracked() {
    let reads = "hdr.h.a = std.packet_length[7:0];";
    let one = |body: &str| small_program("", &format!("hdr.g = hdr.h; {body}"), reads);
    let parser = one("@region(\"R\") { meta.x = 1; }");
    check_source(
        &parser.replace(
            "packet.extract(hdr.h);",
            "packet.extract(hdr.h); if (hdr.h.a == 0) { hdr.g.setValid(); }",
        ),
        placement(&["R"]),
        expect![
            "P4R0501 this program cannot be split yet | the parser changes which headers are valid, and egress reads `packet_length`"
        ],
    );
    for step in ["packet.advance(8);", "hdr.h = {#};"] {
        let source = parser.replace("packet.extract(hdr.h);", &format!("packet.extract(hdr.h); {step}"));
        check_source(&source, placement(&["R"]), expect!["split"]);
    }
    check_source(
        &one("@region(\"R\") { meta.x = f(hdr.h.a); }").replace(
            "parser P(",
            "bit<8> f(in bit<8> a) { h_t own; own.setValid(); own.a = a; return own.a; } parser P(",
        ),
        placement(&["R"]),
        expect![
            "P4R0501 this program cannot be split yet | a function changes which headers are valid, and egress reads `packet_length`"
        ],
    );
    check_source(
        &one("@region(\"R\") { hdr.s[(bit<32>)hdr.h.a].setValid(); }")
            .replace("h_t h; h_t g;", "h_t h; h_t g; h_t[3] s;"),
        placement(&["R"]),
        expect![
            "P4R0501 this program cannot be split yet | a header of unknown length or place is made valid or invalid, and egress reads `packet_length`"
        ],
    );
}

/// A hand-over cannot start inside of a byte, and neither may a frame of any device.
#[test]
fn headers_are_whole_bytes() {
    let source = small_program("", "@region(\"R\") { meta.x = 1; }", "")
        .replace("struct headers {", "header odd_t { bit<7> most; } struct headers { odd_t odd;");
    check_source(
        &source,
        placement(&["R"]),
        expect!["P4R0501 this program cannot be split yet | `odd_t` has 7 bits: these are not whole bytes"],
    );
}

/// The clone of a packet that came back is parsed with the port of the last link.
#[test]
fn packets_that_come_back_are_not_cloned_by_ingress() {
    check(
        "",
        "@region(\"R\") { meta.x = 1; } clone(CloneType.I2E, 5);",
        "if (meta.flag) { recirculate_preserving_field_list(1); }",
        expect![
            "P4R0501 this program cannot be split yet | a packet that is sent around and then cloned would be parsed with the port of a link"
        ],
    );
    check(
        "",
        "@region(\"R\") { meta.x = 1; } if (meta.x == 1 && std.instance_type == 0) { clone(CloneType.I2E, 5); }",
        "if (meta.flag) { recirculate_preserving_field_list(1); }",
        expect!["split"],
    );
}

#[test]
fn an_unknown_region_is_named() {
    check_placed(
        "",
        "@region(\"R\") { meta.x = 1; }",
        "",
        placement(&["Q"]),
        expect!["P4R0502 the program has no region `Q` | "],
    );
}

#[test]
fn regions_are_marked_once_and_in_bodies() {
    check(
        "",
        "@region(\"R\") { meta.x = 1; } @region(\"R\") { meta.y = 1; }",
        "",
        expect!["P4R0503 region `R` is marked twice | a second region of that name"],
    );
    check(
        "action a() { @region(\"R\") { meta.x = 1; } }",
        "a();",
        "",
        expect!["P4R0504 a region cannot be marked here | an action runs on one device"],
    );
    check(
        "",
        "for (bit<8> i = 0; i < 3; i = i + 1) { @region(\"R\") { meta.x = i; } }",
        "",
        expect!["P4R0504 a region cannot be marked here | a loop runs on one device"],
    );
}

const REGISTER: &str = "register<bit<8>, bit<32>>(4) r;";

#[test]
fn state_stays_on_one_side_of_a_cut() {
    check(
        REGISTER,
        "r.read(meta.x, 0); @region(\"R\") { r.write(0, meta.x + 1); }",
        "",
        expect!["P4R0505 `I.r` is used across a cut | it would have to be on `tor` and on `nic`"],
    );
    check(
        REGISTER,
        "r.read(meta.x, 0); @region(\"R\") { meta.x = meta.x + 1; } r.write(0, meta.x);",
        "",
        expect!["P4R0505 `I.r` is used across a cut | a packet leaves `tor` between the two uses"],
    );
    check(
        REGISTER,
        "@region(\"R\") { r.read(meta.x, 0); r.write(0, meta.x + 1); } std.egress_spec = (bit<9>)meta.x;",
        "",
        expect!["split"],
    );
    // Either use, never both: no packet passes the cut between them.
    check(
        REGISTER,
        "if (hdr.h.a == 1) { r.write(0, 1); } else { @region(\"R\") { meta.x = 1; } }",
        "",
        expect!["split"],
    );
}

#[test]
fn devices_must_be_linked() {
    let apart = Placement { ports: Default::default(), ..placement(&["R"]) };
    check_placed(
        "",
        "@region(\"R\") { meta.x = 1; }",
        "",
        apart,
        expect![[r#"
            P4R0508 no way from `tor` to `nic` | 
            P4R0508 no way from `nic` to `tor` | "#]],
    );
}
