//! Reports and diagnostics, as users read them.

#[path = "../examples/compare/families.rs"]
mod families;
#[path = "../examples/compare/measured.rs"]
#[allow(dead_code)]
mod measured;

use base_diag::{SourceMap, Span, Style};
use expect_test::{Expect, expect};
use rmt_fit::{Device, Fit};

fn fit_on(source: &str, device: &Device, map: &mut SourceMap) -> Fit {
    let target = device.tofino.unwrap_or(1);
    let program = measured::elaborate_text(source, target, map).expect("the program is right");
    rmt_fit::fit(&program, device).expect("it is lowered")
}

/// The text of a family's program on a built-in device, with its diagnostics.
fn check(name: &str, device: &str, expected: Expect) {
    let source = families::program(name).expect("it is a family");
    check_source(&source, &Device::built_in(device).expect("it is built in"), expected);
}

fn check_source(source: &str, device: &Device, expected: Expect) {
    let mut map = SourceMap::new();
    let fit = fit_on(source, device, &mut map);
    let mut text = rmt_fit::text(&fit.report(&map), "p.p4");
    for diagnostic in fit.diagnostics(&map) {
        text += "\n";
        text += &base_diag::render(&diagnostic, &map, Style::Plain);
    }
    expected.assert_eq(&text);
}

