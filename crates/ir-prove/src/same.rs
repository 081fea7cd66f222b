//! Two forms of one program compared: after a pass, printed and read back, compiled in another way.
//!
//! Both get the same entries, multicast groups, clone sessions and packets, one packet at a time. Output, digests, log
//! messages, drops and the final state must be equal.

use crate::generate::{EntrySpec, PacketMaker, Pool, entries};
use base_diag::Diagnostic;
use base_time::{Rng, Time};
use dataplane_api::{Device, Output};
use device::{Options, Session, Switch};
use ir::Program;
use std::fmt;
use std::sync::Arc;

/// Amount of entries and packets to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SameEffort {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// Number of times that entries are drawn.
    pub rounds: usize,
    /// Packets with one set of entries.
    pub packets: usize,
    /// Entries for each key of a table.
    pub entries: usize,
}

impl Default for SameEffort {
    fn default() -> SameEffort {
        SameEffort { seed: 1, rounds: 2, packets: 40, entries: 4 }
    }
}

/// Difference between two programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unlike {
    /// One is refused.
    Refused(Vec<Diagnostic>),
    /// An entry of the first does not fit the second.
    Entry(EntrySpec),
    /// After this packet: `what` is `first` in the first program and `second` in the other.
    Behaviour {
        /// The port it came by.
        port: u32,
        /// The packet.
        frame: Vec<u8>,
        /// `output`, `digests`, `log`, `drops`, or a state object.
        what: String,
        /// In the first program.
        first: String,
        /// In the second.
        second: String,
    },
}

impl fmt::Display for Unlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unlike::Refused(problems) => write!(f, "refused: {problems:?}"),
            Unlike::Entry(entry) => write!(f, "entry {entry:?} is refused"),
            Unlike::Behaviour { port, frame, what, first, second } => {
                write!(f, "port {port}, packet {frame:02x?}: {what}\n  first:  {first}\n  second: {second}")
            }
        }
    }
}

/// Runs both; gives how many frames came out. Entries are drawn from the first, packets from both in turn.
pub fn same(first: &Arc<Program>, second: &Arc<Program>, effort: &SameEffort) -> Result<usize, Box<Unlike>> {
    let mut sent = 0;
    for round in 0..effort.rounds {
        let rng = Rng::new(effort.seed).split_index(round as u64);
        sent += one_round(first, second, effort, &rng)?;
    }
    Ok(sent)
}

fn one_round(
    first: &Arc<Program>,
    second: &Arc<Program>,
    effort: &SameEffort,
    rng: &Rng,
) -> Result<usize, Box<Unlike>> {
    let mut pool = Pool::new(first, &[], rng);
    let specs = entries(first, &mut pool, effort.entries, &mut rng.split("entries"));
    let mut both = Both { first: device(first)?, second: device(second)? };
    for spec in &specs {
        both.entry(spec)?;
    }
    let makers = [PacketMaker::new(first), PacketMaker::new(second)];
    let mut draws = rng.split("packets");
    let mut sent = 0;
    let mut now = Time::ZERO;
    for at in 0..effort.packets {
        let frame = makers[at % 2].packet(&mut pool, &mut draws);
        let port = pool.port(&mut draws);
        now += base_time::Duration::from_us(draws.between(1, 100));
        sent += both.packet(port, &frame, now)?;
    }
    Ok(sent)
}

fn device(program: &Arc<Program>) -> Result<Switch, Box<Unlike>> {
    let mut switch = ir_interp::switch(Arc::clone(program), Options::default())
        .map_err(|problems| Box::new(Unlike::Refused(problems)))?;
    for group in 1..8u16 {
        let members = (0..group % 3 + 1).map(|rid| (u32::from(group + rid), rid)).collect();
        switch.multicast_group_set(u32::from(group), members);
        switch.clone_session_set(
            u32::from(group),
            Some(Session { port: Some(u32::from(group)), ..Session::default() }),
        );
    }
    Ok(switch)
}

struct Both {
    first: Switch,
    second: Switch,
}

impl Both {
    fn entry(&mut self, entry: &EntrySpec) -> Result<(), Box<Unlike>> {
        let add = |switch: &mut Switch| {
            switch.table_add(&entry.table, &entry.keys, &entry.action, &entry.args, entry.priority).is_ok()
        };
        let (first, second) = (add(&mut self.first), add(&mut self.second));
        if first == second { Ok(()) } else { Err(Box::new(Unlike::Entry(entry.clone()))) }
    }

    fn packet(&mut self, port: u32, frame: &[u8], now: Time) -> Result<usize, Box<Unlike>> {
        let unlike = |what: &str, first: String, second: String| {
            let what = what.to_string();
            Box::new(Unlike::Behaviour { port, frame: frame.to_vec(), what, first, second })
        };
        let (first, second) = (self.first.process(port, frame, now), self.second.process(port, frame, now));
        if first != second {
            return Err(unlike("output", show(&first), show(&second)));
        }
        let pairs = [
            (
                "digests",
                format!("{:?}", self.first.take_digests()),
                format!("{:?}", self.second.take_digests()),
            ),
            ("log", self.first.take_log().join("; "), self.second.take_log().join("; ")),
            (
                "drops",
                format!("{:?}", self.first.counters().dropped),
                format!("{:?}", self.second.counters().dropped),
            ),
        ];
        for (what, first, second) in pairs {
            if first != second {
                return Err(unlike(what, first, second));
            }
        }
        let (states, others) = (self.first.state(), self.second.state());
        for object in states.keys().chain(others.keys()) {
            let (first, second) = (states.get(object), others.get(object));
            if first != second {
                return Err(unlike(object, format!("{first:02x?}"), format!("{second:02x?}")));
            }
        }
        Ok(first.len())
    }
}

fn show(outputs: &[Output]) -> String {
    outputs.iter().map(|o| format!("{}: {:02x?}", o.port, o.frame)).collect::<Vec<_>>().join("; ")
}
