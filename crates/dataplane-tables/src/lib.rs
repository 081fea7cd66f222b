//! The engine's match tables: structures by match kind and size, their control, and how changes reach the workers.
//!
//! ```text
//! EntryKey ──> Control (one)                          key words ──> Table (a copy or two)
//!              every entry, once      publish                       direct, hash, lpm, vectors or tuples
//!              checks, reads       ────────────>                    ──> entry number ──> record: action, data
//! ```
//!
//! - [`KeyLayout`] says how a packet's key lies in words.
//! - [`Control`] takes writes, refuses wrong ones, answers reads. Entry numbers stay as long as entries live.
//! - [`Tables`] is one copy for one thread, [`Shared`] two for many: [`Shared::pin`] once a batch,
//!   [`Table::lookup`] or [`Table::lookup_batch`], then the [`Records`].
//! - [`Profile`] is an action profile or selector.
//!
//! Which structure a table has follows from its key and its entries:
//!
//! | key | structure | a lookup reads |
//! |---|---|---|
//! | exact, up to 16 bits | direct array | 1 line |
//! | exact | bucketed cuckoo hash | 1 or 2 buckets, the record |
//! | exact fields and one lpm | hash, or arrays for the first 24 bits; tree bitmap | 2 slots, then a node for 6 bits |
//! | with ternary, range, optional, up to 14 bits | array of the best entries | 1 line |
//! | with ternary, range, optional | bit vectors; tuple space search | a row for 4 bits and 256 rules; a chain for a tuple |
//!
//! Without threads, clock and randomness of its own. Semantics are those of the reference interpreter.
//!
//! ```
//! use dataplane_tables::*;
//! let dst = Field { kind: MatchKind::Lpm, width: 32 };
//! let spec = TableSpec { layout: KeyLayout::new(&[dst]), size: 1024, data_words: 1, profile: None, const_entries: false };
//! let mut control = Control::new(vec![spec], &[], 0x5eed);
//! let shared = Shared::new(&control);
//! let prefix = EntryKey { value: vec![0x0a00_0000], mask: vec![0xff00_0000], priority: 0 };
//! let entry = control.insert(0, &prefix, &Run::Action(3, vec![7])).unwrap();
//! shared.publish(&mut control);
//! let tables = shared.pin();
//! assert_eq!(tables.table(0).lookup(&[0x0a01_0203]), entry);
//! assert_eq!(tables.table(0).records().action(entry), [3, 7]);
//! assert_eq!(tables.table(0).lookup(&[0x0b01_0203]), MISS);
//! ```

mod control;
mod cpu;
mod exact;
mod hash;
mod key;
mod layout;
mod lpm;
mod masked;
mod profile;
mod records;
mod shared;
mod store;
mod table;
mod ternary;
mod write_error;

pub use control::{Control, Entry, ProfileId, Run, TableId, TableSpec, action_word};
pub use cpu::{
    DIGEST_BLOCK, DIGEST_LANES, LINE, add_blocks, fast, prefetch, prefetch_lines, prefetch_to_write,
};
pub use exact::Buckets;
pub use hash::{Words, hash};
pub use key::{EntryKey, KeyError};
pub use layout::{Field, KeyLayout, MatchKind, Order, Place, ones};
pub use lpm::FirstBits;
pub use profile::{Profile, ProfileSpec, Spread, Weighted};
pub use records::{MISS, Records};
pub use shared::{Shared, Tables};
pub use table::Table;
pub use write_error::WriteError;
