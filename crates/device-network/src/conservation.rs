//! Packets are conserved: each created packet is delivered, dropped with a count, or still inside.
//!
//! Each place counts packets that enter, leave, end and stay. After each event these counts must add up at the nodes
//! and wires that it touched; every so often, and at the end, at all of them, and then the counts are compared with the
//! contents of the queues, and the sums with each other.

use crate::network::{Network, Node};
use crate::place::Place;
use crate::violation::{Outcome, Violation};

/// Events from one check of everything to the next, at least.
const CHECK_ALL_EVERY: u64 = 4096;
/// Number of events per checked place between two full checks, so that the cost per event does not grow with the network.
const EVENTS_FOR_A_PLACE: u64 = 8;

/// Every packet of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PacketBalance {
    /// Put in, or made by devices and links.
    pub created: u64,
    /// Used by ends, or taken out at ports of devices.
    pub delivered: u64,
    /// Counted as dropped somewhere.
    pub dropped: u64,
    /// In a queue, in a device, on a link.
    pub in_flight: u64,
}

impl<E: Copy> Network<E> {
    /// Packets handed in at ports of devices.
    pub fn injected(&self) -> u64 {
        self.injected
    }

    /// All packets of the run so far.
    pub fn balance(&self) -> PacketBalance {
        let (mut balance, mut flying) = (PacketBalance::default(), 0);
        balance.created += self.injected;
        balance.delivered += self.taken_out;
        for wire in &self.wires {
            balance.created += wire.medium.counts.duplicated;
            balance.dropped += wire.medium.counts.lost + wire.medium.counts.cut + wire.medium.counts.too_long;
            flying += wire.flying();
        }
        for end in &self.ends {
            balance.created += end.counts.created;
            balance.delivered += end.counts.absorbed;
            balance.dropped += end.counts.dropped;
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

    pub(crate) fn check_node(&self, node: Node) -> Outcome {
        match node {
            Node::Device(device) => self.check_device(device),
            Node::End(end) => self.check_end(end),
        }
    }

    /// Checks an end.
    #[inline]
    pub fn check_end(&self, end: u32) -> Outcome {
        let node = &self.ends[end as usize];
        let counts = node.counts;
        let queued = u64::from(self.outlets[node.outlet as usize].queue.len());
        let come = counts.received + counts.created;
        let gone = counts.sent + counts.absorbed + counts.dropped;
        if come == gone + queued { Ok(()) } else { self.end_is_wrong(end, queued) }
    }

    #[cold]
    fn end_is_wrong(&self, end: u32, queued: u64) -> Outcome {
        let counts = self.ends[end as usize].counts;
        let message = format!(
            "packets are not conserved: {} received and {} created, but {} sent, {} absorbed, {} dropped, {queued} \
             queued",
            counts.received, counts.created, counts.sent, counts.absorbed, counts.dropped
        );
        Err(self.violation(Place::End(end), message))
    }

    #[inline]
    pub(crate) fn check_device(&self, id: u32) -> Outcome {
        let device = &self.devices[id as usize];
        let counts = device.counts;
        let (created, dropped) = device.created_and_dropped();
        let come = counts.arrived + created;
        let gone = counts.sent + counts.dropped + dropped;
        if come == gone + counts.queued + device.held() { Ok(()) } else { self.device_is_wrong(id) }
    }

    #[cold]
    fn device_is_wrong(&self, id: u32) -> Outcome {
        let device = &self.devices[id as usize];
        let counts = device.counts;
        let (created, dropped) = device.created_and_dropped();
        let message = format!(
            "packets are not conserved: {} arrived and {created} created, but {} sent, {} dropped, {} queued, {} \
             inside",
            counts.arrived,
            counts.sent,
            counts.dropped + dropped,
            counts.queued,
            device.held()
        );
        Err(self.violation(Place::Device(id), message))
    }

    /// Checks that a device's own count of packets inside equals the network's.
    fn check_counts(&self, id: u32) -> Outcome {
        let device = &self.devices[id as usize];
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
        Err(self.violation(Place::Device(id), message))
    }

    #[inline]
    pub(crate) fn check_wire(&self, wire: u32) -> Outcome {
        if self.wires[wire as usize].is_balanced() { Ok(()) } else { self.wire_is_wrong(wire) }
    }

    #[cold]
    fn wire_is_wrong(&self, wire: u32) -> Outcome {
        let state = &self.wires[wire as usize];
        let counts = state.medium.counts;
        let message = format!(
            "packets are not conserved: {} taken and {} doubled, but {} lost, {} cut, {} too long, {} delivered, {} in \
             flight",
            counts.taken,
            counts.duplicated,
            counts.lost,
            counts.cut,
            counts.too_long,
            counts.delivered,
            state.flying()
        );
        Err(self.violation(Place::Wire(wire), message))
    }

    /// Advances virtual time, with a full check from time to time.
    #[inline(always)]
    pub(crate) fn check_progress(&mut self) -> Outcome {
        if self.events_now > self.most_events_now {
            let message = format!("{} events at the same time", self.most_events_now);
            return Err(self.violation(Place::Network, message));
        }
        if self.events < self.check_all_at { Ok(()) } else { self.check_all_now() }
    }

    #[cold]
    fn check_all_now(&mut self) -> Outcome {
        let places = self.ends.len() + self.devices.len() + self.wires.len();
        self.check_all_at = self.events + CHECK_ALL_EVERY.max(places as u64 * EVENTS_FOR_A_PLACE);
        self.check_all()
    }

    /// Checks every node and wire, and that each received the packets that another handed over.
    pub fn check_all(&self) -> Outcome {
        (0..self.ends.len() as u32).try_for_each(|end| self.check_end(end))?;
        (0..self.devices.len() as u32).try_for_each(|id| {
            self.check_device(id)?;
            self.check_counts(id)
        })?;
        (0..self.wires.len() as u32).try_for_each(|wire| self.check_wire(wire))?;
        let sent_by_ends: u64 = self.ends.iter().map(|end| end.counts.sent).sum();
        let sent_by_devices: u64 = self.devices.iter().map(|d| d.counts.sent).sum();
        // Frames that the world takes out, or injects, pass no link.
        let sent = sent_by_ends + sent_by_devices - self.taken_out;
        let taken: u64 = self.wires.iter().map(|w| w.medium.counts.taken).sum();
        let delivered: u64 = self.wires.iter().map(|w| w.medium.counts.delivered).sum();
        let received: u64 = self.ends.iter().map(|end| end.counts.received).sum();
        let arrived: u64 = self.devices.iter().map(|d| d.counts.arrived).sum();
        let received = received + arrived - self.injected;
        if sent != taken || delivered != received {
            return Err(self.violation(
                Place::Network,
                format!(
                    "packets are not conserved: {sent} sent and {taken} taken by links; {delivered} delivered and \
                     {received} received"
                ),
            ));
        }
        let PacketBalance { created, delivered, dropped, in_flight } = self.balance();
        if created != delivered + dropped + in_flight {
            return Err(self.violation(
                Place::Network,
                format!(
                    "packets are not conserved: {created} created, but {delivered} delivered, {dropped} dropped, \
                     {in_flight} in flight"
                ),
            ));
        }
        Ok(())
    }

    pub(crate) fn violation(&self, place: Place, message: String) -> Box<Violation> {
        Box::new(Violation { at: self.now, place, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pipe, Relay, link};
    use crate::{DeviceNode, DeviceSettings, Drive, Owner, Spent, World};
    use base_time::{Duration, Rate, Rng, Time};

    fn mbit(n: u64) -> Option<Rate> {
        Some(Rate::from_bits_per_s(n * 1_000_000))
    }

    /// Two ends on one slow link, with frames queued and in flight.
    fn busy() -> Relay {
        let mut link = link([(Node::End(0), 0), (Node::End(1), 0)], mbit(1));
        link.settings.delay = Duration::from_ms(5);
        let mut relay = Relay::new(Network::new(vec![], 2, [link], &Rng::new(1)).unwrap());
        for _ in 0..10 {
            relay.send(0, vec![0; 100], Owner::NOBODY).unwrap();
        }
        relay.run_until(Time::ZERO + Duration::from_ms(4)).unwrap();
        assert!(relay.network.wires[0].flying() > 0 && !relay.network.outlets[0].queue.is_empty());
        relay
    }

    #[test]
    fn what_the_network_itself_loses_or_invents_is_seen() {
        let tampered = |tamper: fn(&mut Network<()>)| {
            let mut relay = busy();
            tamper(&mut relay.network);
            relay.network.check_all().unwrap_err().place
        };
        assert_eq!(tampered(|n| drop(n.outlets[0].queue.pop(Time::ZERO))), Place::End(0));
        let from_wire = tampered(|n| {
            n.wires[0].deliver(Time::MAX);
            n.wires[0].medium.counts.delivered -= 1;
        });
        assert_eq!(from_wire, Place::Wire(0));
        let on_the_way = tampered(|n| drop(n.wires[0].deliver(Time::MAX)));
        assert_eq!(on_the_way, Place::Network, "delivered, but nobody received it");
        assert_eq!(tampered(|n| n.ends[1].counts.absorbed += 1), Place::End(1));
        let both = tampered(|n| {
            n.ends[1].counts.absorbed += 1;
            n.ends[1].counts.received += 1;
        });
        assert_eq!(both, Place::Network);
    }

    #[test]
    fn a_loss_is_seen_by_the_next_event_there() {
        let mut relay = busy();
        relay.network.outlets[0].queue.pop(Time::ZERO);
        let violation = relay.run_until(Time::MAX).unwrap_err();
        assert!(violation.message.starts_with("packets are not conserved: 0 received and 10 created"));
    }

    /// A device between the ends, with packets inside and in the queue of its port 2.
    fn busy_device() -> Relay {
        let settings =
            DeviceSettings { service: Duration::from_us(20), parallel: 1, ..DeviceSettings::default() };
        let device = DeviceNode::new(Box::new(Pipe::default()), settings, Spent::default());
        let dev = Node::Device(0);
        let links =
            [link([(Node::End(0), 0), (dev, 1)], mbit(100)), link([(Node::End(1), 0), (dev, 2)], mbit(1))];
        let mut relay = Relay::new(Network::new(vec![device], 2, links, &Rng::new(1)).unwrap());
        for _ in 0..10 {
            relay.send(0, vec![0; 100], Owner::NOBODY).unwrap();
        }
        while relay.network.devices[0].counts.queued < 3 || relay.network.devices[0].inside() == 0 {
            assert!(relay.next_event(Time::MAX).unwrap());
        }
        relay
    }

    #[test]
    fn what_a_device_counts_is_compared_with_what_is_there() {
        let lose = |relay: &mut Relay| {
            let network = relay.network_mut();
            let outlet = network.devices[0].outlet_of(2);
            network.outlets[outlet as usize].queue.pop(network.now);
        };
        let mut relay = busy_device();
        relay.network.check_all().unwrap();
        lose(&mut relay);
        let violation = relay.network.check_all().unwrap_err();
        assert_eq!(violation.place, Place::Device(0));
        let counted = "2 queued and 1 inside, but counted are 3 and 1";
        assert!(violation.message.ends_with(counted), "{violation:?}");
        let mut relay = busy_device();
        relay.network.devices[0].counts.queued -= 1;
        let before = relay.network.now;
        let violation = relay.run_until(Time::MAX).unwrap_err();
        assert_eq!(violation.place, Place::Device(0));
        let soon = violation.at.since(before) < Duration::from_us(100);
        assert!(soon, "by the next event there: {violation:?}");
    }
}
