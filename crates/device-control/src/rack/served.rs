//! A rack as a server sees it: calls, streams, frames, ports, time.

use super::super::agent_groups::AgentGroups;
use super::super::new_flows::Comes;
use super::super::rack_flows::RackFlows;
use super::super::{Answers, Event, Metric, Served, metric, show};
use super::{Channel, RackCounters, RackSwitch};
use base_time::Time;
use controller::{Agent, Call, Reply, Steer, Ticket};
use dataplane_api::Device;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::StreamMessageRequest;
use p4runtime_proto::p4rack::v1::{Group, ShowResponse};
use p4runtime_server::{Ahead, Status, StreamId};
use state_journal::Batch;

impl<C: Channel> Served for RackSwitch<C> {
    fn answers(&self) -> &dyn Answers {
        &self.controller
    }

    fn keep_notes(&mut self) {
        self.controller.keep_notes();
    }

    fn noted(&mut self) -> Batch {
        self.controller.noted()
    }

    fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event> {
        self.at(now);
        if let Call::Steer(election, Steer::ChangeGroup(change)) = &call {
            let may = self.controller.may_steer(election.as_ref());
            let done = may.and_then(|()| self.change_group(change, now));
            let mut events = self.perform(now, vec![]);
            events.extend(self.tick(now));
            events.push(Event::Reply(ticket, Reply::Done(done)));
            return events;
        }
        let call = match &mut self.flows {
            Some(flows) => flows.take(now, ticket, call, &self.controller),
            None => Some(call),
        };
        let outputs = call.map_or(vec![], |call| self.controller.call(now, ticket, call));
        self.perform(now, outputs)
    }

    fn message(&mut self, now: Time, stream: StreamId, message: &StreamMessageRequest) -> Vec<Event> {
        self.at(now);
        let outputs = self.controller.message(now, stream, message);
        self.perform(now, outputs)
    }

    fn close(&mut self, now: Time, stream: StreamId) -> Vec<Event> {
        let outputs = self.controller.close(now, stream);
        self.perform(now, outputs)
    }

    fn frame(&mut self, now: Time, port: u32, frame: &[u8]) -> Vec<Event> {
        if self.is_internal(port) {
            return vec![];
        }
        self.counters.received += 1;
        if !self.gate.lets_in(port, frame) {
            return vec![];
        }
        let comes = self.flows.as_mut().map_or(Comes::In, |flows| flows.comes(now, (port, frame)));
        if comes == Comes::Later {
            return vec![];
        }
        self.at(now);
        let mut events = vec![];
        let before = self.counters.left();
        let outputs = self.run(now, self.origin, port, frame.to_vec(), &mut events);
        if comes == Comes::First
            && self.counters.left() == before
            && let Some(flows) = &mut self.flows
        {
            flows.vanished((port, frame));
        }
        events.extend(self.perform(now, outputs));
        events
    }

    fn link(&mut self, port: u32, is_up: bool) {
        if is_up {
            self.down.remove(&port);
            for target in self.agents.iter_mut().flat_map(Agent::targets) {
                target.switch().port_set(port, true);
            }
        } else {
            self.down.insert(port);
            self.set_ports();
        }
    }

    fn may_have(&mut self, port: u32) -> Result<(), Status> {
        if self.is_internal(port) {
            let why = format!("port {port} leads to another device of the rack");
            return Err(Status::new(Code::InvalidArgument, why));
        }
        let target = self.agents.get_mut(self.origin).and_then(Agent::target);
        target.map_or(Ok(()), |target| target.may_have(port))
    }

    fn tick(&mut self, now: Time) -> Vec<Event> {
        self.at(now);
        let mut events = vec![];
        let mut outputs = vec![];
        for device in 0..self.agents.len() {
            let Some(target) = self.agents[device].target() else { continue };
            for output in self.groups[device].tick(target, now) {
                outputs.extend(self.leave(now, device, output.port, output.frame, &mut events));
            }
            let effects = self.agents[device].tick(now);
            outputs.extend(self.effects(now, device, effects, &mut events));
        }
        outputs.extend(self.controller.tick(now));
        events.extend(self.perform(now, outputs));
        events
    }

    fn deadline(&mut self) -> Option<Time> {
        let RackSwitch { agents, groups, .. } = self;
        let timers =
            agents.iter_mut().zip(groups).filter_map(|(agent, groups)| groups.deadline(agent.target()?));
        let timers: Option<Time> = timers.min();
        let held = self.agents.iter().filter_map(Agent::deadline);
        let flows = self.flows.as_ref().and_then(RackFlows::deadline);
        let own = [timers, flows, self.controller.deadline()];
        held.chain(own.into_iter().flatten()).min()
    }

    fn take_work(&mut self) -> Option<Ahead> {
        self.flows.as_mut().and_then(RackFlows::take_work)
    }

    fn take_reported(&mut self) -> Vec<String> {
        self.flows.as_mut().map_or(vec![], RackFlows::take_reported)
    }

    fn is_busy(&self) -> bool {
        self.working.is_some() || !self.asks.is_empty() || self.controller.is_busy()
    }

    fn is_open(&self) -> bool {
        true
    }

    /// The controller does calls that touch different things at one time.
    fn makes_way(&mut self, _: &Call) -> bool {
        true
    }

    fn go_on(&mut self, now: Time) -> Vec<Event> {
        self.at(now);
        let outputs = match self.working.take() {
            None => self.controller.go_on(now),
            Some(working) => match self.agents.get_mut(working.device).and_then(Agent::go_on) {
                Some(answer) => self.answer(now, &working, answer),
                None => {
                    self.working = Some(working);
                    vec![]
                }
            },
        };
        self.perform(now, outputs)
    }

    fn show(&self) -> ShowResponse {
        let name = |device: usize| self.names.get(device).cloned().unwrap_or_default();
        let of = |(groups, name): (&AgentGroups, &String)| {
            let named = groups.show().into_iter().map(|group| Group { switch: name.clone(), ..group });
            named.collect::<Vec<_>>()
        };
        let groups = self.groups.iter().zip(&self.names).flat_map(of).collect();
        let pinned_apps = self.flows.iter().flat_map(|flows| flows.show(&name)).collect();
        let mut shown = ShowResponse { groups, pinned_apps, ..show::rack(&self.controller, &[]) };
        show::serving(&mut shown);
        shown
    }

    fn metrics(&mut self) -> Vec<Metric> {
        let RackCounters { received, sent, hops, nowhere, endless, .. } = self.counters;
        let mut own = vec![
            Metric::new("frames_received_total", received),
            Metric::new("frames_sent_total", sent),
            Metric::new("frames_held", self.gate.held()),
            Metric::new("hand_overs_total", hops),
            Metric::new("frames_lost_total", nowhere).with("place", "a helper's unlinked port"),
            Metric::new("frames_lost_total", self.gate.lost()).with("place", "the held rack"),
            Metric::new("frames_lost_total", endless).with("place", "a loop"),
        ];
        own.extend(self.flows.iter().flat_map(RackFlows::metrics));
        let agents = &mut self.agents;
        metric::rack(&self.controller, own, |device, name| {
            let Some(target) = agents.get_mut(device).and_then(Agent::target) else { return vec![] };
            let switch = target.view();
            let counters = switch.counters();
            let of = |metric, value| Metric::new(metric, value).with("device", name);
            let mut all = vec![
                of("device_frames_received_total", counters.received),
                of("device_frames_sent_total", counters.sent),
            ];
            all.extend(metric::drops(counters, Some(name)));
            all
        })
    }
}
