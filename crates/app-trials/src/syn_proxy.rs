//! The SYN proxy: its controller, and connections through it, beside SYNs from addresses that nobody has.

use crate::frames::{AtPort, Flow, TCP, flow, read_segment, segment};
use crate::network::{Network, bits, entry, route};
use crate::tcp::{End, Sent};
use base_time::{Duration, Rng, Time};
use std::collections::{BTreeMap, VecDeque};

/// Addresses and ports of client and server.
type Pair = (u32, u32, u16, u16);

/// The proxy's controller. It knows only clients that have answered their cookie.
#[derive(Default)]
pub struct Proxy {
    /// Clients whose server has not answered, with the cookie.
    ready: BTreeMap<Pair, (u32, Time)>,
    /// Connections, and from when on they may be forgotten.
    open: BTreeMap<Pair, Option<Time>>,
    /// These ends in order; the last one of a connection counts.
    ends: VecDeque<(Time, Pair)>,
    /// The most connections and clients at one time.
    pub most: usize,
}

/// A client whose server does not answer is forgotten after this time, a closed connection, too.
const PATIENCE: Duration = Duration::from_s(60);

impl Proxy {
    /// Protects a server. `secret` is one of the operator's, for cookies.
    pub fn protect(&self, on: &mut impl Network, server: u32, mss: u16, secret: u32) -> Result<(), String> {
        let key = [bits(32, server)];
        let is_server = Some(("ProxyIngress.is_server", vec![bits(16, mss), bits(32, secret)]));
        on.write(entry("ProxyIngress.servers", &key, is_server))?;
        on.write(entry("ProxyIngress.behind", &key, Some(("ProxyIngress.is_behind", vec![]))))
    }

    /// Takes reports, writes the entries of connections, and forgets those that have ended.
    pub fn take(&mut self, on: &mut impl Network, now: Time) -> Result<(), String> {
        for (name, fields) in on.reports() {
            let [client, server, client_port, server_port, ref more @ ..] = fields[..] else {
                return Err(format!("`{name}` has {} fields", fields.len()));
            };
            let pair = (client as u32, server as u32, client_port as u16, server_port as u16);
            match (name.as_str(), more) {
                ("client_ready_t", [cookie]) => {
                    self.ready.insert(pair, (*cookie as u32, now));
                }
                ("server_ready_t", [number, _]) => {
                    let Some((cookie, _)) = self.ready.remove(&pair) else { continue };
                    // The client counts from the cookie, the server from its own number: the switch adds the difference.
                    let offset = (*number as u32).wrapping_sub(cookie);
                    write(on, pair, Some(offset))?;
                    self.open.insert(pair, None);
                }
                ("closing_t", []) => {
                    if let Some(end) = self.open.get_mut(&pair) {
                        *end = Some(now + PATIENCE);
                        self.ends.push_back((now + PATIENCE, pair));
                    }
                }
                _ => return Err(format!("an unknown report: `{name}`")),
            }
            self.most = self.most.max(self.held());
        }
        self.ready.retain(|_, (_, since)| now.since(*since) < PATIENCE);
        while self.ends.front().is_some_and(|(end, _)| *end <= now)
            && let Some((end, pair)) = self.ends.pop_front()
        {
            if self.open.get(&pair) == Some(&Some(end)) {
                self.open.remove(&pair);
                write(on, pair, None)?;
            }
        }
        Ok(())
    }

    /// Clients and connections that the controller knows.
    pub fn held(&self) -> usize {
        self.ready.len() + self.open.len()
    }
}

fn write(on: &mut impl Network, pair: Pair, offset: Option<u32>) -> Result<(), String> {
    let (client, server, client_port, server_port) = pair;
    let key = [bits(32, client), bits(32, server), bits(16, client_port), bits(16, server_port)];
    let action = |name| offset.map(|offset| (name, vec![bits(32, offset)]));
    // Both ends repeat what is dropped until both entries are there.
    on.write(entry("ProxyIngress.from_server", &key, action("ProxyIngress.to_client")))?;
    on.write(entry("ProxyIngress.from_client", &key, action("ProxyIngress.to_server")))
}

