//! Names visible at each point of the block that is being checked.

use super::Verifier;
use crate::{Action, ControlId, ParserId, Table, Type, ValueSet, Var, VarId, VarKind};
use base_diag::Span;

/// The kind of code that is being checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Code {
    #[default]
    Function,
    Parser(ParserId),
    Control(ControlId),
    /// An action of this control.
    Action(ControlId),
}

#[derive(Default)]
pub(super) struct Scope<'p> {
    pub vars: &'p [Var],
    pub actions: &'p [Action],
    pub tables: &'p [Table],
    pub value_sets: &'p [ValueSet],
    pub states: usize,
    pub code: Code,
    /// Return type of the function that is being checked.
    pub returns: Option<Type>,
    /// Number of enclosing loops.
    pub loops: u32,
    visible: Vec<bool>,
    /// Visible variables, in the order in which they became visible.
    shown: Vec<VarId>,
    /// Declared somewhere, be it visible now or not.
    declared: Vec<bool>,
}

impl<'p> Scope<'p> {
    pub(super) fn new(code: Code, vars: &'p [Var]) -> Scope<'p> {
        let none = vec![false; vars.len()];
        Scope { vars, code, visible: none.clone(), declared: none, ..Scope::default() }
    }

    pub(super) fn is_visible(&self, var: VarId) -> bool {
        self.visible.get(var.index()).is_some_and(|visible| *visible)
    }

    /// Number of visible variables, to return to at the end of a block.
    fn mark(&self) -> usize {
        self.shown.len()
    }

    fn back_to(&mut self, mark: usize) {
        for var in self.shown.drain(mark..) {
            self.visible[var.index()] = false;
        }
    }

    /// Makes a variable visible; false if it is missing or was declared before.
    fn declare(&mut self, var: VarId) -> bool {
        match self.declared.get_mut(var.index()) {
            Some(declared) if !*declared => {
                *declared = true;
                self.visible[var.index()] = true;
                self.shown.push(var);
                true
            }
            _ => false,
        }
    }
}

impl<'p> Verifier<'p> {
    pub(super) fn declare_params(&mut self, params: &[VarId], span: Span) {
        for id in params {
            let is_param =
                self.scope.vars.get(id.index()).is_some_and(|var| matches!(var.kind, VarKind::Param(_)));
            let good = self.scope.declare(*id) && is_param;
            self.require(good, span, |_| {
                format!("parameter {} is missing, no parameter, or in two lists", id.index())
            });
        }
    }

    pub(super) fn declare_local(&mut self, id: VarId, span: Span) {
        let is_local = self.scope.vars.get(id.index()).is_some_and(|var| var.kind == VarKind::Local);
        let good = self.scope.declare(id) && is_local;
        self.require(good, span, |_| {
            format!("variable {} is missing, no local, or declared twice", id.index())
        });
    }

    /// Runs `check`, and then forgets its declarations.
    pub(super) fn scoped(&mut self, check: impl FnOnce(&mut Self)) {
        let mark = self.scope.mark();
        check(self);
        self.scope.back_to(mark);
    }
}
