//! A walk over the stages of a program that notes the inputs of each key.

use crate::input::{Input, Inputs};
use crate::keys::{Key, Place};
use crate::known::{Known, Path, Root, at_start, leaves};
use base_diag::Span;
use ir::{
    Block, Call, Callee, Control, ControlId, Direction, Expr, ExprKind, ForRange, Name, ParserId, Program,
    Role, StageKind, Stmt, StmtKind, SwitchOn, TableId, Type, Var, VarId, VarKind,
};
use std::collections::BTreeMap;

/// Most rounds until the inputs of a loop, or of a parser's states, no longer grow.
const ROUNDS: usize = 64;

/// The walk.
pub struct Walk<'p> {
    program: &'p Program,
    known: Known,
    /// What each variable of the running call is.
    frame: Frame,
    calls: u32,
    headers: Type,
    metadata: Type,
    standard: Type,
    /// Found so far, by place of use; a place that is passed twice has the inputs of both.
    pub found: BTreeMap<(Place, u32), Key>,
}

#[derive(Clone, Default)]
struct Frame {
    call: u32,
    /// Parameters that are places of the caller.
    places: BTreeMap<VarId, Path>,
    control: Option<ControlId>,
}

impl<'p> Walk<'p> {
    /// Walks all stages.
    pub fn new(program: &'p Program) -> Walk<'p> {
        let [headers, metadata, standard] =
            [Role::Headers, Role::Metadata, Role::StandardMetadata].map(|role| type_of(program, role));
        let mut walk = Walk {
            program,
            known: Known::default(),
            frame: Frame::default(),
            calls: 0,
            headers,
            metadata,
            standard,
            found: BTreeMap::new(),
        };
        for stage in &program.stages {
            match stage.kind {
                StageKind::Parse(id) => walk.parser(id, &stage.roles),
                StageKind::Control(id) | StageKind::Deparse(id) => walk.stage(id, &stage.roles),
                StageKind::TrafficManager => walk.traffic_manager(),
            }
        }
        walk
    }

    /// Where a packet goes follows from the port and the group that ingress has chosen.
    fn traffic_manager(&mut self) {
        let field = |name: &str| {
            let at = self.program.fields(&self.standard).iter().position(|field| field.name == name)?;
            Some(Path { root: Root::Standard, fields: vec![at as u32] })
        };
        let chosen: Inputs = ["egress_spec", "mcast_grp"]
            .into_iter()
            .filter_map(field)
            .flat_map(|leaf| self.leaf(&leaf))
            .collect();
        let told: Vec<Path> = ["egress_port", "egress_rid"].into_iter().filter_map(field).collect();
        for leaf in told {
            self.known.set(leaf, chosen.clone());
        }
    }

    fn enter(&mut self, params: &[VarId], roles: &[Role], control: Option<ControlId>) {
        self.calls += 1;
        let root = |role: &Role| match role {
            Role::Headers => Some(Root::Headers),
            Role::Metadata => Some(Root::Metadata),
            Role::StandardMetadata => Some(Root::Standard),
            _ => None,
        };
        let places = params.iter().zip(roles);
        let places =
            places.filter_map(|(param, role)| Some((*param, Path { root: root(role)?, fields: vec![] })));
        self.frame = Frame { call: self.calls, places: places.collect(), control };
    }

    fn stage(&mut self, id: ControlId, roles: &[Role]) {
        let control = self.program.control(id);
        self.enter(&control.params, roles, Some(id));
        self.control(control);
    }

    fn control(&mut self, control: &Control) {
        self.stmts(&control.locals, &control.vars);
        self.stmts(&control.body.stmts, &control.vars);
    }

    /// The states, in any order: what one may have left holds in all.
    fn parser(&mut self, id: ParserId, roles: &[Role]) {
        let parser = self.program.parser(id);
        self.enter(&parser.params, roles, None);
        self.states(parser);
    }

    fn states(&mut self, parser: &ir::Parser) {
        self.stmts(&parser.locals, &parser.vars);
        for _ in 0..ROUNDS {
            let before = self.known.clone();
            for state in &parser.states {
                let entered = self.known.clone();
                self.stmts(&state.stmts, &parser.vars);
                self.join(&entered);
            }
            if self.known == before {
                break;
            }
        }
    }

    fn join(&mut self, other: &Known) {
        let (program, types) = (self.program, self.types());
        self.known.join(other, &|leaf| at_start(leaf, &|leaf| name_of(program, &types, leaf)));
    }

    fn types(&self) -> [Type; 3] {
        [self.headers.clone(), self.metadata.clone(), self.standard.clone()]
    }

    fn block(&mut self, block: &Block, vars: &[Var]) {
        self.stmts(&block.stmts, vars);
    }

    fn stmts(&mut self, stmts: &[Stmt], vars: &[Var]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt, vars));
    }

    fn stmt(&mut self, stmt: &Stmt, vars: &[Var]) {
        match &stmt.kind {
            StmtKind::Declare(var, init) => {
                let place = self.var(*var);
                self.known.forget(&place);
                if let (Some(init), Some(var)) = (init, vars.get(var.index())) {
                    self.assign(&place, &var.ty, init, vars);
                }
            }
            StmtKind::Assign(place, value) => match self.place(place) {
                Some(path) => self.assign(&path, &place.ty, value, vars),
                None => {
                    let inputs = self.inputs(value, vars);
                    self.add(place, inputs);
                }
            },
            StmtKind::AssignOp(_, place, value) => {
                let inputs = self.inputs(value, vars);
                self.add(place, inputs);
            }
            StmtKind::Call(call) => {
                self.call(call, vars);
            }
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => {
                self.table(*table);
                if let StmtKind::Switch(_, cases) = &stmt.kind {
                    self.one_of(cases.iter().map(|case| &case.body), vars);
                }
            }
            StmtKind::Switch(SwitchOn::Value(value), cases) => {
                self.inputs(value, vars);
                self.one_of(cases.iter().map(|case| &case.body), vars);
            }
            StmtKind::Extract { header, .. } => {
                // The packet's own fields from here on.
                if let Some(place) = self.place(header) {
                    self.known.forget(&place);
                }
            }
            StmtKind::If(condition, yes, no) => {
                self.inputs(condition, vars);
                self.one_of([yes, no].into_iter(), vars);
            }
            StmtKind::Block(block) => self.block(block, vars),
            StmtKind::For { init, cond, update, body } => {
                self.stmts(init, vars);
                self.rounds(&mut |walk| {
                    walk.inputs(cond, vars);
                    walk.block(body, vars);
                    walk.stmts(update, vars);
                });
            }
            StmtKind::ForIn { var, range, body } => {
                let inputs = match range {
                    ForRange::Range(a, b) => &self.inputs(a, vars) | &self.inputs(b, vars),
                    ForRange::Values(values) => self.inputs(values, vars),
                };
                let place = self.var(*var);
                self.known.set(place, inputs);
                self.rounds(&mut |walk| walk.block(body, vars));
            }
            StmtKind::Verify(condition, _) => {
                self.inputs(condition, vars);
            }
            StmtKind::Return(value) => {
                let inputs = value.as_ref().map(|value| self.inputs(value, vars)).unwrap_or_default();
                let result = self.result();
                let known = self.known.get(&result).cloned().unwrap_or_default();
                self.known.set(result, &known | &inputs);
            }
            StmtKind::SetValid(..)
            | StmtKind::PushFront(..)
            | StmtKind::PopFront(..)
            | StmtKind::Advance(..)
            | StmtKind::Emit(..)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Exit => {}
        }
    }

    fn rounds(&mut self, round: &mut dyn FnMut(&mut Self)) {
        for _ in 0..ROUNDS {
            let before = self.known.clone();
            round(self);
            self.join(&before);
            if self.known == before {
                break;
            }
        }
    }

    /// One of the blocks runs, or none.
    fn one_of<'b>(&mut self, blocks: impl Iterator<Item = &'b Block>, vars: &[Var]) {
        let before = self.known.clone();
        let mut after: Option<Known> = None;
        let mut count = 0;
        for block in blocks {
            self.known = before.clone();
            self.block(block, vars);
            count += 1;
            if let Some(other) = after.take() {
                self.join(&other);
            }
            after = Some(self.known.clone());
        }
        // Two arms of an `if` are all there are.
        if count != 2 {
            self.join(&before);
        }
    }

    fn var(&self, var: VarId) -> Path {
        let own = || Path { root: Root::Local(self.frame.call, var.0), fields: vec![] };
        self.frame.places.get(&var).cloned().unwrap_or_else(own)
    }

    /// The result of the running function.
    fn result(&self) -> Path {
        Path { root: Root::Local(self.frame.call, u32::MAX), fields: vec![] }
    }

    /// A place as a whole; `None` for slices and elements, which are parts of leaves.
    fn place(&self, e: &Expr) -> Option<Path> {
        match &e.kind {
            ExprKind::Var(var) => Some(self.var(*var)),
            ExprKind::Field(base, at) => Some(self.place(base)?.field(*at)),
            _ => None,
        }
    }

    /// The place that a part belongs to. Elements of a stack are one place.
    fn around(&self, e: &Expr) -> Option<(Path, Type)> {
        match &e.kind {
            ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => self.around(base),
            ExprKind::Index(base, _) | ExprKind::Next(base) | ExprKind::Last(base) => {
                Some((self.around(base)?.0, e.ty.clone()))
            }
            ExprKind::Field(base, at) => Some((self.around(base)?.0.field(*at), e.ty.clone())),
            ExprKind::Var(var) => Some((self.var(*var), e.ty.clone())),
            _ => None,
        }
    }

    /// A place gets more inputs, besides those it has.
    fn add(&mut self, place: &Expr, inputs: Inputs) {
        let Some((path, ty)) = self.around(place) else { return };
        for (leaf, _) in leaves(self.program, &path, &ty) {
            let known = self.leaf(&leaf);
            self.known.set(leaf, &known | &inputs);
        }
    }

    fn assign(&mut self, to: &Path, ty: &Type, value: &Expr, vars: &[Var]) {
        let leaves_to = leaves(self.program, to, ty);
        if let Some((from, _)) = self.around(value)
            && value.ty == *ty
        {
            let copied = leaves(self.program, &from, ty).into_iter().map(|(leaf, _)| self.leaf(&leaf));
            let copied: Vec<Inputs> = copied.collect();
            for ((leaf, _), inputs) in leaves_to.into_iter().zip(copied) {
                self.known.set(leaf, inputs);
            }
            return;
        }
        if let ExprKind::Aggregate(parts) = &value.kind {
            for (at, part) in parts.iter().enumerate() {
                let place = if matches!(ty, Type::Stack(..)) { to.clone() } else { to.field(at as u32) };
                self.assign(&place, &part.ty, part, vars);
            }
            return;
        }
        let inputs = self.inputs(value, vars);
        for (leaf, _) in leaves_to {
            self.known.set(leaf, inputs.clone());
        }
    }

    fn leaf(&self, leaf: &Path) -> Inputs {
        let types = self.types();
        let name = |leaf: &Path| name_of(self.program, &types, leaf);
        self.known.get(leaf).cloned().unwrap_or_else(|| at_start(leaf, &name))
    }

    /// What a value depends on. Calls and tables in it run.
    fn inputs(&mut self, e: &Expr, vars: &[Var]) -> Inputs {
        if let Some((path, ty)) = self.around(e) {
            let all = leaves(self.program, &path, &ty).into_iter().map(|(leaf, _)| self.leaf(&leaf));
            return all.flatten().collect();
        }
        match &e.kind {
            ExprKind::Lookahead(_) => Inputs::from([Input::Payload("packet.lookahead".into())]),
            ExprKind::PacketLength(_) => Inputs::from([Input::Environment("packet_length".into())]),
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => {
                self.table(*table);
                // Whether there is an entry is a function of the key.
                Inputs::from([Input::Data(self.table_name(*table))])
            }
            ExprKind::Call(call) => self.call(call, vars),
            ExprKind::IsValid(_) => Inputs::new(),
            _ => {
                let mut parts: Vec<&Expr> = vec![];
                ir::visit::parts(e, &mut |part| parts.push(part));
                parts.into_iter().flat_map(|part| self.inputs(part, vars)).collect()
            }
        }
    }

    fn table_name(&self, table: TableId) -> Name {
        let control = self.frame.control.map(|id| self.program.control(id));
        let table = control.and_then(|control| control.tables.get(table.index()));
        table.map(|table| table.control_plane_name.clone()).unwrap_or_default()
    }

    fn table(&mut self, id: TableId) {
        let Some(control) = self.frame.control.map(|id| self.program.control(id)) else { return };
        let Some(table) = control.tables.get(id.index()) else { return };
        for (at, key) in table.keys.iter().enumerate() {
            let inputs = self.inputs(&key.expr, &control.vars);
            let place = Place::Table(table.control_plane_name.clone());
            self.note(place, at as u32, &key.name, inputs, key.expr.span);
        }
        let before = self.known.clone();
        let mut after = before.clone();
        for run in &table.actions {
            let Some(action) = control.actions.get(run.action.index()) else { continue };
            self.known = before.clone();
            let data = Inputs::from([Input::Data(table.control_plane_name.clone())]);
            for (at, param) in action.params.iter().enumerate() {
                match run.args.get(at) {
                    Some(arg) => self.bind(*param, arg, &control.vars),
                    None => {
                        let place = self.var(*param);
                        self.known.set(place, data.clone());
                    }
                }
            }
            self.block(&action.body, &control.vars);
            self.unbind(&action.params);
            self.join(&after);
            after = self.known.clone();
        }
        self.known = after;
    }

    /// A parameter is its argument, if that is a place; else it has the argument's inputs.
    fn bind(&mut self, param: VarId, arg: &Expr, vars: &[Var]) {
        match self.place(arg) {
            Some(place) => {
                self.frame.places.insert(param, place);
            }
            None => {
                let inputs = self.inputs(arg, vars);
                let place = self.var(param);
                self.known.set(place, inputs);
            }
        }
    }

    fn unbind(&mut self, params: &[VarId]) {
        params.iter().for_each(|param| drop(self.frame.places.remove(param)));
    }

    fn note(&mut self, place: Place, at: u32, text: &str, inputs: Inputs, span: Span) {
        let key = Key { text: text.into(), inputs: Inputs::new(), span };
        self.found.entry((place, at)).or_insert(key).inputs.extend(inputs);
    }

    /// Runs a call; gives the inputs of its result.
    fn call(&mut self, call: &Call, vars: &[Var]) -> Inputs {
        match &call.callee {
            Callee::Action(id) => {
                let Some(control) = self.frame.control.map(|id| self.program.control(id)) else {
                    return Inputs::new();
                };
                let Some(action) = control.actions.get(id.index()) else { return Inputs::new() };
                for (param, arg) in action.params.iter().zip(&call.args) {
                    arg.iter().for_each(|arg| self.bind(*param, arg, vars));
                }
                self.block(&action.body, &control.vars);
                self.unbind(&action.params);
                Inputs::new()
            }
            Callee::Control(id) => {
                let control = self.program.control(*id);
                self.within(Some(*id), &control.params, &control.vars, call, vars, &mut |walk| {
                    walk.control(control)
                });
                Inputs::new()
            }
            Callee::Parser(id) => {
                let parser = self.program.parser(*id);
                self.within(None, &parser.params, &parser.vars, call, vars, &mut |walk| walk.states(parser));
                Inputs::new()
            }
            Callee::Function(id) => {
                let function = &self.program.functions[id.index()];
                let result = self.within(None, &function.params, &function.vars, call, vars, &mut |walk| {
                    walk.block(&function.body, &function.vars);
                });
                self.known.get(&result).cloned().unwrap_or_default()
            }
            Callee::ExternFunction(id) => {
                let function = &self.program.extern_functions[id.index()];
                let mut inputs = self.given(call, &directions(&function.signature), vars);
                if function.name == "random" && !function.user {
                    inputs.insert(Input::Random);
                }
                self.results(call, &directions(&function.signature), &inputs);
                inputs
            }
            Callee::Method(instance, method) => {
                let program = self.program;
                let object = program.extern_object(program.instance(*instance).object);
                let Some(method) = object.methods.get(*method as usize) else { return Inputs::new() };
                let name = program.instance(*instance).control_plane_name.clone();
                let index = index_of(program, object, &method.name);
                let at = index.and_then(|index| method.signature.params.iter().position(|p| p.name == index));
                if let Some(Some(index)) = at.and_then(|at| call.args.get(at)) {
                    let inputs = self.inputs(index, vars);
                    self.note(Place::Object(name.clone()), 0, "index", inputs, index.span);
                }
                let directions = directions(&method.signature);
                let mut inputs = self.given(call, &directions, vars);
                inputs.insert(Input::State(name));
                self.results(call, &directions, &inputs);
                inputs
            }
            Callee::ParamMethod(..) => Inputs::new(),
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

    /// The call's results depend on its inputs; what it changes, on what it was before, too. The standard metadata as a whole
    /// is only given to mark the packet.
    fn results(&mut self, call: &Call, directions: &[Direction], inputs: &Inputs) {
        for (arg, direction) in call.args.iter().zip(directions) {
            let Some(arg) = arg else { continue };
            if arg.ty == self.standard || !matches!(direction, Direction::Out | Direction::InOut) {
                continue;
            }
            match self.place(arg) {
                Some(path) => {
                    for (leaf, _) in leaves(self.program, &path, &arg.ty) {
                        self.known.set(leaf, inputs.clone());
                    }
                }
                None => self.add(arg, inputs.clone()),
            }
        }
    }

    /// Runs a block in a frame of its own; gives the place of its result.
    fn within(
        &mut self,
        control: Option<ControlId>,
        params: &[VarId],
        own: &[Var],
        call: &Call,
        vars: &[Var],
        run: &mut dyn FnMut(&mut Self),
    ) -> Path {
        let mut values: Vec<(VarId, Inputs)> = vec![];
        let mut places = BTreeMap::new();
        for (param, arg) in params.iter().zip(&call.args) {
            let Some(arg) = arg else { continue };
            let copies =
                matches!(own.get(param.index()).map(|v| v.kind), Some(VarKind::Param(Direction::In)));
            match self.place(arg).filter(|_| !copies || !self.program.fields(&arg.ty).is_empty()) {
                Some(place) => drop(places.insert(*param, place)),
                None => values.push((*param, self.inputs(arg, vars))),
            }
        }
        self.calls += 1;
        let outer = std::mem::replace(&mut self.frame, Frame { call: self.calls, places, control });
        for (param, inputs) in values {
            let place = self.var(param);
            self.known.set(place, inputs);
        }
        run(self);
        let result = self.result();
        self.frame = outer;
        result
    }
}

fn directions(signature: &ir::Signature) -> Vec<Direction> {
    signature.params.iter().map(|param| param.direction).collect()
}

/// The parameter that says which cell of an object is meant.
fn index_of(program: &Program, object: &ir::ExternObject, method: &str) -> Option<&'static str> {
    let facts = p4_arch::architecture(program.arch.name()?)?.object(&object.name).filter(|_| !object.user)?;
    facts.method(method)?.index
}

