//! Whatever `check` accepts goes through every command without a panic: `ir`, `p4info`, `compile`, `analyze`, `split`, `run`.
//!
//! The programs are those of the interpreter's tests, one in which the types of the blocks' parameters take turns, and all of
//! these with words replaced by other words of the same program. A split part that the front end refuses is a finding, too.
//!
//! `P4_FUZZ_CASES` changed programs for each program (20 unless set), from `P4_FUZZ_SEED` on. Before this test only `check` was tried on
//! programs that nobody would write.

use crate::support;

use base_diag::{Diagnostic, Severity, SourceMap};
use base_time::Rng;
use compiler::p4info::Form;
use compiler::{Until, compile};
use features::setting;
use ir_split::auto::{self, Policy};
use p4_arch::Texts;
use p4_syntax::Options;
use p4rack::run::feed::Feed;
use p4rack::run::spec::hex_packet;
use p4rack::run::{Engine, Job};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// A program that `check` accepts, with what was done to it.
struct Tried<'s> {
    source: &'s str,
    findings: &'s mut Vec<String>,
}

impl Tried<'_> {
    /// One command. Its answer does not matter, but for a panic.
    fn step<T>(&mut self, name: &str, run: impl FnOnce() -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(run));
        if done.is_err() {
            self.findings.push(format!("{name} panics:\n{}", self.source));
        }
        done.ok()
    }
}

/// True if `check` accepts the program.
fn every_command(source: &str, findings: &mut Vec<String>) -> bool {
    let texts = [("t.p4", source)];
    let loader = Texts(&texts);
    let mut map = SourceMap::new();
    let checked = compile("t.p4", &loader, &Options::default(), Until::Checked, &mut map);
    if checked.diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return false;
    }
    let mut tried = Tried { source, findings };
    let mut map = SourceMap::new();
    let compiled = tried.step("elaboration", || {
        compile("t.p4", &loader, &Options::default(), Until::Elaborated, &mut map).program
    });
    let Some(Some(program)) = compiled else { return true };
    tried.step("ir", || ir::text::read(&ir::text::write(&program)).map(|_| ()));
    tried.step("ir --lowered", || ir_lower::lower(&program).map(|_| ()));
    tried.step("p4info", || (p4info::p4info(&program).is_ok(), p4info::entries(&program).is_ok()));
    if let Some(Err(found)) =
        tried.step("compile", || compiler::pushed::pushed(&program, Form::Text).map(|_| ()))
    {
        refused_by_front_end("compile", &found, &mut tried);
    }
    tried.step("analyze", || {
        ir_footprint::analysis::regions(&program, Some(Policy::Tables), false, &map).map(|_| ())
    });
    split(&program, &mut tried);
    for engine in [Engine::Interp, Engine::Native] {
        let job = Job {
            program: Arc::clone(&program),
            fillings: vec![],
            seed: 1,
            interval: None,
            cpu_port: None,
            trace: false,
            engine,
            registry: netfn_registry::all(),
        };
        tried.step("run", || {
            let mut feed = Feed::new(None);
            for packet in ["1:", "1:00", "2:0102030405060708090a0b0c08004500002801020304050607080910"] {
                feed.packet(hex_packet(packet).expect("a packet"));
            }
            job.feed(&mut feed, &mut |_| Ok(())).is_ok()
        });
    }
    true
}

/// Splits the tables off as regions on a second device, one after the other.
fn split(program: &Arc<ir::Program>, tried: &mut Tried<'_>) {
    let marked = tried.step("marks", || {
        let mut marked = auto::open(program).ok()?;
        let cuts = auto::cuts(&marked, Policy::Tables);
        auto::mark(&mut marked, &cuts);
        Some((marked, cuts))
    });
    let Some(Some((marked, cuts))) = marked else { return };
    for cut in cuts.iter().take(2) {
        let placement = support::placement(&[cut.name.as_str()]);
        let made = tried
            .step("split", || compiler::make_parts(&marked, &placement, &mut SourceMap::new()).map(|_| ()));
        if let Some(Err(found)) = made {
            refused_by_front_end("split", &found, tried);
        }
    }
}

/// Adds a finding if p4rack's front end refuses a program that p4rack printed.
fn refused_by_front_end(what: &str, found: &[Diagnostic], tried: &mut Tried<'_>) {
    if let Some(wrong) = found.iter().find(|d| d.code.0 < 300 && d.severity == Severity::Error) {
        tried.findings.push(format!("{what} prints what is refused: {}:\n{}", wrong.title, tried.source));
    }
}

