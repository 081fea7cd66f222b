//! The pinned programs of the example apps, while flows move and entries are written, beside the programs themselves: each packet has the
//! result that the program has on its full tables. Steps take up to 50 ms, end in any order, and get lost and are done again.
//!
//! A write in progress may or may not be seen: the result is that before it or that after it. There is one at a time, of one entry, of a default
//! entry, or of several entries of which no packet sees a part.
//!
//! Packets pass one at a time. A seed is a trace of 400 events for each app; `P4RACK_SEEDS=0..10000` takes about 35 minutes of one core (0.21 s a seed).

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::{ActionCall, DefaultEntry, Entry, EntryKey, Match, Run, Write};
use dataplane_api::Device;
use device::trace::EventKind;
use device::{Options, Switch};
use flow_control::flows::Place;
use flow_control::popularity::Costs;
use ir::{MatchKind, Name, Program};
use ir_keys::{Keys, keys};
use ir_pin::{Affinity, Pinned, Request, Resident, pin};
use pinned_flows::{Classifier, Ended, Flow, PinnedFlows, Refusal, Step, StepId, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

#[path = "../../ir-touch/tests/support/mod.rs"]
mod apps;

use apps::{APPS, compiled, flow, packet, small};

/// Tables that are copied whole in some trials, and by entry in others, if their entries have no counters.
const WHOLE: [&str; 6] = ["tenants", "rules", "sides", "sources", "routes", "filters"];

const COSTS: Costs = Costs {
    window: Duration::from_ms(100),
    write: Duration::from_ms(1),
    writes: 8,
    together: 1,
    idle: Duration::from_s(2),
};

/// Mutants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// Every fourth write to a copy is not done.
    Copies,
    /// Flows leave the flow manager after their copies.
    Expulsions,
    /// Copies keep their default entries.
    Defaults,
    /// Writes that are done together are not done.
    Together,
}

struct Outcome {
    packets: u32,
    /// Packets that the switch has processed.
    resident: u32,
    moves: u64,
    written: u64,
    full: u64,
    /// Frames that have been sent, for comparing two runs.
    sent: Vec<Vec<(u32, Vec<u8>)>>,
}

struct Trial {
    whole: Program,
    keys: Keys,
    pinned: Pinned,
    /// The program with all writes that have ended, and with the one in progress, too.
    before: Switch,
    after: Switch,
    /// The pinned program.
    rack: Switch,
    flows: PinnedFlows,
    /// Steps that are under way, by their end.
    doing: Vec<(Time, Step)>,
    there: BTreeSet<(Name, EntryKey)>,
    fault: Fault,
    written_copies: u32,
    writing: Option<(u64, Vec<Write<Name>>)>,
    /// Writes that are done.
    log: Vec<Write<Name>>,
    /// Steps of writes that are done together which were tried.
    tried: BTreeSet<StepId>,
    /// Packets of flows that were seen before.
    frames: Vec<(u32, Vec<u8>)>,
    /// Keys that packets have looked up in tables that are copied by entry.
    lookups: Vec<(Name, Box<[Match]>)>,
}

/// A random entry of a table, for its program.
fn entry(program: &Program, table: &ir::Table, control: &ir::Control, rng: &mut Rng) -> Write<Name> {
    let width = |ty: &ir::Type| program.bits(ty).expect("it has a width") as u32;
    let matches: Vec<Match> = table
        .keys
        .iter()
        .map(|key| {
            let width = width(&key.expr.ty);
            let value = small(rng, width);
            match key.match_kind {
                MatchKind::Lpm => Match::Lpm { value, prefix_len: width },
                MatchKind::Ternary if rng.chance(1, 2) => {
                    Match::Ternary { value: Bits::new(width, 0), mask: Bits::new(width, 0) }
                }
                MatchKind::Ternary => Match::Ternary { mask: Bits::ones(width), value },
                MatchKind::Range => Match::Range { lo: Bits::new(width, 0), hi: value },
                _ => Match::Exact(value),
            }
        })
        .collect();
    let is_ordered = |key: &ir::TableKey| matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range);
    let has_priority = table.keys.iter().any(is_ordered);
    let key = EntryKey { priority: if has_priority { rank(&matches) } else { 0 }, matches: matches.into() };
    let call = call(program, table, control, rng);
    let to = (!rng.chance(1, 3)).then(|| Box::new(Entry::new(Run::Action(call))));
    Write::Entry { table: table.control_plane_name.clone(), key, to, count: None }
}

