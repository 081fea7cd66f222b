//! Devices and racks under P4Runtime, without I/O: a program is pushed as configuration, and writes go to the switch that runs it.
//!
//! [`Maker`] compiles the content of a `ForwardingPipelineConfig` and makes a [`Controlled`] switch of it; [`data`]
//! converts values to messages and back.

mod agent_edges;
mod agent_groups;
mod app_flows;
mod app_view;
mod beside;
mod boot;
mod change;
mod data;
mod device_config;
mod entity_ids;
mod entry_edges;
mod fill;
mod flow_moves;
mod flow_writes;
mod gate;
mod group_control;
mod group_load;
mod group_show;
mod known;
mod live;
mod metric;
mod new_flows;
mod one;
mod pinned_tables;
mod plan;
mod popular;
mod port_queues;
mod rack;
mod rack_flows;
mod remote;
mod resizing;
mod running;
mod served;
mod show;
mod trace;
mod view_config;
mod views;

use base_diag::{Diagnostic, Severity, SourceMap, Style, render};
use base_time::Time;
use compiler::reparse;
use control_writes::EntryKey;
use dataplane_api::Registry;
use device::{Options, PortNumbers, QueueDepths};
use ir_split::SentEdge;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, Update};
pub use p4runtime_server::Retired;
use p4runtime_server::{Ahead, Builder, Built, Status};
use p4runtime_store::{Catalog, Needs, Numbers};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use target_native::{Engine, Shared};

pub use agent_edges::AgentEdges;
use agent_groups::SaidGroups;
pub use app_flows::{AppFlows, FlowsOf, Promotion};
pub use app_view::{AppView, PartOf};
use boot::Boot;
pub use boot::Boots;
pub use device_config::program_in_json;
use device_config::{DeviceConfig, device_config, is_json};
pub use fill::updates;
pub use flow_moves::{End, FlowMoves, Moved, Side};
pub use group_control::{GroupControl, GroupStep, RackGroup, Standing, group_refusal, write_group};
use known::KnownProgram;
pub use known::{Codes, Known};
pub use metric::{
    MERGES_REFUSED, Metric, PORT_HAND_OVERS, PORT_LOST, PORT_RECEIVED, PORT_SENT, exposition, summary,
};
pub use new_flows::{Held, Hold, NewFlowCounters};
pub use one::OneSwitch;
pub use plan::{Splitter, make_part, wires};
pub use popular::{Popular, Resident, Window};
pub use rack::{Channel, Direct, Passage, RackSwitch};
pub use remote::RemoteRack;
pub use resizing::{Conditions, Replan, Replanned, Resizing, Sizes};
use running::Running;
pub use running::{SwitchMut, SwitchRef};
pub use served::{Answers, Event, Served};
pub use show::metrics;
pub use views::Views;

/// The numbers that ports of a program's architecture can have; `drop_port` is the architecture's own if none is given.
pub fn port_numbers(program: &ir::Program, drop_port: Option<u32>) -> PortNumbers {
    PortNumbers::of(program, drop_port.unwrap_or(p4_arch::v1model::DROP_PORT))
}

/// The externs for a program with handlers, which are built for it; or why they cannot be, as text.
pub type Handlers = dyn Fn(&ir::Program) -> Result<Registry, String> + Send + Sync;

/// Builds switches from configurations whose `p4_device_config` is the text of a P4-16 program.
#[derive(Clone)]
pub struct Maker {
    /// Random seed of the program.
    pub seed: u64,
    /// The port that means "drop"; the architecture's own if none is given.
    pub drop_port: Option<u32>,
    /// The program that a configuration without text means.
    pub own: Option<Arc<ir::Program>>,
    /// A configuration for BMv2 means the program that runs.
    pub keep_program: bool,
    /// Queues behind the ports.
    pub queue_depths: Arc<QueueDepths>,
    /// The externs of the user's own that there are.
    pub registry: Registry,
    /// The same with the handlers in C of a program that a controller has pushed, if the device can build them.
    pub handlers: Option<Arc<Handlers>>,
    /// Machine code that has been generated before.
    pub known: Known,
    /// Starts of the device so far.
    pub boots: Boots,
    /// Workers on other threads run frames with the device's state: see [`Served::shared`].
    pub shares: bool,
    /// Limit for the memory that a program and its entities take, in bytes.
    pub memory: u64,
    /// Drops a program that no longer runs.
    pub retire: Arc<dyn Fn(Retired) + Send + Sync>,
}

