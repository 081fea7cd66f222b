//! Checks all contestants, then lets them take turns.

use super::contestant::{Contestant, Setup, Timing, Updates};
use super::events::{Counters, Events};
use super::interp::Interp;
use super::native::Native;
use super::peer::{Peer, Scratch, compile_c};
use super::sharing::Sharing;
use super::simple_switch::{SimpleSwitch, Tools};
use super::{Kind, Settings, clock, dpdk};
use bench_load::wire::{Outcome as Wanted, difference};
use bench_load::{Load, Program, Shape};
use std::process::Command;
use std::sync::Arc;

/// Turns that each contestant has.
const TURNS: u64 = 5;

/// A program's measurements.
#[derive(Debug)]
pub struct Result {
    /// The program.
    pub program: &'static Program,
    /// Parameters of the load.
    pub shape: Shape,
    /// Entries of the load.
    pub entries: usize,
    /// Packets of the load that were dropped.
    pub dropped: usize,
    /// One for each contestant.
    pub outcomes: Vec<(Kind, Outcome)>,
    /// Reason why cycles and instructions are not counted.
    pub uncounted: Option<String>,
}

/// Outcome of a measurement.
#[derive(Debug)]
pub enum Outcome {
    /// The contestant was measured.
    Measured(Measured),
    /// The contestant is not available, for this reason.
    Skipped(String),
    /// The contestant failed or sent other bytes: a fault.
    Failed(String),
}

/// Measurements of a contestant.
#[derive(Debug)]
pub struct Measured {
    /// Statements that the interpreter runs for the engine, and its calls per packet.
    pub left: Option<(usize, f64)>,
    /// Entries written while packets run.
    pub updates: Option<Updates>,
    /// For each number of workers.
    pub runs: Vec<Run>,
}

/// A run with a number of workers.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Number of workers.
    pub workers: usize,
    /// Cost of getting one of them ready; of all, if they share their state.
    pub setup: Setup,
    /// Speed of the contestant.
    pub speed: Speed,
}

/// A speed: the median of several turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Speed {
    /// Nanoseconds of processor time for a packet.
    pub nanoseconds: f64,
    /// Speed of the fastest turn.
    pub best: f64,
    /// Speed of the slowest turn.
    pub worst: f64,
    /// Packets a second of all workers together, if each has a processor for itself.
    pub packets_per_second: f64,
    /// Cycles and instructions for a packet, if they can be counted.
    pub events: Option<(f64, f64)>,
}

/// A contestant that gave the right bytes, and those beside it for more workers.
struct Ready {
    kind: Kind,
    workers: Vec<Box<dyn Contestant>>,
    /// Several on one state: for more than one at once, where there are any.
    sharing: Vec<Box<dyn Contestant>>,
    turns: Vec<Vec<Vec<Timing>>>,
}

impl Ready {
    /// Workers for a run with this number of them.
    fn at_once(&mut self, number: usize) -> &mut [Box<dyn Contestant>] {
        let shares = number > 1 && !self.sharing.is_empty();
        let workers = if shares { &mut self.sharing } else { &mut self.workers };
        &mut workers[..number]
    }
}

/// Measures one program.
pub fn measure(settings: &Settings, program: &'static Program) -> std::result::Result<Result, String> {
    let shape = settings.shape_of(program);
    let load = Arc::new((program.load)(&shape));
    let wanted = Arc::new(Interp::new(program, &load)?.check()?);
    let dropped = wanted.sent.iter().filter(|sent| sent.is_empty()).count();
    let scratch = Scratch::new()?;
    let most = settings.workers.iter().copied().max().unwrap_or(1);
    let mut outcomes = vec![];
    let mut ready = vec![];
    for kind in &settings.kinds {
        let (mut workers, mut sharing) = (vec![], vec![]);
        let alone = if *kind == Kind::Native { 1 } else { most };
        let made = match maker(*kind, program, (&load, &wanted), &scratch) {
            Ok(mut make) => (0..alone).try_for_each(|n| make(n).map(|made| workers.push(made))),
            Err(why) => {
                outcomes.push((*kind, Outcome::Skipped(why)));
                continue;
            }
        };
        let checked = made.and_then(|()| {
            if alone < most {
                sharing = Sharing::workers(program, &load, most)?;
            }
            // Of those with one state the first one, while it is new.
            workers
                .iter_mut()
                .chain(sharing.first_mut())
                .try_for_each(|w| difference(&wanted, &w.check()?).map_or(Ok(()), Err))
        });
        match checked {
            Ok(()) => ready.push(Ready { kind: *kind, workers, sharing, turns: vec![] }),
            Err(what) => outcomes.push((*kind, Outcome::Failed(what))),
        }
    }
    for number in &settings.workers {
        ready.iter_mut().for_each(|r| r.turns.push(vec![]));
        for _ in 0..TURNS {
            for contestant in &mut ready {
                let turn = turn(contestant.at_once(*number), settings.time.div_ceil(TURNS))?;
                contestant.turns.last_mut().into_iter().for_each(|turns| turns.push(turn.clone()));
            }
        }
    }
    for mut contestant in ready {
        let turns = std::mem::take(&mut contestant.turns);
        let run = |(number, turns): (&usize, &Vec<_>)| {
            let setup = contestant.at_once(*number).first().map(|worker| worker.setup()).unwrap_or_default();
            Run { workers: *number, setup, speed: speed(turns) }
        };
        let runs = settings.workers.iter().zip(&turns).map(run).collect();
        let first = contestant.workers.first_mut();
        let left = first.as_ref().and_then(|worker| worker.left());
        let updates = match first {
            Some(worker) => worker.updates(settings.time.div_ceil(TURNS))?,
            None => None,
        };
        outcomes.push((contestant.kind, Outcome::Measured(Measured { left, updates, runs })));
    }
    let place = |kind: &Kind| settings.kinds.iter().position(|k| k == kind);
    outcomes.sort_by_key(|(kind, _)| place(kind));
    let uncounted = Counters::start(None).err();
    Ok(Result { program, shape, entries: load.entries.len(), dropped, outcomes, uncounted })
}