/// A random action of a table.
fn call(program: &Program, table: &ir::Table, control: &ir::Control, rng: &mut Rng) -> ActionCall<Name> {
    let run = &table.actions[rng.index(table.actions.len())];
    let action = &control.actions[run.action.index()];
    let width = |var: &ir::VarId| program.bits(&control.vars[var.index()].ty).expect("it has a width") as u32;
    let args = action.params.iter().map(|param| small(rng, width(param))).collect();
    ActionCall { action: action.control_plane_name.clone(), args }
}

/// A priority that only these matches have, and that says nothing else: which one of two entries of one priority wins is not said.
fn rank(matches: &[Match]) -> i64 {
    let mut hasher = DefaultHasher::new();
    matches.hash(&mut hasher);
    1 + (hasher.finish() >> 34) as i64
}

/// Random members of a value set; none if the program has no value set.
fn value_set(program: &Program, rng: &mut Rng) -> Option<Write<Name>> {
    let all: Vec<_> = program.parsers.iter().flat_map(|parser| &parser.value_sets).collect();
    if all.is_empty() {
        return None;
    }
    let set = all[rng.index(all.len())];
    let protocols = [6, 17, 1].into_iter().filter(|_| rng.chance(1, 2));
    let members = protocols.map(|protocol| vec![Match::Exact(Bits::new(8, protocol))]).collect();
    Some(Write::ValueSet { set: set.control_plane_name.clone(), members })
}

fn random_write(program: &Program, rng: &mut Rng) -> Write<Name> {
    let all: Vec<_> = program
        .controls
        .iter()
        .flat_map(|control| control.tables.iter().map(move |t| (control, t)))
        .collect();
    let (control, table) = all[rng.index(all.len())];
    if rng.chance(1, 2) {
        let call = (!rng.chance(1, 3)).then(|| call(program, table, control, rng));
        let to = Box::new(DefaultEntry { call, ..DefaultEntry::default() });
        return Write::Default { table: table.control_plane_name.clone(), to, count: None };
    }
    entry(program, table, control, rng)
}

/// Name of the table or value set.
fn table_of(write: &Write<Name>) -> &Name {
    match write {
        Write::Entry { table: name, .. }
        | Write::Default { table: name, .. }
        | Write::ValueSet { set: name, .. } => name,
        other => panic!("{other:?} is not made"),
    }
}

impl Trial {
    fn new(source: &str, fault: Fault, rng: &mut Rng) -> Trial {
        let whole = compiled(source);
        let keys = keys(&whole);
        let tables = whole.controls.iter().flat_map(|control| &control.tables);
        let resident = tables.map(|table| {
            let name = table.control_plane_name.clone();
            let is_listed = WHOLE.iter().any(|last| name.rsplit('.').next() == Some(last));
            let is_whole = is_listed && (table.counters.is_some() || rng.chance(1, 2));
            (name, if is_whole { Resident::Whole } else { Resident::Most(64) })
        });
        let request = Request {
            affinity: Affinity::Medium,
            region: "external".into(),
            key: keys.key.parts.iter().map(|part| part.name.clone()).collect(),
            shards: None,
            flows: 16,
            resident: resident.collect(),
        };
        let pinned = pin(&whole, &request).unwrap_or_else(|found| panic!("{found:#?}"));
        let device = |program: &Program| {
            ir_interp::switch(Arc::new(program.clone()), Options::default()).expect("it runs")
        };
        let (mut before, mut after, mut rack) = (device(&whole), device(&whole), device(&pinned.program));
        let mut entries = vec![];
        for _ in 0..40 {
            let write = random_write(&whole, rng);
            if before.write(&write, Time::ZERO).is_err() {
                continue;
            }
            after.write(&write, Time::ZERO).expect("both have the same");
            rack.write(&write, Time::ZERO).expect("the tables of helpers are the program's");
            let is_default = matches!(write, Write::Default { .. });
            let is_copied = pinned.tables.iter().any(|copy| copy.original == *table_of(&write));
            if pinned.whole.contains(table_of(&write)) || is_default && is_copied {
                rack.write(&renamed(&write, &pinned), Time::ZERO).expect("so are copies");
            }
            entries.push(write);
        }
        let flows = PinnedFlows::new(&whole, &keys, &pinned, &entries, COSTS, Options::default());
        let flows = flows.unwrap_or_else(|found| panic!("{found:#?}"));
        Trial {
            whole,
            keys,
            pinned,
            before,
            after,
            rack,
            flows,
            doing: vec![],
            there: BTreeSet::new(),
            fault,
            written_copies: 0,
            writing: None,
            log: entries,
            tried: BTreeSet::new(),
            frames: vec![],
            lookups: vec![],
        }
    }

