//! Values of the whole program, and actions, in the program of one device.

use super::Generator;
use super::moved::Moved;
use crate::place::{Leaf, Root};
use ir::{ActionId, ControlId, Expr, Stmt, VarId, build};
use p4_arch::Duty;

impl Generator<'_> {
    /// A leaf as a place in a stage of this device; for a validity, the header.
    pub fn place(&self, stage: Duty, leaf: Leaf, moved: Moved) -> Expr {
        let info = self.cut.places.info(leaf);
        let base = match info.root {
            Root::Shared(key) => {
                let role = Self::role_of(key);
                build::var(self.sure_role_var(stage, role), &self.shared_type(stage, role))
            }
            Root::Local(control, var) => {
                // A variable of egress stands in ingress on a helper, with this program's type numbers.
                let is_moved = control == self.cut.egress && !self.is_origin();
                let (owner, offset) = if is_moved { (self.cut.ingress, moved.vars) } else { (control, 0) };
                let var = VarId(var.0 + offset);
                build::var(var, &self.out.control(owner).vars[var.index()].ty)
            }
        };
        self.descend(base, &info.path)
    }

    /// An action of the runtime; the one that is there if it has been added before.
    pub fn add_own_action(
        &mut self,
        control: ControlId,
        name: &str,
        params: Vec<VarId>,
        stmts: Vec<Stmt>,
    ) -> ActionId {
        let name = self.own(name);
        let control = &mut self.out.controls[control.index()];
        if let Some(found) = control.actions.iter().position(|a| a.name == name) {
            return ActionId::from(found);
        }
        control.actions.push(build::action(&name, &control.control_plane_name, params, stmts));
        ActionId::from(control.actions.len() - 1)
    }
}
