//! TCP transfers, driven by virtual time.
//!
//! A pair has a host at each end: the sender's opens a connection for each transfer, the receiver's listens.
//! [`super::sender`] handles losses, [`super::receiver`] acknowledgements; this module opens, closes and aborts
//! connections. The kept stack for virtual time, smoltcp, gives the [`super::segment`]s with options; its connections have
//! no selective acknowledgements on the sending side.
//!
//! ```text
//! client          SYN ->  <- SYN-ACK  data -> ... data+FIN ->  <- ACK+FIN  ACK ->
//! ```

use super::echo::Echo;
use super::receiver::Receiver;
use super::round_trip::RoundTrip;
use super::segment::{self, Direction, HEADERS, Head, SCALE};
use super::sender::{Counts, Sender, earliest};
use super::window::Congestion;
use crate::packet::{Route, ethernet};
use crate::pattern;
use crate::program::{Desk, Side};
use crate::tally::{Came, Tally};
use crate::unused::Unused;
use base_time::{Duration, Rng, Time};

/// Limit on the open transfers of a pair; further ones do not begin.
const MOST_OPEN: usize = 128;

/// Time without progress after which a connection is aborted.
const PATIENCE: Duration = Duration::from_s(10);

/// Client ports are this plus the transfer's number.
const FIRST_PORT: u16 = 10_000;

/// Segment size of a peer that announces none (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;

/// Bits of ECN in the IPv4 header: the sender's transport understands ECN, and the packet met congestion (RFC 3168 §5).
const CAPABLE: u8 = 2;
const CONGESTED: u8 = 3;

/// How connections react to congestion.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Reaction {
    pub congestion: Congestion,
    /// Connections use ECN.
    pub ecn: bool,
    /// Segments are sent evenly over a round trip.
    pub pacing: bool,
}

/// One end of a pair: the route of its packets, and how long they may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpEnd {
    pub route: Route,
    pub mtu: u32,
}

/// The transfers of a pair.
pub(crate) struct Transfers {
    flow: u32,
    ends: Ends,
    window: u32,
    reaction: Reaction,
    /// Counts of transfers that are over.
    counts: Counts,
    begun: u32,
    chance: Rng,
    open: Vec<Transfer>,
    /// When the calendar will next let it run.
    pub planned: Option<Time>,
}

/// Both ends of a connection.
#[derive(Clone, Copy, Debug)]
struct Ends {
    client: TcpEnd,
    server: TcpEnd,
    port: u16,
}

struct Transfer {
    number: u32,
    /// Bytes.
    size: u32,
    begun: Time,
    /// When something has arrived that was new.
    progress: Time,
    /// When it may have something to do: its deadline, or earlier if a packet has come since.
    due: Time,
    client: Client,
    server: Server,
}

/// The end that opens the connection and sends.
struct Client {
    /// The number of its SYN.
    isn: u32,
    reaction: Reaction,
    /// Both ends understand ECN.
    has_ecn: bool,
    state: ClientState,
    /// The number of the server's SYN, and how its windows are scaled; none before it has come.
    peer: Option<(u32, u8)>,
    /// Set when the handshake is over.
    sender: Option<Sender>,
    /// Round-trip time of the handshake.
    trip: RoundTrip,
    /// When its SYN was sent first, and when it is sent again.
    syn: (Time, Option<Time>),
    /// True if received data has not been acknowledged yet.
    owes_ack: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClientState {
    Opening,
    Open,
    /// The server's end has come and everything was acknowledged.
    Over,
}

/// The end that listens.
struct Server {
    isn: u32,
    state: ServerState,
    /// The number of the client's SYN.
    peer: u32,
    takes_sack: bool,
    echo: Echo,
    /// Acknowledgements that go before all others.
    early: Vec<Head>,
    receiver: Receiver,
    trip: RoundTrip,
    /// When its SYN or its FIN is sent again.
    resend: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServerState {
    Listening,
    /// SYN sent.
    Opening,
    Open,
    /// FIN sent.
    Closing,
    Closed,
}

impl Transfers {
    /// Transfers with at most `window` bytes in flight each, to a port of the server, for the flow with
    /// this number.
    pub fn new(
        flow: u32,
        (client, server): (TcpEnd, TcpEnd),
        port: u16,
        window: u32,
        reaction: Reaction,
        chance: &Rng,
    ) -> Transfers {
        Transfers {
            flow,
            ends: Ends { client, server, port },
            window,
            reaction,
            counts: Counts::default(),
            begun: 0,
            chance: chance.split("sequence numbers"),
            open: vec![],
            planned: None,
        }
    }

