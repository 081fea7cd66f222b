//! `generate`: random programs, and what every program has to satisfy.
//!
//! Program I of a run with seed S is made from the seed S + I, so `--programs 1 --seed N` makes one again.

use p4_generate::check::{Steps, check, inputs_of, test_of};
use p4_generate::inputs::Inputs;
use p4_generate::{Config, Coverage, Shrunk, generate, shrink};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Attempts of the shrinker.
const ATTEMPTS: usize = 6000;

/// Bytes of stack for each worker: nested blocks and expressions are walked by recursion.
const STACK: usize = 256 << 20;

/// Findings that are shown; the rest is counted.
const SHOWN: usize = 5;

/// The command's options.
pub struct Options {
    programs: u64,
    seed: u64,
    jobs: u64,
    steps: Steps,
    config: Config,
    coverage: bool,
    out: Option<String>,
    shrink: bool,
    mutants: Option<usize>,
}

impl Options {
    /// From the arguments; none if they are wrong.
    pub fn parse(args: &[&str]) -> Option<Options> {
        let mut options = Options {
            programs: 100,
            seed: 1,
            jobs: 1,
            steps: Steps::ALL,
            config: Config::default(),
            coverage: false,
            out: None,
            shrink: true,
            mutants: None,
        };
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            match *option {
                "--programs" => options.programs = rest.next()?.parse().ok()?,
                "--seed" => options.seed = rest.next()?.parse().ok()?,
                "--jobs" => options.jobs = rest.next()?.parse().ok().filter(|j| *j > 0)?,
                "--packets" => options.config.packets = rest.next()?.parse().ok()?,
                "--size" => options.config.size = rest.next()?.parse().ok()?,
                "--portable" => options.config.portable = true,
                "--coverage" => options.coverage = true,
                "--out" => options.out = Some(rest.next()?.to_string()),
                "--mutants" => options.mutants = Some(rest.next()?.parse().ok()?),
                "--no-shrink" => options.shrink = false,
                "--check" => options.steps = steps(rest.next()?)?,
                _ => return None,
            }
        }
        Some(options)
    }
}

fn steps(name: &str) -> Option<Steps> {
    match name {
        "compile" => Some(Steps::NONE),
        "reparse" => Some(Steps { syntax: true, text: true, ..Steps::NONE }),
        "print" => Some(Steps { print: true, ..Steps::NONE }),
        "passes" => Some(Steps { passes: true, ..Steps::NONE }),
        "native" => Some(Steps { native: true, ..Steps::NONE }),
        "all" => Some(Steps::ALL),
        _ => None,
    }
}

/// Results of a run.
#[derive(Default)]
struct Seen {
    coverage: Coverage,
    /// By step and summary: count and first seed.
    findings: BTreeMap<(p4_generate::check::Step, String), (u64, u64)>,
    /// Seeds from which no program came.
    panics: u64,
    frames: u64,
    packets: u64,
}

/// Makes and checks the programs.
#[allow(clippy::disallowed_methods)]
pub fn run(options: &Options) -> ExitCode {
    if let Some(count) = options.mutants {
        let (config, programs, seed) = (options.config.clone(), options.programs, options.seed);
        let hunt = match options.steps {
            Steps { native: true, passes: false, .. } => crate::mutants::run_native,
            _ => crate::mutants::run,
        };
        return with_stack(move || hunt(count, &config, programs, seed));
    }
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let seen = Mutex::new(Seen::default());
    let next = AtomicU64::new(0);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let progress = scope.spawn(|| show_progress(options, &next, &ended, started));
        let worker = || std::thread::Builder::new().stack_size(STACK);
        let workers: Vec<_> = (0..options.jobs)
            .filter_map(|_| worker().spawn_scoped(scope, || work(options, &next, &seen)).ok())
            .collect();
        workers.into_iter().for_each(|w| drop(w.join()));
        ended.store(true, Ordering::Relaxed);
        progress.thread().unpark();
    });
    let Ok(seen) = seen.into_inner() else { return ExitCode::FAILURE };
    report(options, &seen, started)
}

fn with_stack(run: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(run);
    worker.ok().and_then(|worker| worker.join().ok()).unwrap_or(ExitCode::FAILURE)
}

