//! The thresholds of edges with spares, which an operator may change while packets pass.
//!
//! ```text
//! operator   patience = 5 ms           other thresholds keep their values
//! devices    MODIFY edge_of => use(..., 5000, ...)        senders and receivers; linkage has the new arguments from now on
//! ```
//!
//! They last until another controller process takes over, which begins with those of its plan.

use crate::ask::Ask;
use crate::edge::shortest;
use crate::part::Part;
use crate::task::Shared;
use failover::Thresholds;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Update, action::Param, entity::Entity as Kind, table_action, update::Type};
use p4runtime_proto::p4rack::v1;
use p4runtime_server::Status;

impl Part {
    /// The linkage with these thresholds.
    pub(crate) fn linkage_with(&self, thresholds: Option<&Thresholds>) -> Vec<Update> {
        let mut linkage = self.linkage.clone();
        if let Some(thresholds) = thresholds {
            self.set(thresholds, &mut linkage);
        }
        linkage
    }

    /// The linkage entries that the thresholds change.
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
pub(crate) async fn set(shared: &Shared, to: &v1::Thresholds) -> Result<(), Status> {
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
        let is_stale = shared.state().stale.contains(device);
        if is_stale || shared.done(device, Ask::Write(updates)).await {
            continue;
        }
        shared.state().mark_stale(device, "its thresholds may be the old ones", vec![]);
    }
    Ok(())
}
