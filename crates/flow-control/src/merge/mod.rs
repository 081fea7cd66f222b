//! One value of the copies that several devices count in: a hub adds up the devices' counts, and sends each device the
//! counts of the others (ExoPlane, section 4.3 and appendix B, with a protocol that is exact when devices restart and
//! messages are lost, duplicated or reordered).
//!
//! ```text
//! device:  shown = own + others          own: counted by packets here since the device started
//!          Push { incarnation, sequence, own of cells that have changed }  ══>  hub
//! hub:     total = banked + sum of own over devices                    banked: of incarnations that have ended
//!          device d  <══  Merge { incarnation, sequence, total - own(d) of cells that have changed }
//! ```
//!
//! Every count is in `own` of exactly one incarnation, so none counts twice; `own` only grows and messages with an
//! older sequence number are dropped, so no copy goes back; when traffic has stopped, one push and one merge of each
//! device make all copies equal and exact. When a device restarts, only its counts since the last push that arrived are
//! lost.
//!
//! A message names the newest message from the other side, and has all cells that have changed since the newest that
//! the other side has named: the next message makes up for a lost one, and the size of messages is proportional to the
//! changes.
//!
//! A control-plane write gives a cell a new epoch, in which every device counts from zero. Counts that race with the write are in one
//! epoch or the other, never in both.
//!
//! A device that does not need a cell any more *retires* it: its last count goes to the hub, which banks it. The device keeps
//! the count until the hub has named the push, and may use the cell again only then.
//!
//! Cells may come and go, as entries of tables do. They are named by numbers that are not used again, and the hub forgets those that have ended.
//! A device that lacks a cell of a merge does not name that merge, so the hub says it again.
//!
//! Whoever keeps what the hub knows of a cell ([`State`]), and of its devices' incarnations, can go on with another hub: it has a larger number, by
//! which devices know that they have to say all again, and take merges by its sequence numbers.
//!
//! `max`, `min` and `or` need no subtraction: a device pushes its present value, and combines it with the merged value.
//!
//! | module | |
//! |---|---|
//! | `message` | what devices and hub say |
//! | `agent` | the side of a device |
//! | `hub` | the side that adds up |
//! | `wire` | messages as bytes |

mod agent;
mod hub;
mod message;
#[cfg(test)]
mod tests;
mod wire;

pub use agent::Agent;
pub use hub::{Banked, Hub, Own, State};
pub use message::{Cell, Change, Kind, Merge, Push, Retired};
pub use wire::{HubMessage, ToDevice, ToHub};

use std::collections::BTreeMap;

/// A value and the message that carried it first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    epoch: u32,
    value: u128,
    since: u64,
}

/// The cells whose value was said first after this message.
fn since<C: Clone + Ord>(sent: &BTreeMap<C, Sent>, acknowledged: u64) -> Vec<Cell<C>> {
    let new = sent.iter().filter(|(_, sent)| sent.since > acknowledged);
    new.map(|(cell, sent)| Cell { cell: cell.clone(), epoch: sent.epoch, value: sent.value }).collect()
}
