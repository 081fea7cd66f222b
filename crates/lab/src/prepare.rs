//! From a description to the switches' programs: files read, programs compiled, entries checked. Nothing of the lab
//! exists yet.

use crate::find::Found;
use base_diag::codes::lab as codes;
use base_diag::{Diagnostic, Severity, SourceMap};
use compiler::{Until, compile};
use ir::Program;
use lab_model::{Entries, Form, Lab, Switch};
use p4rack::{Disk, bmv2, sources};
use p4runtime_proto::p4::v1::Update;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of the command line.
#[derive(Clone, Default, Debug)]
pub struct Wishes {
    /// Programs by switch; of all switches where no name stands.
    pub programs: Vec<(Option<String>, PathBuf)>,
    /// Programs are looked for here first.
    pub directories: Vec<PathBuf>,
    /// Paths in the description begin here, and hosts' commands run here; `None`: where the description is.
    pub base: Option<PathBuf>,
    /// Preprocessor options.
    pub options: p4_syntax::Options,
}

/// A lab whose files have been read.
pub struct Prepared {
    /// Description of the lab.
    pub lab: Lab,
    /// Program of each switch, indexed as in the lab.
    pub switches: Vec<Ready>,
    /// Programs with the names of their files, each once.
    pub programs: Vec<(PathBuf, Arc<Program>)>,
    /// Paths in the description begin here.
    pub base: PathBuf,
}

/// Program and entries of a switch.
pub struct Ready {
    /// The file of its program.
    pub file: PathBuf,
    /// The program.
    pub program: Arc<Program>,
    /// Entries.
    pub updates: Vec<Update>,
    /// Commands for what P4Runtime cannot express: parameters of hashes.
    pub commands: Vec<String>,
}

/// Reads the description alone.
pub fn read(found: &Found, map: &mut SourceMap) -> (Option<Lab>, Vec<Diagnostic>) {
    let (text, start) = match sources::read(&found.file, map) {
        Ok(read) => read,
        Err(problem) => return (None, vec![problem]),
    };
    let name = found.file.file_name().unwrap_or_default().to_string_lossy();
    let (lab, problems) = match lab_model::form(&name, &text) {
        Some(Form::Tutorial) => lab_model::read_tutorial(&text, start),
        Some(Form::P4App) => lab_model::read_p4app(&text, start),
        Some(Form::Rack) => of_rack(&text, start),
        None => {
            let problem = Diagnostic::error(codes::BRING_UP, "this file describes no lab");
            let problem =
                problem.note(format!("`{}` has neither hosts nor a topology", found.file.display()));
            (None, vec![problem.help("a lab is a topology.json, a p4app.json or a RACK.toml: `docs/lab.md`")])
        }
    };
    (lab, problems)
}

fn of_rack(text: &str, start: u32) -> (Option<Lab>, Vec<Diagnostic>) {
    let (rack, mut problems) = rack_model::read_rack(text, start);
    match rack.as_ref().map(lab_model::from_rack) {
        Some(Ok(lab)) => (Some(lab), problems),
        Some(Err(found)) => {
            problems.extend(found);
            (None, problems)
        }
        None => (None, problems),
    }
}

