//! TCP transfers on a kept stack, smoltcp, driven by virtual time.
//!
//! A pair has a stack at each end: the sender's opens a connection for each transfer, the receiver's listens. smoltcp's
//! clock has microseconds and runs [`FASTER`] times as fast as virtual time; congestion control is Reno in integers. It has no
//! sender-side SACK: after several losses in one window it waits for its retransmission timer.

use crate::host::TcpSide;
use crate::tally::Tally;
use base_time::{Duration, Rng, Time};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration as Span, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// Bytes that a connection keeps at each end.
const BUFFER: usize = 256 * 1024;

/// smoltcp's timers are RFC 6298's: the least retransmission timeout is a second. On this clock it is the 200 ms of Linux.
const FASTER: u64 = 5;

/// Transfers of a pair at once; what would begin beyond that does not.
const MOST_OPEN: usize = 128;

/// A connection without progress for so long is given up.
const PATIENCE: Span = Span::from_secs(10 * FASTER);

/// Client ports are this plus the transfer's number.
const FIRST_PORT: u16 = 10_000;

/// One end of a pair: where it is, and how long its packets may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpEnd {
    pub address: Ipv4Addr,
    pub mtu: u32,
}

/// Both stacks of a pair, and the transfers between them.
pub(crate) struct Transfers {
    client: Stack,
    server: Stack,
    server_address: Ipv4Addr,
    port: u16,
    size: u32,
    begun: u32,
    open: Vec<Transfer>,
    /// Sockets of the server that have no transfer yet: as many as there are transfers without one.
    listening: Vec<SocketHandle>,
    /// When the calendar will next let it run.
    pub planned: Option<Time>,
}

struct Transfer {
    number: u32,
    begun: Time,
    client: SocketHandle,
    /// None until its first packet has arrived.
    server: Option<SocketHandle>,
    written: u32,
    read: u32,
}

struct Stack {
    interface: Interface,
    sockets: SocketSet<'static>,
    wire: Packets,
}

/// IPv4 packets on their way into a stack and out of it.
struct Packets {
    mtu: u32,
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
}

impl Transfers {
    /// Transfers of `size` bytes to a port of the server.
    pub fn new(client: TcpEnd, server: TcpEnd, port: u16, size: u32, chance: &Rng) -> Transfers {
        Transfers {
            client: Stack::new(client, chance.split("client")),
            server: Stack::new(server, chance.split("server")),
            server_address: server.address,
            port,
            size,
            begun: 0,
            open: vec![],
            listening: vec![],
            planned: None,
        }
    }

    /// Transfers are under way.
    pub fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Begins the next transfer; if too many are under way it counts as begun and never completes.
    pub fn begin(&mut self, now: Time) {
        let number = self.begun;
        self.begun += 1;
        if self.open.len() >= MOST_OPEN {
            return;
        }
        let server = self.server.socket();
        let listens = self.server.sockets.get_mut::<Socket<'_>>(server).listen(self.port).is_ok();
        let client = self.client.socket();
        let local = local_port(number);
        let to = (IpAddress::Ipv4(self.server_address), self.port);
        let socket = self.client.sockets.get_mut::<Socket<'_>>(client);
        if listens && socket.connect(self.client.interface.context(), to, local).is_ok() {
            self.listening.push(server);
            self.open.push(Transfer { number, begun: now, client, server: None, written: 0, read: 0 });
        } else {
            self.client.sockets.remove(client);
            self.server.sockets.remove(server);
        }
    }

    /// A packet has arrived at one end.
    pub fn take(&mut self, side: TcpSide, packet: Vec<u8>) {
        self.stack(side).wire.incoming.push_back(packet);
    }

    /// Lets both ends do all they can do now: gives the packets that they send.
    pub fn run(&mut self, tally: &mut Tally, now: Time) -> Vec<(TcpSide, Vec<u8>)> {
        let instant = instant(now);
        loop {
            self.pair_up();
            let moved = self.move_bytes(tally, now);
            let client = self.client.poll(instant);
            let server = self.server.poll(instant);
            if !moved && !client && !server {
                break;
            }
        }
        self.forget_closed();
        let client = self.client.wire.outgoing.drain(..).map(|packet| (TcpSide::Client, packet));
        let server = self.server.wire.outgoing.drain(..).map(|packet| (TcpSide::Server, packet));
        client.chain(server).collect()
    }

    /// When one of the ends wants to run again; later than now.
    pub fn deadline(&mut self, now: Time) -> Option<Time> {
        let instant = instant(now);
        let ends = [&mut self.client, &mut self.server];
        let next = ends.into_iter().filter_map(|end| end.interface.poll_at(instant, &end.sockets)).min()?;
        let micros = u64::try_from(next.total_micros()).unwrap_or(0);
        Some(Time::ZERO + Duration::from_us(micros.div_ceil(FASTER).max(now.as_us() + 1)))
    }

    fn stack(&mut self, side: TcpSide) -> &mut Stack {
        match side {
            TcpSide::Client => &mut self.client,
            TcpSide::Server => &mut self.server,
        }
    }

