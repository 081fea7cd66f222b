//! Descriptions as users write them, and with mistakes.

use base_diag::{Diagnostic, SourceMap, Span, Style, render};
use expect_test::{Expect, expect};
use lab_model::{Entries, Gateway, Lab, UNLIMITED, from_rack, read_p4app, read_tutorial, to_rack_text};
use std::fmt::Write;

type Read = fn(&str, u32) -> (Option<Lab>, Vec<Diagnostic>);

/// The lab as lines, and what is said about the text.
fn check(read: Read, text: &str, expect: Expect) {
    let mut map = SourceMap::new();
    let file = map.add_file("lab.json", text, Span::NONE).unwrap();
    let (lab, problems) = read(text, map.file(file).unwrap().base());
    let mut out = lab.map_or(String::new(), |lab| shown(&lab));
    for problem in &problems {
        out.push_str(&render(problem, &map, Style::Plain));
    }
    expect.assert_eq(&out);
}

fn shown(lab: &Lab) -> String {
    let mut out = String::new();
    for host in &lab.hosts {
        let addresses: Vec<String> = host.addresses.iter().map(ToString::to_string).collect();
        let mac = host.mac.map_or("-".to_string(), |mac| mac.to_string());
        let _ = write!(out, "host {} {} {mac}", host.name.value, addresses.join(","));
        match host.gateway {
            Some(Gateway::Address(address)) => drop(write!(out, " via {address}")),
            Some(Gateway::Mac(mac)) => drop(write!(out, " via {mac}")),
            None => {}
        }
        for known in &host.neighbours {
            let _ = write!(out, " knows {} {}", known.address, known.mac);
        }
        let _ = writeln!(
            out,
            "{}",
            host.commands.iter().map(|command| format!("; {command}")).collect::<String>()
        );
    }
    for switch in &lab.switches {
        let program = switch.program.as_ref().or(lab.program.as_ref()).map_or("-", |program| &program.value);
        let _ = write!(
            out,
            "switch {} {program} id {} port {}",
            switch.name.value, switch.device_id, switch.grpc_port
        );
        for entries in &switch.entries {
            let kind = match entries {
                Entries::Runtime(_) => "runtime",
                Entries::Commands(_) => "commands",
                Entries::Any(_) => "entries",
            };
            let _ = write!(out, " {kind} {}", entries.file().value);
        }
        let _ = writeln!(out, "{}", switch.cpu_port.map_or(String::new(), |port| format!(" cpu {port}")));
    }
    for link in &lab.links {
        let _ = write!(out, "link {} {}", lab.interface(link.ends[0]), lab.interface(link.ends[1]));
        if link.rate != UNLIMITED {
            let _ = write!(out, " {}", link.rate);
        }
        let _ = writeln!(out, " delay {} loss {} queue {}", link.delay, link.loss, link.queue);
    }
    out
}

const TUTORIAL: &str = r#"{
  "hosts": {
    "h1": { "ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11", "commands": ["route add default gw 10.0.1.10 dev eth0", "arp -i eth0 -s 10.0.1.10 08:00:00:00:01:00"] },
    "h2": { "ip": "10.0.2.2/31", "mac": "08:00:00:00:02:22", "commands": ["ping -c 5 10.0.1.1"] }
  },
  "switches": {
    "s10": {},
    "s1": { "runtime_json": "s1-runtime.json", "program": "build/wall.json", "cpu_port": "510" },
    "s2": { "cli_input": "s2-commands.txt" }
  },
  "links": [["h1", "s1-p1"], ["s1-p2", "s2-p1", "5ms", 0.5], ["s2-p2", "s10-p3", 2], ["s10-p1", "h2", "0"]]
}"#;

#[test]
fn a_topology_of_the_tutorials_is_read() {
    check(read_tutorial, TUTORIAL, expect![[""]]);
}

#[test]
fn mistakes_in_a_topology_are_all_reported() {
    let text = r#"{
  "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
  "switches": { "s1": { "runtime": "x.json", "priority_queues": 8 }, "a-name-too-long": {} },
  "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
  "switch": {}
}"#;
    check(read_tutorial, text, expect![[""]]);
}

