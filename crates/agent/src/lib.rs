//! One device as a process: its ports, its clock, and P4Runtime over gRPC.
//!
//! [`run`] opens the ports, starts one thread that owns the device, and serves controllers until it is told to stop.

// This is where time, threads and sockets come from: what they feed is without them.
#![allow(clippy::disallowed_methods)]

mod device;
mod ports;

use dataplane_api::Counters;
use device::Owner;
use ir::Program;
use p4rack::control::Maker;
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use p4runtime_server::Server;
use ports::Ports;
pub use ports::{PortError, PortKind, PortSpec};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub use p4runtime_grpc::Tls;

/// Commands that wait for the device.
const WAITING: usize = 4096;

/// How a device is set up.
pub struct Setup {
    /// Runs from the start; without one a controller has to send it.
    pub program: Option<Arc<Program>>,
    /// What controllers call the device.
    pub device_id: u64,
    /// Where it listens.
    pub address: SocketAddr,
    /// Certificates, if connections are encrypted.
    pub tls: Option<Tls>,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    /// Frames for and from controllers go by this port.
    pub cpu_port: Option<u32>,
    /// The port that means "drop"; the architecture's own if none is given.
    pub drop_port: Option<u32>,
    /// For what the program draws.
    pub seed: u64,
}

/// Why a device does not run.
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

/// Runs a device until SIGINT or SIGTERM; then what is under way ends. `bound` is told where it listens. What the device
/// has counted comes back, if it had a program.
pub fn run(setup: Setup, bound: impl FnOnce(SocketAddr)) -> Result<Option<Counters>, SetupError> {
    let mut ports = Ports::open(&setup.ports).map_err(failed)?;
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let maker = Maker { seed: setup.seed, drop_port: setup.drop_port, own: setup.program.clone() };
    let mut server = Server::new(maker, setup.device_id, i64::try_from(epoch).unwrap_or(i64::MAX));
    if setup.program.is_some() {
        server.start(ForwardingPipelineConfig::default()).map_err(|status| failed(status.message))?;
    }
    let (front, commands) = p4runtime_grpc::queue(WAITING);
    ports.listen(&front);
    let owner = Owner { server, ports, cpu_port: setup.cpu_port, started: Instant::now() };
    let device = thread::spawn(move || owner.run(&commands));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let served = runtime.block_on(p4runtime_grpc::serve(
        setup.address,
        setup.tls,
        front.clone(),
        bound,
        told_to_stop(),
    ));
    front.stop();
    let counters = device.join().map_err(|_| failed("the device's thread has ended early"))?;
    served.map_err(failed)?;
    Ok(counters)
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
