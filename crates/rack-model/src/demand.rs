//! Traffic of an app, for the allocation of flows.
//!
//! ```toml
//! [[app]]
//! share = "25%"                                       # of the traffic of the rack; default: an equal part of what is left
//! distribution = { zipf = 0.99, flows = 1000000 }     # packets by flows: Zipf's law
//! distribution = { classes = [[10, 60], [990, 40]] }  # or classes: number of flows, weight of all of them together
//! ```

use crate::Spanned;
use crate::section::{Item, Reader, Section};
use crate::value;
use base_time::Probability;
use toml::de::DeValue;

/// Most flows of an app, and the largest weight of a class.
const MOST: u64 = 1 << 32;

/// Most classes of flows.
const MOST_CLASSES: usize = 65_536;

/// Traffic of an app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Share of the traffic of the rack; `None`: an equal part of what is left.
    pub share: Option<Spanned<Probability>>,
    /// Distribution of the packets over flows.
    pub flows: Spanned<FlowShares>,
}

/// Packets by flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowShares {
    /// So many flows by Zipf's law, with an exponent in thousandths.
    Zipf(u64, u32),
    /// Numbers of equal flows, and their weight together.
    Classes(Vec<(u64, u64)>),
}

/// The keys of an app. `Err` if it has no distribution; `Ok(None)` if it has a wrong one.
pub(crate) fn read(r: &mut Reader, s: &mut Section<'_>) -> Result<Option<Demand>, ()> {
    let share = s.optional(r, "share", value::probability);
    let mut is_there = false;
    let flows = s.optional(r, "distribution", |r, i| {
        is_there = true;
        distribution(r, i)
    });
    if let (Some(share), false) = (&share, is_there) {
        r.bad_value(
            share.span,
            "a share without flows",
            "describe the flows, too: `distribution = { zipf = 0.99, flows = 10000 }`",
        );
    }
    match flows {
        Some(flows) => Ok(Some(Demand { share, flows })),
        None if is_there => Ok(None),
        None => Err(()),
    }
}

fn distribution(r: &mut Reader, item: Item<'_>) -> Option<FlowShares> {
    if !matches!(item.value, DeValue::Table(_)) {
        r.wrong_type(item, "a table", "{ zipf = 0.99, flows = 10000 }");
        return None;
    }
    let before = r.diagnostics.error_count();
    let mut s = Section::new(r, "`distribution`".to_string(), item.span, item)?;
    let zipf = s.optional(r, "zipf", value::thousandths);
    let flows = s.optional(r, "flows", |r, i| value::integer(r, i, 1..=MOST));
    let classes = s.optional(r, "classes", |r, i| value::list(r, i, class));
    s.finish(r);
    if r.diagnostics.error_count() > before {
        return None;
    }
    match (zipf, flows, classes) {
        (Some(zipf), Some(flows), None) => Some(FlowShares::Zipf(flows.value, zipf.value)),
        (None, None, Some(classes)) => {
            let span = classes.span;
            let classes: Vec<(u64, u64)> = classes.value.into_iter().map(|class| class.value).collect();
            let flows: u64 = classes.iter().map(|(flows, _)| *flows).sum();
            if classes.is_empty() || classes.len() > MOST_CLASSES || flows > MOST {
                r.bad_value(
                    span,
                    "no distribution",
                    "one class at least, 65536 classes and 2^32 flows at most",
                );
                return None;
            }
            if classes.iter().all(|(_, weight)| *weight == 0) {
                r.bad_value(span, "no flow has traffic", "the weight of one class at least is positive");
                return None;
            }
            Some(FlowShares::Classes(classes))
        }
        _ => {
            let how = "write `{ zipf = 0.99, flows = 10000 }` or `{ classes = [[10, 60], [990, 40]] }`";
            r.bad_value(item.span, "not a distribution", how);
            None
        }
    }
}

fn class(r: &mut Reader, item: Item<'_>) -> Option<(u64, u64)> {
    let numbers = value::list(r, item, |r, i| value::integer(r, i, 0..=MOST))?;
    match numbers.as_slice() {
        [flows, weight] => Some((flows.value, weight.value)),
        _ => {
            r.bad_value(
                item.span,
                "not a class of flows",
                "the number of flows, and their weight: `[10, 60]`",
            );
            None
        }
    }
}
