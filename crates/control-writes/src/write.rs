//! Writes.

use crate::{ActionCall, Count, Data, DefaultEntry, Entry, EntryKey, Match, Rates, Watch};

/// New state of one thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write<R> {
    /// An entry of a table; `None` deletes it.
    Entry {
        /// The table.
        table: R,
        /// Key of the entry.
        key: EntryKey,
        /// New state; `None` deletes the entry.
        to: Option<Box<Entry<R>>>,
        /// New count of the direct counter, if it changes.
        count: Option<Count>,
    },
    /// The default entry of a table.
    Default {
        /// The table.
        table: R,
        /// New state.
        to: Box<DefaultEntry<R>>,
        /// New count of the direct counter, if it changes.
        count: Option<Count>,
    },
    /// A member of an action profile; `None` deletes it.
    Member {
        /// The profile.
        profile: R,
        /// The member's number.
        member: u32,
        /// New action; `None` deletes the member.
        to: Option<ActionCall<R>>,
    },
    /// A group of an action selector; `None` deletes it.
    Group {
        /// The selector.
        profile: R,
        /// The group's number.
        group: u32,
        /// New state; `None` deletes the group.
        to: Option<Group>,
    },
    /// A multicast group; `None` deletes it.
    Multicast {
        /// Number of the group.
        group: u32,
        /// New state; `None` deletes the group.
        to: Option<MulticastGroup>,
    },
    /// A clone session; `None` deletes it.
    CloneSession {
        /// Number of the session.
        session: u32,
        /// New state; `None` deletes the session.
        to: Option<CloneSession>,
    },
    /// The members of a value set.
    ValueSet {
        /// The set.
        set: R,
        /// All there are from now on, each with one match for each field.
        members: Vec<Vec<Match>>,
    },
    /// Whether and how digests are sent; `None` stops them.
    Digest {
        /// The digest.
        digest: R,
        /// New settings; `None` turns the digest off.
        to: Option<DigestConfig>,
    },
    /// The rates of a meter; `None` makes all packets green.
    Meter {
        /// The meter.
        meter: R,
        /// Index of the cell.
        index: u64,
        /// New rates; `None` resets them.
        to: Option<Rates>,
    },
    /// The rates of all meters of an array; `None` makes all packets green.
    MeterArray {
        /// The meter.
        meter: R,
        /// New rates; `None` resets them.
        to: Option<Rates>,
    },
    /// All cells of a counter become zero.
    CounterReset {
        /// The counter.
        counter: R,
    },
    /// All cells of a register become as at the start.
    RegisterReset {
        /// The register.
        register: R,
    },
    /// A cell of a counter.
    Counter {
        /// The counter.
        counter: R,
        /// Index of the cell.
        index: u64,
        /// New count.
        to: Count,
    },
    /// A cell of a register.
    Register {
        /// The register.
        register: R,
        /// Index of the cell.
        index: u64,
        /// New value, of the type of the register's cells.
        to: Data,
    },
    /// The direct counter of an entry or of the default entry.
    DirectCounter {
        /// The table.
        table: R,
        /// Key of the entry.
        key: EntryKey,
        /// New count.
        to: Count,
    },
    /// The whole memory of a frame extern or value extern, as its `snapshot` gives it.
    Memory {
        /// The extern object.
        object: R,
        /// New content.
        to: Vec<u8>,
    },
    /// Parameters of `crc16_custom` or `crc32_custom`. P4Runtime cannot express them.
    CustomCrc {
        /// Calculation of the program, as BMv2 names it; `None` for every call.
        calculation: Option<String>,
        /// 16 or 32.
        width: u32,
        /// The parameters.
        to: Crc,
    },
}

