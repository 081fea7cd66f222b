//! `reduce`: a MapReduce job whose pairs a switch folds ([`aggregate`]).
//!
//! Each pair of hosts is a mapper and the reducer. A mapper draws words, combines equal ones, and sends a pair for each word; with the profile
//! `arrays`, it draws the values of an array. The reducer compares the result with a serial fold of all pairs.

use crate::job_pairs;
use crate::kind::{Count, Key, Kind, Load, Rule, Wanted};
use crate::packet::{Transport, UDP, build, set_ecn};
use crate::program::{
    Arrival, Begun, Desk, Goodput, HostProgram, Pair, Report, Setup, Side, Socket, StartError, Started, Taken,
};
use crate::tally::Came;
use crate::unused::Unused;
use aggregate::pack::pack;
use aggregate::reducer::{self, Sums, To};
use aggregate::{Kind as PacketKind, Layout, Mapper, Op, Packet, Place, Reducer, mapper};
use base_time::{Duration, Rng, Time, Zipf};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Limit on the words of a vocabulary.
const MOST_KEYS: u32 = 10_000_000;

/// Words of a vocabulary, unless the load says how many.
const USUAL_KEYS: u32 = 1_000_000;

/// Limit on the words of a mapper, and on the elements of its array.
pub const MOST_COUNT: u64 = 1 << 26;

/// One element of an array in so many has a value that is too large for the switch.
const LARGE: u64 = 1000;

/// Parameter of a `[[job]]`, not written in a file: the name of its reducer, whose mappers have pairs among the captures.
const PAIRS: &str = "pairs";

/// ECN-capable (RFC 3168 §5), and "congestion experienced".
const CAPABLE: u8 = 2;
const CONGESTED: u8 = 3;

/// See the module. `count` is the words of each mapper, or the elements of its array.
pub static REDUCE: Kind = Kind {
    word: "reduce",
    count: Count { most: MOST_COUNT, default: None },
    size: None,
    keys: &[
        Key::new("op", Wanted::Word(&["add", "max", "min", "or"])),
        Key::new("by", Wanted::Word(&["switch", "hosts"])),
        Key::new("profile", Wanted::Word(&["pipeline", "software", "arrays"])),
        Key::new("switch", Wanted::Text("10.0.0.254")),
        Key::new("parents", Wanted::Number { least: 0, most: 1, default: Some(0) }),
        Key::new("keys", Wanted::Number { least: 1, most: MOST_KEYS, default: Some(USUAL_KEYS) }),
        Key::new("skew", Wanted::Thousandths(1000)),
        Key::new("rows", Wanted::Number { least: 1, most: 1 << 16, default: Some(1 << 12) }),
        Key::new("rounds", Wanted::Number { least: 1, most: 1 << 15, default: Some(1) }),
        Key::new("window", Wanted::Number { least: 1, most: Layout::MOST_WINDOW, default: Some(256) }),
        Key::new("job", Wanted::Number { least: 1, most: 0xffff, default: Some(1) }),
        Key::time("patience", Duration::from_s(1)),
        Key::new("port", Wanted::Port(|_| aggregate::packet::PORT)),
    ],
    rule: Some(Rule::PortOfItsOwn("UDP")),
    since_start: |_, _| Duration::ZERO,
    frame_bytes: |load| layout(load).ok().map(|layout| 14 + 20 + 8 + layout.most_bytes() as u32),
    start,
};

/// Timer 0 is the reducer's, `n + 1` that of the mapper of pair `n`.
struct Reduce {
    layout: Layout,
    port: u16,
    /// Destination address of requests to each switch.
    switches: Vec<Ipv4Addr>,
    first: u32,
    begin: Time,
    pairs: Vec<Pair>,
    reducer: Reducer,
    mappers: Vec<Mapper>,
    /// When the calendar will next let a machine run, by timer.
    planned: Vec<Option<Time>>,
    wanted: Sums,
    /// Pairs of all mappers.
    combined: u64,
    committed: u32,
    trouble: Option<reducer::Trouble>,
}

/// Sizes of packets and slots; an error is the reason why there are none.
fn layout(load: &Load) -> Result<Layout, StartError> {
    let base = match load.text("profile") {
        "software" => Layout::SOFTWARE,
        "arrays" => Layout::DENSE,
        _ => Layout::PIPELINE,
    };
    let (rows, window) = (load.number("rows"), load.number("window"));
    if !rows.is_power_of_two() {
        return Err(StartError(format!("`rows` is a power of two, not {rows}")));
    }
    let layout = Layout { index_bits: rows.trailing_zeros() as u8, window, ..base };
    layout.check().map_err(|problem| StartError(problem.to_string()))?;
    Ok(layout)
}

