//! The reducer's reaction to each kind of packet.

use super::attempt::{Attempt, Phase};
use super::{MOST_ANSWERS, MOST_FIRST_RUN, MOST_TAKEN, Reducer, Sums, To, Trouble, add_wide};
use crate::estimate::rows_of_answer;
use crate::key::{Place, Slot, hash};
use crate::layout::Layout;
use crate::op::Op;
use crate::packet::{CONGESTED, DIRECT, Kind, LAST, MOST_ATTEMPT, Packet, Pair, ROUND_BITS, TRIMMED};
use base_time::Time;

/// Rows of which the number of pairs is known; older ones count less.
const MOST_KNOWN: u64 = 1024;

impl Reducer {
    /// A bank has answered: `seq` is the last generation that it has had, 0 if it has had none since the switch started.
    fn shown(&mut self, packet: &Packet, now: Time) {
        let (switch, bank) = (packet.channel, packet.generation & 1);
        if packet.boot == 0 {
            return;
        }
        let wait = (self.config.least_wait, self.config.most_wait);
        let Some(questions) = &mut self.questions else { return };
        if !questions.answered(switch, bank, (1, 1), now, wait) {
            return;
        }
        if self.again == 0 {
            self.progress = Some(now);
        }
        if packet.seq > 0 {
            let (run, attempt) = (packet.seq >> ROUND_BITS, packet.seq & MOST_ATTEMPT);
            self.seen = (self.seen.0.max(run + 1), self.seen.1.max(attempt));
            self.newest = self.newest.max((packet.seq, switch));
        }
        let is_over = questions.is_over(&[]);
        self.has_boot(switch, packet.boot, now);
        if is_over {
            self.questions = None;
            match self.again {
                0 => self.follow(),
                _ => self.compare(now),
            }
        }
    }

    /// All banks have answered: generations from here on are larger than all of theirs. Two reducers that get the same answers take the same numbers, so an OPEN of an earlier one
    /// that no switch has seen yet does what this one's does.
    fn follow(&mut self) {
        let (run, attempt) = self.seen;
        let own = match self.last & MOST_ATTEMPT {
            0 if run > 0 => 0,
            0 => {
                // All switches have restarted since an earlier run, if there was one: then it is another number, but by chance.
                let boots: Vec<u8> = self.boots.iter().flat_map(|boot| boot.to_be_bytes()).collect();
                hash(&boots, 0) as u32 & MOST_FIRST_RUN
            }
            // Rounds without switches.
            _ => self.last >> ROUND_BITS,
        };
        let (run, attempt) = (run.max(own), attempt.max(self.last & MOST_ATTEMPT));
        if run > u32::MAX >> ROUND_BITS {
            self.trouble = Some(Trouble::TooManyGenerations);
            return;
        }
        self.last = run << ROUND_BITS | attempt;
        // Nobody knows what the earlier reducers have left in the slots.
        self.purges = if self.seen.0 > 0 { 2 } else { 0 };
    }

    /// All banks have answered again. If one has had a larger generation than this run, an OPEN of another run has come late: everything that is not committed begins anew, after it.
    fn compare(&mut self, now: Time) {
        let suspect = self.suspect.take();
        let (newest, switch) = self.newest;
        if newest <= self.last {
            self.trouble = self.trouble.or(suspect.map(Trouble::BootKept));
            return;
        }
        self.taken += 1;
        if self.taken > MOST_TAKEN {
            self.trouble = self.trouble.or(Some(Trouble::Shared(switch)));
            return;
        }
        self.counts.doomed += self.attempts.iter().filter(|attempt| !attempt.is_committed).count() as u64;
        self.attempts.clear();
        self.progress = Some(now);
        self.follow();
    }

    /// A packet did not fit the state of a switch.
    pub(super) fn booted(&mut self, packet: &Packet, now: Time) {
        if self.questions.is_some() && packet.generation == self.question(packet.generation & 1) {
            return self.shown(packet, now);
        }
        let (switch, boot) = (packet.channel, packet.boot);
        let Some(known) = self.boots.get(usize::from(switch)).copied().filter(|known| *known != 0) else {
            return;
        };
        // Mappers send data of a generation after every switch has opened it, and until one has closed it.
        if known == boot && packet.is_numbered() && self.collecting(packet.generation).is_some() {
            self.suspect = Some(switch);
            self.progress = Some(now);
            self.ask_again();
        }
        self.has_boot(switch, boot, now);
    }

    /// A switch has this boot number: if it had another one, what it held is lost.
    fn has_boot(&mut self, switch: u16, boot: u16, now: Time) {
        let Some(known) = self.boots.get_mut(usize::from(switch)).filter(|known| is_later(boot, **known))
        else {
            return;
        };
        self.progress = Some(now);
        if std::mem::replace(known, boot) == 0 {
            return;
        }
        self.counts.restarts += 1;
        self.suspect = self.suspect.filter(|suspect| *suspect != switch);
        for attempt in &mut self.attempts {
            if let Some(lost) = attempt.lost.get_mut(usize::from(switch)) {
                *lost = true;
            }
            if let Some(requests) = &mut attempt.requests {
                requests.forget(switch);
            }
            attempt.is_doomed |= !attempt.is_committed;
        }
    }

