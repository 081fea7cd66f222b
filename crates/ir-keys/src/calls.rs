//! Tables, actions and calls.

use crate::formula::Value;
use crate::input::{Input, Inputs};
use crate::keys::Place;
use crate::known::{Known, Origin, Path, Root, leaves};
use crate::walk::{Frame, Walk};
use ir::{Call, Callee, ControlId, Direction, Expr, Program, TableId, Var, VarId, VarKind};
use p4_arch::Access;

impl Walk<'_> {
    pub(crate) fn table(&mut self, id: TableId) {
        let Some((control, table)) = self.table_of(id) else { return };
        for (at, key) in table.keys.iter().enumerate() {
            let origin = self.origin(&key.expr, &control.vars);
            let place = Place::Table(table.control_plane_name.clone());
            self.note(place, at as u32, &key.name, &key.expr.ty, origin, key.expr.span);
        }
        let before = self.known.clone();
        let under = self.under.clone();
        self.under.insert(Input::Entry(table.control_plane_name.clone()));
        let mut after: Option<Known> = None;
        for run in &table.actions {
            let Some(action) = control.actions.get(run.action.index()) else { continue };
            self.known = before.clone();
            let given = action.params.iter().enumerate().map(|(at, param)| (*param, run.args.get(at)));
            self.action(given.collect::<Vec<_>>().as_slice(), &action.body, &control.vars);
            if let Some(other) = after.take() {
                self.join(&other);
            }
            after = Some(self.known.clone());
        }
        self.under = under;
        self.known = after.unwrap_or(before);
    }

    /// Runs an action. A parameter without an argument has data of an entry.
    fn action(&mut self, params: &[(VarId, Option<&Expr>)], body: &ir::Block, vars: &[Var]) {
        let returned = self.frame.returned.take();
        let places = self.frame.places.clone();
        let mut copied_back = vec![];
        for (param, arg) in params {
            match arg {
                Some(arg) => copied_back.extend(self.bind(*param, arg, (vars, vars))),
                None => {
                    let (place, data) = (self.var(*param), self.under.clone());
                    self.set(place, Origin::of(data));
                }
            }
        }
        self.block(body, vars);
        self.after_returns();
        self.copy_back(&copied_back, vars);
        (self.frame.returned, self.frame.places) = (returned, places);
    }

    /// Gives a parameter its argument: the argument's place if it is written, else a copy of its value. Returns what is to be
    /// copied back, if the argument is a part of a place.
    fn bind<'e>(
        &mut self,
        param: VarId,
        arg: &'e Expr,
        (own, vars): (&[Var], &[Var]),
    ) -> Option<(Path, &'e Expr)> {
        let kind = own.get(param.index()).map(|var| var.kind);
        let is_written = matches!(kind, Some(VarKind::Param(Direction::Out | Direction::InOut)));
        match self.place(arg) {
            Some(place) if is_written => {
                self.frame.places.insert(param, place);
                None
            }
            _ => {
                self.frame.places.remove(&param);
                let place = self.var(param);
                self.assign(&place, &arg.ty, arg, vars);
                is_written.then_some((place, arg))
            }
        }
    }

    fn copy_back(&mut self, copied: &[(Path, &Expr)], vars: &[Var]) {
        for (place, arg) in copied {
            let leaves = leaves(self.program, place, &arg.ty);
            let mut inputs: Inputs = leaves.iter().flat_map(|(leaf, _)| self.leaf(leaf).inputs).collect();
            inputs.extend(self.indices(arg, vars));
            self.add(arg, &inputs);
        }
    }

    /// Runs a call; returns the inputs of its result.
    pub(crate) fn call(&mut self, call: &Call, vars: &[Var]) -> Inputs {
        let program = self.program;
        match &call.callee {
            Callee::Action(id) => {
                let control = self.frame.control.map(|id| program.control(id));
                let Some((control, action)) =
                    control.and_then(|control| Some((control, control.actions.get(id.index())?)))
                else {
                    return Inputs::new();
                };
                let params = action.params.iter().copied().zip(call.args.iter().map(Option::as_ref));
                self.action(params.collect::<Vec<_>>().as_slice(), &action.body, &control.vars);
                Inputs::new()
            }
            Callee::Control(id) => {
                let control = program.control(*id);
                let params = (control.params.as_slice(), control.vars.as_slice());
                self.within(Some(*id), params, call, vars, &mut |walk| walk.control(control))
            }
            Callee::Parser(id) => {
                let parser = program.parser(*id);
                let params = (parser.params.as_slice(), parser.vars.as_slice());
                self.within(None, params, call, vars, &mut |walk| walk.states(parser))
            }
            Callee::Function(id) => {
                let function = &program.functions[id.index()];
                let params = (function.params.as_slice(), function.vars.as_slice());
                self.within(None, params, call, vars, &mut |walk| walk.block(&function.body, &function.vars))
            }
            Callee::ExternFunction(id) => {
                let function = &program.extern_functions[id.index()];
                let directions = directions(&function.signature);
                let mut inputs = self.given(call, &directions, vars);
                if function.name == "random" && !function.user {
                    inputs.insert(Input::Random);
                }
                let is_hash = function.name == "hash" && !function.user;
                let value = if is_hash { self.hash(call).map(Value::Hash) } else { None };
                self.results(call, &directions, &Origin { value, ..Origin::of(inputs.clone()) });
                inputs
            }
            Callee::Method(instance, method) => {
                let declared = program.instance(*instance);
                let object = program.extern_object(declared.object);
                let Some(called) = object.methods.get(*method as usize) else { return Inputs::new() };
                let name = declared.control_plane_name.clone();
                let index = index_of(program, object, &called.name);
                let at = index.and_then(|index| called.signature.params.iter().position(|p| p.name == index));
                if let Some(Some(index)) = at.and_then(|at| call.args.get(at)) {
                    let origin = self.origin(index, vars);
                    self.note(Place::Object(name.clone()), 0, "index", &index.ty, origin, index.span);
                }
                let directions = directions(&called.signature);
                let mut inputs = self.given(call, &directions, vars);
                if ir_state::access_of(program, *instance, *method) != Access::None {
                    inputs.insert(Input::State(name));
                }
                self.results(call, &directions, &Origin::of(inputs.clone()));
                inputs
            }
            // An object that came as a parameter: which one is not looked up.
            Callee::ParamMethod(..) => {
                let directions = vec![Direction::InOut; call.args.len()];
                let mut inputs = self.given(call, &directions, vars);
                inputs.insert(Input::Unknown);
                self.results(call, &directions, &Origin::of(inputs.clone()));
                inputs
            }
        }
    }

    /// Inputs of the arguments that a call takes.
    fn given(&mut self, call: &Call, directions: &[Direction], vars: &[Var]) -> Inputs {
        let mut inputs = Inputs::new();
        for (arg, direction) in call.args.iter().zip(directions) {
            if let (Some(arg), true) = (arg, *direction != Direction::Out) {
                inputs.extend(self.inputs(arg, vars));
            }
        }
        inputs
    }

    /// The call's results depend on its inputs. The standard metadata as a whole is only given to mark the packet.
    fn results(&mut self, call: &Call, directions: &[Direction], origin: &Origin) {
        for (arg, direction) in call.args.iter().zip(directions) {
            let Some(arg) = arg else { continue };
            if arg.ty == self.roots.standard || !matches!(direction, Direction::Out | Direction::InOut) {
                continue;
            }
            match self.place(arg) {
                Some(path) => {
                    for (leaf, _) in leaves(self.program, &path, &arg.ty) {
                        self.set(leaf, origin.clone());
                    }
                }
                None => self.add(arg, &origin.inputs),
            }
        }
    }

    /// Runs a block in a frame of its own; returns the inputs of its result.
    fn within(
        &mut self,
        control: Option<ControlId>,
        (params, own): (&[VarId], &[Var]),
        call: &Call,
        vars: &[Var],
        run: &mut dyn FnMut(&mut Self),
    ) -> Inputs {
        self.calls += 1;
        // Arguments are worked out in the caller's frame, parameters are places of the new one.
        let mut inner = Frame { call: self.calls, control, ..Frame::default() };
        let mut copied_back = vec![];
        for (param, arg) in params.iter().zip(&call.args) {
            let Some(arg) = arg else { continue };
            let kind = own.get(param.index()).map(|var| var.kind);
            let is_written = matches!(kind, Some(VarKind::Param(Direction::Out | Direction::InOut)));
            if let Some(place) = self.place(arg).filter(|_| is_written) {
                inner.places.insert(*param, place);
                continue;
            }
            let place = Path { root: Root::Local(inner.call, param.0), fields: vec![] };
            self.assign(&place, &arg.ty, arg, vars);
            if is_written {
                copied_back.push((place, arg));
            }
        }
        let outer = std::mem::replace(&mut self.frame, inner);
        run(self);
        self.after_returns();
        let (result, call) = (self.result(), self.frame.call);
        self.frame = outer;
        self.copy_back(&copied_back, vars);
        let inputs = self.known.get(&result).map(|origin| origin.inputs.clone()).unwrap_or_default();
        self.known.forget_call(call);
        inputs
    }
}

fn directions(signature: &ir::Signature) -> Vec<Direction> {
    signature.params.iter().map(|param| param.direction).collect()
}

/// The parameter that chooses the cell of an object.
fn index_of(program: &Program, object: &ir::ExternObject, method: &str) -> Option<&'static str> {
    let facts = p4_arch::architecture(program.arch.name()?)?.object(&object.name).filter(|_| !object.user)?;
    facts.method(method)?.index
}
