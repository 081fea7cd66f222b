//! `p4rack ctl`

mod tick;

use crate::ExitCode;
use crate::output::{self, Format};
use crate::saved_state;
use crate::tls::{CONNECTIONS, ClientArgs};
use agent::{Operator, OperatorError, PortSpec};
use base_diag::SourceMap;
use p4rack::run::spec::{HexPacket, hex_packet};
use p4rack::{ctl, rack};
use p4runtime_proto::p4rack::v1::show_response::State;
use p4runtime_proto::p4rack::v1::steer_request::{
    AddPort, ChangeGroup, EndClients, Hold, KeepOut, MoveFlow, Release, RemovePort, Replace, Reset, What,
    change_group,
};
use p4runtime_proto::p4rack::v1::{
    Merged, SavedState, ShowResponse, SteerRequest, Thresholds, steer_request,
};
use p4runtime_proto::{Message, to_json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Query and control a running switch or rack: devices, counters, stop and start, packet traces, a new plan
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack ctl show
  p4rack ctl counters packets --format json
  p4rack ctl promote firewall ipv4.src=10.1.0.1 ipv4.dst=198.51.100.1 ipv4.protocol=17 udp.src=49152 udp.dst=53 ingress_port=1
  p4rack ctl save before.state
  p4rack ctl replace other.toml --addr 127.0.0.1:9559")]
pub struct Args {
    /// Address of the switch, of the rack's controller or of an agent
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559", global = true, help_heading = CONNECTIONS)]
    addr: String,
    /// Output format
    #[arg(long, value_enum, default_value = "text", global = true, display_order = 900)]
    format: Format,
    /// Same as `--format json`
    #[arg(long, global = true, hide = true)]
    json: bool,
    /// Connect to other machines without TLS and send the secret in plaintext; anyone who can read the traffic learns the secret
    #[arg(long, global = true, help_heading = CONNECTIONS)]
    insecure: bool,
    #[command(flatten)]
    tls: ClientArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show everything: state, devices, links, edges, spares, groups, ports, counters
    Show,
    /// List the devices: role, regions, address of the agent, and whether the device is in sync or why it is not
    Devices,
    /// List the links between devices
    Links {
        /// Print a Graphviz graph
        #[arg(long)]
        dot: bool,
    },
    /// List the edges, which are the hand-overs between devices: the sending device, where the program continues, the receiving device, and the output port
    Edges,
    /// List the regions with spare devices, the state of each of their devices, and the thresholds; keep a device out of use, let it back, or set thresholds
    Spares {
        #[command(subcommand)]
        change: Option<SparesChange>,
    },
    /// Show the groups of servers: calls, and for each server its buckets (shares of new flows), flows and packets; add, remove or drain a server
    Group {
        /// Name of the group, in front of `add`, `remove` or `drain`; without a name, all groups are shown
        name: Option<String>,
        #[command(subcommand)]
        change: Option<GroupChange>,
    },
    /// Show the objects whose copies on several devices are merged (`@merge`)
    Merge {
        #[command(subcommand)]
        look: MergeLook,
    },
    /// List flows of an app with pinned flows: those at the switch, or with --top those with the most packets in the last window, wherever they are
    Flows {
        /// Name of the app; all apps without it
        app: Option<String>,
        /// Show the N flows with the most packets
        #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = clap::value_parser!(u64).range(1..=1000))]
        top: Option<u64>,
    },
    /// Move a flow to the switch, and wait until it is there
    Promote(MovedFlow),
    /// Move a flow to its helper, and wait until it is there
    Demote(MovedFlow),
    /// List the shards of flows and the helper that processes each
    Shards,
    /// Show counters and table occupancy; `_us` in a name stands for microseconds
    Counters {
        /// Show only counters whose name or label contains this text
        filter: Option<String>,
        /// Include counters that are zero
        #[arg(long)]
        all: bool,
    },
    /// Print everything once, then what has changed at each poll
    Watch {
        /// Seconds between polls
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
        interval: u64,
        /// Stop after N polls
        #[arg(long, value_name = "N")]
        count: Option<u64>,
    },
    /// Stop admitting frames and wait until no packet is inside; up to 4096 frames are queued, others are dropped and counted
    #[command(alias = "drain")]
    Stop,
    /// Admit frames again, queued frames first
    Start,
    /// Reset registers and counters; entries written by controllers stay
    Reset,
    /// List the connected controllers: stream number, role, election id, and which one is primary
    Clients,
    /// List the switch's ports with link state and frame counts; add or remove a port while the switch runs
    #[command(alias = "ports")]
    Port {
        #[command(subcommand)]
        change: Option<PortChange>,
    },
    /// Close one controller's stream and forget its election id; the highest remaining election id becomes primary
    EndClient {
        /// Stream number, as printed by `clients`
        stream: u64,
    },
    /// Close all controllers' streams and forget their election ids; the next controller to connect becomes primary with any election id
    Takeover,
    /// Run one frame through the switch and print its trace on each device. Registers and counters change, but no frame is sent out of a port
    Trace {
        /// Ingress port and the frame's bytes in hexadecimal, as PORT:HEX
        #[arg(value_parser = hex_packet)]
        packet: HexPacket,
    },
    /// Send the periodic frames of a program (`@tick`) as packets from the controller, to a switch that does not generate them, such as BMv2
    Tick(tick::Args),
    /// Save the state of the switch or rack to a file: program, entries, counters, registers, and the memory of externs
    Save {
        /// File to write: Protobuf text if the name ends in .txtpb, JSON if it ends in .json, else binary Protobuf
        file: PathBuf,
        /// Queue incoming frames while the state is read, so that all counters and registers are of one moment
        #[arg(long)]
        stop: bool,
    },
    /// Replace the whole state of the switch or rack by that in a file written by `save`
    Restore {
        /// File to read
        file: PathBuf,
    },
    /// Move regions to other devices under traffic, according to the map of another RACK.toml; entries, counters and registers are kept
    Replace {
        /// RACK.toml (or its directory) with the same devices and the same program
        rack: PathBuf,
    },
}

#[derive(clap::Subcommand)]
enum GroupChange {
    /// Give a server new flows
    #[command(override_usage = "p4rack ctl group <NAME> add [OPTIONS] <SERVER>")]
    Add {
        /// Name of the server
        server: String,
        /// Share of new flows; a server with weight 2 gets twice as many as one with weight 1
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        weight: u32,
    },
    /// Give a server no new flows; it leaves the group after its last flow
    #[command(override_usage = "p4rack ctl group <NAME> remove [OPTIONS] <SERVER>")]
    Remove {
        /// Name of the server
        server: String,
    },
    /// Give a server no new flows; it stays in the group
    #[command(override_usage = "p4rack ctl group <NAME> drain [OPTIONS] <SERVER>")]
    Drain {
        /// Name of the server
        server: String,
    },
}

/// A flow, as `p4rack ctl flows` prints it.
#[derive(clap::Args)]
struct MovedFlow {
    /// Name of the app
    app: String,
    /// Parts of the flow's key, as PART=VALUE; parts that are left out are 0
    #[arg(required = true, value_name = "PART=VALUE", value_parser = part)]
    parts: Vec<(String, String)>,
}

impl MovedFlow {
    fn message(&self, to_switch: bool) -> Result<MoveFlow, OperatorError> {
        let mut key = BTreeMap::new();
        for (name, value) in &self.parts {
            if key.insert(name.clone(), value.clone()).is_some() {
                return Err(OperatorError::new(format!("`{name}` is given twice")));
            }
        }
        Ok(MoveFlow { app: self.app.clone(), key, to_switch })
    }
}

/// `ipv4.src=10.0.0.1`
fn part(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_string(), value.to_string()))
        }
        _ => Err("write a part of the flow's key and its value, as in ipv4.src=10.0.0.1".to_string()),
    }
}

