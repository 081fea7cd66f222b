//! Declarations (P4-16 §7.2, §10, §11, §13, §14, §16).

use base_diag::Span;

use super::{Annotation, Arg, Block, Expr, Name, State, TableDecl, Type};

/// A top-level declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decl {
    /// `const T x = e;`
    Const(ConstDecl),
    /// `extern E { ... }`
    Extern(ExternDecl),
    /// `extern E;`: E is a type that is declared later.
    ExternForward(ExternForward),
    /// `extern T f(...);`
    ExternFunction(ExternFunction),
    /// `T f(...) { ... }`
    Function(FunctionDecl),
    /// `action a(...) { ... }`
    Action(ActionDecl),
    /// `parser P(...) { ... }`
    Parser(ParserDecl),
    /// `parser P(...);`
    ParserType(ParserType),
    /// `control C(...) { ... }`
    Control(ControlDecl),
    /// `control C(...);`
    ControlType(ControlType),
    /// `package K(...);`
    Package(PackageDecl),
    /// `header`, `struct` or `header_union`
    Struct(StructDecl),
    /// `enum E { ... }` or `enum T E { ... }`
    Enum(EnumDecl),
    /// `error { ... }`
    Error(ErrorDecl),
    /// `match_kind { ... }`
    MatchKind(MatchKindDecl),
    /// `typedef T x;` or `type T x;`
    Typedef(TypedefDecl),
    /// `T(...) x;`
    Instance(InstanceDecl),
}

/// `const T x = e;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstDecl {
    /// Before `const`.
    pub annotations: Vec<Annotation>,
    pub ty: Type,
    pub name: Name,
    pub value: Expr,
    /// The whole.
    pub span: Span,
}

/// `T x;` or `T x = e;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VarDecl {
    /// Before the type.
    pub annotations: Vec<Annotation>,
    pub ty: Type,
    pub name: Name,
    /// The value before the first assignment.
    pub init: Option<Expr>,
    /// The whole.
    pub span: Span,
}

/// `T(args) x;`, `T(args) x = { ... };` or, an array of instances, `T(args) x[N];`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstanceDecl {
    /// Before the type.
    pub annotations: Vec<Annotation>,
    /// The type that is instantiated; for an array of instances, the array type.
    pub ty: Type,
    /// The constructor's arguments.
    pub args: Vec<Arg>,
    pub name: Name,
    /// The initialiser block, with the bodies of abstract methods (P4-16 §11.3.1).
    pub body: Option<Vec<InstanceMember>>,
    /// The whole.
    pub span: Span,
}

/// A declaration in an instance's initialiser block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InstanceMember {
    /// A method's body.
    Function(FunctionDecl),
    /// An instance that the methods use.
    Instance(InstanceDecl),
}

/// `extern E<T> { ... }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternDecl {
    /// Before `extern`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub type_params: Vec<Name>,
    /// Constructors and methods in order.
    pub methods: Vec<Method>,
    /// The whole.
    pub span: Span,
}

/// `extern E;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternForward {
    /// Before `extern`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    /// The whole.
    pub span: Span,
}

/// A constructor or method of an extern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// Before it.
    pub annotations: Vec<Annotation>,
    /// `abstract` written: instances give the body.
    pub is_abstract: bool,
    /// `None` for a constructor.
    pub return_type: Option<Type>,
    /// A constructor has the name of its extern.
    pub name: Name,
    pub type_params: Vec<Name>,
    pub params: Vec<Param>,
    /// The whole.
    pub span: Span,
}

/// `extern T f<A>(...);`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternFunction {
    /// Before `extern`.
    pub annotations: Vec<Annotation>,
    /// Return type.
    pub return_type: Type,
    pub name: Name,
    pub type_params: Vec<Name>,
    pub params: Vec<Param>,
    /// The whole.
    pub span: Span,
}

