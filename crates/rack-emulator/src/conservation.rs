//! Packets are conserved: what came into being is delivered, dropped with a count, or still somewhere.
//!
//! Each place counts what comes, goes, ends and is there. After each event these counts must add up at the nodes and wires that it
//! touched; every so often, and at the end, at all of them, and then what they count is compared with what is in the queues, and the
//! sums with each other.

use crate::emulator::{Emulator, PacketBalance};
use crate::violation::Violation;
use rack_model::{DeviceId, HostId, NodeId};

/// Events from one check of everything to the next, at least.
const CHECK_ALL_EVERY: u64 = 4096;
/// The same for each place that is checked: large racks are checked as rarely as costs the same for each event.
const EVENTS_FOR_A_PLACE: u64 = 8;

/// Events at one moment that cannot be right: devices that send packets round in no time.
const MOST_EVENTS_AT_ONCE: u64 = 1_000_000;
/// And so many for each pair of a workload: a packet that is sent, queued and woken for.
const EVENTS_OF_A_PAIR: u64 = 8;

impl Emulator {
    /// All packets of the run so far.
    pub fn balance(&self) -> PacketBalance {
        let (mut balance, mut flying) = (PacketBalance::default(), 0);
        for wire in &self.wires {
            balance.created += wire.medium.counts.duplicated;
            balance.dropped += wire.medium.counts.lost + wire.medium.counts.cut + wire.medium.counts.too_long;
            flying += wire.flying();
        }
        for host in &self.hosts {
            balance.created += host.counts.created;
            balance.delivered += host.counts.absorbed;
            balance.dropped += host.counts.dropped;
        }
        let mut inside = 0;
        for device in &self.devices {
            let (created, dropped) = device.created_and_dropped();
            balance.created += created;
            balance.dropped += dropped + device.counts.dropped;
            inside += device.held();
        }
        let queued: u64 = self.outlets.iter().map(|o| u64::from(o.queue.len())).sum();
        balance.in_flight = flying + inside + queued;
        balance
    }

    pub(crate) fn check_node(&self, node: NodeId) -> Result<(), Box<Violation>> {
        match node {
            NodeId::Device(id) => self.check_device(id),
            NodeId::Host(id) => self.check_host(id),
        }
    }

    pub(crate) fn check_host(&self, id: HostId) -> Result<(), Box<Violation>> {
        let host = &self.hosts[id.0 as usize];
        let counts = host.counts;
        let queued = u64::from(self.outlets[host.outlet as usize].queue.len());
        let come = counts.received + counts.created;
        let gone = counts.sent + counts.absorbed + counts.dropped;
        if come == gone + queued {
            return Ok(());
        }
        let message = format!(
            "packets are not conserved: {} received and {} created, but {} sent, {} absorbed, {} dropped, {queued} \
             queued",
            counts.received, counts.created, counts.sent, counts.absorbed, counts.dropped
        );
        Err(self.violation(NodeId::Host(id), message))
    }

    pub(crate) fn check_device(&self, id: DeviceId) -> Result<(), Box<Violation>> {
        let device = &self.devices[id.0 as usize];
        let counts = device.counts;
        let (created, dropped) = device.created_and_dropped();
        let come = counts.arrived + created;
        let gone = counts.sent + counts.dropped + dropped;
        if come == gone + counts.queued + device.held() {
            return Ok(());
        }
        let message = format!(
            "packets are not conserved: {} arrived and {created} created, but {} sent, {} dropped, {} queued, {} \
             inside",
            counts.arrived,
            counts.sent,
            counts.dropped + dropped,
            counts.queued,
            device.held()
        );
        Err(self.violation(NodeId::Device(id), message))
    }

    /// What a device counts as being there is there.
    fn check_counts(&self, id: DeviceId) -> Result<(), Box<Violation>> {
        let device = &self.devices[id.0 as usize];
        let queued: u64 =
            device.outlets().map(|outlet| u64::from(self.outlets[outlet as usize].queue.len())).sum();
        let inside = device.recount_inside();
        if (queued, inside) == (device.counts.queued, device.inside()) {
            return Ok(());
        }
        let message = format!(
            "packets are not conserved: {queued} queued and {inside} inside, but counted are {} and {}",
            device.counts.queued,
            device.inside()
        );
        Err(self.violation(NodeId::Device(id), message))
    }

    pub(crate) fn check_wire(&self, wire: u32) -> Result<(), Box<Violation>> {
        let state = &self.wires[wire as usize];
        if state.is_balanced() {
            return Ok(());
        }
        let counts = state.medium.counts;
        let message = format!(
            "packets are not conserved: {} taken and {} doubled, but {} lost, {} cut, {} too long, {} delivered, {} on \
             the way",
            counts.taken,
            counts.duplicated,
            counts.lost,
            counts.cut,
            counts.too_long,
            counts.delivered,
            state.flying()
        );
        let place = format!("{} -> {}", self.rack.end_name(state.from), self.rack.end_name(state.to));
        Err(Box::new(Violation { at: self.now, place, message }))
    }

