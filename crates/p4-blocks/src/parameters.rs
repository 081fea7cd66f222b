//! Parameters of blocks: `rows=3,columns=2048`, read and checked.

use crate::{Arch, Block};
use base_diag::did_you_mean;
use std::collections::BTreeMap;

/// A number that sizes a block.
#[derive(Debug)]
pub struct Parameter {
    /// As includes have it.
    pub name: &'static str,
    /// Meaning, with the unit.
    pub about: &'static str,
    /// Value if the include gives none.
    pub default: u64,
    /// Least and greatest value.
    pub range: (u64, u64),
    /// Possible values of the parameter.
    pub kind: Kind,
}

/// Possible values of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any.
    Any,
    /// Powers of two.
    PowerOfTwo,
    /// Whole bytes.
    MultipleOf8,
}

/// The values of all parameters of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values(BTreeMap<&'static str, u64>);

/// A block as an include asks for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The sizes.
    pub values: Values,
    /// Name of the control.
    pub control: String,
    /// Architecture of the program.
    pub arch: Arch,
}

impl Values {
    /// The value of a parameter of the block.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The same as a width or a number of rows.
    pub fn small(&self, name: &str) -> u32 {
        self.get(name) as u32
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(name, value)| (*name, *value))
    }
}

impl Block {
    /// The values that an include without parameters means.
    pub fn defaults(&self) -> Values {
        Values(self.parameters.iter().map(|parameter| (parameter.name, parameter.default)).collect())
    }

    /// The defaults with some changed, checked.
    pub fn with(&self, changes: &[(&str, u64)]) -> Result<Values, String> {
        let mut values = self.defaults();
        for (name, value) in changes {
            let known = || self.parameters.iter().map(|parameter| parameter.name);
            let parameter = self.parameters.iter().find(|parameter| parameter.name == *name);
            let Some(parameter) = parameter else {
                return Err(match did_you_mean(name, known()) {
                    Some(near) => format!("{} has no parameter `{name}`: did you mean `{near}`?", self.name),
                    None => {
                        let known: Vec<&str> = known().collect();
                        format!("{} has no parameter `{name}`; it has {}", self.name, known.join(", "))
                    }
                });
            };
            parameter.check(*value).map_err(|why| format!("{}: {why}", self.name))?;
            values.0.insert(parameter.name, *value);
        }
        (self.check)(&values).map_err(|why| format!("{}: {why}", self.name))?;
        Ok(values)
    }

    /// The values with one changed, if that parameter can have it.
    pub fn changed(&self, values: &Values, name: &str, value: u64) -> Option<Values> {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name)?;
        parameter.check(value).ok()?;
        let mut values = values.clone();
        values.0.insert(parameter.name, value);
        Some(values)
    }

    /// Reads `rows=3,columns=2048,as=Heavy,for=tna`; all parts are optional.
    pub fn read(&self, text: &str) -> Result<Request, String> {
        let (mut changes, mut control, mut arch) = (vec![], self.control.to_string(), Arch::V1Model);
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(format!("{}: `{part}` is no NAME=VALUE", self.name));
            };
            if name == "as" {
                if !is_identifier(value) {
                    return Err(format!("{}: `as={value}` is no name of a control", self.name));
                }
                control = value.to_string();
                continue;
            }
            if name == "for" {
                arch = match (value, self.not_for_tna) {
                    ("v1model", _) => Arch::V1Model,
                    ("tna", None) => Arch::Tna,
                    ("tna", Some(why)) => {
                        return Err(format!("{}: there is no form for TNA: {why}", self.name));
                    }
                    _ => {
                        return Err(format!(
                            "{}: `for={value}` is no architecture: `v1model` or `tna`",
                            self.name
                        ));
                    }
                };
                continue;
            }
            let number = value.parse().map_err(|_| format!("{}: `{part}` is no number", self.name))?;
            if changes.iter().any(|(known, _)| *known == name) {
                return Err(format!("{}: `{name}` is given twice", self.name));
            }
            changes.push((name, number));
        }
        Ok(Request { values: self.with(&changes)?, control, arch })
    }
}

impl Parameter {
    fn check(&self, value: u64) -> Result<(), String> {
        let Parameter { name, range: (least, most), .. } = *self;
        if !(least..=most).contains(&value) {
            let nearest = if value < least { least } else { most };
            return Err(format!("{name} is {value}, and can be {least} to {most}: the nearest is {nearest}"));
        }
        let (below, above, what) = match self.kind {
            Kind::Any => return Ok(()),
            Kind::PowerOfTwo => (1 << value.ilog2(), value.next_power_of_two(), "a power of two"),
            Kind::MultipleOf8 => (value / 8 * 8, value.next_multiple_of(8), "a multiple of 8"),
        };
        if below == value {
            return Ok(());
        }
        let near: Vec<String> = [below, above]
            .into_iter()
            .filter(|near| (least..=most).contains(near))
            .map(|near| near.to_string())
            .collect();
        Err(format!("{name} is {value}, which is not {what}: the nearest is {}", near.join(" or ")))
    }
}

pub(crate) fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
