//! A switch as a process, of one device or a whole rack: its ports, its clock, and P4Runtime over gRPC.
//!
//! [`run`] opens the ports, starts one thread that owns the switch, and serves controllers until it is stopped. Frames are run by threads of
//! their own (`dataplane_ports::Lanes`); the owner gets those for controllers, and all frames while frames are held.

// Time, threads and sockets are created here; the crates below do not use them.
#![allow(clippy::disallowed_methods)]

mod device;
mod full_queues;
mod holds;
mod memory;
mod state;

pub use ::device::QueueDepths;
use bmv2_thrift::{Notifications, NotificationsListener};
use compiler::Printed;
use controller::{Call, DeviceId};
use dataplane_ports::Lanes;
pub use dataplane_ports::{Cable, PortError, PortKind, PortSpec, cable};
use device::Owner;
use device_control::{
    AppFlows, AppView, Boots, Direct, Handlers, Known, Maker, Metric, OneSwitch, RackSwitch, RemoteRack,
    Resizing, Served, Splitter, Views,
};
use ir::Program;
use ir_split::Placement;
use memory::{Drops, Memory};
use p4runtime_grpc::{Front, Link, LinkEnd, Place};
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, Update};
use p4runtime_proto::p4rack::v1::SavedState;
use state_etcd::Leading;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tracing::info;

pub use p4runtime_grpc::{
    Badge, Budget, ClientTls, Limits, Operator, OperatorError, Secret, SentTick, Tls, certificate_of,
    most_files, most_memory, private, private_key,
};
pub use state::StatePlace;
pub use state_journal::FORMAT as STATE_FORMAT;

/// Maximum number of commands that wait for the owner.
const WAITING: usize = 128;

/// Maximum number of frames that wait for the owner: those for controllers, and all frames while workers may run none.
const FRAMES: usize = 1 << 15;

/// Time in which controllers must close their connections when the switch ends.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// Interval at which the thread that serves connections returns memory.
const GIVE_BACK: std::time::Duration = std::time::Duration::from_secs(1);

/// Settings of a switch.
pub struct Setup {
    /// The switch.
    pub switch: Switch,
    /// Device id for controllers.
    pub device_id: u64,
    /// Listening address.
    pub address: SocketAddr,
    /// A listening socket, used instead of the address.
    pub listener: Option<TcpListener>,
    /// Certificates, if connections are encrypted.
    pub tls: Option<Tls>,
    /// Address at which Prometheus metrics are served; `None`: they are not served.
    pub metrics: Option<SocketAddr>,
    /// Receives the front of the switch, for addresses that serve several devices.
    pub front: Option<std::sync::mpsc::Sender<Front>>,
    /// Listener of BMv2's Thrift services; `None`: they are not served.
    pub thrift: Option<TcpListener>,
    /// Socket on which digests are published for BMv2's clients.
    pub notifications: Option<NotificationsListener>,
    /// Ports of the device.
    pub ports: Vec<PortSpec>,
    /// Delay before the ports are opened.
    pub ports_after: std::time::Duration,
    /// Directory for captures of the ports' frames.
    pub record: Option<PathBuf>,
    /// Ports with cables inside the process.
    pub cables: Vec<(u32, Cable)>,
    /// Time 0 of the switch; `None`: its start.
    pub started: Option<Instant>,
    /// Numbers of frames that wait at the other ends of the cables, if their owner reports them.
    pub queue_depths: Arc<QueueDepths>,
    /// Threads that run frames. Each port belongs to one of them.
    pub workers: usize,
    /// Port of packet-ins and packet-outs.
    pub cpu_port: Option<u32>,
    /// The port that means "drop"; `None`: the architecture's.
    pub drop_port: Option<u32>,
    /// Priorities with a queue behind each port of a single device. Packets of other priorities are lost.
    pub priority_queues: u8,
    /// Seed of the program's random numbers.
    pub seed: u64,
    /// The externs that the device offers.
    pub registry: dataplane_api::Registry,
    /// Builds the handlers in C of programs that controllers push.
    pub handlers: Option<Arc<Handlers>>,
    /// Only clients with this secret are served. `None`: a switch without a program keeps the secret of the first controller of a rack.
    pub secret: Option<Secret>,
    /// Secret shared with agents.
    pub agents_secret: Option<Secret>,
    /// True if a pushed config with BMv2's JSON keeps the running program.
    pub keep_program: bool,
    /// Place in which controllers' writes are saved. With etcd, the switch starts when this process leads, and ends with an error when it no longer
    /// does.
    pub state: Option<StatePlace>,
    /// State to start with, if that place has none.
    pub restored: Option<SavedState>,
    /// True if the state in that place is erased, and the controller of a rack of processes erases entities of former controllers.
    pub fresh: bool,
    /// Interval at which the controller compares devices with the desired state.
    pub audit: std::time::Duration,
    /// Limits for clients.
    pub limits: Limits,
    /// Memory for requests and answers, which several switches of a process share.
    pub budget: Budget,
    /// Files that this switch may open.
    pub files: usize,
    /// Returns memory of the calling thread to the system that other threads have freed: an allocator may keep it until the thread
    /// allocates more.
    pub give_back: fn(),
}

