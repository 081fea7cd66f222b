//! Linux's network interfaces.
//!
//! | | |
//! |---|---|
//! | [`find`], [`all`], [`Monitor`] | existing interfaces and their changes (rtnetlink) |
//! | [`allow_received`] | memory for packets that wait at a socket |
//! | [`packet`] | frames by packet sockets: a ring that the kernel fills, and batches that it sends |
//! | [`xdp`] | frames by AF_XDP sockets |
//!
//! Everything here belongs to the network namespace of the thread that opened it.

mod link;
pub mod packet;
mod sys;
pub mod xdp;

pub use link::{Change, Link, Monitor, all, find};

use std::io;
use std::os::fd::AsFd;

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
