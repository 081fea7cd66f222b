//! What a control plane has filled a device with, as data that other devices can be filled with.

use crate::control_plane::{EntryRun, TableEntry};
use crate::hash::Crc;
use crate::names::refused;
use crate::objects::Object;
use crate::objects::counter::Count;
use crate::objects::meter::MeterRate;
use crate::objects::profile::GroupMember;
use crate::replication::Session;
use crate::switch::Switch;
use crate::table::KeyMatch;
use crate::value::Value;
use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{EntryError, Port};
use ir::Name;

/// Committed and peak rate of a meter.
pub type Rates = (MeterRate, MeterRate);

/// One write. All names are whole control-plane names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// A table gets an entry.
    Entry {
        /// The table.
        table: Name,
        /// What was added.
        entry: TableEntry,
        /// After how long without a hit it is idle.
        timeout: Option<Duration>,
        /// Of its direct meter.
        rates: Option<Rates>,
    },
    /// A table gets another default action.
    Default {
        /// The table.
        table: Name,
        /// The action.
        action: Name,
        /// One for each parameter without direction.
        args: Vec<Bits>,
    },
    /// A profile or selector gets a member.
    Member {
        /// A table that uses it.
        table: Name,
        /// The member's number.
        member: u32,
        /// The action.
        action: Name,
        /// One for each parameter without direction.
        args: Vec<Bits>,
    },
    /// A selector gets a group.
    Group {
        /// A table that uses it.
        table: Name,
        /// The group's number.
        group: u32,
        /// The numbers of its members.
        members: Vec<u32>,
    },
    /// A value set gets a member.
    ValueSet {
        /// The value set.
        set: Name,
        /// One match for each field of its type.
        member: Vec<KeyMatch>,
    },
    /// A multicast group has these members.
    Multicast {
        /// Its number.
        group: u32,
        /// Port and replica id, in the order of replication.
        members: Vec<(Port, u16)>,
    },
    /// Clones of a session go there.
    Session {
        /// Its number.
        session: u32,
        /// Where to.
        to: Session,
    },
    /// A cell of a register holds this.
    Register {
        /// The register.
        name: Name,
        /// The cell.
        index: u64,
        /// Of the type of its cells.
        value: Value,
    },
    /// A counter has counted so much.
    Counter {
        /// The counter.
        name: Name,
        /// The cell.
        index: u64,
        /// What it holds.
        count: Count,
    },
    /// A meter has these rates.
    Meter {
        /// The meter.
        name: Name,
        /// The cell; all of them if there is none.
        index: Option<u64>,
        /// Committed and peak.
        rates: Rates,
    },
    /// `crc16_custom` or `crc32_custom` computes this.
    CustomCrc {
        /// 16 or 32.
        width: u32,
        /// The parameters.
        crc: Crc,
    },
}

