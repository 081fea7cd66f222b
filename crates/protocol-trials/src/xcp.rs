//! The coefficients that a port gives by XCP (Katabi, Handley and Rohrs, SIGCOMM'02, sections 3.5.2 and 3.5.3; FlexSwitch, NSDI'17, section 4.2).
//!
//! Once in an interval T, with the arrivals y and the capacity C (bytes in T), and the queue Q (bytes):
//!
//! ```text
//! phi  = alpha (C - y) - beta Q                              alpha = 1/2, beta = 1/4
//! h    = max(0, y/8 - |phi|)
//! xi_p = (h + max(0, phi)) / (T sum of rtt s / cwnd)         the sums are over the packets of the last interval that had any
//! xi_n = (h + max(0, -phi)) / (T sum of s)
//! ```
//!
//! A packet changes the window of its sender by xi_p rtt (rtt s / cwnd) - xi_n rtt s bytes.

use crate::rcp::Port;

/// The gains, and the share of the traffic that is shuffled.
const ALPHA: f64 = 0.5;
const BETA: f64 = 0.25;
const SHUFFLED: f64 = 0.125;

/// A packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Packet {
    /// When it comes, in microseconds.
    pub at_us: u64,
    /// Bytes.
    pub bytes: u32,
    /// rtt s / cwnd in microseconds; none of packets that say nothing of a window.
    pub inverse_us: Option<f64>,
}

/// Coefficients in bytes per square microsecond, and per microsecond.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Coefficients {
    /// xi_p.
    pub positive: f64,
    /// xi_n.
    pub negative: f64,
}

/// The computation at a port.
#[derive(Clone, Debug)]
pub struct Feedback {
    port: Port,
    interval: u64,
    bytes: f64,
    queue: f64,
    /// Sums of inverse windows and of bytes: in the last interval that had any, and in this one.
    sums: [(f64, f64); 2],
    current: Coefficients,
}

impl Feedback {
    /// A port that no packet has come for.
    pub fn new(port: Port) -> Feedback {
        let (sums, current) = ([(0.0, 0.0); 2], Coefficients::default());
        Feedback { port, interval: 0, bytes: 0.0, queue: 0.0, sums, current }
    }

    /// The coefficients that a packet meets.
    pub fn packet(&mut self, packet: Packet) -> Coefficients {
        let own = packet.inverse_us.map_or((0.0, 0.0), |inverse| (inverse, f64::from(packet.bytes)));
        let interval = packet.at_us / self.port.interval_us;
        if interval != self.interval {
            let arrived = if interval == self.interval + 1 { self.bytes } else { 0.0 };
            self.next(arrived, own);
            (self.interval, self.bytes) = (interval, 0.0);
        }
        self.bytes += f64::from(packet.bytes);
        self.sums[1].0 += own.0;
        self.sums[1].1 += own.1;
        self.current
    }

    fn next(&mut self, arrived: f64, own: (f64, f64)) {
        let Port { interval_us, capacity, drain, .. } = self.port;
        self.queue = (self.queue + arrived - drain).max(0.0);
        let phi = ALPHA * (capacity - arrived) - BETA * self.queue;
        let shuffled = (SHUFFLED * arrived - phi.abs()).max(0.0);
        let chosen = [self.sums[1], self.sums[0], own].into_iter().find(|sum| sum.0 > 0.0);
        let (inverses, bytes) = chosen.unwrap_or_default();
        self.sums = [(inverses, bytes), (0.0, 0.0)];
        let share = |amount: f64, of: f64| if of > 0.0 { amount / (interval_us as f64 * of) } else { 0.0 };
        self.current = Coefficients {
            positive: share(shuffled + phi.max(0.0), inverses),
            negative: share(shuffled + (-phi).max(0.0), bytes),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Port = Port { interval_us: 256, capacity: 30_400.0, drain: 31_500.0, least: 0.0 };

    /// Windows in bytes of flows with one round trip after so many intervals, and bytes in the last.
    fn obeyed(windows: &[f64], trip: f64, intervals: u64) -> (Vec<f64>, f64) {
        let mut feedback = Feedback::new(PORT);
        let mut windows = windows.to_vec();
        let size = 1000.0;
        let (mut due, mut sent) = (vec![0.0; windows.len()], 0.0);
        for interval in 0..intervals {
            sent = 0.0;
            for us in (0..256).step_by(4) {
                for (window, due) in windows.iter_mut().zip(&mut due) {
                    *due += 4.0 * *window / trip / size;
                    while *due >= 1.0 {
                        *due -= 1.0;
                        let inverse = trip * size / *window;
                        let packet = Packet {
                            at_us: interval * 256 + us,
                            bytes: size as u32,
                            inverse_us: Some(inverse),
                        };
                        let Coefficients { positive, negative } = feedback.packet(packet);
                        *window = (*window + positive * trip * inverse - negative * trip * size).max(size);
                        sent += size;
                    }
                }
            }
        }
        (windows, sent)
    }

    #[test]
    fn flows_that_obey_use_the_link_and_become_equal() {
        for flows in [1, 2, 8] {
            let begin: Vec<f64> = (1..=flows).map(|flow| 2000.0 * f64::from(flow)).collect();
            let (windows, sent) = obeyed(&begin, 200.0, 400);
            assert!((sent / PORT.capacity - 1.0).abs() < 0.1, "{flows}: {sent}");
            let mean = windows.iter().sum::<f64>() / windows.len() as f64;
            assert!(windows.iter().all(|window| (window / mean - 1.0).abs() < 0.1), "{windows:?}");
        }
    }

    #[test]
    fn one_step_is_the_formula_by_hand() {
        let mut feedback = Feedback::new(PORT);
        let packet = |at_us, bytes| Packet { at_us, bytes, inverse_us: Some(10.0) };
        assert_eq!(feedback.packet(packet(0, 20_000)), Coefficients::default());
        feedback.packet(packet(30, 20_000));
        // phi = 1/2 (-9,600) - 1/4 * 8,500 = -6,925; h = 0.
        let found = feedback.packet(packet(256, 100));
        assert_eq!(found.positive, 0.0);
        assert!((found.negative - 6_925.0 / 256.0 / 40_000.0).abs() < 1e-12);
        // Two intervals later: nothing has come, and the queue is empty. The sums are those of the last packet.
        let found = feedback.packet(packet(768, 100));
        assert!(
            (found.positive - 15_200.0 / 256.0 / 10.0).abs() < 1e-9 && found.negative == 0.0,
            "{found:?}"
        );
        // y = 30,000: phi = 200, h = 3,550.
        feedback.packet(packet(800, 29_900));
        let found = feedback.packet(packet(1024, 100));
        assert!((found.positive - 3_750.0 / 256.0 / 20.0).abs() < 1e-9, "{found:?}");
        assert!((found.negative - 3_550.0 / 256.0 / 30_000.0).abs() < 1e-9, "{found:?}");
    }
}
