//! The programs of a group and their switches: what `p4rack job compile` writes as `REDUCER.group.json`.

use super::{GroupError, problem};
use crate::control::Attachment;
use aggregate::{Layout, Op};
use reduce_jobs::plan::{Folding, Placed, operators};
use reduce_jobs::{Job, Topology};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::Path;

/// A group. The program beside the reducer has rank 0, that of channel `n` rank `n + 1`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupPlan {
    /// The version of p4rack that wrote it.
    pub version: String,
    /// Name of the reducer.
    pub name: String,
    /// The number in packets.
    pub job: u16,
    /// UDP port.
    pub port: u16,
    /// Distinguishes hashes of keys.
    pub seed: u64,
    /// Lanes of a packet.
    pub lanes: u8,
    /// Bits of a tag.
    pub tag_bits: u8,
    /// Rows of a lane in a bank.
    pub rows: u32,
    /// Packets in flight.
    pub window: u32,
    /// A pair that meets another key takes its slot.
    pub evict: bool,
    /// Operators of the switches.
    pub operators: Vec<String>,
    /// Name of each switch, and the address for its requests; parents are last.
    pub switches: Vec<(String, Ipv4Addr)>,
    /// The number of switches that fold what others have left.
    pub parents: u16,
    /// Attachment of each program's host, by rank.
    pub members: Vec<Attachment>,
}

/// Limit on a file.
const MOST_BYTES: u64 = 1 << 24;

impl GroupPlan {
    /// The group of a reducer whose mappers are programs; `attachment`: of a host of the topology.
    pub fn of(
        placed: &Placed,
        job: &Job,
        topology: &Topology,
        attachment: impl Fn(usize) -> Attachment,
    ) -> GroupPlan {
        let reducer = &job.reducers[placed.reducer];
        let Layout { lanes, tag_bits, window, evict, .. } = reducer.layout;
        // All switches of a reducer have its operators, and maybe those of others.
        let operators = if placed.switches.is_empty() { vec![] } else { operators(job, reducer) };
        let folding = |folding: &Folding| {
            (topology.switches[folding.switch].clone(), topology.hosts[folding.behind].address)
        };
        let hosts = [placed.host].into_iter().chain(placed.mappers.iter().copied());
        GroupPlan {
            version: version().into(),
            name: reducer.name.value.clone(),
            job: reducer.number,
            port: reducer.port,
            seed: reducer.seed,
            lanes,
            tag_bits,
            rows: reducer.layout.rows(),
            window,
            evict,
            operators: operators.iter().map(|op| op.word().to_string()).collect(),
            switches: placed.switches.iter().map(folding).collect(),
            parents: placed.parents,
            members: hosts.map(attachment).collect(),
        }
    }

    /// A group of programs whose pairs no switch folds.
    pub fn of_hosts(name: &str, members: Vec<Attachment>) -> GroupPlan {
        let Layout { lanes, tag_bits, window, evict, .. } = Layout::PIPELINE;
        GroupPlan {
            version: version().into(),
            name: name.into(),
            job: 1,
            port: aggregate::packet::PORT,
            seed: 1,
            lanes,
            tag_bits,
            rows: Layout::PIPELINE.rows(),
            window,
            evict,
            operators: vec![],
            switches: vec![],
            parents: 0,
            members,
        }
    }

    /// Programs of one machine without switches, for trials: each has an address of the loopback. The port at which rank 0 listens is part of the addresses, so groups at
    /// other ports are not disturbed.
    pub fn on_this_machine(programs: u8, root: u16) -> GroupPlan {
        let [high, low] = root.to_be_bytes();
        let member = |rank| Attachment::Kernel { address: Ipv4Addr::new(127, high, low, 1 + rank) };
        GroupPlan::of_hosts("local", (0..programs.min(250)).map(member).collect())
    }

    /// The text of a file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("it is texts and numbers") + "\n"
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<GroupPlan, GroupError> {
        let name = path.display();
        let help = "`p4rack job compile` and `p4rack job switches` write such files: REDUCER.group.json";
        let wrong = |what: String| problem(format!("`{name}`: {what}"), help);
        let size = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
        if size > MOST_BYTES {
            return Err(wrong(format!("{size} bytes are more than a group needs")));
        }
        let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let plan: GroupPlan = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        plan.check().map_err(|error| wrong(error.title))?;
        Ok(plan)
    }

    pub(super) fn check(&self) -> Result<(), GroupError> {
        if self.version != version() {
            let title = format!("it is of version {}, and this is {}", self.version, version());
            return Err(problem(title, "compile the job again"));
        }
        let programs = self.members.len();
        if !(1..=super::form::MOST_PROGRAMS).contains(&programs) {
            let title = format!("a group has 1 to {} programs, not {programs}", super::form::MOST_PROGRAMS);
            return Err(problem(title, "use several groups"));
        }
        if usize::from(self.parents) > self.switches.len() {
            return Err(problem("more parents than switches", "compile the job again"));
        }
        if !self.rows.is_power_of_two() {
            return Err(problem(format!("{} rows are no power of two", self.rows), "compile the job again"));
        }
        self.layout().check().map_err(|error| problem(error.to_string(), "compile the job again"))
    }

    pub(super) fn layout(&self) -> Layout {
        let Self { lanes, tag_bits, rows, window, evict, .. } = *self;
        Layout { lanes, tag_bits, index_bits: rows.trailing_zeros() as u8, window, evict }
    }

    /// True if the switches fold by an operator.
    pub(super) fn is_switched(&self, op: Op) -> bool {
        !self.switches.is_empty() && self.operators.iter().any(|word| word == op.word())
    }
}

/// The version of p4rack.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
