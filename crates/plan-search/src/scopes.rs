//! Variables by scope: the search keeps the values of each scope in a list of their own.

use plan_model::{Role, Scope, Signature, VarId};

/// Position of each variable's value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scopes {
    places: Vec<(Scope, usize)>,
    /// Variables of packets.
    pub path: Vec<VarId>,
    /// Charges.
    pub once: Vec<VarId>,
    /// Capacities of devices.
    pub device: Vec<VarId>,
    roles: Vec<(Role, usize)>,
}

impl Scopes {
    /// The scopes of a signature's variables.
    pub fn new(signature: &Signature) -> Scopes {
        let mut scopes = Scopes::default();
        for (at, variable) in signature.variables.iter().enumerate() {
            let list = match variable.scope {
                Scope::Path => &mut scopes.path,
                Scope::Once => &mut scopes.once,
                Scope::Device { .. } => &mut scopes.device,
            };
            scopes.places.push((variable.scope, list.len()));
            if let (Scope::Path, Some(role)) = (variable.scope, variable.role) {
                scopes.roles.push((role, list.len()));
            }
            list.push(VarId(at as u16));
        }
        scopes
    }

    /// The scope of a variable, and its place among those of it.
    pub fn place(&self, var: VarId) -> (Scope, usize) {
        self.places[var.index()]
    }

    /// The place of the path variable with this role.
    pub fn role(&self, role: Role) -> Option<usize> {
        self.roles.iter().find(|(known, _)| *known == role).map(|(_, place)| *place)
    }
}
