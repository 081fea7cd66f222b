//! `expand-structs`: structs and tuples are copied, compared and passed field by field.
//!
//! Before: `meta.pair = other.pair; if (hdr.a == hdr.b) { ... } log({s});`
//! After:  `meta.pair.first = other.pair.first; meta.pair.second = other.pair.second;
//!          if (hdr.a.isValid() == hdr.b.isValid() && (!hdr.a.isValid() || hdr.a.x == hdr.b.x)) { ... }
//!          log({{s.first, s.second}});`
//!
//! Requires `hoist-effects`, `hoist-locals`. Ensures: assigned values are scalars, headers, stacks or arrays; unions
//! are copied member by member; headers and stacks come from a place, a list, `{#}` or a lookahead. Comparisons are of
//! scalars. `op=` is gone. Arguments of externs are scalars, places of headers and stacks, and lists of these; one that
//! an extern writes may be a struct. Fields of values that are no place are gone. Why: a code generator knows scalars,
//! headers and stacks.

use crate::bind::Caller;
use crate::places::{Place, Signatures, Writes, is_place, read_by};
use crate::units::{Unit, each_unit};
use crate::walk::{children, transition_exprs_mut};
use crate::{Changed, walk, zero};
use base_diag::Span;
use ir::build;
use ir::{BinaryOp, Const, Direction, Expr, ExprKind, Program, Stmt, StmtKind, Type, TypeKind, Var, visit};

/// See the head of this file.
pub fn expand_structs(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| {
        let signatures = match unit {
            Unit::Control(control) => Signatures::with_actions(program, &control.actions, &control.vars),
            _ => Signatures::new(program),
        };
        let mut fix = Vec::new();
        if let Unit::Control(control) = unit {
            let args = control.tables.iter_mut().flat_map(|table| &mut table.keys).map(|key| &mut key.expr);
            args.for_each(|expr| fix.push(simplify(program, expr)));
        }
        if let Unit::Parser(parser) = unit {
            for state in &mut parser.states {
                transition_exprs_mut(&mut state.transition, &mut |expr| fix.push(simplify(program, expr)));
            }
        }
        changed |= fix.contains(&true);
        let parses = matches!(unit, Unit::Parser(_));
        let (vars, lists) = unit.lists_mut();
        let mut expand = Expand { program, signatures: &signatures, vars, parses, changed: false };
        for list in lists {
            expand.stmts(list);
        }
        changed |= expand.changed;
    });
    Changed(changed)
}

struct Expand<'a> {
    program: &'a Program,
    signatures: &'a Signatures<'a>,
    vars: &'a mut Vec<Var>,
    /// In a parser: only there `next` of a stack can be seen.
    parses: bool,
    changed: bool,
}

