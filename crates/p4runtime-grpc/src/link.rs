//! The link from a rack's controller to an agent in another process: P4Runtime, as its primary controller, and p4rack's
//! own service for the rest.
//!
//! Requests are sent one after the other; short writes that wait go in one request ([`asks`](crate::asks)). If an answer does
//! not arrive, the outcome is unknown: the connection is closed, and the next one uses a higher election id, so that requests
//! still in flight are refused. A controller that was started later has higher ids too: it takes over. When no controller is
//! the agent's primary any more, a waiting controller connects with an id above the highest that the agent has seen.

use crate::asks::{Asks, Numbered, Writes, answers};
use crate::command::{Command, Front};
use crate::generated::p4_runtime_client::P4RuntimeClient;
use crate::generated_rack::rack_client::RackClient;
use crate::secret::{Badge, Secret};
use crate::serve::{MOST_BYTES, ServeError, chain};
use crate::tls::{ClientTls, endpoint, failure};
use crate::trailers::{details, message};
use controller::{Answer, Ask, AskId, DeviceId, Heard, Holdings, Kinds, PortCount, everything_held};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128, Update,
    WriteRequest, stream_message_request::Update as Asked, stream_message_response::Update as ResponseUpdate,
};
use p4runtime_proto::p4rack::v1::steer_request::{ExtendHold, ForgetSaved, Hold, Release, What};
use p4runtime_proto::p4rack::v1::{
    MergeRequest, SampleRequest, SampleResponse, ShowRequest, ShowResponse, SteerRequest,
};
use p4runtime_server::Status;
use std::collections::BTreeMap;
use std::error::Error;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};

/// Maximum number of asks that wait for an agent.
const WAITING: usize = 1024;

/// Time after which a connection attempt is given up.
const PATIENCE: Duration = Duration::from_secs(4);

/// Time after which an agent that works on a request is given up; controllers wait a little longer. Whether the agent is alive is
/// known much sooner, because it answers pings during its work.
const LONGEST: Duration = Duration::from_secs(60);

/// Maximum size of an agent's headers and trailers, in bytes.
const MOST_HEADERS: u32 = 16 << 20;

/// Interval of pings, and the time limit for the answer.
const PING: Duration = Duration::from_secs(1);
const PONG: Duration = Duration::from_secs(2);

/// Time between attempts to reach an agent, and between reads of its counters.
const PAUSE: Duration = Duration::from_millis(500);

/// The controller's end.
pub struct Link(mpsc::Sender<Numbered>);

/// The agent's end.
pub struct LinkEnd {
    asks: Asks,
    place: Place,
    endpoint: Endpoint,
}

/// A link that leads nowhere before [`LinkEnd::run`]. Certificates that cannot be read are an error.
pub fn link(place: Place, tls: Option<&ClientTls>) -> Result<(Link, LinkEnd), ServeError> {
    let (asks, asked) = mpsc::channel(WAITING);
    let endpoint = endpoint(&place.address, tls)?;
    let endpoint =
        endpoint.http2_keep_alive_interval(PING).keep_alive_timeout(PONG).keep_alive_while_idle(true);
    // An agent's errors for the updates of a batch are in headers.
    let endpoint = endpoint.http2_max_header_list_size(MOST_HEADERS);
    Ok((Link(asks), LinkEnd { asks: Asks::new(asked), place, endpoint }))
}

impl Link {
    /// Sends an ask. False if too many are waiting or the link has ended: then nothing is sent.
    pub fn ask(&self, id: Option<AskId>, ask: Ask) -> bool {
        self.0.try_send((id, ask)).is_ok()
    }
}

/// Address of an agent, and identity of its controller.
#[derive(Clone)]
pub struct Place {
    /// Device of the agent.
    pub device: DeviceId,
    /// `host:port`
    pub address: String,
    /// The ports that lead to other devices.
    pub inner_ports: Vec<u32>,
    /// The first election id: a time, and the term of a leader above it.
    pub election: u128,
    /// Secret shared with the agent.
    pub secret: Option<Secret>,
}

/// Why a connection has ended, or was not opened.
#[derive(Clone, PartialEq, Eq)]
enum Shut {
    /// The connection failed, with the reason.
    Broken(String),
    /// Another controller had the higher election id `highest`; `is_free` if it is no longer connected.
    Superseded { highest: u128, is_free: bool },
}

impl Shut {
    fn broken(why: impl Into<String>) -> Shut {
        Shut::Broken(why.into())
    }

    fn late() -> Shut {
        Shut::broken("the agent did not answer in time")
    }

