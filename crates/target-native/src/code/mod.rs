//! The code generator.
//!
//! One function for a program: it takes a batch of packets and runs all stages on each, one packet after the other.
//!
//! ```text
//! for each packet   parser -> verify -> ingress -> traffic manager -> egress -> compute -> deparser
//!                                                  │ unicast: on      │
//!                                                  │ drop: counted, next packet
//!                                                  └ clone, group, resubmit, ...: the batch ends, and goes on after the packet
//! ```
//!
//! - [`place`] finds locations, [`can`] decides which statements code can do. The others are a call of the interpreter for one
//!   statement, or for a stage.
//! - [`wire`] reads and writes header fields, [`value`] makes values, [`stmt`], [`parser`], [`table`], [`exact`], [`constant`], [`externs`], [`count`], [`pack`] and
//!   [`deparser`] the rest; [`frames`] leaves packets to frame externs; [`half`] and [`psa`] are PSA's way and externs, [`tna`], [`tna_externs`], [`tna_cells`] and [`tna_parser`] TNA's; [`given`] is about externs that the runtime does, [`varbit`] about headers of variable length.
//! - [`early`] makes lookups before the packets' turns.
//! - [`summed`] keeps the sum of a verified header for its next checksum.
//! - [`unread`] takes away what nobody reads.
//! - [`frame`] brings variables to their homes and back, where somebody else is to see them.

mod ahead;
pub(crate) mod can;
mod classes;
mod constant;
mod count;
mod deparser;
mod early;
mod ends;
mod exact;
mod externs;
mod frame;
mod frames;
mod given;
mod half;
mod known;
mod pack;
mod parser;
mod pipeline;
pub(crate) mod place;
mod psa;
mod stmt;
mod summed;
mod table;
mod tna;
mod tna_cells;
mod tna_externs;
mod tna_parser;
pub(crate) mod unread;
mod value;
mod value_calls;
mod varbit;
mod wire;

use crate::calls::Calls;
use crate::context::Context;
use crate::facts::Facts;
use crate::layout::{Layout, Node};
use crate::notes::Notes;
use cranelift_codegen::ir::{Block, FuncRef, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, Variable};
use dataplane_api::DropReason;
use device::psa::Half;
use device::stage::BlockName;
use ir::Program;
use place::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
pub(crate) use tna_cells::packed_widths;
pub(crate) use tna_externs::is_alone;

/// Part of the pipeline that code is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// All stages of a packet.
    Whole,
    /// Up to the end of ingress, where each packet is left.
    Ingress,
    /// From the start of egress on, with variables as they lie in the frame.
    Egress,
    /// From the parser to the end of ingress, with metadata from the frame: for restarted packets.
    Again,
    /// The deparser alone, with variables as they lie in the frame.
    Deparse,
    /// From one of the positions at which frames of frame externs continue to the end of ingress. True for a fresh
    /// frame.
    Resume(usize, bool),
    /// Half of PSA or TNA.
    Half(Half),
    /// Behind egress, with variables as they lie in the frame: drop, checksums, deparser.
    Out,
}

