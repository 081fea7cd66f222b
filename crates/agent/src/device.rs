//! The thread that owns the switch: commands in, one after the other.

use crate::ports::Ports;
use base_time::{Duration, Time};
use controller::{Call, Reply, Ticket};
use p4rack::control::{Event, Metric, Served, exposition};
use p4runtime_grpc::{Command, Front, Incoming, Status, Streams};
use p4runtime_proto::p4::v1::ReadResponse;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;
use tokio::sync::oneshot;
use tracing::{debug, info};

/// How often idle entries and digests are looked for while nothing else happens.
const SCAN: Duration = Duration::from_ms(10);

/// The switch with everything around it.
pub(crate) struct Owner {
    pub(crate) switch: Box<dyn Served>,
    pub(crate) ports: Ports,
    pub(crate) started: Instant,
    front: Front,
    waiting: BTreeMap<Ticket, (&'static str, Caller)>,
    tickets: u64,
    /// How often calls have ended, by RPC and how.
    ended: BTreeMap<(&'static str, &'static str), u64>,
}

/// Who waits for a reply.
enum Caller {
    Done(oneshot::Sender<Result<(), Status>>),
    Found(oneshot::Sender<(Vec<ReadResponse>, Result<(), Status>)>),
}

impl Owner {
    /// `front` is the way to it.
    pub(crate) fn new(switch: Box<dyn Served>, ports: Ports, started: Instant, front: Front) -> Owner {
        Owner { switch, ports, started, front, waiting: BTreeMap::new(), tickets: 0, ended: BTreeMap::new() }
    }

    /// Does a first call, which has to be answered at once.
    pub(crate) fn start(&mut self, call: Call) -> Result<(), Status> {
        let (sender, mut receiver) = oneshot::channel();
        self.call("Start", call, Caller::Done(sender), &mut Streams::default());
        receiver.try_recv().unwrap_or(Ok(()))
    }

    /// Does what comes in until it is told to stop. What was counted comes back.
    pub(crate) fn run(mut self, incoming: &Incoming) -> Vec<Metric> {
        let mut streams = Streams::default();
        let mut scan = self.now() + SCAN;
        loop {
            let now = self.now();
            let mut due = self.switch.deadline().map_or(scan, |deadline| deadline.min(scan));
            if now >= due {
                let events = self.switch.tick(now);
                self.perform(events, &mut streams);
                scan = now + SCAN;
                due = now;
            }
            let wait = std::time::Duration::from_nanos(due.since(now).as_ns());
            match incoming.next(wait) {
                Some(Command::Stop) => break,
                Some(command) => self.command(command, &mut streams),
                // Nothing happens: captures are complete when somebody looks at them.
                None => drop(self.ports.flush()),
            }
        }
        for (port, frame) in incoming.frames() {
            self.command(Command::Frame(port, frame), &mut streams);
        }
        let _ = self.ports.flush();
        self.metrics(&streams)
    }

    fn metrics(&mut self, streams: &Streams) -> Vec<Metric> {
        let mut all = self.switch.metrics();
        let of = |((rpc, code), count): (&(&'static str, &'static str), &u64)| {
            Metric::new("calls_total", *count).with("rpc", rpc).with("code", code)
        };
        all.extend(self.ended.iter().map(of));
        all.extend([
            Metric::new("frames_lost_total", self.front.lost()).with("place", "the queue of frames"),
            Metric::new("frames_lost_total", self.ports.lost()).with("place", "ports"),
            Metric::new("streams", streams.len() as u64),
            Metric::new("messages_lost_total", streams.lost()),
        ]);
        all
    }

    fn now(&self) -> Time {
        let elapsed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Duration::from_ns(elapsed)
    }

    /// Who asks may be gone: then the answer is lost.
    fn command(&mut self, command: Command, streams: &mut Streams) {
        let now = self.now();
        let events = match command {
            Command::Write(request, reply) => {
                return self.call("Write", Call::Write(request), Caller::Done(reply), streams);
            }
            Command::Read(request, reply) => {
                return self.call("Read", Call::Read(request), Caller::Found(reply), streams);
            }
            Command::SetConfig(request, reply) => {
                let call = Call::SetConfig(request);
                return self.call("SetForwardingPipelineConfig", call, Caller::Done(reply), streams);
            }
            Command::GetConfig(request, reply) => return drop(reply.send(self.switch.get_config(&request))),
            Command::Capabilities(reply) => return drop(reply.send(Ok(self.switch.capabilities()))),
            Command::Metrics(reply) => {
                return drop(reply.send(exposition(&self.metrics(streams))));
            }
            Command::Open(stream, listener) => {
                debug!(stream = stream.0, "a controller has come");
                return streams.open(stream, listener);
            }
            Command::Message(stream, message) => self.switch.message(now, stream, &message),
            Command::Close(stream) => {
                debug!(stream = stream.0, "a controller has gone");
                streams.close(stream);
                self.switch.close(now, stream)
            }
            Command::Frame(port, frame) => self.switch.frame(now, port, &frame),
            Command::Stop => return,
        };
        self.perform(events, streams);
    }

    fn call(&mut self, rpc: &'static str, call: Call, caller: Caller, streams: &mut Streams) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waiting.insert(ticket, (rpc, caller));
        let events = self.switch.call(self.now(), ticket, call);
        self.perform(events, streams);
    }

    fn perform(&mut self, events: Vec<Event>, streams: &mut Streams) {
        let mut waiting = VecDeque::from(events);
        while let Some(event) = waiting.pop_front() {
            match event {
                Event::Reply(ticket, reply) => self.reply(ticket, reply),
                Event::Send(stream, message) => {
                    if streams.tell(stream, message) {
                        waiting.extend(self.switch.close(self.now(), stream));
                    }
                }
                Event::End(stream, why) => streams.end(stream, &why),
                Event::Frame(port, frame) => self.ports.send(port, frame, self.now()),
            }
        }
    }

    fn reply(&mut self, ticket: Ticket, reply: Reply) {
        let Some((rpc, caller)) = self.waiting.remove(&ticket) else { return };
        let (Reply::Done(ended) | Reply::Found(_, ended)) = &reply;
        let code = ended.as_ref().err().map_or("OK", |status| status.code.as_str_name());
        *self.ended.entry((rpc, code)).or_default() += 1;
        match ended {
            Ok(()) => debug!(rpc, "done"),
            Err(status) => info!(rpc, code, message = status.message, "refused"),
        }
        match (caller, reply) {
            (Caller::Done(caller), Reply::Done(ended)) => drop(caller.send(ended)),
            (Caller::Found(caller), Reply::Found(found, ended)) => drop(caller.send((found, ended))),
            // A read that was refused before it was tried.
            (Caller::Found(caller), Reply::Done(ended)) => drop(caller.send((vec![], ended))),
            (Caller::Done(_), _) => {}
        }
    }
}