impl Expand<'_> {
    fn stmts(&mut self, stmts: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(stmts) {
            visit::blocks_mut(&mut stmt, &mut |inner| self.stmts(&mut inner.stmts));
            let mut simplified = false;
            walk::own_exprs_mut(&mut stmt, &mut |expr| simplified |= simplify(self.program, expr));
            self.changed |= simplified;
            let span = stmt.span;
            match stmt.kind {
                StmtKind::Assign(place, value) => self.assign(place, value, span, stmts),
                StmtKind::AssignOp(op, mut place, value) => {
                    self.changed = true;
                    self.settle(&mut place, stmts);
                    let value = build::binary(op, place.clone(), value, place.ty.clone());
                    stmts.push(build::assign(place, value).at(span));
                }
                StmtKind::Call(mut call) => {
                    let directions = self.signatures.directions(&call);
                    for (arg, direction) in call.args.iter_mut().zip(directions) {
                        if let (Some(arg), Direction::In | Direction::None) = (arg, direction) {
                            self.changed |= list_of_fields(self.program, arg);
                        }
                    }
                    stmts.push(Stmt { kind: StmtKind::Call(call), span });
                }
                kind => stmts.push(Stmt { kind, span }),
            }
        }
    }

    fn settle(&mut self, place: &mut Expr, out: &mut Vec<Stmt>) {
        let mut caller =
            Caller { program: self.program, vars: self.vars, locals: None, copy_all: false, settled: false };
        caller.settle(place, out);
    }

    fn keep(&mut self, name: &str, value: Expr, out: &mut Vec<Stmt>) -> Expr {
        let span = value.span;
        let var = build::local(self.vars, name, value.ty.clone(), span);
        out.push(build::declare(var, Some(value)).at(span));
        build::var_of(self.vars, var).at(span)
    }

    fn assign(&mut self, mut place: Expr, mut value: Expr, span: Span, out: &mut Vec<Stmt>) {
        if let ExprKind::Call(call) = &mut value.kind {
            let directions = self.signatures.directions(call);
            for (arg, direction) in call.args.iter_mut().zip(directions) {
                if let (Some(arg), Direction::In | Direction::None) = (arg, direction) {
                    self.changed |= list_of_fields(self.program, arg);
                }
            }
        }
        if !is_compound(self.program, &place.ty) {
            out.push(build::assign(place, value).at(span));
            return;
        }
        let is_whole = !is_split(self.program, &place.ty);
        match value.kind {
            // A cast to its own type.
            ExprKind::Cast(inner) => {
                self.changed = true;
                self.assign(place, *inner, span, out);
            }
            ExprKind::Ternary(cond, yes, no) => {
                self.changed = true;
                self.settle(&mut place, out);
                let (mut then, mut otherwise) = (vec![], vec![]);
                self.assign(place.clone(), *yes, span, &mut then);
                self.assign(place, *no, span, &mut otherwise);
                out.push(build::if_else(*cond, then, otherwise).at(span));
            }
            ExprKind::Aggregate(mut parts) if is_whole && self.is_flat(&place.ty, &parts) => {
                parts.iter_mut().for_each(|part| self.list(part, out));
                out.push(build::assign(place, Expr { kind: ExprKind::Aggregate(parts), ..value }).at(span));
            }
            ExprKind::Aggregate(parts) => self.aggregate(place, parts, span, out),
            _ if is_whole => out.push(build::assign(place, value).at(span)),
            ExprKind::Lookahead(packet) => {
                self.changed = true;
                self.settle(&mut place, out);
                self.lookahead(place, packet, value.ty, span, out);
            }
            _ if is_place(&value) => {
                self.changed = true;
                self.settle(&mut place, out);
                self.settle(&mut value, out);
                self.copy(&place, &value, span, out);
            }
            ExprKind::InvalidHeader => {
                self.changed = true;
                self.settle(&mut place, out);
                for part in parts_of(self.program, &place) {
                    let zero = Expr { kind: ExprKind::InvalidHeader, ty: part.ty.clone(), span };
                    out.push(build::assign(part, zero).at(span));
                }
            }
            // The result of an extern: stored whole, then copied.
            _ if matches!(place.kind, ExprKind::Var(_)) && self.is_kept(&place) => {
                out.push(build::assign(place, value).at(span));
            }
            _ => {
                self.changed = true;
                self.settle(&mut place, out);
                let value = self.keep(GIVEN, value, out);
                self.copy(&place, &value, span, out);
            }
        }
    }

    fn is_kept(&self, place: &Expr) -> bool {
        match place.kind {
            ExprKind::Var(var) => self.vars.get(var.index()).is_some_and(|var| var.name == GIVEN),
            _ => false,
        }
    }

    /// True if the stored value is a single one: a header, whose fields may be structs, or an array of scalars.
    fn is_flat(&self, ty: &Type, parts: &[Expr]) -> bool {
        self.program.is_header(ty) || parts.iter().all(|part| !is_compound(self.program, &part.ty))
    }

    /// Makes lists of the structs in a part of a header's value, as they are nested in its type.
    fn list(&mut self, part: &mut Expr, out: &mut Vec<Stmt>) {
        if !is_split(self.program, &part.ty) {
            return;
        }
        self.changed |= list_of_fields(self.program, part);
        match &mut part.kind {
            ExprKind::Aggregate(parts) => parts.iter_mut().for_each(|part| self.list(part, out)),
            _ => {
                self.changed = true;
                let var = build::local(self.vars, "part", part.ty.clone(), part.span);
                out.push(build::declare(var, None).at(part.span));
                let kept = build::var_of(self.vars, var).at(part.span);
                let value = std::mem::replace(part, kept.clone());
                self.assign(kept, value, part.span, out);
                list_of_fields(self.program, part);
            }
        }
    }

    fn copy(&mut self, place: &Expr, value: &Expr, span: Span, out: &mut Vec<Stmt>) {
        let parts = parts_of(self.program, place);
        let values = parts_of(self.program, value);
        for (part, value) in parts.into_iter().zip(values) {
            if is_split(self.program, &part.ty) {
                self.copy(&part, &value, span, out);
            } else {
                out.push(build::assign(part, value).at(span));
            }
        }
    }

    /// All parts are evaluated before the first is stored.
    fn aggregate(&mut self, mut place: Expr, mut parts: Vec<Expr>, span: Span, out: &mut Vec<Stmt>) {
        self.changed = true;
        self.settle(&mut place, out);
        let mut writes = Writes::default();
        writes.places.extend(Place::of(&place));
        for part in &mut parts {
            let mut safe = true;
            read_by(part, &mut |read| safe &= !writes.touches(&read));
            if !safe {
                let name = if is_compound(self.program, &part.ty) { "part" } else { "old" };
                let value = part.clone();
                let var = build::local(self.vars, name, part.ty.clone(), span);
                out.push(build::declare(var, None).at(span));
                *part = build::var_of(self.vars, var).at(span);
                self.assign(part.clone(), value, span, out);
            }
        }
        match &place.ty {
            Type::Stack(elem, _) => {
                // The stack is new: it is filled from the start, and nothing is next.
                if self.parses && self.program.is_header_or_union(elem) {
                    let size = parts.len() as u32;
                    out.push(Stmt { kind: StmtKind::PopFront(place.clone(), size), span });
                }
                for (at, part) in parts.into_iter().enumerate() {
                    let index = build::bits(32, at as u64).at(span);
                    let kind = ExprKind::Index(Box::new(place.clone()), Box::new(index));
                    self.assign(Expr { kind, ty: elem.as_ref().clone(), span }, part, span, out);
                }
            }
            _ => {
                for (part, value) in parts_of(self.program, &place).into_iter().zip(parts) {
                    self.assign(part, value, span, out);
                }
            }
        }
    }

    /// All bits at once, cut into fields; more than [`AT_ONCE`] in one lookahead for each field, since they stay in the packet.
    fn lookahead(&mut self, place: Expr, packet: ir::VarId, ty: Type, span: Span, out: &mut Vec<Stmt>) {
        let width = self.program.bits(&ty).and_then(|bits| u32::try_from(bits).ok());
        let mut leaves = vec![];
        let plain = leaves_of(self.program, &place, &mut leaves);
        let size = |leaf: &Expr| u32::try_from(self.program.bits(&leaf.ty)?).ok();
        match (width, leaves.iter().map(size).collect::<Option<Vec<u32>>>()) {
            (Some(width), Some(sizes)) if plain && width > 0 => {
                let kind = ExprKind::Lookahead(packet);
                let ahead = Expr { kind, ty: Type::Bit(width), span };
                let bits = (width <= AT_ONCE).then(|| self.keep("ahead", ahead.clone(), out));
                let mut top = width;
                for (leaf, size) in leaves.into_iter().zip(sizes) {
                    let value = match &bits {
                        Some(bits) => cut(self.program, bits, top, size, &leaf.ty),
                        None => {
                            let field = cut(self.program, &ahead, top, size, &Type::Bit(size));
                            let bits = self.keep("ahead", field, out);
                            cut(self.program, &bits, size, size, &leaf.ty)
                        }
                    };
                    top -= size.min(top);
                    out.push(build::assign(leaf, value).at(span));
                }
            }
            _ => {
                let value = Expr { kind: ExprKind::Lookahead(packet), ty, span };
                let value = self.keep(GIVEN, value, out);
                self.copy(&place, &value, span, out);
            }
        }
    }
}