/// Port of clients.
const CLIENTS: u32 = 1;
/// Port of servers.
const SERVERS: u32 = 2;
const SERVER: u32 = 0x0a02_0001;
const SERVER_PORT: u16 = 80;

/// Time between two looks at the links.
const STEP: Duration = Duration::from_us(100);

/// How a trial went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Frames that came to the switch.
    pub packets: u64,
    /// Connections whose streams are equal at both ends.
    pub connections: u64,
    /// SYNs of nobody, and ACKs with a wrong cookie.
    pub spoofed: u64,
    /// Frames lost on a link.
    pub lost: u64,
    /// The most clients and connections that the controller knew.
    pub most: u64,
}

/// A connection under way.
struct Connection {
    flow: Flow,
    client: End,
    server: End,
    /// The server has seen a SYN.
    reached: bool,
    /// Both ends have everything.
    since: Option<Time>,
}

/// Connections through links that lose, repeat and delay frames. An error if a stream arrives other than it was sent, a checksum is wrong, a server sees a SYN
/// of a client that has not answered its cookie, or a spoofed packet leaves something behind.
pub fn trial(on: &mut impl Network, connections: u64, seed: u64) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed).split("syn");
    on.write(route("ProxyIngress", 0x0a02_0000, 16, SERVERS))?;
    on.write(route("ProxyIngress", 0, 0, CLIENTS))?;
    let mut proxy = Proxy::default();
    proxy.protect(on, SERVER, 1460, rng.next_u64() as u32)?;
    let (mut outcome, mut live, mut begun): (Outcome, Vec<Connection>, u64) = (Outcome::default(), vec![], 0);
    let mut links: BTreeMap<(Time, u64), AtPort> = BTreeMap::new();
    let (mut number, mut now) = (0, Time::ZERO);
    while outcome.connections < connections {
        if live.len() < 20 && begun < connections && rng.chance(1, 4) {
            live.push(connection(begun, &mut rng));
            begun += 1;
        }
        if now.since(Time::ZERO) > Duration::from_s(2 + connections) {
            return Err(format!("only {} connections have ended in {now}", outcome.connections));
        }
        let mut sent = vec![];
        for one in &mut live {
            sent.extend(one.client.due(now).into_iter().map(|it| (CLIENTS, frame(one.flow, it))));
            sent.extend(one.server.due(now).into_iter().map(|it| (SERVERS, frame(one.flow.back(), it))));
        }
        if rng.chance(1, 2) {
            outcome.spoofed += 1;
            sent.push((CLIENTS, spoofed(&mut rng)));
        }
        // Links to the switch.
        for (port, frame) in sent {
            if rng.chance(1, 20) {
                outcome.lost += 1;
                continue;
            }
            for _ in 0..1 + u32::from(rng.chance(1, 50)) {
                number += 1;
                let late = Duration::from_us(rng.below(300) + if rng.chance(1, 20) { 3000 } else { 0 });
                links.insert((now + late, number), (port, frame.clone()));
            }
        }
        while let Some(first) = links.first_entry().filter(|first| first.key().0 <= now) {
            let (port, frame) = first.remove();
            outcome.packets += 1;
            for left in on.frame(port, &frame) {
                deliver(&mut live, left, now, &mut rng, &mut outcome)?;
            }
            // Reports wait for some packets.
            if rng.chance(1, 3) {
                proxy.take(on, now)?;
            }
        }
        proxy.take(on, now)?;
        if let Some(pair) = proxy.ready.keys().find(|(client, ..)| is_nobody(*client)) {
            return Err(format!("{pair:x?} is taken for a client"));
        }
        for one in &mut live {
            if one.since.is_none() && one.client.is_done() && one.server.is_done() {
                let streams = [(&one.client, &one.server), (&one.server, &one.client)];
                if streams.iter().any(|(from, to)| from.stream() != to.received()) {
                    return Err(format!("{:?}: the streams differ", one.flow));
                }
                one.since = Some(now);
                outcome.connections += 1;
            }
        }
        live.retain(|one| one.since.is_none_or(|since| now.since(since) < Duration::from_ms(200)));
        now += STEP;
        on.pass(STEP);
    }
    outcome.most = proxy.most as u64;
    // In long trials, connections that have ended wait to be forgotten.
    if outcome.most > connections.max(60) {
        return Err(format!("the controller knew {} connections", outcome.most));
    }
    for _ in 0..2 {
        now += PATIENCE;
        on.pass(PATIENCE);
        proxy.take(on, now)?;
    }
    match proxy.held() {
        0 => Ok(outcome),
        left => Err(format!("{left} connections are left")),
    }
}

