//! Rows of measurements, and the source of each row's program.

use crate::families;
use base_diag::SourceMap;
use ir::Program;
use p4_syntax::{LoadError, Loader, Options};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program as the open compiler placed it.
pub struct Row {
    /// Name of the program.
    pub program: String,
    /// `tofino` or `tofino2`.
    pub device: String,
    /// Other columns by name; empty ones are missing.
    pub values: BTreeMap<String, u64>,
}

impl Row {
    /// A column's value.
    pub fn get(&self, column: &str) -> Option<u64> {
        self.values.get(column).copied()
    }

    /// Containers that stages see.
    #[allow(dead_code)]
    pub fn containers(&self) -> u64 {
        ["phv_8", "phv_16", "phv_32"].iter().filter_map(|c| self.get(c)).sum()
    }

    /// Containers that stages do not see.
    pub fn tagalong(&self) -> u64 {
        ["tagalong_8", "tagalong_16", "tagalong_32"].iter().filter_map(|c| self.get(c)).sum()
    }
}

/// The rows of a file with a header line; lines that begin with `#` are comments.
pub fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let values = names.iter().zip(&cells).filter_map(|(n, c)| Some((n.to_string(), c.parse().ok()?)));
        Row { program: cells[0].to_string(), device: cells[1].to_string(), values: values.collect() }
    };
    lines.map(row).collect()
}

struct Files<'a> {
    main: Option<&'a str>,
}

impl Loader for Files<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        match self.main {
            Some(text) if path == "main.p4" => Ok(text.into()),
            _ => std::fs::read_to_string(path).map(Arc::from).map_err(|_| LoadError::NotFound),
        }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}

/// The elaborated program of a row: of the families, or a file in one of the folders. `p4c_NAME` is `p4c/NAME.p4`,
/// `p4studio_NAME` is `p4studio/NAME/NAME.p4`.
pub fn program(row: &Row, folder: &str) -> Option<Result<Program, String>> {
    let generated = families::program(&row.program);
    let path = match (&generated, row.program.split_once('_')?) {
        (Some(_), _) => "main.p4".to_string(),
        (None, ("p4c", name)) => format!("{folder}/p4c/{name}.p4"),
        (None, ("p4studio", name)) => format!("{folder}/p4studio/{name}/{name}.p4"),
        _ => return None,
    };
    if generated.is_none() && !std::path::Path::new(&path).exists() {
        return None;
    }
    let target = if row.device == "tofino2" { 2 } else { 1 };
    let options = Options {
        defines: vec![format!("__TARGET_TOFINO__={target}")],
        include_dirs: vec![format!("{folder}/p4studio")],
        ..Options::default()
    };
    Some(elaborate(&path, &Files { main: generated.as_deref() }, &options, &mut SourceMap::new()))
}

/// The elaborated program of a source text for a Tofino of this generation; the first error, if there is one.
#[allow(dead_code)]
pub fn elaborate_text(text: &str, target: u32, map: &mut SourceMap) -> Result<Program, String> {
    let defines = vec![format!("__TARGET_TOFINO__={target}")];
    elaborate("main.p4", &Files { main: Some(text) }, &Options { defines, ..Options::default() }, map)
}

/// Source to an elaborated program; the first error, if there is one.
fn elaborate(
    path: &str,
    loader: &dyn Loader,
    options: &Options,
    map: &mut SourceMap,
) -> Result<Program, String> {
    let parsed = p4_syntax::parse(path, loader, options, map);
    let mut errors = parsed.diagnostics;
    let (typed, found) = p4_check::check(&parsed.program);
    found.into_iter().for_each(|d| errors.push(d));
    let first = |errors: base_diag::Diagnostics| {
        let error = errors.into_sorted(map).into_iter().find(|d| d.severity == base_diag::Severity::Error);
        error.map_or("no program".to_string(), |d| d.title)
    };
    if errors.has_errors() {
        return Err(first(errors));
    }
    let (program, found) = ir_elaborate::elaborate(&typed);
    found.into_iter().for_each(|d| errors.push(d));
    match program {
        Some(program) if !errors.has_errors() => Ok(program),
        _ => Err(first(errors)),
    }
}
