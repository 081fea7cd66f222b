//! The choice among blocks that compute the same, by trial: a program names a purpose and an error, and the first block that fits its devices
//! is taken.
//!
//! ```text
//! #include <p4rack/blocks/sum-of-key/error=1%,flows=10000,as=Heavy.p4>
//!
//! round 0   count-min/rows=3,columns=4096      the device lacks SRAM
//! round 1   count-min-conservative/columns=512 fits
//! ```
//!
//! With several includes, combinations are tried; those nearest to the first choices come first.

use crate::files::Disk;
use base_diag::Diagnostic;
use p4_blocks::{Alternative, Purpose, Wanted, include_by_purpose};
use p4_syntax::{LoadError, Loader};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// More combinations than these are not tried.
const MAX_TRIED: usize = 64;

/// More refused combinations than these are not listed in an error.
const MANY: usize = 8;

/// Reason why an attempt with a combination failed.
pub enum Refused {
    /// The input is wrong, whatever the blocks.
    Input(Vec<Diagnostic>),
    /// The program with these blocks does not fit the devices.
    Devices(Vec<Diagnostic>),
}

impl From<Vec<Diagnostic>> for Refused {
    fn from(found: Vec<Diagnostic>) -> Refused {
        Refused::Devices(found)
    }
}

/// Blocks that were chosen for the includes that name a purpose.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chosen {
    /// Each include with the block that stands for it.
    pub blocks: Vec<(String, Alternative)>,
    /// Combinations that were tried before, each with the reason why it does not fit.
    pub refused: Vec<(Vec<String>, String)>,
}

/// The disk, with one block for each purpose that a program includes.
#[derive(Default)]
pub struct Variants {
    /// The place of the block in the list of alternatives; the first, if there is none.
    places: BTreeMap<String, usize>,
    known: RefCell<BTreeMap<String, Asked>>,
}

struct Asked {
    purpose: &'static Purpose,
    wanted: Wanted,
    /// The best by the blocks' own estimates; the others are computed when that one does not fit.
    alternatives: Vec<Alternative>,
}

impl Loader for Variants {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        Disk.read(path)
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        let Some((purpose, wanted)) = include_by_purpose(name) else { return Disk.builtin(name) };
        let mut known = self.known.borrow_mut();
        if !known.contains_key(name) {
            // A purpose that no block serves is an error in the text of the include.
            let Ok(best) = purpose.best(&wanted) else { return Disk.builtin(name) };
            known.insert(name.to_string(), Asked { purpose, wanted, alternatives: vec![best] });
        }
        let alternatives = &known.get(name)?.alternatives;
        let place = self.places.get(name).copied().unwrap_or(0);
        alternatives.get(place).map(|alternative| alternative.source().into())
    }

    fn meant(&self, path: &str) -> Option<String> {
        Disk.meant(path)
    }

    fn builtins(&self) -> Vec<&str> {
        p4_arch::include_names().chain(p4_blocks::include_names()).collect()
    }
}

impl Variants {
    /// The programs that were read include a block by purpose.
    pub fn has_choice(&self) -> bool {
        !self.known.borrow().is_empty()
    }

    fn chosen(&self) -> Vec<(String, Alternative)> {
        let known = self.known.borrow();
        let chosen = |(name, asked): (&String, &Asked)| {
            let place = self.places.get(name).copied().unwrap_or(0);
            Some((name.clone(), asked.alternatives.get(place)?.clone()))
        };
        known.iter().filter_map(chosen).collect()
    }

    /// All combinations of the alternatives but the first, those with the smallest sum of places first.
    fn combinations(&self) -> Vec<BTreeMap<String, usize>> {
        let mut known = self.known.borrow_mut();
        let mut all: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new()];
        for (name, asked) in known.iter_mut() {
            asked.alternatives = asked.purpose.alternatives(&asked.wanted);
            let with = |known: &BTreeMap<String, usize>, place: usize| {
                let mut known = known.clone();
                known.insert(name.clone(), place);
                known
            };
            let places = 0..asked.alternatives.len();
            all = all.iter().flat_map(|known| places.clone().map(move |place| with(known, place))).collect();
            // Stable, so equal sums stay in the order of the includes.
            all.sort_by_key(|places| places.values().sum::<usize>());
            all.truncate(MAX_TRIED);
        }
        all.into_iter().skip(1).collect()
    }
}

/// Tries combinations of blocks until one fits. Without an include that names a purpose, there is one attempt. An error is that of the first
/// combination, with the reasons of the others.
pub fn first_that_fits<T>(
    mut attempt: impl FnMut(&Variants) -> Result<T, Refused>,
) -> Result<(T, Chosen), Vec<Diagnostic>> {
    let mut variants = Variants::default();
    let first = match attempt(&variants) {
        Ok(made) => return Ok((made, Chosen { blocks: variants.chosen(), refused: vec![] })),
        Err(Refused::Input(found)) => return Err(found),
        Err(Refused::Devices(found)) => found,
    };
    let mut refused = vec![(names(&variants), reason(&first))];
    for places in variants.combinations() {
        variants.places = places;
        match attempt(&variants) {
            Ok(made) => return Ok((made, Chosen { blocks: variants.chosen(), refused })),
            Err(Refused::Input(found) | Refused::Devices(found)) => {
                refused.push((names(&variants), reason(&found)));
            }
        }
    }
    Err(with_refused(first, &refused))
}

