//! Blocks that compute the same with different errors and costs, and the choice among them.
//!
//! ```p4
//! #include <p4rack/blocks/product/error=1%,bits=32,as=Price.p4>
//! ```
//!
//! includes the block with the fewest stages (then the least memory) among those that have sizes with at most this error. Commands that know the
//! devices try the others ([`Purpose::alternatives`]) if that one does not fit.

use crate::sizing::sizes;
use crate::{Arch, Block, Cost, Form, Request, expected_error, find, path, size, source};
use base_diag::did_you_mean;

/// A value that several blocks compute. Their controls have one interface.
#[derive(Debug)]
pub struct Purpose {
    /// As commands and includes name it.
    pub name: &'static str,
    /// Summary, in a line.
    pub about: &'static str,
    /// Default name of the control.
    pub control: &'static str,
    /// Names of the blocks.
    pub blocks: &'static [&'static str],
}

/// All purposes for which there is more than one block whose sizes an error decides.
pub const PURPOSES: [Purpose; 4] = [
    Purpose {
        name: "number-of-keys",
        about: "number of distinct keys",
        control: "NumberOfKeys",
        blocks: &["bitmap", "hyperloglog"],
    },
    Purpose {
        name: "sum-of-key",
        about: "sum of the amounts for a key",
        control: "SumOfKey",
        blocks: &["count-min", "count-min-conservative"],
    },
    Purpose {
        name: "product",
        about: "product of two values",
        control: "Product",
        blocks: &["multiply", "multiply-normalised"],
    },
    Purpose {
        name: "quotient",
        about: "quotient of two values",
        control: "Quotient",
        blocks: &["divide", "divide-normalised"],
    },
];

/// Requirements for the choice of a block.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// Largest error, as a share.
    pub error: f64,
    /// Concurrent flows or keys.
    pub flows: u32,
    /// Parameters that are fixed, for the blocks that have them.
    pub given: Vec<(String, u64)>,
    /// Name of the control.
    pub control: String,
    /// Architecture of the program.
    pub arch: Arch,
}

/// A block with the cheapest sizes that reach the error, or the reason why it is out of the question.
pub struct Variant {
    /// The block.
    pub block: &'static Block,
    /// The sizes, with the error that is expected of them.
    pub found: Result<(Request, f64), String>,
}

/// A form of a block that serves a purpose: the block with sizes, or its exact twin.
#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// Name of the block.
    pub block: &'static str,
    /// The sizes.
    pub request: Request,
    /// Approximate or exact.
    pub form: Form,
    /// The error that is expected; 0 for the exact twin.
    pub error: f64,
}

impl Alternative {
    /// The name by which a program includes the block; of a twin, with a remark.
    pub fn name(&self) -> String {
        let path = find(self.block).map_or_else(String::new, |block| path(block, &self.request));
        match self.form {
            Form::Approximate => path,
            Form::Exact => format!("exact twin of {path}"),
        }
    }

    /// The block as P4.
    pub fn source(&self) -> String {
        find(self.block).map_or_else(String::new, |block| source(block, &self.request, self.form))
    }
}

/// Stages, and then memory: the less, the better.
pub fn rank(cost: &Cost) -> (u64, u64) {
    (cost.stages.into(), cost.state_bits + 64 * cost.entries())
}

