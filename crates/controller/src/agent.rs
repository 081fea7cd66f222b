//! The agent: the controller's requests, carried out by the P4Runtime server of one device.

use crate::ask::{Answer, Ask, Holdings, Kinds};
use crate::copies::Copies;
use crate::holdings::everything_held;
use crate::lease::Held;
use base_time::{Duration, Time};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128, Update,
    WriteRequest, stream_message_request::Update as Asked, stream_message_response::Update as ResponseUpdate,
};
use p4runtime_server::{Builder, Output, Read, Server, Status, StreamId};
use std::collections::BTreeMap;

/// The only stream, and the only election id.
const STREAM: StreamId = StreamId(0);
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };

/// The agent of a device.
pub struct Agent<B: Builder> {
    server: Server<B>,
    held: Held,
    /// True if the saved program is committed when the current write has succeeded.
    commits: bool,
    /// The program with the entities that are being read.
    holds: Option<ForwardingPipelineConfig>,
    /// Copies of merged registers, which other devices have, too.
    copies: Copies,
}

/// Effects of the agent for its owner to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// A frame that enters the device on the CPU port.
    Inject(Vec<u8>),
    /// For the controller.
    Stream(StreamMessageResponse),
    /// For the controller's merge, which may get it late, twice or never.
    Push(Vec<u8>),
    /// Frames wait outside from now on.
    KeepOut,
    /// Admit the held frames, then new ones.
    LetIn,
}

impl<B: Builder> Agent<B> {
    /// An agent of a device that runs no program.
    pub fn new(builder: B) -> Agent<B> {
        let mut server = Server::new(builder, 1, 0);
        let hello = MasterArbitrationUpdate {
            device_id: 1,
            election_id: Some(ELECTION),
            ..MasterArbitrationUpdate::default()
        };
        let hello = StreamMessageRequest { update: Some(Asked::Arbitration(hello)) };
        // The only controller is the primary.
        server.message(STREAM, &hello);
        Agent { server, held: Held::No, commits: false, holds: None, copies: Copies::default() }
    }

    /// The device restarts without a program, and admits frames.
    pub fn restart(&mut self) {
        self.server.stop();
        self.commits = false;
        self.held = Held::No;
    }

    /// The device, if it runs a program.
    pub fn target(&mut self) -> Option<&mut B::Target> {
        self.server.target()
    }

    /// The devices that updates may go to: that one, and one that waits for the commit.
    pub fn targets(&mut self) -> impl Iterator<Item = &mut B::Target> {
        self.server.targets()
    }

    /// The device's own counts in an object with copies elsewhere, by cell.
    pub fn counted(&mut self, object: u32) -> BTreeMap<u64, u128> {
        let program = self.server.configs();
        let running = self.server.running();
        running.map(|running| self.copies.counted(program, object, running)).unwrap_or_default()
    }

    /// The number under which the program counts in objects with copies elsewhere; 0 as long as no controller has asked.
    pub fn incarnation(&self) -> u64 {
        self.copies.incarnation(self.server.configs())
    }

    /// Carries out a request; returns its answer, if there is one.
    pub fn ask(&mut self, now: Time, ask: Ask) -> (Option<Answer>, Vec<Effect>) {
        let (mut answer, effects) = self.begin(now, ask);
        while answer.is_none() && self.is_busy() {
            answer = self.go_on();
        }
        (answer, effects)
    }

    /// True while a long request runs in slices, between which frames may pass.
    pub fn is_busy(&self) -> bool {
        self.server.is_writing() || self.server.is_reading()
    }

    /// True if a short write can run between the slices of a read; the read then reads the entities first that the write changes.
    pub fn makes_way(&mut self, updates: &[Update]) -> bool {
        !self.server.is_writing() && self.server.make_way_inside(updates)
    }

    /// Executes the next slice; returns the answer after the last one.
    pub fn go_on(&mut self) -> Option<Answer> {
        if let Some(read) = self.server.go_on_reading() {
            return Some(self.found(read));
        }
        let ended = self.server.go_on()?;
        let ended = ended.and_then(|()| self.commit());
        Some(ended.map_or_else(Answer::Refused, |()| Answer::Done))
    }

    /// [`ask`](Agent::ask), but a long write only begins: the agent is then busy.
    pub fn begin(&mut self, now: Time, ask: Ask) -> (Option<Answer>, Vec<Effect>) {
        let mut effects: Vec<Effect> = self.let_in(now).into_iter().collect();
        let done = match ask {
            Ask::Save(config) => self.set_config(Action::VerifyAndSave, Some(*config)),
            Ask::Load(updates) => match self.write(updates, false) {
                Some(done) => done,
                None => return (None, effects),
            },
            Ask::Commit(updates) => match self.write(updates, true) {
                Some(done) => done,
                None => return (None, effects),
            },
            Ask::Write(updates) => {
                // While a program is saved, writes go to it and not to the running one (P4Runtime 1.5, section 7).
                self.server.forget_saved();
                match self.write(updates, false) {
                    Some(done) => done,
                    None => return (None, effects),
                }
            }
            Ask::Read(entities) => return (self.begin_read(entities, None), effects),
            Ask::Holdings(kinds) => return (self.holdings(kinds), effects),
            Ask::Merge(frame) => {
                let program = self.server.configs();
                let running = self.server.running();
                let now_us = now.since(Time::ZERO).as_ps() / Duration::from_us(1).as_ps();
                let push = running.and_then(|running| self.copies.hear(now_us, program, running, &frame));
                effects.extend(push.map(Effect::Push));
                return (None, effects);
            }
            // The owner of the device has its frames.
            Ask::Sample { .. } => return (None, effects),
            Ask::PacketOut(packet) => {
                effects.extend(self.say(Asked::Packet(packet)));
                return (None, effects);
            }
            Ask::DigestAck(ack) => {
                effects.extend(self.say(Asked::DigestAck(ack)));
                return (None, effects);
            }
            Ask::Hold(lease) => {
                self.held = Held::from(now, lease);
                effects.push(Effect::KeepOut);
                Ok(())
            }
            Ask::ExtendHold(lease) => self.held.extend(now, lease),
            Ask::Release => {
                self.held = Held::No;
                effects.push(Effect::LetIn);
                Ok(())
            }
            Ask::Ports | Ask::Trace(_) | Ask::ChangeGroup(_) => {
                Err(Status::new(Code::Unimplemented, "the owner of the device handles its frames"))
            }
        };
        (Some(done.map_or_else(Answer::Refused, |()| Answer::Done)), effects)
    }

