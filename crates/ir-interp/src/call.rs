//! Calls: arguments are evaluated left to right, places of `out` and `inout` arguments worked out before the
//! call, results copied back left to right whatever ended the callee (P4-16 §6.8).

use crate::machine::{Arch, Flow, Frame, Machine, Scope};
use crate::place::Place;
use device::ValueCallee;
use device::stage::Stop;
use ir::{
    Action, ActionId, Call, Callee, ControlId, Direction, Expr, ExprKind, FunctionId, ParserId, Type, Var,
    VarId, VarKind,
};
use ir_value::Value;

/// The arguments of a call, ready to be handed over.
pub(crate) struct Bound {
    /// Initial values of parameters.
    values: Vec<(VarId, Value)>,
    /// Destinations of results.
    back: Vec<(VarId, Place)>,
}

impl<'a, A: Arch> Machine<'a, A> {
    /// Calls anything; a call without a result gives [`Value::Void`].
    pub(crate) fn call(&mut self, call: &Call) -> Result<Value, Stop> {
        match &call.callee {
            Callee::Function(function) => self.call_function(*function, &call.args),
            Callee::Action(action) => self.call_action(*action, &call.args),
            Callee::Control(control) => self.call_control(*control, &call.args),
            Callee::Parser(parser) => self.call_parser(*parser, &call.args),
            Callee::ExternFunction(_) | Callee::Method(..) => {
                self.trace_extern(call);
                self.call_extern(&call.callee, call)
            }
            Callee::ParamMethod(param, method) => match self.frame.vars.get(param.index()) {
                Some(Value::Instance(instance)) => {
                    self.call_extern(&Callee::Method(*instance, *method), call)
                }
                _ => Err(Stop::Broken("a method of a value that is no instance")),
            },
        }
    }

    fn call_extern(&mut self, callee: &Callee, call: &Call) -> Result<Value, Stop> {
        if let Some(value_extern) = ValueCallee::of(self.program, callee) {
            return self.call_value(value_extern, call);
        }
        match callee {
            Callee::ExternFunction(function) => A::function(self, *function, call),
            Callee::Method(instance, method) => A::method(self, *instance, *method, call),
            _ => Err(Stop::Broken("a call of a value that is no extern")),
        }
    }

    fn call_function(&mut self, id: FunctionId, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let function = self.program.functions.get(id.index()).ok_or(Stop::Broken("an unknown function"))?;
        let bound = self.bind(&function.params, &function.vars, args)?;
        let zeros = self.plan.function_vars(id, &bound.values);
        let (result, back) =
            self.inside(Scope::Function(function), zeros, bound, |m| m.run_block(&function.body))?;
        self.copy_back(back)?;
        Ok(match result? {
            Flow::Return(Some(value)) => value,
            _ => Value::zero(self.program, &function.returns),
        })
    }

    /// Runs a function with `cell` as its first parameter and `captured` after the first `declared` ones; those in between are
    /// zero. Gives the parameters' values at the end.
    pub(crate) fn run_with(
        &mut self,
        id: FunctionId,
        declared: usize,
        cell: Value,
        captured: Vec<Value>,
    ) -> Result<Vec<Value>, Stop> {
        let function = self.program.functions.get(id.index()).ok_or(Stop::Broken("an unknown function"))?;
        let first = function.params.iter().take(1).copied().zip([cell]);
        let rest = function.params.iter().skip(declared).copied().zip(captured);
        let bound = Bound { values: first.chain(rest).collect(), back: vec![] };
        let zeros = self.plan.function_vars(id, &bound.values);
        let mut results = vec![];
        let (flow, _) = self.inside(Scope::Function(function), zeros, bound, |m| {
            let flow = m.run_block(&function.body)?;
            results = function.params.iter().take(declared).map(|param| m.take_var(*param)).collect();
            Ok(flow)
        })?;
        flow.map(|_| results)
    }

    fn call_control(&mut self, id: ControlId, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let control = self.program.controls.get(id.index()).ok_or(Stop::Broken("an unknown control"))?;
        let bound = self.bind(&control.params, &control.vars, args)?;
        let zeros = self.plan.control_vars(id, &bound.values);
        self.trace_block(&control.control_plane_name, true);
        let (result, back) = self.inside(Scope::Control(id, control), zeros, bound, |m| {
            m.run(&control.locals)?;
            m.run_block(&control.body)
        })?;
        self.trace_block(&control.control_plane_name, false);
        self.copy_back(back)?;
        result.map(|_| Value::Void)
    }

    fn call_parser(&mut self, id: ParserId, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let parser = self.program.parsers.get(id.index()).ok_or(Stop::Broken("an unknown parser"))?;
        let bound = self.bind(&parser.params, &parser.vars, args)?;
        let zeros = self.plan.parser_vars(id, &bound.values);
        self.trace_block(&parser.control_plane_name, true);
        let (result, back) = self.inside(Scope::Parser(id, parser), zeros, bound, |m| {
            m.run_parser(id, parser)?;
            Ok(Flow::Next)
        })?;
        self.trace_block(&parser.control_plane_name, false);
        self.copy_back(back)?;
        result.map(|_| Value::Void)
    }

