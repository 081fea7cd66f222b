//! `rcp` and `xcp`: transfers whose senders obey what switches write into headers (RCP: Dukkipati 2008; XCP: Katabi, Handley and Rohrs 2002;
//! FlexSwitch, sections 4.1 and 4.2). `d3`: senders ask for the rate that meets a deadline (Wilson et al. 2011). `pfabric`: senders write how much is
//! left, and send at the rate of their links (Alizadeh et al. 2013).
//!
//! ```text
//! sender    SYN ->  <- ACK, first answer   DATA -> ...   <- ACK of each, with the answer that the packet has met
//! ```
//!
//! Packets are UDP datagrams, to the receiver's port and from a port of the transfer's own. Switches on the path write some fields of the header,
//! so datagrams have no UDP checksum, but a hash of the other fields. Hosts know nothing of the network but headers: the receiver sends back what came, and the sender
//! obeys it. A sender by RCP whose next packet goes later than a round trip asks for the rate with a packet without data (REF). By D3, one packet of
//! each round trip asks, and when everything is sent, a packet returns what the transfer had (END).
//!
//! [`control`] has the protocols' rules for senders, [`sender`] is the sending half of a transfer, [`header`] has the bytes, [`deadlines`] the
//! deadlines of transfers.

mod control;
mod deadlines;
mod header;
mod sender;

use crate::flow_list::{FlowList, INTERVAL, LARGEST, LIST, MOST_BYTES, TAIL};
use crate::kind::{Count, Key, Kind, Load, Rule, Size, Wanted};
use crate::packet::{Route, Transport, UDP, begin};
use crate::pattern;
use crate::program::{
    Arrival, Begun, Desk, Goodput, HostProgram, Report, Setup, Side, Socket, StartError, Started, Taken,
};
use crate::tally::Came;
use crate::unused::Unused;
use base_time::{Duration, Time};
use control::{Control, Protocol};
use deadlines::DEADLINE;
use header::{ACK, DATA, Header};
use sender::{Counts, Next, Sender};

pub use deadlines::Deadlines;

/// Limit on the transfers of a pair.
pub const MOST_TRANSFERS: u64 = 100_000;
/// Limit on the open transfers of a pair; further ones do not begin.
const MOST_OPEN: usize = 1024;
/// Time without progress after which a transfer is given up.
const PATIENCE: Duration = Duration::from_s(10);
/// The source port of transfer `n` is this plus `n` modulo 50,000.
const FIRST_PORT: u16 = 10_000;
/// The shortest full piece of data, in bytes: it bounds the memory of a transfer.
const LEAST_PIECE: u32 = 256;
/// Bytes of Ethernet's, IPv4's and UDP's headers.
const HEADERS: u32 = 14 + 20 + 8;

/// The workload `rcp`.
pub static RCP: Kind = transfers(
    "rcp",
    &[
        // The rate that senders wish: that of their links.
        Key::new("rate", Wanted::Rate),
        INTERVAL,
        Key::new("port", Wanted::Port(|_| 9300)),
        LIST,
        TAIL,
        LARGEST,
    ],
    |setup| start(Protocol::Rcp, setup),
);

/// The workload `xcp`.
pub static XCP: Kind =
    transfers("xcp", &[INTERVAL, Key::new("port", Wanted::Port(|_| 9301)), LIST, TAIL, LARGEST], |setup| {
        start(Protocol::Xcp, setup)
    });

/// The workload `pfabric`.
pub static PFABRIC: Kind = transfers(
    "pfabric",
    &[
        // The rate of the senders' links.
        Key::new("rate", Wanted::Rate),
        INTERVAL,
        Key::new("port", Wanted::Port(|_| 9302)),
        LIST,
        TAIL,
        LARGEST,
    ],
    |setup| start(Protocol::Pfabric, setup),
);

/// The workload `d3`.
pub static D3: Kind = transfers(
    "d3",
    &[
        // The rate of the senders' links.
        Key::new("rate", Wanted::Rate),
        INTERVAL,
        Key::new("port", Wanted::Port(|_| 9304)),
        DEADLINE,
        LIST,
        TAIL,
        LARGEST,
    ],
    |setup| start(Protocol::D3, setup),
);