    /// Virtual time goes on, and every so often everything is checked.
    #[inline(always)]
    pub(crate) fn check_progress(&mut self) -> Result<(), Box<Violation>> {
        // All pairs of a workload may send at one moment.
        let most = MOST_EVENTS_AT_ONCE + EVENTS_OF_A_PAIR * self.pairs.len() as u64;
        if self.events_now > most {
            let message = format!("{most} events at the same time");
            return Err(self.in_rack(message));
        }
        if self.events < self.check_all_at { Ok(()) } else { self.check_all_now() }
    }

    #[cold]
    fn check_all_now(&mut self) -> Result<(), Box<Violation>> {
        let places = self.hosts.len() + self.devices.len() + self.wires.len();
        self.check_all_at = self.events + CHECK_ALL_EVERY.max(places as u64 * EVENTS_FOR_A_PLACE);
        self.check_all()
    }

    /// Checks every node and wire, and that what one handed over the next one took.
    pub(crate) fn check_all(&self) -> Result<(), Box<Violation>> {
        (0..self.hosts.len() as u32).try_for_each(|id| self.check_host(HostId(id)))?;
        (0..self.devices.len() as u32).map(DeviceId).try_for_each(|id| {
            self.check_device(id)?;
            self.check_counts(id)
        })?;
        (0..self.wires.len() as u32).try_for_each(|wire| self.check_wire(wire))?;
        let sent_by_hosts: u64 = self.hosts.iter().map(|h| h.counts.sent).sum();
        let sent_by_devices: u64 = self.devices.iter().map(|d| d.counts.sent).sum();
        let taken: u64 = self.wires.iter().map(|w| w.medium.counts.taken).sum();
        let delivered: u64 = self.wires.iter().map(|w| w.medium.counts.delivered).sum();
        let received: u64 = self.hosts.iter().map(|h| h.counts.received).sum();
        let arrived: u64 = self.devices.iter().map(|d| d.counts.arrived).sum();
        if sent_by_hosts + sent_by_devices != taken || delivered != received + arrived {
            return Err(self.in_rack(format!(
                "packets are not conserved: {} sent and {taken} taken by links; {delivered} delivered and {} received",
                sent_by_hosts + sent_by_devices,
                received + arrived
            )));
        }
        let PacketBalance { created, delivered, dropped, in_flight } = self.balance();
        if created != delivered + dropped + in_flight {
            return Err(self.in_rack(format!(
                "packets are not conserved: {created} created, but {delivered} delivered, {dropped} dropped, \
                 {in_flight} in flight"
            )));
        }
        Ok(())
    }