/// Bits that a code generator can keep in a variable.
const AT_ONCE: u32 = 128;

/// Name of a variable for the struct that an extern or a lookahead returns: no identifier of P4.
pub(crate) const GIVEN: &str = "given$";

/// The scalars of a struct or tuple in the order of their bits; false if something else is in it.
fn leaves_of(program: &Program, place: &Expr, out: &mut Vec<Expr>) -> bool {
    if is_split(program, &place.ty) && !program.is_union(&place.ty) {
        return parts_of(program, place).iter().all(|part| leaves_of(program, part, out));
    }
    out.push(place.clone());
    matches!(program.representation(&place.ty), Type::Bit(_) | Type::Int(_) | Type::Bool)
}

/// `size` bits below bit `top` of `bits`, as a `ty`.
fn cut(program: &Program, bits: &Expr, top: u32, size: u32, ty: &Type) -> Expr {
    let span = bits.span;
    if size == 0 || size > top {
        return zero::zero(program, ty, span).unwrap_or_else(|| bits.clone());
    }
    let kind = ExprKind::Slice { base: Box::new(bits.clone()), hi: top - 1, lo: top - size };
    let slice = Expr { kind, ty: Type::Bit(size), span };
    let cast = |value: Expr, ty: &Type| Expr { kind: ExprKind::Cast(Box::new(value)), ty: ty.clone(), span };
    match (ty, program.representation(ty)) {
        (Type::Bit(_), _) => slice,
        (Type::Int(_) | Type::Bool, _) => cast(slice, ty),
        (_, Type::Bit(_)) => cast(slice, ty),
        (_, under) => cast(cast(slice, under), ty),
    }
}

