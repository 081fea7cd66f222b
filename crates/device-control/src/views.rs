//! The apps of a rack as devices of their own, beside the rack as one device: requests, messages and answers pass through [`AppView`]s.
//!
//! ```text
//! controllers of device 1 ───────────────────────────┐
//! controllers of device 2 ─> view of `firewall` ─> the rack as one switch
//! controllers of device 3 ─> view of `nat` ──────┘
//! ```
//!
//! **Invariant**: a controller of an app neither reads nor writes anything of another app.

use super::app_view::AppView;
use super::{Answers, Event, Metric, Served};
use base_time::{Duration, Time};
use controller::{Call, DeviceId, Heard, Reply, Ticket};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, Entity, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse,
    ReadRequest, Role, SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse,
    TableEntry, Uint128, WriteRequest, stream_error::Details, stream_message_request::Update as Said,
    stream_message_response::Update,
};
use p4runtime_proto::p4rack::v1::ShowResponse;
use p4runtime_server::{Ahead, Pieces, Status, StreamId};
use state_journal::Batch;
use std::collections::BTreeMap;
use target_native::Shared;

/// Tickets of calls that nobody made begin here. Those of moves of flows are higher, those of clients lower.
const FIRST_TICKET: u64 = 1 << 61;

/// A switch with views of its apps.
pub struct Views {
    pub(super) inner: Box<dyn Served>,
    /// Id of the whole.
    pub(super) device: u64,
    pub(super) views: Vec<AppView>,
    /// The view of each stream that has one.
    streams: BTreeMap<StreamId, usize>,
    calls: BTreeMap<Ticket, Made>,
    tickets: u64,
}

/// A call that was made for a view's controller.
pub(super) enum Made {
    /// A write of so many updates.
    Write(usize),
    Read(usize),
    /// The entries of an app are read, to be removed since its program is pushed again; and the call that waits for it.
    Find(usize, Ticket),
    Remove(Ticket),
}

impl Views {
    /// `device` is the id of the whole switch.
    pub fn new(inner: Box<dyn Served>, device: u64, views: Vec<AppView>) -> Views {
        Views {
            inner,
            device,
            views,
            streams: BTreeMap::new(),
            calls: BTreeMap::new(),
            tickets: FIRST_TICKET,
        }
    }

    fn view(&self, device: u64) -> Option<usize> {
        self.views.iter().position(|view| view.device == device)
    }

    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Makes a call of a view's controller on the whole; its reply comes back through [`Made`].
    pub(super) fn make(&mut self, now: Time, ticket: Ticket, made: Made, call: Call) -> Vec<Event> {
        self.calls.insert(ticket, made);
        self.inner.call(now, ticket, call)
    }

    fn write(
        &mut self,
        now: Time,
        ticket: Ticket,
        at: usize,
        mut request: Box<WriteRequest>,
        call: fn(Box<WriteRequest>) -> Call,
    ) -> Vec<Event> {
        let count = request.updates.len();
        if let Err(status) = self.views[at].lower_updates(&mut request.updates) {
            return vec![Event::Reply(ticket, Reply::Done(Err(status)))];
        }
        (request.role, request.device_id) = (self.views[at].role(&request.role), self.device);
        self.make(now, ticket, Made::Write(count), call(request))
    }

    fn read(
        &mut self,
        now: Time,
        ticket: Ticket,
        at: usize,
        mut request: ReadRequest,
        call: fn(ReadRequest) -> Call,
    ) -> Vec<Event> {
        let view = &self.views[at];
        if let Err(status) = view.lower_queries(&mut request.entities) {
            return vec![Event::Reply(ticket, Reply::Found(Pieces::new(), Err(status)))];
        }
        (request.role, request.device_id) = (view.role(&request.role), self.device);
        self.make(now, ticket, Made::Read(at), call(request))
    }

    /// Translates what the whole says.
    fn events(&mut self, now: Time, events: Vec<Event>) -> Vec<Event> {
        let mut out = vec![];
        for event in events {
            match event {
                Event::Reply(ticket, reply) => match self.calls.remove(&ticket) {
                    Some(made) => out.extend(self.replied(now, ticket, made, reply)),
                    None => out.push(Event::Reply(ticket, reply)),
                },
                Event::Send(stream, message) => {
                    let message = match self.streams.get(&stream) {
                        Some(at) => self.for_view(*at, message),
                        None => Some(message),
                    };
                    out.extend(message.map(|message| Event::Send(stream, message)));
                }
                Event::End(stream, status) => {
                    self.streams.remove(&stream);
                    out.push(Event::End(stream, status));
                }
                other => out.push(other),
            }
        }
        out
    }

