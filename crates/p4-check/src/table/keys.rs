//! Keys: `expression : match_kind` (P4-16 §14.2.1.1).

use base_diag::Diagnostic;
use p4_syntax::ast;

use super::key_name::key_name;
use crate::codes;
use crate::cx::Checker;
use crate::typed::{ConstantId, TableKey, Type};

impl Checker {
    pub(crate) fn table_key(&mut self, k: &ast::KeyElement) -> Option<TableKey> {
        self.infer.clear();
        let expr = self.expr(&k.value, None);
        let annotations = self.annotations(&k.annotations);
        let match_kind = self.match_kind(&k.match_kind);
        if expr.ty.is_error() {
            return None;
        }
        if !self.can_be_key(&expr.ty) {
            let what = self.program.describe_type(&expr.ty);
            let label =
                if expr.ty == Type::Int { "it has no width" } else { "only single values can be matched" };
            self.error(codes::BAD_TABLE, expr.span, format!("a key cannot be {what}"), label);
            return None;
        }
        let source_name = key_name(&expr, &k.value, &self.program);
        if source_name.is_none() && annotations.control_name().is_none() {
            self.report(
                Diagnostic::error(codes::BAD_TABLE, "this key needs a name")
                    .at(k.value.span, "the key has no control-plane name")
                    .help("add `@name(\"...\")` after the match kind"),
            );
        }
        Some(TableKey { expr, match_kind: match_kind?, source_name, annotations, span: k.span })
    }

    fn match_kind(&mut self, name: &ast::Name) -> Option<ConstantId> {
        let found = self.program.match_kinds.iter().find(|(_, m)| m.name.text == name.text);
        if let Some((id, _)) = found {
            return Some(id);
        }
        if name.text.is_empty() {
            return None;
        }
        if let Some(other) = self.scopes.lookup(&name.text) {
            let label = format!("this is {}", other.def.a_noun());
            self.error(codes::BAD_TABLE, name.span, format!("`{}` is not a match kind", name.text), label);
            return None;
        }
        let known = self.program.match_kinds.iter().map(|(_, m)| m.name.text.as_str());
        let diagnostic =
            Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown match kind `{}`", name.text))
                .at(name.span, "")
                .suggest_or(&name.text, known, |d| match self.program.match_kinds.is_empty() {
                    true => d.help("write `#include <core.p4>`"),
                    false => d,
                });
        self.report(diagnostic);
        None
    }

    fn can_be_key(&self, ty: &Type) -> bool {
        match self.infer.shallow(ty) {
            Type::Error | Type::Bit(_) | Type::Signed(_) | Type::Varbit(_) | Type::Bool => true,
            Type::Enum(_) | Type::ErrorCode | Type::Var(_) | Type::MatchKind => true,
            Type::NewType(id) => self.can_be_key(&self.program.new_types[id].of),
            _ => false,
        }
    }
}
