//! Progress of a long run, on a terminal.
//!
//! **Invariant**: nothing is asked of the system for each packet. Whether there is a terminal is asked once, the clock after
//! [`BETWEEN_LOOKS`] packets.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Packets between two looks at the clock.
const BETWEEN_LOOKS: u64 = 256;

/// Time between two lines of progress.
const PACE: Duration = Duration::from_millis(500);

/// Interface of the progress display to the system.
pub trait Surroundings {
    /// Whether standard error is a terminal.
    fn is_terminal(&mut self) -> bool;

    /// The time since some moment.
    fn now(&mut self) -> Duration;

    /// Writes over the line of before.
    fn show(&mut self, line: &str);
}

/// Standard error and the clock.
pub struct System(Instant);

impl System {
    #[expect(clippy::disallowed_methods, reason = "the clock decides only how often progress is printed")]
    pub fn new() -> System {
        System(Instant::now())
    }
}

impl Surroundings for System {
    fn is_terminal(&mut self) -> bool {
        std::io::stderr().is_terminal()
    }

    fn now(&mut self) -> Duration {
        self.0.elapsed()
    }

    fn show(&mut self, line: &str) {
        report_over!("\r{line}");
    }
}

/// Shows on a terminal how far a run is; elsewhere it does nothing.
pub struct Progress<S> {
    system: S,
    is_terminal: bool,
    /// Packets at the last look at the clock.
    packets: u64,
    next: Duration,
    shown: bool,
}

impl<S: Surroundings> Progress<S> {
    pub fn new(mut system: S) -> Progress<S> {
        let is_terminal = system.is_terminal();
        let next = if is_terminal { system.now() + PACE } else { Duration::MAX };
        Progress { system, is_terminal, packets: 0, next, shown: false }
    }

    /// So many packets are done; `line` says how far the run is.
    pub fn steps(&mut self, packets: u64, line: impl FnOnce() -> String) {
        if !self.is_terminal || packets < self.packets + BETWEEN_LOOKS {
            return;
        }
        self.packets = packets;
        let now = self.system.now();
        if now >= self.next {
            self.next = now + PACE;
            self.shown = true;
            self.system.show(&line());
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.shown {
            self.system.show(&format!("{:60}\r", ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, Surroundings};
    use std::time::Duration;

    /// Counts calls; reading the clock takes 10 ms.
    #[derive(Default)]
    struct Counting {
        is_terminal: bool,
        asked: u64,
        looks: u64,
        shown: Vec<String>,
    }

    impl Surroundings for &mut Counting {
        fn is_terminal(&mut self) -> bool {
            self.asked += 1;
            self.is_terminal
        }

        fn now(&mut self) -> Duration {
            self.looks += 1;
            Duration::from_millis(10 * self.looks)
        }

        fn show(&mut self, line: &str) {
            self.shown.push(line.to_string());
        }
    }

    /// Once, both were called for each packet after half a second. No test noticed it, since the output was the same.
    #[test]
    fn packets_cost_no_questions() {
        for is_terminal in [false, true] {
            let mut system = Counting { is_terminal, ..Counting::default() };
            let mut progress = Progress::new(&mut system);
            for packet in 1..=100_000 {
                progress.steps(packet, || format!("{packet} packets"));
            }
            progress.clear();
            assert_eq!(system.asked, 1);
            let looks = if is_terminal { 1 + 100_000 / 256 } else { 0 };
            assert_eq!(system.looks, looks);
            // Every 50th look is half a second after the one before; then the line is taken away.
            assert_eq!(system.shown.len(), if is_terminal { 7 + 1 } else { 0 });
        }
    }
}
