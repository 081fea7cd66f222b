//! Externs of the architecture that generated code uses: a counter of drops, dropping, recirculating. Which these are is data
//! (`arch::OWN_EXTERNS`).

use super::Generator;
use crate::arch::OWN_EXTERNS;
use base_diag::Span;
use ir::build::struct_field;
use ir::{
    Callee, Const, Direction, Expr, ExprKind, ExternFunctionId, ExternId, Field, InstanceId, Owner, Role,
    Signature, SignatureParam, Stmt, Type, build,
};
use p4_arch::{Duty, Meaning};

/// Bits of a [`Drop`].
const REASON_BITS: u32 = 3;

/// Cells of the counter `p4rack_drops`.
#[derive(Clone, Copy)]
pub enum Drop {
    /// A hand-over of an unknown version, app, epoch or region, or cut short.
    Unknown = 0,
    /// An ordinary frame at a device that is not the origin.
    NotOrigin = 1,
    /// No entry says by which port to go on.
    NoPort = 2,
    /// The program sends to a port that joins devices.
    LinkPort = 3,
    /// A hand-over that came before, or too late to know; a call's second answer.
    Again = 4,
    /// A packet so short that a link would pad it, where nothing carries its length.
    Short = 5,
}

impl Generator<'_> {
    /// Ingress drops the packet for this reason, at its end ([`Generator::drop_at_end`]).
    pub fn drop(&mut self, reason: Drop) -> Vec<Stmt> {
        self.drops = true;
        let [dropped, noted] = self.drop_fields();
        vec![
            build::assign(dropped, build::bits(1, 1)),
            build::assign(noted, build::bits(REASON_BITS, reason as u64)),
        ]
    }

    /// If ingress drops anything: `if (meta.p4rack_dropped == 1) { p4rack_drops.count(meta.p4rack_reason); mark_to_drop(std); }`
    ///
    /// The end of ingress is the one place that counts, because a Tofino has a counter in one stage, and the one that drops: writes of a field
    /// under conditions that exclude each other by a value take a stage each.
    pub fn drop_at_end(&mut self) -> Option<Stmt> {
        if !self.drops {
            return None;
        }
        let [dropped, noted] = self.drop_fields();
        let stmts = self.count_and_drop(Duty::Ingress, build::cast(noted, Type::Bit(32)));
        Some(build::if_then(build::equals(dropped, build::bits(1, 1)), stmts))
    }

    /// Egress counts and drops the packet.
    pub fn drop_in_egress(&mut self, reason: Drop) -> Vec<Stmt> {
        self.count_and_drop(Duty::Egress, build::bits(32, reason as u64))
    }

    fn count_and_drop(&mut self, stage: Duty, cell: Expr) -> Vec<Stmt> {
        let counter = self.drop_counter(stage);
        let count = build::call(Callee::Method(counter, 0), vec![], vec![cell]);
        std::iter::once(count).chain(self.drop_silently(stage)).collect()
    }

    /// `meta.p4rack_dropped` and `meta.p4rack_reason`
    fn drop_fields(&self) -> [Expr; 2] {
        let field =
            |n: usize, bits| build::field(self.metadata(Duty::Ingress), self.dropped + n, Type::Bit(bits));
        [field(0, 1), field(1, REASON_BITS)]
    }

    /// The metadata fields that [`Generator::drop`] writes.
    pub fn drop_metadata(&self) -> [Field; 2] {
        [("dropped", 1), ("reason", REASON_BITS)]
            .map(|(name, bits)| struct_field(&self.own(name), Type::Bit(bits)))
    }

    /// Drops what is no packet.
    pub fn drop_silently(&mut self, stage: Duty) -> Vec<Stmt> {
        let mark = self.mark_to_drop_function();
        let metadata = build::var(
            self.sure_role_var(stage, Role::StandardMetadata),
            &self.shared_type(stage, Role::StandardMetadata),
        );
        vec![build::call(Callee::ExternFunction(mark), vec![], vec![metadata])]
    }

    /// Cells of the counter of drops: one for each reason that can be.
    fn drop_cells(&self) -> u64 {
        let placement = self.cut.placement;
        match (self.runtime.drops_short(), placement.has_any_spares() || !placement.numbered.is_empty()) {
            (true, _) => Drop::Short as u64 + 1,
            (false, true) => Drop::Again as u64 + 1,
            (false, false) => Drop::Again as u64,
        }
    }

    /// A copy of the packet as it came in goes back by the port that it came by; it passes egress as a clone.
    pub fn clone_to_port(&mut self) -> Vec<Stmt> {
        let own = &OWN_EXTERNS.clone;
        let kinds = self.out.types.iter().position(|t| t.name == own.kinds);
        let Some(kinds) = kinds.map(|at| Type::Named(ir::TypeId::from(at))) else {
            return self.lacks("the kinds of clones".to_string(), vec![]);
        };
        let found = self.out.extern_functions.iter().position(|f| f.name == own.name && !f.user);
        let function = found.map(ExternFunctionId::from).unwrap_or_else(|| {
            let types = [
                (Direction::In, kinds.clone()),
                (Direction::In, Type::Bit(32)),
                (Direction::None, Type::Bit(8)),
            ];
            let param = |(name, (direction, ty)): (&str, (Direction, Type))| SignatureParam {
                name: name.into(),
                direction,
                ty,
                optional: false,
            };
            let params = own.params.into_iter().zip(types).map(param).collect();
            self.add_function(own.name, params)
        });
        let kind = Expr { kind: ExprKind::Const(Const::Enum(0)), ty: kinds, span: Span::NONE };
        // There is no session 0.
        let port = build::cast(self.standard(Duty::Ingress, Meaning::InPort), Type::Bit(32));
        let session = build::add(port, build::bits(32, 1));
        let list = build::bits(8, u64::from(self.clone_list));
        vec![build::call(Callee::ExternFunction(function), vec![], vec![kind, session, list])]
    }

    /// Cuts the packet that leaves to its first bytes.
    pub fn truncate_to(&mut self, bytes: u32) -> Stmt {
        let function = self.function(OWN_EXTERNS.truncate, Direction::In, Type::Bit(32));
        build::call(Callee::ExternFunction(function), vec![], vec![build::bits(32, bytes.into())])
    }

    fn drop_counter(&mut self, stage: Duty) -> InstanceId {
        let name = self.own("drops");
        let owner = if stage == Duty::Egress { self.cut.egress } else { self.cut.ingress };
        let is_it = |i: &ir::Instance| i.name == name && i.owner == Owner::Control(owner);
        if let Some(found) = self.out.instances.iter().position(is_it) {
            return InstanceId::from(found);
        }
        let object = self.counter_object();
        let index = self.out.extern_object(object).type_params.iter().map(|_| Type::Bit(32)).collect();
        let kind = self.out.extern_object(object).constructors[0][1].ty.clone();
        let control = &mut self.out.controls[owner.index()];
        let id = InstanceId::from(self.out.instances.len());
        control.instances.push(id);
        self.out.instances.push(ir::Instance {
            control_plane_name: format!("{}.{name}", control.control_plane_name).into(),
            name,
            object,
            type_args: index,
            args: vec![
                build::bits(32, self.drop_cells()),
                // The first member: packets.
                Expr { kind: ExprKind::Const(Const::Enum(0)), ty: kind, span: Span::NONE },
            ],
            owner: Owner::Control(owner),
            methods: vec![],
            annotations: vec![],
            span: Span::NONE,
        });
        id
    }

    /// The architecture's counter, declared here if the program does not use it.
    fn counter_object(&mut self) -> ExternId {
        let own = &OWN_EXTERNS.counter;
        if let Some(found) = self.out.externs.iter().position(|e| e.name == own.name && !e.user) {
            return ExternId::from(found);
        }
        let kind = self
            .out
            .types
            .iter()
            .position(|t| t.name == own.kinds)
            .map_or(Type::Void, |i| Type::Named(ir::TypeId::from(i)));
        let generic = matches!(self.out.arch, ir::Arch::V1Model(version) if version >= own.generic_since);
        let (type_params, index) = match generic {
            true => (vec!["I".into()], Type::Param("I".into())),
            false => (vec![], Type::Bit(32)),
        };
        let param =
            |name: &str, direction, ty| SignatureParam { name: name.into(), direction, ty, optional: false };
        let size = param("size", Direction::None, Type::Bit(32));
        let count = Signature {
            type_params: vec![],
            params: vec![param("index", Direction::In, index)],
            returns: Type::Void,
        };
        self.out.externs.push(ir::ExternObject {
            name: own.name.into(),
            user: false,
            type_params,
            constructors: vec![vec![size, param("type", Direction::None, kind)]],
            methods: vec![ir::ExternMethod {
                name: own.method.into(),
                signature: count,
                is_abstract: false,
                annotations: vec![],
                span: Span::NONE,
            }],
            annotations: vec![],
            span: Span::NONE,
        });
        ExternId::from(self.out.externs.len() - 1)
    }

    fn mark_to_drop_function(&mut self) -> ExternFunctionId {
        let ty = self.shared_type(Duty::Ingress, Role::StandardMetadata);
        self.function(OWN_EXTERNS.drop, Direction::InOut, ty)
    }

    pub fn recirculate_function(&mut self) -> ExternFunctionId {
        self.function(OWN_EXTERNS.recirculate, Direction::None, Type::Bit(8))
    }

    pub fn resubmit_function(&mut self) -> ExternFunctionId {
        self.function(OWN_EXTERNS.resubmit, Direction::None, Type::Bit(8))
    }

    /// The architecture's function with one parameter of that type, declared here if nobody used it before.
    fn function(&mut self, (name, param): (&str, &str), direction: Direction, ty: Type) -> ExternFunctionId {
        let functions = &mut self.out.extern_functions;
        if let Some(found) = functions.iter().position(|f| f.name == name && f.signature.params.len() == 1) {
            return ExternFunctionId::from(found);
        }
        let params = vec![SignatureParam { name: param.into(), direction, ty, optional: false }];
        self.add_function(name, params)
    }

    fn add_function(&mut self, name: &str, params: Vec<SignatureParam>) -> ExternFunctionId {
        let functions = &mut self.out.extern_functions;
        functions.push(ir::ExternFunction {
            name: name.into(),
            user: false,
            signature: Signature { type_params: vec![], params, returns: Type::Void },
            annotations: vec![],
            span: Span::NONE,
        });
        ExternFunctionId::from(functions.len() - 1)
    }
}
