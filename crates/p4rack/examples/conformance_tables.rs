//! `conformance_tables DIR.. [--lines N] [--prove N] [--seed S] [--packets N] [NAME]`: can real programs be cut?
//!
//! The programs are those for v1model below the checkouts `DIR` with at least so many lines (500), included files of their own
//! counted; with `NAME` only the ones whose path contains it. Each statement that applies a table alone is a cut: it runs at
//! a second device, joined by one link. Where that is refused, the nearest cut around it that is not refused is searched. A cut
//! is accepted if the program is split and both parts, printed as P4, compile.
//!
//! Then the program is split so that at least a third of its tables run at the second device, and proved; of the single
//! cuts a sample of `N` is proved too. Fails where fewer than 90 % of a program's tables can be cut alone, where no split moves
//! a third of its tables, and on any difference. Where all generated packets are dropped, a proof shows little: then the
//! program without its `mark_to_drop` is split in the same way and proved too.

mod suite;

use base_diag::{Diagnostic, SourceMap};
use base_time::Rng;
use compiler::make_parts;
use ir::{Arch, Block, Call, Callee, Name, Program, StmtKind, visit};
use ir_footprint::analysis::nearest;
use ir_prove::{Case, Effort, prove};
use ir_split::auto::{self, Cut, Policy};
use ir_split::{Placement, split};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use suite::{Suite, caught, first};

/// The share of a program's tables that can be cut alone, in percent.
const FLOOR: usize = 90;
/// Splits that move many tables that are tried.
const MOST_TRIES: usize = 60;

struct Options {
    checkouts: Vec<PathBuf>,
    lines: usize,
    prove: usize,
    seed: u64,
    packets: usize,
    name: String,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = parse(&args) else { return ExitCode::from(2) };
    println!("| program | lines | tables | cut alone | with the nearest | moved at once | proved |");
    println!("|---|---|---|---|---|---|---|");
    let (mut tried, mut failed) = (0, 0);
    for checkout in &options.checkouts {
        let loader = Suite::new(checkout);
        for path in found(checkout) {
            let name = path.strip_prefix(checkout).unwrap_or(&path).display().to_string();
            if !name.contains(&options.name) {
                continue;
            }
            let mut map = SourceMap::new();
            let program = loader.compile(&path, &mut map).program;
            let lines = own_lines(&map);
            let Some(program) = program.filter(|p| matches!(p.arch, Arch::V1Model(_))) else { continue };
            if lines >= options.lines {
                tried += 1;
                let result = caught(|| Ok(Tried::of(&program, &map, &options)));
                failed += usize::from(!result.is_ok_and(|result| result.print(&name, lines)));
            }
        }
    }
    println!("\n{} of {tried} programs have what is asked for", tried - failed);
    if failed == 0 && tried > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(args: &[String]) -> Option<Options> {
    let mut options =
        Options { checkouts: vec![], lines: 500, prove: 0, seed: 1, packets: 200, name: String::new() };
    let mut rest = args;
    while let Some((arg, more)) = rest.split_first() {
        rest = more;
        if !arg.starts_with("--") {
            match Path::new(arg).is_dir() {
                true => options.checkouts.push(arg.into()),
                false => options.name = arg.clone(),
            }
            continue;
        }
        let (value, more) = rest.split_first()?;
        rest = more;
        match arg.as_str() {
            "--lines" => options.lines = value.parse().ok()?,
            "--prove" => options.prove = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--packets" => options.packets = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(options).filter(|o| !o.checkouts.is_empty())
}

/// Programs that may be long enough, without p4c's reference outputs and its programs with errors.
fn found(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    let mut programs = vec![];
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            if !name.ends_with("_outputs") && !name.ends_with("_errors") && !name.starts_with('.') {
                programs.extend(found(&path));
            }
        } else if path.extension().is_some_and(|e| e == "p4") && may_be_long(&path) {
            programs.push(path);
        }
    }
    programs
}

fn may_be_long(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.contains("V1Switch") && (text.contains("#include \"") || text.lines().count() >= 100)
}

/// Lines of all files but the architecture's, which are built in.
fn own_lines(map: &SourceMap) -> usize {
    let own = map.files().filter(|file| Path::new(file.name().as_str()).is_file());
    own.map(|file| file.text().lines().count()).sum()
}

/// Results of one program.
#[derive(Default)]
struct Tried {
    tables: usize,
    alone: usize,
    near: usize,
    cuts: usize,
    moved: Option<usize>,
    reasons: BTreeMap<String, (usize, String)>,
    proofs: Vec<String>,
    differences: usize,
}

impl Tried {
    fn of(program: &Arc<Program>, map: &SourceMap, options: &Options) -> Tried {
        let mut tried = Tried::default();
        let open = match auto::open(program) {
            Ok(open) => Arc::new(open),
            Err(found) => {
                tried.reasons.insert(reason(&found), (1, first(&found, map)));
                return tried;
            }
        };
        let single: Vec<Cut> = auto::cuts(&open, Policy::Tables)
            .into_iter()
            .filter(|cut| auto::table_at(&open, &cut.from).is_some())
            .collect();
        let all: BTreeSet<Name> = single.iter().flat_map(|cut| auto::tables_of(&open, cut)).collect();
        (tried.tables, tried.cuts) = (all.len(), single.len());
        let mut accepted = vec![];
        for cut in &single {
            let refused = match caught(|| Ok(parts(&open, std::slice::from_ref(cut)).err())) {
                Ok(None) => {
                    tried.alone += 1;
                    accepted.push(cut.clone());
                    continue;
                }
                Ok(Some(refused)) => refused,
                Err(panic) => {
                    tried.reasons.entry(panic).or_insert((0, cut.name.to_string())).0 += 1;
                    continue;
                }
            };
            let example = || format!("{}: {}", cut.name, first(&refused, map));
            tried.reasons.entry(reason(&refused)).or_insert_with(|| (0, example())).0 += 1;
            if let Ok(Some(near)) = caught(|| Ok(nearest(&open, cut))) {
                tried.near += 1;
                let tables = auto::tables_of(&open, &near).len();
                println!("    {}: refused alone, accepted in a region of {tables} tables", cut.name);
            }
        }
        tried.move_many(&open, options);
        Rng::new(options.seed).shuffle(&mut accepted);
        for cut in accepted.iter().take(options.prove) {
            tried.prove(&open, std::slice::from_ref(cut), options);
        }
        tried
    }

