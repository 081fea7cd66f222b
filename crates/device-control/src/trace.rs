//! Trace of one frame on a device.

use super::Controlled;
use base_time::Time;
use device_text::trace::text;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4rack::v1::{Hop, Leaving, TraceRequest};
use p4runtime_server::Status;

impl Controlled {
    /// Runs a frame like any other, and holds the frames that would leave.
    pub(super) fn trace(&mut self, now: Time, request: TraceRequest) -> Result<Hop, Status> {
        let TraceRequest { port, frame } = request;
        let mut switch = self.switch();
        switch.check_port(port).map_err(|error| Status::new(Code::InvalidArgument, error.message))?;
        switch.set_trace(true);
        let out = switch.process(port, &frame, now);
        let trace = switch.take_trace();
        switch.set_trace(false);
        drop(switch);
        let events = text::trace(&trace, &self.map);
        let leaving =
            |out: dataplane_api::Output| Leaving { port: out.port, frame: out.frame, to: String::new() };
        Ok(Hop {
            device: String::new(),
            port,
            frame,
            events: events.lines().map(ToString::to_string).collect(),
            leaves: out.into_iter().map(leaving).collect(),
        })
    }
}
