//! Values of the enclosing block in implementations of abstract methods.
//!
//! `RegisterAction`s of TNA read the packet, so an implementation is a closure over the parameters and variables of
//! its block. It becomes a function with a parameter for each value that it reads, after those of its method, and
//! each call of a method of the instance gives the values after its own arguments. The values are those at the time
//! of the call; an implementation cannot write them.
//!
//! Before: `RegisterAction<..>(r) sum = { void apply(inout bit<32> v) { v = v + hdr.h.x; } }; .. sum.execute(i);`
//! After:  `function sum_apply(inout v, out rv, in x) { v = v + x; } .. sum.execute(i, hdr.h.x);`

use base_diag::Span;
use ir::{Direction, Expr, ExprKind, FunctionId, InstanceId, VarId};
use p4_check::typed::{self, Builtin, Callee, Type};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::elaborator::Elaborator;
use crate::env::{Captures, Env, MadeObject};
use crate::externs::direction;
use crate::refuse;
use crate::stmt::Body;

impl Elaborator<'_> {
    /// The function that implements an abstract method in the instance `made`; `env` has the visible names.
    pub(crate) fn implementation(
        &mut self,
        implementation: typed::Implementation,
        env: &Env,
        outer: &FxHashMap<typed::VarId, VarId>,
        made: &MadeObject,
    ) -> FunctionId {
        let typed = self.typed;
        let decl = &typed.functions[implementation.function];
        let left_out = typed.functions[implementation.method].params.get(decl.params.len()..);
        let name = format!("{}_{}", made.name.replace('.', "_"), decl.name.text);
        let mut declared: &[typed::VarId] = &[];
        loop {
            let mut body = Body::new(self, env.clone());
            body.captures = Some(Captures::new(outer.clone()));
            let mut params: Vec<VarId> = decl.params.iter().map(|p| body.declare(*p)).collect();
            for param in declared {
                let param = &typed.vars[*param];
                let (ty, way) = (body.el.ty(&made.subst.apply(&param.ty)), passing(param.kind));
                params.push(body.parameter(&param.name.text, ty, way, decl.span));
            }
            let block = decl.body.as_ref().map(|b| body.block(b)).unwrap_or_default();
            let (values, captured) = body.captures.take().map(Captures::finish).unwrap_or_default();
            if let Some(left_out) =
                left_out.filter(|params| params.len() > declared.len() && !captured.is_empty())
            {
                // Parameters that the implementation leaves out stand before captured ones: once more, with them.
                declared = left_out;
                continue;
            }
            let (env, vars) = body.finish();
            if !captured.is_empty() {
                params.extend(captured);
                self.captured.entry(made.id).or_default().extend(values);
            }
            return self.add_function(decl, &env, &name, params, vars, block);
        }
    }
}

impl Body<'_, '_> {
    /// The parameter for `expr`, if it is a value of the enclosing block.
    pub(crate) fn captured(&mut self, expr: &typed::Expr) -> Option<Expr> {
        self.captures.as_ref()?;
        let outside = self.outside(expr)?;
        let ty = outside.ty.clone();
        let known = self.captures.iter().flat_map(|c| &c.read).find(|(read, _)| *read == outside);
        let var = match known {
            Some((_, var)) => *var,
            None => {
                let name = self.captured_name(expr);
                let var = self.parameter(&name, ty.clone(), Direction::In, expr.span);
                self.captures.as_mut()?.read.push((outside, var));
                var
            }
        };
        Some(Expr { kind: ExprKind::Var(var), ty, span: expr.span })
    }

    /// `expr` as an expression of the enclosing block: a part of one of its variables, or whether a header is valid.
    /// It has no span, so that equal ones are equal.
    fn outside(&mut self, expr: &typed::Expr) -> Option<Expr> {
        use typed::ExprKind as T;
        let part = |base: Expr| Box::new(base);
        let kind = match &expr.kind {
            T::Var(id) => ExprKind::Var(self.outer(*id)?),
            T::Field { base, index, .. } | T::TupleIndex { base, index } => {
                ExprKind::Field(part(self.outside(base)?), *index)
            }
            T::Slice { base, hi, lo } => {
                ExprKind::Slice { base: part(self.outside(base)?), hi: *hi, lo: *lo }
            }
            T::Index { base, index } => {
                let base = part(self.outside(base)?);
                self.el.eval(&self.env, index)?;
                let index = self.position(index);
                ExprKind::Index(base, Box::new(Expr { span: Span::NONE, ..index }))
            }
            T::Call(call) => match &call.callee {
                Callee::Builtin { object, method: Builtin::IsValid } => {
                    ExprKind::IsValid(part(self.outside(object)?))
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Expr { kind, ty: self.type_of(expr), span: Span::NONE })
    }

    /// A parameter's name, after the last named part of the value.
    fn captured_name(&self, expr: &typed::Expr) -> SmolStr {
        use typed::ExprKind as T;
        match &expr.kind {
            T::Field { name, .. } => name.clone(),
            T::Slice { base, .. } | T::Index { base, .. } | T::TupleIndex { base, .. } => {
                self.captured_name(base)
            }
            T::Var(id) => self.el.typed.vars[*id].name.text.clone(),
            T::Call(call) => match &call.callee {
                Callee::Builtin { object, .. } => self.captured_name(object),
                _ => "captured".into(),
            },
            _ => "captured".into(),
        }
    }

    fn outer(&self, id: typed::VarId) -> Option<VarId> {
        let is_own = self.env.vars.contains_key(&id) || self.env.values.contains_key(&id);
        let is_value = !matches!(self.el.typed.vars[id].ty, Type::Extern(..));
        self.captures.as_ref().filter(|_| !is_own && is_value)?.outer.get(&id).copied()
    }

    /// Refuses a place in a variable of the enclosing block.
    pub(crate) fn refuse_captured(&mut self, place: &typed::Expr) {
        use typed::ExprKind as T;
        match &place.kind {
            T::Var(id) => self.refuse_captured_var(*id, place.span),
            T::Field { base, .. }
            | T::TupleIndex { base, .. }
            | T::Index { base, .. }
            | T::Slice { base, .. }
            | T::SliceAt { base, .. }
            | T::StackNext(base)
            | T::StackLast(base) => self.refuse_captured(base),
            _ => {}
        }
    }

    /// Refuses a write to a variable of the enclosing block.
    pub(crate) fn refuse_captured_var(&mut self, id: typed::VarId, span: Span) {
        if self.outer(id).is_some() {
            self.el.report(refuse::captured_write(span));
        }
    }

    /// Adds the captured values to the arguments of a call of a method of `instance`.
    pub(crate) fn give_captured(&mut self, instance: InstanceId, args: &mut Vec<Option<Expr>>, span: Span) {
        let Some(values) = self.el.captured.get(&instance) else { return };
        if self.captures.is_some() || !self.env.instances.contains(&instance) {
            let what = "a method whose implementation reads variables of another block";
            return self.el.refuse(what, span);
        }
        args.extend(values.iter().cloned().map(Some));
    }
}

fn passing(kind: typed::VarKind) -> Direction {
    match kind {
        typed::VarKind::Param(d) => direction(d),
        _ => Direction::None,
    }
}
