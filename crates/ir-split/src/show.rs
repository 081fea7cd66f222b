//! Text forms of the steps' results, for `--print-after`.

use crate::analysis::Analysis;
use crate::check::CHECKS;
use crate::layout::LayoutField;
use crate::place::{HeaderIndex, Leaf};
use crate::placement::DeviceIndex;
use crate::runtimes::runtime;
use crate::section::{CallEnd, Code, CodeCase, Half, Section, SectionId};
use ir::{Annotation, Block, Stmt, StmtKind, SwitchCase};
use std::fmt::Write;

/// `ingress Acl on nic, inside Outer`
pub fn marks(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for mark in &a.marks {
        let device = device(a, a.placement.device_of(&mark.name));
        let inside = mark.inside.as_ref().map(|outer| format!(", inside {outer}")).unwrap_or_default();
        let _ = writeln!(out, "{} {} on {device}{inside}", half(mark.half), mark.name);
    }
    let cut = [(a.cut.ingress, "ingress"), (a.cut.egress, "egress")];
    let cut: Vec<&str> = cut.iter().filter(|(is_cut, _)| *is_cut).map(|(_, half)| *half).collect();
    let _ = writeln!(out, "cut: {}", list(&cut));
    out
}

/// The program as text IR.
pub fn program(a: &Analysis<'_>) -> String {
    ir::text::write(&a.program)
}

/// One need a line.
pub fn needs(a: &Analysis<'_>) -> String {
    let needs = a.needs;
    let lines = [
        (needs.counted, "the length of the packet travels: bytes are counted after a cut".to_string()),
        (needs.tracked, "the length of the packet is tracked: egress reads it".to_string()),
        (needs.colours, "colours of direct meters travel, because other tables read them".to_string()),
        (needs.detours > 0, format!("packets pass the devices of regions around {} branches", needs.detours)),
    ];
    let all: Vec<String> = lines.into_iter().filter(|(is_so, _)| *is_so).map(|(_, line)| line).collect();
    if all.is_empty() { "nothing\n".to_string() } else { all.join("\n") + "\n" }
}

/// Each section with its device and its code; `@goto("NAME")` passes control on.
pub fn sections(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for (id, section) in a.sections.iter() {
        let _ = writeln!(out, "{}", head(a, id, section));
        let stmts = stmts(a, &section.code);
        out.push_str(&ir::text::write_stmts(
            &a.program,
            a.program.control(a.control(section.half)),
            &stmts,
            1,
        ));
    }
    out
}

/// For each section, the headers that are certainly valid and the live values, in brackets those that are certainly
/// zero.
pub fn flow(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for (id, section) in a.sections.iter() {
        let Some(at) = a.at.get(id.0 as usize) else { continue };
        let value = |leaf: Leaf| match at.facts.may_be_written(leaf) {
            true => a.places().info(leaf).name.clone(),
            false => format!("({})", a.places().info(leaf).name),
        };
        let headers = (0..a.places().headers.len() as u32).map(HeaderIndex);
        let valid: Vec<_> = headers.filter(|h| at.facts.is_valid(*h)).collect();
        let valid: Vec<&str> = valid.iter().map(|h| a.places().header(*h).name.as_str()).collect();
        let live: Vec<String> = at.live.live.iter().map(value).collect();
        let hidden: Vec<String> = at.live.hidden.iter().map(value).collect();
        let _ =
            writeln!(out, "{}\n    valid: {}\n    live: {}", head(a, id, section), list(&valid), list(&live));
        if !hidden.is_empty() {
            let _ = writeln!(out, "    live in invalid headers: {}", list(&hidden));
        }
    }
    out
}

/// For each section the tables it applies and the objects it uses.
pub fn state(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for (id, section) in a.sections.iter() {
        let Some(used) = a.uses.get(&id) else { continue };
        let declared = &a.program.control(a.control(section.half)).tables;
        let tables: Vec<&str> =
            used.tables.iter().map(|t| declared[t.index()].control_plane_name.as_str()).collect();
        let objects: Vec<&str> =
            used.instances.keys().map(|i| a.program.instance(*i).control_plane_name.as_str()).collect();
        let _ = writeln!(
            out,
            "{}\n    tables: {}\n    objects: {}",
            head(a, id, section),
            list(&tables),
            list(&objects)
        );
    }
    out
}

/// One link of one path a line: `nic -> tor  for fpga: ingress.2, sent on`.
pub fn routes(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for leg in &a.routes.legs {
        let sent_on = if leg.is_sent_on { ", sent on" } else { "" };
        let (from, to, target) = (device(a, leg.from), device(a, leg.to), device(a, leg.target));
        let section = &a.sections.get(leg.section).name;
        let _ = writeln!(out, "{from} -> {to}  for {target}: {section}{sent_on}");
    }
    for &(from, to, section) in &a.routes.missing {
        let _ = writeln!(
            out,
            "{} -> {}  no path: {}",
            device(a, from),
            device(a, to),
            a.sections.get(section).name
        );
    }
    out
}

