//! Several v1model programs as one: each packet goes through the program of the app whose [class](traffic_classes::Class) it belongs to.
//!
//! ```text
//! parser   start ── class of the packet ──> states of firewall.p4, over hdr.firewall, meta.firewall
//!                                      └──> states of nat.p4, over hdr.nat, meta.nat
//! ingress  if (meta.app == 1) firewall_MyIngress.apply(hdr.firewall, meta.firewall, standard_metadata);
//!          else if (meta.app == 2) nat_MyIngress.apply(hdr.nat, meta.nat, standard_metadata);
//!          else mark_to_drop(standard_metadata);
//! deparser emits of firewall.p4, emits of nat.p4: the headers of all apps but one are invalid
//! ```
//!
//! ExoPlane §5 merges controls and is silent about parsers. v1model has one parser, so the class is decided there, by lookahead: an
//! app's states then see the packet from its first bit, and only the app's own headers and metadata. The number of the app is the first
//! field of the merged metadata. It stays with a packet that is cloned, resubmitted or recirculated, whatever its
//! headers have become.
//!
//! Apps with equal headers whose parse graphs agree may have one parser, one set of headers and one deparser
//! ([`App::shares_parser`]); only their metadata are their own then.
//!
//! Regions that are placed ([`App::has_regions`]) must lie in the bodies of ingress and egress, so the apps' controls become part of these then.
//!
//! **Invariant**: a packet of an app's class does in the merged program what it does in the app alone, with the same entries
//! under the names of [`Share`]. Where that cannot be had, the merge is refused.

mod app;
mod builder;
mod classify;
mod common_parser;
mod controls;
mod effects;
mod externs;
mod ids;
mod merge;
mod parser;
mod refuse;
mod regions;
mod scan;
mod share;
mod substitute;
mod types;

pub use app::App;
pub use ids::Ids;
pub use merge::{Merged, merge};
pub use share::{Numbers, Share, TooLarge, Traffic};
pub use substitute::Substitution;
