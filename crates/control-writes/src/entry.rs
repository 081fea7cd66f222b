//! Entries of tables.

use crate::Match;
use base_bits::Bits;
use std::fmt;

/// Key of a table entry. A key without matches is the default entry's: tables without keys have no other entry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryKey {
    /// One for each key field, in the table's order; fields of kind `selector` are left out.
    pub matches: Box<[Match]>,
    /// The greater wins; 0 in tables without priorities. P4Runtime's are 1 or more.
    pub priority: i64,
}

impl EntryKey {
    /// Key of the default entry.
    pub fn of_default() -> EntryKey {
        EntryKey { matches: [].into(), priority: 0 }
    }

    /// True for that of the default entry.
    pub fn is_of_default(&self) -> bool {
        self.matches.is_empty()
    }
}

/// An entry without its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry<R> {
    /// Action, member or group.
    pub run: Run<R>,
    /// The controller's own.
    pub metadata: Vec<u8>,
    /// The controller's own, in the field that older controllers use.
    pub controller_metadata: u64,
    /// Nanoseconds without a hit after which the entry is reported; 0: never.
    pub idle_timeout_ns: i64,
    /// Rates of the direct meter.
    pub meter: Option<Rates>,
    /// From the source, and not to be changed.
    pub is_const: bool,
}

impl<R> Entry<R> {
    /// An entry that runs this and has nothing else.
    pub fn new(run: Run<R>) -> Entry<R> {
        Entry {
            run,
            metadata: vec![],
            controller_metadata: 0,
            idle_timeout_ns: 0,
            meter: None,
            is_const: false,
        }
    }
}

/// Action, member or group that an entry runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Run<R> {
    /// An action.
    Action(ActionCall<R>),
    /// A member of the table's profile.
    Member(u32),
    /// A group of the table's selector.
    Group(u32),
    /// A group of the entry's own.
    OneShot(OneShot<R>),
}

/// An action with its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionCall<R> {
    /// The action.
    pub action: R,
    /// One value for each parameter without direction, in order, with the parameter's width.
    pub args: Vec<Bits>,
}

/// A group of an entry's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneShot<R> {
    /// In the controller's order; some may be the same.
    pub actions: Vec<OneShotAction<R>>,
    /// Unit of the group's size.
    pub size_semantics: SizeSemantics,
    /// How an action is chosen, as the controller said it: by a hash in any case.
    pub selection_mode: SelectionMode,
}

/// One of the actions of a group of an entry's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneShotAction<R> {
    /// Action and data.
    pub call: ActionCall<R>,
    /// Weight of the action in the choice; 0 where the device chooses the weights.
    pub weight: i32,
    /// Chosen only while this port is up.
    pub watch: Watch,
}

/// Unit of a group's size (P4Runtime 1.5, section 9.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SizeSemantics {
    /// As the selector says.
    #[default]
    OfSelector,
    /// The sum of the weights.
    Weights,
    /// The number of members.
    Members,
}

/// How a group chooses an action (P4Runtime 1.5, section 9.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SelectionMode {
    /// As the selector does.
    #[default]
    OfSelector,
    /// A hash of the selector's fields.
    Hash,
}

/// The port that a member needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Watch {
    /// None.
    #[default]
    No,
    /// This one.
    Port(u32),
    /// This one, in the field that older controllers use; negative: none.
    Legacy(i32),
}

impl Watch {
    /// The port.
    pub fn port(self) -> Option<u32> {
        match self {
            Watch::No => None,
            Watch::Port(port) => Some(port),
            Watch::Legacy(port) => u32::try_from(port).ok(),
        }
    }
}

/// Default entry of a table, as a control plane has written it; initially empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultEntry<R> {
    /// Action; `None` for the program's own default action.
    pub call: Option<ActionCall<R>>,
    /// Member of the table's profile that the default names; `call` is its action. P4Runtime names none, BMv2's clients do.
    pub member: Option<u32>,
    /// The controller's own.
    pub metadata: Vec<u8>,
    /// The controller's own, in the field that older controllers use.
    pub controller_metadata: u64,
    /// Rates of the direct meter.
    pub meter: Option<Rates>,
}

impl<R> Default for DefaultEntry<R> {
    fn default() -> Self {
        DefaultEntry { call: None, member: None, metadata: vec![], controller_metadata: 0, meter: None }
    }
}

/// The two rates of a meter (RFC 2698).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rates {
    /// Above it packets are yellow.
    pub committed: Rate,
    /// Above it packets are red.
    pub peak: Rate,
}

/// A rate and its burst, in packets or bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Rate {
    /// Packets or bytes in 10^9 microseconds: STF's rates are for one microsecond, with up to nine decimals.
    pub per_gigamicrosecond: u128,
    /// Packets or bytes.
    pub burst: u64,
}

impl Rate {
    /// From a rate per second.
    pub fn per_second(rate: u64, burst: u64) -> Rate {
        Rate { per_gigamicrosecond: u128::from(rate) * 1000, burst }
    }

    /// The rate per second, rounded down; the greatest if it is too large.
    pub fn in_seconds(self) -> u64 {
        u64::try_from(self.per_gigamicrosecond / 1000).unwrap_or(u64::MAX)
    }
}

/// `RATE:BURST`, the rate for one microsecond: as STF and `simple_switch_CLI` take it.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIGA: u128 = 1_000_000_000;
        let (whole, part) = (self.per_gigamicrosecond / GIGA, self.per_gigamicrosecond % GIGA);
        write!(f, "{whole}.{part:09}:{}", self.burst)
    }
}

/// Committed and peak rate.
impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.committed, self.peak)
    }
}