impl Setup {
    /// Settings for a switch with device id 1, on a free TCP port of the loopback, without switch ports.
    pub fn new(switch: Switch) -> Setup {
        Setup {
            switch,
            device_id: 1,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            listener: None,
            tls: None,
            metrics: None,
            front: None,
            thrift: None,
            notifications: None,
            ports: vec![],
            ports_after: std::time::Duration::ZERO,
            record: None,
            cables: vec![],
            started: None,
            queue_depths: Arc::default(),
            workers: 1,
            cpu_port: None,
            drop_port: None,
            priority_queues: 8,
            seed: 1,
            registry: netfn_registry::all(),
            handlers: None,
            secret: None,
            agents_secret: None,
            keep_program: false,
            state: None,
            restored: None,
            fresh: false,
            audit: std::time::Duration::from_secs(10),
            limits: Limits::default(),
            budget: Budget::default(),
            files: most_files(),
            give_back: || (),
        }
    }
}

/// Devices that look like one switch.
pub enum Switch {
    /// One device. It runs the program from the start; without one, a controller must push a program.
    One(Option<Arc<Program>>),
    /// One device with a program, and updates that fill its tables.
    Filled(Arc<Program>, Vec<Update>),
    /// A whole program on many devices.
    Rack(Box<SplitProgram>),
    /// A whole program on devices that are separate processes with agents at these addresses, in the order of the placement's devices. It
    /// has no ports.
    Remote(Box<SplitProgram>, Vec<AgentAt>),
}

/// A whole program that was split.
pub struct SplitProgram {
    /// The program.
    pub whole: Arc<Program>,
    /// Device of each region.
    pub placement: Placement,
    /// Program of each device by this placement, and its source.
    pub made: Printed,
    /// Entries.
    pub updates: Vec<Update>,
    /// Time for which the state of a device with spares must be correct before the device is used again.
    pub hold_down: base_time::Duration,
    /// Flows that move.
    pub flows: Vec<AppFlows>,
    /// Plans these flows again, if that is wanted.
    pub resizing: Option<Resizing>,
    /// Apps that are devices of their own for controllers.
    pub views: Vec<AppView>,
}

/// Address of an agent.
#[derive(Clone)]
pub struct AgentAt {
    /// `host:port`
    pub address: String,
    /// TLS settings, if the connection is encrypted.
    pub tls: Option<ClientTls>,
}

/// Reason why a switch cannot run.
#[derive(Debug)]
pub struct SetupError(String);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

fn failed(error: impl fmt::Display) -> SetupError {
    SetupError(error.to_string())
}

