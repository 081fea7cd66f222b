//! Brings a rack up: its programs and entries reach all devices before the rack's time begins.

use super::super::channel::Channel;
use super::super::driven::Driven;
use super::super::edges::Edges;
use super::super::groups::Groups;
use super::super::passed::Passed;
use super::super::pinned::PinnedApp;
use super::super::refused;
use super::super::replans::Replans;
use super::super::switches::Staged;
use super::Control;
use crate::functions;
use crate::rack::{Placed, Racked, SplitApp};
use base_diag::{Diagnostic, SourceMap, codes::emulate as codes};
use base_time::{Duration, Rng, Time};
use compiler::reparse;
use controller::{Agent, Call, Output, Reply, Timing};
use device::Options;
use device_control::{Known, Maker, Popular};
use flow_rules::FlowSwitch;
use p4runtime_proto::p4::v1::Update;
use rack_emulator::{Emulator, RackDevice, Spent};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Number of attempts to bring up a switch with devices that do not answer.
const TRIES: u32 = 20;

/// Work of bring-up, before the rack's time begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct BringUp {
    /// Duration, in picoseconds.
    pub took_ps: u64,
    /// Messages between controller and agents.
    pub messages: u64,
    /// Number of lost messages.
    pub lost: u64,
    /// Number of switches that the controllers see.
    pub switches: usize,
}

/// `brought up in 1.2ms as 1 switch, with 24 messages between controller and agents`
impl fmt::Display for BringUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BringUp { took_ps, messages, lost, switches } = *self;
        let several = if switches == 1 { "" } else { "es" };
        let took = rack_emulator::time_words(took_ps);
        write!(
            f,
            "brought up in {took} as {switches} switch{several}, with {messages} messages between controller and agents"
        )?;
        if lost > 0 { write!(f, ", of which {lost} were lost") } else { Ok(()) }
    }
}

impl Control {
    /// Brings a rack up in one of its stages: every device has its program and its entries, at time 0.
    pub(in crate::up) fn bring_up(
        racked: &Racked,
        stage: Option<usize>,
        timing: Timing,
    ) -> Result<(Control, Emulator, BringUp), Vec<Diagnostic>> {
        let rack = racked.rack.in_stage(stage);
        let timing = Timing { merge: rack.control.merge, ..timing };
        let staged = Staged { racked, stages: rack.stages_up_to(stage), timing };
        staged.check_replaces(&rack)?;
        staged.check_spares(&rack)?;
        staged.check_merged(&rack)?;
        let known = Known::sharing(&racked.codes);
        let seeds = Rng::new(rack.seed).split("devices");
        let spent: Vec<Spent> = rack.devices.iter().map(|_| Spent::default()).collect();
        let all = racked.externs();
        let maker = |index: usize| {
            let seed = seeds.split_index(index as u64).next_u64();
            let registry = functions::offered(&rack.devices[index], &spent[index], &all);
            Maker { known: known.clone(), ..Maker::new(seed, registry) }
        };
        let (mut engines, mut agents) = (vec![], vec![]);
        for at in 0..rack.devices.len() {
            // An agent runs one program.
            let placed = racked.parts_on(at).next();
            agents.push(placed.map(|_| Agent::new(maker(at))));
            engines.push(match placed {
                Some(Placed { part, text, .. }) if known.engine(text, &part.program, &all)?.compiled => {
                    "native"
                }
                Some(_) => "interp",
                None if racked.flow_rules(at).is_some() => "flow rules",
                None => "idle",
            });
        }
        let (mut domains, mut starts) = (vec![], vec![]);
        // The place of each app's first controller.
        let mut firsts = vec![];
        for (at, app) in racked.apps.iter().enumerate() {
            let switches = match staged.is_one(at) {
                true => vec![staged.one(app, maker(app.placement.origin().0 as usize))?],
                false => staged.apart(at)?,
            };
            firsts.push(domains.len());
            let (some, their_starts): (Vec<_>, Vec<_>) = switches.into_iter().unzip();
            domains.extend(some);
            starts.extend(their_starts);
        }
        let mut replaces = rack.replaces.clone();
        replaces.sort_by_key(|replace| replace.at);
        let pinned = PinnedApp::of(racked, &|app| firsts[app])?;
        let replans = Replans::of(racked, &pinned, &|app| firsts[app]);
        let mut control = Control {
            agents,
            domains,
            channel: Channel::new(&rack),
            began: Duration::ZERO,
            edges: Edges::new(racked),
            pinned,
            replans,
            groups: Groups::new(racked),
            replaces: replaces.into(),
            replacing: 0,
            replaced: 0,
            next: None,
            rack,
        };
        let took = control.start(starts)?;
        let bring_up = BringUp {
            took_ps: took.as_ps(),
            messages: control.channel.sent(),
            lost: control.channel.lost,
            switches: control.domains.len(),
        };
        let emulator = control.emulate(racked, &engines, spent)?;
        Ok((control, emulator, bring_up))
    }