/// Reads everything that the description names. All that is wrong is reported at once.
pub fn prepare(
    found: &Found,
    wishes: &Wishes,
    map: &mut SourceMap,
) -> Result<(Prepared, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (lab, mut problems) = read(found, map);
    let Some(lab) = lab else { return Err(problems) };
    for (name, _) in wishes.programs.iter().filter_map(|(name, file)| name.as_ref().map(|name| (name, file)))
    {
        if lab.switch(name).is_none() {
            let problem =
                Diagnostic::error(codes::BRING_UP, format!("there is no switch `{}`", name.escape_debug()));
            problems
                .push(problem.suggest(name, lab.switches.iter().map(|switch| switch.name.value.as_str())));
        }
    }
    let mut compiled: BTreeMap<(PathBuf, Vec<String>), Option<Arc<Program>>> = BTreeMap::new();
    let mut switches = vec![];
    let mut programs = vec![];
    for switch in &lab.switches {
        let file = match program_file(found, wishes, &lab, switch, map) {
            Ok(file) => file,
            Err(problem) => {
                problems.push(*problem);
                continue;
            }
        };
        let key = (file.clone(), switch.defines.clone());
        let program = compiled.entry(key).or_insert_with(|| {
            let (program, found) = compiled_program(found, wishes, switch, &file, map);
            problems.extend(found);
            programs.extend(program.clone().map(|program| (file.clone(), program)));
            program
        });
        let Some(program) = program.clone() else { continue };
        let (mut updates, mut commands) = (vec![], vec![]);
        for entries in &switch.entries {
            match entries_of(found, entries, &program, map) {
                Ok(filling) => {
                    updates.extend(filling.updates);
                    commands.extend(filling.commands);
                    problems.extend(filling.warnings);
                }
                Err(found) => problems.extend(found),
            }
        }
        switches.push(Ready { file, program, updates, commands });
    }
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(once(problems));
    }
    Ok((Prepared { lab, switches, programs, base: found.base.clone() }, once(problems)))
}

