//! Compiled handlers in this process. The only file with `unsafe`: it loads libraries, calls C, and owns the memory that C writes.
//!
//! ```text
//! | context | arena ... | guard | ... request | guard | ... response | guard |
//! ```
//!
//! Request and response end at an inaccessible guard page. A handler that writes past them, or crashes otherwise, ends
//! the process with a message.
//!
//! **Safety**: the library was made by `build`, from the table that `target_c::calls` writes and Rust reads here as [`Row`]. Its
//! functions write only to their context, arena and response, unless they are wrong. A wrong handler may write anywhere in the
//! process, so real devices call handlers in processes of their own: see `isolated`.
#![allow(unsafe_code)]

use crate::Share;
use crate::snapshot::Memory;
use dataplane_api::Leased;
use ir_handlers::Handler;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Once, OnceLock};

/// `p4r_ctx` of `abi.h`.
#[repr(C)]
struct Context {
    now_ns: u64,
    tick_at_ns: u64,
    random: u64,
    arena_size: u64,
    arena_used: u64,
    arena: *mut u8,
    worker: u32,
    server: u16,
    servers: u16,
    look_up: Option<LookUp>,
    tables: *mut c_void,
    /// Null before the first lease.
    blocks: *const u8,
    blocks_size: u64,
}

type LookUp = unsafe extern "C" fn(*mut Context, u32, *const u8, usize, *mut u8, usize);

/// `P4R_BUSY` and `P4R_FOREIGN` of `abi.h`.
const BUSY: c_int = 1;
const FOREIGN: c_int = 2;

/// Fills in the entry of a table for a key.
pub type Look<'l> = dyn FnMut(u32, &[u8], &mut [u8]) + 'l;

/// C looks up a table.
///
/// # Safety
/// `tables` of the context is what [`Instance::looking`] has put there, and key and entry have their sizes.
unsafe extern "C" fn look_up(
    context: *mut Context,
    table: u32,
    key: *const u8,
    key_size: usize,
    entry: *mut u8,
    entry_size: usize,
) {
    // SAFETY: see above; `Instance::looking` keeps it alive during the call.
    let look = unsafe { &mut *(*context).tables.cast::<&mut Look<'_>>() };
    // SAFETY: the generated header passes arrays and their sizes.
    let (key, entry) = unsafe {
        (std::slice::from_raw_parts(key, key_size), std::slice::from_raw_parts_mut(entry, entry_size))
    };
    look(table, key, entry);
}

/// `struct handler` of `target_c::calls`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Row {
    name: *const c_char,
    request: usize,
    response: usize,
    key: usize,
    bits: *const u8,
    call: Option<unsafe extern "C" fn(*mut Context, *const u8, *mut u8) -> c_int>,
    pass: Option<unsafe extern "C" fn(*mut Context, *mut u8, *mut u8, *const u8, *mut u8) -> c_int>,
    init: Option<unsafe extern "C" fn(*mut Context, *const c_char) -> c_int>,
    tick: Option<unsafe extern "C" fn(*mut Context, u64)>,
    snapshot: Option<unsafe extern "C" fn(*mut Context, *mut c_long) -> *const c_void>,
    restore: Option<unsafe extern "C" fn(*mut Context, *const c_void, c_long) -> c_int>,
    export: Option<unsafe extern "C" fn(*mut Context, *const u8, *mut c_void, c_long) -> c_long>,
    import: Option<unsafe extern "C" fn(*mut Context, *const u8, *const c_void, c_long) -> c_int>,
    block: Option<unsafe extern "C" fn(*mut Context, u64) -> c_int>,
}

/// `p4r_batch` of `target_c`.
type Batch = unsafe extern "C" fn(*const Row, *mut Context, *const *mut u8, usize, *mut u32);

/// A loaded library.
pub struct Library {
    handle: *mut c_void,
    /// In the order of the program's handlers.
    rows: Vec<Row>,
    batch: Option<Batch>,
}

// SAFETY: the library has no variables (`target_c::symbols`), and its table is constant.
unsafe impl Send for Library {}
unsafe impl Sync for Library {}

