//! The channels between the controller and the agents: messages take time, and some are lost. Calls and answers stay in order; messages of the
//! merge may come twice and in any order.

use base_time::{Duration, Rng, Time};
use rack_model::{Control, DeviceId, FaultKind, Rack};
use std::collections::BTreeMap;

/// Messages in flight, with their destinations. Times are those of the controller, whose clock starts before the rack's.
pub(super) struct Channel<M> {
    control: Control,
    /// For each device: a random generator for losses and delays, and the arrival times of the last message to it and
    /// from it.
    devices: Vec<(Rng, [Time; 2])>,
    under_way: BTreeMap<(Time, u64), M>,
    sent: u64,
    /// Messages that did not arrive.
    pub(super) lost: u64,
}

/// Direction of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    ToAgent,
    ToController,
}

impl<M: Clone> Channel<M> {
    pub(super) fn new(rack: &Rack) -> Channel<M> {
        let seeds = Rng::new(rack.seed).split("control");
        let devices = (0..rack.devices.len() as u64).map(|at| (seeds.split_index(at), [Time::ZERO; 2]));
        let control = rack.control.clone();
        Channel { control, devices: devices.collect(), under_way: BTreeMap::new(), sent: 0, lost: 0 }
    }

    /// Sends a message; it is lost at random, and if the device `is_down`. `faults` are the active faults. A message that is no call may come
    /// twice, and before or after others.
    pub(super) fn send<'f>(
        &mut self,
        now: Time,
        device: usize,
        direction: Direction,
        is_down: bool,
        faults: impl Iterator<Item = &'f FaultKind>,
        (message, is_call): (M, bool),
    ) {
        let (rng, last) = &mut self.devices[device];
        let here = |at: &Option<DeviceId>| at.is_none_or(|at| at.0 as usize == device);
        let (mut delay, mut losses) = (self.control.delay, vec![self.control.loss]);
        for fault in faults {
            match fault {
                FaultKind::ControlDelay { device, by } if here(device) => delay += *by,
                FaultKind::ControlLoss { device, share } if here(device) => losses.push(*share),
                _ => {}
            }
        }
        let is_lost = losses.iter().filter(|share| share.happens(rng)).count() > 0;
        if is_lost || is_down {
            self.lost += 1;
            return;
        }
        if !is_call {
            // Each copy takes its own time.
            for _ in 0..1 + u64::from(self.control.duplicate.happens(rng)) {
                let longer = Duration::from_ps(rng.below(self.control.jitter.as_ps() + 1));
                self.under_way.insert((now + delay + longer, self.sent), message.clone());
                self.sent += 1;
            }
            return;
        }
        let last = &mut last[direction as usize];
        *last = (now + delay).max(*last);
        self.under_way.insert((*last, self.sent), message);
        self.sent += 1;
    }

    /// When the next message arrives.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.under_way.first_key_value().map(|((at, _), _)| *at)
    }

    /// A message that has arrived by `now`.
    pub(super) fn arrive(&mut self, now: Time) -> Option<M> {
        let entry = self.under_way.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Messages that have begun.
    pub(super) fn sent(&self) -> u64 {
        self.sent + self.lost
    }
}
