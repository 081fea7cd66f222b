//! Tables (P4-16 §14.2).

use base_diag::Span;
use num_bigint::BigInt;
use smol_str::SmolStr;

use super::annotation::Annotations;
use super::expr::{Arg, Expr, KeySet};
use super::ids::{ActionId, ConstantId, ControlId};
use super::name::Name;

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: Name,
    /// The control it stands in.
    pub control: ControlId,
    /// In order; empty for a keyless table.
    pub keys: Vec<TableKey>,
    /// In order. If the source gives no default action, `NoAction` is appended, marked `@defaultonly`,
    /// unless it is listed.
    pub actions: Vec<TableAction>,
    /// The default action, written or not.
    pub default_action: DefaultAction,
    /// Initial entries.
    pub entries: Option<Entries>,
    /// `size`, if written. A compile-time known number.
    pub size: Option<Expr>,
    /// The properties that architectures define: `implementation`, `counters`, `meters`, `idle_timeout`, ...
    pub properties: Vec<Property>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A key field.
#[derive(Clone, Debug)]
pub struct TableKey {
    pub expr: Expr,
    /// How.
    pub match_kind: ConstantId,
    /// The source text of the expression, as control planes name the field without `@name`; `None` if the
    /// expression is too complex to have a name (P4-16 §18.3.1).
    pub source_name: Option<SmolStr>,
    /// Annotations (`@name`).
    pub annotations: Annotations,
    /// The whole key element.
    pub span: Span,
}

/// An action of a table's list.
#[derive(Clone, Debug)]
pub struct TableAction {
    /// The action.
    pub action: ActionId,
    /// Arguments for the parameters with a direction, in order. The rest are the control plane's.
    pub args: Vec<Arg>,
    /// False for the `NoAction` that the language adds.
    pub written: bool,
    /// Annotations (`@tableonly`, `@defaultonly`).
    pub annotations: Annotations,
    /// Position in the list of actions.
    pub span: Span,
}

/// An action of the table's list with the control plane's arguments.
#[derive(Clone, Debug)]
pub struct ActionCall {
    /// Index in [`Table::actions`].
    pub action: u32,
    /// Arguments for the parameters without a direction, in the order of the parameters.
    pub args: Vec<Arg>,
    /// Source position.
    pub span: Span,
}

/// The default action.
#[derive(Clone, Debug)]
pub struct DefaultAction {
    /// The action and its arguments.
    pub call: ActionCall,
    /// `const`: the control plane cannot change it.
    pub is_const: bool,
    /// False if the source gives none and it is `NoAction()`.
    pub written: bool,
}

/// Entries of the source.
#[derive(Clone, Debug)]
pub struct Entries {
    /// `const entries`: the control plane cannot change them.
    pub is_const: bool,
    /// Entries in order.
    pub entries: Vec<Entry>,
    /// The whole property.
    pub span: Span,
}

/// One entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// One set for each key.
    pub sets: Vec<KeySet>,
    pub call: ActionCall,
    /// `priority = n:`. If one entry of the table has it, all have: those without are counted on from it.
    pub priority: Option<BigInt>,
    /// `const` on the entry itself, or on the list.
    pub is_const: bool,
    /// Annotations of the entry.
    pub annotations: Annotations,
    /// The whole entry.
    pub span: Span,
}

/// A property that the architecture defines.
#[derive(Clone, Debug)]
pub struct Property {
    pub name: Name,
    /// An instance, an anonymous one ([`ExprKind::New`](super::ExprKind)), or a value. `None` for a
    /// property that the architecture gives another form; it is then ignored with a warning.
    pub value: Option<Expr>,
    /// The action of the table, for a value like `psa_empty_group_action = NoAction`.
    pub action: Option<ActionCall>,
    /// `const`
    pub is_const: bool,
    /// Annotations of the property.
    pub annotations: Annotations,
    /// The whole property.
    pub span: Span,
}
