//! The example of every explanation (`p4rack explain CODE`) gives its code, when the built command is run on it.
//!
//! An example is a whole file, or a piece of one that `tests/explanations` has the rest of. Codes of elaboration (03xx) are tested
//! in `p4rack`, whose test checks their examples in other respects, too. Before this test only those were run, and others described
//! limits that had been lifted.

use base_diag::codes::{self, Entry};
use std::path::{Path, PathBuf};
use std::process::Command;

const CONTROL: &str = include_str!("explanations/control.p4");
const PROGRAM: &str = include_str!("explanations/program.p4");
const ROUTER: &str = include_str!("explanations/router.p4");
const RACK: &str = include_str!("explanations/RACK.toml");

/// Three switches with a host each; who joins them makes the ring.
const RING: &str = r#"
[rack]
name = "ring"
seed = 1
[device.s1]
class = "switch"
[device.s2]
class = "switch"
[device.s3]
class = "switch"
[host.h1]
mac = "02:00:00:00:01:01"
ip = "10.0.1.1/24"
[host.h3]
mac = "02:00:00:00:03:01"
ip = "10.0.1.3/24"
[[link]]
ends = ["h1", "s1:1"]
[[link]]
ends = ["h3", "s3:1"]
[[app]]
program = "program.p4"
origin = ["s1", "s2", "s3"]
entries = "flood.toml"
[[workload]]
kind = "ping"
from = "h1"
to = "h3"
count = 1
"#;

/// To all ports but the one that a frame came by.
const FLOOD: &str =
    "control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { sm.mcast_grp = 1; }
}
control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { if (sm.egress_port == sm.ingress_port) { mark_to_drop(sm); } }
}";

/// Codes whose examples are not run, with the reason.
const NOT_RUN: &[(u16, &str)] = &[
    (
        407,
        "the command takes source, and what is made of source is well formed: the test of this name in `p4rack` runs it",
    ),
    (1201, FRAGMENT),
    (1202, FRAGMENT),
    (1203, FRAGMENT),
    (1301, NO_COMMAND),
    (1302, NO_COMMAND),
    (1303, NO_COMMAND),
    (1501, "the example is a part of a program: `ir-split/testdata/refused` has programs"),
    (1701, REFUSED),
    (1702, REFUSED),
    (1703, REFUSED),
    (1704, REFUSED),
    (1705, REFUSED),
    (1706, REFUSED),
    (1609, "workers read data while a job runs: `tests/job.rs` runs one without data"),
    (1610, "a worker vanishes while a job runs: `tests/job.rs` runs one without workers"),
    (1801, "the example is a part of a program: `ir-interp/tests/tna.rs` has whole ones"),
    (1803, "the example is a part of a program: `target-v1model/tests/refusals.rs` has whole ones"),
    (1802, "the example is a part of a program: `ir-interp/tests/tna.rs` has whole ones"),
];

const REFUSED: &str = "the example is a part: `ir-split/testdata/refused/headerless*.p4` are whole programs";
const FRAGMENT: &str = "the example is a part of a program: the programs of `ir-keys/tests` give it";
const NO_COMMAND: &str = "no command shows it yet";

/// Files, and the arguments of the command that is run beside them.
struct Way {
    files: Vec<(&'static str, String)>,
    args: Vec<String>,
}

fn way(args: &str, files: Vec<(&'static str, String)>) -> Way {
    Way { files, args: args.split_whitespace().map(str::to_string).collect() }
}

/// The first example of an explanation.
fn example(entry: &Entry) -> &str {
    let (_, rest) = entry.text.split_once("```").expect("an example");
    let (_, rest) = rest.split_once('\n').expect("the first line of the example");
    rest.split_once("\n```").expect("the example's end").0
}

/// A program whose ingress is `body`: declarations and an `apply`.
fn control(body: &str) -> String {
    let without = |line: &&str| line.contains("sampler") && !body.contains("sampler");
    let lines: Vec<&str> = CONTROL.lines().filter(|line| !without(line)).collect();
    lines.join("\n").replace("// EXAMPLE", body)
}

/// A program with these declarations, which has an ingress of its own if they have none.
fn program(declarations: &str) -> String {
    let mut all = declarations.to_string();
    if !all.contains("struct metadata_t") {
        all = format!("struct metadata_t {{}}\n{all}");
    }
    let has = |name: &str| all.contains(&format!("extern {name} "));
    let (object, body) = match (has("Beacon"), has("Ewma")) {
        (true, _) => ("Beacon(4, 100) beacon;", "beacon.process();"),
        (_, true) => ("Ewma(3) average;", "average.update(1);"),
        _ => ("", ""),
    };
    if !all.contains("control ingress") {
        all += &format!(
            "\ncontrol ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
                 {object}
                 apply {{ {body} }}
             }}"
        );
    }
    PROGRAM.replace("// EXAMPLE", &all)
}

