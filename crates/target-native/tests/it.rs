//! The tests of this crate as one program: linking one takes longer than compiling it.

mod ahead;
mod classes;
mod common;
mod copies;
mod exact;
mod externs;
mod firewall;
mod flows;
mod frames;
mod hashes;
mod idle;
mod lookahead;
mod many_headers;
mod prefixes;
mod psa;
mod queues;
mod reports;
mod router;
mod shared;
mod shared_calls;
mod size;
mod ticks;
mod tna;
mod value_externs;
mod varbit;
mod workers;
