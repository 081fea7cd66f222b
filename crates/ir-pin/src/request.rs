//! Input and output of pinning.

use ir::{Name, Program};
use std::collections::{BTreeMap, BTreeSet};

/// The devices that process an app's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Affinity {
    /// All at the switch.
    High,
    /// Resident flows at the switch, the others at helpers.
    #[default]
    Medium,
    /// All at helpers.
    Low,
}

/// How a program is to be pinned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The devices that process flows.
    pub affinity: Affinity,
    /// Name of the region that runs at helpers.
    pub region: Name,
    /// The flow's key, as ingress names it: `hdr.ipv4.src`, `hdr.mpls[0].label`, `standard_metadata.ingress_port`.
    pub key: Vec<Name>,
    /// How flows are divided among helpers; none if one helper has them all.
    pub shards: Option<Shards>,
    /// Entries of the flow manager.
    pub flows: u64,
    /// Entries of a table's resident copy, by the table's control-plane name. Otherwise a table that has no more entries than the flow
    /// manager is copied whole, and the copy of any other table has as many as the flow manager.
    pub resident: BTreeMap<Name, Resident>,
}

/// Entries of a table's resident copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resident {
    /// All entries of the table, always.
    Whole,
    /// At most so many: those that resident flows hit.
    Most(u64),
}

/// Division of flows among helpers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shards {
    /// Logical devices: flows have numbers below this.
    pub count: u16,
    /// Places in [`Request::key`] of the parts that are hashed, in order.
    pub parts: Vec<usize>,
    /// Places in `parts` that change roles in the other direction of a connection. Where the first ones, in order, are larger than the
    /// second ones, each pair is exchanged before it is hashed.
    pub pairs: Vec<(usize, usize)>,
}

/// A table, action or object, and its copy for resident flows. Control-plane names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CopyOf {
    /// At helpers.
    pub original: Name,
    /// At the switch.
    pub resident: Name,
}

/// A pinned program.
#[derive(Clone, Debug)]
pub struct Pinned {
    /// The program.
    pub program: Program,
    /// Control-plane name of the flow manager; none where all flows are at one place, and of a program with a hot table.
    pub flow_manager: Option<Name>,
    /// Control-plane name of the action of the flow manager's entries.
    pub resident_action: Option<Name>,
    /// Copies of tables, in order of the program.
    pub tables: Vec<CopyOf>,
    /// Control-plane names of the tables, among those, whose copies have all entries.
    pub whole: BTreeSet<Name>,
    /// Copies of the actions that use copied objects; entries of a copied table name the copy.
    pub actions: Vec<CopyOf>,
    /// Copies of objects that packets write.
    pub objects: Vec<CopyOf>,
    /// Name of the region at helpers; none with [`Affinity::High`]. With a hot table, the region of its handler.
    pub region: Option<Name>,
    /// Logical devices; 0 if one helper has all flows.
    pub shards: u16,
}

impl Pinned {
    /// Name of the copy of a table, action or object; its own where there is no copy.
    pub fn resident<'a>(&'a self, original: &'a str) -> &'a str {
        let mut all = self.tables.iter().chain(&self.actions).chain(&self.objects);
        all.find(|copy| copy.original == original).map_or(original, |copy| copy.resident.as_str())
    }
}
