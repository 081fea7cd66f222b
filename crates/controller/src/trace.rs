//! Trace of a packet through the rack, device by device.

use crate::ask::{Answer, Ask};
use crate::repair::reason;
use crate::task::Shared;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4rack::v1::{TraceRequest, TraceResponse};
use p4runtime_server::Status;
use std::collections::VecDeque;

/// Limit on the devices that one frame and its copies pass.
const MOST_HOPS: usize = 256;

/// Follows a frame received by the origin, and all resulting packets.
pub(crate) async fn trace(shared: &Shared, request: TraceRequest) -> Result<TraceResponse, Status> {
    let Some(rollout) = shared.state().rollout() else {
        return Err(Status::new(
            Code::FailedPrecondition,
            "there is no program yet: frames are not processed",
        ));
    };
    if rollout.wires.contains_key(&(rollout.origin, request.port)) {
        let why =
            format!("port {} leads to another device of the rack: no frame can enter there", request.port);
        return Err(Status::new(Code::InvalidArgument, why));
    }
    let mut hops = vec![];
    let mut waiting = VecDeque::from([(rollout.origin, request)]);
    while let Some((device, request)) = waiting.pop_front() {
        if hops.len() >= MOST_HOPS {
            let why = format!("the packet passes more than {MOST_HOPS} devices: is there a loop?");
            return Err(Status::new(Code::ResourceExhausted, why));
        }
        let name = rollout.name(device).to_string();
        let mut hop = match shared.ask(device, Ask::Trace(request)).await {
            Answer::Traced(hop) => *hop,
            other => {
                let why = format!("device `{name}` does not trace: {}", reason(&other));
                return Err(Status::new(Code::Unavailable, why));
            }
        };
        hop.device = name;
        for leaving in &mut hop.leaves {
            if let Some((next, port)) = rollout.wires.get(&(device, leaving.port)) {
                leaving.to = rollout.name(*next).to_string();
                waiting.push_back((*next, TraceRequest { port: *port, frame: leaving.frame.clone() }));
            }
        }
        hops.push(hop);
    }
    Ok(TraceResponse { hops })
}