    fn in_rack(&self, message: String) -> Box<Violation> {
        Box::new(Violation { at: self.now, place: format!("rack {}", self.rack.name.value), message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::{RackDevice, Spent};
    use base_time::{Rate, Time};
    use dataplane_api::{
        Counters, Device, EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket, Replica,
    };
    use host_programs::udp::UDP;
    use host_programs::{Load, Value};
    use rack_model::{DeviceClass, Host, Link, Mac, Network, Rack, Workload};

    /// Two hosts on one link, and a stream.
    fn rack() -> Rack {
        let host = |n: u8| Host {
            name: format!("h{n}").as_str().into(),
            mac: Mac([2, 0, 0, 0, 0, n]).into(),
            ip: vec![Network::parse(&format!("10.0.0.{n}/24")).unwrap().into()],
            gateway: None,
        };
        let ends = [(NodeId::Host(HostId(0)), 0), (NodeId::Host(HostId(1)), 0)];
        let mut link = Link::new(ends, Rate::from_bits_per_s(1_000_000));
        link.delay = base_time::Duration::from_ms(5);
        let rate = Value::Rate(Rate::from_bits_per_s(1_000_000_000));
        let workload = Workload {
            name: "stream".into(),
            load: Load::new(&UDP, 10, 100).with("rate", rate).with("port", Value::Number(1)),
            from: vec![HostId(0)].into(),
            to: vec![HostId(1)].into(),
            expect: None,
            watch: vec![],
            span: Default::default(),
        };
        Rack {
            hosts: vec![host(1), host(2)],
            links: vec![link],
            workloads: vec![workload],
            ..Rack::default()
        }
    }

    /// With frames queued and on the way.
    fn busy() -> Emulator {
        let mut emulator = Emulator::new(&rack(), vec![]).unwrap();
        emulator.run_until(Time::ZERO + base_time::Duration::from_ms(4)).unwrap();
        assert!(emulator.wires[0].flying() > 0 && !emulator.outlets[0].queue.is_empty());
        emulator
    }

    #[test]
    fn what_the_emulator_itself_loses_or_invents_is_seen() {
        let tampered = |tamper: fn(&mut Emulator)| {
            let mut emulator = busy();
            tamper(&mut emulator);
            emulator.check_all().unwrap_err()
        };
        let from_queue = tampered(|e| drop(e.outlets[0].queue.pop(Time::ZERO)));
        assert_eq!(from_queue.place, "h1");
        let from_wire = tampered(|e| {
            e.wires[0].deliver(Time::MAX);
            e.wires[0].medium.counts.delivered -= 1;
        });
        assert_eq!(from_wire.place, "h1 -> h2");
        let on_the_way = tampered(|e| drop(e.wires[0].deliver(Time::MAX)));
        assert_eq!(on_the_way.place, "rack rack", "delivered, but nobody received it");
        let invented = tampered(|e| e.hosts[1].counts.absorbed += 1);
        assert_eq!(invented.place, "h2");
        let both = tampered(|e| {
            e.hosts[1].counts.absorbed += 1;
            e.hosts[1].counts.received += 1;
        });
        assert_eq!(both.place, "rack rack");
    }

    #[test]
    fn a_loss_is_seen_by_the_next_event_there() {
        let mut emulator = busy();
        emulator.outlets[0].queue.pop(Time::ZERO);
        let violation = emulator.run().unwrap_err();
        assert!(violation.message.starts_with("packets are not conserved: 0 received and 10 created"));
    }

    /// Whatever comes leaves by port 2.
    #[derive(Default)]
    struct Pipe(Counters);

    impl Device for Pipe {
        fn ingress(&mut self, _: Port, frame: Vec<u8>, _: Time) -> Vec<Queued> {
            self.0.received += 1;
            let replica = Replica { port: 2, priority: 0 };
            vec![Queued { replica, bytes: frame.len() as u32, packet: Box::new(frame) }]
        }

        fn egress(&mut self, packet: Queued, _: QueueRecord, _: Time) -> EgressResult {
            self.0.sent += 1;
            let frame = *packet.packet.downcast().unwrap();
            EgressResult { output: Some(Output { port: 2, frame }), ..EgressResult::default() }
        }

        fn resume(&mut self, _: QueuedPacket, _: Time) -> Vec<Queued> {
            vec![]
        }

        fn counters(&self) -> &Counters {
            &self.0
        }
    }

    /// A device between the hosts, with packets inside and in the queue of its port 2.
    fn busy_device() -> Emulator {
        let mut rack = rack();
        let mut device = rack_model::Device::new("dev", DeviceClass::Switch);
        device.service = base_time::Duration::from_us(20);
        rack.devices.push(device);
        let dev = NodeId::Device(DeviceId(0));
        let link = |host, port, mbit_per_s: u64| {
            let ends = [(NodeId::Host(HostId(host)), 0), (dev, port)];
            Link::new(ends, Rate::from_bits_per_s(mbit_per_s * 1_000_000))
        };
        rack.links = vec![link(0, 1, 100), link(1, 2, 1)];
        let device = RackDevice {
            name: "dev".to_string(),
            engine: "pipe".to_string(),
            device: Box::new(Pipe::default()),
            spent: Spent::default(),
        };
        let mut emulator = Emulator::new(&rack, vec![device]).unwrap();
        while emulator.devices[0].counts.queued < 3 || emulator.devices[0].inside() == 0 {
            emulator.step().unwrap();
        }
        emulator
    }

    #[test]
    fn what_a_device_counts_is_compared_with_what_is_there() {
        let tampered = |tamper: fn(&mut Emulator)| {
            let mut emulator = busy_device();
            emulator.check_all().unwrap();
            tamper(&mut emulator);
            emulator.check_all().unwrap_err()
        };
        let lose = |e: &mut Emulator| drop(e.outlets[e.devices[0].outlet_of(2).0 as usize].queue.pop(e.now));
        let from_queue = tampered(lose);
        assert_eq!(from_queue.place, "dev");
        assert!(
            from_queue.message.ends_with("2 queued and 1 inside, but counted are 3 and 1"),
            "{from_queue}"
        );
        let mut emulator = busy_device();
        lose(&mut emulator);
        assert_eq!(emulator.run().unwrap_err().place, "dev", "at the end of the run at the latest");
        let mut emulator = busy_device();
        emulator.devices[0].counts.queued -= 1;
        let (before, violation) = (emulator.now, emulator.run().unwrap_err());
        assert_eq!(violation.place, "dev");
        let soon = violation.at.since(before) < base_time::Duration::from_us(100);
        assert!(soon, "by the next event there: {violation}");
    }
}
