//! `generate-split`: random programs with random cuts over several devices, each proved.
//!
//! Program I of a run with seed S is made from the seed S + I, so `--programs 1 --seed N` makes one again.

use ir_prove::Effort;
use ir_prove::faults::{FAULTS, Fault};
use p4_generate::check::{Finding, Step};
use p4_generate::inputs::Inputs;
use p4_generate::split::{CutProgram, cut, notices, parts_of, prove_cut, prove_text};
use p4_generate::{Config, Shrunk, generate, shrink};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Attempts of the shrinker.
const ATTEMPTS: usize = 1500;

/// Bytes of stack for each worker: nested blocks and expressions are walked by recursion.
const STACK: usize = 256 << 20;

/// Findings that are shown; the rest is counted.
const SHOWN: usize = 6;

/// Entries for each key of a table.
const ENTRIES: usize = 4;

/// Percentage of programs that are easy to cut.
const PLAIN: u64 = 60;

/// The command's options.
pub struct Options {
    programs: u64,
    seed: u64,
    jobs: u64,
    packets: usize,
    config: Config,
    shrink: bool,
    file: Option<String>,
    faults: bool,
}

impl Options {
    /// From the arguments; none if they are wrong.
    pub fn parse(args: &[&str]) -> Option<Options> {
        let config = Config { plain: PLAIN, ..Config::default() };
        let mut options = Options {
            programs: 100,
            seed: 1,
            jobs: 1,
            packets: 24,
            config,
            shrink: true,
            file: None,
            faults: false,
        };
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            match *option {
                "--programs" => options.programs = rest.next()?.parse().ok()?,
                "--seed" => options.seed = rest.next()?.parse().ok()?,
                "--jobs" => options.jobs = rest.next()?.parse().ok().filter(|j| *j > 0)?,
                "--packets" => options.packets = rest.next()?.parse().ok()?,
                "--size" => options.config.size = rest.next()?.parse().ok()?,
                "--faults" => options.faults = true,
                "--file" => options.file = Some(rest.next()?.to_string()),
                "--no-shrink" => options.shrink = false,
                _ => return None,
            }
        }
        Some(options)
    }

    fn effort(&self, seed: u64) -> Effort {
        Effort { packets: self.packets, packets_per_round: self.packets, entries: ENTRIES, draws: 2, seed }
    }
}

/// Results of a run.
#[derive(Default)]
struct Seen {
    proved: u64,
    away: usize,
    cut_edges: usize,
    packets: usize,
    frames: usize,
    hops: usize,
    /// Counts by reason.
    refused: BTreeMap<String, u64>,
    /// By step and summary: count, first seed, and its source.
    findings: BTreeMap<(Step, String), (u64, u64, String)>,
}

/// Makes, cuts and proves the programs.
#[allow(clippy::disallowed_methods)]
pub fn run(options: &Options) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(file) = &options.file {
        return run_file(options, file);
    }
    if options.faults {
        return run_faults(options);
    }
    let started = Instant::now();
    let (seen, next) = (Mutex::new(Seen::default()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let worker = || std::thread::Builder::new().stack_size(STACK);
        let workers: Vec<_> = (0..options.jobs)
            .filter_map(|_| worker().spawn_scoped(scope, || work(options, &next, &seen)).ok())
            .collect();
        workers.into_iter().for_each(|w| drop(w.join()));
    });
    let Ok(seen) = seen.into_inner() else { return ExitCode::FAILURE };
    // Shrinking walks deeply too.
    std::thread::scope(|scope| {
        let shown = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || report(options, &seen, started.elapsed().as_secs_f64()));
        shown.ok().and_then(|s| s.join().ok()).unwrap_or(ExitCode::FAILURE)
    })
}

