//! Each app on one device, by the interpreter and as machine code: its property holds, and it does not for programs with a fault.

use app_trials::nat::Kind;
use app_trials::network::{Engine, OneDevice, program};
use app_trials::traffic::{SKEWS, Sizes, Traffic};
use app_trials::{acl, firewall, nat, net_cache, syn_proxy, univmon, vpn};

fn device(app: &str, engine: Engine) -> OneDevice {
    OneDevice::of(app, engine).unwrap_or_else(|why| panic!("{app}: {why}"))
}

/// The long form has a million packets of each app; `P4RACK_PARTS` divides them among processes with other seeds.
fn many(few: u64) -> u64 {
    let all = features::is_long();
    if all { 1_000_000 / features::setting("P4RACK_PARTS", 1) } else { few }
}

/// Seed of the trials: processes with other ones run other packets.
fn seed() -> u64 {
    features::setting("P4RACK_SEED", 1)
}

fn both() -> [(Engine, u64); 2] {
    [(Engine::Interpreter, if features::is_long() { 1500 } else { 1000 }), (Engine::Native, many(4000))]
}

/// A program with a fault in it. Panics if the source does not have the text.
fn faulty(app: &str, from: &str, to: &str) -> OneDevice {
    let changed = program(app, &|source| {
        assert!(source.contains(from), "{app}.p4 does not have `{from}`");
        source.replacen(from, to, 1)
    });
    OneDevice::new(changed.unwrap_or_else(|why| panic!("{from}: {why}")), Engine::Native).expect("it runs")
}

/// All of these faults are noticed.
fn noticed<T: std::fmt::Debug>(
    app: &str,
    faults: &[(&str, &str)],
    trial: impl Fn(&mut OneDevice) -> Result<T, String>,
) {
    for (from, to) in faults {
        let outcome = trial(&mut faulty(app, from, to));
        assert!(outcome.is_err(), "{app}: `{from}` as `{to}` is not noticed: {outcome:?}");
    }
}

#[test]
fn the_gateway_sends_each_frame_as_the_model_has_it() {
    for (engine, packets) in both() {
        let outcome =
            vpn::trial(&mut device("vpn", engine), packets, seed()).unwrap_or_else(|why| panic!("{why}"));
        println!("{engine:?}: {outcome:?}");
        assert!(outcome.accepted * 4 > packets && outcome.refused.iter().all(|n| *n > 5), "{outcome:?}");
        assert!(outcome.removed > 1, "{outcome:?}");
    }
    let faults = [
        ("hdr.ipv4.fragment & 0x3fff", "hdr.ipv4.fragment & 0x1fff"),
        ("|| hdr.ipv4.ttl == 0 ", ""),
        ("|| standard_metadata.checksum_error == 1", ""),
        ("hdr.gre.flags != GRE_KEYED ||", ""),
        ("most - (VXLAN_BYTES - GRE_BYTES)", "most"),
        ("bytes - 20, 0 }", "bytes, 0 }"),
        ("hdr.inner.setInvalid();", ""),
        ("hdr.ipv4.total_len - VXLAN_BYTES + GRE_BYTES", "hdr.ipv4.total_len"),
        (
            "hdr.ipv4.src: exact; hdr.ipv4.dst: exact; meta.tunnel: exact;",
            "hdr.ipv4.src: exact; hdr.ipv4.dst: exact; hdr.gre.key: exact;",
        ),
    ];
    noticed("vpn", &faults, |on| vpn::trial(on, 3000, 2));
}

