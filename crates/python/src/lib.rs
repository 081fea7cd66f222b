//! The Python module `p4rack`: a `Switch` to send packets to, and the command.
//!
//! The command runs racks: `crates/python/p4rack/__init__.py` asks it for JSON.

mod groups;

use base_diag::{Diagnostic, Span};
use base_time::{Duration, Time};
use control_writes as writes;
use device_text::state;
use p4_entries::{Args, Keys, Match, Named, Run, Statement, Value, parse_match};
use p4rack::run::loaded::Loaded;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;
use std::path::PathBuf;

pyo3::create_exception!(_native, Error, PyException, "What is wrong, where, and what to do.");

/// A frame that leaves: by which port, its bytes.
type Sent<'py> = (u32, Bound<'py, PyBytes>);

/// One device with a program. Packets run as machine code.
#[pyclass(unsendable)]
struct Switch {
    loaded: Loaded,
    now: Time,
}

#[pymethods]
impl Switch {
    /// Compiles a program; `defines` are macros, `entries` a file in any of the languages of `p4rack run --entries`, `engine` is `native` or
    /// `interp`.
    #[new]
    #[pyo3(signature = (program, *, defines=vec![], entries=None, engine="native", seed=1))]
    fn new(
        program: PathBuf,
        defines: Vec<String>,
        entries: Option<PathBuf>,
        engine: &str,
        seed: u64,
    ) -> PyResult<Switch> {
        let main = program.display().to_string();
        let loaded = Loaded::new(&main, defines, engine, seed).map_err(Error::new_err)?;
        let mut made = Switch { loaded, now: Time::ZERO };
        if let Some(path) = entries {
            made.loaded.fill_file(&path).map_err(Error::new_err)?;
        }
        Ok(made)
    }

    /// Writes entries: STF, TOML, commands of `simple_switch_CLI`, or P4Runtime updates as text.
    fn write(&mut self, text: &str) -> PyResult<()> {
        self.loaded.fill(text).map_err(Error::new_err)
    }

    /// Adds an entry: a key is a number, or a text like `10.0.0.0/8`, `0x800&&&0xff00`, `1..5`, `*`.
    #[pyo3(signature = (table, keys, action, data=BTreeMap::new(), priority=None))]
    fn add(
        &mut self,
        table: String,
        keys: BTreeMap<String, Bound<'_, PyAny>>,
        action: String,
        data: BTreeMap<String, Bound<'_, PyAny>>,
        priority: Option<i64>,
    ) -> PyResult<()> {
        let named = |text: String| Named { text, span: Span::NONE };
        let mut matches = vec![];
        for (name, text) in keys {
            matches.push((named(name), Value { value: wanted(&text)?, span: Span::NONE }));
        }
        let mut given = vec![];
        for (name, text) in data {
            let Match::Exact(value) = wanted(&text)? else {
                return Err(Error::new_err(format!("`{name}` is a number")));
            };
            given.push((named(name), Value { value, span: Span::NONE }));
        }
        let entry = Statement::Entry {
            table: named(table),
            keys: Keys::Named(matches),
            run: Run::Action(named(action), Args::Named(given)),
            priority,
            idle_timeout: None,
            rates: None,
            span: Span::NONE,
        };
        let Loaded { resolver, switch, .. } = &mut self.loaded;
        resolver.fill(&[entry], switch).map_err(error_without_place)
    }

    /// Runs a frame and all packets that result from it; returns pairs of port and bytes. Time advances by a microsecond.
    fn process<'py>(&mut self, py: Python<'py>, port: u32, frame: &[u8]) -> PyResult<Vec<Sent<'py>>> {
        self.loaded.switch.check_port(port).map_err(|error| Error::new_err(error.message))?;
        self.now += Duration::from_us(1);
        let outputs = self.loaded.switch.process(port, frame, self.now);
        Ok(outputs.into_iter().map(|out| (out.port, PyBytes::new(py, &out.frame))).collect())
    }

    /// The names of all tables.
    fn tables(&self) -> Vec<String> {
        self.loaded.switch.tables().map(str::to_string).collect()
    }

    /// The entries of a table: dicts with `keys`, `action`, `data`, `priority`, `packets` and `bytes`.
    fn entries<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let refused = |error: dataplane_api::EntryError| Error::new_err(error.message);
        let mut all = vec![];
        for entry in self.loaded.switch.table_entries(table).map_err(refused)? {
            let dict = PyDict::new(py);
            let keys: Vec<String> = entry.key.matches.iter().map(device_text::trace::key_text).collect();
            dict.set_item("keys", keys)?;
            match &entry.run {
                writes::Run::Action(writes::ActionCall { action, args: data }) => {
                    let number = py.import("builtins")?.getattr("int")?;
                    let data = data.iter().map(|bits| number.call1((bits.to_biguint().to_string(),)));
                    let data = data.collect::<PyResult<Vec<_>>>()?;
                    dict.set_item("action", action.as_str())?;
                    dict.set_item("data", data)?;
                }
                writes::Run::Member(member) => dict.set_item("member", member)?,
                writes::Run::Group(group) => dict.set_item("group", group)?,
                // Devices show these as groups.
                writes::Run::OneShot(_) => {}
            }
            dict.set_item("priority", entry.key.priority)?;
            dict.set_item("packets", entry.count.packets)?;
            dict.set_item("bytes", entry.count.bytes)?;
            all.push(dict);
        }
        Ok(all)
    }

    /// State of registers, counters and meters, in the form of `p4rack run --state --format json`.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = state::json(&state::objects(&self.loaded.switch)).to_string();
        py.import("json")?.call_method1("loads", (text,))
    }
}

/// A number, or a match as text.
fn wanted(value: &Bound<'_, PyAny>) -> PyResult<Match> {
    let text = value.str()?.to_string();
    parse_match(&text).map_err(|error| Error::new_err(format!("`{text}`: {error}")))
}

/// An error for diagnostics without a place in a text.
fn error_without_place(found: Vec<Diagnostic>) -> PyErr {
    let one = |problem: Diagnostic| {
        let labels = problem.labels.into_iter().map(|label| label.text);
        labels.chain(problem.notes).chain(problem.help).collect::<Vec<_>>().join("; ")
    };
    Error::new_err(found.into_iter().map(one).collect::<Vec<_>>().join("\n"))
}

/// Runs the command; its exit status.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| cli::run(arguments))
}

/// See `p4rack/__init__.py`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Switch>()?;
    module.add_class::<groups::Group>()?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
