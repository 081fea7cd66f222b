//! Keys as text, and obstacles as diagnostics.

use crate::input::{Input, list};
use crate::keys::{Keys, Obstacle, Reason};
use base_diag::Diagnostic;
use base_diag::codes::keys::{KEY_NOT_OF_PACKET, NOT_DIVIDED};
use std::fmt;

/// For people.
impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |is_declared: bool| if is_declared { " (declared)" } else { "" };
        let name = |at: &usize| self.key.parts.get(*at).map_or("?", |part| part.name.as_str());
        let names = |parts: &[usize]| match parts.is_empty() {
            true => "none".to_string(),
            false => parts.iter().map(name).collect::<Vec<_>>().join(", "),
        };
        let all: Vec<usize> = (0..self.key.parts.len()).collect();
        let bits: u32 = self.key.parts.iter().map(|part| part.width).sum();
        writeln!(f, "union key  {} ({bits} bits){}", names(&all), said(self.is_union_declared))?;
        let symmetric = if self.key.shard.pairs.is_empty() { "" } else { ", symmetric" };
        let shard = &self.key.shard.parts;
        writeln!(f, "shard key  {}{symmetric}{}", names(shard), said(self.is_shard_declared))?;
        if let Some(affinity) = self.affinity {
            writeln!(f, "affinity   {}", affinity.name())?;
        }
        if !self.conditions.is_empty() {
            writeln!(f, "conditions also depend on {}", list(&self.conditions))?;
        }
        let width = self.keyed.iter().map(|keyed| keyed.place.name().len()).max().unwrap_or(0);
        for keyed in &self.keyed {
            let (name, mode) = (keyed.place.name(), keyed.mode.name());
            let max = keyed.replicated_max.map_or(String::new(), |max| format!(", at most {max} entries"));
            writeln!(f, "  {name:<width$}  {mode:<11} {}{max}", keyed.why)?;
            for key in &keyed.keys {
                let inputs = list(&key.inputs);
                let inputs = if inputs == *key.text { String::new() } else { format!(": {inputs}") };
                writeln!(f, "  {:<width$}    {}{inputs}", "", key.text)?;
            }
        }
        Ok(())
    }
}

impl Keys {
    /// Obstacles to processing flows on several devices, and wrong annotations, as diagnostics for apps that request it.
    pub fn refusals(&self) -> Vec<Diagnostic> {
        self.wrong.iter().cloned().chain(self.obstacles.iter().map(Obstacle::diagnostic)).collect()
    }
}

impl Obstacle {
    /// The refusal of an app that requests to process its flows on several devices.
    pub fn diagnostic(&self) -> Diagnostic {
        let name = self.place.name();
        match &self.reason {
            Reason::Depends { key, on } => {
                let title = format!("the key of `{name}` is not determined by the flow");
                let diagnostic = Diagnostic::error(KEY_NOT_OF_PACKET, title)
                    .at(self.span, format!("`{key}` depends on {on}"))
                    .note("packets of one flow would use different entries, so no device can hold those of the flow");
                match on {
                    Input::Payload(_) => diagnostic.help("use a field of fixed length as key"),
                    Input::AnotherPass => {
                        diagnostic.help("keep the key in metadata that is preserved when the packet is recirculated")
                    }
                    Input::Unknown => diagnostic.help("move the app to one device"),
                    _ => diagnostic.help(
                        "use fields of headers and the ingress port as key, or keep the app at the switch: `@affinity(\"high\")`",
                    ),
                }
            }
            Reason::Exclusive { is_per_flow } => {
                let title = format!("`{name}` cannot be on several devices");
                let diagnostic = Diagnostic::error(NOT_DIVIDED, title)
                    .at(self.span, "packets read what other packets have written");
                match is_per_flow {
                    true => diagnostic
                        .note("its index depends on the shard key, so each flow may have its own cells")
                        .help("write `@sharded` if no two flows share a cell, or `@soft` if its content may be lost"),
                    false => diagnostic
                        .help("write `@merge(\"add\")` if copies may be added up, or keep the app at the switch: `@affinity(\"high\")`"),
                }
            }
        }
    }
}
