//! The way of a packet: out of a queue, over a wire, into a host or through a device, into a queue.

use crate::calendar::Event;
use crate::device::Work;
use crate::emulator::Emulator;
use crate::log::{Entry, digest};
use crate::medium::Sent;
use crate::outlet::Waiting;
use crate::place::{Owner, Place, Reason};
use crate::queue::Refused;
use crate::violation::Violation;
use dataplane_api::{QueueRecord, Queued};
use rack_model::{DeviceId, HostId, NodeId};

/// Packets that one event may take through egress; others wait for an event of their own at the same time.
const EGRESS_BUDGET: u32 = 256;

impl Emulator {
    pub(crate) fn happen(&mut self, event: Event) -> Result<(), Box<Violation>> {
        match event {
            Event::Arrive(wire) => self.arrive(wire as usize),
            Event::Served(device) => self.served(device as usize),
            Event::Wake(outlet) => self.wake(outlet),
            Event::Timer(device) => self.timer(device as usize),
            Event::Inject(slot) => self.inject(slot),
            Event::Program { workload, timer } => self.tick_program(workload, timer),
            Event::Fault { fault, begins } => self.fault(fault, begins),
        }
    }

    fn inject(&mut self, slot: u32) -> Result<(), Box<Violation>> {
        let Some((host, frame)) = self.injections[slot as usize].take() else {
            return Ok(());
        };
        self.free_injections.push(slot);
        self.host_sends(host as usize, frame, Owner::NOBODY)
    }

    pub(crate) fn host_sends(
        &mut self,
        host: usize,
        frame: Vec<u8>,
        owner: Owner,
    ) -> Result<(), Box<Violation>> {
        let node = &mut self.hosts[host];
        node.counts.created += 1;
        let outlet = node.outlet;
        let waiting = Waiting::Frame(frame, owner);
        if let Err(refused) = self.outlets[outlet as usize].queue.push(0, waiting, self.now) {
            self.hosts[host].counts.dropped += 1;
            self.refuse(outlet, refused, owner);
        }
        self.send_from(outlet)?;
        self.check_host(HostId(host as u32))
    }

    fn refuse(&mut self, outlet: u32, refused: Refused, owner: Owner) {
        self.outlets[outlet as usize].refused += 1;
        let reason = match refused {
            Refused::Full => Reason::QueueFull,
            Refused::NoSuchPriority => Reason::NoSuchPriority,
        };
        self.drop_at(Place::Outlet(outlet), reason, owner);
    }

    fn wake(&mut self, outlet: u32) -> Result<(), Box<Violation>> {
        self.outlets[outlet as usize].is_woken = false;
        self.send_from(outlet)?;
        self.check_node(self.outlets[outlet as usize].node)
    }

    /// Sends what can be sent from this outlet, and from those that this fills.
    fn send_from(&mut self, outlet: u32) -> Result<(), Box<Violation>> {
        self.ready.push_back(outlet);
        self.send_ready()
    }

    fn send_ready(&mut self) -> Result<(), Box<Violation>> {
        let mut budget = EGRESS_BUDGET;
        while let Some(outlet) = self.ready.pop_front() {
            self.empty_outlet(outlet, &mut budget)?;
        }
        Ok(())
    }

