//! Code at work on a device: packets of a batch run through it; packets that leave it continue in the device.

use crate::access::Access;
use crate::arrivals::Arrivals;
use crate::batch::BatchRunner;
use crate::code::Part;
use crate::compiled::Build;
use crate::context::{Context, Left, REASONS, arguments};
use crate::early::{self, Early};
use crate::machine::Machine;
use crate::memory::Memory;
use crate::packet::{Fate, Packet};
use crate::parked::Parked;
use crate::runtime::{Colours, Job, Leaving, To};
use crate::tables::TableReplicas;
use crate::tna_runtime::TnaRequests;
use base_time::Time;
use dataplane_api::{Output, QueuedPacket};
use dataplane_tables::Tables;
use device::QueueDepths;
use device::v1model::{self, Ingress, QueueMetadata};
use device::{AtWork, PacketBudget};
use ir_interp::Interpreter;
use ir_value::Value;
use std::sync::Arc;

/// Lines of cells that the packets of a run ask for ahead, if each asks for one of each far array: they have to be in the second-level cache when
/// the packets run.
const AHEAD: usize = 2048;

/// The code of a program with its data.
pub(crate) struct Native {
    pub(crate) build: Arc<Build>,
    /// Stands for this engine.
    itself: Arc<()>,
    pub(crate) memory: Memory,
    pub(crate) values: Vec<Value>,
    /// Frames that were too long for their packets' buffers in the last run.
    pub(crate) outputs: Vec<Output>,
    /// Kept from one run to the next, so that nothing is made for each packet: see [`Job`].
    colours: Colours,
    chosen: Vec<u64>,
    pub(crate) table_replicas: TableReplicas,
    queue_depths: Arc<QueueDepths>,
    /// Answers of lookups that are made early.
    early: Box<Early>,
    /// Room for packets that are yet to come; in boxes, as queues take them.
    #[allow(clippy::vec_box)]
    pub(crate) free: Vec<Box<Parked>>,
    pub(crate) interpreted: u64,
    /// There is code for received frames; what is there once stays. Asked with each frame.
    pub(crate) takes_frames: bool,
    /// Interpreter for parts without code.
    pub(crate) rest: Interpreter,
}

impl BatchRunner for Native {
    fn batch(
        &mut self,
        access: &mut Access<'_>,
        mut packets: &mut [Packet],
        came_of: &mut Vec<usize>,
        mut arrivals: Option<&mut Arrivals>,
        now: Time,
    ) -> Vec<Output> {
        let (mut outputs, received, mut sent) = (vec![], packets.len() as u64, 0);
        let mut first = 0;
        let most = AHEAD / self.table_replicas.far_cells().max(1);
        while !packets.is_empty() {
            let count = packets.len().min(most.max(1));
            let arrivals = arrivals.as_deref_mut().map(|arrivals| (arrivals, first));
            let start = Start::Fresh { timestamp: now.as_us(), arrivals };
            let ran = self.run(access, Part::Whole, &mut packets[..count], start, now);
            sent += ran.sent;
            if !self.outputs.is_empty() {
                // Each output is the only result of its packet.
                let elsewhere = packets.iter().enumerate().filter(|(_, p)| p.fate() == Fate::Elsewhere);
                came_of.extend(elsewhere.map(|(at, _)| first + at).take(self.outputs.len()));
                outputs.append(&mut self.outputs);
            }
            let Some(left) = ran.left else {
                (first, packets) = (first + count, &mut packets[count..]);
                continue;
            };
            let Leaving { to, packet } = *left;
            let at = (packet - packets.as_ptr().addr()) / size_of::<Packet>();
            let behind = at + 1;
            let done = match to {
                To::Copies(packet, Left::Ingress) => Ok(Ingress::Ended(Box::new(packet))),
                To::Copies(packet, Left::Egress) => Err(packet),
                To::FrameExtern(call) => {
                    let called = self.called(access, &mut packets[at], call, now);
                    Ok(called.map_or(Ingress::Gone, |called| Ingress::Called(Box::new(called))))
                }
            };
            let (core, blocks) = access.parts();
            let device = AtWork { core, blocks, runner: self };
            outputs.extend(match done {
                Ok(done) => device.v1model_after_ingress(done, now),
                Err(packet) => device.v1model_after_egress(packet, now),
            });
            came_of.resize(outputs.len(), first + at);
            first += behind;
            packets = &mut packets[behind..];
        }
        access.count(received, sent);
        access.hand_over();
        outputs
    }

    fn read(&mut self, tables: &Tables) {
        self.table_replicas.read(tables);
    }

    fn interpreted(&self) -> u64 {
        self.interpreted
    }
}

impl Native {
    pub(crate) fn new(
        build: Arc<Build>,
        table_replicas: TableReplicas,
        queue_depths: Arc<QueueDepths>,
    ) -> Native {
        let memory = Memory::new(build.layout.bytes);
        let (values, rest) = (build.zeros.clone(), build.rest.clone());
        Native {
            build,
            itself: Arc::default(),
            memory,
            values,
            outputs: vec![],
            colours: (None, vec![]),
            chosen: vec![],
            table_replicas,
            queue_depths,
            early: Box::default(),
            free: vec![],
            interpreted: 0,
            takes_frames: false,
            rest,
        }
    }

