//! The halves of a pipeline, before and after the queues.

use crate::stage::BlockName;

/// Ingress or egress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Half {
    Ingress,
    Egress,
}

impl Half {
    /// The half's control.
    pub fn control(self) -> BlockName {
        match self {
            Half::Ingress => BlockName::Ingress,
            Half::Egress => BlockName::Egress,
        }
    }
}
