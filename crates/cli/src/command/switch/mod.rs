//! `p4rack switch`

mod bmv2;

use super::Preprocessor;
use crate::ExitCode;
use crate::log::LogArgs;
use crate::output;
use crate::tls::{ClientArgs, ServerArgs};
pub use bmv2::normalized;

use super::memory_of;
use agent::{AgentAt, Budget, Limits, PortSpec, Setup, SplitProgram, StatePlace, Switch, most_files};
use base_diag::{Diagnostic, SourceMap, codes};
use clap::builder::ArgPredicate;
use compiler::{Until, compile};
use dataplane_api::Registry;
use p4rack::handlers::{Failure, News, Offers, Slow};
use p4rack::{Disk, rack};
use rack_model::Rack;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Run a device, or a rack that appears as one switch, and serve P4Runtime
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack switch router.p4 -i 1@eth1 -i 2@eth2
  p4rack switch snat.p4 --handlers snat.c -i 1@eth1 -i 2@eth2
  p4rack switch examples/slice/plain.toml --metrics-addr 127.0.0.1:9090")]
pub struct Args {
    /// P4-16 program, RACK.toml, or the directory of a RACK.toml; without it, a controller must push a program
    program: Option<String>,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Address to listen on for controllers
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559", 
        // It serves no P4Runtime: others of its kind run on the same machine.
        default_value_if("called", "simple-switch", "127.0.0.1:0"),
        value_parser = address)]
    grpc_server_addr: SocketAddr,
    /// Serve on the listening socket that is passed as standard input, as by systemd's `StandardInput=socket`, instead of on --grpc-server-addr
    #[arg(long)]
    grpc_server_stdin: bool,
    /// Allow connections without TLS beyond the loopback, from controllers and to agents. Anyone who can reach the switch can control it,
    /// and anyone who can read the traffic to an agent learns the secret
    #[arg(long)]
    insecure: bool,
    /// Maximum number of client connections; the limit on open files may lower it
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, value_parser = at_least_one)]
    max_connections: usize,
    /// Maximum number of updates in one Write and of queries in one Read
    #[arg(long, value_name = "N", default_value_t = Limits::default().updates, value_parser = at_least_one)]
    max_updates: usize,
    /// Maximum memory for the program's tables and objects with their contents, in MiB. A program that would need more when its tables are full is
    /// refused. The default is two fifths of the memory that the process may use, after 384 MiB for requests are subtracted
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    max_memory: Option<u64>,
    /// P4Runtime device id
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        default_value_if("called", ArgPredicate::IsPresent, "0")
    )]
    device_id: u64,
    /// Attach a port: NUMBER@INTERFACE, NUMBER@packet:INTERFACE, NUMBER@afxdp:INTERFACE, NUMBER@tap:NAME, NUMBER@pcap:IN,OUT or
    /// NUMBER@udp:LOCAL,REMOTE. The ports of a rack are those of its origin
    #[arg(short, long = "interface", value_name = "PORT")]
    interface: Vec<PortSpec>,
    /// Number of threads that run frames; each port belongs to one of them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// For a rack: address of the `p4rack switch` that runs device NAME; give one per device. Ports are attached there
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = agent_at)]
    agent: Vec<(String, String)>,
    /// For a rack: a file with the addresses of all agents, one NAME=HOST:PORT per line; text after # is a comment
    #[arg(long, value_name = "FILE")]
    agents: Option<PathBuf>,
    /// Save everything that controllers write to FILE or in etcd: a write is answered when it is saved, and a switch or controller that restarts
    /// continues with the saved state, whose entries replace those in RACK.toml. A file is created if missing. Of several controllers with the same
    /// etcd://HOST:PORT[,HOST:PORT...]/NAME one leads, and the others wait: when it ends, the next one takes over. Options of the address:
    /// ?lease=SECONDS&cacert=FILE&cert=FILE&key=FILE&user=NAME&password=FILE
    #[arg(long, value_name = "PLACE")]
    state: Option<StatePlace>,
    /// With `--agent` or `--state`: erase the agents' entries and the saved state at start. By default both are kept. An agent that runs another
    /// program then gets the saved program; without a saved state, it is an error
    #[arg(long)]
    fresh: bool,
    /// With `--agent`: seconds between comparisons of the agents' entries with the desired state
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86400))]
    audit: u64,
    /// Port for packet-in and packet-out
    #[arg(long, value_name = "PORT")]
    cpu_port: Option<u32>,
    /// Port number that means "drop"; by default the architecture's, 511 for v1model
    #[arg(long, value_name = "PORT")]
    drop_port: Option<u32>,
    /// Accept pushed configurations that contain BMv2 JSON: the running program stays, without its entries
    #[arg(long)]
    keep_program: bool,
    /// Random seed for the program
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Source of the program's handlers, in C or Python, which run in separate processes; may be repeated. Without a program: of the handlers that
    /// pushed programs call
    #[arg(long, value_name = "FILE.c|FILE.py")]
    handlers: Vec<PathBuf>,
    /// Processes of each handler: the packets of a flow are in one of them, and a crash costs only its flows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    handler_workers: u16,
    /// Address to serve Prometheus metrics on, at /metrics
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    metrics_addr: Option<SocketAddr>,
    /// TCP port for BMv2's Thrift services, which `simple_switch_CLI` uses
    #[arg(long, value_name = "PORT", default_value_if("called", ArgPredicate::IsPresent, "9090"))]
    thrift_port: Option<u16>,
    /// Address for BMv2's Thrift services; beyond the loopback only with --insecure
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", requires = "thrift_port")]
    thrift_ip: IpAddr,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    bmv2: bmv2::Bmv2Args,
}

