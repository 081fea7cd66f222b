//! Externs whose work compiled code leaves to the interpreter's objects; it gives the values itself.

use super::embed::{BlockName, Host, Side};
use crate::apply::choose;
use crate::embed::{ActionView, Algorithm, EntryKey, TableAt, action_view};
use crate::told::{Digest, Told};
use base_bits::Bits;
use base_time::Time;
use ir::{InstanceId, ValueSetId};

impl Host<'_> {
    /// The hash of `data`.
    pub fn hash(&self, algorithm: Algorithm, data: &[u8]) -> u64 {
        self.core.state.hash(algorithm, data)
    }

    /// True if the value set has a member that fits.
    pub fn value_set_has(&self, set: ValueSetId, values: &[Bits]) -> bool {
        self.core.state.value_sets.get(self.parser(), set).is_some_and(|set| set.has(values))
    }

    /// A packet hit an entry, which is the one with these matches and this priority. Whoever calls has counted it.
    pub fn looked_up(&mut self, block: BlockName, table: TableAt, key: EntryKey, side: &mut Side, now: Time) {
        let found = self.core.state.tables.get(table.0, table.1).and_then(|t| t.entries.get_index_of(&key));
        let vars = vec![];
        self.with_machine(block, vars, &mut vec![], 0, &mut vec![], side, now, |machine| {
            machine.noted(table.0, table.1, found);
            Ok(())
        })
        .ok();
    }

    /// What runs if an entry of a table with a profile is hit, and the keys for its selector are these.
    pub fn chosen(&self, (control, table): TableAt, key: EntryKey, chosen_by: &[Bits]) -> Option<ActionView> {
        let table = self.core.state.tables.get(control, table)?;
        let found = table.entries.get_index_of(&key);
        let (action, data) = choose(table, found, chosen_by, &self.core.state).ok()?;
        Some(action_view(action, &data))
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
