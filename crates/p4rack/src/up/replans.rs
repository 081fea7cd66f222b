//! Plans of flows that are made again in a rack of the emulator.

use super::domain::Domain;
use super::pinned::PinnedApp;
use crate::rack::Racked;
use crate::replan;
use base_time::Time;
use controller::{Output, Reply, Ticket};
use device_control::{AppFlows, Resizing};

/// The plan of the apps of one switch.
pub(super) struct Replans {
    /// Place of its controller.
    domain: usize,
    /// Places of its apps among the pinned apps of the rack.
    places: Vec<usize>,
    names: Vec<String>,
    resizing: Resizing,
}

impl Replans {
    /// Plans of a rack that may be made again. `pinned` are its pinned apps in order, `domain` is the place of an app's controller.
    pub(super) fn of(racked: &Racked, pinned: &[PinnedApp], domain: &dyn Fn(usize) -> usize) -> Vec<Replans> {
        let mut first = 0;
        let mut all = vec![];
        for (at, app) in racked.apps.iter().enumerate() {
            let places = first..first + app.pinned.len();
            first = places.end;
            let is_counted = |place: &usize| {
                let flows = pinned[*place].moving.as_ref().map(|moving| &moving.flows);
                flows.is_some_and(|flows| flows.popular().is_some())
            };
            let counted: Vec<bool> = places.clone().map(|place| is_counted(&place)).collect();
            if let Some(resizing) = replan::resizing(&racked.rack, app, &counted) {
                let places: Vec<usize> = places.filter(is_counted).collect();
                let names = places.iter().map(|place| pinned[*place].name.clone()).collect();
                all.push(Replans { domain: domain(at), places, names, resizing });
            }
        }
        all
    }

    /// When something is to be done that no flow's move brings about.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.resizing.next_time()
    }

    /// True while another plan is being brought in.
    pub(super) fn is_busy(&self) -> bool {
        self.resizing.is_busy()
    }

    /// Outputs of the controller after what is due; `at` is the time by the controller's clock.
    pub(super) fn calls(
        &mut self,
        (now, at): (Time, Time),
        pinned: &mut [PinnedApp],
        domains: &mut [Domain],
    ) -> Vec<(usize, Output)> {
        let out = domains[self.domain].controller.out_of_use();
        let call = self.resizing.call(now, &out, &mut apps(&self.places, pinned));
        let outputs = call
            .into_iter()
            .flat_map(|(ticket, call)| domains[self.domain].controller.call(at, ticket, call));
        outputs.map(|output| (self.domain, output)).collect()
    }

    /// The reply to a call; false if it is somebody else's.
    pub(super) fn replied(
        &mut self,
        (domain, ticket): (usize, Ticket),
        reply: &Reply,
        pinned: &mut [PinnedApp],
    ) -> bool {
        domain == self.domain && self.resizing.replied(ticket, reply, &mut apps(&self.places, pinned))
    }

    /// Outcomes since the last call, for people.
    pub(super) fn take_reported(&mut self) -> Vec<String> {
        let reported = self.resizing.take_reported();
        reported.iter().map(|reported| reported.words(&self.names)).collect()
    }
}

/// The flows of the apps at these places.
fn apps<'p>(places: &[usize], pinned: &'p mut [PinnedApp]) -> Vec<&'p mut AppFlows> {
    let all = pinned.iter_mut().enumerate().filter(|(place, _)| places.contains(place));
    all.filter_map(|(_, app)| app.moving.as_mut().map(|moving| &mut moving.flows)).collect()
}
