//! Tables (P4-16 §14.2).

use crate::{ActionId, Annotations, Expr, InstanceId, Keyset, Name};
use base_diag::Span;

/// A table instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// As written; unique in its control.
    pub name: Name,
    /// `ingress.acl`: unique in the program.
    pub control_plane_name: Name,
    /// In order; empty for a keyless table, which always takes the default action.
    pub keys: Vec<TableKey>,
    /// The action list, in order. Actions are referred to by index.
    pub actions: Vec<ActionRef>,
    /// Action that runs on a miss.
    pub default_action: DefaultAction,
    /// In order of the source.
    pub entries: Vec<Entry>,
    /// The control plane may not change the entries.
    pub const_entries: bool,
    /// `largest_priority_wins`, true unless said otherwise (P4-16 §14.2.1.4).
    pub largest_priority_wins: bool,
    /// Number of entries wanted; `None` if the source does not say.
    pub size: Option<u64>,
    /// `implementation = ...`: an action profile or selector.
    pub implementation: Option<InstanceId>,
    /// `counters = ...`
    pub counters: Option<InstanceId>,
    /// `meters = ...`
    pub meters: Option<InstanceId>,
    /// `support_timeout`, `psa_idle_timeout`, ... with their values.
    pub properties: Vec<(Name, Expr)>,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// One key element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableKey {
    /// Evaluated at each application, left to right.
    pub expr: Expr,
    /// Match kind of the element.
    pub match_kind: MatchKind,
    /// The control-plane name: `hdr.ipv4.dst_addr`, or the argument of `@name`.
    pub name: Name,
    /// As written.
    pub annotations: Annotations,
}

/// How a key element matches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MatchKind {
    /// Equal.
    Exact,
    /// Value and mask.
    Ternary,
    /// Longest prefix.
    Lpm,
    /// From ... to (v1model).
    Range,
    /// Equal or anything (v1model, PSA).
    Optional,
    /// Not matched: input of the action selector's hash.
    Selector,
    /// Declared by the program or another architecture.
    Other(Name),
}

impl MatchKind {
    /// As P4 source has it: `exact`, `lpm`, ...
    pub fn name(&self) -> &str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Ternary => "ternary",
            MatchKind::Lpm => "lpm",
            MatchKind::Range => "range",
            MatchKind::Optional => "optional",
            MatchKind::Selector => "selector",
            MatchKind::Other(name) => name,
        }
    }
}

/// An entry of a table's action list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionRef {
    /// Action of the same control.
    pub action: ActionId,
    /// Arguments of the leading parameters with a direction, evaluated when the action runs; the rest, without
    /// direction, come from the entry.
    pub args: Vec<Expr>,
    /// `@tableonly`, `@defaultonly`
    pub annotations: Annotations,
}

/// `default_action = a(1, 2);`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultAction {
    /// Index in [`Table::actions`].
    pub action: u32,
    /// Values of the parameters without direction.
    pub args: Vec<Expr>,
    /// The control plane may not change it.
    pub is_const: bool,
}

/// An entry written in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// One for each key.
    pub keys: Vec<Keyset>,
    /// Index in [`Table::actions`].
    pub action: u32,
    /// Values of the parameters without direction.
    pub args: Vec<Expr>,
    /// As written, or as the source's order gives it; larger or smaller wins by
    /// [`Table::largest_priority_wins`]. `None` where the table needs none.
    pub priority: Option<u32>,
    /// May not be changed though the table's other entries may.
    pub is_const: bool,
    /// As written.
    pub annotations: Annotations,
    /// Place in the source.
    pub span: Span,
}
