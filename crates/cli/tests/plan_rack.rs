//! `p4rack plan` on a rack, and the emulator's results for its plans.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn p4rack(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_p4rack")).args(args).output().expect("the binary runs")
}

fn json(args: &[&str]) -> Value {
    let output = p4rack(&[args, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

/// A directory for a test with some files of an example, each as `change` has it.
fn copy(name: &str, example: &str, files: &[&str], change: impl Fn(&str, String) -> String) -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&target).expect("a directory for the test");
    for file in files {
        let text = std::fs::read_to_string(example.join(file)).expect("the example is there");
        std::fs::write(target.join(file), change(file, text)).expect("the test's directory can be written");
    }
    target
}

/// The slice's rack, without its sampler, with this in the place of its map, and more.
fn rack(name: &str, map: &str, more: &str) -> String {
    let known = "map = { Sample = \"nic\", Acl = \"nic\", Mark = \"nic\", Out = \"nic\" }";
    let map = format!("{map}\ndefines = {{ NO_SAMPLER = 1 }}\n");
    let change = |file: &str, text: String| match file {
        "RACK.toml" => text.replace(known, &map) + more,
        _ => text,
    };
    copy(name, "slice", &["slice.p4", "entries.stf", "RACK.toml"], change).display().to_string()
}

/// Microseconds.
fn latency(plan: &Value) -> f64 {
    let text = plan["cost"]["Latency"].as_str().expect("a latency");
    match text.strip_suffix("us") {
        Some(number) => number.parse().unwrap(),
        None => text.strip_suffix("ns").unwrap().parse::<f64>().unwrap() / 1000.0,
    }
}

/// Least latency of a stream's packets from host to host, in microseconds.
fn emulated(rack: &str, stream: &str) -> f64 {
    let streams = json(&["up", rack])["report"]["workloads"].as_array().expect("a list").clone();
    let found = streams.iter().find(|known| known["name"] == stream).expect("it is in the example");
    found["latency"]["min_ps"].as_f64().expect("a number") / 1e6
}

#[test]
fn predicted_latencies_are_what_the_emulator_shows() {
    let size = "[plan]\nsize = 242\n";
    let whole = rack("at-the-switch", "", size);
    let (base, predicted) = (emulated(&whole, "upload"), latency(&json(&["plan", &whole])["plans"][0]));
    for region in ["Acl", "Mark", "Out"] {
        let rack = rack(&format!("{region}-away"), &format!("map = {{ {region} = \"nic\" }}"), size);
        let plans = json(&["plan", &rack, "--why-not", &format!("{region}=nic")])["plans"].clone();
        let best = plans.as_array().expect("a list").iter().map(latency).fold(f64::INFINITY, f64::min);
        let (more, is) = (best - predicted, emulated(&rack, "upload") - base);
        assert!((more - is).abs() < 0.05 * is, "{region}: {more} us predicted, {is} us emulated");
    }
}

/// Flightplan's program: a switch that can do none of the functions, an FPGA and a server that offer some each.
#[test]
fn crosspod_is_planned_as_it_would_be_by_hand() {
    let by_hand = "map = { FecDecode = \"fpga\", Decompress = \"server\", Cache = \"server\", Compress = \"server\", \
FecEncode = \"fpga\" }";
    let change = |file: &str, text: String| match file {
        "split.toml" => {
            assert!(text.contains(by_hand));
            text.replace(by_hand, "map = \"plan\"") + "\n[plan]\nsize = 1042\n"
        }
        _ => text,
    };
    let files = ["crosspod.p4", "functions.p4", "split.stf", "split.toml"];
    let planned = copy("crosspod", "crosspod", &files, change).join("split.toml").display().to_string();
    let hand = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/crosspod/split.toml");
    assert_eq!(json(&["up", &planned]), json(&["up", &hand.display().to_string()]));
}

/// Flightplan's three plans: functions and their devices.
const PLANS: [(&str, [&[&str]; 2]); 3] = [
    ("RACK.toml", [&["Cache", "FecEncode"], &["FecDecode"]]),
    ("resource-saver.toml", [&["Cache", "Compress", "FecEncode"], &["Decompress", "FecDecode"]]),
    ("legacy-extender.toml", [&["Cache", "Compress", "FecEncode"], &["Decompress", "FecDecode"]]),
];

/// The testbed with a stream of UDP that all functions are for: to the store's port, short, with parity for its class.
fn streamed(plan: &str, rate: &str, count: u32) -> String {
    let all = "add egress_links standard_metadata.egress_spec:2 meta.traffic_class:1 egress_link(compress:1)\n\
add protection standard_metadata.egress_spec:2 meta.faulty:0 meta.traffic_class:1 protect(k:5, h:1)\n\
add caches meta.server:0x0a000401 NoAction()\n";
    let workload = format!(
        "[[workload]]\nkind = \"udp\"\nname = \"stream\"\nfrom = \"client\"\nto = \"store\"\nport = 11211\n\
rate = \"{rate}\"\ncount = {count}\nsize = 1400\n"
    );
    let change = |file: &str, text: String| match file {
        "testbed-left.stf" => text + all,
        "testbed-right.stf" => text + "add ingress_links meta.in_port:2 link(decompress:1)\n",
        file if file == plan => {
            let head = text.split("[[workload]]").next().expect("something stands before");
            // 1400 bytes of payload after 42 of headers.
            head.replace("size = 1500", "size = 1442") + &workload
        }
        _ => text,
    };
    let files = [
        "crosspod.p4",
        "functions.p4",
        "testbed-left.stf",
        "testbed-right.stf",
        "testbed.rules",
        "testbed.csv",
        plan,
    ];
    copy(&format!("streamed-{count}-{plan}"), "crosspod", &files, change).join(plan).display().to_string()
}

#[test]
fn three_plans_of_crosspod_take_as_long_and_carry_as_much_as_predicted() {
    for (plan, away) in PLANS {
        let rack = streamed(plan, "100Mbit/s", 50);
        let planned = json(&["plan", &rack, "--objective", "Latency", "--objective", "InputRate"]);
        let apps = planned["apps"].as_array().expect("two switches");
        for (app, away) in apps.iter().zip(away) {
            let map = app["plans"][0]["map"].as_object().expect("a map");
            assert_eq!(map.keys().collect::<Vec<_>>(), away, "{plan}");
        }
        // Behind the sender and each switch 1,466 bytes are on the wire, shorter in the middle by the headers and longer by a tag.
        let mut wires = 3.0 * 1466.0 * 8.0 / 1000.0 + 0.5 + 1.0 + 0.5;
        if plan == "legacy-extender.toml" {
            // Twice on the way each legacy switch sends over a cable of 4 Gbit/s, or what came by one.
            wires += 4.0 * (1466.0 * 8.0 / 4000.0 + 0.05 + 0.5);
        }
        let predicted = apps.iter().map(|app| latency(&app["plans"][0])).sum::<f64>() + wires;
        let is = emulated(&rack, "stream");
        assert!((predicted - is).abs() < 0.05 * is, "{plan}: {predicted} us predicted, {is} us emulated");
        // Bits that leave the left switch for each bit that comes in.
        let predicted = megabits(&apps[0]["plans"][0]["cost"]["InputRate"]) / 200.0;
        let links = json(&["up", &rack])["report"]["links"].as_array().expect("a list").clone();
        let sent = |from: &str| {
            links.iter().find(|l| l["from"] == from).and_then(|l| l["bytes"].as_f64()).expect("it is there")
        };
        let is = sent("left:2") / sent("client");
        assert!((predicted - is).abs() < 0.05 * is, "{plan}: {predicted} bits predicted, {is} emulated");
        // The maximum input rate by the plan is the rate that gets through at a higher input rate; frames have 42 bytes of headers.
        let refused = p4rack(&["plan", &rack, "--rate", "400Mbit/s"]);
        let reported = String::from_utf8_lossy(&refused.stderr).into_owned();
        let most =
            reported.split("a plan with at most ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let predicted = megabits(&Value::from(most.unwrap_or_else(|| panic!("{reported}"))));
        let fast = json(&["up", &streamed(plan, "400Mbit/s", 1500)])["report"]["workloads"][0].clone();
        let is = fast["goodput_bits_per_s"].as_f64().expect("a rate") / 1e6 * 1442.0 / 1400.0;
        assert!((predicted - is).abs() < 0.05 * is, "{plan}: {predicted} Mbit/s predicted, {is} emulated");
    }
}

fn megabits(rate: &Value) -> f64 {
    let text = rate.as_str().expect("a rate");
    match text.strip_suffix("Gbit/s") {
        Some(number) => number.parse::<f64>().unwrap() * 1000.0,
        None => text.strip_suffix("Mbit/s").unwrap().parse().unwrap(),
    }
}

#[test]
fn what_does_not_fit_goes_elsewhere_and_runs_there() {
    let less = "[plan]\nsize = 242\n[device.tor.resources]\nTables = 3\n";
    let planned = rack("planned", "map = \"plan\"", less);
    let plans = json(&["plan", &planned])["plans"].clone();
    let map = plans[0]["map"].as_object().expect("a map");
    assert_eq!(map.len(), 2, "five tables: two have to go: {map:?}");
    let pairs: Vec<String> = map.iter().map(|(region, device)| format!("{region} = {device}")).collect();
    let written = rack("written", &format!("map = {{ {} }}", pairs.join(", ")), less);
    assert_eq!(json(&["up", &planned]), json(&["up", &written]));
}

#[test]
fn a_rack_that_is_too_small_says_what_is_missing() {
    let rack =
        rack("too-small", "", "[device.tor.resources]\nTables = 3\n[device.nic.resources]\nTables = 1\n");
    let output = p4rack(&["plan", &rack]);
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    for words in
        ["P4R0808", "`Tables` of `tor`: 3; there would be a plan with 133.4 %", "`Tables` of `nic`: 1"]
    {
        assert!(reported.contains(words), "no {words} in\n{reported}");
    }
}

#[test]
fn packets_that_are_too_long_for_a_link_say_so() {
    let rack = rack("too-long", "", "[plan]\nsize = 2000\n[device.tor.resources]\nTables = 3\n");
    let reported = String::from_utf8_lossy(&p4rack(&["plan", &rack]).stderr).into_owned();
    assert!(
        reported.contains("the longest packet of each link; there would be a plan with 100.6 %"),
        "{reported}"
    );
}

#[test]
fn regions_that_nobody_marked_are_planned_too() {
    let less = "[device.tor.resources]\nTables = 4\n";
    for (policy, region) in [("tables", "marks"), ("chain", "Ingress")] {
        let rack = rack(policy, &format!("map = \"plan\"\nregions = \"{policy}\""), less);
        let plans = json(&["plan", &rack, "--objective", "Latency"])["plans"].clone();
        let map = plans[0]["map"].as_object().expect("a map");
        assert_eq!(map.len(), 1, "{policy}: {map:?}");
        assert!(map.contains_key(region), "{policy}: {map:?}");
        assert!(json(&["up", &rack])["report"]["workloads"][0]["received"] == 100);
    }
}

#[test]
fn rules_decide_where_things_run() {
    let rack = rack("rules", "", "[plan]\nrules = [\"costs.rules\"]\n");
    let rules = "rule p4 if switch then once Power += 200W;\n\
rule p4 if smartnic then once Power += 30W;\nrule Acl if smartnic then Latency += 300ns;\n";
    std::fs::write(Path::new(&rack).join("costs.rules"), rules).expect("the test's directory can be written");
    let plan = json(&["plan", &rack])["plans"][0].clone();
    assert_eq!(plan["map"]["Acl"], "nic", "nothing else can run it");
    assert_eq!(plan["cost"]["Power"], "230W");
    let all = String::from_utf8(p4rack(&["plan", &rack, "--print-rules"]).stdout).unwrap();
    assert!(all.contains("Acl if smartnic then Latency += 300ns;"), "{all}");
    assert!(all.contains("Out then <Tables> += 1, <EntryBits> += 4736bit;"), "{all}");
}

/// A card that is quicker, at a link that takes no frame that is longer for being handed over.
#[test]
fn what_the_splitter_refuses_is_planned_another_way() {
    let more = "[device.quick]\nclass = \"smartnic\"\nservice = \"1us\"\n[[link]]\nends = [\"quick:1\", \"tor:4\"]\n\
rate = \"1Gbit/s\"\ndelay = \"500ns\"\nmtu = 1500\n[plan]\nsize = 100\n[device.tor.resources]\nTables = 3\n";
    let found = json(&["plan", &rack("refused", "", more)]);
    let on = |map: &Value| map.as_object().expect("a map").values().map(Value::to_string).collect::<Vec<_>>();
    let refused = found["refused"].as_array().expect("a list");
    assert!(!refused.is_empty() && refused.iter().all(|r| on(&r["map"]).contains(&"\"quick\"".to_string())));
    assert!(refused[0]["why"][0].as_str().unwrap().contains("do not fit their link"), "{refused:?}");
    assert_eq!(
        (on(&found["plans"][0]["map"]), &found["complete"]),
        (vec!["\"nic\"".to_string(); 2], &Value::Bool(true))
    );
}

/// A profile's rows hold where a device offers the function.
#[test]
fn profiles_say_what_functions_cost() {
    let profile = "name,props,bounds:lt:InputRate,g:aP:Latency,g:aO:Power,conclusion\n\
slow,fpga,1e9,5e-6,20,fec-decode\nfast,cpu,1e9,1e-6,90,fec-decode\n";
    let change = |file: &str, text: String| match file {
        "split.toml" => text + "\n[plan]\nrules = [\"profile.csv\"]\n",
        _ => text,
    };
    let files = ["crosspod.p4", "functions.p4", "split.stf", "split.toml"];
    let directory = copy("profiled", "crosspod", &files, change);
    std::fs::write(directory.join("profile.csv"), profile).expect("the test's directory can be written");
    let rack = directory.join("split.toml").display().to_string();
    let plan = json(&["plan", &rack])["plans"][0].clone();
    assert_eq!(plan["map"]["FecDecode"], "fpga", "the server does not offer it");
    assert_eq!(plan["cost"]["Power"], "20W");
    let rules = String::from_utf8(p4rack(&["plan", &rack, "--print-rules"]).stdout).unwrap();
    let row = "rule \"slow\" fec-decode if fpga, offers.fec-decode, InputRate < 1Gbit/s";
    assert!(
        rules.contains(row) && rules.contains("rule \"kv-cache\" kv-cache if offers.kv-cache;"),
        "{rules}"
    );
}

/// A share that is stated of a region reaches the plan; a wrong one has a place.
#[test]
fn shares_are_read() {
    let rules = |name: &str, shares: &str| {
        let rack = rack(name, shares, "[plan]\nrate = \"100Mbit/s\"\n");
        p4rack(&["plan", &rack, "--explain"])
    };
    for (name, shares, words) in [
        ("share", "shares = { Mark = \"25%\" }", "search complete"),
        ("share-name", "shares = { Marc = \"25%\" }", "did you mean `Mark`?"),
        ("share-number", "shares = { Mark = \"125%\" }", "P4R06"),
    ] {
        let output = rules(name, shares);
        let reported = [output.stdout, output.stderr].concat();
        let reported = String::from_utf8_lossy(&reported);
        assert!(reported.contains(words), "no {words} in\n{reported}");
    }
}

#[test]
fn mistakes_have_a_place() {
    for (more, code, words) in [
        ("[device.tor.resources]\nTabels = 3\n", "P4R0802", "did you mean `Tables`?"),
        ("[device.tor.resources]\nTables = \"3W\"\n", "P4R0803", "a plain number is expected"),
        ("[plan]\nobjectives = [\"Latncy\"]\n", "P4R0802", "did you mean `Latency`?"),
        ("[plan]\nrules = [\"none.rules\"]\n", "P4R0701", "there is no such file"),
        ("[plan]\ntier = \"any\"\n", "P4R0602", "did you mean `tiers`?"),
    ] {
        let rack = rack("mistakes", "", more);
        let output = p4rack(&["plan", &rack]);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(reported.contains(code) && reported.contains(words), "no {code} {words} in\n{reported}");
    }
}

/// With several apps, each is planned by itself, or only the one given.
#[test]
fn apps_are_planned_one_by_one() {
    let rack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/crosspod").display().to_string();
    let both = json(&["plan", &rack]);
    let names = both["apps"].as_array().expect("two").iter().map(|app| app["app"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["left", "right"]);
    assert_eq!(json(&["plan", &rack, "--app", "right"])["plans"], both["apps"][1]["plans"]);
    let why = p4rack(&["plan", &rack, "--app", "right", "--why-not", "FecDecode=right"]);
    let reported = String::from_utf8_lossy(&why.stderr).into_owned();
    assert!(why.status.code() == Some(1) && reported.contains("fec-decode"), "{reported}");
    for (more, words) in [
        (["--why-not", "FecDecode=right"], "name it with `--app`"),
        (["--app", "rihgt"], "did you mean `right`?"),
    ] {
        let output = p4rack(&[&["plan", &rack], &more[..]].concat());
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && reported.contains(words), "{reported}");
    }
}

#[test]
fn all_plans_come_in_order() {
    let rack = rack("in-order", "map = \"plan\"", "");
    let all = json(&["plan", &rack, "--all"]);
    let plans = all["plans"].as_array().expect("a list");
    let latencies: Vec<f64> = plans.iter().map(latency).collect();
    assert!(latencies.is_sorted() && all["complete"] == true, "{latencies:?}");
    let maps: BTreeSet<String> = plans.iter().map(|plan| plan["map"].to_string()).collect();
    assert_eq!((plans.len(), maps.len()), (8, 8), "each of three regions on the card or not");
    let some = json(&["plan", &rack, "--all", "--limit", "3"]);
    assert_eq!(
        (&some["plans"].as_array().expect("a list")[..], &some["complete"]),
        (&plans[..3], &json!(false))
    );
    let text = String::from_utf8(p4rack(&["plan", &rack, "--all", "--limit", "8"]).stdout).unwrap();
    assert!(text.starts_with("plan 1: Latency 800ns") && text.contains("\nplan 8: "), "{text}");
}

/// Ten of cost against 29 us.
#[test]
fn what_counts_as_one_decides() {
    let rules = "rule \"quick\" Acl if switch then once Cost += 10;\nrule \"cheap\" Acl if smartnic then once Cost += 1;\n";
    let rack = rack("weighed", "map = \"plan\"", "[plan]\nrules = [\"costs.rules\"]\n");
    std::fs::write(Path::new(&rack).join("costs.rules"), rules).expect("the test's directory can be written");
    let map = |amount: &str| {
        json(&["plan", &rack, "--weigh", amount, "--weigh", "Cost=1"])["plans"][0]["map"].clone()
    };
    assert_eq!((map("Latency=1us"), map("Latency=10us")), (json!({}), json!({ "Acl": "nic" })));
    for (wrong, words) in [
        ("Latncy=1us", "did you mean `Latency`?"),
        ("Latency=1W", "`W` is not a unit here"),
        ("Latency", "`Latency` is not a weight"),
        ("Cost=0", "the amount must be positive"),
    ] {
        let output = p4rack(&["plan", &rack, "--weigh", wrong]);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && reported.contains(words), "{reported}");
    }
}

const COUNTED: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> left; bit<16> n; }
struct headers_t { h_t h; }
struct metadata_t { bit<32> seen; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.h); transition accept; }
}
control Apply(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<32>>(256) counts;
    action forward(bit<9> port) { std.egress_spec = port; }
    action mark(bit<8> value) { hdr.h.left = value; }
    table ports { key = { hdr.h.kind: exact; } actions = { forward; NoAction; } default_action = forward(2); }
    table late { key = { hdr.h.n: exact; } actions = { forward; NoAction; } default_action = NoAction; }
    table last { key = { hdr.h.left: exact; } actions = { forward; NoAction; } default_action = NoAction; }
    table marks { key = { hdr.h.n: exact; } actions = { mark; NoAction; } default_action = NoAction; }
    apply {
        if (ports.apply().hit) {
            late.apply();
            last.apply();
        }
        if (hdr.h.kind != 0) {
            counts.read(meta.seen, (bit<32>)hdr.h.kind);
            marks.apply();
            counts.write((bit<32>)hdr.h.kind, meta.seen + 1);
        }
    }
}
control Nothing(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control Sums(inout headers_t hdr, inout metadata_t meta) { apply { } }
control Write(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(Read(), Sums(), Apply(), Nothing(), Sums(), Write()) main;
"#;

/// Between its two uses of the register nothing can leave alone, and one of its two links is larger than any device.
#[test]
fn regions_are_as_fine_as_they_have_to_be() {
    let planned = |regions: &str, tables: [u32; 2]| {
        let change = |file: &str, text: String| match file {
            "RACK.toml" => {
                let at = text.find("map = {").expect("the example has a map");
                let rest = text[at..].split_once('\n').map_or("", |(_, rest)| rest);
                let [tor, nic] = tables;
                let limits = format!(
                    "[device.tor.resources]\nTables = {tor}\n[device.nic.resources]\nTables = {nic}\n"
                );
                format!("{}map = \"plan\"\nregions = \"{regions}\"\n{rest}\n{limits}", &text[..at])
            }
            "slice.p4" => COUNTED.to_string(),
            _ => String::new(),
        };
        let directory =
            copy(&format!("fine-{regions}"), "slice", &["slice.p4", "entries.stf", "RACK.toml"], change);
        let output = p4rack(&["plan", &directory.display().to_string(), "--format", "json"]);
        let json: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        output.status.success().then(|| json["plans"][0]["map"].clone())
    };
    assert_eq!(planned("tables", [0, 4]), None, "`marks` cannot leave alone");
    assert_eq!(planned("chain", [2, 2]), None, "the first link has three tables");
    assert_eq!(
        planned("auto", [0, 4]),
        Some(json!({ "Ingress": "nic", "ports": "nic", "late": "nic", "last": "nic" }))
    );
    assert!(planned("auto", [2, 2]).is_some());
}

/// `examples/spares` with its plan left to the planner, and the switch without room for the access list.
fn spares(name: &str, change: impl Fn(String) -> String) -> String {
    let known = "map = { Wall = { device = \"nic1\", spares = [\"nic2\", \"nic3\"] } }";
    let change = |file: &str, text: String| match file {
        "RACK.toml" => {
            assert!(text.contains(known));
            let text = text.replace(known, "map = \"plan\"");
            change(text.replace("service = \"800ns\"", "service = \"800ns\"\nresources = { Tables = \"1\" }"))
        }
        _ => text,
    };
    copy(name, "spares", &["wall.p4", "entries.stf", "RACK.toml"], change).display().to_string()
}

#[test]
fn spares_are_chosen_with_what_a_failure_costs() {
    let slow = |text: String| {
        let at = text.find("[device.nic2]").unwrap();
        let (before, after) = text.split_at(at);
        [before, &after.replacen("2us", "5us", 1)].concat()
    };
    let rack = spares("spares-chosen", slow);
    let plan = &json(&["plan", &rack, "--spares", "2"])["plans"][0];
    let failure = &plan["spares"]["devices"][0];
    assert_eq!((&plan["spares"]["refused"], &failure["cannot"]), (&json!([]), &json!({})), "{plan}");
    let device = failure["device"].as_str().unwrap();
    assert!(["nic1", "nic3"].contains(&device), "{plan}");
    let other = if device == "nic1" { "nic3" } else { "nic1" };
    let after: Vec<&str> =
        failure["spares"].as_array().unwrap().iter().map(|s| s["device"].as_str().unwrap()).collect();
    assert_eq!(after, [other, "nic2"], "the slow one comes last");
    let costs: Vec<f64> = failure["spares"].as_array().unwrap().iter().map(latency).collect();
    let before = latency(plan);
    assert_eq!(costs[0], before, "an equal device costs nothing more");
    assert!((2.9..3.1).contains(&(costs[1] - before)), "{costs:?} after {before}");
    let text = p4rack(&["plan", &rack, "--spares", "2"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains(&format!("if `{device}` fails: `{other}` takes over, Latency ")), "{text}");
    assert!(text.contains(&format!("if `{other}` fails, too: `nic2` takes over, Latency ")), "{text}");
    assert!(text.contains(&format!("spares: {device} = [\"{other}\", \"nic2\"]")), "{text}");
}

#[test]
fn devices_without_room_or_link_are_no_spares() {
    let change = |text: String| {
        let text = text.replace("[device.nic2]", "[device.nic2]\nresources = { Tables = \"0\" }");
        text.replace("ends = [\"nic3:1\", \"tor:5\"]", "ends = [\"nic3:1\", \"nic2:2\"]")
    };
    let rack = spares("spares-unfit", change);
    let text = String::from_utf8(p4rack(&["plan", &rack, "--spares", "1"]).stdout).unwrap();
    for line in [
        "if `nic1` fails: packets for its regions are dropped",
        "`nic2` cannot take over: the regions or their packets do not fit there",
        "`nic3` cannot take over: it has no link to `tor`",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let wanted = std::fs::read_to_string(format!("{rack}/RACK.toml")).unwrap();
    std::fs::write(
        format!("{rack}/RACK.toml"),
        wanted.replace("map = \"plan\"", "map = \"plan\"\nspares = 1"),
    )
    .unwrap();
    let refused = p4rack(&["up", &rack]);
    assert_eq!(refused.status.code(), Some(1));
    let reported = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(reported.contains("has 0 of 1 spares"), "{reported}");
}

/// A rack that is planned with spares survives the failures of the example.
#[test]
fn a_plan_with_spares_runs() {
    let rack = spares("spares-planned", |text| text.replace("map = \"plan\"", "map = \"plan\"\nspares = 2"));
    let report = json(&["up", &rack])["report"].clone();
    let edge = &report["edges"][0];
    assert_eq!(edge["targets"].as_array().map(Vec::len), Some(3), "{edge}");
    assert!(edge["changes"].as_u64().is_some_and(|changes| changes > 0), "{edge}");
    let up = report["workloads"].as_array().unwrap().iter().find(|w| w["name"] == "up").unwrap();
    assert!(up["lost"].as_u64().is_some_and(|lost| lost < 40), "{up}");
}
