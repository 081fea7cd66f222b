//! `p4rack plan` on racks whose apps describe their flows, and the emulator's results for its plans.

use expect_test::{Expect, expect};
use serde_json::Value;
use std::fmt::Write;
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

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The planned example as `change` has it, in a directory for a test.
fn planned(name: &str, change: impl Fn(String) -> String) -> String {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&target).expect("a directory for the test");
    let pinned = examples().join("pinned");
    std::fs::copy(pinned.join("connections.toml"), target.join("connections.toml")).expect("a copy");
    let text = std::fs::read_to_string(pinned.join("planned.toml")).expect("the example is there");
    let apps = examples().join("apps");
    let text = text.replace("../apps", &apps.display().to_string());
    let file = target.join("RACK.toml");
    std::fs::write(&file, change(text)).expect("the test's directory can be written");
    file.display().to_string()
}

/// Output or diagnostics of `p4rack plan`, without the directory.
fn check(rack: &str, wanted: Expect) {
    let output = p4rack(&["plan", rack]);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    let directory = Path::new(rack).parent().unwrap().display().to_string();
    wanted.assert_eq(&text.replace(&format!("{directory}/"), ""));
}

#[test]
fn the_example_has_room_for_some_flows() {
    let rack = planned("planned-example", |text| text);
    check(
        &rack,
        expect![[r#"
        mean latency 3.329us, the least possible
          firewall: 32 of 500 flows at the switch, 59.7 % of its packets; mean latency 3.329us; the others at nic1, nic2
          firewall: 15014 of EntryBits of edge for tables that do not grow with the flows
          EntryBits of edge: 26406 of 26500 used
          bit/s to nic1, nic2: 103793664 of 19417475728 used
          packets/s of nic1, nic2: 41584 of 3883495 used
          356 more of EntryBits of edge: 28ns less mean latency
          3560 more of EntryBits of edge: 248ns less mean latency
    "#]],
    );
}

/// The flows that the plan has at the switch are moved there; then share and mean latency are those that the plan predicts, within 1 %.
#[test]
fn predicted_shares_and_latencies_are_what_the_emulator_shows() {
    /// The source port of the first flow of the workload.
    const FIRST_PORT: u64 = 4096;
    let slow = |text: String| {
        text.replace("200Mbit/s", "2Mbit/s").replace("promote = \"auto\"\nwindow = \"5ms\"\n", "")
    };
    for memory in ["20000", "26500", "60000"] {
        let name = format!("planned-{memory}");
        // Flows are at the switch before packets come.
        let sized = |text: String| {
            slow(text).replace("26500", memory).replace("count = 20000", "count = 20000\nstart = \"500ms\"")
        };
        let plan = json(&["plan", &planned(&name, sized)])["flow_plans"][0].clone();
        let flows = plan["apps"][0]["flows"].as_u64().expect("a number");
        assert!((4..300).contains(&flows), "{plan}");
        let rack = planned(&name, |text| {
            let mut text = sized(text);
            for rank in 0..flows {
                let port = FIRST_PORT + rank;
                let _ = write!(
                    text,
                    "[[move]]\nat = \"0s\"\nto = \"switch\"\n[move.flow]\n\"hdr.ipv4.src\" = \"10.1.0.1\"\n\
                     \"hdr.ipv4.dst\" = \"198.51.100.1\"\n\"hdr.ipv4.protocol\" = 17\n\"hdr.udp.src\" = {port}\n\
                     \"hdr.udp.dst\" = 5060\n\"hdr.tcp.src\" = 0\n\"hdr.tcp.dst\" = 0\n\"standard_metadata.ingress_port\" = 1\n"
                );
            }
            text
        });
        let report = json(&["up", &rack])["report"].clone();
        let pinned = &report["pinned"][0];
        let number = |value: &Value| value.as_f64().expect("a number");
        let share = number(&pinned["at_switch"]) / number(&pinned["packets"]);
        let predicted = number(&plan["apps"][0]["share_at_switch"]);
        assert!(
            (share / predicted - 1.0).abs() < 0.01,
            "{memory}: {share} at the switch, predicted {predicted}"
        );
        let latency = &report["workloads"][0]["latency"];
        // The shortest one is that of a packet at the switch alone, which takes 800 ns there: the rest is on the links of the hosts.
        let hosts = number(&latency["min_ps"]) - 800e3;
        let mean = number(&latency["mean_ps"]) - hosts;
        let predicted = number(&plan["latency_ps"]);
        assert!((mean / predicted - 1.0).abs() < 0.01, "{memory}: {mean} ps, predicted {predicted}");
    }
}

/// `up` takes the number of flows from the planner, and popular flows fill it.
#[test]
fn popular_flows_fill_the_planned_room() {
    let rack = examples().join("pinned/planned.toml").display().to_string();
    let plan = json(&["plan", &rack])["flow_plans"][0]["apps"][0].clone();
    let report = json(&["up", &rack])["report"].clone();
    assert_eq!(report["pinned"][0]["totals"]["resident"], plan["flows"]);
    let shares = report["pinned"][0]["shares"].as_array().expect("a list");
    let sum =
        |key: &str| shares[shares.len() / 2..].iter().map(|share| share[key].as_f64().unwrap()).sum::<f64>();
    let late = sum("at_switch") / sum("packets");
    let predicted = plan["share_at_switch"].as_f64().unwrap();
    assert!((late / predicted - 1.0).abs() < 0.03, "{late}, predicted {predicted}");
}

#[test]
fn why_flows_fit_nowhere() {
    let rack = planned("planned-rate", |text| {
        text.replace("rate = \"200Mbit/s\"\nsize = 242", "rate = \"60Gbit/s\"\nsize = 242")
    });
    check(
        &rack,
        expect![[r#"
        error[P4R0808]: the flows fit no device
          --> RACK.toml:73:12
           |
        73 | affinity = "medium"
           |            ^^^^^^^^ flows of `firewall`
           |
           = note: EntryBits of edge is too small
           = note: packets/s of nic1, nic2 is too small
           = help: 64698 more of EntryBits of edge are enough
           = help: `firewall` fits with 57 flows
           = help: 31.1 % of the traffic fit, 18677888160 bit/s

    "#]],
    );
    let rack = planned("planned-objective", |text| {
        text.replace("size = 242\n", "size = 242\nobjectives = [\"Power\"]\n")
    });
    check(
        &rack,
        expect![[r#"
        error[P4R0802]: flows are not planned for `Power`
          --> RACK.toml:17:15
           |
        17 | objectives = ["Power"]
           |               ^^^^^^^ the first objective counts
           |
           = help: take `Latency` or `Throughput`

    "#]],
    );
    let rack = planned("planned-share", |text| {
        text.replace("distribution", "share = \"60%\"\ndistribution").replace(
            "# 500 connections, of",
            &format!("[[app]]\nname = \"second\"\nprogram = \"{}/apps/nat.p4\"\norigin = \"edge\"\ndevices = [\"nic1\", \"nic2\"]\naffinity = \"low\"\nshare = \"45%\"\ndistribution = {{ zipf = 0.9, flows = 100 }}\n# 500 connections, of", examples().display()),
        )
    });
    check(
        &rack,
        expect![[r#"
        error[P4R0803]: the shares of the apps exceed the traffic
          --> RACK.toml:95:9
           |
        95 | share = "45%"
           |         ^^^^^ the sum is 105.0 %
           |
           = help: the shares of all apps add up to 100 % at most

    "#]],
    );
}

/// Several apps of one switch, by throughput; the flow manager and the copies are SRAM blocks of a Tofino.
#[test]
fn apps_share_the_memory_of_a_tofino() {
    let rack = planned("planned-apps", |text| {
        let text = text
            .replace("class = \"switch\"", "class = \"tofino1\"")
            .replace("resources = { EntryBits = \"26500\" }\n", "")
            .replace(
                "rate = \"200Mbit/s\"\nsize = 242",
                "rate = \"60Gbit/s\"\nsize = 1500\nobjectives = [\"Throughput\"]",
            )
            .replace("zipf = 1, flows = 500", "zipf = 0.99, flows = 2000000");
        let second = format!(
            "[[app]]\nname = \"nat\"\nprogram = \"{}/apps/nat.p4\"\norigin = \"edge\"\ndevices = [\"nic1\", \"nic2\"]\naffinity = \"medium\"\nflows = \"plan\"\nshare = \"30%\"\n\
             distribution = {{ classes = [[1000, 50], [2000000, 50]] }}\n[app.objects]\nroutes = {{ resident = \"all\" }}\ntenants = {{ resident = \"all\" }}\n# 500 connections, of",
            examples().display()
        );
        text.replace("# 500 connections, of", &second)
    });
    check(
        &rack,
        expect![[r#"
        mean latency 2.69us, after the throughput
          firewall: 416768 of 2000000 flows at the switch, 88.9 % of its packets; mean latency 1.722us; the others at nic1, nic2
          nat: 1024 of 2001000 flows at the switch, 50.0 % of its packets; mean latency 4.948us; the others at nic1, nic2
          firewall: 6 of SRAM blocks of edge for tables that do not grow with the flows
          nat: 5 of SRAM blocks of edge for tables that do not grow with the flows
          SRAM blocks of edge: 959 of 960 used
          bit/s to nic1, nic2: 14316822496 of 19417475728 used
          packets/s of nic1, nic2: 1138919 of 3883495 used
          1 more of SRAM blocks of edge: 1ns less mean latency
          10 more of SRAM blocks of edge: 5ns less mean latency
    "#]],
    );
}

/// The page has a bar for the switch's memory with a part for each app, whose widths are in proportion to the plan's numbers, and a falling curve of latencies.
#[test]
fn the_page_shows_memory_by_app_and_latency_by_memory() {
    let rack = planned("planned-page", |text| {
        let second = format!(
            "[[app]]\nname = \"nat\"\nprogram = \"{}/apps/nat.p4\"\norigin = \"edge\"\ndevices = [\"nic1\", \"nic2\"]\naffinity = \"medium\"\nflows = \"plan\"\nshare = \"30%\"\n\
             distribution = {{ zipf = 1, flows = 300 }}\n[app.objects]\nroutes = {{ resident = \"all\" }}\ntenants = {{ resident = \"all\" }}\n# 500 connections, of",
            examples().display()
        );
        text.replace("# 500 connections, of", &second).replace("26500", "2000000")
    });
    let file = Path::new(&rack).with_file_name("plan.html");
    let output = p4rack(&["plan", &rack, "--html", &file.display().to_string()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&file).expect("it was written");
    let part = |app: &str| -> (f64, u64) {
        let (before, after) =
            page.split_once(&format!("<title>{app}: ")).unwrap_or_else(|| panic!("no part of {app}: {page}"));
        let width = before.rsplit_once(" width=\"").expect("it has a width").1;
        let number = |text: &str, end: char| text.split_once(end).expect("it ends").0.to_string();
        (number(width, '"').parse().expect("a width"), number(after, '<').parse().expect("units"))
    };
    let (firewall, nat) = (part("firewall"), part("nat"));
    assert!(firewall.1 > 0 && nat.1 > 0 && firewall.1 + nat.1 <= 2_000_000, "{firewall:?} {nat:?}");
    let of = |(width, units): (f64, u64)| width / units as f64;
    assert!((of(firewall) / of(nat) - 1.0).abs() < 0.02, "{firewall:?} {nat:?}");
    // More memory never makes a plan slower: points go down, which in a picture is a larger y.
    let points =
        page.split_once("points=\"").expect("there is a curve").1.split_once('"').expect("it ends").0;
    let heights: Vec<f64> =
        points.split_whitespace().map(|point| point.split_once(',').unwrap().1.parse().unwrap()).collect();
    assert!(
        heights.len() > 10 && heights.is_sorted() && heights[0] < heights[heights.len() - 1],
        "{heights:?}"
    );
    assert!(!page.contains("http://") && !page.contains("https://"));
}
