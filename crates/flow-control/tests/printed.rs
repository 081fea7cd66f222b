//! The merge protocol as printed (ExoPlane, section 4.3 and appendix B) under the conditions that it withstands, and those
//! that it does not: why `flow_control::merge` is another one. A star: the switch, and helpers that exchange their counts
//! with it. Both sides keep what they have received from the other, `given`, and send a snapshot with it.

use base_time::Rng;

/// Steps with traffic; afterwards all rounds run without faults.
const STEPS: usize = 400;
const RUNS: u64 = 200;

/// Faults of the messages, the devices or the protocol.
#[derive(Clone, Copy, Default)]
struct Variant {
    /// In percent.
    loss: u64,
    double: u64,
    reorders: bool,
    /// The value that a round gives reaches the data plane later.
    delays: bool,
    /// In percent: it never does.
    loses_deltas: u64,
    /// True if the received value is the last snapshot, as the text can be read.
    keeps_snapshots: bool,
    /// One sum of all that was received is sent to each helper.
    sends_sums: bool,
    /// Helpers send a snapshot that is not of this moment.
    old_snapshots: bool,
    /// Helpers start again at zero.
    restarts: bool,
    /// Then they go on from what the next request says (section 4.3).
    resumes: bool,
}

enum Message {
    Request { to: usize, snapshot: u64, given: u64 },
    Reply { from: usize, snapshot: u64, given: u64 },
}

struct Run {
    variant: Variant,
    rng: Rng,
    queue: Vec<Message>,
    /// Value that each device shows; the switch is the first.
    shown: Vec<u64>,
    /// Value that the switch has received from each helper.
    of_helpers: Vec<u64>,
    /// Value that each helper has received from the switch.
    of_switch: Vec<u64>,
    old: Vec<u64>,
    is_new: Vec<bool>,
    deltas: Vec<(usize, u64)>,
    truth: u64,
}

