//! `switch` on the action that a table ran, or on a value (P4-16 §12.7).

use std::collections::hash_map::Entry;

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast;
use rustc_hash::FxHashMap;

use crate::codes;
use crate::cx::{Checker, Place};
use crate::scope::Def;
use crate::typed::{ConstantId, Expr, ExprKind, StmtKind, Switch, SwitchCase, SwitchLabel, TableId, Type};

impl Checker {
    pub(crate) fn switch(&mut self, subject: &ast::Expr, cases: &[ast::SwitchCase], span: Span) -> StmtKind {
        if self.place == Place::ParserState {
            self.error(codes::BAD_STATEMENT, span, "`switch` in a parser", "use `transition select`");
        }
        let subject = self.expr(subject, None);
        let subject = self.check_subject(subject);
        let mut out: Vec<SwitchCase> = Vec::with_capacity(cases.len());
        let mut labels: Vec<SwitchLabel> = vec![];
        let mut seen: FxHashMap<LabelKey, Span> = FxHashMap::default();
        let mut default: Option<Span> = None;
        let mut start = Span::NONE;
        for case in cases {
            if labels.is_empty() {
                start = case.span;
            }
            if let Some(label) = self.label(&case.label, &subject, &mut seen, &mut default) {
                labels.push(label);
            }
            if let Some(body) = &case.body {
                let body = self.block(body);
                out.push(SwitchCase { labels: std::mem::take(&mut labels), body, span: start.to(case.span) });
            }
        }
        if !labels.is_empty() {
            out.push(SwitchCase { labels, body: Default::default(), span: start });
        }
        StmtKind::Switch(Switch { subject, cases: out })
    }

    fn check_subject(&mut self, subject: Expr) -> Expr {
        let fits = matches!(
            self.infer.shallow(&subject.ty),
            Type::Error
                | Type::ActionRun(_)
                | Type::Bit(_)
                | Type::Signed(_)
                | Type::Bool
                | Type::Enum(_)
                | Type::ErrorCode
                | Type::NewType(_)
                | Type::Int
        );
        if fits {
            return subject;
        }
        let shown = self.show(&subject.ty);
        let note = "it is `action_run`, a number, an enum, an error or a `bool`";
        self.report(
            Diagnostic::error(codes::BAD_SWITCH, format!("`switch` cannot test a `{shown}`"))
                .at(subject.span, "")
                .note(note),
        );
        Expr::error(subject.span)
    }

    fn label(
        &mut self,
        label: &ast::SwitchLabel,
        subject: &Expr,
        seen: &mut FxHashMap<LabelKey, Span>,
        default: &mut Option<Span>,
    ) -> Option<SwitchLabel> {
        let span = label.span();
        if let Some(before) = *default {
            let title = match label {
                ast::SwitchLabel::Default(_) => "`default` twice in a `switch`",
                ast::SwitchLabel::Value(_) => "a label after `default`",
            };
            self.report(
                Diagnostic::error(codes::BAD_SWITCH, title)
                    .at(span, "")
                    .at(before, "`default` must be the last label"),
            );
        }
        let label = match label {
            ast::SwitchLabel::Default(at) => {
                *default = Some(*at);
                return Some(SwitchLabel::Default);
            }
            ast::SwitchLabel::Value(e) => match self.infer.shallow(&subject.ty) {
                Type::ActionRun(table) => self.action_label(e, table)?,
                Type::Error => {
                    return None;
                }
                ty => {
                    let value = self.expr(e, Some(&ty));
                    let value = match self.coerce(value, &ty) {
                        Ok(value) => value,
                        Err(value) => {
                            let (wanted, found) = (self.show(&ty), self.show(&value.ty));
                            self.report(
                                Diagnostic::error(
                                    codes::MISMATCH,
                                    format!("`{found}` cannot label a `{wanted}`"),
                                )
                                .at(subject.span, format!("this is `{wanted}`"))
                                .at(value.span, format!("this is `{found}`")),
                            );
                            return None;
                        }
                    };
                    if value.ty.is_error() {
                        return None;
                    }
                    if !self.is_known(&value) {
                        let title = "a `switch` label must be known at compile time";
                        self.error(codes::NOT_CONSTANT, span, title, "");
                        return None;
                    }
                    SwitchLabel::Value(value)
                }
            },
        };
        let before = label_key(&label).and_then(|key| match seen.entry(key) {
            Entry::Occupied(before) => Some(*before.get()),
            Entry::Vacant(free) => {
                free.insert(span);
                None
            }
        });
        if let Some(before) = before {
            let diagnostic = Diagnostic::error(codes::BAD_SWITCH, "the same label twice")
                .at(span, "")
                .at(before, "first here");
            self.report(diagnostic);
            return None;
        }
        Some(label)
    }

    fn action_label(&mut self, e: &ast::Expr, table: TableId) -> Option<SwitchLabel> {
        let ast::ExprKind::Path(path) = &e.kind else {
            self.error(codes::BAD_SWITCH, e.span, "the label must be the name of an action", "");
            return None;
        };
        let def = self.lookup(path, "action", |d| matches!(d, Def::Action(_)));
        let actions = &self.program.tables[table].actions;
        match def {
            Def::Error => None,
            Def::Action(id) if actions.iter().any(|a| a.action == id) => {
                actions.iter().position(|a| a.action == id).map(|i| SwitchLabel::Action(table, i as u32))
            }
            _ => {
                let table = self.program.tables[table].name.text.clone();
                let title = format!("`{}` is not an action of table `{table}`", path.name.text);
                self.error(codes::BAD_SWITCH, e.span, title, "");
                None
            }
        }
    }
}

/// The identity of a label among the labels of its `switch`.
#[derive(PartialEq, Eq, Hash)]
enum LabelKey {
    Action(u32),
    Int(BigInt),
    Bool(bool),
    Member(u32),
    Error(ConstantId),
}

fn label_key(label: &SwitchLabel) -> Option<LabelKey> {
    match label {
        SwitchLabel::Default => None,
        SwitchLabel::Action(_, i) => Some(LabelKey::Action(*i)),
        SwitchLabel::Value(value) => match &value.kind {
            ExprKind::Int(n) => Some(LabelKey::Int(n.clone())),
            ExprKind::Bool(b) => Some(LabelKey::Bool(*b)),
            ExprKind::EnumMember(_, i) => Some(LabelKey::Member(*i)),
            ExprKind::ErrorMember(e) => Some(LabelKey::Error(*e)),
            _ => None,
        },
    }
}
