//! `beacon`: repeats some of the frames that pass.
//!
//! | | |
//! |---|---|
//! | synopsis | `Beacon(bit<32> every, bit<48> idle_us)`, method `process()` |
//! | what it does | Every frame goes on unchanged. Every `every`-th call also gives a fresh copy of its frame, after the call. When `idle_us` microseconds have passed since the last call, a fresh copy of that call's frame is given once; then no timer runs until the next call. 0 switches off either. |
//! | state | 4 bytes (calls since the last extra copy); while the timer runs, 8 bytes (when it ends) and one frame |
//! | cost | one copy of the frame a call for the timer, one for each copy given; no search, no loop |
//! | counters | none of its own: the device counts the copies as `created` |
//!
//! ```p4
//! @frame_extern("beacon")
//! extern Beacon {
//!     Beacon(bit<32> every, bit<48> idle_us);
//!     void process();
//! }
//! Beacon(4, 100) beacon;
//! // frames 1 2 3 4 pass, 10us apart: 1 2 3 4 4 go on, and 100us after the last, 4 once more
//! ```
//!
//! It exists to try what frame functions need (frames from calls and from timers, memory that moves) on the
//! smallest function that needs it.

mod snapshot;

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Emitter, ExternError, FrameExtern, Registry, ResumeAt, constructor_arguments};
use std::sync::Arc;

/// The name in `@frame_extern("beacon")`.
pub const NAME: &str = "beacon";

/// Offers `beacon`.
pub fn register(registry: &mut Registry) {
    registry.add(NAME, Arc::new(|args| Ok(Box::new(Beacon::from_args(args)?))));
}

/// An instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Beacon {
    every: u32,
    idle_us: u64,
    /// Calls since the last extra copy: below `every`, and 0 if that is 0.
    calls: u32,
    waiting: Option<Waiting>,
}

/// The timer while it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Waiting {
    deadline: Time,
    frame: Vec<u8>,
}

impl Beacon {
    /// An extra copy every `every` calls, and one `idle_us` microseconds after the last call; 0 means never.
    pub fn new(every: u32, idle_us: u64) -> Beacon {
        Beacon { every, idle_us, calls: 0, waiting: None }
    }

    /// From the constructor's arguments, `(every: bit<32>, idle_us: bit<48>)`.
    fn from_args(args: &[Bits]) -> Result<Beacon, ExternError> {
        let [every, idle_us] = constructor_arguments(NAME, [("every", 32), ("idle_us", 48)], args)?;
        Ok(Beacon::new(every as u32, idle_us))
    }

    /// True if this call is the one that gives an extra copy.
    fn count_call(&mut self) -> bool {
        let Some(last) = self.every.checked_sub(1) else {
            return false;
        };
        let due = self.calls == last;
        self.calls = if due { 0 } else { self.calls + 1 };
        due
    }

    fn start_timer(&mut self, frame: &[u8], now: Time) {
        let deadline = now + Duration::from_us(self.idle_us);
        let runs = self.idle_us > 0 && deadline < Time::MAX;
        self.waiting = runs.then(|| Waiting { deadline, frame: frame.to_vec() });
    }
}

impl FrameExtern for Beacon {
    fn call(&mut self, _method: &str, _args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        self.start_timer(frame, now);
        out.carry_on(frame.to_vec());
        if self.count_call() {
            out.emit(frame.to_vec(), ResumeAt::AfterCall);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.waiting.as_ref().map(|w| w.deadline)
    }

    fn tick(&mut self, now: Time, out: &mut Emitter) {
        if let Some(waiting) = self.waiting.take_if(|w| w.deadline <= now) {
            out.emit(waiting.frame, ResumeAt::AfterCall);
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::write(self)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        *self = snapshot::read(self, bytes)?;
        Ok(())
    }
}
