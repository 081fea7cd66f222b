//! Annotations about keys: `@union_key`, `@shard_key`, `@affinity` of `main`, and `@replicated_max` of tables.
//!
//! ```text
//! @union_key(hdr.ipv4.src, hdr.ipv4.dst)                     packets with equal values are a flow
//! @shard_key(symmetric, hdr.ipv4.src, hdr.ipv4.dst)          both directions go to the same device
//! @affinity("medium")
//! V1Switch(P(), V(), I(), E(), C(), D()) main;
//! @replicated_max(4096) table routes { ... }
//! ```

use crate::input::{Input, Inputs, list};
use crate::keys::{Affinity, Place};
use crate::union_key::Part;
use base_diag::codes::keys::BAD_KEY_ANNOTATION;
use base_diag::{Diagnostic, Span};
use ir::{Annotation, AnnotationBody, AnnotationValue, Annotations, Program};
use ir_state::Mode;
use std::collections::BTreeMap;

const OF_MAIN: [&str; 3] = ["union_key", "shard_key", "affinity"];

/// Keys and affinity declared by annotations of `main`.
#[derive(Default)]
pub struct Declared {
    pub union: Option<Inputs>,
    /// In the order of the annotation.
    pub shard: Option<Vec<Input>>,
    /// See [`ShardKey::pairs`](crate::ShardKey::pairs).
    pub pairs: Vec<(usize, usize)>,
    pub affinity: Option<Affinity>,
    pub wrong: Vec<Diagnostic>,
}

/// Reads the annotations of `main`. `closed` has what each key depends on.
pub fn declared(program: &Program, parts: &[(Input, Part)], closed: &BTreeMap<Place, Inputs>) -> Declared {
    let mut declared = Declared::default();
    let needed: Inputs = closed.values().flatten().cloned().collect();
    for annotation in &program.annotations {
        let read = match annotation.name.as_str() {
            "union_key" => declared.union_key(annotation, parts, closed),
            "shard_key" => Ok(()),
            "affinity" => declared.affinity(annotation),
            _ => Ok(()),
        };
        declared.wrong.extend(read.err());
    }
    let union = declared.union.clone().unwrap_or(needed);
    for annotation in program.annotations.iter().filter(|annotation| annotation.name == "shard_key") {
        let read = declared.shard_key(annotation, parts, &union);
        declared.wrong.extend(read.err());
    }
    declared.wrong.extend(misplaced(program));
    declared
}

fn wrong(title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(BAD_KEY_ANNOTATION, title)
}

impl Declared {
    fn union_key(
        &mut self,
        annotation: &Annotation,
        parts: &[(Input, Part)],
        closed: &BTreeMap<Place, Inputs>,
    ) -> Result<(), Diagnostic> {
        let inputs: Inputs = inputs(annotation, &words(annotation), parts)?.into_iter().collect();
        for (place, needed) in closed {
            let missing = needed - &inputs;
            if !missing.is_empty() {
                return Err(wrong("`@union_key` lacks what a key depends on")
                    .note(format!(
                        "which entry of `{}` a packet uses depends on {}",
                        place.name(),
                        list(&missing)
                    ))
                    .help(format!("add {} to the annotation, or leave it out", list(&missing))));
            }
        }
        self.union = Some(inputs);
        Ok(())
    }

    fn shard_key(
        &mut self,
        annotation: &Annotation,
        parts: &[(Input, Part)],
        union: &Inputs,
    ) -> Result<(), Diagnostic> {
        let mut words = words(annotation);
        let symmetric = words.first().is_some_and(|word| word == "symmetric");
        if symmetric {
            words.remove(0);
        }
        let inputs = inputs(annotation, &words, parts)?;
        if let Some(other) = inputs.iter().find(|input| !union.contains(input)) {
            return Err(wrong(format!("`{other}` is not in the union key"))
                .note(format!("the union key is {}", list(union)))
                .help("a shard key is made of parts of the union key: remove it from `@shard_key`"));
        }
        if symmetric {
            let width = |input: &Input| {
                let mut of_it = parts.iter().filter(|(known, _)| known == input);
                (of_it.next().map(|(_, part)| part.width), of_it.next().is_some())
            };
            for pair in inputs.chunks_exact(2) {
                if width(&pair[0]) != width(&pair[1]) || width(&pair[0]).1 {
                    return Err(wrong("two ends of a connection have different widths")
                        .note(format!("`{}` and `{}` are a pair", pair[0], pair[1]))
                        .help("a symmetric key lists source and destination of each kind after each other"));
                }
            }
            if inputs.len() < 2 {
                return Err(wrong("a symmetric key needs two ends")
                    .help("write `@shard_key(symmetric, hdr.ipv4.src, hdr.ipv4.dst)`"));
            }
            // One that is left over is the same in both directions.
            self.pairs = (0..inputs.len() / 2).map(|pair| (2 * pair, 2 * pair + 1)).collect();
        }
        self.shard = Some(inputs);
        Ok(())
    }