    /// Begins the steps that are due, and carries out those that end by `now`.
    fn go_on(&mut self, now: Time, rng: &mut Rng) {
        loop {
            while let Some(step) = self.flows.next_step() {
                self.doing.push((now + Duration::from_us(rng.below(50_000)), step));
            }
            let next = (0..self.doing.len()).min_by_key(|at| (self.doing[*at].0, self.doing[*at].1.id));
            let Some(at) = next.filter(|at| self.doing[*at].0 <= now) else { return };
            let (due, step) = self.doing.swap_remove(at);
            let again = due + Duration::from_us(1 + rng.below(50_000));
            match rng.below(10) {
                // The request is lost.
                0 => self.doing.push((again, step)),
                // Its answer is lost.
                1 => {
                    if self.carry_out(&step, rng) == Ended::Done {
                        self.doing.push((again, step));
                    } else {
                        self.flows.ended(step.id, Ended::Full);
                    }
                }
                _ => {
                    let ended = self.carry_out(&step, rng);
                    self.flows.ended(step.id, ended);
                }
            }
            if let Some((number, writes)) = &self.writing
                && self.flows.written() > *number
            {
                for write in writes {
                    self.before.write(write, Time::ZERO).expect("the other one could");
                }
                self.log.extend(self.writing.take().into_iter().flat_map(|(_, writes)| writes));
            }
        }
    }

    /// The writes in progress are refused.
    fn undo(&mut self) {
        let Some((_, writes)) = self.writing.take() else { return };
        for write in &writes {
            let mut gone = write.clone();
            match &mut gone {
                Write::Entry { to, .. } => *to = None,
                Write::Default { to, .. } => **to = DefaultEntry::default(),
                Write::ValueSet { members, .. } => members.clear(),
                _ => {}
            }
            // It may delete an entry that was not there.
            let _ = self.after.write(&gone, Time::ZERO);
        }
        for write in self.log.iter().filter(|known| writes.iter().any(|w| table_of(w) == table_of(known))) {
            self.after.write(write, Time::ZERO).expect("it could be done before");
        }
    }

    fn carry_out(&mut self, step: &Step, rng: &mut Rng) -> Ended {
        // Packets pass at one time: none is inside.
        let writes = match &step.work {
            Work::Flush => return Ended::Done,
            Work::Write(writes) => writes.clone(),
            Work::Together(_, copies) => {
                // One in ten is refused; a second try is not.
                if rng.chance(1, 10) && self.tried.insert(step.id) {
                    self.undo();
                    return Ended::Full;
                }
                self.tried.insert(step.id);
                let own = self.writing.iter().flat_map(|(_, writes)| writes);
                own.chain(copies).filter(|_| self.fault != Fault::Together).cloned().collect()
            }
        };
        if let [Write::Entry { table, key, to: Some(_), .. }] = writes.as_slice() {
            let is_new = !self.there.contains(&(table.clone(), key.clone()));
            let is_copy = self.pinned.flow_manager.as_ref() == Some(table)
                || self.pinned.tables.iter().any(|copy| copy.resident == *table);
            if is_copy && is_new && !self.pinned.whole.contains(table) && rng.chance(1, 20) {
                return Ended::Full;
            }
        }
        for write in &writes {
            let Write::Entry { table, key, to, .. } = write else {
                let is_resident = self.pinned.tables.iter().any(|copy| copy.resident == *table_of(write));
                if !(is_resident && self.fault == Fault::Defaults) {
                    self.rack.write(write, Time::ZERO).expect("the full tables could");
                }
                continue;
            };
            let is_resident = self.pinned.tables.iter().any(|copy| copy.resident == *table);
            self.written_copies += u32::from(is_resident);
            let is_expelled = self.pinned.flow_manager.as_ref() == Some(table) && to.is_none();
            let skips = match self.fault {
                Fault::None | Fault::Defaults | Fault::Together => false,
                Fault::Copies => is_resident && self.written_copies.is_multiple_of(4),
                Fault::Expulsions => is_expelled,
            };
            if skips {
                continue;
            }
            let at = (table.clone(), key.clone());
            match to {
                Some(_) => _ = self.there.insert(at),
                // It may have been done before.
                None => _ = self.there.remove(&at),
            }
            let done = self.rack.write(write, Time::ZERO);
            if done.is_err() && to.is_some() {
                self.there.remove(&(table.clone(), key.clone()));
                return Ended::Full;
            }
        }
        Ended::Done
    }

