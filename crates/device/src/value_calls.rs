//! Value externs at work: calls from packets, and timers.

use crate::access::AccessKind;
use crate::environment::Source;
use crate::objects::Object;
use crate::objects::value::{ValueCallee, ValueMethod, ValueObject};
use crate::stage::Stop;
use crate::state::State;
use crate::table::Tables;
use base_bits::Bits;
use base_time::Time;
use dataplane_api::{Leased, SharedCalls};
use ir::{CallEffect, InstanceId, Program};
use std::sync::Arc;

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
        let (object, method, tables, now) = self.callee(program, callee, now)?;
        object.call(method, inputs, outputs, tables, now);
        Ok(())
    }

    /// The same with packed numbers; false, and nothing has happened, if the call needs lists of numbers. See
    /// [`ValueExtern::call_packed`](dataplane_api::ValueExtern::call_packed).
    #[inline]
    pub fn call_packed(
        &mut self,
        program: &Program,
        callee: &ValueCallee,
        inputs: &[u8],
        outputs: &mut [u8],
        now: Time,
    ) -> bool {
        if !self.is_transparent || self.accesses.on {
            return false;
        }
        // Nobody takes notes and the time is the packet's: instances need none of what `callee` does for them.
        if let ValueCallee::Method(id, method) = callee
            && let Some(Object::Value(object)) = self.objects.get_mut(id.index())
            && let Some(method) = object.methods.get(*method as usize).copied()
        {
            let now = if method.effect == CallEffect::Pure { Time::ZERO } else { now };
            return object.call_packed(method, inputs, outputs, &self.tables, now);
        }
        self.call_function_packed(program, callee, inputs, outputs, now)
    }

    /// Not inlined with the other calls: few programs have functions.
    #[inline(never)]
    fn call_function_packed(
        &mut self,
        program: &Program,
        callee: &ValueCallee,
        inputs: &[u8],
        outputs: &mut [u8],
        now: Time,
    ) -> bool {
        let Ok((object, method, tables, now)) = self.callee(program, *callee, now) else { return false };
        object.call_packed(method, inputs, outputs, tables, now)
    }

    /// For each instance of an extern with one method, its calls by several threads and the method's number.
    pub fn shared_calls(&self) -> Vec<Option<(Arc<dyn SharedCalls>, usize)>> {
        let shared = |object: &Object| match object {
            Object::Value(value) if value.mirrored.is_empty() => match value.methods.as_slice() {
                [method] if method.effect == CallEffect::Writes => {
                    Some((value.object.shared()?, method.number))
                }
                _ => None,
            },
            _ => None,
        };
        self.objects.iter().map(shared).collect()
    }

    /// The instance, its method, the tables that it may look up, and the time that it sees.
    #[inline]
    fn callee(
        &mut self,
        program: &Program,
        callee: ValueCallee,
        now: Time,
    ) -> Result<(&mut ValueObject, ValueMethod, &Tables, Time), Stop> {
        const NONE: Stop = Stop::Broken("an object that is not a value extern");
        let (id, method) = match callee {
            ValueCallee::Method(id, method) => (id, method),
            ValueCallee::Function(id) => {
                let function = self.functions.get_mut(id.index()).and_then(Option::as_mut).ok_or(NONE)?;
                let method = *function.methods.first().ok_or(NONE)?;
                return Ok((function, method, &self.tables, Time::ZERO));
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
            Some(Object::Value(value)) => Ok((value, method, &self.tables, seen)),
            _ => Err(NONE),
        }
    }

    /// When the next timer of a value extern ends.
    pub(crate) fn values_deadline(&self) -> Option<Time> {
        self.timed_objects().filter_map(|(_, object)| deadline_of(object)).min()
    }

    /// Leases blocks to all value externs.
    pub(crate) fn lease(&mut self, blocks: Option<&[u8]>) -> Leased {
        let answers = self.objects.iter_mut().filter_map(|object| match object {
            Object::Value(value) => Some(value.object.lease(blocks)),
            _ => None,
        });
        answers.fold(Leased::default(), |all, one| all.and(&one))
    }

    /// Runs the timers that have ended, the earliest first.
    pub(crate) fn tick_values(&mut self, program: &Program, now: Time) {
        let objects = self.timed_objects();
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
        if self.is_transparent {
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
