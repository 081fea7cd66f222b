//! Code that a Tofino does not run as it is written: conditions in deparsers, masks and repeated assignments in parsers, dependent statements in actions.

use super::{both, frames, sorted, whole};
use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes::Match;
use device::Switch;

/// The packets of the original are those of the converted program, which contains `parts` and none of `gone`. Returns both afterwards.
fn same(text: &str, parts: &[&str], gone: &[&str], fill: impl Fn(&mut Switch)) -> [Switch; 2] {
    let (converted, mut first, mut second) = both(text);
    parts.iter().for_each(|part| assert!(converted.contains(part), "{part}\n{converted}"));
    gone.iter().for_each(|part| assert!(!converted.contains(part), "{part}\n{converted}"));
    [&mut first, &mut second].into_iter().for_each(&fill);
    let mut sent = vec![];
    for (at, frame) in frames(1500, 20).into_iter().enumerate() {
        let now = Time::ZERO + Duration::from_us(3 * at as u64);
        let port = 1 + at as dataplane_api::Port % 4;
        let outputs = [&mut first, &mut second].map(|s| sorted(s.process(port, &frame, now)));
        assert_eq!(outputs[0], outputs[1], "port {port}: {frame:02x?}\n{converted}");
        sent.extend(outputs[0].iter().map(|output| output.port));
    }
    sent.sort_unstable();
    sent.dedup();
    assert!(sent.len() > 1, "{sent:?}");
    [first, second]
}

fn with_compute(text: &str, body: &str) -> String {
    let empty = "control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }";
    assert!(text.contains(empty));
    text.replace(empty, &empty.replace("apply { }", &format!("apply {{ {body} }}")))
}

const SEND: &str = "apply { std.egress_spec = (bit<9>)hdr.first.at[2:0]; meta.mark = hdr.first.at; hdr.added.setValid(); hdr.added.more = 0; }";

#[test]
fn a_control_decides_about_checksums() {
    let sum = |condition: &str| {
        format!(
            "update_checksum({condition}, {{ hdr.first.op, hdr.first.at }}, hdr.next.more, HashAlgorithm.csum16);"
        )
    };
    let other = "update_checksum(hdr.added.isValid(), { hdr.first.op, hdr.first.at }, hdr.added.more, HashAlgorithm.csum16);";
    let body = format!(
        "if (meta.mark == 3) {{ {} }} else {{ {} {other} }}",
        sum("hdr.next.isValid()"),
        sum("hdr.next.isValid() && hdr.first.value > 0x4000")
    );
    let parts = [
        "if (hdr.next.isValid() && standard_metadata.sum0 == 1)",
        "(standard_metadata.sum0 == 1)",
        "(standard_metadata.sum1 == 1)",
        "(standard_metadata.sum2 == 1)",
        "ComputeConditions() conditions_part;",
    ];
    let text = with_compute(&whole(SEND, "apply { }"), &body);
    same(&text, &parts[1..], &parts[..1], |_| {});
    let text = with_compute(&whole(SEND, "apply { }"), other);
    same(&text, &["if (hdr.added.isValid()) {"], &["Conditions", "sum0"], |_| {});
    // Egress after the traffic manager.
    let group =
        "apply { std.mcast_grp = (bit<16>)hdr.first.at & 3; std.egress_spec = 2; meta.mark = hdr.first.at; }";
    let text =
        with_compute(&whole(group, "apply { if (std.egress_port == 4) { hdr.first.at = 3; } }"), &body);
    same(&text, &["if (standard_metadata.sum0 == 1)"], &[], |switch| {
        (1..4).for_each(|group| switch.multicast_group_set(group, vec![(4, 1), (5, 3)]));
    });
}

#[test]
fn masks_of_a_parser_stand_beside_the_values() {
    let text = whole(SEND, "apply { if (hdr.next.isValid()) { hdr.next.more = 7; } }").replace(
        "select(hdr.first.op) { 7: next; default: accept; }",
        "select(hdr.first.op & 5, 8w6 & hdr.first.at) { (7, _): next; (4, 2 &&& 3): next; (1, 4): next; _: accept; }",
    );
    let parts = [
        "select(hdr.first.op, hdr.first.at)",
        "(0x04 &&& 0x05, 0x02 &&& 0x02): next;",
        "(0x01 &&& 0x05, 0x04 &&& 0x06): next;",
    ];
    same(&text, &parts, &["(7"], |_| {});
    // The values are not known.
    let text = text.replace("(1, 4): next;", "(1, 4 .. 5): next;");
    same(&text, &["(hdr.first.op, 6 & hdr.first.at)"], &[], |_| {});
}

