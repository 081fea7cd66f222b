//! Switch, reducer and mappers without windows of congestion, timers and sizes.

use crate::configuration::{Model, Mutant, Packet};
use crate::part::Part;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;

type Sums = BTreeMap<char, u32>;

fn add(sums: &mut Sums, packet: &Packet) {
    packet.iter().flatten().for_each(|(key, _, value)| *sums.entry(*key).or_default() += value);
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Message {
    Data {
        generation: u8,
        mapper: u8,
        seq: u8,
        packet: Packet,
    },
    /// `left`: lanes that are not folded.
    Ack {
        generation: u8,
        mapper: u8,
        seq: u8,
        left: Packet,
    },
    Overflow {
        generation: u8,
        mapper: u8,
        seq: u8,
        packet: Packet,
    },
    /// To a mapper: an `Overflow` came without its pairs.
    Trimmed {
        generation: u8,
        mapper: u8,
        seq: u8,
    },
    /// `past`: packets past the switch.
    End {
        generation: u8,
        mapper: u8,
        past: u8,
    },
    /// `before`: the generation before, if the mapper has not ended it and goes on with it; or 0. `run`: that of the mapper's incarnation.
    Start {
        generation: u8,
        round: u8,
        mapper: u8,
        before: u8,
        run: u8,
    },
    Boot(u8),
    /// A question about a bank, and the answer: the nonce, the bank, and in the answer the boot number and the bank's generation.
    Ask(u8, u8),
    Shown(u8, u8, u8, u8),
    /// Requests to the switch and its answers: generation, boot number, row.
    Open(u8, u8),
    Opened(u8, u8),
    Close(u8, u8),
    Closed(u8, u8),
    Read(u8, u8, u8),
    Content(u8, u8, u8, Packet),
    /// A request that has read row 0, before it reads row 1; its answer.
    Pass(u8, u8, Packet),
    Contents(u8, u8, [Packet; 2]),
    Clear(u8, u8, u8),
    Cleared(u8, u8, u8),
}

impl Message {
    /// True if the message is sent again until it is answered.
    fn is_repeated(&self) -> bool {
        use Message::*;
        matches!(self, Start { .. } | Ask(..) | Open(..) | Close(..) | Read(..) | Clear(..))
    }

    /// True if the answer to the message can be lost.
    fn is_answered(&self) -> bool {
        use Message::*;
        let is_request = matches!(self, Ask(..) | Open(..) | Close(..) | Read(..) | Pass(..) | Clear(..));
        is_request || matches!(self, Data { .. } | Overflow { .. })
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Switch {
    boot: u8,
    /// Generation, and whether it is open.
    banks: Vec<(u8, bool)>,
    /// For each mapper and number modulo the window.
    cells: Vec<u8>,
    /// The same: what was sent on.
    overflowed: Vec<Packet>,
    /// By bank, row and lane.
    slots: Vec<Packet>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Phase {
    Opening,
    Collecting,
    Closing,
    Reading,
    Read,
    Clearing,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Attempt {
    generation: u8,
    round: u8,
    phase: Phase,
    is_doomed: bool,
    /// Mapper, number, and how often it is counted.
    overflows: BTreeMap<(u8, u8), (Packet, u8)>,
    /// By mapper: packets past the switch, once it has said how many they are.
    ends: BTreeMap<u8, u8>,
    rows: BTreeMap<u8, Packet>,
    cleared: BTreeSet<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reducer {
    /// The number of the run, from 0, and the incarnation of its mappers.
    run: u8,
    /// Times that banks were asked again.
    again: u8,
    boot: u8,
    /// The run among those that the switch knows in the upper half, the attempt in the lower half.
    last: u8,
    /// While banks are asked: those that have answered.
    shown: Option<BTreeMap<u8, u8>>,
    /// Attempts that only clear a bank.
    purges: u8,
    attempts: Vec<Attempt>,
    commits: Vec<(u8, Sums)>,
}

/// The attempt of a generation.
const ATTEMPT: u8 = 15;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Mapper {
    run: u8,
    generation: u8,
    round: u8,
    /// Numbers before those of the round.
    base: u8,
    acked: BTreeSet<u8>,
    /// Pairs for the other row, in the order of sending.
    moved: Vec<Packet>,
    /// By number of the packet.
    left: BTreeMap<u8, Packet>,
    next_base: u8,
    /// The generation before, if it goes on.
    earlier: Vec<Mapper>,
}

/// The unfolded pairs of packet `n` are sent with the number `LEFT + n`.
const LEFT: u8 = 128;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    switch: Part<Switch>,
    reducer: Part<Reducer>,
    mappers: Vec<Part<Mapper>>,
    /// Every message that was ever sent, sorted.
    messages: Part<Vec<Message>>,
    restarts: u8,
    aborts: u8,
    replaces: u8,
}

impl State {
    pub fn first(model: &Model) -> State {
        let cells = model.mappers() * usize::from(model.window);
        let mut state = State {
            switch: Part::new(Switch {
                boot: 1,
                banks: vec![(0, false); model.banks.into()],
                cells: vec![0; cells],
                overflowed: vec![[None; 2]; cells],
                slots: vec![[None; 2]; usize::from(model.banks * model.rows)],
            }),
            reducer: Part::new(Reducer {
                run: 0,
                again: 0,
                boot: 1,
                last: model.first_run(1) << 4,
                shown: None,
                purges: 0,
                attempts: vec![],
                commits: vec![],
            }),
            mappers: vec![Part::default(); model.mappers()],
            messages: Part::default(),
            restarts: 0,
            aborts: 0,
            replaces: 0,
        };
        let opens = state.reducer.begin(model);
        state.send(opens);
        state
    }

    fn send(&mut self, sent: impl IntoIterator<Item = Message>) {
        for message in sent {
            if let Err(at) = self.messages.binary_search(&message) {
                self.messages.insert(at, message);
            }
        }
    }

    pub fn is_over(&self) -> bool {
        self.reducer.attempts.is_empty() && self.reducer.shown.is_none()
    }

    /// True if the committed result is the sum of its round.
    pub fn is_exact(&self, model: &Model) -> bool {
        (0..).zip(&self.reducer.commits).all(|(wanted, (round, sums))| {
            let mut exact = Sums::new();
            let packets = (0..model.mappers()).flat_map(|at| model.data(self.replaces, *round, at));
            packets.for_each(|packet| add(&mut exact, &packet));
            wanted == *round && exact == *sums
        })
    }

    /// Every state that may follow, always in the same order, and the name of the step.
    pub fn next(&self, model: &Model, visit: &mut dyn FnMut(Arguments<'_>, State)) {
        let most = (3 + model.restarts + 1 + 2 * model.replaces) * model.banks.max(1);
        let mut visit = |label: Arguments<'_>, next: State| {
            if next.reducer.last & ATTEMPT <= most && next != *self {
                visit(label, next);
            }
        };
        for message in self.messages.iter() {
            if let Message::Start { generation, round, mapper, before, run } = *message {
                if run == self.replaces || model.is(Mutant::StartOfAnyRun) {
                    self.started((generation, before), round, usize::from(mapper), model, &mut visit);
                }
                continue;
            }
            let mut next = self.clone();
            let answers = next.deliver(message, model);
            if model.loses && !answers.is_empty() && message.is_answered() {
                let mut lossy = next.clone();
                lossy.send(answers.iter().copied().filter(Message::is_repeated));
                visit(format_args!("{message:?}, answer lost"), lossy);
            }
            next.send(answers);
            visit(format_args!("{message:?}"), next);
            if model.trims {
                let mut next = self.clone();
                let answers = next.reducer.take_trimmed(message, model);
                next.send(answers);
                visit(format_args!("{message:?}, trimmed"), next);
            }
        }
        if self.restarts < model.restarts {
            let mut next = State { restarts: self.restarts + 1, ..self.clone() };
            next.switch = State::first(model).switch;
            next.switch.boot = self.switch.boot + 1;
            visit(format_args!("restart"), next);
        }
        if self.replaces < model.replaces {
            let run = self.replaces + 1;
            let shown = Some(BTreeMap::new());
            let (attempts, commits) = (vec![], vec![]);
            let reducer = Reducer { run, again: 0, boot: 0, last: 0, shown, purges: 0, attempts, commits };
            let mapper = Mapper { run, ..Mapper::default() };
            let mut next = State {
                replaces: run,
                reducer: Part::new(reducer),
                mappers: vec![Part::new(mapper); model.mappers()],
                ..self.clone()
            };
            let sent = next.reducer.ask(model);
            next.send(sent);
            visit(format_args!("another run"), next);
        }
        // Then nothing goes on. At other times, the answers say nothing new.
        let is_taken = self.switch.banks.iter().any(|(generation, _)| *generation > self.reducer.last);
        if is_taken && self.reducer.again < model.again && self.reducer.shown.is_none() && !self.is_over() {
            let mut next = self.clone();
            next.reducer.again += 1;
            let sent = next.reducer.ask(model);
            next.send(sent);
            visit(format_args!("ask again"), next);
        }
        if self.aborts < model.aborts {
            for at in 0..self.reducer.attempts.len() {
                let mut next = State { aborts: self.aborts + 1, ..self.clone() };
                let attempt = &self.reducer.attempts[at];
                let is_at_work = matches!(attempt.phase, Phase::Collecting | Phase::Reading);
                if is_at_work && attempt.generation & ATTEMPT < 3 * model.banks {
                    let sent = next.reducer.abort(at, model);
                    next.send(sent);
                    visit(format_args!("abort"), next);
                }
            }
        }
    }

    fn started(
        &self,
        (generation, before): (u8, u8),
        round: u8,
        at: usize,
        model: &Model,
        visit: &mut dyn FnMut(Arguments<'_>, State),
    ) {
        let mapper = &self.mappers[at];
        if mapper.generation >= generation {
            return;
        }
        let own = Mapper { earlier: vec![], ..Mapper::clone(mapper) };
        let all = mapper.earlier.iter().cloned().chain([own]);
        let earlier: Vec<Mapper> = all.filter(|one| before > 0 && one.generation == before).collect();
        if before > 0 && earlier.is_empty() && !model.is(Mutant::StartOutOfOrder) {
            return;
        }
        let length = model.data[usize::from(round)][at].len() as u8;
        let base = match model.replaces {
            0 => mapper.next_base,
            // All rounds are as long.
            _ => ((generation & ATTEMPT) - 1) * length,
        };
        let next_base = base + if model.moves { length * model.window } else { length };
        let run = mapper.run;
        let started = Mapper { run, generation, round, base, next_base, earlier, ..Mapper::default() };
        let mut next = self.clone();
        next.send(started.sends(at, model));
        next.mappers[at] = Part::new(started);
        visit(format_args!("Start of {generation} at {at}"), next);
    }

    fn deliver(&mut self, message: &Message, model: &Model) -> Vec<Message> {
        use Message::*;
        match message {
            Data { generation, mapper, seq, packet } => {
                vec![self.switch.data(*generation, (*mapper, *seq), packet, model)]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            Open(..) | Close(..) | Read(..) | Pass(..) | Clear(..) => {
                let answer = self.switch.control(message, model);
                let Some(Content(generation, boot, row, _)) = answer else {
                    return answer.into_iter().collect();
                };
                let has_next = model.copies && row + 1 < model.rows;
                answer.into_iter().chain(has_next.then_some(Read(generation, boot, row + 1))).collect()
            }
            Ask(run, bank) => {
                let (generation, _) = self.switch.banks[usize::from(*bank)];
                vec![Shown(*run, *bank, self.switch.boot, generation)]
            }
            Ack { generation, mapper, seq, left } => {
                let at = usize::from(*mapper);
                let Some(to) = self.mappers[at].attempt(*generation) else { return vec![] };
                let is_new = to.acked.insert(*seq);
                let is_again = model.is(Mutant::LeftTwice) && !is_new;
                if (is_new || is_again) && *left != [None; 2] {
                    if model.moves && !model.is_moved(*seq) {
                        let other = |(key, row, value)| (key, 1 - row, value);
                        to.moved.push(left.map(|pair| pair.map(other)));
                    } else {
                        to.left.insert(seq + if is_new { 0 } else { 64 }, *left);
                    }
                }
                if is_new || is_again { self.mappers[at].sends(at, model) } else { vec![] }
            }
            // The packet is still the same: it can be delivered again.
            Trimmed { generation, mapper, seq } if model.is(Mutant::TrimmedAcknowledged) => {
                let ack = Ack { generation: *generation, mapper: *mapper, seq: *seq, left: [None; 2] };
                self.deliver(&ack, model)
            }
            Start { .. } | Trimmed { .. } => vec![],
            _ => self.reducer.take(message, model),
        }
    }
}

impl Mapper {
    fn attempt(&mut self, generation: u8) -> Option<&mut Mapper> {
        if self.generation == generation {
            return Some(self);
        }
        self.earlier.iter_mut().find(|earlier| earlier.generation == generation)
    }

    /// Packets of the round to be folded, as far as the window and the cells of the generation before allow.
    fn data(&self, at: usize, model: &Model) -> Vec<(u8, Packet)> {
        let mut sent = vec![];
        for (packet, number) in model.packets(self.run, self.round, at).into_iter().zip(0..) {
            let cells = model.cells();
            let seq = self.base + number / cells * model.window + number % cells + 1;
            let has_cell = number < cells || self.acked.contains(&(seq - model.window));
            let has_left = |earlier: &Mapper| earlier.has_left_cell(seq, at, model);
            if !has_cell || !model.is(Mutant::CellsTaken) && !self.earlier.iter().all(has_left) {
                break;
            }
            sent.push((seq, packet));
        }
        sent
    }

    /// Packets for the other row of pairs that were left, one after the other.
    fn moved(&self, at: usize, model: &Model) -> Vec<(u8, Packet)> {
        let mut sent = vec![];
        for (packet, number) in self.moved.iter().zip(1..) {
            let seq = self.base + number * model.window;
            let has_left = |earlier: &Mapper| earlier.has_left_cell(seq, at, model);
            if !self.earlier.iter().all(has_left) {
                break;
            }
            sent.push((seq, *packet));
            if !self.acked.contains(&seq) && !model.is(Mutant::MovedTogether) {
                break;
            }
        }
        sent
    }

    /// True if all of the round is sent, what has the cell of this packet is acknowledged, and no packet for the other row may need it.
    fn has_left_cell(&self, seq: u8, at: usize, model: &Model) -> bool {
        let (data, moved) = (self.data(at, model), self.moved(at, model));
        let is_open = |of: &u8| of % model.window == seq % model.window && !self.acked.contains(of);
        let length = model.packets(self.run, self.round, at).len();
        let folded = self.acked.iter().filter(|of| **of < LEFT).count();
        let is_kept = model.is_moved(seq) && !model.is(Mutant::KeptCellsTaken);
        let is_needed = is_kept && folded < length + self.moved.len();
        data.len() == length && !data.iter().chain(&moved).any(|(of, _)| is_open(of)) && !is_needed
    }

    fn sends(&self, at: usize, model: &Model) -> Vec<Message> {
        let (generation, mapper) = (self.generation, at as u8);
        let mut sent: Vec<Message> =
            self.earlier.iter().flat_map(|earlier| earlier.sends(at, model)).collect();
        let data = self.data(at, model).into_iter().chain(self.moved(at, model));
        sent.extend(data.map(|(seq, packet)| Message::Data { generation, mapper, seq, packet }));
        for (seq, packet) in &self.left {
            sent.push(Message::Overflow { generation, mapper, seq: LEFT + seq, packet: *packet });
        }
        let folded = self.acked.iter().filter(|seq| **seq < LEFT).count();
        let (moved, past) =
            if model.is(Mutant::EndBeforeLeft) { (0, 0) } else { (self.moved.len(), self.left.len() as u8) };
        if folded >= model.packets(self.run, self.round, at).len() + moved {
            sent.push(Message::End { generation, mapper, past });
        }
        sent
    }
}

impl Switch {
    fn bank(&self, generation: u8) -> usize {
        usize::from(generation) % self.banks.len()
    }

    /// The slots of a row.
    fn row(&mut self, generation: u8, row: u8, model: &Model) -> &mut Packet {
        let at = self.bank(generation) * usize::from(model.rows) + usize::from(row);
        &mut self.slots[at]
    }

    /// Gives the lanes that have to travel on.
    fn fold(&mut self, generation: u8, seq: u8, packet: &Packet, model: &Model) -> Packet {
        let mut overflowed = [None; 2];
        for (lane, pair) in packet.iter().enumerate() {
            let Some((key, row, value)) = *pair else { continue };
            let row = if model.dense { (seq - 1) % model.rows } else { row };
            let held = &mut self.row(generation, row, model)[lane];
            match held {
                None => *held = *pair,
                Some((known, _, sum)) if *known == key || model.dense => *sum += value,
                Some(_) if model.evicts => overflowed[lane] = std::mem::replace(held, *pair),
                Some(_) => overflowed[lane] = *pair,
            }
        }
        overflowed
    }

    fn data(
        &mut self,
        generation: u8,
        (mapper, seq): (u8, u8),
        packet: &Packet,
        model: &Model,
    ) -> Option<Message> {
        if self.banks[self.bank(generation)] != (generation, true) {
            return Some(Message::Boot(self.boot));
        }
        let ack = Message::Ack { generation, mapper, seq, left: [None; 2] };
        let is_counting = model.is(Mutant::Progress) || model.is(Mutant::ProgressAnswered);
        let position = if is_counting { 0 } else { seq % model.window };
        let at = usize::from(mapper * model.window + position);
        let cell = self.cells[at];
        let (is_new, after) = if is_counting {
            if seq <= cell {
                return model.is(Mutant::ProgressAnswered).then_some(ack);
            }
            (true, cell + 1)
        } else if model.is(Mutant::Parity) {
            let parity = (seq / model.window) % 2 + 1;
            (cell != parity, parity)
        } else {
            if seq < cell {
                return None;
            }
            (seq > cell, seq)
        };
        self.cells[at] = after;
        let at = usize::from(mapper * model.window + seq % model.window);
        if is_new {
            self.overflowed[at] = self.fold(generation, seq, packet, model);
        } else if model.is(Mutant::DuplicatesDropped) {
            return None;
        }
        let packet = match (is_new, model.mutant) {
            (false, Some(Mutant::MapForgotten)) => *packet,
            (false, Some(Mutant::ShadowForgotten)) => [None; 2],
            _ => self.overflowed[at],
        };
        if model.answers {
            return Some(Message::Ack { generation, mapper, seq, left: packet });
        }
        let is_folded = packet == [None; 2];
        Some(if is_folded { ack } else { Message::Overflow { generation, mapper, seq, packet } })
    }

    fn control(&mut self, message: &Message, model: &Model) -> Option<Message> {
        use Message::*;
        let (Open(generation, boot)
        | Close(generation, boot)
        | Read(generation, boot, _)
        | Pass(generation, boot, _)
        | Clear(generation, boot, _)) = *message
        else {
            return None;
        };
        let is_pass = matches!(message, Pass(..));
        if is_pass && model.is(Mutant::PassUnchecked) {
            let Pass(_, _, first) = *message else { return None };
            return Some(Contents(generation, boot, [first, *self.row(generation, 1, model)]));
        }
        if boot != self.boot && !model.is(Mutant::NoBoot) {
            return (!is_pass).then_some(Boot(self.boot));
        }
        let boot = self.boot;
        let bank = self.bank(generation);
        let (known, is_open) = self.banks[bank];
        if let Open(..) = message {
            if known < generation {
                self.banks[bank] = (generation, true);
            }
            return (known <= generation).then_some(Opened(generation, boot));
        }
        if known != generation {
            if model.is(Mutant::ClearOfAnyGeneration)
                && let Clear(_, _, row) = *message
            {
                *self.row(generation, row, model) = [None; 2];
                return Some(Cleared(generation, boot, row));
            }
            return (!is_pass).then_some(Boot(self.boot));
        }
        match *message {
            Close(..) => {
                self.banks[bank].1 = false;
                Some(Closed(generation, boot))
            }
            _ if is_open && !model.is(Mutant::AbortWithoutClose) => None,
            Read(_, _, row) => {
                let held = self.row(generation, row, model);
                let content = *held;
                if model.is(Mutant::ReadClears) {
                    *held = [None; 2];
                }
                if model.passes {
                    return Some(Pass(generation, boot, content));
                }
                Some(Content(generation, boot, row, content))
            }
            Pass(_, _, first) => Some(Contents(generation, boot, [first, *self.row(generation, 1, model)])),
            Clear(_, _, row) => {
                *self.row(generation, row, model) = [None; 2];
                let is_last = !model.passes || row + 1 == model.rows;
                Some(if is_last { Cleared(generation, boot, row) } else { Clear(generation, boot, row + 1) })
            }
            _ => None,
        }
    }
}

impl Reducer {
    /// Questions to all banks.
    fn ask(&mut self, model: &Model) -> Vec<Message> {
        self.shown = Some(BTreeMap::new());
        (0..model.banks).map(|bank| Message::Ask(self.nonce(), bank)).collect()
    }

    fn nonce(&self) -> u8 {
        self.run * 16 + self.again
    }

    /// Begins the next attempt if it can.
    fn begin(&mut self, model: &Model) -> Vec<Message> {
        let live = self.attempts.iter().map(|attempt| attempt.round + 1).max();
        let round = live.unwrap_or(0).max(self.commits.len() as u8);
        let is_early = |attempt: &Attempt| attempt.is_doomed || attempt.phase == Phase::Opening;
        let most = usize::from(model.banks) + usize::from(model.is(Mutant::BankNotCleared));
        if self.shown.is_some()
            || self.attempts.len() >= most
            || usize::from(round) >= model.data.len()
            || self.attempts.iter().any(is_early)
        {
            return vec![];
        }
        let mut generation = self.last + 1;
        if model.banks == 2 && !model.is(Mutant::BankNotCleared) {
            generation +=
                u8::from(self.attempts.iter().any(|attempt| attempt.generation % 2 == generation % 2));
        }
        self.last = generation;
        let is_doomed = self.purges > 0;
        self.purges = self.purges.saturating_sub(1);
        self.attempts.push(Attempt {
            generation,
            round,
            phase: Phase::Opening,
            is_doomed,
            overflows: BTreeMap::new(),
            ends: BTreeMap::new(),
            rows: BTreeMap::new(),
            cleared: BTreeSet::new(),
        });
        vec![Message::Open(generation, self.boot)]
    }

    /// Dooms an attempt and those after it.
    fn abort(&mut self, at: usize, model: &Model) -> Vec<Message> {
        let boot = self.boot;
        let mut sent = vec![];
        let end = if model.is(Mutant::AbortOfOne) { at + 1 } else { self.attempts.len() };
        for attempt in &mut self.attempts[at..end] {
            attempt.is_doomed = true;
            if attempt.phase == Phase::Opening {
                continue;
            }
            if model.is(Mutant::AbortWithoutClose) {
                sent.extend(attempt.clear(boot, model));
            } else {
                attempt.phase = Phase::Closing;
                sent.push(Message::Close(attempt.generation, boot));
            }
        }
        sent
    }

    /// The answer to a question: when all banks have answered, generations continue after theirs.
    fn shown(&mut self, (bank, boot, generation): (u8, u8, u8), model: &Model) -> Vec<Message> {
        let Some(shown) = &mut self.shown else { return vec![] };
        if shown.contains_key(&bank) {
            return vec![];
        }
        shown.insert(bank, generation);
        let is_over = shown.len() == usize::from(model.banks) || model.is(Mutant::OneBankAsked);
        if self.boot < boot {
            self.boot = boot;
            self.attempts.clear();
        }
        if !is_over {
            return vec![];
        }
        let Some(shown) = &self.shown else { return vec![] };
        let run = shown.values().map(|last| last >> 4).max().unwrap_or(0);
        let attempt = shown.values().map(|last| last & ATTEMPT).max().unwrap_or(0);
        let newest = shown.values().max().copied().unwrap_or(0);
        self.shown = None;
        // After the last question, nothing is new.
        if self.last & ATTEMPT > 0 && (newest <= self.last || model.is(Mutant::LateOpenIgnored)) {
            return self.begin(model);
        }
        self.attempts.clear();
        let (run, attempt) = (run.max(self.last >> 4), attempt.max(self.last & ATTEMPT));
        self.last = match attempt {
            0 => model.first_run(self.boot) << 4,
            _ if model.is(Mutant::AttemptsAgain) => (run + 1) << 4,
            _ => (run + 1) << 4 | attempt,
        };
        let is_used = attempt > 0 && !model.is(Mutant::PurgeForgotten);
        self.purges = if is_used { model.banks } else { 0 };
        self.begin(model)
    }

    fn take(&mut self, message: &Message, model: &Model) -> Vec<Message> {
        use Message::*;
        if let Shown(run, bank, boot, generation) = *message {
            let is_own = run == self.nonce() || model.is(Mutant::NonceForgotten);
            return if is_own { self.shown((bank, boot, generation), model) } else { vec![] };
        }
        if let Boot(boot) = *message {
            if boot <= self.boot || self.attempts.is_empty() {
                return vec![];
            }
            self.boot = boot;
            self.attempts.clear();
            return self.begin(model);
        }
        let (Opened(generation, ..)
        | Overflow { generation, .. }
        | End { generation, .. }
        | Closed(generation, ..)
        | Content(generation, ..)
        | Contents(generation, ..)
        | Cleared(generation, ..)) = *message
        else {
            return vec![];
        };
        let known = self.boot;
        let Some(at) = self.attempts.iter().position(|attempt| attempt.generation == generation) else {
            return vec![];
        };
        let attempt = &mut self.attempts[at];
        match (message, attempt.phase) {
            (Opened(_, boot), Phase::Opening) if *boot == known => {
                if attempt.is_doomed {
                    attempt.phase = Phase::Closing;
                    return vec![Close(generation, known)];
                }
                attempt.phase = Phase::Collecting;
                let starts = (0..model.mappers() as u8).flat_map(|mapper| self.start(at, mapper, model));
                let starts: Vec<Message> = starts.collect();
                [starts, self.begin(model)].concat()
            }
            (Overflow { mapper, seq, packet, .. }, Phase::Collecting) => {
                let (_, times) = attempt.overflows.entry((*mapper, *seq)).or_insert((*packet, 0));
                *times = if model.is(Mutant::OverflowsCountedTwice) { (*times + 1).min(2) } else { 1 };
                let ack = Ack { generation, mapper: *mapper, seq: *seq, left: [None; 2] };
                [vec![ack], self.ended(at, *mapper, model)].concat()
            }
            (End { mapper, past, .. }, Phase::Collecting) => {
                attempt.ends.insert(*mapper, *past);
                self.ended(at, *mapper, model)
            }
            (Closed(_, boot), Phase::Closing) if *boot == known => {
                if attempt.is_doomed {
                    return attempt.clear(known, model);
                }
                attempt.phase = Phase::Reading;
                (0..model.reads()).map(|row| Read(generation, known, row)).collect()
            }
            (Content(_, boot, row, content), Phase::Reading) if *boot == known => {
                attempt.rows.insert(*row, *content);
                let wanted = if model.is(Mutant::OneRowRead) { 1 } else { model.rows };
                if attempt.rows.len() < usize::from(wanted) {
                    return vec![];
                }
                attempt.phase = Phase::Read;
                self.commit(model)
            }
            (Contents(_, boot, rows), Phase::Reading) if *boot == known => {
                attempt.rows.extend((0..).zip(*rows));
                attempt.phase = Phase::Read;
                self.commit(model)
            }
            (Cleared(_, boot, row), Phase::Clearing) if *boot == known => {
                attempt.cleared.insert(*row);
                let wanted = if model.is(Mutant::OneRowCleared) { 1 } else { model.requests() };
                if attempt.cleared.len() < usize::from(wanted) {
                    return vec![];
                }
                self.attempts.remove(at);
                self.begin(model)
            }
            _ => vec![],
        }
    }

    /// Messages that follow if all packets of a mapper are here.
    fn ended(&mut self, at: usize, mapper: u8, model: &Model) -> Vec<Message> {
        let attempt = &mut self.attempts[at];
        if !attempt.has_ended(mapper, model) {
            return vec![];
        }
        let is_last = (0..model.mappers() as u8).all(|mapper| attempt.has_ended(mapper, model));
        if is_last {
            attempt.phase = Phase::Closing;
        }
        let close = is_last.then_some(Message::Close(attempt.generation, self.boot));
        let next = if at + 1 < self.attempts.len() { self.start(at + 1, mapper, model) } else { None };
        [close.into_iter().chain(next).collect(), self.begin(model)].concat()
    }

    /// A message that may have lost its pairs on its way.
    fn take_trimmed(&mut self, message: &Message, model: &Model) -> Vec<Message> {
        use Message::*;
        match *message {
            Overflow { generation, mapper, seq, .. } => {
                let is_it = |attempt: &&Attempt| {
                    attempt.generation == generation && attempt.phase == Phase::Collecting
                };
                let Some(attempt) = self.attempts.iter().find(is_it) else { return vec![] };
                // A copy of it has come whole, or is taken to have.
                if attempt.overflows.contains_key(&(mapper, seq)) || model.is(Mutant::TrimmedCounted) {
                    let empty = Overflow { generation, mapper, seq, packet: [None; 2] };
                    return self.take(&empty, model);
                }
                vec![Trimmed { generation, mapper, seq }]
            }
            Content(generation, boot, row, _) if model.is(Mutant::TrimmedRowRead) => {
                self.take(&Content(generation, boot, row, [None; 2]), model)
            }
            // The request is still the same: it can be delivered again.
            _ => vec![],
        }
    }

    /// The START of a mapper, with the attempt before if it has not ended that.
    fn start(&self, at: usize, mapper: u8, model: &Model) -> Option<Message> {
        let is_at_work = |earlier: &&Attempt| {
            let is_open = matches!(earlier.phase, Phase::Opening | Phase::Collecting);
            is_open && !earlier.has_ended(mapper, model)
        };
        let earlier = self.attempts[..at].iter().find(is_at_work);
        let is_free = earlier.is_none_or(|earlier| earlier.phase == Phase::Collecting);
        let before = earlier.filter(|_| !model.is(Mutant::StartBeforeEnd)).map_or(0, |one| one.generation);
        let Attempt { generation, round, phase, .. } = self.attempts[at];
        let start = Message::Start { generation, round, mapper, before, run: self.run };
        (is_free && phase == Phase::Collecting).then_some(start)
    }

    /// Commits what is read, in order.
    fn commit(&mut self, model: &Model) -> Vec<Message> {
        let mut sent = vec![];
        for attempt in &mut self.attempts {
            let is_next =
                usize::from(attempt.round) == self.commits.len() || model.is(Mutant::CommitOutOfOrder);
            if attempt.phase != Phase::Read || !is_next {
                continue;
            }
            let mut sums = Sums::new();
            attempt.rows.values().for_each(|content| add(&mut sums, content));
            for (packet, times) in attempt.overflows.values() {
                (0..*times).for_each(|_| add(&mut sums, packet));
            }
            self.commits.push((attempt.round, sums));
            attempt.overflows.clear();
            attempt.ends.clear();
            attempt.rows.clear();
            sent.extend(attempt.clear(self.boot, model));
        }
        sent
    }
}

impl Attempt {
    /// True if the mapper has said how many packets went past the switch, and they are here.
    fn has_ended(&self, mapper: u8, model: &Model) -> bool {
        let is_past = |(of, seq): &&(u8, u8)| *of == mapper && *seq >= LEFT;
        let arrived = self.overflows.keys().filter(is_past).count();
        let has_all = |past: &u8| arrived >= usize::from(*past) || model.is(Mutant::EndUncounted);
        self.ends.get(&mapper).is_some_and(has_all)
    }

    fn clear(&mut self, boot: u8, model: &Model) -> Vec<Message> {
        self.phase = Phase::Clearing;
        let rows = if model.is(Mutant::OneRowCleared) { 1 } else { model.requests() };
        (0..rows).map(|row| Message::Clear(self.generation, boot, row)).collect()
    }
}