/// One worker's slice of time, with processor events.
fn slice(worker: &mut Box<dyn Contestant>, time: u64) -> std::result::Result<Timing, String> {
    let mut counters = Counters::start(worker.process()).ok();
    let timing = worker.time(time)?;
    Ok(Timing { events: counters.as_mut().and_then(Counters::read), ..timing })
}

/// All workers at once.
fn turn(workers: &mut [Box<dyn Contestant>], time: u64) -> std::result::Result<Vec<Timing>, String> {
    std::thread::scope(|scope| {
        let running: Vec<_> = workers.iter_mut().map(|w| scope.spawn(move || slice(w, time))).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<_>| {
            thread.join().unwrap_or_else(|_| Err("a worker panicked".to_string()))
        };
        running.into_iter().map(ended).collect()
    })
}

fn speed(turns: &[Vec<Timing>]) -> Speed {
    let mut by_turn: Vec<Speed> = turns.iter().map(|turn| speed_of(turn)).collect();
    by_turn.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
    let at = |n: usize| by_turn.get(n).copied().unwrap_or_else(|| speed_of(&[]));
    let (best, worst) = (at(0).nanoseconds, at(by_turn.len().saturating_sub(1)).nanoseconds);
    Speed { best, worst, ..at(by_turn.len() / 2) }
}

/// Speed of one turn.
fn speed_of(turn: &[Timing]) -> Speed {
    let nanoseconds = turn.iter().map(Timing::nanoseconds).sum::<f64>() / turn.len() as f64;
    let packets = turn.iter().map(|timing| timing.packets).sum::<u64>().max(1) as f64;
    let events: Option<Vec<_>> = turn.iter().map(|timing| timing.events).collect();
    let per_packet = |events: Vec<Events>| {
        let of = |count: fn(&Events) -> u64| events.iter().map(count).sum::<u64>() as f64 / packets;
        (of(|events| events.cycles), of(|events| events.instructions))
    };
    Speed {
        nanoseconds,
        best: nanoseconds,
        worst: nanoseconds,
        packets_per_second: turn.iter().map(|timing| 1e9 / timing.nanoseconds()).sum(),
        events: events.map(per_packet),
    }
}

/// Makes contestants of a kind, numbered.
type Make<'m> = Box<dyn FnMut(usize) -> std::result::Result<Box<dyn Contestant>, String> + 'm>;

/// How contestants of a kind are made, or why there are none.
fn maker<'m>(
    kind: Kind,
    program: &'static Program,
    (load, wanted): (&'m Arc<Load>, &'m Arc<Wanted>),
    scratch: &'m Scratch,
) -> std::result::Result<Make<'m>, String> {
    match kind {
        Kind::Native => Ok(Box::new(move |_| Ok(Box::new(Native::new(program, load)?)))),
        Kind::Interp => Ok(Box::new(move |_| Ok(Box::new(Interp::new(program, load)?)))),
        Kind::C => {
            let start = clock::wall();
            let binary = compile_c(program, scratch)?;
            let compile = clock::wall() - start;
            Ok(Box::new(move |n| {
                let peer = Peer::start(Command::new(&binary), load, compile, scratch, &format!("c{n}"))?;
                Ok(Box::new(peer))
            }))
        }
        Kind::Swx => {
            let start = clock::wall();
            let binary = dpdk::compile(program, scratch)?;
            let compile = clock::wall() - start;
            Ok(Box::new(move |n| {
                let command = dpdk::command(&binary, n);
                Ok(Box::new(Peer::start(command, load, compile, scratch, &format!("swx{n}"))?))
            }))
        }
        Kind::SimpleSwitch => {
            let tools = Tools::find(&std::env::var_os("PATH").unwrap_or_default())?;
            if let Some(why) = SimpleSwitch::refuses(load) {
                return Err(why);
            }
            let start = clock::wall();
            let json = tools.compile(program, &scratch.path().join("simple_switch"))?;
            let compile = clock::wall() - start;
            Ok(Box::new(move |n| {
                let dir = scratch.path().join(format!("simple_switch{n}"));
                let made = (program, json.as_path(), compile);
                Ok(Box::new(SimpleSwitch::new(&tools, made, load, wanted, dir)?))
            }))
        }
    }
}