#[test]
fn bits_that_states_select_on_are_one_key() {
    let select = "transition select(hdr.first.op) { 7: next; default: accept; } }";
    let text =
        whole(SEND, "apply { }").replace("bit<16> value;", "bit<14> value; bit<1> one; bit<1> two;").replace(
            select,
            "meta.mark = hdr.first.op; transition select(hdr.first.two) { 1: next; default: other; } }
    state other { transition select(hdr.first.one) { 0: accept; default: next; } }",
        );
    assert!(text.contains("state other"));
    let key = "select(hdr.first.one, hdr.first.two) {";
    same(
        &text,
        &[&format!("{key}\n            (_, 1): next;"), &format!("{key}\n            (0, _): accept;")],
        &["select(hdr.first.one)"],
        |_| (),
    );
}

#[test]
fn a_path_of_the_parser_assigns_a_field_once() {
    let states = "select(hdr.first.op) { 7: next; 6: short; 5: long; default: accept; } }
    state short { transition select(hdr.first.at) { 1: next; default: long; } }
    state long { packet.extract(hdr.next); transition last; }
    state last { meta.mark = hdr.first.at; transition accept; }";
    let send = SEND.replace("meta.mark = hdr.first.at;", "hdr.first.value = (bit<16>)meta.mark;");
    let text = whole(&send, "apply { }")
        .replace("select(hdr.first.op) { 7: next; default: accept; } }", states)
        .replace(
            "packet.extract(hdr.next); transition accept; }",
            "packet.extract(hdr.next); transition last; }",
        );
    let start = "state start {\n        packet.extract(hdr.first);\n        transition";
    let parts = [
        start,
        "state start_else0 {\n        meta.mark = 3;\n        transition accept;",
        "state next {\n        meta.mark = hdr.first.at;\n        packet.extract(hdr.next);",
    ];
    // `next` is reached from `start` and from `short`, where both ways assign.
    same(&text, &parts[..2], &parts[2..], |_| {});
    let text = text.replace("1: next; default: long;", "default: long;");
    same(&text, &[start], &[], |_| {});
    let text = text
        .replace("6: short; ", "")
        .replace("state short { transition select(hdr.first.at) { default: long; } }", "");
    same(&text, &parts, &["state last {\n        meta.mark"], |_| {});
    // The parser reads the field.
    let text =
        text.replace("transition last; }", "transition select(meta.mark) { 3: last; default: accept; } }");
    same(&text, &["packet.extract(hdr.first);\n        meta.mark = 3;"], &["start_else0"], |_| {});
}

const SUM: &str =
    "bit<17> sum = (bit<17>)hdr.first.value + 0x4000; hdr.first.value = sum[15:0] + (bit<16>)sum[16:16];";

fn fill(switch: &mut Switch) {
    for at in 0..6 {
        let keys = [Match::Exact(Bits::new(8, at))];
        let data = [Bits::new(8, 3 * at)];
        switch.table_add("MyIngress.sums", &keys, "add", &data, None).expect("an entry");
    }
}

#[test]
fn dependent_statements_run_after_the_action() {
    let ingress = |apply: &str| {
        format!(
            "direct_counter(CounterType.packets) hits;
    action add(bit<8> more) {{ hdr.first.op = hdr.first.op + more; {SUM} bit<8> kept = hdr.first.op ^ more; meta.sum = 5; hits.count(); hdr.first.at = kept; }}
    action twice() {{ hdr.first.value = hdr.first.value + 3; hdr.first.value = hdr.first.value ^ 0x55; }}
    table sums {{ key = {{ hdr.first.at : exact; }} actions = {{ add; NoAction; }} counters = hits; default_action = NoAction(); }}
    table others {{ key = {{ hdr.first.op : exact; }} actions = {{ twice; NoAction; }} default_action = twice(); }}
    apply {{ std.egress_spec = (bit<9>)hdr.first.at[2:0]; {apply} hdr.added.setValid(); hdr.added.more = meta.sum[15:0]; }}"
        )
    };
    let text = |apply: &str| whole(&ingress(apply), "apply { }");
    let whole_sum = "bit<17> sum";
    same(
        &text("sums.apply(); others.apply(); twice();"),
        &[
            "if (add_goes_on == 1) {",
            "if (twice_goes_on == 1) {\n            twice_goes_on = 0;",
            "meta.sum = 5;\n        add_more = more;",
        ],
        &[whole_sum],
        fill,
    );
    same(
        &text(
            "if (!sums.apply().hit) { meta.sum = 9; } else if (others.apply().miss) { std.egress_spec = 1; }",
        ),
        &["add_goes_on == 1", "twice_goes_on == 1"],
        &[whole_sum, "  twice_goes_on = 0;"],
        fill,
    );
    let outer =
        text("others.apply(); outer();").replace("table sums", "action outer() { twice(); } table sums");
    same(&outer, &[], &["twice_goes_on"], fill);
    // The rest of the action would have no place.
    same(
        &text(
            "switch (sums.apply().action_run) { add: { meta.sum = 9; } default: { } } if (hdr.first.op == 4 && others.apply().hit) { std.egress_spec = 1; }",
        ),
        &[],
        &["goes_on"],
        fill,
    );
}

