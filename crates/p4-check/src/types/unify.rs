//! Type equality with unknowns (P4-16 §8.27): finds values of inference variables that make two types equal.
//!
//! A parser or control agrees with a declared parser or control type if their parameters agree one by one in
//! direction and type.

use crate::cx::Checker;
use crate::typed::{Direction, Substitution, Type, TypeVarId, VarId, VarKind};

impl Checker {
    /// Makes the two types equal, if possible. Everything learnt before a failure is kept.
    pub(crate) fn unify(&mut self, a: &Type, b: &Type) -> bool {
        self.unify_at(a, b, 0)
    }

    fn unify_at(&mut self, a: &Type, b: &Type, depth: u32) -> bool {
        let (a, b) = (self.infer.shallow(a), self.infer.shallow(b));
        if a == b {
            return true;
        }
        if depth > 200 {
            return false;
        }
        match (&a, &b) {
            (Type::Error | Type::Any, _) | (_, Type::Error | Type::Any) => true,
            (Type::Infer(var), other) | (other, Type::Infer(var)) => {
                let other = self.infer.resolve(other);
                // A type that contains itself would have no end.
                if other.any(&mut |t| t == &Type::Infer(*var)) {
                    return false;
                }
                self.infer.set(*var, other);
                true
            }
            (Type::Struct(x, xs), Type::Struct(y, ys)) if x == y => self.unify_all(xs, ys, depth),
            (Type::Extern(x, xs), Type::Extern(y, ys)) if x == y => self.unify_all(xs, ys, depth),
            (Type::Package(x, xs), Type::Package(y, ys)) if x == y => self.unify_all(xs, ys, depth),
            (Type::Parser(x, xs), Type::Parser(y, ys)) if x == y => self.unify_all(xs, ys, depth),
            (Type::Control(x, xs), Type::Control(y, ys)) if x == y => self.unify_all(xs, ys, depth),
            (Type::Tuple(xs), Type::Tuple(ys)) => self.unify_all(xs, ys, depth),
            (Type::Array(x, n), Type::Array(y, m)) => n == m && self.unify_at(x, y, depth + 1),
            (Type::List(x), Type::List(y)) | (Type::Set(x), Type::Set(y)) => self.unify_at(x, y, depth + 1),
            _ => match (self.apply_signature(&a), self.apply_signature(&b)) {
                (Some(x), Some(y)) if x.is_parser == y.is_parser => self.unify_applies(&x, &y, depth),
                _ => false,
            },
        }
    }

    fn unify_all(&mut self, xs: &[Type], ys: &[Type], depth: u32) -> bool {
        xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| self.unify_at(x, y, depth + 1))
    }

    fn unify_applies(&mut self, x: &ApplySignature, y: &ApplySignature, depth: u32) -> bool {
        let longer = x.params.len().max(y.params.len());
        (0..longer).all(|i| match (x.params.get(i), y.params.get(i)) {
            (Some(&p), Some(&q)) => {
                let (p, q) = (&self.program.vars[p], &self.program.vars[q]);
                if p.kind != q.kind {
                    return false;
                }
                let (p, q) = (x.substitution.apply(&p.ty), y.substitution.apply(&q.ty));
                self.unify_at(&p, &q, depth + 1)
            }
            (Some(&only), None) | (None, Some(&only)) => self.may_omit(only),
            (None, None) => true,
        })
    }

    /// The first parameter that differs between two parsers or controls, for messages.
    pub(crate) fn block_difference(&mut self, found: &Type, wanted: &Type) -> Option<String> {
        let (found, wanted) = (self.infer.shallow(found), self.infer.shallow(wanted));
        let (x, y) = (self.apply_signature(&found)?, self.apply_signature(&wanted)?);
        if x.is_parser != y.is_parser {
            return None;
        }
        let show = |cx: &Checker, s: &ApplySignature, p: VarId| {
            let ty = cx.show(&s.substitution.apply(&cx.program.vars[p].ty));
            let direction = match cx.program.vars[p].kind {
                VarKind::Param(Direction::In) => "in ",
                VarKind::Param(Direction::Out) => "out ",
                VarKind::Param(Direction::InOut) => "inout ",
                _ => "",
            };
            format!("`{direction}{ty} {}`", cx.program.vars[p].name.text)
        };
        for i in 0..x.params.len().max(y.params.len()) {
            let difference = match (x.params.get(i), y.params.get(i)) {
                (Some(&p), Some(&q)) => {
                    let same_kind = self.program.vars[p].kind == self.program.vars[q].kind;
                    let a = x.substitution.apply(&self.program.vars[p].ty);
                    let b = y.substitution.apply(&self.program.vars[q].ty);
                    if same_kind && self.unify(&a, &b) {
                        continue;
                    }
                    format!("is {}, expected {}", show(self, &x, p), show(self, &y, q))
                }
                (Some(&p), None) => format!("is {}, expected none", show(self, &x, p)),
                (None, Some(&q)) => format!("is missing, expected {}", show(self, &y, q)),
                (None, None) => continue,
            };
            return Some(format!("parameter {} {difference}", i + 1));
        }
        None
    }

    /// The parameters of `apply` of a parser or control type.
    pub(crate) fn apply_signature(&self, ty: &Type) -> Option<ApplySignature> {
        let p = &self.program;
        let (is_parser, params, vars, args): (_, &Vec<VarId>, &Vec<TypeVarId>, _) = match ty {
            Type::ParserType(id, args) => {
                (true, &p.parser_types[*id].params, &p.parser_types[*id].type_params, args)
            }
            Type::Parser(id, args) => (true, &p.parsers[*id].params, &p.parsers[*id].type_params, args),
            Type::ControlType(id, args) => {
                (false, &p.control_types[*id].params, &p.control_types[*id].type_params, args)
            }
            Type::Control(id, args) => (false, &p.controls[*id].params, &p.controls[*id].type_params, args),
            _ => return None,
        };
        Some(ApplySignature {
            is_parser,
            params: params.clone(),
            substitution: Substitution::new(vars, args),
        })
    }

    /// True for a parameter that an argument need not be given for.
    pub(crate) fn may_omit(&self, param: VarId) -> bool {
        let var = &self.program.vars[param];
        var.optional || var.default.is_some()
    }

    /// The direction of a parameter; constructor parameters have none.
    pub(crate) fn direction(&self, param: VarId) -> Direction {
        match self.program.vars[param].kind {
            VarKind::Param(direction) => direction,
            _ => Direction::None,
        }
    }
}

/// The parameters of `apply`, and the types bound to the type's parameters.
pub(crate) struct ApplySignature {
    pub(crate) is_parser: bool,
    pub(crate) params: Vec<VarId>,
    pub(crate) substitution: Substitution,
}
