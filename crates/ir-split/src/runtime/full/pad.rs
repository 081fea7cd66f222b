//! Hand-overs are never so short that a link pads them: padding after the payload would pass for payload.
//!
//! A packet whose hand-over could be shorter than Ethernet's 60 bytes takes `p4rack_pad` along, a header that fills up
//! what `p4rack_t` lacks. Its length on arrival minus the most that the parser extracts decides this.

use crate::generate::Generator;
use crate::layout::SHORTEST_BITS;
use ir::{Expr, Stmt, Type, build};
use p4_arch::{Duty, Meaning};

impl Generator<'_> {
    /// Packets shorter than this take the pad along; `None` if all have to.
    fn long_enough(&self) -> Option<u64> {
        let common = u64::from(self.cut.layout.common_bits() / 8);
        Some(u64::from(SHORTEST_BITS / 8).saturating_sub(common) + self.cut.parsed_bytes?)
    }

    fn short_of(&self, stage: Duty) -> Option<Expr> {
        Some(build::field(self.metadata(stage), self.short?, Type::Bit(1)))
    }

    /// At the start of ingress at the origin: is this packet short?
    pub fn note_short(&self) -> Option<Stmt> {
        let (short, enough) = (self.short_of(Duty::Ingress)?, self.long_enough()?);
        let length = self.standard(Duty::Ingress, Meaning::Length);
        let is_short = build::less(length, build::bits(32, enough));
        let ordinary = build::equals(self.region_of(Duty::Ingress), self.region_value(0));
        let note = build::assign(short, build::bits(1, 1));
        Some(build::if_then(build::and(ordinary, is_short), vec![note]))
    }

    /// A clone lacks the metadata of its packet.
    pub fn clone_is_short(&self) -> Option<Stmt> {
        self.recirculates().then_some(())?;
        Some(build::assign(self.short_of(Duty::Egress)?, build::bits(1, 1)))
    }

    /// In front of a hand-over: the pad, if needed.
    pub fn add_pad(&mut self, stage: Duty) -> Option<Stmt> {
        let pad = self.header_field(stage, self.pad?);
        let zero = build::bits(self.cut.layout.pad_bits, 0);
        let fill = vec![
            build::set_valid(pad.clone(), true),
            build::assign(self.named_field(pad, "zero"), zero),
            build::assign(
                self.named_field(self.header_field(stage, self.common), "has_pad"),
                build::bits(1, 1),
            ),
        ];
        match (self.short_of(stage), self.long_enough()) {
            (Some(short), Some(_)) => Some(build::if_then(build::equals(short, build::bits(1, 1)), fill)),
            _ => Some(build::stmt(ir::StmtKind::Block(build::block(fill)))),
        }
    }
}
