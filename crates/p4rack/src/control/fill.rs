//! A rack's own entries as P4Runtime updates of the whole program.
//!
//! P4Runtime numbers members and groups from 1, and its priorities too; value sets and clone sessions are written whole.

use super::data;
use crate::entries::{Entries, is_ranked};
use base_bits::Bits;
use base_diag::{Diagnostic, codes::emulate as codes};
use base_time::Duration;
use ir::{MatchKind, Program};
use ir_interp::{EntryRun, KeyMatch, Rates, Session, Write};
use p4runtime_proto::p4::config::v1::{P4Info, Table};
use p4runtime_proto::p4::v1::{
    Action, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, Entity,
    FieldMatch, Index, MeterConfig, MeterEntry, MulticastGroupEntry, PacketReplicationEngineEntry,
    RegisterEntry, Replica, TableAction, TableEntry, Update, ValueSetEntry, ValueSetMember, action::Param,
    action_profile_group::Member, entity::Entity as Kind, field_match, field_match::FieldMatchType,
    packet_replication_engine_entry::Type as Replication, replica::PortKind, table_action, update::Type,
};
use p4runtime_store::Described;
use std::collections::BTreeMap;

/// The updates that write a rack's entries.
pub fn updates(entries: &Entries, whole: &Program) -> Result<Vec<Update>, Vec<Diagnostic>> {
    updates_of(entries.writes(), whole)
}

/// The updates that do what is written to a program.
pub(crate) fn updates_of(writes: &[Write], whole: &Program) -> Result<Vec<Update>, Vec<Diagnostic>> {
    let info = p4info::p4info(whole)?;
    let tables: BTreeMap<&str, &ir::Table> =
        whole.controls.iter().flat_map(|c| &c.tables).map(|t| (t.control_plane_name.as_str(), t)).collect();
    let priorities = writes.iter().filter_map(|write| match write {
        Write::Entry { table, entry, .. } => {
            tables.get(table.as_str()).filter(|t| is_ranked(t)).map(|_| entry.priority)
        }
        _ => None,
    });
    let least = priorities.min().unwrap_or(1).min(1);
    let filler = Filler { info: &info, whole, tables, writes, least };
    let updates = filler.writes.iter().map(|write| filler.updates(write)).collect::<Result<Vec<_>, _>>();
    updates.map(|updates| updates.into_iter().flatten().collect()).map_err(|found| vec![*found])
}

struct Filler<'f> {
    info: &'f P4Info,
    whole: &'f Program,
    tables: BTreeMap<&'f str, &'f ir::Table>,
    writes: &'f [Write],
    /// The lowest priority, or 1: P4Runtime has none below.
    least: i64,
}

/// Of a kind and a name, the one in the P4Info.
fn known<'i, T: Described>(all: &'i [T], what: &str, name: &str) -> Result<&'i T, Box<Diagnostic>> {
    all.iter().find(|one| one.name() == name).ok_or_else(|| {
        Box::new(
            Diagnostic::error(codes::NOT_AN_ENTRY, format!("control planes do not know {what} `{name}`"))
                .note("what can never run is not in the P4Info")
                .help("take its entries out of the file"),
        )
    })
}