/// Proves one text whose regions say where they run, and prints its parts.
fn run_file(options: &Options, file: &str) -> ExitCode {
    let source = match std::fs::read_to_string(file) {
        Ok(source) => source,
        Err(error) => {
            eprintln!("generate-split: `{file}` cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    match parts_of(&source) {
        Ok(parts) => parts.iter().for_each(|(device, text)| println!("// {device}\n{text}")),
        Err(why) => println!("refused: {why}"),
    }
    match prove_text(&source, &options.effort(options.seed)) {
        None => ExitCode::SUCCESS,
        Some(finding) => {
            println!("{:?}: {}\n{}", finding.step, finding.summary, finding.details);
            ExitCode::FAILURE
        }
    }
}

/// Reports the number of programs until each fault of the splitter is detected.
fn run_faults(options: &Options) -> ExitCode {
    let mut living: Vec<&Fault> = FAULTS.iter().collect();
    for (n, seed) in (1..).zip(options.seed..options.seed + options.programs) {
        let Ok(Ok(program)) = cut(&generate(seed, &options.config).source, seed) else { continue };
        living.retain(|fault| {
            let lives = notices(&program, fault, &options.effort(seed)) != Some(true);
            if !lives {
                println!("noticed after {n:4} programs: {}", fault.name);
            }
            lives
        });
        if living.is_empty() {
            break;
        }
    }
    living.iter().for_each(|fault| println!("LIVES after {} programs: {}", options.programs, fault.name));
    println!("{} of {} faults noticed", FAULTS.len() - living.len(), FAULTS.len());
    if living.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn work(options: &Options, next: &AtomicU64, seen: &Mutex<Seen>) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at >= options.programs {
            return;
        }
        let seed = options.seed + at;
        let made = generate(seed, &options.config);
        let result = cut(&made.source, seed);
        let result =
            result.map(|cut| cut.map(|program| (prove_cut(&program, &options.effort(seed)), program)));
        let Ok(mut seen) = seen.lock() else { return };
        match result {
            Ok(Ok((Ok(tried), program))) => seen.proved(&program, &tried),
            Ok(Ok((Err(found), program))) => seen.found(found, seed, program.source),
            Ok(Err(reason)) => *seen.refused.entry(reason).or_default() += 1,
            Err((found, text)) => seen.found(found, seed, text),
        }
    }
}

impl Seen {
    fn proved(&mut self, program: &CutProgram, tried: &ir_prove::Tried) {
        self.proved += 1;
        self.away += program.away;
        self.cut_edges += program.cut_edges;
        self.packets += tried.packets;
        self.frames += tried.outputs;
        self.hops += tried.hops;
    }

    fn found(&mut self, found: Finding, seed: u64, source: String) {
        let first = self.findings.entry((found.step, found.summary)).or_insert((0, seed, source.clone()));
        first.0 += 1;
        if seed < first.1 {
            (first.1, first.2) = (seed, source);
        }
    }
}

fn report(options: &Options, seen: &Seen, seconds: f64) -> ExitCode {
    let mut refused: Vec<_> = seen.refused.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (reason, count) in refused {
        println!("{count:6} refused: {reason}");
    }
    for (n, ((step, summary), (count, seed, source))) in seen.findings.iter().enumerate() {
        println!("\n{count} programs, step {step:?}: {summary}");
        println!("first: cargo xtask generate-split --programs 1 --seed {seed}");
        if n < SHOWN && !source.is_empty() {
            show(options, *seed, source);
        }
    }
    let wrong: u64 = seen.findings.values().map(|(count, ..)| count).sum();
    println!(
        "{} programs in {seconds:.1} s: {} proved with {} regions away from the origin and {} cut edges, {} refused, \
         {wrong} with a finding; {} packets in, {} hops, {} frames out",
        options.programs,
        seen.proved,
        seen.away,
        seen.cut_edges,
        seen.refused.values().sum::<u64>(),
        seen.packets,
        seen.hops,
        seen.frames
    );
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The finding of one program, made small.
fn show(options: &Options, seed: u64, source: &str) {
    let effort = options.effort(seed);
    let Some(finding) = prove_text(source, &effort) else { return };
    let start = Shrunk { source: source.to_string(), inputs: Inputs::default(), finding };
    let judge = |source: &str, _: &Inputs| prove_text(source, &effort);
    let small = if options.shrink { shrink(start, ATTEMPTS, &judge) } else { start };
    println!("{}\n{}", small.source, small.finding.details);
}
