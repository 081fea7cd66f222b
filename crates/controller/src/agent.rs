//! The other side: what a controller asks, done by the P4Runtime server that steers one device.

use crate::ask::{Answer, Ask};
use base_time::Time;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    MasterArbitrationUpdate, ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest,
    StreamMessageResponse, Uint128, Update, WriteRequest, stream_message_request::Update as Asked,
    stream_message_response::Update as Told,
};
use p4runtime_server::{Builder, Output, Server, Status, StreamId};

/// The only stream, and the only election id.
const STREAM: StreamId = StreamId(0);
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };

/// A device beside its controller.
pub struct Agent<B: Builder> {
    server: Server<B>,
}

/// What the agent wants done.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// A frame that comes into the device by the CPU port.
    Inject(Vec<u8>),
    /// For the controller.
    Tell(StreamMessageResponse),
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
        Agent { server }
    }

    /// The device begins anew, without a program.
    pub fn restart(&mut self) {
        self.server.stop();
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
    pub fn ask(&mut self, ask: Ask) -> (Option<Answer>, Vec<Effect>) {
        let done = |ended| match ended {
            Ok(()) => Some(Answer::Done),
            Err(status) => Some(Answer::Refused(status)),
        };
        let answer = match ask {
            Ask::SetConfig(action, config) => {
                done(self.server.set_config(SetForwardingPipelineConfigRequest {
                    device_id: 1,
                    election_id: Some(ELECTION),
                    action: action as i32,
                    config: config.map(|config| *config),
                    ..SetForwardingPipelineConfigRequest::default()
                }))
            }
            Ask::Load(updates) => done(self.write(updates)),
            Ask::Write(updates) => {
                self.server.forget_saved();
                done(self.write(updates))
            }
            Ask::Read(entities) => {
                self.server.forget_saved();
                let request = ReadRequest { device_id: 1, entities, ..ReadRequest::default() };
                let mut found = vec![];
                match self.server.read(&request, &mut |response| found.extend(response.entities)) {
                    Ok(()) => Some(Answer::Found(found)),
                    Err(status) => Some(Answer::Refused(status)),
                }
            }
            Ask::PacketOut(packet) => return (None, self.say(Asked::Packet(packet))),
            Ask::DigestAck(ack) => return (None, self.say(Asked::DigestAck(ack))),
            // Whoever brings frames keeps them.
            Ask::Hold | Ask::Release => Some(Answer::Done),
            Ask::Ports | Ask::Trace(_) => {
                let why = "who has the device runs its frames";
                Some(Answer::Refused(Status::new(Code::Unimplemented, why)))
            }
        };
        (answer, vec![])
    }

    /// A frame has left the device by the CPU port.
    pub fn packet_in(&self, frame: &[u8]) -> Vec<Effect> {
        effects(self.server.packet_in(frame))
    }

    /// What is due by `now`: digests and idle entries.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        effects(self.server.tick(now))
    }

    fn write(&mut self, updates: Vec<Update>) -> Result<(), Status> {
        self.server.write(&WriteRequest {
            device_id: 1,
            election_id: Some(ELECTION),
            updates,
            atomicity: Atomicity::RollbackOnError as i32,
            ..WriteRequest::default()
        })
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