/// Samples kept for BMv2's clients between two [`Served::tick`]s; later ones are lost.
const MOST_LEARNED: usize = 1 << 14;

/// A switch whose entities a P4Runtime server keeps.
pub struct Controlled {
    running: Running,
    catalog: Catalog,
    now: Time,
    /// Entries that can be idle, by table and handle.
    handles: BTreeMap<(u32, u64), EntryKey>,
    /// Number of changes that are done before the next one is refused.
    breaks: VecDeque<u32>,
    /// Source map of the program's text.
    map: SourceMap,
    /// Stands for this one.
    token: Arc<()>,
    /// Samples for BMv2's clients, each with the number of its list, if anybody wants them.
    learned: Option<Vec<(i32, Vec<u8>)>>,
    /// Boot number that this start adds to entries.
    boot: Boot,
    /// Edges with spares of which this device is the sender; the running program no longer contains them.
    edges: Vec<SentEdge>,
    /// Groups of servers that its program says.
    groups: SaidGroups,
}

impl Controlled {
    /// Stands for it: another program is another one.
    pub fn token(&self) -> &Arc<()> {
        &self.token
    }

    /// Edges with spares of its program.
    pub fn edges(&self) -> &[SentEdge] {
        &self.edges
    }

    /// Groups of servers that its program says.
    fn groups(&self) -> &SaidGroups {
        &self.groups
    }

    /// Earlier starts of the device.
    fn starts(&self) -> u32 {
        self.boot.earlier()
    }

    /// Refuses a change now and then, as a device that breaks would: each number says how many are done before.
    pub fn break_after(&mut self, changes: &[u32]) {
        self.breaks = changes.iter().copied().collect();
    }

    /// True for a change that a device which breaks refuses.
    fn is_broken(&mut self) -> bool {
        match self.breaks.front_mut() {
            Some(0) => self.breaks.pop_front().is_some(),
            Some(rest) => {
                *rest -= 1;
                false
            }
            None => false,
        }
    }

    /// Sets the time of everything that follows; idle timeouts of entries count from it.
    pub fn at(&mut self, now: Time) {
        self.now = now;
    }
}

impl Maker {
    /// A device without a program of its own, limits and earlier starts, whose frames one thread runs.
    pub fn new(seed: u64, registry: Registry) -> Maker {
        Maker {
            seed,
            drop_port: None,
            own: None,
            keep_program: false,
            queue_depths: Arc::default(),
            registry,
            handlers: None,
            known: Known::default(),
            boots: Boots::default(),
            shares: false,
            memory: u64::MAX,
            retire: Arc::new(drop),
        }
    }

    /// The program that a configuration means, and where its text stands: nowhere, if it is the one of our own.
    fn program(&self, config: &ForwardingPipelineConfig) -> Result<(Arc<ir::Program>, SourceMap), Status> {
        let text = match device_config(&config.p4_device_config)? {
            DeviceConfig::Text(text) => text,
            DeviceConfig::Json => return Err(is_json()),
            DeviceConfig::Empty => {
                return self.own.clone().map(|own| (own, SourceMap::new())).ok_or_else(|| {
                    Status::new(
                        Code::InvalidArgument,
                        "`p4_device_config` is empty: it must be the text of a P4-16 program",
                    )
                });
            }
        };
        let mut map = SourceMap::new();
        let program = reparse("p4_device_config.p4", &text, &mut map).map_err(|problems| {
            let errors = problems.iter().filter(|d| d.severity == Severity::Error);
            let text: String = errors.map(|d| render(d, &map, Style::Plain)).collect();
            let text = if text.is_empty() { "the program has no `main`".to_string() } else { text };
            Status::new(Code::InvalidArgument, text)
        })?;
        Ok((program, map))
    }

