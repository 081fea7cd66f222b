//! An app of a rack as a device of its own: the P4Info, ids and names of its own program, over those of the program that the rack runs.
//!
//! ```text
//! device 2, table 0x02a1b2c3 `FirewallIngress.outbound`  <->  device 1, table 0x02d4e5f6 `firewall.FirewallIngress.outbound`
//! role "" of device 2                                    <->  role "app:2" of device 1
//! multicast group 3                                      <->  group 1027
//! ```
//!
//! Counters that have a copy at the switch are read as the sum of both, and a write to one sets the copy to zero.

use super::device_config::{DeviceConfig, device_config};
use super::entity_ids::{count_mut, counter_of, each_number, key_of, names, names_roles};
use super::{Offered, offered};
use base_diag::Diagnostic;
use ir::Program;
use ir_merge::{Numbers, Share, Traffic};
use ir_pin::CopyOf;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::update::Type;
use p4runtime_proto::p4::v1::{
    CounterData, CounterEntry, DirectCounterEntry, Entity, ForwardingPipelineConfig, PacketIn, TableEntry,
    Update,
};
use p4runtime_server::Status;
use p4runtime_store::Described;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The view.
pub struct AppView {
    /// Name of the app.
    pub name: String,
    /// Id of its device.
    pub device: u64,
    info: Arc<P4Info>,
    /// Text of the app's program.
    text: String,
    /// P4Info and text of its program, or what its controller has pushed.
    pub(super) config: ForwardingPipelineConfig,
    /// Entries of its program, in the whole program's numbers.
    pub(super) initial: Vec<Entity>,
    /// Ids of the whole program by the app's.
    down: BTreeMap<u32, u32>,
    /// The reverse.
    up: BTreeMap<u32, u32>,
    /// All ids of the whole program.
    taken: BTreeSet<u32>,
    /// Ids of the copies of counters, and of tables with direct counters, by the app's ids.
    copies: BTreeMap<u32, u32>,
    /// The reverse.
    originals: BTreeMap<u32, u32>,
    groups: Numbers,
    sessions: Numbers,
    traffic: Option<Traffic>,
    /// Id of packet-in metadata that has the port a packet came in by.
    port: Option<u32>,
}

/// An app's part of a rack's program.
pub struct PartOf<'p> {
    /// Name of the app.
    pub name: &'p str,
    /// The app's program, before it was pinned or merged.
    pub program: &'p Program,
    /// The program as P4 text.
    pub text: String,
    /// The app's names in the whole program; none if it is alone there.
    pub share: Option<&'p Share>,
    /// Tables and objects with copies at the switch.
    pub copies: Vec<&'p CopyOf>,
}

impl AppView {
    /// The view of an app as the device `device`. None if its program assigns objects to roles, since roles tell the controllers of apps apart.
    ///
    /// # Errors
    ///
    /// A program without P4Info.
    pub fn new(of: &PartOf<'_>, device: u64, whole: &Program) -> Result<Option<AppView>, Vec<Diagnostic>> {
        let Offered { info, initial, .. } = offered(of.program)?;
        let all = names(&offered(whole)?.info);
        if names_roles(&info) {
            return Ok(None);
        }
        let merged = |own: &str| match of.share {
            None => own.to_string(),
            Some(share) => {
                let digest = share.digests.iter().find(|(name, _)| name == own);
                digest.map_or_else(|| share.name(own), |(_, merged)| merged.clone()).to_string()
            }
        };
        let own = names(&info);
        let pairs =
            own.iter().filter_map(|((kind, name), id)| Some((*id, *all.get(&(*kind, merged(name)))?)));
        let down: BTreeMap<u32, u32> = pairs.collect();
        let counting = info.direct_counters.iter().map(|counter| counter.direct_table_id);
        let counting: BTreeSet<u32> = info.counters.iter().map(Described::id).chain(counting).collect();
        let pairs = of.copies.iter().flat_map(|copy| {
            let of_name = own.iter().filter(move |((_, name), _)| copy.original == *name);
            of_name.filter_map(|((kind, _), id)| Some((*id, *all.get(&(*kind, merged(&copy.resident)))?)))
        });
        let copies: BTreeMap<u32, u32> = pairs.filter(|(id, _)| counting.contains(id)).collect();
        let packet_in = info.controller_packet_metadata.iter();
        let packet_in =
            packet_in.filter(|header| header.preamble.as_ref().is_some_and(|p| p.name == "packet_in"));
        let port =
            { packet_in }.flat_map(|header| &header.metadata).find(|field| field.name == "ingress_port");
        let mut view = AppView {
            name: of.name.to_string(),
            device,
            initial: vec![],
            up: down.iter().map(|(own, whole)| (*whole, *own)).collect(),
            down,
            taken: all.values().copied().collect(),
            originals: copies.iter().map(|(own, copy)| (*copy, *own)).collect(),
            copies,
            groups: of.share.map_or(Numbers::ALL, |share| share.groups),
            sessions: of.share.map_or(Numbers::ALL, |share| share.sessions),
            traffic: of.share.map(|share| share.traffic.clone()),
            port: port.map(|field| field.id),
            config: ForwardingPipelineConfig {
                p4_device_config: of.text.clone().into(),
                p4info: Some(P4Info::clone(&info)),
                cookie: None,
            },
            info,
            text: of.text.clone(),
        };
        let entries = initial.into_iter().filter_map(|update| update.entity);
        view.initial =
            entries.filter_map(|mut entity| view.lower(&mut entity).ok().map(|()| entity)).collect();
        Ok(Some(view))
    }