/// The type of what goes with a packet.
fn type_of(program: &Program, role: Role) -> Type {
    let of_stage = |stage: &ir::Stage| {
        let at = stage.roles.iter().position(|known| *known == role)?;
        let (params, vars) = match stage.kind {
            StageKind::Parse(id) => (&program.parser(id).params, &program.parser(id).vars),
            StageKind::Control(id) | StageKind::Deparse(id) => {
                (&program.control(id).params, &program.control(id).vars)
            }
            StageKind::TrafficManager => return None,
        };
        Some(vars.get(params.get(at)?.index())?.ty.clone())
    };
    program.stages.iter().find_map(of_stage).unwrap_or(Type::Void)
}

/// `hdr.ipv4.src` and its type; of the standard metadata the field alone.
fn name_of(program: &Program, types: &[Type; 3], leaf: &Path) -> (Name, Type) {
    let (mut text, mut ty) = match leaf.root {
        Root::Headers => ("hdr".to_string(), types[0].clone()),
        Root::Metadata => ("meta".to_string(), types[1].clone()),
        Root::Standard => (String::new(), types[2].clone()),
        Root::Local(..) => (String::new(), Type::Void),
    };
    for at in &leaf.fields {
        while let Type::Stack(elem, _) = ty {
            ty = *elem;
        }
        let Some(field) = program.fields(&ty).get(*at as usize).cloned() else { break };
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(&field.name);
        ty = field.ty;
    }
    (text.into(), ty)
}
