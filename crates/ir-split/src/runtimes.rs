//! All runtimes. Only the pipeline, the checks and the texts know which there are; the generator and the policies get one.

use crate::placement::{Placement, RuntimeName};
use crate::runtime::Runtime;
use crate::runtime::full::Full;
use crate::runtime::headerless::{Headerless, Position};

/// The runtime of a placement.
pub(crate) fn runtime(placement: &Placement) -> &'static dyn Runtime {
    match placement.runtime {
        RuntimeName::Full => &Full,
        RuntimeName::Headerless => &Headerless { position: Position::Port },
        RuntimeName::HeaderlessIpv4 => &Headerless { position: Position::FragmentOffset },
    }
}

impl Placement {
    /// The runtime, as users write it.
    pub fn runtime_name(&self) -> &'static str {
        runtime(self).name()
    }
}