    fn replied(&mut self, now: Time, ticket: Ticket, made: Made, reply: Reply) -> Vec<Event> {
        let reply = match (made, reply) {
            (Made::Write(count), Reply::Done(Err(mut status))) => {
                // The rack's request had further updates than the app's, whose controller knows nothing of them.
                status.details.truncate(count);
                Reply::Done(Err(status))
            }
            (Made::Read(at), Reply::Found(found, status)) => {
                let mut own = Pieces::new();
                let all = self.views[at].raise_found(found.entities());
                let fits = all.iter().all(|entity| own.push(entity));
                let large = || Err(Status::new(Code::ResourceExhausted, "the answer is too large"));
                Reply::Found(own, if fits { status } else { large() })
            }
            (Made::Find(at, to), Reply::Found(found, Ok(()))) => {
                let events = self.remove(now, at, to, &found);
                return self.events(now, events);
            }
            (Made::Find(_, to), Reply::Found(_, Err(status))) => {
                return vec![Event::Reply(to, Reply::Done(Err(status)))];
            }
            (Made::Remove(to), reply) => return vec![Event::Reply(to, reply)],
            (_, reply) => reply,
        };
        vec![Event::Reply(ticket, reply)]
    }

    /// A message of the whole as a view's controller gets it; none if it is about another app.
    fn for_view(&self, at: usize, mut message: StreamMessageResponse) -> Option<StreamMessageResponse> {
        let view = &self.views[at];
        match message.update.as_mut()? {
            Update::Arbitration(update) => {
                let role = update.role.take().map(|role| view.own_role(&role.name).to_string());
                let role = role.filter(|role| !role.is_empty());
                update.role = role.map(|name| Role { name, ..Role::default() });
                update.device_id = view.device;
            }
            Update::Packet(packet) => {
                let has_other = self.views.iter().any(|other| other.has_sent(packet));
                if !view.has_sent(packet) && has_other {
                    return None;
                }
            }
            Update::Digest(list) => list.digest_id = view.raise_id(list.digest_id)?,
            Update::IdleTimeoutNotification(idle) => {
                let own = |entry: &mut TableEntry| {
                    let mut entity = Entity { entity: Some(Kind::TableEntry(entry.clone())) };
                    let is_own = view.raise(&mut entity);
                    if let Some(Kind::TableEntry(raised)) = entity.entity {
                        *entry = raised;
                    }
                    is_own
                };
                idle.table_entry.retain_mut(own);
                if idle.table_entry.is_empty() {
                    return None;
                }
            }
            Update::Error(error) => {
                if let Some(Details::DigestListAck(ack)) = &mut error.details
                    && let Some(ack) = &mut ack.digest_list_ack
                {
                    ack.digest_id = view.raise_id(ack.digest_id).unwrap_or(ack.digest_id);
                }
            }
            Update::Other(_) => {}
        }
        Some(message)
    }

    /// A message of a view's controller for the whole.
    fn said(&mut self, stream: StreamId, message: &StreamMessageRequest) -> StreamMessageRequest {
        let mut message = message.clone();
        let known = self.streams.get(&stream).copied();
        match &mut message.update {
            Some(Said::Arbitration(update)) => {
                if let Some(at) = self.view(update.device_id) {
                    let name = update.role.as_ref().map_or("", |role| role.name.as_str());
                    let name = self.views[at].role(name);
                    update.role = Some(Role { name, ..update.role.take().unwrap_or_default() });
                    update.device_id = self.device;
                    self.streams.entry(stream).or_insert(at);
                }
            }
            Some(Said::DigestAck(ack)) => {
                if let Some(at) = known {
                    ack.digest_id = self.views[at].lower_id(ack.digest_id);
                }
            }
            Some(Said::Packet(_) | Said::Other(_)) | None => {}
        }
        message
    }
}

impl Answers for Views {
    fn may_write(&self, head: &WriteRequest) -> Result<(), Status> {
        let Some(at) = self.view(head.device_id) else { return self.inner.answers().may_write(head) };
        let (role, device_id) = (self.views[at].role(&head.role), self.device);
        let head = WriteRequest { device_id, role, election_id: head.election_id, ..WriteRequest::default() };
        self.inner.answers().may_write(&head)
    }

    fn may_sample(&self, election: Option<&Uint128>) -> Result<(), Status> {
        self.inner.answers().may_sample(election)
    }

    fn may_set_config(&self, head: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        match self.view(head.device_id) {
            Some(at) => self.inner.answers().may_set_config(&self.config_head(at, head)),
            None => self.inner.answers().may_set_config(head),
        }
    }

    fn ahead(&self, call: &Call) -> Option<Ahead> {
        match call {
            Call::SetConfig(request) if self.view(request.device_id).is_some() => None,
            call => self.inner.answers().ahead(call),
        }
    }

