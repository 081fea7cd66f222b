//! Grants of a port by D3 (Wilson et al., SIGCOMM'11, section 4), in floating point.
//!
//! A port keeps the sums D of demands and A of grants, and the number N of transfers. A request says what it desires, and what the request before
//! desired and was granted:
//!
//! ```text
//! D := D - past desired + desired         N := N + 1 at the first request, N - 1 at the last        A := A - past granted
//! left = C - A       fair = (C - D) / N, at least 0
//! given = min(max(min(desired + fair, left), base), wish)             A := A + given
//! ```
//!
//! The paper gives desired + fair whenever desired < left. A port without requests for more than 64 intervals of 256 us forgets its sums.

/// Place of a request in its transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The first.
    Begins,
    /// Neither the first nor the last.
    GoesOn,
    /// The last, which returns what the transfer had.
    Ends,
}

/// A request. Rates are in kbit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Request {
    /// When it comes, in microseconds.
    pub at_us: u64,
    /// Place in the transfer.
    pub step: Step,
    /// The rate that meets the deadline; 0 without a deadline.
    pub desired: f64,
    /// Desired and granted rate of the request before.
    pub past: (f64, f64),
    /// The most that the sender can use; 0 of the last request.
    pub wish: f64,
}

/// The computation at a port.
#[derive(Clone, Debug)]
pub struct Port {
    capacity: f64,
    base: f64,
    interval: u64,
    demand: f64,
    transfers: f64,
    granted: f64,
}

impl Port {
    /// A port without transfers, with a capacity C and the rate that every transfer gets.
    pub fn new(capacity: f64, base: f64) -> Port {
        Port { capacity, base, interval: 0, demand: 0.0, transfers: 0.0, granted: 0.0 }
    }

    /// The grant for a request, in kbit/s. [`Port::gave`] has to follow.
    pub fn wanted(&mut self, request: Request) -> f64 {
        let interval = request.at_us / 256;
        if interval - self.interval > 64 {
            *self = Port::new(self.capacity, self.base);
        }
        self.interval = interval;
        self.demand = (self.demand - request.past.0).max(0.0) + request.desired;
        self.granted = (self.granted - request.past.1).max(0.0);
        let change = match request.step {
            Step::Begins => 1.0,
            Step::GoesOn => 0.0,
            Step::Ends => -1.0,
        };
        self.transfers = (self.transfers + change).max(0.0);
        let fair = (self.capacity - self.demand).max(0.0) / self.transfers.max(1.0);
        let left = self.capacity - self.granted;
        (request.desired + fair).min(left).max(self.base).min(request.wish)
    }

    /// Adds the grant, rounded as a program rounds it.
    pub fn gave(&mut self, given: f64) {
        self.granted += given;
    }

    /// The sum of all grants.
    pub fn granted(&self) -> f64 {
        self.granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transfers ask in turn, each for its desired rate: their grants after some rounds.
    fn settled(desired: &[f64]) -> Vec<f64> {
        let mut port = Port::new(1000.0, 1.0);
        let mut had = vec![(0.0, 0.0); desired.len()];
        for round in 0..10u64 {
            for ((desired, had), at) in desired.iter().zip(&mut had).zip(0u64..) {
                let step = if round == 0 { Step::Begins } else { Step::GoesOn };
                let at_us = 256 * round + at;
                let given = port.wanted(Request { at_us, step, desired: *desired, past: *had, wish: 1e6 });
                port.gave(given);
                *had = (*desired, given);
            }
        }
        let sum: f64 = had.iter().map(|(_, given)| given).sum();
        assert!((port.granted() - sum).abs() < 1e-6);
        had.into_iter().map(|(_, given)| given).collect()
    }

    #[test]
    fn demands_are_met_and_the_rest_is_shared() {
        // (1000 - 300) / 4 = 175.
        assert_eq!(settled(&[200.0, 0.0, 100.0, 0.0]), [375.0, 175.0, 275.0, 175.0]);
        assert_eq!(settled(&[0.0, 0.0]), [500.0, 500.0]);
        assert_eq!(settled(&[300.0]), [1000.0]);
    }

    #[test]
    fn demands_above_the_capacity_are_met_first_come_first_served() {
        // Nothing is over; the fourth has the base rate, and the third what is left.
        assert_eq!(settled(&[400.0, 400.0, 300.0, 300.0]), [400.0, 400.0, 199.0, 1.0]);
    }

    #[test]
    fn a_port_forgets_after_silence() {
        let mut port = Port::new(1000.0, 1.0);
        let first = Request { at_us: 0, step: Step::Begins, desired: 900.0, past: (0.0, 0.0), wish: 1e6 };
        assert_eq!(port.wanted(first), 1000.0);
        port.gave(1000.0);
        let second = Request { at_us: 64 * 256, desired: 100.0, ..first };
        assert_eq!(port.clone().wanted(second), 1.0);
        assert_eq!(port.wanted(Request { at_us: 65 * 256, ..second }), 1000.0);
    }
}
