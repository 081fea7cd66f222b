//! Types as written, read as types: names looked up, widths and sizes evaluated, arguments counted (P4-16 §7).

use std::sync::Arc;

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast::{self, TypeKind};

use crate::codes;
use crate::cx::{Checker, count};
use crate::scope::Def;
use crate::typed::{Type, TypeVarId};

/// No value is wider than this many bits.
pub(crate) const MAX_WIDTH: u32 = 1 << 20;

/// No array is longer than this.
pub(crate) const MAX_ARRAY: u32 = 1 << 24;

/// The parts of a type that a use may leave open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Nothing: the type must be complete.
    No,
    /// `_` as a type argument is any type.
    Any,
    /// `_` and missing type arguments become inference variables.
    Infer,
}

impl Checker {
    /// The type that stands there, complete.
    pub(crate) fn resolve_type(&mut self, ty: &ast::Type) -> Type {
        self.resolve(ty, Open::No)
    }

    /// The type of a parameter: `_` as a type argument is any type.
    pub(crate) fn resolve_param_type(&mut self, ty: &ast::Type) -> Type {
        self.resolve(ty, Open::Any)
    }

    /// The type that stands there; `_` and missing type arguments become inference variables.
    pub(crate) fn resolve_open_type(&mut self, ty: &ast::Type) -> Type {
        self.resolve(ty, Open::Infer)
    }

    /// Explicit type arguments of a call: `_` is left to inference.
    pub(crate) fn resolve_type_args(&mut self, args: &[ast::Type]) -> Vec<Type> {
        args.iter()
            .map(|arg| match arg.kind {
                TypeKind::DontCare => self.infer.fresh(),
                TypeKind::Void => Type::Void,
                _ => {
                    let ty = self.resolve(arg, Open::No);
                    self.refuse_object_argument(&ty, arg.span)
                }
            })
            .collect()
    }

    fn resolve(&mut self, ty: &ast::Type, open: Open) -> Type {
        let resolved = self.resolve_parts(ty, open);
        let built = matches!(
            ty.kind,
            TypeKind::Specialized { .. } | TypeKind::Array { .. } | TypeKind::Tuple(_) | TypeKind::List(_)
        );
        if built && self.refuse_excess(&resolved, ty.span) { Type::Error } else { resolved }
    }

    fn resolve_parts(&mut self, ty: &ast::Type, open: Open) -> Type {
        let span = ty.span;
        match &ty.kind {
            TypeKind::Bool => Type::Bool,
            TypeKind::Bit(None) => Type::Bit(1),
            TypeKind::Bit(Some(width)) => self.width(width, "bit", 0).map_or(Type::Error, Type::Bit),
            TypeKind::Int(None) => Type::Int,
            TypeKind::Int(Some(width)) => self.width(width, "int", 1).map_or(Type::Error, Type::Signed),
            TypeKind::Varbit(width) => self.width(width, "varbit", 0).map_or(Type::Error, Type::Varbit),
            TypeKind::Error if self.program.errors.is_empty() => self.undeclared_error(span),
            TypeKind::Error => Type::ErrorCode,
            TypeKind::MatchKind => Type::MatchKind,
            TypeKind::String => Type::String,
            TypeKind::Void => Type::Void,
            TypeKind::DontCare if open == Open::Infer => self.infer.fresh(),
            TypeKind::DontCare => {
                self.error(codes::TYPE_ARGUMENTS, span, "`_` is not a type here", "write the type");
                Type::Error
            }
            TypeKind::Missing => Type::Error,
            TypeKind::Named(path) => self.named_type(path, None, span, open),
            TypeKind::Specialized { base, args } => {
                let args: Vec<Type> = args.iter().map(|arg| self.type_argument(arg, open)).collect();
                self.named_type(base, Some(args), span, open)
            }
            TypeKind::Array { element, size } => {
                let element_type = self.resolve(element, open);
                let element_type = self.check_element(element_type, element.span);
                match self.array_size(size) {
                    Some(_) if element_type.is_error() => Type::Error,
                    Some(n) => Type::Array(Arc::new(element_type), n),
                    None => Type::Error,
                }
            }
            TypeKind::Tuple(members) => {
                let types: Vec<Type> = members
                    .iter()
                    .map(|m| {
                        let ty = self.resolve(m, open);
                        self.check_member_of_tuple(ty, m.span)
                    })
                    .collect();
                Type::Tuple(types.into())
            }
            TypeKind::List(element) => {
                let ty = self.resolve(element, open);
                let ty = self.check_member_of_list(ty, element.span);
                Type::List(Arc::new(ty))
            }
        }
    }

