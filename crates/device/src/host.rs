//! What compiled code asks of a device beside running packets.

use crate::blueprint::Blocks;
use crate::embed::{ActionView, CountSlot, CountSlots, News, SharedCells, TableAt};
use crate::hash::Algorithm;
use crate::life::Life;
use crate::objects::Object;
use crate::psa::{Half, Psa};
use crate::stage::{Effects, StageRunner};
use crate::switch::Core;
use crate::told::{Digest, Told};
use crate::v1model::V1Model;
use base_bits::Bits;
use base_time::Time;
use control_writes::EntryKey;
use dataplane_api::DropReason;
use ir::{InstanceId, Program, ValueSetId};
use std::sync::Arc;

/// A device while compiled code works on it.
pub struct Host<'s> {
    pub(crate) core: &'s mut Core,
    pub(crate) blocks: Blocks<'s>,
    /// For what compiled code leaves to others.
    pub(crate) stages: &'s mut (dyn StageRunner + 'static),
}

impl<'s> Host<'s> {
    /// Itself, for a while.
    pub fn again(&mut self) -> Host<'_> {
        Host { core: self.core, blocks: self.blocks, stages: self.stages }
    }

    /// v1model's part. What asks for it is for its programs only.
    pub(crate) fn v1(&self) -> &'s V1Model {
        self.blocks.v1model()
    }

    /// PSA's part, if it is one.
    pub(crate) fn psa(&self) -> Option<&'s Psa> {
        self.blocks.psa()
    }

    /// Its blocks are those of this half of PSA from now on.
    pub fn turn_to(&mut self, half: Half) {
        self.blocks = self.blocks.of(half);
    }

    /// What it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.core.program
    }

    /// The program's blocks, those of the half of PSA that it is at.
    pub fn blocks(&self) -> Blocks<'s> {
        self.blocks
    }

    /// True if nobody wants to know what packets do: no trace, no log of accesses, clock and randomness as they are.
    pub fn is_unwatched(&self) -> bool {
        self.is_untold() && self.core.state.environment.is_transparent()
    }

    /// True if nobody wants to know what packets do in ingress or egress: no trace, no log of accesses.
    pub fn is_untold(&self) -> bool {
        self.core.is_untold()
    }

    /// What was written to a table since it was last asked; `None` if that is nothing.
    pub fn table_news(&mut self, (control, table): TableAt) -> Option<News> {
        self.core.state.tables.get_mut(control, table)?.news()
    }

    /// How often tables were written to; equal numbers mean that there is no news.
    pub fn table_writes(&self) -> u64 {
        self.core.state.tables.writes()
    }

    /// What the misses of a table are counted in, if they are.
    pub fn misses(&self, (control, table): TableAt) -> Option<Arc<CountSlot>> {
        self.core.state.tables.get(control, table)?.misses()
    }

    /// Where the direct counters of a table count.
    pub fn count_slots(&self, (control, table): TableAt) -> Option<CountSlots> {
        Some(self.core.state.tables.get(control, table)?.count_slots.clone())
    }

    /// The cells of a register, which all workers share; or those of a worker for a counter, two words each, packets and bytes. Only of what has them
    /// by [`Blocks::cells`].
    pub fn cells(&mut self, id: InstanceId, worker: usize) -> Option<SharedCells> {
        match self.core.state.objects.get_mut(id.index())? {
            Object::Register(register) => register.flatten(u64::MAX),
            Object::Counter(counter) => Some(counter.share(worker)),
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
        self.core.state.value_set_has(self.blocks.parser(), set, values).unwrap_or(false)
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
