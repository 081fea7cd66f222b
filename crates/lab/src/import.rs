//! `p4rack import`: the text of a `RACK.toml` with the network of a lab.

use crate::find::find;
use crate::prepare::{Wishes, program_files, read};
use base_diag::{Diagnostic, SourceMap};
use lab_model::{Entries, to_rack_text};
use std::path::Path;

/// The rack of a lab, to be written into `directory`: its paths begin there. Warnings come with it.
pub fn import(
    path: &Path,
    wishes: &Wishes,
    directory: &Path,
    map: &mut SourceMap,
) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
    let found = find(path).map_err(|problem| vec![problem])?;
    let (lab, problems) = read(&found, map);
    let Some(mut lab) = lab else { return Err(problems) };
    let files = program_files(&found, wishes, &lab, map)?;
    let programs: Vec<String> = files.iter().map(|file| seen_from(directory, file)).collect();
    for switch in &mut lab.switches {
        for entries in &mut switch.entries {
            let (Entries::Runtime(file) | Entries::Commands(file) | Entries::Any(file)) = entries;
            file.value = seen_from(directory, &found.base.join(&file.value));
        }
    }
    Ok((to_rack_text(&lab, &programs), problems))
}

/// A path that is right where `directory` is the current one: short where the file is below it.
fn seen_from(directory: &Path, file: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (directory, file) = (absolute(directory), absolute(file));
    file.strip_prefix(&directory).unwrap_or(&file).display().to_string()
}
