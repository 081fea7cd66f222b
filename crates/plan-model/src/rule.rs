//! Horn rules with bounds and effects (Flightplan §4.2, appendix I).
//!
//! `header_compress` holds *if* `FPGA` holds and the rate is below its bound; *then* the packet is later and the device costs more.

use crate::{Factor, Scope, Signature, VarId};
use base_diag::Span;
use smol_str::SmolStr;
use std::fmt::Write;

/// Something that holds on a device or not: a class, a function it runs, a region.
pub type Prop = SmolStr;

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// For people.
    pub name: SmolStr,
    /// Proposition that the rule proves.
    pub head: Prop,
    /// Propositions that must hold.
    pub needs: Vec<Prop>,
    /// Bounds on the packet's variables before the region.
    pub bounds: Vec<Bound>,
    /// Changes of variables.
    pub effects: Vec<Effect>,
    /// Place in the file.
    pub span: Span,
}

/// A variable compared with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The variable.
    pub var: VarId,
    /// How.
    pub compare: Compare,
    /// Value to compare with.
    pub value: i64,
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Compare {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Compare::Equal => "=",
            Compare::Less => "<",
            Compare::AtMost => "<=",
            Compare::Greater => ">",
            Compare::AtLeast => ">=",
        }
    }
}

impl Bound {
    /// The smallest and the largest value that keep it: values are integers.
    pub fn range(&self) -> (i64, i64) {
        match self.compare {
            Compare::Equal => (self.value, self.value),
            Compare::Less => (i64::MIN, self.value.saturating_sub(1)),
            Compare::AtMost => (i64::MIN, self.value),
            Compare::Greater => (self.value.saturating_add(1), i64::MAX),
            Compare::AtLeast => (self.value, i64::MAX),
        }
    }
}

/// A change of a variable. Its meaning depends on the variable's scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// The variable.
    pub var: VarId,
    /// Change of the variable.
    pub change: Change,
}

/// Change of a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Change {
    /// Sets the variable to this value.
    Assign(i64),
    /// This is added.
    Add(i64),
    /// Multiplies the variable by this factor.
    Multiply(Factor),
}

impl Change {
    /// Result of the change for `value`.
    pub fn of(self, value: i64) -> i64 {
        match self {
            Change::Assign(new) => new,
            Change::Add(more) => value.saturating_add(more),
            Change::Multiply(factor) => factor.of(value),
        }
    }

    /// Whether every value stays as it is.
    pub fn is_nothing(self) -> bool {
        matches!(self, Change::Add(0) | Change::Multiply(Factor::ONE))
    }
}

/// The text of a signature and its rules, as [`read_rules`](crate::read_rules) reads it.
pub fn print_rules(signature: &Signature, rules: &[Rule]) -> String {
    let mut out = String::new();
    for variable in &signature.variables {
        let (unit, _) = variable.unit.words()[0];
        let kind = match variable.scope {
            Scope::Path => "path",
            Scope::Once => "once",
            Scope::Device { .. } => "device",
        };
        let _ = write!(out, "{kind} {} [{unit}]", variable.name);
        if let Some((word, _)) = crate::ROLES.iter().find(|(_, role)| Some(*role) == variable.role) {
            let _ = write!(out, " is {word}");
        }
        match variable.scope {
            Scope::Path => {
                let _ = write!(out, " = {}", variable.unit.show(variable.initial));
            }
            Scope::Device { limit: Some(limit) } => {
                let _ = write!(out, " <= {}", variable.unit.show(limit));
            }
            _ => {}
        }
        out.push_str(";\n");
    }
    for rule in rules {
        out.push_str(&print_rule(signature, rule));
        out.push('\n');
    }
    out
}

/// One rule as text.
pub fn print_rule(signature: &Signature, rule: &Rule) -> String {
    let mut out = format!("rule \"{}\" {}", rule.name.replace(['"', '\n'], "'"), rule.head);
    let bound = |b: &Bound| {
        format!("{} {} {}", name(signature, b.var), b.compare.sign(), signature.show(b.var, b.value))
    };
    let conditions: Vec<String> =
        rule.needs.iter().map(ToString::to_string).chain(rule.bounds.iter().map(bound)).collect();
    let effects: Vec<String> = rule.effects.iter().map(|e| print_effect(signature, e)).collect();
    if !conditions.is_empty() {
        let _ = write!(out, " if {}", conditions.join(", "));
    }
    if !effects.is_empty() {
        let _ = write!(out, " then {}", effects.join(", "));
    }
    out + ";"
}

fn name(signature: &Signature, var: VarId) -> String {
    let variable = signature.get(var);
    match variable.scope {
        Scope::Path => variable.name.to_string(),
        Scope::Once => format!("once {}", variable.name),
        Scope::Device { .. } => format!("<{}>", variable.name),
    }
}

/// One effect as text: `once Power += 30W`.
pub fn print_effect(signature: &Signature, effect: &Effect) -> String {
    let name = name(signature, effect.var);
    match effect.change {
        Change::Assign(value) => format!("{name} = {}", signature.show(effect.var, value)),
        Change::Add(value) => format!("{name} += {}", signature.show(effect.var, value)),
        Change::Multiply(factor) => format!("{name} *= {factor}"),
    }
}
