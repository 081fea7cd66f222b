//! Operations of packets on `Lpf` and `Wred`.

use crate::access::AccessKind;
use crate::data_plane::Application;
use crate::objects::Object;
use crate::objects::filter::{Average, CERTAIN, Settings, probability, scaled};
use crate::stage::Stop;
use crate::state::State;
use base_time::Time;
use ir::{InstanceId, Program};
use ir_value::{Value, numbers};

impl State {
    /// `execute` of an `Lpf` or a `Wred` on a cell. An index out of range gives `x`, or no drop.
    pub fn filter(
        &mut self,
        program: &Program,
        id: InstanceId,
        index: u64,
        x: u64,
        now: Time,
    ) -> Result<u128, Stop> {
        let (settings, decision, size) = self.filter_settings(program, id, index)?;
        let Some(Object::Filter(filter)) = self.objects.get_mut(id.index()) else {
            return Err(Stop::Broken("an object that is not a filter"));
        };
        if index >= size {
            return Ok(decision.map_or(x, |[_, kept]| kept).into());
        }
        let average = filter.cells.entry(index).or_default().update(settings, x, now.as_ns());
        Ok(self.decide(settings, decision, average))
    }

    /// The same of a direct object: the cell is that of the entry or of the default action. All have the settings of the
    /// register's first cell.
    pub fn direct_filter(
        &mut self,
        program: &Program,
        id: InstanceId,
        applied: Option<Application>,
        x: u64,
        now: Time,
    ) -> Result<u128, Stop> {
        let (settings, decision, _) = self.filter_settings(program, id, 0)?;
        let Some((_, cells)) = applied.and_then(|applied| self.direct_mut(applied)) else {
            return Ok(decision.map_or(x, |[_, kept]| kept).into());
        };
        let average =
            cells.filter.get_or_insert_with(Box::<Average>::default).update(settings, x, now.as_ns());
        Ok(self.decide(settings, decision, average))
    }

    /// Settings of a cell, the results of a `Wred`, and the number of cells.
    fn filter_settings(
        &mut self,
        program: &Program,
        id: InstanceId,
        index: u64,
    ) -> Result<(Settings, Option<[u64; 2]>, u64), Stop> {
        self.accessed(program, id, AccessKind::Update);
        let Some(Object::Filter(filter)) = self.objects.get(id.index()) else {
            return Err(Stop::Broken("an object that is not a filter"));
        };
        let (decision, size, register) = (filter.decision, filter.size, filter.settings);
        let cell = match register {
            Some(register) => self.register_cell(program, register, index)?,
            None => None,
        };
        let mut fields = vec![];
        if let Some(cell @ Value::Struct(_)) = &cell {
            numbers::flatten(cell, &mut fields);
        }
        let mut four = [0; 4];
        four.iter_mut().zip(&fields).for_each(|(to, field)| *to = field.low_u64());
        Ok((Settings::of(decision.is_some(), four), decision, size))
    }

    fn decide(&mut self, settings: Settings, decision: Option<[u64; 2]>, average: f64) -> u128 {
        let Some([dropped, kept]) = decision else { return scaled(settings, average) };
        let drops = match probability(settings, average) {
            0 => false,
            CERTAIN.. => true,
            chance => self.draw(0, u128::from(CERTAIN) - 1) < u128::from(chance),
        };
        u128::from(if drops { dropped } else { kept })
    }
}
