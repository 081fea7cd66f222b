//! The server: permissions, and the streams.

use crate::arbitration::{Arbitration, StreamId};
use crate::batch::Batch;
use crate::config::Prepared;
use crate::configured::Configured;
use crate::digests::Digests;
use crate::reading::Reading;
use crate::roles::names_role;
use crate::status::Status;
use crate::target::{Builder, Target};
use base_time::Time;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, DigestList, DigestListAck, DigestListAckError, Entity, IdleTimeoutNotification,
    PacketIn, PacketOut, PacketOutError, StreamError, StreamMessageRequest, StreamMessageResponse,
    StreamOtherError, Uint128, entity, stream_error, stream_message_request as asked,
    stream_message_response as response,
};
use p4runtime_proto::p4rack::v1::Client;
use p4runtime_store::Store;

/// Effects of the server for its owner to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// A message for a controller. It is lost if it cannot be delivered; nothing waits for the delivery.
    Send(StreamId, StreamMessageResponse),
    /// The end of a controller's stream.
    End(StreamId, Status),
    /// A frame that enters the device on the CPU port.
    Inject(Vec<u8>),
}

/// One device, served to many controllers.
///
/// Deterministic and without I/O: requests, streams, frames and time come in as arguments, [`Output`]s go out.
pub struct Server<B: Builder> {
    pub(crate) builder: B,
    device: u64,
    /// Unix time of time 0, in nanoseconds.
    epoch_ns: i64,
    pub(crate) arbitration: Arbitration,
    pub(crate) running: Option<Configured<B::Target>>,
    /// The program that is saved and not committed: reads and writes use it, packets do not.
    pub(crate) saved: Option<Configured<B::Target>>,
    pub(crate) digests: Digests,
    pub(crate) configs: u64,
    /// The write that runs in slices.
    pub(crate) writing: Option<Batch<'static>>,
    /// The read that runs in slices.
    pub(crate) reading: Option<Reading>,
    /// A program that replaces the running one as soon as it has its entries.
    pub(crate) replacing: Option<Prepared<B>>,
    /// True if changes are noted.
    pub(crate) is_noted: bool,
    /// True if the program was replaced since the last [`noted`](Server::noted).
    pub(crate) is_anew: bool,
}

impl<B: Builder> Server<B> {
    /// A server without a program. `device` is the device id; `epoch_ns` the Unix time of time 0, in nanoseconds.
    pub fn new(builder: B, device: u64, epoch_ns: i64) -> Server<B> {
        Server {
            builder,
            device,
            epoch_ns,
            arbitration: Arbitration::default(),
            running: None,
            saved: None,
            digests: Digests::default(),
            configs: 0,
            writing: None,
            reading: None,
            replacing: None,
            is_noted: false,
            is_anew: false,
        }
    }

    /// The device that processes packets; `None` without a program.
    pub fn target(&mut self) -> Option<&mut B::Target> {
        self.running.as_mut().map(|running| &mut running.target)
    }

    /// The device that packets go through, with what the control plane has written.
    pub fn running(&mut self) -> Option<(&Store, &mut B::Target)> {
        self.running.as_mut().map(|running| (&running.store, &mut running.target))
    }

    /// The devices that updates may go to: the one that packets go through, one that waits for the commit, and one that is about to take the
    /// place of the first.
    pub fn targets(&mut self) -> impl Iterator<Item = &mut B::Target> {
        let configured = self.running.iter_mut().chain(&mut self.saved);
        let all = configured.chain(self.replacing.iter_mut().map(|prepared| &mut prepared.new));
        all.map(|configured| &mut configured.target)
    }

    /// Device id.
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Number of programs that controllers have committed.
    pub fn configs(&self) -> u64 {
        self.configs
    }

    /// Checks the device id; 0 is accepted, because many clients leave it out.
    pub(crate) fn check_device(&self, id: u64) -> Result<(), Status> {
        match id {
            0 => Ok(()),
            id if id == self.device => Ok(()),
            id => {
                Err(Status::new(Code::NotFound, format!("there is no device {id}: this is {}", self.device)))
            }
        }
    }

