//! `p4rack job run`

use super::{Loaded, loaded, write};
use crate::ExitCode;
use crate::output;
use base_diag::SourceMap;
use reduce_workers::{
    Attachment, Children, Event, Finished, Link, Local, Master, Row, Seat, Settings, SwitchEvent,
};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::slice;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// Job file
    job: PathBuf,
    /// Hosts, switches and links: a RACK.toml or its directory (default: the RACK.toml beside the job)
    #[arg(long, value_name = "RACK.toml")]
    rack: Option<PathBuf>,
    /// Run everything on this machine: a process for each switch and worker, with UDP sockets as cables. Paths of data are relative to the job file
    #[arg(long)]
    local: bool,
    /// Command that starts a worker, with {host}, {address}, {mapper} and {worker} replaced, such as `ssh {host} {worker}`. Without --start and
    /// --local, start the workers by hand or by a scheduler
    #[arg(long, value_name = "COMMAND", conflicts_with = "local")]
    start: Option<String>,
    /// Address at which the master listens for workers. Anyone who can reach it can send pairs: use an isolated network
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Network interface of this host for the pairs, with AF_XDP: past the kernel's network stack, and with its marks of congestion (ECN)
    #[arg(long, value_name = "INTERFACE", conflicts_with = "local")]
    xdp: Option<String>,
    /// Output directory for results (REDUCER.csv) and files of switches; created if missing
    #[arg(short, long, value_name = "DIR", default_value = "out")]
    output: PathBuf,
    /// The job ends if a worker or switch does not answer for this time, in seconds
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86400))]
    patience: u64,
    /// Least time before a packet is sent again, in milliseconds; for hosts whose processes wait long for a processor [default: 5]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=reduce_workers::MOST_WAIT))]
    wait: Option<u64>,
    /// For tests: percentage of packets that each host drops
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50))]
    loss: u32,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

