//! Bring a rack up in virtual time and run its workloads.

mod channel;
mod control;
mod domain;
mod driven;
mod edges;
mod expect;
mod grouped;
mod groups;
mod merged;
mod page;
mod passed;
mod pinned;
mod replaced;
mod replans;
mod silence;
mod stages;
mod switches;
mod topology;

pub use control::BringUp;
use control::{Control, TIMING};
pub use expect::unmet;
pub use page::page;
pub use replaced::{Replaced, Verdict, prove_replaced};
pub use silence::{endless, silence};
pub use stages::{run_stages, stages_page};
pub use topology::picture;

use crate::rack::Racked;
use base_diag::{Diagnostic, codes::emulate as codes};
use base_time::Time;
use controller::Timing;
use device::Switch;
use driven::Driven;
use rack_emulator::{Emulator, RunReport, Violation};
use rack_model::DeviceId;
use std::any::Any;

/// A rack that is up.
pub struct Running {
    /// Devices, links and hosts.
    pub emulator: Emulator,
    /// Work of bring-up.
    pub bring_up: BringUp,
    control: Control,
}

/// The rack with every device programmed, at time 0; without its stages.
pub fn bring_up(racked: &Racked) -> Result<Running, Vec<Diagnostic>> {
    bring_up_in(racked, None)
}

/// [`bring_up`] in one phase of the rack.
pub fn bring_up_in(racked: &Racked, stage: Option<usize>) -> Result<Running, Vec<Diagnostic>> {
    bring_up_with(racked, stage, TIMING)
}

/// [`bring_up_in`] with the timing of the controllers.
fn bring_up_with(racked: &Racked, stage: Option<usize>, timing: Timing) -> Result<Running, Vec<Diagnostic>> {
    let (control, emulator, bring_up) = Control::bring_up(racked, stage, timing)?;
    Ok(Running { emulator, bring_up, control })
}

impl Running {
    /// Runs until nothing is left to happen or time is up.
    pub fn run(&mut self) -> Result<RunReport, Vec<Diagnostic>> {
        self.run_watched(u64::MAX, &mut |_| Ok(()))
    }

    /// [`Running::run`] with a callback: `watch` is called after each event whose number is divisible by `every`, and at the end. An error of `watch` ends the run.
    pub fn run_watched(
        &mut self,
        every: u64,
        watch: &mut dyn FnMut(&mut Emulator) -> Result<(), String>,
    ) -> Result<RunReport, Vec<Diagnostic>> {
        let mut left = every;
        loop {
            let happened =
                self.go_on(Time::MAX, left).map_err(|violation| refused(&violation.to_string()))?;
            if happened == 0 {
                break;
            }
            left -= happened;
            if left == 0 {
                left = every;
                watch(&mut self.emulator).map_err(|why| refused(&why))?;
            }
        }
        self.merge_copies().map_err(|violation| refused(&violation.to_string()))?;
        self.emulator.finish().map_err(|violation| refused(&violation.to_string()))?;
        watch(&mut self.emulator).map_err(|why| refused(&why))?;
        let mut report = self.emulator.report();
        report.edges = self.control.edges.report(&mut self.emulator);
        report.pinned = self.control.report_pinned(self.emulator.now(), &report.links);
        report.groups = self.control.groups.reports(&self.emulator, &report.drops);
        Ok(report)
    }

    /// Lets the controllers merge what was counted, unless the rack ends at a time of its own. No more packets come.
    fn merge_copies(&mut self) -> Result<(), Violation> {
        let Running { emulator, control, .. } = self;
        let is_over = |emulator: &Emulator| emulator.next_time().is_some() || emulator.ends_at_a_time();
        let last = emulator.now();
        while !is_over(emulator) && control.merges_since(last) {
            let Some(due) = control.next_time() else { break };
            emulator.run_until(due)?;
            control.watch(emulator)?;
        }
        control.note_merges(emulator);
        Ok(())
    }

    /// Processes all events up to and at `time`, and sets the time to `time`.
    pub fn run_until(&mut self, time: Time) -> Result<(), Violation> {
        while self.go_on(time, u64::MAX)? > 0 {}
        self.emulator.run_until(time)
    }

    /// Works on the switch of a device between two events, as a controller at the device would; `None` if the device runs no program.
    pub fn with_switch<R>(
        &mut self,
        device: DeviceId,
        work: impl FnOnce(&mut Switch) -> R,
    ) -> Result<Option<R>, Violation> {
        let mut result = None;
        self.emulator.steer(device, |device| {
            let driven = (device as &mut dyn Any).downcast_mut::<Driven>();
            result = driven.and_then(Driven::running).map(work);
            false
        })?;
        Ok(result)
    }

    /// Runs the events up to and at `time`, at most `most`; returns their number, 0 if there are none before the run's
    /// limit.
    fn go_on(&mut self, time: Time, most: u64) -> Result<u64, Violation> {
        let Running { emulator, control, .. } = self;
        let limit = emulator.limit().min(time);
        let event = emulator.next_time().filter(|at| *at <= limit);
        // The controller's timeouts do not keep an otherwise idle rack running.
        let may_wait = event.is_some() || control.is_busy() || emulator.keeps_frames() || time < Time::MAX;
        let due = control.next_time().filter(|_| may_wait);
        if event.is_some_and(|event| due.is_none_or(|due| event <= due)) {
            let happened = emulator.run_events(due.map_or(time, |due| due.min(time)), most)?;
            if emulator.has_restarted() {
                control.watch(emulator)?;
            }
            return Ok(happened);
        }
        let Some(due) = due.filter(|due| *due <= limit) else { return Ok(0) };
        emulator.run_until(due)?;
        control.watch(emulator)?;
        Ok(1)
    }
}

fn refused(why: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::EMULATION, "the rack cannot be run").note(why)]
}
