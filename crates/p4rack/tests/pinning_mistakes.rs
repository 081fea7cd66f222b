//! Apps whose flows cannot be pinned as their rack wants: each with its message.

use crate::move_mistakes::{example, reported};
use expect_test::{Expect, expect};

const CONNECTIONS: &str = include_str!("../../../examples/pinned/connections.toml");

/// The rack of `examples/pinned` with something else instead of `was`.
fn check(was: &str, is: &str, expected: Expect) {
    let rack = example();
    assert!(rack.contains(was));
    expected.assert_eq(&reported(&rack.replace(was, is), &[("connections.toml", CONNECTIONS)]));
}

/// A program with this key in a table, a counter, and more in ingress, as the only app.
fn check_program(key: &str, more: &str, keys: &str, expected: Expect) {
    let program = format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; }}
struct headers {{ h_t h; }}
struct metadata {{ }}
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t s) {{
    state start {{ p.extract(hdr.h); transition accept; }}
}}
control C(inout headers hdr, inout metadata m) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata m, inout standard_metadata_t s) {{
    register<bit<8>>(4) kept;
    action to(bit<9> port) {{ s.egress_spec = port; }}
    table t {{ key = {{ {key} }} actions = {{ to; NoAction; }} }}
    apply {{ {more} t.apply(); }}
}}
control E(inout headers hdr, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr.h); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    );
    let rack = example();
    let (head, _) = rack.split_once("# Both directions").expect("it has a shard key");
    let rack = format!(
        "{}{keys}",
        head.replace("../apps/firewall.p4", "app.p4").replace("entries = \"connections.toml\"\n", "")
    );
    expected.assert_eq(&reported(&rack, &[("app.p4", &program)]));
}

