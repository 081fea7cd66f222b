//! The file that describes the lab, and the places of the files that it names.

use crate::graph;
use base_diag::Diagnostic;
use base_diag::codes::lab as codes;
use std::path::{Path, PathBuf};

/// Files that describe a lab, in the order in which they are looked for.
const NAMES: [&str; 3] = ["RACK.toml", "topology.json", "p4app.json"];

/// The description of a lab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The file.
    pub file: PathBuf,
    /// Paths in it begin here.
    pub base: PathBuf,
    /// The program that the Makefile beside it names.
    pub program: Option<String>,
}

/// Finds the description by the path of a file or directory. A Makefile says with `TOPO` which of several topologies is meant.
pub fn find(path: &Path) -> Result<Found, Diagnostic> {
    let makefile = |directory: &Path| std::fs::read_to_string(directory.join("Makefile")).unwrap_or_default();
    if path.is_file() {
        let own = directory_of(path);
        // The tutorials name files from the directory above the topology's.
        let names_it = |above: &&Path| variable(&makefile(above), "TOPO").is_some();
        let above = own.parent().filter(names_it);
        let base = above.map_or(own.clone(), directory);
        let program = variable(&makefile(&base), "DEFAULT_PROG");
        return Ok(Found { file: path.to_path_buf(), base, program });
    }
    if !path.is_dir() {
        let problem = Diagnostic::error(codes::BRING_UP, "there is no such file or directory");
        return Err(problem.note(format!("`{}`", path.display())));
    }
    let text = makefile(path);
    let program = variable(&text, "DEFAULT_PROG");
    let found = |file: PathBuf| Found { file, base: path.to_path_buf(), program: program.clone() };
    // p4-utils leaves a graph under the name of the tutorials' descriptions.
    let describes = |file: &PathBuf| {
        file.is_file() && !std::fs::read_to_string(file).is_ok_and(|text| graph::is_graph(&text))
    };
    if let Some(file) = NAMES.iter().map(|name| path.join(name)).find(describes) {
        return Ok(found(file));
    }
    if let Some(file) = variable(&text, "TOPO").map(|topo| path.join(topo)).filter(|file| file.is_file()) {
        return Ok(found(file));
    }
    let mut below: Vec<PathBuf> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("topology.json"))
        .filter(|file| file.is_file())
        .collect();
    below.sort();
    let problem = Diagnostic::error(codes::BRING_UP, "no file here describes a lab");
    match below.as_slice() {
        [file] => Ok(found(file.clone())),
        [] => Err(problem
            .note(format!("`{}` has none of {}", path.display(), NAMES.join(", ")))
            .help("name the file: `p4rack lab FILE`")),
        several => {
            let names: Vec<String> = several.iter().map(|file| format!("`{}`", file.display())).collect();
            Err(Diagnostic::error(codes::BRING_UP, "several files describe a lab")
                .note(names.join(", "))
                .help(format!("name one: `p4rack lab {}`", several[0].display())))
        }
    }
}

fn directory_of(file: &Path) -> PathBuf {
    directory(file.parent().unwrap_or(Path::new("")))
}

fn directory(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_path_buf() }
}

/// The value that a Makefile gives a variable in a line of its own.
fn variable(makefile: &str, name: &str) -> Option<String> {
    let value = |line: &str| {
        let rest = line.strip_prefix(name)?.trim_start();
        let rest = [":=", "?=", "="].iter().find_map(|sign| rest.strip_prefix(sign))?;
        let value = rest.split('#').next().unwrap_or_default().trim();
        (!value.is_empty() && !value.contains('$')).then(|| value.to_string())
    };
    makefile.lines().rev().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_makefiles_are_read() {
        let text = "BMV2_SWITCH_EXE = simple_switch_grpc\nTOPO = pod/topology.json  # one of two\nX := $(TOPO)\n\tTOPO = no\n";
        assert_eq!(variable(text, "TOPO").as_deref(), Some("pod/topology.json"));
        assert_eq!(variable(text, "X"), None);
        assert_eq!(variable(text, "DEFAULT_PROG"), None);
    }
}