    /// Sends from an outlet until it is empty or its wire is busy.
    fn empty_outlet(&mut self, at: u32, budget: &mut u32) -> Result<(), Box<Violation>> {
        loop {
            let outlet = &mut self.outlets[at as usize];
            if outlet.queue.is_empty() {
                return Ok(());
            }
            let free_at = outlet.wire.map_or(self.now, |wire| self.wires[wire as usize].medium.free_at);
            if free_at > self.now || *budget == 0 {
                if !std::mem::replace(&mut outlet.is_woken, true) {
                    self.calendar.schedule(free_at.max(self.now), Event::Wake(at));
                }
                return Ok(());
            }
            *budget -= 1;
            match (outlet.queue.pop(self.now), outlet.node) {
                (Some(Waiting::Frame(frame, owner)), NodeId::Host(HostId(host))) => {
                    self.hosts[host as usize].counts.sent += 1;
                    self.transmit(at, frame, owner)?;
                }
                (
                    Some(Waiting::Packet { packet, enqueued, depth, owner }),
                    NodeId::Device(DeviceId(device)),
                ) => {
                    self.devices[device as usize].counts.queued -= 1;
                    let depth_at_dequeue = outlet.queue.len();
                    let record = QueueRecord { enqueued, depth_at_enqueue: depth, depth_at_dequeue };
                    self.egress(device as usize, at, (packet, owner), record)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// A packet leaves its queue: egress, then the wire.
    fn egress(
        &mut self,
        device: usize,
        outlet: u32,
        (packet, owner): (Queued, Owner),
        record: QueueRecord,
    ) -> Result<(), Box<Violation>> {
        let id = DeviceId(device as u32);
        let port = packet.replica.port;
        let result = self.devices[device].egress(packet, record, self.now);
        let told = self.devices[device].audit_egress(port, &result);
        told.map_err(|message| self.violation(NodeId::Device(id), message))?;
        self.log_program_drops(device, owner);
        self.enqueue(device, result.requeued, owner);
        for packet in result.again {
            self.device_takes(device, Work::Again(packet, owner))?;
        }
        self.watch_timer(device);
        match (result.output, self.outlets[outlet as usize].wire) {
            (None, _) => Ok(()),
            (Some(output), Some(_)) => {
                self.devices[device].counts.sent += 1;
                self.transmit(outlet, output.frame, owner)
            }
            (Some(_), None) => {
                self.devices[device].counts.dropped += 1;
                self.drop_at(Place::Port(id.0, port), Reason::NoLink, owner);
                Ok(())
            }
        }
    }

    /// A frame goes onto the wire behind an outlet.
    #[inline]
    fn transmit(&mut self, outlet: u32, mut frame: Vec<u8>, owner: Owner) -> Result<(), Box<Violation>> {
        let Some(wire) = self.outlets[outlet as usize].wire else {
            return Ok(());
        };
        let state = &mut self.wires[wire as usize];
        state.medium.pad(&mut frame);
        let digest = digest(&frame);
        let entry = Entry::Sent { wire, bytes: frame.len() as u32, digest };
        self.trace(digest, &frame, wire);
        let sent = self.wires[wire as usize].send(frame, owner, self.now);
        match sent {
            Sent::TooLong => self.drop_at(Place::Wire(wire), Reason::TooLong, owner),
            Sent::Lost => {
                self.log(entry);
                self.drop_at(Place::Wire(wire), Reason::Loss, owner);
            }
            Sent::Cut => {
                self.log(entry);
                self.drop_at(Place::Wire(wire), Reason::LinkDown, owner);
            }
            Sent::ArrivesTwice(at) => {
                self.log(entry);
                self.calendar.schedule(at, Event::Arrive(wire));
                self.calendar.schedule(at, Event::Arrive(wire));
            }
            Sent::Arrives(at) => {
                self.log(entry);
                self.calendar.schedule(at, Event::Arrive(wire));
            }
        }
        self.check_wire(wire)
    }

    fn arrive(&mut self, wire: usize) -> Result<(), Box<Violation>> {
        let Some((frame, owner)) = self.wires[wire].deliver(self.now) else {
            return self.check_wire(wire as u32);
        };
        let (to, link) = (self.wires[wire].to, self.wires[wire].link);
        self.log(Entry::Arrived { wire: wire as u32, bytes: frame.len() as u32 });
        if let Some(Some(recording)) = self.recordings.get_mut(link.0 as usize) {
            recording.add(self.now, &frame);
        }
        match to.node {
            NodeId::Host(id) => self.host_receives(id, frame, owner)?,
            NodeId::Device(DeviceId(device)) => {
                self.devices[device as usize].counts.arrived += 1;
                self.device_takes(device as usize, Work::Frame(to.port, frame, owner))?;
                self.check_device(DeviceId(device))?;
            }
        }
        self.check_wire(wire as u32)
    }

    /// A packet comes to a device: it gets inside, waits, or is dropped.
    pub(crate) fn device_takes(&mut self, device: usize, work: Work) -> Result<(), Box<Violation>> {
        let owner = work.owner();
        if self.devices[device].is_down {
            self.devices[device].counts.dropped += 1;
            self.drop_at(Place::Device(device as u32), Reason::DeviceDown, owner);
            return Ok(());
        }
        let node = &mut self.devices[device];
        let keeps_out = node.keeps_out(&work);
        if !keeps_out && node.has_room() {
            return self.enter(device, work);
        }
        let fits = if keeps_out { node.keep(work) } else { node.wait(work) };
        if !fits {
            node.counts.dropped += 1;
            self.drop_at(Place::Device(device as u32), Reason::BacklogFull, owner);
        }
        Ok(())
    }

    fn enter(&mut self, device: usize, work: Work) -> Result<(), Box<Violation>> {
        let node = &mut self.devices[device];
        let owner = work.owner();
        let entered = node.enter(work, self.now);
        let id = NodeId::Device(DeviceId(device as u32));
        let through = entered.map_err(|message| self.violation(id, message))?;
        self.log_program_drops(device, owner);
        self.calendar.schedule(through, Event::Served(device as u32));
        self.watch_timer(device);
        Ok(())
    }

    /// The packet that has been longest inside is through; the next one gets inside.
    fn served(&mut self, device: usize) -> Result<(), Box<Violation>> {
        let Some((queued, owner)) = self.devices[device].leave(self.now) else { return Ok(()) };
        self.enqueue(device, queued, owner);
        if let Some(work) = self.devices[device].next_work() {
            self.enter(device, work)?;
        }
        self.send_ready()?;
        self.check_device(DeviceId(device as u32))
    }

    fn log_program_drops(&mut self, device: usize, owner: Owner) {
        while let Some(reason) = self.devices[device].next_fresh_drop() {
            let place = Place::Device(device as u32);
            let reason = Reason::Program(reason);
            self.own_drop(place, reason, owner);
            self.log(Entry::Dropped { place, reason });
        }
    }

    /// Puts packets into the queues of their ports, which become ready.
    fn enqueue(&mut self, device: usize, queued: Vec<Queued>, owner: Owner) {
        for packet in queued {
            let (at, _) = self.devices[device].outlet_of(packet.replica.port);
            let outlet = &mut self.outlets[at as usize];
            let priority = packet.replica.priority;
            let (enqueued, depth) = (self.now, outlet.queue.len());
            let waiting = Waiting::Packet { packet, enqueued, depth, owner };
            match outlet.queue.push(priority, waiting, self.now) {
                Ok(()) => {
                    self.devices[device].counts.queued += 1;
                    self.ready.push_back(at);
                }
                Err(refused) => {
                    self.devices[device].counts.dropped += 1;
                    self.refuse(at, refused, owner);
                }
            }
        }
    }

    fn timer(&mut self, device: usize) -> Result<(), Box<Violation>> {
        let node = &mut self.devices[device];
        if node.timer != Some(self.now) {
            return Ok(());
        }
        node.timer = None;
        if node.deadline().is_some_and(|at| at <= self.now) {
            let queued = node.tick(self.now);
            let id = DeviceId(device as u32);
            let queued = queued.map_err(|message| self.violation(NodeId::Device(id), message))?;
            self.log(Entry::Ticked { device: id.0 });
            self.log_program_drops(device, Owner::NOBODY);
            self.enqueue(device, queued, Owner::NOBODY);
            self.send_ready()?;
            self.check_device(id)?;
        }
        self.watch_timer(device);
        Ok(())
    }

    /// Sees to it that the calendar asks for a device's timers no later than they run out.
    pub(crate) fn watch_timer(&mut self, device: usize) {
        let node = &mut self.devices[device];
        let Some(deadline) = node.deadline() else {
            return;
        };
        let at = deadline.max(self.now);
        if node.timer.is_none_or(|planned| at < planned) {
            node.timer = Some(at);
            self.calendar.schedule(at, Event::Timer(device as u32));
        }
    }
}