/// The headers that are kept as received.
pub fn originals(a: &Analysis<'_>) -> String {
    match &a.originals {
        Ok(kept) => {
            let names: Vec<&str> = kept.iter().map(|h| a.places().header(*h).name.as_str()).collect();
            format!("kept: {}\n", list(&names))
        }
        Err(refused) => format!("refused: {} reasons\n", refused.len()),
    }
}

/// The fields of each header, with their bits.
pub fn layout(a: &Analysis<'_>) -> String {
    let layout = match &a.layout {
        Ok(layout) => layout,
        Err(refused) => {
            let names = refused.iter().map(|r| a.places().info(r.leaf).name.as_str());
            return format!("no form: {}\n", list(&names.collect::<Vec<_>>()));
        }
    };
    let field = |f: &LayoutField| format!("{}:{}", f.name, f.width);
    let common: Vec<String> = layout.common.iter().map(field).collect();
    let runtime = runtime(a.placement).name();
    let bits = layout.common_bits();
    let mut out = format!("runtime {runtime}\nevery hand-over  {bits} bits\n    {}\n", list(&common));
    for (&id, fields) in &layout.sections {
        let live: Vec<String> = fields.iter().map(|f| format!("{}:{}", f.name, f.width)).collect();
        let section = a.sections.get(id);
        let _ =
            writeln!(out, "{}  {} bits\n    {}", head(a, id, section), layout.section_bits(id), list(&live));
    }
    if layout.pad_bits > 0 {
        let _ = writeln!(out, "short ones are padded by {} bits", layout.pad_bits);
    }
    out
}

/// Each check with its findings.
pub fn checks(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for check in CHECKS {
        let found: Vec<_> = a.found.iter().filter(|(name, _)| *name == check.name).collect();
        let result = if found.is_empty() { "holds" } else { "does not hold" };
        let _ = writeln!(out, "{:<10} {result}: {}", check.name, check.about);
        for (_, diagnostic) in found {
            let _ = writeln!(out, "    {} {}", diagnostic.code, diagnostic.title);
        }
    }
    out
}

/// The values that travel to each section.
pub fn split(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for (section, number) in a.split.sections.iter().zip(0..) {
        let Some(live) = &section.live else { continue };
        let _ = writeln!(out, "{}", head(a, SectionId(number), a.sections.get(SectionId(number))));
        for value in live {
            let known = |is_known: bool, yes: &'static str| if is_known { yes } else { "the device" };
            let (writer, reader) = (value.writer.is_some(), value.reader.is_some());
            let (writer, reader) = (known(writer, "the program"), known(reader, "the program"));
            let _ = writeln!(out, "    {}:{} written by {writer}, read by {reader}", value.name, value.bits);
        }
    }
    out
}

/// The program of each device as text IR.
pub fn devices(a: &Analysis<'_>) -> String {
    let mut out = String::new();
    for (made, name) in a.split.devices.iter().zip(&a.placement.devices) {
        let _ = match made {
            Some(made) => write!(out, "## {name}\n{}", ir::text::write(&made.program)),
            None => writeln!(out, "## {name}\nruns nothing"),
        };
    }
    out
}

/// `section 2 ingress.2 on tor (return)`
fn head(a: &Analysis<'_>, id: SectionId, section: &Section) -> String {
    let call = match section.call {
        None => "",
        Some(CallEnd::Handler) => " (handler)",
        Some(CallEnd::Return) => " (return)",
    };
    format!("section {} {} on {}{call}", id.0, section.name, device(a, section.device))
}

/// The statements of some code; a `Goto` is an empty block with a `@goto`.
fn stmts(a: &Analysis<'_>, code: &[Code]) -> Vec<Stmt> {
    let block = |code: &[Code]| Block { annotations: vec![], stmts: stmts(a, code) };
    let case = |case: &CodeCase| SwitchCase {
        labels: case.labels.clone(),
        body: block(&case.code),
        span: base_diag::Span::NONE,
    };
    let stmt = |piece: &Code| {
        let kind = match piece {
            Code::Stmt(stmt) => return stmt.clone(),
            Code::If(cond, yes, no) => StmtKind::If(cond.clone(), block(yes), block(no)),
            Code::Switch(on, cases) => StmtKind::Switch(on.clone(), cases.iter().map(case).collect()),
            Code::Region(annotations, inner) => {
                StmtKind::Block(Block { annotations: annotations.clone(), ..block(inner) })
            }
            Code::Goto(target) => {
                let name = &a.sections.get(*target).name;
                let annotations = vec![Annotation::string("goto", name.as_str())];
                StmtKind::Block(Block { annotations, stmts: vec![] })
            }
        };
        Stmt { kind, span: base_diag::Span::NONE }
    };
    code.iter().map(stmt).collect()
}

fn device<'p>(a: &'p Analysis<'_>, device: DeviceIndex) -> &'p str {
    a.placement.name(device)
}

fn half(half: Half) -> &'static str {
    match half {
        Half::Ingress => "ingress",
        Half::Egress => "egress",
    }
}

fn list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "none".to_string() } else { names.join(", ") }
}