impl GroupChange {
    fn message(&self, group: &str) -> ChangeGroup {
        let (device, change, weight) = match self {
            GroupChange::Add { server, weight } => (server, change_group::Change::Add, *weight),
            GroupChange::Remove { server } => (server, change_group::Change::Remove, 0),
            GroupChange::Drain { server } => (server, change_group::Change::Drain, 0),
        };
        ChangeGroup { group: group.to_string(), device: device.clone(), change: change.into(), weight }
    }
}

#[derive(clap::Subcommand)]
enum MergeLook {
    /// List each copy: whether it has the counts of all devices, and whether its device answers; then the numbers of rounds and messages
    Status {
        /// Name of the register or counter; all merged objects without it
        object: Option<String>,
    },
}

#[derive(clap::Subcommand)]
enum SparesChange {
    /// List regions, devices and thresholds
    List,
    /// Keep a device out of use: its regions run on the next device that is ready
    KeepOut {
        /// Name of the device
        device: String,
    },
    /// Use a device again as soon as its entries have been compared and the hold-down has passed
    LetBack {
        /// Name of the device
        device: String,
    },
    /// Set thresholds of all regions with spares while packets pass; the others keep their values. A controller that restarts uses those of RACK.toml
    Set(SetThresholds),
}

/// Names as in RACK.toml.
#[derive(clap::Args)]
#[group(required = true, multiple = true)]
struct SetThresholds {
    /// Request a report from the device in use after N hand-overs
    #[arg(long, value_name = "N")]
    ask_every: Option<u32>,
    /// Also request a report when the last request is this old, such as 1ms
    #[arg(long, value_name = "TIME", value_parser = microseconds)]
    ask_after: Option<u64>,
    /// Count a request as missed when it has no answer after this time, such as 5ms; must exceed the longest round trip
    #[arg(long, value_name = "TIME", value_parser = microseconds)]
    patience: Option<u64>,
    /// Replace the device after N missed requests in a row
    #[arg(long, value_name = "N")]
    most_missed: Option<u32>,
    /// Count a hand-over as missing when N later ones have arrived; 1 to 31
    #[arg(long, value_name = "N")]
    tolerance: Option<u32>,
    /// Replace the device after N missing hand-overs in one window
    #[arg(long, value_name = "N")]
    most_gaps: Option<u32>,
    /// Number of hand-overs in a window, a power of two
    #[arg(long, value_name = "N")]
    window: Option<u32>,
    /// Use a device again when its state has been correct for this time, such as 100ms
    #[arg(long, value_name = "TIME", value_parser = microseconds)]
    hold_down: Option<u64>,
}

