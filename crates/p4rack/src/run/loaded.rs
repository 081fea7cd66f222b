//! One device with a program, for other languages: [`Loaded::new`] compiles a file, [`Loaded::fill`] writes entries. Errors are texts for users.

use super::{Engine, Job, entries};
use crate::{Disk, functions, sources};
use base_diag::{Diagnostic, SourceMap, Style, render};
use compiler::{Until, compile};
use device::Switch;
use ir::Program;
use ir_fill::Resolver;
use std::path::Path;
use std::sync::Arc;

/// A device that runs a program.
pub struct Loaded {
    /// The device.
    pub switch: Switch,
    /// Names of entries.
    pub resolver: Resolver,
    program: Arc<Program>,
    map: SourceMap,
}

impl Loaded {
    /// Compiles a program; `defines` are macros, `engine` is `native` or `interp`.
    pub fn new(main: &str, defines: Vec<String>, engine: &str, seed: u64) -> Result<Loaded, String> {
        let engine = match engine {
            "native" => Engine::Native,
            "interp" => Engine::Interp,
            other => return Err(format!("there is no engine `{other}`: `native` or `interp`")),
        };
        let mut map = SourceMap::new();
        let options = p4_syntax::Options { defines, ..p4_syntax::Options::default() };
        let compiled = compile(main, &Disk, &options, Until::Elaborated, &mut map);
        let Some(program) = compiled.program else { return Err(text(&compiled.diagnostics, &map)) };
        let made = functions::runnable(&program).and_then(|registry| {
            let program = Arc::clone(&program);
            let (fillings, interval, cpu_port) = (vec![], None, None);
            Job { program, fillings, seed, interval, cpu_port, trace: false, engine, registry }.device()
        });
        let (switch, resolver) = made.map_err(|found| text(&found, &map))?;
        Ok(Loaded { switch, resolver, program, map })
    }

    /// Writes the entries of a file, in any of the languages of `p4rack run --entries`.
    pub fn fill_file(&mut self, path: &Path) -> Result<(), String> {
        let read = sources::read(path, &mut self.map);
        let (entries, base) = read.map_err(|found| text(&[found], &self.map))?;
        self.fill_at(path, &entries, base)
    }

    /// Writes entries given as text.
    pub fn fill(&mut self, entries: &str) -> Result<(), String> {
        let base = sources::add("entries", entries, &mut self.map);
        let base = base.map_err(|_| "too much text for one switch: make another one".to_string())?;
        self.fill_at(Path::new("entries"), entries, base)
    }

    fn fill_at(&mut self, path: &Path, entries: &str, start: u32) -> Result<(), String> {
        let filling = entries::read(&self.program, path, entries, start);
        let filled = filling.and_then(|filling| filling.fill(&mut self.resolver, &mut self.switch));
        filled.map_err(|found| text(&found, &self.map))
    }
}

fn text(found: &[Diagnostic], map: &SourceMap) -> String {
    found.iter().map(|problem| render(problem, map, Style::Plain)).collect()
}
