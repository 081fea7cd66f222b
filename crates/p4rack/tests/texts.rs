//! Every reader of text accepts a byte-order mark, Windows line ends and any character, and its errors can be rendered.
//!
//! The readers' own tests damage texts too, but never rendered the errors: places within a character passed them, and
//! the renderer ended the process.

use base_diag::{Diagnostic, SourceMap, Span, Style, render, to_json};
use base_time::Rng;
use compiler::reparse;
use ir::Program;
use p4_syntax::Options;
use p4rack::run::entries;
use p4runtime_proto::p4::v1::WriteRequest;
use plan_model::flightplan::{self, Config};
use std::path::Path;
use std::sync::Arc;

/// Reads a text from the map. Returns its diagnostics.
type Reader<'r> = Box<dyn Fn(&str, u32) -> Vec<Diagnostic> + 'r>;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn l2() -> Arc<Program> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/run/l2.p4");
    let program =
        p4rack::rack::compile_program(path, &Options::default(), &mut SourceMap::new(), &mut vec![]);
    program.expect("the program is right")
}

fn one<T>(read: Result<T, Diagnostic>) -> Vec<Diagnostic> {
    read.err().into_iter().collect()
}

/// A good text for each reader of text, with the reader.
fn readers<'a>(program: &'a Program, config: &'a Config) -> Vec<(&'static str, String, Reader<'a>)> {
    const TEST: &str = "# a test\nadd l2 hdr.ethernet.dst_addr:0x020000000002 forward(port:2)\n\
        packet 1 020000000002 020000000001 88b5 aabb\nexpect 2 0200000000020200000000018*b5 $\n\
        counter_read ports 1\nmeter_set_rates m 1 0.5:4 2:5\ncheck_counter ports(1) packets == 1\n";
    const CSV: &str = "name,props,bounds:lt:InputRate,g:aP:Latency,conclusion\nroute,CPU,10,5,p\n";
    let from_file = |name: &'static str| -> Reader<'a> {
        Box::new(move |text, base| {
            entries::read(program, Path::new(name), text, base).err().unwrap_or_default()
        })
    };
    let updates = file("cli/tests/run/l2.txtpb");
    let request: WriteRequest = p4runtime_proto::from_text(&updates).expect("it is one");
    let json = p4runtime_proto::to_json(&request).expect("it has a form");
    let devices = file("cli/tests/plan/devices.json");
    let known = flightplan::read_devices(&devices, 1, config).expect("they are right");
    vec![
        ("STF", TEST.to_string(), Box::new(|text, base| p4_stf::parse(text, base).1)),
        ("TOML", file("cli/tests/run/l2.toml"), from_file("l2.toml")),
        ("commands", file("cli/tests/run/l2.commands.txt"), from_file("l2.commands")),
        ("P4Runtime text", updates, from_file("l2.txtpb")),
        ("P4Runtime JSON", json, from_file("l2.json")),
        (
            "RACK.toml",
            file("../examples/slice/RACK.toml"),
            Box::new(|text, base| rack_model::read_rack(text, base).1),
        ),
        (
            "rules",
            file("cli/tests/plan/rules.txt"),
            Box::new(|text, base| {
                plan_model::read_rules(text, base, &mut config.signature.clone()).1.into_vec()
            }),
        ),
        (
            "CSV",
            CSV.to_string(),
            Box::new(|text, base| one(flightplan::read_performance_csv(text, base, &config.signature))),
        ),
        (
            "configuration",
            file("cli/tests/plan/config.json"),
            Box::new(|text, base| one(flightplan::read_config(text, base))),
        ),
        ("devices", devices, Box::new(|text, base| one(flightplan::read_devices(text, base, config)))),
        (
            "network",
            file("cli/tests/plan/network.json"),
            Box::new(move |text, base| one(flightplan::read_network(text, base, config, &known))),
        ),
        (
            "program",
            file("cli/tests/plan/program.json"),
            Box::new(|text, base| one(flightplan::read_program(text, base, "p", 0))),
        ),
    ]
}

/// All diagnostics of a text, as rendered.
fn shown(text: &str, read: &dyn Fn(&str, u32) -> Vec<Diagnostic>) -> String {
    let mut map = SourceMap::new();
    let file = map.add_file("given", text, Span::NONE).expect("room");
    let base = map.file(file).map_or(0, |file| file.base());
    all_forms(&read(text, base), &map)
}

fn all_forms(found: &[Diagnostic], map: &SourceMap) -> String {
    for diagnostic in found {
        render(diagnostic, map, Style::Color);
        to_json(diagnostic, map).to_string();
    }
    found.iter().map(|diagnostic| render(diagnostic, map, Style::Plain)).collect()
}

const PIECES: [&str; 18] = [
    "ü",
    "\u{feff}",
    "€",
    "😀",
    "\u{301}",
    "\r\n",
    "\r",
    "\t",
    "\u{0}",
    "\u{2028}",
    "\"",
    "[",
    "{",
    "=",
    ":",
    "0x",
    "#",
    "9999999999999999999999",
];

/// `text` with up to four places changed.
fn changed(rng: &mut Rng, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.between(1, 4) {
        let at = rng.between(0, chars.len() as u64) as usize;
        let to = (at + rng.between(0, 6) as usize).min(chars.len());
        chars.splice(at..to, rng.pick(&PIECES).expect("there are some").chars());
    }
    chars.into_iter().collect()
}

fn config() -> Config {
    flightplan::read_config(&file("cli/tests/plan/config.json"), 1).expect("it is right")
}

#[test]
fn marks_and_line_ends_change_nothing() {
    let (program, config) = (l2(), config());
    for (name, text, read) in readers(&program, &config) {
        let windows = text.replace('\n', "\r\n");
        for given in [text.clone(), format!("\u{feff}{text}"), windows.clone(), format!("\u{feff}{windows}")]
        {
            assert_eq!(shown(&given, &read), "", "{name}: {:?}", given.chars().take(40).collect::<String>());
        }
    }
    let p4 = file("cli/tests/run/l2.p4");
    for given in [p4.clone(), format!("\u{feff}{}", p4.replace('\n', "\r\n"))] {
        let mut map = SourceMap::new();
        assert!(reparse("given.p4", &given, &mut map).is_ok());
    }
}

#[test]
fn what_is_said_of_any_text_can_be_shown() {
    let (program, config) = (l2(), config());
    let mut rng = Rng::new(28).split("texts");
    for (name, text, read) in readers(&program, &config) {
        let mut refused = 0;
        for _ in 0..150 {
            refused += usize::from(!shown(&changed(&mut rng, &text), &read).is_empty());
        }
        assert!(refused > 50, "{name}: {refused} of 150 are refused");
    }
    let p4 = file("cli/tests/run/l2.p4");
    for _ in 0..40 {
        let mut map = SourceMap::new();
        if let Err(found) = reparse("given.p4", &changed(&mut rng, &p4), &mut map) {
            all_forms(&found, &map);
        }
    }
}

/// The lines that ended the process.
#[test]
fn lines_of_a_test_with_other_characters() {
    let read = |text: &str, base: u32| p4_stf::parse(text, base).1;
    assert!(shown("ü\n", &read).contains("expected a statement"));
    assert!(shown("expect ü\n", &read).contains("expected a port"));
    assert_eq!(shown("\u{feff}packet 1 aa\r\n", &read), "");
    assert!(shown("packet 99999999999 aa\n", &read).contains("this port is too large"));
}
