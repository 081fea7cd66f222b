//! Calls of a group at its switch: hand-overs that leave for a member, and those that come back.

use crate::numbers::Numbers;
use dataplane_api::{Output, Port};
use server_groups::Member;
use server_groups::wire::Wire;
use std::collections::{BTreeMap, BTreeSet};

/// Counts calls of one group. A call that does not come back is lost, or on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meter {
    wire: Wire,
    /// Ports that lead to members.
    ports: BTreeSet<Port>,
    /// Calls that have left for each member.
    pub sent: BTreeMap<Member, u64>,
    /// Calls that have come back.
    pub returned: u64,
    /// Answers that have come before: the switch drops them.
    pub repeated: u64,
    /// Numbers of calls that are out, if calls have numbers.
    out: Numbers,
}

impl Meter {
    /// Nothing has been counted.
    pub fn new(wire: Wire, ports: impl IntoIterator<Item = Port>) -> Meter {
        Meter {
            wire,
            ports: ports.into_iter().collect(),
            sent: BTreeMap::new(),
            returned: 0,
            repeated: 0,
            out: Numbers::default(),
        }
    }

    /// A frame arrives at the switch.
    pub fn came(&mut self, port: Port, frame: &[u8]) {
        if self.ports.contains(&port) && self.wire.comes_back(frame) {
            match self.wire.call_number(frame) {
                Some(number) if !self.out.take(number) => self.repeated += 1,
                _ => self.returned += 1,
            }
        }
    }

    /// A frame leaves the switch.
    pub fn left(&mut self, output: &Output) {
        if self.ports.contains(&output.port)
            && let Some(to) = self.wire.call_to(&output.frame)
        {
            *self.sent.entry(to).or_default() += 1;
            if let Some(number) = self.wire.call_number(&output.frame) {
                self.out.put(number);
            }
        }
    }
}