    fn affinity(&mut self, annotation: &Annotation) -> Result<(), Diagnostic> {
        let text = annotation.as_str().unwrap_or_default();
        self.affinity = Affinity::ALL.into_iter().find(|known| known.name() == text);
        match self.affinity {
            Some(_) => Ok(()),
            None => Err(wrong(format!("`@affinity` has no value \"{text}\""))
                .help("write `@affinity(\"high\")`, `@affinity(\"medium\")` or `@affinity(\"low\")`")),
        }
    }
}

/// The inputs that an annotation names, each once.
fn inputs(
    annotation: &Annotation,
    words: &[String],
    parts: &[(Input, Part)],
) -> Result<Vec<Input>, Diagnostic> {
    let mut inputs: Vec<Input> = vec![];
    for word in words {
        let is_it = |input: &Input| {
            let text = input.to_string();
            text == *word || *input == Input::Port && word == "ingress_port"
        };
        let Some((input, _)) = parts.iter().find(|(input, _)| is_it(input)) else {
            let known: Vec<String> = parts.iter().map(|(input, _)| input.to_string()).collect();
            return Err(wrong(format!("`{word}` is no field of the packet"))
                .note(format!("`@{}` names it", annotation.name))
                .suggest(word, known.iter().map(String::as_str)));
        };
        if inputs.contains(input) {
            return Err(wrong(format!("`{word}` is named twice")).note(format!("in `@{}`", annotation.name)));
        }
        inputs.push(input.clone());
    }
    if inputs.is_empty() {
        return Err(wrong(format!("`@{}` names no field", annotation.name))
            .help(format!("write `@{}(hdr.ipv4.src, hdr.ipv4.dst)`", annotation.name)));
    }
    Ok(inputs)
}

/// The words between the commas of an annotation.
fn words(annotation: &Annotation) -> Vec<String> {
    let text = match &annotation.body {
        AnnotationBody::Tokens(text) => text.clone(),
        body => {
            let texts = body.values().iter().filter_map(|value| match value {
                AnnotationValue::Str(text) => Some(text.clone()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join(",")
        }
    };
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    text.split(',').filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// Reports annotations of `main` that precede other declarations, and annotations of tables that precede declarations other than tables.
fn misplaced(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    let mut look = |annotations: &Annotations, span: Span, is_table: bool| {
        for annotation in annotations {
            let of_main = OF_MAIN.contains(&annotation.name.as_str());
            if of_main || annotation.name == "replicated_max" && !is_table {
                let title = format!("`@{}` is not allowed here", annotation.name);
                let place = if of_main { "before the declaration of `main`" } else { "before a table" };
                found.push(wrong(title).at(span, "at this declaration").help(format!("write it {place}")));
            }
        }
    };
    for control in &program.controls {
        look(&control.annotations, control.span, false);
        control.tables.iter().for_each(|table| look(&table.annotations, table.span, true));
    }
    program.parsers.iter().for_each(|parser| look(&parser.annotations, parser.span, false));
    program.instances.iter().for_each(|instance| look(&instance.annotations, instance.span, false));
    look(
        &program.annotations.iter().filter(|a| a.name == "replicated_max").cloned().collect(),
        Span::NONE,
        false,
    );
    found
}

/// `@replicated_max(entries)` of a table.
pub fn replicated_max(table: &ir::Table, mode: Mode, found: &mut Vec<Diagnostic>) -> Option<u64> {
    let annotation = table.annotations.iter().find(|annotation| annotation.name == "replicated_max")?;
    let number = match annotation.body.values() {
        [AnnotationValue::Int(number)] => u64::try_from(number).ok().filter(|number| *number > 0),
        _ => None,
    };
    if number.is_none() {
        found.push(
            wrong("`@replicated_max` needs a number of entries")
                .at(table.span, "at this table")
                .help("write `@replicated_max(4096)`"),
        );
    } else if mode == Mode::Sharded {
        found.push(
            wrong(format!("`{}` is sharded, not replicated", table.control_plane_name))
                .at(table.span, "its key has the shard key")
                .help("remove `@replicated_max`: each device has the entries of its own flows"),
        );
    }
    number
}
