//! Digests: a call keeps its data in the metadata, and the deparser sends them.
//!
//! Before: `digest<learned_t>(1, { meta.bd, hdr.ethernet.src });`
//! After:  `standard.digest1_0 = meta.bd; standard.digest1_1 = hdr.ethernet.src; standard.digest_type = 1;`
//!         `@name(".learned_t") Digest<learned_t>(1) digest; if (dprsr.digest_type == 1) { digest.pack({ standard.digest1_0, standard.digest1_1 }); }`
//!
//! A Tofino sends one digest for a packet, of one of seven types and at most 48 bytes.

use crate::original::{add_metadata, refused, standard_of, standard_type};
use base_diag::{Diagnostic, Span};
use ir::{
    Block, Call, Callee, Control, ControlId, Direction, Expr, ExprKind, ExternId, ExternMethod, ExternObject,
    Instance, InstanceId, Name, Owner, Program, Signature, SignatureParam, Stmt, StmtKind, SwitchOn, TableId,
    Type, TypeDecl, TypeId, TypeKind, Var, VarId, VarKind, build, visit,
};

const FUNCTION: &str = "digest";
/// `DigestType_t`; 0 is no digest.
const TYPE_BITS: u32 = 3;
const MOST_TYPES: usize = 7;
const MOST_BITS: u64 = 48 * 8;
/// The metadata of the deparser, and its first fields.
const DEPARSER: &str = "ingress_intrinsic_metadata_for_deparser_t";
const DEPARSER_FIELDS: [&str; 2] = ["drop_ctl", "digest_type"];

/// True for a call of `digest`.
pub(crate) fn is_digest(program: &Program, call: &Call) -> bool {
    matches!(call.callee, Callee::ExternFunction(id) if program.extern_functions[id.index()].name == FUNCTION)
}

/// Calls `f` with each digest of a control.
fn each(program: &Program, control: &Control, f: &mut dyn FnMut(&Call, Span)) {
    let bodies = control.actions.iter().map(|action| &action.body).chain([&control.body]);
    bodies.for_each(|body| {
        visit::stmts(body, &mut |stmt| {
            if let StmtKind::Call(call) = &stmt.kind
                && is_digest(program, call)
            {
                f(call, stmt.span);
            }
        });
    });
}

/// The types of the digests, in order of their numbers; the first is 1.
fn types(program: &Program) -> Vec<TypeId> {
    let mut types = vec![];
    for control in &program.controls {
        each(program, control, &mut |call, _| {
            if let Some(Some(data)) = call.args.get(1)
                && let Type::Named(id) = data.ty
                && !types.contains(&id)
            {
                types.push(id);
            }
        });
    }
    types
}

/// True if the program sends any.
pub(crate) fn are_sent(program: &Program) -> bool {
    !types(program).is_empty()
}

/// Why TNA cannot send a digest.
fn problem(program: &Program, control: &Control, call: &Call) -> Option<&'static str> {
    let [_, Some(data)] = &call.args[..] else { return Some("an argument is missing") };
    let is_plain = |ty: &Type| matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Bool);
    let fields = program.fields(&data.ty);
    if !program.is_struct(&data.ty) || !fields.iter().all(|field| is_plain(&field.ty)) {
        return Some("its data are no struct of numbers");
    }
    if program.bits(&data.ty).is_none_or(|bits| bits > MOST_BITS) {
        return Some("a digest of a Tofino has at most 48 bytes");
    }
    let mut has_call = false;
    visit::calls_in(data, &mut |_| has_call = true);
    if has_call {
        return Some("a call computes its data");
    }
    let none = standard_of(program, &control.vars, &control.params).is_none();
    none.then_some("the control does not have the standard metadata")
}

/// Refuses digests that a Tofino does not have.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    let mut first = None;
    for control in &program.controls {
        each(program, control, &mut |call, span| {
            first.get_or_insert(span);
            found.extend(problem(program, control, call).map(|why| refused("this digest", span, why)));
        });
    }
    let Some(first) = first else { return found };
    if types(program).len() > MOST_TYPES {
        found.push(refused("this digest", first, "a Tofino has seven types of digests"));
    }
    let stages = ["ingress", "egress"].map(|stage| program.stage_control(stage));
    let most: usize = stages.into_iter().flatten().map(|id| most(program, id)).sum();
    if most > 1 {
        found.push(refused("this digest", first, "a packet may send several, and a Tofino sends one"));
    }
    found
}

