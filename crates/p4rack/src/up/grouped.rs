//! A device of the emulator that can be a member of a server group.

use device::Switch;
use group_front::{Front, Settings};
use server_groups::wire::Flow;
use server_groups::{Counters, Report};

/// The front of a server, and counters of earlier fronts.
pub(super) struct Grouped {
    pub(super) front: Front,
    settings: Settings,
    /// True if the server has restarted since the last look.
    began: bool,
    /// Counters of those before.
    past: Counters,
}

impl Grouped {
    pub(super) fn new(settings: Settings, switch: &Switch) -> Grouped {
        let front = Front::new(settings.clone(), switch);
        Grouped { front, settings, began: false, past: Counters::default() }
    }

    /// The switch runs another program: no flow is known any more.
    pub(super) fn begin(&mut self, switch: &Switch) {
        self.past = self.counts();
        self.front = Front::new(self.settings.clone(), switch);
        self.began = true;
    }

    /// Reports for the group's controller, and true if it has restarted, since the last call.
    pub(super) fn look(&mut self) -> (Vec<Report<Flow>>, bool) {
        (self.front.take_reports(), std::mem::take(&mut self.began))
    }

    /// Counters since the start of the rack; frames that were not for it are among the refused.
    pub(super) fn counts(&self) -> Counters {
        let mut sum = self.past.plus(&self.front.server().counters);
        sum.drops.refused += self.front.refused();
        sum
    }

    /// Flows whose state is here.
    pub(super) fn flows(&self) -> u64 {
        self.front.server().owned().count() as u64
    }
}
