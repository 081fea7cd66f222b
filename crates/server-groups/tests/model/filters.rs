//! CLIP's two Bloom filters, explored: two flows, one after the other or together, and changes of the members.

use server_groups::Member;
use server_groups::filters::{Filters, Hashes, Insert};
use std::collections::{BTreeMap, HashSet};

/// Progress of a change of the members.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Change {
    None,
    /// The servers have reported these flows; the pins are not written yet.
    Reported(BTreeMap<usize, Member>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    flows: Vec<Hashes>,
    filters: Filters,
    /// The server of the first packet of each flow, and whether a false positive sent it there.
    first: Vec<Option<(Member, bool)>>,
    pins: BTreeMap<usize, Member>,
    change: Change,
    packets: u8,
    changes: Vec<Vec<Member>>,
    /// Reports and pins in one step.
    at_once: bool,
}

impl World {
    /// The flow whose packet was sent to a wrong server.
    fn send(&mut self, flow: usize) -> Option<usize> {
        self.packets -= 1;
        let is_known = self.filters.knows(&self.flows[flow]);
        let server = match self.pins.get(&flow) {
            Some(server) => *server,
            None => self.filters.dispatch(&self.flows[flow])?,
        };
        let (first, _) = *self.first[flow].get_or_insert((server, is_known));
        (first != server).then_some(flow)
    }

    fn report(&mut self) {
        let known = |flow: &usize| self.filters.knows(&self.flows[*flow]);
        let of = |flow: usize| Some((flow, self.first[flow]?.0));
        let pins = (0..self.flows.len()).filter(known).filter_map(of).collect();
        self.change = Change::Reported(pins);
    }

    fn flip(&mut self, members: Vec<Member>) {
        if let Change::Reported(pins) = std::mem::replace(&mut self.change, Change::None) {
            self.pins.extend(pins);
            self.filters.flip(members);
        }
    }
}

/// The first flow that is broken, in any order of events, and whether a false positive had sent its first packet.
fn broken(start: World) -> Option<bool> {
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        let mut next = vec![];
        for flow in (0..world.flows.len()).filter(|_| world.packets > 0) {
            let mut sent = world.clone();
            if let Some(flow) = sent.send(flow) {
                return Some(sent.first[flow].is_some_and(|(_, is_false)| is_false));
            }
            next.push(sent);
        }
        let mut changed = world.clone();
        match world.change {
            Change::None if !world.changes.is_empty() => {
                changed.report();
                if world.at_once {
                    let members = changed.changes.remove(0);
                    changed.flip(members);
                }
                next.push(changed);
            }
            Change::Reported(_) => {
                let members = changed.changes.remove(0);
                changed.flip(members);
                next.push(changed);
            }
            Change::None => {}
        }
        open.extend(next.into_iter().filter(|world| seen.insert(world.clone())));
    }
    None
}

/// Two flows in filters of twice two bits; `apart`: they have no bit in common.
fn world(apart: bool, at_once: bool) -> World {
    let flow = |bits: u32, member: u32| Hashes { filters: [[bits; 2]; 2], member };
    let members = |all: &[u16]| all.iter().map(|member| Member(*member)).collect::<Vec<_>>();
    World {
        flows: vec![flow(0, 0), flow(u32::from(apart), 1)],
        filters: Filters::new(2, members(&[0, 1]), Insert::Always),
        first: vec![None; 2],
        pins: BTreeMap::new(),
        change: Change::None,
        packets: 4,
        changes: vec![members(&[0, 2, 1]), members(&[1, 0])],
        at_once,
    }
}

#[test]
fn a_false_positive_breaks_a_flow_that_begins_between_report_and_change() {
    assert_eq!(broken(world(false, false)), Some(true));
}

#[test]
fn without_false_positives_or_without_time_between_the_two_no_flow_breaks() {
    assert_eq!(broken(world(true, false)), None);
    assert_eq!(broken(world(false, true)), None);
}
