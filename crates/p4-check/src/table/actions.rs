//! `actions` and `default_action` (P4-16 §14.2.1.2, §14.2.1.3).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use crate::call::Rule;
use crate::codes;
use crate::cx::Checker;
use crate::scope::Def;
use crate::typed::{
    ActionCall, ActionId, Annotation, AnnotationBody, Annotations, Arg, DefaultAction, Direction, Expr,
    ExprKind, Substitution, TableAction, TableId, VarId,
};

impl Checker {
    pub(crate) fn table_actions(&mut self, table: TableId, list: &[ast::ActionRef]) {
        for a in list {
            self.infer.clear();
            let annotations = self.annotations(&a.annotations);
            let Some(action) = self.action_named(&a.path) else { continue };
            let listed = &self.program.tables[table].actions;
            if let Some(before) = listed.iter().find(|l| l.action == action).cloned() {
                self.report(
                    Diagnostic::error(
                        codes::DUPLICATE,
                        format!("action `{}` is listed twice", a.path.name.text),
                    )
                    .at(a.path.span, "")
                    .at(before.span, "first here"),
                );
                continue;
            }
            let bound = self.bound_params(action);
            let args = match &a.args {
                Some(args) => args.clone(),
                None => vec![],
            };
            let name = self.program.actions[action].name.text.clone();
            if args.len() > bound.len() && args.iter().all(|a| a.name.is_none()) {
                let data = self.data_params(action);
                let first = data.first().map(|&p| self.program.vars[p].name.text.clone());
                let label = first.map(|p| format!("`{p}` is set by the control plane")).unwrap_or_default();
                self.error(
                    codes::BAD_TABLE,
                    a.span,
                    format!("too many arguments for action `{name}`"),
                    label,
                );
                continue;
            }
            let Some(args) =
                self.arguments(&name, &bound, &args, &Substitution::default(), Rule::ActionData, a.span)
            else {
                continue;
            };
            let args = self.resolve_args(args);
            let entry = TableAction { action, args, written: true, annotations, span: a.span };
            self.program.tables[table].actions.push(entry);
        }
    }

    pub(crate) fn action_named(&mut self, path: &ast::Path) -> Option<ActionId> {
        match self.lookup(path, "action", |d| matches!(d, Def::Action(_))) {
            Def::Action(id) => Some(id),
            Def::Error => None,
            other => {
                let title = format!("`{}` is not an action", path.name.text);
                self.error(codes::BAD_TABLE, path.span, title, format!("this is {}", other.a_noun()));
                None
            }
        }
    }

    /// The parameters that a table binds.
    fn bound_params(&self, action: ActionId) -> Vec<VarId> {
        let params = &self.program.actions[action].params;
        params.iter().copied().filter(|&p| self.direction(p) != Direction::None).collect()
    }

    /// The parameters that the control plane sets.
    fn data_params(&self, action: ActionId) -> Vec<VarId> {
        let params = &self.program.actions[action].params;
        params.iter().copied().filter(|&p| self.direction(p) == Direction::None).collect()
    }

    pub(crate) fn default_action(&mut self, table: TableId, p: &ast::TableProperty, value: &ast::Expr) {
        let (path, args) = match &value.kind {
            ast::ExprKind::Path(path) => (path, None),
            ast::ExprKind::Call { callee, type_args, args } if type_args.is_empty() => match &callee.kind {
                ast::ExprKind::Path(path) => (path, Some(&args[..])),
                _ => return self.no_action(value.span),
            },
            ast::ExprKind::Missing => return,
            _ => return self.no_action(value.span),
        };
        let Some(call) = self.action_call(table, path, args, value.span) else { return };
        let listed = &self.program.tables[table].actions[call.action as usize];
        if listed.annotations.has("tableonly") {
            self.error(codes::BAD_TABLE, value.span, "a `@tableonly` action cannot be the default", "");
        }
        self.program.tables[table].default_action =
            DefaultAction { call, is_const: p.is_const, written: true };
    }

    fn no_action(&mut self, span: Span) {
        self.error(codes::BAD_TABLE, span, "the default action must be an action", "");
    }

    /// An action of the table's list with the arguments that the control plane would give.
    pub(crate) fn action_call(
        &mut self,
        table: TableId,
        path: &ast::Path,
        args: Option<&[ast::Arg]>,
        span: Span,
    ) -> Option<ActionCall> {
        let action = self.action_named(path)?;
        let listed = &self.program.tables[table].actions;
        let Some(index) = listed.iter().position(|l| l.action == action) else {
            let (name, table) = (path.name.text.clone(), self.program.tables[table].name.text.clone());
            self.report(
                Diagnostic::error(
                    codes::BAD_TABLE,
                    format!("`{name}` is not in the action list of `{table}`"),
                )
                .at(path.span, "")
                .help(format!("add `{name};` to `actions`")),
            );
            return None;
        };
        let params = self.program.actions[action].params.clone();
        let bound = self.bound_params(action).len();
        let name = self.program.actions[action].name.text.clone();
        let given = args.unwrap_or_default();
        // Without parentheses: all arguments are those of the list.
        if args.is_none() && params.len() == bound {
            return Some(ActionCall { action: index as u32, args: vec![], span });
        }
        let args = self.arguments(&name, &params, given, &Substitution::default(), Rule::ActionData, span)?;
        let mut args = self.resolve_args(args);
        // Arguments of the list are written again, and have to be the same (P4-16 §14.2.1.3).
        let data = args.split_off(bound.min(args.len()));
        if !self.same_binding(table, index, &args) {
            return None;
        }
        if let Some(at) = data.iter().filter_map(|a| a.expr()).find(|e| !self.is_known(e)).map(|e| e.span) {
            let title = "an action's data must be known at compile time";
            self.error(codes::NOT_CONSTANT, at, title, "its value depends on the packet");
            return None;
        }
        Some(ActionCall { action: index as u32, args: data, span })
    }

