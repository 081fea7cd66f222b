//! Types with names resolved and widths known (P4-16 §7).
//!
//! Typedefs are gone: a typedef is the type it names. A type is cheap to clone and is compared by structure;
//! two nominal types are equal if they name the same declaration with equal arguments.

use std::sync::Arc;

use super::ids::{
    ControlId, ControlTypeId, EnumId, ExternId, NewTypeId, PackageId, ParserId, ParserTypeId, StructId,
    TableId, TypeVarId,
};

/// The type arguments of a generic type; empty for a type that is not generic.
pub type TypeArgs = Arc<[Type]>;

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// The type of an expression that is already reported as wrong. It agrees with every type and silences dependent
    /// errors.
    Error,
    /// `void`.
    Void,
    /// `bool`.
    Bool,
    /// `int`: whole numbers of any size, known at compile time.
    Int,
    /// `bit<W>`, width in bits.
    Bit(u32),
    /// `int<W>`, width in bits.
    Signed(u32),
    /// `varbit<W>`, largest width in bits.
    Varbit(u32),
    /// `string`.
    String,
    /// `error`; its members are [`Program::errors`](super::Program::errors).
    ErrorCode,
    /// `match_kind`; its members are [`Program::match_kinds`](super::Program::match_kinds).
    MatchKind,
    /// An `enum`, with or without an underlying type.
    Enum(EnumId),
    /// A type made by `type T Name`.
    NewType(NewTypeId),
    /// A struct, header or header union: [`Struct::kind`](super::Struct) says which.
    Struct(StructId, TypeArgs),
    /// `T[N]`: a header stack if the element is a header or header union, else an array.
    Array(Arc<Type>, u32),
    /// `tuple<...>`.
    Tuple(TypeArgs),
    /// `list<T>`.
    List(Arc<Type>),
    /// An extern object.
    Extern(ExternId, TypeArgs),
    /// An instance of any parser of a declared parser type.
    ParserType(ParserTypeId, TypeArgs),
    /// An instance of any control of a declared control type.
    ControlType(ControlTypeId, TypeArgs),
    /// An instance of this parser.
    Parser(ParserId, TypeArgs),
    /// An instance of this control.
    Control(ControlId, TypeArgs),
    /// An instance of this package.
    Package(PackageId, TypeArgs),
    /// A type parameter of the declaration it stands in.
    Var(TypeVarId),
    /// `_` in the type of a package's parameter: any type.
    Any,
    /// A set of `T`: the type of keyset expressions. No variable has it.
    Set(Arc<Type>),
    /// The result of `t.apply()`: only its members `hit`, `miss` and `action_run` can be used.
    ApplyResult(TableId),
    /// The type of `t.apply().action_run`: only `switch` can use it.
    ActionRun(TableId),
    /// Inside the checker: not known yet. Never in a finished program.
    Infer(u32),
}

impl Type {
    /// A tuple of these types.
    pub fn tuple(members: Vec<Type>) -> Type {
        Type::Tuple(members.into())
    }

    /// True for the type of something already reported.
    pub fn is_error(&self) -> bool {
        matches!(self, Type::Error)
    }

    /// The width of `bit<W>` or `int<W>`.
    pub fn fixed_width(&self) -> Option<u32> {
        match self {
            Type::Bit(width) | Type::Signed(width) => Some(*width),
            _ => None,
        }
    }
}

/// The direction of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// None written: an action parameter set by the control plane, a compile-time known value, or an extern object.
    None,
    /// `in`
    In,
    /// `out`
    Out,
    /// `inout`
    InOut,
}

/// Values of type variables: the arguments of a call, of an instance or of a generic type.
#[derive(Clone, Default, Debug)]
pub struct Substitution {
    pairs: Vec<(TypeVarId, Type)>,
}

impl Substitution {
    /// Each variable stands for the argument at its place. Missing arguments leave their variable alone.
    pub fn new(vars: &[TypeVarId], args: &[Type]) -> Substitution {
        Substitution { pairs: vars.iter().copied().zip(args.iter().cloned()).collect() }
    }

    /// True if nothing is replaced.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Adds one variable.
    pub fn insert(&mut self, var: TypeVarId, ty: Type) {
        self.pairs.push((var, ty));
    }

    /// The type for `var`.
    pub fn get(&self, var: TypeVarId) -> Option<&Type> {
        self.pairs.iter().find(|(v, _)| *v == var).map(|(_, ty)| ty)
    }

    /// `ty` with every variable replaced, once.
    pub fn apply(&self, ty: &Type) -> Type {
        if self.is_empty() {
            return ty.clone();
        }
        ty.map(&mut |t| match t {
            Type::Var(var) => self.get(*var).cloned(),
            _ => None,
        })
    }
}

impl Type {
    /// The type with each part replaced by the type that `replace` gives for it, if any; a replacement is not visited
    /// again.
    pub fn map(&self, replace: &mut dyn FnMut(&Type) -> Option<Type>) -> Type {
        if let Some(other) = replace(self) {
            return other;
        }
        let mut all = |args: &TypeArgs| -> TypeArgs {
            if args.is_empty() { args.clone() } else { args.iter().map(|t| t.map(replace)).collect() }
        };
        match self {
            Type::Struct(id, args) => Type::Struct(*id, all(args)),
            Type::Tuple(args) => Type::Tuple(all(args)),
            Type::Extern(id, args) => Type::Extern(*id, all(args)),
            Type::ParserType(id, args) => Type::ParserType(*id, all(args)),
            Type::ControlType(id, args) => Type::ControlType(*id, all(args)),
            Type::Parser(id, args) => Type::Parser(*id, all(args)),
            Type::Control(id, args) => Type::Control(*id, all(args)),
            Type::Package(id, args) => Type::Package(*id, all(args)),
            Type::Array(element, size) => Type::Array(Arc::new(element.map(replace)), *size),
            Type::List(element) => Type::List(Arc::new(element.map(replace))),
            Type::Set(element) => Type::Set(Arc::new(element.map(replace))),
            _ => self.clone(),
        }
    }

    /// True if `test` holds for this type or for one of its arguments or elements.
    pub fn any(&self, test: &mut dyn FnMut(&Type) -> bool) -> bool {
        test(self)
            || match self {
                Type::Tuple(args)
                | Type::Struct(_, args)
                | Type::Extern(_, args)
                | Type::ParserType(_, args)
                | Type::ControlType(_, args)
                | Type::Parser(_, args)
                | Type::Control(_, args)
                | Type::Package(_, args) => args.iter().any(|t| t.any(test)),
                Type::Array(element, _) | Type::List(element) | Type::Set(element) => element.any(test),
                _ => false,
            }
    }
}
