//! The other side: what a controller asks, done by the P4Runtime server that steers one device.

use crate::ask::{Answer, Ask, Holdings};
use crate::holdings::everything_held;
use crate::lease::Held;
use base_time::Time;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate,
    ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128,
    Update, WriteRequest, stream_message_request::Update as Asked, stream_message_response::Update as Told,
};
use p4runtime_server::{Builder, Output, Pieces, Server, Status, StreamId};

/// The only stream, and the only election id.
const STREAM: StreamId = StreamId(0);
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };

/// A device beside its controller.
pub struct Agent<B: Builder> {
    server: Server<B>,
    held: Held,
    /// What is saved is committed when the write that is being done has ended well.
    commits: bool,
}

/// What the agent wants done.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// A frame that comes into the device by the CPU port.
    Inject(Vec<u8>),
    /// For the controller.
    Tell(StreamMessageResponse),
    /// Frames wait outside from now on.
    KeepOut,
    /// Those that wait come in, and others again.
    LetIn,
}

impl<B: Builder> Agent<B> {
    /// Beside a device that runs nothing.
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
        Agent { server, held: Held::No, commits: false }
    }

    /// The device begins anew, without a program; nothing waits outside.
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

    /// Does what is asked; the answer, if there is one.
    pub fn ask(&mut self, now: Time, ask: Ask) -> (Option<Answer>, Vec<Effect>) {
        let (mut answer, effects) = self.begin(now, ask);
        while answer.is_none() && self.is_busy() {
            answer = self.go_on();
        }
        (answer, effects)
    }

    /// True while a write is done in slices, between which frames may pass.
    pub fn is_busy(&self) -> bool {
        self.server.is_writing()
    }

    /// Does the next slice; the answer, if it was the last.
    pub fn go_on(&mut self) -> Option<Answer> {
        let ended = self.server.go_on()?;
        let ended = ended.and_then(|()| self.commit());
        Some(ended.map_or_else(Answer::Refused, |()| Answer::Done))
    }

    /// The same as [`ask`](Agent::ask), but that a long write has only begun: the agent is busy then.
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
                self.server.forget_saved();
                match self.write(updates, false) {
                    Some(done) => done,
                    None => return (None, effects),
                }
            }
            Ask::Read(entities) => return (Some(self.read(entities)), effects),
            Ask::Holdings => return (Some(self.holdings()), effects),
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
            Ask::Stay(lease) => self.held.stay(now, lease),
            Ask::Release => {
                self.held = Held::No;
                effects.push(Effect::LetIn);
                Ok(())
            }
            Ask::Ports | Ask::Trace(_) => {
                Err(Status::new(Code::Unimplemented, "who has the device runs its frames"))
            }
        };
        (Some(done.map_or_else(Answer::Refused, |()| Answer::Done)), effects)
    }

    /// What there is in the program that runs.
    pub fn read(&self, entities: Vec<Entity>) -> Answer {
        let request = ReadRequest { device_id: 1, entities, ..ReadRequest::default() };
        let mut found = Pieces::new();
        match self.server.read_running(&request, &mut found) {
            Ok(()) => Answer::Found(found.entities().collect()),
            Err(status) => Answer::Refused(status),
        }
    }

    /// What runs, and all that is written to it.
    fn holdings(&self) -> Answer {
        let config = match self.server.get_config(&GetForwardingPipelineConfigRequest::default()) {
            Ok(found) => found.config,
            Err(status) => return Answer::Refused(status),
        };
        let entities = match config.as_ref().map(|_| self.read(everything_held())) {
            None => vec![],
            Some(Answer::Found(entities)) => entities,
            Some(other) => return other,
        };
        Answer::Holds(Box::new(Holdings { config, entities }))
    }

    /// Lets frames in that have waited for as long as they should: then what is saved is not committed any more.
    pub fn let_in(&mut self, now: Time) -> Option<Effect> {
        self.held.runs_out(now).then(|| {
            self.server.spoil_saved();
            Effect::LetIn
        })
    }

    /// When [`let_in`](Agent::let_in) has something to do.
    pub fn deadline(&self) -> Option<Time> {
        self.held.deadline()
    }

    /// A frame has left the device by the CPU port.
    pub fn packet_in(&self, frame: &[u8]) -> Vec<Effect> {
        effects(self.server.packet_in(frame))
    }

    /// What is due by `now`: frames that have waited, digests, and idle entries.
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

    /// Nothing comes back if it is long, and has only begun.
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

    /// Runs what is saved, if that is to be.
    fn commit(&mut self) -> Result<(), Status> {
        if std::mem::take(&mut self.commits) { self.set_config(Action::Commit, None) } else { Ok(()) }
    }

    fn say(&mut self, what: Asked) -> Vec<Effect> {
        effects(self.server.message(STREAM, &StreamMessageRequest { update: Some(what) }))
    }
}

fn effects(outputs: Vec<Output>) -> Vec<Effect> {
    let effect = |output| match output {
        Output::Inject(frame) => Some(Effect::Inject(frame)),
        // Who is primary is known.
        Output::Send(_, StreamMessageResponse { update: Some(Told::Arbitration(_)) }) | Output::End(..) => {
            None
        }
        Output::Send(_, message) => Some(Effect::Tell(message)),
    };
    outputs.into_iter().filter_map(effect).collect()
}