    /// True if transfers are in progress.
    pub fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Begins the next transfer, of `size` bytes; if too many are open, it counts as begun and never completes.
    pub fn begin(&mut self, size: u32, now: Time) {
        let number = self.begun;
        self.begun += 1;
        // Drawn for every transfer: the numbers of later ones do not depend on how many are open.
        let isns = [self.chance.next_u64() as u32, self.chance.next_u64() as u32];
        if self.open.len() >= MOST_OPEN {
            return;
        }
        self.open.push(Transfer {
            number,
            size,
            begun: now,
            progress: now,
            due: now,
            client: Client {
                isn: isns[0],
                reaction: self.reaction,
                has_ecn: false,
                state: ClientState::Opening,
                peer: None,
                sender: None,
                trip: RoundTrip::default(),
                syn: (now, Some(now)),
                owes_ack: false,
            },
            server: Server {
                isn: isns[1],
                state: ServerState::Listening,
                peer: 0,
                takes_sack: false,
                echo: Echo::Off,
                early: vec![],
                receiver: Receiver::new(size, self.window),
                trip: RoundTrip::default(),
                resend: None,
            },
        });
    }

    /// A packet has arrived at one end.
    pub fn take(&mut self, side: Side, packet: &[u8], tally: &mut Tally, now: Time) {
        let Some((ports, head, payload)) = segment::read(packet) else { return };
        let port = if side == Side::Sender { ports.1 } else { ports.0 };
        let mut open = self.open.iter_mut();
        let Some(transfer) = open.find(|transfer| local_port(transfer.number) == port) else { return };
        transfer.due = now;
        match side {
            Side::Sender => transfer.client_takes(head, self.ends.client.mtu, now),
            Side::Receiver => transfer.server_takes(head, payload, (self.flow, tally), now),
        }
    }

    /// Lets both ends of pair `pair` send all packets that they can send now, and gives when one wants to run again.
    pub fn run(&mut self, pair: u32, desk: &mut Desk<'_>) -> Option<Time> {
        let now = desk.now;
        let mut out = Out { ends: &self.ends, pair, desk };
        let (mut are_all_open, mut deadline) = (true, None);
        for transfer in &mut self.open {
            // No packet has come for the others, and none of their timers has run out.
            if transfer.due <= now {
                transfer.client_runs(&mut out, now);
                transfer.server_runs(&mut out, now);
                transfer.due = transfer.deadline();
                are_all_open &= !transfer.is_over(now);
            }
            deadline = Some(deadline.map_or(transfer.due, |due: Time| due.min(transfer.due)));
        }
        // Nearly always.
        if are_all_open {
            return deadline;
        }
        let counts = &mut self.counts;
        self.open.retain(|transfer| {
            let is_over = transfer.is_over(now);
            if let (true, Some(sender)) = (is_over, &transfer.client.sender) {
                *counts += sender.counts;
            }
            !is_over
        });
        self.open.iter().map(|transfer| transfer.due).min()
    }

    /// Counts of all its senders.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        let senders = self.open.iter().filter_map(|transfer| transfer.client.sender.as_ref());
        senders.for_each(|sender| counts += sender.counts);
        counts
    }
}

impl Transfer {
    fn deadline(&self) -> Time {
        let sender = self.client.sender.as_ref().and_then(Sender::deadline);
        let timers = [self.client.syn.1, sender, self.server.resend, self.server.receiver.deadline()];
        earliest(timers).min(self.progress + PATIENCE)
    }

    /// Both ends have closed, or nothing new has come for too long.
    fn is_over(&self, now: Time) -> bool {
        let is_closed = self.client.state == ClientState::Over && self.server.state == ServerState::Closed;
        is_closed || now >= self.progress + PATIENCE
    }

    fn client_takes(&mut self, head: Head, mtu: u32, now: Time) {
        let (size, client) = (self.size, &mut self.client);
        let Some(ack) = head.ack else { return };
        if head.syn && client.peer.is_none() && ack == client.isn.wrapping_add(1) {
            client.peer = Some((head.sequence, head.scale.unwrap_or(0)));
            client.state = ClientState::Open;
            if client.syn.1.take().is_some() && !client.trip.is_backed_off() {
                client.trip.add(now.since(client.syn.0));
            }
            let mut trip = client.trip.clone();
            trip.progress();
            let most = head.mss.unwrap_or(DEFAULT_MSS);
            let mss = u32::from(most).min(mtu.saturating_sub(HEADERS)).max(1);
            // Windows of segments with SYN are not scaled (RFC 7323 §2.2).
            let congestion = client.reaction.congestion;
            client.has_ecn = client.reaction.ecn && head.echo && !head.reduced;
            let sender = Sender::new(size, mss, head.window.into(), trip, congestion);
            client.sender = Some(sender.paced(client.reaction.pacing));
            self.progress = now;
            return;
        }
        let (Some((peer, scale)), Some(sender)) = (client.peer, &mut client.sender) else { return };
        if head.syn {
            client.owes_ack = true;
            return;
        }
        let first = client.isn.wrapping_add(1);
        let offset = |number: u32| number.wrapping_sub(first);
        let window = u64::from(head.window) << scale.min(14);
        let sacks: Vec<(u32, u32)> =
            head.sacks.iter().flatten().map(|(from, to)| (offset(*from), offset(*to))).collect();
        let is_echo = client.has_ecn && head.echo;
        // Acknowledges bytes that were never sent, or long ago.
        if offset(ack) <= size.saturating_add(1)
            && sender.acknowledged(offset(ack), &sacks, window, is_echo, now)
        {
            self.progress = now;
        }
        if head.fin && head.sequence == peer.wrapping_add(1) {
            client.owes_ack = true;
            if sender.is_done() {
                client.state = ClientState::Over;
            }
        }
    }

