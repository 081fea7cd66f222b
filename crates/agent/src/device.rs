//! The thread that owns the device: commands in, one after the other.

use crate::ports::Ports;
use base_time::{Duration, Time};
use dataplane_api::{Counters, Device};
use p4rack::control::Maker;
use p4runtime_grpc::{Command, Output, Streams};
use p4runtime_server::Server;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

/// How often idle entries and digests are looked for while nothing else happens.
const SCAN: Duration = Duration::from_ms(10);

/// The device with everything around it.
pub(crate) struct Owner {
    pub(crate) server: Server<Maker>,
    pub(crate) ports: Ports,
    pub(crate) cpu_port: Option<u32>,
    pub(crate) started: Instant,
}

impl Owner {
    /// Does what comes in until it is told to stop. What the device has counted comes back.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) -> Option<Counters> {
        let mut streams = Streams::default();
        let mut scan = self.now() + SCAN;
        loop {
            let now = self.now();
            if now >= scan {
                let told = self.server.tick(now);
                self.perform(told, &mut streams);
                scan = now + SCAN;
            }
            let wait = std::time::Duration::from_nanos(scan.since(now).as_ns());
            match commands.recv_timeout(wait) {
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(command) => self.command(command, &mut streams),
                // Nothing happens: captures are complete when somebody looks at them.
                Err(RecvTimeoutError::Timeout) => drop(self.ports.flush()),
            }
        }
        let _ = self.ports.flush();
        self.server.target().map(|target| target.switch().counters().clone())
    }

    fn now(&self) -> Time {
        let elapsed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Duration::from_ns(elapsed)
    }

    /// Who asks may be gone: then the answer is lost.
    fn command(&mut self, command: Command, streams: &mut Streams) {
        let now = self.now();
        if let Some(target) = self.server.target() {
            target.at(now);
        }
        match command {
            Command::Write(request, reply) => drop(reply.send(self.server.write(&request))),
            Command::Read(request, reply) => {
                let mut found = vec![];
                let ended = self.server.read(&request, &mut |response| found.push(response));
                drop(reply.send((found, ended)));
            }
            Command::SetConfig(request, reply) => drop(reply.send(self.server.set_config(*request))),
            Command::GetConfig(request, reply) => drop(reply.send(self.server.get_config(&request))),
            Command::Capabilities(reply) => drop(reply.send(Ok(self.server.capabilities()))),
            Command::Open(stream, listener) => streams.open(stream, listener),
            Command::Message(stream, message) => {
                let told = self.server.message(stream, &message);
                self.perform(told, streams);
            }
            Command::Close(stream) => {
                streams.close(stream);
                let told = self.server.close(stream);
                self.perform(told, streams);
            }
            Command::Frame(port, frame) => {
                let told = self.frame(port, &frame, now);
                self.perform(told, streams);
            }
            Command::Stop => {}
        }
    }

    /// Runs a frame; what leaves by the CPU port is for the controllers.
    fn frame(&mut self, port: u32, frame: &[u8], now: Time) -> Vec<Output> {
        let Some(target) = self.server.target() else { return vec![] };
        let mut told = vec![];
        for output in target.switch().process(port, frame, now) {
            if Some(output.port) == self.cpu_port {
                told.extend(self.server.packet_in(&output.frame));
            } else {
                // What a port does not take is lost, as on a wire.
                let _ = self.ports.send(output.port, &output.frame, now);
            }
        }
        told
    }

    fn perform(&mut self, outputs: Vec<Output>, streams: &mut Streams) {
        let mut waiting = VecDeque::from(outputs);
        while let Some(output) = waiting.pop_front() {
            match output {
                Output::Send(stream, message) => {
                    if streams.tell(stream, message) {
                        waiting.extend(self.server.close(stream));
                    }
                }
                Output::End(stream, why) => streams.end(stream, &why),
                Output::Inject(frame) => {
                    if let Some(cpu) = self.cpu_port {
                        let now = self.now();
                        waiting.extend(self.frame(cpu, &frame, now));
                    }
                }
            }
        }
    }
}