/// The rack, with all regions of a program on the SmartNIC.
fn rack(program: &str) -> String {
    let names = program.split("@region(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut map: Vec<String> = names.map(|name| format!("{name} = \"nic\"")).collect();
    map.dedup();
    RACK.replace("map = {}", &format!("map = {{ {} }}", map.join(", ")))
}

/// `text` with all from `from` up to `to` replaced.
fn replaced(text: &str, from: &str, to: &str, by: &str) -> String {
    let start = text.find(from).expect("where it begins");
    let end = text[start..].find(to).map_or(text.len(), |at| start + at);
    format!("{}{by}\n\n{}", &text[..start], &text[end..])
}

/// Functions of which each calls the one before it, with blocks in blocks around the call.
fn deep() -> String {
    let (open, close) = ("{".repeat(20), "}".repeat(20));
    let calls = (1..40).map(|i| {
        format!(
            "bit<8> f{i}(in bit<8> x) {{ bit<8> y = 0; {open} y = f{}(x) + 1; {close} return y; }}\n",
            i - 1
        )
    });
    let first = "bit<8> f0(in bit<8> x) { return x; }\n".to_string();
    let ingress =
        "control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
        bit<8> x = 1;
        apply { x = f39(x); sm.priority = x[2:0]; }
    }";
    std::iter::once(first).chain(calls).chain([ingress.to_string()]).collect()
}

