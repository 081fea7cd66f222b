//! The switch program of jobs, as P4 for v1model and for TNA.
//!
//! A packet visits each lane once: an array of slots, a tag and a value each. The lanes that have to travel on are a map of bits;
//! four bits at a time choose an action that removes the other lanes, since one such action stands in each stage of a pipeline.
//!
//! ```text
//! jobs, senders ─> bank ─> cell ─> lanes ─> map ─> quads ─> ACK back, OVERFLOW on, READ back ...
//! ```

mod text;
mod tna;

use crate::layout::{Layout, LayoutError};
use crate::op::Op;
use crate::packet::Kind;

/// Size of a switch program, and what it can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Sizes of packets and slots. Jobs on one switch share it.
    pub layout: Layout,
    /// Operators that it knows, at most [`Program::MOST_OPERATORS`].
    pub operators: Vec<Op>,
    /// Jobs at a time: each has two banks of its own in each lane.
    pub jobs: u16,
    /// Streams of pairs of all jobs: channels, and switches whose slots are read through this one.
    pub channels: u16,
    /// UDP port of the packets.
    pub port: u16,
    /// Packets in a queue from which on packets are marked by ECN.
    pub mark_at: u32,
    /// True if the switch also folds pairs that earlier switches have not folded: pairs that found no slot there, and slots that are read.
    pub is_parent: bool,
    /// Bytes by which a packet may grow in the switch; without a limit, an answer has as many rows as a frame has room for.
    pub growth: Option<u16>,
}

impl Program {
    /// Clone session of the copies of requests. It needs a port, which no copy leaves by: all of them are recirculated.
    pub const COPIES: u16 = 1;

    /// A register of a pipeline has four actions; one is to read.
    pub const MOST_OPERATORS: usize = 3;

    /// An action of a register of a Tofino has one result, so that two of the four read.
    pub const MOST_OPERATORS_OF_TNA: usize = 2;

    /// Port of a Tofino 1 by which packets come around: that of the mirror session [`Program::COPIES`].
    pub const AROUND: u32 = 68;

    /// [`Program::growth`] in BMv2: a packet that grows by more ends `simple_switch` with an assertion.
    pub const GROWTH_IN_BMV2: u16 = 512;

    /// A program for one job.
    pub fn new(layout: Layout, op: Op, channels: u16) -> Program {
        let (operators, port) = (vec![op], crate::packet::PORT);
        Program { layout, operators, jobs: 1, channels, port, mark_at: 64, is_parent: false, growth: None }
    }

    /// The reason why there is no such program, if there is one.
    pub fn check(&self) -> Result<(), LayoutError> {
        self.layout.check()?;
        let fail = |text: String| Err(LayoutError(text));
        if !self.layout.lanes.is_multiple_of(4) {
            return fail(format!("a program has a multiple of four lanes, not {}", self.layout.lanes));
        }
        if self.operators.is_empty() || self.operators.len() > Program::MOST_OPERATORS {
            let (most, count) = (Program::MOST_OPERATORS, self.operators.len());
            return fail(format!(
                "a program has 1 to {most} operators, not {count}: a slot's register has four actions, and one reads"
            ));
        }
        if self.layout.is_dense() && self.operators.contains(&Op::Min) {
            return fail("a program for arrays has no `min`, because an empty slot holds 0: use `max` of the complements".into());
        }
        if self.jobs == 0 || self.channels == 0 {
            return fail("a program serves at least one job and one channel".into());
        }
        if let Some(growth) = self.growth
            && self.layout.row_bytes() > usize::from(growth)
        {
            let row = self.layout.row_bytes();
            return fail(format!(
                "a packet may grow by {growth} bytes, and a row of slots has {row}: use fewer lanes, or the profile `pipeline`"
            ));
        }
        Ok(())
    }

    /// Slots of each lane.
    pub fn slots(&self) -> u32 {
        2 * u32::from(self.jobs) * self.layout.rows()
    }

    /// Cells: packets that a switch remembers.
    pub fn cells(&self) -> u32 {
        u32::from(self.channels) * self.layout.window
    }

    /// Bytes of the longest packet, the payload of a UDP datagram. A request has no more than a header when it arrives.
    pub fn most_bytes(&self) -> usize {
        let most = self.growth.map(|growth| self.layout.header_bytes() + usize::from(growth));
        most.map_or(self.layout.most_bytes(), |most| most.min(self.layout.most_bytes()))
    }

    /// The source.
    pub fn source(&self) -> Result<String, LayoutError> {
        self.check()?;
        Ok(text::source(self))
    }

