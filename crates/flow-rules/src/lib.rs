//! A switch of fixed function: it runs no program, it follows flow rules.
//!
//! ```
//! use dataplane_api::Device;
//! use flow_rules::{FlowRule, FlowSwitch, patch, read};
//! let rules = patch(&[(1, 11)]);
//! let text = flow_rules::print(&rules);
//! assert_eq!(text, "priority=1,in_port=1,actions=output:11\npriority=1,in_port=11,actions=output:1\npriority=0,actions=drop\n");
//! let mut switch = FlowSwitch::new(read(&text).unwrap());
//! let queued = switch.ingress(11, b"frame".to_vec(), base_time::Time::ZERO);
//! assert_eq!(switch.drain(queued, base_time::Time::ZERO)[0].port, 1);
//! ```

mod rule;
mod switch;

pub use rule::{Action, FlowRule, patch, print, read};
pub use switch::FlowSwitch;
