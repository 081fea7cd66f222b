//! The planner of the [`controller`]: from a whole program and a placement to the program of each device.

use super::entry_edges::edges_to;
use super::known::lock;
use super::{Known, Maker, Offered, refusal};
use base_diag::SourceMap;
use base_time::Duration;
use compiler::{Printed, make_parts};
use controller::{
    Controller, Edge, EdgeRegisters, Limits as EdgeLimits, Part, PlanChange, Planner, RegionMap, Rollout,
    TableSizes, Wires, shortest,
};
use ir::{InstanceId, Name, Program};
use ir_split::{DeviceIndex, LastArgs, Linkage, Placement, Policy, Site};
use ir_state::Mode;
use p4runtime_proto::Bytes;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    Action, CloneSessionEntry, Entity, FieldMatch, ForwardingPipelineConfig, PacketReplicationEngineEntry,
    Replica, TableAction, TableEntry, Update, ValueSetEntry, ValueSetMember, action::Param,
    entity::Entity as Kind, field_match, forwarding_pipeline_config::Cookie,
    packet_replication_engine_entry::Type as Replicated, replica::PortKind, table_action, update::Type,
};
use p4runtime_server::{Ahead, Builder, Status};
use p4runtime_store::Described;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

/// Number of epochs. A hand-over that is this number of plans old would be mistaken for a new one.
const EPOCHS: u64 = 1 << 8;

/// The number of the first plan: its epoch is the placement's.
const FIRST_EPOCH: u64 = 1;

/// The most plans that were made ahead and wait for their requests.
const MOST_AHEAD: usize = 4;

/// Splits programs by one placement.
pub struct Splitter {
    /// Time for which the state of a device with spares must be correct before it is used again.
    pub hold_down: Duration,
    /// Reads programs.
    pub maker: Maker,
    /// Device of each region; the first epoch is this placement's.
    pub placement: Placement,
    /// Sizes of tables, where they are not the program's.
    sizes: TableSizes,
    /// Devices of this process run the parts: their machine code is made ahead, too.
    pub(super) runs_parts: bool,
    ahead: Arc<Mutex<VecDeque<Planned>>>,
    /// The first plan of the own program, if its parts were there before.
    first: RefCell<Option<Rollout>>,
}

/// A plan that was made ahead, for one request.
struct Planned {
    text: Bytes,
    sites: BTreeMap<Name, Site>,
    sizes: TableSizes,
    rollout: Result<Rollout, Status>,
}

impl Splitter {
    /// For devices in other processes, or emulated ones.
    pub fn new(maker: Maker, placement: Placement) -> Splitter {
        let hold_down = Duration::ZERO;
        Splitter {
            hold_down,
            maker,
            placement,
            sizes: TableSizes::new(),
            runs_parts: false,
            ahead: Arc::default(),
            first: RefCell::default(),
        }
    }

    /// The same, with a hold-down for devices with spares.
    #[must_use]
    pub fn hold_down(self, hold_down: Duration) -> Splitter {
        Splitter { hold_down, ..self }
    }

    /// The first plan of the own program, `whole`, has these parts with their sources: they were made by the placement.
    pub fn with_parts(self, whole: &Program, made: Printed) -> Result<Splitter, Status> {
        let rollout = rollout_of(whole, cookie_of(whole), &self.placement, made, self.limits())?;
        Ok(Splitter { first: RefCell::new(Some(rollout)), ..self })
    }

    fn limits(&self) -> Limits {
        Limits { memory: self.maker.memory, hold_down: self.hold_down }
    }

    fn of_epoch(&self, epoch: u64) -> Placement {
        Placement { epoch: (self.placement.epoch + epoch - FIRST_EPOCH) % EPOCHS, ..self.placement.clone() }
    }