fn start(setup: Setup<'_>) -> Begun {
    let load = setup.load;
    let layout = layout(load)?;
    let wrong = |text: &str| StartError(text.to_string());
    let switches: Result<Vec<Ipv4Addr>, _> =
        load.text("switch").split(',').map(|address| address.trim().parse()).collect();
    let switches = switches.map_err(|_| wrong("`switch` is an IPv4 address for each switch, with commas"))?;
    let parents = load.number("parents") as u16;
    if usize::from(parents) >= switches.len() && parents > 0 {
        return Err(wrong("`parents` are fewer than the addresses in `switch`"));
    }
    let op: Op = load.text("op").parse().map_err(|()| wrong("`op` is no operator"))?;
    let reducer = setup.pairs.first().map(|pair| pair.route.destination);
    if setup.pairs.iter().any(|pair| Some(pair.route.destination) != reducer) {
        return Err(wrong("a job has one reducer: `to` is one host"));
    }
    let channels = u16::try_from(setup.pairs.len()).map_err(|_| wrong("a job has at most 65,535 mappers"))?;
    let most_bytes = 28 + layout.most_bytes() as u32;
    if let Some(pair) = setup.pairs.iter().find(|pair| pair.mtu.0.min(pair.mtu.1) < most_bytes) {
        let host = pair.route.source;
        return Err(StartError(format!(
            "packets have {most_bytes} bytes, more than the MTU of {host}'s path"
        )));
    }
    let is_switched = load.text("by") == "switch";
    let rounds = match layout.is_dense() {
        // The rows of a round are those of a bank.
        true => load.count.div_ceil(layout.elements()).max(1) as u32,
        false => load.number("rounds"),
    };
    if layout.is_dense() && is_switched && op == Op::Min {
        return Err(wrong("switches of profile `arrays` cannot reduce by `min`: use another operator"));
    }
    let job = load.number("job") as u16;
    let config = reducer::Config {
        job,
        op,
        layout,
        channels,
        switches: if is_switched { switches.len() as u16 } else { 0 },
        parents: if is_switched { parents } else { 0 },
        rounds,
        banks: 2,
        least_wait: Duration::from_ms(1),
        most_wait: Duration::from_ms(50),
        patience: load.time("patience"),
        nonce: setup.chance.split("nonce").next_u64(),
    };
    // Of a run, as those of processes.
    let incarnation = 1 + (setup.chance.split("incarnation").next_u64() as u32 >> 1);
    let words = Words { load, layout, op, zipf: Zipf::new(load.number("keys"), load.number("skew")) };
    // Values above the limit pass the switch.
    let most_value = is_switched.then(|| op.most_value(channels.into()));
    let mut machine = Reducer::new(config);
    if layout.is_dense() {
        machine.set_elements(load.count);
    }
    let mut reduce = Reduce {
        layout,
        port: load.port(),
        switches,
        first: setup.first,
        begin: load.start,
        reducer: machine,
        mappers: vec![],
        planned: vec![None; setup.pairs.len() + 1],
        wanted: Sums::new(),
        combined: 0,
        committed: 0,
        trouble: None,
        pairs: setup.pairs,
    };
    let mut started = Started { wakes: vec![(0, load.start)], sockets: vec![] };
    for (channel, pair) in (0..channels).zip(&reduce.pairs) {
        let pairs = match load.text(PAIRS) {
            "" => words.draw(channel, setup.chance.split_index(channel.into()))?,
            reducer => job_pairs::take(setup.captures, reducer, channel.into())
                .ok_or_else(|| StartError(format!("`{reducer}` has no pairs for channel {channel}")))?,
        };
        reduce.combined += pairs.len() as u64;
        for aggregate::Pair { place, value } in &pairs {
            let value = u64::from(*value);
            reduce
                .wanted
                .entry(*place)
                .and_modify(|held| *held = op.fold_wide(*held, value))
                .or_insert(value);
        }
        let elements = if layout.is_dense() { load.count } else { 0 };
        for element in 0..elements {
            reduce.wanted.entry(Place::of_element(element, &layout)).or_insert(0);
        }
        let packed =
            pack(pairs, &layout, rounds, most_value).map_err(|problem| StartError(problem.to_string()))?;
        let config = mapper::Config {
            job,
            op,
            layout,
            channel,
            incarnation,
            least_wait: Duration::from_ms(1),
            most_wait: Duration::from_ms(50),
        };
        reduce.mappers.push(Mapper::new(config, packed.into()));
        let port = Some(reduce.port);
        let mut open = |side, address| {
            let socket = Socket::Ports { protocol: UDP, address, source: port, destination: port };
            started.sockets.push((channel.into(), side, socket));
        };
        open(Side::Sender, pair.route.destination);
        open(Side::Receiver, pair.route.source);
        if channel == 0 {
            let is_host =
                |address: &&Ipv4Addr| reduce.pairs.iter().any(|pair| pair.route.source == **address);
            let mut others: Vec<Ipv4Addr> =
                reduce.switches.iter().filter(|address| !is_host(address)).copied().collect();
            others.sort_unstable();
            others.dedup();
            others.into_iter().for_each(|address| open(Side::Receiver, address));
        }
    }
    Ok((Box::new(reduce), started))
}

