//! `[plan]`: settings of the planner.
//!
//! ```toml
//! [plan]
//! rules = ["costs.rules"]               # functions of device classes and their costs, as text or as a table (.csv)
//! objectives = ["Power", "Latency"]     # most important first; default: Latency, the charges in rules, devices
//! rate = "2Gbit/s"                      # rate of the incoming traffic; default: loads are not checked
//! size = 1000                           # bytes of a packet; default 1500
//! tiers = "tightest"                    # which of several rules that cover a state are used; or "any"
//! ```

use crate::Spanned;
use crate::section::{Entry, Reader, Section};
use crate::value;
use base_time::Rate;

/// Settings of the planner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planning {
    /// Paths of rules, as written.
    pub rules: Vec<Spanned<String>>,
    /// Objectives of plans.
    pub objectives: Vec<Spanned<String>>,
    /// Rate of incoming traffic.
    pub rate: Option<Rate>,
    /// Bytes of a packet.
    pub size: u32,
    /// Any rule that covers a state may be used, not only the tightest.
    pub any_tier: bool,
}

impl Default for Planning {
    fn default() -> Planning {
        Planning { rules: vec![], objectives: vec![], rate: None, size: 1500, any_tier: false }
    }
}

const TIERS: [(&str, Option<bool>); 2] = [("tightest", Some(false)), ("any", Some(true))];

pub(crate) fn read(r: &mut Reader, entry: Entry<'_>) -> Planning {
    let default = Planning::default();
    let Some(mut s) = Section::new(r, "`[plan]`".to_string(), entry.key_span, entry.item) else {
        return default;
    };
    let rules = s.optional(r, "rules", |r, i| value::list(r, i, value::string));
    let objectives = s.optional(r, "objectives", |r, i| value::list(r, i, value::string));
    let rate = s.optional(r, "rate", value::rate);
    let size = s.optional(r, "size", |r, i| value::small(r, i, 1..=65_535));
    let tiers = s.optional(r, "tiers", |r, i| value::choice(r, i, &TIERS));
    s.finish(r);
    Planning {
        rules: rules.map_or(vec![], |list| list.value),
        objectives: objectives.map_or(vec![], |list| list.value),
        rate: rate.map(|rate| rate.value),
        size: size.map_or(default.size, |size| size.value),
        any_tier: tiers.is_some_and(|tiers| tiers.value),
    }
}
