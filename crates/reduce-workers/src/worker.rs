//! A worker: reads the data of a mapper, and sends its pairs until the master says that the job is over.

use crate::control::{Attachment, Instruction, Name, Report, Task, WirePlace, Work, receive, send};
use crate::data::{self, Problem};
use crate::wire::{Loss, Wire};
use aggregate::pack::pack;
use aggregate::{Mapper, Packet, Place, mapper};
use base_diag::codes::job as codes;
use base_time::Time;
use reduce_jobs::job::{Job, Reducer};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::BufReader;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Least and longest time before a packet is sent again.
pub(crate) type Waits = (base_time::Duration, base_time::Duration);

/// Limit on the least time that a user sets, in milliseconds.
pub const MOST_WAIT: u64 = 10_000;

/// Waits that suit machines whose processes wait for each other.
const WAITS: Waits = (base_time::Duration::from_ms(5), base_time::Duration::from_ms(200));

/// [`WAITS`], if a job or a group sets the least time itself, in milliseconds.
pub(crate) fn waits(least: Option<u64>) -> Waits {
    let least = least.map_or(WAITS.0, base_time::Duration::from_ms);
    (least, WAITS.1.max(least))
}

/// A number that no other process has.
pub(crate) fn random() -> u64 {
    // Its keys come from the operating system.
    RandomState::new().hash_one(())
}

/// A mapper's incarnation that no mapper of another run has, but by chance; those of the same run count on.
pub(crate) fn first_incarnation() -> u32 {
    1 + (random() as u32 >> 1)
}

/// Longest sleep: instructions of the master are looked at between two.
const NAP: Duration = Duration::from_millis(20);

/// Time between two reports.
const REPORTS: Duration = Duration::from_millis(500);

/// A channel of the worker.
struct Channel {
    reducer: Reducer,
    to: Ipv4Addr,
    mapper: Mapper,
    names: BTreeMap<Place, Vec<u8>>,
}

/// Works for the master at an address as one of the job's mappers, until the job is over. Pairs travel by AF_XDP if a network interface is named. An
/// error is a line for the user; the master has got the report.
pub fn work(master: &str, mapper: &str, interface: Option<&str>) -> Result<(), String> {
    let stream = TcpStream::connect(master).map_err(|error| format!("no master at {master}: {error}"))?;
    // Only a matter of speed.
    let _ = stream.set_nodelay(true);
    let lost = |what: &str| format!("the master at {master} {what}");
    send(&stream, &Report::Hello { mapper: mapper.into() }).map_err(|_| lost("does not listen"))?;
    let mut reader = BufReader::new(stream.try_clone().map_err(|error| error.to_string())?);
    let mut work: Work = receive(&mut reader).ok_or_else(|| lost("has no work for this mapper"))?;
    if let Some(interface) = interface {
        let address = work.attachment.address();
        let cards = work.tasks.iter().map(|task| (task.to, task.card)).collect();
        work.attachment = Attachment::Interface { address, interface: interface.into(), cards };
    }
    match prepare(&work) {
        Ok((channels, wire)) => {
            let pairs = channels.iter().map(|channel| channel.1).collect();
            send(&stream, &Report::Ready { pairs }).map_err(|_| lost("is gone"))?;
            let (sender, instructions) = channel();
            std::thread::spawn(move || {
                while let Some(instruction) = receive(&mut reader) {
                    if sender.send(instruction).is_err() {
                        break;
                    }
                }
            });
            let channels = channels.into_iter().map(|(channel, _)| channel).collect();
            serve(&stream, &instructions, channels, wire).map_err(|()| lost("is gone"))
        }
        Err(Problem { code, title, place, help }) => {
            let line = format!("{place}: {title}");
            // If the master is gone, the line for the user is what remains.
            let _ = send(&stream, &Report::Failed { title, place, help, code: code.0 });
            Err(line)
        }
    }
}

type Prepared = (Vec<(Channel, u64)>, Wire);