    /// The RPC `Capabilities`.
    pub fn capabilities(&self) -> CapabilitiesResponse {
        CapabilitiesResponse { p4runtime_api_version: "1.5.0".to_string(), ..CapabilitiesResponse::default() }
    }

    /// Handles a message on a controller's stream.
    pub fn message(&mut self, stream: StreamId, request: &StreamMessageRequest) -> Vec<Output> {
        match &request.update {
            Some(asked::Update::Arbitration(update)) => {
                let (device, store) = (self.device, self.running.as_ref().map(|running| &running.store));
                let named = |role: &str| store.is_some_and(|store| names_role(store.catalog().info(), role));
                let known = self.check_device(update.device_id);
                let done = known.and_then(|()| self.arbitration.update(stream, device, update, named));
                match done {
                    Ok(done) => {
                        let why = Status::new(
                            Code::ResourceExhausted,
                            "the stream was ended to make room for other controllers",
                        );
                        let ended = done.ended.into_iter().map(|stream| Output::End(stream, why.clone()));
                        ended
                            .chain(done.notices.into_iter().map(|(to, what)| Output::Send(to, what)))
                            .collect()
                    }
                    Err(status) => {
                        let mut out = self.close(stream);
                        out.push(Output::End(stream, status));
                        out
                    }
                }
            }
            Some(asked::Update::Packet(packet)) => vec![match self.packet_out(stream, packet) {
                Ok(frame) => Output::Inject(frame),
                Err(status) => {
                    let error = PacketOutError { packet_out: Some(packet.clone()) };
                    refused(stream, &status, stream_error::Details::PacketOut(error))
                }
            }],
            Some(asked::Update::DigestAck(ack)) => match self.digest_ack(stream, ack) {
                Ok(()) => vec![],
                Err(status) => {
                    let error = DigestListAckError { digest_list_ack: Some(*ack) };
                    vec![refused(stream, &status, stream_error::Details::DigestListAck(error))]
                }
            },
            Some(asked::Update::Other(other)) => {
                let status = Status::new(Code::Unimplemented, "messages of other kinds are not supported");
                let error = StreamOtherError { other: Some(other.clone()) };
                vec![refused(stream, &status, stream_error::Details::Other(error))]
            }
            None => {
                let status = Status::new(Code::InvalidArgument, "the message is empty");
                let error = StreamOtherError { other: None };
                vec![refused(stream, &status, stream_error::Details::Other(error))]
            }
        }
    }

    /// Handles the end of a controller's stream.
    pub fn close(&mut self, stream: StreamId) -> Vec<Output> {
        let notices = self.arbitration.close(stream, self.device);
        notices.into_iter().map(|(to, what)| Output::Send(to, what)).collect()
    }

    /// Ends the streams with these numbers, or all streams if the list is empty, for an operator.
    pub fn end_clients(&mut self, streams: &[StreamId]) -> Vec<Output> {
        let (ended, notices) = self.arbitration.end(streams, self.device);
        let why = || Status::new(Code::Aborted, "an operator has ended this stream");
        let ends = ended.into_iter().map(|stream| Output::End(stream, why()));
        ends.chain(notices.into_iter().map(|(to, what)| Output::Send(to, what))).collect()
    }

    /// Streams of controllers that have sent an arbitration update.
    pub fn clients(&self) -> Vec<Client> {
        let client = |(stream, role, election, is_primary): (StreamId, &str, Option<u128>, bool)| Client {
            stream: stream.0,
            role: role.to_string(),
            election_id: election.map(Uint128::from),
            is_primary,
        };
        self.arbitration.clients().map(client).collect()
    }