/// Runs a switch until SIGINT or SIGTERM, then lets running calls complete. `bound` gets the address at which the switch
/// listens on. Returns the counters.
pub fn run(setup: Setup, bound: impl FnOnce(SocketAddr)) -> Result<Vec<Metric>, SetupError> {
    run_until(stop_signal, setup, bound)
}

/// Runs a switch until `stop` is done. `stop` is called in a tokio runtime with timers and signals.
pub fn run_until<F: Future<Output = ()>>(
    stop: impl FnOnce() -> F,
    setup: Setup,
    bound: impl FnOnce(SocketAddr),
) -> Result<Vec<Metric>, SetupError> {
    serve_until(Box::new(|| Box::pin(stop())), setup, Box::new(bound))
}

/// Creates a future on demand.
type Stop<'a> = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + 'a>> + 'a>;

/// [`run_until`] without type parameters: the whole gRPC server is compiled here, once, and not in each caller's crate.
fn serve_until(
    stop: Stop<'_>,
    mut setup: Setup,
    bound: Box<dyn FnOnce(SocketAddr) + '_>,
) -> Result<Vec<Metric>, SetupError> {
    // A controller that waits for its turn uses no ports.
    let led = setup.state.as_ref().map(StatePlace::lead).transpose()?.flatten();
    let (leading, lost) = led.unzip();
    let (started, cables) = (setup.started.unwrap_or_else(Instant::now), std::mem::take(&mut setup.cables));
    for spec in &mut setup.ports {
        spec.record.clone_from(&setup.record);
    }
    let late = match setup.ports_after.is_zero() {
        true => vec![],
        false => std::mem::take(&mut setup.ports),
    };
    let ports_after = setup.ports_after;
    let (thrift, device_id) = (setup.thrift.take(), setup.device_id);
    let publishing = setup.notifications.take();
    let notifications =
        publishing.as_ref().map(|listener| Notifications::new(listener, device_id, setup.budget.clone()));
    let lanes = Lanes::open(&setup.ports, cables, setup.workers, FRAMES, started).map_err(failed)?;
    let files = if thrift.is_some() { bmv2_thrift::CONNECTIONS } else { 0 }
        + if publishing.is_some() { bmv2_thrift::SUBSCRIBERS } else { 0 };
    let limits = setup.limits.within(setup.files.saturating_sub(files));
    let (front, commands) = p4runtime_grpc::queue(WAITING, limits, setup.budget.clone());
    let (begin, begun) = std::sync::mpsc::sync_channel(1);
    let (going, gone) = tokio::sync::oneshot::channel::<()>();
    let (address, listener) = (setup.address, setup.listener.take());
    let (tls, metrics) = (setup.tls.clone(), setup.metrics);
    let (way, give_back) = (front.clone(), setup.give_back);
    let term = leading.as_ref().map_or(0, Leading::term);
    let (links, ends) = links(&setup.switch, setup.agents_secret.as_ref(), term)?;
    // A switch without a program is an agent, or may become one.
    front.guard(setup.secret.clone(), matches!(setup.switch, Switch::One(None)));
    // The receiver may be gone.
    setup.front.take().map(|wanted| wanted.send(front.clone()));
    let learned = notifications.clone();
    let device = thread::spawn(move || {
        // The parts of a rack stay in the thread that made them. If the switch cannot continue, serving ends.
        let _going = going;
        match owner(setup, lanes, started, way, links, leading) {
            Ok(mut owner) => {
                owner.publish_digests(learned);
                let _ = begin.send(Ok(()));
                owner.run(&commands)
            }
            Err(error) => {
                let _ = begin.send(Err(error));
                Ok(vec![])
            }
        }
    });
    begun.recv().map_err(failed)??;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Calls that the owner has answered are completed before others begin. Tokio completes one for 31 steps of other work otherwise.
        .global_queue_interval(1)
        // Large requests are decoded on these threads, and names are resolved. Memory allocated by a thread returns to
        // the system when others have freed it, but only once the thread has ended: none waits for more work.
        .max_blocking_threads(4)
        .thread_keep_alive(std::time::Duration::from_millis(1))
        .build()
        .map_err(failed)?;
    let served = runtime.block_on(async {
        let asked = match metrics {
            Some(address) => Some(p4runtime_grpc::listen_for_metrics(address).await.map_err(failed)?),
            None => None,
        };
        asked.map(|listener| tokio::spawn(p4runtime_grpc::serve_metrics(listener, front.clone())));
        if let Some(listener) = thrift {
            bmv2_thrift::serve(listener, &front, device_id, notifications.clone()).map_err(failed)?;
        }
        if let (Some(notifications), Some(listener)) = (&notifications, publishing) {
            notifications.serve(listener).map_err(failed)?;
        }
        if !late.is_empty() {
            tokio::spawn(open_late(late, ports_after, front.clone()));
        }
        for end in ends {
            tokio::spawn(end.run(front.clone()));
        }
        tokio::spawn(give_back_often(give_back));
        let (ending, ended) = tokio::sync::oneshot::channel();
        let stop = Box::pin(async {
            tokio::select! {
                () = stop() => {}
                _ = gone => {}
                () = end_of_lead(lost) => {}
            }
            info!("ending");
            // The owner executes earlier commands first; then the controllers' streams end.
            front.stop();
            let _ = ending.send(());
        });
        tokio::select! {
            served = p4runtime_grpc::serve(address, listener, tls, front.clone(), bound, stop) => served.map_err(failed),
            // Connections that stay open are abandoned.
            () = async { drop(ended.await); tokio::time::sleep(PATIENCE).await } => Ok(()),
        }
    });
    // For the case that the server ended otherwise.
    front.stop();
    let counted = device.join().map_err(|_| failed("the switch's thread has ended early"))?;
    served?;
    counted.map_err(|status| failed(status.message))
}