    /// `error` has the members that the program declares: without any there is no such type.
    fn undeclared_error(&mut self, span: Span) -> Type {
        self.report(
            Diagnostic::error(codes::UNKNOWN_NAME, "`error` is not declared")
                .at(span, "no member of it is declared before this use")
                .help("write `#include <core.p4>`"),
        );
        Type::Error
    }

    /// An argument of a generic type; `_` is any type where nothing can be inferred.
    fn type_argument(&mut self, arg: &ast::Type, open: Open) -> Type {
        if let (TypeKind::DontCare, Open::Any) = (&arg.kind, open) {
            return Type::Any;
        }
        let ty = self.resolve(arg, open);
        self.refuse_object_argument(&ty, arg.span)
    }

    fn named_type(&mut self, path: &ast::Path, args: Option<Vec<Type>>, span: Span, open: Open) -> Type {
        let def = match self.lookup(path, "type", Def::is_type) {
            // Blocks of one name differ in their constructors: the first stands for all until a constructor call chooses.
            Def::Overloaded(defs) => defs.into_iter().next().unwrap_or(Def::Error),
            def => def,
        };
        let params: Vec<TypeVarId> = match &def {
            Def::Error => return Type::Error,
            Def::Struct(id) => self.program.structs[*id].type_params.clone(),
            Def::Extern(id) => self.program.externs[*id].type_params.clone(),
            Def::ParserType(id) => self.program.parser_types[*id].type_params.clone(),
            Def::ControlType(id) => self.program.control_types[*id].type_params.clone(),
            Def::Parser(id) => self.program.parsers[*id].type_params.clone(),
            Def::Control(id) => self.program.controls[*id].type_params.clone(),
            Def::Package(id) => self.program.packages[*id].type_params.clone(),
            _ => vec![],
        };
        if !def.is_type() {
            self.report(
                Diagnostic::error(codes::NOT_A_TYPE, format!("`{}` is not a type", path.name.text))
                    .at(path.span, format!("this is {}", def.a_noun())),
            );
            return Type::Error;
        }
        let args = match args {
            None if params.is_empty() => vec![],
            None if open == Open::Infer => params.iter().map(|_| self.infer.fresh()).collect(),
            None => {
                self.report(
                    Diagnostic::error(
                        codes::TYPE_ARGUMENTS,
                        format!("`{}` needs type arguments", path.name.text),
                    )
                    .at(span, format!("{} missing", count(params.len(), "type argument"))),
                );
                return Type::Error;
            }
            Some(args) if args.len() == params.len() && !params.is_empty() => args,
            Some(_) if params.is_empty() => {
                self.error(
                    codes::TYPE_ARGUMENTS,
                    span,
                    format!("`{}` takes no type arguments", path.name.text),
                    "it is not generic",
                );
                return Type::Error;
            }
            Some(args) => {
                self.report(
                    Diagnostic::error(
                        codes::TYPE_ARGUMENTS,
                        format!("wrong number of type arguments for `{}`", path.name.text),
                    )
                    .at(span, format!("expected {}, found {}", params.len(), args.len())),
                );
                return Type::Error;
            }
        };
        let args: Arc<[Type]> = args.into();
        let ty = match def {
            Def::Struct(id) => Type::Struct(id, args),
            Def::Enum(id) => Type::Enum(id),
            Def::NewType(id) => Type::NewType(id),
            Def::Typedef(ty) => ty,
            Def::TypeVar(id) => Type::Var(id),
            Def::Extern(id) => Type::Extern(id, args),
            Def::ParserType(id) => Type::ParserType(id, args),
            Def::ControlType(id) => Type::ControlType(id, args),
            Def::Parser(id) => Type::Parser(id, args),
            Def::Control(id) => Type::Control(id, args),
            Def::Package(id) => Type::Package(id, args),
            _ => Type::Error,
        };
        if contains_itself(&ty) {
            let shown = self.show(&ty);
            let title = format!("`{shown}` has itself as an argument");
            self.error(codes::TYPE_ARGUMENTS, span, title, "a generic type cannot be nested in itself");
            return Type::Error;
        }
        self.check_specialized(ty, span)
    }

