//! Frames on their path through the devices of a rack, and effects of agents that are frames.

use super::super::Event;
use super::{Channel, MOST_HOPS, RackSwitch};
use base_time::{Duration, Time};
use controller::{Agent, DeviceId, Effect, Output};
use dataplane_api::Output as Leaving;
use std::collections::VecDeque;

impl<C: Channel> RackSwitch<C> {
    /// Runs a frame on a device, and what is before it.
    pub(super) fn process(&mut self, now: Time, device: usize, port: u32, frame: &[u8]) -> Vec<Leaving> {
        let Some(target) = self.agents.get_mut(device).and_then(Agent::target) else { return vec![] };
        let mut left = self.groups[device].follow(target, now);
        // Frames between devices of one process do not wait.
        left.extend(self.groups[device].process(target, port, frame, Duration::ZERO, now));
        if let Some(flows) = self.flows.as_ref().filter(|flows| flows.counts(device, port)) {
            flows.count(port, frame, &left, now);
        }
        left
    }

    /// The frames that were kept come in.
    pub(super) fn let_in(&mut self, now: Time, events: &mut Vec<Event>) -> Vec<Output> {
        let origin = self.origin;
        self.gate
            .open()
            .into_iter()
            .flat_map(|(port, frame)| self.run(now, origin, port, frame, events))
            .collect()
    }

    pub(super) fn effects(
        &mut self,
        now: Time,
        device: usize,
        effects: Vec<Effect>,
        events: &mut Vec<Event>,
    ) -> Vec<Output> {
        let mut outputs = vec![];
        for effect in effects {
            match effect {
                Effect::Stream(message) => {
                    outputs.extend(self.controller.streamed(now, DeviceId(device), message))
                }
                Effect::Push(frame) => outputs.extend(self.controller.pushed(now, DeviceId(device), &frame)),
                Effect::Inject(frame) => {
                    if let Some(cpu) = self.cpu_port {
                        outputs.extend(self.run(now, device, cpu, frame, events));
                    }
                }
                // Frames come in at the origin alone.
                Effect::KeepOut if device == self.origin => self.gate.close([]),
                Effect::LetIn if device == self.origin => outputs.extend(self.let_in(now, events)),
                Effect::KeepOut | Effect::LetIn => {}
            }
        }
        outputs
    }

    /// Runs a frame and all packets that result from it through all devices.
    pub(super) fn run(
        &mut self,
        now: Time,
        device: usize,
        port: u32,
        frame: Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Vec<Output> {
        let out = self.process(now, device, port, &frame);
        out.into_iter().flat_map(|out| self.leave(now, device, out.port, out.frame, events)).collect()
    }

    /// Passes a frame that has left a device on to the device or port at the other end of the link.
    pub(super) fn leave(
        &mut self,
        now: Time,
        device: usize,
        port: u32,
        frame: Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Vec<Output> {
        let mut on_the_way = VecDeque::from([(device, port, frame)]);
        let mut outputs = vec![];
        let mut hops = 0;
        while let Some((device, port, frame)) = on_the_way.pop_front() {
            if device == self.origin && Some(port) == self.cpu_port {
                self.counters.packet_ins += 1;
                let effects =
                    self.agents.get(device).map(|agent| agent.packet_in(&frame)).unwrap_or_default();
                outputs.extend(self.effects(now, device, effects, events));
                continue;
            }
            let Some((next, entry)) = self.wires.get(&(device, port)).copied() else {
                match device == self.origin {
                    true => {
                        self.counters.sent += 1;
                        events.push(Event::Frame(port, frame));
                    }
                    false => self.counters.nowhere += 1,
                }
                continue;
            };
            hops += 1;
            self.counters.hops += 1;
            // Programs of devices may pass a frame in a circle: this bounds the work for one frame.
            if hops > MOST_HOPS {
                self.counters.endless += 1;
                continue;
            }
            let out = self.process(now, next, entry, &frame);
            on_the_way.extend(out.into_iter().map(|out| (next, out.port, out.frame)));
        }
        outputs
    }
}
