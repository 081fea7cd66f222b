//! A host program of the user's own: an `rpc` whose clients ask again when no answer comes, whose servers take time, and which
//! reports what nobody else knows. It stands for what has windows, timers and state of its own.

use crate::common;

use base_time::{Duration, Time};
use common::{Toy, emulator, star, us, wire};
use host_programs::kind::{Count, Key, Size, Wanted};
use host_programs::packet::{Route, Transport, UDP, build};
use host_programs::tally::Came;
use host_programs::{
    Arrival, Begun, Desk, HostProgram, KINDS, Kind, Report, Setup, Side, Socket, Started, Taken, Unused,
};
use rack_emulator::RunReport;

const PORT: u16 = 700;

static RPC: Kind = Kind {
    word: "rpc",
    count: Count::PACKETS,
    size: Some(Size { least: 4, most: 1000, default: 100 }),
    keys: &[
        Key::time("timeout", Duration::from_ms(1)),
        Key::time("work", Duration::from_us(1)),
        Key::new("window", Wanted::Number { least: 1, most: 64, default: Some(1) }),
    ],
    rule: None,
    since_start: |_, _| Duration::ZERO,
    frame_bytes: |load| Some(load.size + 42),
    start,
};

/// Timer `3n` begins the calls of pair `n`, `3n + 1` looks for answers that are missed, `3n + 2` is the server's, with what it owes.
struct Rpc {
    size: u32,
    count: u32,
    timeout: Duration,
    work: Duration,
    window: u32,
    pairs: Vec<Calls>,
    retries: u64,
}

struct Calls {
    first: u32,
    route: Route,
    back: Route,
    begun: u32,
    /// Open calls: number, start, time of the last request.
    open: Vec<(u32, Time, Time)>,
    /// Calls in progress at the server: number, and time of the answer.
    owed: Vec<(u32, Time)>,
}

fn start(setup: Setup<'_>) -> Begun {
    let load = setup.load;
    let mut started = Started::default();
    let mut rpc = Rpc {
        size: load.size,
        count: load.count as u32,
        timeout: load.time("timeout"),
        work: load.time("work"),
        window: load.number("window"),
        pairs: vec![],
        retries: 0,
    };
    for (pair, at) in setup.pairs.iter().zip(0..) {
        started.wakes.push((3 * at, load.start));
        let ends = [
            (Side::Sender, pair.route.destination, Some(PORT), None),
            (Side::Receiver, pair.route.source, None, Some(PORT)),
        ];
        for (side, address, source, destination) in ends {
            let socket = Socket::Ports { protocol: UDP, address, source, destination };
            started.sockets.push((at, side, socket));
        }
        let (route, back) = (pair.route, pair.back);
        rpc.pairs.push(Calls { first: setup.first + at, route, back, begun: 0, open: vec![], owed: vec![] });
    }
    Ok((Box::new(rpc), started))
}

impl Rpc {
    fn ask(&self, pair: u32, number: u32, desk: &mut Desk<'_>) {
        let udp = Transport::Udp { source: 1, destination: PORT };
        self.send(pair, (Side::Sender, self.pairs[pair as usize].route), udp, number, desk);
        desk.wake(3 * pair + 1, desk.now + self.timeout);
    }

    fn send(
        &self,
        pair: u32,
        (side, route): (Side, Route),
        udp: Transport,
        number: u32,
        desk: &mut Desk<'_>,
    ) {
        let fill = |payload: &mut [u8]| payload[..4].copy_from_slice(&number.to_be_bytes());
        desk.send(pair, side, build(route, udp, number as u16, self.size as usize, fill));
    }

    fn begin(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let calls = &mut self.pairs[pair as usize];
        if calls.begun < self.count && (calls.open.len() as u32) < self.window {
            let number = calls.begun;
            calls.begun += 1;
            desk.tally.sent += 1;
            calls.open.push((number, desk.now, desk.now));
            self.ask(pair, number, desk);
        }
    }
}

