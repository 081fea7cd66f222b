//! `RACK.toml`: devices, links, hosts, apps, workloads, faults.
//!
//! [`read_rack`] turns the text of the file into a [`Rack`]; every mistake is a diagnostic of range 06xx with the
//! place of the key or value. The modules below show the keys of each section. Nothing here opens files: paths are
//! kept as they are written.
//!
//! ```
//! let text = r#"
//! [device.tor]
//! class = "switch"
//! [host.h1]
//! mac = "02:00:00:00:01:01"
//! ip = "10.0.1.1/24"
//! [[link]]
//! ends = ["h1", "tor:1"]
//! rate = "1Gbit/s"
//! delay = "500ns"
//! "#;
//! let (rack, diagnostics) = rack_model::read_rack(text, 1);
//! assert!(diagnostics.is_empty());
//! assert_eq!(rack.unwrap().links[0].delay.to_string(), "500ns");
//! ```

mod address;
pub mod app;
mod check;
pub mod control;
pub mod demand;
pub mod device;
pub mod expect;
pub mod failover;
pub mod fault;
pub mod generate;
pub mod group;
pub mod host;
mod ids;
pub mod job;
mod legacy;
pub mod link;
pub mod moves;
mod names;
pub mod pinning;
pub mod plan;
mod rack;
mod read;
pub mod runtime;
mod section;
mod settings;
mod spanned;
pub mod stage;
mod value;
pub mod watch;
pub mod workload;

pub use address::Network;
pub use app::{App, Cuts, Placement, Policy, Regions};
pub use base_time::Probability;
pub use control::{Control, Replace};
pub use demand::{Demand, FlowShares};
pub use device::{Call, Device};
pub use device_classes::DeviceClass;
pub use expect::{Amount, Bound, Expect, Measure, Relation};
pub use failover::Failover;
pub use fault::{Fault, FaultKind};
pub use group::{Group, MemberChange, Membership, Pace, Scale, Variant};
pub use host::Host;
pub use host_programs::Mac;
pub use ids::{DeviceId, HostId, LinkId, NodeId};
pub use job::Job;
pub use legacy::Cable;
pub use link::{End, Link};
pub use moves::{Move, Side};
pub use plan::{Again, Planning};
pub use rack::Rack;
pub use read::{read_rack, read_rack_with};
pub use runtime::Runtime;
pub use settings::{Setting, SettingError, with_settings};
pub use spanned::Spanned;
pub use stage::Stage;
pub use watch::Field;
pub use workload::Workload;