fn work(options: &Options, next: &AtomicU64, seen: &Mutex<Seen>) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at >= options.programs {
            return;
        }
        let seed = options.seed + at;
        let made = std::panic::catch_unwind(|| generate(seed, &options.config));
        let Ok(made) = made else {
            eprintln!("generate: the generator panics with seed {seed}");
            if let Ok(mut seen) = seen.lock() {
                seen.panics += 1;
            }
            continue;
        };
        if let Some(folder) = &options.out {
            write_files(options, folder, seed, &made.source);
        }
        let result = check(&made.source, options.steps, options.config.packets, seed, None);
        let Ok(mut seen) = seen.lock() else { return };
        seen.coverage.add(&made.features);
        match result {
            Ok(passed) => {
                seen.packets += passed.outcome.outputs.len() as u64;
                seen.frames += passed.outcome.outputs.iter().map(|o| o.len() as u64).sum::<u64>();
            }
            Err(found) => {
                eprintln!("seed {seed}, step {:?}: {}", found.step, found.summary);
                let first = seen.findings.entry((found.step, found.summary)).or_insert((0, seed));
                first.0 += 1;
                first.1 = first.1.min(seed);
            }
        }
    }
}

/// `SEED.p4` and `SEED.stf`.
fn write_files(options: &Options, folder: &str, seed: u64, source: &str) {
    let inputs = inputs_of(source, options.config.packets, seed).unwrap_or_default();
    let files = [("p4", source.to_string()), ("stf", test_of(source, &inputs).unwrap_or_default())];
    for (ending, text) in files {
        let path = format!("{folder}/{seed}.{ending}");
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("generate: `{path}` cannot be written: {error}");
        }
    }
}

fn show_progress(options: &Options, next: &AtomicU64, ended: &AtomicBool, started: Instant) {
    loop {
        std::thread::park_timeout(std::time::Duration::from_secs(5));
        if ended.load(Ordering::Relaxed) {
            return;
        }
        let done = next.load(Ordering::Relaxed).min(options.programs);
        eprintln!("{done} of {} programs, {:.0} s", options.programs, started.elapsed().as_secs_f64());
    }
}

fn report(options: &Options, seen: &Seen, started: Instant) -> ExitCode {
    let seconds = started.elapsed().as_secs_f64();
    if options.coverage {
        print!("{}", seen.coverage.table());
        let rare: Vec<&str> = seen.coverage.rare().into_iter().map(|f| f.name()).collect();
        println!(
            "in fewer than 1 % of the programs: {}",
            if rare.is_empty() { "none".into() } else { rare.join(", ") }
        );
    }
    for ((step, summary), (count, seed)) in seen.findings.iter().take(SHOWN) {
        println!(
            "\n{count} programs, step {step:?}: {summary}\nfirst: cargo xtask generate --programs 1 --seed {seed}"
        );
        show(options, *seed);
    }
    for ((step, summary), (count, seed)) in seen.findings.iter().skip(SHOWN) {
        println!("{count} programs, step {step:?}: {summary} (seed {seed})");
    }
    let wrong = seen.panics + seen.findings.values().map(|(count, _)| count).sum::<u64>();
    println!(
        "{} programs in {seconds:.1} s, {:.1} a second; {} packets in, {} frames out; {wrong} programs with a finding",
        options.programs,
        options.programs as f64 / seconds,
        seen.packets,
        seen.frames
    );
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The finding of one program, made small.
fn show(options: &Options, seed: u64) {
    let source = generate(seed, &options.config).source;
    let inputs = inputs_of(&source, options.config.packets, seed).unwrap_or_default();
    let Err(finding) = check(&source, options.steps, 0, seed, Some(&inputs)) else { return };
    let start = Shrunk { source, inputs, finding };
    let judge = |source: &str, inputs: &Inputs| check(source, options.steps, 0, 0, Some(inputs)).err();
    let small = if options.shrink { shrink(start, ATTEMPTS, &judge) } else { start };
    println!("{}", small.source);
    println!("{}", test_of(&small.source, &small.inputs).unwrap_or_else(|| format!("{:?}", small.inputs)));
    println!("{}", small.finding.details);
}