    /// Runs it. Each violation is an error.
    fn run(&mut self, events: u32, writes: bool, rng: &mut Rng) -> Result<Outcome, String> {
        let mut now = Time::ZERO;
        let mut known: Vec<Flow> = vec![];
        let mut outcome = Outcome { packets: 0, resident: 0, moves: 0, written: 0, full: 0, sent: vec![] };
        for _ in 0..events {
            now += Duration::from_us(rng.below(4_000));
            self.go_on(now, rng);
            match rng.below(20) {
                0..3 if !known.is_empty() => match self.flows.promote(&known[rng.index(known.len())]) {
                    Ok(()) | Err(Refusal::Busy) => {}
                    Err(other) => return Err(format!("promotion: {other:?}")),
                },
                3..5 if !known.is_empty() => {
                    let _ = self.flows.demote(&known[rng.index(known.len())]);
                }
                5..7 if writes && self.writing.is_none() => {
                    let is_one = rng.chance(2, 3);
                    let mut writes =
                        if is_one { vec![self.random_write(rng)] } else { self.random_writes(rng) };
                    let begun = if is_one {
                        self.flows.write(writes[0].clone())
                    } else {
                        // Those of tables without a copy are done by somebody else.
                        let is_set = |write: &Write<Name>| matches!(write, Write::ValueSet { .. });
                        writes.retain(|write| is_set(write) || self.flows.is_copied(table_of(write)));
                        self.flows.write_together(writes.clone())
                    };
                    if begun.is_ok() {
                        for write in &writes {
                            self.after.write(write, Time::ZERO).expect("the full tables could");
                        }
                        self.writing = Some((self.flows.written(), writes));
                    }
                }
                7 if rng.chance(1, 10) => {
                    let idle = known.iter().filter(|flow| self.flows.place(flow) == Some(Place::Resident));
                    let seen = idle.map(|flow| (flow.clone(), Duration::from_s(rng.below(4)))).collect();
                    self.flows.seen(seen);
                }
                _ => self.packet(now, &mut known, &mut outcome, rng)?,
            }
        }
        for flow in &known {
            let _ = self.flows.demote(flow);
        }
        while !(self.flows.is_at_rest() && self.doing.is_empty()) {
            now += Duration::from_ms(10);
            self.go_on(now, rng);
        }
        let counters = self.flows.counters();
        (outcome.moves, outcome.full) = (counters.promoted, counters.full);
        outcome.written = self.flows.written();
        self.check_end(writes)?;
        Ok(outcome)
    }

    /// A random write, mostly to an entry that packets look up.
    fn random_write(&self, rng: &mut Rng) -> Write<Name> {
        if let Some(write) = value_set(&self.whole, rng).filter(|_| rng.chance(1, 4)) {
            return write;
        }
        match rng.pick(&self.lookups).filter(|_| rng.chance(3, 4)) {
            Some(lookup) => self.write_at(lookup, rng),
            None => random_write(&self.whole, rng),
        }
    }