    /// Whichever socket of the server a connection has come to, its transfer knows it by the client's port.
    fn pair_up(&mut self) {
        let sockets = &self.server.sockets;
        let peer =
            |socket: SocketHandle| sockets.get::<Socket<'_>>(socket).remote_endpoint().map(|end| end.port);
        for transfer in &mut self.open {
            let port = local_port(transfer.number);
            if let Some(socket) = transfer.server.take_if(|socket| peer(*socket) != Some(port)) {
                self.listening.push(socket);
            }
            if transfer.server.is_none() {
                let found = self.listening.iter().position(|socket| peer(*socket) == Some(port));
                transfer.server = found.map(|at| self.listening.remove(at));
            }
        }
    }

    /// Clients write what fits, servers read what is there: true if either did anything.
    fn move_bytes(&mut self, tally: &mut Tally, now: Time) -> bool {
        let mut moved = false;
        for transfer in &mut self.open {
            let client = self.client.sockets.get_mut::<Socket<'_>>(transfer.client);
            if transfer.written < self.size && client.can_send() {
                let (at, left) = (transfer.written, self.size - transfer.written);
                let number = transfer.number;
                let written = client.send(|room| {
                    let length = room.len().min(left as usize);
                    let bytes = room.iter_mut().take(length).zip(0u32..);
                    bytes.for_each(|(byte, i)| *byte = content(number, at + i));
                    (length, length)
                });
                transfer.written += written.unwrap_or(0) as u32;
                moved |= written.is_ok_and(|bytes| bytes > 0);
                if transfer.written == self.size {
                    client.close();
                }
            }
            let Some(server) = transfer.server else { continue };
            let server = self.server.sockets.get_mut::<Socket<'_>>(server);
            if server.can_recv() {
                let (at, number) = (transfer.read, transfer.number);
                let read = server.recv(|bytes| {
                    let differ = (0u32..).zip(bytes.iter()).any(|(i, byte)| *byte != content(number, at + i));
                    (bytes.len(), (bytes.len(), differ))
                });
                let (bytes, differ) = read.unwrap_or((0, false));
                transfer.read += bytes as u32;
                moved |= bytes > 0;
                tally.corrupted += u64::from(differ);
                tally.arrived(bytes as u64, now);
                if transfer.read == self.size && bytes > 0 {
                    tally.done(transfer.begun, now);
                }
            }
            if transfer.read == self.size && server.state() == State::CloseWait {
                server.close();
                moved = true;
            }
        }
        moved
    }

    /// Connections that are over, one way or the other, leave.
    fn forget_closed(&mut self) {
        let (clients, servers) = (&mut self.client.sockets, &mut self.server.sockets);
        let listening = &mut self.listening;
        self.open.retain(|transfer| {
            let client = clients.get::<Socket<'_>>(transfer.client).state();
            let server = transfer.server.map(|socket| servers.get::<Socket<'_>>(socket).state());
            let is_over = matches!(
                (client, server),
                (State::Closed, Some(State::Closed) | None) | (State::TimeWait, Some(State::Closed))
            );
            if is_over {
                clients.remove(transfer.client);
                transfer.server.or_else(|| listening.pop()).map(|socket| servers.remove(socket));
            }
            !is_over
        });
    }
}

/// The port that the client of a transfer uses.
fn local_port(number: u32) -> u16 {
    FIRST_PORT + (number % 50_000) as u16
}

/// What byte `at` of a transfer is.
fn content(number: u32, at: u32) -> u8 {
    (at ^ at >> 8 ^ at >> 16).wrapping_add(number) as u8
}

/// smoltcp's idea of a point in time.
fn instant(now: Time) -> Instant {
    Instant::from_micros(i64::try_from(now.as_us().saturating_mul(FASTER)).unwrap_or(i64::MAX))
}

impl Stack {
    fn new(end: TcpEnd, mut chance: Rng) -> Stack {
        let mut wire = Packets { mtu: end.mtu, incoming: VecDeque::new(), outgoing: VecDeque::new() };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = chance.next_u64();
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        // Everybody is a neighbour: the host knows the way.
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(IpAddress::Ipv4(end.address), 0));
        });
        Stack { interface, sockets: SocketSet::new(vec![]), wire }
    }

    fn socket(&mut self) -> SocketHandle {
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(CongestionControl::Reno);
        socket.set_timeout(Some(PATIENCE));
        self.sockets.add(socket)
    }

    /// True if anything happened.
    fn poll(&mut self, now: Instant) -> bool {
        let waiting = self.wire.incoming.len() + self.wire.outgoing.len();
        let result = self.interface.poll(now, &mut self.wire, &mut self.sockets);
        result == PollResult::SocketStateChanged
            || self.wire.incoming.len() + self.wire.outgoing.len() != waiting
    }
}

impl Device for Packets {
    type RxToken<'a> = Incoming;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming, Outgoing<'_>)> {
        let packet = self.incoming.pop_front()?;
        Some((Incoming(packet), Outgoing(&mut self.outgoing)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        Some(Outgoing(&mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu as usize;
        capabilities
    }
}

/// A packet that a stack reads.
struct Incoming(Vec<u8>);

impl RxToken for Incoming {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

/// Room for a packet that a stack writes.
struct Outgoing<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let mut packet = vec![0; length];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}