/// `T f<A>(...) { ... }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionDecl {
    /// Before the return type.
    pub annotations: Vec<Annotation>,
    /// Return type.
    pub return_type: Type,
    pub name: Name,
    pub type_params: Vec<Name>,
    pub params: Vec<Param>,
    pub body: Block,
    /// The whole.
    pub span: Span,
}

/// `action a(...) { ... }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionDecl {
    /// Before `action`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    /// Parameters. Those with a direction come first; the others are the action's data.
    pub params: Vec<Param>,
    pub body: Block,
    /// The whole.
    pub span: Span,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Before it; `@optional` is one of them.
    pub annotations: Vec<Annotation>,
    /// Direction in which it is copied.
    pub direction: Direction,
    pub ty: Type,
    pub name: Name,
    /// The value where no argument is given.
    pub default: Option<Expr>,
    /// The whole.
    pub span: Span,
}

/// The direction of a parameter (P4-16 §6.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// None written.
    None,
    /// `in`
    In,
    /// `out`
    Out,
    /// `inout`
    InOut,
}

/// `parser P<T>(...)` followed by `;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParserType {
    /// Before `parser`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub type_params: Vec<Name>,
    /// The parameters of `apply`.
    pub params: Vec<Param>,
    /// The whole.
    pub span: Span,
}

/// `parser P<T>(...)(...) { ... }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParserDecl {
    /// Before `parser`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub type_params: Vec<Name>,
    /// The parameters of `apply`.
    pub params: Vec<Param>,
    /// The parameters of the constructor.
    pub constructor_params: Vec<Param>,
    /// Constants, variables, instances and value sets.
    pub locals: Vec<Local>,
    /// In order; the first to run is `start`.
    pub states: Vec<State>,
    /// The whole.
    pub span: Span,
}

/// `control C<T>(...)` followed by `;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlType {
    /// Before `control`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub type_params: Vec<Name>,
    /// The parameters of `apply`.
    pub params: Vec<Param>,
    /// The whole.
    pub span: Span,
}

/// `control C<T>(...)(...) { ... apply { ... } }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlDecl {
    /// Before `control`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub type_params: Vec<Name>,
    /// The parameters of `apply`.
    pub params: Vec<Param>,
    /// The parameters of the constructor.
    pub constructor_params: Vec<Param>,
    /// Constants, variables, instances, actions and tables.
    pub locals: Vec<Local>,
    pub apply: Block,
    /// The whole.
    pub span: Span,
}

/// A declaration inside a parser or control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Local {
    /// `const T x = e;`
    Const(ConstDecl),
    /// `T x;`
    Var(VarDecl),
    /// `T(...) x;`
    Instance(InstanceDecl),
    /// `value_set<T>(n) x;` (parsers only)
    ValueSet(ValueSetDecl),
    /// `action a(...) { ... }` (controls only)
    Action(ActionDecl),
    /// `table t { ... }` (controls only)
    Table(TableDecl),
}

/// `value_set<T>(size) name;` (P4-16 §13.10)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueSetDecl {
    /// Before `value_set`.
    pub annotations: Vec<Annotation>,
    /// The type of a member.
    pub element: Type,
    /// Number of members.
    pub size: Expr,
    pub name: Name,
    /// The whole.
    pub span: Span,
}

/// `package K<T>(...);`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageDecl {
    /// Before `package`.
    pub annotations: Vec<Annotation>,
    pub name: Name,
    pub type_params: Vec<Name>,
    /// The constructor's parameters.
    pub params: Vec<Param>,
    /// The whole.
    pub span: Span,
}

/// A header, struct or header union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructDecl {
    /// Before the keyword.
    pub annotations: Vec<Annotation>,
    /// Kind of the record.
    pub kind: StructKind,
    pub name: Name,
    pub type_params: Vec<Name>,
    /// In order.
    pub fields: Vec<Field>,
    /// The whole.
    pub span: Span,
}

/// The keyword of a [`StructDecl`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StructKind {
    /// `struct`
    Struct,
    /// `header`
    Header,
    /// `header_union`
    HeaderUnion,
}