#[test]
fn answers_pass_the_firewall_and_nothing_else() {
    for (engine, packets) in both() {
        let outcome = firewall::trial(&mut device("firewall", engine), packets, seed())
            .unwrap_or_else(|why| panic!("{why}"));
        println!("{engine:?}: {outcome:?}");
        assert!(
            outcome.passed.iter().chain(&outcome.refused).all(|n| *n > 50) && outcome.ended > 5,
            "{outcome:?}"
        );
    }
    let faults = [
        ("|| standard_metadata.checksum_error == 1", ""),
        (
            "hdr.ipv4.dst: exact; hdr.ipv4.src: exact; hdr.ipv4.protocol: exact; meta.l4.dst: exact; meta.l4.src: exact;",
            "hdr.ipv4.dst: exact; hdr.ipv4.src: exact; hdr.ipv4.protocol: exact; meta.l4.src: exact; meta.l4.dst: exact;",
        ),
        ("else if (inbound.apply().miss)", "else if (false)"),
        ("digest(1, made);", ""),
        ("key = { hdr.ipv4.src: exact; }", "key = { hdr.ipv4.dst: exact @name(\"hdr.ipv4.src\"); }"),
        ("refused.count(1);", "refused.count(0);"),
    ];
    noticed("firewall", &faults, |on| firewall::trial(on, 3000, 2));
}

#[test]
fn verdicts_are_those_of_the_rules_at_their_time() {
    for (engine, packets) in both() {
        let outcome =
            acl::trial(&mut device("acl", engine), packets, seed()).unwrap_or_else(|why| panic!("{why}"));
        println!("{engine:?}: {outcome:?}");
        assert!(
            outcome.passed * 5 > packets && outcome.by_rule * 5 > packets && outcome.changes > 50,
            "{outcome:?}"
        );
    }
    let faults = [
        ("action permit() { meta.deny = 0; }", "action permit() { }"),
        ("rules.apply();", ""),
        ("meta.l4.dst: range;", "meta.l4.src: range @name(\"meta.l4.dst\");"),
        ("filtered.count(meta.tenant);", "filtered.count(0);"),
        ("meta.deny = deny;", ""),
    ];
    noticed("acl", &faults, |on| acl::trial(on, 3000, 2));
}

#[test]
fn no_two_flows_have_one_public_side() {
    for kind in [Kind::Tenants, Kind::Machines] {
        let app = if kind == Kind::Tenants { "nat" } else { "vm-nat" };
        for (engine, packets) in both() {
            let outcome = nat::trial(&mut device(app, engine), kind, packets, seed())
                .unwrap_or_else(|why| panic!("{why}"));
            println!("{kind:?} {engine:?}: {outcome:?}");
            assert!(outcome.translated.iter().all(|n| *n * 6 > packets) && outcome.ended > 2, "{outcome:?}");
        }
        let outcome = nat::trial(&mut device(app, Engine::Native), kind, 8000, 3).expect("it holds");
        assert!(outcome.again > 10 && outcome.exhausted > 0, "{outcome:?}");
    }
    let faults = [
        ("meta.inside == 0", "meta.inside == 1"),
        ("hdr.ipv4.src = addr;", ""),
        ("meta.change = CHANGE(hdr.ipv4.dst, meta.l4.dst, addr, l4_port);", ""),
        ("hdr.ipv4.dst = addr;\n        meta.l4.dst = l4_port;", "hdr.ipv4.dst = addr;"),
        ("translated = own_outbound.apply().hit;", ""),
        ("if (!translated) {\n            unknown", "if (false) {\n            unknown"),
    ];
    noticed("vm-nat", &faults, |on| nat::trial(on, Kind::Machines, 3000, 2));
}

#[test]
fn streams_pass_the_proxy_and_spoofed_syns_leave_nothing() {
    for (engine, connections) in [(Engine::Interpreter, 12), (Engine::Native, many(1000) * 20 / 1000)] {
        let outcome = syn_proxy::trial(&mut device("syn-proxy", engine), connections, seed())
            .unwrap_or_else(|why| panic!("{why}"));
        println!("{engine:?}: {outcome:?}");
        assert!(outcome.spoofed > 20 && outcome.lost > 20, "{outcome:?}");
    }
    let faults = [
        ("hdr.tcp.ack = hdr.tcp.ack + offset;", ""),
        ("hdr.tcp.seq = hdr.tcp.seq - offset;", "hdr.tcp.seq = hdr.tcp.seq + offset;"),
        ("if (kind & SYN_RST_ACK != ACK || age > 1 || got != cookie) {", "if (kind & SYN_RST_ACK != ACK) {"),
        ("make(SYN, hdr.tcp.seq - 1, 0, mss);", "make(SYN, hdr.tcp.seq, 0, mss);"),
        ("moved(hdr.tcp.ack, hdr.tcp.ack + offset);", ""),
        ("if (hdr.mss.value >= 1460) { size = 3; }", "if (hdr.mss.value >= 500) { size = 3; }"),
        ("meta.made == 1 && hdr.mss.isValid()", "false"),
    ];
    // A connection that never ends is noticed, too: by the time that it takes.
    noticed("syn-proxy", &faults, |on| syn_proxy::trial(on, 12, 2));
}

