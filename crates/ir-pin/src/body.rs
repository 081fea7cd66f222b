//! Ingress of the pinned program: the decision, and the body twice.

use crate::metadata::{EXTERNAL, PINNED_BITS, RESIDENT, SHARD_BITS, free_name};
use crate::request::Shards;
use base_diag::Span;
use ir::{
    Action, ActionId, Annotation, Block, Callee, Const, Control, Direction, Expr, ExprKind, ExternFunction,
    ExternFunctionId, MatchKind, Name, Program, Signature, SignatureParam, Stmt, StmtKind, Table, TableId,
    TableKey, Type, TypeDecl, TypeKind, build,
};

/// The flow manager: an exact table over the key, whose entries time out.
pub fn flow_manager(
    control: &mut Control,
    key: &[Expr],
    names: &[Name],
    pinned: &Expr,
    flows: u64,
) -> TableId {
    let resident = set_pinned(control, "resident", pinned, RESIDENT);
    let external = set_pinned(control, "external", pinned, EXTERNAL);
    let name = free_name("flow_manager", &|name| control.tables.iter().any(|t| t.name == name));
    let part = |(expr, name): (&Expr, &Name)| TableKey {
        expr: expr.clone(),
        match_kind: MatchKind::Exact,
        name: name.clone(),
        annotations: vec![],
    };
    let first = key.first().cloned().unwrap_or_else(|| pinned.clone());
    let table =
        build::exact_table(&name, &control.control_plane_name, first, "", [resident, external], flows);
    let keys = key.iter().zip(names).map(part).collect();
    let properties = vec![("support_timeout".into(), build::bool(true))];
    let mut table = Table { keys, properties, ..table };
    for run in table.actions.iter_mut().skip(1) {
        run.annotations = vec![Annotation { name: "defaultonly".into(), body: ir::AnnotationBody::Empty }];
    }
    control.tables.push(table);
    TableId::from(control.tables.len() - 1)
}

fn set_pinned(control: &mut Control, name: &str, pinned: &Expr, value: u64) -> ActionId {
    let name = free_name(name, &|name| control.actions.iter().any(|a| a.name == name));
    let assign = build::assign(pinned.clone(), build::bits(PINNED_BITS, value));
    let action: Action = build::action(&name, &control.control_plane_name, vec![], vec![assign]);
    control.actions.push(action);
    ActionId::from(control.actions.len() - 1)
}

/// `@region("NAME") { ... }`
pub fn region(name: &str, block: Block) -> Stmt {
    let mut annotations = vec![Annotation::string("region", name)];
    annotations.extend(block.annotations);
    build::stmt(StmtKind::Block(Block { annotations, stmts: block.stmts }))
}

/// Code that computes the shard of a packet.
pub fn compute_shard(
    program: &mut Program,
    control: &mut Control,
    key: &[Expr],
    shards: &Shards,
    shard: &Expr,
) -> Vec<Stmt> {
    let parts: Vec<Expr> = shards.parts.iter().filter_map(|at| key.get(*at).cloned()).collect();
    let mut stmts = vec![];
    let mut data = parts.clone();
    // Both directions of a flow get one shard: in one of them, the parts of each pair are swapped.
    if !shards.pairs.is_empty() {
        let mut locals: Vec<Expr> = vec![];
        for part in &parts {
            let at = locals.len();
            let var =
                build::local(&mut control.vars, &format!("shard_key_{at}"), part.ty.clone(), Span::NONE);
            control.locals.push(build::declare(var, None));
            locals.push(build::var(var, &part.ty));
        }
        stmts.extend(
            locals.iter().zip(&parts).map(|(local, part)| build::assign(local.clone(), part.clone())),
        );
        let swapped = shards.pairs.iter().flat_map(|&(a, b)| {
            [
                build::assign(locals[a].clone(), parts[b].clone()),
                build::assign(locals[b].clone(), parts[a].clone()),
            ]
        });
        stmts.push(build::if_then(larger(&parts, &shards.pairs), swapped.collect()));
        data = locals;
    }
    let types: Vec<Type> = data.iter().map(|part| part.ty.clone()).collect();
    let tuple = Type::Tuple(types);
    let data = build::expr(ExprKind::Aggregate(data), tuple.clone());
    let number = Type::Bit(SHARD_BITS);
    let algorithm = algorithm(program, "crc32");
    let args = vec![
        shard.clone(),
        algorithm.clone(),
        build::bits(SHARD_BITS, 0),
        data,
        build::bits(SHARD_BITS, shards.count.into()),
    ];
    let type_args = vec![number.clone(), number.clone(), tuple, number];
    let hash = hash(program, &algorithm.ty);
    stmts.push(build::call(Callee::ExternFunction(hash), type_args, args));
    stmts
}

/// The first parts of the pairs, in order, are larger than the second ones.
fn larger(parts: &[Expr], pairs: &[(usize, usize)]) -> Expr {
    let mut all = build::bool(false);
    for (at, &(a, b)) in pairs.iter().enumerate().rev() {
        let less = build::less(parts[b].clone(), parts[a].clone());
        all = match at + 1 == pairs.len() {
            true => less,
            false => build::or(less, build::and(build::equals(parts[a].clone(), parts[b].clone()), all)),
        };
    }
    all
}

/// The members of v1model's `HashAlgorithm`, in its order.
const ALGORITHMS: [&str; 8] =
    ["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];

/// `HashAlgorithm.NAME`; the type is declared here if the program does not use it.
fn algorithm(program: &mut Program, name: &str) -> Expr {
    let found = program.types.iter().position(|decl| decl.name == "HashAlgorithm");
    let id = found.unwrap_or_else(|| {
        program.types.push(TypeDecl {
            name: "HashAlgorithm".into(),
            kind: TypeKind::Enum(ALGORITHMS.map(Name::from).to_vec()),
            annotations: vec![],
            span: Span::NONE,
        });
        program.types.len() - 1
    });
    let member = match &program.types[id].kind {
        TypeKind::Enum(members) => members.iter().position(|member| member == name),
        _ => None,
    };
    // The verifier refuses a member that is not declared.
    let kind = ExprKind::Const(Const::Enum(member.map_or(u32::MAX, |member| member as u32)));
    build::expr(kind, Type::Named(id.into()))
}

/// `hash`, declared here if the program does not use it.
fn hash(program: &mut Program, algorithm: &Type) -> ExternFunctionId {
    let functions = &mut program.extern_functions;
    if let Some(found) = functions.iter().position(|f| f.name == "hash" && !f.user) {
        return found.into();
    }
    let of = |name: &str| Type::Param(name.into());
    let param = |(name, direction, ty): (&str, Direction, Type)| SignatureParam {
        name: name.into(),
        direction,
        ty,
        optional: false,
    };
    let params = [
        ("result", Direction::Out, of("O")),
        ("algo", Direction::In, algorithm.clone()),
        ("base", Direction::In, of("T")),
        ("data", Direction::In, of("D")),
        ("max", Direction::In, of("M")),
    ];
    functions.push(ExternFunction {
        name: "hash".into(),
        user: false,
        signature: Signature {
            type_params: ["O", "T", "D", "M"].map(Name::from).to_vec(),
            params: params.map(param).to_vec(),
            returns: Type::Void,
        },
        annotations: vec![],
        span: Span::NONE,
    });
    ExternFunctionId::from(functions.len() - 1)
}
