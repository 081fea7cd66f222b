//! Touch sets of the example apps: what packets of a flow look up, in a device with the same tables, is in the touch set.

use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::Match;
use device::trace::{Event, EventKind, Hit};
use device::{Options, Switch};
use ir::{Direction, MatchKind, Program, VarKind};
use ir_keys::keys;
use ir_touch::{FlowTables, Touched};
use std::fmt::Write;
use std::sync::Arc;

mod support;

use support::{APPS, bits, compiled, flow, packet, packet_of, small};

/// Further programs; the last has all ways by which values come to keys.
const MORE: [(&str, &str); 4] = [
    ("syn-proxy", include_str!("../../../examples/apps/syn-proxy.p4")),
    ("vm-nat", include_str!("../../../examples/apps/vm-nat.p4")),
    ("vpn", include_str!("../../../examples/apps/vpn.p4")),
    ("ways", include_str!("support/ways.p4")),
];

/// Random entries, the same ones in all devices.
fn fill(program: &Program, devices: &mut [&mut Switch], rng: &mut Rng) {
    for (control, table) in program.controls.iter().flat_map(|c| c.tables.iter().map(move |t| (c, t))) {
        for entry in 0..rng.below(7) {
            let matches: Vec<Match> = table
                .keys
                .iter()
                .map(|key| {
                    let width = program.bits(&key.expr.ty).expect("keys have widths") as u32;
                    let value = small(rng, width);
                    match key.match_kind {
                        MatchKind::Lpm => Match::Lpm { value, prefix_len: width },
                        MatchKind::Ternary if rng.chance(1, 2) => {
                            Match::Ternary { value: bits(width, 0), mask: bits(width, 0) }
                        }
                        MatchKind::Ternary => Match::Ternary { mask: Bits::ones(width), value },
                        MatchKind::Range => Match::Range { lo: bits(width, 0), hi: value },
                        _ => Match::Exact(value),
                    }
                })
                .collect();
            let run = &table.actions[rng.index(table.actions.len())];
            let action = &control.actions[run.action.index()];
            let args: Vec<Bits> = action
                .params
                .iter()
                .map(|param| &control.vars[param.index()])
                .filter(|var| var.kind == VarKind::Param(Direction::None))
                .map(|var| {
                    let width = program.bits(&var.ty).expect("data has a width") as u32;
                    small(rng, width)
                })
                .collect();
            let is_ordered =
                |key: &ir::TableKey| matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range);
            let priority = table.keys.iter().any(is_ordered).then_some(entry as i64 + 1);
            for device in &mut *devices {
                // Some entries are there already.
                let _ = device.table_add(
                    &table.control_plane_name,
                    &matches,
                    &action.control_plane_name,
                    &args,
                    priority,
                );
            }
        }
    }
}

fn lookups(events: &[Event]) -> Vec<(Touched, Option<Hit>)> {
    let lookup = |event: &Event| match &event.kind {
        EventKind::Table { table, keys, hit, .. } => {
            let key = keys.iter().filter_map(|key| key.value.bits().cloned()).collect();
            Some((Touched { table: table.clone(), key }, hit.clone()))
        }
        _ => None,
    };
    events.iter().filter_map(lookup).collect()
}

#[test]
fn what_packets_look_up_is_in_the_touch_set_of_their_flow() {
    let packets = if features::is_long() { 1000 } else { 20 };
    for (name, source) in APPS.into_iter().chain(MORE) {
        let program = compiled(source);
        let keys = keys(&program);
        let (mut seen, mut touched_keys) = (0, 0);
        for seed in 0..10 {
            let mut rng = Rng::new(seed).split(name);
            let mut whole =
                ir_interp::switch(Arc::new(program.clone()), Options::default()).expect("it runs");
            let mut flows =
                FlowTables::new(&program, &keys, Options::default()).expect("flows can be followed");
            fill(&program, &mut [&mut whole, flows.tables()], &mut rng);
            for _ in 0..packets {
                let port = rng.below(4) as u32;
                whole.set_trace(true);
                let frame = match APPS.contains(&(name, source)) {
                    true => packet(&mut rng),
                    // GRE, and more that are cut short.
                    false => packet_of(&mut rng, &[6, 17, 17, 1, 47], 3),
                };
                whole.process(port, &frame, Time::ZERO);
                let events = whole.take_trace();
                let flow = flow(&keys, port, &events);
                let touched = flows.touched(&flow).expect("there are few paths");
                for (lookup, hit) in lookups(&events) {
                    seen += 1;
                    let found = touched.get(&lookup);
                    assert_eq!(
                        found,
                        Some(&hit),
                        "{name}, seed {seed}: {lookup:?} of {flow:?} in {touched:#?}"
                    );
                }
                touched_keys += touched.len();
            }
        }
        assert!(seen > packets / 2, "{name}: {seen}");
        // Flows of the apps have few lookups. Those of the last program have its open writes' values in keys, each with and without.
        let most = if name == "ways" { 12 } else { 4 };
        assert!(touched_keys < most * 10 * packets, "{name}: {touched_keys}");
    }
}

