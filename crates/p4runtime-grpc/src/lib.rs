//! P4Runtime's service over gRPC, a service of our own for what it lacks, and the way from a rack's controller to agents in other
//! processes, which speaks both.
//!
//! ```text
//! controllers ══gRPC══ Front ──Command──> whoever owns the Server and its device, one thread
//!                        ^ ──────────────── Streams, answers ──────────┘
//! ```
//!
//! [`serve`] accepts connections and turns each call into a [`Command`]; nothing here knows P4Runtime's rules. All queues
//! are bounded: a call that finds the device's queue full is answered `UNAVAILABLE`, a message on a stream waits and
//! lets its sender wait, and a controller that does not read loses what it does not read.

mod command;
mod link;
mod rack;
mod secret;
mod serve;
mod service;
mod streams;
mod tls;

pub use command::{Command, Found, Front, Incoming, queue};
pub use link::{Link, LinkEnd, Place, link};
pub use p4runtime_server::{Output, Status, StreamId};
pub use secret::{Badge, Secret};
pub use serve::{ServeError, chain, serve};
pub use streams::Streams;
pub use tls::{ClientTls, Tls, endpoint, failure};

/// A client of P4Runtime.
pub use generated::p4_runtime_client::P4RuntimeClient;
/// A client of the service of our own.
pub use generated_rack::rack_client::RackClient;

#[allow(missing_docs, clippy::all)]
mod generated {
    tonic::include_proto!("p4.v1");
}

#[allow(missing_docs, clippy::all)]
mod generated_rack {
    tonic::include_proto!("p4rack.v1");
}
