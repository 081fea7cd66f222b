//! RCP in a network of a few lines: hosts with a link each, a switch, and a receiver behind the bottleneck. Beside [`Offer`] it has nothing in
//! common with the emulator, the P4 program and the hosts' programs: no frames, no headers, floating point.
//!
//! Each packet is acknowledged; a sender sends a packet when the last one has taken its time at the rate that came back, unless twice the rate
//! times the round trip is under way. There are no losses and timeouts, and senders do not ask for the rate between packets.

use crate::rcp::{Formula, Offer, Packet, Port};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The sender, from 0.
    pub host: usize,
    /// When it begins, in nanoseconds.
    pub at_ns: u64,
    /// Bytes.
    pub bytes: u32,
}

/// The network: all links alike, with a full-duplex path from each host over the switch to the receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Network {
    /// Nanoseconds that a byte takes on a link.
    pub ns_per_byte: f64,
    /// Delay of a link, in nanoseconds.
    pub delay_ns: f64,
    /// Nanoseconds that a packet takes in the switch before it joins the queue.
    pub service_ns: f64,
    /// Bytes of a frame's headers, and what a frame takes on the link beyond its bytes.
    pub headers: u32,
    /// See `headers`.
    pub overhead: u32,
    /// Data in a full packet.
    pub piece: u32,
    /// The port of the receiver.
    pub port: Port,
    /// Rate that senders wish, in kbit/s.
    pub wish: f64,
    /// The switch's clock at the beginning, in nanoseconds.
    pub clock_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    /// A flow begins.
    Begin,
    /// A flow may send its next packet, if this is its latest timer.
    Pace(u32),
    /// A packet of so many bytes of data comes to the switch; it left the sender at that time.
    Switch { data: u32, sent: f64, trip_us: u32 },
    /// The packet comes to the receiver.
    Receiver { data: u32, sent: f64, rate: f64 },
    /// The acknowledgement comes to the sender.
    Sender { data: u32, sent: f64, rate: f64 },
}

/// An event of a flow, in order of time and then of number.
struct At(f64, u64, usize, Event);

impl PartialEq for At {
    fn eq(&self, other: &At) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for At {}
impl PartialOrd for At {
    fn partial_cmp(&self, other: &At) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for At {
    fn cmp(&self, other: &At) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

#[derive(Clone, Default)]
struct State {
    sent: u32,
    /// Packets and bytes under way.
    flying: (u32, f64),
    received: u32,
    /// kbit/s.
    rate: Option<f64>,
    trip: Option<f64>,
    last: (f64, f64),
    timer: u32,
    done: Option<f64>,
}

impl Network {
    /// Completion times of flows in nanoseconds, and the longest queue at the bottleneck in bytes.
    pub fn run(&self, flows: &[Flow], formula: Formula) -> (Vec<f64>, f64) {
        let mut offer = Offer::new(self.port, formula);
        let mut states = vec![State::default(); flows.len()];
        let hosts = flows.iter().map(|flow| flow.host + 1).max().unwrap_or(0);
        // When each host's link and the bottleneck are free.
        let (mut cards, mut bottleneck, mut most) = (vec![0f64; hosts], 0f64, 0f64);
        let mut queued: Vec<(f64, u64)> = vec![];
        let mut calendar = BinaryHeap::new();
        let mut number = 0;
        let mut plan = |calendar: &mut BinaryHeap<Reverse<At>>, at: f64, flow: usize, event: Event| {
            number += 1;
            calendar.push(Reverse(At(at, number, flow, event)));
        };
        for (flow, index) in flows.iter().zip(0..) {
            plan(&mut calendar, flow.at_ns as f64, index, Event::Begin);
        }
        while let Some(Reverse(At(now, _, index, event))) = calendar.pop() {
            let (flow, state) = (&flows[index], &mut states[index]);
            let on_wire =
                |data: u32| f64::from((self.headers + data).max(60) + self.overhead) * self.ns_per_byte;
            match event {
                Event::Begin | Event::Pace(_) => {
                    let is_pace = matches!(event, Event::Pace(timer) if timer == state.timer);
                    if event != Event::Begin && (!is_pace || state.sent >= flow.bytes) {
                        continue;
                    }
                    let window = 2.0 * state.rate.unwrap_or(1.0) * state.trip.unwrap_or(1.0) / 8e6;
                    if is_pace && state.flying.0 >= 3 && state.flying.1 > window {
                        continue;
                    }
                    let data = if is_pace { self.piece.min(flow.bytes - state.sent) } else { 0 };
                    state.flying = (state.flying.0 + 1, state.flying.1 + f64::from(self.headers + data));
                    state.sent += data;
                    let trip_us = state.trip.map_or(0, |trip| (trip / 1000.0) as u32);
                    let card = &mut cards[flow.host];
                    *card = card.max(now) + on_wire(data);
                    plan(
                        &mut calendar,
                        *card + self.delay_ns,
                        index,
                        Event::Switch { data, sent: now, trip_us },
                    );
                    if is_pace {
                        state.last = (now, f64::from(self.headers + data) * 8e6);
                        state.timer += 1;
                        let rate = state.rate.unwrap_or(1.0);
                        plan(&mut calendar, now + state.last.1 / rate, index, Event::Pace(state.timer));
                    }
                }
                Event::Switch { data, sent, trip_us } => {
                    queued.retain(|(leaves, _)| *leaves > now);
                    let queue: u64 = queued.iter().map(|(_, bytes)| bytes).sum();
                    most = most.max(queue as f64);
                    let bytes = self.headers + data;
                    let at_us = (now as u64 + self.clock_ns) / 1000;
                    let packet = Packet { at_us, bytes, queue, asks: Some((index as u64, trip_us)) };
                    let rate = offer.packet(packet).min(self.wish);
                    // The queue's bytes are counted until a packet begins to leave.
                    queued.push((bottleneck.max(now + self.service_ns), bytes.into()));
                    bottleneck = bottleneck.max(now + self.service_ns) + on_wire(data);
                    plan(
                        &mut calendar,
                        bottleneck + self.delay_ns,
                        index,
                        Event::Receiver { data, sent, rate },
                    );
                }
                Event::Receiver { data, sent, rate } => {
                    state.received += data;
                    if state.received == flow.bytes && state.done.is_none() {
                        state.done = Some(now - flow.at_ns as f64);
                    }
                    let back = 2.0 * (on_wire(0) + self.delay_ns) + self.service_ns;
                    plan(&mut calendar, now + back, index, Event::Sender { data, sent, rate });
                }
                Event::Sender { data, sent, rate } => {
                    state.flying = (state.flying.0 - 1, state.flying.1 - f64::from(self.headers + data));
                    let sample = now - sent;
                    state.trip = Some(state.trip.map_or(sample, |trip| trip * 0.875 + sample * 0.125));
                    state.rate = Some(rate.floor().max(1.0));
                    state.timer += 1;
                    let next = state.last.0 + state.last.1 / rate.floor().max(1.0);
                    plan(&mut calendar, next.max(now), index, Event::Pace(state.timer));
                }
            }
        }
        (states.iter().map(|state| state.done.unwrap_or(f64::INFINITY)).collect(), most)
    }
}
