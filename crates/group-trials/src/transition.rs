//! A group goes from one server to another while old flows stay and new ones come (CLIP, figure 7).
//!
//! ```text
//! second     0 ............ 14 15 ............ 31 ... 35 .... 40
//! set 1      ==================================
//! set 2      ======================================| at the switch
//! sets 3, 4                    ==============================
//! group      { server 1 }   { server 2 }
//! ```

use crate::simulation::{Counts, Setting, Simulation};
use server_groups::Member;

/// The second at which the group changes.
pub const CHANGE: u64 = 14;
/// Sets 3 and 4 begin.
pub const BEGIN: u64 = 15;
/// Set 1 ends.
pub const END_OF_SET_1: u64 = 31;
/// The second change: the entries of set 2 come to the switch, as those of a table with `@hot` do.
pub const TO_SWITCH: u64 = 35;
/// The run ends.
pub const END: u64 = 40;

/// Flows of each set.
const FLOWS: u32 = 40;

/// Ticks of a second.
const TICKS: u64 = 100;

/// Each flow sends a packet a tick, so that a set has 4,000 in a second: one for so many of the paper's.
pub const PACKETS_OF_ONE: u64 = 250;

/// Packets handled in a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Second {
    /// At server 1 and at server 2.
    pub at: [u64; 2],
    /// At the switch.
    pub at_switch: u64,
    /// Through another server.
    pub extra_hops: u64,
    /// Flows with a pin.
    pub pins: usize,
}

/// A run's seconds, all counts, and for each set the servers of its flows at its end.
#[derive(Clone, Debug)]
pub struct Transition {
    /// One for each second.
    pub seconds: Vec<Second>,
    /// Counts of the whole run.
    pub counts: Counts,
    /// For each set: flows at server 1, at server 2.
    pub sets: [[usize; 2]; 4],
}

/// Runs it.
pub fn transition(seed: u64) -> Transition {
    let servers = [Member(0), Member(1)];
    let mut group = Simulation::new(seed, 1, Setting { pins: 1024, ..Setting::default() });
    let mut seconds = vec![];
    let mut sets = [[0; 2]; 4];
    let mut packet = 0;
    let mut before = (Counts::default(), [0; 2]);
    let set = |n: u32| (n * FLOWS)..((n + 1) * FLOWS);
    let where_is = |group: &Simulation, n: u32| {
        servers.map(|server| set(n).filter(|f| group.owner(*f) == Some(server)).count())
    };
    for second in 0..END {
        if second == CHANGE {
            group.add(servers[1]);
            group.remove(servers[0]);
        }
        if second == END_OF_SET_1 {
            sets[0] = where_is(&group, 0);
            set(0).for_each(|flow| group.end_after(flow, TICKS));
        }
        if second == TO_SWITCH {
            sets[1] = where_is(&group, 1);
            set(1).for_each(|flow| group.end_after(flow, TICKS));
        }
        for _ in 0..TICKS {
            group.step();
            packet += 1;
            let sends = |n: &u32| match n {
                0 => second < END_OF_SET_1,
                1 => true,
                _ => second >= BEGIN,
            };
            let to_switch = |flow: u32| second >= TO_SWITCH && set(1).contains(&flow);
            (0..4).filter(sends).flat_map(set).for_each(|flow| match to_switch(flow) {
                true => group.handle_at_switch(flow, packet),
                false => group.send(flow, packet),
            });
        }
        let counts = group.counts();
        let at = servers.map(|server| group.at_server().get(&server).copied().unwrap_or(0));
        let (last, last_at) = before;
        let extra_hops = counts.extra_hops - last.extra_hops;
        let at_switch = counts.at_switch - last.at_switch;
        let at_servers = [at[0] - last_at[0], at[1] - last_at[1]];
        seconds.push(Second { at: at_servers, at_switch, extra_hops, pins: group.pins() });
        before = (counts, at);
    }
    for n in 2..4 {
        sets[n as usize] = where_is(&group, n);
    }
    group.settle();
    Transition { seconds, counts: group.counts(), sets }
}
