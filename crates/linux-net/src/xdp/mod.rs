//! Frames of an interface by AF_XDP sockets: before the kernel makes packets of them, in memory that both sides share.
#![allow(unsafe_code)]

mod program;

pub use program::Mode;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{MsgFlags, send};
use nix::sys::time::TimeSpec;
use program::{Attached, Frames, MOST_QUEUES};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;
use xdp::nic::NicIndex;
use xdp::slab::Slab;
use xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{Packet, RingConfigBuilder, Rings, Umem};

/// Frames of each ring.
const RING: u32 = 2048;

/// Frames that are handed over at a time.
const BATCH: usize = 64;

/// Bytes of the longest frame.
pub const LONGEST: usize = 2048 - 256;

/// Limit on the calls to send waiting frames: one call sends 32 frames.
const CALLS: usize = 16;

/// The sockets of one interface, one for each queue.
pub struct Sockets {
    // The program is detached first: then no frame goes to the sockets any more.
    _attached: Attached,
    /// How they get frames.
    pub mode: Mode,
    /// Sockets by queue.
    pub all: Vec<Socket>,
}

/// The socket of one queue.
pub struct Socket {
    socket: XdpSocket,
    rings: Rings,
    slab: Few,
    // It goes last: the others point into it.
    umem: Umem,
}

/// Packets in flight, first in, first out.
#[derive(Default)]
struct Few {
    packets: VecDeque<Packet>,
    /// Number of frames for which there is room.
    most: usize,
}

impl Slab for Few {
    fn available(&self) -> usize {
        self.most.saturating_sub(self.packets.len())
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn push_front(&mut self, packet: Packet) -> Option<Packet> {
        self.packets.push_front(packet);
        None
    }

    fn pop_back(&mut self) -> Option<Packet> {
        self.packets.pop_back()
    }
}

// SAFETY: the rings point to memory of the process, which is theirs alone.
unsafe impl Send for Socket {}

/// An interface whose frames go nowhere, while this is there.
pub struct Dropping {
    _attached: Attached,
}

impl Dropping {
    /// Begins.
    pub fn at(index: u32) -> io::Result<Dropping> {
        Ok(Dropping { _attached: Attached::drop_all(index, Mode::Native)? })
    }
}

impl Sockets {
    /// Sockets for all queues of the interface with a number.
    pub fn open(index: u32, mode: Mode) -> io::Result<Sockets> {
        Sockets::of(index, mode, Frames::All)
    }

    /// Sockets for datagrams of UDP over IPv4 to a port, in the driver if it runs programs. The kernel keeps all other frames of the interface.
    pub fn open_udp(index: u32, port: u16) -> io::Result<Sockets> {
        match Sockets::of(index, Mode::Native, Frames::Udp(port)) {
            Err(error) if is_missing(&error) => Sockets::of(index, Mode::Generic, Frames::Udp(port)),
            opened => opened,
        }
    }