    /// Several writes, mostly to entries that one packet looks up.
    fn random_writes(&self, rng: &mut Rng) -> Vec<Write<Name>> {
        let first = rng.index(self.lookups.len().max(1));
        let some = self.lookups.iter().skip(first).take(2 + rng.index(2)).collect::<Vec<_>>();
        let looked_up = some.into_iter().map(|lookup| self.write_at(lookup, rng)).collect::<Vec<_>>();
        let other = rng.chance(1, 2).then(|| self.random_write(rng));
        looked_up.into_iter().chain(other).collect()
    }

    /// A write to the entry that this lookup hits.
    fn write_at(&self, (name, matches): &(Name, Box<[Match]>), rng: &mut Rng) -> Write<Name> {
        let all = self.whole.controls.iter().flat_map(|c| c.tables.iter().map(move |t| (c, t)));
        let found = all.into_iter().find(|(_, table)| table.control_plane_name == *name);
        let (control, table) = found.expect("the program has it");
        let mut write = entry(&self.whole, table, control, rng);
        if let Write::Entry { key, .. } = &mut write {
            for ((entered, found), of) in key.matches.iter_mut().zip(matches).zip(&table.keys) {
                *entered = match (found, &of.match_kind) {
                    (Match::Exact(value), MatchKind::Lpm) => {
                        Match::Lpm { value: value.clone(), prefix_len: value.width() }
                    }
                    _ => found.clone(),
                };
            }
        }
        write
    }

    fn packet(
        &mut self,
        now: Time,
        known: &mut Vec<Flow>,
        outcome: &mut Outcome,
        rng: &mut Rng,
    ) -> Result<(), String> {
        let (port, frame) = match self.frames.is_empty() || rng.chance(1, 4) {
            true => (rng.below(4) as u32, packet(rng)),
            false => self.frames[rng.index(self.frames.len())].clone(),
        };
        self.before.set_trace(true);
        let sent = |switch: &mut Switch| -> Vec<(u32, Vec<u8>)> {
            let outputs = switch.process(port, &frame, now);
            outputs.into_iter().map(|output| (output.port, output.frame)).collect()
        };
        let (before, after) = (sent(&mut self.before), sent(&mut self.after));
        let events = self.before.take_trace();
        let flow = flow(&self.keys, port, &events);
        for event in events {
            let EventKind::Table { table, keys, .. } = event.kind else { continue };
            if !self.pinned.whole.contains(&table) && self.lookups.len() < 20 {
                let keys = keys.into_iter().filter_map(|key| key.value.bits().cloned()).map(Match::Exact);
                self.lookups.push((table, keys.collect()));
            }
        }
        let found = sent(&mut self.rack);
        if found != before && found != after {
            return Err(format!("a packet of {flow:?} at {now}: {before:?} or {after:?}, found {found:?}"));
        }
        outcome.packets += 1;
        outcome.resident += u32::from(self.flows.place(&flow) == Some(Place::Resident));
        outcome.sent.push(found);
        if !known.contains(&flow) && known.len() < 20 {
            self.frames.push((port, frame));
            known.push(flow);
        }
        Ok(())
    }

    /// All flows are at helpers: the switch has no copies, and counters are those of the program.
    fn check_end(&mut self, writes: bool) -> Result<(), String> {
        if !self.flows.is_empty() {
            return Err(format!("flows are left: {:?}", self.flows.numbers()));
        }
        let by_entry = self.pinned.tables.iter().filter(|copy| !self.pinned.whole.contains(&copy.original));
        let tables: Vec<Name> =
            by_entry.map(|copy| copy.resident.clone()).chain(self.pinned.flow_manager.clone()).collect();
        for table in tables {
            let left = self.rack.table_entries(&table).expect("a table").len();
            if left > 0 {
                return Err(format!("{left} entries are left in `{table}`"));
            }
        }
        let (alone, rack) = (self.before.state(), self.rack.state());
        for copy in self.pinned.objects.iter().filter(|_| !writes) {
            let of = |state: &BTreeMap<String, Vec<u8>>, name: &Name| {
                state.get(name.as_str()).cloned().unwrap_or_default()
            };
            let sum = device::add_counts(&of(&rack, &copy.original), &of(&rack, &copy.resident));
            if sum != of(&alone, &copy.original) {
                return Err(format!("`{}` has other counts", copy.original));
            }
        }
        Ok(())
    }
}