#[test]
fn what_is_no_json_is_said_with_its_place() {
    check(read_tutorial, "{\n  \"hosts\": {},\n  'switches': {}\n}", expect![[""]]);
}

const P4APP: &str = r#"{
  "p4_src": "forwarding.p4",
  "cli": true,
  "pcap_dump": "true",
  "enable_log": true,
  "topology": {
    "assignment_strategy": "STRATEGY",
    "default": { "bw": 10 },
    "links": [["h1", "s1"], ["h2", "s1", { "delay": "5ms", "loss": 1 }], ["s1", "s2", { "bw": 1, "queue_length": 50 }], ["s2", "h3"]],
    "hosts": { "h1": {}, "h2": {}, "h3": { "ip": "10.9.9.9/24", "gw": "10.9.9.1" } },
    "switches": { "s1": { "cli_input": "s1-commands.txt", "cpu_port": true }, "s2": { "program": "other.p4" } }
  }
}"#;

#[test]
fn an_app_of_p4_utils_is_read_with_each_strategy() {
    check(read_p4app, &P4APP.replace("STRATEGY", "l2"), expect![[""]]);
    check(read_p4app, &P4APP.replace("STRATEGY", "mixed"), expect![[""]]);
    check(read_p4app, &P4APP.replace("STRATEGY", "l3"), expect![[""]]);
    check(read_p4app, &P4APP.replace("STRATEGY", "l4"), expect![[""]]);
}

#[test]
fn mistakes_in_an_app_are_all_reported() {
    let text = r#"{
  "p4_src": 1,
  "exec_scripts": [{ "cmd": "python controller.py" }],
  "topology": {
    "links": [["h1", "s1", { "bw": -1, "latency": "1ms" }], ["h1", "s3"], ["s1", "s2", { "port1": 1 }], ["h2", "h2"]],
    "hosts": { "h1": { "gw": "x" }, "h2": {} },
    "switches": { "s1": {}, "s2": {} }
  }
}"#;
    check(read_p4app, text, expect![[""]]);
}

const RACK: &str = r#"
[device.s1]
class = "switch"
entries = "more.txt"
[[app]]
name = "s1"
program = "router.p4"
origin = "s1"
defines = { WIDE = 1 }
entries = "s1.toml"
[host.h1]
mac = "02:00:00:00:00:01"
ip = "10.0.0.1/24"
gateway = "02:00:00:00:00:ff"
[host.h2]
mac = "02:00:00:00:00:02"
ip = ["10.0.0.2/24", "10.0.9.2/24"]
[[link]]
ends = ["h1", "s1:1"]
rate = "1Gbit/s"
delay = "1us"
[[link]]
ends = ["h2", "s1:2"]
rate = "1Gbit/s"
"#;

fn of_rack(text: &str, start: u32) -> (Option<Lab>, Vec<Diagnostic>) {
    let (rack, problems) = rack_model::read_rack(text, start);
    match rack.as_ref().map(from_rack) {
        Some(Ok(lab)) => (Some(lab), problems),
        Some(Err(found)) => (None, found),
        None => (None, problems),
    }
}

#[test]
fn a_rack_of_whole_programs_is_a_lab() {
    check(of_rack, RACK, expect![[""]]);
    let helper = format!(
        "[device.nic]\nclass = \"smartnic\"\n[[link]]\nends = [\"nic:1\", \"s1:3\"]\nrate = \"1Gbit/s\"\n{RACK}"
    );
    check(of_rack, &helper, expect![[""]]);
}

#[test]
fn a_lab_is_written_as_a_rack_that_can_be_read() {
    let (lab, _) = read_tutorial(TUTORIAL, 1);
    let programs = ["a.p4", "wall.p4", "b.p4"].map(ToString::to_string);
    let text = to_rack_text(&lab.unwrap(), &programs);
    let (rack, problems) = rack_model::read_rack(&text, 1);
    assert_eq!(problems, vec![]);
    let rack = rack.unwrap();
    assert_eq!((rack.hosts.len(), rack.devices.len(), rack.links.len(), rack.apps.len()), (2, 3, 4, 3));
    expect![[""]].assert_eq(&text);
}
