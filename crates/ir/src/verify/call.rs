//! Calls.

use super::Verifier;
use super::scope::Code;
use crate::text::infer::{bound, signature, substitute};
use crate::{Call, Callee, Direction, Expr, InstanceId, Owner, Type, Var, VarId, VarKind};
use base_diag::Span;

/// A parameter as a call sees it.
struct Param {
    direction: Direction,
    ty: Type,
    optional: bool,
}

impl Verifier<'_> {
    pub(super) fn call(&mut self, call: &Call, span: Span) {
        if !call.type_args.iter().all(|ty| self.exists(ty)) {
            return self.error(span, "a type argument does not exist");
        }
        self.callee(&call.callee, span);
        match self.params(call) {
            Some(params) => self.arguments(call, &params, span),
            None => self.error(span, "the callee does not exist"),
        }
    }

    /// Checks that a call of this kind may stand here.
    fn callee(&mut self, callee: &Callee, span: Span) {
        let code = self.scope.code;
        let good = match callee {
            Callee::Action(_) => matches!(code, Code::Control(_) | Code::Action(_)),
            Callee::Control(_) => matches!(code, Code::Control(_)),
            Callee::Parser(_) => matches!(code, Code::Parser(_)),
            Callee::Method(instance, _) => self.is_instance_visible(*instance),
            Callee::ParamMethod(var, _) => self.scope.is_visible(*var),
            Callee::Function(_) | Callee::ExternFunction(_) => true,
        };
        self.require(good, span, |_| "this may not be called here".to_string());
    }

    /// An instance is seen in its block, and where the block gives it as a constructor argument: by the blocks
    /// it applies, which for controls stand before it.
    pub(super) fn is_instance_visible(&self, instance: InstanceId) -> bool {
        let owner = self.program.instances.get(instance.index()).map(|instance| instance.owner);
        match (owner, self.scope.code) {
            (Some(Owner::Control(owner)), Code::Control(here) | Code::Action(here)) => owner >= here,
            (Some(Owner::Parser(_)), Code::Parser(_)) => true,
            // An abstract method's implementation sees the scope of its instance.
            (Some(_), Code::Function) | (Some(Owner::Program), _) => true,
            _ => false,
        }
    }

    /// The parameters of the callee.
    fn params(&self, call: &Call) -> Option<Vec<Param>> {
        let program = self.program;
        match &call.callee {
            Callee::Function(id) => {
                let function = program.functions.get(id.index())?;
                declared(&function.params, &function.vars)
            }
            Callee::Action(id) => {
                let action = self.scope.actions.get(id.index())?;
                declared(&action.params, self.scope.vars)
            }
            Callee::Control(id) => {
                let control = program.controls.get(id.index())?;
                declared(&control.params, &control.vars)
            }
            Callee::Parser(id) => {
                let parser = program.parsers.get(id.index())?;
                declared(&parser.params, &parser.vars)
            }
            callee => {
                let (signature, outer) = signature(program, self.scope.vars, callee)?;
                if signature.type_params.len() != call.type_args.len() {
                    return None;
                }
                let param = |param: &crate::SignatureParam| Param {
                    direction: param.direction,
                    ty: substitute(&param.ty, &|name| bound(signature, outer, call, name)),
                    optional: param.optional,
                };
                let mut params: Vec<Param> = signature.params.iter().map(param).collect();
                // Inside an implementation, a call of its own instance's methods (`this.predicate(..)`) runs no implementation.
                if let Callee::Method(instance, _) = callee
                    && self.scope.code != Code::Function
                {
                    let captured = program.captures(program.instances.get(instance.index())?);
                    params.extend(captured.map(|var| Param {
                        direction: Direction::In,
                        ty: var.ty.clone(),
                        optional: false,
                    }));
                }
                Some(params)
            }
        }
    }

    fn arguments(&mut self, call: &Call, params: &[Param], span: Span) {
        let (found, wanted) = (call.args.len(), params.len());
        self.require(found == wanted, span, |_| format!("a call has {found} arguments and takes {wanted}"));
        for (arg, param) in call.args.iter().zip(params) {
            match arg {
                Some(arg) => self.argument(arg, param, span),
                None => self.require(param.optional, span, |_| "an argument is left out".to_string()),
            }
        }
    }

    fn argument(&mut self, arg: &Expr, param: &Param, span: Span) {
        match param.direction {
            Direction::Out | Direction::InOut => self.place(arg),
            Direction::None | Direction::In => self.expr(arg),
        }
        // A parameter's methods may mention type parameters of an extern whose arguments are not known.
        if !mentions_param(&param.ty) {
            self.same_type(&arg.ty, &param.ty, span);
        }
    }
}

fn declared(params: &[VarId], vars: &[Var]) -> Option<Vec<Param>> {
    params
        .iter()
        .map(|id| {
            let var = vars.get(id.index())?;
            match var.kind {
                VarKind::Param(direction) => Some(Param { direction, ty: var.ty.clone(), optional: false }),
                VarKind::Local => None,
            }
        })
        .collect()
}

fn mentions_param(ty: &Type) -> bool {
    match ty {
        Type::Param(_) => true,
        Type::Stack(elem, _) | Type::List(elem) => mentions_param(elem),
        Type::Tuple(types) | Type::Extern(_, types) => types.iter().any(mentions_param),
        _ => false,
    }
}