/// Makes the code of one function.
pub(crate) struct Code<'a, 'b> {
    pub(crate) b: FunctionBuilder<'b>,
    pub(crate) program: &'a Program,
    pub(crate) layout: &'a Layout,
    pub(crate) facts: &'a Facts,
    pub(crate) calls: Calls<FuncRef>,
    /// The same as `lookup_1`, `lookup_2` and `lookup_3`, where they are seldom called: see [`machine`](crate::machine).
    pub(crate) rare_lookups: [FuncRef; 3],
    pub(crate) notes: &'a mut Notes,
    /// Variables of [`Layout::scalars`].
    pub(crate) scalars: Vec<Variable>,
    /// Variables of [`Layout::headers`].
    pub(crate) pointers: Vec<Variable>,
    pub(crate) valids: Vec<Variable>,
    /// Pointers and validities are no variables, but only in the frame. Not for halves, whose carried headers are in the frame when a packet begins.
    pub(crate) is_in_frame: bool,
    /// In code for a class of packets: 1 if something was written at the home of a header. It comes to the frame at the packet's end.
    pub(crate) touched: Option<Variable>,
    /// In the parser of a program with classes: bytes that the packet is known to have from its start on.
    pub(crate) room: Option<i64>,
    /// Headers to which a field was written since the packet began.
    pub(crate) stored: BTreeSet<usize>,
    bits: known::Bits,
    /// The context that the function was called with.
    pub(crate) context: Value,
    pub(crate) frame: Value,
    /// The packet that is being processed.
    pub(crate) packet: Value,
    /// The block of the program for which code is generated, and its variables.
    pub(crate) block: BlockName,
    pub(crate) nodes: &'a [Node],
    /// Block for the next packet.
    pub(crate) next: Block,
    /// Blocks that drop packets, by reason.
    pub(crate) drops: BTreeMap<DropReason, Block>,
    /// Block for parser errors: the error is its parameter.
    pub(crate) reject: Option<Block>,
    /// The table whose action's code is being made, if code reports its hits to the device.
    pub(crate) current: Option<usize>,
    /// On TNA, the residual checksums of the parser.
    pub(crate) deposits: Vec<tna_parser::Deposit<'a>>,
    /// Lookups that are made before the packet's turn.
    early: Vec<early::EarlyLookup<'a>>,
    /// Code for all stages of packets in batches.
    is_whole: bool,
    pub(crate) summed: Option<summed::Summed>,
    /// Where the packet's bytes began and ended when it was received, if it has not been given to anyone since.
    pub(crate) received: Option<[Value; 2]>,
    /// The packet is only run ahead, without effects, to prefetch memory for its lookups: see [`ahead`].
    pub(crate) ahead: bool,
    /// Cells that it has asked for in these statements and the ones around them: arrays, and indexes in them.
    pub(crate) asked: Vec<(usize, Value)>,
}

/// A construct that code cannot do although [`can`] said so: a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unable(pub(crate) &'static str);

pub(crate) type Made<T> = Result<T, Unable>;

/// The interpreter runs what is larger than [`MOST_BLOCKS`] or [`MOST_INSTRUCTIONS`].
pub(crate) const TOO_LARGE: Unable = Unable("functions of this size");

/// Limits on a function. Time and memory grow faster than the function: with 300,000 blocks, compiling takes minutes and a gigabyte.
const MOST_BLOCKS: usize = 1 << 16;
const MOST_INSTRUCTIONS: usize = 1 << 20;

/// Memory accesses neither trap nor are aligned.
pub(crate) const PLAIN: MemFlagsData = MemFlagsData::new().with_notrap();

