//! The externs of the user's own that a device offers: calls take time there.

use base_bits::Bits;
use base_diag::{Diagnostic, SourceMap};
use base_time::{Duration, Time};
use dataplane_api::{
    Emitter, ExternError, FrameExtern, FrameExternFactory, Leased, Mirrors, NoMirrors, Registry, ValueExtern,
    ValueExternFactory,
};
use ir::Program;
use rack_emulator::Spent;
use rack_model::{Call, Device};
use rack_plan::call_cost;
use std::sync::Arc;

/// Errors for extern declarations of a program that differ from those that devices offer.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    device::check_value_externs(program, &declared(program))
}

/// All externs, and the handlers that a program declares, without code: for devices that get entries, and no packets.
pub fn declared(program: &Program) -> Registry {
    let mut registry = netfn_registry::all();
    for handler in crate::handlers::in_c(program) {
        let make = |_: &[Bits]| Ok(Box::new(Uncalled) as Box<dyn ValueExtern>);
        registry.add_value(&handler.name, ir_handlers::offer(&handler, Arc::new(make)));
    }
    registry
}

/// All externs, for runs of programs without handlers in C; others are refused.
pub fn runnable(program: &Program) -> Result<Registry, Vec<Diagnostic>> {
    let options = crate::handlers::Options::default();
    Ok(crate::handlers::offers(program, "", &options, &mut SourceMap::new())?.registry)
}

/// A handler that is never called.
struct Uncalled;

impl ValueExtern for Uncalled {
    fn call(&mut self, _method: usize, _inputs: &[Bits], _outputs: &mut [Bits], _now: Time) {}

    fn snapshot(&self) -> Vec<u8> {
        vec![]
    }

    fn restore(&mut self, _snapshot: &[u8]) -> Result<(), ExternError> {
        Ok(())
    }
}

/// The externs of `all` that a device offers; the time of their calls is reported to `spent`.
pub fn offered(device: &Device, spent: &Spent, all: &Registry) -> Registry {
    let mut registry = Registry::default();
    for name in device.externs.iter().map(|name| name.value.as_str()) {
        let (spent, cost) = (spent.clone(), call_cost(device, name));
        if let Some(offer) = all.value(name) {
            let mut offer = offer.clone();
            if cost != Call::default() {
                offer.make = timed(offer.make, cost, spent);
            }
            registry.add_value(name, offer);
            continue;
        }
        let Some(factory) = all.get(name) else { continue };
        let factory = factory.clone();
        let timed: FrameExternFactory = match cost == Call::default() {
            true => factory,
            false => Arc::new(move |args| {
                let free_at = Time::ZERO;
                Ok(Box::new(Timed { function: factory(args)?, cost, free_at, spent: spent.clone() }))
            }),
        };
        registry.add(name, timed);
    }
    registry
}

/// A factory of value externs that reports the time of each call.
fn timed(make: ValueExternFactory, cost: Call, spent: Spent) -> ValueExternFactory {
    Arc::new(move |args| Ok(Box::new(TimedValue { value: make(args)?, cost, spent: spent.clone() })))
}

/// A value extern that reports the time of each call.
struct TimedValue {
    value: Box<dyn ValueExtern>,
    cost: Call,
    spent: Spent,
}

impl ValueExtern for TimedValue {
    fn call(&mut self, method: usize, inputs: &[Bits], outputs: &mut [Bits], now: Time) {
        self.call_with(method, inputs, outputs, &NoMirrors, now);
    }

    fn call_with(
        &mut self,
        method: usize,
        inputs: &[Bits],
        outputs: &mut [Bits],
        mirrors: &dyn Mirrors,
        now: Time,
    ) {
        self.spent.add(self.cost.time);
        self.value.call_with(method, inputs, outputs, mirrors, now);
    }

    fn call_packed(
        &mut self,
        method: usize,
        inputs: &[u8],
        outputs: &mut [u8],
        mirrors: &dyn Mirrors,
        now: Time,
    ) -> bool {
        let is_done = self.value.call_packed(method, inputs, outputs, mirrors, now);
        if is_done {
            self.spent.add(self.cost.time);
        }
        is_done
    }

    fn deadline(&self) -> Option<Time> {
        self.value.deadline()
    }

    fn lease(&mut self, blocks: Option<&[u8]>) -> Leased {
        self.value.lease(blocks)
    }

    fn tick(&mut self, now: Time) {
        self.value.tick(now);
    }

    fn tick_with(&mut self, mirrors: &dyn Mirrors, now: Time) {
        self.value.tick_with(mirrors, now);
    }

    fn snapshot(&self) -> Vec<u8> {
        self.value.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        self.value.restore(snapshot)
    }
}

/// A frame extern that reports the time of each call.
struct Timed {
    function: Box<dyn FrameExtern>,
    cost: Call,
    /// When it can take the next frame.
    free_at: Time,
    spent: Spent,
}

impl FrameExtern for Timed {
    fn call(&mut self, method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        let begins = self.free_at.max(now);
        let takes = self.cost.rate.map_or(Duration::ZERO, |rate| rate.time_for(frame.len() as u64));
        self.free_at = begins + takes;
        self.spent.add(begins.since(now) + self.cost.time);
        self.function.call(method, args, frame, now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.function.deadline()
    }

    fn tick(&mut self, now: Time, out: &mut Emitter) {
        self.function.tick(now, out);
    }

    fn snapshot(&self) -> Vec<u8> {
        self.function.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        self.function.restore(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Rate;
    use rack_model::DeviceClass;

    /// Two frames of 1,000 bytes at once, through a function that takes 2 us and 8 Gbit/s; and a third when it is idle.
    #[test]
    fn calls_take_time_and_wait_for_one_another() {
        let mut device = Device::new("board", DeviceClass::Fpga);
        device.externs.push("header-decompress".to_string().into());
        let cost = Call {
            time: Duration::from_us(2),
            rate: Some(Rate::from_bits_per_s(8_000_000_000)),
            full_rate: None,
        };
        device.calls.push(("header-decompress".to_string(), cost));
        let spent = Spent::default();
        let registry = offered(&device, &spent, &netfn_registry::all());
        let factory = registry.get("header-decompress").expect("it is offered");
        let mut function = factory(&[Bits::new(16, 4)]).expect("it is made");
        let mut call = |now: u64| {
            let at = Time::ZERO + Duration::from_us(now);
            function.call("decompress", &[Bits::new(16, 1)], &[0; 1000], at, &mut Emitter::default());
            spent.take()
        };
        assert_eq!([call(0), call(0), call(9)], [2, 3, 2].map(Duration::from_us));
    }
}
