//! Frames that come at a rate to a function on one core, whether it is done with those before or not.
//!
//! ```text
//! due times ──> queue of `queue` frames ──> the function, one frame after the other
//!                  full: dropped                    latency: from due to done
//! ```
//!
//! Frames do not wait for the function: a frame is due at the time that the rate determines. Frames that arrive while
//! another is handled are queued, or dropped, as soon as the function returns; until then nothing leaves the queue, so
//! the result is the same as at the moment when they are due. Time is the [`Clock`]'s.

use std::collections::VecDeque;

/// Time in nanoseconds since some moment.
pub trait Clock {
    /// Present time in nanoseconds.
    fn now(&mut self) -> u64;
    /// Waits until `time`, or a little longer; returns the present time.
    fn wait(&mut self, time: u64) -> u64;
}

/// Handler of frames. Times are nanoseconds since the first frame.
pub trait Handler {
    /// Begins anew, as if no frame had come. It takes no time that counts.
    fn begin(&mut self);
    /// Handles the frame with this number; the bytes that leave.
    fn handle(&mut self, frame: usize, now: u64) -> u64;
    /// When it wants to do something without a frame.
    fn deadline(&self) -> Option<u64>;
    /// The deadline has come; returns the number of bytes that leave.
    fn tick(&mut self, now: u64) -> u64;
}

/// How frames come.
#[derive(Clone, Debug)]
pub struct Load<'a> {
    /// Bytes of the frames. After the last one, the handler restarts and the first one comes again.
    pub lengths: &'a [usize],
    /// Frames that may wait.
    pub queue: usize,
    /// For how long they come, in nanoseconds.
    pub span: u64,
}

/// Results for the frames of a load.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trial {
    /// Nanoseconds from due to done of each frame that was handled, in the order of the frames until they are [`sorted`](Trial::sorted).
    pub latencies: Vec<u64>,
    /// Frames that found the queue full.
    pub dropped: u64,
    /// Bytes that came and were handled.
    pub came: u64,
    /// Bytes that left.
    pub left: u64,
}

impl Trial {
    /// Sorts the latencies.
    pub fn sorted(mut self) -> Trial {
        self.latencies.sort_unstable();
        self
    }

    /// Two trials of the same frames, none of which was dropped: each frame with its shorter latency.
    pub fn shortest(mut self, other: &Trial) -> Trial {
        for (latency, other) in self.latencies.iter_mut().zip(&other.latencies) {
            *latency = (*latency).min(*other);
        }
        self
    }

    /// Percentile of a sorted trial; 0 if it is empty.
    pub fn percentile(&self, of_100: usize) -> u64 {
        let at = (self.latencies.len() * of_100).div_ceil(100).saturating_sub(1);
        self.latencies.get(at).copied().unwrap_or(0)
    }
}

/// Offers a load at `rate` bits per second.
pub fn offer(load: &Load<'_>, rate: u64, clock: &mut dyn Clock, handler: &mut dyn Handler) -> Trial {
    let mut trial = Trial::default();
    let mut bits = 0;
    let mut dues = Vec::with_capacity(load.lengths.len() + 1);
    for length in load.lengths {
        dues.push((bits * 1_000_000_000 / u128::from(rate)) as u64);
        bits += *length as u128 * 8;
    }
    let round = (bits * 1_000_000_000 / u128::from(rate)) as u64;
    let mut left = load.span;
    while left > 0 && round > 0 {
        let count = dues.partition_point(|due| *due < left);
        once(load, &dues[..count], clock, handler, &mut trial);
        left = left.saturating_sub(round);
    }
    trial
}

/// Frames that are due at these times come once.
fn once(load: &Load<'_>, dues: &[u64], clock: &mut dyn Clock, handler: &mut dyn Handler, trial: &mut Trial) {
    handler.begin();
    let (mut waiting, mut next) = (VecDeque::with_capacity(load.queue), 0);
    let begun = clock.now();
    let mut now = 0;
    loop {
        while dues.get(next).is_some_and(|due| *due <= now) {
            match waiting.len() < load.queue {
                true => waiting.push_back(next),
                false => trial.dropped += 1,
            }
            next += 1;
        }
        let deadline = handler.deadline();
        if deadline.is_some_and(|deadline| deadline <= now) {
            trial.left += handler.tick(now);
            now = clock.now() - begun;
        } else if let Some(frame) = waiting.pop_front() {
            trial.left += handler.handle(frame, now);
            trial.came += load.lengths[frame] as u64;
            now = clock.now() - begun;
            trial.latencies.push(now - dues[frame]);
        } else if let Some(due) = dues.get(next) {
            now = clock.wait(begun + deadline.map_or(*due, |deadline| deadline.min(*due))) - begun;
        } else {
            return;
        }
    }
}

