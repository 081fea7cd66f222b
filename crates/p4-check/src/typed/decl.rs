//! Declarations, which a program's names refer to.

use base_diag::Span;

use super::annotation::Annotations;
use super::expr::{Construct, Expr};
use super::ids::{
    ActionId, ConstId, ControlId, ControlTypeId, EnumId, ExternId, FunctionId, InstanceId, NewTypeId,
    PackageId, ParserId, ParserTypeId, StructId, TableId, TypeVarId, TypedefId, ValueSetId, VarId,
};
use super::name::Name;
use super::stmt::{Block, State, Stmt};
use super::types::{Direction, Type};

/// A type parameter of a declaration: `T` in `extern void f<T>(in T x)`.
#[derive(Clone, Debug)]
pub struct TypeVar {
    pub name: Name,
}

/// Kind of a [`Struct`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StructKind {
    /// `struct`
    Struct,
    /// `header`
    Header,
    /// `header_union`
    Union,
}

/// A struct, header or header union (P4-16 §7.2.2 to §7.2.4).
#[derive(Clone, Debug)]
pub struct Struct {
    pub name: Name,
    /// Struct, header or union.
    pub kind: StructKind,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Fields in declaration order. Their types may mention the type parameters.
    pub fields: Vec<Field>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A field of a [`Struct`].
#[derive(Clone, Debug)]
pub struct Field {
    pub name: Name,
    pub ty: Type,
    pub annotations: Annotations,
}

/// An enum (P4-16 §7.2.1).
#[derive(Clone, Debug)]
pub struct Enum {
    pub name: Name,
    /// `Some(bit<W> or int<W>)` for a serializable enum.
    pub underlying: Option<Type>,
    /// Members in declaration order.
    pub members: Vec<EnumMember>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A member of an [`Enum`].
#[derive(Clone, Debug)]
pub struct EnumMember {
    pub name: Name,
    /// `Some` exactly if the enum is serializable. Values need not be distinct.
    pub value: Option<num_bigint::BigInt>,
    pub annotations: Annotations,
}

/// `type T Name`: a type of its own with the values of another.
#[derive(Clone, Debug)]
pub struct NewType {
    pub name: Name,
    /// The type whose values it has. May be another new type.
    pub of: Type,
    /// Annotations of the declaration (`@p4runtime_translation`).
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// `typedef T Name`; kept for printing only, uses of the name are the type itself.
#[derive(Clone, Debug)]
pub struct Typedef {
    pub name: Name,
    /// The type it names.
    pub ty: Type,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A member of `error` or of `match_kind`.
#[derive(Clone, Debug)]
pub struct Constant {
    pub name: Name,
    pub annotations: Annotations,
}

/// `const T name = value`, at any level.
#[derive(Clone, Debug)]
pub struct Const {
    pub name: Name,
    pub ty: Type,
    /// Depends on constructor parameters at most.
    pub value: Expr,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// The declaration of a [`Var`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VarKind {
    /// A parameter of a parser, control, function, action, method, or of a declared type.
    Param(Direction),
    /// A constructor parameter, or a parameter of a package.
    ConstructorParam,
    /// A local variable of a control, parser, action, function, state or block.
    Local,
    /// The variable of a `for (x in ...)` loop.
    Loop,
}

/// A variable or parameter.
#[derive(Clone, Debug)]
pub struct Var {
    pub name: Name,
    pub ty: Type,
    /// The kind of declaration.
    pub kind: VarKind,
    /// A parameter's default value.
    pub default: Option<Expr>,
    /// A parameter marked `@optional`.
    pub optional: bool,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A function, an extern function, or a method or constructor of an extern object.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: Name,
    /// The owner.
    pub owner: FunctionOwner,
    /// Type parameters of its own, without those of the extern it belongs to.
    pub type_params: Vec<TypeVarId>,
    /// Parameters.
    pub params: Vec<VarId>,
    /// Return type; `Void` for constructors.
    pub returns: Type,
    /// `None` for extern and abstract functions.
    pub body: Option<Block>,
    /// True for an abstract method.
    pub is_abstract: bool,
    /// Annotations of the declaration (`@pure`, `@deprecated`, ...).
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// The owner of a [`Function`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionOwner {
    /// A function of the program.
    Program,
    /// `extern T f(...)`.
    ExternFunction,
    /// A method of an extern object.
    Method(ExternId),
    /// A constructor of an extern object.
    Constructor(ExternId),
    /// The implementation of an abstract method in an instance's initializer.
    Implementation(InstanceId),
}

/// A type of extern objects.
#[derive(Clone, Debug)]
pub struct Extern {
    pub name: Name,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Constructors, distinguished by their parameters. An extern without any cannot be instantiated.
    pub constructors: Vec<FunctionId>,
    pub methods: Vec<FunctionId>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// An action, of the program or of a control. Its body may use the control's parameters and locals.
#[derive(Clone, Debug)]
pub struct Action {
    pub name: Name,
    /// The control that declares it; `None` for an action of the program.
    pub control: Option<ControlId>,
    /// Parameters: those with a direction first, then those the control plane sets.
    pub params: Vec<VarId>,
    pub body: Block,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// `parser Name<...>(...);`
#[derive(Clone, Debug)]
pub struct ParserType {
    pub name: Name,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Parameters of `apply`.
    pub params: Vec<VarId>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// `control Name<...>(...);`
#[derive(Clone, Debug)]
pub struct ControlType {
    pub name: Name,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Parameters of `apply`.
    pub params: Vec<VarId>,
    /// Annotations of the declaration (`@pipeline`, ...).
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// `package Name<...>(...);`
#[derive(Clone, Debug)]
pub struct Package {
    pub name: Name,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Parameters: parsers, controls, packages, externs and compile-time known values.
    pub params: Vec<VarId>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A parser with its states.
#[derive(Clone, Debug)]
pub struct Parser {
    pub name: Name,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Parameters of `apply`.
    pub params: Vec<VarId>,
    /// Constructor parameters.
    pub constructor_params: Vec<VarId>,
    /// Locals in source order.
    pub locals: Vec<Local>,
    /// States in source order; [`Target::State`](super::Target) counts in them. `start` is one of them.
    pub states: Vec<State>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A control.
#[derive(Clone, Debug)]
pub struct Control {
    pub name: Name,
    /// Type parameters.
    pub type_params: Vec<TypeVarId>,
    /// Parameters of `apply`.
    pub params: Vec<VarId>,
    /// Constructor parameters.
    pub constructor_params: Vec<VarId>,
    /// Locals in source order.
    pub locals: Vec<Local>,
    /// The `apply` block.
    pub body: Block,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// A local declaration of a control or parser, in source order: initializers run in this order at the start of
/// every `apply`.
#[derive(Clone, Debug)]
pub enum Local {
    /// A variable; the statement is a [`StmtKind::Var`](super::StmtKind).
    Var(Box<Stmt>),
    /// A constant.
    Const(ConstId),
    /// An instance. Instances that direct invocations (`C.apply(...)`) make stand before the others.
    Instance(InstanceId),
    /// An action.
    Action(ActionId),
    /// A table.
    Table(TableId),
    /// A parser value set.
    ValueSet(ValueSetId),
}

/// `value_set<T>(size) name;`
#[derive(Clone, Debug)]
pub struct ValueSet {
    pub name: Name,
    /// The type of its elements.
    pub element: Type,
    /// Size of the value set: a compile-time known `int` or `bit<W>`.
    pub size: Expr,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// `Type(args) name;`, or an object made where it is used.
#[derive(Clone, Debug)]
pub struct Instance {
    pub name: Name,
    /// Extern, parser, control or package; an array of externs for `E(args)[N] name`.
    pub ty: Type,
    /// The constructor and its arguments.
    pub construct: Construct,
    /// True for the instance that a direct invocation `C.apply(...)` makes: its name is the type's.
    pub direct: bool,
    /// Abstract methods and the functions that implement them here.
    pub implementations: Vec<Implementation>,
    /// Instances declared in the initializer block, for the implementations to use.
    pub inner: Vec<InstanceId>,
    /// Annotations of the declaration.
    pub annotations: Annotations,
    /// The whole declaration.
    pub span: Span,
}

/// An abstract method and its implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Implementation {
    /// The abstract method of the extern.
    pub method: FunctionId,
    /// The function in the instance's initializer.
    pub function: FunctionId,
}

/// A top-level declaration, in source order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decl {
    /// A struct, header or header union.
    Struct(StructId),
    /// An enum.
    Enum(EnumId),
    /// `type`
    NewType(NewTypeId),
    /// `typedef`
    Typedef(TypedefId),
    /// A constant.
    Const(ConstId),
    /// A function of the program or an extern function.
    Function(FunctionId),
    /// An extern object type.
    Extern(ExternId),
    /// An action.
    Action(ActionId),
    /// A parser type.
    ParserType(ParserTypeId),
    /// A control type.
    ControlType(ControlTypeId),
    /// A package.
    Package(PackageId),
    /// A parser.
    Parser(ParserId),
    /// A control.
    Control(ControlId),
    /// An instance.
    Instance(InstanceId),
    /// A value set (some architectures have them outside parsers).
    ValueSet(ValueSetId),
}
