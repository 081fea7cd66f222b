//! Drained and pipelined equality.
//!
//! *Drained*: one packet at a time, no delays; the same frames leave by the same ports, and at the end every state
//! object holds the same.
//!
//! *Pipelined*: packets follow closely, every hop takes a random time (links keep order). The accesses to all state
//! objects must have an acyclic order; the whole program, run in that order with the clock and random reads of the
//! split run, gives the same frames for every transaction and the same state at the end.

use crate::case::{Case, SetupError};
use crate::environment::Answers;
use crate::generate::{MendedPackets, Pool, Setup, setup, truncate_clones};
use crate::record::{Cause, Record, Transaction};
use crate::split_run::{Conditions, SplitRun, Unsettled};
use crate::whole::Whole;
use base_time::{Duration, Probability, Rng, Time};
use dataplane_api::{Device, Output};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of events of a transaction; a hop has two or three.
pub(crate) const EVENT_LIMIT: usize = 500_000;

/// Hops and recirculations of packets that follow one another take up to so long.
pub(crate) const DELAY: Duration = Duration::from_us(4);

/// Amount of packets and entries to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Packets, for each of the two proofs.
    pub packets: usize,
    /// Packets between two generations of entries.
    pub packets_per_round: usize,
    /// Most entries for each table.
    pub entries: usize,
    /// Number of draws of each round's entries and packets; the draw with the most sent packets is kept.
    pub draws: usize,
    /// Decides everything that is drawn.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { packets: 1000, packets_per_round: 100, entries: 16, draws: 6, seed: 1 }
    }
}

/// Counts of a proof that found no difference.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tried {
    /// Packets put in.
    pub packets: usize,
    /// Frames that came out.
    pub outputs: usize,
    /// Frames that went from one device to another.
    pub hops: usize,
    /// Digests that came out.
    pub digests: usize,
    /// Timers that ran out.
    pub timers: usize,
    /// Accesses to state objects.
    pub accesses: usize,
    /// Hand-overs that were lost, by [`prove_disturbed`](crate::prove_disturbed) alone.
    pub lost: usize,
    /// Changes of plan while a hand-over was in flight, likewise.
    pub renewed: usize,
}

impl Tried {
    /// More was tried.
    pub fn add(&mut self, more: &Tried) {
        self.packets += more.packets;
        self.outputs += more.outputs;
        self.hops += more.hops;
        self.digests += more.digests;
        self.timers += more.timers;
        self.accesses += more.accesses;
        self.lost += more.lost;
        self.renewed += more.renewed;
    }
}

/// Difference between a split program and the whole one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// Other frames left, or by other ports.
    Outputs {
        /// Frame or timer that caused the outputs.
        cause: Cause,
        /// When, in the split run.
        at: Time,
        /// Output of the whole program.
        expected: Vec<Output>,
        /// Output of the split program.
        found: Vec<Output>,
    },
    /// The control plane got other digests.
    Digests {
        /// Frame or timer that caused the digests.
        cause: Cause,
        /// Digests of the whole program.
        expected: Vec<String>,
        /// Digests of the split program.
        found: Vec<String>,
    },
    /// A state object holds something else.
    State {
        /// Control-plane name.
        object: String,
        /// In the whole program; `None` if it has no such object.
        expected: Option<Vec<u8>>,
        /// In the split one.
        found: Option<Vec<u8>>,
    },
    /// Two transactions used the objects in opposite orders.
    NotSerializable {
        /// The objects on the cycle.
        objects: Vec<String>,
    },
    /// A packet has overtaken another packet of its flow.
    Overtaken {
        /// Receipt of both packets.
        cause: Cause,
    },
    /// A hand-over of another plan was taken for one of this.
    Stale {
        /// Frame or timer under the other plan.
        cause: Cause,
        /// Output caused by it.
        found: Vec<Output>,
    },
    /// The split program did not come to rest.
    NeverEnds,
    /// The network lost or invented packets: an internal error.
    Violation(String),
    /// The split program cannot be set up.
    Setup(SetupError),
}

impl From<Unsettled> for Difference {
    fn from(why: Unsettled) -> Difference {
        match why {
            Unsettled::StillBusy => Difference::NeverEnds,
            Unsettled::Violation(what) => Difference::Violation(what),
        }
    }
}

/// The proof that failed, and the difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// `drained` or `pipelined`.
    pub proof: &'static str,
    /// The round it was found in.
    pub round: usize,
    /// Control-plane state of that round.
    pub setup: Setup,
    /// The difference.
    pub difference: Difference,
}