fn renamed(write: &Write<Name>, pinned: &Pinned) -> Write<Name> {
    let copy: Result<_, std::convert::Infallible> = write.refer(|_, name| Ok(pinned.resident(name).into()));
    copy.unwrap_or_else(|never| match never {})
}

/// Name and source of each app, and of the NAT with value sets: of the protocols that have the ports of TCP, by which a packet is of one flow or
/// another, and of those whose ports change places.
fn all_apps() -> Vec<(&'static str, String)> {
    let states = "value_set<bit<8>>(4) streams;
        value_set<bit<8>>(4) swapped;
        state start {
            packet.extract(hdr.ethernet);
            transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; }
        }
        state ipv4 {
            packet.extract(hdr.ipv4);
            transition select(hdr.ipv4.protocol) { streams: tcp; swapped: back; PROTO_UDP: udp; default: accept; }
        }
        state back { packet.extract(hdr.udp); meta.l4.src = hdr.udp.dst; meta.l4.dst = hdr.udp.src; transition accept; }
        state tcp { packet.extract(hdr.tcp); meta.l4.src = hdr.tcp.src; meta.l4.dst = hdr.tcp.dst; transition accept; }
        state udp { packet.extract(hdr.udp); meta.l4.src = hdr.udp.src; meta.l4.dst = hdr.udp.dst; transition accept; }";
    let (_, nat) = APPS.iter().find(|(name, _)| *name == "nat").expect("it is one of them");
    let streams = ("streams", nat.replace("PARSE_L4(meta.l4)", states));
    APPS.iter().map(|(name, source)| (*name, (*source).to_string())).chain([streams]).collect()
}

fn run(app: usize, seed: u64, fault: Fault) -> Result<Outcome, String> {
    let (name, source) = &all_apps()[app];
    let mut rng = Rng::new(seed).split(name);
    let writes = seed.is_multiple_of(2);
    let mut trial = Trial::new(source, fault, &mut rng);
    trial.run(400, writes, &mut rng).map_err(|why| format!("{name}, seed {seed}: {why}"))
}

/// In this seed the switch has no room for a write to a table that is copied whole.
#[test]
fn a_copy_that_had_no_room_for_a_write_gets_it_before_flows_come_back() {
    let acl = APPS.iter().position(|(name, _)| *name == "acl").expect("it is one of them");
    run(acl, 64, Fault::None).unwrap_or_else(|why| panic!("{why}"));
}

