//! Packets and entries made from a program: random, but drawn from few values, so that they meet.

mod entries;
mod mended;
mod packets;
mod pool;
mod setup;

pub use entries::{EntrySpec, entries};
pub use mended::MendedPackets;
pub use packets::PacketMaker;
pub use pool::Pool;
pub use setup::{Setup, setup, truncate_clones};