/// Runs a job. Exit status 1 if it has no result.
pub fn run(args: &Args, map: &mut SourceMap) -> ExitCode {
    let loaded = match loaded(slice::from_ref(&args.job), args.rack.as_deref(), map, args.format) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    let job = &loaded.texts[0].job;
    if let Some(group) = job.reducers.iter().find(|reducer| job.is_group(reducer)) {
        let title = format!("the mappers of `{}` are programs", group.name.value);
        let problem = base_diag::Diagnostic::error(base_diag::codes::job::JOB_SETTING, title);
        let help = "start them by yourself; `p4rack job compile` or `p4rack job switches` writes the file by which they join";
        return output::failed(&[problem.at(group.name.span, "").help(help)], map, args.format);
    }
    let finished =
        write(&loaded, vec![], &args.output, map).map_err(|why| vec![failure(why)]).and_then(|_| {
            let local = match args.local {
                true => Some(start_switches(&loaded, &args.output)?),
                false => None,
            };
            reduce(args, &loaded, local.as_ref())
        });
    let (finished, took) = match finished {
        Ok(finished) => finished,
        Err(found) => return output::failed(&found, map, args.format),
    };
    let mut results = vec![];
    for one in &finished {
        let name = &loaded.texts[0].job.reducers[one.reducer].name.value;
        let path = args.output.join(format!("{name}.csv"));
        if let Err(why) = output::write(&path, csv(&one.rows).as_bytes(), &output::sources(map)) {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
        results.push((name.clone(), path, one));
    }
    show(args.format, &results, took);
    ExitCode::SUCCESS
}

pub(super) type Found<T> = Result<T, Vec<base_diag::Diagnostic>>;

fn failure(why: impl Into<String>) -> base_diag::Diagnostic {
    base_diag::Diagnostic::error(base_diag::codes::job::JOB_STOPPED, "the job cannot be started").note(why)
}

pub(super) fn start_switches(loaded: &Loaded, directory: &Path) -> Found<Local> {
    let show_event = |event| match event {
        SwitchEvent::Started(name, number) => report!("switch {name}: process {number}"),
        SwitchEvent::Ended(name) => report!("switch {name} has ended and is restarted"),
        SwitchEvent::Fails(name, log) => report!("switch {name} does not start: see {}", log.display()),
    };
    Local::start(&lab::own_command(), directory, &loaded.plan, &loaded.topology, show_event)
        .map_err(|error| vec![failure(format!("switches cannot be started: {error}"))])
}

/// Runs master and workers.
fn reduce(args: &Args, loaded: &Loaded, local: Option<&Local>) -> Found<(Vec<Finished>, Duration)> {
    let Loaded { texts, topology, plan } = loaded;
    let text = &texts[0];
    let attachment = |host: usize| {
        let address = topology.hosts[host].address;
        local.and_then(|local| local.attachment(host)).cloned().unwrap_or(Attachment::Kernel { address })
    };
    let cards: Vec<_> = topology.hosts.iter().map(|host| (host.address, host.mac)).collect();
    let own = |host: usize| match &args.xdp {
        None => attachment(host),
        Some(interface) => {
            let (address, interface) = (topology.hosts[host].address, interface.clone());
            Attachment::Interface { address, interface, cards: cards.clone() }
        }
    };
    // A mapper that no reducer names has no host.
    let nowhere = Attachment::Kernel { address: Ipv4Addr::UNSPECIFIED };
    let mut mappers = vec![nowhere; text.job.mappers.len()];
    let mut hosts = vec![None; text.job.mappers.len()];
    let mut reducers = vec![];
    for placed in &plan.reducers {
        let reducer = &text.job.reducers[placed.reducer];
        for (at, host) in reducer.mappers.iter().zip(&placed.mappers) {
            (mappers[*at], hosts[*at]) = (attachment(*host), Some(*host));
        }
        let switch = |folding: &reduce_jobs::plan::Folding| {
            (topology.switches[folding.switch].clone(), topology.hosts[folding.behind].address)
        };
        reducers.push(Seat {
            attachment: own(placed.host),
            switches: placed.switches.iter().map(switch).collect(),
            parents: placed.parents,
        });
    }
    let beside = args.job.parent().map(|parent| parent.display().to_string()).unwrap_or_default();
    let settings = Settings {
        text: text.text.clone(),
        job: text.job.clone(),
        reducers,
        mappers,
        cards,
        loss: args.loss * 10_000,
        wait: args.wait,
        patience: Duration::from_secs(args.patience),
        directory: if args.local || args.start.is_none() { beside } else { String::new() },
    };
    let master = Master::listen(settings, args.listen);
    let master = master.map_err(|error| vec![failure(format!("{}: {error}", args.listen))])?;
    let address = master.address().map_err(|error| vec![failure(error.to_string())])?;
    let mut workers = Children::default();
    for (mapper, host) in text.job.mappers.iter().zip(&hosts) {
        let Some(host) = host else { continue };
        let host = &topology.hosts[*host];
        start(args, &mapper.name.value, host, address, &mut workers).map_err(|why| vec![failure(why)])?;
    }
    let finished = master.run(local, &mut |event| match event {
        Event::Joined(name) => report!("worker {name} is connected"),
        Event::Ready(name, pairs) => report!("worker {name} has {pairs} pairs"),
        Event::Gone(name) => report!("worker {name} is disconnected"),
        Event::Committed(name, rounds, all) => report!("{name}: {rounds} of {all} rounds"),
        Event::Restarted(name, times) => report!("{name}: switches have restarted {times} times"),
        Event::FewMayWait { allowed, wanted, is_kernels } => {
            let half = wanted.div_ceil(2);
            let raise = format!("raise `sysctl net.core.rmem_max` to {half}, or ");
            report!(
                "{allowed} bytes of packets may wait at the reducer's socket, and the mappers' windows have {wanted}: packets may be lost and sent again; {}lower `window`",
                if is_kernels { &raise } else { "" }
            );
        }
        Event::Named(name, keys) => report!("{name}: texts of {keys} keys received"),
    });
    finished.map_err(|problem| vec![*problem])
}

/// Starts the worker of a mapper, or prints the command that starts it.
fn start(
    args: &Args,
    mapper: &str,
    host: &reduce_jobs::topology::Host,
    master: SocketAddr,
    workers: &mut Children,
) -> Result<(), String> {
    let master = master.to_string();
    let own = ["job", "worker", mapper, "--master", &master];
    let mut command = match &args.start {
        _ if args.local => {
            let words = lab::own_command();
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).args(own);
            command
        }
        Some(start) => {
            let line = start
                .replace("{worker}", &format!("p4rack {}", own.join(" ")))
                .replace("{host}", &host.name)
                .replace("{address}", &host.address.to_string())
                .replace("{mapper}", mapper);
            let mut command = Command::new("sh");
            command.args(["-c", &line]);
            command
        }
        None => {
            report!("start on {}: p4rack {}", host.name, own.join(" "));
            return Ok(());
        }
    };
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let child = child.map_err(|error| format!("the worker of `{mapper}` cannot be started: {error}"))?;
    report!("worker {mapper}: process {}", child.id());
    workers.push(child);
    Ok(())
}

