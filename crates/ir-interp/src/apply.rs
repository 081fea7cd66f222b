//! Table application: keys, lookup, the action (P4-16 §14.2.2).

use crate::machine::{Arch, Machine};
use device::stage::Stop;
use ir::{MatchKind, TableId};

/// Result of an application.
pub(crate) struct Applied {
    /// An entry fitted.
    pub(crate) hit: bool,
    /// The action that ran, by its position in the table's list.
    pub(crate) action: u32,
}

impl<A: Arch> Machine<'_, A> {
    /// Applies a table of the running control. All keys are evaluated, also those of a selector.
    pub(crate) fn apply(&mut self, id: TableId) -> Result<Applied, Stop> {
        let (control_id, control) = self.control()?;
        let declared = control.tables.get(id.index()).ok_or(Stop::Broken("an unknown table"))?;
        let (mut key, mut chosen_by) = (vec![], vec![]);
        for element in &declared.keys {
            let value = self.eval(&element.expr)?;
            let bits = value.to_key().ok_or(Stop::Broken("a key that has no bits"))?;
            if element.match_kind == MatchKind::Selector { chosen_by.push(bits) } else { key.push(bits) }
        }
        let found = self.state.look_up((control_id, id), &declared.keys, &key, &chosen_by)?;
        let action = found.action;
        self.spend(1 + found.entries / 64)?;
        A::looked_up(self, (control_id, id, found.entry));
        let reference = declared.actions.get(action as usize).ok_or(Stop::Broken("an unknown action"))?;
        self.call_table_action(reference.action, &reference.args, &found.data)?;
        Ok(Applied { hit: found.entry.is_some(), action })
    }
}