    /// A width: a compile-time known number from `least` up.
    fn width(&mut self, width: &ast::Expr, of: &str, least: u32) -> Option<u32> {
        let value = self.const_int(width, "the width")?;
        let bits = u32::try_from(&value).ok().filter(|w| *w >= least && *w <= MAX_WIDTH);
        if bits.is_none() {
            let why = if value < BigInt::from(least) {
                format!("a width is at least {least} here")
            } else {
                format!("a width is at most {MAX_WIDTH} bits")
            };
            self.error(codes::BAD_WIDTH, width.span, format!("`{of}<{value}>` is not a type"), why);
        }
        bits
    }

    fn array_size(&mut self, size: &ast::Expr) -> Option<u32> {
        let value = self.const_int(size, "the size of an array")?;
        let n = u32::try_from(&value).ok().filter(|n| *n <= MAX_ARRAY);
        if n.is_none() {
            let why = format!("a size is a number from 0 to {MAX_ARRAY}");
            self.error(codes::BAD_WIDTH, size.span, format!("bad array size {value}"), why);
        }
        n
    }

    /// A compile-time known number; anything else is reported.
    pub(crate) fn const_int(&mut self, expr: &ast::Expr, what: &str) -> Option<BigInt> {
        let checked = self.expr(expr, None);
        if checked.ty.is_error() {
            return None;
        }
        if let Some(value) = self.int_value(&checked) {
            return Some(value);
        }
        let label = match checked.ty {
            Type::Int | Type::Bit(_) | Type::Signed(_) | Type::Enum(_) => {
                "its value is not known here".to_string()
            }
            _ => format!("this is a `{}`", self.show(&checked.ty)),
        };
        self.error(codes::NOT_CONSTANT, expr.span, format!("{what} must be a compile-time constant"), label);
        None
    }

    /// Objects cannot stand for type variables, but for parser and control types in packages.
    fn refuse_object_argument(&mut self, ty: &Type, span: Span) -> Type {
        match self.infer.shallow(ty) {
            Type::Parser(..)
            | Type::Control(..)
            | Type::Package(..)
            | Type::ParserType(..)
            | Type::ControlType(..) => {
                let shown = self.program.describe_type(ty);
                self.error(codes::TYPE_ARGUMENTS, span, format!("{shown} cannot be a type argument"), "");
                Type::Error
            }
            other => other,
        }
    }
}

/// True if an argument of the type mentions the same generic declaration: P4 compilers name each use after its
/// declaration and refuse these.
fn contains_itself(ty: &Type) -> bool {
    match ty {
        Type::Struct(id, args) => {
            args.iter().any(|a| a.any(&mut |t| matches!(t, Type::Struct(other, _) if other == id)))
        }
        Type::Extern(id, args) => {
            args.iter().any(|a| a.any(&mut |t| matches!(t, Type::Extern(other, _) if other == id)))
        }
        _ => false,
    }
}