/// In these seeds an entry is written twice in writes that are done together.
#[test]
fn writes_of_one_entry_that_are_done_together_change_no_other() {
    let app = |name| APPS.iter().position(|app| app.0 == name).expect("it is one of them");
    for (name, seed) in [("firewall", 224), ("acl", 1250)] {
        run(app(name), seed, Fault::None).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn packets_have_the_full_tables_results_while_flows_move() {
    let range = features::seeds(4, 400);
    let seeds = range.end - range.start;
    for (app, (name, _)) in all_apps().iter().enumerate() {
        let (mut packets, mut resident, mut moves, mut written, mut full) = (0, 0, 0, 0, 0);
        for seed in range.clone() {
            let outcome = run(app, seed, Fault::None).unwrap_or_else(|why| panic!("{why}"));
            packets += outcome.packets;
            resident += outcome.resident;
            moves += outcome.moves;
            written += outcome.written;
            full += outcome.full;
        }
        println!(
            "{name}: {packets} packets, {resident} at the switch, {moves} moves, {written} writes, full {full} times"
        );
        assert!(resident * 20 > packets && moves > seeds && written > seeds / 2, "{name} does too little");
    }
}

#[test]
fn the_same_seed_does_the_same() {
    for app in 0..all_apps().len() {
        let [one, other] = [(); 2].map(|()| run(app, 4, Fault::None).unwrap_or_else(|why| panic!("{why}")));
        assert_eq!((one.sent, one.moves, one.written), (other.sent, other.moves, other.written));
    }
}

#[test]
fn what_is_not_done_is_noticed() {
    for fault in [Fault::Copies, Fault::Expulsions, Fault::Defaults, Fault::Together] {
        let mut trials = (0..16).flat_map(|seed| (0..APPS.len()).map(move |app| (app, seed)));
        assert!(trials.any(|(app, seed)| run(app, seed, fault).is_err()), "{fault:?} is not noticed");
    }
}

#[test]
fn tables_that_cannot_be_copied_by_entry_are_refused() {
    let (_, source) = APPS.iter().find(|(name, _)| *name == "firewall").expect("it is an app");
    let whole = compiled(source);
    let keys = keys(&whole);
    let request = Request {
        affinity: Affinity::Medium,
        region: "external".into(),
        key: keys.key.parts.iter().map(|part| part.name.clone()).collect(),
        shards: None,
        flows: 16,
        resident: [].into(),
    };
    let pinned = pin(&whole, &request).unwrap_or_else(|found| panic!("{found:#?}"));
    let made = PinnedFlows::new(&whole, &keys, &pinned, &[], COSTS, Options::default());
    let found: Vec<String> = made.err().unwrap_or_default().into_iter().map(|found| found.title).collect();
    assert_eq!(found, ["flows that look up `FirewallIngress.sources` cannot move"]);
}

#[test]
fn a_packet_is_named_by_the_members_of_value_sets() {
    let (_, source) = all_apps().pop().expect("it is the last");
    let whole = compiled(&source);
    let keys = keys(&whole);
    let at = keys.key.parts.iter().position(|part| part.name == "hdr.tcp.src").expect("flows have it");
    let mut classifier = Classifier::new(&whole, &keys, Options::default()).expect("it runs");
    let mut frame = vec![0; 64];
    (frame[12], frame[23], frame[34], frame[35]) = (8, 6, 1, 2);
    assert_eq!(classifier.flow(1, &frame)[at], Bits::new(16, 0));
    let set = whole.parsers.iter().flat_map(|parser| &parser.value_sets).next().expect("there is one");
    let members = vec![vec![Match::Exact(Bits::new(8, 6))]];
    classifier.follow(&BTreeMap::from([(set.control_plane_name.clone(), members)]));
    assert_eq!(classifier.flow(1, &frame)[at], Bits::new(16, 0x102));
}

/// A packet's ports may change places at any time, without another flow.
#[test]
fn a_flow_at_the_switch_has_the_entries_of_all_members_of_value_sets() {
    let (_, source) = all_apps().pop().expect("it is the last");
    let whole = compiled(&source);
    let keys = keys(&whole);
    let request = Request {
        affinity: Affinity::Medium,
        region: "external".into(),
        key: keys.key.parts.iter().map(|part| part.name.clone()).collect(),
        shards: None,
        flows: 16,
        resident: [].into(),
    };
    let pinned = pin(&whole, &request).unwrap_or_else(|found| panic!("{found:#?}"));
    let part = |name: &str| match name {
        "hdr.ipv4.protocol" => 17,
        "hdr.udp.src" => 1,
        "hdr.udp.dst" => 2,
        _ => 0,
    };
    let flow: Flow = keys.key.parts.iter().map(|known| Bits::new(known.width, part(&known.name))).collect();
    let entry = |[to, from]: [u128; 2]| {
        let keys = [(32, 0), (32, 0), (8, 17), (16, to), (16, from)];
        let matches = keys.map(|(width, value)| Match::Exact(Bits::new(width, value)));
        let key = EntryKey { matches: Box::new(matches), priority: 0 };
        let call = ActionCall { action: "NoAction".into(), args: vec![] };
        let to = Some(Box::new(Entry::new(Run::Action(call))));
        Write::Entry { table: "NatIngress.inbound".into(), key, to, count: None }
    };
    let entries = [entry([2, 1]), entry([1, 2])];
    let flows = PinnedFlows::new(&whole, &keys, &pinned, &entries, COSTS, Options::default());
    let mut flows = flows.unwrap_or_else(|found| panic!("{found:#?}"));
    flows.promote(&flow).expect("it can be at the switch");
    let mut copied = vec![];
    while let Some(step) = flows.next_step() {
        if let Work::Write(writes) = &step.work {
            copied.extend(writes.iter().cloned());
        }
        flows.ended(step.id, Ended::Done);
    }
    assert_eq!(flows.place(&flow), Some(Place::Resident));
    for entry in &entries {
        assert!(copied.contains(&flows.copy_of(entry)), "{entry:?} is not at the switch: {copied:#?}");
    }
}
