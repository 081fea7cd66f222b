//! Entries for a rack's devices: a file in any language of entries, checked against the whole program and written to
//! the device that has the object each names.

use crate::bmv2;
use crate::run;
use crate::sources;
use base_diag::{Diagnostic, SourceMap};
use control_writes::{Target, settled};
use device::Options;
use device_control::{Offered, offered};
use ir::{MatchKind, Name, Program, Table, TableKey};
use ir_fill::{Resolver, Write};
use p4runtime_proto::p4::v1::ReadResponse;
use p4runtime_proto::to_text;
use p4runtime_store::Names;
use std::path::Path;
use std::sync::Arc;

/// Writes of an entries file, in the whole program's terms and in the file's order.
#[derive(Clone, Default, Debug)]
pub struct Entries {
    writes: Vec<Write>,
    /// Warnings about ignored parts of the file.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a file. All that is wrong with it is reported at once: a device with the whole program takes all of it, or it is refused.
pub fn read(path: &Path, whole: &Arc<Program>, map: &mut SourceMap) -> Result<Entries, Vec<Diagnostic>> {
    let (text, base) = sources::read(path, map).map_err(|d| vec![d])?;
    read_text(path, &text, base, whole)
}

/// The same for the text of a file, whose first byte has the number `base`.
pub fn read_text(
    path: &Path,
    text: &str,
    base: u32,
    whole: &Arc<Program>,
) -> Result<Entries, Vec<Diagnostic>> {
    let filling = run::entries::read(whole, path, text, base)?;
    let options = Options { registry: crate::functions::declared(whole), ..Options::default() };
    let mut device = ir_interp::switch(Arc::clone(whole), options)?;
    let mut writes = vec![];
    let mut resolver = Resolver::new(whole)?;
    filling.resolve(&mut resolver, &mut |placed| {
        placed.write_to(&mut device)?;
        writes.push((placed.write.clone(), placed.span));
        Ok(())
    })?;
    let writes = settled(writes, |table, key| resolver.is_own(table, key));
    Ok(Entries { writes: writes.into_iter().map(|(write, _)| write).collect(), warnings: filling.warnings })
}

/// The program with the CRC parameters that its entries set, and the other entries: parts of a rack's program keep annotations, while P4Runtime,
/// which fills them, has no such parameters.
pub(crate) fn with_parameters(program: Arc<Program>, mut entries: Entries) -> (Arc<Program>, Entries) {
    let mut program = program;
    entries.writes.retain(|write| match write {
        Write::CustomCrc { calculation, width, to } => {
            // Entries are checked: the calculation is there.
            !device::annotate_crc(Arc::make_mut(&mut program), calculation.as_deref(), *width, *to)
        }
        _ => true,
    });
    (program, entries)
}

impl Entries {
    /// Entries that come from no file.
    pub fn of(writes: Vec<Write>) -> Entries {
        Entries { writes, warnings: vec![] }
    }

    /// All of it.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// True if something is written to the table of this control-plane name.
    pub fn fills(&self, table: &str) -> bool {
        self.writes.iter().any(|write| matches!(write.target(), Target::Table(name) if name == table))
    }

    /// Writes for a device that runs `part`; those to the traffic manager only if the device is the origin.
    pub fn for_part<'e>(&'e self, part: &'e Program, is_origin: bool) -> impl Iterator<Item = &'e Write> {
        self.writes.iter().filter(move |write| match write.target() {
            Target::TrafficManager => is_origin,
            target => has(part, target),
        })
    }
}

/// Entities read by P4Runtime, as commands of `simple_switch_CLI` that write the same. Error: a reason why commands
/// cannot express them.
pub fn commands(program: &Program, found: &ReadResponse) -> Result<String, String> {
    let said =
        |problems: &[Diagnostic]| problems.first().map_or(String::new(), |problem| problem.title.clone());
    let Offered { info, plain, initial, .. } = offered(program).map_err(|problems| said(&problems))?;
    let text = to_text(found).map_err(|error| error.to_string())?;
    let names = Names::new(&info, &plain, &initial);
    let (placed, problems) = p4runtime_entries::read(&text, 1, &plain, names, &[]);
    if !problems.is_empty() {
        return Err(said(&problems));
    }
    let writes: Vec<Write> = placed.into_iter().map(|(write, _)| write).collect();
    Ok(bmv2::fill_commands(program, &writes))
}

/// Entries of a table with such keys have priorities: BMv2 and P4Runtime agree.
pub fn is_ranked(table: &Table) -> bool {
    let ranked =
        |k: &TableKey| matches!(k.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional);
    table.keys.iter().any(ranked)
}

/// True if a program has the target of a write.
pub fn has(part: &Program, target: Target<'_, Name>) -> bool {
    match target {
        Target::Table(name) => {
            part.controls.iter().flat_map(|c| &c.tables).any(|t| t.control_plane_name == *name)
        }
        Target::ValueSet(name) => {
            part.parsers.iter().flat_map(|p| &p.value_sets).any(|set| set.control_plane_name == *name)
        }
        Target::Object(name) => part.instances.iter().any(|i| i.control_plane_name == *name),
        // The northbound server groups digests, so their settings do not belong to a device.
        Target::TrafficManager | Target::Digest(_) => false,
        Target::Hashes => true,
    }
}
