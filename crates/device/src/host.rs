//! What compiled code asks of a device beside running packets.

use crate::embed::{ActionView, News, SharedCells, TableAt, TableFacts};
use crate::hash::Algorithm;
use crate::life::Life;
use crate::objects::Object;
use crate::psa::{Half, Psa};
use crate::stage::{Block, BlockName, Effects, Stage, StageRunner};
use crate::switch::Core;
use crate::told::{Digest, Told};
use crate::v1model::V1Model;
use base_bits::Bits;
use base_time::Time;
use control_writes::EntryKey;
use dataplane_api::DropReason;
use ir::{ControlId, InstanceId, ParserId, Program, Role, Type, ValueSetId};

/// A device while compiled code works on it.
pub struct Host<'s> {
    pub(crate) core: &'s mut Core,
    pub(crate) model: Model<'s>,
    /// For what compiled code leaves to others.
    pub(crate) stages: &'s mut (dyn StageRunner + 'static),
}

/// Whose blocks they are.
#[derive(Clone, Copy)]
pub(crate) enum Model<'s> {
    V1(&'s V1Model),
    Psa(&'s Psa, Half),
}

impl<'s> Host<'s> {
    /// Itself, for a while.
    pub fn again(&mut self) -> Host<'_> {
        Host { core: self.core, model: self.model, stages: self.stages }
    }

    /// v1model's part. What asks for it is for its programs only.
    pub(crate) fn v1(&self) -> &'s V1Model {
        match self.model {
            Model::V1(model) => model,
            Model::Psa(..) => unreachable!("half of PSA has no such blocks"),
        }
    }

    /// PSA's part, if it is one.
    pub(crate) fn psa(&self) -> Option<&'s Psa> {
        match self.model {
            Model::V1(_) => None,
            Model::Psa(psa, _) => Some(psa),
        }
    }

    /// Its blocks are those of this half of PSA from now on.
    pub fn turn_to(&mut self, half: Half) {
        if let Model::Psa(_, at) = &mut self.model {
            *at = half;
        }
    }

    /// What it runs.
    pub fn program(&self) -> &std::sync::Arc<Program> {
        &self.core.program
    }

    /// A stage; `None` if the architecture has no such block.
    pub(crate) fn stage_of(&self, block: BlockName) -> Option<&'s Stage> {
        match self.model {
            Model::V1(model) => Some(model.stage(block)),
            Model::Psa(psa, half) => psa.stage(half, block),
        }
    }

    /// The parser.
    pub fn parser(&self) -> ParserId {
        match self.stage_of(BlockName::Parser).map(|stage| stage.block) {
            Some(Block::Parser(id)) => id,
            _ => unreachable!("a device without a parser is not made"),
        }
    }

    /// The control of a block that is none of the parser's.
    pub fn control(&self, block: BlockName) -> Option<ControlId> {
        self.stage_of(block)?.control()
    }

    /// What each parameter of a block is.
    pub fn roles(&self, block: BlockName) -> Vec<Role> {
        self.stage_of(block).map(Stage::roles).unwrap_or_default()
    }

    /// The types of the headers, of the user's metadata and of the standard metadata; of half of PSA, of what it asks of the
    /// architecture in the place of the last.
    pub fn types(&self) -> [Type; 3] {
        match self.model {
            Model::V1(model) => model.types(),
            Model::Psa(psa, half) => psa.types(half),
        }
    }

    /// Which half of PSA it is, if it is one.
    pub fn half(&self) -> Option<Half> {
        match self.model {
            Model::V1(_) => None,
            Model::Psa(_, half) => Some(half),
        }
    }

    /// The port that means "drop"; PSA has none.
    pub fn drop_port(&self) -> u32 {
        match self.model {
            Model::V1(model) => model.drop_port(),
            Model::Psa(..) => 0,
        }
    }

    /// True if nobody wants to know what packets do: no trace, no log of accesses, clock and randomness as they are.
    pub fn is_unwatched(&self) -> bool {
        self.is_untold() && self.core.state.environment.is_transparent()
    }

    /// True if nobody wants to know what packets do in ingress or egress: no trace, no log of accesses.
    pub fn is_untold(&self) -> bool {
        self.core.is_untold()
    }

    /// The field of the metadata that says in ingress and egress what is counted: that with `@counted_length`.
    pub fn counted_length(&self) -> Option<usize> {
        match self.model {
            Model::V1(model) => model.counted_length(),
            Model::Psa(..) => None,
        }
    }

    /// What is to be known of a table.
    pub fn table(&self, (control, table): TableAt) -> Option<TableFacts> {
        Some(self.core.state.tables.get(control, table)?.facts())
    }

    /// What was written to a table since it was last asked; `None` if that is nothing.
    pub fn table_news(&mut self, (control, table): TableAt) -> Option<News> {
        self.core.state.tables.get_mut(control, table)?.news()
    }

    /// How often tables were written to; equal numbers mean that there is no news.
    pub fn table_writes(&self) -> u64 {
        self.core.state.tables.writes()
    }

    /// The cells of a register of numbers up to 128 bits, if they are `most` at most, how many there are, and the bytes of one: 1, 2, 4, 8 or 16.
    pub fn register_cells(&mut self, register: InstanceId, most: u64) -> Option<(SharedCells, u64, u32)> {
        match self.core.state.objects.get_mut(register.index())? {
            Object::Register(register) => {
                Some((register.flatten(most)?, register.size, register.cell_bytes()))
            }
            _ => None,
        }
    }

    /// The counts of a counter, two words each, packets and bytes, if they are `most` at most.
    pub fn counter_cells(&mut self, counter: InstanceId, most: u64) -> Option<SharedCells> {
        match self.core.state.objects.get_mut(counter.index())? {
            Object::Counter(counter) => counter.flatten(most),
            _ => None,
        }
    }

    /// What a frame that comes in may take.
    pub fn new_life(&self) -> Life {
        self.core.new_life()
    }

    /// Frames were received.
    pub fn received(&mut self, frames: u64) {
        self.core.counters.received += frames;
    }

    /// Frames were sent.
    pub fn sent(&mut self, frames: u64) {
        self.core.counters.sent += frames;
    }

    /// Packets were dropped.
    pub fn dropped(&mut self, reason: DropReason, packets: u64) {
        if packets > 0 {
            *self.core.counters.dropped.entry(reason).or_default() += packets;
        }
    }

    /// The hash of `data`.
    pub fn hash(&self, algorithm: Algorithm, data: &[u8]) -> u64 {
        self.core.state.hash(algorithm, data)
    }

    /// True if the value set has a member that fits.
    pub fn value_set_has(&self, set: ValueSetId, values: &[Bits]) -> bool {
        self.core.state.value_set_has(self.parser(), set, values).unwrap_or(false)
    }

    /// A packet hit an entry, which is the one with these matches and this priority. Whoever calls has counted it.
    pub fn looked_up(&mut self, table: TableAt, key: EntryKey, effects: &mut Effects, now: Time) {
        let found = self.core.state.tables.get(table.0, table.1).and_then(|t| t.entries.get_index_of(&key));
        let applied = (table.0, table.1, found);
        let colour = self.core.state.note_hit(&self.core.program, applied, effects.counted, now);
        effects.coloured(colour);
    }

    /// What runs if an entry of a table with a profile is hit, and the keys for its selector are these.
    pub fn chosen(&self, table: TableAt, key: EntryKey, chosen_by: &[Bits]) -> Option<ActionView> {
        self.core.state.chosen(table, &key, chosen_by)
    }

    /// A number that is uniform in `lo..=hi`, which is not empty.
    pub fn draw(&mut self, lo: u128, hi: u128) -> u128 {
        self.core.state.draw(lo, hi)
    }

    /// The colour that a cell of a meter gives a packet of `bytes` that has the colour `before`; `None` out of range.
    pub fn meter(&mut self, meter: InstanceId, index: u64, bytes: u64, before: u8, now: Time) -> Option<u8> {
        self.core.state.meter(&self.core.program, meter, index, bytes, before, now).ok()?
    }

    /// Adds a line to the log.
    pub fn log(&mut self, line: String) {
        self.core.state.log(line);
    }

    /// Adds a digest.
    pub fn digest(&mut self, digest: Digest) {
        self.core.state.digest(digest);
    }

    /// Takes what was told since the last time.
    pub fn take_told(&mut self) -> Told {
        self.core.state.take_told()
    }
}
