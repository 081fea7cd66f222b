//! Constructor calls: `Counter(4)`, `MyParser()`, `V1Switch(...)` (P4-16 §11.3).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use crate::call::Rule;
use crate::codes;
use crate::cx::Checker;
use crate::typed::{Construct, Constructed, Expr, ExprKind, Extern, Id, Substitution, Type, TypeVar, Var};

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
    pub(crate) fn abstract_method(&self, id: Id<Extern>) -> Option<smol_str::SmolStr> {
        let methods = &self.program.externs[id].methods;
        methods
            .iter()
            .map(|&m| &self.program.functions[m])
            .find(|f| f.is_abstract)
            .map(|f| f.name.text.clone())
    }

    /// What a constructor call makes, and its type; `None` if it is wrong, which is reported.
    pub(crate) fn construction(
        &mut self,
        ty: &ast::Type,
        args: &[ast::Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Option<(Construct, Type)> {
        let resolved = self.resolve_open_type(ty);
        let resolved = self.infer.shallow(&resolved);
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
        let type_args = self.inferred(&name, &type_vars, &type_args, span)?;
        let args = self.resolve_args(args);
        let ty = self.infer.resolve(&resolved);
        Some((Construct { of, type_args, args, span }, ty))
    }

    #[allow(clippy::type_complexity)]
    fn constructor(
        &mut self,
        ty: &Type,
        args: &[ast::Arg],
        at: Span,
    ) -> Option<(Constructed, Vec<Id<TypeVar>>, Vec<Id<Var>>, Vec<Type>)> {
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