    fn client_runs(&mut self, out: &mut Out<'_, '_>, now: Time) {
        let (number, client) = (self.number, &mut self.client);
        if client.syn.1.is_some_and(|at| at <= now) {
            let ecn = client.reaction.ecn;
            let head = Head {
                syn: true,
                sequence: client.isn,
                window: u16::MAX,
                echo: ecn,
                reduced: ecn,
                ..out.syn(Side::Sender)
            };
            out.send(Side::Sender, number, head, NOTHING);
            if now > client.syn.0 {
                client.trip.back_off();
            }
            client.syn.1 = Some(now + client.trip.timeout());
        }
        let Some((peer, _)) = client.peer else { return };
        let is_over = client.state == ClientState::Over;
        let plain = Head {
            sequence: client.isn.wrapping_add(1),
            ack: Some(peer.wrapping_add(1 + u32::from(is_over))),
            window: u16::MAX,
            ..Head::default()
        };
        let Some(sender) = &mut client.sender else { return };
        let mut probe = sender.tick(now);
        while let Some(segment) = probe.take().or_else(|| sender.next(now)) {
            let (from, to, ends) = sender.range(segment);
            let sequence = plain.sequence.wrapping_add(from);
            // Segments that are sent again are not capable (RFC 3168 §6.1.5).
            let is_new = client.has_ecn && !sender.was_resent(segment);
            let head = Head {
                sequence,
                fin: ends,
                push: ends,
                ecn: if is_new { CAPABLE } else { 0 },
                reduced: is_new && sender.takes_reduced(),
                ..plain
            };
            out.send(Side::Sender, number, head, (from, to.saturating_sub(from)));
            client.owes_ack = false;
        }
        if std::mem::take(&mut client.owes_ack) {
            let (_, sent, ends) = sender.sent_up_to();
            let sequence = plain.sequence.wrapping_add(sent + u32::from(ends));
            out.send(Side::Sender, number, Head { sequence, ..plain }, NOTHING);
        }
    }

    fn server_takes(&mut self, head: Head, payload: &[u8], (flow, tally): (u32, &mut Tally), now: Time) {
        let (number, server) = (self.number, &mut self.server);
        if head.syn {
            if matches!(server.state, ServerState::Listening | ServerState::Opening) {
                server.state = ServerState::Opening;
                (server.peer, server.takes_sack) = (head.sequence, head.takes_sack);
                server.echo = match self.client.reaction {
                    Reaction { ecn: true, congestion, .. } if head.echo && head.reduced => match congestion {
                        Congestion::Dctcp => Echo::Exact(false),
                        _ => Echo::UntilReduced(false),
                    },
                    _ => Echo::Off,
                };
                server.resend = Some(now);
                self.progress = now;
            }
            return;
        }
        let Some(ack) = head.ack.map(|ack| ack.wrapping_sub(server.isn)) else { return };
        match server.state {
            ServerState::Opening if ack == 1 => {
                (server.state, server.resend) = (ServerState::Open, None);
                self.progress = now;
            }
            ServerState::Closing if ack == 2 => {
                (server.state, server.resend) = (ServerState::Closed, None);
                self.progress = now;
            }
            ServerState::Listening | ServerState::Closed => return,
            _ => {}
        }
        if server.state == ServerState::Opening || (payload.is_empty() && !head.fin) {
            return;
        }
        let from = head.sequence.wrapping_sub(server.peer.wrapping_add(1));
        let Ok(length) = u32::try_from(payload.len()) else { return };
        // Before the stream, or an old segment's beginning: nothing that our clients send.
        let Some(to) = from.checked_add(length) else { return };
        let before = server.receiver.bytes();
        let was_set = server.echo.is_set();
        let is_apart = server.echo.take(head.ecn == CONGESTED, head.reduced);
        if is_apart && server.receiver.owes_ack() {
            let early = server.acknowledge();
            server.early.push(Head { echo: was_set, ..early });
        }
        server.receiver.take(from, to, head.fin, now);
        if is_apart {
            server.receiver.hurry(now);
        }
        if !pattern::is_filled(payload, from, number as u8, key) {
            tally.corrupt(Unused::PayloadChanged);
        }
        let after = server.receiver.bytes();
        if after == before && !server.receiver.is_done() {
            return;
        }
        self.progress = now;
        if after > before {
            tally.arrived(u64::from(after - before), now);
            if after == server.receiver.length() {
                tally.done(Came { flow, sequence: number, sent: self.begun, at: now });
            }
        }
        if server.receiver.is_done() && server.state == ServerState::Open {
            (server.state, server.resend) = (ServerState::Closing, Some(now));
        }
    }

