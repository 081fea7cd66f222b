//! A rack's own entries as P4Runtime updates of the whole program.
//!
//! P4Runtime numbers members and groups from 1, and its priorities too; clone sessions have replicas of their own.

use base_diag::{Diagnostic, codes::emulate as codes};
use control_writes::{CloneSession, EntryKey, Kind, Run};
use device::Specs;
use ir::{Name, Program};
use ir_fill::Write;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::Update;
use p4runtime_store::{Described, Fault, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// P4Runtime updates for writes to a program.
pub fn updates(writes: &[Write], whole: &Program) -> Result<Vec<Update>, Vec<Diagnostic>> {
    let info = Arc::new(p4info::p4info(whole)?);
    let filler = Filler::new(&info, writes, Specs::new(whole)?);
    let updates = writes.iter().map(|write| filler.update(write)).collect::<Result<Vec<_>, _>>();
    updates.map_err(|found| vec![*found])
}

struct Filler<'f> {
    info: &'f P4Info,
    store: Store,
    specs: Specs,
    /// The lowest priority, or 1: P4Runtime has none below.
    least: i64,
    /// Profiles that have a member or group 0, which P4Runtime has not.
    from_zero: BTreeSet<&'f Name>,
    /// Multicast groups as they are at the end, for sessions that go to them.
    groups: BTreeMap<u32, &'f control_writes::MulticastGroup>,
}

impl<'f> Filler<'f> {
    fn new(info: &'f Arc<P4Info>, writes: &'f [Write], specs: Specs) -> Filler<'f> {
        let ranked =
            |name: &Name| specs.tables.iter().any(|table| table.name == *name && table.has_priorities);
        let priorities = writes.iter().filter_map(|write| match write {
            Write::Entry { table, key, .. } if ranked(table) => Some(key.priority),
            _ => None,
        });
        // P4Runtime's priorities begin at 1: smaller ones of the rack file are moved up together, in their order.
        let least = priorities.min().unwrap_or(1).min(1);
        let from_zero = writes.iter().filter_map(|write| match write {
            Write::Member { profile, member: 0, .. } | Write::Group { profile, group: 0, .. } => {
                Some(profile)
            }
            _ => None,
        });
        let groups = writes.iter().filter_map(|write| match write {
            Write::Multicast { group, to: Some(to) } => Some((*group, to)),
            _ => None,
        });
        Filler {
            info,
            store: Store::new(Arc::clone(info)),
            least,
            from_zero: from_zero.collect(),
            groups: groups.collect(),
            specs,
        }
    }

    fn update(&self, write: &Write) -> Result<Update, Box<Diagnostic>> {
        if let Write::CustomCrc { .. } = write {
            let title = "P4Runtime cannot set parameters of hash functions";
            let help = "write them as annotations of `main` or of a block (`docs/run.md`), or into the entries of an app";
            return Err(Box::new(Diagnostic::error(codes::NOT_AN_ENTRY, title).help(help)));
        }
        if let Write::Entry { table, key, .. } = write
            && let Some(known) = self.specs.tables.iter().find(|known| known.name == *table)
            && known.entries.iter().any(|entry| entry.key == *key)
        {
            let title = "an entry of the program cannot be changed on a rack";
            let help = "move it from the program to the file of entries";
            return Err(Box::new(Diagnostic::error(codes::NOT_AN_ENTRY, title).help(help)));
        }
        let change = self.renumbered(write).refer(|kind, name| id(self.info, kind, name))?;
        self.store.update_of(&change).map_err(|fault| unsaid(write, &fault))
    }

    /// The write with P4Runtime's numbers.
    fn renumbered(&self, write: &Write) -> Write {
        let mut write = write.clone();
        match &mut write {
            Write::Entry { table, key, to, .. } => {
                self.rank(table, key);
                if let (Some(profile), Some(to)) = (self.profile(table), to)
                    && let Run::Member(number) | Run::Group(number) = &mut to.run
                {
                    *number = self.number(profile, *number);
                }
            }
            Write::Default { table, to, .. } => {
                if let (Some(profile), Some(member)) = (self.profile(table), &mut to.member) {
                    *member = self.number(profile, *member);
                }
            }
            Write::DirectCounter { table, key, .. } if !key.is_of_default() => self.rank(table, key),
            Write::Member { profile, member, .. } => *member = self.number(profile, *member),
            Write::Group { profile, group, to } => {
                *group = self.number(profile, *group);
                let bound = self.info.action_profiles.iter().find(|known| known.name() == profile.as_str());
                if let Some(to) = to {
                    to.members.iter_mut().for_each(|m| m.member = self.number(profile, m.member));
                    if to.max_size == 0 {
                        to.max_size = bound.map_or(0, |profile| profile.max_group_size);
                    }
                }
            }
            Write::CloneSession { to: Some(to), .. } => self.own_replicas(to),
            _ => {}
        }
        write
    }

    /// The action profile of a table.
    fn profile(&self, table: &Name) -> Option<&Name> {
        self.specs.tables.iter().find(|known| known.name == *table)?.profile.as_ref()
    }

    fn rank(&self, table: &Name, key: &mut EntryKey) {
        let known = self.specs.tables.iter().find(|known| known.name == *table);
        if known.is_some_and(|known| known.has_priorities) {
            key.priority = key.priority.saturating_sub(self.least).saturating_add(1).min(i32::MAX.into());
        }
    }

    /// The number of a member or group that has this one in files.
    fn number(&self, profile: &Name, here: u32) -> u32 {
        if self.from_zero.contains(profile) { here.saturating_add(1) } else { here }
    }

    /// A session has replicas of its own: those of the group that it names come first.
    fn own_replicas(&self, to: &mut CloneSession) {
        let of_group = to.group.take().and_then(|group| self.groups.get(&group));
        let of_group = of_group.map_or(&[][..], |group| group.replicas.as_slice());
        to.replicas = [of_group, to.replicas.as_slice()].concat();
    }
}

