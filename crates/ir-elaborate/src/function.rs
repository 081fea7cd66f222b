//! Functions, one for each set of type arguments, and implementations of abstract methods.

use base_diag::Span;
use ir::FunctionId;
use p4_check::typed::{self, Id, Substitution, Type};
use smol_str::SmolStr;

use crate::annotation::annotations;
use crate::elaborator::Elaborator;
use crate::env::Env;
use crate::stmt::Body;

impl Elaborator<'_> {
    /// The function with these closed type arguments; `None` if it cannot be made, which is reported.
    pub(crate) fn function(
        &mut self,
        id: Id<typed::Function>,
        type_args: &[Type],
        span: Span,
    ) -> Option<FunctionId> {
        let decl = &self.typed.functions[id];
        let arg_types: Vec<ir::Type> = type_args.iter().map(|t| self.ty(t)).collect();
        let key = (id, arg_types);
        if let Some(known) = self.function_ids.get(&key) {
            return Some(*known);
        }
        let env = Env { subst: Substitution::new(&decl.type_params, type_args), ..Env::default() };
        let mangled =
            key.1.iter().fold(decl.name.text.to_string(), |name, ty| format!("{name}_{}", self.mangled(ty)));
        let made = self.deeper(span, |el| el.function_body(decl, env, &mangled));
        if let Some(made) = made {
            self.function_ids.insert(key, made);
        }
        made
    }

    /// The function that implements an abstract method in an instance; `env` has the visible names.
    pub(crate) fn implementation(
        &mut self,
        id: Id<typed::Function>,
        env: Env,
        instance: &SmolStr,
    ) -> FunctionId {
        let decl = &self.typed.functions[id];
        let name = format!("{}_{}", instance.replace('.', "_"), decl.name.text);
        self.function_body(decl, env, &name)
    }

    fn function_body(&mut self, decl: &typed::Function, env: Env, name: &str) -> FunctionId {
        let returns = env.close(&decl.returns);
        let returns = self.ty(&returns);
        let mut body = Body::new(self, env);
        let params = decl.params.iter().map(|p| body.declare(*p)).collect();
        let block = decl.body.as_ref().map(|b| body.block(b)).unwrap_or_default();
        let (_, vars) = body.finish();
        let name = self.function_names.pick(&[name]);
        self.out.functions.push(ir::Function {
            name,
            returns,
            params,
            vars,
            body: block,
            annotations: annotations(&decl.annotations),
            span: decl.span,
        });
        FunctionId::from(self.out.functions.len() - 1)
    }
}
