//! The tests of this crate as one program: linking one takes longer than compiling it.

mod ending;
mod harm;
mod metrics;
mod notifications;
mod replication;
mod restored;
mod sessions;
mod system_calls;
mod thrift;