impl<'a, 'b> Code<'a, 'b> {
    /// Makes the function for a batch.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn generate(
        mut b: FunctionBuilder<'b>,
        program: &'a Program,
        layout: &'a Layout,
        facts: &'a Facts,
        part: Part,
        calls: Calls<FuncRef>,
        rare_lookups: [FuncRef; 3],
        notes: &'a mut Notes,
        config: TargetFrontendConfig,
    ) -> Made<()> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let &[context, packets, count] = b.block_params(entry) else { return Err(Unable("the signature")) };
        let frame = b.ins().load(types::I64, PLAIN, context, offset_of!(Context, frame) as i32);
        let bits = known::Bits::new(&mut b);
        let next = b.create_block();
        let scalars = layout.scalars.iter().map(|scalar| b.declare_var(type_of(scalar.kind))).collect();
        let pointers = layout.headers.iter().map(|_| b.declare_var(types::I64)).collect();
        let valids = layout.headers.iter().map(|_| b.declare_var(types::I8)).collect();
        let mut code = Code {
            b,
            program,
            layout,
            facts,
            calls,
            rare_lookups,
            notes,
            scalars,
            pointers,
            valids,
            is_in_frame: frame::are_many(layout),
            touched: None,
            room: None,
            stored: BTreeSet::new(),
            bits,
            context,
            frame,
            packet: packets,
            block: BlockName::Parser,
            nodes: &[],
            next,
            drops: BTreeMap::new(),
            reject: None,
            current: None,
            deposits: vec![],
            early: vec![],
            is_whole: false,
            summed: None,
            received: None,
            ahead: false,
            asked: vec![],
        };
        code.batch(part, packets, count)?;
        code.check_size()?;
        code.b.finalize(config);
        Ok(())
    }

    /// An error if the function is too large. Also checked on the way, since building a function takes long, too.
    pub(crate) fn check_size(&self) -> Made<()> {
        let made = &self.b.func.dfg;
        match made.num_blocks() > MOST_BLOCKS || made.num_insts() > MOST_INSTRUCTIONS {
            true => Err(TOO_LARGE),
            false => Ok(()),
        }
    }

    pub(crate) fn places(&self) -> Places<'a> {
        Places { program: self.program, layout: self.layout, nodes: self.nodes }
    }

    /// The block where packets are dropped for this reason.
    pub(crate) fn drop_for(&mut self, reason: DropReason) -> Block {
        if self.ahead {
            return self.next;
        }
        if let Some(block) = self.drops.get(&reason) {
            return *block;
        }
        let block = self.b.create_block();
        self.drops.insert(reason, block);
        block
    }

    /// A number of up to 64 bits as a constant.
    pub(crate) fn number(&mut self, ty: Type, value: u64) -> Value {
        if ty == types::I128 {
            return self.wide(u128::from(value));
        }
        if let Some(known) = self.bits.get(ty, value) {
            return known;
        }
        let value = match ty {
            types::I8 => value as u8 as i8 as i64,
            types::I16 => value as u16 as i16 as i64,
            types::I32 => value as u32 as i32 as i64,
            _ => value as i64,
        };
        self.b.ins().iconst(ty, value)
    }

    fn wide(&mut self, value: u128) -> Value {
        let low = self.b.ins().iconst(types::I64, value as u64 as i64);
        let high = self.b.ins().iconst(types::I64, (value >> 64) as u64 as i64);
        self.b.ins().iconcat(low, high)
    }

    /// A constant of a type.
    pub(crate) fn constant(&mut self, ty: Type, value: u128) -> Value {
        if ty == types::I128 { self.wide(value) } else { self.number(ty, value as u64) }
    }

    /// `number` in another integer type: cut, or filled up with zeros.
    pub(crate) fn resize(&mut self, value: Value, to: Type) -> Value {
        let from = self.b.func.dfg.value_type(value);
        if let (Some(number), true) = (self.known_number(value), from != to && to.bits() <= 64) {
            return self.number(to, number & wire::ones(to.bits()) as u64);
        }
        match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => self.b.ins().uextend(to, value),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.b.ins().ireduce(to, value),
        }
    }

    /// An address in the frame.
    pub(crate) fn at(&mut self, offset: i32) -> Value {
        self.b.ins().iadd_imm_s(self.frame, i64::from(offset))
    }

    /// Two blocks and the one after them: `yes` runs if `cond` holds, else `no`.
    pub(crate) fn branch(
        &mut self,
        cond: Value,
        yes: impl FnOnce(&mut Self) -> Made<()>,
        no: impl FnOnce(&mut Self) -> Made<()>,
    ) -> Made<()> {
        match self.is_known(cond) {
            Some(true) => return yes(self),
            Some(false) => return no(self),
            None => {}
        }
        let [then, other, join] = [(); 3].map(|()| self.b.create_block());
        self.b.ins().brif(cond, then, &[], other, &[]);
        self.b.seal_block(then);
        self.b.seal_block(other);
        self.b.switch_to_block(then);
        yes(self)?;
        self.b.ins().jump(join, &[]);
        self.b.switch_to_block(other);
        no(self)?;
        self.b.ins().jump(join, &[]);
        self.b.seal_block(join);
        self.b.switch_to_block(join);
        Ok(())
    }

    /// Runs code only if `cond` holds.
    pub(crate) fn when(&mut self, cond: Value, code: impl FnOnce(&mut Self)) {
        match self.is_known(cond) {
            Some(true) => return code(self),
            Some(false) => return,
            None => {}
        }
        let [then, on] = [(); 2].map(|()| self.b.create_block());
        self.b.ins().brif(cond, then, &[], on, &[]);
        self.b.seal_block(then);
        self.b.switch_to_block(then);
        code(self);
        self.b.ins().jump(on, &[]);
        self.b.seal_block(on);
        self.b.switch_to_block(on);
    }

    /// Jumps to `block` if `cond` holds.
    pub(crate) fn leave_if(&mut self, cond: Value, block: Block, args: &[Value]) {
        if self.is_known(cond) == Some(false) {
            return;
        }
        let on = self.b.create_block();
        let args: Vec<_> = args.iter().map(|a| (*a).into()).collect();
        self.b.ins().brif(cond, block, &args, on, &[]);
        self.b.seal_block(on);
        self.b.switch_to_block(on);
    }
}

/// The code generator's type for a scalar of `width` bits. Values are extended with zeros.
pub(crate) fn type_of(kind: crate::layout::Kind) -> Type {
    match kind {
        crate::layout::Kind::Bool => types::I8,
        kind => match kind.width() {
            0..=32 => types::I32,
            33..=64 => types::I64,
            _ => types::I128,
        },
    }
}