    /// Refuses a configuration of another program than the app's. BMv2's JSON and configurations without a program mean the app's.
    pub(super) fn check(&self, config: &ForwardingPipelineConfig) -> Result<(), Status> {
        super::agrees(config, &self.info)?;
        match device_config(&config.p4_device_config)? {
            DeviceConfig::Text(text) if text.trim() != self.text.trim() => Err(Status::new(
                Code::InvalidArgument,
                "an app of a rack runs the program of the rack's file, which this is not: push the output of `p4rack compile` for that program",
            )),
            DeviceConfig::Text(_) | DeviceConfig::Json | DeviceConfig::Empty => Ok(()),
        }
    }

    /// The role of the whole device that stands for this role of the app's.
    pub(super) fn role(&self, own: &str) -> String {
        match own {
            "" => format!("app:{}", self.device),
            own => format!("app:{}:{own}", self.device),
        }
    }

    /// The app's role that a role of the whole device stands for.
    pub(super) fn own_role<'r>(&self, role: &'r str) -> &'r str {
        let rest = role.strip_prefix(&self.role("")).unwrap_or_default();
        rest.strip_prefix(':').unwrap_or(rest)
    }

    /// Translates an id of the app's. One that the app does not have becomes one that the whole program does not have.
    pub(super) fn lower_id(&self, own: u32) -> u32 {
        if own == 0 {
            return 0;
        }
        let free = || (0..=u32::MAX >> 8).map(|n| own ^ n).find(|id| !self.taken.contains(id));
        self.down.get(&own).copied().or_else(free).unwrap_or(own)
    }

    /// Translates an id of the whole program; none if it is not the app's.
    pub(super) fn raise_id(&self, whole: u32) -> Option<u32> {
        if whole == 0 { Some(0) } else { self.up.get(&whole).copied() }
    }

    /// Translates an entity of the app's.
    ///
    /// # Errors
    ///
    /// A group or session whose number is too large for an app beside others.
    pub(super) fn lower(&self, entity: &mut Entity) -> Result<(), Status> {
        let number = |what: &str, numbers: Numbers, own: u32| match numbers.merged(own) {
            _ if own == 0 => Ok(0),
            Some(merged) => Ok(merged),
            None => {
                let why = format!(
                    "{what} {own} is too large: apps that share a switch have numbers below {} each",
                    numbers.limit
                );
                Err(Status::new(Code::InvalidArgument, why))
            }
        };
        let group = |own: u32| number("multicast group", self.groups, own);
        let session = |own: u32| number("clone session", self.sessions, own);
        each_number(entity, &mut |id| Ok(self.lower_id(id)), &group, &session)
    }

    /// Translates an entity of the whole program; false if it is not the app's.
    pub(super) fn raise(&self, entity: &mut Entity) -> bool {
        let number = |numbers: Numbers, merged: u32| match merged.checked_sub(numbers.base) {
            Some(own) if own < numbers.limit => Ok(own),
            _ => Err(()),
        };
        let (group, session) = (|merged| number(self.groups, merged), |merged| number(self.sessions, merged));
        each_number(entity, &mut |id| self.raise_id(id).ok_or(()), &group, &session).is_ok()
    }

    /// The updates of a write: those of the app's controller, and then those that set copies of counters to zero.
    pub(super) fn lower_updates(&self, updates: &mut Vec<Update>) -> Result<(), Status> {
        let copies: Vec<Update> = updates.iter().filter_map(|update| self.clears_copy(update)).collect();
        for entity in updates.iter_mut().filter_map(|update| update.entity.as_mut()) {
            self.lower(entity)?;
        }
        updates.extend(copies);
        Ok(())
    }

    fn clears_copy(&self, update: &Update) -> Option<Update> {
        let entity = update.entity.as_ref()?;
        let Some(Kind::CounterEntry(_)) = &entity.entity else { return None };
        let mut entity = self.of_copy(entity)?;
        count_mut(&mut entity).into_iter().for_each(|count| *count = CounterData::default());
        Some(Update { r#type: Type::Modify as i32, entity: Some(entity) })
    }

    /// The queries of a read: those of the app's controller, and the copies of counters.
    pub(super) fn lower_queries(&self, queries: &mut Vec<Entity>) -> Result<(), Status> {
        let copies: Vec<Entity> = queries.iter().filter_map(|query| self.of_copy(query)).collect();
        for query in queries.iter_mut() {
            self.lower(query)?;
        }
        queries.extend(copies);
        Ok(())
    }

    /// The query for the counts of a copy.
    fn of_copy(&self, query: &Entity) -> Option<Entity> {
        let copy = |id: u32| self.copies.get(&id).copied();
        let kind = match query.entity.as_ref()? {
            Kind::CounterEntry(entry) => {
                Kind::CounterEntry(CounterEntry { counter_id: copy(entry.counter_id)?, ..*entry })
            }
            Kind::TableEntry(entry) if entry.counter_data.is_some() => Kind::TableEntry(TableEntry {
                table_id: copy(entry.table_id)?,
                counter_data: entry.counter_data,
                ..key_of(entry)
            }),
            Kind::DirectCounterEntry(DirectCounterEntry { table_entry: Some(entry), data }) => {
                let table_entry = Some(TableEntry { table_id: copy(entry.table_id)?, ..key_of(entry) });
                Kind::DirectCounterEntry(DirectCounterEntry { table_entry, data: *data })
            }
            _ => return None,
        };
        Some(Entity { entity: Some(kind) })
    }

    /// Entities of the app that a read has found; a counter and its copy are one.
    pub(super) fn raise_found(&self, found: impl Iterator<Item = Entity>) -> Vec<Entity> {
        let mut own: Vec<Entity> = vec![];
        let mut counters: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let mut copied: Vec<Entity> = vec![];
        for mut entity in found {
            if self.leads_back(&mut entity) {
                copied.push(entity);
            } else if self.raise(&mut entity) {
                counters.extend(counter_of(&entity).map(|counter| (counter, own.len())));
                own.push(entity);
            }
        }
        for mut copy in copied {
            let at = counter_of(&copy).and_then(|counter| counters.get(&counter));
            let count = at.and_then(|at| count_mut(own.get_mut(*at)?));
            if let (Some(count), Some(more)) = (count, count_mut(&mut copy)) {
                count.packet_count = count.packet_count.wrapping_add(more.packet_count);
                count.byte_count = count.byte_count.wrapping_add(more.byte_count);
            }
        }
        own
    }

    /// True for what is found of a copy; it becomes that of the original.
    fn leads_back(&self, entity: &mut Entity) -> bool {
        let id = match &mut entity.entity {
            Some(Kind::CounterEntry(entry)) => Some(&mut entry.counter_id),
            Some(Kind::TableEntry(entry)) => Some(&mut entry.table_id),
            Some(Kind::DirectCounterEntry(entry)) => {
                entry.table_entry.as_mut().map(|entry| &mut entry.table_id)
            }
            _ => None,
        };
        let Some((id, own)) = id.and_then(|id| self.originals.get(id).map(|own| (id, *own))) else {
            return false;
        };
        *id = own;
        true
    }

    /// True if the packet seems to come from the app: it is of the app's class.
    pub(super) fn has_sent(&self, packet: &PacketIn) -> bool {
        let port = packet.metadata.iter().find(|field| Some(field.metadata_id) == self.port);
        let port =
            port.map_or(0, |field| field.value.iter().fold(0u32, |all, byte| (all << 8) | u32::from(*byte)));
        self.traffic.as_ref().is_none_or(|traffic| traffic.has(port, &packet.payload))
    }
}
