//! The whole path of a packet: the same steps as `device`'s v1model, in the same order, as long as nothing rare
//! happens.

use super::Part;
use super::{Code, Made, PLAIN, type_of};
use crate::context::{Context, FUEL, Left};
use crate::layout::{NONE, Node};
use crate::packet::{DROPPED, Packet, WAITS};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use dataplane_api::DropReason;
use device::PortQueue;
use device::stage::BlockName;
use std::mem::offset_of;

impl<'a> Code<'a, '_> {
    /// The function: all packets.
    pub(crate) fn batch(&mut self, part: Part, packets: Value, count: Value) -> Made<()> {
        if part == Part::Whole {
            let ahead = self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, ahead) as i32);
            self.branch(
                ahead,
                |code| {
                    code.ahead = true;
                    code.each_packet(packets, count, true, Self::ingress)?;
                    code.ahead = false;
                    code.b.ins().call(code.calls.asked, &[code.context]);
                    Ok(())
                },
                |_| Ok(()),
            )?;
        }
        self.each_packet(packets, count, part == Part::Whole, |code| match part {
            Part::Whole => match code.classes() {
                Some(classes) => code.each_class(&classes),
                None => {
                    code.begin();
                    code.parse()?;
                    code.pass(&[])
                }
            },
            Part::Ingress => {
                code.ingress()?;
                code.end_ingress();
                Ok(())
            }
            Part::Deparse => code.deparse_packet(),
            Part::Resume(at, is_fresh) => code.resume(at, is_fresh),
            Part::Egress => {
                code.fill_packet();
                code.leave_queue();
                code.control(BlockName::Egress)?;
                code.clone_or_recirculate();
                code.out(false)
            }
            Part::Again => {
                code.fill_packet();
                let start = code.scalar(code.layout.registers.start);
                code.set_scalar(code.layout.registers.cursor, start);
                code.parse_and_ingress()?;
                code.end_ingress();
                Ok(())
            }
            Part::Out => {
                code.fill_packet();
                code.out(code.facts.recirculates)
            }
            Part::Half(half) if code.is_tna() => code.tna_half(half),
            Part::Half(half) => code.half(half),
        })?;
        self.b.ins().return_(&[]);
        Ok(())
    }

    /// Goes on to the first block given if something is to be done before this packet, and to the second from there: both are not made yet.
    fn stop(&mut self) -> [Block; 2] {
        let at = offset_of!(Context, next_stop) as i32;
        let next = self.b.ins().load(types::I64, PLAIN, self.context, at);
        let is_next = self.b.ins().icmp(IntCC::Equal, self.packet, next);
        let [stops, on] = [(); 2].map(|()| self.b.create_block());
        self.b.set_cold_block(stops);
        self.b.ins().brif(is_next, stops, &[], on, &[]);
        self.b.seal_block(stops);
        self.b.switch_to_block(on);
        [stops, on]
    }

    /// Lets frames arrive and looks keys up.
    fn stopped(&mut self, [stops, on]: [Block; 2], packet: Value) -> Made<()> {
        self.b.switch_to_block(stops);
        let call = self.b.ins().call(self.calls.stop, &[self.context]);
        let count = self.b.inst_results(call)[0];
        self.look_up_early(packet, count)?;
        self.b.ins().jump(on, &[]);
        self.b.seal_block(on);
        Ok(())
    }

    /// A loop over packets, one after the other. `is_whole`: frames may still have to arrive, or keys to be looked up.
    fn each_packet(
        &mut self,
        packets: Value,
        count: Value,
        is_whole: bool,
        work: impl FnOnce(&mut Self) -> Made<()>,
    ) -> Made<()> {
        let packet = self.b.declare_var(types::I64);
        let left = self.b.declare_var(types::I64);
        self.b.def_var(packet, packets);
        self.b.def_var(left, count);
        let [head, body, end, next] = [(); 4].map(|()| self.b.create_block());
        self.next = next;
        self.is_whole = is_whole;
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let more = self.b.use_var(left);
        self.b.ins().brif(more, body, &[], end, &[]);
        self.b.seal_block(body);
        self.b.seal_block(end);
        self.b.switch_to_block(body);
        self.packet = self.b.use_var(packet);
        let stop = is_whole.then(|| self.stop());
        let first = self.packet;
        work(self)?;
        if self.ahead {
            self.b.ins().jump(next, &[]);
        }
        self.drops();
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.keep_touched();
        self.touched = None;
        let at = self.b.use_var(packet);
        let at = self.b.ins().iadd_imm_s(at, size_of::<Packet>() as i64);
        self.b.def_var(packet, at);
        let more = self.b.use_var(left);
        let more = self.b.ins().iadd_imm_s(more, -1);
        self.b.def_var(left, more);
        self.b.ins().jump(head, &[]);
        self.b.seal_block(head);
        if let Some(stop) = stop {
            self.stopped(stop, first)?;
        }
        self.b.switch_to_block(end);
        Ok(())
    }

    /// The blocks where packets are dropped.
    fn drops(&mut self) {
        for (reason, block) in std::mem::take(&mut self.drops) {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            let at = (offset_of!(Context, dropped) + 8 * reason as usize) as i32;
            let count = self.b.ins().load(types::I64, PLAIN, self.context, at);
            let count = self.b.ins().iadd_imm_s(count, 1);
            self.b.ins().store(PLAIN, count, self.context, at);
            self.b.ins().jump(self.next, &[]);
        }
    }

    /// From the receipt of a packet to the end of ingress.
    fn ingress(&mut self) -> Made<()> {
        self.begin();
        self.parse_and_ingress()
    }

    /// From the end of the parser to the end of the packet. Paths through ingress after which numbers of the scalars `apart` are known
    /// have code of their own.
    pub(crate) fn pass(&mut self, apart: &[usize]) -> Made<()> {
        self.verify_checksums()?;
        if apart.is_empty() {
            self.control(BlockName::Ingress)?;
            return self.after_ingress();
        }
        let control = self.program.control(self.facts.controls[&BlockName::Ingress]);
        self.begin_control(BlockName::Ingress)?;
        for end in self.stmts_apart(&control.body.stmts, apart)? {
            self.b.switch_to_block(end.block);
            self.after_ingress()?;
        }
        Ok(())
    }

    fn after_ingress(&mut self) -> Made<()> {
        let port = self.traffic_manager();
        self.enqueue(port);
        self.leave_queue_at_once();
        self.control(BlockName::Egress)?;
        self.clone_or_recirculate();
        self.out(false)
    }

    fn parse_and_ingress(&mut self) -> Made<()> {
        self.parse()?;
        self.verify_checksums()?;
        self.control(BlockName::Ingress)
    }

    fn verify_checksums(&mut self) -> Made<()> {
        if !self.ahead {
            self.keep_sum();
            self.control(BlockName::Verify)?;
        }
        if self.facts.verifies {
            let error = self.scalar(self.layout.registers.checksum_error);
            self.set_field("checksum_error", error);
        }
        Ok(())
    }

    pub(crate) fn parse(&mut self) -> Made<()> {
        self.enter(BlockName::Parser);
        if self.ahead && !self.can_parse() {
            self.end_ahead();
        } else if self.can_parse() {
            self.locals(BlockName::Parser);
            let error = self.parser()?;
            match &self.layout.half {
                None => self.set_field("parser_error", error),
                Some(homes) => self.set_scalar(homes.error, error),
            }
        } else {
            self.notes.stages.push(BlockName::Parser);
            self.interpret_stage(BlockName::Parser);
        }
        Ok(())
    }

    /// Everything after egress; `keeps` says that the packet's metadata is read afterwards.
    fn out(&mut self, keeps: bool) -> Made<()> {
        self.drop_marked(DropReason::Egress);
        self.control(BlockName::Compute)?;
        if keeps {
            self.spill_packet();
        }
        self.begin_deparser()?;
        self.deparser()
    }

    pub(crate) fn begin_deparser(&mut self) -> Made<()> {
        self.enter(BlockName::Deparser);
        self.locals(BlockName::Deparser);
        let control = self.program.control(self.facts.controls[&BlockName::Deparser]);
        self.stmts(&control.locals)
    }

    /// The traffic manager, and then the packet waits.
    pub(crate) fn end_ingress(&mut self) {
        let port = self.traffic_manager();
        self.enqueue(port);
        self.wait(port);
    }

    pub(crate) fn enter(&mut self, block: BlockName) {
        self.block = block;
        self.nodes = self.layout.block(block);
        self.enter_half(block);
    }

    /// Variables of the block that are no parameters are zero.
    pub(crate) fn locals(&mut self, block: BlockName) {
        let params = match self.facts.controls.get(&block) {
            Some(id) => &self.program.control(*id).params,
            None => &self.program.parser(self.facts.parser).params,
        };
        let nodes = self.nodes;
        for (at, node) in nodes.iter().enumerate() {
            if !params.iter().any(|param| param.index() == at) {
                self.zero(node);
            }
        }
    }

    pub(crate) fn control(&mut self, block: BlockName) -> Made<()> {
        let control = self.program.control(self.facts.controls[&block]);
        if control.body.stmts.is_empty() {
            return Ok(());
        }
        self.begin_control(block)?;
        self.stmts(&control.body.stmts)
    }

    fn begin_control(&mut self, block: BlockName) -> Made<()> {
        self.enter(block);
        self.locals(block);
        self.stmts(&self.program.control(self.facts.controls[&block]).locals)
    }

    /// A new packet: all metadata is zero except for fields that v1model sets.
    pub(crate) fn begin(&mut self) {
        self.stored.clear();
        let field =
            |code: &mut Self, offset: usize, ty| code.b.ins().load(ty, PLAIN, code.packet, offset as i32);
        let buffer = field(self, offset_of!(Packet, buffer), types::I64);
        let first = field(self, offset_of!(Packet, start), types::I32);
        let length = field(self, offset_of!(Packet, length), types::I32);
        let port = field(self, offset_of!(Packet, in_port), types::I32);
        if !self.ahead {
            let fate = self.number(types::I32, u64::from(DROPPED));
            self.b.ins().store(PLAIN, fate, self.packet, offset_of!(Packet, fate) as i32);
        }
        let (first, wide) = (self.resize(first, types::I64), self.resize(length, types::I64));
        let start = self.b.ins().iadd(buffer, first);
        let end = self.b.ins().iadd(start, wide);
        self.received = Some([start, end]);
        let registers = self.layout.registers;
        let none = self.number(types::I64, NONE as u64);
        let (no, fuel) = (
            self.number(types::I8, 0),
            self.number(types::I32, if self.ahead { super::ahead::FUEL } else { FUEL }),
        );
        let zero = self.number(types::I32, 0);
        for (index, value) in [
            (registers.start, start),
            (registers.cursor, start),
            (registers.end, end),
            (registers.length, wide),
            (registers.truncate, none),
            (registers.clone, none),
            (registers.resubmit, none),
            (registers.recirculate, none),
            (registers.checksum_error, no),
            (registers.fuel, fuel),
            (registers.ingress_port, port),
            (registers.egress_port, zero),
            (registers.pass_length, wide),
        ] {
            self.set_scalar(index, value);
        }
        let (from, to) = self.layout.arrays;
        let arrays = self.at(from);
        self.clear(arrays, (to - from) as usize);
        if (!self.layout.values.is_empty() || self.facts.meters) && !self.ahead {
            self.b.ins().call(self.calls.reset, &[self.context]);
        }
        self.zero_roles();
        let now = self.now();
        self.set_field("ingress_port", port);
        self.set_field("packet_length", length);
        self.set_field("ingress_global_timestamp", now);
    }

    fn now(&mut self) -> Value {
        self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, now) as i32)
    }

    /// A field of the standard metadata, in the list of scalars.
    fn field(&self, name: &str) -> Option<usize> {
        let at = self.facts.standard.iter().position(|field| field == name)?;
        match &self.layout.roles[2] {
            Node::Struct(nodes) => match nodes.get(at) {
                Some(Node::Scalar(index)) => Some(*index),
                _ => None,
            },
            _ => None,
        }
    }

    /// Sets a field of the standard metadata, cut to its width.
    pub(crate) fn set_field(&mut self, name: &str, value: Value) {
        if let Some(index) = self.field(name) {
            self.set_to(index, value);
        }
    }

    /// Sets a scalar to a number, cut to its width.
    pub(crate) fn set_to(&mut self, index: usize, value: Value) {
        let kind = self.layout.scalars[index].kind;
        let value = self.resize(value, type_of(kind));
        let value = self.keep_low(value, kind.width());
        self.set_scalar(index, value);
    }

    pub(crate) fn set_field_to(&mut self, name: &str, value: u64) {
        if let Some(index) = self.field(name) {
            self.set_standard(index, value);
        }
    }

    fn get_field(&mut self, name: &str) -> Value {
        match self.field(name) {
            Some(index) => {
                let value = self.scalar(index);
                self.resize(value, types::I32)
            }
            None => self.number(types::I32, 0),
        }
    }

    /// Drops end, and whatever else was asked for but unicast is left. Gives the port.
    fn traffic_manager(&mut self) -> Value {
        let registers = self.layout.registers;
        let group = self.get_field("mcast_grp");
        let none = self.number(types::I32, 0);
        let is_unicast = self.equal(group, none);
        let mut rare = self.not(is_unicast);
        for (used, register) in
            [(self.facts.clones, registers.clone), (self.facts.resubmits, registers.resubmit)]
        {
            if used {
                let effect = self.scalar(register);
                let asked = self.b.ins().icmp_imm_s(IntCC::NotEqual, effect, NONE);
                rare = self.either(rare, asked);
            }
        }
        self.leave(rare, Left::Ingress);
        self.drop_marked(DropReason::Ingress)
    }

    /// Drops packets whose port says so. Gives the port.
    fn drop_marked(&mut self, reason: DropReason) -> Value {
        let port = self.get_field("egress_spec");
        let drop_port = self.number(types::I32, u64::from(self.facts.drop_port));
        let is_dropped = self.equal(port, drop_port);
        if self.is_known(is_dropped) != Some(false) {
            let block = self.drop_for(reason);
            self.leave_if(is_dropped, block, &[]);
        }
        port
    }

    /// The packet is for this port.
    fn enqueue(&mut self, port: Value) {
        self.set_scalar(self.layout.registers.egress_port, port);
        self.set_field_to("instance_type", 0);
    }

    /// The packet is in the frame, and its caller has it.
    fn wait(&mut self, port: Value) {
        let priority = self.get_field("priority");
        self.spill_packet();
        let fate = self.number(types::I32, u64::from(WAITS));
        for (value, offset) in [
            (port, offset_of!(Packet, out_port)),
            (priority, offset_of!(Packet, priority)),
            (fate, offset_of!(Packet, fate)),
        ] {
            self.b.ins().store(PLAIN, value, self.packet, offset as i32);
        }
        self.b.ins().jump(self.next, &[]);
    }

    /// No packet waits here: the queues behind the ports are as deep as their owners say.
    fn leave_queue_at_once(&mut self) {
        let now = self.now();
        let (depth, free_at) = self.queue();
        let left = self.b.ins().umax(now, free_at);
        let waited = self.b.ins().isub(left, now);
        self.set_queue_metadata([left, now, depth, waited, depth]);
    }

    /// Depth of the queue behind the egress port, and the time at which a packet leaves it: see [`QueueDepths`](device::QueueDepths). Loads
    /// nothing in programs that do not read it.
    fn queue(&mut self) -> (Value, Value) {
        let mut load = |offset: usize| self.b.ins().load(types::I64, PLAIN, self.context, offset as i32);
        let depths = load(offset_of!(Context, queue_depths));
        let others = load(offset_of!(Context, other_ports));
        let port = self.scalar(self.layout.registers.egress_port);
        let port = self.resize(port, types::I64);
        let at = self.b.ins().umin(port, others);
        let offset = self.b.ins().ishl_imm_u(at, 4);
        let address = self.b.ins().iadd(depths, offset);
        const { assert!(size_of::<PortQueue>() == 1 << 4) };
        let depth = self.b.ins().load(types::I32, PLAIN, address, offset_of!(PortQueue, depth) as i32);
        let free_at = self.b.ins().load(types::I64, PLAIN, address, offset_of!(PortQueue, free_at) as i32);
        (self.b.ins().uextend(types::I64, depth), free_at)
    }

    /// As long as the packet's queueing was.
    fn leave_queue(&mut self) {
        let queueing = [
            offset_of!(Context, queueing.left),
            offset_of!(Context, queueing.entered),
            offset_of!(Context, queueing.depth_entered),
            offset_of!(Context, queueing.waited),
            offset_of!(Context, queueing.depth_left),
        ];
        let queueing = queueing.map(|at| self.b.ins().load(types::I64, PLAIN, self.context, at as i32));
        self.set_queue_metadata(queueing);
    }

    /// Sets egress's metadata about the packet's time in its queue.
    fn set_queue_metadata(&mut self, [left, entered, depth_entered, waited, depth_left]: [Value; 5]) {
        let registers = self.layout.registers;
        let zero = self.number(types::I64, 0);
        let length = self.scalar(registers.length);
        let length = self.b.ins().smax(length, zero);
        let port = self.scalar(registers.egress_port);
        for (name, value) in [
            ("egress_global_timestamp", left),
            ("enq_timestamp", entered),
            ("enq_qdepth", depth_entered),
            ("deq_timedelta", waited),
            ("deq_qdepth", depth_left),
            ("egress_port", port),
            ("packet_length", length),
        ] {
            self.set_field(name, value);
        }
        self.set_field_to("egress_spec", u64::from(self.facts.drop_port) + 1);
    }

    /// Leaves packets that ask for a clone or to be recirculated.
    fn clone_or_recirculate(&mut self) {
        let registers = self.layout.registers;
        let mut rare: Option<Value> = None;
        for (used, register) in
            [(self.facts.clones, registers.clone), (self.facts.recirculates, registers.recirculate)]
        {
            if used {
                let effect = self.scalar(register);
                let asked = self.b.ins().icmp_imm_s(IntCC::NotEqual, effect, NONE);
                rare = Some(match rare {
                    Some(rare) => self.b.ins().bor(rare, asked),
                    None => asked,
                });
            }
        }
        if let Some(rare) = rare {
            self.leave(rare, Left::Egress);
        }
    }

    fn leave(&mut self, cond: Value, left: Left) {
        if self.is_known(cond) == Some(false) {
            return;
        }
        let [rare, on] = [(); 2].map(|()| self.b.create_block());
        self.b.set_cold_block(rare);
        self.b.ins().brif(cond, rare, &[], on, &[]);
        self.b.seal_block(rare);
        self.b.seal_block(on);
        self.b.switch_to_block(rare);
        self.finish(left);
        self.b.switch_to_block(on);
    }
}
