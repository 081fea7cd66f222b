//! Messages between controllers and agents, and the work of an agent for one.

use super::super::channel::Direction;
use super::super::domain::Domain;
use super::super::driven::Driven;
use super::Control;
use base_time::Time;
use controller::{Agent, Answer, Ask, AskId, DeviceId, Effect, Output, PortCount};
use device_control::{Maker, write_group};
use ir_split::GroupEntry;
use rack_emulator::{Emulator, Violation};
use server_groups::wire::Flow;
use server_groups::{Member, Report};
use std::any::Any;
use std::collections::BTreeSet;

/// A message on its path.
#[derive(Clone)]
pub(super) enum Message {
    Ask {
        domain: usize,
        device: DeviceId,
        id: Option<AskId>,
        ask: Ask,
    },
    Push {
        domain: usize,
        device: DeviceId,
        frame: Vec<u8>,
    },
    Answer {
        domain: usize,
        id: AskId,
        answer: Answer,
    },
    BeganAnew {
        domain: usize,
        device: DeviceId,
    },
    /// A server of a group reports.
    Group {
        group: usize,
        from: Member,
        report: Report<Flow>,
    },
}

impl Control {
    pub(super) fn ask(
        &mut self,
        now: Time,
        emulator: Option<&Emulator>,
        (domain, device, id, ask): (usize, DeviceId, Option<AskId>, Ask),
    ) {
        let to = self.domains[domain].devices[device.0];
        self.send(now, emulator, (to, Direction::ToAgent), Message::Ask { domain, device, id, ask });
    }

    pub(super) fn send(
        &mut self,
        now: Time,
        emulator: Option<&Emulator>,
        (device, direction): (usize, Direction),
        message: Message,
    ) {
        let is_down = emulator.is_some_and(|emulator| emulator.is_down(rack_model::DeviceId(device as u32)));
        let active = emulator.into_iter().flat_map(Emulator::active_faults);
        let faults = active.filter_map(|at| self.rack.faults.get(at)).map(|fault| &fault.kind);
        let is_merge = matches!(&message, Message::Push { .. } | Message::Ask { ask: Ask::Merge(_), .. });
        self.channel.send(now, device, direction, is_down, faults, (message, !is_merge));
    }

    /// The agent of a server sends a report to the controller of its group.
    pub(in crate::up) fn send_report(
        &mut self,
        emulator: &Emulator,
        device: rack_model::DeviceId,
        (group, from, report): (usize, Member, Report<Flow>),
    ) {
        let now = emulator.now() + self.began;
        let to = (device.0 as usize, Direction::ToController);
        self.send(now, Some(emulator), to, Message::Group { group, from, report });
    }

    /// Writes entries of a group to a switch, if it has its program.
    pub(in crate::up) fn write_switch(
        &mut self,
        emulator: &mut Emulator,
        device: rack_model::DeviceId,
        entries: &[GroupEntry],
    ) -> Result<(), Violation> {
        self.with_agent(device.0 as usize, Some(emulator), |agent| {
            let Some(target) = agent.target() else { return };
            let written = write_group(&mut target.switch(), entries);
            debug_assert!(written.is_ok(), "its program has the tables: {written:?}");
        })?;
        Ok(())
    }

    /// A message arrives.
    pub(super) fn arrive(
        &mut self,
        now: Time,
        message: Message,
        emulator: Option<&mut Emulator>,
    ) -> Result<Vec<(usize, Output)>, Violation> {
        let (domain, outputs) = match message {
            Message::Answer { domain, id, answer } => {
                (domain, self.domains[domain].controller.answer(now, id, answer))
            }
            Message::Push { domain, device, frame } => {
                (domain, self.domains[domain].controller.pushed(now, device, &frame))
            }
            Message::BeganAnew { domain, device } => {
                (domain, self.domains[domain].controller.restarted(now, device))
            }
            Message::Group { group, from, report } => {
                // The controller's time begins with the bring-up, that of groups when the rack is up.
                let now = now.max(Time::ZERO + self.began) - self.began;
                self.groups.report(group, from, report, now);
                return Ok(vec![]);
            }
            Message::Ask { domain, device, id, ask } => {
                let mut emulator = emulator;
                let answer = self.work(now, (domain, device), ask, emulator.as_deref_mut())?;
                if let (Some(id), Some(answer)) = (id, answer) {
                    let from = self.domains[domain].devices[device.0];
                    let message = Message::Answer { domain, id, answer };
                    self.send(now, emulator.as_deref(), (from, Direction::ToController), message);
                }
                return Ok(vec![]);
            }
        };
        Ok(outputs.into_iter().map(|output| (domain, output)).collect())
    }

    /// An agent carries out a request.
    pub(super) fn work(
        &mut self,
        now: Time,
        (domain, device): (usize, DeviceId),
        ask: Ask,
        emulator: Option<&mut Emulator>,
    ) -> Result<Option<Answer>, Violation> {
        let Domain { devices, wires, .. } = &self.domains[domain];
        let at = devices[device.0];
        let id = rack_model::DeviceId(at as u32);
        match (ask, emulator) {
            (Ask::Ports, Some(emulator)) => {
                let passed = emulator.passed(id).into_iter();
                let count = |passed: rack_emulator::Passed| PortCount {
                    received: passed.received,
                    sent: passed.sent,
                };
                Ok(Some(Answer::Ports(passed.map(|(port, passed)| (port, count(passed))).collect())))
            }
            (ask, mut emulator) => {
                // Ports that lead to other devices.
                let internal = wires.keys().filter(|(from, _)| *from == device.0).map(|(_, port)| *port);
                let internal: BTreeSet<u32> = internal.collect();
                let done = self.with_agent(at, emulator.as_deref_mut(), |agent| {
                    agent.targets().for_each(|target| target.at(now));
                    agent.ask(now, ask)
                })?;
                let Some((answer, effects)) = done else { return Ok(None) };
                for effect in &effects {
                    if let Effect::Push(frame) = effect {
                        let message = Message::Push { domain, device, frame: frame.clone() };
                        self.send(now, emulator.as_deref(), (at, Direction::ToController), message);
                    }
                }
                let Some(emulator) = emulator else { return Ok(answer) };
                for effect in effects {
                    match effect {
                        Effect::KeepOut => emulator.hold(id, internal.clone()),
                        Effect::LetIn => emulator.release(id)?,
                        Effect::Push(_) => {}
                        // Nobody listens.
                        Effect::Inject(_) | Effect::Stream(_) => {}
                    }
                }
                Ok(answer)
            }
        }
    }

    /// Lets the agent of a device work on the device's switch.
    pub(super) fn with_agent<R>(
        &mut self,
        device: usize,
        emulator: Option<&mut Emulator>,
        work: impl FnOnce(&mut Agent<Maker>) -> R,
    ) -> Result<Option<R>, Violation> {
        let Some(agent) = &mut self.agents[device] else { return Ok(None) };
        let Some(emulator) = emulator else { return Ok(Some(work(agent))) };
        let mut result = None;
        let (id, groups) = (rack_model::DeviceId(device as u32), &self.groups);
        emulator.steer(id, |device| {
            let Some(driven) = (device as &mut dyn Any).downcast_mut::<Driven>() else { return false };
            let (done, is_another) = driven.run_agent(agent, work);
            result = Some(done);
            if let Some(switch) = driven.running().filter(|_| is_another) {
                groups.refill(id, switch);
            }
            is_another
        })?;
        Ok(result)
    }
}