/// True for everything that is not a scalar.
pub(crate) fn is_compound(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Tuple(_) | Type::Stack(..) => true,
        Type::Named(id) => {
            matches!(
                program.type_decl(*id).kind,
                TypeKind::Struct(_) | TypeKind::Header(_) | TypeKind::Union(_)
            )
        }
        _ => false,
    }
}

/// True for types that are copied member by member: structs, tuples and unions.
pub(crate) fn is_split(program: &Program, ty: &Type) -> bool {
    matches!(ty, Type::Tuple(_)) || program.is_struct(ty) || program.is_union(ty)
}

/// The fields of a struct, header, union or tuple.
pub(crate) fn parts_of(program: &Program, whole: &Expr) -> Vec<Expr> {
    match &whole.ty {
        Type::Tuple(types) => {
            types.iter().enumerate().map(|(at, ty)| build::field(whole.clone(), at, ty.clone())).collect()
        }
        ty => {
            let fields = program.fields(ty).iter().enumerate();
            fields.map(|(at, field)| build::field(whole.clone(), at, field.ty.clone())).collect()
        }
    }
}

/// Makes a list of a struct that is an argument.
fn list_of_fields(program: &Program, arg: &mut Expr) -> bool {
    let mut changed = false;
    if let ExprKind::Cast(inner) = &mut arg.kind
        && inner.ty == arg.ty
    {
        *arg = std::mem::replace(inner, build::bool(false).at(arg.span));
        changed = true;
    }
    if let ExprKind::Aggregate(parts) = &mut arg.kind {
        for part in parts {
            changed |= list_of_fields(program, part);
        }
        return changed;
    }
    let is_struct = matches!(arg.ty, Type::Tuple(_)) || program.is_struct(&arg.ty);
    if !is_struct || !is_place(arg) {
        return changed;
    }
    let mut parts = parts_of(program, arg);
    for part in &mut parts {
        list_of_fields(program, part);
    }
    arg.kind = ExprKind::Aggregate(parts);
    true
}

/// Replaces comparisons of compound values and parts of values that are no place.
fn simplify(program: &Program, expr: &mut Expr) -> bool {
    let mut changed = false;
    children(expr).into_iter().for_each(|child| changed |= simplify(program, child));
    let span = expr.span;
    let new = match &mut expr.kind {
        ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), left, right)
            if is_compound(program, &left.ty) =>
        {
            let mut equal = equals(program, left, right);
            simplify(program, &mut equal);
            Some(if *op == BinaryOp::Ne { build::not(equal) } else { equal })
        }
        ExprKind::Field(base, index) => part_of_value(base, |base| {
            let kind = ExprKind::Field(Box::new(base), *index);
            Expr { kind, ty: expr.ty.clone(), span }
        })
        .or_else(|| match &mut base.kind {
            ExprKind::Aggregate(parts) if (*index as usize) < parts.len() => {
                Some(parts.swap_remove(*index as usize))
            }
            ExprKind::InvalidHeader => zero::zero(program, &expr.ty, span),
            _ => None,
        }),
        ExprKind::IsValid(header) if program.is_union(&header.ty) => {
            let members = parts_of(program, header).into_iter().map(|member| valid(&member));
            members
                .reduce(|a, b| build::binary(BinaryOp::Or, a, b, Type::Bool))
                .or(Some(build::bool(false).at(span)))
        }
        ExprKind::IsValid(header) => match &header.kind {
            ExprKind::Aggregate(_) => Some(build::bool(true).at(span)),
            ExprKind::InvalidHeader => Some(build::bool(false).at(span)),
            _ => None,
        },
        _ => None,
    };
    match new {
        Some(mut new) => {
            simplify(program, &mut new);
            *expr = new;
            true
        }
        None => changed,
    }
}

