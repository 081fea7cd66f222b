//! `[plan]`: settings of the planner.
//!
//! ```toml
//! [plan]
//! rules = ["costs.rules"]               # functions of device classes and their costs, as text or as a table (.csv)
//! objectives = ["Power", "Latency"]     # most important first; default: Latency, the charges in rules, devices
//! rate = "2Gbit/s"                      # rate of the incoming traffic; default: loads are not checked
//! size = 1000                           # bytes of a packet; default 1500
//! tiers = "tightest"                    # which of several rules that cover a state are used; or "any"
//! again = { differs = "10%", after = "10s" }   # flows of apps that share a switch are planned again when the share of one differs by so much
//!                                              # for so long, or a helper is out of use for so long; the default; or "never"
//! ```

use crate::Spanned;
use crate::section::{Entry, Item, Reader, Section};
use crate::value;
use base_time::{Duration, Probability, Rate};
use toml::de::DeValue;

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
    /// When flows are planned again while the rack runs; `None`: never.
    pub again: Option<Again>,
}

/// When flows of apps that share a switch are planned again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Again {
    /// The share of an app differs from the plan's by so much of the traffic.
    pub margin: Probability,
    /// Time for which it differs, or for which a helper is out of use.
    pub after: Duration,
}

impl Default for Again {
    fn default() -> Again {
        Again { margin: Probability::from_ppb(100_000_000), after: Duration::from_s(10) }
    }
}

impl Default for Planning {
    fn default() -> Planning {
        Planning {
            rules: vec![],
            objectives: vec![],
            rate: None,
            size: 1500,
            any_tier: false,
            again: Some(Again::default()),
        }
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
    let again = s.optional(r, "again", again);
    s.finish(r);
    Planning {
        rules: rules.map_or(vec![], |list| list.value),
        objectives: objectives.map_or(vec![], |list| list.value),
        rate: rate.map(|rate| rate.value),
        size: size.map_or(default.size, |size| size.value),
        any_tier: tiers.is_some_and(|tiers| tiers.value),
        again: again.map_or(default.again, |again| again.value),
    }
}

fn again(r: &mut Reader, item: Item<'_>) -> Option<Option<Again>> {
    if !matches!(item.value, DeValue::Table(_)) {
        return value::choice(r, item, &[("never", Some(None))]);
    }
    let default = Again::default();
    let mut s = Section::new(r, "`again`".to_string(), item.span, item)?;
    let margin = s.optional(r, "differs", value::probability);
    let after = s.optional(r, "after", value::interval);
    s.finish(r);
    let is_zero = margin.as_ref().filter(|margin| margin.value.ppb() == 0);
    if let Some(margin) = is_zero {
        r.bad_value(margin.span, "shares always differ by that", "write how much of the traffic: `\"10%\"`");
        return None;
    }
    Some(Some(Again {
        margin: margin.map_or(default.margin, |margin| margin.value),
        after: after.map_or(default.after, |after| after.value),
    }))
}
