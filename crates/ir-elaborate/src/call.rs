//! Calls: functions, methods, actions, other blocks, and the built-in methods that the IR has statements for.

use base_bits::num_bigint::BigInt;
use base_diag::Span;
use ir::{Callee, ExprKind, StmtKind};
use p4_check::typed::{self, Builtin, Expr, Substitution, Type};

use crate::stmt::Body;
use crate::value::{Object, Value};

/// Object on which a method is called.
enum Target {
    /// An instance.
    Instance(ir::InstanceId),
    /// An extern object that came as a parameter.
    Param(ir::VarId),
}

impl<'p> Body<'_, 'p> {
    /// A call as a statement; `None` if it does nothing, or is refused.
    pub(crate) fn call_statement(&mut self, call: &typed::Call) -> Option<StmtKind> {
        match &call.callee {
            typed::Callee::TableApply(table) => Some(StmtKind::Apply(self.table_id(*table, call.span)?)),
            typed::Callee::Builtin { object, method } => self.builtin_statement(object, *method, call),
            typed::Callee::Method { object, method } if self.packet_object(object).is_some() => {
                self.packet_statement(object, *method, call)
            }
            typed::Callee::Function(id) if self.is_extern(*id, "static_assert") => {
                let expr = Expr {
                    kind: typed::ExprKind::Call(Box::new(call.clone())),
                    ty: Type::Bool,
                    span: call.span,
                };
                self.el.known(&self.env, &expr, "a static assertion")?;
                None
            }
            typed::Callee::Function(id) if self.is_extern(*id, "verify") => self.verify(call),
            _ => Some(StmtKind::Call(self.call(call, true)?)),
        }
    }

    /// A call that gives a value.
    pub(crate) fn call_expression(&mut self, call: &typed::Call) -> Option<ExprKind> {
        match &call.callee {
            typed::Callee::Builtin { object, method: Builtin::IsValid } => {
                Some(ExprKind::IsValid(Box::new(self.expr(object))))
            }
            typed::Callee::Method { object, method } if self.packet_object(object).is_some() => {
                self.packet_expression(object, *method, call)
            }
            typed::Callee::TableApply(_) | typed::Callee::Builtin { .. } => {
                self.el.refuse("this call as a value", call.span);
                None
            }
            _ => Some(ExprKind::Call(Box::new(self.call(call, false)?))),
        }
    }

    fn is_extern(&self, id: typed::FunctionId, name: &str) -> bool {
        let decl = &self.el.typed.functions[id];
        decl.owner == typed::FunctionOwner::ExternFunction && decl.name.text == name
    }

    fn verify(&mut self, call: &typed::Call) -> Option<StmtKind> {
        let mut args = call.args.iter().filter_map(typed::Arg::expr);
        let (condition, error) = (args.next()?, args.next()?);
        let condition = self.expr(condition);
        Some(StmtKind::Verify(condition, self.expr(error)))
    }

    fn builtin_statement(&mut self, object: &Expr, method: Builtin, call: &typed::Call) -> Option<StmtKind> {
        let place = self.place(object);
        match method {
            Builtin::SetValid => Some(StmtKind::SetValid(place, true)),
            Builtin::SetInvalid => Some(StmtKind::SetValid(place, false)),
            Builtin::PushFront => Some(StmtKind::PushFront(place, self.count(call)?)),
            Builtin::PopFront => Some(StmtKind::PopFront(place, self.count(call)?)),
            Builtin::IsValid => None,
        }
    }

    /// The argument of `push_front` and `pop_front`; more than the stack can hold is all of it.
    fn count(&mut self, call: &typed::Call) -> Option<u32> {
        let expr = call.args.first()?.expr()?;
        let value = self.el.known(&self.env, expr, "the count")?;
        Some(u32::try_from(value.as_int()?.max(&BigInt::ZERO)).unwrap_or(u32::MAX))
    }

    /// A call of something that has parameters.
    fn call(&mut self, call: &typed::Call, is_statement: bool) -> Option<ir::Call> {
        let typed = self.el.typed;
        let type_args = self.env.close_all(&call.type_args);
        let (callee, params, subst, keeps_types): (_, &[typed::VarId], _, _) = match &call.callee {
            typed::Callee::Function(id) => {
                let decl = &typed.functions[*id];
                let subst = Substitution::new(&decl.type_params, &type_args);
                let is_extern = decl.owner == typed::FunctionOwner::ExternFunction;
                let callee = if is_extern {
                    Callee::ExternFunction(self.el.extern_function(*id))
                } else {
                    Callee::Function(self.el.function(*id, &type_args, call.span)?)
                };
                (callee, &decl.params, subst, is_extern)
            }
            typed::Callee::Method { object, method } => {
                let (callee, subst) = self.method(object, *method, &type_args, call.span)?;
                (callee, &typed.functions[*method].params, subst, true)
            }
            typed::Callee::Action(id) => {
                let action = self.action_id(*id, call.span)?;
                (Callee::Action(action), &typed.actions[*id].params, self.env.subst.clone(), false)
            }
            typed::Callee::Apply { object } => {
                let (callee, params, subst) = self.applied(object)?;
                (callee, params, subst, false)
            }
            typed::Callee::TableApply(_) | typed::Callee::Builtin { .. } => return None,
        };
        let args = self.arguments(&call.args, params, &subst, is_statement, call.span);
        let mut args = if keeps_types { args } else { self.filled(args, params, &subst, call.span) };
        if let Callee::Method(instance, _) = callee {
            self.give_captured(instance, &mut args, call.span);
        }
        let type_args = if keeps_types { type_args.iter().map(|t| self.el.ty(t)).collect() } else { vec![] };
        Some(ir::Call { callee, type_args, args, span: call.span })
    }

    /// Callee of `object.method`, and the types bound to the type parameters in the method's signature.
    fn method(
        &mut self,
        object: &Expr,
        method: typed::FunctionId,
        type_args: &[Type],
        span: Span,
    ) -> Option<(Callee, Substitution)> {
        let typed = self.el.typed;
        let Type::Extern(id, object_args) = self.env.close(&object.ty) else {
            self.el.refuse("a method of this object", span);
            return None;
        };
        let decl = &typed.externs[id];
        let index = decl.methods.iter().position(|m| *m == method).and_then(|i| u32::try_from(i).ok())?;
        let mut subst = Substitution::new(&decl.type_params, &object_args);
        for (var, ty) in typed.functions[method].type_params.iter().zip(type_args) {
            subst.insert(*var, ty.clone());
        }
        let callee = match self.target(object)? {
            Target::Instance(instance) => Callee::Method(instance, index),
            Target::Param(var) => {
                self.el.extern_object(id);
                Callee::ParamMethod(var, index)
            }
        };
        Some((callee, subst))
    }

    /// Object on which a method is called: known at compile time, or a parameter.
    fn target(&mut self, object: &Expr) -> Option<Target> {
        if let typed::ExprKind::Var(id) = &object.kind
            && let Some(var) = self.env.vars.get(id)
        {
            return Some(Target::Param(*var));
        }
        match self.el.eval(&self.env, object) {
            Some(Value::Object(Object::Extern(instance))) => Some(Target::Instance(instance)),
            Some(Value::Object(Object::Broken)) => None,
            _ => {
                self.el.refuse("an object chosen at run time", object.span);
                None
            }
        }
    }

    /// The block that `object.apply(...)` runs.
    fn applied(&mut self, object: &Expr) -> Option<(Callee, &'p [typed::VarId], Substitution)> {
        let typed = self.el.typed;
        let value = self.el.eval(&self.env, object);
        let ty = self.env.close(&object.ty);
        let (params, subst): (&'p [typed::VarId], _) = match &ty {
            Type::Control(id, args) => {
                let decl = &typed.controls[*id];
                (&decl.params, Substitution::new(&decl.type_params, args))
            }
            Type::Parser(id, args) => {
                let decl = &typed.parsers[*id];
                (&decl.params, Substitution::new(&decl.type_params, args))
            }
            Type::ControlType(id, args) => {
                let decl = &typed.control_types[*id];
                (&decl.params, Substitution::new(&decl.type_params, args))
            }
            Type::ParserType(id, args) => {
                let decl = &typed.parser_types[*id];
                (&decl.params, Substitution::new(&decl.type_params, args))
            }
            _ => {
                self.el.refuse("applying this object", object.span);
                return None;
            }
        };
        let callee = match value {
            Some(Value::Object(Object::Control(id))) => Callee::Control(id),
            Some(Value::Object(Object::Parser(id))) => Callee::Parser(id),
            Some(Value::Object(Object::Broken)) => return None,
            _ => {
                self.el.refuse("applying an object chosen at run time", object.span);
                return None;
            }
        };
        Some((callee, params, subst))
    }
}