/// How the example of a code is run.
fn way_of(code: u16, text: &str) -> Way {
    const PACKET: &str = "run program.p4 --packet 1:00";
    let text = text.to_string();
    let split =
        |program: String| way("split . -o out", vec![("RACK.toml", rack(&program)), ("program.p4", program)]);
    match code {
        100..=299 => way("check program.p4", vec![("program.p4", text)]),
        901 | 902 => way("lab topology.json", vec![("topology.json", text)]),
        402 => way(PACKET, vec![("program.p4", control(&text))]),
        404 => way(PACKET, vec![("program.p4", program(&deep()))]),
        406 => {
            let beacon = "@frame_extern(\"beacon\") extern Beacon { Beacon(bit<32> every, bit<48> idle_us); void process(); }";
            way(PACKET, vec![("program.p4", program(&format!("{beacon}\n{text}")))])
        }
        401 | 403 | 405 => way(PACKET, vec![("program.p4", program(&text))]),
        408 | 409 => way("check program.p4", vec![("program.p4", program(&text))]),
        420..=422 => {
            way("run router.p4 test.stf", vec![("router.p4", ROUTER.into()), ("test.stf", text + "\n")])
        }
        440 | 441 => {
            let files = vec![("router.p4", ROUTER.into()), ("entries.toml", text + "\n")];
            way("run router.p4 --entries entries.toml --packet 1:00", files)
        }
        442..=444 => {
            let args = text.split('#').next().unwrap_or("").trim_start_matches("$ p4rack").to_string();
            way(&args, vec![("router.p4", ROUTER.into()), ("in.pcap", "no capture".into())])
        }
        445 => {
            let files = vec![("router.p4", ROUTER.into()), ("commands.txt", text + "\n")];
            way("run router.p4 --entries commands.txt --packet 1:00", files)
        }
        1101 => {
            let files = vec![("program.p4", control(&text)), ("router.p4", ROUTER.into())];
            way("merge program.p4 router.p4 --class program=ipv4", files)
        }
        1102 | 1103 => {
            let apps = text.replace("[[app]]", "[[app]]\norigin = \"tor\"");
            let rack = replaced(RACK, "[[app]]", "\0", &apps);
            way("merge .", vec![("RACK.toml", rack), ("program.p4", ROUTER.into())])
        }
        502 => {
            let rack = replaced(RACK, "[[app]]", "\0", &text);
            way("split .", vec![("RACK.toml", rack), ("router.p4", ROUTER.into())])
        }
        508 => {
            let rack = replaced(RACK, "[[link]]\nends = [\"nic", "\0", &text);
            way("split .", vec![("RACK.toml", rack), ("router.p4", ROUTER.into())])
        }
        511 => {
            let link = text + "\nrate = \"1Gbit/s\"";
            let rack = replaced(&rack(ROUTER), "[[link]]\nends = [\"nic", "[[app]]", &link);
            way("split .", vec![("RACK.toml", rack), ("program.p4", ROUTER.into())])
        }
        510 => {
            let rack = rack(&control(&text))
                .replace("Acl = \"nic\"", "Acl = { device = \"nic\", policy = \"call\" }");
            way("split . -o out", vec![("RACK.toml", rack), ("program.p4", control(&text))])
        }
        500..=599 => split(control(&text)),
        // The example says the rate that is missing.
        612 => {
            let link = text.lines().filter(|line| !line.starts_with("rate")).collect::<Vec<_>>().join("\n");
            let rack = replaced(RACK, "[[link]]\nends = [\"h1", "[[link]]\nends = [\"h2", &link);
            way("up .", vec![("RACK.toml", rack), ("program.p4", ROUTER.into())])
        }
        608 | 610 | 710 => {
            way("up .", vec![("RACK.toml", format!("{RACK}\n{text}\n")), ("program.p4", ROUTER.into())])
        }
        600..=699 => way("up .", vec![("RACK.toml", text)]),
        701 => way(
            "split .",
            vec![("RACK.toml", replaced(RACK, "[[app]]", "\0", &(text + "\norigin = \"tor\"")))],
        ),
        703 | 707 => {
            let (body, command) = match code {
                703 => ("sampler.process();", "split ."),
                _ => ("acl.apply();", "switch RACK.toml"),
            };
            let program = control(&format!("apply {{ @region(\"R\") {{ {body} }} }}"));
            let rack = replaced(&rack(&program), "[device.nic]", "[host.h1]", &text);
            let files = vec![("RACK.toml", rack), ("program.p4", program), ("nic.stf", String::new())];
            way(command, files)
        }
        704 => way("split .", vec![("RACK.toml", text)]),
        708 => split(control("apply { @region(\"R\") { sampler.process(); } }")),
        709 => {
            let workload = "[[workload]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 1\n";
            let program = control("apply { acl.apply(); }");
            way("up .", vec![("RACK.toml", format!("{RACK}\n{workload}")), ("program.p4", program)])
        }
        706 => {
            let workload = "[[workload]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 1\n";
            let rack = format!("{RACK}\n{workload}\n{text}\n");
            way("up .", vec![("RACK.toml", rack), ("program.p4", control("apply { acl.apply(); }"))])
        }
        711 => {
            let files = vec![
                ("RACK.toml", format!("{RING}\n{text}\n")),
                ("program.p4", program(FLOOD).replace("MyEgress(), ", "egress(), ")),
                ("flood.toml", "[[multicast]]\ngroup = 1\nmembers = [1, 2, 3]\n".into()),
            ];
            way("up .", files)
        }
        809 => way(
            "fit router.p4 --device device.toml",
            vec![("router.p4", ROUTER.into()), ("device.toml", text)],
        ),
        810 => {
            let actions = "action permit() {} action deny() { mark_to_drop(std); }";
            let program = CONTROL.replace("table acl {", "table unused {");
            let program =
                program.replace("// EXAMPLE", &format!("{actions} {text} apply {{ acl.apply(); }}"));
            way("fit program.p4 --device tofino1", vec![("program.p4", program)])
        }
        800..=899 => plan(code, text),
        1606 => way(
            "job check a.job --rack .",
            vec![("RACK.toml", RACK.into()), ("program.p4", ROUTER.into()), ("a.job", text)],
        ),
        1600..=1699 => way("job check a.job", vec![("a.job", text)]),
        1001..=1099 => way("check limits.p4 --device flexswitch", vec![("limits.p4", control(&text))]),
        1401..=1499 => handler(code, &text),
        _ => panic!("how is the example of {code} run?"),
    }
}

