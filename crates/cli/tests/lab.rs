//! Labs, as users run them: real hosts, real switches. They need permission to create network namespaces; without it,
//! the error message is tested.

#![allow(clippy::disallowed_methods)]

use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::p4::v1::GetForwardingPipelineConfigRequest;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A copy of the example's files, with labs of its own.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}"));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lab");
        for entry in std::fs::read_dir(example).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                std::fs::copy(entry.path(), place.join(entry.file_name())).unwrap();
            }
        }
        Place(place)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.arg("lab").args(args).current_dir(&self.0).env("XDG_RUNTIME_DIR", &self.0);
        command
    }

    fn lab(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// A lab that runs until it is ended; it is up when this returns.
    fn start(&self, more: &[&str]) -> Child {
        let mut args = vec!["--no-prompt", "--grpc-port", "0"];
        args.extend(more);
        let mut child = self.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let up = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("s3: ")));
        assert!(up.is_some(), "the lab is not up");
        child
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// Number of tables of each switch of the example.
const TABLES: [usize; 3] = [1, 1, 2];

/// True where labs can run. Elsewhere the message is tested, and nothing else.
fn may_run(place: &Place) -> bool {
    place.write("nothing.txt", "nodes\n");
    let done = place.lab(&["test", "nothing.txt", "--grpc-port", "0"]);
    let said = text(&done);
    assert!(done.status.success() || said.contains("run it as root"), "{said}");
    done.status.success()
}

#[test]
fn a_lab_does_what_its_script_says_and_two_do_not_disturb_each_other() {
    let places = [Place::new("one"), Place::new("other")];
    if !may_run(&places[0]) {
        return;
    }
    let args = ["test", "checks.txt", "--grpc-port", "0"];
    let running = places
        .each_ref()
        .map(|place| place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    for child in running {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", text(&done));
    }
    for file in [
        "pcaps/s1-eth3_out.pcap",
        "pcaps/s1-eth3_in.pcap",
        "logs/s2-p4runtime-requests.txt",
        "build/router.json",
    ] {
        let length = std::fs::metadata(places[0].0.join(file)).map(|about| about.len());
        assert!(length.is_ok_and(|length| length > 100), "{file}");
    }
}

#[test]
fn a_script_that_expects_too_much_fails_as_text_and_as_json() {
    let place = Place::new("fails");
    if !may_run(&place) {
        return;
    }
    let trace = "! trace h9 00\nexpect there is no host `h9`\n! trace s9:1 00\nexpect there is no switch `s9`\n\
                 ! trace s1:x 00\nexpect `x` is not a port\n! trace h1 0\nexpect is not a frame\n! trace h1\nexpect usage\n";
    place.write("trace.txt", trace);
    let done = place.lab(&["test", "trace.txt", "--grpc-port", "0", "--no-pcap"]);
    assert!(done.status.success(), "{}", text(&done));
    place.write("wrong.txt", "h1 echo here\nexpect there\n! nodes\nh1 exit 3\n");
    let done = place.lab(&["test", "wrong.txt", "--grpc-port", "0", "--no-pcap"]);
    let said = text(&done);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("FAILED  2  expect there") && said.contains("1 passed, 3 failed"), "{said}");
    let done = place.lab(&["test", "wrong.txt", "--grpc-port", "0", "--no-pcap", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((json["ok"].as_bool(), json["steps"][0]["output"].as_str()), (Some(false), Some("here\n")));
}

#[test]
fn a_program_sees_how_many_frames_wait_for_a_slow_link() {
    let place = Place::new("queues");
    if !may_run(&place) {
        return;
    }
    place.write("queues.p4", QUEUES);
    // A frame takes 160 ms at 0.05 Mbit/s.
    let hosts = [1, 2].map(|at| {
        let neighbour = 3 - at;
        format!(
            r#""h{at}": {{"ip": "10.0.0.{at}/24", "mac": "08:00:00:00:00:0{at}",
               "commands": ["ip neigh add 10.0.0.{neighbour} lladdr 08:00:00:00:00:0{neighbour} dev eth0"]}}"#
        )
    });
    let topology = format!(
        r#"{{"hosts": {{{}}}, "switches": {{"s1": {{"program": "queues.p4"}}}},
            "links": [["h1", "s1-p1"], ["s1-p2", "h2", "0", 0.05]]}}"#,
        hosts.join(",")
    );
    place.write("topology.json", &topology);
    // Without a burst nothing waits.
    let burst = "for i in $(seq 30); do head -c 1000 /dev/zero > /dev/udp/10.0.0.2/9; done";
    let script = format!(
        "s1 register_read waited 0\nexpect waited[0]= 0\nh1 bash -c '{burst}'\n\
         within 20s s1 register_read waited 0\nexpect waited[0]= 1\n"
    );
    place.write("queues.txt", &script);
    let done = place.lab(&["test", "queues.txt", "topology.json", "--grpc-port", "0", "--no-pcap"]);
    assert!(done.status.success(), "{}", text(&done));
}

