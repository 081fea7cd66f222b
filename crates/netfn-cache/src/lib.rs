//! `kv-cache`: answers reads of memcached (UDP over IPv4, text protocol) from values that passed.
//!
//! | | |
//! |---|---|
//! | synopsis | `KvCache(bit<32> entries, bit<48> max_age_us)`, method `process()` |
//! | what it does | A `get` or `gets` whose keys are all kept is answered: the frame that carries the call on is the answer, with addresses and ports swapped, and the program routes it. Every other frame goes on unchanged. Values of answers that pass, and of `set`, `add`, `replace` and `cas` that the server has stored, are kept. |
//! | coherence | Linearizable for each key, with any loss and reordering between clients, cache and server, as long as every frame between the server and its clients passes this function and no frame comes twice. See below. |
//! | end of life | A value written with seconds to live is kept 2 seconds less (the server's clock ticks in seconds); of a key that may have an end of life unknown to the cache no value of an answer is kept. `max_age_us` is for servers that had such values before the cache began: values of answers are kept so long at most; 0 is without limit. |
//! | state | `entries` (1 to 2^20) values of at most 1,400 bytes; for each entry 32 bytes of counts, 32 of stamps, 8 of a filter; 8,192 requests without an answer, with the values that they write |
//! | admission | When all entries are taken, a key displaces another of 5 that were looked at only if it was asked for more often, of late |
//! | cost | one checksum over a datagram that comes, one lookup for each key, one copy of a value, whose checksum is kept with it; no loop but over the keys of a request |
//! | counters | [`Counted`] |
//!
//! ```p4
//! @frame_extern("kv-cache")
//! extern KvCache {
//!     KvCache(bit<32> entries, bit<48> max_age_us);
//!     void process();
//! }
//! // if (hdr.ports.isValid() && (hdr.ports.dst_port == 11211 || hdr.ports.src_port == 11211)) { cache.process(); }
//! // and then route: an answer goes back to its client
//! ```
//!
//! **Why it is coherent.** A kept value is one that the server had at a moment between two events that the cache saw: a
//! read went on, or a change did, and its answer came. Each key has a stamp, which changes whenever a frame passes that
//! may show another state: a request to change it (before the server can know), an answer to that (before the client
//! can know), an answer to a read that differs from the stored value. Each of these also removes the stored value, and
//! a value is stored only if the stamp is the same as when its request went on. So no client can know a later state
//! while an earlier one is stored. A change that no client knows yet may count as later. Frames that cannot be
//! understood or belong to no request empty the cache: fragments, other protocols' commands, TCP segments with data,
//! IPv6, answers in several datagrams, request ids that are used twice. A server is its IPv4 address, in whatever VLAN.
//! Stamps are shared by keys with one hash; that only keeps values out.

mod cache;
mod packet;
mod pending;
mod sketch;
mod snapshot;
mod store;
mod text;

pub use cache::{Counted, KvCache};
pub use pending::MOST as MOST_PENDING;

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Emitter, ExternError, FrameExtern, Registry, constructor_arguments};
use std::sync::Arc;

/// The name in `@frame_extern("kv-cache")`.
pub const NAME: &str = "kv-cache";

/// The most entries.
pub const MOST_ENTRIES: u64 = 1 << 20;

/// Offers `kv-cache`.
pub fn register(registry: &mut Registry) {
    registry.add(NAME, Arc::new(|args| Ok(Box::new(from_args(args)?))));
}

fn from_args(args: &[Bits]) -> Result<KvCache, ExternError> {
    let [entries, max_age_us] = constructor_arguments(NAME, [("entries", 32), ("max_age_us", 48)], args)?;
    if !(1..=MOST_ENTRIES).contains(&entries) {
        let message = format!("`entries` of `{NAME}` is 1 to {MOST_ENTRIES}, and not {entries}");
        return Err(ExternError(message));
    }
    let max_age = (max_age_us > 0).then(|| Duration::from_us(max_age_us));
    Ok(KvCache::new(entries as usize, max_age))
}

impl FrameExtern for KvCache {
    fn call(&mut self, _method: &str, _args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        match self.process(frame, now) {
            Some(answer) => out.carry_on(answer),
            None => out.carry_on(frame.to_vec()),
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn tick(&mut self, _now: Time, _out: &mut Emitter) {}

    fn snapshot(&self) -> Vec<u8> {
        snapshot::write(self)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), ExternError> {
        *self = snapshot::read(self, bytes)?;
        Ok(())
    }
}

/// Every bit of the result depends on every bit of both.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xbf58_476d_1ce4_e5b9);
    let folded = product as u64 ^ (product >> 64) as u64;
    (folded ^ folded >> 29).wrapping_mul(0x94d0_49bb_1331_11eb)
}
