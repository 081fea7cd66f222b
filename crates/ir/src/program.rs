//! The whole program.

use crate::{
    Annotations, Control, ControlId, Direction, Expr, ExternId, Function, FunctionId, InstanceId, Name,
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
    /// Stages, in the order in which they run.
    pub stages: Vec<Stage>,
    /// How `main` is put together from the stages.
    pub main: Package,
    /// Annotations of `main`: `@pkginfo`, `@brief`, ...
    pub annotations: Annotations,
}

/// An architecture.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Arch {
    /// `v1model.p4` with the value of `V1MODEL_VERSION`.
    V1Model(u32),
    /// `psa.p4`.
    Psa {
        /// `dpdk/psa.p4`, with DPDK's additions.
        dpdk: bool,
    },
    /// `pna.p4`.
    Pna {
        /// `dpdk/pna.p4`, with DPDK's additions.
        dpdk: bool,
    },
    /// `tna.p4` for the Tofino of this generation, 1 or 2.
    Tna(u32),
    /// `t2na.p4`.
    T2na,
    /// One that the program declares itself, by the package of `main`.
    Other(Name),
}

impl Arch {
    /// `v1model`, `psa`, `pna`, `tna`, `t2na`; `None` for the program's own.
    pub fn name(&self) -> Option<&'static str> {
        Some(match self {
            Arch::V1Model(_) => "v1model",
            Arch::Psa { .. } => "psa",
            Arch::Pna { .. } => "pna",
            Arch::Tna(_) => "tna",
            Arch::T2na => "t2na",
            Arch::Other(_) => return None,
        })
    }
}

/// One step of a packet's path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// For v1model `parser`, `verify_checksum`, `ingress`, `traffic_manager`, `egress`, `compute_checksum`,
    /// `deparser`; for PSA and Tofino `ingress_parser`, `ingress`, `ingress_deparser`, `traffic_manager`,
    /// `egress_parser`, `egress`, `egress_deparser`, those of further pipelines after `pipe1.` and so on; for PNA
    /// `main_parser`, `pre_control`, `main_control`, `main_deparser`, `traffic_manager`. Where the architecture
    /// is the program's own: the path of parameters in [`Program::main`], and the order is that of the arguments.
    pub name: Name,
    /// Kind and block of the stage.
    pub kind: StageKind,
    /// Role of each parameter of the block, in order.
    pub roles: Vec<Role>,
}

/// Kind of a stage, with its block.
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

/// Role of a block's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// `packet_in` or `packet_out`.
    Packet,
    /// The headers.
    Headers,
    /// The user's metadata.
    Metadata,
    /// The architecture's metadata, if a single struct accompanies the packet.
    StandardMetadata,
    /// Metadata that the architecture gives to this stage; the type depends on the stage.
    Input,
    /// Metadata by which the program requests effects in this half of the pipeline.
    Output,
    /// Metadata carried from the deparser that ends one pass to the parser that begins another.
    Carried(Carried),
    /// Not known: the architecture is the program's own.
    Other,
}

/// Path of a packet from one pass to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Carried {
    /// Ingress to egress, unicast and multicast.
    Normal,
    /// A clone of ingress, to egress.
    CloneI2e,
    /// A clone of egress, to egress.
    CloneE2e,
    /// Resubmission: the received packet enters ingress again.
    Resubmit,
    /// Back to ingress as it left egress.
    Recirculate,
}

/// Instantiation of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Package {
    /// The package type.
    pub name: Name,
    /// Arguments by parameter, in order, without omitted optional ones.
    pub args: Vec<(Name, PackageArg)>,
}

/// An argument of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PackageArg {
    /// The block of the stage of this name. A block that is given twice is one stage.
    Stage(Name),
    /// An inner package.
    Package(Package),
    /// A value, extern instances included: a constant, or an aggregate of constants.
    Value(Expr),
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
    /// Parameters and result.
    pub signature: Signature,
    /// The user must implement it.
    pub is_abstract: bool,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// An extern function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternFunction {
    /// As declared.
    pub name: Name,
    /// Declared by the program and not by the architecture's files.
    pub user: bool,
    /// Parameters and result.
    pub signature: Signature,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// Parameters and result; may mention type parameters ([`Type::Param`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Type parameters of the method or function itself.
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
    /// Direction of the parameter.
    pub direction: Direction,
    /// Type of the parameter.
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
    /// Extern type of the instance.
    pub object: ExternId,
    /// Resolved.
    pub type_args: Vec<Type>,
    /// Constructor arguments: constants, and aggregates of constants.
    pub args: Vec<Expr>,
    /// Block that declares the instance.
    pub owner: Owner,
    /// Implementations of abstract methods: the method's index and the function. A function may have more parameters
    /// than its method: see [`Program::captures`].
    pub methods: Vec<(u32, FunctionId)>,
    /// As written.
    pub annotations: Annotations,
    /// The declaration.
    pub span: Span,
}

/// Block that declares an instance.
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

    /// Parameters for the values that implementations of an instance's methods read from the block around it: those
    /// of each implementation after the parameters of its method. A call of a method of the instance gives these
    /// values after its own arguments.
    pub fn captures<'a>(&'a self, instance: &'a Instance) -> impl Iterator<Item = &'a crate::Var> {
        let object = self.externs.get(instance.object.index());
        instance.methods.iter().flat_map(move |(method, function)| {
            let declared =
                object.and_then(|o| o.methods.get(*method as usize)).map(|m| m.signature.params.len());
            let function = self.functions.get(function.index());
            let params = function.and_then(|f| f.params.get(declared?..)).unwrap_or_default();
            params.iter().filter_map(move |id| function?.vars.get(id.index()))
        })
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

    /// True for structs (not tuples).
    pub fn is_struct(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(id) if matches!(self.type_decl(*id).kind, crate::TypeKind::Struct(_)))
    }

    /// True for header unions.
    pub fn is_union(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(id) if matches!(self.type_decl(*id).kind, crate::TypeKind::Union(_)))
    }

    /// True for headers and header unions.
    pub fn is_header_or_union(&self, ty: &Type) -> bool {
        self.is_header(ty) || self.is_union(ty)
    }

    /// True for headers (not unions).
    pub fn is_header(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(id) if matches!(self.type_decl(*id).kind, crate::TypeKind::Header(_)))
    }
}