/// The files of the switches' programs.
pub fn program_files(
    found: &Found,
    wishes: &Wishes,
    lab: &Lab,
    map: &mut SourceMap,
) -> Result<Vec<PathBuf>, Vec<Diagnostic>> {
    let (mut files, mut problems) = (vec![], vec![]);
    for switch in &lab.switches {
        match program_file(found, wishes, lab, switch, map) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() { Ok(files) } else { Err(problems) }
}

/// Several switches may have the same file, and then the same problems.
fn once(problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut reported: Vec<Diagnostic> = vec![];
    for problem in problems {
        if !reported.contains(&problem) {
            reported.push(problem);
        }
    }
    reported
}

fn compiled_program(
    found: &Found,
    wishes: &Wishes,
    switch: &Switch,
    file: &Path,
    map: &mut SourceMap,
) -> (Option<Arc<Program>>, Vec<Diagnostic>) {
    let mut options = wishes.options.clone();
    options.defines.extend(switch.defines.iter().cloned());
    options
        .include_dirs
        .extend(switch.include.iter().map(|directory| found.base.join(directory).display().to_string()));
    let compiled = compile(&file.display().to_string(), &Disk, &options, Until::Elaborated, map);
    (compiled.program, compiled.diagnostics)
}

/// Content of a file of entries.
struct Filling {
    updates: Vec<Update>,
    /// For what P4Runtime cannot express.
    commands: Vec<String>,
    warnings: Vec<Diagnostic>,
}

fn entries_of(
    found: &Found,
    entries: &Entries,
    program: &Arc<Program>,
    map: &mut SourceMap,
) -> Result<Filling, Vec<Diagnostic>> {
    let named = entries.file();
    let path = found.base.join(&named.value);
    if !path.is_file() {
        let title = "a file of entries is missing";
        let problem = Diagnostic::error(codes::BRING_UP, title).at(named.span, "there is no such file");
        let problem = problem.note(format!("`{}`", path.display()));
        return Err(vec![match sources::near(&path) {
            Some(near) => problem.help(format!("did you mean `{}`?", near.display())),
            None => problem,
        }]);
    }
    let has_commands = matches!(entries, Entries::Commands(_));
    let entries = p4rack::entries::read(&path, program, map)?;
    let mut commands: Vec<String> = entries.writes().iter().filter_map(bmv2::crc_command).collect();
    let mut warnings = entries.warnings.clone();
    if has_commands {
        // A file that has just been read.
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        commands.extend(bmv2::queue_commands(&text));
        warnings.retain(|warning| !bmv2::is_about_queues(warning));
    }
    let is_hash = |write: &ir_fill::Write| matches!(write, ir_fill::Write::CustomCrc { .. });
    let writes: Vec<ir_fill::Write> =
        entries.writes().iter().filter(|write| !is_hash(write)).cloned().collect();
    let updates = device_control::updates(&writes, program)?;
    Ok(Filling { updates, commands, warnings })
}

/// The file of a switch's program: from the command line, the description, the file of entries, the Makefile, or the
/// only program in the directory.
fn program_file(
    found: &Found,
    wishes: &Wishes,
    lab: &Lab,
    switch: &Switch,
    map: &mut SourceMap,
) -> Result<PathBuf, Box<Diagnostic>> {
    let wished = |name: Option<&str>| wishes.programs.iter().find(|(of, _)| of.as_deref() == name);
    if let Some((_, file)) = wished(Some(&switch.name.value)).or_else(|| wished(None)) {
        return Ok(file.clone());
    }
    // The tutorials' script gives a switch the program of its runtime file last.
    let by_entries = switch.entries.iter().rev().find_map(|entries| {
        let Entries::Runtime(file) = entries else { return None };
        let (text, start) = sources::read(&found.base.join(&file.value), map).ok()?;
        lab_model::program_of(&text, start)
    });
    let title = format!("`{}` has no program", switch.name.value);
    let problem = Diagnostic::error(codes::BRING_UP, title);
    if let Some(named) = by_entries.or_else(|| switch.program.clone()).or_else(|| lab.program.clone()) {
        let source = source_name(&named.value);
        return look_for(found, wishes, &source).ok_or_else(|| {
            let problem = problem.at(named.span, format!("there is no `{source}`"));
            Box::new(problem.help("name the program: `--program FILE`, or `--program SWITCH=FILE`"))
        });
    }
    if let Some(file) = found.program.as_ref().and_then(|name| look_for(found, wishes, name)) {
        return Ok(file);
    }
    let here = wishes.directories.iter().chain([&found.base]).find_map(|directory| {
        let mut all = programs_in(directory);
        (!all.is_empty()).then(|| (all.len() == 1).then(|| all.remove(0)))
    });
    match here {
        Some(Some(only)) => Ok(only),
        Some(None) => Err(Box::new(
            problem
                .at(switch.name.span, "several programs could run on it, and none is named")
                .help("name the program: `--program FILE`, or `--program SWITCH=FILE`"),
        )),
        None => Err(Box::new(
            problem
                .at(switch.name.span, format!("there is no `.p4` in `{}`", found.base.display()))
                .help("name the program: `--program FILE`, or `--program SWITCH=FILE`"),
        )),
    }
}

/// `basic.p4` for a compiler's output: `build/basic.json`, `build/basic.p4.p4info.txtpb`. Sources keep their paths.
fn source_name(named: &str) -> String {
    let path = Path::new(named);
    if path.extension().is_some_and(|extension| extension == "p4") {
        return named.to_string();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    format!("{stem}.p4")
}

/// A program's file, in the directories of the command line or beside the description.
fn look_for(found: &Found, wishes: &Wishes, name: &str) -> Option<PathBuf> {
    let directories = wishes.directories.iter().cloned();
    let beside = found.file.parent().map(Path::to_path_buf);
    let bases = directories.chain([found.base.clone()]).chain(beside);
    bases.map(|base| joined(&base, name)).find(|file| file.is_file())
}

/// A path as a user writes it: without a `.` before it.
fn joined(base: &Path, name: &str) -> PathBuf {
    if base == Path::new(".") { PathBuf::from(name) } else { base.join(name) }
}

fn programs_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "p4"))
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn what_a_compiler_makes_leads_back_to_its_source() {
        for (named, source) in [
            ("build/basic.json", "basic.p4"),
            ("build/basic.p4.p4info.txtpb", "basic.p4"),
            ("basic.p4", "basic.p4"),
            ("p4src/basic.p4", "p4src/basic.p4"),
        ] {
            assert_eq!(source_name(named), source);
        }
    }
}