    /// The externs for a program.
    fn registry_for(&self, program: &ir::Program) -> Result<Registry, Status> {
        let wanted = ir_handlers::handlers(program);
        let missing = wanted.iter().find(|(_, handler)| self.registry.value(&handler.name).is_none());
        let Some((_, missing)) = missing else { return Ok(self.registry.clone()) };
        let refused = |why: String| Status::new(Code::InvalidArgument, why);
        match &self.handlers {
            Some(handlers) => handlers(program).map_err(refused),
            None => Err(refused(format!(
                "the handler `{}` is not on this device: start it with `--handlers FILE.c`",
                missing.name
            ))),
        }
    }

    /// True if workers on other threads run frames with a program. Frames of a group pass one front, in order.
    fn shares_program(&self, program: &ir::Program) -> bool {
        self.shares && !SaidGroups::of_program(program).is_any()
    }
}

fn refusal(what: &str, problems: &[Diagnostic]) -> Status {
    let titles: Vec<&str> = problems.iter().map(|problem| problem.title.as_str()).collect();
    Status::new(Code::InvalidArgument, format!("{what}: {}", titles.join("; ")))
}

impl Builder for Maker {
    fn retire(&self, old: Retired) {
        (self.retire)(old);
    }

    type Target = Controlled;

    fn keeps(&self, config: &ForwardingPipelineConfig) -> bool {
        self.keep_program && device_config(&config.p4_device_config) == Ok(DeviceConfig::Json)
    }

    fn ahead(&self, config: &ForwardingPipelineConfig) -> Option<Ahead> {
        self.compile_ahead(&config.p4_device_config)
    }

    fn build(&self, config: &ForwardingPipelineConfig) -> Result<Built<Controlled>, Status> {
        let known = self.known.get(&config.p4_device_config).transpose()?;
        let (program, map) = match &known {
            Some(KnownProgram { program, map, .. }) => (Arc::clone(program), map.clone()),
            None => self.program(config)?,
        };
        // All limits are checked before machine code is generated, which takes longest.
        few_externs(&program)?;
        let (edges, groups) = (SentEdge::of_program(&program), SaidGroups::of_program(&program));
        let offered = offered(&program).map_err(|problems| refusal("the program has no P4Info", &problems));
        let Offered { info, plain, numbers, initial } = offered?;
        agrees(config, &info)?;
        room(&plain, self.memory)?;
        let mut options = Options {
            registry: self.registry_for(&program)?,
            seed: self.seed,
            queue_depths: Arc::clone(&self.queue_depths),
            ..Options::default()
        };
        options.drop_port = self.drop_port.unwrap_or(options.drop_port);
        let cannot = |problems: Vec<Diagnostic>| refusal("the program cannot run", &problems);
        let running = match (self.shares_program(&program), &known) {
            (true, Some(known)) => Running::share(Shared::of(&known.code, options).map_err(cannot)?),
            (true, None) => Running::share(Shared::new(&program, options).map_err(cannot)?),
            (false, known) => {
                let engine = match known {
                    Some(known) => Engine::of(&known.code, options),
                    None => Engine::compile(&program, options),
                };
                Running::Own(Box::new(engine.map_err(cannot)?.into_switch()))
            }
        };
        let boot = Boot::new(&program, &plain, self.boots.count());
        let target = Controlled {
            running,
            boot,
            catalog: Catalog::new(Arc::clone(&plain)),
            now: Time::ZERO,
            handles: BTreeMap::new(),
            breaks: VecDeque::new(),
            map,
            learned: None,
            token: Arc::default(),
            edges,
            groups,
        };
        Ok(Built { target, info, plain, numbers, initial, memory: self.memory })
    }
}

/// Limit on a program's frame externs. Each may double its input and set a timer for it, so the work that one frame can
/// cause grows with their number.
const MOST_EXTERNS: usize = 8;

