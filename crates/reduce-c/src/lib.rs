//! [`reduce_workers::Group`] for C and C++: `include/p4rack_reduce.h` says what each function does.
//!
//! Each pointer is null or what the header says; lengths are those of what pointers show. Nothing unwinds into C: a panic is an error.

// It joins a group over sockets, as `reduce-workers` does.
#![allow(clippy::missing_safety_doc)]
// Names are those of the header.
#![allow(non_camel_case_types)]

use aggregate::Op;
use reduce_workers::{Group, GroupError, GroupPlan, Joining, Keys, Reduced, ReducedKeys, Report, Values};
use std::ffi::{CStr, CString, c_char, c_int};
use std::net::ToSocketAddrs as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Duration;

/// A membership, with what its functions return by pointer.
pub struct p4r_group {
    group: Group,
    error: CString,
    numbers: Vec<u64>,
    texts: Vec<Vec<u8>>,
    values: Vec<i64>,
    report: Report,
    found: Found,
}

/// The last result.
#[derive(Default)]
struct Found {
    keys: Vec<u64>,
    texts: Vec<u8>,
    lengths: Vec<usize>,
    values: Vec<i64>,
}

/// `struct p4r_pairs`
#[repr(C)]
#[allow(missing_docs)]
pub struct p4r_pairs {
    pub n: usize,
    pub keys: *const u64,
    pub texts: *const u8,
    pub lengths: *const usize,
    pub values: *const i64,
}

/// `struct p4r_report`
#[repr(C)]
#[derive(Default)]
#[allow(missing_docs)]
pub struct p4r_report {
    pub pairs_sent: u64,
    pub pairs_that_arrived: u64,
    pub bytes_to_root: u64,
    pub bytes_from_root: u64,
    pub restarts: u64,
    pub rounds: u32,
    pub is_switched: u32,
}

fn wrong(title: impl Into<String>, help: impl Into<String>) -> GroupError {
    GroupError { title: title.into(), help: help.into() }
}

/// Runs what may panic.
fn guarded<T>(what: impl FnOnce() -> Result<T, GroupError>) -> Result<T, GroupError> {
    let panicked = |_| Err(wrong("p4rack has failed inside", "report it, with the output of the program"));
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(panicked)
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// A text that C has given.
unsafe fn text<'t>(text: *const c_char, what: &str) -> Result<&'t str, GroupError> {
    if text.is_null() {
        return Err(wrong(format!("{what} is null"), "it is a text"));
    }
    // SAFETY: the caller's text ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| wrong(format!("{what} is no UTF-8"), "use another name"))
}

/// `n` things at a place; none at null.
unsafe fn slice<'s, T>(from: *const T, n: usize) -> Result<&'s [T], GroupError> {
    match n {
        0 => Ok(&[]),
        _ if from.is_null() => Err(wrong(format!("{n} values at null"), "pass the array")),
        // SAFETY: the caller has `n` of them there.
        _ => Ok(unsafe { std::slice::from_raw_parts(from, n) }),
    }
}

fn operator(op: c_int) -> Result<Op, GroupError> {
    let op = u8::try_from(op).ok().and_then(Op::from_number);
    op.ok_or_else(|| wrong("there is no such operator", "operators are P4R_ADD, P4R_MAX, P4R_MIN, P4R_OR"))
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_open(
    plan: *const c_char,
    rank: u32,
    root: *const c_char,
    timeout: f64,
    why: *mut c_char,
    size: usize,
) -> *mut p4r_group {
    let joined = guarded(|| {
        // SAFETY: as the header says.
        let (plan, root) = unsafe { (text(plan, "`plan`")?, text(root, "`root`")?) };
        let address = root.to_socket_addrs().ok().and_then(|mut found| found.next());
        let address =
            address.ok_or_else(|| wrong(format!("`{root}` is no address"), "write HOST:PORT of rank 0"))?;
        let patience = Duration::try_from_secs_f64(timeout).ok().filter(|time| !time.is_zero());
        let patience = patience.ok_or_else(|| wrong("`timeout` is no time", "it is a number of seconds"))?;
        let joining = Joining { rank: rank as usize, root: address, patience, loss: 0, wait: None };
        Group::join(GroupPlan::read(Path::new(plan))?, &joining, &mut || true)
    });
    match joined {
        Ok(group) => Box::into_raw(Box::new(p4r_group {
            group,
            error: CString::default(),
            numbers: vec![],
            texts: vec![],
            values: vec![],
            report: Report::default(),
            found: Found::default(),
        })),
        Err(error) => {
            let said = c_text(&error.to_string());
            let bytes = said.as_bytes();
            let length = bytes.len().min(size.saturating_sub(1));
            if !why.is_null() && size > 0 {
                // SAFETY: the caller has `size` bytes there.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), why.cast(), length);
                    *why.add(length) = 0;
                }
            }
            null_mut()
        }
    }
}

/// Runs a call of a group; an error is kept.
unsafe fn call(group: *mut p4r_group, what: impl FnOnce(&mut p4r_group) -> Result<(), GroupError>) -> c_int {
    // SAFETY: null, or a group of `p4r_open` that nobody else uses meanwhile.
    let Some(group) = (unsafe { group.as_mut() }) else { return -1 };
    match guarded(|| what(group)) {
        Ok(()) => {
            group.error = CString::default();
            0
        }
        Err(error) => {
            group.error = c_text(&error.to_string());
            -1
        }
    }
}

macro_rules! all_reduce {
    ($name:ident, $type:ty, $values:ident) => {
        /// See the header.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            group: *mut p4r_group,
            values: *mut $type,
            n: usize,
            op: c_int,
        ) -> c_int {
            // SAFETY: as the header says.
            unsafe {
                call(group, |own| {
                    let given: &[$type] = slice(values, n)?;
                    let (bytes, report) =
                        own.group.all_reduce(Values::$values(given), operator(op)?, &mut || true)?;
                    own.report = report;
                    let folded = bytes.chunks_exact(size_of::<$type>());
                    for (at, bytes) in folded.enumerate() {
                        *values.add(at) = <$type>::from_le_bytes(bytes.try_into().unwrap_or_default());
                    }
                    Ok(())
                })
            }
        }
    };
}