impl Run {
    fn new(variant: Variant, helpers: usize, seed: u64) -> Run {
        let zeros = || vec![0; helpers + 1];
        Run {
            variant,
            rng: Rng::new(seed),
            queue: vec![],
            shown: zeros(),
            of_helpers: zeros(),
            of_switch: zeros(),
            old: zeros(),
            is_new: vec![false; helpers + 1],
            deltas: vec![],
            truth: 0,
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn send(&mut self, make: impl Fn() -> Message) {
        if self.chance(self.variant.loss) {
            return;
        }
        self.queue.push(make());
        if self.chance(self.variant.double) {
            self.queue.push(make());
        }
    }

    fn round(&mut self) {
        let snapshot = self.shown[0];
        let sum = self.of_helpers.iter().fold(0, |sum: u64, of| sum.wrapping_add(*of));
        for to in 1..self.shown.len() {
            let given = if self.variant.sends_sums { sum } else { self.of_helpers[to] };
            self.send(|| Message::Request { to, snapshot, given });
        }
    }

    fn show(&mut self, device: usize, delta: u64) {
        match self.variant.delays || self.variant.loses_deltas > 0 {
            true => self.deltas.push((device, delta)),
            false => self.shown[device] = self.shown[device].wrapping_add(delta),
        }
    }

    fn deliver(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        let at = if self.variant.reorders { self.rng.below(self.queue.len() as u64) as usize } else { 0 };
        let kept =
            |snapshot: u64, given: u64, keeps| if keeps { snapshot } else { snapshot.wrapping_sub(given) };
        let keeps = self.variant.keeps_snapshots;
        match self.queue.remove(at) {
            Message::Request { to, snapshot, given } => {
                if self.variant.resumes && std::mem::take(&mut self.is_new[to]) {
                    self.shown[to] = self.shown[to].wrapping_add(given);
                }
                let own = if self.variant.old_snapshots { self.old[to] } else { self.shown[to] };
                let mine = self.of_switch[to];
                self.send(|| Message::Reply { from: to, snapshot: own, given: mine });
                self.of_switch[to] = kept(snapshot, given, keeps);
                self.show(to, snapshot.wrapping_sub(mine.wrapping_add(given)));
            }
            Message::Reply { from, snapshot, given } => {
                let mine = self.of_helpers[from];
                self.of_helpers[from] = kept(snapshot, given, keeps);
                self.show(0, snapshot.wrapping_sub(mine.wrapping_add(given)));
            }
        }
    }

    fn apply_one(&mut self) {
        if !self.deltas.is_empty() {
            let (device, delta) = self.deltas.remove(0);
            if !self.chance(self.variant.loses_deltas) {
                self.shown[device] = self.shown[device].wrapping_add(delta);
            }
        }
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..50 => {
                let (device, amount) =
                    (self.rng.below(self.shown.len() as u64) as usize, 1 + self.rng.below(3));
                self.shown[device] = self.shown[device].wrapping_add(amount);
                self.truth += amount;
            }
            50..60 => self.round(),
            60..90 => self.deliver(),
            90..95 => self.apply_one(),
            _ => {
                let helper = 1 + self.rng.below(self.shown.len() as u64 - 1) as usize;
                self.old[helper] = self.shown[helper];
                if self.variant.restarts && self.chance(15) {
                    (self.shown[helper], self.of_switch[helper], self.is_new[helper]) = (0, 0, true);
                }
            }
        }
    }

    /// True if in the end every copy is the true sum.
    fn ends_exact(mut self) -> bool {
        (0..STEPS).for_each(|_| self.step());
        let Variant { delays, loses_deltas, old_snapshots, .. } = self.variant;
        (self.variant.loss, self.variant.double, self.variant.loses_deltas) = (0, 0, 0);
        self.variant.delays = delays || loses_deltas > 0;
        for _ in 0..6 {
            self.round();
            while !self.queue.is_empty() {
                self.deliver();
            }
            while !self.deltas.is_empty() {
                self.apply_one();
            }
            if old_snapshots {
                self.old = self.shown.clone();
            }
        }
        self.shown.iter().all(|shown| *shown == self.truth)
    }
}

/// Number of exact runs with one to four helpers.
fn exact(variant: Variant, helpers: &[usize]) -> u64 {
    let all = helpers.iter().flat_map(|helpers| (0..RUNS).map(move |seed| (*helpers, seed)));
    all.filter(|(helpers, seed)| Run::new(variant, *helpers, *seed).ends_exact()).count() as u64
}

const HELPERS: [usize; 4] = [1, 2, 3, 4];
const ALL: u64 = RUNS * 4;

#[test]
fn lost_doubled_reordered_and_late_messages_are_withstood() {
    let right = Variant::default();
    for variant in [
        right,
        Variant { loss: 30, ..right },
        Variant { loss: 30, double: 30, reorders: true, ..right },
        Variant { old_snapshots: true, ..right },
        Variant { loss: 20, double: 20, reorders: true, delays: true, ..right },
    ] {
        assert_eq!(exact(variant, &HELPERS), ALL);
    }
}

#[test]
fn a_lost_change_of_the_data_plane_is_not() {
    assert!(exact(Variant { loses_deltas: 10, ..Variant::default() }, &HELPERS) < ALL / 2);
}

#[test]
fn what_was_received_is_not_the_last_snapshot_and_differs_by_helper() {
    assert_eq!(exact(Variant { keeps_snapshots: true, ..Variant::default() }, &HELPERS), 0);
    let sums = Variant { sends_sums: true, ..Variant::default() };
    assert_eq!(exact(sums, &[1]), RUNS);
    assert_eq!(exact(sums, &[2, 3, 4]), 0);
}

#[test]
fn restarts_are_not_withstood_resumed_or_not() {
    let restarts = Variant { restarts: true, ..Variant::default() };
    assert!(exact(restarts, &HELPERS) < ALL / 5);
    assert!(exact(Variant { resumes: true, ..restarts }, &HELPERS) < ALL);
}
