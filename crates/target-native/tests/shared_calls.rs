//! Calls of one value extern by several threads.

use crate::common;

use base_bits::Bits;
use base_time::Time;
use dataplane_api::{
    Direction, Effect, ExternError, Form, Method, Registry, SharedCalls, ValueExtern, ValueOffer, ValueType,
};
use device::Options;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use target_native::{Fate, Packet, Shared};

/// An extern whose calls wait until so many are there, and return this number.
#[derive(Default)]
struct Meeting {
    here: Mutex<u16>,
    came: Condvar,
    wanted: u16,
}

impl Meeting {
    fn meet(&self) -> u16 {
        let mut here = self.here.lock().unwrap();
        *here += 1;
        self.came.notify_all();
        // Long enough for any machine: only calls one after the other wait for so long.
        let waiting = |here: &mut u16| *here < self.wanted;
        *self.came.wait_timeout_while(here, Duration::from_secs(20), waiting).unwrap().0
    }
}

impl SharedCalls for Meeting {
    fn call_packed(&self, method: usize, inputs: &[u8], outputs: &mut [u8], _now: Time) {
        assert_eq!((method, inputs.len(), outputs.len()), (0, 4, 3));
        outputs[..2].copy_from_slice(&self.meet().to_be_bytes());
        outputs[2] = inputs[3] & 1;
    }
}

struct Slow(Arc<Meeting>, bool);

impl ValueExtern for Slow {
    fn call(&mut self, _method: usize, inputs: &[Bits], outputs: &mut [Bits], _now: Time) {
        outputs[0] = Bits::new(16, u128::from(self.0.meet()));
        outputs[1] = Bits::from_bool(inputs[0].bit(0));
    }

    fn shared(&self) -> Option<Arc<dyn SharedCalls>> {
        self.1.then(|| Arc::clone(&self.0) as _)
    }

    fn snapshot(&self) -> Vec<u8> {
        vec![]
    }

    fn restore(&mut self, _snapshot: &[u8]) -> Result<(), ExternError> {
        Ok(())
    }
}

/// Sends one packet in each of so many threads; the result is what the packets carry, and their ports.
fn in_threads(threads: u16, wanted: u16, is_shared: bool) -> Vec<(u16, u32)> {
    let program = common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/calls.p4"));
    let meeting = Arc::new(Meeting { wanted, ..Meeting::default() });
    let make = move |_: &[Bits]| -> Result<Box<dyn ValueExtern>, ExternError> {
        Ok(Box::new(Slow(Arc::clone(&meeting), is_shared)))
    };
    let method = Method::new("call", Effect::Writes)
        .param(Direction::In, ValueType::Bit(32))
        .param(Direction::Out, ValueType::Bit(16))
        .returns(ValueType::Bool);
    let offer = ValueOffer {
        form: Form::Object,
        methods: vec![method],
        merge: None,
        cost: base_time::Duration::ZERO,
        make: Arc::new(make),
    };
    let mut registry = Registry::default();
    registry.add_value("slow", offer);
    let options = Options { registry, ..Options::default() };
    let shared = Shared::compile(&program, options).expect("it compiles").expect("machine code");
    // The device does not know of calls by threads.
    assert_eq!(shared.lock().memory_version("I.slow").unwrap().is_none(), is_shared);
    let one = |number: u16| {
        let mut worker = shared.worker();
        let frame = [&u32::from(number).to_be_bytes()[..], &[0; 2]].concat();
        let mut packets = [Packet::new(0, &frame).expect("it fits")];
        worker.process(&mut packets, Time::ZERO);
        let Fate::Sent(port) = packets[0].fate() else { panic!("{:?}", packets[0].fate()) };
        let frame = packets[0].frame();
        (u16::from_be_bytes([frame[4], frame[5]]), port)
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|number| scope.spawn(move || one(number))).collect();
        all.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    })
}

#[test]
fn threads_are_in_calls_at_the_same_time() {
    assert_eq!(in_threads(3, 3, true), [(3, 2), (3, 1), (3, 2)]);
}

#[test]
fn calls_of_an_extern_for_one_thread_are_one_after_the_other() {
    let mut seen = in_threads(3, 1, false);
    seen.sort_unstable();
    assert_eq!(seen.iter().map(|(count, _)| *count).collect::<Vec<_>>(), [1, 2, 3]);
}