/// A workload of transfers, of which one begins every `interval`.
const fn transfers(word: &'static str, keys: &'static [Key], start: fn(Setup<'_>) -> Begun) -> Kind {
    Kind {
        word,
        count: Count { most: MOST_TRANSFERS, default: None },
        size: Some(Size { least: 1, most: MOST_BYTES, default: 1_000_000 }),
        keys,
        rule: Some(Rule::PortOfItsOwn("UDP")),
        since_start: |load, n| load.time("interval") * n,
        frame_bytes: |_| None,
        start,
    }
}

/// Timer `2n` begins the next transfer of pair `n`, timer `2n + 1` lets its senders send.
struct Explicit {
    protocol: Protocol,
    port: u16,
    /// Wished rate of RCP, or the rate of the links, in kbit/s.
    wish: u32,
    /// Number of the first pair among those of all workloads.
    first: u32,
    pairs: Vec<Connected>,
    /// Pairs with transfers left to begin, and transfers in progress.
    beginning: u32,
    open: u64,
    counts: Counts,
    given_up: u64,
    /// Transfers that began with a deadline, and those that met it.
    with_deadline: u64,
    met: u64,
}

struct Connected {
    flows: FlowList,
    deadlines: Deadlines,
    begun: u32,
    route: Route,
    back: Route,
    /// Bytes of a piece of data.
    piece: u32,
    open: Vec<Open>,
    /// No open transfer is over before.
    over: Time,
    /// When the calendar will next let senders send.
    planned: Option<Time>,
}

/// An open transfer of a pair, whose numbers rise in the list.
struct Open {
    number: u32,
    /// When the sender may have something to send: its own deadline, or earlier if it has been acknowledged since.
    due: Time,
    /// When it is over, if nothing else comes.
    over: Time,
    transfer: Box<Transfer>,
}

impl Open {
    /// The sender was acknowledged; gives when the transfer is over now.
    fn heard(&mut self, now: Time) -> Time {
        let sender = &self.transfer.sender;
        self.due = now;
        self.over = if sender.is_done() { now } else { sender.heard() + PATIENCE };
        self.over
    }
}

/// The open transfer of this number.
fn find(open: &mut [Open], number: u32) -> Option<&mut Open> {
    let at = open.binary_search_by_key(&number, |open| open.number).ok()?;
    open.get_mut(at)
}

struct Transfer {
    begun: Time,
    deadline: Option<Time>,
    bytes: u32,
    sender: Sender,
    /// At the receiver: the pieces that have come, and how many.
    came: Vec<bool>,
    count: u32,
}

fn start(protocol: Protocol, setup: Setup<'_>) -> Begun {
    let load: &Load = setup.load;
    let kbit = Duration::from_ms(1);
    let wish = u32::try_from(load.rate("rate").bytes_in(kbit).saturating_mul(8)).unwrap_or(u32::MAX);
    let mut program = Explicit {
        protocol,
        port: load.port(),
        wish,
        first: setup.first,
        pairs: vec![],
        beginning: 0,
        open: 0,
        counts: Counts::default(),
        given_up: 0,
        with_deadline: 0,
        met: 0,
    };
    let length = header::length(protocol) as u32;
    let mut started = Started::default();
    for (pair, at) in setup.pairs.iter().zip(0u32..) {
        let flows = FlowList::new(load, at);
        if let Some(flow) = flows.peek() {
            program.beginning += 1;
            started.wakes.push((2 * at, flow.at));
        }
        let ends = [
            (Side::Sender, pair.route.destination, Some(program.port), None),
            (Side::Receiver, pair.route.source, None, Some(program.port)),
        ];
        for (side, address, source, destination) in ends {
            started.sockets.push((at, side, Socket::Ports { protocol: UDP, address, source, destination }));
        }
        let mtu = pair.mtu.0.min(pair.mtu.1);
        let piece = mtu.saturating_sub(HEADERS - 14 + length);
        if piece < LEAST_PIECE {
            return Err(StartError(format!(
                "a workload of kind {} needs links that take packets of {} bytes; the shortest of a pair takes {mtu}",
                load.kind.word,
                HEADERS - 14 + length + LEAST_PIECE
            )));
        }
        program.pairs.push(Connected {
            flows,
            deadlines: Deadlines::new(load, at),
            begun: 0,
            route: pair.route,
            back: pair.back,
            piece,
            open: vec![],
            over: Time::MAX,
            planned: None,
        });
    }
    Ok((Box::new(program), started))
}

impl Explicit {
    /// Lets the senders of a pair send what is due.
    fn run(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let (now, port, protocol) = (desk.now, self.port, self.protocol);
        let headers = HEADERS + header::length(protocol) as u32;
        let Some(connected) = self.pairs.get_mut(pair as usize) else { return };
        let (route, piece) = (connected.route, connected.piece);
        let mut deadline = Time::MAX;
        for Open { number, due, transfer, .. } in &mut connected.open {
            // The others have heard nothing since they had nothing to send, and no time has run out.
            if *due <= now {
                let bytes = transfer.bytes;
                let length = |of: Option<u32>| of.map_or(0, |of| data_bytes(of, piece, bytes));
                let frame = |of: Option<u32>| u64::from(headers + length(of));
                *due = loop {
                    let next = match transfer.sender.next(frame, now) {
                        Ok(next) => next,
                        Err(at) => break at,
                    };
                    let header = Header { transfer: *number, ..header_of(next) };
                    let ports = Transport::Udp { source: source_port(*number), destination: port };
                    let frame = packet(desk.memory(), protocol, (route, ports), header, length(next.piece));
                    desk.send(pair, Side::Sender, frame);
                };
            }
            deadline = deadline.min(*due);
        }
        let is_news = |at: &Time| connected.planned.is_none_or(|planned| planned <= now || *at < planned);
        if let Some(at) = Some(deadline).filter(|at| *at < Time::MAX && is_news(at)) {
            connected.planned = Some(at);
            desk.wake(2 * pair + 1, at);
        }
    }

    fn begin(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let Some(connected) = self.pairs.get_mut(pair as usize) else { return };
        let Some(flow) = connected.flows.next() else { return };
        match connected.flows.peek() {
            Some(next) => desk.wake(2 * pair, next.at),
            None => self.beginning -= 1,
        }
        desk.tally.sent += 1;
        let deadline = connected.deadlines.next().map(|after| flow.at + after);
        self.with_deadline += u64::from(deadline.is_some());
        let number = connected.begun;
        connected.begun += 1;
        if connected.open.len() >= MOST_OPEN {
            self.given_up += 1;
            return;
        }
        let pieces = flow.bytes.div_ceil(connected.piece);
        let full = u64::from(HEADERS + connected.piece) + header::length(self.protocol) as u64;
        let control = Control::new(self.protocol, self.wish, full, desk.now).with_deadline(deadline);
        let transfer = Transfer {
            begun: desk.now,
            deadline,
            bytes: flow.bytes,
            sender: Sender::new(pieces, control, desk.now),
            came: vec![false; pieces as usize],
            count: 0,
        };
        let (due, over) = (desk.now, transfer.sender.heard() + PATIENCE);
        connected.open.push(Open { number, due, over, transfer: Box::new(transfer) });
        connected.over = connected.over.min(over);
        self.open += 1;
    }

    /// Removes transfers that are complete or have made no progress for long.
    fn close(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let (now, port, protocol) = (desk.now, self.port, self.protocol);
        let Some(connected) = self.pairs.get_mut(pair as usize) else { return };
        // Nearly always.
        if connected.over > now {
            return;
        }
        let (counts, given_up, open) = (&mut self.counts, &mut self.given_up, &mut self.open);
        let route = connected.route;
        connected.open.retain_mut(|Open { number, over, transfer, .. }| {
            let is_over = *over <= now;
            if is_over {
                let of = transfer.sender.counts;
                counts.resent += of.resent;
                counts.timeouts += of.timeouts;
                counts.requests += of.requests;
                *given_up += u64::from(now >= transfer.sender.heard() + PATIENCE);
                *open -= 1;
                if let Some(end) = transfer.sender.end(now) {
                    let header = Header { transfer: *number, ..header_of(end) };
                    let ports = Transport::Udp { source: source_port(*number), destination: port };
                    let frame = packet(desk.memory(), protocol, (route, ports), header, 0);
                    desk.send(pair, Side::Sender, frame);
                }
            }
            !is_over
        });
        connected.over = connected.open.iter().map(|open| open.over).min().unwrap_or(Time::MAX);
    }

    /// A packet has come at the receiver: it answers with what the packet brought.
    fn received(&mut self, pair: u32, (header, data): (Header, &[u8]), desk: &mut Desk<'_>) -> Taken {
        let flow = self.first + pair;
        let Some(connected) = self.pairs.get_mut(pair as usize) else {
            return Taken::Unused(Unused::NoReceiver);
        };
        if header.flags & DATA != 0
            && let Some(Open { transfer, .. }) = find(&mut connected.open, header.transfer)
        {
            let Some(came) = transfer.came.get_mut(header.piece as usize) else {
                desk.tally.corrupt(Unused::PayloadChanged);
                return Taken::Unused(Unused::PayloadChanged);
            };
            let bytes = data_bytes(header.piece, connected.piece, transfer.bytes);
            if data.len() != bytes as usize || !is_content(&header, data) {
                desk.tally.corrupt(Unused::PayloadChanged);
                return Taken::Unused(Unused::PayloadChanged);
            }
            // A repeated piece is acknowledged, too, but counts once.
            if !std::mem::replace(came, true) {
                transfer.count += 1;
                desk.tally.arrived(bytes.into(), desk.now);
                if transfer.count as usize == transfer.came.len() {
                    let sequence = header.transfer;
                    self.met += u64::from(transfer.deadline.is_some_and(|at| desk.now <= at));
                    desk.tally.done(Came { flow, sequence, sent: transfer.begun, at: desk.now });
                }
            }
        }
        let words = self.protocol.answer(self.wish, header.words);
        let answer = Header { flags: header.flags | ACK, words, ..header };
        let ports = Transport::Udp { source: self.port, destination: source_port(header.transfer) };
        let frame = packet(desk.memory(), self.protocol, (connected.back, ports), answer, 0);
        desk.send(pair, Side::Receiver, frame);
        Taken::Used
    }
}

impl HostProgram for Explicit {
    fn tick(&mut self, timer: u32, desk: &mut Desk<'_>) {
        let pair = timer / 2;
        if timer.is_multiple_of(2) {
            self.begin(pair, desk);
        }
        self.close(pair, desk);
        self.run(pair, desk);
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let (Some((_, payload)), Some(side)) = (arrival.transport, arrival.side) else {
            return Taken::Unused(Unused::NoReceiver);
        };
        let Some((header, data)) = Header::read(self.protocol, payload) else {
            desk.tally.corrupt(Unused::PayloadChanged);
            return Taken::Unused(Unused::PayloadChanged);
        };
        let pair = arrival.pair;
        match (side, header.flags & ACK != 0) {
            (Side::Receiver, false) => self.received(pair, (header, data), desk),
            (Side::Sender, true) => {
                if let Some(connected) = self.pairs.get_mut(pair as usize)
                    && let Some(open) = find(&mut connected.open, header.transfer)
                {
                    open.transfer.sender.acknowledged(header.transmission, header.words, desk.now);
                    connected.over = connected.over.min(open.heard(desk.now));
                }
                self.close(pair, desk);
                self.run(pair, desk);
                Taken::Used
            }
            _ => Taken::Unused(Unused::NoReceiver),
        }
    }

    fn is_active(&self) -> bool {
        self.beginning > 0 || self.open > 0
    }

    fn report(&self, _: Time) -> Report {
        let goodput = if self.open > 0 { Goodput::UntilNow } else { Goodput::UntilLast };
        let mut measures = vec![
            ("resent", self.counts.resent),
            ("timeouts", self.counts.timeouts),
            ("requests", self.counts.requests),
            ("given up", self.given_up),
        ];
        if self.protocol == Protocol::D3 {
            measures.extend([("deadlines", self.with_deadline), ("met", self.met)]);
        }
        Report { goodput, is_loss_known: false, measures }
    }
}

/// The header of a packet, but for the number of the transfer.
fn header_of(next: Next) -> Header {
    Header {
        flags: next.flags,
        rtt_us: next.trip_us,
        words: next.words,
        transfer: 0,
        piece: next.piece.unwrap_or(0),
        transmission: next.transmission,
    }
}

/// Bytes of a piece of a transfer.
fn data_bytes(piece: u32, most: u32, bytes: u32) -> u32 {
    bytes.saturating_sub(piece.saturating_mul(most)).min(most)
}

fn source_port(transfer: u32) -> u16 {
    FIRST_PORT + (transfer % 50_000) as u16
}

/// A frame in empty `memory`, without a UDP checksum, as switches change the header.
fn packet(
    memory: Vec<u8>,
    protocol: Protocol,
    (route, ports): (Route, Transport),
    header: Header,
    data: u32,
) -> Vec<u8> {
    let (length, data) = (header::length(protocol), data as usize);
    let mut frame = begin(memory, route, ports, header.transmission as u16, length + data);
    let at = frame.len();
    frame.resize(at + length + data, 0);
    let (head, data) = frame[at..].split_at_mut(length);
    header.write(protocol, head);
    // Byte `at` is `(at ^ piece) + transfer`.
    pattern::fill(data, 0, header.transfer as u8, |_| header.piece as u8);
    frame
}

fn is_content(header: &Header, data: &[u8]) -> bool {
    pattern::is_filled(data, 0, header.transfer as u8, |_| header.piece as u8)
}
