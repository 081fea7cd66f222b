//! `p4rack switch`

use super::Preprocessor;
use crate::output;
use agent::{PortSpec, Setup, Tls};
use base_diag::SourceMap;
use p4rack::{Disk, Until, compile};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run one device and serve it to controllers over P4Runtime
#[derive(clap::Args)]
pub struct Args {
    /// A P4-16 program; without one a controller has to send it
    program: Option<String>,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Where to listen for controllers
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559")]
    grpc_server_addr: SocketAddr,
    /// What controllers call the device
    #[arg(long, value_name = "N", default_value_t = 1)]
    device_id: u64,
    /// A port: NUMBER@pcap:IN,OUT or NUMBER@tap:NAME
    #[arg(short, long = "interface", value_name = "PORT")]
    interface: Vec<PortSpec>,
    /// Frames for and from controllers go by this port
    #[arg(long, value_name = "PORT")]
    cpu_port: Option<u32>,
    /// The port that means "drop"
    #[arg(long, value_name = "PORT")]
    drop_port: Option<u32>,
    /// Seeds what the program draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The server's certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "grpc_server_key")]
    grpc_server_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", requires = "grpc_server_cert")]
    grpc_server_key: Option<PathBuf>,
    /// Who signs controllers' certificates, as PEM: controllers without one are turned away
    #[arg(long, value_name = "FILE", requires = "grpc_server_cert")]
    grpc_server_cacert: Option<PathBuf>,
}

/// Exit status 1 if the program has an error, a port cannot be opened or the address is taken.
pub fn run(args: Args) -> ExitCode {
    let tls = match tls(&args) {
        Ok(tls) => tls,
        Err(why) => return failed(&why),
    };
    let mut program = None;
    if let Some(file) = &args.program {
        let mut map = SourceMap::new();
        let compiled = compile(file, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
        output::diagnostics_text(&compiled.diagnostics, &map);
        let Some(found) = compiled.program else { return ExitCode::FAILURE };
        program = Some(found);
    }
    let setup = Setup {
        program,
        device_id: args.device_id,
        address: args.grpc_server_addr,
        tls,
        ports: args.interface,
        cpu_port: args.cpu_port,
        drop_port: args.drop_port,
        seed: args.seed,
    };
    let device_id = setup.device_id;
    match agent::run(setup, |address| eprintln!("p4rack: device {device_id} listens on {address}")) {
        Ok(counters) => {
            if let Some(counters) = counters {
                let dropped: u64 = counters.dropped.values().sum();
                eprintln!(
                    "p4rack: {} frames received, {} sent, {dropped} dropped",
                    counters.received, counters.sent
                );
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("p4rack: {why}");
    ExitCode::FAILURE
}

fn tls(args: &Args) -> Result<Option<Tls>, String> {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
    };
    let (Some(certificate), Some(key)) = (&args.grpc_server_cert, &args.grpc_server_key) else {
        return Ok(None);
    };
    let clients = args.grpc_server_cacert.as_deref().map(read).transpose()?;
    Ok(Some(Tls { certificate: read(certificate)?, key: read(key)?, clients }))
}
