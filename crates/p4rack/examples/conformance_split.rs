//! `conformance_split DIR [--prove N] [--seed S] [--packets N] [NAME]`: how many statement borders are accepted as cuts.
//!
//! The programs are those of `examples` and those for v1model of the p4c checkout `DIR` that have a packet test; with
//! `NAME` only the ones whose path contains it. Each border of a program alone is a cut: the code from it to the end
//! of its block runs at a second device, joined by one link; or where that is refused all code after it, or the code to the
//! furthest border in the block that is not refused. A cut is accepted if the program is split and both parts, printed as P4, compile. Refusals are counted by reason: the code and the text of the first diagnostic. Of the
//! accepted cuts a sample of `N`, drawn from the seed, is proved by running. Fails below 95 %, and on any difference.

mod suite;

use base_diag::{Diagnostic, SourceMap};
use base_time::Rng;
use compiler::make_parts;
use ir::{Arch, Program};
use ir_prove::{Case, Effort, prove};
use ir_split::Placement;
use ir_split::auto::{self, Border};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use suite::{Suite, caught, first, in_directory, programs};

/// The share of borders that must be accepted, in percent.
const FLOOR: usize = 95;

struct Options {
    suite: PathBuf,
    prove: usize,
    seed: u64,
    packets: usize,
    name: String,
}

/// Refused cuts with one reason.
#[derive(Default)]
struct Reason {
    borders: usize,
    programs: usize,
    example: String,
}

/// End of the code that moves to the second device.
#[derive(Clone)]
enum Reach {
    /// At the end of the block.
    Block,
    /// At the end of the body.
    Body,
    /// At this border of the block.
    Border(Border),
}

/// One accepted cut.
struct Accepted {
    program: usize,
    border: Border,
    reach: Reach,
    line: String,
}

#[derive(Default)]
struct Tally {
    borders: usize,
    reasons: BTreeMap<String, Reason>,
    accepted: Vec<Accepted>,
    /// Accepted cuts that do not end with their block.
    others: usize,
    programs: Vec<Arc<Program>>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = parse(&args) else { return ExitCode::from(2) };
    let loader = Suite::new(&options.suite);
    let mut paths = shipped(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")));
    paths.extend(programs(&options.suite).into_iter().filter(|p| p.with_extension("stf").is_file()));
    paths.retain(|p| p.to_string_lossy().contains(&options.name));
    let mut tally = Tally::default();
    for path in &paths {
        let mut map = SourceMap::new();
        let program = loader.compile(path, &mut map).program;
        if let Some(program) = program.filter(|p| matches!(p.arch, Arch::V1Model(_))) {
            tally.add(path, program, &map);
        }
    }
    tally.print();
    let differences = tally.prove(&options);
    let is_enough = tally.accepted.len() * 100 >= tally.borders * FLOOR;
    if is_enough && differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(args: &[String]) -> Option<Options> {
    let (dir, mut rest) = args.split_first()?;
    let mut options = Options { suite: dir.into(), prove: 0, seed: 1, packets: 200, name: String::new() };
    while let Some((arg, more)) = rest.split_first() {
        rest = more;
        if !arg.starts_with("--") {
            options.name = arg.clone();
            continue;
        }
        let (value, more) = rest.split_first()?;
        rest = more;
        match arg.as_str() {
            "--prove" => options.prove = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--packets" => options.packets = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(options)
}

/// The programs below a directory.
fn shipped(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path());
    let mut below: Vec<_> = entries.filter(|p| p.is_dir()).collect();
    below.sort();
    in_directory(directory).into_iter().chain(below.iter().flat_map(|d| shipped(d))).collect()
}

impl Tally {
    fn add(&mut self, path: &Path, program: Arc<Program>, map: &SourceMap) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let open = match caught(|| Ok(auto::open(&program))) {
            Ok(Ok(open)) => open,
            Ok(Err(found)) => {
                let borders = auto::borders(&program);
                self.borders += borders.len();
                self.refuse(&reason(&found), borders.len(), &format!("{name}: {}", first(&found, map)));
                return;
            }
            Err(panic) => return self.refuse(&panic, 0, &name),
        };
        let before = self.reasons.values().map(|r| r.borders).sum::<usize>();
        let (mut reasons, borders) = (BTreeMap::<String, (usize, String)>::new(), auto::borders(&open));
        for border in &borders {
            let line = format!("{name}:{}", map.text(border.span).lines().next().unwrap_or(""));
            match caught(|| Ok(reach(&open, border, &borders))) {
                Ok(Ok(reach)) => {
                    self.others += usize::from(!matches!(reach, Reach::Block));
                    let (program, border) = (self.programs.len(), border.clone());
                    self.accepted.push(Accepted { program, border, reach, line });
                }
                Ok(Err(found)) => {
                    let entry = reasons.entry(reason(&found)).or_insert_with(|| (0, String::new()));
                    entry.0 += 1;
                    entry.1 = format!("{line}: {}", first(&found, map));
                }
                Err(panic) => reasons.entry(panic).or_insert((0, line)).0 += 1,
            }
        }
        self.borders += borders.len();
        for (why, (count, example)) in reasons {
            self.refuse(&why, count, &example);
        }
        let refused = self.reasons.values().map(|r| r.borders).sum::<usize>() - before;
        println!("{:4} of {:4} {name}", borders.len() - refused, borders.len());
        self.programs.push(Arc::new(open));
    }

    fn refuse(&mut self, why: &str, borders: usize, example: &str) {
        let reason = self.reasons.entry(why.to_string()).or_default();
        reason.borders += borders;
        reason.programs += 1;
        if reason.example.is_empty() {
            reason.example = example.to_string();
        }
    }

    fn print(&self) {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, r)| std::cmp::Reverse(r.borders));
        println!("\nrefused borders, programs, reason, first example");
        for (why, reason) in reasons {
            println!("{:5} {:4}  {why}\n              {}", reason.borders, reason.programs, reason.example);
        }
        let share = 100.0 * self.accepted.len() as f64 / self.borders.max(1) as f64;
        println!(
            "\naccepted {} of {} borders ({share:.2} %) in {} programs, {} of them by another end than that of the block; at least {FLOOR} % are asked for",
            self.accepted.len(),
            self.borders,
            self.programs.len(),
            self.others
        );
    }

