//! Extern objects, extern functions and instances.

use super::Verifier;
use crate::text::infer::substitute;
use crate::{
    Direction, ExternMethod, ExternObject, Function, Instance, InstanceId, Name, Owner, Signature,
    SignatureParam, Type,
};
use std::collections::BTreeSet;

impl Verifier<'_> {
    pub(super) fn extern_decls(&mut self) {
        let program = self.program;
        self.at("externs".to_string(), |v| v.unique("members", program.externs.iter().map(|e| &e.name)));
        for object in &program.externs {
            self.at(format!("extern {}", object.name), |v| v.extern_object(object));
        }
        for function in &program.extern_functions {
            self.at(format!("extern function {}", function.name), |v| v.signature(&function.signature, &[]));
        }
    }

    fn extern_object(&mut self, object: &ExternObject) {
        self.unique("type parameters", &object.type_params);
        for params in &object.constructors {
            self.signature_params(params, &[&object.type_params]);
        }
        for method in &object.methods {
            self.at(format!("method {}", method.name), |v| {
                v.signature(&method.signature, &object.type_params);
            });
        }
    }

    fn signature(&mut self, signature: &Signature, outer: &[Name]) {
        self.unique("type parameters", &signature.type_params);
        let known = [&signature.type_params, outer];
        self.signature_params(&signature.params, &known);
        self.signature_type(&signature.returns, &known);
    }

    fn signature_params(&mut self, params: &[SignatureParam], known: &[&[Name]]) {
        self.unique("parameters", params.iter().map(|param| &param.name));
        params.iter().for_each(|param| self.signature_type(&param.ty, known));
    }

    fn signature_type(&mut self, ty: &Type, known: &[&[Name]]) {
        let exists = self.exists(ty);
        self.require(exists, base_diag::Span::NONE, |_| "a type in it does not exist".to_string());
        let bound = is_bound(ty, known);
        self.require(bound, base_diag::Span::NONE, |v| {
            format!("`{}` mentions a type parameter that is not its own", v.show(ty))
        });
    }

    pub(super) fn instances(&mut self) {
        for (index, instance) in self.program.instances.iter().enumerate() {
            self.at(format!("instance {}", instance.control_plane_name), |v| {
                v.instance(index.into(), instance);
            });
        }
        self.instance_lists();
    }

    fn instance(&mut self, id: InstanceId, instance: &Instance) {
        let span = instance.span;
        let Some(object) = self.program.externs.get(instance.object.index()) else {
            return self.error(span, "its extern does not exist");
        };
        let all_exist = instance.type_args.iter().chain(instance.args.iter().map(|arg| &arg.ty));
        let good = all_exist.clone().all(|ty| self.exists(ty) && self.is_value(ty));
        self.require(good, span, |_| "a type in it does not exist".to_string());
        let arity = (object.type_params.len(), instance.type_args.len());
        self.require(arity.0 == arity.1, span, |_| {
            format!("it has {} type arguments, its extern {} parameters", arity.1, arity.0)
        });
        if !good || arity.0 != arity.1 {
            return;
        }
        for arg in &instance.args {
            let good = self.is_constant(arg);
            self.require(good, span, |v| format!("an argument is no constant of type `{}`", v.show(&arg.ty)));
        }
        let constructed = self.program.constructor(instance).is_some()
            || object.constructors.is_empty() && instance.args.is_empty();
        self.require(constructed, span, |_| "no constructor takes these arguments".to_string());
        self.methods(object, instance);
        self.owner(id, instance);
    }

    fn methods(&mut self, object: &ExternObject, instance: &Instance) {
        let mut implemented = BTreeSet::new();
        for (index, function) in &instance.methods {
            let new = implemented.insert(*index);
            self.require(new, instance.span, |_| format!("method {index} is implemented twice"));
            let method = object.methods.get(*index as usize).filter(|method| method.is_abstract);
            let function = self.program.functions.get(function.index());
            let (Some(method), Some(function)) = (method, function) else {
                self.error(
                    instance.span,
                    format!("method {index} is not abstract, or its function is missing"),
                );
                continue;
            };
            let fits = implements(object, instance, method, function);
            self.require(fits, instance.span, |_| {
                format!(
                    "function `{}` does not have the signature of method `{}`",
                    function.name, method.name
                )
            });
        }
        for (index, method) in object.methods.iter().enumerate() {
            let optional = method.annotations.iter().any(|annotation| annotation.name == "optional");
            let done = !method.is_abstract || optional || implemented.contains(&(index as u32));
            self.require(done, instance.span, |_| format!("method `{}` is not implemented", method.name));
        }
    }

    fn owner(&mut self, id: InstanceId, instance: &Instance) {
        let program = self.program;
        let list = match instance.owner {
            Owner::Program => return,
            Owner::Control(id) => program.controls.get(id.index()).map(|c| &c.instances),
            Owner::Parser(id) => program.parsers.get(id.index()).map(|p| &p.instances),
        };
        let listed = list.is_some_and(|list| list.contains(&id));
        self.require(listed, instance.span, |_| "its owner does not list it".to_string());
    }

    /// Every instance in a block's list has that block as its owner, and stands there once.
    fn instance_lists(&mut self) {
        let program = self.program;
        for (index, control) in program.controls.iter().enumerate() {
            let owner = Owner::Control(index.into());
            self.at(format!("control {}", control.name), |v| v.instance_list(&control.instances, owner));
        }
        for (index, parser) in program.parsers.iter().enumerate() {
            let owner = Owner::Parser(index.into());
            self.at(format!("parser {}", parser.name), |v| v.instance_list(&parser.instances, owner));
        }
    }

    fn instance_list(&mut self, list: &[InstanceId], owner: Owner) {
        let mut seen = BTreeSet::new();
        for id in list {
            let owned = self.program.instances.get(id.index()).is_some_and(|i| i.owner == owner);
            let good = owned && seen.insert(id);
            self.require(good, base_diag::Span::NONE, |_| {
                format!("its list has instance {} twice, or it is not its own", id.index())
            });
        }
    }

    /// Control-plane names of tables, of value sets and of instances are unique.
    pub(super) fn control_plane_names(&mut self) {
        let program = self.program;
        let tables = program.controls.iter().flat_map(|c| &c.tables).map(|t| &t.control_plane_name);
        let sets = program.parsers.iter().flat_map(|p| &p.value_sets).map(|s| &s.control_plane_name);
        let instances = program.instances.iter().map(|i| &i.control_plane_name);
        self.at("control-plane names".to_string(), |v| {
            v.unique("tables", tables);
            v.unique("value sets", sets);
            v.unique("instances", instances);
        });
        let blocks = program.parsers.iter().map(|p| &p.name);
        let controls = program.controls.iter().map(|c| &c.name);
        self.at("names".to_string(), |v| {
            v.unique("functions", program.functions.iter().map(|f| &f.name));
            v.unique("parsers", blocks);
            v.unique("controls", controls);
        });
    }
}