    /// Sites of the regions by a map; each region keeps its policy.
    fn sites_of(&self, map: &RegionMap) -> Result<BTreeMap<Name, Site>, Status> {
        if self.placement.has_any_spares() || self.placement.divides_any() {
            let why = "regions with spares or shards cannot be moved while they run: change the map, and start the rack again";
            return Err(Status::new(Code::Unimplemented, why));
        }
        let mut regions = BTreeMap::new();
        for (region, device) in map {
            let Some(index) = self.placement.devices.iter().position(|name| **name == *device) else {
                let why = format!(
                    "region `{region}`: there is no device `{device}`; there are `{}`",
                    self.placement.devices.join("`, `")
                );
                return Err(Status::new(Code::NotFound, why));
            };
            let region: Name = region.as_str().into();
            let policy = self.placement.policy_of(&region);
            regions.insert(region, Site::new(DeviceIndex(index as u32), policy));
        }
        // A region that comes back to its origin is called again when it leaves it again.
        let called = self.placement.sites.iter().filter(|(_, site)| site.policy == Policy::Call);
        for (region, site) in called {
            let home = Site::at(vec![], site.policy);
            regions.entry(region.clone()).or_insert(home);
        }
        Ok(regions)
    }

    /// The plan for a text that was made ahead, if there is one.
    fn take_planned(&self, text: &[u8]) -> Option<Result<Rollout, Status>> {
        let mut ahead = lock(&self.ahead);
        let is_it = |planned: &Planned| {
            planned.text == text && planned.sites == self.placement.sites && planned.sizes == self.sizes
        };
        let at = ahead.iter().position(is_it)?;
        ahead.remove(at).map(|planned| planned.rollout)
    }
}

/// Numbers of a plan that the program does not decide.
#[derive(Clone, Copy)]
struct Limits {
    /// Limit of the memory of its entities.
    memory: u64,
    /// [`Splitter::hold_down`]
    hold_down: Duration,
}

/// Splits a program, whatever its P4Info is. `code` keeps the parts' machine code, if that is to be made.
fn rollout(
    maker: &Maker,
    (placement, sizes): (&Placement, &TableSizes),
    config: &ForwardingPipelineConfig,
    code: Option<&Known>,
    limits: Limits,
) -> Result<Rollout, Status> {
    let (mut whole, _) = maker.program(config)?;
    ir_split::landings(Arc::make_mut(&mut whole)).map_err(|problems| refusal("the program", &problems))?;
    // With tables of any size it is the same program.
    let cookie = cookie_of(&whole);
    resize(Arc::make_mut(&mut whole), sizes);
    let mut map = SourceMap::new();
    let (_, parts, texts) = make_parts(&whole, placement, &mut map)
        .map_err(|problems| refusal("the program cannot be split with this placement", &problems))?;
    if let Some(code) = code {
        let both = parts.iter().zip(&texts);
        code.push(both.filter_map(|(part, text)| {
            Some((text.as_ref()?.as_bytes(), Arc::clone(&part.as_ref()?.program)))
        }));
    }
    rollout_of(&whole, cookie, placement, (parts, texts), limits)
}

/// Gives tables these sizes.
fn resize(program: &mut Program, sizes: &TableSizes) {
    for table in program.controls.iter_mut().flat_map(|control| &mut control.tables) {
        table.size = sizes.get(table.control_plane_name.as_str()).copied().or(table.size);
    }
}