fn prepare(work: &Work) -> Result<Prepared, Problem> {
    let wrong = |title: String| Problem {
        code: codes::JOB_STOPPED,
        title,
        place: work.mapper.clone(),
        help: "master and workers are of one version".into(),
    };
    let job = reduce_jobs::check(&work.text, 1, &mut vec![])
        .ok_or_else(|| wrong("the master's job has mistakes".into()))?;
    let mapper = job.mappers.iter().find(|mapper| mapper.name.value == work.mapper);
    let mapper = mapper.ok_or_else(|| wrong("the job has no such mapper".into()))?;
    let port = port_of(&job, &work.tasks).ok_or_else(|| wrong("there is nothing to send".into()))?;
    let loss = Loss::new(work.loss, aggregate::key::hash(work.mapper.as_bytes(), work.incarnation.into()));
    let wire = Wire::open(work.attachment.clone(), port, loss);
    let wire = wire.map_err(|error| wrong(format!("no socket can be opened: {error}")))?;
    let mut channels = vec![];
    for task in &work.tasks {
        let reducer = job.reducers.iter().find(|reducer| reducer.name.value == task.reducer);
        let reducer = reducer.ok_or_else(|| wrong(format!("the job has no reducer `{}`", task.reducer)))?;
        let packed = data::prepare(&job, mapper, reducer, Path::new(&work.directory))?;
        let count = packed.pairs.len() as u64;
        let mappers = reducer.mappers.len() as u32;
        let most_value = task.is_switched.then(|| reducer.op.most_value(mappers));
        let rounds = pack(packed.pairs, &reducer.layout, reducer.rounds, most_value);
        let rounds = rounds.map_err(|error| wrong(error.to_string()))?;
        let (least_wait, most_wait) = waits(work.wait);
        let config = mapper::Config {
            job: task.number,
            op: reducer.op,
            layout: reducer.layout,
            channel: task.channel,
            incarnation: work.incarnation,
            least_wait,
            most_wait,
        };
        let mapper = Mapper::new(config, rounds.into());
        channels
            .push((Channel { reducer: reducer.clone(), to: task.to, mapper, names: packed.names }, count));
    }
    Ok((channels, wire))
}

/// The port of all tasks; none where they have several.
fn port_of(job: &Job, tasks: &[Task]) -> Option<u16> {
    let port = |task: &Task| {
        job.reducers.iter().find(|reducer| reducer.name.value == task.reducer).map(|reducer| reducer.port)
    };
    let first = port(tasks.first()?)?;
    tasks.iter().all(|task| port(task) == Some(first)).then_some(first)
}

fn serve(
    stream: &TcpStream,
    instructions: &Receiver<Instruction>,
    mut channels: Vec<Channel>,
    mut wire: Wire,
) -> Result<(), ()> {
    let begun = Instant::now();
    let mut reported = begun;
    loop {
        match instructions.try_recv() {
            Ok(Instruction::Name { reducer, places }) => {
                let channel = channels.iter().find(|channel| channel.reducer.name.value == reducer);
                let name = |place: WirePlace| {
                    let key = channel?.names.get(&place.into())?;
                    Some(Name::of(key))
                };
                let names = places.into_iter().map(name).collect();
                send(stream, &Report::Names { names }).map_err(drop)?;
            }
            Ok(Instruction::End) => return Ok(()),
            Err(TryRecvError::Disconnected) => return Err(()),
            Err(TryRecvError::Empty) => {}
        }
        let mut deadline = None;
        for channel in &mut channels {
            while let Some(packet) = channel.mapper.poll(now(begun)) {
                wire.send(channel.to, &packet.bytes(&channel.reducer.layout));
            }
            deadline = [deadline, channel.mapper.deadline()].into_iter().flatten().min();
        }
        for (payload, _) in wire.receive(until(begun, deadline)) {
            for channel in &mut channels {
                if let Some(packet) = Packet::parse(&payload, &channel.reducer.layout) {
                    channel.mapper.handle(now(begun), &packet);
                }
            }
        }
        if reported.elapsed() > REPORTS {
            reported = Instant::now();
            let sum = |of: fn(mapper::Counts) -> u64| {
                channels.iter().map(|channel| of(channel.mapper.counts())).sum()
            };
            let sent = Report::Sent {
                packets: sum(|counts| counts.packets),
                repeated: sum(|counts| counts.repeated),
            };
            send(stream, &sent).map_err(drop)?;
        }
    }
}

/// The time since the start.
pub(crate) fn now(begun: Instant) -> Time {
    Time::ZERO + base_time::Duration::from_ns(begun.elapsed().as_nanos() as u64)
}

/// Time until the next transmission, at most a nap.
pub(crate) fn until(begun: Instant, deadline: Option<Time>) -> Duration {
    let now = now(begun);
    let wait = deadline
        .map(|at| if at > now { Duration::from_nanos(at.since(now).as_ns()) } else { Duration::ZERO });
    wait.unwrap_or(NAP).min(NAP)
}
