//! The rack around its network: hosts, log, reports.

use crate::emulator::Emulator;
use crate::event::Event;
use crate::log::{Entry, digest};
use crate::place::Reason;
use device_network::{Drive, Network, Outcome, Owner, Place, Reason as InNetwork, World};

impl World for Emulator {
    type Event = Event;

    #[inline(always)]
    fn network(&self) -> &Network<Event> {
        &self.network
    }

    #[inline(always)]
    fn network_mut(&mut self) -> &mut Network<Event> {
        &mut self.network
    }

    fn happen(&mut self, event: Event) -> Outcome {
        match event {
            Event::Inject(slot) => {
                let Some((host, frame)) = self.injections[slot as usize].take() else { return Ok(()) };
                self.free_injections.push(slot);
                Drive::send(self, host, frame, Owner::NOBODY)
            }
            Event::Program { workload, timer } => self.tick_program(workload, timer),
            Event::Fault { fault, begins } => self.fault(fault, begins),
        }
    }

    fn receive(&mut self, host: u32, frame: Vec<u8>, owner: Owner) -> Outcome {
        self.host_receives(host, frame, owner)
    }

    #[inline(always)]
    fn sent(&mut self, wire: u32, frame: &[u8]) {
        let digest = digest(frame);
        self.trace(digest, frame, wire);
        self.log(Entry::Sent { wire, bytes: frame.len() as u32, digest });
    }

    #[inline(always)]
    fn arrived(&mut self, wire: u32, frame: &[u8]) {
        self.log(Entry::Arrived { wire, bytes: frame.len() as u32 });
        if let Some(Some(recording)) = self.recordings.get_mut(wire as usize / 2) {
            recording.add(self.network.now, frame);
        }
    }

    fn dropped(&mut self, place: Place, reason: InNetwork, owner: Owner) {
        match reason {
            // The device's counters have these.
            InNetwork::Program(_) => self.drop_by_program(place, reason, owner),
            _ => self.drop_at(place, Reason::Network(reason), owner),
        }
    }

    fn ticked(&mut self, device: u32) {
        self.log(Entry::Ticked { device });
    }

    #[inline(always)]
    fn happened(&mut self) {
        self.look_for_loops();
    }
}