/// Completes when a leadership has ended before the switch.
async fn end_of_lead(lost: Option<tokio::sync::oneshot::Receiver<()>>) {
    let has_ended = match lost {
        Some(lost) => lost.await.is_ok(),
        None => false,
    };
    if !has_ended {
        std::future::pending().await
    }
}

/// Returns memory of this thread that the owner has freed: of streams that have ended, with which it answers.
async fn give_back_often(give_back: fn()) {
    loop {
        tokio::time::sleep(GIVE_BACK).await;
        give_back();
    }
}

/// Opens ports some time after the start. The log names ports that cannot be opened.
async fn open_late(ports: Vec<PortSpec>, after: std::time::Duration, front: Front) {
    tokio::time::sleep(after).await;
    let local = front.local();
    let open = move || {
        for spec in ports {
            if let Err(status) = local.add_port(spec.to_string()) {
                tracing::error!(port = spec.port, "{}", status.message);
            }
        }
    };
    // If no thread can be created, the process ends for other reasons.
    let _ = tokio::task::spawn_blocking(open).await;
}

/// Nanoseconds since 1970.
fn unix_time() -> i64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    i64::try_from(epoch).unwrap_or(i64::MAX)
}

/// The links to agents in other processes, and their ends. The term of a leader precedes the time in election ids.
fn links(
    switch: &Switch,
    secret: Option<&Secret>,
    term: u64,
) -> Result<(Vec<Link>, Vec<LinkEnd>), SetupError> {
    let Switch::Remote(program, agents) = switch else { return Ok((vec![], vec![])) };
    let placement = &program.placement;
    if agents.len() != placement.devices.len() {
        let (agents, devices) = (agents.len(), placement.devices.len());
        return Err(failed(format!("there are {agents} agents for {devices} devices")));
    }
    let both = agents.iter().enumerate().map(|(device, agent)| {
        let inner = placement.ports.iter().filter(|((from, _), _)| from.0 as usize == device);
        let place = Place {
            device: DeviceId(device),
            address: agent.address.clone(),
            inner_ports: inner.filter_map(|(_, port)| u32::try_from(*port).ok()).collect(),
            election: u128::from(term) << 64 | u128::try_from(unix_time()).unwrap_or(0),
            secret: secret.cloned(),
        };
        p4runtime_grpc::link(place, agent.tls.as_ref())
    });
    let both: Result<Vec<_>, _> = both.collect();
    Ok(both.map_err(failed)?.into_iter().unzip())
}

