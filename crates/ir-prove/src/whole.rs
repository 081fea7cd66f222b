//! The whole program, run beside its split.
//!
//! Ports that join devices do not belong to the program: the split drops and counts frames sent there, without egress.
//! Such a packet proves nothing, and later packets may see another state. The same holds for packets that recirculate
//! or make copies without end or nearly so: a device stops them after a number of passes that differs in a split.

use crate::environment::Answers;
use base_time::Time;
use dataplane_api::{Device, DropReason, Output, Port, QueueRecord, Queued};
use device::{Cause, EventKind, Switch};
use ir_split::Half;
use std::collections::{BTreeMap, VecDeque};

/// Limit on the packets caused by one frame.
const MOST_PASSES: usize = 2000;

/// A packet has used up its passes or steps.
const STOPS: [DropReason; 2] = [DropReason::PassLimit, DropReason::StepLimit];

/// The whole program on one device.
pub struct Whole {
    /// Device that runs the whole program.
    pub switch: Switch,
    answers: Answers,
    /// The ports that join devices in the split.
    reserved: Vec<Port>,
    /// Whether a pass may use something whose order of use shows.
    uses: BTreeMap<Half, bool>,
    /// The last frame or timer caused more than one packet or, if watched, was resubmitted.
    pub has_copied: bool,
    /// True if a packet passed more than once, so that it may use state at several times. Known only with a watch.
    pub has_come_back: bool,
    /// An assertion failed in the last frame or a packet made of it: it is undefined whether its digests are sent.
    /// `simple_switch` ends.
    pub has_failed: bool,
    /// Packets that were stopped, and those that failed an assertion, up to the last frame or timer.
    ended: [u64; 2],
}

/// Passes of the last frame and the packets made of it.
#[derive(Clone, Copy, Default)]
struct Passes {
    all: usize,
    ingress: usize,
    egress: usize,
    resubmitted: bool,
}

impl Whole {
    /// The program on this device, which reads these answers, in a split where these ports join devices.
    pub fn new(switch: Switch, answers: Answers, reserved: &[u64], uses: BTreeMap<Half, bool>) -> Whole {
        let reserved = reserved.iter().filter_map(|&port| Port::try_from(port).ok()).collect();
        Whole {
            switch,
            answers,
            reserved,
            uses,
            has_copied: false,
            has_come_back: false,
            has_failed: false,
            ended: [0; 2],
        }
    }

    /// Starts to record recirculated packets.
    pub fn watch_passes(&mut self) {
        self.switch.set_trace(true);
    }

    /// Processes a frame; returns the output, or `None` if a packet is sent to a port that joins devices, or too many
    /// packets are caused.
    pub fn frame(&mut self, port: Port, frame: &[u8], now: Time) -> Option<Vec<Output>> {
        let queued = self.switch.ingress(port, frame.to_vec(), now);
        self.drain(queued, now)
    }

    /// Runs a timer; gives the same.
    pub fn tick(&mut self, now: Time) -> Option<Vec<Output>> {
        let queued = self.switch.tick(now);
        self.drain(queued, now)
    }

    fn drain(&mut self, queued: Vec<Queued>, now: Time) -> Option<Vec<Output>> {
        let mut passes = Passes::default();
        self.note(&mut passes);
        let mut waiting = VecDeque::from(queued);
        let (mut outputs, mut is_ours) = (vec![], true);
        self.has_copied = false;
        while let Some(packet) = waiting.pop_front() {
            passes.egress += 1;
            if passes.egress > MOST_PASSES {
                return None;
            }
            self.has_copied |= !waiting.is_empty();
            is_ours &= !self.reserved.contains(&packet.replica.port);
            let record = QueueRecord { enqueued: now, ..QueueRecord::default() };
            self.answers.queued_for(packet.replica.port);
            let result = self.switch.egress(packet, record, now);
            self.note(&mut passes);
            let came = result.output.iter().count() + result.requeued.len() + result.again.len();
            self.has_copied |= came > 1;
            outputs.extend(result.output);
            waiting.extend(result.requeued);
            for again in result.again {
                waiting.extend(self.switch.resume(again, now));
                self.note(&mut passes);
            }
        }
        let ended = [self.dropped(&STOPS), self.dropped(&[DropReason::AssertFailed])];
        let [stopped, failed] = std::mem::replace(&mut self.ended, ended);
        if ended[0] > stopped {
            return None;
        }
        self.has_failed = ended[1] > failed;
        // The split may send it through a queue that the whole program's packet does not see.
        self.has_copied |= passes.resubmitted;
        let moments = |half, passes| if self.uses.get(&half) == Some(&true) { passes } else { 0 };
        let moments = moments(Half::Ingress, passes.ingress) + moments(Half::Egress, passes.egress);
        self.has_come_back = passes.all > 1 && moments > 1;
        is_ours.then_some(outputs)
    }

    /// Packets that ended by one of these reasons.
    fn dropped(&self, reasons: &[DropReason]) -> u64 {
        reasons.iter().filter_map(|reason| self.switch.counters().dropped.get(reason)).sum()
    }

    /// Records the effects of one call of the device.
    fn note(&mut self, passes: &mut Passes) {
        for event in self.switch.take_trace() {
            let EventKind::Begin { cause, .. } = event.kind else { continue };
            passes.all += usize::from(!matches!(cause, Cause::FrameExtern));
            passes.ingress +=
                usize::from(matches!(cause, Cause::Received | Cause::Resubmitted | Cause::Recirculated));
            passes.resubmitted |= matches!(cause, Cause::Resubmitted);
        }
    }
}
