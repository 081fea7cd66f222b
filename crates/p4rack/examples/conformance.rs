//! `conformance DIR [NAME]`: elaboration, printing and packet tests beside p4c's public test data.
//!
//! `DIR` is a checkout of p4lang/p4c; nothing of it is kept. Every program of its samples with a `main` must elaborate,
//! hold the verifier's rules, survive the IR's text form and be printed as source that means the same; every STF
//! test for v1model and PSA must pass, on the program as it is, as it is printed, and as machine code. With `NAME` only the programs
//! whose path contains it. Run by `cargo xtask conformance-stf --suite DIR`.

mod suite;

use base_diag::SourceMap;
use device::{Options, Switch};
use ir::{Arch, Program};
use ir_fill::run_stf;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use suite::{Suite, caught, first, programs};

/// Number of passed cases, and number of cases.
#[derive(Default)]
struct Score {
    good: u32,
    all: u32,
}

impl Score {
    fn add(&mut self, what: &str, program: &Path, result: Result<(), String>) {
        self.all += 1;
        match result {
            Ok(()) => self.good += 1,
            Err(why) => println!("{what:10} {}: {why}", program.display()),
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(dir) = args.first() else { return ExitCode::from(2) };
    let suite = Path::new(dir);
    let samples = suite.join("testdata/p4_16_samples");
    let name = args.get(1).map_or("", |n| n.as_str());
    let programs: Vec<_> =
        programs(suite).into_iter().filter(|p| p.to_string_lossy().contains(name)).collect();
    let loader = Suite::new(suite);
    let (mut elaborated, mut printed) = (BTreeMap::<String, Score>::new(), BTreeMap::<String, Score>::new());
    let [mut tested, mut tested_printed, mut tested_native] = [(); 3].map(|()| Score::default());
    let mut fallbacks = Fallbacks::default();
    let mut without_main = 0;
    for path in &programs {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let arch = architecture(&text, &samples);
        let program = match caught(|| elaborate(path, &loader)) {
            Err(why) if why.contains("P4R0302") => {
                without_main += 1;
                continue;
            }
            result => {
                let program = result.as_ref().ok().cloned();
                elaborated.entry(arch.clone()).or_default().add("elaborate", path, result.map(drop));
                program
            }
        };
        let Some(program) = program else { continue };
        let reprinted = caught(|| print_back(&program));
        let again = reprinted.as_ref().ok().cloned();
        printed.entry(arch).or_default().add("print", path, reprinted.map(drop));
        let stf = path.with_extension("stf");
        if !stf.is_file() || !matches!(program.arch, Arch::V1Model(_) | Arch::Psa { .. }) {
            continue;
        }
        tested.add("packets", path, caught(|| test(interpreter(&program)?, &stf)));
        tested_native.add("native", path, caught(|| test(native(path, &program, &mut fallbacks)?, &stf)));
        if let Some(again) = again {
            tested_printed.add("reprinted", path, caught(|| test(interpreter(&again)?, &stf)));
        }
    }
    let show = |name: &str, scores: &BTreeMap<String, Score>| {
        for (arch, score) in scores {
            println!("{name}  {:20} {} of {}", arch, score.good, score.all);
        }
    };
    show("elaborated", &elaborated);
    show("printed   ", &printed);
    println!("without a `main`: {without_main}");
    println!("STF tests passed: {} of {}", tested.good, tested.all);
    println!("as printed      : {} of {}", tested_printed.good, tested_printed.all);
    println!("as machine code : {} of {}", tested_native.good, tested_native.all);
    fallbacks.show();
    ExitCode::SUCCESS
}

fn elaborate(path: &Path, loader: &Suite) -> Result<Arc<Program>, String> {
    let mut map = SourceMap::new();
    let compiled = loader.compile(path, &mut map);
    let program = compiled.program.ok_or_else(|| first(&compiled.diagnostics, &map))?;
    ir::verify::verify(&program).map_err(|e| format!("verify: {}", e[0]))?;
    let mut plain = (*program).clone();
    ir::text::erase_spans(&mut plain);
    match ir::text::read(&ir::text::write(&program)) {
        Ok(read) if read == plain => Ok(program),
        Ok(_) => Err("the text form loses something".to_string()),
        Err(error) => Err(format!("the text form cannot be read: {error}")),
    }
}

fn print_back(program: &Program) -> Result<Arc<Program>, String> {
    let mut map = SourceMap::new();
    if let Some(refused) = target_p4::check(program).first() {
        return Err(first(std::slice::from_ref(refused), &map));
    }
    let text = target_p4::print(program);
    let again = compiler::reparse("printed.p4", &text, &mut map).map_err(|d| first(&d, &map))?;
    let names = |p: &Program| {
        let tables = p.controls.iter().flat_map(|c| &c.tables).map(|t| t.control_plane_name.clone());
        let objects = p.instances.iter().map(|i| i.control_plane_name.clone());
        tables.chain(objects).collect::<std::collections::BTreeSet<_>>()
    };
    match names(program) == names(&again) {
        true => Ok(again),
        false => Err("control-plane names differ".to_string()),
    }
}

/// Counts of programs and statements that the native engine leaves to the interpreter.
#[derive(Default)]
struct Fallbacks {
    programs: u32,
    /// Programs without machine code, and those with statements for the interpreter.
    without_code: u32,
    with_statements: u32,
    /// Statements by block and kind: count and programs.
    statements: BTreeMap<String, (u32, BTreeSet<String>)>,
}

impl Fallbacks {
    fn add(&mut self, path: &Path, report: &target_native::Report) {
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        self.programs += 1;
        self.without_code += u32::from(!report.compiled);
        self.with_statements += u32::from(!report.fallbacks.is_empty());
        for (block, kind) in &report.fallbacks {
            let (count, programs) = self.statements.entry(format!("{block:?}: {kind}")).or_default();
            *count += 1;
            programs.insert(name.clone());
        }
    }

    fn show(&self) {
        println!(
            "programs with tests: {}, without machine code: {}, with statements for the interpreter: {}",
            self.programs, self.without_code, self.with_statements
        );
        for (kind, (count, programs)) in &self.statements {
            let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
            println!("  {count:4} {kind} ({})", programs.join(", "));
        }
    }
}

fn interpreter(program: &Arc<Program>) -> Result<Switch, String> {
    ir_interp::switch(Arc::clone(program), Options::default()).map_err(|d| first(&d, &SourceMap::new()))
}

fn native(path: &Path, program: &Program, fallbacks: &mut Fallbacks) -> Result<Switch, String> {
    let engine = target_native::Engine::compile(program, Options::default());
    let engine = engine.map_err(|d| first(&d, &SourceMap::new()))?;
    fallbacks.add(path, &engine.report());
    Ok(engine.into_switch())
}

fn test(mut switch: Switch, stf: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(stf).map_err(|e| e.to_string())?;
    let mut map = SourceMap::new();
    let Ok(file) = map.add_file(stf.to_string_lossy(), text.as_str(), base_diag::Span::NONE) else {
        return Err("too large".to_string());
    };
    let (test, problems) = p4_stf::parse(&text, map.file(file).map_or(0, |f| f.base()));
    if !problems.is_empty() {
        return Err(first(&problems, &map));
    }
    let report = run_stf(&mut switch, &test);
    if report.passed() { Ok(()) } else { Err(first(&report.problems, &map)) }
}

/// Name of the architecture, judged by the included files.
fn architecture(text: &str, _: &Path) -> String {
    let included = |name: &str| text.contains(&format!("<{name}>")) || text.contains(&format!("\"{name}\""));
    for name in
        ["dpdk/psa.p4", "dpdk/pna.p4", "v1model.p4", "psa.p4", "pna.p4", "ebpf_model.p4", "ubpf_model.p4"]
    {
        if included(name) || included(&format!("bmv2/{name}")) {
            return name.trim_end_matches(".p4").to_string();
        }
    }
    if text.contains("V1Switch") { "v1model".to_string() } else { "own".to_string() }
}