all_reduce!(p4r_allreduce_i32, i32, I32);
all_reduce!(p4r_allreduce_u32, u32, U32);
all_reduce!(p4r_allreduce_i64, i64, I64);
all_reduce!(p4r_allreduce_u64, u64, U64);

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_push(
    group: *mut p4r_group,
    keys: *const u64,
    values: *const i64,
    n: usize,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        call(group, |own| {
            let (keys, values) = (slice(keys, n)?, slice(values, n)?);
            if !own.texts.is_empty() {
                return Err(wrong("keys are numbers after texts", "keys of one call are of one type"));
            }
            own.numbers.extend(keys);
            own.values.extend(values);
            Ok(())
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_push_text(
    group: *mut p4r_group,
    key: *const c_char,
    length: usize,
    value: i64,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        call(group, |own| {
            let key: &[u8] = slice(key.cast(), length)?;
            if !own.numbers.is_empty() {
                return Err(wrong("keys are texts after numbers", "keys of one call are of one type"));
            }
            own.texts.push(key.to_vec());
            own.values.push(value);
            Ok(())
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_reduce(group: *mut p4r_group, op: c_int, pairs: *mut p4r_pairs) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        call(group, |own| {
            let op = operator(op)?;
            let (numbers, texts) = (std::mem::take(&mut own.numbers), std::mem::take(&mut own.texts));
            let values = std::mem::take(&mut own.values);
            let keys = match texts.is_empty() {
                true => Keys::Numbers(Values::U64(&numbers)),
                false => Keys::Texts(texts.iter().map(Vec::as_slice).collect()),
            };
            let (reduced, report) = own.group.reduce_by_key(&keys, Values::I64(&values), op, &mut || true)?;
            (own.report, own.found) = (report, Found::of(reduced));
            if let Some(pairs) = pairs.as_mut() {
                let found = &own.found;
                let is_text = !found.lengths.is_empty();
                *pairs = p4r_pairs {
                    n: found.values.len(),
                    keys: if is_text { null() } else { found.keys.as_ptr() },
                    texts: if is_text { found.texts.as_ptr() } else { null() },
                    lengths: if is_text { found.lengths.as_ptr() } else { null() },
                    values: found.values.as_ptr(),
                };
            }
            Ok(())
        })
    }
}

impl Found {
    fn of(reduced: Reduced) -> Found {
        let values = reduced.values.into_iter().map(|value| value as i64).collect();
        match reduced.keys {
            ReducedKeys::Numbers(keys) => Found { keys, values, ..Found::default() },
            ReducedKeys::Texts(texts) => {
                let lengths = texts.iter().map(Vec::len).collect();
                Found { texts: texts.concat(), lengths, values, ..Found::default() }
            }
        }
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_report(group: *const p4r_group) -> p4r_report {
    // SAFETY: null, or a group of `p4r_open`.
    let Some(group) = (unsafe { group.as_ref() }) else { return p4r_report::default() };
    let report = &group.report;
    p4r_report {
        pairs_sent: report.pairs_sent,
        pairs_that_arrived: report.pairs_arrived,
        bytes_to_root: report.bytes_to,
        bytes_from_root: report.bytes_from,
        restarts: report.restarts,
        rounds: report.rounds,
        is_switched: u32::from(report.fallback.is_none()),
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_rank(group: *const p4r_group) -> u32 {
    // SAFETY: null, or a group of `p4r_open`.
    unsafe { group.as_ref() }.map_or(0, |group| group.group.rank() as u32)
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_size(group: *const p4r_group) -> u32 {
    // SAFETY: null, or a group of `p4r_open`.
    unsafe { group.as_ref() }.map_or(0, |group| group.group.size() as u32)
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_error(group: *const p4r_group) -> *const c_char {
    // SAFETY: null, or a group of `p4r_open`.
    unsafe { group.as_ref() }.map_or(c"the group is null".as_ptr(), |group| group.error.as_ptr())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_close(group: *mut p4r_group) {
    if !group.is_null() {
        // SAFETY: it came from `p4r_open`, and the caller uses it no more.
        drop(unsafe { Box::from_raw(group) });
    }
}