/// Joins ports 1 and 2; notes whether a packet had five or more others in front of it.
const QUEUES: &str = r#"
#include <core.p4>
#include <v1model.p4>
struct headers_t { }
struct metadata_t { }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { standard.egress_spec = 3 - standard.ingress_port; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<8>>(1) waited;
    apply { if (standard.enq_qdepth >= 5 && standard.deq_qdepth >= 5) { waited.write(0, 1); } }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

#[test]
fn a_control_port_is_an_interface_of_the_machine() {
    let place = Place::new("control");
    if !may_run(&place) {
        return;
    }
    place.write("copies.p4", &QUEUES.replace("3 - standard.ingress_port", "2"));
    let app = r#"{"p4_src": "copies.p4", "topology": {"assignment_strategy": "l2", "links": [["h1", "s1"]],
        "hosts": {"h1": {}}, "switches": {"s1": {"cpu_port": true}}}}"#;
    place.write("p4app.json", app);
    std::fs::remove_file(place.0.join("topology.json")).unwrap();
    let script = "h1 bash -c 'echo one > /dev/udp/10.0.0.255/9' || h1 ping -b -c 1 -W 1 10.0.255.255 || true\n\
                  within 10s sh grep -v '^0$' /sys/class/net/s1-cpu-eth1/statistics/rx_packets\n";
    place.write("control.txt", script);
    let done = place.lab(&["test", "control.txt", "p4app.json", "--grpc-port", "0", "--no-pcap"]);
    let said = text(&done);
    // Without root, no interface can be created here.
    let is_refused = said.contains("s1 has no interface `s1-cpu-eth1` for controllers, port 2");
    assert!(done.status.success() || is_refused, "{said}");
    let topology = std::fs::read_to_string(place.0.join("topology.json")).unwrap();
    let graph: serde_json::Value = serde_json::from_str(&topology).unwrap();
    let node = graph["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "s1").unwrap();
    assert_eq!((&node["cpu_port_num"], &node["cpu_intf"]), (&2.into(), &"s1-cpu-eth0".into()));
}

