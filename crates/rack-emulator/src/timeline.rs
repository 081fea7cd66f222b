//! A run over time: sums at equal steps of virtual time, in bounded memory.

use crate::emulator::Emulator;
use base_time::{Duration, Time};

/// Maximum number of moments; beyond it, every second one is dropped.
const MOST: usize = 1024;

/// Counters at a time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Moment {
    /// Count received, by workload, as in [`WorkloadReport`](crate::WorkloadReport).
    pub received: Vec<u64>,
    /// Bytes sent, by direction of each link, in the order of [`RunReport::links`](crate::RunReport::links).
    pub bytes: Vec<u64>,
    /// Packets dropped anywhere in the rack.
    pub dropped: u64,
}

/// The moments of a run: the n-th, from 1 on, is after n steps. Steps grow as the run does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    step: Duration,
    moments: Vec<Moment>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { step: Duration::from_ps(1), moments: vec![] }
    }
}

impl Timeline {
    /// From one moment to the next.
    pub fn step(&self) -> Duration {
        self.step
    }

    /// All moments.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Has to be called after every event: keeps the moments that have passed before the next.
    pub fn watch(&mut self, emulator: &Emulator) {
        let next = emulator.next_time().unwrap_or(emulator.now()).min(emulator.limit());
        while self.next() < next {
            self.keep(emulator.moment());
        }
    }

    fn next(&self) -> Time {
        Time::ZERO + self.step * (self.moments.len() as u64 + 1)
    }

    fn keep(&mut self, moment: Moment) {
        self.moments.push(moment);
        if self.moments.len() == MOST {
            let mut number = 0;
            self.moments.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.step = self.step * 2;
        }
    }
}

impl Emulator {
    fn moment(&self) -> Moment {
        let wires = self.network.outlets.iter().filter_map(|outlet| outlet.wire);
        Moment {
            received: self.programs.iter().map(|running| running.tally.received).collect(),
            bytes: wires.map(|wire| self.network.wires[wire as usize].medium.counts.bytes).collect(),
            dropped: self.balance().dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_and_moments_keep_their_times() {
        let mut timeline = Timeline::default();
        for number in 1..=3 * MOST as u64 {
            let at = timeline.next().as_ps();
            timeline.keep(Moment { dropped: at, ..Moment::default() });
            assert!(timeline.moments.len() < MOST, "{number}");
        }
        let step = timeline.step().as_ps();
        assert!(step > 1);
        let times = timeline.moments().iter().map(|m| m.dropped);
        assert!(times.zip(1..).all(|(at, number)| at == number * step));
    }
}
