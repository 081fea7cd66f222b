//! Constructor calls: `Counter(4)`, `MyParser()`, `V1Switch(...)` (P4-16 §11.3).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use crate::call::Rule;
use crate::codes;
use crate::cx::Checker;
use crate::scope::Def;
use crate::typed::{Construct, Constructed, Expr, ExprKind, ExternId, Substitution, Type, TypeVarId, VarId};

impl Checker {
    /// A constructor call as an expression.
    pub(crate) fn construct(
        &mut self,
        ty: &ast::Type,
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some((construct, ty)) = self.construction(ty, args, want, span) else { return Expr::error(span) };
        if let Constructed::Extern(id, _) = construct.of
            && let Some(missing) = self.abstract_method(id)
        {
            self.report(
                Diagnostic::error(
                    codes::BAD_CONSTRUCTION,
                    "an extern with abstract methods needs a declaration",
                )
                .at(span, format!("`{missing}` has no implementation here"))
                .help("declare an instance with `= { ... }` and use its name"),
            );
            return Expr::error(span);
        }
        Expr { kind: ExprKind::New(Box::new(construct)), ty, span }
    }

    /// The first abstract method of an extern.
    pub(crate) fn abstract_method(&self, id: ExternId) -> Option<smol_str::SmolStr> {
        let methods = &self.program.externs[id].methods;
        methods
            .iter()
            .map(|&m| &self.program.functions[m])
            .find(|f| f.is_abstract && !f.annotations.has("optional"))
            .map(|f| f.name.text.clone())
    }

    /// The target and type of a constructor call; `None` if the call is wrong, which is reported.
    pub(crate) fn construction(
        &mut self,
        ty: &ast::Type,
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Option<(Construct, Type)> {
        let resolved = self.resolve_open_type(ty);
        let resolved = self.infer.shallow(&resolved);
        let resolved = match self.overloaded(ty, args) {
            Some(chosen) => chosen,
            None => resolved,
        };
        let found = self.constructor(&resolved, args, ty.span);
        let Some((of, type_vars, params, type_args)) = found else {
            self.skip_args(args, span);
            return None;
        };
        let substitution = Substitution::new(&type_vars, &type_args);
        let name = self.constructed_name(of);
        let args = self.arguments(&name, &params, args, &substitution, Rule::Constructor, span)?;
        if let Some(want) = want {
            self.unify(&resolved, want);
        }
        let explicit = matches!(ty.kind, ast::TypeKind::Specialized { .. });
        // Nothing determines the type: `_` was written for it, or optional arguments are left out.
        let otherwise = |cx: &Checker, var: TypeVarId| match explicit {
            true => Some(Type::Any),
            false => cx.only_absent(var, &params, &args).then_some(Type::Void),
        };
        let type_args = self.inferred(&name, &type_vars, &type_args, &otherwise, span)?;
        let args = self.resolve_args(args);
        let ty = self.infer.resolve(&resolved);
        Some((Construct { of, type_args, args, span }, ty))
    }

    /// Among controls, parsers or packages of one name, the one whose constructor fits the arguments.
    fn overloaded(&mut self, ty: &ast::Type, args: &[ast::Arg]) -> Option<Type> {
        let (path, type_args) = match &ty.kind {
            ast::TypeKind::Named(path) => (path, None),
            ast::TypeKind::Specialized { base, args } => (base, Some(args)),
            _ => return None,
        };
        let Some(Def::Overloaded(defs)) = self.scopes.lookup(&path.name.text).map(|b| b.def.clone()) else {
            return None;
        };
        let chosen = defs.into_iter().find(|def| {
            let params = match def {
                Def::Parser(id) => &self.program.parsers[*id].constructor_params,
                Def::Control(id) => &self.program.controls[*id].constructor_params,
                Def::Package(id) => &self.program.packages[*id].params,
                _ => return false,
            };
            self.fit_args(params, args).is_ok()
        })?;
        let vars = match chosen {
            Def::Parser(id) => self.program.parsers[id].type_params.len(),
            Def::Control(id) => self.program.controls[id].type_params.len(),
            Def::Package(id) => self.program.packages[id].type_params.len(),
            _ => 0,
        };
        let type_args: Vec<Type> = match type_args {
            Some(args) if args.len() == vars => self.resolve_type_args(args),
            _ => (0..vars).map(|_| self.infer.fresh()).collect(),
        };
        Some(match chosen {
            Def::Parser(id) => Type::Parser(id, type_args.into()),
            Def::Control(id) => Type::Control(id, type_args.into()),
            Def::Package(id) => Type::Package(id, type_args.into()),
            _ => Type::Error,
        })
    }

    #[allow(clippy::type_complexity)]
    fn constructor(
        &mut self,
        ty: &Type,
        args: &[ast::Arg],
        at: Span,
    ) -> Option<(Constructed, Vec<TypeVarId>, Vec<VarId>, Vec<Type>)> {
        let p = &self.program;
        match ty {
            Type::Error => None,
            Type::Extern(id, type_args) => {
                let (vars, type_args) = (p.externs[*id].type_params.clone(), type_args.to_vec());
                let constructors = p.externs[*id].constructors.clone();
                if constructors.is_empty() {
                    let name = p.externs[*id].name.text.clone();
                    self.error(
                        codes::BAD_CONSTRUCTION,
                        at,
                        format!("extern `{name}` has no constructor"),
                        "",
                    );
                    return None;
                }
                let chosen = self.pick(&constructors, args, at)?;
                let params = self.program.functions[chosen].params.clone();
                Some((Constructed::Extern(*id, chosen), vars, params, type_args))
            }
            Type::Parser(id, type_args) => {
                let d = &p.parsers[*id];
                Some((
                    Constructed::Parser(*id),
                    d.type_params.clone(),
                    d.constructor_params.clone(),
                    type_args.to_vec(),
                ))
            }
            Type::Control(id, type_args) => {
                let d = &p.controls[*id];
                Some((
                    Constructed::Control(*id),
                    d.type_params.clone(),
                    d.constructor_params.clone(),
                    type_args.to_vec(),
                ))
            }
            Type::Package(id, type_args) => {
                let d = &p.packages[*id];
                Some((Constructed::Package(*id), d.type_params.clone(), d.params.clone(), type_args.to_vec()))
            }
            other => {
                let what = p.describe_type(other);
                let why = match other {
                    Type::ParserType(..) | Type::ControlType(..) => "it has no body",
                    _ => "only externs, parsers, controls and packages have constructors",
                };
                self.error(codes::BAD_CONSTRUCTION, at, format!("{what} cannot be instantiated"), why);
                None
            }
        }
    }

    pub(crate) fn constructed_name(&self, of: Constructed) -> smol_str::SmolStr {
        match of {
            Constructed::Extern(id, _) => self.program.externs[id].name.text.clone(),
            Constructed::Parser(id) => self.program.parsers[id].name.text.clone(),
            Constructed::Control(id) => self.program.controls[id].name.text.clone(),
            Constructed::Package(id) => self.program.packages[id].name.text.clone(),
        }
    }
}