    fn server_runs(&mut self, out: &mut Out<'_, '_>, now: Time) {
        let (number, server) = (self.number, &mut self.server);
        for head in std::mem::take(&mut server.early) {
            out.send(Side::Receiver, number, head, NOTHING);
        }
        if server.resend.is_some_and(|at| at <= now) {
            let is_opening = server.state == ServerState::Opening;
            let head = match is_opening {
                true => Head {
                    syn: true,
                    sequence: server.isn,
                    ack: Some(server.peer.wrapping_add(1)),
                    window: u16::MAX,
                    echo: server.echo != Echo::Off,
                    ..out.syn(Side::Receiver)
                },
                // It has no ranges: everything has come.
                false => Head { fin: true, sequence: server.isn.wrapping_add(1), ..server.acknowledge() },
            };
            out.send(Side::Receiver, number, head, NOTHING);
            server.resend = Some(now + server.trip.timeout());
            server.trip.back_off();
        }
        if server.receiver.deadline().is_some_and(|at| at <= now) {
            let head = server.acknowledge();
            out.send(Side::Receiver, number, head, NOTHING);
        }
    }
}

impl Server {
    /// The acknowledgement of all that has come.
    fn acknowledge(&mut self) -> Head {
        let is_closed = matches!(self.state, ServerState::Closing | ServerState::Closed);
        let first = self.peer.wrapping_add(1);
        let (ack, sacks) = self.receiver.acknowledge();
        let ranges = |(from, to): (u32, u32)| (first.wrapping_add(from), first.wrapping_add(to));
        Head {
            sequence: self.isn.wrapping_add(1 + u32::from(is_closed)),
            ack: Some(first.wrapping_add(ack)),
            window: u16::try_from(self.receiver.window() >> SCALE).unwrap_or(u16::MAX),
            echo: self.echo.is_set(),
            sacks: if self.takes_sack { sacks.map(|sack| sack.map(ranges)) } else { [None; 3] },
            ..Head::default()
        }
    }
}

/// The way out for packets, and their common header fields.
struct Out<'a, 'd> {
    ends: &'a Ends,
    pair: u32,
    desk: &'a mut Desk<'d>,
}

/// The data of a segment without any: its offset in the stream, and its length.
const NOTHING: (u32, u32) = (0, 0);

impl Out<'_, '_> {
    /// The options of a SYN.
    fn syn(&self, side: Side) -> Head {
        let end = if side == Side::Sender { self.ends.client } else { self.ends.server };
        let mss = end.mtu.saturating_sub(HEADERS).clamp(1, u16::MAX.into()) as u16;
        Head { mss: Some(mss), scale: Some(SCALE), takes_sack: true, ..Head::default() }
    }

    fn send(&mut self, side: Side, number: u32, head: Head, (offset, length): (u32, u32)) {
        let ports = (local_port(number), self.ends.port);
        let (end, from, to) = match side {
            Side::Sender => (&self.ends.client, ports.0, ports.1),
            Side::Receiver => (&self.ends.server, ports.1, ports.0),
        };
        let (route, length) = (end.route, length as usize);
        let direction = Direction { from: (route.source, from), to: (route.destination, to) };
        let frame =
            segment::write(self.desk.memory(), &ethernet(route), direction, head, length, |payload| {
                pattern::fill(payload, offset, number as u8, key);
            });
        self.desk.send(self.pair, side, frame);
    }
}

/// The port that the client of a transfer uses.
fn local_port(number: u32) -> u16 {
    FIRST_PORT + (number % 50_000) as u16
}

/// Key of a block: byte `at` of transfer `number` is `(at ^ at >> 8 ^ at >> 16) + number`.
fn key(block: u32) -> u8 {
    (block ^ block >> 8) as u8
}