/// `(c ? a : b).f` is `c ? a.f : b.f`, and a cast to its own type does nothing.
fn part_of_value(base: &Expr, part: impl Fn(Expr) -> Expr) -> Option<Expr> {
    match &base.kind {
        ExprKind::Ternary(cond, yes, no) => {
            let (yes, no) = (part(yes.as_ref().clone()), part(no.as_ref().clone()));
            let (ty, span) = (yes.ty.clone(), base.span);
            Some(Expr { kind: ExprKind::Ternary(cond.clone(), Box::new(yes), Box::new(no)), ty, span })
        }
        ExprKind::Cast(inner) if inner.ty == base.ty => Some(part(inner.as_ref().clone())),
        _ => None,
    }
}

fn valid(header: &Expr) -> Expr {
    Expr { kind: ExprKind::IsValid(Box::new(header.clone())), ty: Type::Bool, span: header.span }
}

/// `left == right`, by scalars (P4-16 §8.5, §8.17, §8.18).
fn equals(program: &Program, left: &Expr, right: &Expr) -> Expr {
    let span = left.span;
    if !is_compound(program, &left.ty) {
        return build::binary(BinaryOp::Eq, left.clone(), right.clone(), Type::Bool);
    }
    let pairs: Vec<Expr> = match &left.ty {
        Type::Stack(elem, size) => {
            let at = |stack: &Expr, n: u32| {
                let kind = ExprKind::Index(
                    Box::new(stack.clone()),
                    Box::new(build::bits(32, u64::from(n)).at(span)),
                );
                Expr { kind, ty: elem.as_ref().clone(), span }
            };
            (0..*size).map(|n| equals(program, &element(left, n, &at), &element(right, n, &at))).collect()
        }
        _ => {
            let parts = |whole: &Expr| match &whole.kind {
                ExprKind::Aggregate(parts) => parts.clone(),
                _ => parts_of(program, whole),
            };
            parts(left).iter().zip(&parts(right)).map(|(a, b)| equals(program, a, b)).collect()
        }
    };
    let all = all_of(pairs, span);
    if !program.is_header(&left.ty) {
        return all;
    }
    let same = build::binary(BinaryOp::Eq, valid(left), valid(right), Type::Bool);
    let held = build::binary(BinaryOp::Or, build::not(valid(left)), all, Type::Bool);
    build::binary(BinaryOp::And, same, held, Type::Bool)
}

fn element(stack: &Expr, n: u32, at: &dyn Fn(&Expr, u32) -> Expr) -> Expr {
    match &stack.kind {
        ExprKind::Aggregate(parts) if (n as usize) < parts.len() => parts[n as usize].clone(),
        _ => at(stack, n),
    }
}

