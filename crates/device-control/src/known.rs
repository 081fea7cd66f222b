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
pub struct Known {
    programs: Arc<Mutex<Programs>>,
    codes: Codes,
}

/// Machine code of parts of racks' programs, for racks that are made one after the other: programs that differ in the sizes of their tables alone have the same.
/// Clones share it.
#[derive(Clone, Default)]
pub struct Codes(Arc<Mutex<BTreeMap<String, Vec<Compiled>>>>);

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

impl Codes {
    /// The code of a program with this text, compiled if no program like it was.
    fn of(
        &self,
        text: &str,
        program: &Arc<ir::Program>,
        drop_port: u32,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let key = without_sizes(text);
        let known = lock(&self.0).get(&key).and_then(|all| all.iter().find_map(|code| code.resized(program)));
        if let Some(code) = known {
            return Ok(code);
        }
        let code = Compiled::new(program, drop_port, false)?;
        lock(&self.0).entry(key).or_default().push(code.clone());
        Ok(code)
    }
}

/// The printed text of a program without the sizes of its tables.
fn without_sizes(text: &str) -> String {
    // Open braces since the table began; 0 outside of tables.
    let (mut open, mut kept) = (0, String::with_capacity(text.len()));
    for line in text.lines() {
        let is_table = open > 0 || line.trim_start().starts_with("table ");
        if open > 0 && line.trim_start().starts_with("size = ") {
            continue;
        }
        if is_table {
            open += line.matches('{').count();
            open -= open.min(line.matches('}').count());
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

impl Known {
    /// No programs are known, and code is shared.
    pub fn sharing(codes: &Codes) -> Known {
        Known { codes: codes.clone(), ..Known::default() }
    }

    /// The program with this text, or why it was refused.
    pub(super) fn get(&self, text: &[u8]) -> Option<Result<KnownProgram, Status>> {
        let programs = lock(&self.programs);
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
        if let Some(program) = lock(&self.programs).own.get(text.as_bytes()) {
            return Ok(program.report.clone());
        }
        let options = Options { registry: registry.clone(), ..Options::default() };
        let code = self.codes.of(text, program, options.drop_port)?;
        // A device that lacks externs refuses it.
        let code = Engine::of(&code, options)?.compiled();
        let known = KnownProgram::new(Arc::clone(program), code, SourceMap::new());
        let report = known.report.clone();
        lock(&self.programs).own.insert(text.as_bytes().to_vec(), known);
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
        let mut programs = lock(&self.programs);
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

#[cfg(test)]
mod tests {
    use super::{Codes, Known, lock};
    use base_diag::SourceMap;
    use base_time::Time;
    use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
    use dataplane_api::Registry;
    use device::Options;
    use target_native::Engine;

    /// The table has this size; the action stores the number.
    fn text(size: u32, stored: u32) -> String {
        format!(
            "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<16> key; bit<8> size; }}
struct none {{ }}
struct headers {{ h_t h; }}
parser P(packet_in p, out headers h, inout none m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.h); transition accept; }}
}}
control C(inout headers h, inout none m) {{ apply {{ }} }}
control I(inout headers h, inout none m, inout standard_metadata_t s) {{
    bit<8> size = 0;
    action store() {{
        size = {stored};
        h.h.size = size;
        s.egress_spec = 1;
    }}
    table t {{
        key = {{
            h.h.key : exact;
        }}
        actions = {{
            store;
            NoAction;
        }}
        size = {size};
    }}
    apply {{ t.apply(); }}
}}
control E(inout headers h, inout none m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h.h); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
        )
    }

    /// Entries that a device takes, and the last byte of a frame that hits the last one of these.
    fn try_out(codes: &Codes, size: u32, stored: u32) -> (usize, u8) {
        let (known, text) = (Known::sharing(codes), text(size, stored));
        let program = compiler::reparse("t.p4", &text, &mut SourceMap::new()).expect("it compiles");
        assert!(known.engine(&text, &program, &Registry::default()).expect("it runs").compiled);
        let code = known.get(text.as_bytes()).expect("it is known").expect("it runs").code;
        let mut switch = Engine::of(&code, Options::default()).expect("it runs").into_switch();
        let entry = |key: u128| Write::Entry {
            table: "I.t".into(),
            key: EntryKey { matches: [Match::Exact(base_bits::Bits::new(16, key))].into(), priority: 0 },
            to: Some(Box::new(Entry::new(Run::Action(ActionCall {
                action: "I.store".into(),
                args: vec![],
            })))),
            count: None,
        };
        let taken = (0..20).filter(|key| switch.write(&entry(*key), Time::ZERO).is_ok()).count();
        let out = switch.process(0, &[0, taken as u8 - 1, 0], Time::ZERO);
        (taken, out[0].frame[2])
    }

    #[test]
    fn programs_that_differ_in_the_sizes_of_tables_share_code_and_nothing_else() {
        let codes = Codes::default();
        assert_eq!(
            [try_out(&codes, 4, 5), try_out(&codes, 8, 5), try_out(&codes, 12, 5)],
            [(4, 5), (8, 5), (12, 5)]
        );
        let made = || lock(&codes.0).values().map(Vec::len).sum::<usize>();
        assert_eq!(made(), 1);
        assert_eq!((try_out(&codes, 5000, 5), made()), ((20, 5), 2), "the table is an array");
        assert_eq!((try_out(&codes, 8, 6), made()), ((8, 6), 3), "a variable is no table's size");
    }
}
