//! Two metadata fields that travel with a packet: the place where it is processed, and its shard.

use base_diag::{Diagnostic, Span, codes::pin as codes};
use ir::{
    Annotation, AnnotationBody, AnnotationValue, Call, Callee, Const, Expr, ExprKind, Field, Name, Program,
    StmtKind, Type, TypeId, TypeKind, VarKind, visit,
};
use num_bigint::BigInt;
use std::collections::BTreeSet;

/// Values of the field `pinned`.
pub const RESIDENT: u64 = 1;
pub const EXTERNAL: u64 = 2;
pub const PINNED_BITS: u32 = 2;
pub const SHARD_BITS: u32 = 16;

/// `@shard("REGION", COUNT)`: hand-overs to the region go by the field, which is less than the count.
pub fn says_shard(region: &str, count: u16) -> Annotation {
    let values = vec![AnnotationValue::Str(region.to_string()), AnnotationValue::Int(count.into())];
    Annotation { name: "shard".into(), body: AnnotationBody::Values(values) }
}

/// Calls by which packets come to ingress again or are copied, with the position of their field list.
const AGAIN: [(&str, usize); 3] = [
    ("resubmit_preserving_field_list", 0),
    ("recirculate_preserving_field_list", 0),
    ("clone_preserving_field_list", 2),
];

/// Calls that take the values to keep as an argument.
const OLD: [&str; 3] = ["resubmit", "recirculate", "clone3"];

/// Adds a field that every field list keeps; gives its number. `annotations` are its own.
pub fn add_field(
    program: &mut Program,
    metadata: TypeId,
    name: &str,
    width: u32,
    annotations: Vec<Annotation>,
    lists: &BTreeSet<u32>,
) -> Option<usize> {
    let TypeKind::Struct(fields) = &mut program.types[metadata.index()].kind else { return None };
    let mut annotations = annotations;
    if !lists.is_empty() {
        let values = lists.iter().map(|list| AnnotationValue::Int(BigInt::from(*list))).collect();
        annotations.push(Annotation { name: "field_list".into(), body: AnnotationBody::Values(values) });
    }
    let name = free_name(name, &|name| fields.iter().any(|field| field.name == name));
    fields.push(Field { name, ty: Type::Bit(width), annotations });
    Some(fields.len() - 1)
}

/// `name`, or `name_2`, `name_3`, ... where that is taken.
pub fn free_name(name: &str, taken: &dyn Fn(&str) -> bool) -> Name {
    let mut numbered = (2u64..).map(|n| format!("{name}_{n}"));
    let first = (!taken(name)).then(|| name.to_string());
    first.or_else(|| numbered.find(|free| !taken(free))).unwrap_or_default().into()
}

/// The field lists that the program's calls name.
pub fn field_lists(program: &Program) -> Result<BTreeSet<u32>, Vec<Diagnostic>> {
    let (mut lists, mut wrong) = (BTreeSet::new(), vec![]);
    each_call(program, &mut |call| {
        let Callee::ExternFunction(id) = call.callee else { return };
        let function = &program.extern_functions[id.index()];
        let name = function.name.as_str();
        let refuse = |why: &str| {
            Diagnostic::error(
                codes::NOT_PINNED,
                "a packet that comes to ingress again could change its place",
            )
            .at(call.span, why.to_string())
            .note("each field list must contain the packet's place, the switch or a helper")
            .help("name a field list by its number")
        };
        if function.user {
            return;
        }
        if let Some((_, at)) = AGAIN.iter().find(|(known, _)| *known == name) {
            match call.args.get(*at).and_then(Option::as_ref).and_then(number) {
                Some(list) => drop(lists.insert(list)),
                None => wrong.push(refuse("the number of its field list is not known")),
            }
        } else if OLD.contains(&name) {
            wrong.push(refuse("this call has no field list"));
        }
    });
    if wrong.is_empty() { Ok(lists) } else { Err(wrong) }
}

fn number(e: &Expr) -> Option<u32> {
    match &e.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u32(),
        ExprKind::Cast(inner) => number(inner),
        _ => None,
    }
}

/// Refuses metadata that the program uses as one value: it would see the fields that are added.
pub fn check_parts(program: &Program, metadata: TypeId) -> Result<(), Diagnostic> {
    let ty = Type::Named(metadata);
    let refuse = |span: Span, why: &str| {
        let title = format!("`{}` is used as one value", program.type_decl(metadata).name);
        Diagnostic::error(codes::NOT_PINNED, title)
            .at(span, why.to_string())
            .note("pinning adds fields to the program's metadata")
            .help("use its fields one by one, or a struct of your own inside of it")
    };
    let mut found = None;
    let mut value = |e: &Expr| {
        let whole = |e: &Expr| e.ty == ty;
        let bad = match &e.kind {
            ExprKind::Aggregate(_) | ExprKind::Ternary(..) => whole(e),
            ExprKind::Binary(_, a, _) => whole(a),
            ExprKind::Call(call) => call.type_args.contains(&ty),
            _ => false,
        };
        if bad {
            found = found.or(Some(e.span));
        }
    };
    each_block(program, &mut |block| visit::all_exprs(block, &mut value));
    each_call(program, &mut |call| {
        if call.type_args.contains(&ty) {
            found = found.or(Some(call.span));
        }
    });
    if let Some(span) = found {
        return Err(refuse(span, "here"));
    }
    let vars = program.parsers.iter().map(|parser| &parser.vars);
    let vars = vars.chain(program.controls.iter().map(|control| &control.vars));
    let vars = vars.chain(program.functions.iter().map(|function| &function.vars));
    let is_own = |var: &&ir::Var| {
        var.ty == ty && !matches!(var.kind, VarKind::Param(ir::Direction::In | ir::Direction::InOut))
    };
    match vars.flatten().find(is_own) {
        Some(var) => Err(refuse(var.span, "a second one")),
        None => Ok(()),
    }
}

fn each_block(program: &Program, f: &mut dyn FnMut(&ir::Block)) {
    for control in &program.controls {
        control.actions.iter().for_each(|action| f(&action.body));
        f(&control.body);
        f(&ir::build::block(control.locals.clone()));
    }
    for parser in &program.parsers {
        parser.states.iter().for_each(|state| f(&ir::build::block(state.stmts.clone())));
    }
    program.functions.iter().for_each(|function| f(&function.body));
}

/// Calls that ask for something are statements.
fn each_call(program: &Program, f: &mut dyn FnMut(&Call)) {
    each_block(program, &mut |block| {
        visit::stmts(block, &mut |stmt| {
            if let StmtKind::Call(call) = &stmt.kind {
                f(call);
            }
        });
    });
}
