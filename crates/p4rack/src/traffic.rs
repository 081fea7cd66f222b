//! `p4rack analyze --traffic`: how much of captured traffic passes each region.
//!
//! The interpreter runs the program and traces each packet. A packet passes a region if a step of its trace is in the
//! region's block. The result can be stated in `RACK.toml` as an app's `shares`.

use crate::run::feed::Feed;
use crate::run::{Engine, Job};
use base_diag::{Diagnostic, Span};
use ir::{Name, Program};
use ir_footprint::analysis;
use ir_split::auto::{self, Policy};
use ir_split::marks;
use serde::Serialize;

/// Packets, and how many of them pass each region.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Traffic {
    /// Number of input packets.
    pub packets: u64,
    /// Regions in source order: name, and number of packets that enter it.
    pub regions: Vec<(Name, u64)>,
}

impl Traffic {
    /// A region's share of the packets in percent, as `RACK.toml` states it: rounded up to a hundred-thousandth.
    pub fn percent(&self, passed: u64) -> String {
        const STEPS: u128 = 10_000_000;
        let share = (u128::from(passed) * STEPS).div_ceil(u128::from(self.packets.max(1)));
        let (whole, rest) = (share * 100 / STEPS, share * 100 % STEPS);
        let decimals = format!("{:05}", rest * 100_000 / STEPS);
        match decimals.trim_end_matches('0') {
            "" => format!("{whole}%"),
            decimals => format!("{whole}.{decimals}%"),
        }
    }

    /// The line for `RACK.toml`.
    pub fn line(&self) -> String {
        let shares =
            self.regions.iter().map(|(name, passed)| format!("{name} = \"{}\"", self.percent(*passed)));
        format!("shares = {{ {} }}", shares.collect::<Vec<_>>().join(", "))
    }
}

/// Runs the packets of a feed and counts those that pass each region: those that the program marks or, with a policy, those that it
/// chooses.
pub fn measure(job: &Job, policy: Option<Policy>, feed: &mut Feed) -> Result<Traffic, Vec<Diagnostic>> {
    let regions = regions(&job.program, policy)?;
    let mut traffic =
        Traffic { packets: 0, regions: regions.iter().map(|(name, _)| (name.clone(), 0)).collect() };
    job.feed(feed, &mut |step| {
        if step.input.is_none() {
            return Ok(());
        }
        traffic.packets += 1;
        for ((_, block), (_, passed)) in regions.iter().zip(&mut traffic.regions) {
            let is_inside = |span: Span| !span.is_none() && block.lo <= span.lo && span.hi <= block.hi;
            *passed += u64::from(step.trace.iter().any(|event| is_inside(event.span)));
        }
        Ok(())
    })?;
    Ok(traffic)
}

/// A job that traces packets.
pub fn job(program: std::sync::Arc<Program>, fillings: Vec<crate::run::entries::Filling>) -> Job {
    let registry = crate::functions::declared(&program);
    Job {
        program,
        fillings,
        seed: 0,
        interval: None,
        cpu_port: None,
        trace: true,
        engine: Engine::Interp,
        registry,
    }
}

fn regions(program: &Program, policy: Option<Policy>) -> Result<Vec<(Name, Span)>, Vec<Diagnostic>> {
    let found = match policy {
        None => marks(program)?,
        Some(policy) => {
            let mut marked = analysis::base(program, policy)?;
            let cuts = auto::cuts(&marked, policy);
            auto::mark(&mut marked, &cuts);
            marks(&marked)?
        }
    };
    Ok(found.into_iter().map(|mark| (mark.name, mark.span)).collect())
}

#[cfg(test)]
mod tests {
    use super::Traffic;

    #[test]
    fn shares_are_rounded_up_and_can_be_read_back() {
        let traffic =
            Traffic { packets: 3, regions: vec![("A".into(), 1), ("B".into(), 3), ("C".into(), 0)] };
        assert_eq!(traffic.line(), "shares = { A = \"33.33334%\", B = \"100%\", C = \"0%\" }");
    }
}
