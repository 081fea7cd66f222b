//! Typed indices: each names one element of one `Vec`.

use base_ids::ids;

ids! {
    /// In [`Program::types`](crate::Program::types).
    TypeId;
    /// In [`Program::errors`](crate::Program::errors).
    ErrorId;
    /// In [`Program::externs`](crate::Program::externs).
    ExternId;
    /// In [`Program::extern_functions`](crate::Program::extern_functions).
    ExternFunctionId;
    /// In [`Program::instances`](crate::Program::instances).
    InstanceId;
    /// In [`Program::functions`](crate::Program::functions).
    FunctionId;
    /// In [`Program::parsers`](crate::Program::parsers).
    ParserId;
    /// In [`Program::controls`](crate::Program::controls).
    ControlId;
    /// In [`Parser::states`](crate::Parser::states) of the parser it stands in.
    StateId;
    /// In [`Parser::value_sets`](crate::Parser::value_sets) of the parser it stands in.
    ValueSetId;
    /// In [`Control::actions`](crate::Control::actions) of the control it stands in.
    ActionId;
    /// In [`Control::tables`](crate::Control::tables) of the control it stands in.
    TableId;
    /// In `vars` of the control, parser or function it stands in. An action's parameters and locals are in its
    /// control's `vars`.
    VarId;
}
