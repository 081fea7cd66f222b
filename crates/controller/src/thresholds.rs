//! The thresholds of edges with spares, which an operator may change while packets pass.
//!
//! ```text
//! operator   patience = 5 ms           what is not named stays
//! devices    MODIFY edge_of => use(..., 5000, ...)        senders and receivers; linkage has the new arguments from now on
//! ```
//!
//! They last until another controller process takes over, which begins with those of its plan.

use crate::ask::Ask;
use crate::edge::shortest;
use crate::part::{Part, Planner};
use crate::task::Shared;
use base_time::Duration;
use failover::Thresholds;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Update, action::Param, entity::Entity as Kind, table_action, update::Type};
use p4runtime_proto::p4rack::v1;
use p4runtime_server::Status;

/// When a target has failed, and when it is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Decided in the data plane.
    pub thresholds: Thresholds,
    /// How long the state of a target has to be right before it is used again.
    pub hold_down: Duration,
}

impl Limits {
    /// With the changes of an operator. An error says which number cannot be.
    fn changed(self, to: &v1::Thresholds) -> Result<Limits, Status> {
        let small = |name: &str, value: Option<u32>, most: u32, old: u32| match value {
            Some(value) if value > most => {
                Err(Status::new(Code::InvalidArgument, format!("`{name}` is at most {most}")))
            }
            value => Ok(value.unwrap_or(old)),
        };
        let time = |name: &str, value: Option<u64>, old: u64| match value {
            Some(us) if us > failover::thresholds::MOST_US => {
                Err(Status::new(Code::InvalidArgument, format!("`{name}` is at most 12 days")))
            }
            value => Ok(value.unwrap_or(old)),
        };
        let old = self.thresholds;
        let thresholds = Thresholds {
            ask_every: small("ask_every", to.ask_every, 1 << 30, old.ask_every)?,
            ask_after: time("ask_after", to.ask_after_us, old.ask_after)?,
            patience: time("patience", to.patience_us, old.patience)?,
            most_missed: small("most_missed", to.most_missed, 255, old.most_missed.into())? as u8,
            tolerance: small("tolerance", to.tolerance, 31, old.tolerance.into())? as u8,
            most_gaps: small("most_gaps", to.most_gaps, 0xffff, old.most_gaps.into())? as u16,
            window: to.window.unwrap_or(old.window),
        };
        if let Some(why) = thresholds.fault() {
            return Err(Status::new(Code::InvalidArgument, why));
        }
        let hold_down = match time("hold_down", to.hold_down_us, 0)? {
            0 if to.hold_down_us.is_none() => self.hold_down,
            us => Duration::from_us(us),
        };
        Ok(Limits { thresholds, hold_down })
    }
}

impl Part {
    /// The linkage with these thresholds.
    pub(crate) fn linkage_with(&self, thresholds: Option<&Thresholds>) -> Vec<Update> {
        let mut linkage = self.linkage.clone();
        if let Some(thresholds) = thresholds {
            self.set(thresholds, &mut linkage);
        }
        linkage
    }

    /// What changes in the linkage.
    fn modifications(&self, thresholds: &Thresholds) -> Vec<Update> {
        let linkage = self.linkage_with(Some(thresholds));
        let changed = self.thresholds.iter().filter_map(|(at, _)| linkage.get(*at));
        changed.map(|update| Update { r#type: Type::Modify as i32, ..update.clone() }).collect()
    }

    fn set(&self, thresholds: &Thresholds, linkage: &mut [Update]) {
        for (at, side) in &self.thresholds {
            let entity = linkage.get_mut(*at).and_then(|update| update.entity.as_mut()?.entity.as_mut());
            let Some(Kind::TableEntry(entry)) = entity else { continue };
            let action = entry.action.as_mut().and_then(|action| action.r#type.as_mut());
            let Some(table_action::Type::Action(action)) = action else { continue };
            let args = thresholds.args(*side);
            let first = action.params.len().saturating_sub(args.len());
            for (Param { value, .. }, arg) in action.params.iter_mut().skip(first).zip(args) {
                *value = shortest(arg);
            }
        }
    }
}

/// Changes the thresholds of all edges.
pub(crate) async fn set<P: Planner>(shared: &Shared<P>, to: &v1::Thresholds) -> Result<(), Status> {
    let (rollout, limits) = {
        let mut state = shared.state();
        (state.rollout(), state.edges.limits())
    };
    let (Some(rollout), Some(limits)) = (rollout, limits) else {
        return Err(Status::new(Code::FailedPrecondition, "no region has spares"));
    };
    let limits = limits.changed(to)?;
    shared.state().edges.set_limits(limits);
    let changed = rollout.parts().map(|(device, part)| (device, part.modifications(&limits.thresholds)));
    let changed: Vec<_> = changed.filter(|(_, updates)| !updates.is_empty()).collect();
    for (device, updates) in changed {
        // A stale device gets them with everything else.
        let is_stale = shared.state().stale.contains_key(&device);
        if is_stale || shared.done(device, Ask::Write(updates)).await {
            continue;
        }
        shared.state().mark_stale(device, "its thresholds may be the old ones", vec![]);
    }
    Ok(())
}