/// True if egress sends digests.
pub(crate) fn of_egress(program: &Program) -> bool {
    program.stage_control("egress").is_some_and(|id| most(program, id) > 0)
}

/// The most digests that a packet sends in a control.
fn most(program: &Program, id: ControlId) -> usize {
    let control = program.control(id);
    Paths { program, control }.block(&control.body)
}

struct Paths<'p> {
    program: &'p Program,
    control: &'p Control,
}

impl Paths<'_> {
    fn block(&self, block: &Block) -> usize {
        block.stmts.iter().map(|stmt| self.stmt(stmt)).sum()
    }

    fn stmt(&self, stmt: &Stmt) -> usize {
        let mut sent = 0;
        visit::exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |expr| {
                if let ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) = &expr.kind {
                    sent += self.table(*table);
                }
            });
        });
        sent + match &stmt.kind {
            StmtKind::Call(call) => self.call(call),
            StmtKind::Apply(table) => self.table(*table),
            StmtKind::If(_, yes, no) => self.block(yes).max(self.block(no)),
            StmtKind::Switch(on, cases) => {
                let run = match on {
                    SwitchOn::ActionRun(table) => self.table(*table),
                    SwitchOn::Value(_) => 0,
                };
                run + cases.iter().map(|case| self.block(&case.body)).max().unwrap_or(0)
            }
            StmtKind::Block(block) => self.block(block),
            // A loop may run again.
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => 2 * self.block(body),
            _ => 0,
        }
    }

    fn call(&self, call: &Call) -> usize {
        match call.callee {
            Callee::Action(id) => self.block(&self.control.actions[id.index()].body),
            Callee::Control(id) => most(self.program, id),
            _ => usize::from(is_digest(self.program, call)),
        }
    }

    fn table(&self, id: TableId) -> usize {
        let bodies = self.control.tables[id.index()].actions.iter().map(|action| action.action);
        bodies.map(|id| self.block(&self.control.actions[id.index()].body)).max().unwrap_or(0)
    }
}

/// Keeps the data of each call, and makes the deparser send them.
pub(crate) fn replace(program: &mut Program) {
    let types = types(program);
    let Some(deparser) = program.stage_control("deparser").filter(|_| !types.is_empty()) else { return };
    let old = program.clone();
    let standard = Type::Named(standard_type(&old));
    let kind = add_metadata(program, "digest_type", Type::Bit(TYPE_BITS));
    let mut places = vec![];
    for (number, id) in (1..).zip(&types) {
        let fields = old.fields(&Type::Named(*id));
        let add = |(at, field): (usize, &ir::Field)| {
            let name = format!("digest{number}_{at}");
            (add_metadata(program, &name, field.ty.clone()), field.ty.clone())
        };
        places.push(fields.iter().enumerate().map(add).collect::<Vec<_>>());
    }
    for (control, before) in program.controls.iter_mut().zip(&old.controls) {
        let Some(id) = standard_of(&old, &before.vars, &before.params) else { continue };
        let place = |at: usize, ty: &Type| build::field(build::var(id, &standard), at, ty.clone());
        let mut keep = |stmt: &mut Stmt| {
            let StmtKind::Call(call) = &stmt.kind else { return };
            let Some(Some(data)) = call.args.get(1).filter(|_| is_digest(&old, call)) else { return };
            let Some(number) = types.iter().position(|id| data.ty == Type::Named(*id)) else { return };
            let mut stmts = vec![];
            for (at, (field, ty)) in places[number].iter().enumerate() {
                let value = build::cast(part(data, at, ty), ty.clone());
                stmts.push(build::assign(place(*field, ty), value).at(stmt.span));
            }
            let number = build::bits(TYPE_BITS, number as u64 + 1);
            stmts.push(build::assign(place(kind, &Type::Bit(TYPE_BITS)), number).at(stmt.span));
            stmt.kind = StmtKind::Block(build::block(stmts));
        };
        visit::stmts_mut(&mut control.body, &mut keep);
        control.actions.iter_mut().for_each(|action| visit::stmts_mut(&mut action.body, &mut keep));
    }
    send(program, deparser, &types, &places);
}