/// All hold: a tree that is as deep as it must be.
fn all_of(mut all: Vec<Expr>, span: Span) -> Expr {
    match all.len() {
        0 => Expr { kind: ExprKind::Const(Const::Bool(true)), ty: Type::Bool, span },
        1 => all.swap_remove(0),
        n => {
            let right = all.split_off(n / 2);
            build::binary(BinaryOp::And, all_of(all, span), all_of(right, span), Type::Bool)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    const VARS: &str = "local both_t a; local both_t b; local tuple<bit<8>, h_t> t;";
    const LOCALS: &str = "locals { var a; var b; var t; }";

    #[test]
    fn copies() {
        let body = "a = b; t = {x, hdr.h}; a = ({({a.pair.second, a.pair.first} : pair_t), false} : both_t);
            hdr.u = hdr.u; hdr.h = hdr.g; hdr.s = hdr.s; x += 8w1;";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local both_t a;
                local both_t b;
                local tuple<bit<8>, h_t> t;
                local pair_t part;
              }
              locals {
                var a;
                var b;
                var t;
              }
              apply {
                a.pair.first = b.pair.first;
                a.pair.second = b.pair.second;
                a.on = b.on;
                t.0 = x;
                t.1 = hdr.h;
                var part;
                part.first = a.pair.second;
                part.second = a.pair.first;
                a.pair.first = part.first;
                a.pair.second = part.second;
                a.on = false;
                hdr.u.x = hdr.u.x;
                hdr.u.y = hdr.u.y;
                hdr.h = hdr.g;
                hdr.s = hdr.s;
                x = x + 8w0x1;
              }
            }
        "#]]
        .assert_eq(&after(&control(VARS, LOCALS, body), expand_structs));
    }

    #[test]
    fn comparisons() {
        let body = "if (a.pair == b.pair) { x = 8w1; } if (hdr.h != hdr.g) { x = 8w2; }";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local both_t a;
                local both_t b;
                local tuple<bit<8>, h_t> t;
              }
              locals {
                var a;
                var b;
                var t;
              }
              apply {
                if (a.pair.first == b.pair.first && a.pair.second == b.pair.second) {
                  x = 8w0x1;
                }
                if (!(hdr.h.$isValid == hdr.g.$isValid && (!hdr.h.$isValid || hdr.h.a == hdr.g.a && hdr.h.b == hdr.g.b))) {
                  x = 8w0x2;
                }
              }
            }
        "#]].assert_eq(&after(&control(VARS, LOCALS, body), expand_structs));
    }

    #[test]
    fn arguments_and_values() {
        let body = "extern log<both_t>(a); a = x == 8w0 ? a : b; x = (x == 8w0 ? a : b).pair.first;
            x = {x, 8w2}.1;";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local both_t a;
                local both_t b;
                local tuple<bit<8>, h_t> t;
              }
              locals {
                var a;
                var b;
                var t;
              }
              apply {
                extern log<both_t>(({({a.pair.first, a.pair.second} : pair_t), a.on} : both_t));
                if (x == 8w0x0) {
                  a.pair.first = a.pair.first;
                  a.pair.second = a.pair.second;
                  a.on = a.on;
                } else {
                  a.pair.first = b.pair.first;
                  a.pair.second = b.pair.second;
                  a.on = b.on;
                }
                x = x == 8w0x0 ? a.pair.first : b.pair.first;
                x = 8w0x2;
              }
            }
        "#]]
        .assert_eq(&after(&control(VARS, LOCALS, body), expand_structs));
    }

    /// A header becomes valid by the stored value, not by `setValid`: in v1model, the packet's length follows the
    /// latter.
    #[test]
    fn headers_of_structs() {
        let vars = format!("{VARS} local wide_t w;");
        let body = "w = ({w.pair, 8w1} : wide_t); w = ({x == 8w0 ? a.pair : b.pair, x} : wide_t);";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local both_t a;
                local both_t b;
                local tuple<bit<8>, h_t> t;
                local wide_t w;
                local pair_t part;
              }
              locals {
                var a;
                var b;
                var t;
                var w;
              }
              apply {
                w = ({({w.pair.first, w.pair.second} : pair_t), 8w0x1} : wide_t);
                var part;
                if (x == 8w0x0) {
                  part.first = a.pair.first;
                  part.second = a.pair.second;
                } else {
                  part.first = b.pair.first;
                  part.second = b.pair.second;
                }
                w = ({({part.first, part.second} : pair_t), x} : wide_t);
              }
            }
        "#]]
        .assert_eq(&after(&control(&vars, "locals { var a; var b; var t; var w; }", body), expand_structs));
    }

    #[test]
    fn a_lookahead_wider_than_a_register() {
        let before =
            "parser P(p, x) \"P\" { vars { param extern packet_in p; inout bit<8> x; local tuple<bit<120>, int<8>, bool> t; }
            locals { var t; } state start { t = $lookahead<tuple<bit<120>, int<8>, bool>>(p); goto accept; } }";
        expect![[r#"
            parser P(p, x) "P" {
              vars {
                param extern packet_in p;
                inout bit<8> x;
                local tuple<bit<120>, int<8>, bool> t;
                local bit<120> ahead;
                local bit<8> ahead;
                local bit<1> ahead;
              }
              locals {
                var t;
              }
              state start {
                var ahead#3 = $lookahead<bit<129>>(p)[128:9];
                t.0 = ahead#3[119:0];
                var ahead#4 = $lookahead<bit<129>>(p)[8:1];
                t.1 = $cast<int<8>>(ahead#4[7:0]);
                var ahead#5 = $lookahead<bit<129>>(p)[0:0];
                t.2 = $cast<bool>(ahead#5[0:0]);
                goto accept;
              }
            }
        "#]]
        .assert_eq(&after(before, expand_structs));
    }

    #[test]
    fn lookahead() {
        let before =
            "parser P(p, x) \"P\" { vars { param extern packet_in p; inout bit<8> x; local both_t a; }
            locals { var a; } state start { a = $lookahead<both_t>(p); goto accept; } }";
        expect![[r#"
            parser P(p, x) "P" {
              vars {
                param extern packet_in p;
                inout bit<8> x;
                local both_t a;
                local bit<17> ahead;
              }
              locals {
                var a;
              }
              state start {
                var ahead = $lookahead<bit<17>>(p);
                a.pair.first = ahead[16:9];
                a.pair.second = ahead[8:1];
                a.on = $cast<bool>(ahead[0:0]);
                goto accept;
              }
            }
        "#]]
        .assert_eq(&after(before, expand_structs));
    }
}
