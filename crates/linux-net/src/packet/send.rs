//! Sending frames.

use super::{HEAD, NEEDS_CHECKSUM, TCP_V4, TCP_V6};
use crate::sys;
use base_offload::Joined;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

/// Bytes that wait for the interface.
const WAITING: i32 = 4 << 20;

/// Work left to the card, as the header before a frame.
pub struct Work([u8; HEAD]);

impl Work {
    /// Nothing: the frame is as it is on the wire.
    pub const NONE: Work = Work([0; HEAD]);

    /// Frames that were joined are cut again.
    pub fn cut(joined: &Joined) -> Work {
        let (mut head, offload) = ([0; HEAD], joined.offload());
        let mut set =
            |at: usize, value: usize| head[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
        set(2, joined.header().len());
        set(4, offload.large.map_or(0, |large| large.size));
        set(6, offload.checksum.map_or(0, |partial| partial.start));
        set(8, offload.checksum.map_or(0, |partial| partial.offset));
        head[0] = NEEDS_CHECKSUM;
        head[1] = if joined.is_v6() { TCP_V6 } else { TCP_V4 };
        Work(head)
    }

    /// As the first piece of its message.
    pub fn piece(&self) -> IoSlice<'_> {
        IoSlice::new(&self.0)
    }
}

/// Sends frames by one interface. They pass its queueing discipline: a rate that `tc` sets is kept.
pub struct Sender(OwnedFd);

impl Sender {
    /// Opens a socket on the interface with this number.
    pub fn open(index: u32) -> io::Result<Sender> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        sys::set_option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &WAITING)
            .or_else(|_| sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, &WAITING))?;
        // It receives nothing.
        sys::bind_packet(socket.as_fd(), index, 0)?;
        Ok(Sender(socket))
    }

    /// Sends messages, each the pieces from the end of the one before it to its own: [`Work`], and then the frame. Gives how many were sent, 64 at most; an
    /// error is that of the first.
    pub fn send(&self, pieces: &[IoSlice], ends: &[usize]) -> io::Result<usize> {
        sys::send_messages(self.0.as_fd(), pieces, ends)
    }
}
