//! P4Runtime's service over gRPC, p4rack's own service for everything that it lacks, and links from a rack's controller
//! to agents in other processes, which use both.
//!
//! ```text
//! controllers ══gRPC══ Front ──Command──> whoever owns the Server and its device, one thread
//!                        ^ ──────────────── Streams, answers ──────────┘
//! ```
//!
//! [`serve`] accepts connections and turns each call into a [`Command`]; nothing here knows P4Runtime's rules. All
//! queues are bounded: a call that finds the device's queue full is answered `UNAVAILABLE`, a message on a stream makes
//! its sender wait, and a controller that does not read loses messages.
//!
//! Between a connection and a command:
//!
//! ```text
//! accept ── admission: how many, from where, for how long ── TLS, HTTP/2 ── guard: calls, bytes ── head: may it? ── weigh, decode
//! ```

// Connections are served in real time.
#![allow(clippy::disallowed_methods)]

mod admission;
mod answers;
mod asks;
mod budget;
mod codec;
mod command;
mod devices;
mod guard;
mod head;
mod limits;
mod link;
mod local;
mod measured;
mod metrics;
mod operator;
mod parts;
mod pem;
mod rack;
mod saved;
mod secret;
mod serve;
mod service;
mod streams;
mod ticks;
mod tls;
mod trailers;
mod weigh;

pub use admission::{Accepts, Admission, Answering, Client};
pub use budget::{Budget, Hold};
pub use codec::{Codec, Opaque};
pub use devices::Devices;
pub use limits::{Limits, Rules, most_files, most_memory};

pub use command::{Command, Found, Front, Queued, Waiting, queue};
pub use controller::{QueueChange, QueueLimit};
pub use link::{Link, LinkEnd, Place, Running, link};
pub use local::Local;
pub use metrics::{listen_for_metrics, serve_metrics};
pub use operator::{Operator, OperatorError};
pub use p4runtime_server::{Output, Pieces, Status, StreamId};
pub use pem::{certificate_of, only_owner, private, private_key};
pub use secret::{Badge, Secret};
pub use serve::{ServeError, Serving, chain, serve, serve_devices};
pub use streams::Streams;
pub use ticks::SentTick;
pub use tls::{ClientTls, Tls, endpoint, failure};

/// A client of P4Runtime.
pub use generated::p4_runtime_client::P4RuntimeClient;
/// A client of the service of our own.
pub use generated_rack::rack_client::RackClient;

#[allow(missing_docs, clippy::all)]
mod generated {
    include!("../generated/client/p4.v1.rs");
}

#[allow(missing_docs, clippy::all)]
mod generated_rack {
    include!("../generated/client/p4rack.v1.rs");
}

#[allow(missing_docs, unreachable_pub, clippy::all)]
mod generated_server {
    include!("../generated/server/p4.v1.rs");
}

#[allow(missing_docs, unreachable_pub, clippy::all)]
mod generated_rack_server {
    include!("../generated/server/p4rack.v1.rs");
}