    fn why(&self) -> &str {
        match self {
            Shut::Broken(why) => why,
            Shut::Superseded { .. } => "a controller that was started later controls it",
        }
    }
}

/// The future of [`LinkEnd::run`], boxed so that the client is compiled in this crate.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl LinkEnd {
    /// Keeps a connection to the agent, and passes its messages to `front`, until the controller's end is gone.
    pub fn run(self, front: Front) -> Running {
        Box::pin(self.keep_connected(front))
    }

    async fn keep_connected(self, front: Front) {
        let LinkEnd { mut asks, mut place, endpoint } = self;
        let mut last: Option<Shut> = None;
        loop {
            place.election = place.election.saturating_add(1);
            let opened = {
                let opening = Connection::open(&place, &endpoint);
                tokio::pin!(opening);
                loop {
                    tokio::select! {
                        opened = &mut opening => break opened,
                        ask = asks.next() => match ask {
                            Some((id, _)) => refuse(&front, &place, id, last.as_ref()).await,
                            None => return,
                        },
                    }
                }
            };
            let why = match opened {
                Ok(connection) => {
                    last = None;
                    front.heard(place.device, Heard::Here).await;
                    match connection.serve(&mut asks, &place, &front).await {
                        Some(why) => why,
                        None => return,
                    }
                }
                Err(why) => why,
            };
            if let Shut::Superseded { highest, is_free: true } = &why
                && may_follow(place.election, *highest)
            {
                // The next attempt uses a higher id.
                place.election = place.election.max(*highest);
            }
            if last.as_ref().map(Shut::why) != Some(why.why()) {
                let heard = match &why {
                    Shut::Broken(why) => Heard::Gone(why.clone()),
                    Shut::Superseded { .. } => Heard::Superseded,
                };
                front.heard(place.device, heard).await;
                last = Some(why);
            }
            let pause = tokio::time::sleep(PAUSE);
            tokio::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    ask = asks.next() => match ask {
                        Some((id, _)) => refuse(&front, &place, id, last.as_ref()).await,
                        None => return,
                    },
                }
            }
        }
    }
}

/// True if a controller may take over from one with the id `highest` that is gone. Ids of leaders have a term above their lower half, and a leader
/// does not follow a later one.
fn may_follow(own: u128, highest: u128) -> bool {
    own >> 64 == 0 || highest >> 64 <= own >> 64
}

/// The link has ended.
async fn refuse(front: &Front, place: &Place, id: Option<AskId>, why: Option<&Shut>) {
    if let Some(id) = id {
        let why = why.map_or("not connected yet", Shut::why);
        let why = format!("no agent at {}: {why}", place.address);
        let answer = Answer::Refused(Status::new(Code::Unavailable, why));
        front.heard(place.device, Heard::Answer(id, answer)).await;
    }
}

struct Connection {
    p4runtime: P4RuntimeClient<InterceptedService<Channel, Badge>>,
    rack: RackClient<InterceptedService<Channel, Badge>>,
    say: mpsc::Sender<StreamMessageRequest>,
    responses: Streaming<StreamMessageResponse>,
    election: Uint128,
    /// True if the device has a program that waits for the commit.
    saved: bool,
}

impl Connection {
    async fn open(place: &Place, endpoint: &Endpoint) -> Result<Connection, Shut> {
        let opening = Connection::try_open(place, endpoint);
        tokio::time::timeout(PATIENCE, opening)
            .await
            .map_err(|_| Shut::broken("the agent does not answer"))?
    }

    async fn try_open(place: &Place, endpoint: &Endpoint) -> Result<Connection, Shut> {
        let broken = |error: tonic::Status| Shut::Broken(failure(&error));
        let channel = endpoint.connect().await.map_err(|error| Shut::Broken(chain(&error)))?;
        let badge = Badge::of_controller(place.secret.clone());
        let mut p4runtime = P4RuntimeClient::with_interceptor(channel.clone(), badge.clone())
            .max_decoding_message_size(MOST_BYTES)
            .max_encoding_message_size(MOST_BYTES);
        let election = Uint128::from(place.election);
        let (say, said) = mpsc::channel(WAITING);
        let hello = MasterArbitrationUpdate { election_id: Some(election), ..Default::default() };
        let said_nothing = |_| Shut::broken("it ended");
        say.send(StreamMessageRequest { update: Some(Asked::Arbitration(hello)) })
            .await
            .map_err(said_nothing)?;
        let responses = p4runtime.stream_channel(ReceiverStream::new(said)).await;
        let mut responses = responses.map_err(broken)?.into_inner();
        let answer = responses.message().await.map_err(broken)?;
        let Some(answer) = answer else { return Err(Shut::broken("the agent closed the connection")) };
        if let Some(shut) = superseded(&answer) {
            return Err(shut);
        }
        let rack = RackClient::with_interceptor(channel, badge)
            .max_decoding_message_size(MOST_BYTES)
            .max_encoding_message_size(MOST_BYTES);
        // An earlier controller may have left a saved program, to which writes would go.
        let mut connection = Connection { p4runtime, rack, say, responses, election, saved: true };
        match connection.forget_saved().await {
            Ok(()) => Ok(connection),
            Err(answer) => Err(Shut::Broken(format!("the agent refused control: {answer:?}"))),
        }
    }

