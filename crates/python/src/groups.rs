//! Groups of programs that reduce together: `p4rack.agg` is the face of this.
//!
//! Arrays are read, and results are written, where they are: anything with Python's buffer protocol, such as arrays of numpy. The
//! lock of the interpreter is released while a call runs; nobody may write to its arrays meanwhile.

use crate::Error;
use aggregate::Op;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use reduce_workers::{GroupError, GroupPlan, Joining, Keys, ReducedKeys, Report, Values};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

/// A program's membership in a group.
#[pyclass]
pub struct Group {
    group: Option<reduce_workers::Group>,
    /// A function that says whether calls go on; none: always.
    going: Option<Py<PyAny>>,
}

/// A buffer of numbers.
enum Numbers {
    U32(PyBuffer<u32>),
    I32(PyBuffer<i32>),
    U64(PyBuffer<u64>),
    I64(PyBuffer<i64>),
}

fn wrong(error: GroupError) -> PyErr {
    Error::new_err(error.to_string())
}

/// The numbers of a contiguous buffer.
fn slice<T: Element>(buffer: &PyBuffer<T>) -> &[T] {
    if buffer.item_count() == 0 {
        return &[];
    }
    // SAFETY: the buffer is contiguous (checked by `Numbers::of`), lives as long as `buffer`, and its owner may not free or move it
    // before that is released. That nobody writes to it meanwhile is what users are asked for; numbers have no invalid values.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr() as *const T, buffer.item_count()) }
}

impl Numbers {
    fn of(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Numbers> {
        fn get<T: Element>(object: &Bound<'_, PyAny>) -> Option<PyBuffer<T>> {
            PyBuffer::get(object).ok()
        }
        let numbers = get(object).map(Numbers::U32);
        let numbers = numbers.or_else(|| get(object).map(Numbers::I32));
        let numbers = numbers.or_else(|| get(object).map(Numbers::U64));
        let numbers = numbers.or_else(|| get(object).map(Numbers::I64)).ok_or_else(|| {
            let kind = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
            Error::new_err(format!(
                "{what} are `{kind}`; they are an array of int32, uint32, int64 or uint64, of numpy or of the module `array`"
            ))
        })?;
        let is_contiguous = match &numbers {
            Numbers::U32(buffer) => buffer.is_c_contiguous(),
            Numbers::I32(buffer) => buffer.is_c_contiguous(),
            Numbers::U64(buffer) => buffer.is_c_contiguous(),
            Numbers::I64(buffer) => buffer.is_c_contiguous(),
        };
        match is_contiguous {
            true => Ok(numbers),
            false => Err(Error::new_err(format!("{what} are not contiguous in memory; copy them first"))),
        }
    }

    fn values(&self) -> Values<'_> {
        match self {
            Numbers::U32(buffer) => Values::U32(slice(buffer)),
            Numbers::I32(buffer) => Values::I32(slice(buffer)),
            Numbers::U64(buffer) => Values::U64(slice(buffer)),
            Numbers::I64(buffer) => Values::I64(slice(buffer)),
        }
    }

    /// Overwrites all numbers with bytes of their type.
    fn write(&self, bytes: &[u8]) -> PyResult<()> {
        fn place<T: Element>(buffer: &PyBuffer<T>) -> (bool, *mut u8, usize) {
            (buffer.readonly(), buffer.buf_ptr() as *mut u8, buffer.len_bytes())
        }
        let (is_read_only, to, length) = match self {
            Numbers::U32(buffer) => place(buffer),
            Numbers::I32(buffer) => place(buffer),
            Numbers::U64(buffer) => place(buffer),
            Numbers::I64(buffer) => place(buffer),
        };
        if is_read_only || length != bytes.len() {
            return Err(Error::new_err("the array cannot be written"));
        }
        // SAFETY: the buffer is writable, contiguous, and has this many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, length) };
        Ok(())
    }

    fn is_read_only(&self) -> bool {
        match self {
            Numbers::U32(buffer) => buffer.readonly(),
            Numbers::I32(buffer) => buffer.readonly(),
            Numbers::U64(buffer) => buffer.readonly(),
            Numbers::I64(buffer) => buffer.readonly(),
        }
    }
}

/// Keys of a call.
enum Given {
    Numbers(Numbers),
    Texts(Vec<Vec<u8>>),
}

fn operator(word: &str) -> PyResult<Op> {
    let op = if word == "sum" { Ok(Op::Add) } else { word.parse() };
    op.map_err(|()| {
        Error::new_err(format!("there is no operator `{word}`; operators are `add`, `max`, `min`, `or`"))
    })
}

fn address(text: &str) -> PyResult<SocketAddr> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| Error::new_err(format!("`{text}` is no address; write HOST:PORT of rank 0")))
}

/// True until Ctrl-C, or another signal whose handler raises, or until a function of the program returns false or raises.
fn pulse(going: Option<&Py<PyAny>>) -> bool {
    Python::attach(|py| {
        let goes_on = |going: &Py<PyAny>| going.call0(py).and_then(|said| said.bind(py).is_truthy());
        py.check_signals().is_ok() && going.is_none_or(|going| goes_on(going).unwrap_or(false))
    })
}

fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("pairs_sent", report.pairs_sent)?;
    dict.set_item("pairs_that_arrived", report.pairs_arrived)?;
    dict.set_item("keys", report.keys)?;
    dict.set_item("bytes_to_root", report.bytes_to)?;
    dict.set_item("bytes_from_root", report.bytes_from)?;
    dict.set_item("rounds", report.rounds)?;
    dict.set_item("restarts", report.restarts)?;
    dict.set_item("fallback", report.fallback.as_deref())?;
    Ok(dict)
}

/// Keys as bytes of `uint64` or as a list of bytes; values as bytes; whether they are signed; the report.
type Result3<'py> = (Bound<'py, PyAny>, Bound<'py, PyBytes>, bool, Bound<'py, PyDict>);

#[pymethods]
impl Group {
    /// Joins the group of a file, or, with a number of programs instead of a file, one on this machine without switches.
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (plan, rank, root, timeout, loss=0.0, going=None, wait=None))]
    fn new(
        py: Python<'_>,
        plan: &Bound<'_, PyAny>,
        rank: usize,
        root: &str,
        timeout: f64,
        loss: f64,
        going: Option<Py<PyAny>>,
        wait: Option<u64>,
    ) -> PyResult<Group> {
        let root = address(root)?;
        let plan = match plan.extract::<u8>() {
            Ok(programs) => GroupPlan::on_this_machine(programs, root.port()),
            Err(_) => GroupPlan::read(&plan.extract::<PathBuf>()?).map_err(wrong)?,
        };
        let patience = Duration::try_from_secs_f64(timeout).ok().filter(|time| !time.is_zero());
        let patience = patience
            .ok_or_else(|| Error::new_err(format!("`timeout` is a number of seconds, not {timeout}")))?;
        let loss = (loss.clamp(0.0, 50.0) * 10_000.0) as u32;
        let joining = Joining { rank, root, patience, loss, wait };
        let mut goes_on = || pulse(going.as_ref());
        let group = py.detach(|| reduce_workers::Group::join(plan, &joining, &mut goes_on));
        py.check_signals()?;
        group.map(|group| Group { group: Some(group), going }).map_err(wrong)
    }

    #[getter]
    fn rank(&self) -> PyResult<usize> {
        self.group().map(reduce_workers::Group::rank)
    }

    #[getter]
    fn size(&self) -> PyResult<usize> {
        self.group().map(reduce_workers::Group::size)
    }

    /// Leaves.
    fn close(&mut self) {
        self.group = None;
    }

    /// Folds an array in place; the report.
    fn all_reduce<'py>(&mut self, array: &Bound<'py, PyAny>, op: &str) -> PyResult<Bound<'py, PyDict>> {
        let (py, op) = (array.py(), operator(op)?);
        let numbers = Numbers::of(array, "values")?;
        if numbers.is_read_only() {
            return Err(Error::new_err("the array cannot be written; copy it first"));
        }
        let Group { group, going } = self;
        let group = group.as_mut().ok_or_else(closed)?;
        let mut goes_on = || pulse(going.as_ref());
        let done = py.detach(|| group.all_reduce(numbers.values(), op, &mut goes_on));
        py.check_signals()?;
        let (bytes, found) = done.map_err(wrong)?;
        numbers.write(&bytes)?;
        report(py, &found)
    }

    /// Folds the values of equal keys.
    fn reduce_by_key<'py>(
        &mut self,
        keys: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
        op: &str,
    ) -> PyResult<Result3<'py>> {
        let (py, op) = (keys.py(), operator(op)?);
        // An empty array is a sequence of texts, too: texts come as a list.
        let given = match keys.is_instance_of::<PyList>() {
            true => Given::Texts(keys.extract()?),
            false => Given::Numbers(Numbers::of(keys, "keys")?),
        };
        let numbers = Numbers::of(values, "values")?;
        let Group { group, going } = self;
        let group = group.as_mut().ok_or_else(closed)?;
        let mut goes_on = || pulse(going.as_ref());
        let done = py.detach(|| {
            let keys = match &given {
                Given::Numbers(numbers) => Keys::Numbers(numbers.values()),
                Given::Texts(texts) => Keys::Texts(texts.iter().map(Vec::as_slice).collect()),
            };
            group.reduce_by_key(&keys, numbers.values(), op, &mut goes_on)
        });
        py.check_signals()?;
        let (reduced, found) = done.map_err(wrong)?;
        let bytes = |numbers: &[u64]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        let keys = match &reduced.keys {
            ReducedKeys::Numbers(numbers) => bytes(numbers).into_any(),
            ReducedKeys::Texts(texts) => {
                let texts: Vec<Bound<'py, PyBytes>> =
                    texts.iter().map(|text| PyBytes::new(py, text)).collect();
                texts.into_pyobject(py)?
            }
        };
        Ok((keys, bytes(&reduced.values), reduced.is_signed, report(py, &found)?))
    }
}

fn closed() -> PyErr {
    Error::new_err("the group is closed; join it again")
}

impl Group {
    fn group(&self) -> PyResult<&reduce_workers::Group> {
        self.group.as_ref().ok_or_else(closed)
    }
}