fn names(variants: &Variants) -> Vec<String> {
    variants.chosen().iter().map(|(_, block)| block.name()).collect()
}

/// Titles with notes, in a line.
fn reason(found: &[Diagnostic]) -> String {
    let text = |found: &Diagnostic| match found.notes.first() {
        Some(note) => format!("{} ({note})", found.title),
        None => found.title.clone(),
    };
    found.first().map_or_else(|| "it does not fit".to_string(), text)
}

/// The diagnostics of the first choice, with what else was tried.
fn with_refused(mut found: Vec<Diagnostic>, refused: &[(Vec<String>, String)]) -> Vec<Diagnostic> {
    let Some(last) = found.pop() else { return found };
    let mut last = last;
    for (blocks, why) in refused.iter().skip(1).take(MANY) {
        last = last.note(format!("with {}: {why}", blocks.join(" and ")));
    }
    if refused.len() > MANY + 1 {
        last = last.note(format!("{} more combinations of blocks do not fit", refused.len() - MANY - 1));
    }
    found.push(last);
    found
}

impl Chosen {
    /// A line for each include, and one for each combination that was refused; nothing without such includes.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (include, block) in &self.blocks {
            let _ =
                writeln!(out, "block for <{include}>: {}, error {:.3} %", block.name(), 100.0 * block.error);
        }
        for (blocks, why) in &self.refused {
            let _ = writeln!(out, "    not {}: {why}", blocks.join(" and "));
        }
        out
    }

    /// The same as a value.
    pub fn json(&self) -> serde_json::Value {
        let block = |(include, block): &(String, Alternative)| json!({ "include": include, "block": block.name(), "error": block.error });
        let refused = |(blocks, why): &(Vec<String>, String)| json!({ "blocks": blocks, "why": why });
        json!({
            "chosen": self.blocks.iter().map(block).collect::<Vec<_>>(),
            "refused": self.refused.iter().map(refused).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_diag::codes::plan::NO_FIT;
    use std::collections::BTreeSet;

    const INCLUDES: [&str; 3] = [
        "p4rack/blocks/number-of-keys/error=5%,flows=5000,as=Senders.p4",
        "p4rack/blocks/number-of-keys/error=5%,flows=5000,as=Receivers.p4",
        "p4rack/blocks/number-of-keys/error=10%,flows=5000,as=Ports.p4",
    ];

    fn diagnostics() -> Vec<Diagnostic> {
        vec![Diagnostic::error(NO_FIT, "it does not fit")]
    }

    /// Names of the blocks at these places, as a note has them.
    fn names_at(places: [usize; INCLUDES.len()]) -> String {
        let variants = Variants::default();
        assert!(INCLUDES.iter().all(|name| variants.builtin(name).is_some()));
        let _ = variants.combinations();
        let places = INCLUDES.iter().map(|name| name.to_string()).zip(places).collect();
        names(&Variants { places, ..variants }).join(" and ")
    }

    type Attempts = Vec<[usize; INCLUDES.len()]>;

    /// Tries combinations of blocks for all includes; `attempt` gets the number of the attempt. Also returns the places of all attempts.
    fn tried(attempt: impl Fn(usize) -> Result<(), Refused>) -> (Result<Chosen, Vec<Diagnostic>>, Attempts) {
        let mut attempts = vec![];
        let found = first_that_fits(|variants| {
            assert!(INCLUDES.iter().all(|name| variants.builtin(name).is_some()));
            attempts.push(INCLUDES.map(|name| variants.places.get(name).copied().unwrap_or(0)));
            attempt(attempts.len())
        });
        (found.map(|((), chosen)| chosen), attempts)
    }

    #[test]
    fn combinations_near_the_first_choices_come_first() {
        let (found, attempts) = tried(|_| Err(Refused::Devices(diagnostics())));
        let sums: Vec<usize> = attempts.iter().map(|places| places.iter().sum()).collect();
        assert!(sums.is_sorted() && sums[..5] == [0, 1, 1, 1, 2], "{attempts:?}");
        let distinct: BTreeSet<_> = attempts.iter().collect();
        assert_eq!(distinct.len(), attempts.len(), "{attempts:?}");
        // The error is that of the first combination, with the reasons of the next ones.
        let found = found.expect_err("none fits");
        let [only] = &found[..] else { panic!("{found:#?}") };
        let mut notes: Vec<String> = attempts[1..=MANY]
            .iter()
            .map(|places| format!("with {}: it does not fit", names_at(*places)))
            .collect();
        notes.push(format!("{} more combinations of blocks do not fit", attempts.len() - 1 - MANY));
        assert_eq!(only.notes, notes);
    }

    /// Wrong input of a later combination, such as a size that a table cannot have, is a reason against that combination.
    #[test]
    fn a_later_combination_may_be_wrong_input() {
        let (found, attempts) = tried(|number| match number {
            1 => Err(Refused::Devices(diagnostics())),
            2 => Err(Refused::Input(diagnostics())),
            _ => Ok(()),
        });
        assert_eq!((found.expect("the third fits").refused.len(), attempts.len()), (2, 3));
        // But not with the first: then the input is wrong whatever the blocks.
        let (found, attempts) = tried(|_| Err(Refused::Input(diagnostics())));
        assert_eq!((found.expect_err("it is wrong").len(), attempts.len()), (1, 1));
    }
}