    /// A direct call: every parameter is given.
    fn call_action(&mut self, id: ActionId, args: &[Option<Expr>]) -> Result<Value, Stop> {
        let (_, control) = self.control()?;
        let action = control.actions.get(id.index()).ok_or(Stop::Broken("an unknown action"))?;
        let bound = self.bind(&action.params, &control.vars, args)?;
        self.run_action(action, bound)?;
        Ok(Value::Void)
    }

    /// Runs an action of the running control: the leading parameters get `args`, evaluated now, the rest `data`.
    pub(crate) fn call_table_action(
        &mut self,
        id: ActionId,
        args: &[Expr],
        data: &[Value],
    ) -> Result<(), Stop> {
        let (_, control) = self.control()?;
        let action = control.actions.get(id.index()).ok_or(Stop::Broken("an unknown action"))?;
        let split = args.len().min(action.params.len());
        let (given, rest) = action.params.split_at(split);
        let mut bound = self.bind_exprs(given, &control.vars, args.iter().map(Some))?;
        bound.values.extend(rest.iter().copied().zip(data.iter().cloned()));
        self.run_action(action, bound)
    }

    fn run_action(&mut self, action: &'a Action, bound: Bound) -> Result<(), Stop> {
        if self.state.trace.on() {
            self.trace_action(action, &bound.values);
        }
        for (param, value) in bound.values {
            self.set_var(param, value)?;
        }
        let result = self.run_block(&action.body);
        self.trace_block(&action.control_plane_name, false);
        for (param, place) in bound.back {
            let value = self.take_var(param);
            self.write(&place, value)?;
        }
        result.map(drop)
    }

    pub(crate) fn bind(
        &mut self,
        params: &[VarId],
        vars: &[Var],
        args: &[Option<Expr>],
    ) -> Result<Bound, Stop> {
        self.bind_exprs(params, vars, args.iter().map(Option::as_ref))
    }

    fn bind_exprs<'e>(
        &mut self,
        params: &[VarId],
        vars: &[Var],
        args: impl Iterator<Item = Option<&'e Expr>>,
    ) -> Result<Bound, Stop> {
        let mut bound = Bound { values: vec![], back: vec![] };
        for (param, arg) in params.iter().zip(args) {
            let var = vars.get(param.index()).ok_or(Stop::Broken("an unknown variable"))?;
            let value = match (var.kind, arg) {
                (_, Some(arg)) if matches!(var.ty, Type::Extern(..)) => self.extern_arg(arg),
                (_, None) => Value::zero(self.program, &var.ty),
                // It starts like a variable without an initial value.
                (VarKind::Param(Direction::Out), Some(arg)) => {
                    bound.back.push((*param, self.place(arg)?));
                    Value::zero(self.program, &var.ty)
                }
                (VarKind::Param(Direction::InOut), Some(arg)) => {
                    let place = self.place(arg)?;
                    let value = self.read(&place, &arg.ty)?;
                    bound.back.push((*param, place));
                    value
                }
                (_, Some(arg)) => self.eval(arg)?,
            };
            bound.values.push((*param, value));
        }
        Ok(bound)
    }

    /// An instance, or the placeholder of a packet.
    fn extern_arg(&self, arg: &Expr) -> Value {
        match &arg.kind {
            ExprKind::Const(ir::Const::Instance(id)) => Value::Instance(*id),
            ExprKind::Var(var) => self.frame.vars.get(var.index()).cloned().unwrap_or(Value::Void),
            _ => Value::Void,
        }
    }

    /// Runs `body` in a frame of its own. Gives how it ended, and the results with their places.
    #[allow(clippy::type_complexity)]
    fn inside(
        &mut self,
        scope: Scope<'a>,
        vars: Vec<Value>,
        bound: Bound,
        body: impl FnOnce(&mut Self) -> Result<Flow, Stop>,
    ) -> Result<(Result<Flow, Stop>, Vec<(Value, Place)>), Stop> {
        self.spend(1 + vars.len() as u64)?;
        let outer = std::mem::replace(&mut self.frame, Frame { scope, vars });
        let started = bound.values.into_iter().try_for_each(|(param, value)| self.set_var(param, value));
        let result = started.and_then(|()| body(self));
        let back = bound.back.into_iter().map(|(param, place)| (self.take_var(param), place)).collect();
        self.frame = outer;
        Ok((result, back))
    }

    fn copy_back(&mut self, back: Vec<(Value, Place)>) -> Result<(), Stop> {
        back.into_iter().try_for_each(|(value, place)| self.write(&place, value))
    }
}