impl SetThresholds {
    fn message(&self) -> Thresholds {
        Thresholds {
            ask_every: self.ask_every,
            ask_after_us: self.ask_after,
            patience_us: self.patience,
            most_missed: self.most_missed,
            tolerance: self.tolerance,
            most_gaps: self.most_gaps,
            window: self.window,
            hold_down_us: self.hold_down,
        }
    }
}

/// Whole microseconds.
fn microseconds(text: &str) -> Result<u64, String> {
    let time: base_time::Duration = text.parse().map_err(|error| format!("{error}"))?;
    let us = time.as_ps() / base_time::Duration::from_us(1).as_ps();
    let is_whole = time == base_time::Duration::from_us(us);
    is_whole.then_some(us).ok_or_else(|| "expected a whole number of microseconds".to_string())
}

#[derive(clap::Subcommand)]
enum PortChange {
    /// List the ports
    List,
    /// Attach a port, written as for `p4rack switch -i`
    Add {
        /// NUMBER@INTERFACE, NUMBER@packet:INTERFACE, NUMBER@afxdp:INTERFACE, NUMBER@tap:NAME, NUMBER@pcap:IN,OUT or NUMBER@udp:LOCAL,REMOTE
        port: PortSpec,
    },
    /// Detach a port
    Remove {
        /// Port number
        number: u32,
    },
}

/// Exit status 1 if the switch cannot be reached or refuses the request.
pub fn run(args: &Args) -> ExitCode {
    let format = if args.json { Format::Json } else { args.format };
    match done(args, format) {
        Ok(code) => code,
        Err(why) => {
            match format {
                Format::Json => output::json(&serde_json::json!({ "ok": false, "error": why.to_string() })),
                Format::Text => report!("p4rack: {why}"),
            }
            ExitCode::FAILURE
        }
    }
}