    fn collecting(&mut self, generation: u32) -> Option<&mut Attempt> {
        let is_it = |attempt: &&mut Attempt| {
            attempt.generation == generation && attempt.phase == Phase::Collecting && !attempt.is_doomed
        };
        self.attempts.iter_mut().find(is_it)
    }

    pub(super) fn overflowed(&mut self, packet: &Packet, is_marked: bool, now: Time) {
        let (op, layout, array) = (self.config.op, self.config.layout, self.array);
        let (channel, last) = (usize::from(packet.channel), self.last);
        if !packet.is_numbered() || channel >= self.members.len() {
            return;
        }
        let is_last = packet.aux & (DIRECT | LAST) == DIRECT | LAST;
        let Some(attempt) = self.collecting(packet.generation) else {
            // The answer to the end of an earlier generation was lost.
            if is_last && packet.generation <= last {
                self.end(packet, is_marked, now);
            }
            return;
        };
        let (Some(seen), Some(past)) = (attempt.seen.get_mut(channel), attempt.past.get_mut(channel)) else {
            return;
        };
        let number = packet.seq & ((1 << ROUND_BITS) - 1);
        let (word, bit) = (seen.entry(number / 64).or_default(), 1 << (number % 64));
        if *word & bit == 0 {
            *word |= bit;
            past.0 += u32::from(packet.aux & DIRECT != 0);
            for pair in &packet.pairs {
                let Some(pair) = in_round(*pair, attempt.round, &layout, array) else { continue };
                attempt.overflowed += 1;
                add(&mut attempt.sums, pair, op);
            }
        }
        if is_last {
            attempt.past[channel].1 = Some(packet.boot.into());
        }
        if attempt.has_all(channel) {
            return self.end(packet, is_marked, now);
        }
        self.acks.add(packet, is_marked, now);
    }

    /// A packet with overflowed pairs came without them.
    pub(super) fn overflow_trimmed(&mut self, packet: &Packet, now: Time) {
        let Some(attempt) = self.collecting(packet.generation) else { return };
        let Some(seen) = attempt.seen.get(usize::from(packet.channel)) else { return };
        if !packet.is_numbered() {
            return;
        }
        let number = packet.seq & ((1 << ROUND_BITS) - 1);
        let is_seen = seen.get(&(number / 64)).is_some_and(|word| word >> (number % 64) & 1 != 0);
        if let Some(member) = self.members.get_mut(usize::from(packet.channel)) {
            member.heard = Some(now);
        }
        // A copy of it has arrived whole: it is acknowledged as usual.
        if is_seen {
            return self.acks.add(packet, true, now);
        }
        let again = Packet { kind: Kind::Ack, aux: TRIMMED, map: 0, pairs: vec![], ..packet.clone() };
        self.answer(To::Mapper(packet.channel), again);
    }

    /// Rows of a switch came without their pairs. They do not change, so the same request gets the same answer.
    pub(super) fn answer_trimmed(&mut self, packet: &Packet, now: Time) {
        if self.boots.get(usize::from(packet.channel)) != Some(&packet.boot) {
            return;
        }
        let wait = (self.config.least_wait, self.config.most_wait);
        let attempt = self.attempts.iter_mut().find(|attempt| attempt.generation == packet.generation);
        let requests = attempt.and_then(|attempt| attempt.requests.as_mut());
        if let Some(requests) = requests.filter(|requests| requests.kind == Kind::Read) {
            let row = packet.seq & ((1 << ROUND_BITS) - 1);
            requests.trimmed(packet.channel, row, packet.aux & 0xffff, now, wait);
        }
    }