impl Library {
    /// Loads the library of these handlers.
    pub fn load(path: &Path, handlers: &[Handler]) -> Result<Library, String> {
        catch_crashes();
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the library runs no code when it is loaded: it is linked without start files.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure, `dlerror` gives a text or null.
            let why = unsafe { libc::dlerror() };
            // SAFETY: as above.
            let why = (!why.is_null()).then(|| unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned());
            return Err(format!("the library cannot be loaded: {}", why.unwrap_or_default()));
        }
        let mut library = Library { handle, rows: vec![], batch: None };
        // SAFETY: the handle is valid; the name ends with a zero.
        let table = unsafe { libc::dlsym(handle, c"p4r_handlers".as_ptr()) }.cast::<*const Row>();
        if table.is_null() {
            return Err("the library has no table of its handlers".to_string());
        }
        for at in 0..handlers.len() {
            // SAFETY: the table has a row for each handler of the program.
            library.rows.push(unsafe { ptr::read((*table).add(at)) });
        }
        // SAFETY: as above.
        let batch = unsafe { libc::dlsym(handle, c"p4r_batch".as_ptr()) };
        // SAFETY: a function of this type, or null.
        library.batch = unsafe { std::mem::transmute::<*mut c_void, Option<Batch>>(batch) };
        Ok(library)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: all instances hold the library, so none is left.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// An instance of a handler: its context and its memory.
pub struct Instance {
    /// Keeps the code.
    library: Arc<Library>,
    row: Row,
    name: CString,
    map: *mut u8,
    length: usize,
    context: *mut Context,
    arena: *mut u8,
    arena_size: usize,
    request: *mut u8,
    response: *mut u8,
    /// The context points to them.
    blocks: Box<[u8]>,
}

// SAFETY: the instance alone has its memory, and calls need `&mut self`.
unsafe impl Send for Instance {}

impl Instance {
    /// A new one of the handler of this number. `random` starts its random numbers.
    pub fn new(
        library: &Arc<Library>,
        number: usize,
        name: &str,
        random: u64,
        share: Share,
        arena_size: u64,
    ) -> Result<Instance, String> {
        let row = *library.rows.get(number).ok_or("the library has no such handler")?;
        let name = CString::new(name).map_err(|e| e.to_string())?;
        // SAFETY: it has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let up = |size: usize| size.div_ceil(page) * page;
        let arena_size = up(usize::try_from(arena_size).map_err(|e| e.to_string())?);
        let (request, response) = (up(row.request), up(row.response.max(1)));
        let parts = [(0, page + arena_size), (page * 2 + arena_size, request)];
        let parts = [parts[0], parts[1], (parts[1].0 + request + page, response)];
        let length = parts[2].0 + response + page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at a place that the system chooses.
        let map = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err("there is not enough memory for the handler".to_string());
        }
        let map = map.cast::<u8>();
        for (at, size) in parts {
            // SAFETY: the part is in the mapping, and begins and ends with pages.
            let done =
                unsafe { libc::mprotect(map.add(at).cast(), size, libc::PROT_READ | libc::PROT_WRITE) };
            if done != 0 {
                // SAFETY: no other code uses the mapping.
                unsafe { libc::munmap(map.cast(), length) };
                return Err("the handler's memory cannot be protected".to_string());
            }
        }
        // SAFETY: all of these are in the mapping.
        let (context, arena) = unsafe { (map.cast::<Context>(), map.add(page)) };
        // SAFETY: as above; both end where their parts end.
        let (request, response) = unsafe {
            (map.add(parts[1].0 + request - row.request), map.add(parts[2].0 + response - row.response))
        };
        // SAFETY: the context's page is aligned, and no other code uses it.
        unsafe {
            context.write(Context {
                now_ns: 0,
                tick_at_ns: u64::MAX,
                random,
                arena_size: arena_size as u64,
                arena_used: 0,
                arena,
                worker: 0,
                server: share.server,
                servers: share.servers,
                look_up: None,
                tables: ptr::null_mut(),
                blocks: ptr::null(),
                blocks_size: 0,
            });
        }
        let library = Arc::clone(library);
        let blocks = Box::default();
        Ok(Instance {
            library,
            row,
            name,
            map,
            length,
            context,
            arena,
            arena_size,
            request,
            response,
            blocks,
        })
    }