/// A field of the data.
fn part(data: &Expr, at: usize, ty: &Type) -> Expr {
    match &data.kind {
        ExprKind::Aggregate(parts) => parts[at].clone(),
        ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Aggregate(_)) => part(inner, at, ty),
        _ => build::field(data.clone(), at, ty.clone()),
    }
}

/// Gives the deparser the metadata and a `Digest` for each type.
fn send(program: &mut Program, deparser: ControlId, types: &[TypeId], places: &[Vec<(usize, Type)>]) {
    let object = ExternId::from(program.externs.len());
    let metadata = Type::Named(TypeId::from(program.types.len()));
    let standard = Type::Named(standard_type(program));
    let first = program.instances.len();
    for (number, (id, at)) in (1..).zip(types.iter().zip(first..)) {
        let name = program.type_decl(*id).name.clone();
        program.instances.push(Instance {
            name: "digest".into(),
            control_plane_name: name,
            object,
            type_args: vec![Type::Named(*id)],
            args: vec![build::bits(TYPE_BITS, number)],
            owner: Owner::Control(deparser),
            methods: vec![],
            annotations: vec![],
            span: Span::NONE,
        });
        program.controls[deparser.index()].instances.push(InstanceId::from(at));
    }
    let control = &mut program.controls[deparser.index()];
    let [kept, asked] = [("standard_metadata", &standard), ("dprsr", &metadata)].map(|(name, ty)| {
        let var = VarId::from(control.vars.len());
        let kind = VarKind::Param(Direction::In);
        let annotations = vec![];
        control.vars.push(Var { name: name.into(), ty: ty.clone(), kind, annotations, span: Span::NONE });
        control.params.push(var);
        var
    });
    let mut sends = vec![];
    for ((number, at), (id, fields)) in (1..).zip(first..).zip(types.iter().zip(places)) {
        let value =
            |(field, ty): &(usize, Type)| build::field(build::var(kept, &standard), *field, ty.clone());
        let data = ExprKind::Aggregate(fields.iter().map(value).collect());
        let data = build::expr(data, Type::Named(*id));
        let pack = build::call(Callee::Method(InstanceId::from(at), 0), vec![], vec![data]);
        let kind = build::field(build::var(asked, &metadata), 1, Type::Bit(TYPE_BITS));
        sends.push(build::if_then(build::equals(kind, build::bits(TYPE_BITS, number)), vec![pack]));
    }
    control.body.stmts.splice(0..0, sends).for_each(drop);
    program.externs.push(declared());
    program.types.push(TypeDecl {
        name: DEPARSER.into(),
        kind: TypeKind::Struct(
            DEPARSER_FIELDS.map(|name| build::struct_field(name, Type::Bit(TYPE_BITS))).to_vec(),
        ),
        annotations: vec![],
        span: Span::NONE,
    });
}

/// `Digest` as far as it is used.
fn declared() -> ExternObject {
    let param = |name: &str, ty: Type| SignatureParam {
        name: name.into(),
        direction: Direction::In,
        ty,
        optional: false,
    };
    let ty = Name::from("T");
    let signature = Signature {
        type_params: vec![],
        params: vec![param("data", Type::Param(ty.clone()))],
        returns: Type::Void,
    };
    ExternObject {
        name: "Digest".into(),
        user: false,
        type_params: vec![ty],
        constructors: vec![vec![], vec![param("digest_type", Type::Bit(TYPE_BITS))]],
        methods: vec![ExternMethod {
            name: "pack".into(),
            signature,
            is_abstract: false,
            annotations: vec![],
            span: Span::NONE,
        }],
        annotations: vec![],
        span: Span::NONE,
    }
}
