//! Ticks: frames that a device makes for its program, one a period ([`ir::Tick`]).

use crate::ports::PortNumbers;
use base_diag::Diagnostic;
use base_diag::codes::elaborate::BAD_TICK;
use base_time::{Duration, Time};
use dataplane_api::Port;
use ir::{Program, Tick};

/// The ticks of a program, each with the time of its next frame.
#[derive(Default)]
pub(crate) struct Ticks(Vec<(Tick, Time)>);

impl Ticks {
    /// The first frames come after a period. A port that the architecture does not have is an error.
    pub(crate) fn of(program: &Program, numbers: PortNumbers) -> Result<Ticks, Vec<Diagnostic>> {
        let ticks = program.ticks();
        let refused = ticks.iter().filter_map(|tick| {
            let why = numbers.check_port(tick.port).err()?;
            let problem = Diagnostic::error(BAD_TICK, "a tick has wrong values").note(why.message);
            Some(why.help.into_iter().fold(problem, Diagnostic::help))
        });
        let refused: Vec<Diagnostic> = refused.collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        let first = |tick: Tick| (Time::ZERO + tick.period, tick);
        Ok(Ticks(ticks.into_iter().map(first).map(|(at, tick)| (tick, at)).collect()))
    }

    /// When the next frame is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.0.iter().map(|(_, at)| *at).min()
    }

    /// Takes the frames that are due, with their ports, the earliest first. Several periods that have passed give one frame.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<(Port, Vec<u8>)> {
        let mut due: Vec<(Time, usize)> = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, (_, at))| *at <= now)
            .map(|(n, (_, at))| (*at, n))
            .collect();
        due.sort_unstable();
        let frame = |(_, n): (Time, usize)| {
            let (tick, at) = &mut self.0[n];
            let (late, period) = (now.since(*at).as_ps(), tick.period.as_ps());
            *at += Duration::from_ps(late - late % period) + tick.period;
            (tick.port, tick.frame.clone())
        };
        due.into_iter().map(frame).collect()
    }
}
