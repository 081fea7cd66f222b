//! Edges with spares beside the agent of a device: ticks, and ports that go down. The program says what there is
//! (`ir_split::SentEdge`), so that nothing here waits for a controller.

use super::Controlled;
use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::Device as _;
use device::Switch;
use ir_split::SentEdge;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Minimum interval of an agent's ticks, in microseconds.
const LEAST_US: u64 = 1000;

/// The edges of the program that runs.
#[derive(Default)]
pub struct AgentEdges {
    /// Stands for the program.
    of: Option<Arc<()>>,
    all: Vec<(SentEdge, Time)>,
}

impl AgentEdges {
    /// Follows a change of the program. True if there was one.
    pub fn follow(&mut self, target: &Controlled, now: Time) -> bool {
        if self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, target.token())) {
            return false;
        }
        self.of = Some(Arc::clone(target.token()));
        self.all = target.edges().iter().map(|edge| (edge.clone(), now)).collect();
        true
    }

    /// When the next tick is due.
    pub fn deadline(&self) -> Option<Time> {
        self.all.iter().map(|(_, due)| *due).min()
    }

    /// The ticks that are due, with the ports that they come in by.
    pub fn due(&mut self, now: Time) -> Vec<(u32, Vec<u8>)> {
        let mut ticks = vec![];
        for (edge, due) in self.all.iter_mut().filter(|(_, due)| *due <= now) {
            *due = now + Duration::from_us(edge.tick_us.max(LEAST_US));
            ticks.extend(edge.ports.first().map(|port| (*port, edge.tick.clone())));
        }
        ticks
    }

    /// Edges do not use ports that are down.
    pub fn bar(&self, switch: &mut Switch, down: &BTreeSet<u32>) {
        for (edge, _) in &self.all {
            let is_down = |(at, port): (usize, &u32)| u128::from(down.contains(port)) << at;
            let set = edge.ports.iter().enumerate().map(is_down).sum();
            let name = format!("{}.down", edge.control);
            // A program that only looks like one of ours has no such register.
            let Ok(old) = switch.register_read(&name, edge.number) else { continue };
            let written = switch.register_write(&name, edge.number, &Bits::new(old.width(), set));
            debug_assert!(written.is_ok(), "the register was read");
        }
    }
}
