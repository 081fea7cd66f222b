//! A device's part of the whole program.

use crate::edge::Edge;
use failover::Side;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, ForwardingPipelineConfig, TableEntry, Update, entity::Entity as Kind};
use p4runtime_server::{Ahead, Status};
use p4runtime_store::{Described, Numbers};
use state_modes::{Merge, Mode};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Device name by region. Regions not listed run at the origin.
pub type RegionMap = BTreeMap<String, String>;

/// Entries by table, under its control-plane name. Tables not listed have the program's own sizes.
pub type TableSizes = BTreeMap<String, u64>;

/// Difference of another plan of the running program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanChange<'c> {
    /// None.
    Nothing,
    /// Devices of regions.
    Map(&'c RegionMap),
    /// Sizes of tables.
    Sizes(&'c TableSizes),
}

/// Makes parts of a whole program.
pub trait Planner: Any {
    /// Makes the program of each device. `epoch` distinguishes this rollout's hand-overs from earlier ones.
    fn plan(&self, config: &ForwardingPipelineConfig, epoch: u64) -> Result<Rollout, Status>;

    /// Slow part of [`plan`](Planner::plan), for another thread: after it, the next plan of this configuration is
    /// quick, and has this epoch. It is the plan after [`replace`](Planner::replace) with the change's map, or after
    /// [`resize`](Planner::resize) with its sizes. `None` if planning is quick anyway.
    fn ahead(
        &self,
        _config: &ForwardingPipelineConfig,
        _change: PlanChange<'_>,
        _epoch: u64,
    ) -> Option<Ahead> {
        None
    }

    /// True if a configuration means the running program, regardless of its `p4_device_config`.
    fn keeps(&self, _config: &ForwardingPipelineConfig) -> bool {
        false
    }

    /// Sets the devices of regions from the next plan on. Returns the map that this replaces.
    fn replace(&mut self, map: RegionMap) -> Result<RegionMap, Status>;

    /// Sets the sizes of tables from the next plan on. Returns the sizes that these replace.
    fn resize(&mut self, _sizes: TableSizes) -> Result<TableSizes, Status> {
        Err(Status::new(Code::Unimplemented, "tables keep the sizes of their program here"))
    }
}

/// For each entry of a table: the edges, by their places in [`Rollout::edges`], over which packets may come to it. None: over any.
pub type EdgesTo = Arc<dyn Fn(&TableEntry) -> Option<BTreeSet<usize>> + Send + Sync>;

/// The links between devices, each from both ends.
pub type Wires = BTreeMap<(usize, u32), (usize, u32)>;

/// A program, spread over a rack.
pub struct Rollout {
    /// P4Info of the whole program.
    pub info: Arc<P4Info>,
    /// The same with numbers instead of strings, as used by the devices.
    pub plain: Arc<P4Info>,
    /// The numbers that its architecture has room for.
    pub numbers: Numbers,
    /// The whole program's own entries, as if a controller had written them in numbers.
    pub initial: Vec<Update>,
    /// Limit for the memory that the whole program's entities take, in bytes.
    pub memory: u64,
    /// Owns the ports and the traffic manager.
    pub origin: usize,
    /// Parts by device; `None` where nothing runs.
    pub parts: Vec<Option<Part>>,
    /// Device and port at the other end of each device's port.
    pub wires: Wires,
    /// Edges with spares.
    pub edges: Vec<Edge>,
    /// Edges that lead to an entry; none if the program has no shards.
    pub edges_to: Option<EdgesTo>,
    /// How the copies of each counter and register on several devices relate, by the object's id; of a direct counter by its table's.
    pub modes: BTreeMap<u32, Mode>,
    /// Ids of counters whose copies are merged at an interval; the copies of others are added up when they are read.
    pub merged_counters: BTreeSet<u32>,
    /// True if clone sessions can truncate clones.
    pub cuts_clones: bool,
}

/// Program of one device.
#[derive(Clone, Debug)]
pub struct Part {
    /// The device's name.
    pub name: String,
    /// The program.
    pub config: ForwardingPipelineConfig,
    /// Entries that connect the part with the others.
    pub linkage: Vec<Update>,
    /// Entries of the linkage, by their places, that end in thresholds of edges with spares.
    pub thresholds: Vec<(usize, Side)>,
    /// The same for people: the section where packets continue, and the output port.
    pub edges: Vec<(String, u32)>,
    /// Ids of the whole program's objects in the part.
    has: Has,
}

#[derive(Clone, Default, Debug)]
struct Has {
    things: BTreeSet<u32>,
    direct_counters: BTreeSet<u32>,
    direct_meters: BTreeSet<u32>,
}

impl Part {
    /// `info` is the part's P4Info. Objects with the same name in the part and in the whole program have the same id.
    pub fn new(
        name: &str,
        config: ForwardingPipelineConfig,
        linkage: Vec<Update>,
        info: &P4Info,
        whole: &P4Info,
    ) -> Result<Part, Status> {
        let (own, all) = (named(info), named(whole));
        let mut has = Has::default();
        for ((kind, thing), id) in &own {
            match all.get(&(*kind, thing)) {
                Some(known) if known == id => drop(has.things.insert(*id)),
                Some(known) => {
                    let why = format!(
                        "`{thing}` has the id {id} on `{name}` and {known} in the whole program: give it one with `@id`"
                    );
                    return Err(Status::new(Code::InvalidArgument, why));
                }
                None => {}
            }
        }
        let here = |table: &u32| has.things.contains(table);
        has.direct_counters = info.direct_counters.iter().map(|c| c.direct_table_id).filter(here).collect();
        has.direct_meters = info.direct_meters.iter().map(|m| m.direct_table_id).filter(here).collect();
        Ok(Part { name: name.to_string(), config, linkage, thresholds: vec![], edges: vec![], has })
    }

    /// True if the device has the entity's object; groups and sessions belong to the traffic manager. A query for all
    /// of a kind concerns every device.
    pub(crate) fn holds(&self, entity: &Entity, is_origin: bool) -> bool {
        let thing = |id: u32| id == 0 || self.has.things.contains(&id);
        let direct = |set: &BTreeSet<u32>, table: u32| table == 0 || set.contains(&table);
        match &entity.entity {
            None => false,
            Some(Kind::ExternEntry(e)) => thing(e.extern_id),
            Some(Kind::TableEntry(e)) => thing(e.table_id),
            Some(Kind::ActionProfileMember(e)) => thing(e.action_profile_id),
            Some(Kind::ActionProfileGroup(e)) => thing(e.action_profile_id),
            Some(Kind::CounterEntry(e)) => thing(e.counter_id),
            Some(Kind::DirectCounterEntry(e)) => {
                direct(&self.has.direct_counters, e.table_entry.as_ref().map_or(0, |e| e.table_id))
            }
            Some(Kind::MeterEntry(e)) => thing(e.meter_id),
            Some(Kind::DirectMeterEntry(e)) => {
                direct(&self.has.direct_meters, e.table_entry.as_ref().map_or(0, |e| e.table_id))
            }
            Some(Kind::RegisterEntry(e)) => thing(e.register_id),
            Some(Kind::ValueSetEntry(e)) => thing(e.value_set_id),
            Some(Kind::DigestEntry(e)) => thing(e.digest_id),
            // Copies are made where packets enter and leave the rack.
            Some(Kind::PacketReplicationEngineEntry(_)) => is_origin,
        }
    }

    /// True if the device has something of the whole program with this id.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.has.things.contains(&id)
    }
}

