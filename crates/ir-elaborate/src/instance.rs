//! Instances, made by constructor calls (P4-16 §11.3).

use base_diag::Span;
use ir::{Instance, InstanceId, Owner};
use p4_check::typed::{self, Arg, ArgValue, Constructed, Expr, ExprKind, Type, VarId};
use smol_str::SmolStr;

use crate::annotation::{annotations, local_name};
use crate::elaborator::{Elaborator, INSTANCE};
use crate::env::{Env, MadeObject};
use crate::names::qualify;
use crate::value::{Made, Object, Value};

/// Longest array of extern instances.
const MAX_INSTANCES: u32 = 4096;

/// Context of a constructor call, which names and annotates the new instance.
pub(crate) struct Site<'a> {
    /// The instance's name.
    pub(crate) name: SmolStr,
    /// Full control-plane name.
    pub(crate) control_plane_name: SmolStr,
    /// Made at the top level, or as an argument of a package.
    pub(crate) is_global: bool,
    /// The package instance that it is an argument of.
    pub(crate) package: SmolStr,
    /// Annotations of the declaration.
    pub(crate) annotations: &'a typed::Annotations,
    /// The declaration or the call.
    pub(crate) span: Span,
    /// Declaration with the initializer block, if the instance is declared.
    pub(crate) declared: Option<typed::InstanceId>,
}