/// Flows of packets, and others: their touch sets are those that the whole program has.
#[test]
fn no_lookup_depends_on_what_is_left_out() {
    let flows = if features::is_long() { 300 } else { 20 };
    for (name, source) in APPS.into_iter().chain(MORE) {
        let program = compiled(source);
        let keys = keys(&program);
        let mut lookups = 0;
        for seed in 10..15 {
            let mut rng = Rng::new(seed).split(name);
            let mut device =
                ir_interp::switch(Arc::new(program.clone()), Options::default()).expect("it runs");
            let mut sliced =
                FlowTables::new(&program, &keys, Options::default()).expect("flows can be followed");
            let mut whole =
                FlowTables::unsliced(&program, &keys, Options::default()).expect("flows can be followed");
            fill(&program, &mut [sliced.tables(), whole.tables()], &mut rng);
            for _ in 0..flows {
                let port = rng.below(4) as u32;
                device.set_trace(true);
                device.process(port, &packet_of(&mut rng, &[6, 17, 17, 1, 47], 3), Time::ZERO);
                let mut flow = flow(&keys, port, &device.take_trace());
                if rng.chance(1, 3) {
                    for (part, value) in keys.key.parts.iter().zip(&mut flow) {
                        if part.name.ends_with("protocol") {
                            *value = bits(8, [6, 17, 50, 47][rng.index(4)]);
                        } else if rng.chance(2, 3) {
                            *value = small(&mut rng, part.width);
                        }
                    }
                }
                let found = sliced.touched(&flow).expect("there are few paths");
                assert_eq!(Ok(&found), whole.touched(&flow).as_ref(), "{name}, seed {seed}: {flow:?}");
                lookups += found.len();
            }
        }
        assert!(lookups > flows * 5 / 2, "{name}: {lookups}");
    }
}

