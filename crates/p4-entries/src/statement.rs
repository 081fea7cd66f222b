//! The statements, as data.

use crate::Match;
use base_bits::num_bigint::BigUint;
use base_diag::Span;
use base_time::Duration;
use control_writes::{Crc, Rates};

/// A name with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// As written.
    pub text: String,
    /// Place in the file.
    pub span: Span,
}

/// A value with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value<T> {
    /// The value.
    pub value: T,
    /// Place in the file.
    pub span: Span,
}

/// Match fields of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Matches by key name; omitted keys match anything, or zero if they are exact.
    Named(Vec<(Named, Value<Match>)>),
    /// All, in the order of the table.
    InOrder(Vec<Value<Match>>),
    /// All, in the order of the table, each in the one form that `simple_switch_CLI` takes for its kind of key.
    AsInBmv2(Vec<Value<Match>>),
}

/// The data of an action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Args {
    /// Values by parameter name.
    Named(Vec<(Named, Value<BigUint>)>),
    /// All, in the order of the action.
    InOrder(Vec<Value<BigUint>>),
    /// All, and in tables with priorities one more: the priority, of which the least wins. There it must stand.
    AndPriority(Vec<Value<BigUint>>),
}

/// Action, member or group that an entry runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Run {
    /// An action of the table.
    Action(Named, Args),
    /// A member of the table's profile, by its label.
    Member(Named),
    /// A group of the table's selector, by its label.
    Group(Named),
}

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Statement {
    /// An entry of a table.
    Entry {
        /// The table.
        table: Named,
        /// Match fields.
        keys: Keys,
        /// Action, member or group.
        run: Run,
        /// The greater wins.
        priority: Option<i64>,
        /// Time without a hit after which the entry is reported to the controller.
        idle_timeout: Option<Duration>,
        /// The rates of its direct meter, committed and peak.
        rates: Option<Rates>,
        /// All of it.
        span: Span,
    },
    /// The default action of a table.
    Default {
        /// The table.
        table: Named,
        /// The action.
        action: Named,
        /// Action data.
        args: Args,
        /// All of it.
        span: Span,
    },
    /// The default action of a table is that of a member.
    DefaultMember {
        /// The table.
        table: Named,
        /// The member's label.
        label: Named,
        /// All of it.
        span: Span,
    },
    /// A member of an action profile or selector.
    Member {
        /// The profile, or a table that uses it.
        profile: Named,
        /// Label used by entries and groups.
        label: Named,
        /// The action.
        action: Named,
        /// Action data.
        args: Args,
        /// All of it.
        span: Span,
    },
    /// A group of an action selector.
    Group {
        /// The selector, or a table that uses it.
        profile: Named,
        /// Label used by entries.
        label: Named,
        /// The labels of its members.
        members: Vec<Named>,
        /// All of it.
        span: Span,
    },
    /// A group that was made has other members.
    GroupMembers {
        /// The selector, or a table that uses it.
        profile: Named,
        /// The group's label.
        label: Named,
        /// The labels of all its members.
        members: Vec<Named>,
        /// All of it.
        span: Span,
    },
    /// A group is removed.
    DeleteGroup {
        /// The selector, or a table that uses it.
        profile: Named,
        /// The group's label.
        label: Named,
    },
    /// A member runs something else.
    ModifyMember {
        /// The profile, or a table that uses it.
        profile: Named,
        /// The member's label.
        label: Named,
        /// The action.
        action: Named,
        /// Action data.
        args: Args,
        /// All of it.
        span: Span,
    },
    /// A member is removed.
    DeleteMember {
        /// The profile, or a table that uses it.
        profile: Named,
        /// The member's label.
        label: Named,
    },
    /// A multicast group.
    Multicast {
        /// Number of the group.
        group: u32,
        /// Port and replica id, in the order of replication.
        members: Vec<(u32, u16)>,
        /// All of it.
        span: Span,
    },
    /// A clone session.
    Clone {
        /// Number of the session.
        session: u32,
        /// Clones go to this port.
        port: Option<u32>,
        /// Clones go to this multicast group.
        group: Option<u32>,
        /// All of it.
        span: Span,
    },
    /// A clone session with a clone for each of several replicas.
    CloneTo {
        /// Number of the session.
        session: u32,
        /// Port and replica id, in the order of replication.
        members: Vec<(u32, u16)>,
        /// Clones have no more bytes; 0: they are not cut short.
        bytes: u32,
        /// All of it.
        span: Span,
    },
    /// A cell of a register.
    Register {
        /// The register.
        name: Named,
        /// Index of the cell.
        index: u64,
        /// New value.
        value: Value<BigUint>,
    },
    /// A cell of a counter.
    Counter {
        /// The counter.
        name: Named,
        /// Index of the cell.
        index: u64,
        /// Packets counted.
        packets: u64,
        /// Bytes counted.
        bytes: u64,
        /// All of it.
        span: Span,
    },
    /// The rates of a meter.
    Meter {
        /// The meter.
        name: Named,
        /// Index of the cell; `None` for all cells.
        index: Option<u64>,
        /// New rates.
        rates: Rates,
        /// All of it.
        span: Span,
    },
    /// A member of a parser value set.
    ValueSet {
        /// The set.
        name: Named,
        /// One for each field.
        member: Vec<Value<Match>>,
        /// All of it.
        span: Span,
    },
    /// A member of a parser value set is removed, if it is there.
    RemoveFromValueSet {
        /// The set.
        name: Named,
        /// One for each field.
        member: Vec<Value<Match>>,
        /// All of it.
        span: Span,
    },
    /// An entry, by the handle that `simple_switch` gave it, runs something else.
    Modify {
        /// The table.
        table: Named,
        /// The entry.
        handle: Value<u64>,
        /// The action.
        action: Named,
        /// Action data.
        args: Args,
        /// All of it.
        span: Span,
    },
    /// An entry is removed.
    Delete {
        /// The table.
        table: Named,
        /// The entry.
        handle: Value<u64>,
    },
    /// An entry gets or loses an idle timeout.
    Timeout {
        /// The table.
        table: Named,
        /// The entry.
        handle: Value<u64>,
        /// Idle timeout of the entry; zero removes the timeout.
        timeout: Duration,
        /// All of it.
        span: Span,
    },
    /// All entries of a table that are not constant are removed.
    Clear(Named),
    /// A table has the default action of the source again.
    ResetDefault(Named),
    /// All cells of a counter count from zero again.
    ResetCounter(Named),
    /// A value set is emptied.
    ClearValueSet(Named),
    /// Parameters of `crc16_custom` or `crc32_custom`.
    CustomCrc {
        /// BMv2's name of the calculation.
        calculation: Named,
        /// 16 or 32.
        width: u32,
        /// The parameters.
        crc: Crc,
        /// All of it.
        span: Span,
    },
    /// A statement of STF.
    Stf(p4_stf::Spanned),
}