#[test]
fn ports_of_switches_are_interfaces_of_the_machine() {
    let place = Place::new("interfaces");
    if !may_run(&place) {
        return;
    }
    // A host that is reached refuses the connection; one that is not says nothing.
    let reach = place.0.join("reach");
    place.write("reach", "#!/bin/sh\nexec timeout 1 bash -c \": < /dev/tcp/$1/9\"\n");
    std::fs::set_permissions(&reach, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    // Bit 0 of the flags: the interface is up.
    let script = "sh grep -x up /sys/class/net/s1-eth3/operstate /sys/class/net/s2-eth1/operstate
pingall
link s1 s2 down
sh grep -x 0x1002 /sys/class/net/s1-eth3/flags
sh grep -x 0x1002 /sys/class/net/s2-eth1/flags
link s1 s2 up
sh grep -x 0x1003 /sys/class/net/s1-eth3/flags
within 10s pingall
sh echo 0x1002 > /sys/class/net/s2-eth1/flags
within 10s sh \"$P4RACK\" lab exec h1 -- $REACH 10.0.2.2; test $? -eq 1
within 10s sh \"$P4RACK\" lab exec h1 -- $REACH 10.0.3.3; test $? -eq 124
links
expect s1-eth3 <-> s2-eth1  down
s1 show_ports
expect DOWN
sh echo 0x1003 > /sys/class/net/s2-eth1/flags
within 10s pingall
";
    place.write("interfaces.txt", script);
    let args = ["test", "interfaces.txt", "--grpc-port", "0", "--no-pcap", "--switch-interfaces"];
    let mut command = place.command(&args);
    command.env("P4RACK", env!("CARGO_BIN_EXE_p4rack")).env("REACH", reach);
    let done = command.output().unwrap();
    let said = text(&done);
    // Without root, and where another process has such an interface, none can be created.
    let is_refused = said.contains("interface s1-eth") && said.contains("the lab cannot be brought up");
    assert!(done.status.success() || is_refused, "{said}");
    if done.status.success() {
        assert!(!Path::new("/sys/class/net/s1-eth3").exists());
    }
}

#[test]
fn hosts_have_their_neighbours_and_routes_and_no_ipv6() {
    let place = Place::new("hosts");
    if !may_run(&place) {
        return;
    }
    // The default route of `h1` goes with its interface, and comes back with it.
    let script = "h1 ! grep eth0 /proc/net/if_inet6 2> /dev/null\nlink h1 s1 down\nh1 ! grep FE01000A /proc/net/route\n\
                  link h1 s1 up\nh1 grep FE01000A /proc/net/route\nwithin 20s pingall\n";
    place.write("hosts.txt", script);
    let done = place.lab(&["test", "hosts.txt", "--grpc-port", "0", "--no-pcap"]);
    assert!(done.status.success(), "{}", text(&done));
    let app = r#"{"p4_src": "bridge.p4", "topology": {"assignment_strategy": "l2", "links": [["h1", "s1"], ["h2", "s1"]],
        "hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {}}}}"#;
    place.write("p4app.json", app);
    std::fs::remove_file(place.0.join("topology.json")).unwrap();
    place.write("hosts.txt", "h1 cat /proc/net/arp\nexpect 10.0.0.2 \nexpect 00:00:0a:00:00:02\n");
    let done = place.lab(&["test", "hosts.txt", "p4app.json", "--grpc-port", "0", "--no-pcap"]);
    assert!(done.status.success(), "{}", text(&done));
}

#[test]
fn commands_come_by_a_pipe_and_by_exec() {
    let place = Place::new("pipe");
    if !may_run(&place) {
        return;
    }
    let mut child =
        place.command(&["--grpc-port", "0"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"nodes\nh1 ip link show eth0\ns3 show_tables\n").unwrap();
    let done = child.wait_with_output().unwrap();
    let said = text(&done);
    assert!(done.status.success(), "{said}");
    for line in ["hosts: h1 h2 h3 h4\nswitches: s1 s2 s3", "08:00:00:00:01:01", "WallIngress.refused"] {
        assert!(said.contains(line), "{said}");
    }
    let mut lab = place.start(&[]);
    let done = place.lab(&["exec", "h2", "--", "bash", "-c", "cat /proc/net/route; exit 5"]);
    assert_eq!(done.status.code(), Some(5), "{}", text(&done));
    // 10.0.2.254, the gateway.
    assert!(text(&done).contains("FE02000A"), "{}", text(&done));
    let done = place.lab(&["exec", "h9", "--", "true"]);
    assert!(text(&done).contains("there is no host `h9`"), "{}", text(&done));
    let listed = place.lab(&["list", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(
        (json[0]["switches"][2]["name"].as_str(), json[0]["switches"][2]["device_id"].as_u64()),
        (Some("s3"), Some(2))
    );
    let address = format!("http://{}", json[0]["p4runtime"].as_str().unwrap());
    let tables = |device_id| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = P4RuntimeClient::connect(address.clone()).await.unwrap();
            let request = GetForwardingPipelineConfigRequest { device_id, ..Default::default() };
            let response = client.get_forwarding_pipeline_config(request).await;
            let info = response.map(|response| response.into_inner().config.unwrap().p4info.unwrap());
            info.map(|info| info.tables.len()).map_err(|status| status.message().to_string())
        })
    };
    assert_eq!([0, 1, 2].map(tables), TABLES.map(Ok));
    assert_eq!(tables(3), Err("there is no device with id 3: here are the devices 0, 1, 2".to_string()));
    Command::new("kill").arg(lab.id().to_string()).status().unwrap();
    assert!(lab.wait().unwrap().success());
    assert_eq!(text(&place.lab(&["list"])), "");
}

#[test]
fn labs_that_start_at_the_same_instant_in_one_directory_work() {
    let place = Place::new("together");
    if !may_run(&place) {
        return;
    }
    place.write("once.txt", "within 10s pingall\n");
    // Without --grpc-port all of them want port 50051 and the directory `pcaps`.
    let running = [(); 3].map(|()| {
        place.command(&["test", "once.txt"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for child in running {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", text(&done));
    }
    let mut first = place.start(&[]);
    let beside = place.command(&["--grpc-port", "0"]).stdin(Stdio::null()).output().unwrap();
    let said = text(&beside);
    assert!(said.contains("pcaps`: those of this lab are in"), "{said}");
    assert!(place.0.join("pcaps-2/s1-eth1_in.pcap").is_file());
    // The lock of a killed lab is gone.
    first.kill().unwrap();
    first.wait().unwrap();
    let alone = place.command(&["--grpc-port", "0"]).stdin(Stdio::null()).output().unwrap();
    assert!(alone.status.success() && !text(&alone).contains("pcaps"), "{}", text(&alone));
}

#[test]
fn what_a_killed_lab_has_left_is_cleaned_up() {
    let place = Place::new("killed");
    if !may_run(&place) {
        return;
    }
    let mut lab = place.start(&[]);
    let mut process = place.command(&["exec", "h1", "--", "sleep", "1000"]).spawn().unwrap();
    let named = |process: &Child| std::fs::read_to_string(format!("/proc/{}/comm", process.id()));
    let until = Instant::now() + Duration::from_secs(60);
    while named(&process).is_ok_and(|name| name.trim() != "sleep") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    lab.kill().unwrap();
    lab.wait().unwrap();
    assert_eq!(text(&place.lab(&["list"])), "", "a lab that is dead does not run");
    assert!(process.try_wait().unwrap().is_none());
    let cleaned = text(&place.lab(&["clean"]));
    assert!(cleaned.contains("was killed: 1 processes"), "{cleaned}");
    assert!(!process.wait().unwrap().success());
    assert_eq!(text(&place.lab(&["clean"])), "", "once");
}

#[test]
fn a_tcp_port_that_is_taken_is_reported() {
    let place = Place::new("port");
    if !may_run(&place) {
        return;
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    place.write("nothing.txt", "nodes\n");
    let done = place.lab(&["test", "nothing.txt", "--grpc-port", &port]);
    let said = text(&done);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("TCP port {port} is in use")), "{said}");
    assert_eq!(text(&place.lab(&["list"])), "");
}

#[test]
fn without_x_and_tmux_no_terminal_is_opened() {
    let place = Place::new("terminal");
    if !may_run(&place) {
        return;
    }
    place.write(
        "terminal.txt",
        "! xterm h1\nexpect no tmux: install tmux\n! xterm h9\nexpect there is no host `h9`\n",
    );
    let mut command = place.command(&["test", "terminal.txt", "--grpc-port", "0", "--no-pcap"]);
    let done = command.env_remove("DISPLAY").env("PATH", &place.0).output().unwrap();
    assert!(done.status.success(), "{}", text(&done));
}

#[test]
fn mistakes_are_reported_before_anything_is_made() {
    let place = Place::new("mistakes");
    let check = |change: &dyn Fn(String) -> String, args: &[&str], parts: &[&str]| {
        let topology = std::fs::read_to_string(place.0.join("topology.json")).unwrap();
        place.write("changed.json", &change(topology));
        let all: Vec<&str> = args.iter().copied().chain(["changed.json", "--grpc-port", "0"]).collect();
        let done = place.command(&all).stdin(Stdio::null()).output().unwrap();
        let said = text(&done);
        assert_eq!(done.status.code(), Some(1), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    };
    let with = |from: &'static str, to: &'static str| move |text: String| text.replacen(from, to, 1);
    check(
        &with("[\"h1\", \"s1-p1\"]", "[\"h7\", \"s1-p1\"]"),
        &[],
        &["there is no host or switch `h7`", "changed.json:"],
    );
    check(&with("s1-p2", "s1-p1"), &[], &["port 1 of `s1` is used twice"]);
    check(
        &with("s3-runtime.json", "s4-runtime.json"),
        &[],
        &["a file of entries is missing", "did you mean"],
    );
    check(&with("s2-commands.txt", "s1-runtime.json"), &[], &["BridgeIngress", "RouterIngress.routes"]);
    check(&with("10.0.1.1/24", "10.0.1.1/44"), &[], &["the prefix length is a number from 0 to 32"]);
    check(&with("{", "["), &[], &["this is not JSON"]);
    place.write("bad.p4", "control c() { apply { x = 1; } }\n");
    check(&|text| text, &["--program", "s2=bad.p4"], &["bad.p4:1", "x"]);
    check(&|text| text, &["--program", "s9=bad.p4"], &["there is no switch `s9`"]);
    let nowhere = place.lab(&["nowhere"]);
    assert!(text(&nowhere).contains("there is no such file or directory"), "{}", text(&nowhere));
    assert_eq!(
        text(&place.lab(&["exec", "h1", "--", "true"])).trim(),
        "p4rack: no lab runs: start one with `p4rack lab`"
    );
}