fn is_bound(ty: &Type, known: &[&[Name]]) -> bool {
    match ty {
        Type::Param(name) => name == "_" || known.iter().any(|names| names.contains(name)),
        Type::Stack(elem, _) | Type::List(elem) => is_bound(elem, known),
        Type::Tuple(types) | Type::Extern(_, types) => types.iter().all(|ty| is_bound(ty, known)),
        _ => true,
    }
}

fn implements(
    object: &ExternObject,
    instance: &Instance,
    method: &ExternMethod,
    function: &Function,
) -> bool {
    let bound = |name: &Name| object.argument(instance, name);
    let declared = &method.signature.params;
    // An implementation may leave out `@optional` parameters at the end, or have more for captured values.
    let left_out = declared.get(function.params.len()..).unwrap_or_default();
    let captured = function.params.get(declared.len()..).unwrap_or_default();
    let is_captured = |id: &crate::VarId| {
        function.vars.get(id.index()).is_some_and(|var| same_direction(Direction::In, var.kind))
    };
    left_out.iter().all(|param| param.optional)
        && captured.iter().all(is_captured)
        && substitute(&method.signature.returns, &bound) == function.returns
        && declared.iter().zip(&function.params).all(|(param, id)| {
            function.vars.get(id.index()).is_some_and(|var| {
                var.ty == substitute(&param.ty, &bound) && same_direction(param.direction, var.kind)
            })
        })
}

fn same_direction(direction: Direction, kind: crate::VarKind) -> bool {
    kind == crate::VarKind::Param(direction)
}