/// Exit status 1 if the program has an error, a port cannot be opened or the address is taken.
pub fn run(mut args: Args) -> ExitCode {
    if let Some(text) = args.bmv2.answer() {
        output::print(&text);
        return ExitCode::SUCCESS;
    }
    crate::memory::return_at_once();
    match args.agents.as_deref().map_or(Ok(vec![]), agents_in) {
        Ok(more) => args.agent.extend(more),
        Err(why) => return failed(&why),
    }
    let listener = match args.grpc_server_stdin.then(listener_at_stdin).transpose() {
        Ok(listener) => listener,
        Err(why) => return failed(&why),
    };
    if let Some(address) = listener.as_ref().and_then(|listener| listener.local_addr().ok()) {
        args.grpc_server_addr = address;
    }
    if let Err(why) = args.log.begin() {
        return failed(&why);
    }
    args.bmv2.report();
    // Of a rack's controller they are for the connections to its agents.
    let own = args.client.certificates().filter(|_| args.agent.is_empty());
    let tls = match args.server.read(own) {
        Ok(tls) => tls,
        Err(why) => return failed(&why),
    };
    // A controller's clients need no secret: it is for the connections to its agents.
    let secrets = match args.agent.is_empty() {
        true => args.client.named_secret().map(|secret| (secret, None)),
        false => args.client.agents_secret().map(|secret| (None, secret)),
    };
    let (secret, agents_secret) = match secrets {
        Ok(secrets) => secrets,
        Err(why) => return failed(&why),
    };
    if args.client.names_authority() && args.agent.is_empty() {
        return failed("--cacert is for connections to agents: add --agent");
    }
    let is_open = !args.grpc_server_addr.ip().is_loopback() && tls.is_none();
    // Scripts for `simple_switch_grpc` give such addresses without `--insecure`.
    if is_open && args.bmv2.is_called_so() {
        report!("p4rack: anyone who reaches {} can control the switch", args.grpc_server_addr);
    } else if is_open && !args.insecure {
        return failed(&format!(
            "{} can be reached from other machines, and without certificates anyone who reaches it can control the switch: \
             add --certificates with the directory that the rack's controller created for this agent, or --grpc-server-cert, --grpc-server-key and \
             --grpc-server-cacert, or --insecure",
            args.grpc_server_addr
        ));
    }
    let (switch, registry) = match switch(&args) {
        Ok(switch) => switch,
        Err(code) => return code,
    };
    let handlers: Option<Arc<device_control::Handlers>> = match args.handlers.is_empty() {
        true => None,
        false => Some(Arc::new(p4rack::handlers::offers_later(args.handler_options()))),
    };
    let restored = match args.bmv2.restored() {
        Ok(restored) => restored,
        Err(why) => return failed(&why),
    };
    let record = match args.bmv2.record() {
        Ok(record) => record,
        Err(why) => return failed(&why),
    };
    let thrift = match args.thrift_listener() {
        Ok(thrift) => thrift,
        Err(why) => return failed(&why),
    };
    let notifications = match args.bmv2.notifications(args.device_id, args.insecure) {
        Ok(notifications) => notifications,
        Err(why) => return failed(&why),
    };
    let (ports, ports_after) = args.bmv2.ports(&args.interface);
    let setup = Setup {
        switch,
        device_id: args.device_id,
        address: args.grpc_server_addr,
        listener,
        tls,
        metrics: args.metrics_addr,
        front: None,
        thrift,
        notifications,
        ports,
        ports_after,
        record,
        cables: vec![],
        started: None,
        queue_depths: Arc::default(),
        workers: usize::from(args.workers),
        cpu_port: args.cpu_port,
        drop_port: args.drop_port,
        priority_queues: args.bmv2.priority_queues(),
        seed: args.seed,
        registry,
        handlers,
        secret,
        agents_secret,
        keep_program: args.keep_program,
        state: args.state.clone(),
        restored,
        fresh: args.fresh,
        audit: Duration::from_secs(args.audit),
        limits: Limits {
            updates: args.max_updates,
            connections: args.max_connections,
            memory: memory_of(args.max_memory),
        },
        budget: Budget::default(),
        files: most_files(),
        give_back: crate::memory::give_back,
    };
    let device_id = setup.device_id;
    match agent::run(setup, |address| report!("p4rack: device {device_id} listens on {address}")) {
        Ok(counted) => {
            let summary = device_control::summary(&counted);
            if !summary.is_empty() {
                report!("p4rack: {summary}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error.to_string()),
    }
}

impl Args {
    fn handler_options(&self) -> p4rack::handlers::Options {
        p4rack::handlers::Options {
            files: self.handlers.clone(),
            isolation: p4rack::handlers::Isolation::Processes(self.handler_workers),
            seed: self.seed,
            sanitize: None,
            report: Some(report),
        }
    }

    /// Listener of BMv2's Thrift services; `None`: they are not served.
    fn thrift_listener(&self) -> Result<Option<TcpListener>, String> {
        let Some(port) = self.thrift_port else { return Ok(None) };
        if !self.thrift_ip.is_loopback() && !self.insecure {
            return Err(format!(
                "--thrift-ip {} can be reached from other machines, and anyone who reaches it can control the switch: add --insecure",
                self.thrift_ip
            ));
        }
        let address = SocketAddr::from((self.thrift_ip, port));
        let listener = TcpListener::bind(address)
            .map_err(|error| format!("cannot listen on {address} for Thrift (`--thrift-port`): {error}"))?;
        if let Ok(address) = listener.local_addr() {
            report!("p4rack: Thrift on {address}");
        }
        Ok(Some(listener))
    }
}

/// Reports calls that a handler did not answer, and those that took too long.
fn report(news: News<'_>) {
    match news {
        News::Failed(Failure { handler, why, request, poisons, .. }) => {
            let then = if *poisons { "; later packets of its flow are not handled" } else { "" };
            report!("p4rack: error[P4R1407]: handler `{handler}`: {why}; request: {request}{then}");
        }
        News::Slow(Slow { handler, budget, calls, longest, request }) => {
            report!(
                "p4rack: handler `{handler}`: {calls} calls took more than {budget}, the longest {longest}; request: {request}"
            );
        }
    }
}

/// A program on one device, or a rack with all it names.
fn switch(args: &Args) -> Result<(Switch, Registry), ExitCode> {
    let usual = Offers::default().registry;
    if args.bmv2.is_without_program() && args.program.is_some() {
        report!("p4rack: --no-p4: the program is not used");
    }
    let Some(file) = args.program.as_ref().filter(|_| !args.bmv2.is_without_program()) else {
        return match args.agent.is_empty() {
            true => Ok((Switch::One(None), usual)),
            false => Err(failed("--agent needs a rack: name its RACK.toml")),
        };
    };
    let mut map = SourceMap::new();
    let path = Path::new(file);
    if path.is_dir() || path.extension().is_some_and(|extension| extension == "toml") {
        if !args.handlers.is_empty() {
            return Err(failed(
                "--handlers is for a program, or for an agent without one: a RACK.toml names its own, `handlers = [\"FILE.c\"]`",
            ));
        }
        let wrong = |found: &[Diagnostic], map: &SourceMap| {
            output::diagnostics_text(found, map);
            ExitCode::FAILURE
        };
        let defines = args.preprocessor.options().defines;
        let racked = rack::load_as(path, &defines, &mut map, &Rack::of_processes, &mut |_| ());
        let racked = racked.map_err(|found| wrong(&found, &map))?;
        output::diagnostics_text(&racked.warnings, &map);
        let app = racked.only_app("a switch").map_err(|found| wrong(&found, &map))?;
        if let Some(device) = racked.rack.devices.iter().find_map(|device| device.entries.as_ref()) {
            let diagnostic =
                Diagnostic::error(codes::emulate::NOT_AN_ENTRY, "one switch has one set of entries")
                    .at(device.span, "these are for one device alone")
                    .help("write them by P4Runtime, or run the rack with `p4rack up`");
            return Err(wrong(&[diagnostic], &map));
        }
        let updates =
            device_control::updates(app.entries.writes(), &app.whole).map_err(|found| wrong(&found, &map))?;
        let flows = p4rack::flows::app_flows(&racked, 0).map_err(|found| wrong(&found, &map))?;
        if !args.agent.is_empty() && flows.iter().any(device_control::AppFlows::holds) {
            report!("p4rack: `hold`: packets of new flows do not wait in a rack of separate processes");
        }
        let resizing = p4rack::replan::resizing_of(&racked.rack, app, &flows);
        let views = p4rack::views::views(&racked, 0, args.device_id).map_err(|found| wrong(&found, &map))?;
        for view in &views {
            report!("p4rack: device {} is the app `{}`", view.device, view.name);
        }
        if let Some(left) = p4rack::rack::left_to_up(&racked) {
            report!("p4rack: {left}");
        }
        let program = Box::new(SplitProgram {
            whole: Arc::clone(&app.whole),
            placement: app.placement.clone(),
            made: (app.parts.clone(), app.texts.clone()),
            updates,
            hold_down: racked
                .rack
                .apps
                .first()
                .map_or(base_time::Duration::ZERO, |app| app.failover.hold_down),
            flows,
            resizing,
            views,
        });
        if !args.agent.is_empty() {
            let names: Vec<String> = program.placement.devices.iter().map(ToString::to_string).collect();
            let addresses = addresses(&args.agent, &names).map_err(|why| failed(&why))?;
            let tls = args.client.for_agents(&addresses, args.insecure).map_err(|why| failed(&why))?;
            let agents = addresses.into_iter().zip(tls).map(|(address, tls)| AgentAt { address, tls });
            return Ok((Switch::Remote(program, agents.collect()), usual));
        }
        let mut registry = app.offers.registry.clone();
        if let Some(built) = &app.offers.built {
            let isolation = p4rack::handlers::Isolation::Processes(args.handler_workers);
            p4rack::handlers::isolate(built, isolation, args.seed, &mut registry);
            built.failures().report_to(report);
        }
        return Ok((Switch::Rack(program), registry));
    }
    if !args.agent.is_empty() {
        return Err(failed("--agent needs a rack: name a RACK.toml instead of a program"));
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        let program = p4rack::program_json::read(path, &mut map);
        return program.map(|program| (Switch::One(Some(program)), usual)).map_err(|found| {
            output::diagnostics_text(&found, &map);
            ExitCode::FAILURE
        });
    }
    let compiled = compile(file, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    output::diagnostics_text(&compiled.diagnostics, &map);
    let program = compiled.program.ok_or(ExitCode::FAILURE)?;
    let program = p4rack::rack::runnable(program, file, &mut map).map_err(|found| {
        output::diagnostics_text(&found, &map);
        ExitCode::FAILURE
    })?;
    match p4rack::handlers::offers(&program, file, &args.handler_options(), &mut map) {
        Ok(offers) => {
            output::diagnostics_text(&offers.warnings(), &map);
            Ok((Switch::One(Some(program)), offers.registry))
        }
        Err(found) => {
            output::diagnostics_text(&found, &map);
            Err(ExitCode::FAILURE)
        }
    }
}

/// The socket that listens at standard input.
fn listener_at_stdin() -> Result<TcpListener, String> {
    let wrong = |why: &dyn std::fmt::Display| {
        format!("--grpc-server-stdin: standard input is not a listening socket: {why}")
    };
    let own = std::io::stdin().as_fd().try_clone_to_owned().map_err(|error| wrong(&error))?;
    let listener = TcpListener::from(own);
    listener.local_addr().map_err(|error| wrong(&error))?;
    Ok(listener)
}

/// The agents that a file names.
fn agents_in(file: &Path) -> Result<Vec<(String, String)>, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("--agents `{}`: {error}", file.display()))?;
    let lines = (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.split('#').next().unwrap_or_default().trim()));
    let agent = |(number, line): (usize, &str)| {
        agent_at(line).map_err(|why| format!("--agents `{}`, line {number}: {why}", file.display()))
    };
    lines.filter(|(_, line)| !line.is_empty()).map(agent).collect()
}

/// `NAME=HOST:PORT`
fn agent_at(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, address)) if address.contains(':') => Ok((name.to_string(), address.to_string())),
        _ => Err("an agent is written NAME=HOST:PORT, as in tor=127.0.0.1:9601".to_string()),
    }
}

/// The agents' addresses in the order of the devices.
fn addresses(agents: &[(String, String)], devices: &[String]) -> Result<Vec<String>, String> {
    if let Some((name, _)) = agents.iter().find(|(name, _)| !devices.contains(name)) {
        return Err(format!(
            "--agent {name}: the rack has no such device; it has `{}`",
            devices.join("`, `")
        ));
    }
    let address = |device: &String| {
        let mut known = agents.iter().filter(|(name, _)| name == device);
        match (known.next(), known.next()) {
            (Some((_, address)), None) => Ok(address.clone()),
            (Some(_), Some(_)) => Err(format!("--agent {device} is given twice")),
            (None, _) => Err(format!("device `{device}` has no agent: add --agent {device}=HOST:PORT")),
        }
    };
    devices.iter().map(address).collect()
}

fn failed(why: &str) -> ExitCode {
    report!("p4rack: {why}");
    ExitCode::FAILURE
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "expected a number of at least 1".to_string())
}

/// Address to listen on: numbers, or a name that the machine resolves.
fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| "write an address of this machine and a port, as in 127.0.0.1:9559".to_string())
}
