//! The command as a user meets it: output and exit status.

use crate::support;

use p4runtime_proto::p4::config::v1::P4Info;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn p4rack(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_p4rack")).args(args).current_dir(root).output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An empty directory for a test.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory for the test");
    path
}

/// The example's rack with one text replaced by another.
fn changed_rack(name: &str, from: &str, to: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice");
    let target = directory(name);
    for file in ["slice.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(root.join(file)).expect("the example is there");
        std::fs::write(target.join(file), text.replace(from, to))
            .expect("the test's directory can be written");
    }
    target.display().to_string()
}

#[test]
fn up_prints_a_table_and_the_same_seed_gives_the_same_bytes() {
    let logs = directory("logs");
    let log = |n: &str| logs.join(n).display().to_string();
    let run = |seed: &str, n: &str| p4rack(&["up", "examples/slice", "--seed", seed, "--log", &log(n)]);
    let (first, again, other) = (run("7", "a"), run("7", "b"), run("8", "c"));
    assert!(first.status.success(), "{}", stderr(&first));
    assert_eq!(first.stdout, again.stdout);
    let read = |n: &str| std::fs::read(log(n)).expect("the log was written");
    assert!(read("a").len() > 100_000);
    assert!(read("a") == read("b"));
    assert!(read("a") != read("c"));
    assert_ne!(first.stdout, other.stdout);
    for word in ["ping", "download", "upload", "native", "nic:1 -> tor:3"] {
        assert!(stdout(&first).contains(word), "no `{word}` in\n{}", stdout(&first));
    }
}

