//! Objectives of plans.

use crate::Scopes;
use plan_model::{Scope, Signature, VarId};
use smol_str::SmolStr;

/// One number of a plan; less is better, after the sign of `largest` is turned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Objective {
    /// The objective as written by the user.
    pub name: SmolStr,
    /// Measure of the objective.
    pub measure: Measure,
}

/// A measure of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Measure {
    /// The largest value of a path variable at any end of any program.
    Worst(usize),
    /// The smallest one; more is better.
    Least(usize),
    /// The charges of all devices.
    Charges(usize),
    /// Total use of these variables on all devices.
    Used(Vec<usize>),
    /// Devices in use.
    Devices,
}

impl Objective {
    /// Reads a variable's name, `max NAME` for a packet's variable that is to be large, a sum `LUTs+BRAMs` of devices' variables, or
    /// `devices`. The error says what is wrong.
    pub fn parse(text: &str, signature: &Signature, scopes: &Scopes) -> Result<Objective, String> {
        let text = text.trim();
        let made = |measure| Ok(Objective { name: text.into(), measure });
        let (largest, rest) = match text.strip_prefix("max ") {
            Some(rest) => (true, rest.trim()),
            None => (false, text),
        };
        let mut used = vec![];
        for name in rest.split('+').map(str::trim) {
            let Some(var) = signature.find(name) else {
                if name == "devices" && name == text {
                    return made(Measure::Devices);
                }
                let variables = signature.variables.iter().map(|v| v.name.as_str());
                let names: Vec<&str> = variables.chain(["devices"]).collect();
                return Err(match base_diag::did_you_mean(name, names.iter().copied()) {
                    Some(near) => format!("no variable is called `{name}`: did you mean `{near}`?"),
                    None => format!("no variable is called `{name}`: there are {}", names.join(", ")),
                });
            };
            match scopes.place(var) {
                // Only a device variable may have a summand after it; each other measure is a whole text.
                (Scope::Device { .. }, place) if !largest => used.push(place),
                (Scope::Path, place) if rest == name => {
                    return made(if largest { Measure::Least(place) } else { Measure::Worst(place) });
                }
                (Scope::Once, place) if text == name => return made(Measure::Charges(place)),
                _ => {
                    return Err(format!(
                        "`{text}` is not an objective: sums may contain only device variables, and `max` needs a path variable"
                    ));
                }
            }
        }
        made(Measure::Used(used))
    }

    /// An amount of this objective, in steps of its unit. The error says what is wrong.
    pub fn read(&self, text: &str, signature: &Signature, scopes: &Scopes) -> Result<i64, String> {
        let amount = |var: VarId| signature.get(var).unit.parse(text);
        match &self.measure {
            Measure::Worst(place) | Measure::Least(place) => amount(scopes.path[*place]),
            Measure::Charges(place) => amount(scopes.once[*place]),
            Measure::Used(places) => places.first().map_or(Ok(0), |place| amount(scopes.device[*place])),
            Measure::Devices => text.parse().map_err(|_| format!("`{text}` is not a number of devices")),
        }
    }

    /// A value of this objective, as the search has it, for people.
    pub fn show(&self, value: i64, signature: &Signature, scopes: &Scopes) -> String {
        match &self.measure {
            Measure::Worst(place) => signature.show(scopes.path[*place], value),
            Measure::Least(place) => signature.show(scopes.path[*place], value.saturating_neg()),
            Measure::Charges(place) => signature.show(scopes.once[*place], value),
            Measure::Used(places) => {
                places.first().map_or(String::new(), |p| signature.show(scopes.device[*p], value))
            }
            Measure::Devices => value.to_string(),
        }
    }
}
