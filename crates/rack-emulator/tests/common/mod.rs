//! Toy devices, and racks of them.

#![allow(dead_code, reason = "each test file uses some of it")]

use base_bits::Bits;
use base_time::{Duration, Rate, Time};
use dataplane_api::{
    Counters, Device, DropReason, EgressResult, EntryError, Output, Port, QueueRecord, Queued, QueuedPacket,
    Replica,
};
use host_programs::{Kind, Load, Value, ping::PING, udp::UDP};
use rack_emulator::{Emulator, RackDevice, Spent};
use rack_model::{DeviceClass, DeviceId, Host, HostId, Link, Mac, Network, NodeId, Rack, Spanned, Workload};
use std::collections::BTreeMap;

/// Processing of a frame by a toy device.
pub type Forward = fn(&mut Toy, Port, Vec<u8>, Time) -> Vec<(Replica, Vec<u8>)>;

/// A device made of a function; egress hands the frame out.
pub struct Toy {
    pub forward: Forward,
    pub ports: Vec<Port>,
    pub counters: Counters,
    pub calls: u64,
    /// The first queue records that egress saw.
    pub records: Vec<QueueRecord>,
    /// A timer, and what it sends.
    pub timer: Option<(Time, Duration, u32)>,
    /// Number of rounds of a frame before it goes out.
    pub rounds: u8,
    /// Frames go round for ever.
    pub forever: bool,
    /// Counters are left alone.
    pub lies: bool,
}

impl Toy {
    pub fn new(forward: Forward) -> Toy {
        Toy {
            forward,
            ports: vec![1, 2],
            counters: Counters::default(),
            calls: 0,
            records: vec![],
            timer: None,
            rounds: 0,
            forever: false,
            lies: false,
        }
    }

    fn queue(&mut self, given: u64, packets: Vec<(Replica, Vec<u8>)>) -> Vec<Queued> {
        let got = packets.len() as u64;
        if !self.lies {
            self.counters.created += got.saturating_sub(given);
            if got < given {
                *self.counters.dropped.entry(DropReason::Ingress).or_default() += given - got;
            }
        }
        let rounds = self.rounds;
        let queued = |(replica, frame): (Replica, Vec<u8>)| Queued {
            replica,
            bytes: frame.len() as u32,
            packet: Box::new((frame, rounds)),
        };
        packets.into_iter().map(queued).collect()
    }
}

impl Device for Toy {
    fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        self.counters.received += 1;
        self.calls += 1;
        let packets = (self.forward)(self, port, frame, now);
        self.queue(1, packets)
    }

    fn egress(&mut self, packet: Queued, queue: QueueRecord, _now: Time) -> EgressResult {
        if self.records.len() < 100 {
            self.records.push(queue);
        }
        let port = packet.replica.port;
        let (frame, rounds) = *packet.packet.downcast::<(Vec<u8>, u8)>().unwrap();
        if let Some(left) = rounds.checked_sub(1) {
            let left = if self.forever { rounds } else { left };
            let again: QueuedPacket = Box::new((frame, left, packet.replica));
            return EgressResult { again: vec![again], ..EgressResult::default() };
        }
        self.counters.sent += 1;
        EgressResult { output: Some(Output { port, frame }), ..EgressResult::default() }
    }

    fn resume(&mut self, packet: QueuedPacket, _now: Time) -> Vec<Queued> {
        let (frame, rounds, replica) = *packet.downcast::<(Vec<u8>, u8, Replica)>().unwrap();
        vec![Queued { replica, bytes: frame.len() as u32, packet: Box::new((frame, rounds)) }]
    }

    fn deadline(&self) -> Option<Time> {
        self.timer.map(|(at, ..)| at)
    }

    fn tick(&mut self, now: Time) -> Vec<Queued> {
        let Some((_, period, left)) = self.timer else { return vec![] };
        self.timer = left.checked_sub(1).map(|left| (now + period, period, left));
        self.queue(0, vec![(out(1), vec![0xbe; 60])])
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn register_read(&self, name: &str, _index: u64) -> Result<Bits, EntryError> {
        Err(EntryError { message: format!("no register `{name}`"), help: None })
    }

    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        let text: String = self
            .records
            .iter()
            .map(|r| format!("{}/{}/{} ", r.enqueued, r.depth_at_enqueue, r.depth_at_dequeue))
            .collect();
        BTreeMap::from([
            ("records".to_string(), text.into_bytes()),
            ("calls".to_string(), vec![self.calls as u8]),
        ])
    }
}