#[test]
fn the_sketch_is_exact_and_its_estimates_are_near() {
    for (engine, packets) in [(Engine::Interpreter, 3000), (Engine::Native, many(20_000))] {
        for skew in SKEWS {
            let mut on = device("univmon", engine);
            univmon::configure(&mut on).expect("a route");
            let mut traffic = Traffic::new(20_000, skew, Sizes::Fixed(60), seed());
            let found = univmon::trial(&mut on, &mut traffic, packets).unwrap_or_else(|why| panic!("{why}"));
            println!(
                "{engine:?} {skew}: {packets} packets, flows {:?}, entropy {:?}, heavy {:?}, worst {} of 1000, {} reports",
                found.flows, found.entropy, found.heavy, found.worst, found.reports
            );
            let off = |(exact, estimate): (f64, f64)| (estimate / exact - 1.0).abs();
            assert!(off((found.flows.0 as f64, found.flows.1)) < 0.25, "{:?}", found.flows);
            assert!(off(found.entropy) < 0.1, "{:?}", found.entropy);
            assert!(found.heavy.1 * 100 >= found.heavy.0 * 98 && found.worst <= 500, "{:?}", found.heavy);
        }
    }
    let faults = [
        ("count = count + 1;", "count = count + 2;"),
        ("votes >= 3", "votes >= 6"),
        ("0xc000 &&& 0xe000: level_is(2)", "0xc000 &&& 0xe000: level_is(3)"),
        ("level[3:0] ++ hashed[10:0]", "level[3:0] ++ 1w0 ++ hashed[9:0]"),
    ];
    for (from, to) in faults {
        let mut on = faulty("univmon", from, to);
        univmon::configure(&mut on).expect("a route");
        let found = univmon::trial(&mut on, &mut Traffic::new(5000, 990, Sizes::Fixed(60), 1), 3000);
        let is_near = |found: &univmon::Outcome| found.heavy.1 * 100 >= found.heavy.0 * 98;
        assert!(!found.as_ref().is_ok_and(is_near), "`{from}` as `{to}` is not noticed");
    }
}

#[test]
fn reads_and_writes_of_the_cache_are_linearizable() {
    for (engine, queries) in [(Engine::Interpreter, 800), (Engine::Native, many(4000))] {
        let outcome = net_cache::trial(&mut device("netcache", engine), queries, seed())
            .unwrap_or_else(|why| panic!("{why}"));
        println!("{engine:?}: {outcome:?}");
        assert!(outcome.hits * 10 > queries && outcome.inserted > 3, "{outcome:?}");
    }
    let outcome = net_cache::trial(&mut device("netcache", Engine::Native), 6000, 2).expect("it holds");
    assert!(outcome.evicted > 3 && outcome.invalid > 10, "{outcome:?}");
    let faults = [
        ("valid.write(meta.slot, 0);", ""),
        ("if (number == hdr.query.number) {", "if (true) {"),
        ("number = number + 1;", ""),
        ("lengths.write(meta.slot, hdr.query.blocks);", ""),
        ("RUN(3, b3)", ""),
    ];
    noticed("netcache", &faults, |on| net_cache::trial(on, if features::is_long() { 6000 } else { 3000 }, 3));
}

#[test]
fn two_runs_are_the_same() {
    let [one, other] = [(); 2].map(|()| net_cache::trial(&mut device("netcache", Engine::Native), 500, 9));
    assert_eq!(one, other);
}