    /// Passes asks and answers until the connection ends. Returns the reason, or `None` if the controller is gone.
    async fn serve(mut self, asks: &mut Asks, place: &Place, front: &Front) -> Option<Shut> {
        let mut look = tokio::time::interval(PAUSE);
        loop {
            tokio::select! {
                ask = asks.next() => {
                    let (id, ask) = match ask? {
                        // It has no answer that is waited for.
                        (_, Ask::Merge(frame)) => {
                            let Ok(said) = tokio::time::timeout(LONGEST, self.merge(frame)).await else {
                                return Some(Shut::late());
                            };
                            if let Some(said) = said {
                                front.heard(place.device, Heard::Pushed(said)).await;
                            }
                            continue;
                        }
                        (_, Ask::Sample { every, uncounted }) => {
                            let asked = self.sample(every, uncounted);
                            let Ok(sampled) = tokio::time::timeout(LONGEST, asked).await else {
                                return Some(Shut::late());
                            };
                            if let Some(sampled) = sampled {
                                front.heard(place.device, Heard::Sampled(sampled)).await;
                            }
                            continue;
                        }
                        (id, Ask::Write(updates)) => {
                            let mut is_lost = false;
                            for (id, answer) in self.write_each(asks.with_others((id, updates))).await {
                                is_lost |= answer == Answer::Lost;
                                if let Some(id) = id {
                                    front.heard(place.device, Heard::Answer(id, answer)).await;
                                }
                            }
                            if is_lost {
                                return Some(Shut::late());
                            }
                            continue;
                        }
                        ask => ask,
                    };
                    let commits = matches!(ask, Ask::Commit(_));
                    let answer = match tokio::time::timeout(LONGEST, self.ask(ask, place)).await {
                        Ok(answer) => answer,
                        Err(_) => Some(Answer::Lost),
                    };
                    // A new program may have groups of servers: they are known before it is said to run.
                    if commits && let Some(shut) = self.look(front, place).await {
                        return Some(shut);
                    }
                    let is_lost = answer == Some(Answer::Lost);
                    if let (Some(id), Some(answer)) = (id, answer) {
                        front.heard(place.device, Heard::Answer(id, answer)).await;
                    }
                    if is_lost {
                        return Some(Shut::late());
                    }
                }
                response = self.responses.message() => match response {
                    Ok(Some(message)) if matches!(message.update, Some(ResponseUpdate::Arbitration(_))) => {
                        if let Some(shut) = superseded(&message) {
                            return Some(shut);
                        }
                    }
                    Ok(Some(message)) => front.heard(place.device, Heard::Stream(message)).await,
                    Ok(None) => return Some(Shut::broken("the agent closed the connection")),
                    Err(error) => return Some(Shut::Broken(failure(&error))),
                },
                _ = look.tick() => {
                    if let Some(shut) = self.look(front, place).await {
                        return Some(shut);
                    }
                }
            }
        }
    }

    /// Passes on what the agent shows of its device: counters and groups of servers.
    async fn look(&mut self, front: &Front, place: &Place) -> Option<Shut> {
        match tokio::time::timeout(LONGEST, self.rack.show(ShowRequest {})).await {
            Ok(Ok(shown)) => {
                let ShowResponse { metrics, groups, .. } = shown.into_inner();
                front.heard(place.device, Heard::Counted(metrics)).await;
                front.heard(place.device, Heard::Groups(groups)).await;
                None
            }
            // The agent is overloaded.
            Ok(Err(error)) if error.source().is_none() => None,
            Ok(Err(error)) => Some(Shut::Broken(chain(&error))),
            Err(_) => Some(Shut::broken("the agent does not answer")),
        }
    }

