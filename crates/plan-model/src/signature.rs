//! The variables of a plan.

use crate::Unit;
use smol_str::SmolStr;

/// A variable, by its place in the [`Signature`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VarId(pub u16);

impl VarId {
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Owner of a variable's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// A packet's value: it changes along the path.
    Path,
    /// A device's: it is charged once, the largest figure that a rule gives; a plan has the sum over devices.
    Once,
    /// A device's value: uses by regions add up, to at most `limit`.
    Device {
        /// The most that a device has, unless it says otherwise.
        limit: Option<i64>,
    },
}

/// Contribution of the planner itself to a path variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Delays of links, and the time that a packet takes to be sent.
    Latency,
    /// Rate of the stream: it loads the links, ports and devices on the path.
    Rate,
    /// Bytes of a packet, without those added by a hand-over.
    Size,
    /// Links crossed.
    Hops,
    /// Bits handed over.
    HandoverBits,
    /// Extra passes through the switch.
    Recirculations,
}

/// Roles and the words for them.
pub const ROLES: [(&str, Role); 6] = [
    ("latency", Role::Latency),
    ("rate", Role::Rate),
    ("size", Role::Size),
    ("hops", Role::Hops),
    ("bits", Role::HandoverBits),
    ("passes", Role::Recirculations),
];

/// A variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Name of the variable.
    pub name: SmolStr,
    /// Unit of the values.
    pub unit: Unit,
    /// Owner of the value.
    pub scope: Scope,
    /// For path variables.
    pub role: Option<Role>,
    /// For a path variable: the value at the start of a program, in steps of the unit.
    pub initial: i64,
}

/// All variables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Signature {
    /// In the order of their declaration.
    pub variables: Vec<Variable>,
}

impl Signature {
    /// The variable called `name`.
    pub fn find(&self, name: &str) -> Option<VarId> {
        let at = self.variables.iter().position(|v| v.name == name)?;
        Some(VarId(u16::try_from(at).ok()?))
    }

    /// The variable with this role.
    pub fn role(&self, role: Role) -> Option<VarId> {
        let at = self.variables.iter().position(|v| v.role == Some(role))?;
        Some(VarId(u16::try_from(at).ok()?))
    }

    /// A variable.
    pub fn get(&self, id: VarId) -> &Variable {
        &self.variables[id.index()]
    }

    /// Adds a variable.
    pub fn add(&mut self, variable: Variable) -> VarId {
        self.variables.push(variable);
        VarId((self.variables.len() - 1) as u16)
    }

    /// A value of a variable, as people read it.
    pub fn show(&self, id: VarId, value: i64) -> String {
        self.get(id).unit.show(value)
    }
}