/// `T name;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Before the type.
    pub annotations: Vec<Annotation>,
    pub ty: Type,
    pub name: Name,
    /// The whole.
    pub span: Span,
}

/// `enum E { A, B }` or `enum bit<8> E { A = 1, B = 2 }`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnumDecl {
    /// Before `enum`.
    pub annotations: Vec<Annotation>,
    /// The type of the values, of a serialisable one.
    pub underlying: Option<Type>,
    pub name: Name,
    /// In order.
    pub members: Vec<EnumMember>,
    /// The whole.
    pub span: Span,
}

/// `A` or `A = e`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnumMember {
    pub name: Name,
    /// Present exactly in serialisable enums.
    pub value: Option<Expr>,
    /// The whole.
    pub span: Span,
}

/// `error { A, B }`; all of a program's add up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorDecl {
    /// The new errors.
    pub members: Vec<Name>,
    /// The whole.
    pub span: Span,
}

/// `match_kind { exact, lpm }`; all of a program's add up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchKindDecl {
    /// The new match kinds.
    pub members: Vec<Name>,
    /// The whole.
    pub span: Span,
}

/// `typedef T x;` or `type T x;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypedefDecl {
    /// Before the keyword.
    pub annotations: Vec<Annotation>,
    /// A new name or a new type.
    pub kind: TypedefKind,
    /// In `typedef struct S { ... } T;`, the declaration of S: it is declared first, and `ty` names it. A
    /// [`Decl::Struct`] or [`Decl::Enum`].
    pub inline: Option<Box<Decl>>,
    /// The type that is renamed.
    pub ty: Type,
    /// The new name.
    pub name: Name,
    /// The whole.
    pub span: Span,
}

/// The keyword of a [`TypedefDecl`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypedefKind {
    /// `typedef`: another name of the same type.
    Alias,
    /// `type`: a type of its own.
    New,
}

impl Local {
    /// The name it declares.
    pub fn name(&self) -> &Name {
        match self {
            Local::Const(d) => &d.name,
            Local::Var(d) => &d.name,
            Local::Instance(d) => &d.name,
            Local::ValueSet(d) => &d.name,
            Local::Action(d) => &d.name,
            Local::Table(d) => &d.name,
        }
    }
}

impl Decl {
    /// The name it declares; `error` and `match_kind` have none.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Decl::Const(d) => Some(&d.name),
            Decl::Extern(d) => Some(&d.name),
            Decl::ExternForward(d) => Some(&d.name),
            Decl::ExternFunction(d) => Some(&d.name),
            Decl::Function(d) => Some(&d.name),
            Decl::Action(d) => Some(&d.name),
            Decl::Parser(d) => Some(&d.name),
            Decl::ParserType(d) => Some(&d.name),
            Decl::Control(d) => Some(&d.name),
            Decl::ControlType(d) => Some(&d.name),
            Decl::Package(d) => Some(&d.name),
            Decl::Struct(d) => Some(&d.name),
            Decl::Enum(d) => Some(&d.name),
            Decl::Typedef(d) => Some(&d.name),
            Decl::Instance(d) => Some(&d.name),
            Decl::Error(_) | Decl::MatchKind(_) => None,
        }
    }

    /// Source position.
    pub fn span(&self) -> Span {
        match self {
            Decl::Const(d) => d.span,
            Decl::Extern(d) => d.span,
            Decl::ExternForward(d) => d.span,
            Decl::ExternFunction(d) => d.span,
            Decl::Function(d) => d.span,
            Decl::Action(d) => d.span,
            Decl::Parser(d) => d.span,
            Decl::ParserType(d) => d.span,
            Decl::Control(d) => d.span,
            Decl::ControlType(d) => d.span,
            Decl::Package(d) => d.span,
            Decl::Struct(d) => d.span,
            Decl::Enum(d) => d.span,
            Decl::Error(d) => d.span,
            Decl::MatchKind(d) => d.span,
            Decl::Typedef(d) => d.span,
            Decl::Instance(d) => d.span,
        }
    }
}
