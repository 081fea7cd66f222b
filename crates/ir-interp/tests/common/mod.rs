//! Programs from source for the tests.
#![allow(dead_code)]

use base_diag::{Diagnostic, Severity, SourceMap, Span, Style, render};
use dataplane_api::Registry;
use device::{Options, Switch};
use ir_fill::run_stf;
use p4_syntax::{LoadError, Loader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A source and what was made of it.
pub struct Test {
    pub map: SourceMap,
    pub program: Arc<ir::Program>,
}

struct Files;

impl Loader for Files {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        std::fs::read_to_string(path).map(Arc::from).map_err(|_| LoadError::NotFound)
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}

/// One file that is not on disk, beside those that are.
struct Inline<'s>(&'s str);

impl Loader for Inline<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        let inline = path.ends_with("inline.p4");
        if inline { Ok(Arc::from(self.0)) } else { Files.read(path) }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        Files.builtin(name)
    }
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

impl Test {
    /// The names of all tests with packets that need no file of entries.
    pub fn names() -> Vec<String> {
        let files = std::fs::read_dir(testdata()).expect("testdata");
        let paths = files.map(|f| f.expect("a file").path());
        let tests =
            paths.filter(|p| p.extension().is_some_and(|e| e == "stf") && !p.with_extension("toml").exists());
        tests.map(|p| p.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
    }

    /// The program `testdata/NAME.p4`.
    pub fn file(name: &str) -> Test {
        let path = testdata().join(format!("{name}.p4"));
        Test::load(&path.to_string_lossy(), &Files)
    }

    /// A program given as text; it may include the files of `testdata`.
    pub fn inline(text: &str) -> Test {
        let path = testdata().join("inline.p4");
        Test::load(&path.to_string_lossy(), &Inline(text))
    }

    fn load(path: &str, loader: &dyn Loader) -> Test {
        let mut map = SourceMap::new();
        let parsed = p4_syntax::parse(path, loader, &p4_syntax::Options::default(), &mut map);
        let found: Vec<Diagnostic> = parsed.diagnostics.iter().cloned().collect();
        no_errors(&map, &found);
        let (typed, found) = p4_check::check(&parsed.program);
        no_errors(&map, &found);
        let (program, found) = ir_elaborate::elaborate(&typed);
        no_errors(&map, &found);
        Test { map, program: Arc::new(program.expect("a program")) }
    }

    /// A device, or the refusal as text.
    pub fn switch(&self, options: Options) -> Result<Switch, String> {
        ir_interp::switch(Arc::clone(&self.program), options).map_err(|problems| self.text(&problems))
    }

    pub fn text(&self, problems: &[Diagnostic]) -> String {
        problems.iter().map(|d| render(d, &self.map, Style::Plain)).collect::<Vec<_>>().join("\n")
    }

    /// Runs an STF test given as text and gives what is wrong.
    pub fn stf(&mut self, switch: &mut Switch, text: &str) -> String {
        let file = self.map.add_file("test.stf", text, Span::NONE).expect("room");
        let start = self.map.file(file).expect("the file").base();
        let (test, problems) = p4_stf::parse(text, start);
        let report = run_stf(switch, &test);
        self.text(&problems) + &self.text(&report.problems)
    }
}

fn no_errors(map: &SourceMap, found: &[Diagnostic]) {
    let errors: Vec<String> = found
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| render(d, map, Style::Plain))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Options of a device that offers the externs of `testdata`.
pub fn options() -> Options {
    let mut registry = Registry::default();
    netfn_values::register(&mut registry);
    Options { registry, ..Options::default() }
}

/// The program and the test of that name agree, and no packet is lost.
pub fn check_stf(name: &str) {
    let mut test = Test::file(name);
    let mut switch = test.switch(options()).expect("a device");
    let text = std::fs::read_to_string(testdata().join(format!("{name}.stf"))).expect("a test");
    let problems = test.stf(&mut switch, &text);
    assert!(problems.is_empty(), "{problems}");
    conserved(&switch);
}

/// Every packet that came in or came to be has left or was dropped.
pub fn conserved(switch: &Switch) {
    let counters = dataplane_api::Device::counters(switch);
    let dropped: u64 = counters.dropped.values().sum();
    assert_eq!(counters.received + counters.created, counters.sent + dropped, "{counters:?}");
    assert_eq!(counters.dropped.get(&dataplane_api::DropReason::Internal), None);
}