    /// Runs the controllers until all programs and entries are installed. Returns the time that took.
    pub(super) fn start(&mut self, starts: Vec<Vec<Update>>) -> Result<Duration, Vec<Diagnostic>> {
        let mut now = Time::ZERO;
        let mut left = starts.len();
        let mut outputs: VecDeque<(usize, Output)> = VecDeque::new();
        for (domain, updates) in starts.iter().enumerate() {
            let call = Call::Start(Box::default(), updates.clone());
            outputs.extend(self.domains[domain].call(domain, now, call));
        }
        // Messages may be lost (`[control]`), so a start that times out is tried again.
        let mut tries = vec![1; starts.len()];
        loop {
            while let Some((domain, output)) = outputs.pop_front() {
                match output {
                    Output::Reply(_, Reply::Done(Err(status)))
                        if status.is_unavailable() && tries[domain] < TRIES =>
                    {
                        tries[domain] += 1;
                        let call = Call::Start(Box::default(), starts[domain].clone());
                        outputs.extend(self.domains[domain].call(domain, now, call));
                    }
                    Output::Reply(_, Reply::Done(Err(status))) => {
                        return Err(vec![
                            Diagnostic::error(codes::EMULATION, "the rack cannot be brought up")
                                .note(status.message)
                                .note(format!("the controller gave up after {}", now.since(Time::ZERO))),
                        ]);
                    }
                    Output::Reply(..) => left -= 1,
                    Output::Ask(device, id, ask) => self.ask(now, None, (domain, device, id, ask)),
                    Output::Send(..) | Output::End(..) => {}
                }
            }
            if left == 0 {
                break;
            }
            let deadlines = self.domains.iter().filter_map(|domain| domain.controller.deadline());
            let Some(next) = deadlines.chain(self.channel.next_time()).min() else {
                return Err(refused("the controller is idle"));
            };
            now = now.max(next);
            while let Some(message) = self.channel.arrive(now) {
                outputs.extend(
                    self.arrive(now, message, None).map_err(|violation| refused(&violation.to_string()))?,
                );
            }
            outputs.extend(self.tick(now));
        }
        self.began = now.since(Time::ZERO);
        self.next = self.find_next();
        Ok(self.began)
    }

    /// The emulator; its devices run the agents' switches.
    pub(super) fn emulate(
        &mut self,
        racked: &Racked,
        engines: &[&str],
        spent: Vec<Spent>,
    ) -> Result<Emulator, Vec<Diagnostic>> {
        let nothing = reparse("nothing.p4", NOTHING, &mut SourceMap::new())?;
        let mut devices = vec![];
        let devices_of_rack = self.rack.devices.iter().zip(&mut self.agents).zip(engines).zip(spent);
        for (at, (((device, agent), engine), spent)) in devices_of_rack.enumerate() {
            let other = ir_interp::switch(Arc::clone(&nothing), Options::default())?;
            let driven: Box<dyn dataplane_api::Device> = match (agent, racked.flow_rules(at)) {
                (Some(agent), _) => {
                    let is_origin =
                        |app: &SplitApp| app.placement.origins().any(|origin| origin.0 as usize == at);
                    let id = rack_model::DeviceId(at as u32);
                    let mut driven = Driven::new(agent, other, racked.apps.iter().any(is_origin))
                        .with_groups(self.groups.front(id), self.groups.meters(id))
                        .watch(popular(&self.pinned, at), passed(&self.pinned, at));
                    driven.running().into_iter().for_each(|switch| self.groups.refill(id, switch));
                    Box::new(driven)
                }
                // The printed rules are the ones that run.
                (None, Some(rules)) => {
                    Box::new(FlowSwitch::new(flow_rules::read(&rules).map_err(|why| refused(&why))?))
                }
                (None, None) => Box::new(crate::idle::Idle::default()),
            };
            let (name, engine) = (device.name.value.clone(), engine.to_string());
            devices.push(RackDevice { name, engine, device: driven, spent });
        }
        let captures = racked.captures.clone();
        Emulator::with_captures(&self.rack, devices, captures).map_err(|error| refused(&error.0))
    }
}

/// The counts of the apps whose switch this device is.
fn popular(pinned: &[PinnedApp], device: usize) -> Vec<Popular> {
    let moving = pinned.iter().filter_map(|app| app.moving.as_ref());
    moving.filter_map(|moving| moving.popular_at(device).cloned()).collect()
}

/// The counts of the apps that share this device as their switch.
fn passed(pinned: &[PinnedApp], device: usize) -> Vec<Passed> {
    pinned.iter().filter_map(|app| app.passed_at(device).cloned()).collect()
}

/// A program that does nothing, for unused switches.
const NOTHING: &str = "\
#include <core.p4>
#include <v1model.p4>
struct none {}
parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) { state start { transition accept; } }
control C(inout none h, inout none m) { apply { } }
control G(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in none h) { apply { } }
V1Switch(P(), C(), G(), G(), C(), D()) main;
";
