//! A checkout of p4lang/p4c: where its programs are and how they are compiled.
#![allow(dead_code)]

use base_diag::{Diagnostic, Severity, SourceMap};
use compiler::{Compiled, Until, compile};
use p4_syntax::{LoadError, Loader};
use p4rack::Disk;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files on disk, but never the suite's form of an architecture file that is built in.
pub struct Suite {
    include: PathBuf,
}

impl Loader for Suite {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        let ours = |name: &Path| p4_arch::include(&name.to_string_lossy()).is_some();
        match Path::new(path).strip_prefix(&self.include) {
            Ok(name) if ours(name) => Err(LoadError::NotFound),
            _ => Disk.read(path),
        }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        Disk.builtin(name)
    }
}

impl Suite {
    pub fn new(directory: &Path) -> Suite {
        Suite { include: directory.join("p4include") }
    }

    pub fn compile(&self, path: &Path, map: &mut SourceMap) -> Compiled {
        let options = p4_syntax::Options {
            include_dirs: vec![self.include.to_string_lossy().into_owned()],
            ..Default::default()
        };
        compile(&path.to_string_lossy(), self, &options, Until::Elaborated, map)
    }
}

/// The programs that are tried.
pub fn programs(suite: &Path) -> Vec<PathBuf> {
    let samples = suite.join("testdata/p4_16_samples");
    let mut programs = in_directory(&samples);
    for folder in ["dash", "pins", "parser-inline"] {
        programs.extend(in_directory(&samples.join(folder)));
    }
    programs.extend([samples.join("fabric_20190420/fabric.p4"), samples.join("omec/up4.p4")]);
    programs.retain(|p| p.is_file());
    programs
}

pub fn in_directory(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let mut list: Vec<_> = entries.filter(|p| p.extension().is_some_and(|e| e == "p4")).collect();
    list.sort();
    list
}

/// A panic is a result too.
pub fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| Err("panic".to_string()))
}

pub fn first(diagnostics: &[Diagnostic], map: &SourceMap) -> String {
    let error = diagnostics.iter().find(|d| d.severity == Severity::Error);
    let Some(error) = error.or(diagnostics.first()) else { return "nothing said".to_string() };
    let label = error.labels.first().map(|l| {
        let text = map.text(l.span).lines().next().unwrap_or("").to_string();
        format!(" ({}: `{text}`)", l.text)
    });
    format!("{} {}{}", error.code, error.title, label.unwrap_or_default())
}
