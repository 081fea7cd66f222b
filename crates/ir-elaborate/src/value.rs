//! Values known at compile time: constructor parameters, constants and table properties.

use base_bits::num_bigint::BigInt;
use ir::{ControlId, InstanceId, ParserId};
use p4_check::typed::{ConstantId, Type};
use smol_str::SmolStr;

/// A value known at compile time. Its type is kept beside it: a number knows neither width nor sign.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    /// An `int`, `bit<W>`, `int<W>`, serializable enum, or newtype over these; in the range of its type.
    Int(BigInt),
    /// A `bool` or a newtype over it.
    Bool(bool),
    /// A `string`.
    Str(SmolStr),
    /// A member of `error`.
    Error(ConstantId),
    /// The place of a member of an enum without underlying type.
    Enum(u32),
    /// A member of `match_kind`.
    MatchKind(ConstantId),
    /// Fields, members or elements, in order.
    Record(Vec<Value>),
    /// `{#}`
    Invalid,
    /// An instance.
    Object(Object),
}

/// Result of a constructor call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Object {
    /// An extern object.
    Extern(InstanceId),
    /// A parser.
    Parser(ParserId),
    /// A control.
    Control(ControlId),
    /// An array of extern objects.
    Array(Vec<Object>),
    /// A package.
    Package(Box<Made>),
    /// An object that could not be made; already reported.
    Broken,
}

/// Instance of a package.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Made {
    /// The package type.
    pub(crate) name: SmolStr,
    /// Parameters with their types and arguments, absent ones left out.
    pub(crate) args: Vec<(SmolStr, Type, Value)>,
}

impl Value {
    /// The number this is.
    pub(crate) fn as_int(&self) -> Option<&BigInt> {
        match self {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The truth value this is.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}
