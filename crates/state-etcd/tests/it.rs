//! Controllers with their state in etcd, in virtual time and over gRPC.

#![allow(clippy::disallowed_methods)]

mod faults;
mod members;
mod server;
mod stores;
mod world;