/// A miss has no hash, which gives the index of an object.
#[test]
fn default_actions_use_objects_after_the_table() {
    let text = |default: &str| {
        let ingress = format!(
            "register<bit<32>>(16) cells;
    counter(16, CounterType.packets) seen;
    action send() {{ std.egress_spec = (bit<9>)hdr.first.at[2:0]; meta.mark = 1; seen.count((bit<32>)hdr.first.at & 15); }}
    action known() {{ std.egress_spec = std.ingress_port; seen.count(2); }}
    action add(bit<8> more) {{ seen.count((bit<32>)more); cells.read(meta.sum, (bit<32>)more); }}
    table sums {{ key = {{ hdr.first.at : exact; }} actions = {{ send; known; add; }} default_action = {default}; }}
    apply {{ sums.apply(); hdr.added.setValid(); hdr.added.more = (bit<16>)meta.mark; }}"
        );
        whole(&ingress, "apply { }")
    };
    let both = same(&text("send()"), &["if (send_goes_on == 1) {"], &["known_goes_on", "add_goes_on"], fill);
    for cell in 0..16 {
        let [first, second] = [0, 1].map(|at| both[at].counter_read("MyIngress.seen", cell).expect("a cell"));
        assert_eq!(first, second, "{cell}");
    }
    same(&text("known()"), &[], &["goes_on"], |_| ());
}

#[test]
fn sums_with_a_carry_keep_their_widths() {
    let text = |sum: &str| {
        whole(&format!("apply {{ std.egress_spec = (bit<9>)hdr.first.at[2:0]; {sum} }}"), "apply { }")
    };
    let narrow = ["hdr.first.value = hdr.first.value + 0x4000;", "if (hdr.first.value < 0x4000) {"];
    same(&text(SUM), &narrow, &["sum["], |_| {});
    let same_sum = SUM.replace("(bit<17>)hdr.first.value + 0x4000", "0x4000 + (bit<17>)hdr.first.value");
    same(
        &text(&same_sum.replace("sum[15:0] + (bit<16>)sum[16:16]", "(bit<16>)sum[16:16] + sum[15:0]")),
        &narrow,
        &["sum["],
        |_| {},
    );
    for other in [
        SUM.replace("0x4000", "0x14000"),
        SUM.replace("0x4000", "(bit<17>)hdr.first.value"),
        SUM.replace("(bit<16>)sum[16:16]", "(bit<16>)sum[15:15]"),
        format!("{SUM} meta.sum = (bit<32>)sum; hdr.first.at = meta.sum[7:0];"),
        format!(
            "bit<17> sum; {{ {} }} meta.sum = (bit<32>)sum; hdr.first.at = meta.sum[7:0];",
            SUM.replace("bit<17> sum", "sum")
        ),
    ] {
        same(&text(&other), &["sum["], &["< 0x4000"], |_| {});
    }
}

#[test]
fn a_condition_of_a_checksum_reads_no_computed_checksum() {
    let sum = |condition: &str, place: &str| {
        format!(
            "update_checksum({condition}, {{ hdr.first.op, hdr.first.at }}, {place}, HashAlgorithm.csum16);"
        )
    };
    let body = format!("{} {}", sum("true", "hdr.next.more"), sum("hdr.next.more == 3", "hdr.added.more"));
    let refused = super::refusal(&with_compute(&whole(SEND, "apply { }"), &body));
    assert!(refused.contains("reads a checksum that is computed before"), "{refused}");
    let refused = super::refusal(
        &with_compute(&whole(SEND, "apply { }"), &sum("true", "meta.part"))
            .replace("bit<32> sum; }", "bit<32> sum; bit<16> part; }"),
    );
    assert!(refused.contains("no field of a header"), "{refused}");
}