/// Id of an object, by control-plane name.
fn id(info: &P4Info, kind: Kind, name: &Name) -> Result<u32, Box<Diagnostic>> {
    fn find<T: Described>(all: &[T], name: &str) -> Option<u32> {
        all.iter().find(|one| one.name() == name).map(Described::id)
    }
    let (what, found) = match kind {
        Kind::Table => ("table", find(&info.tables, name)),
        Kind::Action => ("action", find(&info.actions, name)),
        Kind::Profile => ("action profile", find(&info.action_profiles, name)),
        Kind::ValueSet => ("value set", find(&info.value_sets, name)),
        Kind::Digest => ("digest", find(&info.digests, name)),
        Kind::Meter => ("meter", find(&info.meters, name)),
        Kind::Counter => ("counter", find(&info.counters, name)),
        Kind::Register => ("register", find(&info.registers, name)),
        Kind::Extern => {
            let instances = info.externs.iter().flat_map(|ty| &ty.instances);
            ("extern object", instances.filter(|one| one.name() == name.as_str()).map(Described::id).next())
        }
    };
    found.ok_or_else(|| {
        Box::new(
            Diagnostic::error(codes::NOT_AN_ENTRY, format!("{what} `{name}` is not in the P4Info"))
                .note("things that can never run are left out of the P4Info")
                .help("remove its entries from the file"),
        )
    })
}

/// Error for a write that P4Runtime cannot express.
fn unsaid(write: &Write, fault: &Fault) -> Box<Diagnostic> {
    let title = match write {
        Write::Register { register, .. } | Write::RegisterReset { register } => {
            format!("`{register}` cannot be written by P4Runtime")
        }
        _ => "P4Runtime cannot express this entry".to_string(),
    };
    Box::new(Diagnostic::error(codes::NOT_AN_ENTRY, title).note(fault.to_string()))
}