    fn of(index: u32, mode: Mode, frames: Frames) -> io::Result<Sockets> {
        let attached = Attached::redirect(index, mode, frames)?;
        let mut all = vec![];
        for queue in 0..MOST_QUEUES {
            match Socket::open(index, queue) {
                Ok(socket) => {
                    attached.add(queue, socket.as_fd())?;
                    all.push(socket);
                }
                // There is no such queue.
                Err(error) if queue > 0 && error.raw_os_error() == Some(libc::EINVAL) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Sockets { _attached: attached, mode, all })
    }

    /// Waits until a frame has come, or so long.
    pub fn wait(&self, most: Duration) -> io::Result<()> {
        let mut files: Vec<PollFd> =
            self.all.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        match ppoll(&mut files, Some(TimeSpec::from(most)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets").field("mode", &self.mode).field("queues", &self.all.len()).finish()
    }
}

/// True if the system has no AF_XDP, or not for this interface.
pub fn is_missing(error: &io::Error) -> bool {
    let error = Errno::from_raw(error.raw_os_error().unwrap_or(0));
    matches!(error, Errno::EOPNOTSUPP | Errno::EAFNOSUPPORT | Errno::ENOSYS | Errno::EINVAL)
}

impl Socket {
    fn open(index: u32, queue: u32) -> io::Result<Socket> {
        let other = |error: xdp::error::Error| io::Error::other(error.to_string());
        let memory = UmemCfgBuilder {
            frame_size: FrameSize::TwoK,
            frame_count: 2 * RING,
            ..UmemCfgBuilder::default()
        };
        let mut umem = Umem::map(memory.build().map_err(other)?)?;
        let counts =
            RingConfigBuilder { rx_count: RING, tx_count: RING, fill_count: RING, completion_count: RING };
        let mut socket = XdpSocketBuilder::new().map_err(failed)?;
        let (mut rings, flags) = socket.build_rings(&umem, counts.build().map_err(other)?).map_err(failed)?;
        // SAFETY: the memory lives as long as the rings: they are dropped together, and the socket before.
        unsafe { rings.fill_ring.enqueue(&mut umem, RING as usize) };
        let socket = socket.bind(NicIndex(index), queue, flags).map_err(failed)?;
        Ok(Socket { socket, rings, slab: Few::default(), umem })
    }

    /// Hands the frames that have come to `take`, `most` at most, and gives how many there were.
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(&[u8])) -> usize {
        self.slab.most = most;
        // SAFETY: the packets are given back below, before the memory goes.
        let count = match &mut self.rings.rx_ring {
            Some(ring) => unsafe { ring.recv(&self.umem, &mut self.slab) },
            None => 0,
        };
        while let Some(packet) = self.slab.pop_back() {
            take(&packet);
            self.umem.free_packet(packet);
        }
        if count > 0 {
            // SAFETY: see `open`.
            unsafe { self.rings.fill_ring.enqueue(&mut self.umem, count) };
        }
        count
    }

    /// Sends frames in order; none may be longer than [`LONGEST`]. Returns the number of frames taken.
    pub fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> usize {
        self.rings.completion_ring.dequeue(&mut self.umem, RING as usize);
        self.slab.most = BATCH;
        let mut sent = 0;
        for frame in frames {
            // SAFETY: the packet goes into the ring, or back, before the memory goes.
            let Some(mut packet) = (unsafe { self.umem.alloc() }) else { break };
            if packet.append(frame).is_err() {
                self.umem.free_packet(packet);
                break;
            }
            self.slab.push_front(packet);
            sent += 1;
            if self.slab.available() == 0 && !self.pass() {
                break;
            }
        }
        self.pass();
        self.wake();
        sent
    }

    /// Puts collected frames into the ring; false if it is full, and the rest is lost. There are no more frames than
    /// places.
    fn pass(&mut self) -> bool {
        if let Some(ring) = &mut self.rings.tx_ring {
            // SAFETY: see `open`.
            unsafe { ring.send(&mut self.slab) };
        }
        let is_done = self.slab.is_empty();
        while let Some(packet) = self.slab.pop_back() {
            self.umem.free_packet(packet);
        }
        is_done
    }

    /// Asks the kernel to send the frames in the ring.
    fn wake(&mut self) {
        for _ in 0..CALLS {
            match send(self.socket.as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN | Errno::EBUSY | Errno::EINTR) => {}
                // The rest goes with the next ones.
                _ => break,
            }
        }
    }

    /// Frames that had no room since the last time it was opened, and those that were too long.
    pub fn lost(&self) -> (u64, u64) {
        self.socket.statistics().map_or((0, 0), |counts| {
            (counts.rx_ring_full + counts.rx_fill_ring_empty_descs, counts.rx_dropped)
        })
    }

    /// File descriptor for polling.
    pub fn file(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open for as long as the socket is.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

fn failed(error: SocketError) -> io::Error {
    match error {
        SocketError::SocketCreation(inner) | SocketError::Bind(inner) => inner,
        SocketError::SetSockOpt { inner, .. } | SocketError::GetSockOpt { inner, .. } => inner,
        SocketError::RingMap { inner, .. } => inner,
    }
}
