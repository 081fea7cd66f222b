//! The master: gives workers their work, reduces, and asks for the names of keys.
//!
//! A thread reads the connection of each worker; a thread for each host that reducers run on moves packets.

mod hosts;
mod workers;

use crate::control::Attachment;
use crate::local::Local;
use aggregate::estimate::children;
use aggregate::reducer::{Counts, Sums, Trouble};
use base_diag::codes::job as codes;
use base_diag::{Code, Diagnostic};
use hosts::Hosts;
use reduce_jobs::Job;
pub use reduce_jobs::network::Row;
use reduce_jobs::network::rows;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};
use workers::Workers;

/// Configuration of a master.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The text of the job.
    pub text: String,
    /// The same, checked.
    pub job: Job,
    /// For each reducer.
    pub reducers: Vec<Seat>,
    /// Attachment of each mapper's host.
    pub mappers: Vec<Attachment>,
    /// Address of each host, and of its card.
    pub cards: Vec<(Ipv4Addr, [u8; 6])>,
    /// Losses made on purpose at every host, in millionths.
    pub loss: u32,
    /// Least time before a packet is sent again, in milliseconds; none: the usual one.
    pub wait: Option<u64>,
    /// A worker or a switch that is silent for longer ends the job.
    pub patience: Duration,
    /// Directory of relative paths, at the workers.
    pub directory: String,
}

/// The host of a reducer, and its peers.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Attachment of the mapper's host.
    pub attachment: Attachment,
    /// Name of each switch, and the address for its requests; parents are last.
    pub switches: Vec<(String, Ipv4Addr)>,
    /// The number of switches that fold what others have left.
    pub parents: u16,
}

/// Events of a running job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A worker has come.
    Joined(String),
    /// The worker has read its data: its name and the number of pairs.
    Ready(String, u64),
    /// A worker is gone; it may come again.
    Gone(String),
    /// A reducer has committed so many of its rounds.
    Committed(String, u32, u32),
    /// A reducer's switch has restarted, so many times altogether.
    Restarted(String, u64),
    /// At a reducer's socket, fewer bytes of packets may wait than the windows of its mappers have.
    FewMayWait {
        /// Bytes of the kernel's memory.
        allowed: usize,
        /// Bytes of the windows.
        wanted: usize,
        /// The limit is the kernel's, and can be raised.
        is_kernels: bool,
    },
    /// A reducer has the name of each key, or asks for it.
    Named(String, usize),
}

/// Bytes that passed a reducer's link, with the frames around packets: [`AROUND`](aggregate::datagram::AROUND).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Link {
    /// To the reducer.
    pub to: u64,
    /// From it.
    pub from: u64,
}

/// A reducer that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// Index of the reducer.
    pub reducer: usize,
    /// In the order of keys.
    pub rows: Vec<Row>,
    /// Counts of the reducer.
    pub counts: Counts,
    /// Traffic on the reducer's link.
    pub link: Link,
    /// Pairs that the mappers had.
    pub sent: u64,
    /// Bytes to the reducer if nothing were folded and all packets were full, without acknowledgements.
    pub plain: u64,
    /// A number of rounds that would save more bytes.
    pub better_rounds: Option<u32>,
}

/// A master that listens for workers.
pub struct Master {
    settings: Settings,
    listener: TcpListener,
}

impl Master {
    /// Listens at an address.
    pub fn listen(settings: Settings, address: SocketAddr) -> io::Result<Master> {
        Ok(Master { settings, listener: TcpListener::bind(address)? })
    }

