//! An app that is to be merged.

use ir::{Name, Program};
use traffic_classes::Class;

/// A program with its traffic.
#[derive(Clone, Debug)]
pub struct App<'a> {
    /// Name for people and control planes.
    pub name: Name,
    /// The elaborated program.
    pub program: &'a Program,
    /// Class of the app's packets; `None`: the packets of no other app.
    pub class: Option<Class>,
    /// Where classes overlap, the largest wins. `None` never overlaps.
    pub priority: Option<u32>,
    /// The regions of its program stay, under the names of [`Share::region`](crate::Share::region); otherwise they are not marked.
    pub has_regions: bool,
    /// The app has one parser with others that do and whose parsers agree with its own.
    pub shares_parser: bool,
}

/// The prefix of an app's names in P4: its name, as an identifier that no other app has.
pub fn prefixes(apps: &[App<'_>]) -> Vec<Name> {
    let mut prefixes: Vec<Name> = vec![];
    for app in apps {
        let mut prefix: String =
            app.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if prefix.starts_with(|c: char| c.is_ascii_digit()) || prefix.is_empty() || prefix == "app" {
            prefix.insert(0, '_');
        }
        let mut free = prefix.clone();
        let mut number = 2;
        while prefixes.iter().any(|known| *known == free) {
            free = format!("{prefix}{number}");
            number += 1;
        }
        prefixes.push(free.into());
    }
    prefixes
}
