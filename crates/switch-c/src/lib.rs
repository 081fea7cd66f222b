//! A device with a program for C and C++: `include/p4rack.h` says what each function does.
//!
//! Each pointer is null or what the header says; lengths are those of what pointers show. Nothing unwinds into C: a panic is an error.

#![allow(clippy::missing_safety_doc)]
// Names are those of the header.
#![allow(non_camel_case_types)]

use base_time::{Duration, Time};
use dataplane_api::{Device, Output, QueueRecord, Queued};
use p4rack::run::loaded::Loaded;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::null_mut;

/// A switch, with what its functions return by pointer.
pub struct p4r_switch {
    loaded: Loaded,
    error: CString,
    outputs: Vec<Output>,
    frames: Vec<p4r_frame>,
    queued: Vec<p4r_queued>,
}

/// A packet between ingress and egress.
pub struct p4r_packet(Queued);

/// `struct p4r_queued`
#[repr(C)]
#[allow(missing_docs)]
pub struct p4r_queued {
    pub port: u32,
    pub priority: u32,
    pub length: u32,
    pub packet: *mut p4r_packet,
}

/// `struct p4r_frame`
#[repr(C)]
#[allow(missing_docs)]
pub struct p4r_frame {
    pub port: u32,
    pub length: usize,
    pub bytes: *const u8,
}

/// `struct p4r_stay`
#[repr(C)]
#[allow(missing_docs)]
pub struct p4r_stay {
    pub enqueued: u64,
    pub depth_at_enqueue: u32,
    pub depth_at_dequeue: u32,
}

/// `struct p4r_result`
#[repr(C)]
#[allow(missing_docs)]
pub struct p4r_result {
    pub frames: usize,
    pub frame: *const p4r_frame,
    pub n_queued: usize,
    pub queued: *const p4r_queued,
}

