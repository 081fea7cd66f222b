//! Settings by which the allocator returns memory.

use libmimalloc_sys::{mi_collect, mi_option_set, mi_option_t};

/// Milliseconds between the release of memory and its return to the system. The crate has no name for it: the number is that of mimalloc 2.
const PURGE_DELAY: mi_option_t = 15;

/// Option of mimalloc: a thread that frees memory of an ended thread takes over the memory around it. The number is the
/// same in mimalloc 2.
const RECLAIM_ON_FREE: mi_option_t = 26;

/// Option of mimalloc: the most segments of 32 MiB that a thread takes over. The number is the same in mimalloc 2.
const SEGMENTS: mi_option_t = 35;

/// Returns memory to the system as soon as it is released. By default, mimalloc waits for 10 or 100 ms, and then until
/// a thread allocates more, so an idle switch kept the memory of an attack. Threads that decode large requests have
/// ended when the decoded requests are freed.
///
/// Without a limit on segments, a thread that takes over a few bytes keeps the addresses around them: 30 segments after 60 rounds of
/// all attacks, with 20 MiB in use. A limit of the process on its data (`ulimit -d`) counts addresses. With 4 segments per thread,
/// 50 MiB stayed after a flood of streams.
#[allow(unsafe_code)]
pub(crate) fn return_at_once() {
    // SAFETY: this writes numbers into a table of mimalloc's own. The caller's thread is the only one so far.
    unsafe {
        mi_option_set(PURGE_DELAY, 0);
        mi_option_set(RECLAIM_ON_FREE, 1);
        mi_option_set(SEGMENTS, 8);
    }
}

/// Returns memory that this thread has allocated and others have freed. mimalloc looks for it only where the thread allocates more: the
/// entries of a program that another one has replaced are freed by a thread of their own, and 180 MiB of them stayed.
#[allow(unsafe_code)]
pub(crate) fn give_back() {
    // SAFETY: it works on the calling thread's own heap.
    unsafe { mi_collect(false) };
}
