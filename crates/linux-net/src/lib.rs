//! Linux's network interfaces.
//!
//! | | |
//! |---|---|
//! | [`find`], [`all`], [`Monitor`] | existing interfaces and their changes (rtnetlink) |
//! | [`packet`] | frames by packet sockets: a ring that the kernel fills, and batches that it sends |
//! | [`xdp`] | frames by AF_XDP sockets |
//!
//! Everything here belongs to the network namespace of the thread that opened it.

mod link;
pub mod packet;
mod sys;
pub mod xdp;

pub use link::{Change, Link, Monitor, all, find};