#[test]
fn a_chain_of_tables() {
    check(
        "chain_4",
        "tofino1",
        expect![[r#"
            p.p4 fits tofino1
            5 of 12 stages (no placement takes fewer)

            stage  sram  hash  exact  vliw  data  ids  tables
                1     4    40      4     2     1    1  Ingress.t0
                2     1    10      1     2     1    1  Ingress.t1
                3     1    10      1     2     1    1  Ingress.t2
                4     1    10      1     2     1    1  Ingress.t3
                5     -     -      -     1     -    1  code at 42:61
            total     7    70      7     9     4    5
             each    80   416    128    64   128   16  (what a stage has)

            longest chain of dependencies:
              Ingress.t1 matches m.x, which Ingress.t0 writes
              Ingress.t2 matches m.x, which Ingress.t1 writes
              Ingress.t3 matches m.x, which Ingress.t2 writes
              code at 42:61 reads m.x, which Ingress.t3 writes
            ingress containers: 4 of 8 bits, 2 of 16, 1 of 32, 29 tagalong
            egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
            parser states: 12 ingress, 1 egress
            validity bits: 6 ingress, 0 egress
            power: 1 % of the budget
        "#]],
    );
}

#[test]
fn a_divided_table() {
    check(
        "exact_five104_262144",
        "tofino1",
        expect![[r#"
        p.p4 fits tofino1
        3 of 12 stages (no placement takes fewer)

        stage  sram  hash  exact  vliw  data  ids  tables
            1    80    46     13     2     2    1  Ingress.t (92160 of 262144)
            2    80    46     13     2     2    1  Ingress.t (92160 of 262144)
            3    70    46     13     2     2    1  Ingress.t (77824 of 262144)
        total   230   138     39     6     6    3
         each    80   416    128    64   128   16  (what a stage has)

        ingress containers: 4 of 8 bits, 4 of 16, 2 of 32, 27 tagalong
        egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
        parser states: 12 ingress, 1 egress
        validity bits: 6 ingress, 0 egress
        power: 19 % of the budget
    "#]],
    );
}

#[test]
fn a_table_that_is_too_large() {
    check(
        "lpm_200000",
        "tofino1",
        expect![[r#"
            p.p4 does not fit tofino1
            17 of 12 stages (no placement takes fewer)

            stage  sram  tcam  tern  vliw  data  ids  tern-ids  tables
                1     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                2     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                3     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                4     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                5     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                6     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                7     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                8     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
                9     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               10     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               11     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               12     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               13     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               14     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               15     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               16     2    24     4     2     2    1         1  Ingress.t (12288 of 200000)
               17     1     7     4     2     2    1         1  Ingress.t (3392 of 200000)
            total    33   391    68    34    34   17        17
             each    80    24    66    64   128   16         8  (what a stage has)

            ingress containers: 3 of 8 bits, 2 of 16, 1 of 32, 29 tagalong
            egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
            parser states: 12 ingress, 1 egress
            validity bits: 6 ingress, 0 egress
            power: 99 % of the budget

            error[P4R0810]: 17 stages needed, tofino1 has 12
              --> main.p4:34:5
               |
            34 |     table t { key = { h.v4.dst: lpm; } actions = { send; drop; } size = 200000;  }
               |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 200000 entries
               |
               = note: most used: 391 of 288 TCAM blocks
               = note: after stage 12: `Ingress.t`
               = help: `size = 147456` for `Ingress.t` fits
        "#]],
    );
}

#[test]
fn a_chain_that_is_too_long() {
    check(
        "chain_13",
        "tofino1",
        expect![[r#"
            p.p4 does not fit tofino1
            14 of 12 stages (no placement takes fewer)

            stage  sram  hash  exact  vliw  data  ids  tables
                1     4    40      4     2     1    1  Ingress.t0
                2     1    10      1     2     1    1  Ingress.t1
                3     1    10      1     2     1    1  Ingress.t2
                4     1    10      1     2     1    1  Ingress.t3
                5     1    10      1     2     1    1  Ingress.t4
                6     1    10      1     2     1    1  Ingress.t5
                7     1    10      1     2     1    1  Ingress.t6
                8     1    10      1     2     1    1  Ingress.t7
                9     1    10      1     2     1    1  Ingress.t8
               10     1    10      1     2     1    1  Ingress.t9
               11     1    10      1     2     1    1  Ingress.t10
               12     1    10      1     2     1    1  Ingress.t11
               13     1    10      1     2     1    1  Ingress.t12
               14     -     -      -     1     -    1  code at 60:172
            total    16   160     16    27    13   14
             each    80   416    128    64   128   16  (what a stage has)

            longest chain of dependencies:
              Ingress.t1 matches m.x, which Ingress.t0 writes
              Ingress.t2 matches m.x, which Ingress.t1 writes
              Ingress.t3 matches m.x, which Ingress.t2 writes
              Ingress.t4 matches m.x, which Ingress.t3 writes
              Ingress.t5 matches m.x, which Ingress.t4 writes
              Ingress.t6 matches m.x, which Ingress.t5 writes
              Ingress.t7 matches m.x, which Ingress.t6 writes
              Ingress.t8 matches m.x, which Ingress.t7 writes
              Ingress.t9 matches m.x, which Ingress.t8 writes
              Ingress.t10 matches m.x, which Ingress.t9 writes
              Ingress.t11 matches m.x, which Ingress.t10 writes
              Ingress.t12 matches m.x, which Ingress.t11 writes
              code at 60:172 reads m.x, which Ingress.t12 writes
            ingress containers: 4 of 8 bits, 2 of 16, 1 of 32, 29 tagalong
            egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
            parser states: 12 ingress, 1 egress
            validity bits: 6 ingress, 0 egress
            power: 3 % of the budget

            error[P4R0810]: 14 stages needed, tofino1 has 12
              |
              = note: `Ingress.t1` waits for `Ingress.t0`: match dependency on m.x
              = note: `Ingress.t2` waits for `Ingress.t1`: match dependency on m.x
              = note: `Ingress.t3` waits for `Ingress.t2`: match dependency on m.x
              = note: `Ingress.t4` waits for `Ingress.t3`: match dependency on m.x
              = note: `Ingress.t5` waits for `Ingress.t4`: match dependency on m.x
              = note: `Ingress.t6` waits for `Ingress.t5`: match dependency on m.x
              = note: `Ingress.t7` waits for `Ingress.t6`: match dependency on m.x
              = note: `Ingress.t8` waits for `Ingress.t7`: match dependency on m.x
              = note: `Ingress.t9` waits for `Ingress.t8`: match dependency on m.x
              = note: `Ingress.t10` waits for `Ingress.t9`: match dependency on m.x
              = note: `Ingress.t11` waits for `Ingress.t10`: match dependency on m.x
              = note: `Ingress.t12` waits for `Ingress.t11`: match dependency on m.x
              = note: `code at 60:172` waits for `Ingress.t12`: action dependency on m.x
              = help: break the chain: 2 of these dependencies must go
        "#]],
    );
}

#[test]
fn a_register_that_half_a_memory_cannot_hold() {
    check(
        "register_32_131072",
        "tofino2",
        expect![[r#"
            p.p4 does not fit tofino2
            4 of 20 stages (no placement takes fewer)

            stage  gate  hash  dist  exact  vliw  ids  tables
                1     1    32     2      8     1    1  code at 39:26
                2     -     -     -      -     1    1  code at 39:13
                3     -     -     -      -     -    -
                4     -     -     -      -     1    1  code at 39:120
            total     1    32     2      8     3    3
             each    16   416     6    128    64   16  (what a stage has)

            longest chain of dependencies:
              code at 39:13 reads value, which code at 39:26 writes
              code at 39:69 matches at, which code at 39:13 writes
              code at 39:120 reads m.v, which code at 39:69 writes
            ingress containers: 2 of 8 bits, 1 of 16, 4 of 32, 3 mocha
            egress containers: 0 of 8 bits, 0 of 16, 0 of 32, 1 mocha
            parser states: 12 ingress, 1 egress
            validity bits: 5 ingress, 0 egress
            power: 0 % of the budget

            error[P4R0810]: no stage of tofino2 can hold `code at 39:69`
              --> main.p4:39:69
               |
            39 |     apply { bit<32> at = hash.get({ h.v4.src, h.v4.dst }) & 131071; m.v = count.execute(at); tm.ucast_egress_port = 1; h.l4.seq = (b...
               |                                                                     ^^^^^^^^^^^^^^^^^^^^^^^^ uses `Ingress.r`
               |
               = note: `Ingress.r` takes 33 blocks of memory; one object has at most 24
               = help: give `Ingress.r` at most 94208 cells
        "#]],
    );
}

#[test]
fn a_table_that_takes_too_much_power() {
    check(
        "exact_five104_1015808",
        "tofino1",
        expect![[r#"
            p.p4 does not fit tofino1
            12 of 12 stages (no placement takes fewer)

            stage  sram  hash  exact  vliw  data  ids  tables
                1    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                2    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                3    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                4    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                5    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                6    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                7    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                8    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
                9    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
               10    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
               11    80    46     13     2     2    1  Ingress.t (92160 of 1015808)
               12     4    40     13     2     2    1  Ingress.t (2048 of 1015808)
            total   884   546    156    24    24   12
             each    80   416    128    64   128   16  (what a stage has)

            ingress containers: 4 of 8 bits, 4 of 16, 2 of 32, 27 tagalong
            egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
            parser states: 12 ingress, 1 egress
            validity bits: 6 ingress, 0 egress
            power: 105 % of the budget

            error[P4R0810]: tofino1 has too little power
              --> main.p4:34:5
               |
            34 |     table t { key = { h.v4.src: exact; h.v4.dst: exact; h.v4.proto: exact; h.l4.sport: exact; h.l4.dport: exact;  } actions = { send; drop; } size = 1015808;  }
               |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1015808 entries
               |
               = note: what a packet searches takes 105 % of the budget
               = help: `size = 1013760` for `Ingress.t` fits
        "#]],
    );
}

fn device(text: &str) -> Result<Device, String> {
    let mut map = SourceMap::new();
    let file = map.add_file("d.toml", text, Span::NONE).expect("it is small");
    Device::read(text, file, &map).map_err(|d| base_diag::render(&d, &map, Style::Plain))
}

#[test]
fn a_device_of_ones_own() {
    let own = device("extends = \"tofino1\"\nname = \"small\"\nstages = 1\n[stage]\nsram_columns = 4\n")
        .expect("it is right");
    assert_eq!((own.stages, own.stage.sram_columns, own.stage.sram_rows), (1, 4, 8));
    let source = families::program("exact_dst32_262144").expect("it is a family");
    check_source(
        &source,
        &own,
        expect![[r#"
        p.p4 does not fit small
        3 of 1 stages (no placement takes fewer)

        stage  sram  hash  exact  vliw  data  ids  tables
            1    32    48      4     2     2    1  Ingress.t (114688 of 262144)
            2    32    48      4     2     2    1  Ingress.t (114688 of 262144)
            3    10    41      4     2     2    1  Ingress.t (32768 of 262144)
        total    74   137     12     6     6    3
         each    32   416    128    64   128   16  (what a stage has)

        ingress containers: 3 of 8 bits, 2 of 16, 1 of 32, 29 tagalong
        egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
        parser states: 12 ingress, 1 egress
        validity bits: 6 ingress, 0 egress
        power: 3 % of the budget

        error[P4R0810]: 3 stages needed, small has 1
          --> main.p4:34:5
           |
        34 |     table t { key = { h.v4.dst: exact;  } actions = { send; drop; } size = 262144;  }
           |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 262144 entries
           |
           = note: most used: 74 of 32 SRAM blocks
           = note: after stage 1: `Ingress.t`
           = help: `size = 114688` for `Ingress.t` fits
    "#]],
    );
}

#[test]
fn mistakes_in_a_device_file() {
    let of = |text| device(text).expect_err("it is wrong");
    expect![[r#"
        error[P4R0809]: `extends` names no built-in device
          |
          = note: there are `tofino1`, `tofino2`
    "#]]
    .assert_eq(&of("extends = \"tofino3\"\n"));
    expect![[r#"
        error[P4R0809]: the device's file is not understood
          |
          = note: unknown field `stags`, expected one of `name`, `tofino`, `stages`, `stage`, `memory`, `phv`, `parser`, `power`
          = help: docs/how-to/fit-a-tofino.md lists the keys; `extends = "tofino1"` supplies those that are missing
    "#]].assert_eq(&of("extends = \"tofino1\"\nstags = 4\n"));
    expect![[r#"
        error[P4R0809]: the device's file is not understood
         --> d.toml:2:10
          |
        2 | stages = "many"
          |          ^^^^^^ invalid type: string "many", expected u32
          |
          = help: docs/how-to/fit-a-tofino.md lists the keys; `extends = "tofino1"` supplies those that are missing
    "#]].assert_eq(&of("name = \"x\"\nstages = \"many\"\n"));
    expect![[r#"
        error[P4R0809]: the device's file is not understood
         --> d.toml:1:8
          |
        1 | name = 
          |        ^ string values must be quoted, expected literal string
          |
          = help: docs/how-to/fit-a-tofino.md lists the keys; `extends = "tofino1"` supplies those that are missing
    "#]].assert_eq(&of("name = \n"));
    expect![[r#"
        error[P4R0809]: `sram_rows * sram_columns` of a device is out of range
          |
          = note: it is 40000000000; 0 to 4096 are possible
    "#]]
    .assert_eq(&of("extends = \"tofino1\"\n[stage]\nsram_rows = 4000000000\n"));
}

#[test]
fn branches_that_exclude_each_other_share_a_stage() {
    // Both arms write the same field; neither waits for the other.
    let both = "    action mark(bit<8> v) { m.x = v; }
    table a { key = { h.v4.dst: exact; } actions = { mark; } size = 256; }
    table b { key = { h.v4.src: exact; } actions = { mark; } size = 256; }\n";
    let whole = families::program("chain_1").expect("it is a family");
    let with = |body: &str| {
        let at = whole.find("    apply { t0").expect("it applies a table");
        let end = at + whole[at..].find('\n').expect("a line ends");
        format!("{}{both}    apply {{ {body} h.v4.tos = m.x; }}{}", &whole[..at], &whole[end..])
    };
    let stages = |body: &str| {
        let mut map = SourceMap::new();
        let fit = fit_on(&with(body), &Device::built_in("tofino1").expect("it is built in"), &mut map);
        fit.pipes[0].placement.stages.len()
    };
    assert_eq!(stages("if (h.v4.ttl == 0) { a.apply(); } else { b.apply(); }"), 2);
    assert_eq!(stages("a.apply(); b.apply();"), 3);
    // A miss decides in the same stage.
    assert_eq!(stages("if (!a.apply().hit) { b.apply(); }"), 3, "b writes what a writes");
}

#[test]
fn a_page_names_stages_and_tables() {
    let mut map = SourceMap::new();
    let source = families::program("chain_4").expect("it is a family");
    let fit = fit_on(&source, &Device::built_in("tofino2").expect("it is built in"), &mut map);
    let page = rmt_fit::html(&fit.report(&map), "<chain>.p4");
    assert!(page.contains("&lt;chain&gt;.p4 fits tofino2"), "{page}");
    assert!(page.contains("<h3>stage 5</h3>") && page.contains("Ingress.t3"), "{page}");
}

#[test]
fn a_program_with_one_parser_holds_its_headers_in_both_halves() {
    let source = "#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> a; bit<32> b; }
struct headers_t { h_t h; }
struct metadata_t { }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action send(bit<9> port) { s.egress_spec = port; }
    table t { key = { h.h.a: exact; } actions = { send; NoAction; } size = 1024; }
    apply { t.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { h.h.b = 1; } }
control D(packet_out p, in headers_t h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";
    let mut map = SourceMap::new();
    let fit = fit_on(source, &Device::built_in("tofino1").expect("it is built in"), &mut map);
    let [ingress, egress] = fit.pipes[0].phv;
    // `a` in ingress and `b` in egress are seen by stages; the other word of each half is not.
    assert_eq!((ingress.words, ingress.tagalong, egress.words, egress.tagalong), (1, 2, 1, 2));
}

#[test]
fn a_table_with_a_place_for_every_key_takes_any_number_of_blocks() {
    let source = families::program("exact_dst32_65536").expect("it is a family");
    let source = source.replace("key = { h.v4.dst: exact;", "key = { h.v4.len: exact;");
    let mut map = SourceMap::new();
    let fit = fit_on(&source, &Device::built_in("tofino1").expect("it is built in"), &mut map);
    let total = fit.pipes[0].total();
    // Six bits of the key and 14 beside them; five entries at most share a block: 13 blocks in one way.
    assert_eq!((total[rmt_fit::Resource::Sram], total[rmt_fit::Resource::HashBits]), (13, 14));
}

/// A register action that adds `value` to its register.
fn register_action(value: &str) -> String {
    let source = families::program("register_32_1024").expect("it is a family");
    let changed = source.replace("value = value + 1;", &format!("value = value + {value};"));
    assert_ne!(changed, source);
    changed
}

/// The fields come over the crossbar, so that what writes them has to be in a stage before.
#[test]
fn a_register_action_that_reads_the_packet() {
    let source = register_action("h.v4.src").replace("bit<32> at =", "h.v4.src = m.v + 5; bit<32> at =");
    check_source(
        &source,
        &Device::built_in("tofino1").expect("it is built in"),
        expect![[r#"
        p.p4 fits tofino1
        5 of 12 stages (no placement takes fewer)

        stage  sram  map  meter  gate  hash  dist  exact  vliw  ids  tables
            1     -    -      -     -     -     -      -     1    1  code at 39:13
            2     -    -      -     1    32     2      8     1    1  code at 39:46
            3     -    -      -     -     -     -      -     1    1  code at 39:33
            4     2    2      1     1    23     1      8     1    1  code at 39:87
            5     -    -      -     -     -     -      -     1    1  code at 39:138
        total     2    2      1     2    55     3     16     5    5
         each    80   48      4    16   416     6    128    64   16  (what a stage has)

        longest chain of dependencies:
          code at 39:46 matches h.v4.src, which code at 39:13 writes
          code at 39:33 reads value, which code at 39:46 writes
          code at 39:87 matches at, which code at 39:33 writes
          code at 39:138 reads m.v, which code at 39:87 writes
        ingress containers: 2 of 8 bits, 2 of 16, 6 of 32, 27 tagalong
        egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
        parser states: 12 ingress, 1 egress
        validity bits: 5 ingress, 0 egress
        power: 0 % of the budget
    "#]],
    );
}

#[test]
fn a_register_action_that_reads_more_than_an_alu_takes() {
    let source = register_action("h.v4.src + h.v4.dst + m.v");
    check_source(
        &source,
        &Device::built_in("tofino1").expect("it is built in"),
        expect![[r#"
            p.p4 does not fit tofino1
            4 of 12 stages (no placement takes fewer)

            stage  sram  map  meter  gate  hash  dist  exact  vliw  ids  tables
                1     -    -      -     1    32     2      8     1    1  code at 39:26
                2     -    -      -     -     -     -      -     1    1  code at 39:13
                3     2    2      1     1    23     1     16     1    1  code at 39:67
                4     -    -      -     -     -     -      -     1    1  code at 39:118
            total     2    2      1     2    55     3     24     4    4
             each    80   48      4    16   416     6    128    64   16  (what a stage has)

            longest chain of dependencies:
              code at 39:13 reads value, which code at 39:26 writes
              code at 39:67 matches at, which code at 39:13 writes
              code at 39:118 reads m.v, which code at 39:67 writes
            ingress containers: 2 of 8 bits, 2 of 16, 6 of 32, 27 tagalong
            egress containers: 1 of 8 bits, 1 of 16, 0 of 32, 19 tagalong
            parser states: 12 ingress, 1 egress
            validity bits: 5 ingress, 0 egress
            power: 0 % of the budget

            error[P4R0810]: tofino1 cannot do this
              --> main.p4:39:73
               |
            39 | ...rc, h.v4.dst }) & 1023; m.v = count.execute(at); tm.ucast_egress_port = 1; h.l4.seq = (bit<32>)m.v; }
               |                                  ^^^^^^^^^^^^^^^^^ a register action that reads 3 values of the packet
               |
               = help: a stateful ALU takes at most 2 values beside its register's

            error[P4R0810]: tofino1 cannot do this
              --> main.p4:36:63
               |
            36 |         void apply(inout bit<32> value, out bit<32> result) { value = value + h.v4.src + h.v4.dst + m.v; result = value; }
               |                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a sum within another operation in a register action
               |
               = help: a stateful ALU computes a value by one operation: compute operands of the packet before
        "#]],
    );
}

#[test]
fn register_actions_that_no_alu_does() {
    let source = families::program("register_32_1024").expect("it is a family");
    let problems = |from: &str, to: &str| {
        let changed = source.replace(from, to);
        assert_ne!(changed, source);
        let device = Device::built_in("tofino1").expect("it is built in");
        let fit = fit_on(&changed, &device, &mut SourceMap::new());
        fit.pipes[0].problems.iter().map(|problem| problem.what.clone()).collect::<Vec<_>>()
    };
    let body = |to: &str| problems("value = value + 1;", to);
    let slice = ["a condition on some bits of a register's cell"];
    let sum = ["a sum within another operation in a register action"];
    assert_eq!(
        body("if (value > 3 && value < 9) { value = value - 1; } else { value = 7 | value; }"),
        [""; 0]
    );
    assert_eq!(body("if (value[31:24] == 3) { value = 7; }"), slice);
    assert_eq!(body("if (h.v4.src[31:24] == 3) { value = 7; }"), [""; 0]);
    assert_eq!(body("value = value + (h.v4.src & 3);"), sum);
    assert_eq!(body("if (value == 9) { value = (value - 3) ^ h.v4.src; }"), sum);
    let cells = problems("Register<bit<32>,", "Register<bit<40>,");
    assert_eq!(cells, ["a register with cells of 40 bits"]);
}

/// The index of a register comes from a hash unit, which a miss does not have.
#[test]
fn a_default_action_that_needs_a_hash() {
    let problems = |table: &str| {
        let declared = "Register<bit<32>, bit<16>>(1024) r;
            RegisterAction<bit<32>, bit<16>, bit<32>>(r) more = { void apply(inout bit<32> value) { value = value + 1; } };
            action count() { more.execute(h.v4.len); }
            action first() { more.execute(0); }";
        let fit = with_ingress("", &format!("{declared}\n{table}\n    apply {{ own.apply(); }}"));
        fit.pipes[0].problems.iter().map(|problem| problem.what.clone()).collect::<Vec<_>>()
    };
    let table = |key: &str, default: &str| {
        format!(
            "table own {{ {key} actions = {{ count; first; }} default_action = {default}(); size = 16; }}"
        )
    };
    let key = "key = { h.v4.ttl: exact; }";
    assert_eq!(problems(&table(key, "count")), ["a default action that needs a hash"]);
    assert_eq!(problems(&table(key, "first")), [""; 0]);
    assert_eq!(problems(&table("", "count")), [""; 0]);
}

/// The last byte of a `bit<272>` is the 34th, and a state sees 32.
#[test]
fn a_parser_that_looks_too_far_ahead() {
    let problems = |ahead: &str| {
        let source = families::program("chain_1").expect("it is a family");
        let at = source.find("transition select(").expect("its parser selects");
        let source = format!("{}bit<8> ahead = p.lookahead<{ahead};\n{}", &source[..at], &source[at..]);
        let fit =
            fit_on(&source, &Device::built_in("tofino1").expect("it is built in"), &mut SourceMap::new());
        fit.pipes[0].problems.iter().map(|problem| problem.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(problems("bit<272>>()[7:0]"), ["a `lookahead` to bit 272"]);
    assert_eq!(problems("bit<272>>()[23:16]"), [""; 0]);
    assert_eq!(problems("bit<256>>()[7:0]"), [""; 0]);
}

/// The program of a family with `declared` before its ingress, and another body of the ingress.
fn with_ingress(declared: &str, body: &str) -> Fit {
    let whole = families::program("chain_1").expect("it is a family");
    let at = whole.find("    apply { t0").expect("it applies a table");
    let end = at + whole[at..].find('\n').expect("a line ends");
    let source = format!("{}{body}{}", &whole[..at], &whole[end..]);
    let source = source.replace("control Ingress(", &format!("{declared}\ncontrol Ingress("));
    fit_on(&source, &Device::built_in("tofino1").expect("it is built in"), &mut SourceMap::new())
}

/// Eight tables with two actions each, which access the table's register at `index`.
fn registers(index: &dyn Fn(usize) -> &'static str) -> (usize, u32) {
    let table = |at: usize| {
        let index = index(at);
        let action = |name: &str, code: &str| {
            format!(
                "RegisterAction<bit<32>, bit<16>, bit<32>>(r{at}) {name}_r{at} = {{ void apply(inout bit<32> value) {{ {code} }} }};
                action {name}{at}() {{ {name}_r{at}.execute({index}); }}\n"
            )
        };
        format!(
            "Register<bit<32>, bit<16>>(1024) r{at};\n{}{}
            table own{at} {{ key = {{ h.v4.ttl: exact; }} actions = {{ add{at}; clear{at}; }} size = 16; }}\n",
            action("add", "value = value + 1;"),
            action("clear", "value = 0;")
        )
    };
    let tables: String = (0..8).map(table).collect();
    let applied: String = (0..8).map(|at| format!("own{at}.apply(); ")).collect();
    let fit = with_ingress("", &format!("{tables}    apply {{ {applied} }}"));
    (fit.pipes[0].placement.stages.len(), fit.pipes[0].total()[rmt_fit::Resource::HashUnits])
}

#[test]
fn tables_that_hash_the_same_share_a_distribution_unit() {
    // Four stateful ALUs in a stage, and one unit for all of them.
    assert_eq!(registers(&|_| "h.v4.len"), (2, 2));
    assert_eq!(registers(&|at| if at % 2 == 0 { "h.v4.len" } else { "h.v4.src[15:0]" }), (2, 4));
}

/// Stages of a table that writes `m.x`, and of the checksum of IPv4 in the deparser.
fn with_checksum(update: &str) -> usize {
    let whole = families::program("chain_1").expect("it is a family");
    let deparser = format!("Checksum() sum; apply {{ {update} p.emit(h); }}");
    let source = whole.replacen("apply { p.emit(h); }", &deparser, 1);
    let source = source.replacen("tm.ucast_egress_port = (bit<9>)m.x;", "", 1);
    let fit = fit_on(&source, &Device::built_in("tofino1").expect("it is built in"), &mut SourceMap::new());
    fit.pipes[0].placement.stages.len()
}

#[test]
fn the_condition_of_a_checksum_is_a_table_of_the_last_stage() {
    let sum = "h.v4.sum = sum.update({ h.v4.src, h.v4.dst });";
    assert_eq!(with_checksum(sum), 1);
    assert_eq!(with_checksum(&format!("if (h.v4.isValid()) {{ {sum} }}")), 1);
    assert_eq!(with_checksum(&format!("if (m.x[0:0] == 1) {{ {sum} }}")), 2);
    assert_eq!(with_checksum(&format!("if (m.x[0:0] == 1 && h.v4.isValid()) {{ {sum} }}")), 2);
    // Each of several takes a stage.
    let second = "h.v4.id = sum.update({ h.v4.src });";
    assert_eq!(with_checksum(&format!("if (m.x[0:0] == 1) {{ {sum} {second} }}")), 3);
    // A statement without a condition makes those with one superfluous.
    assert_eq!(with_checksum(&format!("if (m.x[0:0] == 1) {{ {sum} }} {sum}")), 1);
}

#[test]
fn arguments_that_overlap_take_no_stage() {
    let sum = "control Sum(in bit<32> x, out bit<32> y) {
        action add(bit<32> by) { y = x + by; }
        table t { key = { x: exact; } actions = { add; } size = 256; }
        apply { t.apply(); }
    }";
    let fit = with_ingress(sum, "    Sum() sum; apply { sum.apply(h.v4.src, h.v4.src); }");
    assert_eq!(fit.pipes[0].placement.stages.len(), 1);
    // The second table reads the result of the first one.
    let fit = with_ingress(
        sum,
        "    Sum() one; Sum() two; apply { one.apply(h.v4.src, h.v4.dst); two.apply(h.v4.dst, h.v4.dst); }",
    );
    assert_eq!(fit.pipes[0].placement.stages.len(), 2);
}
