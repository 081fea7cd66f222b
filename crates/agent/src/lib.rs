//! A switch as a process, of one device or a whole rack: its ports, its clock, and P4Runtime over gRPC.
//!
//! [`run`] opens the ports, starts one thread that owns the switch, and serves controllers until it is told to stop.

// This is where time, threads and sockets come from: what they feed is without them.
#![allow(clippy::disallowed_methods)]

mod device;
mod metrics;
mod ports;

use controller::Call;
use device::Owner;
use ir::Program;
use ir_split::Placement;
use p4rack::control::{Direct, Maker, Metric, OneSwitch, RackSwitch, Served, Splitter};
use p4runtime_grpc::Front;
use p4runtime_proto::p4::v1::Update;
use ports::Ports;
pub use ports::{Cable, PortError, PortKind, PortSpec, cable};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tracing::info;

pub use p4runtime_grpc::Tls;

/// Commands that wait for the device.
const WAITING: usize = 4096;

/// How long controllers have to hang up when the switch ends.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// How a switch is set up.
pub struct Setup {
    /// What it is.
    pub switch: Switch,
    /// What controllers call it.
    pub device_id: u64,
    /// Where it listens.
    pub address: SocketAddr,
    /// Certificates, if connections are encrypted.
    pub tls: Option<Tls>,
    /// Where Prometheus asks for what is counted, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    /// Ports with cables inside the process.
    pub cables: Vec<(u32, Cable)>,
    /// Frames for and from controllers go by this port.
    pub cpu_port: Option<u32>,
    /// The port that means "drop"; the architecture's own if none is given.
    pub drop_port: Option<u32>,
    /// For what the program draws.
    pub seed: u64,
}

impl Setup {
    /// A switch called 1, on a port of the loopback that the system chooses, with no ports of its own.
    pub fn new(switch: Switch) -> Setup {
        Setup {
            switch,
            device_id: 1,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            tls: None,
            metrics: None,
            ports: vec![],
            cables: vec![],
            cpu_port: None,
            drop_port: None,
            seed: 1,
        }
    }
}

/// What looks like one switch.
pub enum Switch {
    /// One device. It runs the program from the start; without one a controller has to send it.
    One(Option<Arc<Program>>),
    /// A whole program on many devices, with updates that fill its tables.
    Rack(Arc<Program>, Box<Placement>, Vec<Update>),
}

/// Why a switch does not run.
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

/// Runs a switch until SIGINT or SIGTERM; then what is under way ends. `bound` is told where it listens. What was counted
/// comes back.
pub fn run(setup: Setup, bound: impl FnOnce(SocketAddr)) -> Result<Vec<Metric>, SetupError> {
    run_until(told_to_stop, setup, bound)
}

/// The same, until `stop` is done; it is begun where tokio's timers and signals work.
pub fn run_until<F: Future<Output = ()>>(
    stop: impl FnOnce() -> F,
    mut setup: Setup,
    bound: impl FnOnce(SocketAddr),
) -> Result<Vec<Metric>, SetupError> {
    let mut ports = Ports::open(&setup.ports, std::mem::take(&mut setup.cables)).map_err(failed)?;
    let (front, commands) = p4runtime_grpc::queue(WAITING);
    ports.listen(&front);
    let (told, started) = std::sync::mpsc::sync_channel(1);
    let (address, tls, metrics) = (setup.address, setup.tls.clone(), setup.metrics);
    let way = front.clone();
    let device = thread::spawn(move || {
        // What a rack is made of stays in the thread that made it.
        match owner(setup, ports, way) {
            Ok(owner) => {
                let _ = told.send(Ok(()));
                owner.run(&commands)
            }
            Err(error) => {
                let _ = told.send(Err(error));
                vec![]
            }
        }
    });
    started.recv().map_err(failed)??;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let served = runtime.block_on(async {
        let asked = match metrics {
            Some(address) => Some(metrics::listen(address).await.map_err(failed)?),
            None => None,
        };
        asked.map(|listener| tokio::spawn(metrics::serve(listener, front.clone())));
        let (ending, ended) = tokio::sync::oneshot::channel();
        let stop = async {
            stop().await;
            info!("ending");
            // What came before is done; then the controllers' streams end.
            front.stop();
            let _ = ending.send(());
        };
        tokio::select! {
            served = p4runtime_grpc::serve(address, tls, front.clone(), bound, stop) => served.map_err(failed),
            // Who does not hang up is left behind.
            () = async { drop(ended.await); tokio::time::sleep(PATIENCE).await } => Ok(()),
        }
    });
    // Where it did not come to that.
    front.stop();
    let counted = device.join().map_err(|_| failed("the switch's thread has ended early"))?;
    served?;
    Ok(counted)
}

/// The switch, with its program running.
fn owner(setup: Setup, ports: Ports, front: Front) -> Result<Owner, SetupError> {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
    let Setup { device_id, cpu_port, seed, drop_port, .. } = setup;
    let maker = |own| Maker { seed, drop_port, own };
    let (switch, updates): (Box<dyn Served>, _) = match setup.switch {
        Switch::One(program) => {
            let updates = program.is_some().then(Vec::new);
            (Box::new(OneSwitch::new(maker(program), device_id, epoch, cpu_port)), updates)
        }
        Switch::Rack(program, placement, updates) => {
            let splitter = Splitter { maker: maker(Some(program)), placement: *placement };
            let rack = RackSwitch::new(splitter, device_id, epoch, cpu_port, Direct);
            if let Some(port) = ports.numbers().find(|port| rack.is_internal(*port)) {
                return Err(failed(format!("port {port} leads to another device of the rack")));
            }
            (Box::new(rack), Some(updates))
        }
    };
    let mut owner = Owner::new(switch, ports, Instant::now(), front);
    if let Some(updates) = updates {
        owner.start(Call::Start(Box::default(), updates)).map_err(|status| failed(status.message))?;
    }
    Ok(owner)
}

/// Done when the process is asked to end.
async fn told_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = match signal(SignalKind::terminate()) {
        Ok(terminate) => terminate,
        // Without signals the process is ended from outside.
        Err(_) => return std::future::pending().await,
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