impl Elaborator<'_> {
    /// A declared instance, of the top level or of the block whose environment is `env`.
    pub(crate) fn instance(&mut self, env: &mut Env, id: typed::InstanceId, is_global: bool) -> Object {
        let decl = &self.typed.instances[id];
        let Type::Array(_, size) = decl.ty else { return self.one_instance(env, id, "", is_global) };
        if size > MAX_INSTANCES {
            self.refuse(&format!("an array of more than {MAX_INSTANCES} extern instances"), decl.span);
            return Object::Broken;
        }
        Object::Array((0..size).map(|at| self.one_instance(env, id, &format!("[{at}]"), is_global)).collect())
    }

    /// A declared instance, or the one at `[3]` of a declared array of them.
    fn one_instance(&mut self, env: &mut Env, id: typed::InstanceId, at: &str, is_global: bool) -> Object {
        let decl = &self.typed.instances[id];
        let local = format!("{}{at}", local_name(&decl.annotations, &decl.name));
        let site = Site {
            name: format!("{}{at}", decl.name.text).into(),
            control_plane_name: qualify(&env.prefix, &local),
            is_global,
            package: SmolStr::default(),
            annotations: &decl.annotations,
            span: decl.span,
            declared: Some(id),
        };
        self.construct(env, &decl.construct, site)
    }

    /// Makes the object of a constructor call.
    pub(crate) fn construct(&mut self, env: &mut Env, call: &typed::Construct, site: Site<'_>) -> Object {
        let typed = self.typed;
        let type_args = env.close_all(&call.type_args);
        match call.of {
            Constructed::Extern(id, constructor) => {
                let params = &typed.functions[constructor].params;
                match self.extern_instance(env, id, call, params, type_args, &site) {
                    Some(made) => Object::Extern(made),
                    None => Object::Broken,
                }
            }
            Constructed::Control(id) => {
                let decl = &typed.controls[id];
                let subst = typed::Substitution::new(&decl.type_params, &type_args);
                let Some(values) = self.constructor_args(env, &decl.constructor_params, call, None, &subst)
                else {
                    return Object::Broken;
                };
                self.control(id, type_args, values, site)
            }
            Constructed::Parser(id) => {
                let decl = &typed.parsers[id];
                let subst = typed::Substitution::new(&decl.type_params, &type_args);
                let Some(values) = self.constructor_args(env, &decl.constructor_params, call, None, &subst)
                else {
                    return Object::Broken;
                };
                self.parser(id, type_args, values, site)
            }
            Constructed::Package(id) => {
                let decl = &typed.packages[id];
                let subst = typed::Substitution::new(&decl.type_params, &type_args);
                let Some(values) = self.constructor_args(env, &decl.params, call, Some(&site.name), &subst)
                else {
                    return Object::Broken;
                };
                let named = |(param, value): (VarId, Value)| {
                    let var = &typed.vars[param];
                    (var.name.text.clone(), subst.apply(&var.ty), value)
                };
                let args = values.into_iter().map(named).collect();
                Object::Package(Box::new(Made { name: decl.name.text.clone(), args }))
            }
        }
    }

    /// The values of constructor arguments; absent ones are left out. `None` if one is wrong, which is reported.
    fn constructor_args(
        &mut self,
        env: &mut Env,
        params: &[VarId],
        call: &typed::Construct,
        package: Option<&SmolStr>,
        subst: &typed::Substitution,
    ) -> Option<Vec<(VarId, Value)>> {
        let mut values = vec![];
        let mut whole = true;
        // A default may mention the type parameters of the new object.
        let mut inside = Env { subst: subst.clone(), instances: vec![], ..env.clone() };
        for (param, arg) in params.iter().zip(&call.args) {
            match &arg.value {
                ArgValue::Given(expr) | ArgValue::Default(expr) => {
                    let is_given = matches!(arg.value, ArgValue::Given(_));
                    let env = if is_given { &mut *env } else { &mut inside };
                    match self.constructor_arg(env, expr, *param, package) {
                        Some(Value::Object(Object::Broken)) | None => whole = false,
                        Some(value) => values.push((*param, value)),
                    }
                }
                ArgValue::DontCare | ArgValue::Absent => {}
            }
        }
        env.instances.append(&mut inside.instances);
        whole.then_some(values)
    }

    /// One constructor argument. An object made here is named after the parameter; the blocks of a package are
    /// named after themselves.
    fn constructor_arg(
        &mut self,
        env: &mut Env,
        expr: &Expr,
        param: VarId,
        package: Option<&SmolStr>,
    ) -> Option<Value> {
        let ExprKind::New(call) = &expr.kind else { return self.known(env, expr, "a constructor argument") };
        let none = typed::Annotations::default();
        let name = self.typed.vars[param].name.text.clone();
        let control_plane_name = qualify(&env.prefix, &name);
        let site = Site {
            control_plane_name: self.free_control_plane_name(INSTANCE, control_plane_name),
            name,
            is_global: package.is_some(),
            package: package.cloned().unwrap_or_default(),
            annotations: &none,
            span: call.span,
            declared: None,
        };
        Some(Value::Object(self.construct(env, call, site)))
    }

    fn extern_instance(
        &mut self,
        env: &mut Env,
        id: typed::ExternId,
        call: &typed::Construct,
        params: &[VarId],
        type_args: Vec<Type>,
        site: &Site<'_>,
    ) -> Option<InstanceId> {
        let object = self.extern_object(id);
        let subst = typed::Substitution::new(&self.typed.externs[id].type_params, &type_args);
        let mut args = vec![];
        let given = call.args.iter().rposition(|a| a.expr().is_some()).map_or(0, |last| last + 1);
        for (param, arg) in params.iter().zip(&call.args).take(given) {
            let ty = subst.apply(&self.typed.vars[*param].ty);
            args.push(self.extern_arg(env, arg, *param, &ty, call.span)?);
        }
        let made = InstanceId::from(self.out.instances.len());
        let type_args = type_args.iter().map(|t| self.ty(t)).collect();
        let control_plane_name =
            self.claim_instance_name(site.control_plane_name.clone(), site.annotations, site.span);
        self.out.instances.push(Instance {
            name: site.name.clone(),
            control_plane_name,
            object,
            type_args,
            args,
            owner: Owner::Program,
            methods: vec![],
            annotations: annotations(site.annotations),
            span: site.span,
        });
        env.instances.push(made);
        let made_object = MadeObject { id: made, name: site.control_plane_name.clone(), subst };
        self.implementations(env, made_object, id, site);
        Some(made)
    }

    fn extern_arg(
        &mut self,
        env: &mut Env,
        arg: &Arg,
        param: VarId,
        ty: &Type,
        span: Span,
    ) -> Option<ir::Expr> {
        let Some(expr) = arg.expr() else {
            self.refuse("an optional constructor argument left out before others", span);
            return None;
        };
        let value = self.constructor_arg(env, expr, param, None)?;
        if value == Value::Object(Object::Broken) {
            return None;
        }
        let constant = self.constant(&value, ty, expr.span);
        if constant.is_none() {
            self.refuse("a constructor argument of this type for an extern object", expr.span);
        }
        constant
    }

    /// Implementations of abstract methods, and the instances declared beside them.
    fn implementations(&mut self, env: &mut Env, made: MadeObject, object: typed::ExternId, site: &Site<'_>) {
        let typed = self.typed;
        let Some(decl) = site.declared.map(|id| &typed.instances[id]) else { return };
        if decl.implementations.is_empty() && decl.inner.is_empty() {
            return;
        }
        let outer = env.vars.clone();
        let mut inside = Env {
            this: Some(made.id),
            prefix: site.control_plane_name.clone(),
            vars: Default::default(),
            instances: vec![],
            ..env.clone()
        };
        for inner in &decl.inner {
            let object = self.instance(&mut inside, *inner, false);
            inside.objects.insert(*inner, object);
        }
        env.instances.append(&mut inside.instances);
        for implementation in &decl.implementations {
            let methods = &typed.externs[object].methods;
            let index =
                methods.iter().position(|m| *m == implementation.method).and_then(|i| u32::try_from(i).ok());
            let function =
                self.deeper(site.span, |el| el.implementation(*implementation, &inside, &outer, &made));
            if let (Some(index), Some(function)) = (index, function) {
                self.out.instances[made.id.index()].methods.push((index, function));
            }
        }
    }

    /// Notes who declares these instances.
    pub(crate) fn set_owner(&mut self, instances: &[InstanceId], owner: Owner) {
        for id in instances {
            if let Some(instance) = self.out.instances.get_mut(id.index()) {
                instance.owner = owner;
            }
        }
    }
}