    fn primary(&self, stream: StreamId) -> Result<(), Status> {
        match (self.arbitration.is_primary(stream), self.arbitration.role_of(stream)) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(Status::new(Code::PermissionDenied, "this controller is a backup")),
            (false, None) => Err(Status::new(Code::PermissionDenied, "send an arbitration update first")),
        }
    }

    fn packet_out(&self, stream: StreamId, packet: &PacketOut) -> Result<Vec<u8>, Status> {
        self.primary(stream)?;
        let running = self.running.as_ref().ok_or_else(no_program)?;
        let frame = running.plain_packet(packet).and_then(|packet| running.packet_io.frame(&packet));
        frame.map_err(|fault| Status::new(fault.code, fault.to_string()))
    }

    /// Converts an accepted packet of a controller to numbers.
    pub fn plain_packet(&self, packet: &PacketOut) -> Option<PacketOut> {
        self.running.as_ref()?.plain_packet(packet).ok()
    }

    fn digest_ack(&mut self, stream: StreamId, ack: &DigestListAck) -> Result<(), Status> {
        self.primary(stream)?;
        let running = self.running.as_ref().ok_or_else(no_program)?;
        let known = running.store.catalog().digest(ack.digest_id);
        known.map_err(|fault| Status::new(Code::InvalidArgument, fault.to_string()))?;
        self.digests.acknowledge(ack);
        Ok(())
    }

    /// Handles a frame that has left the device on the CPU port.
    pub fn packet_in(&self, frame: &[u8]) -> Vec<Output> {
        let Some(running) = &self.running else { return vec![] };
        self.packet(running.packet_io.message(frame))
    }

    /// Sends a packet, with numbers for strings, to the primary controllers.
    pub fn packet(&self, mut packet: PacketIn) -> Vec<Output> {
        if let Some(running) = &self.running {
            running.names.raise_packet(&mut packet.metadata);
        }
        self.to_primaries(&response::Update::Packet(packet))
    }

    /// Does everything due by `now`: digests and idle entries.
    pub fn tick(&mut self, now: Time) -> Vec<Output> {
        let Some(running) = &mut self.running else { return vec![] };
        let Configured { store, target, names, .. } = running;
        let catalog = store.catalog();
        let mut lists: Vec<DigestList> = vec![];
        for (digest, data) in target.take_digests(catalog) {
            if let Some(config) = store.digest(digest) {
                lists.extend(self.digests.push(digest, data, config, now));
            }
        }
        let config = |digest: u32| store.digest(digest).copied();
        lists.extend(self.digests.due(config, now));
        for list in &mut lists {
            list.data.iter_mut().for_each(|data| names.raise_digest(list.digest_id, data));
        }
        let idle = target.take_idle(catalog, now);
        let table_entry: Vec<_> = idle
            .into_iter()
            .filter_map(|(table, key)| {
                // The entry may have been deleted since the data plane noticed it.
                let entry = store.entry(table, &key)?;
                let entry = store.plain_entry(catalog.table(table).ok()?, &key, entry);
                let mut entity = Entity { entity: Some(entity::Entity::TableEntry(entry)) };
                names.raise(&mut entity);
                match entity.entity {
                    Some(entity::Entity::TableEntry(entry)) => Some(entry),
                    _ => None,
                }
            })
            .collect();
        let timestamp = self.epoch_ns.saturating_add(i64::try_from(now.as_ns()).unwrap_or(i64::MAX));
        let mut out = vec![];
        for list in lists {
            out.extend(self.to_primaries(&response::Update::Digest(DigestList { timestamp, ..list })));
        }
        if !table_entry.is_empty() {
            let notification = IdleTimeoutNotification { table_entry, timestamp };
            out.extend(self.to_primaries(&response::Update::IdleTimeoutNotification(notification)));
        }
        out
    }

    /// Time of the next work for [`tick`](Server::tick), from the present state; digests and hits may come at any time.
    pub fn deadline(&self) -> Option<Time> {
        let running = self.running.as_ref()?;
        self.digests.deadline(|digest| running.store.digest(digest).copied())
    }

    fn to_primaries(&self, what: &response::Update) -> Vec<Output> {
        let message = || StreamMessageResponse { update: Some(what.clone()) };
        self.arbitration.primaries().map(|(_, stream)| Output::Send(stream, message())).collect()
    }
}

pub(crate) fn no_program() -> Status {
    Status::new(Code::FailedPrecondition, "there is no program yet: set a forwarding pipeline config first")
}

fn refused(stream: StreamId, status: &Status, details: stream_error::Details) -> Output {
    let error = StreamError {
        canonical_code: status.code as i32,
        message: status.message.clone(),
        details: Some(details),
        ..StreamError::default()
    };
    Output::Send(stream, StreamMessageResponse { update: Some(response::Update::Error(error)) })
}