/// Tries to find a difference: first drained, then pipelined.
pub fn prove(case: &Case, effort: &Effort) -> Result<Tried, Box<Failure>> {
    let pipelined =
        |setup: &Setup, inputs: &[Input], rng: &Rng| pipelined(case, setup, inputs, rng.split("delays"));
    let drained = |setup: &Setup, inputs: &[Input], _: &Rng| drained(case, setup, inputs);
    rounds(case, effort, &[("drained", &drained), ("pipelined", &pipelined)])
}

/// A proof, with the control-plane state, packets and random generator.
pub(crate) type Proof<'p> = (&'static str, &'p dyn Fn(&Setup, &[Input], &Rng) -> Result<Tried, Difference>);

/// Draws entries and packets round by round, and does all proofs with them.
pub(crate) fn rounds(case: &Case, effort: &Effort, proofs: &[Proof<'_>]) -> Result<Tried, Box<Failure>> {
    let mut tried = Tried::default();
    let rounds = effort.packets.div_ceil(effort.packets_per_round.max(1));
    for round in 0..rounds {
        let packets = effort.packets_per_round.min(effort.packets - round * effort.packets_per_round);
        let rng = Rng::new(effort.seed).split_index(round as u64);
        let Draw { setup, inputs } = best_draw(case, effort, packets, &rng).map_err(|error| {
            Box::new(Failure {
                proof: "drained",
                round,
                setup: Setup::default(),
                difference: Difference::Setup(error),
            })
        })?;
        let fail = |proof, difference| Box::new(Failure { proof, round, setup: setup.clone(), difference });
        for (name, proof) in proofs {
            let here = proof(&setup, &inputs, &rng).map_err(|difference| fail(*name, difference))?;
            tried.add(&here);
        }
    }
    Ok(tried)
}

/// Control-plane state and packets of a round.
struct Draw {
    setup: Setup,
    inputs: Vec<Input>,
}

/// Draws several times and keeps the draw with the most output: packets that are dropped early show little.
fn best_draw(case: &Case, effort: &Effort, packets: usize, rng: &Rng) -> Result<Draw, SetupError> {
    let mut best: Option<(usize, Draw)> = None;
    for attempt in 0..effort.draws.max(1) {
        let rng = rng.split_index(attempt as u64);
        let mut pool = Pool::new(&case.whole, &case.reserved_ports(), &rng);
        let mut setup = setup(&case.whole, &mut pool, effort.entries, &rng);
        if case.truncates_clones() {
            truncate_clones(&mut setup, &rng);
        }
        case.accepted(&mut setup)?;
        let mut inputs = inputs(case, &mut pool, packets, &mut rng.split("packets"));
        let sent = sent_by_whole(case, &setup, &mut inputs)?;
        if best.as_ref().is_none_or(|(most, _)| sent > *most) {
            best = Some((sent, Draw { setup, inputs }));
        }
    }
    Ok(best.map_or(Draw { setup: Setup::default(), inputs: vec![] }, |(_, draw)| draw))
}

/// Frames that the whole program sends. Packets that it sends to ports that join devices are taken out, those that it
/// copies or that come back are noted.
fn sent_by_whole(case: &Case, setup: &Setup, inputs: &mut Vec<Input>) -> Result<usize, SetupError> {
    let mut whole = case.whole(setup, &Answers::default())?;
    whole.watch_passes();
    let mut sent = 0;
    inputs.retain_mut(|input| {
        let outputs = whole.frame(input.port, &input.frame, Time::ZERO);
        input.is_copied = whole.has_copied;
        input.is_alone = whole.has_come_back;
        sent += outputs.as_ref().map_or(0, Vec::len);
        outputs.is_some()
    });
    Ok(sent)
}

/// A frame, its port, and the time since the one before.
pub(crate) struct Input {
    /// The origin that it comes to, by its number.
    pub origin: usize,
    pub port: u32,
    pub frame: Vec<u8>,
    pub gap: Duration,
    /// The whole program makes copies of it, or resubmits it.
    pub is_copied: bool,
    /// The packet, or copies of it, come back and use state: on one device, too, others may come between its passes, and only alone
    /// is it one transaction.
    is_alone: bool,
}

fn inputs(case: &Case, pool: &mut Pool, count: usize, rng: &mut Rng) -> Vec<Input> {
    let mut packets = MendedPackets::new(&case.whole, &case.registry);
    let origins = case.placement.origins().count();
    let ticks = case.whole.ticks();
    let mut inputs = vec![];
    for _ in 0..count {
        let mut frame = packets.next(pool, rng);
        if frame.len() < case.shortest_frame() {
            // As the link pads it by which it comes.
            frame.resize(case.shortest_frame(), 0);
        }
        let pause = rng.chance(1, 20);
        let gap = if pause {
            Duration::from_us(rng.between(1, 3000))
        } else {
            Duration::from_ns(rng.between(1, 2000))
        };
        let origin = if origins > 1 { rng.index(origins) } else { 0 };
        // Ticks come as frames among the others.
        let (port, frame) = match ticks.is_empty() || !rng.chance(1, 8) {
            true => (pool.port(rng), frame),
            false => {
                let tick = &ticks[rng.index(ticks.len())];
                (tick.port, tick.frame.clone())
            }
        };
        inputs.push(Input { origin, port, frame, gap, is_copied: false, is_alone: false });
    }
    inputs
}

fn drained(case: &Case, setup: &Setup, inputs: &[Input]) -> Result<Tried, Difference> {
    let answers = Answers::default();
    let mut wholes = case.wholes(setup, &answers).map_err(Difference::Setup)?;
    let mut network = case.split_run(setup, &Conditions::ideal()).map_err(Difference::Setup)?;
    let mut tried = Tried::default();
    let mut now = Time::ZERO;
    for input in inputs {
        now += input.gap;
        network.run_until(now, EVENT_LIMIT)?;
        if !check_timers(&mut wholes, &mut network, now, &mut tried)? {
            return Ok(tried);
        }
        network.inject(input.origin, input.port, &input.frame, now, input.is_copied);
        let ended = network.run_until(now, EVENT_LIMIT);
        let mut records = network.take_records();
        if let Err(why) = ended {
            return given_up(&mut wholes, &answers, records, tried, why);
        }
        if let Some(record) = records.pop() {
            // The whole program reads the clock, random numbers and queue depths that the split program has read.
            answers.load(&record.observations, record.steady);
            let whole = &mut wholes[input.origin];
            let Some(expected) = whole.frame(input.port, &input.frame, now) else { return Ok(tried) };
            compare(record, expected, whole, &mut tried)?;
        }
        answers.load(&[], None);
        tried.packets += 1;
    }
    network.settle(EVENT_LIMIT)?;
    if !check_timers(&mut wholes, &mut network, Time::MAX, &mut tried)? {
        return Ok(tried);
    }
    tried.accesses = network.accesses().values().map(Vec::len).sum();
    tried.hops = network.hops();
    compare_states(&case.state(&wholes), &network.state())?;
    Ok(tried)
}

/// Runs the whole program's timers up to `now` beside those that the network has run; false if one of them sends to a
/// port that joins devices.
fn check_timers(
    wholes: &mut [Whole],
    network: &mut SplitRun,
    now: Time,
    tried: &mut Tried,
) -> Result<bool, Difference> {
    for record in network.take_records() {
        let whole = &mut wholes[record.origin];
        let at = whole.switch.deadline().filter(|at| *at <= now).unwrap_or(record.at);
        let Some(expected) = whole.tick(at) else { return Ok(false) };
        tried.timers += 1;
        compare(record, expected, whole, tried)?;
    }
    for whole in wholes {
        if let Some(at) = whole.switch.deadline().filter(|at| *at <= now) {
            let Some(expected) = whole.tick(at) else { return Ok(false) };
            return Err(Difference::Outputs { cause: Cause::Timer, at, expected, found: vec![] });
        }
    }
    Ok(true)
}

pub(crate) fn compare(
    record: Record,
    mut expected: Vec<Output>,
    whole: &mut Whole,
    tried: &mut Tried,
) -> Result<(), Difference> {
    let mut found = record.outputs;
    found.sort();
    expected.sort();
    tried.outputs += found.len();
    let digests: Vec<String> = whole.switch.take_digests().iter().map(|d| format!("{d:?}")).collect();
    tried.digests += digests.len();
    if digests != record.digests && !whole.has_failed {
        return Err(Difference::Digests { cause: record.cause, expected: digests, found: record.digests });
    }
    match found == expected {
        true => Ok(()),
        false => Err(Difference::Outputs { cause: record.cause, at: record.at, expected, found }),
    }
}

pub(crate) fn compare_states(
    expected: &BTreeMap<String, Vec<u8>>,
    found: &BTreeMap<String, Vec<u8>>,
) -> Result<(), Difference> {
    let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    for name in names {
        let (a, b) = (expected.get(name), found.get(name));
        if a != b {
            let (expected, found) = (a.cloned(), b.cloned());
            return Err(Difference::State { object: name.clone(), expected, found });
        }
    }
    Ok(())
}

fn pipelined(case: &Case, setup: &Setup, inputs: &[Input], delays: Rng) -> Result<Tried, Difference> {
    let repeats = delays.split("repeats");
    let conditions = Conditions { delay: DELAY, loss: Probability::ZERO, chance: delays };
    let mut network = case.split_run(setup, &conditions).map_err(Difference::Setup)?;
    // The split program runs first: its accesses give the order in which the whole one runs.
    let ended = feed(&mut network, inputs, repeats);
    let answers = Answers::default();
    let mut wholes = case.wholes(setup, &answers).map_err(Difference::Setup)?;
    let records = network.take_records();
    if let Err(why) = ended {
        return given_up(&mut wholes, &answers, records, Tried::default(), why);
    }
    if network.keeps_order() {
        check_flows(&records)?;
    }
    let accesses = network.accesses();
    let order = serial_order(&accesses, records.len())?;
    let mut records: Vec<Option<Record>> = records.into_iter().map(Some).collect();
    let mut tried = Tried { packets: inputs.len(), ..Tried::default() };
    tried.accesses = accesses.values().map(Vec::len).sum();
    tried.hops = network.hops();
    for Transaction(index) in order {
        let Some(record) = records.get_mut(index).and_then(Option::take) else { continue };
        answers.load(&record.observations, record.steady);
        let whole = &mut wholes[record.origin];
        let expected = match &record.cause {
            Cause::Frame { port, frame } => whole.frame(*port, frame, record.at),
            Cause::Timer => {
                tried.timers += 1;
                whole.tick(record.at)
            }
        };
        let Some(expected) = expected else { return Ok(tried) };
        compare(record, expected, whole, &mut tried)?;
    }
    compare_states(&case.state(&wholes), &network.state())?;
    Ok(tried)
}

/// Verdict if the network does not come to rest: no difference if the whole program, given the recorded reads, does
/// not either.
fn given_up(
    wholes: &mut [Whole],
    answers: &Answers,
    records: Vec<Record>,
    tried: Tried,
    why: Unsettled,
) -> Result<Tried, Difference> {
    for record in records {
        let Cause::Frame { port, frame } = &record.cause else { continue };
        answers.load(&record.observations, record.steady);
        if wholes[record.origin].frame(*port, frame, record.at).is_none() {
            return Ok(tried);
        }
    }
    Err(why.into())
}

/// Puts the packets in, close one after another, and lets them end.
fn feed(network: &mut SplitRun, inputs: &[Input], mut repeats: Rng) -> Result<(), Unsettled> {
    let mut now = Time::ZERO;
    let mut last: Option<&Input> = None;
    for input in inputs {
        now += input.gap;
        // Packets of one flow show their order.
        if let Some(last) =
            last.filter(|last| !last.is_copied && network.keeps_order() && repeats.chance(1, 4))
        {
            network.inject(last.origin, last.port, &last.frame, now, false);
        }
        last = Some(input).filter(|input| !input.is_alone);
        if input.is_alone {
            now = network.rest(now, EVENT_LIMIT)?;
        }
        network.inject(input.origin, input.port, &input.frame, now, input.is_copied);
        match input.is_alone {
            true => now = network.rest(now, EVENT_LIMIT)?,
            false => network.run_until(now, EVENT_LIMIT)?,
        }
    }
    network.settle(EVENT_LIMIT)
}

/// Packets that came in by one port with the same bytes leave each port in the order in which they came; those that are copied
/// or come back may do otherwise on one device too.
fn check_flows(records: &[Record]) -> Result<(), Difference> {
    let mut last: BTreeMap<(usize, u32, &[u8], u32), usize> = BTreeMap::new();
    for record in records.iter().filter(|record| record.steady.is_none()) {
        let Cause::Frame { port, frame } = &record.cause else { continue };
        for (output, left) in record.outputs.iter().zip(&record.left) {
            let before = last.insert((record.origin, *port, frame, output.port), *left);
            if before.is_some_and(|before| before > *left) {
                return Err(Difference::Overtaken { cause: record.cause.clone() });
            }
        }
    }
    Ok(())
}

/// An order of all transactions in which each object is used as it was; the earliest possible one first.
fn serial_order(
    accesses: &BTreeMap<ir::Name, Vec<Transaction>>,
    count: usize,
) -> Result<Vec<Transaction>, Difference> {
    let mut after: Vec<Vec<usize>> = vec![vec![]; count];
    let mut waits_for = vec![0usize; count];
    for users in accesses.values() {
        for pair in users.windows(2) {
            after[pair[0].0].push(pair[1].0);
            waits_for[pair[1].0] += 1;
        }
    }
    let mut ready: BTreeSet<usize> = (0..count).filter(|&t| waits_for[t] == 0).collect();
    let mut order = vec![];
    while let Some(next) = ready.pop_first() {
        order.push(Transaction(next));
        for &later in &after[next] {
            waits_for[later] -= 1;
            if waits_for[later] == 0 {
                ready.insert(later);
            }
        }
    }
    if order.len() == count {
        return Ok(order);
    }
    let stuck = |users: &&Vec<Transaction>| users.iter().filter(|t| waits_for[t.0] > 0).count() > 1;
    let objects =
        accesses.iter().filter(|(_, users)| stuck(users)).map(|(name, _)| name.to_string()).collect();
    Err(Difference::NotSerializable { objects })
}
