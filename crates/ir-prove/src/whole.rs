//! The whole program, run beside its split.
//!
//! Ports that join devices are not the program's: the split drops and counts what it sends there, without its egress. A
//! packet that does so says nothing, and what comes behind it may see another state. Neither does one that comes back, or
//! makes copies, without end or nearly so: a device stops such packets, at a number of passes that a split does not keep.

use crate::environment::Answers;
use base_time::Time;
use dataplane_api::{Device, DropReason, Output, Port, QueueRecord, Queued};
use ir::Name;
use ir_interp::{Cause, EventKind, Switch};
use std::collections::{BTreeSet, VecDeque};

/// Of one frame come no more packets than this.
const MOST_PASSES: usize = 2000;

/// The whole program on one device.
pub struct Whole {
    /// Its device.
    pub switch: Switch,
    answers: Answers,
    /// The ports that join devices in the split.
    reserved: Vec<Port>,
    /// Objects whose order of use does not show.
    unordered: BTreeSet<Name>,
    /// More than one packet came of the last frame or timer or, of what is watched, it was resubmitted.
    pub has_copied: bool,
    /// What came of it passed more than once, and used state at several moments. Known only of what is watched.
    pub has_come_back: bool,
}

/// When the last frame, or what came of it, used state.
#[derive(Clone, Copy, Default)]
struct Moments {
    uses: usize,
    passes: usize,
    resubmitted: bool,
}

impl Whole {
    /// The program on this device, which reads these answers, in a split where these ports join devices.
    pub fn new(switch: Switch, answers: Answers, reserved: &[u64], unordered: BTreeSet<Name>) -> Whole {
        let reserved = reserved.iter().filter_map(|&port| Port::try_from(port).ok()).collect();
        Whole { switch, answers, reserved, unordered, has_copied: false, has_come_back: false }
    }

    /// From here on it is noted what comes back.
    pub fn watch_passes(&mut self) {
        self.switch.set_trace(true);
        self.switch.set_access_log(true);
    }

    /// Takes in a frame; gives what leaves, or nothing if a packet is sent to a port that joins devices, or too many come of it.
    pub fn frame(&mut self, port: Port, frame: &[u8], now: Time) -> Option<Vec<Output>> {
        let queued = self.switch.ingress(port, frame, now);
        self.drain(queued, now)
    }

    /// Runs a timer; gives the same.
    pub fn tick(&mut self, now: Time) -> Option<Vec<Output>> {
        let queued = self.switch.tick(now);
        self.drain(queued, now)
    }

    fn drain(&mut self, queued: Vec<Queued>, now: Time) -> Option<Vec<Output>> {
        let mut moments = Moments::default();
        self.note(&mut moments);
        let mut waiting = VecDeque::from(queued);
        let (mut outputs, mut is_ours) = (vec![], true);
        self.has_copied = false;
        let before = self.stopped();
        let mut passes = 0;
        while let Some(packet) = waiting.pop_front() {
            passes += 1;
            if passes > MOST_PASSES {
                return None;
            }
            self.has_copied |= !waiting.is_empty();
            is_ours &= !self.reserved.contains(&packet.replica.port);
            let record = QueueRecord { enqueued: now, ..QueueRecord::default() };
            self.answers.queued_for(packet.replica.port);
            let result = self.switch.egress(packet, record, now);
            self.note(&mut moments);
            let came = result.output.iter().count() + result.requeued.len() + result.again.len();
            self.has_copied |= came > 1;
            outputs.extend(result.output);
            waiting.extend(result.requeued);
            for again in result.again {
                waiting.extend(self.switch.resume(again, now));
                self.note(&mut moments);
            }
        }
        if self.stopped() > before {
            return None;
        }
        // The split may send it through a queue that the whole program's packet does not see.
        self.has_copied |= moments.resubmitted;
        self.has_come_back = moments.passes > 1 && moments.uses > 1;
        is_ours.then_some(outputs)
    }

    /// Packets that have used up their passes or steps.
    fn stopped(&self) -> u64 {
        let dropped = &self.switch.counters().dropped;
        [DropReason::PassLimit, DropReason::StepLimit].iter().filter_map(|reason| dropped.get(reason)).sum()
    }

    /// Notes what one call of the device has done.
    fn note(&mut self, moments: &mut Moments) {
        let used = self.switch.take_accesses().into_iter().any(|a| !self.unordered.contains(&a.object));
        let (mut begun, mut again) = (0, 0);
        for event in self.switch.take_trace() {
            let EventKind::Begin { cause, .. } = event.kind else { continue };
            begun += usize::from(!matches!(cause, Cause::FrameExtern));
            again += usize::from(matches!(cause, Cause::Resubmitted));
        }
        moments.resubmitted |= again > 0;
        moments.passes += begun;
        moments.uses += if used { 1 + again } else { 0 };
    }
}