/// Destination of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'w, R> {
    /// To a table.
    Table(&'w R),
    /// To a value set.
    ValueSet(&'w R),
    /// To a register, counter, meter, action profile, frame extern or value extern.
    Object(&'w R),
    /// To a digest.
    Digest(&'w R),
    /// To the traffic manager.
    TrafficManager,
    /// To the hash functions of every device.
    Hashes,
}

impl<R> Write<R> {
    /// Destination.
    pub fn target(&self) -> Target<'_, R> {
        match self {
            Write::Entry { table, .. }
            | Write::Default { table, .. }
            | Write::DirectCounter { table, .. } => Target::Table(table),
            Write::ValueSet { set, .. } => Target::ValueSet(set),
            Write::Member { profile: object, .. }
            | Write::Group { profile: object, .. }
            | Write::Meter { meter: object, .. }
            | Write::MeterArray { meter: object, .. }
            | Write::Counter { counter: object, .. }
            | Write::CounterReset { counter: object }
            | Write::Register { register: object, .. }
            | Write::RegisterReset { register: object }
            | Write::Memory { object, .. } => Target::Object(object),
            Write::Digest { digest, .. } => Target::Digest(digest),
            Write::Multicast { .. } | Write::CloneSession { .. } => Target::TrafficManager,
            Write::CustomCrc { .. } => Target::Hashes,
        }
    }
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GroupMember {
    /// Number of the member.
    pub member: u32,
    /// Weight of the member in the choice; 0 where the device chooses the weights.
    pub weight: i32,
    /// Chosen only while this port is up.
    pub watch: Watch,
}

impl GroupMember {
    /// A member of weight 1 that is always chosen from.
    pub fn new(member: u32) -> GroupMember {
        GroupMember { member, weight: 1, watch: Watch::No }
    }
}

/// Destinations of copies of a packet.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MulticastGroup {
    /// In the order of replication.
    pub replicas: Vec<Replica>,
    /// The controller's own.
    pub metadata: Vec<u8>,
}

/// Destination of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replica {
    /// The port.
    pub port: u32,
    /// `egress_rid` or its like.
    pub instance: u16,
    /// The controller said `egress_port`, as older ones do, and not `port`.
    pub legacy: bool,
    /// Port and instance of backups: while the port is down, the copy goes to the first that is up.
    pub backups: Vec<(u32, u16)>,
}

impl Replica {
    /// A copy to a port, whether that is up or not.
    pub fn new(port: u32, instance: u16) -> Replica {
        Replica { port, instance, legacy: false, backups: vec![] }
    }
}

/// Port and instance of each.
pub fn members(replicas: &[Replica]) -> Vec<(u32, u16)> {
    replicas.iter().map(|replica| (replica.port, replica.instance)).collect()
}

/// The backups of each, in the order of the replicas.
pub fn backups(replicas: &[Replica]) -> Vec<Vec<(u32, u16)>> {
    replicas.iter().map(|replica| replica.backups.clone()).collect()
}

/// Clone sessions with several replicas, or one with an instance, have multicast groups from here on: where
/// `simple_switch_grpc` puts them.
pub const SESSION_GROUPS: u32 = 1 << 15;

/// Destinations of clones.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CloneSession {
    /// A clone for each.
    pub replicas: Vec<Replica>,
    /// And clones for the members of this multicast group, as it is when a packet is cloned. P4Runtime has no word for it.
    pub group: Option<u32>,
    /// Clones have no more bytes; 0: they are not cut short.
    pub packet_length_bytes: u32,
    /// Class of the clones: PSA's `class_of_service`, v1model's `priority`.
    pub class_of_service: u8,
}

/// How digests are sent (P4Runtime 1.5, section 9.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DigestConfig {
    /// The longest time in nanoseconds that a message waits for a list to be full.
    pub max_timeout_ns: i64,
    /// The most messages in a list.
    pub max_list_size: i32,
    /// Nanoseconds after which a list that nobody acknowledged is forgotten.
    pub ack_timeout_ns: i64,
}

/// The parameters of a cyclic redundancy check (Williams, "A painless guide to CRC error detection algorithms").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crc {
    /// Without the highest term.
    pub polynomial: u32,
    /// The remainder at the start.
    pub initial: u32,
    /// Added to the remainder at the end.
    pub final_xor: u32,
    /// The lowest bit of each byte comes first.
    pub reflect_data: bool,
    /// The remainder's bits are turned around at the end.
    pub reflect_remainder: bool,
}
