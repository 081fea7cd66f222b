//! The whole program.

use crate::{
    Annotations, Const, Control, ControlId, Direction, ExternId, Function, FunctionId, InstanceId, Name,
    Parser, ParserId, Type, TypeDecl, TypeId,
};
use base_diag::Span;

/// A program after elaboration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// For which architecture it is written.
    pub arch: Arch,
    /// Declared types, each after those it uses; the architecture's own included.
    pub types: Vec<TypeDecl>,
    /// `error` members; core.p4's come first, in its order.
    pub errors: Vec<Name>,
    /// Extern object types.
    pub externs: Vec<ExternObject>,
    /// Extern functions.
    pub extern_functions: Vec<ExternFunction>,
    /// Extern instances.
    pub instances: Vec<Instance>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Parser instances.
    pub parsers: Vec<Parser>,
    /// Control instances, each after those it applies.
    pub controls: Vec<Control>,
    /// What runs, in order.
    pub stages: Vec<Stage>,
}

/// An architecture.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Arch {
    /// `v1model.p4` with the value of `V1MODEL_VERSION`.
    V1Model(u32),
    /// Any other, by its package's name.
    Other(Name),
}

/// One step of the way of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// `parser`, `verify_checksum`, `ingress`, `traffic_manager`, `egress`, `compute_checksum`, `deparser`
    /// for v1model.
    pub name: Name,
    /// What runs.
    pub kind: StageKind,
    /// What each parameter of the block is.
    pub roles: Vec<Role>,
}

/// What a stage runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StageKind {
    /// Bytes to headers.
    Parse(ParserId),
    /// Headers and metadata to headers and metadata.
    Control(ControlId),
    /// Headers to bytes.
    Deparse(ControlId),
    /// Queues, replication, and the effects asked for before it.
    TrafficManager,
}

/// What a block's parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// `packet_in` or `packet_out`.
    Packet,
    /// The headers.
    Headers,
    /// The user's metadata.
    Metadata,
    /// The architecture's metadata.
    StandardMetadata,
}

/// An extern object type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternObject {
    /// As declared.
    pub name: Name,
    /// Declared by the program and not by the architecture's files.
    pub user: bool,
    /// Type parameters.
    pub type_params: Vec<Name>,
    /// Parameters of each constructor.
    pub constructors: Vec<Vec<SignatureParam>>,
    /// In order; overloaded ones have one each.
    pub methods: Vec<ExternMethod>,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// A method of an extern object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternMethod {
    /// As declared.
    pub name: Name,
    /// Its parameters and result.
    pub signature: Signature,
    /// The user must implement it.
    pub is_abstract: bool,
    /// As written.
    pub annotations: Annotations,
}

/// An extern function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternFunction {
    /// As declared.
    pub name: Name,
    /// Declared by the program and not by the architecture's files.
    pub user: bool,
    /// Its parameters and result.
    pub signature: Signature,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// Parameters and result; may mention type parameters ([`Type::Param`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Its own type parameters.
    pub type_params: Vec<Name>,
    /// In order.
    pub params: Vec<SignatureParam>,
    /// The result.
    pub returns: Type,
}

/// A parameter of a [`Signature`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureParam {
    /// As declared.
    pub name: Name,
    /// How it passes.
    pub direction: Direction,
    /// Its type.
    pub ty: Type,
    /// `@optional`
    pub optional: bool,
}

/// An instance of an extern object: a state object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    /// As written.
    pub name: Name,
    /// Unique in the program.
    pub control_plane_name: Name,
    /// Its type.
    pub object: ExternId,
    /// Resolved.
    pub type_args: Vec<Type>,
    /// Constructor arguments with their types.
    pub args: Vec<(Type, Const)>,
    /// Where it is declared.
    pub owner: Owner,
    /// Implementations of abstract methods: the method's index and the function.
    pub methods: Vec<(u32, FunctionId)>,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// Where an instance is declared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Owner {
    /// At the top level.
    Program,
    /// In a control.
    Control(ControlId),
    /// In a parser.
    Parser(ParserId),
}

impl Program {
    /// The declaration of a type.
    pub fn type_decl(&self, id: TypeId) -> &TypeDecl {
        &self.types[id.index()]
    }

    /// The stage of that name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|s| s.name == name)
    }

    /// The control a stage runs, be it a control or a deparser.
    pub fn stage_control(&self, name: &str) -> Option<ControlId> {
        match self.stage(name)?.kind {
            StageKind::Control(id) | StageKind::Deparse(id) => Some(id),
            _ => None,
        }
    }

    /// A control.
    pub fn control(&self, id: ControlId) -> &Control {
        &self.controls[id.index()]
    }

    /// A parser.
    pub fn parser(&self, id: ParserId) -> &Parser {
        &self.parsers[id.index()]
    }

    /// An extern instance.
    pub fn instance(&self, id: InstanceId) -> &Instance {
        &self.instances[id.index()]
    }

    /// An extern object type.
    pub fn extern_object(&self, id: ExternId) -> &ExternObject {
        &self.externs[id.index()]
    }

    /// The fields of a header, struct or union; empty for any other type.
    pub fn fields(&self, ty: &Type) -> &[crate::Field] {
        use crate::TypeKind::{Header, Struct, Union};
        match ty {
            Type::Named(id) => match &self.type_decl(*id).kind {
                Header(fields) | Struct(fields) | Union(fields) => fields,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// The type a newtype or serializable enum is represented by; any other type is itself.
    pub fn representation<'a>(&'a self, ty: &'a Type) -> &'a Type {
        use crate::TypeKind::{New, SerEnum};
        match ty {
            Type::Named(id) => match &self.type_decl(*id).kind {
                New(under) => self.representation(under),
                SerEnum { underlying, .. } => underlying,
                _ => ty,
            },
            _ => ty,
        }
    }

    /// Bits a value takes where it is laid out: the largest size of a varbit, 1 for a bool; `None` for types
    /// without a layout (`int`, strings, plain enums, errors, externs).
    pub fn bits(&self, ty: &Type) -> Option<u64> {
        match self.representation(ty) {
            Type::Bool => Some(1),
            Type::Bit(n) | Type::Int(n) | Type::Varbit(n) => Some(u64::from(*n)),
            Type::Stack(elem, n) => self.bits(elem)?.checked_mul(u64::from(*n)),
            Type::Tuple(types) => types.iter().try_fold(0u64, |sum, t| sum.checked_add(self.bits(t)?)),
            named @ Type::Named(id) => match &self.type_decl(*id).kind {
                crate::TypeKind::Enum(_) => None,
                _ => self.fields(named).iter().try_fold(0u64, |sum, f| sum.checked_add(self.bits(&f.ty)?)),
            },
            _ => None,
        }
    }

    /// True for headers (not unions).
    pub fn is_header(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(id) if matches!(self.type_decl(*id).kind, crate::TypeKind::Header(_)))
    }
}