    /// Proves a sample of the accepted cuts; gives the number of differences.
    fn prove(&self, options: &Options) -> usize {
        let mut order: Vec<&Accepted> = self.accepted.iter().collect();
        Rng::new(options.seed).shuffle(&mut order);
        let effort = Effort { packets: options.packets, seed: options.seed, ..Effort::default() };
        let (mut tried, mut outputs, mut different) = (0, 0, 0);
        for cut in order.into_iter().take(options.prove) {
            tried += 1;
            let whole = &self.programs[cut.program];
            let result = caught(|| {
                let (placement, parts) = parts(whole, &cut.border, &cut.reach).map_err(|d| reason(&d))?;
                let case =
                    Case { whole: Arc::clone(whole), parts, placement, registry: netfn_registry::all() };
                prove(&case, &effort).map_err(|failure| failure.describe())
            });
            match result {
                Ok(tried) => outputs += tried.outputs,
                Err(why) => {
                    different += 1;
                    println!("DIFFERENT {}\n{why}", cut.line);
                }
            }
        }
        if tried > 0 {
            println!("proved {} of {tried} cuts equal, {outputs} frames compared", tried - different);
        }
        different
    }
}

type Parts = (Placement, Vec<Option<ir_split::Part>>);

/// Extent of a cut at `border`.
fn reach(open: &Program, border: &Border, borders: &[Border]) -> Result<Reach, Vec<Diagnostic>> {
    let Err(refused) = parts(open, border, &Reach::Block) else { return Ok(Reach::Block) };
    let nearer = borders.iter().rev().filter(|end| end.is_behind(border)).cloned().map(Reach::Border);
    let mut others = std::iter::once(Reach::Body).chain(nearer);
    others.find(|reach| parts(open, border, reach).is_ok()).ok_or(refused)
}

fn parts(open: &Program, border: &Border, reach: &Reach) -> Result<Parts, Vec<Diagnostic>> {
    let mut marked = open.clone();
    let mut placement = Placement::alone("Cut");
    match reach {
        Reach::Block => auto::mark_from(&mut marked, border, "Cut"),
        Reach::Border(to) => auto::mark_between(&mut marked, border, to, "Cut"),
        Reach::Body => {
            let other = placement.sites["Cut"].clone();
            let names = auto::mark_onward(&mut marked, border, "Cut");
            placement.sites = names.into_iter().map(|name| (name, other.clone())).collect();
        }
    }
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
