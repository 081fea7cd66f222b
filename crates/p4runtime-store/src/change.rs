//! What an update changes, taken apart and checked; the entities' values.

use crate::action::ActionCall;
use crate::matches::Match;
use p4runtime_proto::p4::v1::action_profile_action_set::{ActionSelectionMode, SizeSemantics};
use p4runtime_proto::p4::v1::{P4Data, digest_entry};

/// What an update changes. Doing it and then its inverse leaves all as it was.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// An entry of a table; `None` deletes it.
    Entry {
        /// The table's id.
        table: u32,
        /// Which entry.
        key: EntryKey,
        /// What it becomes.
        to: Option<Box<Entry>>,
        /// What its direct counter becomes, if that changes.
        count: Option<Count>,
    },
    /// The default entry of a table.
    Default {
        /// The table's id.
        table: u32,
        /// What it becomes.
        to: Box<DefaultEntry>,
        /// What its direct counter becomes, if that changes.
        count: Option<Count>,
    },
    /// A member of an action profile; `None` deletes it.
    Member {
        /// The profile's id.
        profile: u32,
        /// The member's.
        member: u32,
        /// What it becomes.
        to: Option<ActionCall>,
    },
    /// A group of an action selector; `None` deletes it.
    Group {
        /// The selector's id.
        profile: u32,
        /// The group's.
        group: u32,
        /// What it becomes.
        to: Option<Group>,
    },
    /// A multicast group; `None` deletes it.
    Multicast {
        /// Its number, which is not 0.
        group: u32,
        /// What it becomes.
        to: Option<MulticastGroup>,
    },
    /// A clone session; `None` deletes it.
    CloneSession {
        /// Its number, which is not 0.
        session: u32,
        /// What it becomes.
        to: Option<CloneSession>,
    },
    /// The members of a value set.
    ValueSet {
        /// Its id.
        set: u32,
        /// All there are from now on, each with one match for each field.
        members: Vec<Vec<Match>>,
    },
    /// Whether and how digests are sent; `None` stops them.
    Digest {
        /// The digest's id.
        digest: u32,
        /// What it becomes.
        to: Option<digest_entry::Config>,
    },
    /// The rates of a meter; `None` makes all packets green.
    Meter {
        /// Its id.
        meter: u32,
        /// Which cell.
        index: u64,
        /// What they become.
        to: Option<Rates>,
    },
    /// A counter.
    Counter {
        /// Its id.
        counter: u32,
        /// Which cell.
        index: u64,
        /// What it becomes.
        to: Count,
    },
    /// A cell of a register.
    Register {
        /// The register's id.
        register: u32,
        /// Which cell.
        index: u64,
        /// What it becomes: of the register's type, in canonical form.
        to: P4Data,
    },
    /// The direct counter of an entry or of the default entry.
    DirectCounter {
        /// The table's id.
        table: u32,
        /// Which entry.
        key: EntryKey,
        /// What it becomes.
        to: Count,
    },
}

/// Which entry of a table. That without matches is the default entry: tables without fields have no other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryKey {
    /// One for each field, in the order of P4Info.
    pub matches: Box<[Match]>,
    /// The greater wins; 0 in tables without priorities, else 1 or more.
    pub priority: i32,
}

impl EntryKey {
    /// That of the default entry.
    pub fn of_default() -> EntryKey {
        EntryKey { matches: [].into(), priority: 0 }
    }

    /// True for that of the default entry.
    pub fn is_of_default(&self) -> bool {
        self.matches.is_empty()
    }
}

/// What an entry is beside its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What it runs.
    pub run: Run,
    /// The controller's own.
    pub metadata: Vec<u8>,
    /// The controller's own, as older controllers say it.
    pub controller_metadata: u64,
    /// Without a hit for so long it is reported; 0: never.
    pub idle_timeout_ns: i64,
    /// Of its direct meter.
    pub meter: Option<Rates>,
    /// From the source, and not to be changed.
    pub is_const: bool,
}

/// What an entry runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Run {
    /// An action.
    Action(ActionCall),
    /// A member of the table's profile.
    Member(u32),
    /// A group of the table's selector.
    Group(u32),
    /// A group of the entry's own.
    OneShot(OneShot),
}

/// A group of an entry's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneShot {
    /// In the controller's order; some may be the same.
    pub actions: Vec<OneShotAction>,
    /// What its size counts.
    pub size_semantics: SizeSemantics,
    /// How an action is chosen, as the controller said it: by a hash in any case.
    pub selection_mode: ActionSelectionMode,
}

/// One of the actions of a group of an entry's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneShotAction {
    /// What runs.
    pub call: ActionCall,
    /// How often, beside the others.
    pub weight: i32,
    /// Only while this port is up.
    pub watch: Watch,
}

/// What a controller has written to the default entry of a table; at first nothing.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DefaultEntry {
    /// What it runs; `None` is what the program says.
    pub call: Option<ActionCall>,
    /// The controller's own.
    pub metadata: Vec<u8>,
    /// The controller's own, as older controllers say it.
    pub controller_metadata: u64,
    /// Of its direct meter.
    pub meter: Option<Rates>,
}

/// A group of an action selector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Each member once, in the controller's order.
    pub members: Vec<GroupMember>,
    /// The controller's bound; 0: none.
    pub max_size: i32,
}

/// A member of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupMember {
    /// Its number.
    pub member: u32,
    /// How often it is chosen, beside the others.
    pub weight: i32,
    /// Only while this port is up.
    pub watch: Watch,
}

/// The port that a member needs, as the controller says it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Watch {
    /// None.
    #[default]
    No,
    /// `watch_port`
    Port(u32),
    /// `watch`, as older controllers say it.
    Legacy(i32),
}

/// Where a copy goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replica {
    /// The port.
    pub port: u32,
    /// `egress_rid` or its like.
    pub instance: u16,
    /// The controller said `egress_port`, as older ones do, and not `port`.
    pub legacy: bool,
    /// Where the copy goes while the port is down: to the first port that is up. Port and instance of each.
    pub backups: Vec<(u32, u16)>,
}

/// Clone sessions with several replicas, or one with an instance, have multicast groups from here on: where
/// `simple_switch_grpc` puts them.
pub const SESSION_GROUPS: u32 = 1 << 15;

/// Port and instance of each.
pub fn members(replicas: &[Replica]) -> Vec<(u32, u16)> {
    replicas.iter().map(|replica| (replica.port, replica.instance)).collect()
}

/// The backups of each, in the order of the replicas.
pub fn backups(replicas: &[Replica]) -> Vec<Vec<(u32, u16)>> {
    replicas.iter().map(|replica| replica.backups.clone()).collect()
}

/// Where copies of a packet go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MulticastGroup {
    /// Port and instance are different in all.
    pub replicas: Vec<Replica>,
    /// The controller's own.
    pub metadata: Vec<u8>,
}

/// Where clones go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloneSession {
    /// Port and instance are different in all.
    pub replicas: Vec<Replica>,
    /// Clones have no more bytes; 0: they are not cut short.
    pub packet_length_bytes: u32,
    /// Of the clones: PSA's `class_of_service`, v1model's `priority`.
    pub class_of_service: u8,
}

/// Two rates of a meter and their bursts, in bytes or packets (a second).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rates {
    /// Above it packets are yellow.
    pub cir: u64,
    /// Of the committed rate.
    pub cburst: u64,
    /// Above it packets are red.
    pub pir: u64,
    /// Of the peak rate.
    pub pburst: u64,
}

/// What a counter has counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}