/// A program that calls a handler, and its source.
fn handler(code: u16, text: &str) -> Way {
    let two = text.contains("snat_alloc");
    let (name, call) = if two { ("snat_alloc", "snat_alloc(q, r);") } else { ("count", "count(q);") };
    let (request, response) =
        ("struct request_t { bit<32> src; }\n", "struct response_t { bit<16> port; }\n");
    let declared = match (code, two) {
        (1401, _) => text.to_string(),
        (1405 | 1406, _) => format!("{request}{text}"),
        (_, true) => format!(
            "{request}{response}@remote(handler = \"{name}\") extern bool {name}(in request_t q, out response_t r);"
        ),
        _ => format!("{request}@remote(handler = \"{name}\") extern bool {name}(in request_t q);"),
    };
    let ingress = format!(
        "control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
            request_t q; {} apply {{ {call} }}
        }}",
        if two { "response_t r;" } else { "" }
    );
    let program = program(&format!("{declared}\n{ingress}"));
    let source = match code {
        1403 => text.to_string(),
        1405 => "#include \"snat.h\"\nint other(void) { return 0; }\n".to_string(),
        _ => format!("#include \"snat.h\"\n#include <time.h>\n{text}\n"),
    };
    let files = vec![("snat.p4", program.clone()), ("handler.c", source)];
    match code {
        1401 | 1402 => way("run snat.p4 --packet 1:00", files),
        1406 => {
            let rack = rack(&program).replace("\"program.p4\"", "\"snat.p4\"\nhandlers = [\"handler.c\"]");
            let source =
                "#include \"snat.h\"\nint count(p4r_ctx *ctx, const request_t *q) { return P4R_OK; }\n";
            let files = vec![("snat.p4", program), ("handler.c", source.to_string()), ("RACK.toml", rack)];
            way("split . -o out", files)
        }
        _ => way("run snat.p4 --packet 1:00 --isolate --handlers handler.c", files),
    }
}

/// The example in the place of one of the files of `tests/plan`.
fn plan(code: u16, text: String) -> Way {
    let many: String = (0..100).map(|i| format!("once V{i} [W];\n")).collect();
    let (file, text) = match code {
        804 => ("devices.json", text),
        806 => ("program.json", text),
        807 => ("rules.txt", many),
        _ => ("rules.txt", text),
    };
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan");
    let names = ["config.json", "devices.json", "network.json", "program.json", "rules.txt"];
    let read = |name: &str| std::fs::read_to_string(data.join(name)).expect("a file of the plan");
    let files = names.map(|name| (name, if name == file { text.clone() } else { read(name) }));
    let args = "plan program.json --rules rules.txt --focus tor --config config.json --devices devices.json --network network.json";
    way(args, files.into())
}

/// Output of the command for the files.
fn said(place: &Path, way: &Way) -> String {
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(place).expect("a directory for the test");
    for (name, text) in &way.files {
        std::fs::write(place.join(name), text).expect("it is written");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let output = command.args(&way.args).current_dir(place).output().expect("the binary runs");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_example_gives_its_code() {
    let place: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explanations");
    let mut wrong = vec![];
    for entry in codes::all() {
        let code = entry.code.0;
        if code / 100 == 3 || NOT_RUN.iter().any(|(known, _)| *known == code) {
            continue;
        }
        let way = way_of(code, example(entry));
        let said = said(&place, &way);
        if !said.contains(&format!("[{}]", entry.code)) {
            wrong.push(format!("{}: `p4rack {}` says\n{said}", entry.code, way.args.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{} examples do not give their code\n{}", wrong.len(), wrong.join("\n"));
}
