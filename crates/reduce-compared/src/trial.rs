//! One job by one system.

use crate::agg::{Agg, Framing};
use crate::daiet::{Collision, Daiet};
use crate::data::Data;
use crate::network::{Course, Links, Load, Shape, System, run};
use crate::printed::Printed;
use crate::switchml::SwitchMl;
use aggregate::Layout;
use base_time::{Duration, Time};

/// A system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// AGG's machines and packets without a switch.
    Plain,
    /// The same with whole keys, as the software profile has them.
    PlainWhole,
    /// Records with lengths and whole keys over TCP; arrays as they are.
    Hadoop,
    /// DAIET.
    Daiet {
        /// Reaction to a slot with another key.
        collision: Collision,
        /// Each mapper sends at its share of the reducer's link, so that no queue is full; otherwise at the rate of its own link.
        is_paced: bool,
    },
    /// P4COM as printed.
    Printed {
        /// Duplicates are acknowledged again.
        is_repaired: bool,
    },
    /// SwitchML, for dense data.
    SwitchMl,
    /// AGG with 24 lanes and rounds.
    Pipeline,
    /// AGG with whole keys and eviction.
    Software,
    /// AGG's format of arrays, for dense data: 128 values in a packet.
    Dense,
}

/// A job.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// Pairs.
    pub data: &'a Data,
    /// Hosts and switches.
    pub shape: Shape,
    /// Links.
    pub links: Links,
    /// Slots of a switch, in each bank if there are two; the bound of P4COM.
    pub slots: u64,
    /// Restarts of switches.
    pub restarts: Vec<(Time, u16)>,
}

/// Result of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Time to the end; none if there was none.
    pub time: Option<Duration>,
    /// The reducer's link, towards it; with the texts of keys that the system asks for.
    pub to: Load,
    /// The reducer's link, from it.
    pub from: Load,
    /// Packets that were dropped or lost.
    pub lost: u64,
    /// Time at which the last mapper had sent its last packet.
    pub sent: Duration,
    /// Pairs that reached the reducer.
    pub pairs: u64,
    /// Keys whose value is not that of a serial fold.
    pub wrong: u64,
    /// Rounds, of systems that have some.
    pub rounds: u32,
}

impl Trial<'_> {
    /// Runs the job by a system.
    pub fn run(&self, mode: Mode) -> Result<Outcome, String> {
        let fold = self.data.fold();
        let agg = |layout, slots, framing| Agg::new(self.data, self.shape, layout, slots, framing);
        let records = if self.data.is_dense { Framing::Array } else { Framing::Records };
        let job = match mode {
            Mode::Plain => agg(Layout::PIPELINE, 0, Framing::Agg)?,
            Mode::PlainWhole => agg(Layout::SOFTWARE, 0, Framing::Agg)?,
            Mode::Hadoop => agg(Layout::SOFTWARE, 0, records)?,
            Mode::Pipeline => agg(Layout::PIPELINE, self.slots, Framing::Agg)?,
            Mode::Software => agg(Layout::SOFTWARE, self.slots, Framing::Agg)?,
            Mode::Dense if !self.data.is_dense => {
                return Err("the format of arrays reduces arrays only".to_string());
            }
            Mode::Dense => agg(Layout::DENSE, self.slots, Framing::Agg)?,
            Mode::Daiet { collision, is_paced } => {
                let share = if is_paced { u64::from(self.shape.mappers) } else { 1 };
                let mut job =
                    Daiet::new(self.data, self.shape, self.slots, collision, self.links.rate / share);
                let course = self.course(&mut job);
                return Ok(outcome(&course, job.pairs(), job.wrong(&fold), 0));
            }
            Mode::Printed { is_repaired } => {
                let mut job = Printed::new(self.data, self.shape, self.slots, is_repaired);
                let course = self.course(&mut job);
                return Ok(outcome(&course, job.pairs(), job.wrong(&fold), 0));
            }
            Mode::SwitchMl if !self.data.is_dense => return Err("SwitchML reduces arrays only".to_string()),
            Mode::SwitchMl => {
                let mut job = SwitchMl::new(self.data, self.shape);
                let course = self.course(&mut job);
                return Ok(outcome(&course, job.pairs(), job.wrong(&fold), 0));
            }
        };
        let mut job = job;
        let course = self.course(&mut job);
        let mut outcome = outcome(&course, job.pairs(), job.wrong(&fold), job.rounds());
        // Keys that travelled as hashes: their texts come at the end, over the same link.
        let more = job.resolution(self.data);
        outcome.to.bytes += more;
        let time =
            Duration::from_ps((u128::from(more) * 8_000_000_000_000 / u128::from(self.links.rate)) as u64);
        outcome.time = outcome.time.map(|known| known + time);
        Ok(outcome)
    }

    fn course(&self, system: &mut impl System) -> Course {
        run(system, self.shape, self.links, 1, &self.restarts)
    }
}

fn outcome(course: &Course, pairs: u64, wrong: u64, rounds: u32) -> Outcome {
    Outcome {
        time: course.time.map(|time| time.since(Time::ZERO)),
        to: course.to,
        from: course.from,
        lost: course.dropped + course.lost,
        sent: course.sent.since(Time::ZERO),
        pairs,
        wrong,
        rounds,
    }
}