fn done(args: &Args, format: Format) -> Result<ExitCode, OperatorError> {
    // A wrong file is reported before the switch is contacted.
    let replace = match &args.command {
        Command::Replace { rack } => match regions(rack) {
            Ok(replace) => Some(replace),
            Err((found, map)) => {
                return Ok(output::failed(&found, &map, format));
            }
        },
        _ => None,
    };
    let ticks = match &args.command {
        Command::Tick(tick) => match tick::read(tick) {
            Ok(ticks) => Some((tick, ticks)),
            Err((found, map)) => return Ok(output::failed(&found, &map, format)),
        },
        _ => None,
    };
    let restore = match &args.command {
        Command::Restore { file } => Some(saved_state::read(file).map_err(OperatorError::new)?),
        _ => None,
    };
    let (tls, secret) = args.tls.for_switch(&args.addr, args.insecure).map_err(OperatorError::new)?;
    let mut client = Operator::connect(&args.addr, tls.as_ref(), secret)?;
    if let Some((tick, ticks)) = ticks {
        client.send_ticks((tick.device_id, &tick.role), &ticks, tick.count)?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = match &args.command {
        Command::Stop => What::Hold(Hold::default()),
        Command::Start => What::Release(Release {}),
        Command::Reset => What::Reset(Reset {}),
        Command::EndClient { stream } => What::EndClients(EndClients { streams: vec![*stream] }),
        Command::Takeover => What::EndClients(EndClients { streams: vec![] }),
        Command::Replace { .. } => What::Replace(replace.unwrap_or_default()),
        Command::Port { change: Some(PortChange::Add { port }) } => {
            What::AddPort(AddPort { port: port.to_string() })
        }
        Command::Port { change: Some(PortChange::Remove { number }) } => {
            What::RemovePort(RemovePort { number: *number })
        }
        Command::Spares { change: Some(SparesChange::KeepOut { device }) } => {
            What::KeepOut(KeepOut { device: device.clone(), ends: false })
        }
        Command::Spares { change: Some(SparesChange::LetBack { device }) } => {
            What::KeepOut(KeepOut { device: device.clone(), ends: true })
        }
        Command::Group { name: Some(name), change: Some(change) } => What::ChangeGroup(change.message(name)),
        Command::Group { name: None, change: Some(_) } => {
            return Err(OperatorError::new(
                "name the group first: `p4rack ctl group NAME add SERVER`".to_string(),
            ));
        }
        Command::Promote(flow) => What::MoveFlow(flow.message(true)?),
        Command::Demote(flow) => What::MoveFlow(flow.message(false)?),
        Command::Save { file, stop } => {
            let saved = save(&mut client, *stop)?;
            saved_state::write(file, &saved).map_err(OperatorError::new)?;
            print_moved(format, ("saved", "to"), &saved, file);
            return Ok(ExitCode::SUCCESS);
        }
        Command::Restore { file } => {
            let state = restore.unwrap_or_default();
            client.restore(&state)?;
            print_moved(format, ("restored", "from"), &state, file);
            return Ok(ExitCode::SUCCESS);
        }
        Command::Spares { change: Some(SparesChange::Set(set)) } => {
            What::SetThresholds(steer_request::SetThresholds { thresholds: Some(set.message()) })
        }
        Command::Trace { packet } => {
            let traced = client.trace(packet.port, packet.bytes.clone())?;
            print(format, &traced, || ctl::trace(&traced));
            return Ok(ExitCode::SUCCESS);
        }
        Command::Watch { interval, count } => {
            watch(&mut client, format, Duration::from_secs(*interval), *count)?;
            return Ok(ExitCode::SUCCESS);
        }
        look => {
            let shown = client.show()?;
            if let Command::Group { name: Some(name), .. } = look {
                find("group", name, shown.groups.iter().map(|group| &group.name))?;
            }
            if let Command::Flows { app: Some(name), .. } = look {
                find("app with pinned flows", name, shown.pinned_apps.iter().map(|app| &app.name))?;
            }
            if let Command::Merge { look: MergeLook::Status { object } } = look {
                let is_it = |of: &Merged| object.as_ref().is_none_or(|object| of.name == *object);
                if let Some(name) = object {
                    find("merged object", name, shown.merged.iter().map(|of| &of.name))?;
                }
                let merged = shown.merged.iter().filter(|of| is_it(of)).cloned().collect();
                let only = ShowResponse { merged, merging: shown.merging, ..ShowResponse::default() };
                print(format, &only, || match only.merged.is_empty() {
                    true => "no object has copies that are merged\n".to_string(),
                    false => ctl::merges(&only, None),
                });
                return Ok(ExitCode::SUCCESS);
            }
            print(format, &shown, || match look {
                Command::Devices => ctl::devices(&shown),
                Command::Links { dot: true } => ctl::dot(&shown),
                Command::Links { dot: false } => ctl::links(&shown),
                Command::Edges => ctl::edges(&shown),
                Command::Spares { .. } => ctl::spares(&shown),
                Command::Group { name, .. } => ctl::groups(&shown, name.as_deref()),
                Command::Flows { app, top } => ctl::flows(&shown, app.as_deref(), *top),
                Command::Shards => ctl::shards(&shown),
                Command::Clients => ctl::clients(&shown),
                Command::Port { .. } => ctl::ports(&shown),
                Command::Counters { filter, all } => {
                    ctl::counters(&shown, filter.as_deref().unwrap_or(""), *all)
                }
                _ => ctl::show(&shown),
            });
            return Ok(ExitCode::SUCCESS);
        }
    };
    client.steer(what.clone())?;
    let request = SteerRequest { what: Some(what), ..SteerRequest::default() };
    print(format, &request, String::new);
    Ok(ExitCode::SUCCESS)
}

/// An error unless the switch has a `what` of this name.
fn find<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a String> + Clone,
) -> Result<(), OperatorError> {
    if known.clone().any(|one| one == name) {
        return Ok(());
    }
    let known: Vec<String> = known.map(|one| format!("`{one}`")).collect();
    let has = if known.is_empty() { "none".to_string() } else { known.join(", ") };
    Err(OperatorError::new(format!("the switch has no {what} `{name}`; it has {has}")))
}

