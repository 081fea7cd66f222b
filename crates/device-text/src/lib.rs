//! Actions and state of a device, for people and for tools: traces of packets and state objects as text, JSON and
//! `p4.bm.PacketTrace`.

pub mod state;
pub mod trace;