    fn get_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        let Some(at) = self.view(request.device_id) else { return self.inner.answers().get_config(request) };
        let mut config = self.views[at].config.clone();
        let (has_info, has_program) = match request.response_type() {
            ResponseType::All => (true, true),
            ResponseType::CookieOnly => (false, false),
            ResponseType::P4infoAndCookie => (true, false),
            ResponseType::DeviceConfigAndCookie => (false, true),
        };
        config.p4info = config.p4info.filter(|_| has_info);
        if !has_program {
            config.p4_device_config.clear();
        }
        Ok(GetForwardingPipelineConfigResponse { config: Some(config) })
    }

    fn capabilities(&self) -> CapabilitiesResponse {
        self.inner.answers().capabilities()
    }
}

impl Served for Views {
    fn answers(&self) -> &dyn Answers {
        self
    }

    fn keep_notes(&mut self) {
        self.inner.keep_notes();
    }

    fn noted(&mut self) -> Batch {
        self.inner.noted()
    }

    fn kept(&mut self, now: Time, batches: u64) -> Vec<Event> {
        let events = self.inner.kept(now, batches);
        self.events(now, events)
    }

    fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event> {
        let device = match &call {
            Call::Write(request) | Call::Operate(request) => request.device_id,
            Call::Read(request) | Call::ReadRunning(request) => request.device_id,
            Call::SetConfig(request) => request.device_id,
            _ => self.device,
        };
        let events = match (self.view(device), call) {
            (Some(at), Call::Write(request)) => self.write(now, ticket, at, request, Call::Write),
            (Some(at), Call::Operate(request)) => self.write(now, ticket, at, request, Call::Operate),
            (Some(at), Call::Read(request)) => self.read(now, ticket, at, request, Call::Read),
            (Some(at), Call::ReadRunning(request)) => self.read(now, ticket, at, request, Call::ReadRunning),
            (Some(at), Call::SetConfig(request)) => self.set_config(now, ticket, at, &request),
            (_, call) => self.inner.call(now, ticket, call),
        };
        self.events(now, events)
    }

    fn message(&mut self, now: Time, stream: StreamId, message: &StreamMessageRequest) -> Vec<Event> {
        let message = self.said(stream, message);
        let events = self.inner.message(now, stream, &message);
        self.events(now, events)
    }

    fn close(&mut self, now: Time, stream: StreamId) -> Vec<Event> {
        let events = self.inner.close(now, stream);
        self.streams.remove(&stream);
        self.events(now, events)
    }

    fn frame(&mut self, now: Time, port: u32, frame: &[u8]) -> Vec<Event> {
        let events = self.inner.frame(now, port, frame);
        self.events(now, events)
    }

    fn frame_after(&mut self, now: Time, waited: Duration, port: u32, frame: &[u8]) -> Vec<Event> {
        let events = self.inner.frame_after(now, waited, port, frame);
        self.events(now, events)
    }

    fn packet_in(&mut self, now: Time, frame: &[u8]) -> Vec<Event> {
        let events = self.inner.packet_in(now, frame);
        self.events(now, events)
    }

    fn link(&mut self, port: u32, is_up: bool) {
        self.inner.link(port, is_up);
    }

    fn may_have(&mut self, port: u32) -> Result<(), Status> {
        self.inner.may_have(port)
    }

    fn shared(&mut self) -> Option<Shared> {
        self.inner.shared()
    }

    fn tick(&mut self, now: Time) -> Vec<Event> {
        let events = self.inner.tick(now);
        self.events(now, events)
    }

    fn deadline(&mut self) -> Option<Time> {
        self.inner.deadline()
    }

    fn take_work(&mut self) -> Option<Ahead> {
        self.inner.take_work()
    }

    fn take_reported(&mut self) -> Vec<String> {
        self.inner.take_reported()
    }

    fn is_busy(&self) -> bool {
        self.inner.is_busy()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn wants_rest(&self) -> bool {
        self.inner.wants_rest()
    }

    fn makes_way(&mut self, call: &Call) -> bool {
        self.inner.makes_way(call)
    }

    fn go_on(&mut self, now: Time) -> Vec<Event> {
        let events = self.inner.go_on(now);
        self.events(now, events)
    }

    fn show(&self) -> ShowResponse {
        self.inner.show()
    }

    fn heard(&mut self, now: Time, device: DeviceId, heard: Heard) -> Vec<Event> {
        let events = self.inner.heard(now, device, heard);
        self.events(now, events)
    }

    fn failed(&self) -> Option<Status> {
        self.inner.failed()
    }

    fn metrics(&mut self) -> Vec<Metric> {
        self.inner.metrics()
    }
}
