//! Arrivals one by one, for evaluations that need more than percentiles.

use crate::emulator::Emulator;
use crate::running::Running;
use base_time::Time;
use rack_model::HostId;

/// A packet, an answer or a transfer that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The workload's place in the rack's list.
    pub workload: usize,
    /// The sender.
    pub from: HostId,
    /// The receiver.
    pub to: HostId,
    /// Sequence number in its pair of hosts, from 0.
    pub sequence: u32,
    /// When it was sent or begun.
    pub sent: Time,
    /// When it came; of a ping or a request, when the answer came.
    pub received: Time,
}

impl Emulator {
    /// From now on each packet that comes is kept for [`take_samples`](Self::take_samples), or not.
    pub fn keep_samples(&mut self, keep: bool) {
        for Running { tally, .. } in &mut self.programs {
            tally.samples = keep.then(|| tally.samples.take().unwrap_or_default());
        }
    }

    /// Arrivals since the last call, by time and then by workload. Captures have no samples, since the time of sending
    /// is unknown.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        let mut samples = vec![];
        for (workload, Running { tally, .. }) in self.programs.iter_mut().enumerate() {
            for came in tally.samples.as_mut().map(std::mem::take).unwrap_or_default() {
                let Some(ends) = self.pairs.get(came.flow as usize) else { continue };
                let (from, to) = ends.hosts();
                samples.push(Sample {
                    workload,
                    from,
                    to,
                    sequence: came.sequence,
                    sent: came.sent,
                    received: came.at,
                });
            }
        }
        samples.sort_by_key(|sample| sample.received);
        samples
    }
}