    /// The same program for `simple_switch`, with the same packets; answers to requests have fewer rows.
    pub fn for_bmv2(&self) -> Program {
        Program { growth: Some(Program::GROWTH_IN_BMV2), ..self.clone() }
    }

    /// The source for TNA, which takes the same entries.
    pub fn tna(&self) -> Result<String, LayoutError> {
        self.check()?;
        let fail = |text: String| Err(LayoutError(text));
        let Layout { lanes, tag_bits, evict, .. } = self.layout;
        if tag_bits != Layout::SHORT_TAG || evict {
            return fail(
                "a program for a Tofino has tags of 32 bits, and no eviction: use the profile `pipeline`"
                    .into(),
            );
        }
        if lanes > 32 {
            return fail(format!("a program for a Tofino has at most 32 lanes, not {lanes}"));
        }
        if self.operators.len() > Program::MOST_OPERATORS_OF_TNA {
            let (most, count) = (Program::MOST_OPERATORS_OF_TNA, self.operators.len());
            return fail(format!(
                "a program for a Tofino has at most {most} operators, not {count}: a slot's register has four actions, of one result each, and two of them read"
            ));
        }
        Ok(tna::source(self))
    }
}

/// A job's part of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seat {
    /// The job's number.
    pub job: u16,
    /// The job's place among those of the switch, from 0: its banks and slots.
    pub place: u16,
    /// The number of the switch in the job.
    pub switch: u16,
    /// Counts restarts; never 0.
    pub boot: u16,
    /// Port to the reducer: requests come from there.
    pub reducer_port: u32,
    /// Another switch folds what this one leaves.
    pub has_parent: bool,
    /// Streams of pairs that it folds.
    pub senders: Vec<Sender>,
}

/// A stream of pairs that a switch folds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sender {
    /// DATA of a mapper; only for parents: OVERFLOW of a mapper, which another switch has left, or READREPLY of another switch.
    pub kind: Kind,
    /// Ingress port of the stream.
    pub port: u32,
    /// Number of the channel, or of the other switch.
    pub channel: u16,
    /// The stream's place among those of the switch.
    pub place: u16,
}

/// An entry: table, keys, action and arguments, as numbers with their widths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Name of the table.
    pub table: &'static str,
    /// Names of the keys, and their values with widths; all are exact.
    pub keys: Vec<(&'static str, u32, u128)>,
    /// Name of the action.
    pub action: &'static str,
    /// Names, widths and values of the arguments.
    pub args: Vec<(&'static str, u32, u128)>,
}

impl Seat {
    /// The entries that give a job its part of a switch.
    pub fn entries(&self, layout: &Layout) -> Vec<Entry> {
        let slots = 2 * u128::from(self.place) * u128::from(layout.rows());
        let serve = Entry {
            table: "AggIngress.jobs",
            keys: vec![("hdr.agg.job", 16, self.job.into())],
            action: "AggIngress.serve",
            args: vec![
                ("boot", 16, self.boot.into()),
                ("number", 16, self.switch.into()),
                ("reducer_port", 9, self.reducer_port.into()),
                ("has_parent", 1, self.has_parent.into()),
                ("first_bank", 32, 2 * u128::from(self.place)),
                ("first_slot", 32, slots),
            ],
        };
        let senders = self.senders.iter().map(|sender| Entry {
            table: "AggIngress.senders",
            keys: vec![
                ("standard_metadata.ingress_port", 9, sender.port.into()),
                ("hdr.agg.job", 16, self.job.into()),
                ("hdr.agg.type", 4, sender.kind as u128),
                ("hdr.agg.channel", 16, sender.channel.into()),
            ],
            action: "AggIngress.accept_from",
            args: vec![("first_cell", 32, u128::from(sender.place) * u128::from(layout.window))],
        });
        [serve].into_iter().chain(senders).collect()
    }
}

/// The clone session of a switch's program as a line of STF. `port`: any of its ports; for TNA, [`Program::AROUND`].
pub fn copies_stf(port: u32) -> String {
    format!("mirroring_add {} {port}", Program::COPIES)
}

impl Entry {
    /// The entry as a line of STF.
    pub fn stf(&self) -> String {
        let list = |pairs: &[(&str, u32, u128)], join: &str| {
            pairs.iter().map(|(name, _, value)| format!("{name}:{value:#x}")).collect::<Vec<_>>().join(join)
        };
        format!("add {} {} {}({})", self.table, list(&self.keys, " "), self.action, list(&self.args, ", "))
    }
}