/// A v1model program with headers and metadata of these types.
fn with_types(headers: &str, metadata: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> a; }}
header empty_t {{}}
header_union either_t {{ h_t a; }}
struct none_t {{}}
struct headers_t {{ h_t h; }}
struct mixed_t {{ bit<8> x; headers_t n; tuple<bit<8>, bool> t; }}
struct stacks_t {{ h_t[2] s; either_t[2] u; }}
enum kind_t {{ X, Y }}
enum bit<8> code_t {{ A = 1 }}
type bit<8> number_t;
type number_t numbers_t;
type bool flag_t;
struct news_t {{ number_t a; numbers_t b; flag_t c; }}
parser P(packet_in p, out {headers} h, inout {metadata} m, inout standard_metadata_t s) {{
    state start {{ transition accept; }}
}}
control C(inout {headers} h, inout {metadata} m) {{ apply {{ }} }}
control I(inout {headers} h, inout {metadata} m, inout standard_metadata_t s) {{
    action a() {{ s.egress_spec = 2; }}
    table t {{ key = {{ s.ingress_port: exact; }} actions = {{ a; NoAction; }} default_action = a(); }}
    {metadata} kept;
    apply {{ kept = m; t.apply(); m = kept; }}
}}
control E(inout {headers} h, inout {metadata} m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in {headers} h) {{ apply {{ }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    )
}

/// Types of [`TYPES`] that are structs.
const STRUCTS: usize = 5;

/// The structs first.
const TYPES: [&str; 22] = [
    "none_t",
    "headers_t",
    "mixed_t",
    "stacks_t",
    "news_t",
    "h_t",
    "empty_t",
    "either_t",
    "kind_t",
    "code_t",
    "number_t",
    "numbers_t",
    "flag_t",
    "bit<8>",
    "int<8>",
    "bool",
    "varbit<8>",
    "error",
    "h_t[2]",
    "headers_t[2]",
    "tuple<bit<8>>",
    "tuple<h_t>",
];

#[test]
fn types_of_the_blocks_parameters() {
    let mut findings = vec![];
    for (number, ty) in TYPES.into_iter().enumerate() {
        let programs = [with_types(ty, "none_t"), with_types("headers_t", ty)];
        let accepted = programs.map(|program| every_command(&program, &mut findings));
        assert_eq!(accepted, [number < STRUCTS; 2], "{ty}");
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn changed_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ir-interp/testdata");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("testdata").flatten().map(|f| f.path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "p4"));
    files.sort();
    let (cases, seed) = (setting("P4_FUZZ_CASES", 20), setting("P4_FUZZ_SEED", 1));
    let (mut findings, mut accepted) = (vec![], 0);
    for (index, file) in files.iter().enumerate() {
        let source = std::fs::read_to_string(file).expect("a program");
        let mut rng = Rng::new(seed.wrapping_mul(1000).wrapping_add(index as u64));
        every_command(&source, &mut findings);
        for _ in 0..cases {
            accepted += u64::from(every_command(&changed(&source, &mut rng), &mut findings));
        }
    }
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    assert!(accepted * 20 > cases * files.len() as u64, "`check` accepts {accepted}");
}

/// Words that can often stand for one another.
const ALIKE: [&[&str]; 4] = [
    &["exact", "ternary", "lpm", "range", "optional", "selector"],
    &["in", "out", "inout"],
    &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "++", "|+|", "|-|", "==", "!=", "<", ">="],
    &["0", "1", "2", "7", "8", "16", "32", "33", "48", "255", "1000"],
];

/// Types that replace `bit<8>` and the like.
const WIDTHS: [&str; 10] =
    ["bit<1>", "bit<8>", "bit<9>", "bit<32>", "bit<129>", "int<8>", "int<32>", "bool", "varbit<16>", "error"];

/// `source` with one or two of its words or types in the place of others.
fn changed(source: &str, rng: &mut Rng) -> String {
    let mut out = source.to_string();
    for _ in 0..=rng.below(2) {
        let all = pieces(&out);
        if all.is_empty() {
            // A program that only includes another one.
            break;
        }
        let types: Vec<&(usize, String)> =
            all.iter().filter(|(_, piece)| piece.starts_with("bit<")).collect();
        let (at, piece) = match rng.pick(&types) {
            Some(found) if rng.below(3) == 0 => (*found).clone(),
            _ => all[rng.index(all.len())].clone(),
        };
        let by = match ALIKE.iter().find(|alike| alike.contains(&piece.as_str())) {
            _ if piece.starts_with("bit<") => (*rng.pick(&WIDTHS).unwrap_or(&"bool")).to_string(),
            Some(alike) => (*rng.pick(alike).unwrap_or(&"0")).to_string(),
            None => all[rng.index(all.len())].1.clone(),
        };
        out.replace_range(at..at + piece.len(), &by);
    }
    out
}

/// The words, numbers, operators and `bit<N>` of a program below its first lines, with their places.
fn pieces(source: &str) -> Vec<(usize, String)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = vec![];
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let len = match first {
            _ if rest.starts_with("//") || rest.starts_with('#') => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("bit<") => rest.find('>').map_or(4, |end| end + 1),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c if "+-*/%&|^<>=!".contains(c) => {
                rest.find(|c| !"+-*/%&|^<>=!".contains(c)).unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let piece = &rest[..len];
        let kept = piece.starts_with(is_word) || ALIKE.iter().any(|alike| alike.contains(&piece));
        if kept && !rest.starts_with("//") {
            found.push((at, piece.to_string()));
        }
        at += len;
    }
    found
}
