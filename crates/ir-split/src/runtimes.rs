//! All runtimes. Only the pipeline, the checks and the texts know which there are; the generator and the policies get one.

use crate::placement::{Placement, RuntimeName};
use crate::runtime::Runtime;
use crate::runtime::full::Full;
use crate::runtime::mixed::{BY_OFFSET, BY_PORT, MIXED_BY_OFFSET, MIXED_BY_PORT};

/// The runtime of a placement.
pub(crate) fn runtime(placement: &Placement) -> &'static dyn Runtime {
    let is_mixed = !placement.with_header.is_empty();
    match placement.runtime {
        // Without a region elsewhere there are no hand-overs.
        _ if is_mixed && !placement.has_bare_sites() => &Full,
        RuntimeName::Full => &Full,
        RuntimeName::Headerless if is_mixed => &MIXED_BY_PORT,
        RuntimeName::Headerless => &BY_PORT,
        RuntimeName::HeaderlessIpv4 if is_mixed => &MIXED_BY_OFFSET,
        RuntimeName::HeaderlessIpv4 => &BY_OFFSET,
    }
}

impl Placement {
    /// The runtime, as users write it.
    pub fn runtime_name(&self) -> &'static str {
        runtime(self).name()
    }
}
