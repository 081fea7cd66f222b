//! The frame externs that p4rack has.

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Emitter, FrameExtern, FrameExternError, FrameExternFactory, Registry};
use ir::{Instance, Program};
use rack_emulator::Spent;
use rack_model::Device;
use std::sync::Arc;

/// All of them.
pub fn all() -> Registry {
    let mut registry = Registry::default();
    netfn_beacon::register(&mut registry);
    netfn_cache::register(&mut registry);
    netfn_compress::register(&mut registry);
    netfn_fec::register(&mut registry);
    registry
}

/// Those that a device offers; what their calls take is told to `spent`.
pub fn offered(device: &Device, spent: &Spent) -> Registry {
    let all = all();
    let mut registry = Registry::default();
    for name in device.externs.iter().map(|name| name.value.as_str()) {
        let Some(factory) = all.get(name) else { continue };
        let (factory, spent, time) = (factory.clone(), spent.clone(), device.call_time(name));
        let timed: FrameExternFactory = match time > Duration::ZERO {
            true => Arc::new(move |args| {
                Ok(Box::new(Timed { function: factory(args)?, time, spent: spent.clone() }))
            }),
            false => factory,
        };
        registry.add(name, timed);
    }
    registry
}

/// A frame extern whose calls take time.
struct Timed {
    function: Box<dyn FrameExtern>,
    time: Duration,
    spent: Spent,
}

impl FrameExtern for Timed {
    fn call(&mut self, method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        self.spent.add(self.time);
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

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), FrameExternError> {
        self.function.restore(snapshot)
    }
}

/// Those that a program calls, by the name in `@frame_extern("name")`, sorted.
pub fn used(program: &Program) -> Vec<String> {
    let mut names: Vec<String> =
        program.instances.iter().filter_map(|i| name(program, i)).map(str::to_string).collect();
    names.sort();
    names.dedup();
    names
}

/// The frame extern that an instance is one of, if it is.
pub fn name<'p>(program: &'p Program, instance: &Instance) -> Option<&'p str> {
    program.extern_object(instance.object).frame_extern()?.as_str()
}