#[test]
fn up_records_every_link_and_steps_to_the_end_of_input() {
    let records = directory("records");
    let to = records.display().to_string();
    let output = p4rack(&["up", "examples/slice", "--until", "5ms", "--step", "--record", &to]);
    assert!(output.status.success(), "{}", stderr(&output));
    // Without input the first event is shown, and the others happen.
    assert_eq!(stdout(&output).matches(" bytes #").count(), 1, "{}", stdout(&output));
    let captures = ["h1_tor.1", "h2_tor.2", "nic.1_tor.3"];
    let sizes = captures.map(|name| {
        let bytes = std::fs::read(records.join(format!("{name}.pcap"))).expect("a capture of each link");
        assert_eq!(bytes[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        bytes.len()
    });
    // Three pings of 98 bytes, and their answers, which the example's sampler repeats; between tor and nic more, and longer.
    assert_eq!(sizes[0], 24 + 9 * (16 + 98));
    assert!(sizes[2] > 2 * sizes[0], "{sizes:?}");
}

#[test]
fn up_writes_a_page() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"nic:1\", \"tor:3\"]\nat = \"40ms\"\nfor = \"20ms\"\n\n[[app]]";
    let rack = changed_rack("page", "[[app]]", fault);
    let path = Path::new(&rack).join("run.html");
    let output = p4rack(&["up", &rack, "--html", &path.display().to_string()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(&path).expect("the page was written");
    assert_eq!(support::unbalanced(&page), Vec::<String>::new());
    assert!(!page.contains("http"), "it needs nothing else");
    // Three workloads in two charts; three links, both ways; the fault in the chart and in its table.
    for (words, count) in [
        ("<polyline class=\"line\"", 6),
        ("<path class=\"link", 6),
        ("class=\"span\"", 1),
        ("link-down nic:1 - tor:3", 3),
        ("class=\"device\"", 2),
        ("class=\"host\"", 2),
        (">Acl</text>", 1),
        ("<table>", 6),
    ] {
        assert_eq!(page.matches(words).count(), count, "{words} in\n{page}");
    }
    check_mistake(
        &["up", "examples/slice", "--html", "/nowhere/run.html"],
        &["`/nowhere/run.html` cannot be written"],
    );
}

#[test]
fn up_runs_the_stages_of_an_experiment() {
    let page = directory("stages").join("run.html");
    let run = |more: &[&str]| p4rack(&[&["up", "examples/crosspod", "--until", "35ms"], more].concat());
    let (first, again) = (run(&["--html", page.to_str().unwrap()]), run(&[]));
    assert!(first.status.success(), "{}", stderr(&first));
    assert_eq!(first.stdout, again.stdout);
    let stages = ["baseline", "compression", "loss", "correction", "cache"];
    for (stage, workload) in stages.iter().flat_map(|stage| ["iperf", "get", "set"].map(|w| (stage, w))) {
        let row = |line: &str| line.split_whitespace().take(2).eq([workload, stage]);
        assert_eq!(stdout(&first).lines().filter(|line| row(line)).count(), 1, "{}", stdout(&first));
    }
    let page = std::fs::read_to_string(&page).expect("the page was written");
    assert_eq!(support::unbalanced(&page), Vec::<String>::new());
    // Goodput of TCP; all four measures of reads and writes; a bar for each stage.
    assert_eq!(page.matches("<svg class=\"bars\"").count(), 1 + 4 + 4);
    assert_eq!(page.matches("class=\"bar\"").count(), 9 * 5);
    let json = run(&["--format", "json"]);
    let reported: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let names: Vec<&str> =
        reported["phases"].as_array().unwrap().iter().map(|s| s["phase"].as_str().unwrap()).collect();
    assert_eq!(names, stages);
    // One phase alone gives the same result as among the others.
    let one = run(&["--phase", "loss", "--format", "json"]);
    let one: serde_json::Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(one["report"], reported["phases"][2]["report"]);
    let full = run(&["--phase", "baseline", "--full-rate"]);
    let between = |line: &&str| line.starts_with("left:2 -> right:2");
    assert!(stdout(&full).lines().find(between).unwrap().contains(" 10Gbit/s"), "{}", stdout(&full));
    for (more, words) in [
        (["--phase", "lost"], "there is no phase `lost`: did you mean `loss`?"),
        (["--log", "/nowhere/log"], "name a phase with `--phase`"),
    ] {
        let output = run(&more);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    // The earlier name of the option.
    let none = p4rack(&["up", "examples/slice", "--stage", "loss"]);
    assert!(stderr(&none).contains("the rack has no phases"));
}

#[test]
fn the_doctor_says_what_can_be_done() {
    let output = p4rack(&["doctor"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("yes  machine code"), "{}", stdout(&output));
    assert!(stdout(&output).lines().all(|line| line.starts_with("yes ") || line.starts_with("no ")));
    let reported: serde_json::Value =
        serde_json::from_slice(&p4rack(&["doctor", "--format", "json"]).stdout).unwrap();
    assert_eq!(reported["findings"].as_array().unwrap().len(), stdout(&output).lines().count());
}

#[test]
fn up_as_json() {
    let output = p4rack(&["up", "examples/slice", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!(value["ok"], true);
    assert_eq!(value["placement"]["origin"], "tor");
    let workloads = value["report"]["workloads"].as_array().expect("workloads");
    // 0.5 % of the frames on one link are lost; nothing else may be.
    for workload in workloads {
        let (sent, received) = (workload["sent"].as_u64(), workload["received"].as_u64());
        assert!(received > sent.map(|n| n * 97 / 100), "{workload}");
        assert_eq!(workload["corrupted"], 0);
    }
}

/// Unmet expectations of a workload set the exit status, in text and in JSON; an expectation of zero packets was once
/// not possible.
#[test]
fn what_is_expected_of_a_workload_is_the_exit_status() {
    let rack = |name: &str, expect: &str| {
        let count = "count = 100\ninterval = \"2ms\"\n";
        changed_rack(name, count, &format!("{count}expect = {expect}\n"))
    };
    let met = p4rack(&["up", &rack("expect-met", "{ received = \">= 95%\", p99 = \"<= 1ms\" }")]);
    assert!(met.status.success(), "{}", stderr(&met));
    let unmet = rack("expect-unmet", "\"lost\"");
    let output = p4rack(&["up", &unmet]);
    assert_eq!(output.status.code(), Some(1));
    for words in
        ["P4R0710", "workload `ping` is not as expected", "received = 0 is expected, 99 were, of 100 sent"]
    {
        assert!(stderr(&output).contains(words), "no {words} in\n{}", stderr(&output));
    }
    assert!(stdout(&output).contains("latency "), "the report comes all the same");
    let output = p4rack(&["up", &unmet, "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!((&value["ok"], &value["diagnostics"][0]["code"]), (&false.into(), &"P4R0710".into()));
}

#[test]
fn samples_are_one_line_for_each_packet_that_came() {
    let file = directory("samples").join("samples.csv");
    let output = p4rack(&["up", "examples/slice", "--samples", &file.display().to_string()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(&file).expect("it was written");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("phase,workload,from,to,sequence,sent_ps,received_ps,latency_ps"));
    assert_eq!(lines.next(), Some(",ping,h1,h2,0,0,66792000,66792000"));
    assert_eq!(lines.filter(|line| line.starts_with(",ping,h1,h2,")).count(), 98);
}

#[test]
fn a_rack_whose_regions_all_run_at_the_switch_works_too() {
    let rack = changed_rack(
        "whole",
        "{ Sample = \"nic\", Acl = \"nic\", Mark = \"nic\", Out = \"nic\" }",
        "{ Sample = \"nic\" }",
    );
    let output = p4rack(&["up", &rack, "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Also of a split that is refused; the step `sectoin` is not known.
#[test]
fn split_prints_what_a_step_leaves() {
    let output = p4rack(&["split", "examples/slice", "--print-after", "route", "--print-after", "mark"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("# after mark\ningress Sample on nic\n"), "{text}");
    assert!(text.contains("# after route\ntor -> nic  for nic: Sample\n"), "{text}");
    let unknown = p4rack(&["split", "examples/slice", "--print-after", "sectoin"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("'section'"), "{}", stderr(&unknown));
}

#[test]
fn split_writes_programs_and_commands() {
    let target = directory("split");
    let output = p4rack(&["split", "examples/slice", "-o", &target.display().to_string()]);
    assert!(output.status.success(), "{}", stderr(&output));
    for file in ["tor.p4", "nic.p4", "tor.commands.txt", "nic.commands.txt"] {
        assert!(target.join(file).is_file(), "{file}");
    }
    for part in ["tor.p4", "nic.p4"] {
        let checked = p4rack(&["check", &target.join(part).display().to_string()]);
        assert!(checked.status.success(), "{}", stderr(&checked));
    }
    let commands = std::fs::read_to_string(target.join("tor.commands.txt")).expect("it was written");
    assert!(
        commands
            .contains("table_add RouterIngress.routes RouterIngress.set_next_hop 0xa000100/24 => 0x1 0x1\n")
    );
}

#[test]
fn merge_makes_one_program_of_the_apps_of_a_switch() {
    let out = directory("merge");
    let directory = out.display().to_string();
    let merged = p4rack(&["merge", "examples/apps", "-o", &directory]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert_eq!(
        stdout(&merged),
        "edge: 3 programs as one
  firewall  port == 1 || port == 4 && ipv4.dst in 10.1.0.0/16
              names firewall.NAME
  acl       port == 2 || port == 4 && ipv4.dst in 10.2.0.0/16
              names acl.NAME
  nat       port == 3 || port == 4 && ipv4.dst == 192.0.2.1
              names nat.NAME
"
    );
    let program = out.join("edge.p4").display().to_string();
    let checked = p4rack(&["check", &program]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    let commands = std::fs::read_to_string(out.join("edge.commands.txt")).expect("the commands");
    assert!(commands.contains("table_add acl.AclIngress.rules"), "{commands}");
    assert!(commands.contains("table_add nat.NatIngress.outbound"), "{commands}");
}

#[test]
fn merge_takes_programs_and_shows_packets_of_two_classes() {
    let programs = ["merge", "examples/apps/acl.p4", "examples/bench/l2/l2.p4"];
    let classes = |more: &[&str]| p4rack(&[&programs, more].concat());
    let merged = classes(&["--class", "acl=ipv4 && port < 8", "--format", "json"]);
    assert!(merged.status.success(), "{}", stdout(&merged));
    let json: serde_json::Value = serde_json::from_slice(&merged.stdout).expect("JSON");
    assert_eq!(json["merged"][0]["apps"][1]["app"], "l2");
    assert_eq!(json["merged"][0]["apps"][1]["class"], serde_json::Value::Null);

    let refused = classes(&["--class", "acl=ipv4.dst in 10.1.0.0/16", "--class", "l2=tcp && l4.dst == 80"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(said.contains("P4R1102") && said.contains("ipv4.dst 10.1.0.0, l4.dst 80: 0200"), "{said}");
    let settled = classes(&["--class", "acl=ipv4", "--class", "l2=tcp", "--priority", "l2=1"]);
    assert!(settled.status.success(), "{}", stderr(&settled));

    let wrong = classes(&["--class", "acl=ipv4.ttl == 1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains(">>ipv4.ttl<<"), "{}", stderr(&wrong));
    let unknown = classes(&["--class", "nobody=ipv4"]);
    assert!(stderr(&unknown).contains("the programs are named acl, l2"), "{}", stderr(&unknown));
}

#[test]
fn prove_split_of_the_example() {
    let output = p4rack(&["prove-split", "examples/slice", "--packets", "100"]);
    assert!(output.status.success(), "{}", stdout(&output));
    assert!(stdout(&output).starts_with("equal      Acl on nic, Mark on nic, Out on nic, Sample on nic\n"));
}

#[test]
fn prove_split_loses_frames_and_replaces_plans() {
    let prove = |rack: &str, more: &[&str]| {
        let output = p4rack(&[&["prove-split", rack, "--packets", "30", "--lossy"], more].concat());
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        stdout(&output)
    };
    let text = prove("examples/slice/plain.toml", &[]);
    let [_, tried, word, replaced] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    let number = |line: &str, behind: &str| -> u64 {
        let before = line.split_once(behind).unwrap_or_else(|| panic!("no `{behind}` in {line}")).0;
        before.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    assert!(text.starts_with("equal      Acl on nic, Mark on nic, Out on nic\n"), "{text}");
    assert_eq!(word, "equal      plans replaced by the controller");
    let (lost, renewed) = (number(tried, " hand-overs lost, "), number(tried, " plans replaced"));
    assert!(lost > 0 && renewed > 0, "{tried}");
    assert!(replaced.trim_start().starts_with("30 packets in, "), "{replaced}");
    assert!(number(replaced, " plans replaced") > 0, "{replaced}");

    let json = prove("examples/slice/plain.toml", &["--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("one JSON value");
    let [own, controller] = value["proofs"].as_array().map_or(&[][..], Vec::as_slice) else {
        panic!("{json}")
    };
    let reported = |key: &str| own[key].as_u64();
    assert_eq!((reported("lost"), reported("replaced")), (Some(lost), Some(renewed)));
    assert_eq!(
        (&value["ok"], &own["equal"], &controller["equal"]),
        (&true.into(), &true.into(), &true.into())
    );
    assert_eq!(controller["placement"], "plans replaced by the controller");
    assert_eq!(controller["details"], replaced.trim_start());

    // With the sampler.
    let text = prove("examples/slice", &[]);
    let forgets = "another plan empties `RouterIngress.beacon`, which packets read";
    assert!(
        text.ends_with(&format!("not tried  plans replaced by the controller\n           {forgets}\n")),
        "{text}"
    );
}

#[test]
fn analyze_shows_regions() {
    let output = p4rack(&["analyze", "examples/slice/slice.p4", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    let names: Vec<&str> =
        value["regions"].as_array().into_iter().flatten().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(names, ["Sample", "Acl", "Mark", "Out"]);
    let acl = &value["regions"][1];
    assert_eq!(acl["tables"][0]["name"], "RouterIngress.acl");
    let keys = acl["tables"][0]["keys"].as_array().expect("keys");
    let bits: u64 = keys.iter().filter_map(|k| k["bits"].as_u64()).sum();
    assert_eq!(acl["tables"][0]["key_bits"], bits);
    assert!(acl["tables"][0]["entry_bits"].as_u64() > Some(bits));
    assert_eq!(acl["state"][0]["kind"], "register");
}

#[test]
fn analyze_shows_the_keys_of_each_app() {
    let output = p4rack(&["analyze", "examples/apps/RACK.toml", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    let names: Vec<&str> =
        value["apps"].as_array().into_iter().flatten().filter_map(|app| app["name"].as_str()).collect();
    assert_eq!(names, ["firewall", "acl", "nat"]);
    let firewall = &value["apps"][0]["keys"];
    let shard = ["hdr.ipv4.dst", "hdr.ipv4.protocol", "hdr.ipv4.src"];
    assert_eq!(firewall["shard_key"]["parts"], serde_json::json!(shard));
    assert_eq!(firewall["obstacles"], serde_json::json!([]));

    let text = stdout(&p4rack(&["analyze", "examples/slice/slice.p4"]));
    assert!(text.contains("union key  ") && text.contains("obstacles to processing flows"), "{text}");
    assert!(text.contains("error[P4R1203]") && text.contains("examples/slice/slice.p4:"), "{text}");
}

#[test]
fn fit_places_tables_in_stages() {
    let program = "examples/fit/flows.p4";
    let output = p4rack(&["fit", program]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        text.starts_with("examples/fit/flows.p4 fits tofino1\n") && text.contains("Ingress.routes"),
        "{text}"
    );

    let small = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("one-stage.toml");
    std::fs::write(&small, "extends = \"tofino1\"\nname = \"one stage\"\nstages = 1\n")
        .expect("it can be written");
    let page = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stages.html");
    let files = [&small, &page].map(|path| path.display().to_string());
    let output = p4rack(&["fit", program, "--device", &files[0], "--html", &files[1], "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!((&value["ok"], &value["fit"]["device"]), (&false.into(), &"one stage".into()));
    assert_eq!(value["diagnostics"][0]["code"], "P4R0810");
    assert!(value["fit"]["pipes"][0]["stages_used"].as_u64() > Some(1));
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("does not fit one stage") && page.contains("Ingress.next_hops"), "{page}");

    let output = p4rack(&["fit", program, "--device", "tofino3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("neither `tofino1`, `tofino2` nor a file"), "{}", stderr(&output));
}

#[test]
fn analyze_chooses_regions() {
    let regions = |cut: &str| {
        let output = p4rack(&["analyze", "examples/slice/slice.p4", "--cut", cut, "--format", "json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
        value["regions"].as_array().cloned().unwrap_or_default()
    };
    let tables = regions("tables");
    let acl = tables.iter().find(|r| r["name"] == "acl").expect("a region for the access list");
    assert_eq!(acl["tables"].as_array().map(Vec::len), Some(1));
    assert!(regions("auto").len() > 3 * tables.len());
    let chain: Vec<_> = regions("chain").iter().map(|r| r["tables"].as_array().map(Vec::len)).collect();
    assert_eq!(chain, [Some(4), Some(1)]);
}

#[test]
fn analyze_draws() {
    let output = p4rack(&["analyze", "examples/slice/slice.p4", "--format", "svg"]);
    let text = stdout(&output);
    assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{text}");
    for word in ["Acl", "Out", "RouterIngress.acl", "bits to ingress"] {
        assert!(text.contains(word), "no `{word}` in\n{text}");
    }
    let kept = include_str!("../../../docs/pictures/slice.svg");
    assert!(
        text == kept,
        "run: p4rack analyze examples/slice/slice.p4 --format svg > docs/pictures/slice.svg"
    );
}

#[test]
fn prove_split_chooses_regions() {
    let output = p4rack(&["prove-split", "examples/slice", "--cut", "tables", "--packets", "100"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("equal      acl on nic"), "{}", stdout(&output));
}

/// A mistake gives exit status 1 and text that names it.
fn check_mistake(args: &[&str], words: &[&str]) {
    let output = p4rack(args);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    for word in words {
        assert!(stderr(&output).contains(word), "no `{word}` in\n{}", stderr(&output));
    }
}

#[test]
fn types_are_reported_beside_syntax_errors_but_not_behind_a_missing_file() {
    let program = directory("damaged").join("d.p4");
    let check = |text: &str| {
        std::fs::write(&program, text).expect("it is written");
        stderr(&p4rack(&["check", &program.display().to_string()]))
    };
    let both = check("const bit<8> a = true;\nconst bit<8> b = ;\n");
    assert!(both.contains("P4R0210") && both.contains("P4R0120"), "{both}");
    let missing = check("#include <none.p4>\nconst bit<8> a = unknown;\n");
    assert!(missing.contains("P4R0110") && !missing.contains("P4R0201"), "{missing}");
}

/// The type checker knows no architecture, and `check` did not elaborate.
#[test]
fn check_refuses_headers_that_are_no_struct() {
    let program = directory("headers").join("h.p4");
    let check = |headers: &str, main: &str| {
        let text = format!(
            "#include <core.p4>
            #include <v1model.p4>
            header eth_t {{ bit<16> type; }}
            struct headers_t {{ eth_t eth; }}
            struct meta_t {{}}
            parser P(packet_in p, out {headers} h, inout meta_t m, inout standard_metadata_t s) {{
                state start {{ transition accept; }}
            }}
            control C(inout {headers} h, inout meta_t m) {{ apply {{ }} }}
            control I(inout {headers} h, inout meta_t m, inout standard_metadata_t s) {{
                apply {{ s.egress_spec = 1; }}
            }}
            control D(packet_out p, in {headers} h) {{ apply {{ }} }}
            {main}"
        );
        std::fs::write(&program, text).expect("it is written");
        let output = p4rack(&["check", "--Wdisable", &program.display().to_string()]);
        (output.status.success(), stderr(&output))
    };
    let main = "V1Switch(P(), C(), I(), I(), C(), D()) main;";
    assert_eq!(check("headers_t", main), (true, String::new()));
    assert_eq!(check("eth_t", ""), (true, String::new()), "no architecture");
    for other in ["eth_t[2]", "bit<8>", "bool", "error", "tuple<eth_t>", "MeterType"] {
        let (accepted, found) = check(other, main);
        assert!(!accepted && found.contains("error[P4R0305]"), "{other}: {found}");
    }
    let (accepted, found) = check("eth_t", main);
    assert!(!accepted && found.contains("error[P4R0305]: the headers `h` must be a struct"), "{found}");
    assert!(found.contains("h.p4:6:") && found.contains("this is a header"), "{found}");
}

#[test]
fn usage_mistakes_give_status_2() {
    assert_eq!(p4rack(&["frobnicate"]).status.code(), Some(2));
    assert_eq!(p4rack(&["up"]).status.code(), Some(2));
    assert_eq!(p4rack(&["up", "examples/slice", "--until", "soon"]).status.code(), Some(2));
    // One for each would never end.
    let many = p4rack(&["switch", "--workers", "4000000000"]);
    assert!(many.status.code() == Some(2) && stderr(&many).contains("1..=256"), "{}", stderr(&many));
}

#[test]
fn warnings_are_switched_by_name() {
    let program = directory("warnings").join("w.p4");
    std::fs::write(&program, "control c(inout bit<8> a) { apply { bit<8> b = 1; } }\n")
        .expect("it is written");
    let program = program.display().to_string();
    let check = |flag: &[&str]| p4rack(&[&["check"], flag, &[program.as_str()]].concat());
    let plain = check(&[]);
    assert!(plain.status.success() && stderr(&plain).contains("unused"), "{}", stderr(&plain));
    assert_eq!(stderr(&check(&["--Wdisable=unused"])), "");
    assert_eq!(check(&["--Werror"]).status.code(), Some(1));
    assert_eq!(check(&["--Werror=shadow"]).status.code(), Some(0));
    let wrong = check(&["--Wdisable=unusd"]);
    assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains("did you mean `unused`?"));
}

#[test]
fn explain_knows_its_codes() {
    assert!(stdout(&p4rack(&["explain", "P4R0505"])).contains("State"));
    assert!(stdout(&p4rack(&["explain"])).contains("P4R0505"));
    let unknown = p4rack(&["explain", "P4R9999"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn ir_prints_a_program_behind_a_pass_and_lowered() {
    let passes = stdout(&p4rack(&["ir", "--list-passes"]));
    assert!(passes.lines().next().is_some_and(|line| line.starts_with("hoist-effects ")), "{passes}");
    let slice = "examples/slice/slice.p4";
    let after = stdout(&p4rack(&["ir", slice, "--print-after", "expand-emits"]));
    assert!(
        after.starts_with("# after expand-emits") && after.contains("$emit(packet, hdr.ipv4);"),
        "{after}"
    );
    let lowered = p4rack(&["ir", slice, "--lowered"]);
    assert!(lowered.status.success() && stdout(&lowered).starts_with("arch v1model"));
    let forms = stdout(&p4rack(&["ir", slice, "--print-after", "clif", "--print-after", "machine-code"]));
    let (clif, machine_code) = forms.split_once("# machine-code of packet\n").expect("both forms");
    assert!(clif.starts_with("# clif of packet\nfunction u0:0(i64, i64, i64)"), "{clif}");
    assert!(clif.contains("load.i64") && machine_code.contains("block0:"), "{machine_code}");
    let unknown = p4rack(&["ir", slice, "--print-after", "lower-everything"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("no pass is named `lower-everything`"));
}

/// The forms say the same; the extension or `--format` picks one.
#[test]
fn p4info_in_every_form() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run/l2.p4");
    let directory = directory("p4info");
    let mut made = vec![];
    for file in ["l2.txtpb", "l2.json", "l2.bin"] {
        let path = directory.join(file);
        let output = p4rack(&["p4info", program, "-o", path.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty());
        made.push(std::fs::read(&path).unwrap());
    }
    let text: P4Info = p4runtime_proto::from_text(&String::from_utf8_lossy(&made[0])).unwrap();
    let json: P4Info = p4runtime_proto::from_json(&String::from_utf8_lossy(&made[1])).unwrap();
    let binary: P4Info = p4runtime_proto::from_binary(&made[2]).unwrap();
    assert_eq!(text, json);
    assert_eq!(text, binary);
    assert_eq!(text.tables.len(), 3);
    assert_eq!(p4rack(&["p4info", program]).stdout, made[0]);
    assert_eq!(p4rack(&["p4info", program, "--format", "json"]).stdout, made[1]);
}

#[test]
fn p4info_mistakes() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run/l2.p4");
    let output = p4rack(&["p4info", program, "-o", "l2.xyz"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("the extension of `l2.xyz` does not determine the encoding: add `--format`"),
        "{said}"
    );
    let output = p4rack(&["p4info", program, "-o", "/no/such/directory/l2.txtpb"]);
    assert_eq!(output.status.code(), Some(1));
    let output = p4rack(&["p4info", "no-such.p4"]);
    assert_eq!(output.status.code(), Some(1));
}

/// The device config has the P4Info that is beside it, in every form.
#[test]
fn compile_writes_what_controllers_push() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run/l2.p4");
    let directory = directory("compile").join("made");
    let to = directory.to_str().unwrap();
    for (form, extension) in [("text", "txtpb"), ("json", "json"), ("binary", "bin")] {
        let output = p4rack(&["compile", program, "-o", to, "--p4info-format", form]);
        assert!(output.status.success(), "{}", stderr(&output));
        let (config, info) = (directory.join("l2.p4"), directory.join(format!("l2.p4.p4info.{extension}")));
        let as_json = directory.join("l2.json");
        let reported = format!(
            "P4Info         {}\ndevice config  {}\nas JSON        {}\n",
            info.display(),
            config.display(),
            as_json.display()
        );
        assert_eq!(stdout(&output), reported);
        let again = p4rack(&["p4info", config.to_str().unwrap(), "--format", form]);
        assert_eq!(again.stdout, std::fs::read(&info).unwrap());
    }
    let output = p4rack(&["compile", program, "-o", to, "--format", "json"]);
    let reported: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reported["p4info"], format!("{to}/l2.p4.p4info.txtpb"));
    assert_eq!(reported["device_config"], format!("{to}/l2.p4"));
    // The tables are there for clients of BMv2, and the program for p4rack.
    let written = std::fs::read(reported["device_config_json"].as_str().unwrap()).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(written["p4_device_config"], std::fs::read_to_string(directory.join("l2.p4")).unwrap());
    assert!(!written["pipelines"][0]["tables"].as_array().unwrap().is_empty());
}

#[test]
fn compile_mistakes() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run/l2.p4");
    let before = std::fs::read(program).unwrap();
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run");
    check_mistake(&["compile", program, "-o", beside], &["l2.p4` is an input and is not overwritten"]);
    assert_eq!(std::fs::read(program).unwrap(), before);
    let directory = directory("compile-mistakes");
    let empty = directory.join("empty.p4");
    std::fs::write(&empty, "const bit<8> N = 1;\n").unwrap();
    let (empty, to) = (empty.to_str().unwrap(), directory.join("made"));
    check_mistake(&["compile", empty, "-o", to.to_str().unwrap()], &["the program has no `main`"]);
    check_mistake(&["compile", "no-such.p4", "-o", to.to_str().unwrap()], &["no-such.p4"]);
    check_mistake(&["compile", program, "-o", &format!("{empty}/made")], &["cannot be created"]);
    assert!(!to.exists());
}

#[test]
fn convert_makes_a_program_for_tna() {
    let out = directory("convert-tna");
    let program = out.join("forward.p4").display().to_string();
    let source = "examples/rcp/forward.p4";
    let converted = p4rack(&["convert", source, "--to", "tna", "-o", &program]);
    assert!(converted.status.success(), "{}", stderr(&converted));
    assert!(
        stderr(&converted).contains("note: packets that the parser rejects are dropped"),
        "{}",
        stderr(&converted)
    );
    let fits = p4rack(&["fit", &program, "--device", "tofino1"]);
    assert!(stdout(&fits).contains("ForwardIngress.hosts"), "{}{}", stdout(&fits), stderr(&fits));
    let refused = p4rack(&["convert", "examples/rcp/rcp.p4", "--to", "tna"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("P4R1803"), "{}", stderr(&refused));
}

#[test]
fn a_program_for_pna_runs() {
    let out = directory("run-pna");
    let program = out.join("nic.p4").display().to_string();
    let source = "#include <core.p4>
#include <pna.p4>
header first_t { bit<8> op; }
struct headers_t { first_t first; }
struct meta_t { }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start { packet.extract(hdr.first); transition accept; } }
control Pre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd, inout pna_pre_output_metadata_t ostd) { apply { } }
control Main(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd, inout pna_main_output_metadata_t ostd) {
    action send(PortId_t port) { send_to_port(port); }
    table route { key = { hdr.first.op: exact; } actions = { send; NoAction; } const entries = { 1: send((PortId_t)7); } }
    apply { route.apply(); } }
control D(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) { apply { packet.emit(hdr.first); } }
PNA_NIC(P(), Pre(), Main(), D()) main;
";
    std::fs::write(&program, source).expect("it is written");
    for engine in ["native", "interp"] {
        let ran = p4rack(&["run", &program, "--engine", engine, "--packet", "3:01ff", "--packet", "3:02ff"]);
        assert!(ran.status.success(), "{}", stderr(&ran));
        assert!(stdout(&ran).contains("out   7: 01ff"), "{}", stdout(&ran));
        assert!(stdout(&ran).contains("2 packets in, 1 out, 1 dropped"), "{}", stdout(&ran));
    }
    let mirrors = source.replace(
        "apply { route.apply(); }",
        "apply { mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)1); }",
    );
    std::fs::write(&program, mirrors).expect("it is written");
    let refused = p4rack(&["run", &program, "--packet", "3:01ff"]);
    assert!(stderr(&refused).contains("PNA's architecture file does not say"), "{}", stderr(&refused));
}

#[test]
fn split_writes_the_program_of_a_device_for_a_tofino() {
    let out = directory("split-tna");
    let folder = out.display().to_string();
    let split = p4rack(&["split", "examples/fat-tree/figure-7", "-o", &folder, "--tna", "edge-0-1"]);
    assert!(split.status.success(), "{}", stderr(&split));
    assert!(
        stderr(&split).contains("note: edge-0-1.tna.p4: packets that the parser rejects"),
        "{}",
        stderr(&split)
    );
    assert!(!stderr(&split).contains("does not fit"), "{}", stderr(&split));
    let large = p4rack(&["split", "examples/crosspod/split.toml", "-o", &folder, "--tna", "tor", "--ticks"]);
    let note = "note: tor.tna.p4: the program does not fit a Tofino 1: ";
    assert!(stderr(&large).contains(note), "{}", stderr(&large));
    let program = out.join("edge-0-1.tna.p4").display().to_string();
    let fits = p4rack(&["fit", &program, "--device", "tofino1"]);
    assert!(fits.status.success(), "{}", stderr(&fits));
    assert!(stdout(&fits).contains("of 12 stages"), "{}", stdout(&fits));
    assert!(stdout(&fits).contains("FirewallIngress.neighbours"), "{}", stdout(&fits));
    let json =
        p4rack(&["split", "examples/pias/plain.toml", "-o", &folder, "--tna", "tor", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["tna"][0]["device"], "tor");
    let refused = p4rack(&["split", "examples/firewall", "-o", &folder, "--tna", "tor"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("P4R1803") && stderr(&refused).contains("tor.p4:"),
        "{}",
        stderr(&refused)
    );
    let unknown = p4rack(&["split", "examples/firewall", "-o", &folder, "--tna", "s9"]);
    assert!(stderr(&unknown).contains("devices with a program: s1, s2, tor"), "{}", stderr(&unknown));
}

#[test]
fn merge_writes_the_merged_program_for_a_tofino() {
    let out = directory("merge-tna");
    let folder = out.join("merged").display().to_string();
    let programs = ["merge", "examples/lab/bridge.p4", "examples/lab/router.p4", "-o", &folder, "--tna"];
    let merge = |class: &str| p4rack(&[&programs[..], &["--class", class]].concat());
    let merged = merge("bridge=ipv4");
    assert!(merged.status.success(), "{}{}", stdout(&merged), stderr(&merged));
    assert!(stdout(&merged).contains("merged.tna.p4: frames have at least 60 bytes"), "{}", stdout(&merged));
    let program = out.join("merged/merged.tna.p4").display().to_string();
    let fits = p4rack(&["fit", &program, "--device", "tofino1"]);
    assert!(fits.status.success(), "{}", stderr(&fits));
    // With a VLAN tag the source ends after 34 bytes, and the parser sees 32.
    let far = merge("bridge=ipv4.src == 10.0.0.1");
    assert!(stdout(&far).contains("does not fit a Tofino 1: "), "{}", stdout(&far));
    let fits = p4rack(&["fit", &program, "--device", "tofino1"]);
    assert!(stderr(&fits).contains("a `lookahead` to bit 272"), "{}", stderr(&fits));
    // Ports of TCP may follow options of IPv4, up to a length that not every frame has.
    let refused = merge("bridge=tcp");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("does not have the length of a packet"), "{}", stderr(&refused));
}

#[test]
fn convert_makes_a_program_for_v1model() {
    let out = directory("convert");
    let path = |name: &str| out.join(name).display().to_string();
    let source = "crates/ir-interp/testdata/tna_profiles.p4";
    let (program, entries) = (path("profiles.p4"), path("profiles.toml"));
    let converted = p4rack(&["convert", source, "--to", "v1model", "-o", &program, "--entries", &entries]);
    assert!(converted.status.success(), "{}", stderr(&converted));
    assert!(stderr(&converted).contains("note: packets pass the pipeline twice"), "{}", stderr(&converted));
    let checked = p4rack(&["check", &program]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    let ran = p4rack(&["run", &program, "--packet", "1:0200000500000010"]);
    assert_eq!(stdout(&ran), stdout(&p4rack(&["run", source, "--packet", "1:0200000500000010"])));

    let registers = "crates/ir-interp/testdata/tna_registers.p4";
    let refused = p4rack(&["convert", registers, "--to", "v1model"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("P4R1803"), "{}", stderr(&refused));
}
