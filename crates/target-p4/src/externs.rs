//! Externs that the program declares, and instances.

use crate::annotation::{annotation, inline, named};
use crate::calls::each_call;
use crate::print::Printer;
use ir::{
    Callee, Direction, Expr, ExternMethod, ExternObject, Instance, InstanceId, Name, Owner, Signature,
    SignatureParam,
};

impl<'p> Printer<'p> {
    pub(crate) fn extern_declarations(&mut self) {
        let program = self.program;
        for (index, object) in program.externs.iter().enumerate().filter(|(_, object)| object.user) {
            let name = self.globals.externs[index].clone();
            self.extern_object(&name, object);
        }
        for (index, function) in program.extern_functions.iter().enumerate().filter(|(_, f)| f.user) {
            let name = self.globals.extern_functions[index].clone();
            self.blank();
            function.annotations.iter().for_each(|a| self.line(&annotation(a)));
            self.line(&format!("extern {};", self.prototype(&name, &function.signature)));
        }
    }

    fn extern_object(&mut self, name: &str, object: &ExternObject) {
        self.blank();
        object.annotations.iter().for_each(|a| self.line(&annotation(a)));
        self.braces(&format!("extern {name}{}", type_params(&object.type_params)), "", |p| {
            for params in &object.constructors {
                p.line(&format!("{name}({});", p.signature_params(params)));
            }
            object.methods.iter().for_each(|method| p.method_declaration(method));
        });
    }

    fn method_declaration(&mut self, method: &ExternMethod) {
        let is_abstract = if method.is_abstract { "abstract " } else { "" };
        let prototype = self.prototype(&method.name, &method.signature);
        self.line(&format!("{}{is_abstract}{prototype};", inline(&method.annotations)));
    }

    fn prototype(&self, name: &str, signature: &Signature) -> String {
        let params = self.signature_params(&signature.params);
        format!("{} {name}{}({params})", self.ty(&signature.returns), type_params(&signature.type_params))
    }

    fn signature_params(&self, params: &[SignatureParam]) -> String {
        let param = |param: &SignatureParam| {
            let optional = if param.optional { "@optional " } else { "" };
            format!("{optional}{}{} {}", direction(param.direction), self.ty(&param.ty), param.name)
        };
        params.iter().map(param).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn top_level_instances(&mut self) {
        let program = self.program;
        for (index, instance) in program.instances.iter().enumerate() {
            let name = self.globals.instances[index].clone();
            if name.is_empty() {
                continue;
            }
            self.blank();
            self.instance(index.into(), &name, "", instance, &[]);
        }
    }

    /// The instances that a block declares.
    pub(crate) fn local_instances(&mut self, instances: &'p [InstanceId]) {
        for id in instances {
            // Registers that only the switch reads are not of the source.
            let is_own = |instance: &&Instance| !instance.name.starts_with('$');
            let name = self.local.instances.get(id).cloned();
            if let (Some(name), Some(instance)) =
                (name, self.program.instances.get(id.index()).filter(is_own))
            {
                let prefix = self.local.prefix.clone();
                if let Some(captured) = self.captured(*id, instance) {
                    self.instance(*id, &name, &prefix, instance, &captured);
                }
            }
        }
    }

    /// The values that implementations of the instance's methods capture, as a call of the block gives them; `None`
    /// if there is no call, so that the implementations never run.
    fn captured(&self, id: InstanceId, instance: &Instance) -> Option<Vec<String>> {
        let count = self.program.captures(instance).count();
        if count == 0 {
            return Some(vec![]);
        }
        let mut found = None;
        let mut note = |call: &ir::Call| {
            if let Callee::Method(called, _) = call.callee
                && called == id
                && let Some(values) = call.args.len().checked_sub(count).map(|first| &call.args[first..])
            {
                found.get_or_insert_with(|| values.iter().flatten().map(|v| self.expr(v, None, 0)).collect());
            }
        };
        match instance.owner {
            Owner::Program => {}
            Owner::Control(owner) => {
                let control = self.program.controls.get(owner.index());
                let actions = control.iter().flat_map(|c| &c.actions).map(|action| &action.body);
                let bodies = actions.chain(control.map(|c| &c.body));
                bodies.for_each(|body| each_call(&body.stmts, &mut note));
            }
            Owner::Parser(owner) => {
                let states = self.program.parsers.get(owner.index()).into_iter().flat_map(|p| &p.states);
                states.for_each(|state| each_call(&state.stmts, &mut note));
            }
        }
        found
    }

    fn instance(
        &mut self,
        id: InstanceId,
        name: &str,
        prefix: &str,
        instance: &'p Instance,
        captured: &[String],
    ) {
        let notes = named(&instance.annotations, prefix, name, &instance.control_plane_name);
        let head = format!("{}{} {name}", inline(&notes), self.construction(instance));
        if instance.methods.is_empty() {
            return self.line(&format!("{head};"));
        }
        // Its methods stand before the end of its declaration.
        let outside = self.local.instances.insert(id, "this".to_string());
        self.braces(&format!("{head} ="), ";", |p| {
            let mut captured = captured;
            for (index, function) in &instance.methods {
                let object = p.program.externs.get(instance.object.index());
                let method = object.and_then(|o| o.methods.get(*index as usize));
                if let (Some(method), Some(function)) = (method, p.program.functions.get(function.index())) {
                    let own = function.params.len().saturating_sub(method.signature.params.len());
                    let (values, rest) = captured.split_at(own.min(captured.len()));
                    p.function_as(&method.name, function, values);
                    captured = rest;
                }
            }
        });
        match outside {
            Some(name) => self.local.instances.insert(id, name),
            None => self.local.instances.remove(&id),
        };
    }

    /// `register<bit<32>>(1024)`; with the names of the parameters where only they distinguish constructors.
    pub(crate) fn construction(&self, instance: &Instance) -> String {
        let name = self.globals.externs.get(instance.object.index()).map_or("?", String::as_str);
        let count = instance.args.len();
        let constructors = self.program.externs.get(instance.object.index()).map(|o| &o.constructors[..]);
        let like = constructors.unwrap_or_default().iter().filter(|params| params.len() == count);
        let params = if like.count() > 1 { self.program.constructor(instance) } else { None };
        let arg = |(at, arg): (usize, &Expr)| {
            let value = self.expr(arg, Some(&arg.ty), 0);
            params.map_or(value.clone(), |params| format!("{} = {value}", params[at].name))
        };
        let args: Vec<String> = instance.args.iter().enumerate().map(arg).collect();
        format!("{name}{}({})", self.type_args(&instance.type_args), args.join(", "))
    }
}

fn type_params(names: &[Name]) -> String {
    match names {
        [] => String::new(),
        _ => format!("<{}>", names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", ")),
    }
}

/// `inout ` with a blank after, or nothing.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::None => "",
        Direction::In => "in ",
        Direction::Out => "out ",
        Direction::InOut => "inout ",
    }
}
