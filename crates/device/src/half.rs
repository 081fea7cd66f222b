//! The halves of a pipeline, before and after the queues.

use crate::stage::{BlockName, Stage};
use ir::{Program, Role, Type};

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

/// The blocks of both halves of a program for PSA or TNA.
pub(crate) struct Halves {
    ingress: HalfBlocks,
    egress: HalfBlocks,
}

/// Blocks of a half.
pub(crate) struct HalfBlocks {
    pub(crate) parser: Stage,
    pub(crate) control: Stage,
    pub(crate) deparser: Stage,
}

impl Halves {
    /// The blocks of a program; `None` if one of the six is missing.
    pub(crate) fn of(program: &Program) -> Option<Halves> {
        let half = |name: &str| {
            Some(HalfBlocks {
                parser: Stage::of(program, &format!("{name}_parser"))?,
                control: Stage::of(program, name)?,
                deparser: Stage::of(program, &format!("{name}_deparser"))?,
            })
        };
        Some(Halves { ingress: half("ingress")?, egress: half("egress")? })
    }

    pub(crate) fn half(&self, half: Half) -> &HalfBlocks {
        match half {
            Half::Ingress => &self.ingress,
            Half::Egress => &self.egress,
        }
    }

    /// The stage of a half; `None` if it has no such block.
    pub(crate) fn stage(&self, half: Half, block: BlockName) -> Option<&Stage> {
        let HalfBlocks { parser, control, deparser } = self.half(half);
        match block {
            BlockName::Parser => Some(parser),
            BlockName::Deparser => Some(deparser),
            block => (block == half.control()).then_some(control),
        }
    }

    /// Types of the parameters of a half's control with these roles.
    pub(crate) fn types(&self, half: Half, roles: [Role; 3]) -> [Type; 3] {
        roles.map(|role| self.half(half).control.ty(role))
    }
}