/// Words of a seeded text.
struct Words<'a> {
    load: &'a Load,
    layout: Layout,
    op: Op,
    zipf: Zipf,
}

impl Words<'_> {
    /// The pairs of a mapper: one for each word that it has drawn, or for each element of its array.
    fn draw(&self, channel: u16, mut chance: Rng) -> Result<Vec<aggregate::Pair>, StartError> {
        if self.layout.is_dense() {
            let bits = if self.op == Op::Add { 12 } else { 0 };
            let element = |element| {
                let shift = if chance.below(LARGE) == 0 { 0 } else { bits };
                let place = Place::of_element(element, &self.layout);
                aggregate::Pair { place, value: (chance.next_u64() >> 32) as u32 >> shift }
            };
            return Ok((0..self.load.count).map(element).collect());
        }
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for _ in 0..self.load.count {
            let count = counts.entry(self.zipf.draw(&mut chance) as u32).or_default();
            *count = count.saturating_add(1);
        }
        let pair = |(word, count): (u32, u32)| {
            let place = match self.layout.tag_bits {
                Layout::SHORT_TAG => Place::of_number(word.into(), &self.layout),
                _ => Place::of_key(format!("word{word}").as_bytes(), 1, &self.layout),
            };
            let value = match self.op {
                Op::Add => count,
                // A score of the word at this mapper.
                _ => aggregate::key::hash(&word.to_be_bytes(), channel.into()) as u32,
            };
            place.map(|place| aggregate::Pair { place, value })
        };
        let pairs: Option<Vec<_>> = counts.into_iter().map(pair).collect();
        let lanes = u64::from(self.layout.lanes);
        pairs.ok_or_else(|| StartError(format!("`rows` is too small for words by number in {lanes} lanes")))
    }
}

impl Reduce {
    /// Lets a machine send all that it can send now, and sets its timer.
    fn run(&mut self, timer: u32, desk: &mut Desk<'_>) {
        let now = desk.now;
        let channel = timer.checked_sub(1);
        loop {
            let next = match channel.and_then(|channel| self.mappers.get_mut(channel as usize)) {
                Some(mapper) => mapper.poll(now).map(|packet| (None, packet)),
                None => self.reducer.poll(now).map(|(to, packet)| (Some(to), packet)),
            };
            let Some((to, packet)) = next else { break };
            self.send(channel, to, &packet, desk);
        }
        if channel.is_none() {
            self.committed(desk);
        }
        let deadline = match channel.and_then(|channel| self.mappers.get(channel as usize)) {
            Some(mapper) => mapper.deadline(),
            None => self.reducer.deadline().filter(|_| self.trouble.is_none()),
        };
        let Some(planned) = self.planned.get_mut(timer as usize) else { return };
        let is_news = |at: &Time| planned.is_none_or(|planned| planned <= now || *at < planned);
        if let Some(at) = deadline.map(|at| at.max(now + Duration::from_ns(1))).filter(is_news) {
            *planned = Some(at);
            desk.wake(timer, at);
        }
    }

    fn send(&self, channel: Option<u32>, to: Option<To>, packet: &Packet, desk: &mut Desk<'_>) {
        let (pair, side) = match (channel, to) {
            (Some(channel), _) => (channel, Side::Sender),
            (None, Some(To::Mapper(channel))) => (channel.into(), Side::Receiver),
            (None, _) => (0, Side::Receiver),
        };
        let Some(hosts) = self.pairs.get(pair as usize) else { return };
        let mut route = if side == Side::Sender { hosts.route } else { hosts.back };
        if let Some(To::Switch(switch)) = to {
            let Some(address) = self.switches.get(usize::from(switch)) else { return };
            route.destination = *address;
        }
        let udp = Transport::Udp { source: self.port, destination: self.port };
        let bytes = packet.bytes(&self.layout);
        let fill = |payload: &mut [u8]| payload.copy_from_slice(&bytes);
        let mut frame = build(route, udp, packet.seq as u16, bytes.len(), fill);
        set_ecn(&mut frame, CAPABLE);
        desk.send(pair, side, frame);
    }