    /// Runs packets by the code of a part, up to one that leaves it. Inlined, because its arguments and results are as
    /// long as a hop's copies.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        access: &mut Access,
        part: Part,
        packets: &mut [Packet],
        start: Start<'_>,
        now: Time,
    ) -> Ran {
        self.table_replicas.follow(access);
        let (queue_depths, other_ports) = self.queue_depths.parts();
        let mut context = Context {
            frame: self.memory.address(),
            tables: self.table_replicas.refs(),
            cells: self.table_replicas.cells(),
            value_sets: self.table_replicas.value_sets(),
            job: std::ptr::null_mut(),
            now: now.as_us(),
            instant: now.as_ps(),
            ahead: u64::from(packets.len() > 1 && self.table_replicas.are_far()),
            asked: self.table_replicas.asked(),
            arrivals: std::ptr::null_mut(),
            batch: std::ptr::null(),
            end: packets.as_ptr().wrapping_add(packets.len()),
            next_stop: std::ptr::null(),
            next_early: std::ptr::null(),
            early_distances: [0; early::MOST],
            arguments: [0; arguments::COUNT],
            queueing: QueueMetadata::default(),
            queue_depths,
            other_ports: other_ports.into(),
            found: 0,
            sent: 0,
            dropped: [0; REASONS.len()],
        };
        self.outputs.clear();
        let looks_up = context.ahead == 0 && self.looks_up_early(part, packets.len());
        let (machine, mut job) = self.job(access, part, now);
        match start {
            Start::Fresh { timestamp, arrivals } => {
                context.now = timestamp;
                if let Some((arrivals, first)) = arrivals {
                    context.batch = packets.as_ptr().wrapping_sub(first);
                    context.next_stop = context.batch.wrapping_add(arrivals.next());
                    context.arrivals = arrivals;
                }
                if looks_up {
                    context.next_early = packets.as_ptr();
                    context.next_stop = packets.as_ptr();
                }
            }
            Start::Frame(queueing, budget) => {
                context.queueing = queueing;
                job.budget = budget;
            }
            Start::Half(numbers, budget) => {
                context.arguments = numbers;
                job.budget = Some(budget);
            }
            Start::Values(values, queueing) => {
                context.queueing = queueing;
                if let Some(packet) = packets.first() {
                    job.set_parts(values, packet);
                }
            }
        }
        machine.run(&mut context, &mut job, packets);
        job.spend();
        let ran =
            Ran { sent: context.sent + job.outputs.len() as u64, left: job.left.take(), tna: job.tna.take() };
        let interpreted = job.interpreted;
        self.interpreted += interpreted;
        if context.dropped.iter().fold(0, |all, packets| all | packets) > 0 {
            count_drops(access, &context.dropped);
        }
        ran
    }

    /// Whether keys of these packets are looked up before they run.
    #[inline(always)]
    fn looks_up_early(&self, part: Part, packets: usize) -> bool {
        let lookups = &self.build.whole.notes.early;
        part == Part::Whole
            && !lookups.is_empty()
            && Early::is_worth(lookups, self.table_replicas.table_refs(), packets)
    }

    /// Job for the code of a part: the state beside the context.
    #[inline(always)]
    pub(crate) fn job<'j, 'h>(
        &'j mut self,
        access: &'j mut Access<'h>,
        part: Part,
        now: Time,
    ) -> (&'j Machine, Job<'j, 'h>) {
        let build = &*self.build;
        let coded = build.coded(part);
        self.colours.0 = None;
        let job = Job {
            access,
            rest: &mut self.rest,
            layout: &build.layout,
            memory: &mut self.memory,
            values: &mut self.values,
            zeros: &build.zeros,
            notes: &coded.notes,
            table_replicas: &self.table_replicas,
            early: &mut self.early,
            now,
            outputs: &mut self.outputs,
            interpreted: 0,
            colours: &mut self.colours,
            chosen: &mut self.chosen,
            left: None,
            budget: None,
            tna: None,
        };
        (&coded.machine, job)
    }

    /// Room for a packet.
    #[inline(always)]
    pub(crate) fn room(&mut self) -> Box<Parked> {
        self.free.pop().unwrap_or_else(|| Box::new(Parked::new(&self.itself, &self.build)))
    }

    /// A packet that waits is back, with its frame; if it is none of ours, it is given back.
    pub(crate) fn fetch(&mut self, packet: QueuedPacket) -> Result<Box<Parked>, QueuedPacket> {
        let mut parked = packet.downcast::<Parked>()?;
        if !parked.is_of(&self.itself) {
            return Err(parked);
        }
        parked.exchange(&mut self.memory, &mut self.values);
        Ok(parked)
    }
}

/// Counts the packets that were dropped. By itself, so that the counts stay in memory where there are none.
#[cold]
fn count_drops(access: &mut Access, dropped: &[u64; REASONS.len()]) {
    let dropped = REASONS.into_iter().zip(dropped).filter(|(_, packets)| **packets > 0);
    dropped.for_each(|(reason, packets)| access.dropped(reason, *packets));
}

/// Result of a run.
pub(crate) struct Ran {
    /// Frames that went out, with those in [`Native::outputs`].
    pub(crate) sent: u64,
    pub(crate) left: Option<Box<Leaving>>,
    /// Requests of a half of TNA to the traffic manager.
    pub(crate) tna: Option<Box<TnaRequests>>,
}

/// Start of a packet.
pub(crate) enum Start<'p> {
    /// The packets were received; the program sees this timestamp. If their frames are still to arrive, so many packets of the batch stand in
    /// front of them.
    Fresh { timestamp: u64, arrivals: Option<(&'p mut Arrivals, usize)> },
    /// The packet is in the stack frame, and has left its queue.
    Frame(QueueMetadata, Option<PacketBudget>),
    /// Arguments of half of PSA or TNA.
    Half([u64; arguments::COUNT], PacketBudget),
    /// The packet is given as values, and has left its queue if it was in one.
    Values(&'p v1model::Packet, QueueMetadata),
}
