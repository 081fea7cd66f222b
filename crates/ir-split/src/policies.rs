//! All edge policies. Only the pipeline and the checks know which there are; the generator and the runtimes get the list.

use crate::placement::Policy;
use crate::policy::EdgePolicy;
use crate::policy::back::Return;
use crate::policy::call::Call;
use crate::policy::direct::Direct;
use crate::policy::failover::Failover;
use crate::policy::group::Group;
use crate::policy::shard::Shard;

impl Policy {
    /// The implementation.
    pub(crate) fn rules(self) -> &'static dyn EdgePolicy {
        match self {
            Policy::Direct => &Direct,
            Policy::Call => &Call,
            Policy::Failover => &Failover,
            Policy::Shard => &Shard,
            Policy::Group => &Group,
        }
    }
}

/// All policies that lead hand-overs, in the order in which a device asks them.
pub(crate) const LEADING: &[&dyn EdgePolicy] = &[&Return, &Failover, &Shard, &Group, &Direct];
