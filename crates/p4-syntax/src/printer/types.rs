//! Types and type parameters.

use super::Printer;
use crate::ast::{Expr, ExprKind, Name, Type, TypeKind};

impl Printer {
    pub(super) fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Bool => self.push("bool"),
            TypeKind::Bit(width) => self.sized("bit", width.as_deref()),
            TypeKind::Int(width) => self.sized("int", width.as_deref()),
            TypeKind::Varbit(width) => self.sized("varbit", Some(width)),
            TypeKind::Error => self.push("error"),
            TypeKind::MatchKind => self.push("match_kind"),
            TypeKind::String => self.push("string"),
            TypeKind::Void => self.push("void"),
            TypeKind::DontCare => self.push("_"),
            TypeKind::Named(path) => self.path(path),
            TypeKind::Specialized { base, args } => {
                self.path(base);
                self.type_args(args);
            }
            TypeKind::Array { element, size } => {
                self.ty(element);
                self.dimension(size);
            }
            TypeKind::Tuple(args) => {
                self.push("tuple");
                self.type_args(args);
            }
            TypeKind::List(element) => {
                self.push("list<");
                self.ty(element);
                self.push(">");
            }
            TypeKind::Missing => self.push("/* missing type */"),
        }
    }

    /// A width that is no number or name goes in parentheses: a `>` in it would end the type.
    fn sized(&mut self, word: &str, width: Option<&Expr>) {
        self.push(word);
        let Some(width) = width else { return };
        let plain = matches!(width.kind, ExprKind::Int(_) | ExprKind::Path(_));
        self.push(if plain { "<" } else { "<(" });
        self.expr(width);
        self.push(if plain { ">" } else { ")>" });
    }

    pub(super) fn dimension(&mut self, size: &Expr) {
        self.push("[");
        self.expr(size);
        self.push("]");
    }

    pub(super) fn type_args(&mut self, args: &[Type]) {
        self.push("<");
        self.commas(args, Self::ty);
        self.push(">");
    }

    pub(super) fn type_params(&mut self, names: &[Name]) {
        if !names.is_empty() {
            self.push("<");
            self.commas(names, Self::name);
            self.push(">");
        }
    }
}