    async fn ask(&mut self, ask: Ask, place: &Place) -> Option<Answer> {
        let done = match ask {
            Ask::Save(config) => self.set_config(Action::VerifyAndSave, Some(config)).await,
            Ask::Load(updates) => self.write(updates, Atomicity::RollbackOnError).await,
            Ask::Commit(updates) => {
                let written = match updates.is_empty() {
                    true => Ok(()),
                    false => self.write(updates, Atomicity::RollbackOnError).await,
                };
                match written {
                    Ok(()) => self.set_config(Action::Commit, None).await,
                    refused => refused,
                }
            }
            Ask::Read(entities) => return Some(self.read(entities).await.unwrap_or_else(|error| error)),
            Ask::Holdings(kinds) => return Some(self.holdings(kinds).await.unwrap_or_else(|error| error)),
            Ask::Write(_) | Ask::Merge(_) | Ask::Sample { .. } => return None,
            Ask::PacketOut(packet) => return self.send_update(Asked::Packet(packet)).await,
            Ask::DigestAck(ack) => return self.send_update(Asked::DigestAck(ack)).await,
            Ask::Hold(lease) => {
                let lease_ns = lease.map_or(0, base_time::Duration::as_ns);
                self.steer(What::Hold(Hold { open_ports: place.inner_ports.clone(), lease_ns })).await
            }
            Ask::ExtendHold(lease) => {
                self.steer(What::ExtendHold(ExtendHold { lease_ns: lease.as_ns() })).await
            }
            Ask::Release => self.steer(What::Release(Release {})).await,
            Ask::ChangeGroup(change) => self.steer(What::ChangeGroup(change)).await,
            Ask::Ports => {
                let shown = self.rack.show(ShowRequest {}).await.map_err(|error| refusal(&error));
                let counts = |shown: tonic::Response<ShowResponse>| ports(&shown.into_inner());
                return Some(shown.map_or_else(|answer| answer, |shown| Answer::Ports(counts(shown))));
            }
            Ask::Trace(request) => {
                let traced = self.rack.trace(request).await.map_err(|error| refusal(&error));
                return Some(match traced.map(|traced| traced.into_inner().hops.into_iter().next()) {
                    Ok(Some(hop)) => Answer::Traced(Box::new(hop)),
                    Ok(None) => Answer::Refused(Status::new(Code::Internal, "the trace request is empty")),
                    Err(answer) => answer,
                });
            }
        };
        Some(done.map_or_else(|answer| answer, |()| Answer::Done))
    }

    /// The agent's answer to a message of the merge. If the agent refuses it, or the connection breaks, the next round makes up for it.
    async fn merge(&mut self, frame: Vec<u8>) -> Option<Vec<u8>> {
        let request = MergeRequest { election_id: Some(self.election), frame };
        let said = self.rack.merge(request).await.ok()?.into_inner().frame;
        (!said.is_empty()).then_some(said)
    }

    /// Frames that have come in at the agent. If it refuses, or the connection breaks, the next request makes up for it.
    async fn sample(&mut self, every: u64, uncounted_ports: Vec<u32>) -> Option<SampleResponse> {
        let request = SampleRequest { election_id: Some(self.election), every, uncounted_ports };
        Some(self.rack.sample(request).await.ok()?.into_inner())
    }

    async fn set_config(
        &mut self,
        action: Action,
        config: Option<Box<ForwardingPipelineConfig>>,
    ) -> Result<(), Answer> {
        self.saved = action != Action::Commit;
        let request = SetForwardingPipelineConfigRequest {
            election_id: Some(self.election),
            action: action as i32,
            config: config.map(|config| *config),
            ..Default::default()
        };
        let done = self.p4runtime.set_forwarding_pipeline_config(request).await;
        done.map(drop).map_err(|error| refusal(&error))
    }

    /// Carries out writes, short ones in one message. If the agent refuses the message as a whole, for instance because it is too
    /// large, each write is sent alone. Once one is lost, so are those after it.
    async fn write_each(&mut self, writes: Writes) -> Vec<(Option<AskId>, Answer)> {
        let (ids, writes): (Vec<_>, Vec<_>) = writes.into_iter().unzip();
        if writes.len() > 1 {
            let together = self.write_in_time(writes.concat(), Atomicity::ContinueOnError).await;
            if let Some(answers) = answers(together, writes.len()) {
                return ids.into_iter().zip(answers).collect();
            }
        }
        let mut answered = vec![];
        for (id, updates) in ids.into_iter().zip(writes) {
            let answer = match answered.last() {
                Some((_, Answer::Lost)) => Answer::Lost,
                _ => self.write_in_time(updates, Atomicity::RollbackOnError).await,
            };
            answered.push((id, answer));
        }
        answered
    }