    /// The address that it listens at.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Runs the job; gives its reducers, and how long they took once all data was read. `local`: the switches, if they are processes of this one. An error says why there
    /// is no result.
    pub fn run(
        self,
        local: Option<&Local>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(Vec<Finished>, Duration), Box<Diagnostic>> {
        let Master { settings, listener } = self;
        let mut workers = Workers::listen(listener, &settings)
            .map_err(|error| stopped(format!("no worker can connect: {error}"), "start the job again"))?;
        workers.wait_until_ready(on_event)?;
        let begun = Instant::now();
        let hosts = Hosts::start(&settings, on_event)?;
        let ended = loop {
            if let Some(ended) = hosts.look(on_event, Duration::from_millis(20))? {
                break ended;
            }
            workers.look(on_event)?;
            if let Some((switch, log)) = local.and_then(Local::failed) {
                let title = format!("switch `{switch}` does not start");
                return Err(stopped(title, format!("{} has the output of its process", log.display())));
            }
        };
        let mut finished = vec![];
        for (reducer, (sums, counts, link)) in ended.into_iter().enumerate() {
            let rows = name(&settings, reducer, &sums, &mut workers, on_event)?;
            let sent = workers.pairs(reducer);
            let seat = &settings.reducers[reducer];
            let children = children(seat.switches.len(), seat.parents);
            let better_rounds =
                settings.job.reducers[reducer].better_rounds(sent, sums.len() as u64, children);
            let plain = settings.job.reducers[reducer].layout.plain_bytes(sent);
            finished.push(Finished { reducer, rows, counts, link, sent, plain, better_rounds });
        }
        workers.end();
        Ok((finished, begun.elapsed()))
    }
}

/// The rows of a reducer's sums; each key is asked of one mapper that has it.
fn name(
    settings: &Settings,
    at: usize,
    sums: &Sums,
    workers: &mut Workers,
    on_event: &mut dyn FnMut(Event),
) -> Result<Vec<Row>, Box<Diagnostic>> {
    let reducer = &settings.job.reducers[at];
    let names = match reducer.key {
        reduce_jobs::job::KeyKind::Hashed => workers.names(at, sums)?,
        _ => Default::default(),
    };
    on_event(Event::Named(reducer.name.value.clone(), names.len()));
    rows(reducer, sums, &names).map_err(|_| {
        let title = format!("no mapper knows a key of `{}`", reducer.name.value);
        stopped(title, "run the job again; if that does not help, use another `seed`")
    })
}

fn stopped(title: impl Into<String>, help: impl Into<String>) -> Box<Diagnostic> {
    problem(codes::JOB_STOPPED, title, help)
}

fn problem(code: Code, title: impl Into<String>, help: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, title).help(help))
}

/// Why a reducer does not go on.
fn trouble(settings: &Settings, at: usize, what: Trouble) -> Box<Diagnostic> {
    let reducer = &settings.job.reducers[at];
    let switch = |number: u16| {
        let switch = settings.reducers[at].switches.get(usize::from(number));
        switch.map_or("?", |(name, _)| name.as_str()).to_string()
    };
    match what {
        Trouble::Vanished(channel) => {
            let mapper = reducer.mappers.get(usize::from(channel)).map(|at| &settings.job.mappers[*at]);
            let name = mapper.map_or("?", |mapper| mapper.name.value.as_str());
            stopped(
                format!("the worker of mapper `{name}` has disappeared"),
                format!("check its host, and run the job again; `--patience` is {:?}", settings.patience),
            )
        }
        Trouble::NoSwitch(number) => stopped(
            format!("switch `{}` does not answer `{}`", switch(number), reducer.name.value),
            "does it run the program and the entries of `p4rack job compile`, and do its ports have links?",
        ),
        Trouble::BootKept(number) => stopped(
            format!("switch `{}` has restarted and kept its boot number", switch(number)),
            "its control plane must write another `boot` after each start, as `p4rack switch` does",
        ),
        Trouble::Shared(number) => stopped(
            format!("another run of the job uses switch `{}` at the same time", switch(number)),
            "end one of them, and run the job again",
        ),
        Trouble::TooManyGenerations => stopped(
            format!("there are no numbers for another attempt at a round of `{}`", reducer.name.value),
            "restart the switches: from one start to the next, all runs of a job have 65,535 attempts at rounds",
        ),
    }
}
