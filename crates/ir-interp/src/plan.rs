//! Initial variables of each block, computed once for a program.

use ir::{ControlId, FunctionId, ParserId, Program, Var};
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

    /// Initial variables of a control.
    pub(crate) fn control_vars(&self, id: ControlId) -> Vec<Value> {
        self.controls.get(id.index()).cloned().unwrap_or_default()
    }

    /// Initial variables of a parser.
    pub(crate) fn parser_vars(&self, id: ParserId) -> Vec<Value> {
        self.parsers.get(id.index()).cloned().unwrap_or_default()
    }

    /// Initial variables of a function.
    pub(crate) fn function_vars(&self, id: FunctionId) -> Vec<Value> {
        self.functions.get(id.index()).cloned().unwrap_or_default()
    }
}
