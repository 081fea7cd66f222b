//! Value externs at work: calls from packets, and timers.

use crate::access::AccessKind;
use crate::environment::Source;
use crate::objects::Object;
use crate::objects::value::ValueCallee;
use crate::stage::Stop;
use crate::state::State;
use base_bits::Bits;
use base_time::Time;
use ir::{CallEffect, InstanceId, Program};

impl State {
    /// Calls a value extern. `inputs` and `outputs` are the numbers of arguments and result: see
    /// [`ValueExtern::call`](dataplane_api::ValueExtern::call).
    pub fn call_value(
        &mut self,
        program: &Program,
        callee: ValueCallee,
        inputs: &[Bits],
        outputs: &mut [Bits],
        now: Time,
    ) -> Result<(), Stop> {
        const NONE: Stop = Stop::Broken("an object that is not a value extern");
        let (id, method) = match callee {
            ValueCallee::Method(id, method) => (id, method),
            ValueCallee::Function(id) => {
                let function = self.functions.get_mut(id.index()).and_then(Option::as_mut).ok_or(NONE)?;
                let method = *function.methods.first().ok_or(NONE)?;
                function.call(method, inputs, outputs, &self.tables, Time::ZERO);
                return Ok(());
            }
        };
        let Some(Object::Value(value)) = self.objects.get(id.index()) else { return Err(NONE) };
        let method = *value.methods.get(method as usize).ok_or(NONE)?;
        let seen = match method.effect {
            // Pure functions have no clock.
            CallEffect::Pure => Time::ZERO,
            CallEffect::Reads => self.seen(program, id, AccessKind::Read, now),
            CallEffect::Writes => self.seen(program, id, AccessKind::Update, now),
        };
        match self.objects.get_mut(id.index()) {
            Some(Object::Value(value)) => value.call(method, inputs, outputs, &self.tables, seen),
            _ => return Err(NONE),
        }
        Ok(())
    }

    /// When the next timer of a value extern ends.
    pub(crate) fn values_deadline(&self) -> Option<Time> {
        self.objects.iter().filter_map(deadline_of).min()
    }

    /// Runs the timers that have ended, the earliest first.
    pub(crate) fn tick_values(&mut self, program: &Program, now: Time) {
        let objects = self.objects.iter().enumerate();
        let mut due: Vec<(Time, usize)> =
            objects.filter_map(|(at, o)| deadline_of(o).filter(|d| *d <= now).map(|d| (d, at))).collect();
        due.sort_unstable();
        for (_, at) in due {
            let id = InstanceId::from(at);
            let seen = self.seen(program, id, AccessKind::Update, now);
            if let Some(Object::Value(value)) = self.objects.get_mut(at) {
                value.tick(&self.tables, seen);
            }
        }
    }

    /// Notes that an instance is used, and gives the time that it sees.
    fn seen(&mut self, program: &Program, id: InstanceId, kind: AccessKind, now: Time) -> Time {
        self.accessed(program, id, kind);
        if self.environment.is_transparent() {
            return now;
        }
        let name = program.instance(id).control_plane_name.to_string();
        Time::from_ps(self.read_environment(&Source::ExternNow(name), now.as_ps()))
    }
}

fn deadline_of(object: &Object) -> Option<Time> {
    match object {
        Object::Value(value) => value.object.deadline(),
        _ => None,
    }
}