    fn answer(&mut self, to: To, packet: Packet) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((to, packet));
        }
    }

    pub(super) fn ended(&mut self, packet: &Packet, now: Time) {
        let Some(member) = self.members.get(usize::from(packet.channel)) else { return };
        if member.incarnation != packet.aux || packet.generation > self.last {
            return;
        }
        let channel = usize::from(packet.channel);
        if let Some(attempt) = self.collecting(packet.generation) {
            attempt.past[channel].1 = Some(packet.boot.into());
            // Mappers repeat the packets that are missing.
            if !attempt.has_all(channel) {
                return;
            }
        }
        self.end(packet, false, now);
    }

    /// Every packet of a mapper in the generation is here, or nobody waits for them any more.
    fn end(&mut self, packet: &Packet, is_marked: bool, now: Time) {
        let Packet { channel, generation, .. } = *packet;
        let is_marked = self.acks.forget(channel, generation) || is_marked;
        let aux = if is_marked { CONGESTED } else { 0 };
        let end_ack = Packet { kind: Kind::EndAck, boot: 0, aux, map: 0, pairs: vec![], ..packet.clone() };
        let rounds = self.config.rounds;
        let Some(attempt) = self.collecting(generation) else {
            return self.answer(To::Mapper(channel), end_ack);
        };
        let start = attempt.starts.get_mut(usize::from(channel)).and_then(Option::take);
        // The START of the round after the next one comes when a bank is free, which this one's is then. A mapper that asks again has waited for it.
        let may_wait = start.is_some() && attempt.round + 2 < rounds;
        if start.is_some() {
            self.progress = Some(now);
        }
        match may_wait {
            true => self.acks.end(end_ack, now),
            false => self.answer(To::Mapper(channel), end_ack),
        }
    }

    /// A mapper says which incarnation it is.
    pub(super) fn greeted(&mut self, packet: &Packet, now: Time) {
        let channel = usize::from(packet.channel);
        // A mapper of an earlier run.
        if packet.generation >> ROUND_BITS != self.last >> ROUND_BITS {
            return;
        }
        let Some(member) = self.members.get_mut(channel).filter(|member| member.incarnation < packet.aux)
        else {
            return;
        };
        let is_first = std::mem::replace(&mut member.incarnation, packet.aux) == 0;
        self.progress = Some(now);
        let mut is_doomed = false;
        for attempt in &mut self.attempts {
            let is_collecting = attempt.phase == Phase::Collecting;
            match attempt.starts.get_mut(channel).filter(|_| is_collecting) {
                // The first START named nobody: nothing was sent, and it is named now. No other START with a name was sent.
                Some(Some(timer)) if is_first => timer.due = now,
                Some(Some(_)) => is_doomed = true,
                // All that the earlier one had to send is here.
                Some(None) | None => {}
            }
            // Later rounds wait for the repetition: the numbers of generations grow with the rounds.
            attempt.is_doomed |= is_doomed;
        }
    }

    pub(super) fn answered(&mut self, packet: &Packet, now: Time) {
        let asked = match packet.kind {
            Kind::Opened => Kind::Open,
            Kind::Closed => Kind::Close,
            Kind::Cleared => Kind::Clear,
            _ => Kind::Read,
        };
        let (switch, op) = (packet.channel, self.config.op);
        let wait = (self.config.least_wait, self.config.most_wait);
        let (layout, array) = (self.config.layout, self.array);
        // An answer from before a restart is about slots that are lost.
        if self.boots.get(usize::from(switch)) != Some(&packet.boot) {
            return;
        }
        let Some(attempt) = self.attempts.iter_mut().find(|a| a.generation == packet.generation) else {
            return;
        };
        let Some(requests) = attempt.requests.as_mut().filter(|requests| requests.kind == asked) else {
            return;
        };
        let row = match asked {
            Kind::Read => packet.seq & ((1 << ROUND_BITS) - 1),
            Kind::Clear => packet.seq,
            _ => 0,
        };
        let (rows, wanted) = match asked {
            Kind::Read | Kind::Clear => (packet.aux >> 16, packet.aux & 0xffff),
            _ => (1, 1),
        };
        if !requests.answered(switch, row, (rows, wanted), now, wait) {
            return;
        }
        self.progress = Some(now);
        if asked == Kind::Read {
            self.counts.read_packets += 1;
            self.pace = requests.pace;
            if attempt.closed.end == self.config.switches {
                self.held = (self.held.0 + packet.pairs.len() as u64, self.held.1 + u64::from(rows));
                // Later rounds may be fuller or emptier.
                if self.held.1 > MOST_KNOWN {
                    self.held = (self.held.0 / 2, self.held.1 / 2);
                }
                requests.expect(rows_of_answer(&layout, self.held));
            }
            for pair in &packet.pairs {
                let Some(pair) = in_round(*pair, attempt.round, &layout, array) else { continue };
                attempt.read += 1;
                add(&mut attempt.sums, pair, op);
            }
        }
    }
}

/// A pair with its key's first place. Pairs that are read have the row as their index. Packets of arrays do not carry the round, which is the tag; a last row may be longer than the array.
fn in_round(pair: Pair, round: u32, layout: &Layout, array: Option<(u32, u64)>) -> Option<Pair> {
    if !layout.is_dense() {
        let index = layout.bucket_of(pair.place.slot.index);
        let place = Place { slot: Slot { index, ..pair.place.slot }, ..pair.place };
        return Some(Pair { place: place.first(layout), ..pair });
    }
    let (first, elements) = array.unwrap_or((0, u64::MAX));
    let place = Place { tag: 1 + u128::from(round.saturating_sub(first)), ..pair.place };
    (place.element(layout) < elements).then_some(Pair { place, ..pair })
}

fn add(sums: &mut Sums, pair: Pair, op: Op) {
    add_wide(sums, pair.place, pair.value.into(), op);
}

/// True if a boot number comes after another, 0 being none. Numbers begin again after the largest one (RFC 1982).
fn is_later(boot: u16, known: u16) -> bool {
    boot != 0 && (known == 0 || (1..1 << 15).contains(&boot.wrapping_sub(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_numbers_begin_again_after_the_largest_one() {
        let cases = [(1, 0, true), (0, 0, false), (0, 9, false), (2, 1, true), (1, 1, false), (1, 2, false)];
        let around = [(3, 65_000, true), (65_000, 3, false), (60_000, 0, true)];
        for (boot, known, wanted) in cases.into_iter().chain(around) {
            assert_eq!(is_later(boot, known), wanted, "{boot} after {known}");
        }
    }
}
