//! The rate that a port offers by RCP.
//!
//! Once in an interval T, with the arrivals y (bytes in T), the queue q (bytes), and the capacity C (bytes in T):
//!
//! ```text
//! Dukkipati (2008), section 3:          R := R (1 + (T/d) (alpha (C - y) - beta q T/d) / C)
//! FlexSwitch (NSDI'17), section 4.1:    R := R + (alpha (C - y) - beta Q) / N
//! ```
//!
//! d is the mean round trip that headers carry, weighted by bytes, but at least T; N is the number of flows that sent in the interval or in the
//! one before. R stays between a hundredth of a packet in T and C. In intervals without packets, y, q and N - 1 are 0.

use std::collections::BTreeSet;

/// The gains.
const ALPHA: f64 = 0.5;
const BETA: f64 = 0.25;

/// A port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Port {
    /// T, in microseconds.
    pub interval_us: u64,
    /// Virtual capacity C, in bytes per interval.
    pub capacity: f64,
    /// Bytes that the link takes in an interval.
    pub drain: f64,
    /// The least rate, in bytes per interval.
    pub least: f64,
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// When it comes, in microseconds.
    pub at_us: u64,
    /// Bytes.
    pub bytes: u32,
    /// Bytes before it in the queue.
    pub queue: u64,
    /// Flow that requests a rate with the packet, and the round-trip time in the header in microseconds; 0: unknown. Other packets, and acknowledgements, take
    /// capacity alone.
    pub asks: Option<(u64, u32)>,
}

/// Formula of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Formula {
    /// Dukkipati's.
    Exact,
    /// FlexSwitch's. The queue is what has come at the end of an interval less what the link takes.
    FlexSwitch,
}

/// The computation at a port.
#[derive(Clone, Debug)]
pub struct Offer {
    port: Port,
    formula: Formula,
    interval: u64,
    /// Bytes per interval.
    rate: f64,
    bytes: f64,
    /// Round trips times bytes, and the bytes of packets that know one.
    trips: (f64, f64),
    mean_trip: Option<f64>,
    queue: f64,
    flows: BTreeSet<u64>,
    flows_before: usize,
    gain: f64,
}

impl Offer {
    /// A port that no packet has come for.
    pub fn new(port: Port, formula: Formula) -> Offer {
        Offer {
            port,
            formula,
            interval: 0,
            rate: port.capacity,
            bytes: 0.0,
            trips: (0.0, 0.0),
            mean_trip: None,
            queue: 0.0,
            flows: BTreeSet::new(),
            flows_before: 0,
            gain: 1.0,
        }
    }

    /// The same with both gains of FlexSwitch's formula multiplied.
    pub fn with_gain(self, gain: f64) -> Offer {
        Offer { gain, ..self }
    }

    /// The rate that a packet gets, in kbit/s.
    pub fn packet(&mut self, packet: Packet) -> f64 {
        let interval = packet.at_us / self.port.interval_us;
        if interval != self.interval {
            self.next_rate(interval - self.interval, packet.queue as f64);
            self.interval = interval;
        }
        self.bytes += f64::from(packet.bytes);
        if let Some((flow, rtt_us)) = packet.asks {
            self.flows.insert(flow);
            if rtt_us > 0 {
                self.trips.0 += f64::from(packet.bytes) * f64::from(rtt_us);
                self.trips.1 += f64::from(packet.bytes);
            }
        }
        self.rate * 8000.0 / self.port.interval_us as f64
    }

