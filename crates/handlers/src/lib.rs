//! Handlers in C, and in Python, built by the machine's compiler, as value externs.
//!
//! - `build`: sources to a library and a worker program, or to diagnostics; `messages` reads those of the compiler
//! - `inline`: calls in this process, for emulated devices; `library` loads and calls, and is the only file with `unsafe`
//! - `isolated`: calls in a process of the handler's own, for real devices: a crash there harms nothing else
//! - `python`: handlers in Python, for prototypes; always in processes of their own
//! - `numbers`: values of a program as the bytes of a request or a response
//!
//! Both implementations give the same answers and the same snapshots, so an instance can be moved from one to the other.

mod build;
mod failure;
mod inline;
mod isolated;
mod leased;
mod library;
mod messages;
mod mirrors;
mod numbers;
mod process;
mod python;
mod scratch;
mod snapshot;

pub use build::{Built, Sources, build};
pub use failure::{Failure, Failures, News, Reporter, Slow};
pub use inline::Inline;
pub use isolated::Isolated;
pub use process::BUDGET;

use base_bits::Bits;
use dataplane_api::{Registry, ValueExtern};
use std::sync::Arc;

/// Size of the arena of a handler's instance, in bytes. The system allocates pages when they are used.
pub const ARENA: u64 = 64 << 20;

/// The part of leased blocks that a server has: those whose number is `server` modulo `servers`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Number of the server, less than `servers`.
    pub server: u16,
    /// The servers that share the blocks.
    pub servers: u16,
}

/// All blocks.
impl Default for Share {
    fn default() -> Share {
        Share { server: 0, servers: 1 }
    }
}

impl Share {
    /// The part of one of so many workers that share this part.
    fn part(self, worker: u16, workers: u16) -> Share {
        let Share { server, servers } = self;
        Share {
            server: server.saturating_add(servers.saturating_mul(worker)),
            servers: servers.saturating_mul(workers),
        }
    }

    /// The worker, of so many, that has a leased block: the one whose `part` it is, if this server is its home.
    fn worker(self, block: u64, workers: usize) -> usize {
        (block / u64::from(self.servers.max(1)) % workers.max(1) as u64) as usize
    }

    /// The part that an instance's arguments say.
    fn of_args(args: &[Bits]) -> Share {
        match args {
            [server, servers] => Share { server: server.low_u64() as u16, servers: servers.low_u64() as u16 },
            _ => Share::default(),
        }
    }
}

/// The process in which the calls of a handler run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Isolation {
    /// In this process: fast, and a handler that crashes ends the process, with a message.
    #[default]
    Inline,
    /// In a process of their own.
    Process,
    /// In so many processes. Those of a flow are in one of them.
    Processes(u16),
}

/// The bytes of a request with these numbers, one for each field.
pub fn packed(handler: &ir_handlers::Handler, request: &[Bits]) -> Vec<u8> {
    let mut bytes = vec![0; handler.request.size];
    numbers::encode(&handler.request, request, &mut bytes);
    bytes
}

/// Registers the handlers of a library as value externs. `seed` seeds the random numbers of all instances.
pub fn register(built: &Arc<Built>, isolation: Isolation, seed: u64, registry: &mut Registry) {
    for handler in built.handlers() {
        let (built, handler) = (Arc::clone(built), Arc::new(handler.clone()));
        let offer = Arc::clone(&handler);
        let make = move |args: &[Bits]| -> Result<Box<dyn ValueExtern>, dataplane_api::ExternError> {
            let share = Share::of_args(args);
            let workers = match isolation {
                Isolation::Inline if !built.is_in_python(&handler.name) => {
                    return Ok(Box::new(Inline::sharing(&built, &handler, seed, share)?));
                }
                Isolation::Processes(workers) => workers,
                _ => 1,
            };
            Ok(Box::new(Isolated::sharing(&built, &handler, seed, share, workers)?))
        };
        registry.add_value(&offer.name, ir_handlers::offer(&offer, Arc::new(make)));
    }
}
