//! Operations of packets on objects that only TNA has.

use super::hash::HashUnit;
use super::math::MathUnit;
use crate::access::AccessKind;
use crate::data_plane::Application;
use crate::objects::Object;
use crate::stage::Stop;
use crate::state::State;
use ir::{InstanceId, Program};
use ir_value::Value;

impl State {
    /// The hash unit of an instance on TNA.
    pub fn hash_unit(&self, id: InstanceId) -> Option<HashUnit> {
        match self.objects.get(id.index()) {
            Some(Object::HashUnit(unit)) => Some(*unit),
            _ => None,
        }
    }

    /// The math unit of an instance.
    pub fn math_unit(&self, id: InstanceId) -> Option<MathUnit> {
        match self.objects.get(id.index()) {
            Some(Object::MathUnit(unit)) => Some(*unit),
            _ => None,
        }
    }

    /// Index of the cell of `register` that the next `execute_log` of an action uses: one after the other, then again
    /// from the first.
    pub fn next_in_log(&mut self, action: InstanceId, register: InstanceId) -> Result<u64, Stop> {
        let size = match self.objects.get(register.index()) {
            Some(Object::Register(register)) => register.size.max(1),
            _ => return Err(Stop::Broken("an object that is not a register")),
        };
        let Some(Object::Log(calls)) = self.objects.get_mut(action.index()) else {
            return Err(Stop::Broken("an object that is not a register action"));
        };
        let index = *calls % size;
        *calls = calls.wrapping_add(1);
        Ok(index)
    }

    /// Cell of the direct register `id`, of the entry that was hit or of the default action; `None` if no table was
    /// applied.
    pub fn direct_register(
        &mut self,
        program: &Program,
        id: InstanceId,
        applied: Option<Application>,
    ) -> Result<Option<Value>, Stop> {
        self.accessed(program, id, AccessKind::Read);
        let Some(Object::DirectRegister(initial)) = self.objects.get(id.index()) else {
            return Err(Stop::Broken("an object that is not a direct register"));
        };
        let initial = initial.clone();
        let cells = applied.and_then(|applied| self.direct_mut(applied));
        Ok(cells.map(|(_, cells)| cells.register.as_deref().cloned().unwrap_or(initial)))
    }

    /// Writes the cell that [`direct_register`](State::direct_register) reads.
    pub fn direct_register_write(
        &mut self,
        program: &Program,
        id: InstanceId,
        applied: Option<Application>,
        value: Value,
    ) {
        self.accessed(program, id, AccessKind::Write);
        if let Some((_, cells)) = applied.and_then(|applied| self.direct_mut(applied)) {
            cells.register = Some(Box::new(value));
        }
    }
}
