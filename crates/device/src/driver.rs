//! Drives a switch in virtual time: packets one after the other, and the timers that run out between them.

use crate::switch::Switch;
use base_time::Time;
use dataplane_api::{Device, Output, Port};

/// Timers in a row that are served without a packet between them.
const TICKS: u32 = 1000;

/// A switch and its clock. Every packet runs to its end before the next.
pub struct Driver<'s> {
    switch: &'s mut Switch,
    now: Time,
    sent: Vec<(Time, Output)>,
}

impl<'s> Driver<'s> {
    /// At the start of time.
    pub fn new(switch: &'s mut Switch) -> Driver<'s> {
        Driver { switch, now: Time::ZERO, sent: vec![] }
    }

    /// Present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The switch, to be asked or filled.
    pub fn switch(&mut self) -> &mut Switch {
        self.switch
    }

    /// Runs a frame that arrives on `port` at `at`, or now if `at` is in the past. Timers that are due earlier run first.
    pub fn packet(&mut self, port: Port, frame: &[u8], at: Time) {
        self.advance(at);
        let sent = self.switch.process(port, frame, self.now);
        self.keep(sent);
    }

    /// Advances the time; timers that expire run at their time.
    pub fn advance(&mut self, to: Time) {
        for _ in 0..TICKS {
            match self.switch.deadline() {
                Some(deadline) if deadline <= to => self.tick(deadline),
                _ => break,
            }
        }
        self.now = to.max(self.now);
    }

    /// Waits for the timers of externs that still run, but for no more than a thousand of them. The program's ticks come until then.
    pub fn finish(&mut self) {
        for _ in 0..TICKS {
            match self.switch.timer() {
                Some(deadline) => self.tick(deadline),
                None => break,
            }
        }
    }

    /// Takes the frames sent since the last call, with their times.
    pub fn take_sent(&mut self) -> Vec<(Time, Output)> {
        std::mem::take(&mut self.sent)
    }

    fn tick(&mut self, at: Time) {
        self.now = at.max(self.now);
        let queued = self.switch.tick(self.now);
        let sent = self.switch.drain(queued, self.now);
        self.keep(sent);
    }

    fn keep(&mut self, sent: Vec<Output>) {
        let now = self.now;
        self.sent.extend(sent.into_iter().map(|output| (now, output)));
    }
}
