//! A block's example program, compiled, and on a device.

use base_bits::{BitReader, BitWriter};
use base_diag::{Diagnostic, SourceMap, Style, render};
use base_time::Time;
use compiler::Until;
use device::{Options, Switch};
use ir::Program;
use p4_blocks::{Block, Direction, Form, Port, Request};
use p4_syntax::{LoadError, Loader};
use std::sync::Arc;
use target_native::Engine;

/// The file's name in diagnostics.
const FILE: &str = "block.p4";

/// One text, and the files that are built in.
struct Text {
    text: Arc<str>,
    form: Form,
}

impl Loader for Text {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == FILE { Ok(Arc::clone(&self.text)) } else { Err(LoadError::NotFound) }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        let block = || p4_blocks::include(name, self.form).map(Arc::from);
        p4_arch::include(name).map(Arc::from).or_else(block)
    }
}

/// The example program of a block.
///
/// # Panics
///
/// If the generated text is no program, which is a bug.
pub fn compile(block: &Block, request: &Request, form: Form) -> (Arc<Program>, SourceMap) {
    let mut map = SourceMap::new();
    match compile_text(&p4_blocks::example(block, request), form, None, &mut map) {
        Ok(program) => (program, map),
        Err(why) => panic!("{}: {why}", block.name),
    }
}

/// A program that includes blocks in this form, for a Tofino of this generation, if it is for one.
pub(crate) fn compile_text(
    text: &str,
    form: Form,
    tofino: Option<u32>,
    map: &mut SourceMap,
) -> Result<Arc<Program>, String> {
    let loader = Text { text: text.into(), form };
    let defines = tofino.map(|generation| format!("__TARGET_TOFINO__={generation}")).into_iter().collect();
    let options = p4_syntax::Options { defines, ..p4_syntax::Options::default() };
    let compiled = compiler::compile(FILE, &loader, &options, Until::Elaborated, map);
    let found = &compiled.diagnostics;
    match compiled.program {
        Some(program) if found.is_empty() => Ok(program),
        _ => Err(shown(found, map)),
    }
}

/// The same program, printed and compiled again.
pub(crate) fn printed(program: &Program, mut map: SourceMap) -> Arc<Program> {
    let text = target_p4::print(program);
    compiler::reparse("printed.p4", &text, &mut map).unwrap_or_else(|found| panic!("{}", shown(&found, &map)))
}

fn shown(found: &[Diagnostic], map: &SourceMap) -> String {
    found.iter().map(|diagnostic| render(diagnostic, map, Style::Plain)).collect()
}

/// A device that runs a block's program.
pub struct Device {
    switch: Switch,
    ports: Vec<Port>,
}

fn options() -> Options {
    let mut options = Options::default();
    netfn_values::register(&mut options.registry);
    options
}

impl Device {
    /// By the reference interpreter.
    pub fn interpreter(program: Arc<Program>, ports: &[Port]) -> Device {
        let switch = ir_interp::switch(program, options());
        let switch = switch.unwrap_or_else(|found| panic!("the interpreter refuses it: {found:#?}"));
        Device { switch, ports: ports.to_vec() }
    }

    /// As machine code.
    pub fn engine(program: &Program, ports: &[Port]) -> Device {
        let engine = Engine::compile(program, options());
        let engine = engine.unwrap_or_else(|found| panic!("the engine refuses it: {found:#?}"));
        Device { switch: engine.into_switch(), ports: ports.to_vec() }
    }

    /// The outputs for these inputs, by a packet that carries them.
    pub fn apply(&mut self, values: &[u128]) -> Vec<u128> {
        let mut frame = BitWriter::new();
        let inputs = self.ports.iter().filter(|port| port.direction == Direction::In);
        for (port, value) in inputs.zip(values) {
            frame.push_u128(port.bits.next_multiple_of(8), *value);
        }
        let sent = self.switch.process(1, &frame.finish(), Time::ZERO);
        let Some(packet) = sent.first() else { return vec![] };
        let mut reader = BitReader::new(&packet.frame);
        let outputs = self.ports.iter().filter(|port| port.direction == Direction::Out);
        outputs
            .map(|port| reader.read(port.bits.next_multiple_of(8)).map_or(0, |bits| bits.low_u128()))
            .collect()
    }
}
