//! Linux's network interfaces.
//!
//! | | |
//! |---|---|
//! | [`find`], [`all`], [`Monitor`] | existing interfaces and their changes (rtnetlink) |
//! | [`free_addresses`] | addresses of the loopback that nobody takes by chance |
//! | [`allow_received`], [`receive_waiting`] | memory for packets that wait at a socket; the first of them |
//! | [`packet`] | frames by packet sockets: a ring that the kernel fills, and batches that it sends |
//! | [`xdp`] | frames by AF_XDP sockets |
//! | [`open_tap`] | TAP interfaces |
//!
//! Everything here belongs to the network namespace of the thread that opened it.

mod link;
pub mod packet;
mod ports;
mod sys;
mod tap;
pub mod xdp;

pub use link::{Change, Link, Monitor, all, find};
pub use ports::free_addresses;
pub use tap::open_tap;

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// Allows packets that wait at a socket to take so many bytes of the kernel's memory, which counts more than their bytes; gives how many they may take. It is
/// less without CAP_NET_ADMIN, if twice `net.core.rmem_max` is.
pub fn allow_received(socket: &impl AsFd, bytes: usize) -> io::Result<usize> {
    // The kernel doubles the number.
    let wanted = i32::try_from(bytes / 2).unwrap_or(i32::MAX / 2);
    sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &wanted)
        .or_else(|_| sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &wanted))?;
    let mut allowed = 0;
    sys::option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &mut allowed)?;
    Ok(usize::try_from(allowed).unwrap_or(0))
}

/// Receives a datagram that waits at a socket: its bytes, at most as many as the buffer has; none if none waits. Errors of earlier datagrams are passed over.
pub fn receive_waiting<'a>(socket: &impl AsFd, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let raw = socket.as_fd().as_raw_fd();
    loop {
        match nix::sys::socket::recv(raw, buffer, nix::sys::socket::MsgFlags::MSG_DONTWAIT) {
            Ok(length) => return buffer.get(..length),
            Err(nix::errno::Errno::EINTR | nix::errno::Errno::ECONNREFUSED) => {}
            Err(_) => return None,
        }
    }
}