fn connection(number: u64, rng: &mut Rng) -> Connection {
    let src = (0xc633_6401 + (number % 200) as u32, 2000 + (number / 2 % 60_000) as u16);
    let bytes = |rng: &mut Rng| {
        let length = rng.index(6000);
        rng.bytes(length)
    };
    let (asked, answer) = (bytes(rng), bytes(rng));
    let near_wrap = |rng: &mut Rng| {
        if rng.chance(1, 4) { u32::MAX - rng.below(3000) as u32 } else { rng.next_u64() as u32 }
    };
    let mss = [536, 1300, 1440, 1460, 9000][rng.index(5)];
    let client = End::client(asked, near_wrap(rng), mss);
    let server = End::server(answer, near_wrap(rng), 1460);
    let flow = Flow { protocol: TCP, src, dst: (SERVER, SERVER_PORT) };
    Connection { flow, client, server, reached: false, since: None }
}

fn frame(flow: Flow, Sent { header, payload }: Sent) -> Vec<u8> {
    segment(flow, &header, &payload)
}

/// Spoofed addresses are from here on.
const NOBODY: u32 = 0xcb00_7100;

fn is_nobody(client: u32) -> bool {
    (NOBODY..NOBODY + 256).contains(&client)
}

/// A SYN of nobody, an ACK with a number that is no cookie, or something else that opens nothing.
fn spoofed(rng: &mut Rng) -> Vec<u8> {
    let flow = Flow {
        protocol: TCP,
        src: (NOBODY + rng.below(200) as u32, rng.next_u64() as u16),
        dst: (SERVER, SERVER_PORT),
    };
    let flags = [0x02, 0x02, 0x02, 0x10, 0x18, 0x04, 0x11, 0x12][rng.index(8)];
    let (seq, ack) = (rng.next_u64() as u32, rng.next_u64() as u32);
    segment(flow, &crate::frames::Segment { seq, ack, flags, window: 1000, mss: Some(1460) }, &[])
}

fn deliver(
    live: &mut [Connection],
    (port, frame): AtPort,
    now: Time,
    rng: &mut Rng,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let at = flow(&frame)?;
    let Some((header, payload)) = read_segment(&frame) else { return Err("a damaged segment".into()) };
    let forward = if port == SERVERS { at } else { at.back() };
    let Some(one) = live.iter_mut().find(|one| one.flow == forward) else {
        // A SYN-ACK to nobody is what a spoofed SYN gets.
        let is_known = port == CLIENTS || header.flags & 0x02 == 0;
        return if is_known { Ok(()) } else { Err(format!("the server sees a SYN of {at:x?}")) };
    };
    if port == SERVERS && header.flags & 0x02 != 0 {
        if !one.client.is_open() {
            return Err(format!("the server sees a SYN before {at:x?} has answered"));
        }
        if !one.reached && header.mss.is_none_or(|mss| mss > one.client.mss()) {
            return Err(format!("{:?} of {}", header.mss, one.client.mss()));
        }
        one.reached = true;
    }
    // Links from the switch.
    if rng.chance(1, 20) {
        outcome.lost += 1;
        return Ok(());
    }
    let end = if port == SERVERS { &mut one.server } else { &mut one.client };
    end.receive(&header, payload, now)
}