pub fn out(port: Port) -> Replica {
    Replica { port, priority: 0 }
}

/// Port 1 to port 2 and back.
pub fn wire(_: &mut Toy, port: Port, frame: Vec<u8>, _: Time) -> Vec<(Replica, Vec<u8>)> {
    vec![(out(3 - port.clamp(1, 2)), frame)]
}

/// To all ports but the one it came from.
pub fn hub(toy: &mut Toy, port: Port, frame: Vec<u8>, _: Time) -> Vec<(Replica, Vec<u8>)> {
    toy.ports.iter().filter(|p| **p != port).map(|p| (out(*p), frame.clone())).collect()
}

/// A wire that drops every tenth frame.
pub fn dropper(toy: &mut Toy, port: Port, frame: Vec<u8>, now: Time) -> Vec<(Replica, Vec<u8>)> {
    if toy.calls.is_multiple_of(10) { vec![] } else { wire(toy, port, frame, now) }
}

pub fn us(n: u64) -> Duration {
    Duration::from_us(n)
}

pub fn at_us(n: u64) -> Time {
    Time::ZERO + us(n)
}

/// `count` hosts of one network at ports 1, 2, ... of device `dev`, with links of 1 Gbit/s and 10 us.
pub fn star(count: u32) -> Rack {
    let mut rack = Rack { seed: 1, ..Rack::default() };
    let mut device = rack_model::Device::new("dev", DeviceClass::Switch);
    device.service = us(1);
    rack.devices.push(device);
    for n in 1..=count {
        rack.hosts.push(Host {
            name: format!("h{n}").as_str().into(),
            mac: Mac([2, 0, 0, 0, 0, n as u8]).into(),
            ip: vec![Network::parse(&format!("10.0.0.{n}/24")).unwrap().into()],
            gateway: None,
        });
        let ends = [(NodeId::Host(HostId(n - 1)), 0), (NodeId::Device(DeviceId(0)), n)];
        let mut link = Link::new(ends, Rate::from_bits_per_s(1_000_000_000));
        link.delay = us(10);
        rack.links.push(link);
    }
    rack
}

/// A load that [`workload`] gives its count and size.
pub fn load(kind: &'static Kind, values: &[(&'static str, Value)]) -> Load {
    values.iter().fold(Load::new(kind, 0, 0), |load, (word, value)| load.with(word, value.clone()))
}

pub fn workload(name: &str, mut load: Load, from: u32, to: u32, count: u64, size: u32) -> Workload {
    (load.count, load.size) = (count, size);
    let host = |n: u32| Spanned::from(vec![HostId(n - 1)]);
    Workload {
        name: name.into(),
        load,
        from: host(from),
        to: host(to),
        expect: None,
        watch: vec![],
        span: Default::default(),
    }
}

pub fn ping(from: u32, to: u32, count: u64, interval: Duration) -> Workload {
    workload("ping", load(&PING, &[("interval", Value::Time(interval))]), from, to, count, 56)
}

pub fn udp(name: &str, from: u32, to: u32, count: u64, size: u32, mbit_per_s: u64) -> Workload {
    let rate = Value::Rate(Rate::from_bits_per_s(mbit_per_s * 1_000_000));
    workload(name, load(&UDP, &[("rate", rate)]), from, to, count, size)
}

pub fn emulator(rack: &Rack, toy: Toy) -> Emulator {
    let device = RackDevice {
        name: "dev".to_string(),
        engine: "toy".to_string(),
        device: Box::new(toy),
        spent: Spent::default(),
    };
    Emulator::new(rack, vec![device]).unwrap()
}

/// When frames arrive at `h1` that a timer of the device sends: the first at 100 us, two more 50 us apart.
pub fn timer_arrivals(rack: &Rack) -> Vec<Time> {
    let mut toy = Toy::new(wire);
    toy.timer = Some((at_us(100), us(50), 2));
    let mut emulator = emulator(rack, toy);
    let h1 = rack.host("h1").unwrap();
    emulator.listen(h1);
    emulator.run().unwrap();
    assert_eq!(emulator.balance().created, 3);
    emulator.take_received(h1).iter().map(|r| r.at).collect()
}
