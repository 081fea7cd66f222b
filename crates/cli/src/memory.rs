//! How the allocator gives memory back.

use libmimalloc_sys::{mi_option_set, mi_option_t};

/// Milliseconds between the release of memory and its return to the system. The crate has no name for it: the number is that of mimalloc 2.
const PURGE_DELAY: mi_option_t = 15;

/// From now on memory is returned to the system when it is released. By default mimalloc waits for 10 or 100 ms, and then until a
/// thread allocates more: a switch that has nothing to do kept what an attack had taken.
#[allow(unsafe_code)]
pub(crate) fn return_at_once() {
    // SAFETY: it writes a number into a table of mimalloc's own. The caller's thread is the only one so far.
    unsafe { mi_option_set(PURGE_DELAY, 0) }
}