/// The switch, with its program running, or about to.
fn owner(
    setup: Setup,
    lanes: Lanes,
    started: Instant,
    front: Front,
    links: Vec<Link>,
    leading: Option<Leading>,
) -> Result<Owner, SetupError> {
    let ports = lanes.ports();
    let epoch = unix_time();
    let Setup {
        device_id,
        cpu_port,
        seed,
        drop_port,
        priority_queues,
        keep_program,
        fresh,
        limits,
        record,
        give_back,
        ..
    } = setup;
    let audit = base_time::Duration::from_ns(u64::try_from(setup.audit.as_nanos()).unwrap_or(u64::MAX));
    // The owner runs all frames of a rack in one process, because a frame passes all devices at one time.
    let shares = matches!(setup.switch, Switch::One(_) | Switch::Filled(..));
    let (registry, handlers) = (setup.registry.clone(), setup.handlers.clone());
    let queue_depths = Arc::clone(&setup.queue_depths);
    let drops = Arc::new(Drops::default());
    // A process cannot know earlier starts, so the time in seconds takes their place: two starts are more than a second apart.
    let boots = Boots::after((epoch / 1_000_000_000) as u32);
    let maker = |own| Maker {
        seed,
        drop_port,
        own,
        keep_program,
        retire: {
            let drops = Arc::clone(&drops);
            Arc::new(move |old| drops.retire(old))
        },
        registry: registry.clone(),
        handlers: handlers.clone(),
        queue_depths: Arc::clone(&queue_depths),
        known: Known::default(),
        boots: boots.clone(),
        shares,
        memory: limits.memory,
    };
    let program = match &setup.switch {
        Switch::One(program) => program.as_ref(),
        Switch::Filled(program, _) => Some(program),
        Switch::Rack(program) | Switch::Remote(program, _) => Some(&program.whole),
    };
    if let Some(program) = program {
        fit(
            program,
            drop_port,
            ports.numbers().map(|port| ("port", port)).chain(cpu_port.map(|p| ("CPU port", p))),
        )?;
    }
    let one =
        |program| OneSwitch::new(maker(program), device_id, epoch, cpu_port).with_priorities(priority_queues);
    let (switch, updates): (Box<dyn Served>, _) = match setup.switch {
        Switch::One(program) => {
            let updates = program.is_some().then(Vec::new);
            (Box::new(one(program)), updates)
        }
        Switch::Filled(program, updates) => (Box::new(one(Some(program))), Some(updates)),
        Switch::Rack(mut program) => {
            let (flows, views) = (std::mem::take(&mut program.flows), std::mem::take(&mut program.views));
            let resizing = program.resizing.take();
            let (splitter, updates) = splitter(*program, maker, true)?;
            let rack = RackSwitch::new(splitter, device_id, epoch, cpu_port, Direct);
            let rack = rack.with_flows(flows).planned_by(resizing);
            if let Some(port) = ports.numbers().find(|port| rack.is_internal(*port)) {
                return Err(failed(format!("port {port} leads to another device of the rack")));
            }
            (with_views(Box::new(rack), device_id, views), Some(updates))
        }
        Switch::Remote(mut program, agents) => {
            let (flows, views) = (std::mem::take(&mut program.flows), std::mem::take(&mut program.views));
            let resizing = program.resizing.take();
            if let Some(port) = ports.numbers().next() {
                return Err(failed(format!("port {port}: ports are attached at the agents")));
            }
            let (splitter, updates) = splitter(*program, maker, false)?;
            let addresses = agents.into_iter().map(|agent| agent.address).collect();
            let rack = RemoteRack::new(splitter, addresses, device_id, epoch).fresh(fresh).audit(audit);
            let rack = rack.with_flows(flows).planned_by(resizing);
            (with_views(Box::new(rack), device_id, views), Some(updates))
        }
    };
    let mut start = updates.map(|updates| Call::Start(Box::default(), updates));
    if let Some(state) = setup.restored {
        let says_program = |config: &ForwardingPipelineConfig| !config.p4_device_config.is_empty();
        if start.is_none() && !state.config.as_ref().is_some_and(says_program) {
            return Err(failed("the state to restore has no program: name the program that the switch ran"));
        }
        start = Some(Call::Resume(Box::new(state), BTreeSet::new()));
    }
    let keeper = match &setup.state {
        Some(place) => {
            let (keeper, state) = place.open(leading.as_ref(), fresh, front.clone())?;
            if let Some(state) = state {
                info!(entities = state.entities.len(), "continuing with the saved state");
                start = Some(Call::Resume(Box::new(state), BTreeSet::new()));
            }
            Some(keeper)
        }
        None => None,
    };
    let memory = Memory::new(drops, give_back);
    let mut owner =
        Owner::new(switch, lanes, (cpu_port, record), started, front, links, (memory, keeper, leading));
    if let Some(start) = start {
        owner.start(start).map_err(|status| failed(status.message))?;
    }
    Ok(owner)
}