impl Filler<'_> {
    /// Most writes are one update; the rates of all meters of an array are as many as there are meters.
    fn updates(&self, write: &Write) -> Result<Vec<Update>, Box<Diagnostic>> {
        let (how, kind) = match write {
            Write::Entry { table, entry, timeout, rates } => {
                (Type::Insert, Kind::TableEntry(self.entry(table, entry, *timeout, *rates)?))
            }
            Write::Default { table, action, args } => {
                let entry = TableEntry {
                    table_id: self.table(table)?.id(),
                    action: Some(run(table_action::Type::Action(self.action(action, args)?))),
                    is_default_action: true,
                    ..TableEntry::default()
                };
                (Type::Modify, Kind::TableEntry(entry))
            }
            Write::Member { table, member, action, args } => {
                let member = ActionProfileMember {
                    action_profile_id: self.table(table)?.implementation_id,
                    member_id: number(*member),
                    action: Some(self.action(action, args)?),
                };
                (Type::Insert, Kind::ActionProfileMember(member))
            }
            Write::Group { table, group, members } => {
                let member =
                    |member: &u32| Member { member_id: number(*member), weight: 1, ..Member::default() };
                let profile = self.table(table)?.implementation_id;
                let described = self.info.action_profiles.iter().find(|known| known.id() == profile);
                let group = ActionProfileGroup {
                    action_profile_id: profile,
                    group_id: number(*group),
                    members: members.iter().map(member).collect(),
                    max_size: described.map_or(0, |profile| profile.max_group_size),
                };
                (Type::Insert, Kind::ActionProfileGroup(group))
            }
            Write::ValueSet { set, .. } => (Type::Modify, Kind::ValueSetEntry(self.value_set(set)?)),
            Write::Multicast { group, members } => {
                let group = MulticastGroupEntry {
                    multicast_group_id: *group,
                    replicas: replicas(members),
                    ..MulticastGroupEntry::default()
                };
                replication(Replication::MulticastGroupEntry(group))
            }
            Write::Session { session, to } => {
                replication(Replication::CloneSessionEntry(self.session(*session, *to)))
            }
            Write::Register { name, index, value } => {
                let register = known(&self.info.registers, "register", name)?;
                let data = data::message(self.info, register.type_spec.as_ref(), value).map_err(|fault| {
                    let title = format!("`{name}` cannot be written by P4Runtime");
                    Box::new(Diagnostic::error(codes::NOT_AN_ENTRY, title).note(fault.to_string()))
                })?;
                let entry = RegisterEntry { register_id: register.id(), index: at(*index), data: Some(data) };
                (Type::Modify, Kind::RegisterEntry(entry))
            }
            Write::Counter { name, index, count } => {
                let data =
                    CounterData { byte_count: signed(count.bytes), packet_count: signed(count.packets) };
                let counter_id = known(&self.info.counters, "counter", name)?.id();
                let entry = CounterEntry { counter_id, index: at(*index), data: Some(data) };
                (Type::Modify, Kind::CounterEntry(entry))
            }
            Write::Meter { name, index, rates } => {
                let meter = known(&self.info.meters, "meter", name)?;
                let one = |index| {
                    let config = Some(config(*rates));
                    let entry =
                        MeterEntry { meter_id: meter.id(), index: at(index), config, counter_data: None };
                    update(Type::Modify, Kind::MeterEntry(entry))
                };
                let all = 0..u64::try_from(meter.size).unwrap_or(0);
                return Ok(match index {
                    Some(index) => vec![one(*index)],
                    None => all.map(one).collect(),
                });
            }
            Write::CustomCrc { .. } => {
                let title = "P4Runtime has no parameters of hash functions";
                let help = "write them as annotations of `main`: `docs/run.md`";
                return Err(Box::new(Diagnostic::error(codes::NOT_AN_ENTRY, title).help(help)));
            }
        };
        Ok(vec![update(how, kind)])
    }

    fn table(&self, name: &str) -> Result<&Table, Box<Diagnostic>> {
        known(&self.info.tables, "table", name)
    }

    fn action(&self, name: &str, args: &[Bits]) -> Result<Action, Box<Diagnostic>> {
        let action = known(&self.info.actions, "action", name)?;
        let params = action.params.iter().zip(args);
        let params = params.map(|(param, arg)| Param { param_id: param.id, value: bytes(arg) }).collect();
        Ok(Action { action_id: action.id(), params })
    }

    fn entry(
        &self,
        name: &str,
        entry: &ir_interp::TableEntry,
        timeout: Option<Duration>,
        rates: Option<Rates>,
    ) -> Result<TableEntry, Box<Diagnostic>> {
        let table = self.table(name)?;
        let declared = self.tables.get(name);
        let keys = declared.into_iter().flat_map(|table| &table.keys);
        let keys = keys.filter(|key| key.match_kind != MatchKind::Selector);
        let fields = table.match_fields.iter().zip(keys.zip(&entry.keys));
        let fields = fields.filter_map(|(field, (key, wanted))| {
            let width = self.whole.bits(&key.expr.ty).and_then(|bits| u32::try_from(bits).ok()).unwrap_or(0);
            let found = field_match(&key.match_kind, width, wanted)?;
            Some(FieldMatch { field_id: field.id, field_match_type: Some(found) })
        });
        let rank = entry.priority.saturating_sub(self.least).saturating_add(1);
        let action = match &entry.run {
            EntryRun::Action(action, args) => table_action::Type::Action(self.action(action, args)?),
            EntryRun::Member(member) => table_action::Type::ActionProfileMemberId(number(*member)),
            EntryRun::Group(group) => table_action::Type::ActionProfileGroupId(number(*group)),
        };
        Ok(TableEntry {
            table_id: table.id(),
            r#match: fields.collect(),
            action: Some(run(action)),
            priority: if declared.is_some_and(|table| is_ranked(table)) {
                i32::try_from(rank).unwrap_or(i32::MAX)
            } else {
                0
            },
            idle_timeout_ns: timeout.map_or(0, |timeout| signed(timeout.as_ns())),
            meter_config: rates.map(config),
            ..TableEntry::default()
        })
    }

    /// All that is written to the set: with each member once more.
    fn value_set(&self, name: &str) -> Result<ValueSetEntry, Box<Diagnostic>> {
        let set = known(&self.info.value_sets, "value set", name)?;
        let members = self.writes.iter().filter_map(|write| match write {
            Write::ValueSet { set, member } if set == name => Some(member),
            _ => None,
        });
        let member = |member: &Vec<KeyMatch>| ValueSetMember {
            r#match: set
                .r#match
                .iter()
                .zip(member)
                .filter_map(|(field, wanted)| {
                    let found = FieldMatchType::Exact(match wanted {
                        KeyMatch::Exact(value) => field_match::Exact { value: bytes(value) },
                        _ => return None,
                    });
                    Some(FieldMatch { field_id: field.id, field_match_type: Some(found) })
                })
                .collect(),
        };
        Ok(ValueSetEntry { value_set_id: set.id(), members: members.map(member).collect() })
    }

    /// A session has replicas of its own: those of the group that it names.
    fn session(&self, session: u32, to: Session) -> CloneSessionEntry {
        let of_group = self.writes.iter().find_map(|write| match write {
            Write::Multicast { group, members } if Some(*group) == to.group => Some(members.as_slice()),
            _ => None,
        });
        let port = to.port.map(|port| (port, 0));
        let all: Vec<_> = of_group.unwrap_or_default().iter().copied().chain(port).collect();
        CloneSessionEntry {
            session_id: session,
            replicas: replicas(&all),
            class_of_service: u32::from(to.class_of_service),
            packet_length_bytes: to.max_length.map_or(0, |most| i32::try_from(most).unwrap_or(i32::MAX)),
        }
    }
}