impl HostProgram for Rpc {
    fn tick(&mut self, timer: u32, desk: &mut Desk<'_>) {
        let (pair, now, timeout) = (timer / 3, desk.now, self.timeout);
        match timer % 3 {
            0 => (0..self.window).for_each(|_| self.begin(pair, desk)),
            1 => {
                let calls = &mut self.pairs[pair as usize];
                let late = calls.open.iter_mut().filter(|(.., asked)| now.since(*asked) >= timeout);
                let late: Vec<u32> = late
                    .map(|(number, _, asked)| {
                        *asked = now;
                        *number
                    })
                    .collect();
                self.retries += late.len() as u64;
                late.into_iter().for_each(|number| self.ask(pair, number, desk));
            }
            _ => {
                let calls = &mut self.pairs[pair as usize];
                let due: Vec<u32> =
                    calls.owed.iter().filter(|(_, at)| *at <= now).map(|(number, _)| *number).collect();
                calls.owed.retain(|(_, at)| *at > now);
                let udp = Transport::Udp { source: PORT, destination: 1 };
                let back = calls.back;
                due.into_iter().for_each(|number| self.send(pair, (Side::Receiver, back), udp, number, desk));
            }
        }
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let Some((_, payload)) = arrival.transport else { return Taken::Unused(Unused::NoReceiver) };
        let Some(number) = payload.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)) else {
            desk.tally.corrupt(Unused::PayloadChanged);
            return Taken::Unused(Unused::PayloadChanged);
        };
        let (pair, now) = (arrival.pair, desk.now);
        let calls = &mut self.pairs[pair as usize];
        if arrival.side == Some(Side::Receiver) {
            calls.owed.push((number, now + self.work));
            desk.wake(3 * pair + 2, now + self.work);
            return Taken::Used;
        }
        let Some(at) = calls.open.iter().position(|(open, ..)| *open == number) else {
            desk.tally.duplicated += 1;
            return Taken::Used;
        };
        let (_, begun, _) = calls.open.remove(at);
        desk.tally.done(Came { flow: calls.first, sequence: number, sent: begun, at: now });
        desk.tally.arrived(payload.len() as u64, now);
        self.begin(pair, desk);
        Taken::Received(number)
    }

    fn is_active(&self) -> bool {
        self.pairs.iter().any(|calls| calls.begun < self.count || !calls.open.is_empty())
    }

    fn report(&self, _: Time) -> Report {
        Report { measures: vec![("retries", self.retries)], ..Report::default() }
    }
}

fn kinds() -> &'static [&'static Kind] {
    KINDS.iter().copied().chain([&RPC]).collect::<Vec<_>>().leak()
}

/// `star(2)` with a workload as a file says it.
fn run(keys: &str, loss: &str) -> RunReport {
    let text = format!(
        "host.h1 = {{ mac = \"02:00:00:00:00:01\", ip = \"10.0.0.1/24\" }}\n\
         host.h2 = {{ mac = \"02:00:00:00:00:02\", ip = \"10.0.0.2/24\" }}\n\
         link = [{{ ends = [\"h1\", \"h2\"], rate = \"1Gbit/s\", delay = \"10us\" }}]\n\
         workload = [{{ kind = \"rpc\", from = \"h1\", to = \"h2\", {keys} }}]\n"
    );
    let (read, found) = rack_model::read_rack_with(&text, 1, kinds());
    let mut rack = star(2);
    rack.workloads = read.unwrap_or_else(|| panic!("{found:?}")).workloads;
    rack.links[0].loss = rack_model::Probability::parse(loss).unwrap();
    let mut emulator = emulator(&rack, Toy::new(wire));
    emulator.keep_samples(true);
    emulator.run().unwrap();
    assert_eq!(emulator.take_samples().len() as u64, emulator.report().workloads[0].received);
    emulator.report()
}

#[test]
fn calls_are_answered_when_the_server_is_done() {
    let report = run("count = 50, size = 200, work = \"30us\"", "0%");
    let rpc = &report.workloads[0];
    assert_eq!((rpc.kind.as_str(), rpc.sent, rpc.received, rpc.lost), ("rpc", 50, 50, 0));
    let ping = run("count = 50, size = 200, work = \"1us\"", "0%").workloads[0].latency.unwrap();
    assert_eq!(rpc.latency.unwrap().min_ps, ping.min_ps + us(29).as_ps());
    assert_eq!(rpc.measures, [("retries".to_string(), 0)].into());
    assert!(
        report.to_table().contains("measured  what     value\nrpc-1     retries      0\n"),
        "{}",
        report.to_table()
    );
}

#[test]
fn what_is_lost_is_asked_again_and_the_run_goes_on_until_then() {
    let report = run("count = 200, window = 8, timeout = \"200us\"", "10%");
    let rpc = &report.workloads[0];
    assert_eq!((rpc.sent, rpc.received), (200, 200));
    // One way of two is lost in 19 of 100 calls, and each try of these again.
    assert!((20..80).contains(&rpc.measures["retries"]), "{rpc:?}");
    assert!(rpc.latency.unwrap().max_ps > us(200).as_ps());
    let same = run("count = 200, window = 8, timeout = \"200us\"", "10%");
    assert_eq!(report.log_hash, same.log_hash);
}

#[test]
fn its_keys_are_read_by_its_table() {
    let text = "workload = [{ kind = \"rpc\", from = \"h1\", to = \"h1\", count = 1, window = 65, tmeout = \"1ms\" }]";
    let (_, found) = rack_model::read_rack_with(text, 1, kinds());
    let titles: Vec<&str> = found.iter().map(|found| found.title.as_str()).collect();
    assert!(titles.contains(&"number out of range"), "{titles:?}");
    assert!(titles.contains(&"unknown key `tmeout`"), "{titles:?}");
    let (_, found) = rack_model::read_rack(text, 1);
    assert!(found.iter().any(|found| found.title == "unknown word `rpc`"), "{found:?}");
}