/// The switch, with its apps as devices of their own.
fn with_views(switch: Box<dyn Served>, device: u64, views: Vec<AppView>) -> Box<dyn Served> {
    if views.is_empty() { switch } else { Box::new(Views::new(switch, device, views)) }
}

/// The planner of a split program, which does not split it again, and the updates that fill its tables. If the parts run
/// in this process, they are compiled to machine code now.
fn splitter(
    program: SplitProgram,
    maker: impl FnOnce(Option<Arc<Program>>) -> Maker,
    runs_here: bool,
) -> Result<(Splitter, Vec<Update>), SetupError> {
    let SplitProgram { whole, placement, made, updates, hold_down, flows: _, resizing: _, views: _ } =
        program;
    let maker = maker(Some(Arc::clone(&whole)));
    let parts = made.0.iter().flatten().zip(made.1.iter().flatten()).filter(|_| runs_here);
    for (part, text) in parts {
        let compiled = maker.known.engine(text, &part.program, &maker.registry);
        compiled.map_err(|problems| {
            let titles: Vec<&str> = problems.iter().map(|problem| problem.title.as_str()).collect();
            failed(titles.join("; "))
        })?;
    }
    let splitter = Splitter::new(maker, placement).hold_down(hold_down).with_parts(&whole, made);
    Ok((splitter.map_err(|status| failed(status.message))?, updates))
}

/// Refuses ports that the program's architecture cannot number, and the one that means "drop", on which no packet leaves.
fn fit<'p>(
    program: &Program,
    drop_port: Option<u32>,
    ports: impl Iterator<Item = (&'p str, u32)>,
) -> Result<(), SetupError> {
    let numbers = device_control::port_numbers(program, drop_port);
    for (kind, port) in ports.chain(drop_port.map(|port| ("drop port", port))) {
        if let Err(error) = numbers.check_port(port) {
            let help = error.help.map_or(String::new(), |help| format!(": {help}"));
            return Err(failed(format!("{kind} {port}: {}{help}", error.message)));
        }
        if kind != "drop port" && numbers.drop_port() == Some(port) {
            return Err(failed(format!("{kind} {port} means drop: no frame can leave on it")));
        }
    }
    Ok(())
}

/// Completes when the process is asked to end.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = match signal(SignalKind::terminate()) {
        Ok(terminate) => terminate,
        // If signals cannot be received, the process is ended from outside.
        Err(_) => return std::future::pending().await,
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