fn update(how: Type, kind: Kind) -> Update {
    Update { r#type: how as i32, entity: Some(Entity { entity: Some(kind) }) }
}

fn replication(kind: Replication) -> (Type, Kind) {
    let entry = PacketReplicationEngineEntry { r#type: Some(kind) };
    (Type::Insert, Kind::PacketReplicationEngineEntry(entry))
}

fn run(action: table_action::Type) -> TableAction {
    TableAction { r#type: Some(action) }
}

/// The number of a member or group that has this one in files.
fn number(here: u32) -> u32 {
    here.saturating_add(1)
}

fn at(index: u64) -> Option<Index> {
    Some(Index { index: signed(index) })
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Rates per second.
fn config((committed, peak): Rates) -> MeterConfig {
    MeterConfig {
        cir: signed(committed.per_gigamicrosecond / 1000),
        cburst: signed(committed.burst),
        pir: signed(peak.per_gigamicrosecond / 1000),
        pburst: signed(peak.burst),
        eburst: 0,
    }
}

fn replicas(members: &[(u32, u16)]) -> Vec<Replica> {
    let replica = |(port, rid): &(u32, u16)| Replica {
        instance: u32::from(*rid),
        port_kind: Some(PortKind::Port(bytes(&Bits::new(32, u128::from(*port))))),
        ..Replica::default()
    };
    members.iter().map(replica).collect()
}

/// `None` where anything matches.
fn field_match(kind: &MatchKind, width: u32, key: &KeyMatch) -> Option<FieldMatchType> {
    Some(match (kind, key) {
        (_, KeyMatch::Any) => return None,
        (MatchKind::Ternary, KeyMatch::Exact(value)) => FieldMatchType::Ternary(field_match::Ternary {
            value: bytes(value),
            mask: bytes(&Bits::ones(width)),
        }),
        (MatchKind::Lpm, KeyMatch::Exact(value)) => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: i32::try_from(width).unwrap_or(i32::MAX),
        }),
        (MatchKind::Range, KeyMatch::Exact(value)) => {
            FieldMatchType::Range(field_match::Range { low: bytes(value), high: bytes(value) })
        }
        (MatchKind::Optional, KeyMatch::Exact(value)) => {
            FieldMatchType::Optional(field_match::Optional { value: bytes(value) })
        }
        (_, KeyMatch::Exact(value)) => FieldMatchType::Exact(field_match::Exact { value: bytes(value) }),
        (_, KeyMatch::Ternary { mask, .. }) if mask.is_zero() => return None,
        (_, KeyMatch::Ternary { value, mask }) => {
            let value = bytes(&value.and(mask));
            FieldMatchType::Ternary(field_match::Ternary { value, mask: bytes(mask) })
        }
        (_, KeyMatch::Lpm { prefix_len: 0, .. }) => return None,
        (_, KeyMatch::Lpm { value, prefix_len }) => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: i32::try_from(*prefix_len).unwrap_or(i32::MAX),
        }),
        (_, KeyMatch::Range { lo, hi }) if lo.is_zero() && *hi == Bits::ones(width) => return None,
        (_, KeyMatch::Range { lo, hi }) => {
            FieldMatchType::Range(field_match::Range { low: bytes(lo), high: bytes(hi) })
        }
    })
}

fn bytes(value: &Bits) -> Vec<u8> {
    value.to_canonical_bytes()
}