    /// `ended` intervals have ended since the last packet. If that is more than one, the one with packets counts as empty.
    fn next_rate(&mut self, ended: u64, queue: f64) {
        let Port { interval_us, capacity, drain, least } = self.port;
        let follows = ended == 1;
        let y = if follows { self.bytes } else { 0.0 };
        let flows = if follows { self.flows.len().max(self.flows_before).max(1) } else { 1 };
        self.queue = (self.queue + y - drain).max(0.0);
        if let (true, (sum, bytes @ 1.0..)) = (follows, self.trips) {
            let sample = sum / bytes;
            self.mean_trip = Some(self.mean_trip.map_or(sample, |mean| mean + (sample - mean) / 4.0));
        }
        let rate = match self.formula {
            Formula::FlexSwitch => {
                let change = self.gain * (ALPHA * (capacity - y) - BETA * self.queue) / flows as f64;
                self.rate + if follows { change } else { 2.0 * change }
            }
            Formula::Exact => {
                let slower = (interval_us as f64 / self.mean_trip.unwrap_or(0.0)).min(1.0);
                let step = |rate: f64, y: f64, q: f64| {
                    let change = slower * (ALPHA * (capacity - y) - BETA * q * slower) / capacity;
                    (rate * (1.0 + change)).clamp(0.0, capacity)
                };
                let first = step(self.rate, y, queue);
                (1..ended.min(32)).fold(first, |rate, _| step(rate, 0.0, 0.0))
            }
        };
        self.rate = rate.clamp(least, capacity);
        self.flows_before = std::mem::take(&mut self.flows).len();
        (self.bytes, self.trips) = (0.0, (0.0, 0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Port = Port { interval_us: 256, capacity: 30_400.0, drain: 31_500.0, least: 15.0 };

    /// `flows` flows that obey at once: the rates of intervals.
    fn obeyed(formula: Formula, flows: u64, intervals: u64) -> Vec<f64> {
        let mut offer = Offer::new(PORT, formula);
        let mut rates = vec![];
        let (mut rate, mut queue) = (0.0, 0f64);
        for interval in 1..=intervals {
            for flow in 0..flows {
                let bytes = (rate * 256.0 / 8000.0) as u32;
                let packet =
                    Packet { at_us: interval * 256, bytes, queue: queue as u64, asks: Some((flow, 256)) };
                let offered = offer.packet(packet);
                if flow == 0 {
                    rates.push(offered);
                }
                queue += f64::from(bytes);
            }
            queue = (queue - 31_500.0).max(0.0);
            rate = *rates.last().unwrap();
        }
        rates
    }

    #[test]
    fn flows_that_obey_share_the_capacity_by_both_formulas() {
        for formula in [Formula::Exact, Formula::FlexSwitch] {
            for flows in [1, 4, 30] {
                let rate = *obeyed(formula, flows, 200).last().unwrap();
                let wanted = 950_000.0 / flows as f64;
                assert!((rate / wanted - 1.0).abs() < 0.02, "{formula:?}, {flows}: {rate}, {wanted}");
            }
        }
    }

    #[test]
    fn one_step_is_the_formula_by_hand() {
        let mut offer = Offer::new(PORT, Formula::Exact);
        let packet = |at_us, bytes, queue| Packet { at_us, bytes, queue, asks: Some((1, 512)) };
        assert_eq!(offer.packet(packet(0, 40_400, 0)), 950_000.0);
        // T/d = 1/2: 1 + 1/2 (1/2 (-10,000) - 1/4 * 8,000 / 2) / 30,400.
        let wanted = 950_000.0 * (1.0 - 0.5 * 6_000.0 / 30_400.0);
        assert!((offer.packet(packet(256, 100, 8_000)) - wanted).abs() < 1e-6);
        let mut offer = Offer::new(PORT, Formula::FlexSwitch);
        offer.packet(packet(0, 20_000, 0));
        offer.packet(Packet { asks: Some((2, 512)), ..packet(30, 20_000, 0) });
        // A queue of 8,500: (1/2 (-9,600) - 1/4 * 8,500) / 2.
        let wanted = (30_400.0 - 3_462.5) * 8000.0 / 256.0;
        assert!((offer.packet(packet(256, 100, 0)) - wanted).abs() < 1e-6);
    }
}
