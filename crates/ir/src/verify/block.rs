//! Checks shared by functions, parsers and controls, and checks of functions.

use super::Verifier;
use super::scope::{Code, Scope};
use crate::{Function, Stmt, StmtKind, Type, Var, VarId};
use base_diag::Span;

impl<'p> Verifier<'p> {
    /// Checks the signatures of all blocks and functions.
    pub(super) fn signatures(&mut self) {
        let program = self.program;
        for function in &program.functions {
            self.at(format!("function {}", function.name), |v| {
                v.vars(&function.vars, &function.params, function.span);
                let exists = v.exists(&function.returns) && !matches!(function.returns, Type::Param(_));
                v.require(exists, function.span, |_| "the returned value does not exist".to_string());
            });
        }
        for parser in &program.parsers {
            self.at(format!("parser {}", parser.name), |v| v.vars(&parser.vars, &parser.params, parser.span));
        }
        for control in &program.controls {
            self.at(format!("control {}", control.name), |v| {
                v.vars(&control.vars, &control.params, control.span);
                for action in &control.actions {
                    v.at(format!("action {}", action.name), |v| {
                        v.declared_params(&control.vars, &action.params, action.span);
                    });
                }
            });
        }
    }

    fn vars(&mut self, vars: &[Var], params: &[VarId], span: Span) {
        for var in vars {
            let good = self.exists(&var.ty) && self.is_value(&var.ty);
            self.require(good, var.span, |_| format!("variable `{}` has no type", var.name));
        }
        self.declared_params(vars, params, span);
    }

    fn declared_params(&mut self, vars: &[Var], params: &[VarId], span: Span) {
        let all = params.iter().all(|id| id.index() < vars.len());
        self.require(all, span, |_| "a parameter is missing".to_string());
    }

    pub(super) fn function(&mut self, function: &'p Function) {
        self.scope = Scope::new(Code::Function, &function.vars);
        self.scope.returns = Some(function.returns.clone());
        self.declare_params(&function.params, function.span);
        self.block(&function.body);
    }

    /// Variables beside states or tables.
    pub(super) fn locals(&mut self, locals: &[Stmt]) {
        for stmt in locals {
            let declares = matches!(stmt.kind, StmtKind::Declare(..));
            self.require(declares, stmt.span, |_| "its locals are no declarations".to_string());
            self.statement(stmt);
        }
    }
}
