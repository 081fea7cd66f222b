//! Initial variables of each block, computed once for a program.

use ir::{ControlId, FunctionId, ParserId, Program, Var, VarId};
use ir_value::Value;

/// Zero values of all variables of each block.
pub(crate) struct Plan {
    controls: Vec<Vec<Value>>,
    parsers: Vec<Vec<Value>>,
    functions: Vec<Vec<Value>>,
}

impl Plan {
    pub(crate) fn new(program: &Program) -> Plan {
        let zeros = |vars: &[Var]| vars.iter().map(|v| Value::zero(program, &v.ty)).collect::<Vec<_>>();
        Plan {
            controls: program.controls.iter().map(|c| zeros(&c.vars)).collect(),
            parsers: program.parsers.iter().map(|p| zeros(&p.vars)).collect(),
            functions: program.functions.iter().map(|f| zeros(&f.vars)).collect(),
        }
    }

    /// Initial variables of a control, but for those that are given.
    pub(crate) fn control_vars(&self, id: ControlId, given: &[(VarId, Value)]) -> Vec<Value> {
        without(self.controls.get(id.index()), given)
    }

    /// Initial variables of a parser, but for those that are given.
    pub(crate) fn parser_vars(&self, id: ParserId, given: &[(VarId, Value)]) -> Vec<Value> {
        without(self.parsers.get(id.index()), given)
    }

    /// Initial variables of a function, but for those that are given.
    pub(crate) fn function_vars(&self, id: FunctionId, given: &[(VarId, Value)]) -> Vec<Value> {
        without(self.functions.get(id.index()), given)
    }
}

/// Copies of these values. Those of variables that are given are void, since they are set next: headers and metadata are nearly all that a block has.
fn without(zeros: Option<&Vec<Value>>, given: &[(VarId, Value)]) -> Vec<Value> {
    let is_given = |at: usize| given.iter().any(|(var, _)| var.index() == at);
    let copy = |(at, zero): (usize, &Value)| if is_given(at) { Value::Void } else { zero.clone() };
    zeros.map(|zeros| zeros.iter().enumerate().map(copy).collect()).unwrap_or_default()
}