    /// Place of the next request.
    pub fn request(&mut self) -> &mut [u8] {
        // SAFETY: this many bytes are there, and only this instance has them.
        unsafe { std::slice::from_raw_parts_mut(self.request, self.row.request) }
    }

    /// The last response.
    pub fn response(&self) -> &[u8] {
        // SAFETY: as in `request`.
        unsafe { std::slice::from_raw_parts(self.response, self.row.response) }
    }

    /// During `run`, C may look up tables by `look`.
    pub fn looking<T>(&mut self, mut look: &mut Look<'_>, run: impl FnOnce(&mut Instance) -> T) -> T {
        // SAFETY: the context is valid, and `look` lives until the end of this function.
        unsafe {
            (*self.context).look_up = Some(look_up);
            (*self.context).tables = (&raw mut look).cast();
        }
        let given = run(self);
        // SAFETY: as above.
        unsafe {
            (*self.context).look_up = None;
            (*self.context).tables = ptr::null_mut();
        }
        given
    }

    /// Calls the handler with the contents of `request`.
    pub fn call(&mut self, now_ns: u64) -> i32 {
        let Some(call) = self.row.call else { return -1 };
        // SAFETY: as in `request`.
        unsafe { std::slice::from_raw_parts_mut(self.response, self.row.response) }.fill(0);
        // SAFETY: context, request and response are valid, and of the sizes that the table says.
        unsafe {
            (*self.context).now_ns = now_ns;
            self.watched(|| call(self.context, self.request, self.response))
        }
    }

    /// Calls the handler with a request, and copies the response of a call that gives `P4R_OK`. None, and nothing has happened, if the sizes are not
    /// those of the handler.
    #[inline]
    pub fn pass(&mut self, request: &[u8], response: &mut [u8], now_ns: u64) -> Option<i32> {
        let pass = self
            .row
            .pass
            .filter(|_| (request.len(), response.len()) == (self.row.request, self.row.response))?;
        // SAFETY: the context is valid, and all four places have the sizes that the table says.
        unsafe {
            (*self.context).now_ns = now_ns;
            let (from, to) = (request.as_ptr(), response.as_mut_ptr());
            Some(self.watched(|| pass(self.context, self.request, self.response, from, to)))
        }
    }

    /// Runs the library's loop over packets: each frame begins with a request, and the response follows. A port is 1 after `P4R_OK`, else 2.
    /// False, and nothing has happened, if a frame is too short.
    pub fn batch(&mut self, frames: &mut [Vec<u8>], ports: &mut [u32], now_ns: u64) -> bool {
        let Some(batch) = self.library.batch else { return false };
        let size = self.row.request + self.row.response;
        if self.row.call.is_none() || ports.len() < frames.len() || frames.iter().any(|f| f.len() < size) {
            return false;
        }
        let starts: Vec<*mut u8> = frames.iter_mut().map(|frame| frame.as_mut_ptr()).collect();
        // SAFETY: context, row and frames are valid, the frames are long enough, and there is a port for each.
        unsafe {
            (*self.context).now_ns = now_ns;
            let (row, count) = (&raw const self.row, starts.len());
            self.watched(|| batch(row, self.context, starts.as_ptr(), count, ports.as_mut_ptr()));
        }
        true
    }

    /// Tells the handler its configuration.
    pub fn init(&mut self, config: &CStr) -> i32 {
        let Some(init) = self.row.init else { return 0 };
        // SAFETY: the text ends with a zero.
        self.watched(|| unsafe { init(self.context, config.as_ptr()) })
    }