    /// Reads entities of the running program.
    pub fn read(&self, entities: Vec<Entity>) -> Answer {
        let request = ReadRequest { device_id: 1, entities, ..ReadRequest::default() };
        answer(self.server.read_running(request), None)
    }

    /// Begins a read in slices; `None` if it is not finished. With a config, the answer has all entities of the program.
    fn begin_read(
        &mut self,
        entities: Vec<Entity>,
        config: Option<ForwardingPipelineConfig>,
    ) -> Option<Answer> {
        let request = ReadRequest { device_id: 1, entities, ..ReadRequest::default() };
        self.holds = config;
        let read = self.server.begin_read_running(request)?;
        Some(self.found(read))
    }

    fn found(&mut self, read: Read) -> Answer {
        answer(read, self.holds.take())
    }

    /// The running program and its entities.
    fn holdings(&mut self, kinds: Kinds) -> Option<Answer> {
        match self.server.get_config(&GetForwardingPipelineConfigRequest::default()) {
            Ok(GetForwardingPipelineConfigResponse { config: Some(config) }) => {
                self.begin_read(everything_held(kinds), Some(config))
            }
            Ok(GetForwardingPipelineConfigResponse { config: None }) => Some(Answer::Holds(Box::default())),
            Err(status) => Some(Answer::Refused(status)),
        }
    }

    /// Admits held frames when their lease is over; the saved program is not committed any more then.
    pub fn let_in(&mut self, now: Time) -> Option<Effect> {
        self.held.runs_out(now).then(|| {
            self.server.spoil_saved();
            Effect::LetIn
        })
    }

    /// Time at which [`let_in`](Agent::let_in) must be called.
    pub fn deadline(&self) -> Option<Time> {
        self.held.deadline()
    }

    /// Handles a frame that has left the device on the CPU port.
    pub fn packet_in(&self, frame: &[u8]) -> Vec<Effect> {
        effects(self.server.packet_in(frame))
    }

    /// Does everything due by `now`: held frames, digests, and idle entries.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        let let_in = self.let_in(now);
        let_in.into_iter().chain(effects(self.server.tick(now))).collect()
    }

    fn set_config(&mut self, action: Action, config: Option<ForwardingPipelineConfig>) -> Result<(), Status> {
        self.server.set_config(SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(ELECTION),
            action: action as i32,
            config,
            ..SetForwardingPipelineConfigRequest::default()
        })
    }

    /// Begins a write; `None` if it is long and not finished.
    fn write(&mut self, updates: Vec<Update>, commits: bool) -> Option<Result<(), Status>> {
        self.commits = commits;
        let written = match updates.is_empty() && commits {
            true => Ok(()),
            false => self.server.begin_write(WriteRequest {
                device_id: 1,
                election_id: Some(ELECTION),
                updates,
                atomicity: Atomicity::RollbackOnError as i32,
                ..WriteRequest::default()
            })?,
        };
        Some(written.and_then(|()| self.commit()))
    }

    /// Commits the saved program, if that is requested.
    fn commit(&mut self) -> Result<(), Status> {
        if std::mem::take(&mut self.commits) { self.set_config(Action::Commit, None) } else { Ok(()) }
    }

    fn say(&mut self, what: Asked) -> Vec<Effect> {
        effects(self.server.message(STREAM, &StreamMessageRequest { update: Some(what) }))
    }
}

/// Answer with the result of a read; if the read was for all entities of a program, with that program.
fn answer((found, ended): Read, of: Option<ForwardingPipelineConfig>) -> Answer {
    if let Err(status) = ended {
        return Answer::Refused(status);
    }
    let entities = found.entities().collect();
    match of {
        Some(config) => Answer::Holds(Box::new(Holdings { config: Some(config), entities })),
        None => Answer::Found(entities),
    }
}

fn effects(outputs: Vec<Output>) -> Vec<Effect> {
    let effect = |output| match output {
        Output::Inject(frame) => Some(Effect::Inject(frame)),
        // The only controller is always the primary.
        Output::Send(_, StreamMessageResponse { update: Some(ResponseUpdate::Arbitration(_)) })
        | Output::End(..) => None,
        Output::Send(_, message) => Some(Effect::Stream(message)),
    };
    outputs.into_iter().filter_map(effect).collect()
}