impl Rollout {
    /// The parts, with their devices.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().enumerate().filter_map(|(device, part)| Some((device, part.as_ref()?)))
    }

    /// The operator that makes one count of those of several devices, of a counter or of a table's direct counter.
    pub(crate) fn merge_of(&self, id: u32) -> Option<Merge> {
        self.modes.get(&id)?.merge()
    }

    /// A device's name.
    pub(crate) fn name(&self, device: usize) -> &str {
        self.parts.get(device).and_then(Option::as_ref).map_or("?", |part| &part.name)
    }

    /// The edges over which packets may come to what an update writes, if not over any.
    pub(crate) fn edges_to(&self, update: &Update) -> Option<BTreeSet<usize>> {
        match update.entity.as_ref()?.entity.as_ref()? {
            Kind::TableEntry(entry) if !entry.is_default_action => self.edges_to.as_ref()?(entry),
            _ => None,
        }
    }

    /// Devices that have the entity's object.
    pub(crate) fn holders(&self, entity: &Entity) -> Vec<usize> {
        let holds = |(device, part): &(usize, &Part)| part.holds(entity, *device == self.origin);
        self.parts().filter(holds).map(|(device, _)| device).collect()
    }
}

/// The kinds of things, as numbers: ids of different kinds differ already.
fn named(info: &P4Info) -> BTreeMap<(u8, &str), u32> {
    fn of<T: Described>(kind: u8, all: &[T]) -> impl Iterator<Item = ((u8, &str), u32)> {
        all.iter().map(move |thing| ((kind, thing.name()), thing.id()))
    }
    let tables = of(0, &info.tables).chain(of(1, &info.actions)).chain(of(2, &info.action_profiles));
    let objects = of(3, &info.counters).chain(of(4, &info.meters)).chain(of(5, &info.registers));
    let others = of(6, &info.value_sets).chain(of(7, &info.digests));
    let own = info.externs.iter().flat_map(|ty| of(10, &ty.instances));
    let direct = of(8, &info.direct_counters).chain(of(9, &info.direct_meters));
    tables.chain(objects).chain(others).chain(direct).chain(own).collect()
}