/// Runs what may panic.
fn guarded<T>(what: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let panicked = |_| Err("p4rack has failed inside: report it, with the program".to_string());
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(panicked)
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// A text that C has given.
unsafe fn text<'t>(text: *const c_char, what: &str) -> Result<&'t str, String> {
    if text.is_null() {
        return Err(format!("{what} is null: it is a text"));
    }
    // SAFETY: the caller's text ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| format!("{what} is no UTF-8"))
}

/// `n` things at a place; none at null.
unsafe fn slice<'s, T>(from: *const T, n: usize) -> Result<&'s [T], String> {
    match n {
        0 => Ok(&[]),
        _ if from.is_null() => Err(format!("{n} values at null: pass the array")),
        // SAFETY: the caller has `n` of them there.
        _ => Ok(unsafe { std::slice::from_raw_parts(from, n) }),
    }
}

fn time(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// Calls a function with a switch; the error stays with the switch.
unsafe fn with(of: *mut p4r_switch, what: impl FnOnce(&mut p4r_switch) -> Result<(), String>) -> c_int {
    // SAFETY: as the header says, it is a switch or null.
    let Some(of) = (unsafe { of.as_mut() }) else { return -1 };
    match guarded(AssertUnwindSafe(|| what(of))) {
        Ok(()) => 0,
        Err(error) => {
            of.error = c_text(&error);
            -1
        }
    }
}

/// Writes a result if the caller wants it.
unsafe fn give<T>(to: *mut T, value: T) {
    // SAFETY: as the header says, it is a place for a result or null.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = value;
    }
}

impl p4r_switch {
    fn check_port(&self, port: u32) -> Result<(), String> {
        self.loaded.switch.check_port(port).map_err(|error| error.message)
    }

    fn queue(&mut self, queued: Vec<Queued>) {
        let one = |packet: Queued| p4r_queued {
            port: packet.replica.port,
            priority: packet.replica.priority.into(),
            length: packet.bytes,
            packet: Box::into_raw(Box::new(p4r_packet(packet))),
        };
        self.queued = queued.into_iter().map(one).collect();
    }

    fn send(&mut self, outputs: Vec<Output>) {
        self.outputs = outputs;
        let one = |output: &Output| p4r_frame {
            port: output.port,
            length: output.frame.len(),
            bytes: output.frame.as_ptr(),
        };
        self.frames = self.outputs.iter().map(one).collect();
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_load(
    program: *const c_char,
    defines: *const *const c_char,
    n: usize,
    seed: u64,
    why: *mut c_char,
    size: usize,
) -> *mut p4r_switch {
    let loaded = guarded(|| {
        // SAFETY: as the header says.
        let (program, given) = unsafe { (text(program, "`program`")?, slice(defines, n)?) };
        // SAFETY: the same, of each.
        let defines = given.iter().map(|one| unsafe { text(*one, "a macro") }.map(str::to_string));
        Loaded::new(program, defines.collect::<Result<_, _>>()?, "native", seed)
    });
    match loaded {
        Ok(loaded) => Box::into_raw(Box::new(p4r_switch {
            loaded,
            error: CString::default(),
            outputs: vec![],
            frames: vec![],
            queued: vec![],
        })),
        Err(error) => {
            if !why.is_null() && size > 0 {
                let error = c_text(&error);
                let bytes = error.as_bytes();
                let length = bytes.len().min(size - 1);
                // SAFETY: the caller has `size` bytes there.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), why, length);
                    *why.add(length) = 0;
                }
            }
            null_mut()
        }
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_entries(of: *mut p4r_switch, file: *const c_char) -> c_int {
    // SAFETY: as the header says.
    unsafe { with(of, |of| of.loaded.fill_file(Path::new(text(file, "`file`")?))) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_write(of: *mut p4r_switch, entries: *const c_char) -> c_int {
    // SAFETY: as the header says.
    unsafe { with(of, |of| of.loaded.fill(text(entries, "`entries`")?)) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_ingress(
    of: *mut p4r_switch,
    port: u32,
    bytes: *const u8,
    length: usize,
    now: u64,
    queued: *mut *const p4r_queued,
    n: *mut usize,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        with(of, |of| {
            of.check_port(port)?;
            let frame = slice(bytes, length)?.to_vec();
            let found = of.loaded.switch.ingress(port, frame, time(now));
            of.queue(found);
            give(queued, of.queued.as_ptr());
            give(n, of.queued.len());
            Ok(())
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_egress(
    of: *mut p4r_switch,
    packet: *mut p4r_packet,
    stay: *const p4r_stay,
    now: u64,
    result: *mut p4r_result,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        with(of, |of| {
            if packet.is_null() {
                return Err("`packet` is null: it is one of p4r_ingress".to_string());
            }
            let p4r_packet(packet) = *Box::from_raw(packet);
            let record =
                stay.as_ref().map_or(QueueRecord { enqueued: time(now), ..QueueRecord::default() }, |stay| {
                    QueueRecord {
                        enqueued: time(stay.enqueued),
                        depth_at_enqueue: stay.depth_at_enqueue,
                        depth_at_dequeue: stay.depth_at_dequeue,
                    }
                });
            let found = of.loaded.switch.egress(packet, record, time(now));
            let mut queued = found.requeued;
            for again in found.again {
                queued.extend(of.loaded.switch.resume(again, time(now)));
            }
            of.send(found.output.into_iter().collect());
            of.queue(queued);
            let (frames, n_queued) = (of.frames.len(), of.queued.len());
            give(
                result,
                p4r_result { frames, frame: of.frames.as_ptr(), n_queued, queued: of.queued.as_ptr() },
            );
            Ok(())
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_drop(of: *mut p4r_switch, packet: *mut p4r_packet) {
    if !of.is_null() && !packet.is_null() {
        // SAFETY: as the header says, it is one of p4r_ingress or p4r_egress, passed on for the first time.
        drop(unsafe { Box::from_raw(packet) });
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_process(
    of: *mut p4r_switch,
    port: u32,
    bytes: *const u8,
    length: usize,
    now: u64,
    frames: *mut *const p4r_frame,
    n: *mut usize,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        with(of, |of| {
            of.check_port(port)?;
            let outputs = of.loaded.switch.process(port, slice(bytes, length)?, time(now));
            of.send(outputs);
            give(frames, of.frames.as_ptr());
            give(n, of.frames.len());
            Ok(())
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_deadline(of: *const p4r_switch) -> u64 {
    // SAFETY: as the header says.
    let deadline = unsafe { of.as_ref() }.and_then(|of| of.loaded.switch.deadline());
    // A timer is due at the end of a nanosecond that it does not begin.
    deadline.map_or(u64::MAX, |at| at.as_ps().div_ceil(1000))
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_tick(
    of: *mut p4r_switch,
    now: u64,
    queued: *mut *const p4r_queued,
    n: *mut usize,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        with(of, |of| {
            let found = of.loaded.switch.tick(time(now));
            of.queue(found);
            give(queued, of.queued.as_ptr());
            give(n, of.queued.len());
            Ok(())
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_register(
    of: *mut p4r_switch,
    name: *const c_char,
    index: u64,
    value: *mut u64,
) -> c_int {
    // SAFETY: as the header says.
    unsafe {
        with(of, |of| {
            let name = text(name, "`name`")?;
            let cell = of.loaded.switch.register_read(name, index).map_err(|error| error.message)?;
            let cell = cell.to_u64().ok_or_else(|| format!("a cell of `{name}` has more than 64 bits"))?;
            give(value, cell);
            Ok(())
        })
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_error(of: *const p4r_switch) -> *const c_char {
    // SAFETY: as the header says.
    unsafe { of.as_ref() }.map_or(c"this is no switch".as_ptr(), |of| of.error.as_ptr())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn p4r_close(of: *mut p4r_switch) {
    if !of.is_null() {
        // SAFETY: as the header says, it is a switch.
        drop(unsafe { Box::from_raw(of) });
    }
}
