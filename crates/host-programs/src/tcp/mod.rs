//! `tcp`: transfers, each over a connection of its own.
//!
//! | | |
//! |---|---|
//! | [`transfer`] | connections are opened, closed and given up |
//! | [`sender`], [`receiver`] | handling of losses, and acknowledgements |
//! | [`window`], [`cubic`], [`dctcp`] | the congestion window |
//! | [`echo`] | echoes of congestion marks (ECN) by receivers |
//! | [`round_trip`] | timeouts |
//! | [`segment`] | bytes, those with options by smoltcp |

mod cubic;
mod dctcp;
mod echo;
mod receiver;
mod round_trip;
mod segment;
mod sender;
mod transfer;
mod window;

use crate::flow_list::{FlowList, INTERVAL, LARGEST, LIST, MOST_BYTES, TAIL};
use crate::kind::{Count, Key, Kind, Rule, Size, Wanted};
use crate::packet::TCP as PROTOCOL;
use crate::program::{
    Arrival, Begun, Desk, Goodput, HostProgram, Report, Setup, Side, Socket, Started, Taken,
};
use crate::unused::Unused;
use base_time::Time;
use sender::Counts;
use transfer::{Reaction, TcpEnd, Transfers};
use window::Congestion;

/// Limit on the transfers of a workload.
pub const MOST_TRANSFERS: u64 = 10_000;

/// The receiver's port of the first workload of a rack.
const FIRST_TCP_PORT: u16 = 5001;

/// Default limit on the bytes of a transfer in flight.
pub const MOST_WINDOW: u32 = 4 << 20;

/// The workload `tcp`. Both hosts and the receiver's port identify the segments of a workload.
pub static TCP: Kind = Kind {
    word: "tcp",
    count: Count { most: MOST_TRANSFERS, default: None },
    size: Some(Size { least: 1, most: MOST_BYTES, default: 1_000_000 }),
    keys: &[
        INTERVAL,
        Key::new("port", Wanted::Port(|index| FIRST_TCP_PORT.saturating_add(index as u16))),
        Key::new("window", Wanted::Number { least: 1 << 16, most: MOST_WINDOW, default: Some(MOST_WINDOW) }),
        Key::new("congestion", Wanted::Choice(Congestion::WORDS)),
        Key::new("ecn", Wanted::Choice(&["off", "on"])),
        Key::new("pacing", Wanted::Choice(&["off", "on"])),
        LIST,
        TAIL,
        LARGEST,
    ],
    rule: Some(Rule::PortOfItsOwn("TCP")),
    since_start: |load, n| load.time("interval") * n,
    frame_bytes: |_| None,
    start,
};

/// Timer `2n` begins the next transfer of pair `n`, timer `2n + 1` continues its connections.
struct Tcp {
    pairs: Vec<Connected>,
    reaction: Reaction,
    /// Pairs with transfers left to begin, and pairs with transfers in progress.
    sending: u32,
    busy: u32,
}

struct Connected {
    flows: FlowList,
    transfers: Transfers,
}

fn start(setup: Setup<'_>) -> Begun {
    let load = setup.load;
    let (port, window) = (load.port(), load.number("window"));
    let congestion = Congestion::named(load.text("congestion"));
    // DCTCP without ECN is Reno.
    let ecn = match load.text("ecn") {
        "" => congestion == Congestion::Dctcp,
        word => word == "on",
    };
    let reaction = Reaction { congestion, ecn, pacing: load.text("pacing") == "on" };
    let mut tcp = Tcp { pairs: vec![], reaction, sending: 0, busy: 0 };
    let mut started = Started::default();
    for (pair, at) in setup.pairs.iter().zip(0u32..) {
        let chance = setup.chance.split_index(u64::from(at));
        let route = pair.route;
        let client = TcpEnd { route, mtu: pair.mtu.0 };
        let server = TcpEnd { route: pair.back, mtu: pair.mtu.1 };
        let transfers = Transfers::new(setup.first + at, (client, server), port, window, reaction, &chance);
        let flows = FlowList::new(load, at);
        let ends = [
            (Side::Sender, route.destination, Some(port), None),
            (Side::Receiver, route.source, None, Some(port)),
        ];
        for (side, address, source, destination) in ends {
            let socket = Socket::Ports { protocol: PROTOCOL, address, source, destination };
            started.sockets.push((at, side, socket));
        }
        if let Some(flow) = flows.peek() {
            tcp.sending += 1;
            started.wakes.push((2 * at, flow.at));
        }
        tcp.pairs.push(Connected { flows, transfers });
    }
    Ok((Box::new(tcp), started))
}

impl Tcp {
    /// Lets both ends of a pair send what they can send now.
    fn run(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let now = desk.now;
        let Some(Connected { transfers, .. }) = self.pairs.get_mut(pair as usize) else { return };
        let was_busy = transfers.is_busy();
        let deadline = transfers.run(pair, desk);
        self.busy -= u32::from(was_busy && !transfers.is_busy());
        let is_news = |at: &Time| transfers.planned.is_none_or(|planned| planned <= now || *at < planned);
        if let Some(at) = deadline.filter(is_news) {
            transfers.planned = Some(at);
            desk.wake(2 * pair + 1, at);
        }
    }
}

impl HostProgram for Tcp {
    fn tick(&mut self, timer: u32, desk: &mut Desk<'_>) {
        let pair = timer / 2;
        if let (Some(connected), 0) = (self.pairs.get_mut(pair as usize), timer % 2)
            && let Some(flow) = connected.flows.next()
        {
            desk.tally.sent += 1;
            match connected.flows.peek() {
                Some(next) => desk.wake(timer, next.at),
                None => self.sending -= 1,
            }
            let was_busy = connected.transfers.is_busy();
            connected.transfers.begin(flow.bytes, desk.now);
            self.busy += u32::from(connected.transfers.is_busy() && !was_busy);
        }
        self.run(pair, desk);
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let connected = self.pairs.get_mut(arrival.pair as usize);
        let (Some(connected), Some(packet), Some(side)) = (connected, arrival.packet, arrival.side) else {
            return Taken::Unused(Unused::NoReceiver);
        };
        connected.transfers.take(side, packet.bytes, desk.tally, desk.now);
        self.run(arrival.pair, desk);
        Taken::Used
    }

    fn is_active(&self) -> bool {
        self.sending > 0 || self.busy > 0
    }

    fn report(&self, _: Time) -> Report {
        let goodput = if self.busy > 0 { Goodput::UntilNow } else { Goodput::UntilLast };
        let mut counts = Counts::default();
        self.pairs.iter().for_each(|pair| counts += pair.transfers.counts());
        let mut measures = vec![];
        if self.reaction.ecn {
            measures.extend([("echoes", counts.echoes), ("reductions", counts.reductions)]);
        }
        Report { goodput, is_loss_known: false, measures }
    }
}
