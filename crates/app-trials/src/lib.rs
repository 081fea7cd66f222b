//! The example apps (`examples/apps`) with their controllers, and what must be true of each (ExoPlane, section 5). All from seeds.
//!
//! | module | app | property |
//! |---|---|---|
//! | [`acl`] | access lists | each verdict is that of the rules at its time |
//! | [`firewall`] | stateful firewall | a packet from outside passes if, and only if, a host inside has opened its connection |
//! | [`vpn`] | VPN gateway | each frame as a model has it; counts of tenants that come and go |
//! | [`nat`] | NAT of tenants, of machines | no two flows with one public side; replies as without a NAT; ports not used again too early |
//! | [`syn_proxy`] | SYN proxy | streams arrive as they were sent; nothing is kept of a spoofed SYN |
//! | [`univmon`] | UnivMon | cells are the exact sums; estimates near the exact numbers |
//! | [`net_cache`] | NetCache | reads and writes of a key are linearizable; no value is mixed |
//!
//! A trial runs on a [`Network`](network::Network): one device, or a rack that looks like one. The controllers are the same on both.

pub mod acl;
pub mod firewall;
pub mod frames;
pub mod linear;
pub mod nat;
pub mod net_cache;
pub mod network;
pub mod syn_proxy;
pub mod tcp;
pub mod traffic;
pub mod univmon;
pub mod vpn;