impl Purpose {
    /// Reads `error=1%,flows=50000,bits=32,as=Price,for=tna`; all but the error are optional.
    pub fn read(&self, text: &str) -> Result<Wanted, String> {
        let wrong = |why: String| format!("{}: {why}", self.name);
        let mut wanted = Wanted {
            error: f64::NAN,
            flows: 10_000,
            given: vec![],
            control: self.control.to_string(),
            arch: Arch::V1Model,
        };
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| wrong(format!("`{part}` is no NAME=VALUE")))?;
            match name {
                "error" => wanted.error = percentage(value).map_err(wrong)?,
                "as" if crate::parameters::is_identifier(value) => wanted.control = value.to_string(),
                "as" => return Err(wrong(format!("`as={value}` is no name of a control"))),
                "for" => {
                    wanted.arch = match value {
                        "v1model" => Arch::V1Model,
                        "tna" => Arch::Tna,
                        _ => {
                            return Err(wrong(format!(
                                "`for={value}` is no architecture: `v1model` or `tna`"
                            )));
                        }
                    }
                }
                "flows" => {
                    wanted.flows = value.parse().map_err(|_| wrong(format!("`{part}` is no number")))?;
                    if wanted.flows == 0 {
                        return Err(wrong("flows is 0: the nearest is 1".to_string()));
                    }
                }
                _ => {
                    let number = value.parse().map_err(|_| wrong(format!("`{part}` is no number")))?;
                    self.check_name(name)?;
                    wanted.given.push((name.to_string(), number));
                }
            }
        }
        match wanted.error.is_nan() {
            true => Err(wrong("an error is wanted, as `error=1%`".to_string())),
            false => Ok(wanted),
        }
    }

    /// Refuses a parameter that none of the blocks has.
    pub fn check_name(&self, name: &str) -> Result<(), String> {
        let known = || self.blocks().flat_map(|block| block.parameters).map(|parameter| parameter.name);
        if known().any(|known| known == name) {
            return Ok(());
        }
        let near =
            did_you_mean(name, known()).map_or(String::new(), |near| format!(": did you mean `{near}`?"));
        Err(format!("{}: no block has a parameter `{name}`{near}", self.name))
    }

    fn blocks(&self) -> impl Iterator<Item = &'static Block> {
        self.blocks.iter().filter_map(|name| find(name))
    }

    /// The blocks with their sizes, the best first; those that are out of the question come last.
    pub fn variants(&self, wanted: &Wanted) -> Vec<Variant> {
        let mut all: Vec<Variant> =
            self.blocks().map(|block| Variant { block, found: variant(block, wanted) }).collect();
        all.sort_by_key(|Variant { block, found }| {
            found.as_ref().map_or((u64::MAX, 0), |(request, _)| rank(&(block.cost)(&request.values)))
        });
        all
    }

    /// The best block; an error says for each why it is out of the question.
    pub fn best(&self, wanted: &Wanted) -> Result<Alternative, String> {
        let mut reasons = vec![];
        for Variant { block, found } in self.variants(wanted) {
            match found {
                Ok((request, error)) => {
                    return Ok(Alternative { block: block.name, request, form: Form::Approximate, error });
                }
                Err(why) => reasons.push(format!("{}: {why}", block.name)),
            }
        }
        Err(format!("no block for `{}` is possible: {}", self.name, reasons.join("; ")))
    }

    /// All forms that reach the error, in the order in which a device should try them: each block with its cheapest sizes, the best first by its own
    /// estimate; other sizes of the blocks, which take less of something and more of something else; and, for v1model, the exact twin.
    pub fn alternatives(&self, wanted: &Wanted) -> Vec<Alternative> {
        let (mut all, mut others) = (vec![], vec![]);
        for block in self.blocks().filter(|block| wanted.arch == Arch::V1Model || block.not_for_tna.is_none())
        {
            let mut sizes = alternatives_of(block, wanted).into_iter();
            all.extend(sizes.next());
            others.extend(sizes);
        }
        let order = |of: &Alternative| find(of.block).map(|block| rank(&(block.cost)(&of.request.values)));
        all.sort_by_cached_key(order);
        others.sort_by_cached_key(order);
        all.extend(others);
        if let Some(first) = all.first().filter(|_| wanted.arch == Arch::V1Model) {
            all.push(Alternative { form: Form::Exact, error: 0.0, ..first.clone() });
        }
        all
    }
}

/// A block with all sizes that are worth trying, the cheapest first.
fn alternatives_of(block: &'static Block, wanted: &Wanted) -> Vec<Alternative> {
    let own = own(block, wanted);
    let fixed: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
    let Ok(given) = block.with(&own) else { return vec![] };
    let alternative = |sized: crate::Sized| {
        let request = Request { values: sized.values, control: wanted.control.clone(), arch: wanted.arch };
        Alternative { block: block.name, request, form: Form::Approximate, error: sized.error }
    };
    sizes(block, &given, &fixed, wanted.flows, wanted.error).into_iter().map(alternative).collect()
}

/// The given parameters that the block has.
fn own<'w>(block: &Block, wanted: &'w Wanted) -> Vec<(&'w str, u64)> {
    let has = |name: &str| block.parameters.iter().any(|parameter| parameter.name == name);
    let own = wanted.given.iter().filter(|(name, _)| has(name));
    own.map(|(name, value)| (name.as_str(), *value)).collect()
}

fn variant(block: &'static Block, wanted: &Wanted) -> Result<(Request, f64), String> {
    if let (Arch::Tna, Some(why)) = (wanted.arch, block.not_for_tna) {
        return Err(format!("no form for TNA: {why}"));
    }
    let own = own(block, wanted);
    let fixed: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
    let values = match size(block, &block.with(&own)?, &fixed, wanted.flows, wanted.error) {
        Some(Ok(sized)) => sized.values,
        Some(Err(nearest)) if nearest.error.is_infinite() => {
            return Err(format!("every size is too small for {} flows", wanted.flows));
        }
        Some(Err(nearest)) => {
            return Err(format!("no size reaches the error: the nearest has {:.3} %", 100.0 * nearest.error));
        }
        None => return Err("no size changes its error".to_string()),
    };
    let error = expected_error(block, &values, wanted.flows).unwrap_or(0.0);
    Ok((Request { values, control: wanted.control.clone(), arch: wanted.arch }, error))
}

/// `5%`, `0.5`: of hundred, as a share.
pub fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let share = number.filter(|number| *number > 0.0 && number.is_finite());
    share.map(|number| number / 100.0).ok_or_else(|| "a percentage above 0 is wanted, as `5%`".to_string())
}