/// The plan of a program with its parts.
fn rollout_of(
    whole: &Program,
    cookie: Cookie,
    placement: &Placement,
    (parts, texts): Printed,
    Limits { memory, hold_down }: Limits,
) -> Result<Rollout, Status> {
    let offered = super::offered(whole).map_err(|problems| refusal("the program has no P4Info", &problems));
    let Offered { info, plain, numbers, initial } = offered?;
    super::room(&plain, memory)?;
    let (mut edges, mut leading) = (vec![], vec![]);
    let limits = EdgeLimits { thresholds: placement.thresholds, hold_down };
    let devices = parts.into_iter().zip(texts).zip(&placement.devices).enumerate();
    let origin = placement.origin().0 as usize;
    let mut cuts_clones = true;
    let parts = devices.map(|(at, ((part, text), name))| match (part, text) {
        (Some(part), Some(text)) => {
            // A session with a packet length is accepted only if each device can cut its clones.
            cuts_clones &= part.linkage.truncates_clones;
            edges.extend(edges_of(at, &part, limits)?);
            leading.extend(part.linkage.edges.iter().map(|edge| (edge.regions.clone(), edge.shards.clone())));
            let mut part = make_part(name, &part.program, &part.linkage, text, &info)?;
            part.config.cookie = Some(cookie);
            Ok(Some(part))
        }
        _ => Ok(None),
    });
    let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
    let (modes, wires) = (modes(whole, &plain), wires(placement));
    let merged_counters = merged_counters(whole, &plain);
    let edges_to = edges_to(whole, &plain, &leading);
    Ok(Rollout {
        info,
        plain,
        numbers,
        initial,
        memory,
        origin,
        parts,
        wires,
        edges,
        edges_to,
        modes,
        merged_counters,
        cuts_clones,
    })
}

/// The edges with spares that leave a device.
fn edges_of(sender: usize, part: &ir_split::Part, limits: EdgeLimits) -> Result<Vec<Edge>, Status> {
    if part.linkage.edges.is_empty() {
        return Ok(vec![]);
    }
    let info =
        p4info::p4info(&part.program).map_err(|problems| refusal("a part has no P4Info", &problems))?;
    let edge = |edge: &ir_split::Edge| {
        let register = |name: &str| id(&format!("{}.{name}", edge.control), &info.registers);
        Ok(Edge {
            sender,
            number: edge.number,
            regions: edge.regions.iter().map(ToString::to_string).collect(),
            targets: edge.targets.iter().map(|(device, _)| device.0 as usize).collect(),
            registers: EdgeRegisters {
                failed: register("failed")?,
                forgiven: register("forgiven")?,
                barred: register("barred")?,
                generations: register("generations")?,
                used: register("used")?,
                down: register("down")?,
                left: register("left")?,
            },
            limits,
        })
    };
    part.linkage.edges.iter().map(edge).collect()
}

/// The placement of the devices of a rack, at the moment.
pub(crate) fn placement(controller: &Controller) -> Placement {
    let of_splitter = |splitter: &Splitter| splitter.placement.clone();
    controller.with_planner(of_splitter).expect("racks are planned by splitters")
}

impl Planner for Splitter {
    fn plan(&self, config: &ForwardingPipelineConfig, epoch: u64) -> Result<Rollout, Status> {
        let is_own = config.p4_device_config.is_empty();
        let first = self.first.take().filter(|_| epoch == FIRST_EPOCH && is_own);
        let rollout = match first.map(Ok).or_else(|| self.take_planned(&config.p4_device_config)) {
            Some(planned) => planned?,
            None => {
                let placement = self.of_epoch(epoch);
                rollout(&self.maker, (&placement, &self.sizes), config, None, self.limits())?
            }
        };
        super::agrees(config, &rollout.info)?;
        Ok(rollout)
    }

    fn ahead(&self, config: &ForwardingPipelineConfig, change: PlanChange<'_>, epoch: u64) -> Option<Ahead> {
        let text = &config.p4_device_config;
        // The program of our own is not needed for another.
        let own = self.maker.own.clone().filter(|_| text.is_empty());
        let maker = Maker { own, ..self.maker.clone() };
        let sites = match change {
            PlanChange::Map(map) => self.sites_of(map).ok()?,
            PlanChange::Nothing | PlanChange::Sizes(_) => self.placement.sites.clone(),
        };
        let sizes = match change {
            PlanChange::Sizes(sizes) => sizes.clone(),
            PlanChange::Nothing | PlanChange::Map(_) => self.sizes.clone(),
        };
        let placement = Placement { sites: sites.clone(), ..self.of_epoch(epoch) };
        let config = ForwardingPipelineConfig {
            p4_device_config: text.clone(),
            ..ForwardingPipelineConfig::default()
        };
        let (runs_parts, ahead, limits) = (self.runs_parts, Arc::clone(&self.ahead), self.limits());
        Some(Box::new(move || {
            let code = runs_parts.then_some(&maker.known);
            let rollout = rollout(&maker, (&placement, &sizes), &config, code, limits);
            let mut ahead = lock(&ahead);
            ahead.push_back(Planned { text: config.p4_device_config, sites, sizes, rollout });
            if ahead.len() > MOST_AHEAD {
                ahead.pop_front();
            }
        }))
    }

