//! The reducer's reaction to each kind of packet.

use super::attempt::{Attempt, Phase};
use super::{MOST_ANSWERS, Reducer, Sums, To, Trouble, add_wide};
use crate::estimate::rows_of_answer;
use crate::key::{Place, Slot};
use crate::layout::Layout;
use crate::op::Op;
use crate::pack::ROUND_BITS;
use crate::packet::{CONGESTED, DIRECT, Kind, LAST, Packet, Pair, TRIMMED};
use base_time::Time;

/// Rows of which the number of pairs is known; older ones count less.
const MOST_KNOWN: u64 = 1024;

impl Reducer {
    /// A switch has another boot number: what it held is lost.
    pub(super) fn booted(&mut self, packet: &Packet, now: Time) {
        let (switch, boot) = (packet.channel, packet.boot);
        // Mappers send data of a generation after every switch has opened it, and until one has closed it.
        let is_data = packet.seq >> ROUND_BITS == packet.generation;
        let is_known = self.boots.get(usize::from(switch)) == Some(&boot);
        if is_known && is_data && self.collecting(packet.generation).is_some() {
            self.trouble = self.trouble.or(Some(Trouble::BootKept(switch)));
        }
        let Some(known) = self.boots.get_mut(usize::from(switch)).filter(|known| is_later(boot, **known))
        else {
            return;
        };
        let is_restart = std::mem::replace(known, boot) != 0;
        self.progress = Some(now);
        self.counts.restarts += u64::from(is_restart);
        for attempt in &mut self.attempts {
            if !is_restart {
                // It is only now that the number is known; nothing was ever opened there.
                if let Some(requests) = &mut attempt.requests {
                    requests.hurry(switch, now);
                }
                continue;
            }
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
        if packet.seq >> ROUND_BITS != packet.generation || channel >= self.members.len() {
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
        if packet.seq >> ROUND_BITS != packet.generation {
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