    async fn write_in_time(&mut self, updates: Vec<Update>, atomicity: Atomicity) -> Answer {
        match tokio::time::timeout(LONGEST, self.write_running(updates, atomicity)).await {
            Ok(written) => written.map_or_else(|answer| answer, |()| Answer::Done),
            Err(_) => Answer::Lost,
        }
    }

    /// Writes to the running program.
    async fn write_running(&mut self, updates: Vec<Update>, atomicity: Atomicity) -> Result<(), Answer> {
        self.forget_saved().await?;
        self.write(updates, atomicity).await
    }

    async fn write(&mut self, updates: Vec<Update>, atomicity: Atomicity) -> Result<(), Answer> {
        let request = WriteRequest {
            election_id: Some(self.election),
            updates,
            atomicity: atomicity as i32,
            ..Default::default()
        };
        self.p4runtime.write(request).await.map(drop).map_err(|error| refusal(&error))
    }

    async fn read(&mut self, entities: Vec<p4runtime_proto::p4::v1::Entity>) -> Result<Answer, Answer> {
        let lost = |error: tonic::Status| refusal(&error);
        let request = ReadRequest { entities, ..Default::default() };
        let mut answers = self.rack.read_running(request).await.map_err(lost)?.into_inner();
        let mut found = vec![];
        while let Some(answer) = answers.message().await.map_err(lost)? {
            found.extend(answer.entities);
        }
        Ok(Answer::Found(found))
    }

    async fn holdings(&mut self, kinds: Kinds) -> Result<Answer, Answer> {
        let request = GetForwardingPipelineConfigRequest::default();
        let found = self.p4runtime.get_forwarding_pipeline_config(request).await;
        let config = found.map_err(|error| refusal(&error))?.into_inner().config;
        let entities = match config.as_ref().map(|_| everything_held(kinds)) {
            None => vec![],
            Some(queries) => match self.read(queries).await? {
                Answer::Found(entities) => entities,
                other => return Ok(other),
            },
        };
        Ok(Answer::Holds(Box::new(Holdings { config, entities })))
    }

    /// Drops a program that was saved and not committed, so that writes go to the running one.
    async fn forget_saved(&mut self) -> Result<(), Answer> {
        if self.saved {
            self.steer(What::ForgetSaved(ForgetSaved {})).await?;
            self.saved = false;
        }
        Ok(())
    }

    async fn steer(&mut self, what: What) -> Result<(), Answer> {
        let request = SteerRequest { election_id: Some(self.election), what: Some(what) };
        self.rack.steer(request).await.map(drop).map_err(|error| refusal(&error))
    }

    async fn send_update(&mut self, what: Asked) -> Option<Answer> {
        // If the stream has ended, the message is lost, as a frame would be.
        let _ = self.say.send(StreamMessageRequest { update: Some(what) }).await;
        None
    }
}

/// Port counters of a device.
fn ports(shown: &ShowResponse) -> BTreeMap<u32, PortCount> {
    let mut ports: BTreeMap<u32, PortCount> = BTreeMap::new();
    for metric in &shown.metrics {
        let Some(Ok(port)) = metric.labels.get("port").map(|port| port.parse()) else { continue };
        let count = ports.entry(port).or_default();
        match metric.name.as_str() {
            "port_frames_received_total" => count.received = metric.value,
            "port_frames_sent_total" => count.sent = metric.value,
            _ => {}
        }
    }
    ports
}

/// Reason to stop, from an arbitration update for a controller that is not the primary.
fn superseded(message: &StreamMessageResponse) -> Option<Shut> {
    let Some(ResponseUpdate::Arbitration(update)) = &message.update else {
        return Some(Shut::broken("the agent did not name its primary"));
    };
    let code = update.status.as_ref().map_or(0, |status| status.code);
    let highest = u128::from(update.election_id.unwrap_or_default());
    let is_free = code == Code::NotFound as i32;
    (code != Code::Ok as i32).then_some(Shut::Superseded { highest, is_free })
}

/// Answer for an error of a call: after a transport error the outcome is unknown.
fn refusal(error: &tonic::Status) -> Answer {
    if error.source().is_some() {
        return Answer::Lost;
    }
    let code = Code::try_from(error.code() as i32).unwrap_or(Code::Unknown);
    Answer::Refused(Status { code, message: message(error), details: details(error) })
}

impl Front {
    /// Passes on a message of an agent; waits for room.
    async fn heard(&self, device: DeviceId, heard: Heard) {
        self.enqueue(None, Command::Agent(device, Box::new(heard))).await;
    }
}