    /// Counts the rounds that are committed, and looks for trouble.
    fn committed(&mut self, desk: &mut Desk<'_>) {
        while self.committed < self.reducer.committed() {
            let came = Came { flow: self.first, sequence: self.committed, sent: self.begin, at: desk.now };
            desk.tally.done(came);
            self.committed += 1;
        }
        self.trouble = self.trouble.or(self.reducer.trouble(desk.now));
    }

    fn is_over(&self) -> bool {
        let is_done = self.reducer.is_done() && !self.mappers.iter().any(Mapper::is_busy);
        is_done || self.trouble.is_some()
    }
}

impl HostProgram for Reduce {
    fn tick(&mut self, timer: u32, desk: &mut Desk<'_>) {
        if timer == 0 && desk.tally.sent == 0 {
            desk.tally.sent = self.reducer.rounds().into();
        }
        self.run(timer, desk);
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let (Some(packet), Some((_, payload)), Some(side)) =
            (arrival.packet, arrival.transport, arrival.side)
        else {
            return Taken::Unused(Unused::NoReceiver);
        };
        let is_marked = packet.header.get(1).is_some_and(|byte| byte & 3 == CONGESTED);
        let Some(packet) = Packet::parse(payload, &self.layout) else {
            // A switch has cut off its pairs at a full queue. Mappers send again what is not answered in time.
            if let Some(header) = Packet::parse_trimmed(payload, &self.layout) {
                if side == Side::Receiver {
                    self.reducer.trimmed(desk.now, &header);
                    self.run(0, desk);
                }
                return Taken::Used;
            }
            desk.tally.corrupt(Unused::PayloadChanged);
            return Taken::Unused(Unused::PayloadChanged);
        };
        match side {
            Side::Receiver => {
                if matches!(packet.kind, PacketKind::Overflow | PacketKind::ReadReply) {
                    desk.tally.arrived(payload.len() as u64, desk.now);
                }
                self.reducer.handle(desk.now, &packet, is_marked);
                self.run(0, desk);
            }
            Side::Sender => {
                if let Some(mapper) = self.mappers.get_mut(arrival.pair as usize) {
                    mapper.handle(desk.now, &packet);
                }
                self.run(arrival.pair + 1, desk);
            }
        }
        Taken::Used
    }

    fn is_active(&self) -> bool {
        !self.is_over()
    }

    fn report(&self, _: Time) -> Report {
        let counts = self.reducer.counts();
        let reached = counts.overflowed + counts.read;
        let permille = |part: u64| (self.combined - part.min(self.combined)) * 1000 / self.combined.max(1);
        let result = self.reducer.result();
        // An element that no mapper has is 0.
        let found = |place: &Place| result.get(place).or(self.layout.is_dense().then_some(&0));
        let wrong = self.wanted.iter().filter(|(place, value)| found(place) != Some(value)).count();
        let strange = result.keys().filter(|place| !self.wanted.contains_key(place)).count();
        let sum = |of: fn(mapper::Counts) -> u64| self.mappers.iter().map(|mapper| of(mapper.counts())).sum();
        let trouble = match self.trouble {
            None => ("trouble", 0),
            Some(reducer::Trouble::NoSwitch(_)) => ("switch does not answer", 1),
            Some(reducer::Trouble::Vanished(_)) => ("mapper vanished", 1),
            Some(reducer::Trouble::BootKept(_)) => ("switch restarted with its old boot number", 1),
            Some(reducer::Trouble::Shared(_)) => ("switch used by two reducers at a time", 1),
            Some(reducer::Trouble::TooManyGenerations) => ("too many generations", 1),
        };
        let mut measures = vec![
            ("pairs sent", self.combined),
            ("distinct keys", self.wanted.len() as u64),
            ("pairs that reached the reducer", reached),
            ("of these, past the slots", counts.overflowed),
            ("of these, read from slots", counts.read),
            ("saved, permille", permille(reached)),
            ("saved at best, permille", permille(self.wanted.len() as u64)),
            ("packets with pairs", sum(|counts| counts.packets)),
            ("packets sent again", sum(|counts| counts.repeated)),
            ("packets marked by ECN", sum(|counts| counts.marked)),
            ("packets to read slots", counts.read_packets),
            ("generations thrown away", counts.doomed),
            ("restarts of the switch", counts.restarts),
            ("wrong keys", (wrong + strange) as u64),
            trouble,
        ];
        if counts.trimmed > 0 {
            measures.push(("packets trimmed by full queues", counts.trimmed));
        }
        let goodput = if self.is_over() { Goodput::UntilLast } else { Goodput::UntilNow };
        Report { goodput, is_loss_known: false, measures }
    }
}