    fn keeps(&self, config: &ForwardingPipelineConfig) -> bool {
        self.maker.keeps(config)
    }

    fn replace(&mut self, map: RegionMap) -> Result<RegionMap, Status> {
        let sites = self.sites_of(&map)?;
        self.first.take();
        let old = std::mem::replace(&mut self.placement.sites, sites);
        let name = |device: DeviceIndex| self.placement.devices[device.0 as usize].to_string();
        let first = |site: &Site| site.devices.first().map(|device| name(*device));
        Ok(old.iter().filter_map(|(region, site)| Some((region.to_string(), first(site)?))).collect())
    }

    fn resize(&mut self, sizes: TableSizes) -> Result<TableSizes, Status> {
        self.first.take();
        Ok(std::mem::replace(&mut self.sizes, sizes))
    }
}

/// The modes of a program's counters and registers by the ids of its P4Info; of direct counters by their tables'.
fn modes(whole: &Program, info: &P4Info) -> BTreeMap<u32, Mode> {
    let mode = |name: &str| {
        let at = whole.instances.iter().position(|object| object.control_plane_name == name)?;
        Some(ir_state::mode_of(whole, InstanceId::from(at)))
    };
    let counters = info.counters.iter().filter_map(|c| Some((c.id(), mode(c.name())?)));
    let direct = info.direct_counters.iter().filter_map(|c| Some((c.direct_table_id, mode(c.name())?)));
    let registers = info.registers.iter().filter_map(|r| Some((r.id(), mode(r.name())?)));
    counters.chain(direct).chain(registers).collect()
}

/// The ids of counters whose copies are merged at an interval; of direct counters their tables'.
fn merged_counters(whole: &Program, info: &P4Info) -> BTreeSet<u32> {
    let objects = (0..whole.instances.len()).map(InstanceId::from);
    let merged = objects.filter(|object| ir_state::is_merged_counter(whole, *object));
    let names: BTreeSet<&str> =
        merged.map(|object| whole.instance(object).control_plane_name.as_str()).collect();
    let counters = info.counters.iter().filter(|counter| names.contains(counter.name())).map(Described::id);
    let direct = info.direct_counters.iter().filter(|counter| names.contains(counter.name()));
    counters.chain(direct.map(|counter| counter.direct_table_id)).collect()
}

/// A number that identifies the whole program, whatever the placement: its text's FNV-1a hash.
pub(super) fn cookie_of(whole: &Program) -> Cookie {
    let text = ir::text::write(whole);
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    Cookie { cookie: text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step) }
}