#[test]
fn an_affinity_is_one_of_three() {
    check(
        "affinity = \"medium\"",
        "affinity = \"some\"",
        expect![[r#"
        error[P4R0606]: unknown word `some`
          --> RACK.toml:66:12
           |
        66 | affinity = "some"
           |            ^^^^^^ not known here
           |
           = note: known are `high`, `medium` and `low`
    "#]],
    );
}

#[test]
fn an_affinity_needs_devices_for_it() {
    check(
        "devices = [\"nic1\", \"nic2\"]\n",
        "",
        expect![[r#"
        error[P4R0605]: no helper
          --> RACK.toml:65:12
           |
        65 | affinity = "medium"
           |            ^^^^^^^^ name devices for the flows that are not at the switch: `devices = ["nic"]`
    "#]],
    );
    check(
        "\"nic1\", \"nic2\"",
        "\"nic1\", \"nic3\"",
        expect![[r#"
        error[P4R0606]: unknown device `nic3`
          --> RACK.toml:65:20
           |
        65 | devices = ["nic1", "nic3"]
           |                    ^^^^^^ not known
           |
           = help: did you mean `nic1`?
    "#]],
    );
}

#[test]
fn a_key_follows_from_the_packet_and_entries() {
    check_program(
        "s.ingress_global_timestamp: exact;",
        "",
        "",
        expect![[r#"
        error[P4R1302]: `app` has no union key
          --> app.p4:13:23
           |
        13 |     table t { key = { s.ingress_global_timestamp: exact; } actions = { to; NoAction; } }
           |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^ `s.ingress_global_timestamp` depends on more than the packet and entries
           |
          ::: RACK.toml:65:12
           |
        65 | affinity = "medium"
           |            -------- so its flows cannot be pinned
           |
           = note: `p4rack analyze` shows the obstacles
           = help: process all flows at one place, `affinity = "high"` or `"low"`, or write the key as `flow_key`
    "#]],
    );
    check_program(
        "hdr.h.a: exact;",
        "bit<8> v; kept.read(v, 0); hdr.h.a = v;",
        "",
        expect![[r#"
        error[P4R1302]: `app` has no union key
          --> app.p4:13:23
           |
        13 |     table t { key = { hdr.h.a: exact; } actions = { to; NoAction; } }
           |                       ^^^^^^^ `hdr.h.a` depends on more than the packet and entries
           |
          ::: RACK.toml:65:12
           |
        65 | affinity = "medium"
           |            -------- so its flows cannot be pinned
           |
           = note: `p4rack analyze` shows the obstacles
           = help: process all flows at one place, `affinity = "high"` or `"low"`, or write the key as `flow_key`
    "#]],
    );
}

#[test]
fn objects_have_one_copy_unless_they_are_sums() {
    check_program(
        "hdr.h.a: exact;",
        "kept.write(0, hdr.h.b);",
        "",
        expect![[r#"
        error[P4R1301]: `I.kept` cannot be at the switch and at helpers
          --> app.p4:11:5
           |
        11 |     register<bit<8>>(4) kept;
           |     ^^^^^^^^^^^^^^^^^^^^^^^^^ packets of all flows use this register, and there is one
           |
           = help: if it is a register whose copies may be merged, or whose values may be lost, write `@merge("add")` or `@soft` before it
           = help: or process all flows of the app at one place: `affinity = "high"` or `"low"`
    "#]],
    );
}

#[test]
fn parts_of_keys_are_known() {
    check_program(
        "hdr.h.a: exact;",
        "",
        "shard_key = [\"hdr.h.b\"]\n",
        expect![[r#"
        error[P4R1302]: `hdr.h.b` is not part of the flow's key
          --> RACK.toml:67:14
           |
        67 | shard_key = ["hdr.h.b"]
           |              ^^^^^^^^^ packets of one flow could have different values
           |
           = help: did you mean `hdr.h.a`?
    "#]],
    );
    check_program(
        "hdr.h.a: exact;",
        "",
        "flow_key = [\"hdr.h.c\"]\n",
        expect![[r#"
        error[P4R1302]: `hdr.h.c` cannot be a part of a flow's key
          --> app.p4:10:1
           |
        10 | / control I(inout headers hdr, inout metadata m, inout standard_metadata_t s) {
        11 | |     register<bit<8>>(4) kept;
        12 | |     action to(bit<9> port) { s.egress_spec = port; }
        13 | |     table t { key = { hdr.h.a: exact; } actions = { to; NoAction; } }
        14 | |     apply {  t.apply(); }
        15 | | }
           | |_^ in this control
           |
           = note: there is no `c`
           = help: name fields of headers as ingress does, or `standard_metadata.ingress_port`
    "#]],
    );
}

#[test]
fn sizes_at_the_switch_fit() {
    check_program(
        "hdr.h.a: exact;",
        "",
        "[app.objects.u]\nresident = 4\n",
        expect![[r#"
        error[P4R0606]: the program has no table `u`
          --> RACK.toml:67:14
           |
        67 | [app.objects.u]
           |              ^ not known
    "#]],
    );
    check(
        "flows = 4096",
        "flows = 0",
        expect![[r#"
        error[P4R0605]: number out of range
          --> RACK.toml:67:9
           |
        67 | flows = 0
           |         ^ allowed are 1 to 4294967296
    "#]],
    );
}

#[test]
fn what_is_for_flows_alone_needs_them() {
    check(
        "affinity = \"medium\"\nflows = 4096\n",
        "affinity = \"high\"\npromote = \"auto\"\n",
        expect![[r#"
        error[P4R0605]: all flows are at the switch
          --> RACK.toml:66:12
           |
        66 | affinity = "high"
           |            ^^^^^^ leave `devices` out, or take another affinity

        error[P4R0605]: no flow moves
          --> RACK.toml:67:11
           |
        67 | promote = "auto"
           |           ^^^^^^ only `affinity = "medium"` has flows at both places
    "#]],
    );
}

/// Two apps of `examples/apps` on one switch.
#[test]
fn packets_are_of_one_app() {
    let apps = include_str!("../../../examples/apps/RACK.toml");
    let overlapping = apps.replace("port == 2 || port == 4", "port == 1 || port == 4");
    assert_ne!(overlapping, apps);
    let files = [
        ("acl.toml", include_str!("../../../examples/apps/acl.toml")),
        ("firewall.toml", include_str!("../../../examples/apps/firewall.toml")),
        ("nat.toml", include_str!("../../../examples/apps/nat.toml")),
        ("acl.p4", include_str!("../../../examples/apps/acl.p4")),
        ("firewall.p4", include_str!("../../../examples/apps/firewall.p4")),
        ("nat.p4", include_str!("../../../examples/apps/nat.p4")),
        ("headers.p4", include_str!("../../../examples/apps/headers.p4")),
    ];
    expect![[r#"
        error[P4R1102]: packets belong to `firewall` and to `acl`
          --> RACK.toml:59:9
           |
        59 | class = "port == 1 || port == 4 && ipv4.dst in 10.1.0.0/16"
           |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `firewall` is one of them
        ...
        65 | class = "port == 1 || port == 4 && ipv4.dst in 10.2.0.0/16"
           |         --------------------------------------------------- `acl` is one of them
        ...
        71 | class = "port == 3 || port == 4 && ipv4.dst == 192.0.2.1"
           |         ------------------------------------------------- `nat` is one of them
           |
           = note: for example port 1: 02000000000202000000000108004500001800000000400600000a0000010a00000204000050
           = note: `firewall` takes `port == 1 || port == 4 && ipv4.dst in 10.1.0.0/16`, `acl` takes `port == 1 || port == 4 && ipv4.dst in 10.2.0.0/16`
           = help: make the classes disjoint, or give a priority: the largest wins
    "#]].assert_eq(&reported(&overlapping, &files));
}

#[test]
fn a_helper_has_the_match_kinds_of_the_tables() {
    check(
        "[device.nic1]\nclass = \"smartnic\"\n",
        "[device.nic1]\nclass = \"smartnic\"\nmatch_kinds = [\"exact\"]\n",
        expect![[r#"
            error[P4R1001]: device `nic1` has no lpm match
              --> RACK.toml:20:15
               |
            20 |   match_kinds = ["exact"]
               |                 ^^^^^^^^^ supports exact
               |
              ::: examples/apps/firewall.p4:40:5
               |
            40 |       ROUTES(1024)
               |       ------------ in this table
               |
              ::: examples/apps/headers.p4:88:5
               |
            88 | /     table routes { \
            89 | |         key = { hdr.ipv4.dst: lpm; } \
            90 | |         actions = { forward; unreachable; } \
            91 | |         default_action = unreachable(); \
            92 | |         size = SIZE; \
            93 | |     }
               | |_____- in the expansion of macro `ROUTES`
               |
               = note: `hdr.ipv4.dst` of table `FirewallIngress.routes` is matched so
               = help: place the table on another device, or change the match kind
        "#]],
    );
}

#[test]
fn all_tables_fit_the_switch() {
    check(
        "[device.edge]\nclass = \"switch\"\n",
        "[device.edge]\nclass = \"switch\"\nresources = { EntryBits = \"100000\" }\n",
        expect![[r#"
            error[P4R1301]: `firewall` does not fit device `edge`
              --> RACK.toml:67:12
               |
            67 | affinity = "medium"
               |            ^^^^^^^^ needs 1769446 of EntryBits there, and the device has 100000
               |
               = note: the largest tables are `FirewallIngress.flow_manager` of size 4096: 598016, `FirewallIngress.outbound_resident` of size 4096: 430080, `FirewallIngress.inbound_resident` of size 4096: 430080
               = help: set smaller sizes under `[app.objects]`, fewer `flows` (`"plan"` takes as many as fit), or another affinity
        "#]],
    );
    let rack = example().replace(
        "devices = [\"nic1\", \"nic2\"]\naffinity = \"medium\"\nflows = 4096\n",
        "affinity = \"high\"\n",
    );
    let (rack, _) = rack.split_once("# Both directions").expect("it has a shard key");
    let rack = rack.replace(
        "[device.edge]\nclass = \"switch\"\n",
        "[device.edge]\nclass = \"switch\"\nresources = { EntryBits = \"100000\" }\n",
    );
    expect![[r#"
        error[P4R1301]: `firewall` does not fit device `edge`
          --> RACK.toml:66:12
           |
        66 | affinity = "high"
           |            ^^^^^^ needs 14071968 of EntryBits there, and the device has 100000
           |
           = note: the largest tables are `FirewallIngress.outbound` of size 65536: 6881280, `FirewallIngress.inbound` of size 65536: 6881280, `FirewallIngress.routes` of size 1024: 174080
           = help: set smaller sizes under `[app.objects]`, fewer `flows` (`"plan"` takes as many as fit), or another affinity
    "#]].assert_eq(&reported(&rack, &[("connections.toml", CONNECTIONS)]));
}

#[test]
fn apps_on_one_switch_have_all_helpers_in_common_or_none() {
    let rack = example().replace("program = ", "class = \"port == 1\"\nprogram = ");
    let (head, app) = rack.split_once("[[app]]").expect("it has an app");
    let second =
        app.replace("program = ", "name = \"second\"\nprogram = ").replace("\"nic1\", \"nic2\"", "\"nic2\"");
    let second = second.replace("port == 1", "port == 4");
    let rack = format!("{head}[[app]]{app}[[app]]{second}");
    expect![[r#"
        error[P4R0611]: `firewall` and `second` share some of their helpers
          --> RACK.toml:78:12
           |
        66 | devices = ["nic1", "nic2"]
           |                    ------ first named here
        ...
        78 | devices = ["nic2"]
           |            ^^^^^^ a helper of both
           |
           = help: name the same `devices` in both apps, or different ones
    "#]]
    .assert_eq(&reported(&rack, &[("connections.toml", CONNECTIONS)]));
}