    /// When the handler wants a tick; all ones for never.
    pub fn tick_at_ns(&self) -> u64 {
        // SAFETY: the context is valid while the instance is.
        if self.row.tick.is_some() { unsafe { (*self.context).tick_at_ns } } else { u64::MAX }
    }

    /// The handler's timer.
    pub fn tick(&mut self, now_ns: u64) {
        let Some(tick) = self.row.tick else { return };
        // SAFETY: the context is valid.
        unsafe {
            (*self.context).now_ns = now_ns;
            (*self.context).tick_at_ns = u64::MAX;
        }
        // SAFETY: as above.
        self.watched(|| unsafe { tick(self.context, now_ns) });
    }

    /// All memory.
    pub fn memory(&self) -> Memory {
        // SAFETY: the context is valid.
        let (random, tick_at_ns, used) =
            unsafe { ((*self.context).random, (*self.context).tick_at_ns, (*self.context).arena_used) };
        let mut size = used.min(self.arena_size as u64) as c_long;
        let mut from = self.arena.cast_const().cast::<c_void>();
        if let (Some(snapshot), Some(_)) = (self.row.snapshot, self.row.restore) {
            // SAFETY: the context is valid.
            from = self.watched(|| unsafe { snapshot(self.context, &raw mut size) });
        }
        let start = (from as usize).wrapping_sub(self.arena as usize);
        let size = usize::try_from(size).unwrap_or(0);
        let is_inside = start <= self.arena_size && size <= self.arena_size - start;
        let bytes = match is_inside {
            // SAFETY: it is a part of the arena.
            true => unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size) }.to_vec(),
            false => vec![],
        };
        Memory { random, tick_at_ns, bytes }
    }

    /// Takes the memory of another instance; false if the handler or the arena does not.
    pub fn restore(&mut self, memory: &Memory) -> bool {
        let size = memory.bytes.len();
        if let (Some(_), Some(restore)) = (self.row.snapshot, self.row.restore) {
            let from = memory.bytes.as_ptr().cast::<c_void>();
            // SAFETY: this many bytes are there.
            if self.watched(|| unsafe { restore(self.context, from, size as c_long) }) != 0 {
                return false;
            }
        } else if size > self.arena_size {
            return false;
        } else {
            // SAFETY: both parts are in the arena.
            unsafe {
                let used = ((*self.context).arena_used as usize).min(self.arena_size);
                ptr::copy_nonoverlapping(memory.bytes.as_ptr(), self.arena, size);
                if used > size {
                    ptr::write_bytes(self.arena.add(size), 0, used - size);
                }
                (*self.context).arena_used = size as u64;
            }
        }
        // SAFETY: the context is valid.
        unsafe {
            (*self.context).random = memory.random;
            (*self.context).tick_at_ns = memory.tick_at_ns;
        }
        true
    }

    /// The state of a flow, which the handler then forgets; none if it has none, or cannot move flows.
    pub fn export(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        const MOST: usize = 1 << 20;
        let export = self.row.export.filter(|_| key.len() == self.row.key)?;
        let mut state = vec![0u8; MOST];
        let to = state.as_mut_ptr().cast::<c_void>();
        // SAFETY: the key has its size, and there is room for this many bytes.
        let size = self.watched(|| unsafe { export(self.context, key.as_ptr(), to, MOST as c_long) });
        state.truncate(usize::try_from(size).ok().filter(|size| (1..=MOST).contains(size))?);
        Some(state)
    }

    /// Gives the handler the state of a flow; false if it does not take it.
    pub fn import(&mut self, key: &[u8], state: &[u8]) -> bool {
        let Some(import) = self.row.import.filter(|_| key.len() == self.row.key) else { return false };
        let (from, size) = (state.as_ptr().cast::<c_void>(), state.len() as c_long);
        // SAFETY: key and state have their sizes.
        self.watched(|| unsafe { import(self.context, key.as_ptr(), from, size) }) == 0
    }

    /// Forgets all memory, as before `init`.
    pub fn forget(&mut self) {
        // SAFETY: the context is valid, and the arena has this many bytes.
        unsafe {
            let used = ((*self.context).arena_used as usize).min(self.arena_size);
            ptr::write_bytes(self.arena, 0, used);
            (*self.context).arena_used = 0;
            (*self.context).tick_at_ns = u64::MAX;
        }
    }

    /// Leases exactly these blocks. The use that the handler makes of blocks, if it says so.
    pub fn lease(&mut self, blocks: &[u8]) -> Option<Leased> {
        self.blocks = blocks.into();
        // SAFETY: the context is valid, and the instance keeps the bytes.
        unsafe {
            (*self.context).blocks = self.blocks.as_ptr();
            (*self.context).blocks_size = self.blocks.len() as u64;
        }
        let block = self.row.block?;
        let mut leased = Leased { busy: vec![0; blocks.len()], usable: 0 };
        // Block 0 stands for none.
        for number in 1..blocks.len() * 8 {
            let (at, bit) = (number / 8, 1 << (number % 8));
            // SAFETY: the context is valid.
            let said = self.watched(|| unsafe { block(self.context, number as u64) });
            leased.busy[at] |= if said == BUSY { bit } else { 0 };
            leased.usable += u32::from(said != FOREIGN && blocks[at] & bit != 0);
        }
        Some(leased)
    }

    /// Runs C; a crash in it names the handler.
    fn watched<T>(&self, run: impl FnOnce() -> T) -> T {
        RUNNING.with(|running| running.set(self.name.as_ptr()));
        let given = run();
        RUNNING.with(|running| running.set(ptr::null()));
        given
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the mapping is this instance's own.
        unsafe { libc::munmap(self.map.cast(), self.length) };
    }
}

