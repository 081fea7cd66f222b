//! The thread that owns the switch: commands in, one after the other.

use crate::ports::Ports;
use base_time::{Duration, Time};
use controller::{Call, Reply, Ticket};
use p4rack::control::{Event, Served};
use p4runtime_grpc::{Command, Status, Streams};
use p4runtime_proto::p4::v1::ReadResponse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;
use tokio::sync::oneshot;

/// How often idle entries and digests are looked for while nothing else happens.
const SCAN: Duration = Duration::from_ms(10);

/// The switch with everything around it.
pub(crate) struct Owner {
    pub(crate) switch: Box<dyn Served>,
    pub(crate) ports: Ports,
    pub(crate) started: Instant,
    waiting: BTreeMap<Ticket, Caller>,
    tickets: u64,
}

/// Who waits for a reply.
enum Caller {
    Done(oneshot::Sender<Result<(), Status>>),
    Found(oneshot::Sender<(Vec<ReadResponse>, Result<(), Status>)>),
}

impl Owner {
    pub(crate) fn new(switch: Box<dyn Served>, ports: Ports, started: Instant) -> Owner {
        Owner { switch, ports, started, waiting: BTreeMap::new(), tickets: 0 }
    }

    /// Does a first call, which has to be answered at once.
    pub(crate) fn start(&mut self, call: Call) -> Result<(), Status> {
        let (sender, mut receiver) = oneshot::channel();
        self.call(call, Caller::Done(sender), &mut Streams::default());
        receiver.try_recv().unwrap_or(Ok(()))
    }

    /// Does what comes in until it is told to stop. What packets came to comes back.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) -> Vec<(String, u64)> {
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
            match commands.recv_timeout(wait) {
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(command) => self.command(command, &mut streams),
                // Nothing happens: captures are complete when somebody looks at them.
                Err(RecvTimeoutError::Timeout) => drop(self.ports.flush()),
            }
        }
        let _ = self.ports.flush();
        self.switch.counted()
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
                return self.call(Call::Write(request), Caller::Done(reply), streams);
            }
            Command::Read(request, reply) => {
                return self.call(Call::Read(request), Caller::Found(reply), streams);
            }
            Command::SetConfig(request, reply) => {
                return self.call(Call::SetConfig(request), Caller::Done(reply), streams);
            }
            Command::GetConfig(request, reply) => return drop(reply.send(self.switch.get_config(&request))),
            Command::Capabilities(reply) => return drop(reply.send(Ok(self.switch.capabilities()))),
            Command::Open(stream, listener) => return streams.open(stream, listener),
            Command::Message(stream, message) => self.switch.message(now, stream, &message),
            Command::Close(stream) => {
                streams.close(stream);
                self.switch.close(now, stream)
            }
            Command::Frame(port, frame) => self.switch.frame(now, port, &frame),
            Command::Stop => return,
        };
        self.perform(events, streams);
    }

    fn call(&mut self, call: Call, caller: Caller, streams: &mut Streams) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waiting.insert(ticket, caller);
        let events = self.switch.call(self.now(), ticket, call);
        self.perform(events, streams);
    }

    fn perform(&mut self, events: Vec<Event>, streams: &mut Streams) {
        let mut waiting = VecDeque::from(events);
        while let Some(event) = waiting.pop_front() {
            match event {
                Event::Reply(ticket, reply) => match (self.waiting.remove(&ticket), reply) {
                    (Some(Caller::Done(caller)), Reply::Done(ended)) => drop(caller.send(ended)),
                    (Some(Caller::Found(caller)), Reply::Found(found, ended)) => {
                        drop(caller.send((found, ended)));
                    }
                    // A read that was refused before it was tried.
                    (Some(Caller::Found(caller)), Reply::Done(ended)) => drop(caller.send((vec![], ended))),
                    (Some(Caller::Done(_)) | None, _) => {}
                },
                Event::Send(stream, message) => {
                    if streams.tell(stream, message) {
                        waiting.extend(self.switch.close(self.now(), stream));
                    }
                }
                Event::End(stream, why) => streams.end(stream, &why),
                // What a port does not take is lost, as on a wire.
                Event::Frame(port, frame) => {
                    let _ = self.ports.send(port, &frame, self.now());
                }
            }
        }
    }
}