fn few_externs(program: &ir::Program) -> Result<(), Status> {
    let count = program.instances.iter().filter(|instance| program.frame_extern(instance).is_some()).count();
    if count > MOST_EXTERNS {
        let why = format!("the program has {count} frame externs, and a device takes {MOST_EXTERNS}");
        return Err(Status::new(Code::ResourceExhausted, why));
    }
    Ok(())
}

/// Refuses a program whose tables and objects would take more than `limit` bytes of memory if they were filled to their sizes.
fn room(info: &P4Info, limit: u64) -> Result<(), Status> {
    /// Tables and objects that the message names.
    const NAMED: usize = 3;
    let needs = Needs::of(info);
    if needs.bytes <= limit {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let part =
        |(name, size, bytes): &(String, i64, u64)| format!("`{name}` of size {size}: {} MiB", mib(*bytes));
    let largest: Vec<String> = needs.parts.iter().take(NAMED).map(part).collect();
    let why = format!(
        "the program needs {} MiB of memory when its tables and objects are full, and the limit is {} MiB ({}): make them smaller, \
         or start the switch with a larger `--max-memory`",
        mib(needs.bytes),
        limit >> 20,
        largest.join(", ")
    );
    Err(Status::new(Code::ResourceExhausted, why))
}

/// A program's interface to control planes.
pub struct Offered {
    /// The P4Info.
    pub info: Arc<P4Info>,
    /// The same, with numbers instead of strings.
    pub plain: Arc<P4Info>,
    /// The numbers that its architecture has room for.
    pub numbers: Numbers,
    /// Entries of the source, in numbers.
    pub initial: Vec<Update>,
}

/// Interface of a program to control planes. Errors: constructs that P4Info cannot express.
pub fn offered(program: &ir::Program) -> Result<Offered, Vec<Diagnostic>> {
    let untranslated = p4info::untranslated(program);
    let info = Arc::new(p4info::p4info(program)?);
    let plain = match &untranslated {
        Some(untranslated) => Arc::new(p4info::p4info(untranslated)?),
        None => Arc::clone(&info),
    };
    let initial = p4info::entries(untranslated.as_ref().unwrap_or(program))?.updates;
    let numbers = port_numbers(program, None);
    let numbers = Numbers { port_bits: numbers.port_bits(), group_bits: numbers.group_bits() };
    Ok(Offered { info, plain, numbers, initial })
}

/// A controller's P4Info, if it sends one, is the program's.
fn agrees(config: &ForwardingPipelineConfig, info: &P4Info) -> Result<(), Status> {
    match config.p4info.as_ref().and_then(|given| differs(given, info)) {
        None => Ok(()),
        Some(what) => Err(Status::new(
            Code::InvalidArgument,
            format!("the P4Info does not match the program: {what}; `p4rack p4info` writes the right one"),
        )),
    }
}

/// First difference between a controller's P4Info and the program's: names and ids must be the same.
fn differs(given: &P4Info, own: &P4Info) -> Option<String> {
    let (given, own) = (named(given), named(own));
    let missing = given.iter().find(|thing| !own.contains(thing));
    let forgotten = own.iter().find(|thing| !given.contains(thing));
    match (missing, forgotten) {
        (Some((id, name)), _) => Some(format!("the program has no {id:#x} `{name}`")),
        (None, Some((id, name))) => Some(format!("the P4Info lacks {id:#x} `{name}`")),
        (None, None) => None,
    }
}

fn named(info: &P4Info) -> Vec<(u32, String)> {
    let preambles = info
        .tables
        .iter()
        .filter_map(|t| t.preamble.as_ref())
        .chain(info.actions.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.action_profiles.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.counters.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.direct_counters.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.meters.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.direct_meters.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.registers.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.digests.iter().filter_map(|t| t.preamble.as_ref()))
        .chain(info.value_sets.iter().filter_map(|t| t.preamble.as_ref()));
    preambles.map(|preamble| (preamble.id, preamble.name.clone())).collect()
}