/// The state of a switch; with `stop`, while no packet is inside. A switch that was stopped before stays stopped.
fn save(client: &mut Operator, stop: bool) -> Result<SavedState, OperatorError> {
    let stops = stop && client.show()?.state() == State::Running;
    if stops {
        client.steer(What::Hold(Hold::default()))?;
    }
    let saved = client.save();
    if stops {
        client.steer(What::Release(Release {}))?;
    }
    saved
}

/// The map of a rack.
fn regions(path: &Path) -> Result<Replace, (Vec<base_diag::Diagnostic>, SourceMap)> {
    let mut map = SourceMap::new();
    let racked = rack::load(path, &[], &mut map);
    match racked.and_then(|racked| Ok(racked.only_app("a map")?.placement.clone())) {
        Ok(placement) => {
            let device = |(region, site): (&ir::Name, &ir_split::Site)| {
                Some((region.to_string(), placement.name(*site.devices.first()?).to_string()))
            };
            Ok(Replace { regions: placement.sites.iter().filter_map(device).collect() })
        }
        Err(found) => Err((found, map)),
    }
}

fn watch(
    client: &mut Operator,
    format: Format,
    interval: Duration,
    count: Option<u64>,
) -> Result<(), OperatorError> {
    let mut last = client.show()?;
    print(format, &last, || ctl::show(&last));
    for _ in 1..count.unwrap_or(u64::MAX) {
        std::thread::sleep(interval);
        let now = client.show()?;
        print(format, &now, || ctl::changes(&last, &now));
        last = now;
    }
    Ok(())
}

/// Prints how many entities were saved or restored.
fn print_moved(format: Format, (done, way): (&str, &str), state: &SavedState, file: &Path) {
    let (entities, file) = (state.entities.len(), file.display().to_string());
    match format {
        Format::Json => output::json(&serde_json::json!({ "ok": true, "entities": entities, "file": file })),
        Format::Text => output::print(&format!("{done} {entities} entities {way} `{file}`\n")),
    }
}

/// Prints an answer of the switch as JSON or as text.
fn print<M: Message>(format: Format, message: &M, text: impl FnOnce() -> String) {
    match (format, to_json(message)) {
        (Format::Json, Ok(json)) => output::print(&format!("{}\n", json.trim_end())),
        (Format::Json, Err(error)) => report!("p4rack: {error}"),
        (Format::Text, _) => output::print(&text()),
    }
}
