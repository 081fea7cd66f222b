//! Descriptions as users write them, and with mistakes.

use base_diag::{Diagnostic, SourceMap, Span, Style, render};
use expect_test::{Expect, expect};
use lab_model::{
    Capture, Entries, Gateway, Lab, UNLIMITED, from_rack, read_p4app, read_tutorial, to_rack_text,
};
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
        for (kind, port) in [("cpu", switch.cpu_port), ("control", switch.control_port)] {
            let _ = port.map(|port| write!(out, " {kind} {port}"));
        }
        out.push('\n');
    }
    for link in &lab.links {
        let _ = write!(out, "link {} {}", lab.interface(link.ends[0]), lab.interface(link.ends[1]));
        if link.rate != UNLIMITED {
            let _ = write!(out, " {}", link.rate);
        }
        let _ = write!(out, " delay {} loss {} queue {}", link.delay, link.loss, link.queue);
        if link.jitter > base_time::Duration::ZERO {
            let _ = write!(out, " jitter {}", link.jitter);
        }
        out.push('\n');
    }
    out
}

const TUTORIAL: &str = r#"{
  "hosts": {
    "h1": { "ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11", "commands": ["route add default gw 10.0.1.10 dev eth0", "arp -i eth0 -s 10.0.1.10 08:00:00:00:01:00"] },
    "h2": { "ip": "10.0.2.2/31", "mac": "08:00:00:00:02:22", "commands": ["ip route add default via 10.0.2.3", "ip neigh add 10.0.2.3 lladdr 08:00:00:00:02:00 dev eth0", "ping -c 5 10.0.1.1"] }
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
    check(
        read_tutorial,
        TUTORIAL,
        expect![[r#"
        host h1 10.0.1.1/24 08:00:00:00:01:11; route add default gw 10.0.1.10 dev eth0; arp -i eth0 -s 10.0.1.10 08:00:00:00:01:00
        host h2 10.0.2.2/31 08:00:00:00:02:22; ip route add default via 10.0.2.3; ip neigh add 10.0.2.3 lladdr 08:00:00:00:02:00 dev eth0; ping -c 5 10.0.1.1
        switch s10 - id 2 port 50053
        switch s1 build/wall.json id 0 port 50051 runtime s1-runtime.json cpu 510
        switch s2 - id 1 port 50052 commands s2-commands.txt
        link eth0 s1-eth1 delay 0s loss 0% queue 1000
        link s1-eth2 s2-eth1 500kbit/s delay 5ms loss 0% queue 1000
        link s2-eth2 s10-eth3 delay 2ms loss 0% queue 1000
        link s10-eth1 eth0 delay 0s loss 0% queue 1000
    "#]],
    );
}

#[test]
fn mistakes_in_a_topology_are_all_reported() {
    let text = r#"{
  "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
  "switches": { "s1": { "runtime": "x.json", "priority_queues": 8 }, "a-name-too-long": {} },
  "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
  "switch": {}
}"#;
    check(
        read_tutorial,
        text,
        expect![[r#"
        error[P4R0901]: not the MAC address of a host
         --> lab.json:2:50
          |
        2 |   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
          |                                                  ^^^^^^^ six bytes in hexadecimal are expected
          |
          = help: for example: "08:00:00:00:01:11"
        error[P4R0901]: `ip` is missing
         --> lab.json:2:67
          |
        2 |   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
          |                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^ host `h2` has no `ip`
          |
          = help: for example: "ip": "10.0.1.1/24"
        warning[P4R0901]: `ipp` has no effect
         --> lab.json:2:69
          |
        2 |   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
          |                                                                     ^^^^^ host `h2` has no such key
          |
          = help: did you mean `ip`?
        error[P4R0901]: not an address
         --> lab.json:2:107
          |
        2 |   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
          |                                                                                                           ^^^^^^^^^^^^^ the prefix length is a number from 0 to 32
          |
          = help: for example: "10.0.1.1/24"
        warning[P4R0901]: `runtime` has no effect
         --> lab.json:3:25
          |
        3 |   "switches": { "s1": { "runtime": "x.json", "priority_queues": 8 }, "a-name-too-long": {} },
          |                         ^^^^^^^^^ switch `s1` has no such key
          |
          = note: its keys are: runtime_json, cli_input, program, cpu_port, priority_queues
        error[P4R0901]: there is no host or switch `h4`
         --> lab.json:4:31
          |
        4 |   "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
          |                               ^^^^ not among the hosts and switches
          |
          = note: there are: h1, h2, h3, s1, a-name-too-long
        error[P4R0901]: port 1 of `s1` is used twice
         --> lab.json:4:54
          |
        4 |   "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
          |                    -------                           ^^^^^^^ here again
          |                    |
          |                    the first link is plugged in here
        error[P4R0901]: not a port of a switch
         --> lab.json:4:71
          |
        4 |   "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
          |                                                                       ^^^^ the port is missing
          |
          = help: for example: "s1-p1"
        error[P4R0901]: not a port of a switch
         --> lab.json:4:85
          |
        4 |   "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
          |                                                                                     ^^^^^^ `1` is not `p` and a number
          |
          = help: for example: "s1-p1"
        error[P4R0901]: a link has two ends
         --> lab.json:4:94
          |
        4 |   "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
          |                                                                                              ^^^^^^ one of them is missing
          |
          = help: for example: ["h1", "s1-p1"]
        error[P4R0901]: there is no host or switch `s2`
         --> lab.json:4:109
          |
        4 |   "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
          |                                                                                                             ^^^^^^^ not among the hosts and switches
          |
          = note: there are: h1, h2, h3, s1, a-name-too-long
        error[P4R0901]: this is not a delay
         --> lab.json:4:118
          |
        4 |   "links": [["h1", "s1-p1"], ["h4", "s1-p2"], ["h2", "s1-p1"], ["h3", "s1"], ["h3", "s1-1"], ["h3"], ["h1", "s2-p1", "x"]],
          |                                                                                                                      ^^^ a number of milliseconds, or a number with its unit in quotes, is expected
          |
          = help: for example: "5ms"
        warning[P4R0901]: `switch` has no effect
         --> lab.json:5:3
          |
        5 |   "switch": {}
          |   ^^^^^^^^ the file has no such key
          |
          = help: did you mean `switches`?
        error[P4R0901]: `a-name-too-long` cannot name a node
         --> lab.json:3:70
          |
        3 |   "switches": { "s1": { "runtime": "x.json", "priority_queues": 8 }, "a-name-too-long": {} },
          |                                                                      ^^^^^^^^^^^^^^^^^ 1 to 9 letters, digits, `-` and `_` are allowed
          |
          = note: interfaces are called after their nodes, and their names have 15 characters
        warning[P4R0901]: no link leads to `h2`
         --> lab.json:2:61
          |
        2 |   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
          |                                                             ^^^^ it can reach nothing
        warning[P4R0901]: no link leads to `h3`
         --> lab.json:2:93
          |
        2 |   "hosts": { "h1": { "ip": "10.0.1.1/24", "mac": "08:00" }, "h2": { "ipp": "10.0.1.1/24" }, "h3": { "ip": "10.0.1.1/99" } },
          |                                                                                             ^^^^ it can reach nothing
        warning[P4R0901]: no link leads to `a-name-too-long`
         --> lab.json:3:70
          |
        3 |   "switches": { "s1": { "runtime": "x.json", "priority_queues": 8 }, "a-name-too-long": {} },
          |                                                                      ^^^^^^^^^^^^^^^^^ it can reach nothing
    "#]],
    );
}

#[test]
fn what_is_no_json_is_said_with_its_place() {
    check(
        read_tutorial,
        "{\n  \"hosts\": {},\n  'switches': {}\n}",
        expect![[r#"
        error[P4R0901]: this is not JSON
         --> lab.json:3:3
          |
        3 |   'switches': {}
          |   ^ expected a key in double quotes
    "#]],
    );
}

const P4APP: &str = r#"{
  "p4_src": "forwarding.p4",
  "cli": true,
  "pcap_dump": "true",
  "enable_log": true,
  "topology": {
    "assignment_strategy": "STRATEGY",
    "default": { "bw": 10, "auto_arp_tables": true },
    "links": [["h1", "s1"], ["h2", "s1", { "delay": "5ms", "jitter": "1ms", "loss": 1 }], ["s1", "s2", { "bw": 1, "queue_length": 50 }], ["s2", "h3"]],
    "hosts": { "h1": {}, "h2": {}, "h3": { "ip": "10.9.9.9/24", "gw": "10.9.9.1" } },
    "switches": { "s1": { "cli_input": "s1-commands.txt", "cpu_port": true }, "s2": { "program": "other.p4" } }
  }
}"#;

#[test]
fn an_app_of_p4_utils_is_read_with_each_strategy() {
    check(
        read_p4app,
        &P4APP.replace("STRATEGY", "l2"),
        expect![[r#"
        host h1 10.0.0.1/16 00:00:0a:00:00:01 knows 10.0.0.2 00:00:0a:00:00:02
        host h2 10.0.0.2/16 00:00:0a:00:00:02 knows 10.0.0.1 00:00:0a:00:00:01
        host h3 10.9.9.9/24 00:00:0a:09:09:09 via 10.9.9.1 knows 10.9.9.1 00:01:0a:09:09:09
        switch s1 forwarding.p4 id 1 port 9559 commands s1-commands.txt control 4
        switch s2 other.p4 id 2 port 9560
        link h1-eth0 s1-eth1 10Mbit/s delay 0s loss 0% queue 1000
        link h2-eth0 s1-eth2 10Mbit/s delay 5ms loss 1% queue 1000 jitter 1ms
        link s1-eth3 s2-eth1 1Mbit/s delay 0s loss 0% queue 50
        link s2-eth2 h3-eth0 10Mbit/s delay 0s loss 0% queue 1000
    "#]],
    );
    check(
        read_p4app,
        &P4APP.replace("STRATEGY", "mixed"),
        expect![[r#"
        host h1 10.0.1.1/24 00:00:0a:00:01:01 via 10.0.1.254 knows 10.0.1.2 00:00:0a:00:01:02 knows 10.0.1.254 00:01:0a:00:01:01
        host h2 10.0.1.2/24 00:00:0a:00:01:02 via 10.0.1.254 knows 10.0.1.1 00:00:0a:00:01:01 knows 10.0.1.254 00:01:0a:00:01:02
        host h3 10.9.9.9/24 00:00:0a:09:09:09 via 10.9.9.1 knows 10.9.9.1 00:01:0a:09:09:09
        switch s1 forwarding.p4 id 1 port 9559 commands s1-commands.txt control 4
        switch s2 other.p4 id 2 port 9560
        link h1-eth0 s1-eth1 10Mbit/s delay 0s loss 0% queue 1000
        link h2-eth0 s1-eth2 10Mbit/s delay 5ms loss 1% queue 1000 jitter 1ms
        link s1-eth3 s2-eth1 1Mbit/s delay 0s loss 0% queue 50
        link s2-eth2 h3-eth0 10Mbit/s delay 0s loss 0% queue 1000
    "#]],
    );
    check(
        read_p4app,
        &P4APP.replace("STRATEGY", "l3"),
        expect![[r#"
        host h1 10.1.1.2/24 00:00:0a:01:01:02 via 10.1.1.1 knows 10.1.1.1 00:01:0a:01:01:02
        host h2 10.1.2.2/24 00:00:0a:01:02:02 via 10.1.2.1 knows 10.1.2.1 00:01:0a:01:02:02
        host h3 10.9.9.9/24 00:00:0a:09:09:09 via 10.9.9.1 knows 10.9.9.1 00:01:0a:09:09:09
        switch s1 forwarding.p4 id 1 port 9559 commands s1-commands.txt control 4
        switch s2 other.p4 id 2 port 9560
        link h1-eth0 s1-eth1 10Mbit/s delay 0s loss 0% queue 1000
        link h2-eth0 s1-eth2 10Mbit/s delay 5ms loss 1% queue 1000 jitter 1ms
        link s1-eth3 s2-eth1 1Mbit/s delay 0s loss 0% queue 50
        link s2-eth2 h3-eth0 10Mbit/s delay 0s loss 0% queue 1000
    "#]],
    );
    check(
        read_p4app,
        &P4APP.replace("STRATEGY", "l4"),
        expect![[r#"
        error[P4R0901]: there is no strategy `l4`
         --> lab.json:7:28
          |
        7 |     "assignment_strategy": "l4",
          |                            ^^^^ `l2`, `mixed`, `l3`, `manual` are known
    "#]],
    );
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
    check(
        read_p4app,
        text,
        expect![[r#"
        error[P4R0901]: expected a string
         --> lab.json:2:13
          |
        2 |   "p4_src": 1,
          |             ^ this is a number
          |
          = help: for example: "s1-runtime.json"
        error[P4R0901]: not a gateway
         --> lab.json:6:30
          |
        6 |     "hosts": { "h1": { "gw": "x" }, "h2": {} },
          |                              ^^^ an address is expected
          |
          = help: for example: "10.0.1.254"
        warning[P4R0901]: `latency` has no effect
         --> lab.json:5:40
          |
        5 |     "links": [["h1", "s1", { "bw": -1, "latency": "1ms" }], ["h1", "s3"], ["s1", "s2", { "port1": 1 }], ["h2", "h2"]],
          |                                        ^^^^^^^^^ this link has no such key
          |
          = note: its keys are: delay, jitter, bw, loss, queue_length, max_queue_size, port1, port2, weight
        error[P4R0901]: this is not a bandwidth
         --> lab.json:5:36
          |
        5 |     "links": [["h1", "s1", { "bw": -1, "latency": "1ms" }], ["h1", "s3"], ["s1", "s2", { "port1": 1 }], ["h2", "h2"]],
          |                                    ^^ a number of Mbit/s greater than 0 is expected
          |
          = help: for example: 0.5
        error[P4R0901]: there is no host or switch `s3`
         --> lab.json:5:68
          |
        5 |     "links": [["h1", "s1", { "bw": -1, "latency": "1ms" }], ["h1", "s3"], ["s1", "s2", { "port1": 1 }], ["h2", "h2"]],
          |                                                                    ^^^^ not among the hosts and switches
          |
          = note: there are: h1, h2, s1, s2
        error[P4R0901]: port 1 of `s1` is used twice
         --> lab.json:5:76
          |
        5 |     "links": [["h1", "s1", { "bw": -1, "latency": "1ms" }], ["h1", "s3"], ["s1", "s2", { "port1": 1 }], ["h2", "h2"]],
          |                      ---- the first link is plugged in here                ^^^^ here again
        error[P4R0901]: a link joins a host with itself
         --> lab.json:5:105
          |
        5 |     "links": [["h1", "s1", { "bw": -1, "latency": "1ms" }], ["h1", "s3"], ["s1", "s2", { "port1": 1 }], ["h2", "h2"]],
          |                                                                                                         ^^^^^^^^^^^^ both ends are the same
        warning[P4R0901]: no link leads to `h2`
         --> lab.json:6:37
          |
        6 |     "hosts": { "h1": { "gw": "x" }, "h2": {} },
          |                                     ^^^^ it can reach nothing
        warning[P4R0901]: no link leads to `s2`
         --> lab.json:7:29
          |
        7 |     "switches": { "s1": {}, "s2": {} }
          |                             ^^^^ it can reach nothing
    "#]],
    );
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
    check(
        of_rack,
        RACK,
        expect![[r#"
        host h1 10.0.0.1/24 02:00:00:00:00:01 via 02:00:00:00:00:ff knows 10.0.0.2 02:00:00:00:00:02
        host h2 10.0.0.2/24,10.0.9.2/24 02:00:00:00:00:02 knows 10.0.0.1 02:00:00:00:00:01
        switch s1 router.p4 id 1 port 50051 entries s1.toml entries more.txt
        link eth0 s1-eth1 1Gbit/s delay 1us loss 0% queue 64
        link eth0 s1-eth2 1Gbit/s delay 0s loss 0% queue 64
    "#]],
    );
    let helper = format!(
        "[device.nic]\nclass = \"smartnic\"\n[[link]]\nends = [\"nic:1\", \"s1:3\"]\nrate = \"1Gbit/s\"\n{RACK}"
    );
    check(
        of_rack,
        &helper,
        expect![[r#"
        error[P4R0901]: `nic` cannot be a switch of a lab
         --> lab.json:1:9
          |
        1 | [device.nic]
          |         ^^^ it runs a part of a program, or none
          |
          = help: run the rack in virtual time: `p4rack up`
    "#]],
    );
}

#[test]
fn a_lab_is_written_as_a_rack_that_can_be_read() {
    let (lab, _) = read_tutorial(TUTORIAL, 1);
    let programs = ["a.p4", "wall.p4", "b.p4"].map(ToString::to_string);
    let text = to_rack_text(&lab.unwrap(), &programs, &[]);
    let (rack, problems) = rack_model::read_rack(&text, 1);
    assert_eq!(problems, vec![]);
    let rack = rack.unwrap();
    assert_eq!((rack.hosts.len(), rack.devices.len(), rack.links.len(), rack.apps.len()), (2, 3, 4, 3));
    expect![[r##"
        # The network of a lab, in virtual time: `p4rack up`.

        [device.s10]
        class = "switch"

        [[app]]
        name = "s10"
        program = "a.p4"
        origin = "s10"

        [device.s1]
        class = "switch"

        [[app]]
        name = "s1"
        program = "wall.p4"
        origin = "s1"
        entries = "s1-runtime.json"

        [device.s2]
        class = "switch"

        [[app]]
        name = "s2"
        program = "b.p4"
        origin = "s2"
        entries = "s2-commands.txt"

        [host.h1]
        mac = "08:00:00:00:01:11"
        ip = ["10.0.1.1/24"]
        gateway = "08:00:00:00:01:00"

        [host.h2]
        mac = "08:00:00:00:02:22"
        ip = ["10.0.2.2/31"]
        gateway = "08:00:00:00:02:00"

        [[link]]
        ends = ["h1", "s1:1"]
        rate = "10Gbit/s"
        queue = 1000

        [[link]]
        ends = ["s1:2", "s2:1"]
        rate = "500kbit/s"
        delay = "5ms"
        queue = 1000

        [[link]]
        ends = ["s2:2", "s10:3"]
        rate = "10Gbit/s"
        delay = "2ms"
        queue = 1000

        [[link]]
        ends = ["s10:1", "h2"]
        rate = "10Gbit/s"
        queue = 1000

        [[workload]]
        kind = "ping"
        from = "h1"
        to = ["h2"]
        count = 3
        interval = "1ms"

        [[workload]]
        kind = "ping"
        from = "h2"
        to = ["h1"]
        count = 3
        interval = "1ms"

        [[workload]]
        kind = "ping"
        from = "h2"
        to = ["h1"]
        count = 5
        interval = "1ms"
    "##]]
    .assert_eq(&text);
}

/// The workloads in the text of a rack, which must have no problem.
fn workloads_of(lab: &Lab, captures: &[Capture]) -> String {
    let programs = ["a.p4", "wall.p4", "b.p4"].map(ToString::to_string);
    let text = to_rack_text(lab, &programs, captures);
    let (rack, problems) = rack_model::read_rack(&text, 1);
    assert_eq!(problems, vec![], "{text}");
    assert!(rack.is_some());
    text.split_once("[[workload]]").map_or(String::new(), |(_, workloads)| format!("[[workload]]{workloads}"))
}

#[test]
fn iperf_and_captures_become_workloads() {
    let text = TUTORIAL.replace("ping -c 5 10.0.1.1", "iperf -c 10.0.1.1 -u -b 2M\", \"iperf -c 10.0.1.1");
    let lab = read_tutorial(&text, 1).0.unwrap();
    let by_commands = workloads_of(&lab, &[]);
    for part in [
        "kind = \"udp\"\nfrom = \"h2\"\nto = \"h1\"\ncount = 1000\nrate = \"2Mbit/s\"\nsize = 1470\n",
        "kind = \"tcp\"\nfrom = \"h2\"\nto = \"h1\"\ncount = 1\n",
        "kind = \"ping\"\nfrom = \"h1\"",
    ] {
        assert!(by_commands.contains(part), "{part}{by_commands}");
    }
    let capture = Capture { from: 1, to: 0, file: "pcaps/s10-eth1_in.pcap".to_string() };
    expect![[r#"
        [[workload]]
        kind = "pcap"
        from = "h2"
        to = "h1"
        file = "pcaps/s10-eth1_in.pcap"
    "#]]
    .assert_eq(&workloads_of(&lab, &[capture]));
}

#[test]
fn switches_have_as_many_queues_as_the_file_says() {
    let queues = |lab: Option<Lab>| -> Vec<u8> {
        lab.expect("it is read").switches.iter().map(|switch| switch.priority_queues).collect()
    };
    let links = r#""links": [["h1", "s1-p1"], ["s1-p2", "s2-p1"]]"#;
    let switches = r#""switches": { "s1": { "priority_queues": 3 }, "s2": {} }"#;
    let tutorial = format!(r#"{{ "hosts": {{ "h1": {{ "ip": "10.0.1.1/24" }} }}, {switches}, {links} }}"#);
    assert_eq!(queues(read_tutorial(&tutorial, 1).0), [3, 8]);
    let switches = r#""switches": { "s1": { "priority_queues_num": 2 }, "s2": {} }"#;
    let links = r#""links": [["h1", "s1"], ["s1", "s2"]]"#;
    let app = format!(r#"{{ "topology": {{ "hosts": {{ "h1": {{}} }}, {switches}, {links} }} }}"#);
    assert_eq!(queues(read_p4app(&app, 1).0), [2, 8]);
}