    /// Splits the program so that a third of its tables run elsewhere.
    fn move_many(&mut self, open: &Arc<Program>, options: &Options) {
        let wanted = self.tables.div_ceil(3).max(1);
        let tries = auto::large(open, wanted, "Moved").into_iter().take(MOST_TRIES);
        if let Some(cut) = tries.into_iter().find(|cut| is_split(open, cut)) {
            self.moved = Some(auto::tables_of(open, &cut).len());
            self.prove(open, &[cut], options);
        }
    }

    fn prove(&mut self, open: &Arc<Program>, cuts: &[Cut], options: &Options) {
        let effort = Effort { packets: options.packets, seed: options.seed, ..Effort::default() };
        let prove_one = |program: &Arc<Program>| {
            caught(|| {
                let (placement, parts) = parts(program, cuts).map_err(|found| reason(&found))?;
                let case =
                    Case { whole: Arc::clone(program), parts, placement, registry: netfn_registry::all() };
                prove(&case, &effort).map_err(|failure| failure.describe())
            })
        };
        let mut result = prove_one(open);
        let mut how = "";
        if result.as_ref().is_ok_and(|tried| tried.outputs == 0) {
            result = prove_one(&Arc::new(without_drops(open)));
            how = " (nothing dropped)";
        }
        match result {
            Ok(tried) => self.proofs.push(format!("{} frames, {} hops{how}", tried.outputs, tried.hops)),
            Err(why) => {
                self.differences += 1;
                println!("DIFFERENT {}\n{why}", cuts.first().map_or("", |cut| cut.name.as_str()));
            }
        }
    }

    /// Prints a row of the table and the refusals. Returns true if the targets are met.
    fn print(&self, name: &str, lines: usize) -> bool {
        for (why, (count, example)) in &self.reasons {
            println!("    {count:4}  {why}\n          {example}");
        }
        let moved = self.moved.map_or("none".to_string(), |moved| format!("{moved} of {}", self.tables));
        let proved = match (self.differences, self.proofs.first()) {
            (0, Some(proof)) => format!("{proof}; {} proofs", self.proofs.len()),
            (0, None) => "none".to_string(),
            (different, _) => format!("{different} DIFFERENT"),
        };
        println!(
            "| `{name}` | {lines} | {} | {} of {} | {} | {moved} | {proved} |",
            self.tables,
            self.alone,
            self.cuts,
            self.alone + self.near,
        );
        self.alone * 100 >= self.cuts * FLOOR
            && self.cuts > 0
            && self.moved.is_some()
            && self.differences == 0
    }
}

/// The program without its calls of `mark_to_drop`: the cuts of one are those of the other.
fn without_drops(program: &Program) -> Program {
    let mut kept = program.clone();
    let functions = program.extern_functions.clone();
    for control in &mut kept.controls {
        let blocks =
            std::iter::once(&mut control.body).chain(control.actions.iter_mut().map(|a| &mut a.body));
        for block in blocks {
            visit::stmts_mut(block, &mut |stmt| {
                if let StmtKind::Call(Call { callee: Callee::ExternFunction(id), .. }) = &stmt.kind
                    && functions[id.index()].name == "mark_to_drop"
                {
                    stmt.kind = StmtKind::Block(Block::default());
                }
            });
        }
    }
    kept
}

type Parts = (Placement, Vec<Option<ir_split::Part>>);

fn is_split(open: &Program, cut: &Cut) -> bool {
    let mut marked = open.clone();
    auto::mark(&mut marked, std::slice::from_ref(cut));
    caught(|| split(&marked, &Placement::alone(&cut.name)).map(drop).map_err(|_| String::new())).is_ok()
}

fn parts(open: &Program, cuts: &[Cut]) -> Result<Parts, Vec<Diagnostic>> {
    let mut marked = open.clone();
    auto::mark(&mut marked, cuts);
    let mut placement = Placement::alone("Cut");
    let other = placement.sites["Cut"].clone();
    placement.sites = cuts.iter().map(|cut| (cut.name.clone(), other.clone())).collect();
    let (_, parts, _) = make_parts(&marked, &placement, &mut SourceMap::new())?;
    Ok((placement, parts))
}

/// The first diagnostic without the names in it.
fn reason(found: &[Diagnostic]) -> String {
    let Some(diagnostic) = found.first() else { return "nothing said".to_string() };
    let label = diagnostic.labels.first().map_or("", |l| l.text.as_str());
    let text = format!("{} | {label}", diagnostic.title);
    let without: String =
        text.split('`').enumerate().map(|(i, piece)| if i % 2 == 0 { piece } else { "_" }).collect();
    format!("{} {without}", diagnostic.code)
}