#[test]
fn the_touch_set_has_entries_and_misses() {
    let program = compiled(APPS[2].1);
    let keys = keys(&program);
    let mut flows = FlowTables::new(&program, &keys, Options::default()).expect("flows can be followed");
    let tables = flows.tables();
    let exact = |width, value| Match::Exact(bits(width, value));
    tables
        .table_add("NatIngress.tenants", &[exact(9, 3)], "NatIngress.tenant_is", &[bits(8, 7)], None)
        .expect("the entry fits");
    let key = [exact(8, 7), exact(32, 10), exact(32, 20), exact(8, 6), exact(16, 1000), exact(16, 80)];
    tables
        .table_add(
            "NatIngress.outbound",
            &key,
            "NatIngress.source_is",
            &[bits(32, 99), bits(16, 61000)],
            None,
        )
        .expect("the entry fits");
    let mut out = String::new();
    for part in &keys.key.parts {
        let _ = write!(out, "{} ", part.name);
    }
    let mut show = |port: u64, src: u64| {
        // TCP: the ports of UDP are zero.
        let value = |part: &ir_keys::Part| match part.name.as_str() {
            "hdr.ipv4.src" => bits(32, src),
            "hdr.ipv4.dst" => bits(32, 20),
            "hdr.ipv4.protocol" => bits(8, 6),
            "hdr.tcp.src" => bits(16, 1000),
            "hdr.tcp.dst" => bits(16, 80),
            "standard_metadata.ingress_port" => bits(9, port),
            _ => bits(part.width, 0),
        };
        let flow: Vec<Bits> = keys.key.parts.iter().map(value).collect();
        let _ = writeln!(out, "\nport {port} from {src}");
        for (lookup, hit) in flows.touched(&flow).expect("there are few paths") {
            let key: Vec<String> = lookup.key.iter().map(Bits::to_decimal).collect();
            let hit = hit.map_or("miss".to_string(), |hit| format!("entry {}", hit.handle));
            let _ = writeln!(out, "  {:<20} {:<24} {hit}", lookup.table, key.join(" "));
        }
    };
    show(3, 10);
    show(3, 11);
    show(4, 10);
    expect_test::expect![[r#"
        hdr.ipv4.dst hdr.ipv4.protocol hdr.ipv4.src hdr.tcp.dst hdr.tcp.src hdr.udp.dst hdr.udp.src standard_metadata.ingress_port 
        port 3 from 10
          NatIngress.outbound  7 10 20 6 1000 80        entry 0
          NatIngress.routes    20                       miss
          NatIngress.tenants   3                        entry 0

        port 3 from 11
          NatIngress.outbound  7 11 20 6 1000 80        miss
          NatIngress.tenants   3                        entry 0

        port 4 from 10
          NatIngress.inbound   20 10 6 80 1000          miss
          NatIngress.tenants   4                        miss
    "#]].assert_eq(&out);
}

/// Conditions are followed only as far as lookups may come, and only if lookups depend on them.
#[test]
fn conditions_on_which_no_lookup_depends_are_no_choices() {
    let seventy = |then: &str| -> String {
        (0..70).map(|ttl| format!("if (hdr.ipv4.ttl == {ttl}) {{ {then} }} ")).collect()
    };
    let conditions = seventy("hdr.ipv4.dst = hdr.ipv4.dst ^ 1;");
    let touched = |source: &str| {
        let program = compiled(source);
        let keys = keys(&program);
        let mut flows = FlowTables::new(&program, &keys, Options::default()).expect("flows can be followed");
        let inside = [Match::Exact(bits(9, 1))];
        flows
            .tables()
            .table_add("FirewallIngress.sides", &inside, "FirewallIngress.is_inside", &[], None)
            .expect("the entry fits");
        let value = |part: &ir_keys::Part| match part.name.as_str() {
            name if name.starts_with("hdr.udp") => 0,
            "hdr.ipv4.protocol" => 6,
            _ => 1,
        };
        let flow: Vec<Bits> = keys.key.parts.iter().map(|part| bits(part.width, value(part))).collect();
        flows.touched(&flow)
    };
    let firewall = APPS[1].1;
    let found = touched(firewall).expect("there are few paths");
    assert_eq!(found.len(), 4, "{found:?}");
    let with = |from: &str, to: &str| {
        assert!(firewall.contains(from));
        touched(&firewall.replace(from, to))
    };
    let last = with("routes.apply();", &format!("routes.apply(); {conditions}"));
    assert_eq!(last.as_ref(), Ok(&found), "they are the last ones");
    let stage = with(
        "FirewallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {\n    apply {",
        &format!(
            "FirewallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {{\n    apply {{ {conditions}"
        ),
    );
    assert_eq!(stage.as_ref(), Ok(&found), "they are in a later stage");
    let dropped = with(
        "FirewallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {\n    apply {",
        "FirewallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {\n    table last { key = { hdr.ipv4.src: exact; } actions = { NoAction; } }\n    apply { last.apply();",
    );
    assert_eq!(dropped.as_ref(), Ok(&found), "without a route, packets do not come to egress");
    let returns = with("refused.count(0);", &format!("refused.count(0); {conditions}"));
    assert_eq!(returns.as_ref(), Ok(&found), "the control returns after them");
    assert!(with("sides.apply();", &format!("{conditions} sides.apply();")).is_err(), "lookups follow");
    for then in ["mark_to_drop(standard_metadata);", "hdr.ipv4.ttl = 3;", "refused.count(0); return;"] {
        let found = with("sides.apply();", &format!("{} sides.apply();", seventy(then)));
        assert_eq!(found.as_ref().map(|found| found.len()), Ok(4), "no lookup depends on `{then}`");
    }
    let again = format!("for (bit<8> round in 8w0 .. 1) {{ routes.apply(); {conditions} }}");
    assert!(with("routes.apply();", &again).is_err(), "another round may follow");
    let left = "for (bit<8> round in 8w0 .. 1) { if (hdr.ipv4.ttl == 9) { break; } return; } routes.apply();";
    assert_eq!(with("routes.apply();", left), Ok(found), "lookups follow the loop");
}

#[test]
fn programs_whose_flows_cannot_be_followed_are_refused() {
    let firewall = APPS[1].1;
    let refused = |source: &str| {
        let program = compiled(source);
        let found = FlowTables::new(&program, &keys(&program), Options::default()).err().unwrap_or_default();
        found.iter().map(|d| format!("{}: {}", d.title, d.labels[0].text)).collect::<Vec<_>>()
    };
    let again = firewall.replace("routes.apply();", "routes.apply(); resubmit_preserving_field_list(0);");
    assert_eq!(
        refused(&again),
        [
            "the entries that a flow uses cannot be listed: clones and packets that come around again are not followed yet"
        ]
    );
    let hidden = firewall.replace(
        "sides.apply();",
        "bool known = hdr.ipv4.ttl > 9 && sides.apply().hit; if (known) { meta.inside = 1; }",
    );
    assert_eq!(
        refused(&hidden),
        [
            "the entries that a flow uses cannot be listed: whether it applies a table depends on another part of it"
        ]
    );
}
