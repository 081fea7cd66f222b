//! Table application: keys, lookup, the action (P4-16 §14.2.2).

use crate::access::AccessKind;
use crate::machine::{Arch, Machine, Stop};
use crate::objects::Object;
use crate::state::State;
use crate::table::{Run, Table};
use crate::trace::table_event;
use crate::value::Value;
use base_bits::{BitWriter, Bits};
use ir::{InstanceId, MatchKind, TableId};

/// What an application gave.
pub(crate) struct Applied {
    /// An entry fitted.
    pub(crate) hit: bool,
    /// What ran, by its position in the table's list.
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
        let table = self.state.tables.get(control_id, id).ok_or(Stop::Broken("an unknown table"))?;
        let cost = table.entries.len() as u64;
        let found = table.lookup(&key);
        let (action, data) = choose(table, found, &chosen_by, self.state)?;
        self.state.trace.add(|| table_event(table, &declared.keys, &key, &chosen_by, found, action));
        self.spend(1 + cost / 64)?;
        A::looked_up(self, control_id, id, found);
        let reference = declared.actions.get(action as usize).ok_or(Stop::Broken("an unknown action"))?;
        self.call_table_action(reference.action, &reference.args, &data)?;
        Ok(Applied { hit: found.is_some(), action })
    }

    /// Logs that a state object was touched.
    pub(crate) fn accessed(&mut self, instance: InstanceId, kind: AccessKind) {
        let program = self.program;
        if let Some(instance) = program.instances.get(instance.index()) {
            self.state.accesses.add(&instance.control_plane_name, kind);
        }
    }
}

/// The action that runs and its data.
pub(crate) fn choose(
    table: &Table,
    found: Option<usize>,
    chosen_by: &[Bits],
    state: &State,
) -> Result<(u32, Vec<Value>), Stop> {
    let Some((_, entry)) = found.and_then(|at| table.entries.get_index(at)) else {
        return Ok(table.default.clone());
    };
    let profile = || match table.implementation.and_then(|i| state.objects.get(i.index())) {
        Some(Object::Profile(profile)) => Ok(profile),
        _ => Err(Stop::Broken("a member without a profile")),
    };
    let member = match &entry.run {
        Run::Action(action, data) => return Ok((*action, data.clone())),
        Run::Member(member) => profile()?.member(*member),
        Run::Group(group) => {
            let mut bits = BitWriter::new();
            chosen_by.iter().for_each(|b| bits.push(b));
            let profile = profile()?;
            profile.choose(*group, state.hash(profile.algorithm, &bits.finish()))
        }
    };
    let member = member.and_then(|m| {
        let action = table.actions.iter().position(|a| a.control_plane_name == m.action)?;
        Some((action as u32, m.data.clone()))
    });
    Ok(member.unwrap_or_else(|| table.default.clone()))
}
