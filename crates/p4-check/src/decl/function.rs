//! Functions, extern functions, extern objects, actions (P4-16 §7.2.9, §9.3, §10, §14.1).

use base_diag::Diagnostic;
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, Place, name};
use crate::decl::ParamOf;
use crate::scope::Def;
use crate::typed::{
    Action, ActionId, Block, Direction, Extern, ExternId, Function, FunctionId, FunctionOwner, Type, VarId,
};

/// Functions of one name; calls are compared with each of them.
const MAX_OVERLOADS: usize = 200;

impl Checker {
    pub(crate) fn extern_function(&mut self, d: &ast::ExternFunction) -> FunctionId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let returns = self.return_type(&d.return_type);
        let params = self.params(&d.params, ParamOf::Extern);
        self.scopes.leave();
        let id = self.program.functions.push(Function {
            name: name(&d.name),
            owner: FunctionOwner::ExternFunction,
            type_params,
            params,
            returns,
            body: None,
            is_abstract: false,
            annotations,
            span: d.span,
        });
        self.bind_function(&d.name, id);
        id
    }

    pub(crate) fn function(&mut self, d: &ast::FunctionDecl) -> FunctionId {
        let id = self.function_head(d, FunctionOwner::Program);
        self.function_body(d, id, Place::Function);
        self.bind_function(&d.name, id);
        id
    }

    /// Declares a function with a body; its parameters are visible in the body only.
    pub(crate) fn function_head(&mut self, d: &ast::FunctionDecl, owner: FunctionOwner) -> FunctionId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let returns = self.return_type(&d.return_type);
        let params = self.params(&d.params, ParamOf::Function);
        self.scopes.leave();
        self.program.functions.push(Function {
            name: name(&d.name),
            owner,
            type_params,
            params,
            returns,
            body: None,
            is_abstract: false,
            annotations,
            span: d.span,
        })
    }

    /// Checks a function's body.
    pub(crate) fn function_body(&mut self, d: &ast::FunctionDecl, id: FunctionId, place: Place) {
        let function = &self.program.functions[id];
        let (type_params, params) = (function.type_params.clone(), function.params.clone());
        let returns = function.returns.clone();
        self.scopes.enter();
        for (p, var) in d.type_params.iter().zip(type_params) {
            self.scopes.bind(&p.text, Def::TypeVar(var), p.span);
        }
        for (p, var) in d.params.iter().zip(params) {
            self.scopes.bind(&p.name.text, Def::Var(var), p.name.span);
        }
        let outer = (self.place, self.loops, self.returns.take());
        self.place = place;
        self.loops = 0;
        self.returns = Some(returns);
        let body = self.block(&d.body);
        (self.place, self.loops, self.returns) = outer;
        self.scopes.leave();
        self.program.functions[id].body = Some(body);
    }

    fn return_type(&mut self, ty: &ast::Type) -> Type {
        let resolved = self.resolve_type(ty);
        match self.infer.shallow(&resolved) {
            Type::Int | Type::String => {
                // `int` and `string` results are compile-time values, which calls are not.
                let shown = self.show(&resolved);
                self.error(
                    codes::BAD_DECLARATION,
                    ty.span,
                    format!("a function cannot return `{shown}`"),
                    "its value would not be known at compile time",
                );
                Type::Error
            }
            Type::Parser(..)
            | Type::Control(..)
            | Type::Package(..)
            | Type::ParserType(..)
            | Type::ControlType(..) => {
                let what = self.program.describe_type(&resolved);
                self.error(codes::BAD_DECLARATION, ty.span, format!("a function cannot return {what}"), "");
                Type::Error
            }
            _ => resolved,
        }
    }

    /// Adds a function to those of its name. Two of one name must differ in the number or names of their
    /// parameters.
    fn bind_function(&mut self, name: &ast::Name, id: FunctionId) {
        let Some(here) = self.scopes.lookup_here(&name.text) else {
            self.bind(name, Def::Functions(vec![id]));
            return;
        };
        let before = here.span;
        let Def::Functions(ids) = &here.def else {
            if !matches!(here.def, Def::Error) {
                self.duplicate(&name.text, name.span, before);
            }
            return;
        };
        let mut ids = ids.clone();
        if self.is_overload(name, id, &ids) {
            ids.push(id);
            self.scopes.rebind(&name.text, Def::Functions(ids));
        }
    }

    /// True if the function can stand beside those of its name declared before it; otherwise reports why not.
    fn is_overload(&mut self, name: &ast::Name, id: FunctionId, before: &[FunctionId]) -> bool {
        if let Some(&same) = before.iter().find(|&&other| self.same_parameters(other, id)) {
            let before = self.program.functions[same].name.span;
            self.duplicate(&name.text, name.span, before);
            return false;
        }
        if before.len() >= MAX_OVERLOADS {
            let title = format!("too many functions are named `{}`", name.text);
            let why = format!("at most {MAX_OVERLOADS} share a name");
            self.error(codes::BAD_DECLARATION, name.span, title, why);
            return false;
        }
        true
    }

    /// True if no call can distinguish the two.
    fn same_parameters(&self, a: FunctionId, b: FunctionId) -> bool {
        let names = |id: FunctionId| -> Vec<&str> {
            self.program.functions[id]
                .params
                .iter()
                .map(|&p| self.program.vars[p].name.text.as_str())
                .collect()
        };
        let (mut a, mut b) = (names(a), names(b));
        a.sort_unstable();
        b.sort_unstable();
        a == b
    }

    pub(crate) fn extern_forward(&mut self, d: &ast::ExternForward) -> Option<ExternId> {
        if let Some(Def::Extern(_)) = self.scopes.lookup_here(&d.name.text).map(|b| &b.def) {
            return None;
        }
        let annotations = self.annotations(&d.annotations);
        let id = self.program.externs.push(Extern {
            name: name(&d.name),
            type_params: vec![],
            constructors: vec![],
            methods: vec![],
            annotations,
            span: d.span,
        });
        self.bind(&d.name, Def::Extern(id));
        Some(id)
    }

    pub(crate) fn extern_decl(&mut self, d: &ast::ExternDecl) -> ExternId {
        let annotations = self.annotations(&d.annotations);
        let forward = match self.scopes.lookup_here(&d.name.text).map(|b| b.def.clone()) {
            Some(Def::Extern(id)) if self.is_forward(id) => Some(id),
            _ => None,
        };
        let id = forward.unwrap_or_else(|| {
            self.program.externs.push(Extern {
                name: name(&d.name),
                type_params: vec![],
                constructors: vec![],
                methods: vec![],
                annotations: annotations.clone(),
                span: d.span,
            })
        });
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let record = &mut self.program.externs[id];
        (record.annotations, record.span) = (annotations, d.span);
        record.type_params = type_params;
        for m in &d.methods {
            self.method(id, &d.name, m);
        }
        self.scopes.leave();
        if forward.is_none() {
            self.bind(&d.name, Def::Extern(id));
        }
        id
    }

    /// True for an extern of which only the name is declared so far.
    fn is_forward(&self, id: ExternId) -> bool {
        let e = &self.program.externs[id];
        e.type_params.is_empty() && e.constructors.is_empty() && e.methods.is_empty()
    }

    fn method(&mut self, owner: ExternId, extern_name: &ast::Name, m: &ast::Method) {
        let annotations = self.annotations(&m.annotations);
        let is_constructor = m.return_type.is_none();
        let named_like_extern = m.name.text == extern_name.text;
        if is_constructor != named_like_extern {
            let (title, why) = if is_constructor {
                (format!("method `{}` has no return type", m.name.text), "only constructors have none")
            } else {
                (format!("constructor `{}` has a return type", m.name.text), "it is named like its extern")
            };
            self.error(codes::BAD_DECLARATION, m.name.span, title, why);
            return;
        }
        self.scopes.enter();
        let type_params = self.type_params(&m.type_params);
        let returns = m.return_type.as_ref().map_or(Type::Void, |t| self.return_type(t));
        let params =
            self.params(&m.params, if is_constructor { ParamOf::ExternConstructor } else { ParamOf::Extern });
        self.scopes.leave();
        let function = Function {
            name: name(&m.name),
            owner: if is_constructor {
                FunctionOwner::Constructor(owner)
            } else {
                FunctionOwner::Method(owner)
            },
            type_params,
            params,
            returns,
            body: None,
            is_abstract: m.is_abstract,
            annotations,
            span: m.span,
        };
        let id = self.program.functions.push(function);
        let siblings = if is_constructor {
            self.program.externs[owner].constructors.clone()
        } else {
            self.methods_named(owner, &m.name.text)
        };
        if !self.is_overload(&m.name, id, &siblings) {
            return;
        }
        let record = &mut self.program.externs[owner];
        if is_constructor { record.constructors.push(id) } else { record.methods.push(id) }
    }

    pub(crate) fn action(&mut self, d: &ast::ActionDecl) -> ActionId {
        let annotations = self.annotations(&d.annotations);
        self.scopes.enter();
        let params = self.params(&d.params, ParamOf::Action);
        self.check_order(&params);
        let id = self.program.actions.push(Action {
            name: name(&d.name),
            control: self.control,
            params,
            body: Block::default(),
            annotations,
            span: d.span,
        });
        let outer = (self.place, self.loops, self.returns.take());
        self.place = Place::Action;
        self.loops = 0;
        self.program.actions[id].body = self.block(&d.body);
        (self.place, self.loops, self.returns) = outer;
        self.scopes.leave();
        self.bind_local(&d.name, Def::Action(id));
        id
    }

    /// The control plane's parameters come last.
    fn check_order(&mut self, params: &[VarId]) {
        let first = params.iter().position(|&p| self.direction(p) == Direction::None);
        let Some(first) = first else { return };
        let Some(&late) = params[first..].iter().find(|&&p| self.direction(p) != Direction::None) else {
            return;
        };
        let (data, late) = (&self.program.vars[params[first]], &self.program.vars[late]);
        self.report(
            Diagnostic::error(codes::BAD_PARAMETER, "parameters without direction come last")
                .at(data.name.span, format!("`{}` is set by the control plane", data.name.text))
                .at(late.name.span, "this has a direction"),
        );
    }
}