#[test]
fn conditions_are_divided() {
    let text = |condition: &str| {
        whole(
            &format!("apply {{ std.egress_spec = 1; if (hdr.first.op < 3) {{ }} else if ({condition}) {{ std.egress_spec = 2; }} }}"),
            "apply { }",
        )
        .replace("bit<8> mark;", "bit<8> mark; bit<32> one; bit<32> two; bit<12> odd;")
        .replace("std.egress_spec = 1;", "std.egress_spec = 1; meta.one = (bit<32>)hdr.first.at; meta.two = (bit<32>)hdr.first.op; meta.odd = (bit<12>)hdr.first.op;")
    };
    let order = "action order0_step() {\n        order0 = meta.two |-| meta.one;";
    same(&text("meta.one < meta.two"), &[order, "if (order0 != 0) {"], &["holds"], |_| {});
    same(&text("!(meta.two <= meta.one)"), &[order, "if (!(order0 == 0)) {"], &["holds"], |_| {});
    same(
        &text("meta.two > meta.one && hdr.first.at <= hdr.first.op"),
        &[order, "order1 = hdr.first.at |-| hdr.first.op;", "if (order0 != 0 && order1 == 0) {"],
        &["holds"],
        |_| {},
    );
    same(
        &text("meta.one > 3 && (hdr.next.isValid() || meta.two == 4 || hdr.first.value < 0x8000)"),
        &["if (holds0 == 1 && (hdr.next.isValid() || holds1 == 1 || holds2 == 1)) {", "holds1 = 0;"],
        &["order"],
        |_| {},
    );
    for (condition, difference, result) in [
        ("meta.one >= 3", "meta.one |-| 2", "order0 != 0"),
        ("meta.one < 3", "meta.one |-| 2", "order0 == 0"),
        ("meta.one > 4", "meta.one |-| 4", "order0 != 0"),
        ("5 >= meta.one", "meta.one |-| 5", "order0 == 0"),
    ] {
        same(
            &text(condition),
            &[&format!("order0 = {difference};"), &format!("if ({result}) {{")],
            &[],
            |_| {},
        );
    }
    for simple in ["meta.one >= 4", "meta.one <= 3", "hdr.first.at < 3", "4 > meta.one"] {
        same(&text(simple), &[], &["order"], |_| {});
    }
    // 44 bits and a validity; a width that no ALU has.
    same(
        &text("meta.one > 3 && (hdr.first.isValid() || meta.odd[10:0] == 4)"),
        &[],
        &["order", "holds"],
        |_| {},
    );
    same(&text("meta.odd < (bit<12>)hdr.first.at"), &[], &["order", "holds"], |_| {});
}

#[test]
fn a_condition_chooses_a_value_by_branches() {
    let choice = "meta.mark <= hdr.first.at ? (meta.mark == 0 ? 8w1 : hdr.first.op) : 7";
    let text = whole(
        &format!(
            "apply {{ std.egress_spec = (bit<9>)hdr.first.at[2:0]; meta.mark = hdr.first.op; meta.mark = {choice}; hdr.first.op = meta.mark; }}"
        ),
        "apply { }",
    );
    same(&text, &["= meta.mark |-| hdr.first.at", "meta.mark = 1;", "meta.mark = 7;"], &[" ? "], |_| {});
}

#[test]
fn sums_are_added_in_pairs() {
    let text = |sum: &str| {
        whole(
            &format!("action add(bit<32> more) {{ {sum} }} table sums {{ key = {{ hdr.first.at : exact; }} actions = {{ add; NoAction; }} default_action = add(9); }}
            apply {{ std.egress_spec = (bit<9>)hdr.first.at[2:0]; meta.sum = (bit<32>)hdr.first.value; sums.apply(); {} hdr.first.value = meta.sum[15:0]; }}", sum.replace("more", "meta.sum")),
            "apply { }",
        )
    };
    same(
        &text("meta.sum = more + (16w0 ++ ~hdr.first.value) + (bit<32>)hdr.first.op + 5 - meta.sum;"),
        &[" + 5;", "add_goes_on = 1;", "= ~hdr.first.value;", "= 16w0 ++ part", "= (bit<32>)hdr.first.op;"],
        &["+ (16w0", "+ 5 - "],
        |_| {},
    );
    same(
        &text("meta.sum = meta.sum + more; meta.sum = 7 & meta.sum | more;"),
        &["meta.sum = meta.sum + more;"],
        &["part0"],
        |_| {},
    );
}
