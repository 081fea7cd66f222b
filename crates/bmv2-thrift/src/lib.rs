//! BMv2's Thrift over TCP: its services for the switch of this process ([`serve`]), a client ([`Client`]), and digests for subscribers ([`Notifications`]).
//!
//! ```text
//! connections ── admission ── bytes to messages ──calls──> one thread: bmv2::Services ──> Local, as whoever runs the switch
//! ```
//!
//! Calls of all connections are done one after the other. Anybody who reaches the address can control the switch: it belongs on the loopback.

// Connections are served in real time.
#![allow(clippy::disallowed_methods)]

mod backlog;
mod client;
mod local;
mod notifications;
mod server;

pub use client::Client;
pub use notifications::{Notifications, NotificationsAddress, NotificationsListener, SUBSCRIBERS};
pub use server::{CONNECTIONS, serve};
