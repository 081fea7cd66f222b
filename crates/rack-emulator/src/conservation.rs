//! Packets are conserved: what came into being is delivered, dropped with a count, or still somewhere.
//!
//! After each event the nodes and wires it touched are checked, each against what is really in its queues; every
//! so often, and at the end, all of them and the sums.

use crate::emulator::{Emulator, PacketBalance};
use crate::violation::Violation;
use rack_model::{DeviceId, HostId, NodeId};

/// Events from one check of everything to the next.
const CHECK_ALL_EVERY: u64 = 4096;

/// Events at one moment that cannot be right: devices that send packets round in no time.
const MOST_EVENTS_AT_ONCE: u64 = 1_000_000;

impl Emulator {
    /// All packets of the run so far.
    pub fn balance(&self) -> PacketBalance {
        let (mut balance, mut flying) = (PacketBalance::default(), 0);
        for wire in &self.wires {
            balance.created += wire.counts.duplicated;
            balance.dropped += wire.counts.lost + wire.counts.cut + wire.counts.too_long;
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
        let queued: u64 =
            device.outlets().map(|outlet| u64::from(self.outlets[outlet as usize].queue.len())).sum();
        let (created, dropped) = device.created_and_dropped();
        let come = counts.arrived + created;
        let gone = counts.sent + counts.dropped + dropped;
        if come == gone + queued + device.held() {
            return Ok(());
        }
        let message = format!(
            "packets are not conserved: {} arrived and {created} created, but {} sent, {} dropped, {queued} queued, \
             {} inside",
            counts.arrived,
            counts.sent,
            counts.dropped + dropped,
            device.held()
        );
        Err(self.violation(NodeId::Device(id), message))
    }

    pub(crate) fn check_wire(&self, wire: u32) -> Result<(), Box<Violation>> {
        let state = &self.wires[wire as usize];
        if state.is_balanced() {
            return Ok(());
        }
        let counts = state.counts;
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
    pub(crate) fn check_progress(&self) -> Result<(), Box<Violation>> {
        if self.events_now > MOST_EVENTS_AT_ONCE {
            let message = format!("time stands still: {MOST_EVENTS_AT_ONCE} events at one moment");
            return Err(self.in_rack(message));
        }
        if self.events.is_multiple_of(CHECK_ALL_EVERY) { self.check_all() } else { Ok(()) }
    }

    /// Checks every node and wire, and that what one handed over the next one took.
    pub(crate) fn check_all(&self) -> Result<(), Box<Violation>> {
        (0..self.hosts.len() as u32).try_for_each(|id| self.check_host(HostId(id)))?;
        (0..self.devices.len() as u32).try_for_each(|id| self.check_device(DeviceId(id)))?;
        (0..self.wires.len() as u32).try_for_each(|wire| self.check_wire(wire))?;
        let sent_by_hosts: u64 = self.hosts.iter().map(|h| h.counts.sent).sum();
        let sent_by_devices: u64 = self.devices.iter().map(|d| d.counts.sent).sum();
        let taken: u64 = self.wires.iter().map(|w| w.counts.taken).sum();
        let delivered: u64 = self.wires.iter().map(|w| w.counts.delivered).sum();
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
    use base_time::{Rate, Time};
    use rack_model::{Flows, Host, Link, Mac, Network, Pace, Rack, Workload, WorkloadKind};

    /// Two hosts on one link, with frames queued and on the way.
    fn busy() -> Emulator {
        let host = |n: u8| Host {
            name: format!("h{n}").as_str().into(),
            mac: Mac([2, 0, 0, 0, 0, n]).into(),
            ip: vec![Network::parse(&format!("10.0.0.{n}/24")).unwrap().into()],
            gateway: None,
        };
        let ends = [(NodeId::Host(HostId(0)), 0), (NodeId::Host(HostId(1)), 0)];
        let mut link = Link::new(ends, Rate::from_bits_per_s(1_000_000));
        link.delay = base_time::Duration::from_ms(5);
        let workload = Workload {
            name: "stream".into(),
            kind: WorkloadKind::Udp {
                rate: Rate::from_bits_per_s(1_000_000_000),
                port: 1,
                pace: Pace::Even,
                flows: Flows::ONE,
            },
            from: vec![HostId(0)].into(),
            to: vec![HostId(1)].into(),
            start: Time::ZERO,
            stagger: base_time::Duration::ZERO,
            count: 10,
            size: 100,
            span: Default::default(),
        };
        let rack = Rack {
            hosts: vec![host(1), host(2)],
            links: vec![link],
            workloads: vec![workload],
            ..Rack::default()
        };
        let mut emulator = Emulator::new(&rack, vec![]).unwrap();
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
            e.wires[0].counts.delivered -= 1;
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
}