/// Rows as CSV (RFC 4180).
fn csv(rows: &[Row]) -> String {
    let mut text = String::new();
    for (key, values) in rows {
        text += &output::csv_field(&String::from_utf8_lossy(key));
        values.iter().for_each(|value| text += &format!(",{value}"));
        text += "\n";
    }
    text
}

fn show(format: output::Format, results: &[(String, PathBuf, &Finished)], took: Duration) {
    let shares = |one: &Finished| {
        let reached = one.counts.overflowed + one.counts.read;
        let saved = one.sent.saturating_sub(reached);
        (reached, 1000 * saved / one.sent.max(1))
    };
    match format {
        output::Format::Text => {
            for (name, path, one) in results {
                let (reached, permille) = shares(one);
                let best = 1000 * one.sent.saturating_sub(one.rows.len() as u64) / one.sent.max(1);
                output::print(&format!(
                    "{name}: {} keys in {}\n  {} pairs sent, {reached} reached the reducer: {}.{} % saved, at best {}.{} % with one pair per key\n  \
                     {} got no slot, because it was taken or too small, {} were read from slots; {} attempts discarded, {} restarts of switches\n",
                    one.rows.len(),
                    path.display(),
                    one.sent,
                    permille / 10,
                    permille % 10,
                    best / 10,
                    best % 10,
                    one.counts.overflowed,
                    one.counts.read,
                    one.counts.doomed,
                    one.counts.restarts,
                ));
                let Link { to, from } = one.link;
                let change = 100.0 * (to as f64 / one.plain.max(1) as f64 - 1.0);
                let (percent, than) = (change.abs(), if change > 0.0 { "more than" } else { "fewer than" });
                output::print(&format!(
                    "  {to} bytes to the reducer, {percent:.1} % {than} the {} bytes of all pairs in full packets; {from} bytes from the reducer\n",
                    one.plain
                ));
                if let Some(rounds) = one.better_rounds {
                    output::print(&format!("  `rounds = {rounds}` would save more bytes\n"));
                }
            }
            output::print(&format!("{:.1} s\n", took.as_secs_f64()));
        }
        output::Format::Json => {
            let reducer = |(name, path, one): &(String, PathBuf, &Finished)| {
                let (reached, permille) = shares(one);
                json!({
                    "name": name,
                    "file": path,
                    "keys": one.rows.len(),
                    "pairs_sent": one.sent,
                    "pairs_that_arrived": reached,
                    "past_the_slots": one.counts.overflowed,
                    "read_from_slots": one.counts.read,
                    "saved_permille": permille,
                    "bytes_to_reducer": one.link.to,
                    "bytes_from_reducer": one.link.from,
                    "bytes_of_full_packets": one.plain,
                    "attempts_thrown_away": one.counts.doomed,
                    "restarts": one.counts.restarts,
                    "better_rounds": one.better_rounds,
                })
            };
            let reducers: Vec<Value> = results.iter().map(reducer).collect();
            output::json(&json!({ "ok": true, "seconds": took.as_secs_f64(), "reducers": reducers }));
        }
    }
}
