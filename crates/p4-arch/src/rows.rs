//! Rows of the architectures' tables of facts, and what core.p4 gives to all of them.

use crate::architecture::{Access, Effect, FunctionFacts, MethodFacts, ObjectFacts, TableUse};

pub(crate) const fn function(name: &'static str, effect: Effect) -> FunctionFacts {
    FunctionFacts { name, effect }
}

pub(crate) const fn method(name: &'static str, access: Access, index: Option<&'static str>) -> MethodFacts {
    MethodFacts { name, access, index }
}

/// An object that the control plane sees and that keeps something.
pub(crate) const fn object(
    name: &'static str,
    table: TableUse,
    methods: &'static [MethodFacts],
) -> ObjectFacts {
    ObjectFacts { name, table, state: true, control_plane: true, methods }
}

/// An object without memory.
pub(crate) const fn passing(name: &'static str, methods: &'static [MethodFacts]) -> ObjectFacts {
    ObjectFacts { name, table: TableUse::None, state: false, control_plane: false, methods }
}

pub(crate) const PACKET_IN: ObjectFacts = passing(
    "packet_in",
    &[
        method("extract", Access::Packet, None),
        method("lookahead", Access::Read, None),
        method("advance", Access::Packet, None),
        method("length", Access::Read, None),
    ],
);

pub(crate) const PACKET_OUT: ObjectFacts = passing("packet_out", &[method("emit", Access::Packet, None)]);