thread_local! {
    /// Name of the handler that this thread is in.
    static RUNNING: Cell<*const c_char> = const { Cell::new(ptr::null()) };
}

const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// The actions at these signals before.
static BEFORE: OnceLock<Vec<libc::sigaction>> = OnceLock::new();

/// Installs a signal handler: a crash in a handler then ends the process with a message. Other crashes are handled as before.
fn catch_crashes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: zeroes are a valid `sigaction`, and `crashed` calls only functions that signal handlers may call.
        let before = SIGNALS.map(|signal| unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, ptr::null(), &raw mut before);
            before
        });
        let _ = BEFORE.set(before.to_vec());
        for signal in SIGNALS {
            // SAFETY: as above.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = crashed as extern "C" fn(c_int) as usize;
                action.sa_flags = libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigaction(signal, &raw const action, ptr::null_mut());
            }
        }
    });
}

extern "C" fn crashed(signal: c_int) {
    let name = RUNNING.with(Cell::get);
    if name.is_null() {
        // The fault is not in a handler: it occurs again, under the previous signal handler.
        let before = BEFORE.get().and_then(|all| Some(&all[SIGNALS.iter().position(|s| *s == signal)?]));
        if let Some(before) = before {
            // SAFETY: `sigaction` may be called here.
            unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
            if signal == libc::SIGABRT {
                // SAFETY: as above.
                unsafe { libc::raise(signal) };
            }
        }
        return;
    }
    let write = |text: *const c_void, length: usize| {
        // SAFETY: the text has this length; `write` may be called here.
        unsafe { libc::write(2, text, length) };
    };
    let say = |text: &[u8]| write(text.as_ptr().cast(), text.len());
    say(b"error[P4R1407]: handler `");
    // SAFETY: the name ends with a zero.
    write(name.cast(), unsafe { libc::strlen(name) });
    say(b"` crashed\n  = note: ");
    say(match signal {
        libc::SIGSEGV | libc::SIGBUS => {
            b"it accessed memory that it does not own: after its request or response, or by a wrong pointer\n"
        }
        libc::SIGFPE => b"it divided by zero\n",
        libc::SIGABRT => b"it called `abort`, or an assertion failed\n",
        _ => b"illegal instruction\n",
    });
    say(b"  = help: `--isolate` runs handlers in separate processes; `--sanitize address,undefined` shows where they fail\n");
    // SAFETY: it ends the process.
    unsafe { libc::_exit(1) };
}
