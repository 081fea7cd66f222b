//! Values that are live over a cut. Without a header, none travels:
//!
//! ```text
//! the output port                 the position says it
//! the packet's length             the same, as no header comes or goes before a cut
//! what the parser has written     the receiver's parser writes it again, unless something has overwritten it
//! everything else                 refused, with the places that write and read it
//! ```

use crate::analysis::Analysis;
use crate::facts::Facts;
use crate::flow::AtSection;
use crate::layout::{Form, LiveField, carried};
use crate::place::Leaf;
use crate::section::SectionId;
use crate::witness::Witnesses;
use base_diag::Diagnostic;
use base_diag::codes::headerless as codes;
use p4_arch::Meaning;
use std::collections::BTreeMap;

/// The values that the position has to say beside the section: the output port, or nothing.
pub fn by_position(a: &Analysis<'_>, at: &AtSection) -> Vec<LiveField> {
    let needed = carried(a.places(), at);
    let port = needed.into_iter().filter(|leaf| is_port(a, *leaf));
    port.map(|leaf| LiveField { leaf, name: "egress_spec".into(), width: 0, form: Form::Bits }).collect()
}

fn is_port(a: &Analysis<'_>, leaf: Leaf) -> bool {
    a.places().standard(Meaning::ToPort) == Some(leaf)
}

/// Live values that get lost. `since` has what is written since the packet was parsed.
pub fn check(
    a: &Analysis<'_>,
    cuts: &BTreeMap<SectionId, AtSection>,
    since: &BTreeMap<SectionId, Facts>,
    witnesses: &Witnesses,
    runtime: &str,
) -> Vec<Diagnostic> {
    let mut lost: BTreeMap<Leaf, Diagnostic> = BTreeMap::new();
    for (&id, at) in cuts {
        for leaf in carried(a.places(), at) {
            let again = since.get(&id).is_some_and(|since| is_parsed_again(a, since, leaf));
            if is_port(a, leaf) || again || lost.contains_key(&leaf) {
                continue;
            }
            lost.insert(leaf, refused(a, id, leaf, witnesses, runtime));
        }
    }
    lost.into_values().collect()
}

fn is_parsed_again(a: &Analysis<'_>, since: &Facts, leaf: Leaf) -> bool {
    let is_length = a.places().standard(Meaning::Length) == Some(leaf);
    (is_length || a.flow.parser_writes.contains(leaf)) && !since.may_be_written(leaf)
}

fn refused(a: &Analysis<'_>, id: SectionId, leaf: Leaf, witnesses: &Witnesses, runtime: &str) -> Diagnostic {
    let name = &a.places().info(leaf).name;
    let section = a.sections.get(id);
    let (to, at) = (&section.name, a.placement.name(section.device));
    let (writer, reader) = (witnesses.writer(id, leaf), witnesses.reader(id, leaf));
    let mut found = Diagnostic::error(codes::NOT_CARRIED, format!("`{name}` cannot travel without a header"));
    if let Some(writer) = writer {
        found = found.at(writer, "written here");
    }
    found = match reader {
        Some(reader) => found.at(reader, format!("read here, after the cut to `{to}` at `{at}`")),
        None => found.at(super::place_of(a, id), format!("needed after the cut to `{to}` at `{at}`")),
    };
    if a.places().packet_header(leaf).is_some() {
        found = found.note("the header may be invalid there, with something in its fields");
    }
    if name.contains(&a.prefix) {
        found = found.note("a digest, a clone or another effect that was requested before the cut needs it");
    }
    let found = match (writer, reader) {
        (None, _) if a.places().standard(Meaning::InPort) == Some(leaf) => {
            found.note("after a cut, the port that a device sees is that of its own link")
        }
        (None, _) if a.places().packet_header(leaf).is_none() => {
            found.note("the device that receives the packet sets it")
        }
        (_, None) => found.note("the traffic manager reads it after ingress"),
        _ => found,
    };
    found
        .note(format!("the runtime `{runtime}` carries no values over the cut to `{to}`"))
        .help("compute it after the cut, or use `runtime = \"full\"`")
}
