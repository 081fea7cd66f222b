//! Half of PSA: parser, control and deparser around a packet's bytes. Output metadata and carried metadata are in the
//! frame afterwards.

use super::{Code, Made, PLAIN};
use crate::context::{Context, arguments};
use crate::layout::Node;
use crate::packet::{Packet, WAITS};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use device::psa::Half;
use device::stage::BlockName;
use ir::{Role, Type};
use std::mem::offset_of;

impl<'a> Code<'a, '_> {
    /// Input and output are the packet's bytes and its carried metadata.
    pub(crate) fn half(&mut self, half: Half) -> Made<()> {
        self.begin();
        let steps = self.argument(arguments::STEPS);
        let steps = self.b.ins().ireduce(types::I32, steps);
        self.set_scalar(self.layout.registers.fuel, steps);
        if half == Half::Ingress {
            self.set_field_to("drop", 1);
        }
        let Some(homes) = &self.layout.half else { return Ok(()) };
        homes.carried.iter().for_each(|(_, node)| self.fill(node));
        let none = self.number(types::I32, 0);
        self.set_scalar(homes.error, none);
        self.parse()?;
        homes.carried.iter().for_each(|(_, node)| self.zero(node));
        self.control(half.control())?;
        self.begin_deparser()?;
        self.deparser()
    }

    /// Inputs and sums of the block that begins.
    pub(crate) fn enter_half(&mut self, block: BlockName) {
        let Some(homes) = &self.layout.half else { return };
        for index in homes.sums.values() {
            let zero = self.number(types::I32, 0);
            self.set_scalar(*index, zero);
        }
        for index in homes.counters.values() {
            let zero = self.number(types::I32, 0);
            self.set_scalar(*index, zero);
        }
        self.set_counter(None);
        if self.is_tna() {
            return;
        }
        let (params, vars) = match self.facts.controls.get(&block) {
            Some(id) => (&self.program.control(*id).params, &self.program.control(*id).vars),
            None => {
                (&self.program.parser(self.facts.parser).params, &self.program.parser(self.facts.parser).vars)
            }
        };
        let roles = self.facts.roles.get(&block).map_or(&[][..], Vec::as_slice);
        for (param, _) in params.iter().zip(roles).filter(|(_, role)| **role == Role::Input) {
            let at = param.index();
            if let (Some(node), Some(var)) = (self.nodes.get(at), vars.get(at)) {
                self.zero(node);
                self.store_input(node, &var.ty);
            }
        }
    }

    fn store_input(&mut self, input: &Node, ty: &Type) {
        let (Node::Struct(nodes), Some(homes)) = (input, &self.layout.half) else { return };
        for (field, node) in self.program.fields(ty).iter().zip(nodes) {
            let Node::Scalar(index) = node else { continue };
            let number = match field.name.as_str() {
                "ingress_port" => self.argument(arguments::INGRESS_PORT),
                "packet_path" => self.argument(arguments::PATH),
                "ingress_timestamp" | "egress_timestamp" => self.argument(arguments::TIMESTAMP),
                "egress_port" => self.argument(arguments::EGRESS_PORT),
                "class_of_service" => self.argument(arguments::CLASS_OF_SERVICE),
                "instance" => self.argument(arguments::INSTANCE),
                "parser_error" => {
                    let error = self.scalar(homes.error);
                    self.resize(error, types::I64)
                }
                _ => continue,
            };
            self.set_to(*index, number);
        }
    }

    pub(crate) fn argument(&mut self, which: usize) -> Value {
        let at = (offset_of!(Context, arguments) + 8 * which) as i32;
        self.b.ins().load(types::I64, PLAIN, self.context, at)
    }

    /// Ends the packet, whose bytes are from `start` to `end`. Its output and carried metadata are in the stack frame.
    pub(crate) fn end_half(&mut self) {
        let asked = &self.layout.roles[2];
        self.spill(asked);
        self.spill_scalar(self.layout.registers.fuel);
        let carried = self.layout.half.iter().flat_map(|homes| &homes.carried);
        carried.for_each(|(_, node)| self.spill(node));
        let intrinsic = self.layout.half.iter().flat_map(|homes| &homes.intrinsic);
        intrinsic.for_each(|(_, node)| self.spill(node));
        let fate = self.number(types::I32, u64::from(WAITS));
        self.b.ins().store(PLAIN, fate, self.packet, offset_of!(Packet, fate) as i32);
        self.b.ins().jump(self.next, &[]);
    }
}