/// Where a write goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written<'w> {
    /// To a table, or by it to its profile.
    Table(&'w str),
    /// To a value set.
    ValueSet(&'w str),
    /// To a register, counter or meter.
    Object(&'w str),
    /// To the traffic manager.
    TrafficManager,
    /// To the hash functions of every device.
    Hashes,
}

impl Write {
    /// What is written to.
    pub fn to(&self) -> Written<'_> {
        match self {
            Write::Entry { table, .. }
            | Write::Default { table, .. }
            | Write::Member { table, .. }
            | Write::Group { table, .. } => Written::Table(table),
            Write::ValueSet { set, .. } => Written::ValueSet(set),
            Write::Register { name, .. } | Write::Counter { name, .. } | Write::Meter { name, .. } => {
                Written::Object(name)
            }
            Write::Multicast { .. } | Write::Session { .. } => Written::TrafficManager,
            Write::CustomCrc { .. } => Written::Hashes,
        }
    }
}

/// The writes since [`Switch::record_fill`], in order.
pub(crate) type Log = Option<Vec<Write>>;

impl Switch {
    /// From here on it is noted what the device is filled with: what is added or set. Of what is taken away only all entries of
    /// a table, cells and sessions are.
    pub fn record_fill(&mut self) {
        self.core.fill = Some(vec![]);
    }

    /// What was noted.
    pub fn take_fill(&mut self) -> Vec<Write> {
        self.core.fill.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Writes what another device was filled with. What is idle is counted from the device's start.
    pub fn fill(&mut self, write: &Write) -> Result<(), EntryError> {
        match write {
            Write::Entry { table, entry, timeout, rates } => {
                let priority = self.table_has_priorities(table)?.then_some(entry.priority);
                let handle = match &entry.run {
                    EntryRun::Action(action, args) => {
                        self.table_add(table, &entry.keys, action, args, priority)
                    }
                    EntryRun::Member(member) => self.table_add_member(table, &entry.keys, *member, priority),
                    EntryRun::Group(group) => self.table_add_group(table, &entry.keys, *group, priority),
                }?;
                if timeout.is_some() {
                    self.table_set_idle_timeout(table, handle, *timeout, Time::ZERO)?;
                }
                match rates {
                    Some((committed, peak)) => self.direct_meter_set_rates(table, handle, *committed, *peak),
                    None => Ok(()),
                }
            }
            Write::Default { table, action, args } => self.table_set_default(table, action, args),
            Write::Member { table, member, action, args } => {
                self.member_set(table, *member, Some((action, args)))
            }
            Write::Group { table, group, members } => {
                let member = |member: &u32| GroupMember { member: *member, weight: 1, watch: None };
                self.group_set(table, *group, Some(members.iter().map(member).collect()))
            }
            Write::ValueSet { set, member } => self.value_set_add(set, member),
            Write::Multicast { group, members } => {
                self.multicast_group_set(*group, members.clone());
                Ok(())
            }
            Write::Session { session, to } => {
                self.clone_session_set(*session, Some(*to));
                Ok(())
            }
            Write::Register { name, index, value } => self.register_set(name, *index, value.clone()),
            Write::Counter { name, index, count } => self.counter_write(name, *index, *count),
            Write::Meter { name, index: Some(index), rates: (committed, peak) } => {
                self.meter_set_rates(name, *index, *committed, *peak)
            }
            Write::Meter { name, index: None, rates: (committed, peak) } => {
                self.meter_array_set_rates(name, *committed, *peak)
            }
            Write::CustomCrc { width, crc } => {
                self.set_custom_crc(*width, *crc);
                Ok(())
            }
        }
    }

    /// Notes an entry that was just added.
    pub(crate) fn note_entry(&mut self, table: &str, handle: u64) {
        let Some(log) = &mut self.core.fill else { return };
        let Ok(table) = self.core.state.tables.by_name(table) else { return };
        if let Some((key, entry)) = table.entries.iter().rfind(|(_, entry)| entry.handle == handle) {
            let entry = TableEntry::new(table, key, entry);
            let table = table.control_plane_name.clone();
            log.push(Write::Entry { table, entry, timeout: None, rates: None });
        }
    }

    /// Notes what an entry runs now.
    pub(crate) fn note_modified(&mut self, table: &str, handle: u64) -> Result<(), EntryError> {
        let Some(log) = &mut self.core.fill else { return Ok(()) };
        let table = self.core.state.tables.by_name(table)?;
        let now = table.entries.iter().find(|(_, entry)| entry.handle == handle);
        let noted = log.iter_mut().rev().find_map(|write| match write {
            Write::Entry { table: of, entry, .. } => {
                (*of == table.control_plane_name && entry.handle == handle).then_some(entry)
            }
            _ => None,
        });
        match (noted, now) {
            (Some(noted), Some((key, entry))) => {
                *noted = TableEntry::new(table, key, entry);
                Ok(())
            }
            _ => Err(refused("an entry of the source cannot be changed on a rack's devices")),
        }
    }

    /// Notes what an entry got beside its action.
    pub(crate) fn note_direct(&mut self, table: &Name, handle: u64, direct: Direct) {
        let noted = self.core.fill.iter_mut().flatten().rev().find_map(|write| match write {
            Write::Entry { table: of, entry, timeout, rates } if of == table && entry.handle == handle => {
                Some((timeout, rates))
            }
            _ => None,
        });
        let Some((timeout, rates)) = noted else { return };
        match direct {
            Direct::Timeout(to) => *timeout = to,
            Direct::Rates(to) => *rates = Some(to),
        }
    }

    /// Notes a write; one of those few that replace all that was there takes the place of the one before.
    pub(crate) fn note(&mut self, write: Write) {
        let Some(log) = &mut self.core.fill else { return };
        if matches!(
            write,
            Write::Default { .. } | Write::Multicast { .. } | Write::Session { .. } | Write::CustomCrc { .. }
        ) {
            log.retain(|old| !sets_same(old, &write));
        }
        log.push(write);
    }

    /// Takes back what was noted.
    pub(crate) fn forget_noted(&mut self, gone: impl Fn(&Write) -> bool) {
        if let Some(log) = &mut self.core.fill {
            log.retain(|write| !gone(write));
        }
    }

    /// The whole name of a state object.
    pub(crate) fn object_name(
        &self,
        kind: &str,
        name: &str,
        is_it: fn(&Object) -> bool,
    ) -> Result<Name, EntryError> {
        let pick = |object: &Object| is_it(object).then_some(());
        let (id, ()) = self.core.state.object(&self.core.program, kind, name, pick)?;
        let instance = self.core.program.instances.get(id.index());
        instance.map(|i| i.control_plane_name.clone()).ok_or_else(|| refused("no such object"))
    }
}

/// What an entry has beside its action.
pub(crate) enum Direct {
    Timeout(Option<Duration>),
    Rates(Rates),
}

fn sets_same(old: &Write, new: &Write) -> bool {
    match (old, new) {
        (Write::Default { table: a, .. }, Write::Default { table: b, .. }) => a == b,
        (Write::Multicast { group: a, .. }, Write::Multicast { group: b, .. }) => a == b,
        (Write::Session { session: a, .. }, Write::Session { session: b, .. }) => a == b,
        (Write::CustomCrc { width: a, .. }, Write::CustomCrc { width: b, .. }) => a == b,
        _ => false,
    }
}
