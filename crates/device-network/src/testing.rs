//! A small world and a small device for tests.

use crate::{Drive, Link, Network, Node, Outcome, Owner, Plug, WireSettings, World};
use base_time::{Rate, Time};
use dataplane_api::{
    Counters, Device, EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket, Replica,
};

/// Accepts every frame, and records the frames that left: time, device, port, owner, frame.
pub(crate) struct Relay {
    pub network: Network<()>,
    pub left: Vec<(Time, u32, Output, Owner)>,
}

impl Relay {
    pub fn new(network: Network<()>) -> Relay {
        Relay { network, left: vec![] }
    }

    pub fn run_until(&mut self, time: Time) -> Outcome {
        while self.next_event(time)? {}
        self.network.check_all()
    }
}

impl World for Relay {
    type Event = ();

    fn network(&self) -> &Network<()> {
        &self.network
    }

    fn network_mut(&mut self) -> &mut Network<()> {
        &mut self.network
    }

    fn happen(&mut self, (): ()) -> Outcome {
        Ok(())
    }

    fn receive(&mut self, end: u32, _: Vec<u8>, _: Owner) -> Outcome {
        self.network.ends[end as usize].counts.absorbed += 1;
        Ok(())
    }

    fn take_out(&mut self, device: u32, output: &mut Output, owner: Owner) -> bool {
        self.left.push((self.network.now, device, output.clone(), owner));
        true
    }
}

pub(crate) fn link(plugs: [(Node, Port); 2], rate: Option<Rate>) -> Link {
    let plugs = plugs.map(|(node, port)| Plug { node, port });
    Link { plugs, settings: WireSettings { rate, ..WireSettings::default() }, queue: 64 }
}

/// Whatever comes leaves by port 2, but for frames of nothing, which are recirculated first.
#[derive(Default)]
pub(crate) struct Pipe(Counters);

impl Pipe {
    fn queue(frame: Vec<u8>) -> Vec<Queued> {
        let replica = Replica { port: 2, priority: 0 };
        vec![Queued { replica, bytes: frame.len() as u32, packet: Box::new(frame) }]
    }
}

impl Device for Pipe {
    fn ingress(&mut self, _: Port, frame: Vec<u8>, _: Time) -> Vec<Queued> {
        self.0.received += 1;
        Pipe::queue(frame)
    }

    fn egress(&mut self, packet: Queued, _: QueueRecord, _: Time) -> EgressResult {
        let frame: Vec<u8> = *packet.packet.downcast().unwrap();
        if frame.is_empty() {
            let again: Vec<QueuedPacket> = vec![Box::new(frame)];
            return EgressResult { again, ..EgressResult::default() };
        }
        self.0.sent += 1;
        EgressResult { output: Some(Output { port: 2, frame }), ..EgressResult::default() }
    }

    fn resume(&mut self, packet: QueuedPacket, _: Time) -> Vec<Queued> {
        let mut frame: Vec<u8> = *packet.downcast().unwrap();
        frame.push(7);
        Pipe::queue(frame)
    }

    fn counters(&self) -> &Counters {
        &self.0
    }
}
