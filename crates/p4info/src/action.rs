//! Actions (P4Runtime 1.5, section 6.4.4).

use crate::annotation::{control_name, documentation, structured, unstructured};
use crate::describe::{Describer, UsedAction};
use crate::numbering::field_ids;
use crate::symbol::Kind;
use ir::{Action, Control, Direction, Var, VarKind};
use p4runtime_proto::p4::config::v1::{self, action::Param};

/// The parameters that the control plane gives values for, in order.
pub(crate) fn data_params<'p>(control: &'p Control, action: &Action) -> Vec<&'p Var> {
    let vars = action.params.iter().filter_map(|id| control.vars.get(id.index()));
    vars.filter(|var| var.kind == VarKind::Param(Direction::None)).collect()
}

/// The ids of the parameters that the control plane gives values for, in order.
pub(crate) fn param_ids(control: &Control, action: &Action) -> Vec<u32> {
    field_ids(&data_params(control, action).iter().map(|var| &var.annotations).collect::<Vec<_>>())
}

impl Describer<'_> {
    pub(crate) fn actions(&mut self) {
        for UsedAction { control, action, has_data } in self.used_actions() {
            let name = &action.control_plane_name;
            let Some(preamble) = self.preamble(Kind::Action, name, &action.annotations, &[]) else {
                continue;
            };
            self.check_field_ids(param_ids(control, action), action.span);
            let params = self.action_data(control, action, has_data);
            self.info.actions.push(v1::Action { preamble: Some(preamble), params });
        }
    }

    /// Parameters that entries give for the action, if they give any.
    pub(crate) fn action_data(&mut self, control: &Control, action: &Action, has_data: bool) -> Vec<Param> {
        let params = data_params(control, action).into_iter().filter(|_| has_data);
        params.zip(param_ids(control, action)).map(|(var, id)| self.param(var, id)).collect()
    }

    fn param(&mut self, var: &Var, id: u32) -> Param {
        Param {
            id,
            name: control_name(&var.annotations, &var.name).to_string(),
            bitwidth: self.types.bits(&var.ty),
            type_name: self.types.type_name(&var.ty).or_else(|| self.types.enum_name(&var.ty)),
            doc: documentation(&var.annotations),
            annotations: unstructured(&var.annotations, &[]),
            structured_annotations: structured(&var.annotations),
            annotation_locations: vec![],
        }
    }
}
