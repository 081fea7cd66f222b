//! Parameters: which types and directions they may have where (P4-16 §6.7, §7.2.10, §14.1).

use base_diag::Diagnostic;
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, name};
use crate::scope::Def;
use crate::typed::{Direction, Type, Var, VarId, VarKind};

/// The owner of the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParamOf {
    /// A function with a body.
    Function,
    /// An extern function, method or extern's constructor.
    Extern,
    Action,
    /// `apply` of a parser or control.
    Apply,
    /// `apply` of a declared parser or control type.
    ApplyType,
    /// A constructor of a parser or control.
    Constructor,
    /// A constructor of an extern.
    ExternConstructor,
    Package,
}

impl Checker {
    /// Declares parameters in the innermost scope.
    pub(crate) fn params(&mut self, params: &[ast::Param], of: ParamOf) -> Vec<VarId> {
        params.iter().map(|p| self.param(p, of)).collect()
    }

    fn param(&mut self, p: &ast::Param, of: ParamOf) -> VarId {
        let annotations = self.annotations(&p.annotations);
        let ty = self.resolve_param_type(&p.ty);
        let direction = match p.direction {
            ast::Direction::None => Direction::None,
            ast::Direction::In => Direction::In,
            ast::Direction::Out => Direction::Out,
            ast::Direction::InOut => Direction::InOut,
        };
        let ty = self.check_param(p, ty, direction, of);
        let default = p.default.as_ref().and_then(|e| {
            if matches!(direction, Direction::Out | Direction::InOut) {
                self.error(
                    codes::BAD_PARAMETER,
                    p.name.span,
                    format!("`{}` cannot have a default value", p.name.text),
                    "`out` parameters bring values back",
                );
                return None;
            }
            let open = self.open_vars(&ty);
            let value = self.expr_as(e, &open);
            if !value.ty.is_error() && !self.is_known(&value) {
                let title = format!("the default value of `{}` is not constant", p.name.text);
                self.error(codes::NOT_CONSTANT, e.span, title, "not known at compile time");
                return None;
            }
            Some(value)
        });
        let optional = annotations.has("optional");
        if optional && p.default.is_some() {
            let title = format!("`{}` is optional and has a default value", p.name.text);
            self.error(codes::BAD_PARAMETER, p.name.span, title, "use one of the two");
        } else if optional && matches!(of, ParamOf::Action | ParamOf::Function | ParamOf::Constructor) {
            let title = format!("`{}` cannot be optional", p.name.text);
            self.error(
                codes::BAD_PARAMETER,
                p.name.span,
                title,
                "only parameters of what the architecture declares can",
            );
        }
        let kind = match of {
            ParamOf::Constructor | ParamOf::ExternConstructor | ParamOf::Package => VarKind::ConstructorParam,
            _ => VarKind::Param(direction),
        };
        let var = Var { name: name(&p.name), ty, kind, default, optional, annotations, span: p.span };
        let id = self.program.vars.push(var);
        self.bind(&p.name, Def::Var(id));
        id
    }

    /// `ty` with the type variables of its declaration unknown: a default value may be of any such type.
    fn open_vars(&mut self, ty: &Type) -> Type {
        let mut known: Vec<(Type, Type)> = vec![];
        ty.map(&mut |t| {
            if !matches!(t, Type::Var(_)) {
                return None;
            }
            let found = known.iter().find(|(var, _)| var == t).map(|(_, fresh)| fresh.clone());
            Some(found.unwrap_or_else(|| {
                let fresh = self.infer.fresh();
                known.push((t.clone(), fresh.clone()));
                fresh
            }))
        })
    }

    fn check_param(&mut self, p: &ast::Param, ty: Type, direction: Direction, of: ParamOf) -> Type {
        let shallow = self.infer.shallow(&ty);
        let name = &p.name.text;
        let constructor = matches!(of, ParamOf::Constructor | ParamOf::ExternConstructor | ParamOf::Package);
        if constructor && direction != Direction::None {
            let title = format!("constructor parameter `{name}` has a direction");
            self.error(codes::BAD_PARAMETER, p.span, title, "constructors run at compile time");
        }
        let (bad, why): (bool, &str) = match &shallow {
            Type::Void => (true, "it has no values"),
            Type::Package(..) => (of != ParamOf::Package, "packages are arguments of packages only"),
            Type::Parser(..) | Type::Control(..) => (true, "declare a parser or control type and use it"),
            Type::ParserType(..) | Type::ControlType(..) => {
                let fits = matches!(of, ParamOf::Constructor | ParamOf::Package);
                (!fits, "parsers and controls are arguments of parsers, controls and packages only")
            }
            Type::Extern(..) if of == ParamOf::Action => (true, "an action's data are values"),
            Type::Int | Type::String if of == ParamOf::Action => (true, "an action's data have a size"),
            _ => (false, ""),
        };
        if bad {
            let what = self.program.describe_type(&shallow);
            self.error(
                codes::BAD_PARAMETER,
                p.name.span,
                format!("parameter `{name}` cannot be {what}"),
                why,
            );
            return Type::Error;
        }
        if direction != Direction::None && !constructor {
            let why = match &shallow {
                Type::Extern(..) => "objects are passed by reference",
                Type::Int | Type::String => "its values are known at compile time",
                _ => return ty,
            };
            let shown = self.show(&shallow);
            self.report(
                Diagnostic::error(
                    codes::BAD_PARAMETER,
                    format!("a parameter of type `{shown}` cannot have a direction"),
                )
                .at(p.name.span, why)
                .help("leave out `in`, `out` and `inout`"),
            );
            return Type::Error;
        }
        ty
    }
}
