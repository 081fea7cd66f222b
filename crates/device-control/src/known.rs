//! Compiled programs, kept for reuse.

use super::{Maker, refusal};
use base_diag::{Diagnostic, SourceMap};
use dataplane_api::Registry;
use device::Options;
use p4runtime_proto::Bytes;
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use p4runtime_server::{Ahead, Status};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target_native::{Compiled, Engine, Report};

/// Number of pushed programs that are kept.
const MOST_SENT: usize = 4;

/// Programs by their text, with their machine code, which devices with the same program share. Clones share the cache.
#[derive(Clone, Default)]
pub struct Known(Arc<Mutex<Programs>>);

#[derive(Default)]
struct Programs {
    /// Parts of a rack's programs.
    own: BTreeMap<Vec<u8>, KnownProgram>,
    /// The programs that controllers pushed last, each with its parts if devices of a rack run these.
    sent: VecDeque<Vec<Pushed>>,
}

/// A text and its program, or why it was refused.
type Pushed = (Bytes, Result<KnownProgram, Status>);

#[derive(Clone)]
pub(super) struct KnownProgram {
    pub(super) program: Arc<ir::Program>,
    pub(super) code: Compiled,
    /// The source text; empty for parts of a rack's programs.
    pub(super) map: SourceMap,
    report: Report,
}

impl Known {
    /// The program with this text, or why it was refused.
    pub(super) fn get(&self, text: &[u8]) -> Option<Result<KnownProgram, Status>> {
        let programs = lock(&self.0);
        let mut sent = programs.sent.iter().flatten();
        let sent = || sent.find(|(known, _)| known == text).map(|(_, program)| program.clone());
        programs.own.get(text).cloned().map(Ok).or_else(sent)
    }

    /// How a text's program is compiled; from now on it is known.
    pub fn engine(
        &self,
        text: &str,
        program: &Arc<ir::Program>,
        registry: &Registry,
    ) -> Result<Report, Vec<Diagnostic>> {
        if let Some(program) = lock(&self.0).own.get(text.as_bytes()) {
            return Ok(program.report.clone());
        }
        let options = Options { registry: registry.clone(), ..Options::default() };
        let code = Engine::compile(program, options)?.compiled();
        let known = KnownProgram::new(Arc::clone(program), code, SourceMap::new());
        let report = known.report.clone();
        lock(&self.0).own.insert(text.as_bytes().to_vec(), known);
        Ok(report)
    }

    /// Compiles programs by their texts, those that are not known, and keeps them together.
    pub(super) fn push<'t>(&self, programs: impl Iterator<Item = (&'t [u8], Arc<ir::Program>)>) {
        let mut all: Vec<Pushed> = vec![];
        for (text, program) in programs {
            if self.get(text).is_none() && all.iter().all(|(known, _)| known != text) {
                all.push((
                    Bytes::copy_from_slice(text),
                    KnownProgram::pushed(program, SourceMap::new(), false),
                ));
            }
        }
        self.note(all);
    }

    /// Remembers compiled programs.
    fn note(&self, all: Vec<Pushed>) {
        let mut programs = lock(&self.0);
        programs.sent.push_back(all);
        if programs.sent.len() > MOST_SENT {
            programs.sent.pop_front();
        }
    }
}

impl KnownProgram {
    fn new(program: Arc<ir::Program>, code: Compiled, map: SourceMap) -> KnownProgram {
        let report = code.report();
        KnownProgram { program, code, map, report }
    }

    /// The program of a controller. Its tables and cells are not made: whether there is memory for them is checked later. `shares`
    /// says that several threads are to run it.
    fn pushed(program: Arc<ir::Program>, map: SourceMap, shares: bool) -> Result<KnownProgram, Status> {
        super::few_externs(&program)?;
        let code = Compiled::new(&program, Options::default().drop_port, shares);
        let code = code.map_err(|problems| refusal("the program cannot run", &problems))?;
        Ok(KnownProgram::new(program, code, map))
    }
}

impl Maker {
    /// Work that compiles a pushed program and keeps the result; nothing if the program is known.
    pub(super) fn compile_ahead(&self, text: &Bytes) -> Option<Ahead> {
        if self.known.get(text).is_some() {
            return None;
        }
        // The program of our own is not needed for another.
        let own = self.own.clone().filter(|_| text.is_empty());
        let maker = Maker { own, ..self.clone() };
        let text = text.clone();
        Some(Box::new(move || {
            let config =
                ForwardingPipelineConfig { p4_device_config: text, ..ForwardingPipelineConfig::default() };
            let compiled = maker.program(&config).and_then(|(program, map)| {
                let shares = maker.shares_program(&program);
                KnownProgram::pushed(program, map, shares)
            });
            maker.known.note(vec![(config.p4_device_config, compiled)]);
        }))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