    /// True if the arguments for bound parameters are those of the list.
    fn same_binding(&mut self, table: TableId, index: usize, args: &[Arg]) -> bool {
        let listed = self.program.tables[table].actions[index].args.clone();
        for (a, b) in args.iter().zip(&listed) {
            if let (Some(a), Some(b)) = (a.expr(), b.expr())
                && !same_expr(a, b)
            {
                self.report(
                    Diagnostic::error(codes::BAD_TABLE, "this differs from the action list")
                        .at(a.span, "the list binds another value")
                        .at(b.span, "bound here"),
                );
                return false;
            }
        }
        true
    }

    /// `NoAction` as the default action of a table that names none.
    pub(crate) fn implicit_default(&mut self, table: TableId) {
        let found = self.scopes.lookup_global("NoAction").map(|b| b.def.clone());
        let declared = self.scopes.lookup_global("NoAction").map_or(Span::NONE, |b| b.span);
        let span = self.program.tables[table].name.span;
        let action = match found {
            Some(Def::Action(id)) if self.program.actions[id].params.is_empty() => id,
            Some(Def::Error) => return,
            Some(_) => {
                self.report(
                    Diagnostic::error(codes::NO_NOACTION, "`NoAction` is not an action without parameters")
                        .at(declared, "the default action of tables that name none")
                        .at(span, "such as this one"),
                );
                return;
            }
            None => {
                self.report(
                    Diagnostic::error(codes::NO_NOACTION, "action `NoAction` is not declared")
                        .at(span, "this table has no `default_action`, so it is `NoAction`")
                        .help("write `#include <core.p4>`"),
                );
                return;
            }
        };
        let listed = &mut self.program.tables[table].actions;
        let index = match listed.iter().position(|l| l.action == action) {
            Some(index) => index,
            None => {
                let only =
                    Annotation { name: "defaultonly".into(), body: AnnotationBody::Empty, span: Span::NONE };
                // Listed for the default alone: entries and controllers cannot choose it.
                listed.push(TableAction {
                    action,
                    args: vec![],
                    written: false,
                    annotations: Annotations::new(vec![only]),
                    span: Span::NONE,
                });
                listed.len() - 1
            }
        };
        let call = ActionCall { action: index as u32, args: vec![], span: Span::NONE };
        self.program.tables[table].default_action = DefaultAction { call, is_const: false, written: false };
    }
}

/// True if the two read the same (P4-16 §14.2.1.3 wants them to be written the same).
fn same_expr(a: &Expr, b: &Expr) -> bool {
    use ExprKind::*;
    match (&a.kind, &b.kind) {
        (Int(x), Int(y)) => x == y && a.ty == b.ty,
        (Bool(x), Bool(y)) => x == y,
        (String(x), String(y)) => x == y,
        (EnumMember(x, i), EnumMember(y, j)) => x == y && i == j,
        (ErrorMember(x), ErrorMember(y)) => x == y,
        (Var(x), Var(y)) => x == y,
        (Const(x), Const(y)) => x == y,
        (Instance(x), Instance(y)) => x == y,
        (Field { base: x, index: i, .. }, Field { base: y, index: j, .. }) => i == j && same_expr(x, y),
        (TupleIndex { base: x, index: i }, TupleIndex { base: y, index: j }) => i == j && same_expr(x, y),
        (Index { base: x, index: i }, Index { base: y, index: j }) => same_expr(x, y) && same_expr(i, j),
        (Slice { base: x, hi: h, lo: l }, Slice { base: y, hi: i, lo: m }) => {
            h == i && l == m && same_expr(x, y)
        }
        (SliceAt { base: x, lo: l }, SliceAt { base: y, lo: m }) => same_expr(x, y) && same_expr(l, m),
        (Unary(o, x), Unary(p, y)) => o == p && same_expr(x, y),
        (Binary(o, x, s), Binary(p, y, t)) => o == p && same_expr(x, y) && same_expr(s, t),
        (Cast { operand: x, .. }, Cast { operand: y, .. }) => a.ty == b.ty && same_expr(x, y),
        (Ternary(c, x, s), Ternary(d, y, t)) => same_expr(c, d) && same_expr(x, y) && same_expr(s, t),
        (Struct(x), Struct(y)) => {
            x.len() == y.len()
                && x.iter().zip(y).all(|(f, g)| f.index == g.index && same_expr(&f.value, &g.value))
        }
        (Tuple(x), Tuple(y)) | (List(x), List(y)) | (Array(x), Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(f, g)| same_expr(f, g))
        }
        (Call(x), Call(y)) => same_call(x, y),
        (Invalid, Invalid) | (Default, Default) => a.ty == b.ty,
        _ => false,
    }
}

fn same_call(a: &crate::typed::Call, b: &crate::typed::Call) -> bool {
    use crate::typed::Callee;
    let same = match (&a.callee, &b.callee) {
        (Callee::Function(x), Callee::Function(y)) => x == y,
        (Callee::Method { object: x, method: f }, Callee::Method { object: y, method: g }) => {
            f == g && same_expr(x, y)
        }
        (Callee::Builtin { object: x, method: f }, Callee::Builtin { object: y, method: g }) => {
            f == g && same_expr(x, y)
        }
        _ => false,
    };
    let args = |x: &Arg, y: &Arg| match (x.expr(), y.expr()) {
        (Some(x), Some(y)) => same_expr(x, y),
        (None, None) => true,
        _ => false,
    };
    same && a.type_args == b.type_args && a.args.iter().zip(&b.args).all(|(x, y)| args(x, y))
}
