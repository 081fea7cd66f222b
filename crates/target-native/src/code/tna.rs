//! Half of TNA: parser, control and deparser around a packet's bytes, which begin with the switch's metadata. The intrinsic
//! metadata is in the frame afterwards.

use super::{Code, Made};
use crate::context::arguments;
use crate::layout::Node;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use dataplane_api::DropReason;
use device::tna::{Half, TO_MANAGER, from_parser};
use ir::{Program, Type};
use p4_arch::tna::{NO_PORT, parser_error};

/// The error of an explicit `reject`, which has no number of its own.
pub(crate) const REFUSED: u64 = 0xffff_ffff;

/// The number of each error as code has it, and its bit of `parser_err`. No error has none.
fn bits_of_errors(program: &Program) -> impl Iterator<Item = (u64, u64)> {
    let named = program.errors.iter().zip(0..).skip(1);
    named.map(|(name, at)| (at, parser_error::bit(name))).chain([(REFUSED, parser_error::NO_MATCH)])
}

impl<'a> Code<'a, '_> {
    pub(crate) fn is_tna(&self) -> bool {
        self.facts.reads_parser_error.is_some()
    }

    /// See the head of this file.
    pub(crate) fn tna_half(&mut self, half: Half) -> Made<()> {
        self.begin();
        let steps = self.argument(arguments::STEPS);
        let steps = self.b.ins().ireduce(types::I32, steps);
        self.set_scalar(self.layout.registers.fuel, steps);
        let length = self.argument(arguments::LENGTH);
        let registers = self.layout.registers;
        for register in [registers.length, registers.pass_length] {
            self.set_scalar(register, length);
        }
        let Some(homes) = &self.layout.half else { return Ok(()) };
        homes.intrinsic.iter().for_each(|(_, node)| self.zero(node));
        let none = self.number(types::I64, u64::from(NO_PORT));
        self.set_intrinsic(TO_MANAGER, "ucast_egress_port", none);
        let none = self.number(types::I32, 0);
        self.set_scalar(homes.error, none);
        self.parse()?;
        self.end_parser(half, homes.error);
        self.control(half.control())?;
        self.begin_deparser()?;
        self.deparser()
    }

    /// Drops what the parser refused, and sets the metadata that comes from it.
    fn end_parser(&mut self, half: Half, error: usize) {
        let error = self.scalar(error);
        let mut bits = self.number(types::I64, 0);
        for (number, bit) in bits_of_errors(self.program) {
            let is_it = self.b.ins().icmp_imm_u(IntCC::Equal, error, number as i64);
            let bit = self.number(types::I64, bit);
            bits = self.b.ins().select(is_it, bit, bits);
        }
        if half == Half::Ingress {
            let fatal = match self.facts.reads_parser_error {
                Some(true) => self.b.ins().band_imm_u(bits, parser_error::NO_MATCH as i64),
                _ => bits,
            };
            let block = self.drop_for(DropReason::Ingress);
            self.leave_if(fatal, block, &[]);
        }
        let of = from_parser(half);
        if let Some(node) = self.intrinsic(of) {
            self.zero(node);
        }
        let now = self.argument(arguments::TIMESTAMP);
        self.set_intrinsic(of, "global_tstamp", now);
        self.set_intrinsic(of, "parser_err", bits);
    }

    fn intrinsic(&self, name: &str) -> Option<&'a Node> {
        let homes = self.layout.half.as_ref()?;
        let is_it = |ty: &Type| matches!(ty, Type::Named(id) if self.program.type_decl(*id).name == name);
        homes.intrinsic.iter().find_map(|(ty, node)| is_it(ty).then_some(node))
    }

    /// Sets a field of the intrinsic metadata with this type name, cut to its width.
    fn set_intrinsic(&mut self, of: &str, name: &str, value: Value) {
        let Some(homes) = &self.layout.half else { return };
        for (ty, node) in &homes.intrinsic {
            let is_it = matches!(ty, Type::Named(id) if self.program.type_decl(*id).name == of);
            let at = self.program.fields(ty).iter().position(|field| field.name == name);
            if let (true, Node::Struct(nodes), Some(at)) = (is_it, node, at)
                && let Some(Node::Scalar(index)) = nodes.get(at)
            {
                self.set_to(*index, value);
            }
        }
    }
}
