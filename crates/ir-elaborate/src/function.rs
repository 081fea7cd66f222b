//! Functions, one for each set of type arguments.

use base_diag::Span;
use ir::FunctionId;
use p4_check::typed::{self, Substitution, Type};

use crate::annotation::annotations;
use crate::elaborator::Elaborator;
use crate::env::Env;
use crate::stmt::Body;

impl Elaborator<'_> {
    /// The function with these closed type arguments; `None` if it cannot be made, which is reported.
    pub(crate) fn function(
        &mut self,
        id: typed::FunctionId,
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

    fn function_body(&mut self, decl: &typed::Function, env: Env, name: &str) -> FunctionId {
        let mut body = Body::new(self, env);
        let params = decl.params.iter().map(|p| body.declare(*p)).collect();
        let block = decl.body.as_ref().map(|b| body.block(b)).unwrap_or_default();
        let (env, vars) = body.finish();
        self.add_function(decl, &env, name, params, vars, block)
    }

    /// Adds a function of the source.
    pub(crate) fn add_function(
        &mut self,
        decl: &typed::Function,
        env: &Env,
        name: &str,
        params: Vec<ir::VarId>,
        vars: Vec<ir::Var>,
        block: ir::Block,
    ) -> FunctionId {
        let returns = env.close(&decl.returns);
        let returns = self.ty(&returns);
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