/// Searches the highest sustained rate: doubles `least`, at most up to `most`, then halves the gap until it is a 32nd
/// of the rate. Returns the sustained rates in order, with the results of `trial`, and the lowest rate that is not
/// sustained.
pub fn climb<T>(
    least: u64,
    most: u64,
    mut trial: impl FnMut(u64) -> Option<T>,
) -> (Vec<(u64, T)>, Option<u64>) {
    let mut borne = vec![];
    let mut rate = least;
    while let Some(found) = trial(rate) {
        borne.push((rate, found));
        if rate > most / 2 {
            return (borne, None);
        }
        rate *= 2;
    }
    let doubled = borne.len();
    while let Some(low) = borne.last().map(|(low, _)| *low).filter(|low| rate - low > low / 32) {
        let middle = low + (rate - low) / 2;
        match trial(middle) {
            Some(found) => borne.push((middle, found)),
            None => rate = middle,
        }
    }
    // Of those between the last doubling and the drops only the highest is of use.
    let last = borne.len().saturating_sub(1);
    borne.drain(doubled..last.max(doubled));
    (borne, Some(rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A clock that advances by given steps, and overshoots waits by a given time.
    struct Made {
        now: Rc<Cell<u64>>,
        late: u64,
    }

    impl Clock for Made {
        fn now(&mut self) -> u64 {
            self.now.get()
        }

        fn wait(&mut self, time: u64) -> u64 {
            self.now.set(self.now.get().max(time) + self.late);
            self.now.get()
        }
    }

    /// Takes so long for a frame, of which as many bytes leave, and a time for what it does every `period` from the first frame on.
    struct Slow {
        now: Rc<Cell<u64>>,
        takes: u64,
        period: Option<u64>,
        deadline: Option<u64>,
    }

    impl Slow {
        fn pass(&self, time: u64) -> u64 {
            self.now.set(self.now.get() + time);
            125
        }
    }

    impl Handler for Slow {
        fn begin(&mut self) {
            self.deadline = None;
        }

        fn handle(&mut self, _: usize, now: u64) -> u64 {
            self.deadline = self.deadline.or(self.period.map(|period| now + period));
            self.pass(self.takes)
        }

        fn deadline(&self) -> Option<u64> {
            self.deadline
        }

        fn tick(&mut self, now: u64) -> u64 {
            self.deadline = self.period.map(|period| now + period);
            self.pass(1000)
        }
    }

    /// Frames of 1,000 bits for 50 ms, a queue of 8, so long for a frame.
    fn trial(rate: u64, takes: u64, late: u64, period: Option<u64>) -> Trial {
        let now = Rc::new(Cell::new(77));
        let (mut clock, mut slow) =
            (Made { now: Rc::clone(&now), late }, Slow { now, takes, period, deadline: None });
        let load = Load { lengths: &[125; 1000], queue: 8, span: 50_000_000 };
        offer(&load, rate, &mut clock, &mut slow).sorted()
    }

    #[test]
    fn a_disturbance_of_one_trial_does_not_count() {
        let trial = |latencies: &[u64]| Trial { latencies: latencies.to_vec(), ..Trial::default() };
        let both = trial(&[10, 900, 11, 10]).shortest(&trial(&[700, 12, 10, 10])).sorted();
        assert_eq!(both.latencies, [10, 10, 10, 12]);
    }

    #[test]
    fn ten_microseconds_a_frame_bear_a_hundred_thousand_a_second() {
        let (borne, drops) = climb(10_000_000, 1 << 40, |rate| {
            let trial = trial(rate, 10_000, 0, None);
            (trial.dropped == 0).then_some((trial.percentile(50), trial.percentile(99)))
        });
        // Of 1,000 bits each. 100 Mbit/s is found between 80 and 160, and 102.5 is too much.
        let rates: Vec<u64> = borne.iter().map(|(rate, _)| *rate / 1_000_000).collect();
        assert_eq!((rates, drops), (vec![10, 20, 40, 80, 100], Some(102_500_000)));
        assert!(borne.iter().all(|(_, latency)| *latency == (10_000, 10_000)));
    }

    #[test]
    fn frames_that_find_the_queue_full_are_dropped_and_counted() {
        // Five times the thousand frames, twice as fast as they are handled: a new one each 10 us, and eight are left at the end.
        let found = trial(200_000_000, 10_000, 0, None);
        assert_eq!((found.latencies.len(), found.dropped), (10 * 508, 10 * 492));
        assert_eq!((found.came, found.left), (5080 * 125, 5080 * 125));
        // The last frame in the queue waits for the second half of the one that is handled and for seven others.
        assert_eq!((found.latencies[0], found.percentile(99)), (10_000, 85_000));
        // Half as many frames come in as long.
        assert_eq!(trial(100_000_000, 10_000, 0, None).latencies.len(), 5000);
        assert_eq!(trial(1_000_000, 10_000, 0, None).latencies.len(), 50);
    }

    #[test]
    fn latency_counts_from_when_a_frame_is_due() {
        // The wait comes back 3 us too late, which the frame has waited.
        let late = trial(50_000_000, 10_000, 3000, None);
        assert_eq!((late.percentile(50), late.percentile(100)), (13_000, 13_000));
    }

    #[test]
    fn timers_run_between_frames_and_take_time() {
        // 1,000 frames in 50 ms, one each 50 us; from the first on every 20 us something that takes 1 us.
        let found = trial(20_000_000, 10_000, 0, Some(20_000));
        assert_eq!((found.latencies.len(), found.dropped), (1000, 0));
        assert!(found.left > found.came * 3 && found.percentile(100) <= 11_000, "{found:?}");
    }

    #[test]
    fn what_bears_nothing_or_everything_is_no_endless_search() {
        assert_eq!(climb(10, 1000, |_| None::<()>), (vec![], Some(10)));
        let (borne, drops) = climb(10, 1000, |_| Some(()));
        assert_eq!((borne.last(), drops), (Some(&(640, ())), None));
    }
}