/// Pipeline config of a part, for a whole program with P4Info `whole`.
pub fn make_part(
    name: &str,
    program: &Program,
    linkage: &Linkage,
    text: String,
    whole: &P4Info,
) -> Result<Part, Status> {
    let info = p4info::p4info(program).map_err(|problems| refusal("a part has no P4Info", &problems))?;
    let config = ForwardingPipelineConfig {
        p4info: Some(info.clone()),
        p4_device_config: text.into(),
        ..ForwardingPipelineConfig::default()
    };
    let mut part = Part::new(name, config, updates(linkage, &info)?, &info, whole)?;
    let edge = |entry: &ir_split::LinkEntry| {
        let at = match entry.keys.as_slice() {
            // Of an edge with spares: its number, and a bit for the target.
            [edge, target] => format!("edge {edge} target {}", target.trailing_zeros()),
            keys if entry.table.ends_with("return") => format!("origin {}", keys.first()?),
            keys => format!("section {}", keys.first()?),
        };
        Some((at, u32::try_from(entry.port()?).ok()?))
    };
    // Updates of value sets come before those of entries.
    let entries = (linkage.value_sets.len()..).zip(&linkage.entries);
    let thresholds = |(at, entry): (usize, &ir_split::LinkEntry)| match entry.last {
        LastArgs::Thresholds(side) => Some((at, side)),
        LastArgs::Plain | LastArgs::Port => None,
    };
    part.thresholds = entries.filter_map(thresholds).collect();
    part.edges = linkage.entries.iter().filter_map(edge).collect();
    Ok(part)
}

/// The links of a placement, each from both ends.
pub fn wires(placement: &Placement) -> Wires {
    let end = |device: DeviceIndex, port: u64| Some((device.0 as usize, u32::try_from(port).ok()?));
    let wires = |&(from, to): &(DeviceIndex, DeviceIndex)| {
        let pairs = placement.ports_to(from, to).iter().zip(placement.ports_to(to, from));
        pairs.filter_map(move |(&port, &back)| Some((end(from, port)?, end(to, back)?)))
    };
    placement.ports.keys().flat_map(wires).collect()
}

/// The entries of the runtime's own tables, and its clone sessions.
fn updates(linkage: &Linkage, info: &P4Info) -> Result<Vec<Update>, Status> {
    let mut all = vec![];
    for (name, members) in &linkage.value_sets {
        let id = id(name, &info.value_sets)?;
        let members =
            members.iter().map(|member| ValueSetMember { r#match: vec![exact(1, *member)] }).collect();
        let entry = Kind::ValueSetEntry(ValueSetEntry { value_set_id: id, members });
        all.push(Update { r#type: Type::Modify as i32, entity: Some(Entity { entity: Some(entry) }) });
    }
    for entry in &linkage.entries {
        let param = |(param_id, value): (u32, &u64)| Param { param_id, value: shortest(*value) };
        let params = (1..).zip(&entry.args).map(param).collect();
        let action = Action { action_id: id(&entry.action, &info.actions)?, params };
        let entry = Kind::TableEntry(TableEntry {
            table_id: id(&entry.table, &info.tables)?,
            r#match: (1..).zip(&entry.keys).map(|(field, value)| exact(field, *value)).collect(),
            action: Some(TableAction { r#type: Some(table_action::Type::Action(action)) }),
            ..TableEntry::default()
        });
        all.push(Update { r#type: Type::Insert as i32, entity: Some(Entity { entity: Some(entry) }) });
    }
    for &(session_id, port) in &linkage.sessions {
        let replicas =
            vec![Replica { port_kind: Some(PortKind::Port(shortest(port))), ..Replica::default() }];
        let session = CloneSessionEntry { session_id, replicas, ..CloneSessionEntry::default() };
        let entry = PacketReplicationEngineEntry { r#type: Some(Replicated::CloneSessionEntry(session)) };
        let entity = Entity { entity: Some(Kind::PacketReplicationEngineEntry(entry)) };
        all.push(Update { r#type: Type::Insert as i32, entity: Some(entity) });
    }
    Ok(all)
}

fn exact(field_id: u32, value: u64) -> FieldMatch {
    let exact = field_match::Exact { value: shortest(value) };
    FieldMatch { field_id, field_match_type: Some(field_match::FieldMatchType::Exact(exact)) }
}

fn id<T: Described>(name: &str, all: &[T]) -> Result<u32, Status> {
    let missing =
        || Status::new(Code::Internal, format!("a part lacks `{name}`, which joins it with the others"));
    all.iter().find(|thing| thing.name() == name).map(Described::id).ok_or_else(missing)
}
